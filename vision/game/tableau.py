"""The tableau as data, and what it asks of a coup: where the next card goes, and which was wrong.

Theory of operation. A hand is the points of its cards in the order in which they left the shoe,
`None` for a card whose face is not known. `next_slot` is the state machine of a coup: the two hands
are its state, the slot of the next card its only output, `None` when the coup is complete. With
unread cards the hands stand for many states; `expected` is the set of what `next_slot` says over
all of them, and nothing is wrong as long as what happens lies in that set.

`check_draws` asks the reverse: given third cards as they were dealt, which were faults? For each
hypothesis about the unread faces the extra cards are walked in the order in which they left the
shoe and each is compared with what was due at that moment. The hypotheses with the fewest faults
are believed: a fault is reported only where all of them have one, and what is due is the union of
what is due in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from vision.game.events import Slot

Points = tuple[int | None, ...]

DEAL_ORDER = (Slot.PUNTO_1, Slot.BANCO_1, Slot.PUNTO_2, Slot.BANCO_2)
TEN = tuple(range(10))  # what a card can count (see `Rank.points`)


@dataclass(frozen=True, slots=True)
class Tableau:
    """The drawing rules: `D` for draws, `S` for stands.

    `punto` has a letter for each Punto total 0 to 7. `banco` has a row for each Banco total 0 to 7,
    in it a letter for each Punto third card counting 0 to 9 and one for Punto having stood. There
    is no row for 8 and 9: a natural ends the coup. ValueError where a letter or row is missing.
    """

    punto: str
    banco: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.punto) != 8 or len(self.banco) != 8:
            raise ValueError("a tableau has a cell for Punto and a row for Banco at each of 0 to 7")
        for total, row in enumerate((self.punto, *self.banco), start=-1):
            if set(row) - {"D", "S"} or (total >= 0 and len(row) != 11):
                name = "Punto's row" if total < 0 else f"Banco's row {total}"
                raise ValueError(
                    f"{name} of the tableau is '{row}': write D or S for each card 0 to 9 given to "
                    "Punto, and one more for Punto having stood"
                )

    def __hash__(self) -> int:
        # Asked at every event, to look up a verdict: a text keeps its hash.
        return hash(self.punto)

    def punto_draws(self, total: int) -> bool:
        """Whether Punto draws on a two-card total of 0 to 9, Banco having no natural."""
        return total <= 7 and self.punto[total] == "D"

    def banco_draws(self, total: int, third: int | None) -> bool:
        """Whether Banco draws on a two-card total after Punto's third card (`None`: stood)."""
        return total <= 7 and self.banco[total][10 if third is None else third] == "D"


def row_of(name: str, draws: Iterable[int], stands: Iterable[int]) -> str:
    """Return a row of a tableau, ten letters, from the cards on which it draws and stands.

    ValueError where they are not a partition of 0 to 9: it names the row, the cards and the cure.
    """
    drawn, stood = set(draws), set(stands)
    twice, never, odd = drawn & stood, set(TEN) - drawn - stood, (drawn | stood) - set(TEN)
    if odd:
        raise ValueError(f"{name} names {_listed(odd)}: cards count 0 to 9; take them out")
    if twice or never:
        wrong = [f"{_listed(twice)} as both draw and stand"] if twice else []
        wrong += [f"{_listed(never)} in neither"] if never else []
        raise ValueError(
            f"{name} has {' and '.join(wrong)}: put each card from 0 to 9 in exactly one of the two"
        )
    return "".join("D" if card in drawn else "S" for card in TEN)


def _listed(cards: set[int]) -> str:
    return ", ".join(str(card) for card in sorted(cards))


STANDARD = Tableau(
    # "PLAYER HAVING Baccarat (0)-1-2-3-4-5 Draws; 6-7 STANDS" (sheets 0 to 2).
    punto="DDDDDDSS",
    # The last letter of each row: "If the player does not draw a third card, then the banker's hand
    # stands on 6 or more and takes a third card on a total of 5 or less." (sheets 3 and 4; sheets
    # 0 to 2 leave it out)
    banco=(
        # "If the bank's total is 2 or less then bank draws a card, regardless of what the players
        # third card is." (sheets 3 and 4; sheets 0 to 2 leave the rows 0 to 2 out)
        "DDDDDDDDDDD",
        "DDDDDDDDDDD",
        "DDDDDDDDDDD",
        # "BANK HAVING 3 DRAWS WHEN GIVING 0-1-2-3-4-5-6-7-9 STANDS WHEN GIVING 8"
        "DDDDDDDDSDD",
        # "4 DRAWS 2-3-4-5-6-7 STANDS 0-1-8-9"
        "SSDDDDDDSSD",
        # "5 DRAWS 4-5-6-7 STANDS 0-1-2-3-8-9"
        "SSSSDDDDSSD",
        # "6 DRAWS 6-7 STANDS 0-1-2-3-4-5-8-9"
        "SSSSSSDDSSS",
        # "7 STANDS STANDS"
        "SSSSSSSSSSS",
    ),
)


def next_slot(
    punto: tuple[int, ...],
    banco: tuple[int, ...],
    tableau: Tableau = STANDARD,
    order: tuple[Slot, ...] = DEAL_ORDER,
) -> Slot | None:
    """Return the slot of the next card given the points of both hands, or `None` when complete.

    Cards beyond what the tableau allows do not change what is due.
    """
    first = opening(len(punto), len(banco), order)
    if first is not None:
        return first
    third = punto[2] if len(punto) > 2 else None
    return due(tableau, sum(punto[:2]) % 10, sum(banco[:2]) % 10, (third, len(banco) > 2))


def opening(punto: int, banco: int, order: tuple[Slot, ...] = DEAL_ORDER) -> Slot | None:
    """Return the slot of the next of the first four cards, given how many each hand has."""
    for slot in order:
        if (punto if slot.is_punto else banco) <= slot // 2:
            return slot
    return None


def due(tableau: Tableau, punto: int, banco: int, drawn: tuple[int | None, bool]) -> Slot | None:
    """Return the slot of the next card after the first four, or `None` when complete.

    `punto` and `banco` are two-card totals; `drawn` is what Punto's third card counts, if it has
    one, and whether Banco has a third card.
    """
    third, banco_has = drawn
    # "If either hand has an 8 or 9 a Natural is declared and no more cards are drawn" (sheet 0).
    if punto >= 8 or banco >= 8:
        return None
    if tableau.punto_draws(punto):
        if third is None:
            return Slot.PUNTO_3
    else:
        third = None
    return Slot.BANCO_3 if tableau.banco_draws(banco, third) and not banco_has else None


@lru_cache(maxsize=65536)  # asked of every hypothesis of sight
def expected(
    punto: Points, banco: Points, tableau: Tableau = STANDARD, order: tuple[Slot, ...] = DEAL_ORDER
) -> frozenset[Slot | None]:
    """Return every slot where the next card may go; `None` in it: the coup may be complete.

    An unread card could be any that makes the cards dealt so far legal; where none does, any.
    """
    first = opening(len(punto), len(banco), order)
    if first is not None:
        return frozenset((first,))
    hands = ((PUNTO, punto[2:3]), (BANCO, banco[2:3]))
    thirds = tuple([ExtraCard(hand, hand, points) for hand, cards in hands for points in cards])
    return check_draws(tableau, total(punto), total(banco), thirds).due


def total(hand: Points) -> int | None:
    """Return the total of a hand's first two cards, `None` where one of them is unread."""
    first, second = hand[:2]
    return None if first is None or second is None else (first + second) % 10


def each(points: int | None) -> tuple[int, ...]:
    """Return every value that the points could have."""
    return TEN if points is None else (points,)


# --- third cards as they were dealt ---------------------------------------------------------------

# A hand is a slot's number modulo 2; a card that was burned or carried over is in neither.
PUNTO, BANCO, NOWHERE = 0, 1, -1


class ExtraCard(NamedTuple):
    """A card beyond the first two of a hand.

    `lies` is the hand with which it lies (`None`: not yet at rest in a slot), `counts` the hand to
    which it was ruled to belong (`NOWHERE`: burned or carried), `points` what it counts, if known.
    """

    lies: int | None
    counts: int | None
    points: int | None


class DrawCheck(NamedTuple):
    """The fault of each extra ("" for none), the hand it counts in, and where a card may go next.

    `None` in `due`: no further card may be due.
    """

    codes: tuple[str, ...]
    hands: tuple[int, ...]
    due: frozenset[Slot | None]


# Asked at every event; two totals and up to three extra cards take some 20,000 values.
@lru_cache(maxsize=1 << 16)
def check_draws(
    tableau: Tableau, punto: int | None, banco: int | None, extras: tuple[ExtraCard, ...]
) -> DrawCheck:
    """Return what the tableau says of the extra cards, given the two-card totals."""
    hypotheses = list(_hypotheses(tableau, punto, banco, extras))
    faults = [sum(map(bool, tried.codes)) for tried in hypotheses]
    believed = [t for t, found in zip(hypotheses, faults, strict=True) if found == min(faults)]
    first = believed[0]
    sure = tuple(
        code if all(tried.codes[i] for tried in believed) else ""
        for i, code in enumerate(first.codes)
    )
    codes = sure if any(sure) else first.codes
    return DrawCheck(
        codes, first.hands, frozenset[Slot | None]().union(*[tried.due for tried in believed])
    )


def _hypotheses(
    tableau: Tableau, punto: int | None, banco: int | None, extras: tuple[ExtraCard, ...]
) -> Iterator[DrawCheck]:
    """Walk the extra cards for every value that unread totals and third cards could have."""
    unread = any(extra.points is None for extra in extras)
    for punto_total in each(punto):
        for banco_total in each(banco):
            for third in each(None) if unread else (0,):
                yield _walk(tableau, (punto_total, banco_total), extras, third)


def _walk(
    tableau: Tableau, totals: tuple[int, int], extras: tuple[ExtraCard, ...], third: int
) -> DrawCheck:
    """Compare each extra card with what was due; an unread third card of Punto counts `third`."""
    given: int | None = None
    more = [0, 0]
    codes: list[str] = []
    hands: list[int] = []
    for extra in extras:
        slot = due(tableau, *totals, (given, more[BANCO] > 0))
        wanted = NOWHERE if slot is None else slot % 2
        codes.append(_code(tableau, slot, extra.lies, totals, (more[PUNTO], more[BANCO])))
        counts = wanted if extra.counts is None else extra.counts
        if counts == PUNTO and given is None:
            given = third if extra.points is None else extra.points
        if counts != NOWHERE:
            more[counts] += 1
        hands.append(counts)
    if given is not None and "WRONG_HAND" in codes:
        late = "OUT_OF_TURN_B3" if tableau.banco_draws(totals[1], given) else "OVER_B3"
        codes = [
            late if code == "WRONG_HAND" and hand == BANCO else code
            for code, hand in zip(codes, hands, strict=True)
        ]
    slot = due(tableau, *totals, (given, more[BANCO] > 0))
    return DrawCheck(tuple(codes), tuple(hands), frozenset((slot,)))


def _code(
    tableau: Tableau,
    slot: Slot | None,
    lies: int | None,
    totals: tuple[int, int],
    more: tuple[int, int],
) -> str:
    """Return the fault of a card that lies there when `slot` was due, "" for none."""
    if slot is not None and lies in (None, slot % 2):
        return ""
    # "If either hand has an 8 or 9 a Natural is declared and no more cards are drawn" (sheet 0).
    if max(totals) >= 8:
        return "OVER_NATURAL"
    # "The minimum number of cards to each hand is two and the maximum is three." (sheet 0)
    if more[lies] if lies is not None else min(more):
        return "OVER_4TH"
    # "6-7 STANDS" (sheets 0 to 2)
    if lies == PUNTO or (lies is None and not more[PUNTO]):
        return "OVER_P3_STAND"
    if slot is Slot.PUNTO_3:
        # Where Banco draws whatever Punto is given, the card is Banco's own, drawn too soon.
        certain = all(tableau.banco_draws(totals[1], card) for card in TEN)
        return "OUT_OF_TURN_B3" if certain else "WRONG_HAND"
    # "BANK HAVING ... STANDS WHEN GIVING ..." (sheets 0 to 2)
    return "OVER_B3"
