"""The usual pipeline is not hobbled: with faultless detections it reads coups; files are kept."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from datasets.dealing.film_truth import read_truth
from datasets.dealing.score import Figures, judge, read_answer
from datasets.dealing.simulate import Show, show_of
from models.evaluate.baseline.pipeline import TRACKERS, Found
from models.evaluate.baseline.zones import SETTINGS
from models.evaluate.versus import faultless, follow, main, watch
from vision.config.table import TableConfig, load
from vision.sight.geometry.plane import Image


def read(show: Show, tracker: str, folder: Path) -> Figures:
    """Return the figures of the usual pipeline with faultless detections."""
    truth, table = folder / "truth.json", folder / "table.toml"
    truth.write_text(json.dumps(show.truth()), "utf-8")
    table.write_text(show.table_file(), "utf-8")
    lines, _ = follow(load(table), faultless(show), tracker, SETTINGS["ultralytics"])
    (folder / "film.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    return judge("film", read_truth(truth), read_answer(folder / "film.jsonl"))


@pytest.mark.parametrize("tracker", sorted(TRACKERS))
def test_faultless_detections_come_to_the_coups_that_were_dealt(
    tracker: str, tmp_path: Path
) -> None:
    """All cards, winners, and the draw that is one too many, under its code."""
    words = ["--coups", "4", "--fault-every", "4", "--fault", "over-draw-banco", "--seed", "5"]
    found = read(show_of([*words, "--size", "960x540"]), tracker, tmp_path)
    assert (found.wrong, found.missing, found.accused) == (0, 0, 0), found.notes
    assert found.cards_right == found.cards
    assert (found.reported, found.incidents) == (1, 1)


def test_detections_are_kept_and_taken_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second run does not look at the film; what it gets is the same, empty pictures too."""
    pictures = [(0, np.zeros((4, 4, 3), np.uint8)), (40, np.ones((4, 4, 3), np.uint8))]
    looked = []

    def detect(image: Image) -> Found:
        looked.append(image)
        count = int(image.max())
        return Found(
            *(np.full(shape, 0.5, np.float32) for shape in ((count, 4), count, count, count))
        )

    def shown(_: TableConfig) -> list[tuple[int, Image]]:
        return pictures

    monkeypatch.setattr("models.evaluate.versus.pictures", shown)
    config, kept = TableConfig.model_construct(), tmp_path / "kept/film.npz"
    first, second = watch(config, detect, kept), watch(config, detect, kept)
    assert len(looked) == len(pictures)
    assert first.times == second.times == [0, 40]
    assert [len(each.scores) for each in second.found] == [0, 1]


def test_missing_weights_are_refused_before_anything_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever has trained none is told how to, and how to go without."""
    out = tmp_path / "out"
    words = ["versus", str(tmp_path), "--out", str(out), "--weights", str(tmp_path / "none.pt")]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "--without ultralytics" in capsys.readouterr().err
    assert not out.exists()
