"""`shoe-reader enrol`: what it says when it cannot learn the deck."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from vision.cli import main

TABLE = Path(__file__).parents[2] / "deploy" / "table.example.toml"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return a copy of the example table file."""
    path = tmp_path / "table.toml"
    path.write_text(TABLE.read_text("utf-8"), "utf-8")
    return path


def test_enrol_without_a_table_file_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong path is bad usage."""
    assert main(["enrol", str(tmp_path / "nix.toml")]) == 2
    assert "nix.toml: no such file" in capsys.readouterr().err


def test_enrol_into_a_missing_folder_is_reported_before_the_deck_is_shown(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody shows 52 cards for a file that cannot be written."""
    assert main(["enrol", str(table), "--out", str(tmp_path / "no" / "a.deck")]) == 2
    assert "make it first" in capsys.readouterr().err


def test_enrol_from_a_source_without_cards_says_what_is_missing_and_writes_nothing(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An empty table is no deck: every face and the back are missing."""
    folder = tmp_path / "empty"
    folder.mkdir()
    cv2.imwrite(str(folder / "0.png"), np.full((1080, 1920, 3), (40, 90, 30), np.uint8))
    assert main(["enrol", str(table), "--source", str(folder)]) == 3
    assert "the deck is not whole" in capsys.readouterr().err
    assert not table.with_suffix(".deck").exists()


def test_refit_of_a_file_that_is_no_deck_is_reported(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The table file is not a deck."""
    assert main(["enrol", str(table), "--refit", str(table)]) == 2
    assert "is not a deck file" in capsys.readouterr().err
