"""`shoe-reader calibrate`: what is written, what stays, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

from tests.setup.calibration.laid import CARDS, PLANE, SIZE, good, picture, without
from vision.camera.decoding import Shot
from vision.cli import main
from vision.commands import calibrate
from vision.config.editor import TableFile
from vision.config.table import CameraSection, load
from vision.game.events import Slot

TABLE = """\
site = "lisboa"   # the house
table = "7"

[camera]
source = "0"      # over the middle
width = 640
height = 360

[view]
# measured by hand
image_px = [[165, 63], [617, 62], [615, 278], [66, 277]]
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


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write a picture of the laid cards."""
    path = tmp_path_factory.mktemp("laid") / "cards.png"
    cv2.imwrite(str(path), good())
    return str(path)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Write a table file with comments, of another camera position."""
    path = tmp_path / "table.toml"
    path.write_text(TABLE, "utf-8")
    return path


def off_mm(path: Path) -> float:
    """Return how far off (worst, mm) the slots of a written file are from the cards on them."""
    view = load(path).view.table_view()
    seen = {s: PLANE.to_mm(view.homography.to_px(a.mean(axis=0))) for s, a in view.slots.items()}
    return max(float(np.hypot(*(seen[slot] - CARDS[slot.name][:2]))) for slot in Slot)


def test_picture_of_the_cards_measures_the_table_and_nothing_else(table: Path, laid: str) -> None:
    """The areas lie where the cards do; other keys and comments stay; the old file too."""
    assert main(["calibrate", str(table), "--cards", laid]) == 0
    assert off_mm(table) < 2
    text = table.read_text("utf-8")
    for kept in ("# the house", "# over the middle", "# next to the other one", "port = 8090"):
        assert kept in text
    assert table.with_name("table.toml.bak").read_text("utf-8") == TABLE
    config = load(table)
    assert (config.camera.width, config.camera.height) == SIZE
    assert Path(config.view.layout).exists()
    drawn = cv2.imread(str(table.with_name("table-calibration.jpg")))
    assert drawn is not None
    assert drawn.shape[1] == 960


def test_camera_is_watched_until_the_cards_lie_right(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A new table file from a source: what is wrong first is said, then all is measured."""
    (tmp_path / "camera").mkdir()
    for number, image in enumerate((picture(without("BANCO_3")), good(), good())):
        cv2.imwrite(str(tmp_path / "camera" / f"{number}.png"), image)
    path = tmp_path / "new.toml"
    assert main(["calibrate", str(path), "--cards", "--source", str(tmp_path / "camera")]) == 0
    assert "the three of hearts is not seen" in capsys.readouterr().out
    assert off_mm(path) < 2
    assert load(path).camera.source == str(tmp_path / "camera")


def test_cards_laid_wrong_change_nothing(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 3 with the card and the cure; no file is written."""
    path = table.with_name("cards.png")
    cv2.imwrite(str(path), picture(without("PUNTO_1")))
    assert main(["calibrate", str(table), "--cards", str(path)]) == 3
    assert "the ace of spades is not seen: lay it on Punto's first place" in capsys.readouterr().err
    assert table.read_text("utf-8") == TABLE
    assert sorted(one.name for one in table.parent.iterdir()) == ["cards.png", "table.toml"]


def test_place_that_lies_on_another_is_refused(table: Path) -> None:
    """What is saved by hand is looked at as well."""
    file = TableFile(table)
    slots = load(table).view.slots_mm
    file.change("view", {"slots_mm": {"PUNTO_2": slots[Slot.PUNTO_1]}})
    file.write()
    assert main(["check", str(table)]) == 2


@pytest.mark.parametrize("name", ["table.toml", "nothing.png"], ids=["no picture", "no file"])
def test_file_that_is_no_picture_is_named(
    table: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong file is told by its name; nothing is written."""
    assert main(["calibrate", str(table), "--cards", str(table.with_name(name))]) == 3
    assert name in capsys.readouterr().err


def test_table_file_that_is_none_is_refused(
    tmp_path: Path, laid: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is no TOML is not written over."""
    path = tmp_path / "notes.txt"
    path.write_text("remember = the milk\n", "utf-8")
    assert main(["calibrate", str(path), "--cards", laid]) == 2
    assert "notes.txt" in capsys.readouterr().err
    assert path.read_text("utf-8") == "remember = the milk\n"


def test_calibrate_says_what_it_needs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A newcomer is told what to give."""
    assert main(["calibrate", str(tmp_path / "x.toml")]) == 2
    assert "give --source, or pictures of the eight cards" in capsys.readouterr().err


def test_every_key_of_the_camera_is_honoured(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The source is opened with all settings of the table's camera, of another source too."""
    opened: list[CameraSection] = []

    def never(camera: CameraSection, **_: float) -> Iterator[Shot]:
        opened.append(camera)
        return iter(())

    monkeypatch.setattr(calibrate, "frames", never)
    text = table.read_text("utf-8").replace(
        "height = 360", "height = 360\nfrozen_s = 0\nopen_s = 9"
    )
    table.write_text(text, "utf-8")
    assert main(["calibrate", str(table), "--source", "rtsp://10.0.0.9/live"]) == 3
    (camera,) = opened
    assert camera.source == "rtsp://10.0.0.9/live"
    assert (camera.frozen_s, camera.open_s, camera.width) == (0, 9, 640)


def test_areas_are_moved_to_where_cards_lie(table: Path) -> None:
    """The numbers of CAMERA_MOVED: cards look a tenth larger, and lie 20 mm beside the slots.

    The picture of the layout is a new one.
    """
    cv2.imwrite(str(table.with_name("now.png")), np.full((360, 640, 3), 90, np.uint8))
    table.write_text(table.read_text("utf-8").replace('"0"', '"now.png"'), "utf-8")
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
    assert Path(load(table).view.layout).is_file()


def test_numbers_of_no_move_are_refused(table: Path) -> None:
    """What was not copied whole, or leaves no area in the picture, moves nothing."""
    cv2.imwrite(str(table.with_name("now.png")), np.full((360, 640, 3), 90, np.uint8))
    table.write_text(table.read_text("utf-8").replace('"0"', '"now.png"'), "utf-8")
    before = table.read_bytes()
    with pytest.raises(SystemExit):
        main(["calibrate", str(table), "--moved", "1", "2"])
    assert main(["calibrate", str(table), "--moved", "1", "1", "9000", "0", "0"]) == 2
    assert table.read_bytes() == before


def test_camera_that_pictures_do_not_name_is_reported(
    tmp_path: Path, laid: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A new table file from a picture alone has the machine's first camera, and says so once."""
    path = tmp_path / "new.toml"
    assert main(["calibrate", str(path), "--cards", laid]) == 0
    words = f'{path} has [camera] source = "0", the first camera of this machine'
    assert words in capsys.readouterr().out
    assert load(path).camera.source == "0"
    assert main(["calibrate", str(path), "--cards", laid]) == 0
    assert "which camera" not in capsys.readouterr().out
