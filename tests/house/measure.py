"""Measure the house: floors, circles, lengths, doubled defaults and constants without a comment.

`python -m tests.house.measure [ROOT] [--json] [--list]`: ROOT is any checkout of this project, this
one by default; `--list` names what was counted. What each figure means:

- *files*: Python files of `vision`, `__init__.py` left out, as in every count of files below.
- *floors*: the longest chain of imports, of rooms or modules (`tests/house/graph.py` defines both).
- *loose modules*: modules at the root of `vision` besides `cli`.
- *circles*: groups of modules, folders or rooms that import one another, directly or not.
- *doubled defaults*: a field of a class in the room `config` (at the root: `config*.py`) and a
  field of a class or a parameter of a function in another room of `vision` that have the same
  name and literal default. `Field(default)` counts as its default, a constant of the module as its
  value. Empty defaults (`None`, `""`, `()`, `0`, `False`, `True`) are not settings and not counted.
- *constants without a comment*: a name assigned at the level of a module to a number, or to a tuple
  or list of numbers, arithmetic included, that has no comment on its lines and no comment line
  directly above it or above its group (assignments on consecutive lines).
- *class names twice*: public classes at the level of a module of `vision`, of one name.
- *functions*: all, nested ones included; the length is from `def` to the last line, the docstring
  left out. Nine in ten are no longer than p90.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

from tests.house.graph import House, circles, floors, without

SHORT, LONG = (
    60,
    500,
)  # lines: a shorter file is suspected of being part of an idea, a longer of two
EMPTY_DEFAULTS = ("None", "''", "()", "0", "0.0", "False", "True")

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Default(NamedTuple):
    """A field of a class, or a parameter of a function, with its default."""

    module: str
    owner: str
    name: str
    value: str


class Constant(NamedTuple):
    """A number at the level of a module; `said` is whether a comment explains it."""

    module: str
    name: str
    line: int
    said: bool


def doubled_defaults(house: House) -> list[tuple[Default, Default]]:
    """Return each setting whose default stands in another room too, with that other place."""
    found = [
        d for name in house.paths if name.startswith("vision.") for d in _defaults(house, name)
    ]
    settings = {(d.name, d.value): d for d in found if is_config(d.module) and d.owner[0].isupper()}
    others = (d for d in found if not is_config(d.module))
    return [(settings[d.name, d.value], d) for d in others if (d.name, d.value) in settings]


def is_config(module: str) -> bool:
    """Whether a module belongs to the settings of a table."""
    return module.split(".")[1].startswith("config")


def _defaults(house: House, module: str) -> Iterator[Default]:
    tree = house.trees[module]
    known = {
        target.id: ast.unparse(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for target in _targets(node)
    }
    for node in ast.walk(tree):
        pairs = _fields(node) if isinstance(node, ast.ClassDef) else _parameters(node)
        for name, value in pairs:
            text = known.get(ast.unparse(value), ast.unparse(value))
            if text not in EMPTY_DEFAULTS and _is_literal(text):
                yield Default(module, getattr(node, "name", ""), name, text)


def _targets(node: ast.Assign | ast.AnnAssign) -> list[ast.Name]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [target for target in targets if isinstance(target, ast.Name)]


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, ast.expr]]:
    for field in node.body:
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and field.value:
            yield field.target.id, _unwrapped(field.value)


def _unwrapped(value: ast.expr) -> ast.expr:
    """Return the default inside pydantic's `Field(...)`, and any other value as it is."""
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "Field":
        named = [word.value for word in value.keywords if word.arg == "default"]
        return (value.args or named or [ast.Constant(None)])[0]
    return value


def _parameters(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, Function):
        plain = [*node.args.posonlyargs, *node.args.args]
        last = plain[len(plain) - len(node.args.defaults) :]
        yield from ((arg.arg, value) for arg, value in zip(last, node.args.defaults, strict=True))
        for arg, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
            if value is not None:
                yield arg.arg, value


def _is_literal(text: str) -> bool:
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return False
    return True


def constants(house: House) -> list[Constant]:
    """Return every numeric constant at the level of a module."""
    return [constant for name in house.paths for constant in _constants(house, name)]


def _constants(house: House, module: str) -> Iterator[Constant]:
    path = house.paths[module]
    with tokenize.open(path) as file:
        tokens = tuple(tokenize.generate_tokens(file.readline))
    comments = {token.start[0] for token in tokens if token.type == tokenize.COMMENT}
    above = 0  # the line above the group that the last statement belongs to
    end = -1
    for node in house.trees[module].body:
        is_assigned = isinstance(node, ast.Assign | ast.AnnAssign)
        if not is_assigned or node.lineno != end + 1:
            above = node.lineno - 1
        end = (node.end_lineno or node.lineno) if is_assigned else -1
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value and _is_number(node.value):
            lines = {above, node.lineno - 1, *range(node.lineno, end + 1)}
            for target in _targets(node):
                yield Constant(module, target.id, node.lineno, bool(lines & comments))


def _is_number(value: ast.expr) -> bool:
    """Whether an expression is a number, arithmetic on numbers, or a row of such."""
    match value:
        case ast.Constant(int() | float() as number):
            return not isinstance(number, bool)
        case ast.UnaryOp(operand=operand):
            return _is_number(operand)
        case ast.BinOp(left=left, right=right):
            return _is_number(left) and _is_number(right)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return bool(parts) and all(map(_is_number, parts))
    return False


def loose_modules(house: House) -> list[str]:
    """Return the modules at the root of `vision` besides the command line."""
    names = (path.stem for path in (house.root / "vision").glob("*.py"))
    return sorted(set(names) - {"__init__", "__main__", "cli"})


def file_lengths(house: House, package: str) -> dict[str, int]:
    """Return the lines of every module of a package, `__init__` left out."""
    return {
        name: len(path.read_text("utf-8").splitlines())
        for name, path in house.paths.items()
        if name.split(".")[0] == package and not house.is_package(name)
    }


def function_lengths(house: House, package: str) -> dict[str, int]:
    """Return the lines of every function of a package, by `module:line name`."""
    return {
        f"{module}:{node.lineno} {node.name}": _lines(node) - _docstring_lines(node)
        for module in house.paths
        if module.split(".")[0] == package
        for node in ast.walk(house.trees[module])
        if isinstance(node, Function)
    }


def _docstring_lines(node: Function) -> int:
    return _lines(node.body[0]) if ast.get_docstring(node) is not None else 0


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def measured(house: House) -> dict[str, object]:
    """Return every figure by its name."""
    modules = without(house.arrows, "datasets", "models")
    rooms = without(house.rooms, "datasets", "models")
    files = file_lengths(house, "vision")
    lengths = list(function_lengths(house, "vision").values())
    numbers = constants(house)
    return {
        "files in vision": len(files),
        "lines in vision": sum(files.values()),
        "files in datasets": len(file_lengths(house, "datasets")),
        "files in models": len(file_lengths(house, "models")),
        "rooms": len(rooms),
        "floors of rooms": max(floors(rooms).values()),
        "arrows between rooms": sum(map(len, rooms.values())),
        "floors of modules": max(floors(modules).values()),
        "loose modules": len(loose_modules(house)),
        "circles of rooms": len(circles(rooms)),
        "circles of folders": len(circles(house.folders)),
        "circles of modules": len(circles(house.arrows)),
        "doubled defaults": len(doubled_defaults(house)),
        "class names twice": len(class_names_twice(house)),
        "constants": len(numbers),
        "constants without a comment": sum(not number.said for number in numbers),
        f"files under {SHORT} lines": sum(lines < SHORT for lines in files.values()),
        f"files over {LONG} lines": sum(lines > LONG for lines in files.values()),
        "functions": len(lengths),
        "function median": median(lengths),
        "function p90": quantiles(lengths, n=10)[-1],
        "function longest": max(lengths),
    }


def class_names_twice(house: House) -> dict[str, list[str]]:
    """Return each public class name that several modules of `vision` define, with those modules."""
    found: dict[str, list[str]] = {}
    for module in house.paths:
        if module.startswith("vision."):
            for node in house.trees[module].body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found.setdefault(node.name, []).append(module)
    return {name: modules for name, modules in sorted(found.items()) if len(modules) > 1}


def by_room(house: House) -> dict[str, tuple[int, int]]:
    """Return how many constants each room has, and how many of them without a comment."""
    found: dict[str, tuple[int, int]] = {}
    for number in constants(house):
        room = house.room_of(number.module)
        many, bare = found.get(room, (0, 0))
        found[room] = many + 1, bare + (not number.said)
    return dict(sorted(found.items()))


def details(house: House) -> Mapping[str, list[str]]:
    """Return what was counted, by name."""
    files = file_lengths(house, "vision")
    functions = function_lengths(house, "vision")
    return {
        "loose modules": loose_modules(house),
        "circles": [
            " ".join(group)
            for arrows in (house.arrows, house.folders, house.rooms)
            for group in circles(arrows)
        ],
        "doubled defaults": [
            f"{setting.owner}.{setting.name} = {setting.value}: {other.module} {other.owner}"
            for setting, other in doubled_defaults(house)
        ],
        "constants without a comment": [
            f"{number.module}:{number.line} {number.name}"
            for number in constants(house)
            if not number.said
        ],
        "short files": [f"{name} {lines}" for name, lines in files.items() if lines < SHORT],
        "class names twice": [
            f"{name}: {' '.join(modules)}" for name, modules in class_names_twice(house).items()
        ],
        "long files": [f"{name} {lines}" for name, lines in files.items() if lines > LONG],
        "longest functions": sorted(functions, key=lambda name: -functions[name])[:5],
    }


def main(words: list[str]) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser("python -m tests.house.measure")
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).parents[2])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--list", action="store_true", help="name what was counted")
    args = parser.parse_args(words)
    house = House(args.root.resolve())
    if args.json:
        print(json.dumps({**measured(house), "constants by room": by_room(house)}, indent=1))
        return 0
    for name, value in measured(house).items():
        print(f"{name:30} {value:g}")
    print("\nconstants, those without a comment, by room")
    for room, (many, bare) in by_room(house).items():
        print(f"{room:30} {many:5} {bare:5}")
    for name, lines in details(house).items() if args.list else ():
        print(f"\n{name}", *lines, sep="\n  ")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
