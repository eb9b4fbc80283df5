"""`shoe-reader calibrate`: what is written, what stays, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

from tests.setup.calibration.sheets import PLANE, SIZE, lying, on_table
from vision.camera.source import Shot
from vision.cli import main
from vision.config.table import CameraSection, load
from vision.setup.calibration import from_sheet
from vision.setup.calibration.solver import rigid

SHEETS = [(200, 200, 20), (800, 190, 100), (520, 330, -15), (220, 470, 75), (860, 470, 10)]
TABLE = """\
site = "lisboa"   # the house
table = "7"

[camera]
source = "0"      # over the middle
width = 1280
height = 720

[view]
# measured by hand
image_px = [[165, 63], [1117, 62], [1215, 678], [66, 677]]
table_mm = [[0, 0], [1100, 0], [1100, 640], [0, 640]]
mouth_mm = [[940, 60], [1040, 60], [1040, 160], [940, 160]]

[view.slots_mm]
PUNTO_1 = [[300, 260], [379, 260], [379, 364], [300, 364]]
PUNTO_2 = [[385, 260], [464, 260], [464, 364], [385, 364]]
PUNTO_3 = [[185, 272], [289, 272], [289, 351], [185, 351]]
BANCO_1 = [[600, 260], [679, 260], [679, 364], [600, 364]]
BANCO_2 = [[685, 260], [764, 260], [764, 364], [685, 364]]
BANCO_3 = [[775, 272], [879, 272], [879, 351], [775, 351]]

[board]
port = 8090       # next to the other one
"""
MARKS = ["PUNTO_1=400,300", "PUNTO_2=480,300", "PUNTO_3=300,300", "BANCO_1=700,300"]
MARKS += ["BANCO_2=780,300", "BANCO_3=880,300", "MOUTH=1050,130"]
POINTS = ["160,60=0,0", "1120,60=1100,0", "1220,680=1100,640", "60,680=0,640"]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Write pictures of the sheet at five places of the table."""
    folder = tmp_path_factory.mktemp("sheets")
    for i, place in enumerate(SHEETS):
        cv2.imwrite(str(folder / f"{i}.png"), on_table(lying(*place)))
    return [str(path) for path in sorted(folder.iterdir())]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Write a table file with comments and a view that is a few pixels off."""
    path = tmp_path / "table.toml"
    path.write_text(TABLE, "utf-8")
    return path


def off_mm(path: Path) -> float:
    """Return how far off (worst, mm) a written table file's plane is across the table."""
    spots = np.stack(np.meshgrid([150, 500, 950], [120, 320, 560]), -1).reshape(-1, 2).astype(float)
    seen = load(path).view.plane().to_mm(PLANE.to_px(spots))
    return float(np.linalg.norm(rigid(seen, spots).apply(seen) - spots, axis=1).max())


def test_pictures_of_the_sheet_mend_the_view_and_nothing_else(
    table: Path, pictures: list[str]
) -> None:
    """The plane is right to half a millimetre; other keys and comments stay; the old file too."""
    assert off_mm(table) > 2
    assert main(["calibrate", str(table), *pictures, "--yes"]) == 0
    assert off_mm(table) < 0.5
    text = table.read_text("utf-8")
    for kept in ("# the house", "# over the middle", "# next to the other one", "port = 8090"):
        assert kept in text
    assert table.with_name("table.toml.bak").read_text("utf-8") == TABLE
    config = load(table)
    assert Path(config.view.layout).exists()
    old, new = (
        np.array([300, 260]),
        np.array(config.view.slots_mm[next(iter(config.view.slots_mm))]),
    )
    assert np.abs(new[0] - old).max() < 0.1
    drawn = cv2.imread(str(table.with_name("table-calibration.jpg")))
    assert drawn is not None
    assert drawn.shape[:2] == (SIZE[1], SIZE[0])


def test_nobody_to_ask_leaves_the_table_file_alone(table: Path, pictures: list[str]) -> None:
    """Without a terminal and without --yes the proposal goes beside the file."""
    assert main(["calibrate", str(table), *pictures]) == 0
    assert table.read_text("utf-8") == TABLE
    assert off_mm(table.with_name("table.proposed.toml")) < 0.5


def test_four_points_and_marks_make_a_new_table_file(tmp_path: Path, pictures: list[str]) -> None:
    """Without any sheet: four measured points, and each place marked in the picture."""
    path = tmp_path / "new.toml"
    places = [word for mark in MARKS for word in ("--place", mark)]
    argv = ["calibrate", str(path), pictures[0], "--points", *POINTS, *places]
    assert main(argv) == 0
    assert off_mm(path) < 0.1
    middle = np.mean(load(path).view.slots_mm[next(iter(load(path).view.slots_mm))], axis=0)
    assert np.allclose(load(path).view.plane().to_px(middle), [400, 300], atol=1)


def test_new_table_file_without_places_names_them(
    tmp_path: Path, pictures: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is written, and the words say which places are missing and how to give them."""
    path = tmp_path / "new.toml"
    assert main(["calibrate", str(path), *pictures]) == 2
    said = capsys.readouterr().err
    assert "PUNTO_1" in said
    assert "--place" in said
    assert not path.exists()


def test_marker_sheet_is_written(tmp_path: Path) -> None:
    """The PDF to print."""
    assert main(["calibrate", "--sheet", str(tmp_path / "sheet.pdf")]) == 0
    assert (tmp_path / "sheet.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("points", "word"),
    [
        (["10,10=0,0", "20,20=10,10", "30,30=20,20", "40,41=30,30"], "line"),
        (["10,10=0,0", "20,10=10,0", "30,90=20,80"], "four or more"),
        ([*POINTS[:3], "60,6800=0,640"], "outside the picture"),
        ([*POINTS, "640,400=700,100"], "measure it again"),
    ],
    ids=["on one line", "three", "outside", "one is wrong"],
)
def test_points_that_fix_no_plane_are_refused(
    table: Path, pictures: list[str], points: list[str], word: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Exit code 2, the words name the fault, and the file is as it was."""
    assert main(["calibrate", str(table), pictures[0], "--points", *points, "--yes"]) == 2
    assert word in capsys.readouterr().err
    assert table.read_text("utf-8") == TABLE


@pytest.mark.parametrize(
    ("image", "word"),
    [
        (np.full((720, 1280, 3), 90, np.uint8), "no marker is seen"),
        (cv2.GaussianBlur(on_table(lying(500, 300, 0)), (0, 0), 8), "blurred"),
        (on_table(lying(20, 300, 0)), "only"),
        (on_table(lying(150, 540, 0)), "add pictures"),
    ],
    ids=["no sheet", "blurred", "partly in sight", "one picture far off"],
)
def test_pictures_without_use_are_refused(
    table: Path, image: np.ndarray, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 3 with what to do; nothing is written."""
    path = table.with_name("picture.png")
    cv2.imwrite(str(path), image)
    assert main(["calibrate", str(table), str(path), "--yes"]) == 3
    assert word in capsys.readouterr().err
    assert table.read_text("utf-8") == TABLE


@pytest.mark.parametrize("name", ["table.toml", "nothing.png"], ids=["no picture", "no file"])
def test_file_that_is_no_picture_is_named(
    table: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong file is a mistake of usage, exit code 2, told by its name."""
    assert main(["calibrate", str(table), str(table.with_name(name))]) == 2
    assert name in capsys.readouterr().err


def test_table_file_that_is_none_is_refused(
    tmp_path: Path, pictures: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """What is no TOML is not written over."""
    path = tmp_path / "notes.txt"
    path.write_text("remember = the milk\n", "utf-8")
    assert main(["calibrate", str(path), *pictures, "--yes"]) == 2
    assert "notes.txt" in capsys.readouterr().err
    assert path.read_text("utf-8") == "remember = the milk\n"


@pytest.mark.parametrize("argv", [[], ["x.toml"]], ids=["nothing", "only a table file"])
def test_calibrate_says_what_it_needs(
    argv: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A newcomer is told what to give."""
    assert main(["calibrate", *(str(tmp_path / word) for word in argv)]) == 2
    assert "--points" in capsys.readouterr().err


def test_every_key_of_the_camera_is_honoured(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The source is opened with all settings of the table's camera, of another source too."""
    opened: list[CameraSection] = []

    def never(camera: CameraSection, **_: float) -> Iterator[Shot]:
        opened.append(camera)
        return iter(())

    monkeypatch.setattr(from_sheet, "frames", never)
    text = table.read_text("utf-8").replace(
        "height = 720", "height = 720\nfrozen_s = 0\nopen_s = 9"
    )
    table.write_text(text, "utf-8")
    assert main(["calibrate", str(table), "--source", "rtsp://10.0.0.9/live"]) == 3
    (camera,) = opened
    assert camera.source == "rtsp://10.0.0.9/live"
    assert (camera.frozen_s, camera.open_s, camera.width) == (0, 9, 1280)


def test_areas_are_moved_to_where_cards_lie(table: Path) -> None:
    """The numbers of CAMERA_MOVED: cards look a tenth larger, and lie 20 mm beside the slots."""
    before = load(table).view.table_view()
    assert main(["calibrate", str(table), "--moved", "1.1", "1.0", "20", "-0", "0"]) == 0
    after = load(table).view.table_view()
    there = {
        name: before.homography.to_px(area + np.array([20, 0]))
        for name, area in before.areas.items()
    }
    for name, area in after.areas.items():
        assert np.abs(after.homography.to_px(area) - there[name]).max() < 0.2
    corner = before.homography.to_mm([400, 300]) / 1.1
    assert np.abs(after.homography.to_mm([400, 300]) - corner).max() < 0.2
    assert table.with_name("table.toml.bak").exists()


def test_numbers_of_no_move_are_refused(table: Path) -> None:
    """What was not copied whole, or leaves no area in the picture, moves nothing."""
    before = table.read_bytes()
    with pytest.raises(SystemExit):
        main(["calibrate", str(table), "--moved", "1", "2"])
    assert main(["calibrate", str(table), "--moved", "1", "1", "9000", "0", "0"]) == 2
    assert table.read_bytes() == before
