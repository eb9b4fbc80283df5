"""Every default of a setting stands once: in `vision/config`, and in no other room."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

VISION = Path(__file__).parents[2] / "vision"
# Values that say "nothing", "off" or "as it is": they mean the same under any name.
NEUTRAL = (None, "", 0, 1, (), True, False)


def value_of(node: ast.expr) -> Any:
    """Return the literal default of a field or parameter, `None` where it is no literal."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in {"Field", "field"}:
        found = [keyword.value for keyword in node.keywords if keyword.arg == "default"]
        return value_of(found[0]) if found else None
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def fields(tree: ast.AST) -> Iterator[tuple[str, Any]]:
    """Yield name and default of every field of a class."""
    for node in ast.walk(tree):
        for part in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name) and part.value:
                yield part.target.id, value_of(part.value)


def parameters(tree: ast.AST) -> Iterator[tuple[str, Any]]:
    """Yield name and default of every parameter of a function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args
            last = [*given.posonlyargs, *given.args][::-1]
            pairs = [*zip(last, given.defaults[::-1], strict=False)]
            pairs += [(a, d) for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True) if d]
            yield from ((argument.arg, value_of(default)) for argument, default in pairs)


def defaults(path: Path) -> set[tuple[str, str]]:
    """Return the defaults of a source file that say something: name and value."""
    tree = ast.parse(path.read_text("utf-8"))
    found = [*fields(tree), *parameters(tree)]
    return {(name, repr(value)) for name, value in found if value not in NEUTRAL}


def test_no_default_of_a_setting_stands_twice() -> None:
    """A second default would be the one in force where somebody forgets to hand the first on."""
    config = VISION / "config"
    settings = {found for path in config.glob("*.py") for found in defaults(path)}
    assert ("stall_s", "1.5") in settings
    doubled = {
        path.relative_to(VISION).as_posix(): both
        for path in sorted(VISION.rglob("*.py"))
        if path.parent != config and (both := defaults(path) & settings)
    }
    assert doubled == {}
