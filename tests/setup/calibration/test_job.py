"""The calibration of one table file, as a page or a command asks for it."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from tests.setup.calibration.sheets import PLANE, SIZE, lying, on_table
from vision.config.editor import TableFile
from vision.config.table import load
from vision.errors import ConfigurationError
from vision.game.events import Slot
from vision.setup.calibration import job
from vision.setup.calibration.from_play import Played, Proposal
from vision.setup.calibration.from_sheet import FoundPlane
from vision.setup.calibration.job import Calibration, CalibrationRequest
from vision.setup.calibration.places import marked, template
from vision.sight.geometry.plane import POKER_MM

POINTS = ((160, 60, 0, 0), (1120, 60, 1100, 0), (1220, 680, 1100, 640), (60, 680, 0, 640))
MARKS = {
    "PUNTO_1": (400, 300), "PUNTO_2": (480, 300), "PUNTO_3": (300, 300), "BANCO_1": (700, 300),
    "BANCO_2": (780, 300), "BANCO_3": (880, 300), "MOUTH": (1050, 130),
}  # fmt: skip


def test_calibration_reports_in_lines_and_prints_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a person is to read goes to the caller; the file is written when the caller says so."""
    picture = tmp_path / "picture.png"
    cv2.imwrite(str(picture), on_table(lying(500, 300, 0)))
    lines: list[str] = []
    request = CalibrationRequest(
        tmp_path / "new.toml", pictures=[picture], points=POINTS, marks=MARKS
    )
    calibration = Calibration(request, lines.append)
    found = calibration.find()
    calibration.draw(found)
    assert not calibration.target.exists()
    calibration.write(found, calibration.target)
    assert len(load(calibration.target).view.slots_mm) == 6
    assert (tmp_path / "new-calibration.jpg").exists()
    assert lines[0].startswith("plane: 4 points")
    assert lines[-1] == f"wrote {calibration.target}"
    assert capsys.readouterr().out == ""


def test_calibration_from_nothing_names_the_ways(tmp_path: Path) -> None:
    """A request must say what the plane is found from."""
    calibration = Calibration(CalibrationRequest(tmp_path / "new.toml"), lambda _: None)
    with pytest.raises(ConfigurationError, match="pictures of the sheet"):
        calibration.find()


@pytest.mark.parametrize("given", [False, True], ids=["unsure", "given by a person"])
def test_slot_that_the_play_leaves_unsure_is_named_and_drawn_in_red(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: bool
) -> None:
    """The file is written all the same, so that the set-up page can drag it to its place."""
    known = marked(MARKS, PLANE, POKER_MM)
    felt = np.full((SIZE[1], SIZE[0], 3), (60, 90, 30), np.uint8)
    played = Played(FoundPlane(PLANE, felt, ()), Proposal(known, {"BANCO_3": 40.0}, ()))
    monkeypatch.setattr(job, "from_play", lambda *_, **__: played)
    lines: list[str] = []
    marks = {"BANCO_3": MARKS["BANCO_3"]} if given else {}
    calibration = Calibration(
        CalibrationRequest(tmp_path / "new.toml", play="0", marks=marks), lines.append
    )
    found = calibration.find()
    calibration.draw(found)
    calibration.write(found, calibration.target)
    assert any("BANCO_3: known to 40 mm only" in line for line in lines) != given
    picture = cv2.imread(str(tmp_path / "new-calibration.jpg"))
    assert picture is not None
    blue, _, red = picture[270:330, 800:960].astype(int).transpose(2, 0, 1)
    assert ((red - blue > 100) & (picture[270:330, 800:960, 1] < 140)).any() != given
    assert len(load(calibration.target).view.slots_mm) == 6


@pytest.mark.parametrize("unsure", [{}, {"BANCO_3": 40.0}], ids=["all but the mouth", "a slot too"])
def test_play_that_shows_no_mouth_leaves_the_template_to_be_dragged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unsure: dict[str, float]
) -> None:
    """Plane and slots are kept; no card is read before a person has dragged the rest."""
    known = marked({name: mark for name, mark in MARKS.items() if name != "MOUTH"}, PLANE, POKER_MM)
    felt = np.full((SIZE[1], SIZE[0], 3), (60, 90, 30), np.uint8)
    played = Played(FoundPlane(PLANE, felt, ()), Proposal(known, unsure, ()))
    monkeypatch.setattr(job, "from_play", lambda *_, **__: played)
    file = TableFile(tmp_path / "new.toml")
    file.change("camera", {"source": "0", "width": SIZE[0], "height": SIZE[1]})
    file.change("view", template(SIZE))
    file.write()
    before = load(file.path).view
    lines: list[str] = []
    calibration = Calibration(CalibrationRequest(file.path, play=""), lines.append)
    found = calibration.find()
    calibration.draw(found)
    calibration.write(found, calibration.target)
    after = load(file.path).view
    assert after.template
    assert any(line.startswith("MOUTH: not seen: drag it") for line in lines)
    seen = [view.plane().to_px(view.mouth_mm) for view in (before, after)]
    assert np.abs(seen[0] - seen[1]).max() < 1
    assert after.slots_mm[Slot.PUNTO_1] != before.slots_mm[Slot.PUNTO_1]


def test_play_that_shows_all_needs_nobody_to_drag(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A template becomes a table that may be read."""
    felt = np.full((SIZE[1], SIZE[0], 3), (60, 90, 30), np.uint8)
    proposal = Proposal(marked(MARKS, PLANE, POKER_MM), {}, ())
    played = Played(FoundPlane(PLANE, felt, ()), proposal)
    monkeypatch.setattr(job, "from_play", lambda *_, **__: played)
    file = TableFile(tmp_path / "new.toml")
    file.change("camera", {"source": "0", "width": SIZE[0], "height": SIZE[1]})
    file.change("view", template(SIZE))
    file.write()
    calibration = Calibration(CalibrationRequest(file.path, play=""), lambda _: None)
    calibration.write(calibration.find(), calibration.target)
    assert not load(file.path).view.template
