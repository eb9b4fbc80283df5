"""The decks there are: a registry of face designs, each with its split and licence.

`load_deck` draws a deck once and keeps it in a cache folder; later loads map the file into memory.
Which designs are held out, and why: ART.md.
"""

from __future__ import annotations

import argparse
import glob
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.errors import ConfigurationError
from vision.game.cards import DECK

from . import courts, designs, faces, fonts, glyphs, imported_art, reindex, svg_sheets
from .backs import back_names, cut_card, load_back
from .drawn_non_cards import foreign_faces
from .glyphs import Image

__all__ = [
    "Deck",
    "back_names",
    "cut_card",
    "deck_names",
    "foreign_faces",
    "load_back",
    "load_deck",
]

OWN = "Apache-2.0"
RANDOM_DECKS = 32  # drawn at random, seeded by their number, for training only
JUMBO_DECKS = 32  # the same with jumbo indices
REINDEXED_DECKS = 24  # installed art under other indices, for training only
Draw = Callable[[int], tuple[NDArray[Any], tuple[float, float]]]
_HELD_OUT = (
    *designs.HELD_OUT,
    "spatz_horizontal",
    "gnome-plastic",
    "gnome-tigullio",
    "kde-standard",
)
_REINDEXABLE = ("knoll", "cardsjs", "letele", "heruka-2color")  # small indices, folders
_LICENCES = {
    "knoll": "public domain",
    "spatz_vertical": "public domain",
    "spatz_horizontal": "public domain",
    "letele": "CC0-1.0 (@letele/playing-cards)",
    "cardsjs": "MIT (cardsJS)",
    "heruka-2color": "MIT (@heruka_urgyen/react-playing-cards)",
    "heruka-2color-bf": "MIT (@heruka_urgyen/react-playing-cards)",
    "svg-cards": "LGPL-2.1 (svg-cards)",
    "feliksh_crops": "MIT (feliksh/CV_18-19), photographed",
}
PHOTOGRAPHED = ("feliksh_crops",)


@dataclass(frozen=True, slots=True)
class Deck:
    """The 52 faces of one design, and a back that goes with them; BGRA, one size in pixels."""

    name: str
    split: str
    licence: str
    size_mm: tuple[float, float]
    faces: Mapping[str, Image]
    back: Image


@dataclass(frozen=True, slots=True)
class _Entry:
    split: str
    licence: str
    draw: Draw
    source: str  # changes when the drawing would


def art_folders() -> tuple[Path, ...]:
    """Return the folders art is looked for in: those of SHOE_READER_ART, and the installed one."""
    named = [Path(p) for p in os.environ.get("SHOE_READER_ART", "").split(os.pathsep) if p]
    for folder in named:
        if not folder.is_dir():
            raise ConfigurationError(
                f"SHOE_READER_ART: {folder} is not a folder; name folders of card files"
            )
    installed = Path(__file__).parents[1] / ".art"
    return (*named, installed) if installed.is_dir() else tuple(named)


def deck_names(split: str | None = None) -> tuple[str, ...]:
    """Return the names of the decks of a split ("train" or "test"), or of all, in fixed order."""
    return tuple(n for n, entry in _registry().items() if split in (None, entry.split))


def load_deck(name: str, height_px: int = 504) -> Deck:
    """Return a deck by name, or read from a folder of card files where `name` is a path.

    Raises ConfigurationError where there is no such deck.
    """
    entry = _registry().get(name)
    if entry is None and Path(name).is_dir():
        entry = _folder_entry(Path(name))
    if entry is None:
        known = ", ".join(_registry()) or "none"
        raise ConfigurationError(f"no deck '{name}'; there are: {known} (see SHOE_READER_ART)")
    pixels, size = _cached(name, entry, height_px)
    faces = {str(card): pixels[i] for i, card in enumerate(DECK)}
    backs = back_names(entry.split)
    back = load_back(backs[sum(name.encode()) % len(backs)], height_px)
    return Deck(name, entry.split, entry.licence, size, faces, back)


@cache
def _registry() -> dict[str, _Entry]:
    found = {name: _own_entry(name, design) for name, design in designs.DESIGNS.items()}
    for number in range(RANDOM_DECKS):
        name = f"random-{number:02d}"
        found[name] = _own_entry(name, designs.random_design(np.random.default_rng(number)))
    for number in range(JUMBO_DECKS):
        rng = np.random.default_rng([1, number])
        name = f"jumbo-{number:02d}"
        found[name] = _own_entry(name, designs.random_design(rng, jumbo=True))
    for folder in art_folders():
        for deck in (folder, *sorted(p for p in folder.iterdir() if p.is_dir())):
            if len(imported_art.card_files(deck)) == len(DECK):
                found.setdefault(_deck_name(deck), _folder_entry(deck))
    for name, sheet in svg_sheets.installed_sheets().items():
        found[name] = _sheet_entry(name, sheet)
    return found | _reindexed(found)


def _deck_name(folder: Path) -> str:
    """Return the deck's name: the folder's, or for photographed faces that of the source."""
    return folder.parent.name if folder.name == "crops" else folder.name


def _reindexed(found: Mapping[str, _Entry]) -> dict[str, _Entry]:
    bases = {n: _sheet_entry(n, s) for n, s in svg_sheets.reindexable_sheets().items()}
    bases |= {n: found[n] for n in _REINDEXABLE if n in found}
    names = sorted(bases)
    made: dict[str, _Entry] = {}
    for number in range(REINDEXED_DECKS if names else 0):
        name = names[number % len(names)]
        made[f"reindexed-{number:02d}"] = _reindexed_entry(name, bases[name], number)
    return made


def _reindexed_entry(name: str, base: _Entry, number: int) -> _Entry:
    def draw(height: int) -> tuple[NDArray[Any], tuple[float, float]]:
        pixels, size = _cached(name, base, height)
        return reindex.reindex(pixels, size, seed=number), size

    found = "".join(p.name for p in fonts.index_fonts())
    code = _code(designs, faces, fonts, glyphs, reindex)
    return _Entry("train", base.licence, draw, f"{base.source}{number}{found}{code}")


def _split(name: str) -> str:
    return "test" if name in _HELD_OUT else "train"


def _own_entry(name: str, design: faces.Design) -> _Entry:
    def draw(height: int) -> tuple[NDArray[Any], tuple[float, float]]:
        return faces.draw_deck(design, height), design.size

    code = _code(courts, faces, fonts, glyphs)
    return _Entry(_split(name), OWN, draw, repr(design) + code)


def _sheet_entry(name: str, sheet: svg_sheets.Sheet) -> _Entry:
    draw = partial(svg_sheets.sheet_faces, sheet)
    return _Entry(_split(name), sheet.licence, draw, repr(sheet) + _code(imported_art, svg_sheets))


def _folder_entry(folder: Path) -> _Entry:
    files = imported_art.card_files(folder).values()
    source = "".join(f"{p.name}{p.stat().st_size}{p.stat().st_mtime_ns}" for p in files)
    licence = _LICENCES.get(_deck_name(folder), "unknown")
    draw = partial(imported_art.folder_faces, folder)
    return _Entry(_split(folder.name), licence, draw, source + _code(imported_art))


@cache
def _code(*modules: ModuleType) -> str:
    """Return the text of drawing modules: what they drew is drawn again when they change."""
    return "".join(Path(str(m.__file__)).read_text("utf-8") for m in modules)


def cache_folder() -> Path:
    """Return the folder drawn decks are kept in: under XDG_CACHE_HOME, by default ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "shoe-reader" / "decks"


def _cached(name: str, entry: _Entry, height: int) -> tuple[NDArray[Any], tuple[float, float]]:
    digest = hashlib.sha256(entry.source.encode()).hexdigest()[:16]
    path = cache_folder() / f"{Path(name).name}-{height}-{digest}.npy"
    if not path.exists():
        pixels, _ = entry.draw(height)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.npy")
        np.save(part, pixels)
        part.replace(path)
        for stale in path.parent.glob(f"{glob.escape(Path(name).name)}-{height}-*.npy"):
            if stale != path and len(stale.stem) == len(path.stem):
                stale.unlink(missing_ok=True)
    pixels = np.load(path, mmap_mode="r")
    height_px, width_px = pixels.shape[1:3]
    return pixels, (
        round(imported_art.CARD_HEIGHT_MM * width_px / height_px, 1),
        imported_art.CARD_HEIGHT_MM,
    )


def contact_sheet(faces_shown: Sequence[Image], *, height: int = 140) -> Image:
    """Return faces side by side on grey, BGR, thirteen in a row, each `height` pixels high."""
    width = round(height * 0.75)
    rows = -(-len(faces_shown) // 13)
    sheet = np.full((rows * (height + 4), 13 * (width + 4), 3), 96, np.uint8)
    for number, face in enumerate(faces_shown):
        size = (min(round(height * face.shape[1] / face.shape[0]), width), height)
        small = cv2.resize(face, size, interpolation=cv2.INTER_AREA)
        y, x = number // 13 * (height + 4), number % 13 * (width + 4)
        spot = sheet[y : y + size[1], x : x + size[0]]
        alpha = small[:, :, 3:] / 255.0
        spot[:] = small[:, :, :3] * alpha + spot * (1 - alpha)
    return sheet


def picture(text: str) -> Path:
    """Return the path of a picture to be written, for `argparse`: checked before anything is made.

    ArgumentTypeError if OpenCV writes no such files or the folder is not there.
    """
    path = Path(text)
    if not cv2.haveImageWriter(text):
        raise argparse.ArgumentTypeError(f"{text}: no picture's name; end it in .png or .jpg")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"{path.parent}: no folder; make it first")
    return path


def save(path: Path, image: Image) -> None:
    """Write a picture; ConfigurationError if it cannot be."""
    if not cv2.imwrite(str(path), image):
        raise ConfigurationError(f"{path}: cannot be written; is the folder yours, the disk full?")


def main(argv: Sequence[str] | None = None) -> int:
    """List the decks, or write pictures of all faces of the decks named."""
    parser = argparse.ArgumentParser(
        prog="python -m datasets.faces.registry", description=main.__doc__
    )
    parser.add_argument("--sheet", metavar="OUT.png", type=picture, help="write the faces there")
    parser.add_argument("names", nargs="*", help="decks or folders; also backs, foreign")
    args = parser.parse_args(argv)
    if not args.sheet:
        for name, entry in _registry().items():
            print(f"{name:24} {entry.split:6} {entry.licence}")
        return 0
    shown: list[Image] = []
    try:
        for name in args.names or deck_names():
            shown += _pictures(name)
            shown += [np.zeros((8, 6, 4), np.uint8)] * (-len(shown) % 13)
        save(args.sheet, contact_sheet(shown))
    except ConfigurationError as error:
        parser.error(str(error))
    return 0


def _pictures(name: str) -> list[Image]:
    """Return the faces of a deck, all backs, or what is no face of ours."""
    if name == "backs":
        return [load_back(back) for back in back_names()]
    if name == "foreign":
        return [cut_card(), *foreign_faces().values()]
    return list(load_deck(name).faces.values())


if __name__ == "__main__":
    raise SystemExit(main())
