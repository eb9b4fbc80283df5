"""Deck files: whole or refused, with the hash of their content."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vision.errors import ConfigurationError, OutsideError
from vision.inference.deck_file import captured_in, load, open_deck, save, write
from vision.sight.deck.classifier import Captured, Deck

PICTURE = np.full((136, 96, 3), 90, np.uint8)
FACES = np.stack([PICTURE] * 52)
ARRAYS = {"weights": np.arange(6, dtype=np.float32).reshape(2, 3)}


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
    """Facts, arrays, pictures and hash; the same content has the same hash."""
    path = tmp_path / "a.deck"
    digest = save(path, {"armed": True}, ARRAYS, [PICTURE, PICTURE])
    found = load(path)
    assert found.sha256 == digest == save(tmp_path / "b", {"armed": True}, ARRAYS, [PICTURE] * 2)
    assert found.facts["armed"] is True
    assert (found.arrays["weights"] == ARRAYS["weights"]).all()
    assert [picture.shape for picture in found.pictures] == [PICTURE.shape] * 2
    assert digest != save(tmp_path / "c", {"armed": False}, ARRAYS, [PICTURE] * 2)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.deck", "b", "c"]


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
    again = captured_in(path)
    assert again.crops.shape == (104, 136, 96, 3)
    assert len(again.backs) == 3


def test_deck_file_of_an_earlier_version_opens_and_what_it_learnt_is_ignored(
    tmp_path: Path,
) -> None:
    """Earlier files hold weights that corrected the classifier, and which crops were kept apart."""
    path = tmp_path / "old.deck"
    cards = np.repeat(np.arange(52), 2)
    learnt = {
        "mean": np.zeros(4, np.float32),
        "scale": np.ones(4, np.float32),
        "weights": np.ones((5, 52), np.float32),
        "kept": cards % 2 == 0,
    }
    arrays = {"faces": FACES, "backs": FACES[:1], "alike": np.full((53, 2), (2.0, 0.2))}
    arrays |= {**learnt, "margins": np.zeros((52, 52)), "cards": cards}
    head = {"name": "ridge", "own": 1.0, "generic": 0.5, "unit": False}
    facts = {"classifier": "abc", "armed": True, "why": "", "head": head}
    digest = save(path, facts, arrays, [PICTURE] * 107)
    deck, found = open_deck(path, "abc")
    assert found == digest
    assert (deck.faces == FACES).all()
    assert deck.alike.shape == (53, 2)
    captured = captured_in(path)
    assert (captured.cards == cards).all()
    assert len(captured.backs) == 3


def test_deck_that_is_not_armed_is_refused_and_names_the_cards(tmp_path: Path) -> None:
    """The reader never starts with a deck in which two cards cannot be told apart."""
    with pytest.raises(ConfigurationError, match="7h and 7d are too alike under this lamp"):
        open_deck(put(tmp_path, armed=False), "abc")


def test_missing_deck_file_and_folder_are_told(tmp_path: Path) -> None:
    """A wrong path is the user's to mend, a missing folder the disk's."""
    with pytest.raises(ConfigurationError, match="no such deck file"):
        load(tmp_path / "nix.deck")
    with pytest.raises(OutsideError, match="cannot write"):
        save(tmp_path / "nowhere" / "a.deck", {}, ARRAYS, [])
