"""The house: which room may import which, read from the source."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
STANDARD = frozenset(__import__("sys").stdlib_module_names)

# Room -> what it may import of ours, and which third parties ("*": any).
ROOMS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "vision/game": (("vision.game",), ()),
    "vision/sight": (("vision.game", "vision.sight"), ("numpy", "cv2")),
    "vision/wire": (("vision.game", "vision.wire"), ()),
    "vision/edge": (
        (
            "vision.wire",
            "vision.game.events",
            "vision.sight.frame",
            "vision.errors",
            "vision.edge",
        ),
        ("*",),
    ),
    "vision": (("vision",), ("*",)),
    "datasets": (("datasets", "vision"), ("*",)),
    "models": (("models", "datasets", "vision"), ("*",)),
}
# The rules do no I/O and know no clock: not even the standard library's.
BARRED_IN_PURE_ROOMS = {
    "datetime", "io", "logging", "os", "pathlib", "random", "secrets", "socket", "sqlite3",
    "subprocess", "sys", "threading", "time",
}  # fmt: skip
PURE = ("vision/game", "vision/wire")
# Writing a moment as text needs a calendar.
EXCEPTIONS = {"vision/wire": {"datetime"}}


def room_of(path: Path) -> str:
    """Return the narrowest room a module lies in."""
    name = path.relative_to(ROOT).with_suffix("").as_posix()
    return max((room for room in ROOMS if name.startswith(room)), key=len)


def imports_of(path: Path) -> set[str]:
    """Return the full names of the modules that a source file imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add(node.module or "")
    return found


SOURCES = sorted(
    path for top in ("vision", "datasets", "models") for path in (ROOT / top).rglob("*.py")
)


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_module_imports_only_what_its_room_may(path: Path) -> None:
    """The import table of the design holds for every module."""
    room = room_of(path)
    ours, others = ROOMS[room]
    tops = ("vision", "datasets", "models")
    for name in imports_of(path):
        top = name.split(".")[0]
        if top in tops:
            allowed = any(name == own or name.startswith((f"{own}.", f"{own}_")) for own in ours)
            assert allowed, f"{room} may not import {name}"
        elif top not in STANDARD:
            assert "*" in others or top in others, f"{room} may not import {name}"
        elif room in PURE:
            barred = BARRED_IN_PURE_ROOMS - EXCEPTIONS.get(room, set())
            assert top not in barred, f"{room} may not import {name}"


def test_every_room_has_modules() -> None:
    """The table above names rooms that exist."""
    assert {room_of(path) for path in SOURCES} == set(ROOMS)


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_module_says_what_it_is_for_and_stays_short(path: Path) -> None:
    """Every module opens with a docstring and stays within what one person can hold."""
    tree = ast.parse(path.read_text("utf-8"))
    assert ast.get_docstring(tree), "no module docstring"
    assert len(path.read_text("utf-8").splitlines()) <= 300
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert (node.end_lineno or 0) - node.lineno <= 60, f"{node.name} is too long"
