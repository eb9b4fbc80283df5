"""The house: which room may import which, read from the source."""

import ast
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.house.graph import House, circles, floors
from tests.house.measure import class_names_twice, constants, doubled_defaults, file_lengths
from vision.commands import COMMANDS, module_of

ROOT = Path(__file__).parent.parent
STANDARD = sys.stdlib_module_names
OURS = ("vision", "datasets", "models")
ANY = ("*",)

# Modules at the root of `vision/` that every room may import and that import only one another.
LEAVES = (
    "clock",
    "errors",
    "files",
    "logging_setup",
    "pictures",
    "secrets",
    "version",
)
PURE_ROOMS = ("game", "record", "wire", "sight")
OUTSIDE_ROOMS = (
    "config", "camera", "inference", "storage", "mqtt", "access", "metrics", "audit", "board",
)  # fmt: skip


class Room(NamedTuple):
    """What a room may import, besides itself and the leaves."""

    ours: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    pure: bool = False  # no I/O, clock, logging or randomness, not even the standard library's


ROOMS = {
    "vision/game": Room(pure=True),
    "vision/record": Room(("game",), pure=True),
    "vision/wire": Room(("game", "record"), ("fastjsonschema",), pure=True),
    "vision/sight": Room(("game",), ("numpy", "cv2"), pure=True),
    "vision/config": Room(
        ("game", "record.codec", "sight.geometry"),
        ("cv2", "numpy", "pydantic", "pydantic_core", "tomlkit"),
    ),
    "vision/camera": Room(("sight.geometry", "config"), ("av", "cv2", "numpy")),
    "vision/inference": Room(("game", "sight"), ("onnxruntime", "cv2", "numpy")),
    "vision/metrics": Room((), ("numpy", "prometheus_client", "scipy")),
    "vision/storage": Room(("game.events", "record", "wire", "config.profiles"), ("cryptography",)),
    "vision/mqtt": Room(("wire", "config"), ("amqtt", "paho")),
    "vision/access": Room(
        ("game.commands", "game.events", "game.fold.commands", "record", "wire"),
        ("cryptography", "pydantic"),
    ),
    "vision/audit": Room(
        ("access", "game", "record", "wire", "storage", "config.profiles"), ("cryptography",)
    ),
    "vision/setup": Room(
        ("game", "sight", "config", "camera", "inference"), ("cv2", "numpy", "scipy")
    ),
    "vision/board": Room(
        (
            "game.commands",
            "game.fold.commands",
            "game.wagers",
            "record",
            "wire",
            "storage",
            "mqtt",
            "access",
            "audit",
            "camera",
            "config",
            "sight.detection.mouth",
            "sight.geometry",
            "sight.quality.table_fit",
            "sight.quality.view",
        ),
        (
            "argon2",
            "cryptography",
            "cv2",
            "itsdangerous",
            "numpy",
            "paho",
            "pydantic",
            "pyotp",
            "starlette",
            "uvicorn",
        ),
    ),
    "vision/app": Room((*PURE_ROOMS, *OUTSIDE_ROOMS), ("av", "cryptography", "cv2", "numpy")),
    "vision/acceptance": Room(
        (
            "access",
            "app",
            "audit",
            "config",
            "game",
            "metrics",
            "record",
            "sight.geometry",
            "storage",
            "wire",
        ),
        ("av", "cv2", "jinja2", "numpy", "tomlkit"),
    ),
    "vision/floor": Room(
        (*PURE_ROOMS, *OUTSIDE_ROOMS, "app"), ("nats", "scipy", "sqlalchemy", "tomlkit")
    ),
    "vision/simulator": Room(),
    "vision/commands": Room(ANY, ANY),
    "datasets": Room(ANY, ANY),
    "models": Room(ANY, ANY),
}
# Our packages besides `vision` that a room may import; commands deal films with the simulator.
OTHER_PACKAGES = {
    "models": OURS,
    "datasets": ("datasets", "vision"),
    "vision/commands": ("datasets",),
}
ROOT_MODULES = {"__init__", "__main__", "cli", *LEAVES}
BARRED_IN_PURE_ROOMS = {
    "io", "logging", "os", "pathlib", "random", "secrets", "socket", "sqlite3", "subprocess",
    "sys", "threading", "time",
}  # fmt: skip

# Known debts, to be lowered and never raised; `python -m tests.house.measure --list` names them.
MOST_DOUBLED_DEFAULTS = 0
MOST_BARE_CONSTANTS = 0
MOST_FLOORS = 7  # rooms: the longest chain of imports, as the house was built; fewer is better
MOST_FILES, MOST_LINES_OF_ALL = 153, 38_300  # of `vision`: lowered as they fall, never raised
MOST_LINES_OF_LOGIN = 700  # with its page: the rest is for an identity provider and its proxy
SLACK = 1.01  # of the lines: a comment must not fail a change; who adds says what is taken away
MOST_LINES = 500  # of a module: more than one idea beyond that
MOST_FUNCTION_LINES = 60  # docstring included

HOUSE = House(ROOT)


def room_of(name: str) -> str | None:
    """Return the room a module lies in, as the table names it; None at the root of `vision/`."""
    path = HOUSE.paths[name].relative_to(ROOT)
    if path.parts[0] != "vision":
        return path.parts[0]
    return "/".join(path.parts[:2]) if len(path.parts) > 2 else None


def within(name: str, rooms: tuple[str, ...]) -> bool:
    """Whether a dotted name lies in one of the rooms of `vision`."""
    return any(f"{name}.".startswith(f"vision.{room}.") for room in rooms)


@pytest.mark.parametrize("module", HOUSE.paths)
def test_module_imports_only_what_its_room_may(module: str) -> None:
    """The import table of the house holds for every module."""
    room_name = room_of(module)
    if room_name is None:
        if module.removeprefix("vision.") in LEAVES:
            ours = {name for name in HOUSE.imports_of(module) if name.split(".")[0] in OURS}
            assert ours <= {f"vision.{leaf}" for leaf in LEAVES}, "a leaf imports leaves only"
        return
    room, own = ROOMS[room_name], room_name.removeprefix("vision/")
    for name in HOUSE.imports_of(module):
        top = name.split(".")[0]
        if top == "vision" and room_name.startswith("vision"):
            allowed = (own, *room.ours, *LEAVES)
            assert room.ours == ANY or within(name, allowed), f"{room_name} may not import {name}"
        elif top in OURS:
            assert top in OTHER_PACKAGES.get(room_name, ()), f"{room_name} may not import {name}"
        elif top not in STANDARD:
            assert room.others == ANY or top in room.others, f"{room_name} may not import {name}"
        elif room.pure:
            assert top not in BARRED_IN_PURE_ROOMS, f"{room_name} may not import {name}"


def test_only_the_program_and_its_leaves_lie_at_the_root_of_vision() -> None:
    """Every other module lies in a room."""
    assert {path.stem for path in (ROOT / "vision").glob("*.py")} <= ROOT_MODULES
    assert {room_of(name) for name in HOUSE.paths} - {None} == set(ROOMS)


def test_core_runs_without_the_floor() -> None:
    """Only the commands of the group `floor` import that room; others when they are asked for it.

    Whoever has one table installs none of its libraries, and nothing of it is loaded.
    """
    own = {module_of(name) for name in COMMANDS if name.startswith("floor ")}
    for module in HOUSE.paths:
        if not module.startswith("vision.") or within(module, ("floor",)) or module in own:
            continue
        of_floor = {name for name in HOUSE.imports_of(module) if within(name, ("floor",))}
        assert not of_floor or within(module, ("commands",)), f"{module} imports {of_floor}"
        at_once = {name for name in HOUSE.loads_of(module) if within(name, ("floor",))}
        assert not at_once, f"{module} loads {at_once}"


def test_no_command_imports_another() -> None:
    """What two commands share lies below them, or in what they print with."""
    for module in HOUSE.paths:
        if module.startswith("vision.commands.") and "printing" not in module:
            others = {name for name in HOUSE.imports_of(module) if within(name, ("commands",))}
            others = {name for name in others if not within(name, ("commands.printing",))}
            assert others <= {"vision.commands", module}, module


@pytest.mark.parametrize("level", ["arrows", "folders", "rooms"])
def test_imports_run_in_no_circle(level: str) -> None:
    """Modules, the folders they lie in and the rooms can each be put in one order."""
    assert circles(getattr(HOUSE, level)) == []


def test_rooms_stand_on_few_floors() -> None:
    """Nobody follows a long chain of rooms to see where something comes from."""
    assert max(floors(HOUSE.rooms).values()) <= MOST_FLOORS


def test_house_grows_no_more() -> None:
    """There are no more files and lines than there were; fewer are better."""
    lengths = file_lengths(HOUSE, "vision")
    assert len(lengths) <= MOST_FILES
    assert sum(lengths.values()) <= SLACK * MOST_LINES_OF_ALL


def test_login_grows_no_more() -> None:
    """Passwords and second factors, with their page."""
    board = HOUSE.root / "vision" / "board"
    files = [*board.glob("login/*.py"), board / "html" / "login.html", *board.glob("pages/login.*")]
    lines = sum(len(file.read_text("utf-8").splitlines()) for file in files)
    assert lines <= MOST_LINES_OF_LOGIN


@pytest.mark.parametrize("module", HOUSE.paths)
def test_module_says_what_it_is_for_and_ends_where_its_idea_ends(module: str) -> None:
    """Every module opens with a docstring; module and functions stay what one person can hold."""
    tree = HOUSE.trees[module]
    assert ast.get_docstring(tree), "no module docstring"
    assert len(HOUSE.paths[module].read_text("utf-8").splitlines()) <= MOST_LINES
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or 0) - node.lineno
            assert lines <= MOST_FUNCTION_LINES, f"{node.name} is too long"


@pytest.mark.parametrize("module", HOUSE.paths)
def test_imports_are_absolute(module: str) -> None:
    """A name says where it comes from; only the simulator is installed under another name."""
    assert room_of(module) == "datasets" or not HOUSE.has_relative_import(module)


def test_defaults_stand_in_the_settings_only() -> None:
    """A setting has one default, in the room `config`; no other class or function repeats it."""
    found = [
        f"{other.module}: {other.owner}.{other.name} = {other.value}"
        for _, other in doubled_defaults(HOUSE)
    ]
    assert len(found) <= MOST_DOUBLED_DEFAULTS, found


def test_constants_have_a_comment() -> None:
    """A number at the level of a module says its unit, its source and what depends on it."""
    bare = [f"{n.module}:{n.line} {n.name}" for n in constants(HOUSE) if not n.said]
    assert len(bare) <= MOST_BARE_CONSTANTS, bare


def test_class_has_a_name_of_its_own() -> None:
    """Whoever looks for a class by its name finds one."""
    assert not class_names_twice(HOUSE)
