"""Roads: the vectors of the domain notes, a second formulation, boards drawn by hand."""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vision.game.cards import parse_cards
from vision.game.events import Winner
from vision.game.outcome import Outcome, outcome_of
from vision.game.roads import (
    DEFAULT_ROWS,
    Derived,
    Mark,
    Road,
    Roads,
    derived_mark,
    empty_roads,
    roads_payload,
)

LETTERS = {"B": Winner.BANCO, "P": Winner.PUNTO, "T": Winner.EGALITE}


def history(letters: str) -> tuple[tuple[int, Outcome], ...]:
    """Build confirmed coups from letters B, P and T."""
    return tuple(enumerate((Outcome(LETTERS[who]) for who in letters), start=1))


def roads_of(coups: Iterable[tuple[int, Outcome]], rows: int = DEFAULT_ROWS) -> Roads:
    """Return the roads of a list of confirmed coups, in the order in which they were dealt."""
    return reduce(lambda roads, coup: roads.add(*coup), coups, empty_roads(rows))


def letters_of(marks: tuple[Mark | None, ...]) -> str:
    """Write marks as R, B and - for none."""
    return "".join(mark.value[0].upper() if mark else "-" for mark in marks)


def shown(road: Road) -> tuple[Mark, ...]:
    """Return the marks of a derived road."""
    return tuple(Mark(cell["mark"]) for cell in road.cells)


def ties_of(roads: Roads) -> list[int]:
    """Return the ties of each cell of the big road."""
    return [cell["ties"] for cell in roads.big.cells]


def marks_of(letters: str) -> tuple[str, ...]:
    """Return the three derived roads of a history as letters."""
    return tuple(letters_of(shown(road)) for road in roads_of(history(letters)).derived)


def ask(letters: str, side: Winner) -> str:
    """Return what the derived roads would get if that side won next."""
    return letters_of(tuple(roads_of(history(letters)).ask(side).values()))


def drawn(letters: str, rows: int = 6) -> list[str]:
    """Draw the big road as text: B, P, a dot for an empty cell, no blanks at the right."""
    roads = roads_of(history(letters), rows)
    where = dict(zip(roads.big.places, roads.big.cells, strict=True))
    columns = max(column for column, _ in where) + 1
    lines = []
    for row in range(rows):
        cells = ((column, row) for column in range(columns))
        lines.append("".join(where[c]["winner"][0].upper() if c in where else "." for c in cells))
    return [line.rstrip(".") for line in lines]


VECTORS = [
    ("", "", "", "", "---", "---"),
    ("T", "", "", "", "---", "---"),
    ("TTB", "", "", "", "---", "---"),
    ("B", "", "", "", "---", "---"),
    ("BPPPB", "BRB", "", "", "RB-", "BR-"),
    ("BBPPB", "RR", "", "", "RR-", "BB-"),
    ("BBPTPB", "RR", "", "", "RR-", "BB-"),
    ("BPBPBPBP", "RRRRRR", "RRRRR", "RRRR", "RRR", "BBB"),
    ("BBPPBBPPBB", "RRRRRRR", "RRRRR", "RRR", "BBB", "RRR"),
    ("BBBBBBBBPPPPPPPP", "RRRRRRR", "", "", "R--", "B--"),
]


@pytest.mark.parametrize(
    ("letters", "big_eye", "small", "cockroach", "next_banco", "next_punto"),
    VECTORS,
    ids=[vector[0] or "empty" for vector in VECTORS],
)
def test_derived_roads_vectors(
    letters: str, big_eye: str, small: str, cockroach: str, next_banco: str, next_punto: str
) -> None:
    """The vectors of the domain notes hold, marks and asked marks alike."""
    assert marks_of(letters) == (big_eye, small, cockroach)
    assert ask(letters, Winner.BANCO) == next_banco
    assert ask(letters, Winner.PUNTO) == next_punto


def second_opinion(letters: str, distance: int) -> str:
    """Build a derived road from the cells of the logical columns, without any length rule.

    Below the top: red where the cell `distance` columns left and the one above it are both there
    or both missing. At the top: what would going on in the previous column have given, flipped.
    """
    cells: set[tuple[int, int]] = set()
    column, row, last, marks = -1, 0, "", ""

    def going_down(column: int, row: int) -> str:
        if column < distance:
            return ""
        beside = (column - distance, row) in cells
        above = (column - distance, row - 1) in cells
        return "R" if beside == above else "B"

    for who in letters.replace("T", ""):
        if who == last:
            row += 1
            marks += going_down(column, row)
        else:
            if column >= 0:
                marks += {"R": "B", "B": "R", "": ""}[going_down(column, row + 1)]
            column, row, last = column + 1, 0, who
        cells.add((column, row))
    return marks


def test_derived_roads_two_formulations_agree_on_random_histories() -> None:
    """On 10,000 random histories of a shoe the two formulations give the same marks."""
    rng = random.Random(20240607)
    for _ in range(10_000):
        weights = rng.choice(((46, 45, 9), (80, 15, 5), (15, 80, 5)))
        letters = "".join(rng.choices("BPT", weights, k=rng.randrange(81)))
        streaks: list[int] = []
        marks: list[str] = ["", "", ""]
        last = ""
        for who in letters.replace("T", ""):
            if who == last:
                streaks[-1] += 1
            else:
                streaks.append(1)
            last = who
            for index in range(3):
                mark = derived_mark(tuple(streaks), index + 1)
                marks[index] += letters_of((mark,)) if mark else ""
        assert marks == [second_opinion(letters, distance) for distance in (1, 2, 3)], letters


def test_roads_fold_agrees_with_second_formulation() -> None:
    """The folded roads, not only the mark rule, give what the second formulation gives."""
    rng = random.Random(7)
    for _ in range(300):
        letters = "".join(rng.choices("BPT", (46, 45, 9), k=80))
        assert marks_of(letters) == tuple(second_opinion(letters, d) for d in (1, 2, 3)), letters


@given(st.text("BPT", max_size=60))
def test_ask_the_road_answers_are_complementary(letters: str) -> None:
    """Wherever both answers exist they are opposite, and each is what the coup then brings."""
    roads = roads_of(history(letters))
    banco, punto = roads.ask(Winner.BANCO), roads.ask(Winner.PUNTO)
    for index, road in enumerate(Derived):
        left, right = banco[road], punto[road]
        if left and right:
            assert {left, right} == set(Mark)
        for letter, reported in (("B", left), ("P", right)):
            after = roads_of(history(letters + letter)).derived[index]
            assert shown(after) == shown(roads.derived[index]) + ((reported,) if reported else ())


def test_derived_mark_first_marks() -> None:
    """The first mark is at row 2 of column k+1, or else on top of column k+2."""
    assert derived_mark((), 1) is None
    for distance in (1, 2, 3):
        flat = tuple([1] * (distance + 1))
        assert derived_mark(flat, distance) is None
        assert derived_mark((*flat[:-1], 2), distance) is Mark.BLUE
        assert derived_mark((*flat, 1), distance) is Mark.RED


def test_derived_mark_straight_down_is_red() -> None:
    """Two or more rows past the end of the compared streak the road repeats itself again."""
    assert [derived_mark((2, m), 1) for m in (2, 3, 4, 5)] == [
        Mark.RED,
        Mark.BLUE,
        Mark.RED,
        Mark.RED,
    ]


BOARDS = [
    (
        "B" * 8 + "P" * 8,
        6,
        ["BP", "BP", "BP", "BP", "BPPPP", "BBB"],
    ),
    # A third streak of eight turns above both tails.
    (
        "B" * 8 + "P" * 8 + "B" * 8,
        6,
        ["BPB", "BPB", "BPB", "BPBBBBB", "BPPPP", "BBB"],
    ),
    # A streak that just fits does not turn; the next one starts beside it.
    ("B" * 6 + "PB", 6, ["BPB", "B", "B", "B", "B", "B"]),
    # A short streak under an overhanging tail stays in its column.
    ("B" * 9 + "PPPB", 6, ["BPB", "BP", "BP", "B", "B", "BBBB"]),
    # Two rows: the second tail runs along the top, so the third streak starts behind it.
    ("B" * 5 + "P" * 3 + "B", 2, ["BPPPB", "BBBB"]),
    # Once past the overhang a streak may go down again, though the one before could not.
    ("BBB" + "PPP" + "BB", 2, ["BPPPB", "BB..B"]),
    # One row: all that is left of a road is a line.
    ("BBPPT", 1, ["BBPP"]),
    # A tail that has turned stays on its row although the cells below become free.
    ("B" * 7 + "P" * 9, 6, ["BP", "BP", "BP", "BP", "BPPPPP", "BB"]),
]


@pytest.mark.parametrize(("letters", "rows", "board"), BOARDS, ids=[b[0] for b in BOARDS])
def test_big_road_layout_drawn_by_hand(letters: str, rows: int, board: list[str]) -> None:
    """Long streaks, stacked tails and narrow boards lie as drawn here by hand."""
    assert drawn(letters, rows) == board


@given(st.text("BP", min_size=1, max_size=120), st.integers(1, 7))
def test_big_road_layout_never_collides(letters: str, rows: int) -> None:
    """No two entries share a cell, and none lies outside the rows."""
    cells = roads_of(history(letters), rows).big.places
    assert len(set(cells)) == len(cells) == len(letters)
    assert all(0 <= row < rows and column >= 0 for column, row in cells)


def test_big_road_ties_lie_on_the_last_entry() -> None:
    """Ties after a decision are counted on its cell and change nothing else."""
    roads = roads_of(history("BTTPPTB"))
    assert ties_of(roads) == [2, 0, 1, 0]
    assert roads.leading_ties == 0
    assert roads.streaks == (1, 2, 1)


def test_big_road_leading_ties_wait_for_the_first_entry() -> None:
    """Ties before the first decision are counted apart and drawn on the first cell."""
    waiting = roads_of(history("TT"))
    assert (waiting.leading_ties, waiting.big.cells) == (2, ())
    assert [bead["winner"] for bead in waiting.beads] == ["egalite"] * 2
    assert ties_of(roads_of(history("TTBT"))) == [3]
    assert ties_of(roads_of(history("TTBPT"))) == [2, 1]


def test_derived_road_layout_turns_like_the_big_road() -> None:
    """Seven equal marks make a tail; a mark of the other colour starts a column."""
    roads = roads_of(history("B" * 8 + "P" * 9 + "B"))
    road = roads.derived[0]
    assert letters_of(shown(road)) == "RRRRRRR" + "B" + "B"
    assert road.places == (
        *((0, row) for row in range(6)),
        (1, 5),
        (1, 0),
        (1, 1),
    )


def test_grid_again_on_an_empty_road_has_nothing_to_follow() -> None:
    """A streak cannot go on before it began."""
    with pytest.raises(IndexError):
        Road().add({}, repeats=True)


def test_counts_count_everything_once() -> None:
    """Counts cover winners, pairs and naturals over all coups, ties included."""
    coups = (
        (1, Outcome(Winner.BANCO, banco_pair=True)),
        (2, Outcome(Winner.EGALITE, punto_pair=True, banco_pair=True, natural=True)),
        (4, Outcome(Winner.PUNTO, natural=True)),
        (5, Outcome(Winner.PUNTO)),
    )
    assert roads_of(coups).counts() == {
        "coups": 4,
        "punto": 2,
        "banco": 1,
        "egalite": 1,
        "punto_pair": 1,
        "banco_pair": 2,
        "natural": 2,
    }


def test_bead_of_two_hands() -> None:
    """What a road shows is read from the hands: winner, pairs on two cards, natural."""
    hands = (("Ks Kd", "4h 5h"), ("As 9d 9c", "2h 2d 5c"), ("As 7d", "2h 4d"))
    outcomes = [outcome_of(parse_cards(punto), parse_cards(banco)) for punto, banco in hands]
    shown = [tuple(bead.values())[2:] for bead in roads_of(enumerate(outcomes, start=3)).beads]
    assert shown == [
        (3, "banco", True, False, True),
        (4, "egalite", False, True, False),
        (5, "punto", False, False, True),
    ]


def test_payload_of_a_new_shoe_is_empty_but_complete() -> None:
    """Before the first coup every part is there, with nothing in it."""
    payload = roads_payload(empty_roads())
    assert payload == roads_payload(empty_roads())
    assert payload["rows"] == 6
    assert payload["leading_ties"] == 0
    assert roads_payload(roads_of(history("TT")))["leading_ties"] == 2
    for part in ("bead_plate", "big_road", "big_eye_boy", "small_road", "cockroach_pig"):
        assert payload[part] == []
    nothing = {"big_eye_boy": None, "small_road": None, "cockroach_pig": None}
    assert payload["ask"] == {"banco": nothing, "punto": nothing}


def test_payload_places_beads_and_entries() -> None:
    """Beads fill columns of six, ties included; entries carry marks and their ties."""
    coups = [
        (1, Outcome(Winner.BANCO, natural=True)),
        (2, Outcome(Winner.EGALITE, punto_pair=True)),
        *((n, Outcome(Winner.PUNTO, banco_pair=n == 3)) for n in range(3, 8)),
    ]
    payload = roads_payload(roads_of(coups))
    beads = payload["bead_plate"]
    assert isinstance(beads, list)
    assert beads[1] == {
        "col": 0,
        "row": 1,
        "coup": 2,
        "winner": "egalite",
        "punto_pair": True,
        "banco_pair": False,
        "natural": False,
    }
    assert [(bead["col"], bead["row"]) for bead in beads][-2:] == [(0, 5), (1, 0)]
    assert payload["counts"] == roads_of(coups).counts()
    entries = payload["big_road"]
    assert isinstance(entries, list)
    assert [(e["col"], e["row"], e["ties"]) for e in entries[:3]] == [
        (0, 0, 1),
        (1, 0, 0),
        (1, 1, 0),
    ]
    assert entries[0]["natural"]
    assert entries[1]["banco_pair"]
    assert payload["big_eye_boy"] == [
        {"col": 0, "row": 0, "mark": "blue"},
        {"col": 1, "row": 0, "mark": "red"},
        {"col": 1, "row": 1, "mark": "red"},
        {"col": 1, "row": 2, "mark": "red"},
    ]
    assert payload["ask"] == {
        "banco": {"big_eye_boy": "blue", "small_road": None, "cockroach_pig": None},
        "punto": {"big_eye_boy": "red", "small_road": None, "cockroach_pig": None},
    }


def test_derived_road_layout_has_the_rows_of_the_board() -> None:
    """On a board of three rows the derived roads turn after three marks too."""
    roads = roads_of(history("B" * 8 + "P" * 6), 3)
    assert roads.derived[0].places == ((0, 0), (0, 1), (0, 2), (1, 2), (2, 2))
    assert roads_payload(roads)["rows"] == 3
