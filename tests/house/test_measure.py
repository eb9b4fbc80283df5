"""The commands that measure and draw: counted by hand on a small house."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.house import measure
from tests.house.graph import House, circles, floors, reduced

SOURCES = {
    "vision/__init__.py": "",
    "vision/cli.py": "import vision.commands",
    "vision/clock.py": "TICK_MS = 10\n\nHOUR_MS = 3600 * 1000  # an hour\nNAME = 'clock'\n",
    "vision/config/__init__.py": "",
    "vision/config/table.py": (
        "PORT = 1883\n\n"
        "class Camera(Section):\n    fps: float = 30.0\n    stall_s: Positive = Field(1.5)\n"
        "class Broker(Section):\n    port: int = PORT\n    name: str = ''\n"
    ),
    "vision/game/__init__.py": "",
    "vision/game/cards.py": "# Points of the court cards.\nTEN = 10\nFACES = (11, 12)\nONE = 1\n",
    "vision/camera/__init__.py": "",
    "vision/camera/source.py": (
        "from vision.game.cards import TEN\n"
        "class Wanted:\n    fps: float = 30.0\n    stall_s: float = 2.5\n"
        "def connect(host, *, port=1883, name=''):\n    '''Docstring.'''\n    return host\n"
    ),
    "vision/camera/first.py": "from vision.camera import second",
    "vision/camera/second.py": "def late():\n    from vision.camera.first import x",
    "vision/commands/__init__.py": "",
    "vision/commands/run.py": "from vision.camera import source\nfrom vision.simulator import deal",
    "datasets/__init__.py": "",
    "datasets/deal.py": "from .faces import draw\nfrom vision.game import cards",
    "datasets/faces.py": "",
    "models/__init__.py": "",
}


@pytest.fixture
def house(tmp_path: Path) -> House:
    """Return the small house."""
    for name, text in SOURCES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return House(tmp_path)


def test_rooms_stand_on_the_floor_of_their_longest_chain(house: House) -> None:
    """Relative imports and the simulator under its installed name count as imports."""
    floor = floors(house.rooms)
    assert floor["vision.game"] == 1
    assert floor["vision.camera"] == floor["datasets"] == 2
    assert floor["vision.commands"] == 3
    assert floors(house.folders)["vision.cli"] == 4
    assert floors(house.arrows)["vision.commands.run"] == 3


def test_circles_are_found_where_modules_import_one_another(house: House) -> None:
    """An import inside a function closes a circle too."""
    assert circles(house.arrows) == [["vision.camera.first", "vision.camera.second"]]
    assert circles(house.rooms) == []


def test_chart_leaves_out_what_a_longer_way_replaces() -> None:
    """Of a -> b -> c and a -> c the last is left out."""
    arrows = {"a": frozenset("bc"), "b": frozenset("c"), "c": frozenset[str]()}
    assert reduced(arrows) == {"a": frozenset("b"), "b": frozenset("c"), "c": frozenset()}


def test_defaults_double_where_name_and_value_are_the_same(house: House) -> None:
    """A field and a parameter count, another value and an empty default do not."""
    found = {(other.owner, other.name) for _, other in measure.doubled_defaults(house)}
    assert found == {("Wanted", "fps"), ("connect", "port")}


def test_constants_have_a_comment_on_their_line_or_above_their_group(house: House) -> None:
    """A comment explains the group below it; texts are no constants."""
    reported = {constant.name: constant.said for constant in measure.constants(house)}
    assert reported == {
        "TICK_MS": False, "HOUR_MS": True, "PORT": False, "TEN": True, "FACES": True, "ONE": True,
    }  # fmt: skip


def test_function_length_leaves_out_the_docstring(house: House) -> None:
    """Lines are counted from `def` to the end."""
    lengths = measure.function_lengths(house, "vision")
    assert lengths == {"vision.camera.source:5 connect": 2, "vision.camera.second:1 late": 2}


def test_command_prints_every_figure(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """As text, with names, or as JSON."""
    assert measure.main([str(house.root), "--list"]) == 0
    text = capsys.readouterr().out
    assert "vision.clock:1 TICK_MS" in text
    assert measure.main([str(house.root), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["loose modules"] == figures["circles of modules"] == 1
    assert figures["constants by room"]["vision.clock"] == [2, 1]


def test_class_names_twice_are_found(tmp_path: Path) -> None:
    """One name for two things is named with both places; private classes may share one."""
    for name in ("first", "second"):
        path = tmp_path / "vision" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"class Seen: ...\n\n\nclass _Own: ...\n\n\nclass {name.title()}: ...\n")
    found = measure.class_names_twice(House(tmp_path))
    assert found == {"Seen": ["vision.first", "vision.second"]}
