"""The calibration of one table file, as a page or a command asks for it."""

from __future__ import annotations

from pathlib import Path

import cv2
import pytest

from tests.setup.calibration.sheets import lying, on_table
from vision.config.table import load
from vision.errors import ConfigurationError
from vision.setup.calibration.job import Calibration

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
    calibration = Calibration(
        tmp_path / "new.toml", lines.append, pictures=[picture], points=POINTS, marks=MARKS
    )
    view, found = calibration.find()
    assert not calibration.target.exists()
    calibration.write(view, found, calibration.target)
    assert len(load(calibration.target).view.slots_mm) == 6
    assert (tmp_path / "new-calibration.jpg").exists()
    assert lines[0].startswith("plane: 4 points")
    assert lines[-1] == f"wrote {calibration.target}"
    assert capsys.readouterr().out == ""


def test_calibration_from_nothing_names_the_ways(tmp_path: Path) -> None:
    """A request must say what the plane is found from."""
    calibration = Calibration(tmp_path / "new.toml", lambda _: None)
    with pytest.raises(ConfigurationError, match="pictures of the sheet"):
        calibration.find()
