"""Draw the rooms of the program from the import graph, as `deploy/architecture.md` shows them.

`python -m tests.house.draw` prints a Mermaid chart of the rooms, a table of them by floors, and a
chart of what lies in the room with most folders, `sight/`; `--write` puts them between the markers
of the page. Imports of the leaves, the modules at the root that every room may import, are left
out; so is, in a chart, an arrow where a longer way leads to the same place.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from tests.house.graph import Arrows, House, floors, joined, reduced
from tests.house.measure import loose_modules

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "deploy" / "architecture.md"
BEGIN = "<!-- drawn by `python -m tests.house.draw --write` -->\n"
OPENED = "vision.sight"  # the room whose inside is drawn too
END = "<!-- end of the drawing -->\n"


def drawing(house: House) -> str:
    """Return the charts and the table, in Markdown."""
    parts = [_chart(_without_leaves(house)), _table(house), f"In `{_short(OPENED)}/`:\n"]
    return "\n".join([*parts, _chart(_inside(house, OPENED))])


def _inside(house: House, room: str) -> Arrows:
    """Return which folder or module of a room imports which other one of it."""
    depth = room.count(".") + 2
    own = {
        name: frozenset(n for n in there if n.startswith(f"{room}."))
        for name, there in house.arrows.items()
        if name.startswith(f"{room}.")
    }
    return joined(own, lambda name: ".".join(name.split(".")[:depth]))


def _chart(arrows_of: Arrows) -> str:
    nodes = reduced(arrows_of)
    arrows = [f"    {_short(node)} --> {_short(n)}" for node in nodes for n in sorted(nodes[node])]
    return "\n".join(["```mermaid", "flowchart TD", *arrows, "```", ""])


def _table(house: House) -> str:
    floor, rooms = floors(house.rooms), _without_leaves(house)
    rows = ["| floor | room | holds | imports |", "|---|---|---|---|"]
    for room in sorted(floor, key=lambda name: (-floor[name], name)):
        imports = " ".join(f"`{_short(name)}`" for name in sorted(rooms.get(room, ())))
        cells = (str(floor[room]), _title(house, room), _purpose(house, room), imports)
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join([*rows, ""])


def _without_leaves(house: House) -> Arrows:
    """Return which room imports which, leaves left out."""
    leaves = {f"vision.{name}" for name in loose_modules(house)}
    return {room: there - leaves for room, there in house.rooms.items() if room not in leaves}


def _short(room: str) -> str:
    return room.removeprefix(f"{OPENED}.").removeprefix("vision.")


def _title(house: House, room: str) -> str:
    """Return a room's name, with the folders in it."""
    if not house.is_package(room):
        return f"`{_short(room)}`"
    inner = sorted({name for name in house.folders if name.startswith(f"{room}.")})
    folders = ", ".join(f"`{name.removeprefix(room + '.')}/`" for name in inner)
    return f"`{_short(room)}/`" + f": {folders}" * bool(folders)


def _purpose(house: House, room: str) -> str:
    """Return the first sentence of a room's docstring."""
    text = ast.get_docstring(house.trees[room]) or ""
    return " ".join(text.split("\n\n")[0].split())


def written(page: str, drawn: str) -> str:
    """Return the page with the drawing between its markers."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + drawn + END + after


def main(words: list[str]) -> int:
    """Print the drawing, or write it into the page."""
    drawn = drawing(House(ROOT))
    if words == ["--write"]:
        PAGE.write_text(written(PAGE.read_text("utf-8"), drawn), "utf-8")
    else:
        print(drawn, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
