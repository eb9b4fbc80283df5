"""What is seen, as likelihoods: runs count ever less, and a gap in time counts once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vision.sight.detection.detector import Detection, Kind
from vision.sight.following.evidence import (
    EDGE_SYMBOLS,
    Lip,
    LipEvidence,
    SymbolTable,
)
from vision.sight.following.places import SYMBOLS, ElsewhereEvidence, SlotEvidence, SlotObservation

REST = [6.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 6.0, -6.0, -6.0, float("nan")]


def _wholly(shift: float, *, cut: float = -6.0) -> list[float]:
    return [0.0, 0.0, 6.0, shift, 4.0, 0.0, cut, 0.0, 2.0, -6.0, float("nan")]


def _rows(symbols: int, *each: list[int]) -> list[list[float]]:
    """Return for each state a row in which its own symbols are likely."""
    rows = np.full((len(each), symbols), 0.001)
    for row, own in zip(rows, each, strict=True):
        row[own] = (1 - 0.001 * (symbols - len(own))) / len(own)
    return rows.tolist()


def _fitted() -> dict[str, dict[str, Any]]:
    """Return a file in which symbol 1 means a back and 2 a face.

    Edges of cards that come go out.
    """
    slots = _rows(SYMBOLS, [0], [1], [2])
    edges = _rows(EDGE_SYMBOLS, [EDGE_SYMBOLS - 3], [EDGE_SYMBOLS - 2, EDGE_SYMBOLS - 1])
    return {
        "slots": dict(zip(("empty", "back", "face"), slots, strict=True)),
        "edges": dict(zip(("emerging", "partly"), edges, strict=True)),
        "cut": {"leaving": 1.0, "unlike": 1.0, "waiting": 0.5, "always": -1.0},
    }


def _table() -> SymbolTable:
    return SymbolTable.of(_fitted())


def _same_in_all(symbol: int) -> list[SlotObservation]:
    return [SlotObservation(symbol, None, 0.0, moves=False)] * 6


def test_mouth_at_rest_and_with_a_card_out_are_distinguished() -> None:
    """The likeliest state of the lip is what the network sees."""
    lip = LipEvidence(_table())
    assert int(np.argmax(lip.take(REST, 0))) == Lip.REST
    assert int(np.argmax(lip.take(_wholly(1.2), 50))) in {Lip.WHOLLY, Lip.CLEAR}


@pytest.mark.parametrize(("reported", "low", "high"), [(-4.0, 0.0, 1e-3), (3.5, 0.9, 1.0)])
def test_hand_at_the_mouth_is_reported(reported: float, low: float, high: float) -> None:
    """As the network has it with nobody there, and in the faintest draw of 58 films."""
    lip = LipEvidence(_table())
    lip.take([*REST[:8], reported, *REST[9:]], 0)
    assert low <= lip.mouth.hand <= high


def test_white_sleeve_that_rests_before_the_shoe_is_no_cut_card() -> None:
    """A cut card on its way moves; what lies still there, and looks like one, is none."""
    moving, resting = LipEvidence(_table()), LipEvidence(_table())
    for number in range(4):
        for lip in (moving, resting):
            lip.take(_wholly(1.2), 1000 * number)
            lip.take(REST, 1000 * number + 100)
            lip.take(REST, 1000 * number + 400)
    reported = {moving: 0.0, resting: 0.0}
    for at in range(5000, 5600, 50):
        for lip, shift in ((moving, 0.6 + (at - 5000) / 500), (resting, 0.9)):
            found = lip.take(_wholly(shift, cut=9.0), at)
            reported[lip] += found[Lip.CUT] - found[Lip.WHOLLY]
    assert reported[moving] > 4
    assert reported[resting] < 0


def test_card_that_goes_in_is_not_one_that_comes_out() -> None:
    """The way of the edge tells a returning card from an emerging one."""
    lip = LipEvidence(_table())
    lip.take(_wholly(1.2), 0)
    partly = [0.0, 6.0, 0.0, 0.7, *_wholly(0.7)[4:]]
    found = lip.take(partly, 100)
    assert found[Lip.RETURNING] > found[Lip.EMERGING]


def test_card_whose_edge_is_near_the_lip_is_not_held_before_the_shoe() -> None:
    """One that is held there seems to be partly out at times, but far; one that goes back, near."""
    lip = LipEvidence(_table())
    lip.take(_wholly(1.2), 0)
    far, near = (
        lip.take([0.0, 6.0, 0.0, shift, *_wholly(shift)[4:]], at)
        for at, shift in ((100, 0.7), (200, 0.2))
    )
    assert far[Lip.LINGERS] - near[Lip.LINGERS] > 2


@pytest.mark.parametrize(("shift", "lies"), [(1.2, True), (1.5, False)])
def test_card_that_lies_before_the_shoe_is_at_rest(shift: float, *, lies: bool) -> None:
    """What a hand holds and squeezes there moves, and is no second card that lies there."""
    lip = LipEvidence(_table())
    lip.take(_wholly(1.2), 0)
    found = lip.take(_wholly(shift), 100)
    assert bool(found[Lip.STAYS] == found[Lip.WHOLLY]) is lies


@pytest.mark.parametrize(("shift", "beside", "rests"),
                         [(0.0, True, True), (0.0, False, False), (0.02, True, False)],
                         ids=["held in the slot", "no slot there", "drawn"])  # fmt: skip
def test_card_held_in_a_slot_beside_the_mouth_is_none_at_the_mouth(
    shift: float, *, beside: bool, rests: bool
) -> None:
    """Where a slot reaches into the picture, what stays may be its card; what moves is not."""
    lip = LipEvidence(_table())
    lip.take(REST, 0, beside=beside)
    for at in range(50, 501, 50):
        found = lip.take(_wholly(0.9 + shift * at / 10), at, beside=beside)
    assert bool(found[Lip.REST] == found[Lip.WHOLLY]) is rests


def test_edge_that_is_hardly_seen_says_little_of_its_way() -> None:
    """The way of an edge counts as far as the network sees a card partly out."""
    reported = []
    for partly in (6.0, 0.0):
        lip = LipEvidence(_table())
        lip.take(_wholly(1.2), 0)
        found = lip.take([0.0, partly, 0.0, 0.7, *_wholly(0.7)[4:]], 100)
        reported.append(found[Lip.RETURNING] - found[Lip.EMERGING])
    sure, unsure = reported
    assert 0 < unsure < sure / 2


def test_card_held_before_the_shoe_may_change_its_looks_five_times_a_second() -> None:
    """A second before the shoe is as likely as five tosses of a coin, at any rate of pictures."""
    for every in (20, 50):
        lip = LipEvidence(_table())
        lip.take(_wholly(1.2), 0)
        found = [lip.take(_wholly(1.2), at) for at in range(every, 1001, every)]
        held = sum(values[Lip.LINGERS] - values[Lip.CLEAR] for values in found)
        assert held == pytest.approx(5 * np.log(1 / 2), rel=0.01)


def test_run_of_one_symbol_counts_ever_less() -> None:
    """Ten looks that show the same say less than twice what the first two say."""
    slots = SlotEvidence(_table().slots)
    weights = [
        float(np.ptp(slots.take(_same_in_all(1), at), axis=0)[0]) for at in range(0, 1000, 100)
    ]
    assert weights == sorted(weights, reverse=True)
    assert sum(weights) < 4 * weights[0]


@pytest.mark.parametrize(("covered", "seen"), [(0.0, True), (0.2, False)])
def test_card_under_a_hand_was_not_seen_to_lie(covered: float, *, seen: bool) -> None:
    """What a hand holds over a slot on its way to another has not come to lie there."""
    slots, seen_there = SlotEvidence(_table().slots), SlotObservation(1, None, covered, moves=False)
    for at in range(0, 1000, 100):
        slots.take([seen_there] * 6, at)
    assert slots.holds == [seen] * 6


def test_table_of_other_symbols_is_refused() -> None:
    """A file fitted for other bins names what it has."""
    fitted = _fitted() | {"slots": {"empty": [1.0], "back": [1.0], "face": [1.0]}}
    with pytest.raises(ValueError, match="not of 3 x"):
        SymbolTable.of(fitted)


def test_card_seen_outside_the_slots_is_likelier_to_lie_there() -> None:
    """Seen it speaks for a card, unseen against one."""
    aside = ElsewhereEvidence()
    first, more = aside.take(1, (), 0).cards
    assert first > 1 > more
    assert aside.take(0, (), 100).cards[0] < 1
    assert min(aside.take(2, (), 200).cards) > 1


@pytest.mark.parametrize(
    ("kind", "score", "likely"), [(Kind.HAND, 0.5, 1), (Kind.HAND, 0.1, 0), (Kind.BACK, 0.9, 0)]
)
def test_card_is_hardly_in_a_hand_while_no_hand_is_seen(
    kind: Kind, score: float, likely: int
) -> None:
    """A hand that is seen says nothing; none, for long, speaks ever more against it."""
    box = Detection(np.zeros((4, 2), np.float32), kind, score)
    evidence = ElsewhereEvidence()
    found = [evidence.take(0, [box], at).hand for at in range(0, 1000, 100)]
    assert (np.prod(found) == 1) == bool(likely)
    assert likely or np.prod(found) < np.prod(found[:3]) < 1 / 2
