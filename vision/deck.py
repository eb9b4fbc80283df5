"""An enrolled deck between its file and sight: what is kept, and when it may be read with.

A deck is refused where it was learnt with another classifier, or was not armed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vision.edge import deck_file
from vision.errors import ConfigurationError
from vision.sight.enrolment import Deck
from vision.sight.enrolment_fit import Captured, Fitted
from vision.sight.enrolment_head import Head
from vision.sight.evidence import FACES


def write(path: Path, fitted: Fitted, captured: Captured, facts: Mapping[str, Any]) -> str:
    """Write a learnt deck with its captured cards; return the hash of the content."""
    deck = fitted.deck
    arrays: dict[str, NDArray[Any]] = {
        "mean": deck.head.mean,
        "scale": deck.head.scale,
        "weights": deck.head.weights,
        "faces": deck.faces,
        "backs": deck.backs,
        "alike": deck.alike,
        "margins": fitted.margins,
        "cards": captured.cards,
        "kept": captured.kept,
    }
    head = {
        "name": deck.head.name,
        "own": deck.head.own,
        "generic": deck.head.generic,
        "unit": deck.head.unit,
    }
    pictures = [*captured.crops, *captured.backs]
    return deck_file.save(path, {**facts, "head": head}, arrays, pictures)


def open_deck(path: Path, classifier: str) -> tuple[Deck, str]:
    """Return the deck of a file and its hash, to read with by the classifier of that hash.

    ConfigurationError where the file is damaged, belongs to another classifier or is not armed.
    """
    found = deck_file.load(path)
    if found.facts.get("classifier") != classifier:
        raise ConfigurationError(
            f"{path}: the deck was enrolled with another classifier; run `shoe-reader enrol "
            f"TABLE.toml --refit {path}` to learn it again from its captured cards"
        )
    if not found.facts.get("armed"):
        raise ConfigurationError(
            f"{path}: the deck is not armed: {found.facts.get('why', 'no reason is given')}; "
            "mend that and enrol again, or leave [deck] path empty to read without it"
        )
    return _deck(path, found), found.sha256


def captured_in(path: Path) -> Captured:
    """Return the captured cards of a deck file, to learn it again."""
    found = deck_file.load(path)
    cards, kept = (_part(path, found.arrays, name) for name in ("cards", "kept"))
    pictures = np.array(found.pictures)
    return Captured(pictures[: len(cards)], cards, kept, pictures[len(cards) :])


def _deck(path: Path, found: deck_file.DeckFile) -> Deck:
    facts = found.facts.get("head", {})
    mean, scale, weights, faces, backs, alike = (
        _part(path, found.arrays, name)
        for name in ("mean", "scale", "weights", "faces", "backs", "alike")
    )
    if weights.shape != (len(mean) + 1, FACES) or len(faces) != FACES:
        raise ConfigurationError(f"{path}: is no deck of 52 cards; run `shoe-reader enrol`")
    head = Head(facts["name"], mean, scale, weights, facts["own"], facts["generic"], facts["unit"])
    return Deck(head, faces, backs, alike)


def _part(path: Path, arrays: Mapping[str, NDArray[Any]], name: str) -> NDArray[Any]:
    if name not in arrays:
        raise ConfigurationError(f"{path}: has no '{name}'; run `shoe-reader enrol`")
    return arrays[name]
