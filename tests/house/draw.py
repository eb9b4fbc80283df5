"""Draw the rooms of the program from the import graph, as `deploy/architecture.md` shows them.

`python -m tests.house.draw` prints a Mermaid chart of the rooms, a table of them by floors, and a
chart of what lies in the room with most folders, `sight/`, and what makes each fault; `--write`
puts them between the markers of the page. Imports of the leaves, the modules at the root that every
room may import, are left out; so is, in a chart, an arrow where a longer way leads to the same
place.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from tests.house.graph import Arrows, House, floors, joined, reduced
from tests.house.measure import loose_modules
from vision.game.coup.fault_table import KINDS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "deploy" / "architecture.md"
BEGIN = "<!-- drawn by `python -m tests.house.draw --write` -->\n"
OPENED = "vision.sight"  # the room whose inside is drawn too
END = "<!-- end of the drawing -->\n"
# Of the SVG, in its own units: width for a box with its margins, height of a floor and of a box.
# A longer name than `logging_setup` does not fit a narrower one.
WIDE, TALL, BOX = 150, 100, 36


def drawing(house: House) -> str:
    """Return the charts and the table, in Markdown."""
    parts = [_chart(_without_leaves(house)), _table(house), f"In `{_short(OPENED)}/`:\n"]
    return "\n".join([*parts, _chart(_inside(house, OPENED)), _origins()])


def _origins() -> str:
    made = sorted({name for kind in KINDS.values() for name in kind.made.split()})
    codes = {name: [c for c, kind in KINDS.items() if name in kind.made.split()] for name in made}
    rows = [f"| `{name}.py` | {' '.join(codes[name])} |" for name in made]
    return "\n".join(["| module | makes the faults |", "|---|---|", *rows, ""])


def charts(house: House) -> tuple[str, str]:
    """Return the two charts as SVG, for pages that no Mermaid draws."""
    return svg(_without_leaves(house)), svg(_inside(house, OPENED))


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


def svg(arrows_of: Arrows) -> str:
    """Return a drawing: a row of boxes for each floor, and arrows down to what is imported."""
    nodes, floor = reduced(arrows_of), floors(arrows_of)
    rows = [
        sorted(n for n in nodes if floor[n] == level) for level in range(max(floor.values()) + 1)
    ]
    rows = [row for row in reversed(rows) if row]
    width = WIDE * max(map(len, rows))
    places = {
        node: (round(width * (2 * i + 1) / (2 * len(row))), TALL * level + TALL // 2)
        for level, row in enumerate(rows)
        for i, node in enumerate(row)
    }
    lines = [_line(places[a], places[b]) for a in places for b in sorted(nodes[a])]
    boxes = [_box(_short(node), *place) for node, place in places.items()]
    head = f'<svg class="rooms" viewBox="0 0 {width} {TALL * len(rows)}" role="img"'
    words = "Which part imports which: arrows point down, to what is imported."
    return "\n".join([f'{head} aria-label="{words}">', *lines, *boxes, "</svg>"])


def _line(start: tuple[int, int], end: tuple[int, int]) -> str:
    (x0, y0), (x1, y1) = (start[0], start[1] + BOX // 2), (end[0], end[1] - BOX // 2)
    bend = (y1 - y0) // 2
    curve = f"M{x0} {y0} C{x0} {y0 + bend} {x1} {y1 - bend} {x1} {y1}"
    return f'<path d="{curve}" fill="none" stroke="currentColor" opacity="0.35"/>'


def _box(name: str, x: int, y: int) -> str:
    left, top = x - WIDE // 2 + 10, y - BOX // 2
    shape = f'<rect x="{left}" y="{top}" width="{WIDE - 20}" height="{BOX}" rx="6"'
    style = 'fill="var(--md-default-bg-color, #fff)" stroke="currentColor"'
    words = f'<text x="{x}" y="{y + 5}" text-anchor="middle" fill="currentColor">{name}</text>'
    return f"{shape} {style}/>{words}"


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
