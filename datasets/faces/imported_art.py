"""Card faces read from other people's art: folders of card files and one-file SVG sheets.

Turns files into BGRA faces of one size; draws with resvg (extra `train`), imported only when an SVG
must be drawn.
"""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.errors import ConfigurationError
from vision.game.cards import DECK

from .glyphs import Image, rounded_mask

SUFFIXES = (".svg", ".svgz", ".png", ".jpg", ".jpeg", ".webp")
# Height of a card, mm; art gives only its proportions.
CARD_HEIGHT_MM = 88.0
_TRIM = 0.011  # of the width, off each side: the hairline printed round most drawn cards
# What letters are drawn in whose own font is not installed: they are left out where it is not there
# either. Packages of art ask for Arial, which is free nowhere; `install_art.sh` installs this one.
_FONT = "DejaVu Sans"
# No more than this share of the width is cut off, whatever is printed there.
_TRIM_MOST = 0.03
_RANK_WORDS = {
    "A": "ace",
    "2": "two",
    "3": "three",
    "4": "four",
    "5": "five",
    "6": "six",
    "7": "seven",
    "8": "eight",
    "9": "nine",
    "T": "ten",
    "J": "jack",
    "Q": "queen",
    "K": "king",
}
_SHORT = re.compile(r"(?P<r>10|1[123]?|[2-9]|[atjqk])[ _-]?(?P<s>[cdhs])")
_SHORT_TURNED = re.compile(r"(?P<s>[cdhs])[ _-]?(?P<r>10|1[123]?|[2-9]|[atjqk])")
_NUMBERS = {"1": "A", "10": "T", "11": "J", "12": "Q", "13": "K"}


def card_of_file(stem: str) -> str | None:
    """Return the card a file name stands for (`10C`, `Ca`, `spadeKing`, `2_of_hearts`), or None."""
    short = _SHORT.fullmatch(stem.lower()) or _SHORT_TURNED.fullmatch(stem.lower())
    if short:
        return _NUMBERS.get(short["r"], short["r"].upper()) + short["s"]
    words = re.findall(r"[a-z]+|\d+", re.sub(r"([a-z])([A-Z])", r"\1 \2", stem).lower())
    names = ("club", "diamond", "heart", "spade")
    suits: list[str] = [w[0] for w in words if w.rstrip("s") in names]
    if len(suits) != 1:
        return None
    for letter, word in _RANK_WORDS.items():
        if word in words or letter.lower() in words:
            return letter + suits[0]
    ranks = [_NUMBERS[w] for w in words if w in _NUMBERS]
    return ranks[0] + suits[0] if ranks else None


def card_files(folder: Path) -> dict[str, Path]:
    """Map each card found in the folder to its file; of several files the first by name.

    Files may also lie one deeper, in folders named by their cards.
    """
    found: dict[str, Path] = {}
    inside = [p for p in folder.iterdir() if p.is_dir() and card_of_file(p.name)]
    for path in sorted(p for holder in (folder, *inside) for p in holder.iterdir()):
        card = card_of_file(path.stem) if path.suffix.lower() in SUFFIXES else None
        if card:
            found.setdefault(card, path)
    return found


def draw(path: Path, *, height: int = 0, width: int = 0) -> Image:
    """Return a picture file as BGRA, SVG drawn at that height or width in pixels.

    Raises ConfigurationError, naming the file, where it cannot be drawn.
    """
    if path.suffix.lower() not in (".svg", ".svgz"):
        image = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
        if image is None:
            raise ConfigurationError(f"{path}: not a picture that can be read; replace the file")
        if image.ndim == 2 or image.shape[2] == 3:
            code = cv2.COLOR_GRAY2BGRA if image.ndim == 2 else cv2.COLOR_BGR2BGRA
            image = cv2.cvtColor(image, code)
        return np.asarray(image)
    return _draw_svg(path, height=height, width=width)


def _draw_svg(path: Path, *, height: int, width: int) -> Image:
    try:
        import resvg_py
    except ImportError as error:
        raise ConfigurationError(
            "drawing SVG cards needs resvg: pip install 'shoe-reader[train]'"
        ) from error
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8")
    try:  # dpi: without it lengths in pt come out as nothing; resvg falls back to the serif font
        png = resvg_py.svg_to_bytes(
            svg_string=text, dpi=96, width=width or None, height=height or None, serif_family=_FONT
        )
    except ValueError as error:
        raise ConfigurationError(f"{path}: not an SVG that can be drawn ({error})") from error
    image = cv2.imdecode(np.frombuffer(bytes(png), np.uint8), cv2.IMREAD_UNCHANGED)
    if image is None:
        raise ConfigurationError(f"{path}: resvg drew nothing from it; remove the file")
    return np.asarray(image)


def size_mm(art: Image) -> tuple[float, float]:
    """Return width and height in mm of a card with the art's proportions, 88 mm high."""
    height, width = art.shape[:2]
    return min(max(round(CARD_HEIGHT_MM * width / height, 1), 54.0), 66.0), CARD_HEIGHT_MM


def finish(art: Image, height: int, width: int) -> Image:
    """Return art on white card of that size in pixels, edge trimmed and corners rounded."""
    alpha = art[:, :, 3:].astype(np.float32) / 255
    paper = (art[:, :, :3] * alpha + 255 * (1 - alpha)).astype(np.uint8)
    paper = _trimmed(paper)
    shrinking = paper.shape[0] >= height
    way = cv2.INTER_AREA if shrinking else cv2.INTER_CUBIC
    face = cv2.resize(paper, (width, height), interpolation=way)
    return np.dstack([face, rounded_mask(height, width)])


def _trimmed(paper: Image) -> Image:
    """Cut off the edge, and on until the printed outline is gone."""
    width = paper.shape[1]
    trim = max(1, round(width * _TRIM))
    while trim < width * _TRIM_MOST:
        sides = (paper[trim], paper[-trim - 1], paper[:, trim], paper[:, -trim - 1])
        if min(float(np.median(side)) for side in sides) > 215:
            break
        trim += 1
    return paper[trim:-trim, trim:-trim]


def folder_faces(folder: Path, height: int) -> tuple[NDArray[Any], tuple[float, float]]:
    """Return (52, h, w, 4) BGRA faces in card order of a folder of card files, and their size.

    The size is in mm. Raises ConfigurationError naming the cards that are missing.
    """
    files = card_files(folder)
    missing = [str(card) for card in DECK if str(card) not in files]
    if missing:
        raise ConfigurationError(
            f"{folder}: no file for {' '.join(missing)}; name files like 10C.svg or spadeKing.png"
        )
    art = [draw(files[str(card)], height=round(height * 1.25)) for card in DECK]
    size = size_mm(art[0])
    width = round(height * size[0] / size[1])
    return np.stack([finish(a, height, width) for a in art]), size
