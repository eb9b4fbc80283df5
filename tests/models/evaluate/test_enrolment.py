"""Enrolment from end to end: a simulated deck shown to the command, and its file read with."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from datasets.faces.registry import back_names, load_deck
from models.evaluate.enrolment import Table
from vision.cli import main
from vision.inference.deck_file import load
from vision.inference.load import open_models
from vision.sight.reading.deck import DeckClassifier

PLACES = "\n".join(
    f"{name} = [[{x}, 200], [{x + 70}, 200], [{x + 70}, 300], [{x}, 300]]"
    for x, name in zip(
        range(200, 800, 100),
        ("PUNTO_1", "PUNTO_2", "PUNTO_3", "BANCO_1", "BANCO_2", "BANCO_3"),
        strict=True,
    )
)


@pytest.mark.slow
def test_enrol_writes_a_deck_from_pictures_and_the_file_is_read_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All 52 cards and the back are found without asking; the deck is armed and opens."""
    shown = Table(load_deck("meridian"), back_names("test")[0], 3, tilt=8, noise=2.5)
    folder = tmp_path / "pictures"
    folder.mkdir()
    laid = [*shown.spreads(pictures=3), *shown.backs(pictures=2)]
    for number, picture in enumerate(laid):
        cv2.imwrite(str(folder / f"{number:03}.png"), picture.image)
    plane = shown.view.homography.to_mm(
        np.array([[300, 200], [1600, 200], [1600, 900], [300, 900]])
    )
    table = tmp_path / "table.toml"
    table.write_text(
        f'site = "s"\ntable = "t"\n[camera]\nsource = "pictures"\n'
        "[view]\nimage_px = [[300, 200], [1600, 200], [1600, 900], [300, 900]]\n"
        f"table_mm = {plane.tolist()}\ncard_mm = {list(load_deck('meridian').size_mm)}\n"
        "mouth_mm = [[900, 100], [1000, 100], [1000, 200], [900, 200]]\n"
        f"[view.slots_mm]\n{PLACES}\n",
        "utf-8",
    )
    code = main(["enrol", str(table)])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    assert "seen 52 of 52 faces\n" in printed.out
    deck = tmp_path / "table.deck"
    models = open_models(deck=deck, threads=1)
    assert models.hashes["deck"] == load(deck).sha256
    assert isinstance(models.classifier, DeckClassifier)
