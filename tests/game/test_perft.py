"""Every legal coup there is, counted with its exact weight, against a second way of counting."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest

from vision.game.tableau import next_slot

Counts = dict[str, int]


def _walk(left: list[int], punto: tuple[int, ...], banco: tuple[int, ...], tally: Counts) -> None:
    """Deal every card that could come next, each as often as the shoe holds it."""
    _deal(left, (punto, banco), 1, tally)


def _deal(
    left: list[int], hands: tuple[tuple[int, ...], tuple[int, ...]], weight: int, tally: Counts
) -> None:
    punto, banco = hands
    slot = next_slot(punto, banco)
    if slot is None:
        cards = sum(left)
        for missing in range(6 - len(punto) - len(banco)):
            weight *= cards - missing
        ahead = sum(punto) % 10 - sum(banco) % 10
        name = "egalite" if ahead == 0 else "punto" if ahead > 0 else "banco"
        tally[name] = tally.get(name, 0) + weight
        return
    for points in range(10):
        copies = left[points]
        if copies:
            left[points] -= 1
            more = ((*punto, points), banco) if slot.is_punto else (punto, (*banco, points))
            _deal(left, more, weight * copies, tally)
            left[points] += 1


def _pairs(left: Counter[int]) -> Counter[tuple[int, int]]:
    """Count the ordered ways to draw two cards, by what they count."""
    return Counter(
        {
            (one, other): left[one] * (left[other] - (one == other))
            for one, other in product(range(10), repeat=2)
        }
    )


def _second_count(decks: int) -> Counts:
    """Count the same by totals, with the rules written out as on sheet 3; no next_slot."""
    shoe = Counter({0: 16 * decks, **dict.fromkeys(range(1, 10), 4 * decks)})
    tally: Counter[str] = Counter()
    for (p1, p2), ways in _pairs(shoe).items():
        rest = shoe - Counter([p1, p2])
        for (b1, b2), more in _pairs(rest).items():
            final = rest - Counter([b1, b2])
            totals = (p1 + p2) % 10, (b1 + b2) % 10
            _finish(totals, final, ways * more, tally)
    return dict(tally)


def _finish(totals: tuple[int, int], left: Counter[int], ways: int, tally: Counter[str]) -> None:
    punto, banco = totals
    size = left.total()
    for third, fourth in product(range(10), repeat=2):
        weight = ways * left[third] * (left[fourth] - (third == fourth))
        p, b = punto, banco
        if p < 8 and b < 8:
            if punto <= 5:
                p = (punto + third) % 10
                if (
                    banco <= 2
                    or (banco == 3 and third != 8)
                    or (banco == 4 and third not in (0, 1, 8, 9))
                    or (banco == 5 and third in (4, 5, 6, 7))
                    or (banco == 6 and third in (6, 7))
                ):
                    b = (banco + fourth) % 10
            elif banco <= 5:
                b = (banco + third) % 10
        tally["punto" if p > b else "banco" if b > p else "egalite"] += weight
    assert size > 2


@pytest.mark.parametrize(
    ("decks", "banco", "punto", "egalite"),
    [
        (8, 2292252566437888, 2230518282592256, 475627426473216),
        (6, None, None, None),
    ],
)
def test_every_legal_coup_is_counted(
    decks: int, banco: int | None, punto: int | None, egalite: int | None
) -> None:
    """Walking next_slot over a whole shoe counts what a second enumeration counts.

    For eight decks that is what is published: of 4998398275503360 runs of six cards, these.
    """
    shoe = [16 * decks, *[4 * decks] * 9]
    tally: Counts = {}
    _walk(shoe, (), (), tally)
    assert tally == _second_count(decks)
    runs = 1
    for gone in range(6):
        runs *= 52 * decks - gone
    assert sum(tally.values()) == runs
    if banco is not None:
        assert tally == {"banco": banco, "punto": punto, "egalite": egalite}
