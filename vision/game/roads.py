"""Roads: bead plate, big road, the three derived roads, "ask the road", counts.

A fold over the confirmed coups, `empty_roads().add(coup)`: a coup adds cells, and changes none but
the newest of the big road. Void coups are not in the list, free hands are. Layout (columns and rows
on the board, dragon tails) and meaning (streaks) are separate: derived roads look at streaks only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from vision.game.events import Winner
from vision.game.outcome import Outcome

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


class RoadCoup(NamedTuple):
    """A confirmed coup as a road draws it; `coup` is its number in the shoe."""

    coup: int
    winner: Winner
    punto_pair: bool = False
    banco_pair: bool = False
    natural: bool = False

    @classmethod
    def of(cls, coup: int, outcome: Outcome) -> RoadCoup:
        """Reduce an outcome to what a road shows of it."""
        return cls(coup, outcome.winner, outcome.punto_pair, outcome.banco_pair, outcome.natural)


@dataclass(frozen=True, slots=True)
class Grid:
    """Where the entries of a road lie: one (column, row) each, both from 0.

    A streak runs down while there is a row and the cell below is free, then turns right and stays
    on that row to its end: the dragon tail. The next streak starts at the first free cell of the
    top row, so a tail may overhang.
    """

    rows: int = DEFAULT_ROWS
    cells: tuple[tuple[int, int], ...] = ()
    turned: bool = False

    def turn(self) -> Grid:
        """Lay the first entry of a new streak."""
        # The top row fills from the left without gaps.
        column = sum(row == 0 for _, row in self.cells)
        return replace(self, cells=(*self.cells, (column, 0)), turned=False)

    def again(self) -> Grid:
        """Lay one more entry of the current streak."""
        column, row = self.cells[-1]
        below = (column, row + 1)
        if self.turned or below[1] >= self.rows or below in self.cells:
            return replace(self, cells=(*self.cells, (column + 1, row)), turned=True)
        return replace(self, cells=(*self.cells, below))


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


@dataclass(frozen=True, slots=True)
class MarkRoad:
    """One derived road: its marks and where they lie."""

    marks: tuple[Mark, ...] = ()
    grid: Grid = field(default_factory=Grid)

    def add(self, mark: Mark | None) -> MarkRoad:
        """Append a mark; equal marks run down, another colour starts a column."""
        if mark is None:
            return self
        same = bool(self.marks) and self.marks[-1] is mark
        return MarkRoad((*self.marks, mark), self.grid.again() if same else self.grid.turn())

    def cell(self, index: int) -> dict[str, object]:
        """Return a mark as it is published."""
        column, row = self.grid.cells[index]
        return {"col": column, "row": row, "mark": self.marks[index].value}


@dataclass(frozen=True, slots=True)
class Roads:
    """Everything a results board draws of the coups so far.

    `big` holds the coups that somebody won, `ties` how many Egalites followed each (those before
    the first decision wait in `leading_ties` and are drawn on the first entry when it comes).
    """

    rows: int = DEFAULT_ROWS
    coups: tuple[RoadCoup, ...] = ()
    leading_ties: int = 0
    big: tuple[RoadCoup, ...] = ()
    ties: tuple[int, ...] = ()
    grid: Grid = field(default_factory=Grid)
    streaks: tuple[int, ...] = ()
    derived: tuple[MarkRoad, ...] = (MarkRoad(), MarkRoad(), MarkRoad())

    def add(self, coup: RoadCoup) -> Roads:
        """Return the roads with one more confirmed coup."""
        coups = (*self.coups, coup)
        if coup.winner is not Winner.EGALITE:
            return self._won(coup, coups)
        if not self.big:
            return replace(self, coups=coups, leading_ties=self.leading_ties + 1)
        return replace(self, coups=coups, ties=(*self.ties[:-1], self.ties[-1] + 1))

    def _won(self, coup: RoadCoup, coups: tuple[RoadCoup, ...]) -> Roads:
        streaks = self._streaks_with(coup.winner)
        repeats = len(streaks) == len(self.streaks)
        return replace(
            self,
            coups=coups,
            big=(*self.big, coup),
            ties=(*self.ties, 0 if self.big else self.leading_ties),
            grid=self.grid.again() if repeats else self.grid.turn(),
            streaks=streaks,
            derived=tuple(
                road.add(derived_mark(streaks, distance))
                for distance, road in enumerate(self.derived, start=1)
            ),
        )

    def _streaks_with(self, winner: Winner) -> tuple[int, ...]:
        if self.big and self.big[-1].winner is winner:
            return (*self.streaks[:-1], self.streaks[-1] + 1)
        return (*self.streaks, 1)

    def ask(self, winner: Winner) -> dict[Derived, Mark | None]:
        """Return the mark that each derived road would get if that side won the next coup."""
        streaks = self._streaks_with(winner)
        return {road: derived_mark(streaks, distance) for distance, road in enumerate(Derived, 1)}

    def counts(self) -> dict[str, int]:
        """Count the coups, what they ended as, pairs and coups with a natural."""
        won = [coup.winner for coup in self.coups]
        return {
            "coups": len(self.coups),
            **{winner.value: won.count(winner) for winner in Winner},
            "punto_pair": sum([coup.punto_pair for coup in self.coups]),
            "banco_pair": sum([coup.banco_pair for coup in self.coups]),
            "natural": sum([coup.natural for coup in self.coups]),
        }

    def bead(self, index: int) -> dict[str, object]:
        """Return a cell of the bead plate as it is published."""
        return _shown(self.coups[index], divmod(index, self.rows))

    def entry(self, index: int) -> dict[str, object]:
        """Return a cell of the big road as it is published."""
        return {**_shown(self.big[index], self.grid.cells[index]), "ties": self.ties[index]}


def empty_roads(rows: int = DEFAULT_ROWS) -> Roads:
    """Return the roads of a new shoe on a board with that many rows (1 or more)."""
    blank = MarkRoad(grid=Grid(rows))
    return Roads(rows=rows, grid=Grid(rows), derived=(blank, blank, blank))


def roads_of(coups: Iterable[RoadCoup], rows: int = DEFAULT_ROWS) -> Roads:
    """Return the roads of a list of confirmed coups, in the order in which they were dealt."""
    roads = empty_roads(rows)
    for coup in coups:
        roads = roads.add(coup)
    return roads


def roads_payload(roads: Roads) -> dict[str, object]:
    """Return the content of the topic `roads`: plain dicts, lists, numbers and words.

    `bead_plate` and `big_road` hold cells with column and row from 0, winner and marks; a cell of
    the big road also says how many `ties` it carries. Cells of the derived roads hold a `mark`,
    `red` or `blue`. `ask` has, for a next win of either side, the mark of each derived road or
    null. `counts` are over all drawn coups.
    """
    derived = zip(Derived, roads.derived, strict=True)
    return {
        "rows": roads.rows,
        "leading_ties": roads.leading_ties,
        "ask": {side.value: roads.ask(side) for side in (Winner.BANCO, Winner.PUNTO)},
        "counts": roads.counts(),
        "bead_plate": [roads.bead(index) for index in range(len(roads.coups))],
        "big_road": [roads.entry(index) for index in range(len(roads.big))],
        **{name.value: [road.cell(n) for n in range(len(road.marks))] for name, road in derived},
    }


def _shown(coup: RoadCoup, place: tuple[int, int]) -> dict[str, object]:
    return {
        "col": place[0],
        "row": place[1],
        "coup": coup.coup,
        "winner": coup.winner.value,
        "punto_pair": coup.punto_pair,
        "banco_pair": coup.banco_pair,
        "natural": coup.natural,
    }
