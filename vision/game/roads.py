"""Roads: bead plate, big road, the three derived roads, "ask the road", counts.

A fold over the confirmed coups, `empty_roads().add(1, outcome)`: a coup adds cells, and changes
none but the newest of the big road. Void coups are not in the list, free hands are. Layout (columns
and rows on the board, dragon tails) and meaning (streaks) are separate: derived roads look at
streaks only.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

from vision.game.events import Winner
from vision.game.outcome import Outcome

MARKS = ("punto_pair", "banco_pair", "natural")  # what a bead shows beside its winner
DEFAULT_ROWS = 6  # rows of a results board, as casinos draw it; a board may have more


class Mark(StrEnum):
    """A derived mark: red where the road repeats itself, blue where it does not."""

    RED = "red"
    BLUE = "blue"


class Derived(StrEnum):
    """The derived roads: the first compares one streak back, the second two, the third three."""

    BIG_EYE_BOY = "big_eye_boy"
    SMALL_ROAD = "small_road"
    COCKROACH_PIG = "cockroach_pig"


Cell = dict[str, Any]  # a cell as it is published


class Road(NamedTuple):
    """The cells of a road as they are published: `col` and `row` from 0, and what each shows.

    A streak runs down while there is a row and the cell below is free, then turns right (`turned`)
    and stays on that row to its end: the dragon tail. The next streak starts at the first free cell
    of the top row, so a tail may overhang.
    """

    rows: int = DEFAULT_ROWS
    cells: tuple[Cell, ...] = ()
    turned: bool = False

    @property
    def places(self) -> tuple[tuple[int, int], ...]:
        """The column and row of each cell."""
        return tuple([(cell["col"], cell["row"]) for cell in self.cells])

    def add(self, shown: Cell, *, repeats: bool) -> Road:
        """Lay an entry that shows this: one more of the current streak, or the first of another."""
        places, turned = self.places, False
        if repeats:
            column, row = places[-1]
            turned = self.turned or row + 1 >= self.rows or (column, row + 1) in places
            column, row = (column + 1, row) if turned else (column, row + 1)
        else:
            # The top row fills from the left without gaps.
            column, row = sum([row == 0 for _, row in places]), 0
        cell = {"col": column, "row": row, **shown}
        return Road(self.rows, (*self.cells, cell), turned)


def derived_mark(streaks: tuple[int, ...], distance: int) -> Mark | None:
    """Return the mark that the newest big-road entry makes; None while there is too little road.

    `streaks` are the lengths of the streaks so far, the newest entry included (ties never count).
    Below the top of a streak: compare with the streak `distance` back; blue exactly where that one
    ended just above. At the top: did the last two comparable streaks have the same length?
    """
    here = len(streaks) - 1
    if here < distance:
        return None
    if streaks[here] >= 2:
        return Mark.BLUE if streaks[here] == streaks[here - distance] + 1 else Mark.RED
    if here == distance:
        return None
    return Mark.RED if streaks[here - 1] == streaks[here - 1 - distance] else Mark.BLUE


class Roads(NamedTuple):
    """Everything a results board draws of the coups so far.

    `beads` are the cells of the bead plate, one for each coup. `big` holds the coups that somebody
    won, each with how many `ties` (Egalites) followed it; those before the first decision wait in
    `leading_ties` and are drawn on the first entry when it comes.
    """

    rows: int
    big: Road
    derived: tuple[Road, ...]
    beads: tuple[Cell, ...] = ()
    leading_ties: int = 0
    streaks: tuple[int, ...] = ()

    def add(self, coup: int, outcome: Outcome) -> Roads:
        """Return the roads with one more confirmed coup, of that number in the shoe."""
        winner = outcome.winner
        shown = {"coup": coup, "winner": winner.value}
        shown |= {mark: getattr(outcome, mark) for mark in MARKS}
        column, row = divmod(len(self.beads), self.rows)
        beads = (*self.beads, {"col": column, "row": row, **shown})
        if winner is not Winner.EGALITE:
            streaks = self._streaks_with(winner)
            marks = [derived_mark(streaks, distance) for distance in range(1, 4)]
            ties = 0 if self.big.cells else self.leading_ties
            repeats = len(streaks) == len(self.streaks)
            return self._replace(
                beads=beads,
                big=self.big.add({**shown, "ties": ties}, repeats=repeats),
                streaks=streaks,
                derived=tuple(map(_marked, self.derived, marks)),
            )
        if not self.big.cells:
            return self._replace(beads=beads, leading_ties=self.leading_ties + 1)
        *cells, newest = self.big.cells
        cells.append({**newest, "ties": newest["ties"] + 1})
        return self._replace(beads=beads, big=self.big._replace(cells=tuple(cells)))

    def _streaks_with(self, winner: Winner) -> tuple[int, ...]:
        if self.big.cells and self.big.cells[-1]["winner"] == winner:
            return (*self.streaks[:-1], self.streaks[-1] + 1)
        return (*self.streaks, 1)

    def ask(self, winner: Winner) -> dict[Derived, Mark | None]:
        """Return the mark that each derived road would get if that side won the next coup."""
        streaks = self._streaks_with(winner)
        return {road: derived_mark(streaks, distance) for distance, road in enumerate(Derived, 1)}

    def counts(self) -> dict[str, int]:
        """Count the coups, what they ended as, pairs and coups with a natural."""
        won = [bead["winner"] for bead in self.beads]
        return {
            "coups": len(self.beads),
            **{winner.value: won.count(winner.value) for winner in Winner},
            **{mark: sum([bead[mark] for bead in self.beads]) for mark in MARKS},
        }


def _marked(road: Road, mark: Mark | None) -> Road:
    """Return a derived road with one mark more: equal ones run down, another begins a column."""
    if mark is None:
        return road
    repeats = bool(road.cells) and road.cells[-1]["mark"] == mark
    return road.add({"mark": mark.value}, repeats=repeats)


def empty_roads(rows: int = DEFAULT_ROWS) -> Roads:
    """Return the roads of a new shoe on a board with that many rows (1 or more)."""
    return Roads(rows, Road(rows), (Road(rows),) * len(Derived))


def roads_payload(roads: Roads) -> dict[str, object]:
    """Return the content of the topic `roads`: plain dicts, lists, numbers and words.

    `bead_plate` and `big_road` hold cells with column and row from 0, winner and marks; a cell of
    the big road also says how many `ties` it carries. Cells of the derived roads hold a `mark`,
    `red` or `blue`. `ask` has, for a next win of either side, the mark of each derived road or
    null. `counts` are over all drawn coups.
    """
    return {
        "rows": roads.rows,
        "leading_ties": roads.leading_ties,
        "ask": {side.value: roads.ask(side) for side in (Winner.BANCO, Winner.PUNTO)},
        "counts": roads.counts(),
        "bead_plate": list(roads.beads),
        "big_road": list(roads.big.cells),
        **{name.value: list(road.cells) for name, road in zip(Derived, roads.derived, strict=True)},
    }
