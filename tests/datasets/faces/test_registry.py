"""The registry of decks: splits, files on disk, the cache."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from datasets.faces import fonts, registry
from datasets.faces.backs import CUT_COLORS
from datasets.faces.imported_art import card_of_file, draw, finish
from datasets.faces.registry import back_names, cut_card, deck_names, load_back, load_deck
from vision.errors import ConfigurationError
from vision.game.cards import DECK


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep drawn decks out of the user's cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.parametrize(
    ("stem", "card"),
    [
        ("10C", "Tc"),
        ("KS", "Ks"),
        ("spadeKing", "Ks"),
        ("diamond10", "Td"),
        ("clubAce", "Ac"),
        ("2_of_hearts", "2h"),
        ("Ha", "Ah"),
        ("club_1", "Ac"),
        ("heart_queen", "Qh"),
        ("TD", "Td"),
        ("S11", "Js"),
        ("redJoker", None),
        ("Blue_Back", None),
        ("suit-club", None),
        ("card-base", None),
    ],
)
def test_card_of_file_reads_the_usual_names(stem: str, card: str | None) -> None:
    """File names of the known packages give their card, others none."""
    assert card_of_file(stem) == card


def test_decks_of_both_splits_exist_and_are_apart() -> None:
    """Held-out designs are never listed for training, and both lists have own drawings."""
    train, test = deck_names("train"), deck_names("test")
    assert not set(train) & set(test)
    assert set(train) | set(test) == set(deck_names())
    assert {"meridian", "tideway"} <= set(test)
    assert len(train) >= 30
    assert not set(back_names("train")) & set(back_names("test"))
    assert len(back_names("train")) >= 10


def test_load_deck_second_time_draws_nothing_and_is_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The cache gives the very same faces, drawn once."""
    first = load_deck("meridian", 176)
    monkeypatch.setattr("datasets.faces.faces.draw_deck", None)
    again = load_deck("meridian", 176)
    assert list(again.faces) == [str(card) for card in DECK]
    assert all(np.array_equal(first.faces[c], again.faces[c]) for c in first.faces)
    assert again.split == "test"
    assert again.back.shape[:2] == (176, 126)


def test_load_deck_unknown_names_those_there_are() -> None:
    """A wrong name is answered with the right ones."""
    with pytest.raises(ConfigurationError, match=r"no deck 'nope'; there are: .*meridian"):
        load_deck("nope")
    with pytest.raises(ConfigurationError, match="no card back 'nope'"):
        load_back("nope")


def write_deck(folder: Path, leave_out: str = "") -> Path:
    """Write 52 plain card files, each of its own grey, but one."""
    folder.mkdir()
    for card in DECK:
        if str(card) != leave_out:
            grey = np.full((88, 63, 3), 30 + card.index, np.uint8)
            cv2.imwrite(str(folder / f"{card}.png"), grey)
    return folder


def test_load_deck_from_a_folder_reads_its_files(tmp_path: Path) -> None:
    """Anybody's folder of card files is a deck."""
    deck = load_deck(str(write_deck(tmp_path / "mine")), 176)
    assert deck.size_mm == (63.0, 88.0)
    assert deck.faces["7h"][88, 63].tolist() == [56, 56, 56, 255]
    assert deck.faces["7h"][0, 0, 3] == 0


def test_load_deck_from_a_folder_names_missing_cards(tmp_path: Path) -> None:
    """A folder with a card missing is refused by name."""
    with pytest.raises(ConfigurationError, match=r"no file for Qd; name files"):
        load_deck(str(write_deck(tmp_path / "mine", leave_out="Qd")))


def test_load_deck_from_a_folder_with_a_broken_file_names_it(tmp_path: Path) -> None:
    """A file that is no picture is named."""
    folder = write_deck(tmp_path / "mine")
    (folder / "2c.png").write_text("not a picture")
    with pytest.raises(ConfigurationError, match=r"2c\.png: not a picture"):
        load_deck(str(folder))


def test_art_folders_from_the_environment_must_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong SHOE_READER_ART is said, not ignored."""
    monkeypatch.setenv("SHOE_READER_ART", "/no/such/folder")
    with pytest.raises(ConfigurationError, match="SHOE_READER_ART: /no/such/folder"):
        registry.art_folders()


def test_letters_in_a_font_that_is_not_installed_are_drawn(tmp_path: Path) -> None:
    """A rank written as text is not left out for want of the font that its maker had."""
    pytest.importorskip("resvg_py", reason="needs the train extra")
    if not any(path.stem == "DejaVuSans" for path in fonts.index_fonts()):
        pytest.skip("needs the fonts of datasets/install_art.sh")
    path = tmp_path / "AS.svg"
    text = '<text x="4" y="30" style="font-size:30px;font-family:No Such Font">A</text>'
    path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" width="60" height="90">{text}</svg>')
    assert draw(path, height=90)[:, :, 3].max() > 200


def test_finish_trims_a_printed_outline() -> None:
    """The hairline round drawn cards is cut off: real cards have none."""
    art = np.full((440, 315, 4), 255, np.uint8)
    art[:6, :, :3] = art[-6:, :, :3] = art[:, :6, :3] = art[:, -6:, :3] = 0
    face = finish(art, 440, 315)
    assert face[:, :, :3][face[:, :, 3] == 255].min() > 200


def test_backs_and_cut_cards_are_whole_cards() -> None:
    """Every back has ink and rounded corners; a cut card is one colour."""
    for name in back_names():
        back = load_back(name, 176)
        assert back.shape == (176, 126, 4)
        assert back[0, 0, 3] == 0
        assert back[:, :, :3].std() > 10
    for color, bgr in CUT_COLORS.items():
        assert cut_card(88, color=color)[44, 30].tolist() == [*bgr, 255]
