"""Deck files: whole or refused, with the hash of their content."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from vision.errors import ConfigurationError, OutsideError
from vision.inference.deck_file import load, open_deck, write
from vision.sight.reading.deck import Captured, Deck

PICTURE = np.full((136, 96, 3), 90, np.uint8)
FACES = np.stack([PICTURE] * 52)


def put(folder: Path, *, armed: bool = True) -> Path:
    """Write a small deck that was measured with the classifier `abc`."""
    deck = Deck(FACES, FACES[:1], np.full((53, 2), (2.0, 0.2)))
    captured = Captured(np.stack([PICTURE] * 104), np.repeat(np.arange(52), 2), FACES[:3])
    path = folder / "house.deck"
    why = "" if armed else "7h and 7d are too alike under this lamp"
    facts = {"classifier": "abc", "armed": armed, "why": why}
    write(path, deck, np.zeros((52, 52)), captured, facts)
    return path


def test_deck_file_comes_back_as_it_was_written(tmp_path: Path) -> None:
    """Facts, deck, pictures and hash; the same content has the same hash."""
    found = load(path := put(tmp_path))
    (tmp_path / "more").mkdir()
    assert found.sha256 == load(put(tmp_path / "more")).sha256
    assert found.facts["armed"] is True
    assert (found.deck.faces == FACES).all()
    assert found.sha256 != load(put(tmp_path / "more", armed=False)).sha256
    assert sorted(p.name for p in tmp_path.iterdir()) == [path.name, "more"]


@pytest.mark.parametrize("damage", ["cut", "bytes", "text", "empty"])
def test_damaged_deck_file_is_refused_with_the_cure(tmp_path: Path, damage: str) -> None:
    """Nothing is read from a file that is not whole."""
    path = put(tmp_path)
    data = path.read_bytes()
    middle = len(data) // 2
    spoilt = {
        "cut": data[:middle],
        "bytes": data[:middle] + bytes(128) + data[middle + 128 :],
        "text": b"no deck",
        "empty": b"",
    }
    path.write_bytes(spoilt[damage])
    with pytest.raises(ConfigurationError, match=r"house\.deck: .*enrol"):
        load(path)


def test_deck_file_that_unpacks_to_far_more_is_refused_before(tmp_path: Path) -> None:
    """A small file of zeros costs neither time nor memory."""
    path = tmp_path / "house.deck"
    with path.open("wb") as file:
        np.savez_compressed(file, faces=np.zeros(80_000_000, np.uint8))
    assert path.stat().st_size < 100_000
    tracemalloc.start()
    with pytest.raises(ConfigurationError, match="enrol"):
        load(path)
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()


def test_changed_content_is_noticed_by_its_hash(tmp_path: Path) -> None:
    """Whoever arms a deck by hand is found out."""
    path = put(tmp_path, armed=False)
    with np.load(path) as archive:
        content = {name: archive[name] for name in archive.files}
    facts = content["facts"].tobytes().replace(b'"armed": false', b'"armed": true ')
    content["facts"] = np.frombuffer(facts, np.uint8)
    with path.open("wb") as file:
        np.savez_compressed(file, **content)
    with pytest.raises(ConfigurationError, match="changed or damaged"):
        open_deck(path, "abc")


def test_deck_opens_for_its_classifier_only(tmp_path: Path) -> None:
    """Another classifier has other margins; the cure is to measure the captured cards again."""
    path = put(tmp_path)
    deck, digest = open_deck(path, "abc")
    assert deck.faces.shape == (52, 136, 96, 3)
    assert digest == load(path).sha256
    with pytest.raises(ConfigurationError, match="--refit"):
        open_deck(path, "abd")
    again = load(path).captured
    assert again.crops.shape == (104, 136, 96, 3)
    assert len(again.backs) == 3


def test_deck_that_is_not_armed_is_refused_and_names_the_cards(tmp_path: Path) -> None:
    """The reader never starts with a deck in which two cards cannot be told apart."""
    with pytest.raises(ConfigurationError, match="7h and 7d are too alike under this lamp"):
        open_deck(put(tmp_path, armed=False), "abc")


def test_missing_deck_file_and_folder_are_reported(tmp_path: Path) -> None:
    """A wrong path is the user's to mend, a missing folder the disk's."""
    with pytest.raises(ConfigurationError, match="no such deck file"):
        load(tmp_path / "nix.deck")
    with pytest.raises(OutsideError, match="cannot write"):
        put(tmp_path / "nowhere")
