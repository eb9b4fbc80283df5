"""Deck files: an enrolled deck with its captured cards, and the hash of the content.

One file, a NumPy archive without pickles: named arrays, the captured faces as small JPEGs, and
facts as JSON. Written whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vision.errors import ConfigurationError
from vision.files import replacing
from vision.pictures import decode_picture, jpeg
from vision.sight.detection.classifier import FACES
from vision.sight.reading.deck import Captured, Deck

# What a deck file holds; what others it may hold is ignored.
PARTS = {
    "faces", "backs", "alike", "margins", "cards", "facts", "jpegs", "jpeg_sizes", "sha256",
}  # fmt: skip
# Version of the format; files of another one are refused.
FORMAT = 1
# Bytes, far above a deck of some hundred small JPEGs; stops a wrong path from being read whole.
LARGEST_BYTES = 64 * 1024 * 1024
# JPEG quality of the captured faces, from which a deck can be learnt again: high, so that fine
# print survives; not compared with other values.
JPEG_QUALITY = 95
_DAMAGE = (ValueError, KeyError, OSError, EOFError, MemoryError, zipfile.BadZipFile, zlib.error)

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class DeckFile:
    """The content of a deck file: facts, the deck, its captured cards, and the hash of it all."""

    facts: dict[str, Any]
    deck: Deck
    captured: Captured
    sha256: str


def write(
    path: Path,
    deck: Deck,
    margins: NDArray[np.floating],
    captured: Captured,
    facts: Mapping[str, Any],
) -> str:
    """Write an enrolled deck with its captured cards; return its hash; WriteError."""
    pictures = (*captured.crops, *captured.backs)
    packed = [_bytes(jpeg(picture, JPEG_QUALITY)) for picture in pictures]
    content: Arrays = {
        "faces": deck.faces,
        "backs": deck.backs,
        "alike": deck.alike,
        "margins": margins,
        "cards": captured.cards,
        "facts": _bytes(json.dumps({**facts, "format": FORMAT}, sort_keys=True).encode()),
        "jpegs": np.concatenate(packed),
        "jpeg_sizes": np.array([len(jpeg) for jpeg in packed], np.int64),
    }
    digest = _digest(content)
    with replacing(path) as file:
        np.savez_compressed(file, allow_pickle=False, **content, sha256=_bytes(digest.encode()))
    return digest


def open_deck(path: Path, classifier: str) -> tuple[Deck, str]:
    """Return the deck of a file and its hash; `classifier` is the hash of the classifier in use.

    ConfigurationError where the file is damaged, belongs to another classifier or is not armed.
    """
    found = load(path)
    if found.facts.get("classifier") != classifier:
        raise ConfigurationError(
            f"{path}: the deck was enrolled with another classifier; run `shoe-reader enrol "
            f"TABLE.toml --refit {path}` to measure its captured cards again"
        )
    if not found.facts.get("armed"):
        raise ConfigurationError(
            f"{path}: the deck is refused: {found.facts.get('why', 'no reason is given')}; "
            "correct that and enrol again, or leave [deck] path empty to read without it"
        )
    return found.deck, found.sha256


def load(path: Path) -> DeckFile:
    """Read a deck file; ConfigurationError where it is missing, damaged or of another format."""
    content = _content(path)
    digest = content.pop("sha256").tobytes().decode("ascii", "replace")
    if digest != _digest(content):
        raise ConfigurationError(
            f"{path}: the deck file was changed or damaged: its content does not match its hash; "
            "copy it again, or run `shoe-reader enrol`"
        )
    facts = json.loads(content["facts"].tobytes())
    if facts.get("format") != FORMAT:
        raise ConfigurationError(
            f"{path}: is a deck file of format {facts.get('format')}, this program reads "
            f"{FORMAT}; run `shoe-reader enrol` with this version"
        )
    jpegs = np.split(content["jpegs"], np.cumsum(content["jpeg_sizes"])[:-1])
    pictures = [decode_picture(jpeg.tobytes()) for jpeg in jpegs]
    if any(picture is None for picture in pictures):
        raise ConfigurationError(
            f"{path}: the deck file has a damaged picture; run `shoe-reader enrol`"
        )
    deck = Deck(content["faces"], content["backs"], content["alike"])
    if len(deck.faces) != FACES or len(deck.alike) < FACES + bool(len(deck.backs)):
        raise ConfigurationError(f"{path}: not a deck of 52 cards; run `shoe-reader enrol`")
    cards = content["cards"]
    crops, backs = np.split(np.array(pictures), [len(cards)])
    return DeckFile(facts, deck, Captured(crops, cards, backs), digest)


def _content(path: Path) -> Arrays:
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise ConfigurationError(f"{path}: is too large to be a deck file; check [deck] path")
        with np.load(path, allow_pickle=False) as archive:
            # Unpacked as well: a megabyte of zeros is a gigabyte, before its hash is known.
            if sum(part.file_size for part in archive.zip.infolist()) > LARGEST_BYTES:
                raise ValueError("is larger unpacked than a deck")
            content = {name: archive[name] for name in archive.files}
        if not content.keys() >= PARTS:
            raise ValueError("parts are missing")
    except FileNotFoundError:
        raise ConfigurationError(
            f"{path}: no such deck file; run `shoe-reader enrol`, or leave [deck] path empty"
        ) from None
    except _DAMAGE:
        raise ConfigurationError(
            f"{path}: is not a deck file, or is damaged; run `shoe-reader enrol`, or copy it again"
        ) from None
    return content


def _digest(content: Arrays) -> str:
    """Return the SHA-256 over names, types, shapes and bytes of all arrays, in order of names."""
    total = hashlib.sha256()
    for name in sorted(content):
        array = np.ascontiguousarray(content[name])
        total.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        total.update(array.tobytes())
    return total.hexdigest()


def _bytes(text: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(text, np.uint8)
