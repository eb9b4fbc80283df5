"""The import graph of the program, read from the source of any checkout, and its order.

A *module* is a Python file, named by its dotted path. A *folder* is a package below `vision`,
`datasets` or `models`, as deep as it goes. A *room* is a folder directly below `vision`; a module
that lies loose at the root of `vision` is a room of its own, except that `cli`, the command line,
belongs to `commands`; `datasets` and `models` are one room each.

An arrow runs from who imports to what is imported; imports inside functions count, and so do
modules of `datasets` that are imported as `vision.simulator`, the name they are installed under.
The *floor* of a node is the length of the longest chain of imports below it, counted from 1.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

PACKAGES = ("vision", "datasets", "models")
COMMAND_LINE = "vision.cli"
INSTALLED_AS = {"vision.simulator": "datasets"}

Arrows = Mapping[str, frozenset[str]]


class House:
    """The Python sources of one checkout."""

    def __init__(self, root: Path, packages: tuple[str, ...] = PACKAGES) -> None:
        self.root = root
        paths = (path for package in packages for path in sorted((root / package).rglob("*.py")))
        self.paths = {self.name_of(path): path for path in paths}

    def name_of(self, path: Path) -> str:
        """Return the dotted name of a source file."""
        parts = path.relative_to(self.root).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @cached_property
    def trees(self) -> dict[str, ast.Module]:
        """The syntax tree of every module."""
        return {name: ast.parse(path.read_text("utf-8")) for name, path in self.paths.items()}

    def is_package(self, name: str) -> bool:
        """Whether that module is the `__init__` of a folder."""
        return self.paths[name].stem == "__init__"

    def imports_of(self, name: str) -> Iterator[str]:
        """Yield the full names of what a module imports: modules where they are ours."""
        yield from self._imported(name, ast.walk(self.trees[name]))

    def loads_of(self, name: str) -> Iterator[str]:
        """Yield the full names of what is imported as soon as a module is."""
        yield from self._imported(name, self.trees[name].body)

    def _imported(self, name: str, nodes: Iterable[ast.AST]) -> Iterator[str]:
        for node in nodes:
            if isinstance(node, ast.Import):
                yield from (self._in_checkout(alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                module = self._source_of(name, node)
                for alias in node.names:
                    inner = self._in_checkout(f"{module}.{alias.name}")
                    yield inner if inner in self.paths else self._in_checkout(module)

    def _source_of(self, name: str, node: ast.ImportFrom) -> str:
        """Return the full name of the module that names are imported from."""
        if not node.level:
            return node.module or ""
        above = self.paths[name].relative_to(self.root).parts[: -node.level]
        return ".".join((*above, node.module) if node.module else above)

    def _in_checkout(self, name: str) -> str:
        for installed, top in INSTALLED_AS.items():
            found = f"{top}{name.removeprefix(installed)}"
            if name.startswith(f"{installed}.") and found in self.paths:
                return found
        return name

    def has_relative_import(self, name: str) -> bool:
        """Whether a module imports by a relative name."""
        nodes = ast.walk(self.trees[name])
        return any(isinstance(node, ast.ImportFrom) and node.level > 0 for node in nodes)

    @cached_property
    def arrows(self) -> Arrows:
        """Which module imports which of ours; the `__init__` of a whole package is left out."""
        ours = frozenset(self.paths) - frozenset(PACKAGES)
        return {name: ours.intersection(self.imports_of(name)) - {name} for name in sorted(ours)}

    def room_of(self, name: str) -> str:
        """Return the room a module lies in: `vision.game`, `vision.clock`, `datasets`."""
        if name == COMMAND_LINE:
            return "vision.commands"
        parts = name.split(".")
        return ".".join(parts[:2]) if parts[0] == "vision" else parts[0]

    def folder_of(self, name: str) -> str:
        """Return the folder a module lies in; a module loose at the root is its own."""
        return name if self.is_package(name) or name.count(".") < 2 else name.rpartition(".")[0]

    @cached_property
    def rooms(self) -> Arrows:
        """Which room imports which."""
        return joined(self.arrows, self.room_of)

    @cached_property
    def folders(self) -> Arrows:
        """Which folder imports which."""
        return joined(self.arrows, self.folder_of)


def joined(arrows: Arrows, group: Callable[[str], str]) -> Arrows:
    """Return the arrows between the groups of the nodes, without those inside a group."""
    found: dict[str, set[str]] = {}
    for here, there in arrows.items():
        found.setdefault(group(here), set()).update(group(name) for name in there)
    return {here: frozenset(there - {here}) for here, there in sorted(found.items())}


def without(arrows: Arrows, *tops: str) -> Arrows:
    """Return the arrows without the nodes of those packages."""
    return {
        here: frozenset(name for name in there if name.split(".")[0] not in tops)
        for here, there in arrows.items()
        if here.split(".")[0] not in tops
    }


def circles(arrows: Arrows) -> list[list[str]]:
    """Return the groups of nodes that import one another, directly or through others."""
    reach = {here: _reach(here, arrows) for here in arrows}
    found = {frozenset(n for n in reach[h] if h in reach[n]) for h in arrows if h in reach[h]}
    return sorted(sorted(group) for group in found)


def _reach(start: str, arrows: Arrows) -> set[str]:
    found: set[str] = set()
    open_ = list(arrows[start])
    while open_:
        name = open_.pop()
        if name not in found:
            found.add(name)
            open_.extend(arrows.get(name, ()))
    return found


def floors(arrows: Arrows) -> dict[str, int]:
    """Return the floor of every node, from 1; nodes of a circle stand on one floor."""
    floor = dict.fromkeys(arrows, 1)
    group = {name: frozenset(names) for names in circles(arrows) for name in names}
    for _ in arrows:  # a chain is no longer than there are nodes
        before = dict(floor)
        for here, there in arrows.items():
            below = [floor[name] for name in there - group.get(here, frozenset())]
            floor[here] = max([floor[here], *(number + 1 for number in below)])
            for name in group.get(here, ()):
                floor[name] = max(floor[name], floor[here])
        if floor == before:
            break
    return floor


def reduced(arrows: Arrows) -> Arrows:
    """Return the arrows that no longer way replaces; the graph must have no circle."""
    below = {here: _reach(here, arrows) for here in arrows}
    return {
        here: frozenset(there - set().union(*(below[name] for name in there)))
        for here, there in arrows.items()
    }
