"""The house: which room may import which, read from the source."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
STANDARD = frozenset(__import__("sys").stdlib_module_names)
OURS = ("vision", "datasets", "models")
ANY = ("*",)

# Modules at the root of `vision/` that every room may import and that import only one another.
LEAVES = ("clock", "errors", "files", "logging_setup", "pictures", "secrets")
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
    "vision/wire": Room(("game", "record"), pure=True),
    "vision/sight": Room(("game",), ("numpy", "cv2"), pure=True),
    "vision/config": Room(
        ("game", "sight.geometry"), ("cv2", "numpy", "pydantic", "pydantic_core", "tomlkit")
    ),
    "vision/camera": Room(("sight.geometry", "config"), ("av", "cv2", "numpy")),
    "vision/inference": Room(("game", "sight"), ("onnxruntime", "cv2", "numpy")),
    "vision/metrics": Room((), ("prometheus_client",)),
    "vision/storage": Room(("game.events", "record", "wire"), ("cryptography",)),
    "vision/mqtt": Room(("wire", "config"), ("amqtt", "paho", "websockets")),
    "vision/access": Room(("game.commands", "game.events", "wire"), ("cryptography", "pydantic")),
    "vision/audit": Room(
        ("game", "record", "wire", "storage", "config.profiles"), ("cryptography",)
    ),
    "vision/setup": Room(("game", "sight", "config", "camera", "inference"), ("cv2", "numpy")),
    "vision/board": Room(
        (
            "game.commands",
            "game.fold.commands",
            "wire",
            "mqtt",
            "access",
            "camera",
            "sight.geometry",
        ),
        ("argon2", "cryptography", "cv2", "paho", "starlette", "uvicorn"),
    ),
    "vision/app": Room(
        (*PURE_ROOMS, *OUTSIDE_ROOMS, "setup"),
        ("av", "cryptography", "cv2", "numpy", "starlette"),
    ),
    "vision/simulator": Room(),
    "vision/commands": Room(ANY, ANY),
    "datasets": Room(ANY, ANY),
    "models": Room(ANY, ANY),
}
ROOT_MODULES = {"__init__", "__main__", "cli", *LEAVES}
BARRED_IN_PURE_ROOMS = {
    "io", "logging", "os", "pathlib", "random", "secrets", "socket", "sqlite3", "subprocess",
    "sys", "threading", "time",
}  # fmt: skip

SOURCES = sorted(path for top in OURS for path in (ROOT / top).rglob("*.py"))


def name_of(path: Path) -> str:
    """Return the dotted name of a source file."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(path: Path) -> str | None:
    """Return the room a module lies in, None for one at the root of `vision/`."""
    parts = path.relative_to(ROOT).parts
    if parts[0] != "vision":
        return parts[0]
    return "/".join(parts[:2]) if len(parts) > 2 else None


def imports_of(path: Path) -> Iterator[str]:
    """Yield the full names of what a source file imports: modules, and names of packages."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            known = {name_of(source) for source in SOURCES}
            module = module_of(path, node)
            for alias in node.names:
                inner = f"{module}.{alias.name}"
                yield inner if inner in known else module


def module_of(path: Path, node: ast.ImportFrom) -> str:
    """Return the full name of the module that names are imported from.

    Relative imports are for `datasets/` only, whose modules are installed under another name.
    """
    if not node.level:
        return str(node.module)
    assert room_of(path) == "datasets", f"{path}: relative import"
    above = path.relative_to(ROOT).parts[: -node.level]
    return ".".join((*above, node.module) if node.module else above)


def within(name: str, rooms: tuple[str, ...]) -> bool:
    """Whether a dotted name lies in one of the rooms of `vision`."""
    return any(f"{name}.".startswith(f"vision.{room}.") for room in rooms)


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_module_imports_only_what_its_room_may(path: Path) -> None:
    """The import table of the house holds for every module."""
    place = room_of(path)
    if place is None:
        if path.stem in LEAVES:
            ours = {name for name in imports_of(path) if name.split(".")[0] in OURS}
            assert ours <= {f"vision.{leaf}" for leaf in LEAVES}, "a leaf imports leaves only"
        return
    room, own = ROOMS[place], place.removeprefix("vision/")
    for name in imports_of(path):
        top = name.split(".")[0]
        if top == "vision" and place.startswith("vision"):
            allowed = (own, *room.ours, *LEAVES)
            assert room.ours == ANY or name == "vision" or within(name, allowed), (
                f"{place} may not import {name}"
            )
        elif top in OURS:
            allowed = {"models": OURS, "datasets": ("datasets", "vision")}.get(place, ())
            assert top in allowed, f"{place} may not import {name}"
        elif top not in STANDARD:
            assert room.others == ANY or top in room.others, f"{place} may not import {name}"
        elif room.pure:
            assert top not in BARRED_IN_PURE_ROOMS, f"{place} may not import {name}"


def test_only_the_program_and_its_leaves_lie_at_the_root_of_vision() -> None:
    """Every other module lies in a room."""
    assert {path.stem for path in (ROOT / "vision").glob("*.py")} <= ROOT_MODULES
    assert {room_of(path) for path in SOURCES} - {None} == set(ROOMS)


def test_no_command_imports_another() -> None:
    """What two commands share lies below them, or in what they print with."""
    for path in (ROOT / "vision/commands").glob("*.py"):
        others = {name for name in imports_of(path) if within(name, ("commands",))}
        others = {name for name in others if not within(name, ("commands.printing",))}
        assert others <= {"vision.commands", name_of(path)}, path


@pytest.mark.parametrize("level", ["modules", "subfolders", "rooms"])
def test_imports_run_in_no_circle(level: str) -> None:
    """Modules, the folders they lie in and the rooms can each be put in one order."""
    depth = {"modules": 9, "subfolders": 3, "rooms": 2}[level]

    def place(name: str, *, module: bool = True) -> str:
        parts = name.split(".")
        return ".".join(parts if level == "modules" else (parts[:-1] if module else parts)[:depth])

    arrows: dict[str, set[str]] = {}
    names = {name_of(path) for path in SOURCES}
    for path in SOURCES:
        if path.stem == "__init__":
            continue
        here = place(name_of(path))
        there = {place(name) for name in imports_of(path) if name in names and name.count(".")}
        arrows.setdefault(here, set()).update(there - {here})
    while free := {here for here, there in arrows.items() if not there & set(arrows)}:
        arrows = {here: there for here, there in arrows.items() if here not in free}
    assert not arrows, f"circle among {sorted(arrows)}"


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_module_says_what_it_is_for_and_ends_where_its_idea_ends(path: Path) -> None:
    """Every module opens with a docstring; module and functions stay what one person can hold."""
    tree = ast.parse(path.read_text("utf-8"))
    assert ast.get_docstring(tree), "no module docstring"
    assert len(path.read_text("utf-8").splitlines()) <= 500
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert (node.end_lineno or 0) - node.lineno <= 60, f"{node.name} is too long"
