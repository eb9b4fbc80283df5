"""What is seen, as likelihoods: runs count ever less, and a gap in time counts once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from vision.sight.detection.detector import Detection, Kind
from vision.sight.detection.mouth import CARDS_BEFORE
from vision.sight.following.cards import Lip
from vision.sight.following.evidence import (
    EDGE_SYMBOLS,
    HAND_LINE,
    HAND_MS,
    LEARNT,
    LINGERS,
    MOUTH_FLAT,
    MOUTH_MS,
    MOVED,
    MOVED_MS,
    REACHES,
    STILL_MS,
    STIRS,
    TURNED_PARTLY,
    WAITS,
    EdgeWatch,
    LipEvidence,
    SymbolTable,
)
from vision.sight.following.places import (
    ASIDE_SEEN,
    ASIDE_UNSEEN,
    BURST_MS,
    COVERED,
    HAND_RESTS,
    HAND_UNSEEN,
    LEAST_HAND,
    MOVED_SINCE_MS,
    PLACE_MS,
    REST_MM,
    SEEN,
    SYMBOLS,
    ElsewhereEvidence,
    SlotEvidence,
    SlotObservation,
    Values,
)
from vision.sight.geometry.plane import Homography, TableView

CORNERS = np.array([[0, 0], [900, 0], [900, 400], [0, 400]], np.float32)
VIEW = TableView(Homography.fit(CORNERS, CORNERS), {}, CORNERS, None)  # a pixel a mm
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
    edge = [0.0, 6.0, 0.0, *_wholly(0.5, cut=9.0)[3:]]
    reported = {
        lip: float(np.diff(lip.take(edge, 4950)[[Lip.WHOLLY, Lip.CUT]])[0])
        for lip in (moving, resting)
    }
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


@pytest.mark.parametrize(("shift", "goes"), [(1.2, True), (1.5, False), (1.8, False)])
def test_card_that_is_wholly_out_and_moves_in_may_go_back(shift: float, *, goes: bool) -> None:
    """One that rests, or goes on, does not."""
    lip = LipEvidence(_table())
    lip.take(_wholly(1.5), 0)
    found = lip.take(_wholly(shift), 100)
    assert bool(found[Lip.RETURNING] > found[Lip.CLEAR]) is goes


@pytest.mark.parametrize(("shift", "goes"), [(0.85, False), (0.5, False), (0.1, True)])
def test_card_whose_edge_rests_far_out_goes_not_back(shift: float, *, goes: bool) -> None:
    """A hand may bring it back over the lip; one that was pushed in rests with a bit in sight."""
    lip, partly = LipEvidence(_table()), [0.0, 6.0, 0.0, shift, *_wholly(shift)[4:]]
    lip.take(partly, 0)
    found = lip.take(partly, 100)
    assert bool(found[Lip.PARTLY] - found[Lip.RETURNING] < 2) is goes


def test_card_that_is_partly_out_is_none_that_is_held_before_the_shoe() -> None:
    """It comes behind that one, or is that one on its way back."""
    lip = LipEvidence(_table())
    lip.take(_wholly(1.2), 0)
    found = lip.take([0.0, 6.0, 0.0, 0.7, *_wholly(0.7)[4:]], 100)
    assert max(found[Lip.PARTLY], found[Lip.RETURNING]) - found[Lip.LINGERS] > 2


@pytest.mark.parametrize(("shift", "lies"), [(1.2, True), (1.5, False)])
def test_card_that_lies_before_the_shoe_is_at_rest(shift: float, *, lies: bool) -> None:
    """What a hand holds and squeezes there moves, and is no second card that lies there."""
    lip = LipEvidence(_table())
    lip.take(_wholly(1.2), 0)
    found = lip.take(_wholly(shift), 100)
    assert bool(found[Lip.STAYS] == found[Lip.WHOLLY]) is lies


def _near(*, card: bool = True, covered: float = 0.0) -> list[SlotObservation]:
    """Return what a slot shows that reaches into the mouth's picture."""
    box = Detection(np.zeros((4, 2), np.float32), Kind.BACK, 0.9) if card else None
    return [SlotObservation(0, box, covered, moves=False)]


@pytest.mark.parametrize(
    ("shift", "near", "rests"),
    [
        (0.0, _near(), True),
        (0.0, _near(card=False, covered=0.1), True),
        (0.0, _near(card=False), False),
        (0.0, [], False),
        (0.02, _near(), False),
    ],
    ids=["held in the slot", "under a hand", "bare slot", "no slot there", "drawn"],
)
def test_card_held_in_a_slot_beside_the_mouth_is_none_at_the_mouth(
    shift: float, near: list[SlotObservation], *, rests: bool
) -> None:
    """Where a slot reaches into the picture, what stays may be its card; what moves is not."""
    lip = LipEvidence(_table())
    lip.take(REST, 0, near)
    for at in range(50, 501, 50):
        found = lip.take(_wholly(0.9 + shift * at / 10), at, near)
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
    aside = ElsewhereEvidence(VIEW)
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
    """A hand that moves says nothing; none, for long, speaks ever more against it."""
    evidence = ElsewhereEvidence(VIEW)
    found = [
        evidence.take(
            0, [Detection(np.asarray(CORNERS / 100 + at, np.float32), kind, score)], at
        ).hand
        for at in range(0, 1000, 100)
    ]
    assert (np.prod(found) == 1) == bool(likely)
    assert likely or np.prod(found) < np.prod(found[:3]) < 1 / 2


# --- the edge of a card at the lip ----------------------------------------------------------------

IN, STILL, GOES_OUT = range(3)


def edges(*pictures: tuple[int, float | None]) -> list[tuple[int, int]]:
    """Return way and reach of the edge in each picture, at a time (ms); `None`: none shows."""
    watch, found = EdgeWatch(), []
    for at, shift in pictures:
        phases = (6, 0, 0) if shift is None else (0, 6, 0)
        symbol = watch.look(np.array([*phases, shift or 0.0]), at)
        way, reach = divmod(symbol, len(REACHES) + 1)
        assert watch.rests(symbol) == (way == STILL)
        found.append((way, reach))
    return found


def test_edge_goes_out_or_in_once_it_moved_far_enough() -> None:
    """By more than so much either way, against the picture before."""
    for moved, way in (
        (MOVED, STILL),
        (1.01 * MOVED, GOES_OUT),
        (-MOVED, STILL),
        (-1.01 * MOVED, IN),
    ):
        assert edges((0, 0.0), (50, moved)) == [(STILL, 0), (way, 0)]


def test_edge_that_moved_rests_again_after_a_while() -> None:
    """It is compared with how it was so long ago, or in the one picture before."""
    times = (0, 50, MOVED_MS, MOVED_MS + 49, MOVED_MS + 50)
    found = edges(*((at, 0.3 * (at > 0)) for at in times))
    assert [way for way, _ in found] == [STILL, GOES_OUT, GOES_OUT, GOES_OUT, STILL]
    assert edges((0, 0.0), (10 * MOVED_MS, 0.3))[-1] == (GOES_OUT, 0)


def test_edge_of_another_card_has_not_moved_yet() -> None:
    """Between them the mouth was at rest."""
    assert edges((0, 0.0), (50, None), (100, 0.3))[-1] == (STILL, 0)


def test_edge_of_what_comes_behind_a_card_has_not_moved_yet() -> None:
    """Where the card before it is wholly out; one that goes back has moved in."""
    out = np.array([0.0, 0.0, 6.0, 1.2]), np.array([0.0, 6.0, 0.0, 0.5])
    for comes, way in ((False, IN), (True, STILL)):
        watch = EdgeWatch(comes=comes)
        symbols = [watch.look(picture, at) for at, picture in zip((0, 50), out, strict=True)]
        assert symbols[-1] // (len(REACHES) + 1) == way


def test_edge_is_near_between_or_far_out() -> None:
    """From each of two bounds on it is further."""
    near, far = REACHES
    for shift, reach in ((near - 0.01, 0), (near, 1), (far - 0.01, 1), (far, 2)):
        assert edges((0, shift)) == [(STILL, reach)]


# --- the lip, exactly -----------------------------------------------------------------------------


def _hand(*pictures: tuple[int, float]) -> tuple[float, float]:
    """Return how likely a hand is, or was just now, at the mouth, and that it has stayed."""
    lip = LipEvidence(_table())
    for at, odds in pictures:
        lip.take([*REST[:8], odds, *REST[9:]], at)
    return lip.mouth[:2]


@pytest.mark.parametrize(
    ("odds", "beside", "holds"), [(-9, True, 1), (9, False, 1), (-9, False, 0)]
)
def test_hand_at_the_mouth_or_beside_it_may_hold_a_card_there(
    odds: float, *, beside: bool, holds: float
) -> None:
    """By the mouth's network or by the detector."""
    lip = LipEvidence(_table())
    lip.take([*REST[:8], odds, *REST[9:]], 0, hand=beside)
    assert lip.mouth.holds == pytest.approx(holds, abs=1e-3)


def test_hand_is_as_likely_as_the_line_of_its_odds() -> None:
    """By factor and offset, in any one picture."""
    factor, offset = HAND_LINE
    for odds in (-1.0, 1.0, 2.5):
        likely = 1 / (1 + np.exp(-(factor * odds + offset)))
        assert _hand((0, odds)) == pytest.approx((likely, likely))


@pytest.mark.parametrize(
    ("pictures", "was", "stays"),
    [
        ([(0, 9), (HAND_MS, -9)], 1, 0),
        ([(0, 9), (1, -9), (HAND_MS, -9)], 1, 0),
        ([(0, 9), (1, -9), (HAND_MS + 1, -9), (HAND_MS + 2, -9)], 0, 0),
        ([(0, 9), (10 * HAND_MS, -9)], 1, 0),  # in the picture before
        ([(0, -9), (HAND_MS, 9)], 1, 0),
        ([(0, -9), (HAND_MS + 1, 9)], 1, 1),
    ],
)
def test_hand_was_there_just_now_or_has_stayed(
    pictures: list[tuple[int, float]], was: float, stays: float
) -> None:
    """One that is gone may have drawn what shows; one that came just now has not stayed."""
    assert _hand(*pictures) == pytest.approx((was, stays), abs=1e-3)


def _lip(*pictures: tuple[int, list[float]], beside: bool = False) -> Values:
    """Return what the last of some pictures says."""
    lip = LipEvidence(_table())
    for at, values in pictures:
        found = lip.take(values, at, _near(card=beside))
    return found


def test_picture_counts_by_the_time_since_the_one_before() -> None:
    """Up to the time within which pictures fail together; the first counts in full."""
    first = _lip((0, REST))
    shares = np.exp([6, 0, 0]) / np.exp([6, 0, 0]).sum() * (1 - MOUTH_FLAT) + MOUTH_FLAT / 3
    likely = np.log(shares) - np.log(LEARNT)
    assert first[[Lip.REST, Lip.EMERGING, Lip.WHOLLY]] == pytest.approx(likely, abs=1e-3)
    half, whole, late = (
        _lip((0, REST), (round(ms), REST)) for ms in (MOUTH_MS / 2, MOUTH_MS, 9999)
    )
    assert half == pytest.approx(first / 2)
    assert whole == pytest.approx(first)
    assert late == pytest.approx(first)


def test_states_that_look_alike_are_as_likely() -> None:
    """At rest or pushed in; just out, for a moment, or with the cut card, but for what stirs."""
    found = _lip((0, _wholly(0.9)))
    assert found[Lip.REST] == found[Lip.INSIDE]
    assert found[Lip.WHOLLY] == found[Lip.CLEAR] == found[Lip.STAYS]
    assert found[Lip.LINGERS] == pytest.approx(found[Lip.WHOLLY] + LINGERS)
    stirs = _lip((0, _wholly(0.5)), (1000, _wholly(0.9)))
    assert stirs[Lip.STAYS] == pytest.approx(stirs[Lip.WHOLLY] + STIRS)
    partly = _lip((0, [0.0, 6.0, 0.0, 0.9, *_wholly(0.9)[4:]]))
    held = partly[Lip.LINGERS] - TURNED_PARTLY
    assert held == pytest.approx(partly[Lip.HIDDEN] - math.log(MOUTH_FLAT))


def test_what_the_network_saw_rarely_says_more() -> None:
    """Its answers are of what it learnt: a card partly out was one in six."""
    found = _lip((0, [0.0, 0.0, 0.0, 0.9, *_wholly(0.9)[4:]]))
    rest, partly, wholly = LEARNT
    assert found[Lip.WHOLLY] - found[Lip.REST] == pytest.approx(math.log(rest / wholly))
    hidden = found[Lip.HIDDEN] - LINGERS - math.log(MOUTH_FLAT)
    assert hidden - found[Lip.REST] == pytest.approx(math.log(rest / partly))


def _partly(shift: float, *, hand: float = -6.0) -> list[float]:
    return [0.0, 6.0, 0.0, shift, 4.0, 0.0, -6.0, 0.0, hand, -6.0, float("nan")]


def _half_out(*between: list[float], cards: int = CARDS_BEFORE, hand: float = -6.0) -> LipEvidence:
    """Return a lip at which each card waited half out, at 0.5, before it left; then came these."""
    lip, at = LipEvidence(_table()), 0
    for values in (*[*[_partly(0.5, hand=hand)] * 2, _wholly(1.2)] * cards, *between):
        at += STILL_MS + 1
        lip.take(values, at)
    return lip


@pytest.mark.parametrize(
    ("shift", "rests"),
    [
        (0.5, True),
        (0.5 + WAITS - 0.001, True),
        (0.5 - WAITS + 0.001, True),
        (0.5 + WAITS + 0.001, False),
        (0.5 - WAITS - 0.001, False),
    ],
)
def test_card_that_waits_half_out_where_the_last_did_is_the_shoe_at_rest(
    shift: float, *, rests: bool
) -> None:
    """The shoe pushes the next one there behind the one that left: nobody drew it."""
    found = _half_out().take(_partly(shift), 60_000)
    assert bool(found[Lip.REST] > np.log(0.5)) is rests


@pytest.mark.parametrize(
    ("lip", "rests"),
    [
        (_half_out(cards=CARDS_BEFORE - 1), False),  # there were too few
        (_half_out(hand=6.0), False),  # a hand held them there
        (_half_out(REST), False),  # now nothing waits there
        (_half_out([*REST[:8], 6.0, *REST[9:]]), True),  # or a hand hides it
    ],
)
def test_shoe_at_rest_shows_no_edge_unless_all_of_the_last_cards_waited(
    lip: LipEvidence, *, rests: bool
) -> None:
    """An edge is that of a card that comes, wherever it is."""
    found = lip.take(_partly(0.5), 60_000)
    assert bool(found[Lip.REST] > np.log(0.5)) is rests
    assert lip.take(_wholly(0.5), 61_000)[Lip.REST] < np.log(0.5)
    lip.begin_shoe()  # another shoe may stop cards elsewhere
    assert lip.take(_partly(0.5), 62_000)[Lip.REST] < np.log(0.5)


@pytest.mark.parametrize(
    ("beside", "at_mouth", "odds"),
    [(True, -6.0, 1.0), (True, 6.0, MOUTH_FLAT), (False, -6.0, MOUTH_FLAT)],
)
def test_lip_is_hidden_by_a_hand_beside_it_that_is_not_at_it(
    beside: bool, at_mouth: float, odds: float
) -> None:
    """A hand at the mouth draws, and where none is near nothing hides it."""
    values = [*_wholly(0.9)[:8], at_mouth, *_wholly(0.9)[9:]]
    found = LipEvidence(_table()).take(values, 0, hand=beside)
    hidden = found[Lip.HIDDEN] - found[Lip.WHOLLY] - LINGERS
    assert hidden == pytest.approx(np.log(odds), abs=1e-3)
    assert found[Lip.SQUEEZED] == pytest.approx(found[Lip.WHOLLY] + LINGERS)


@pytest.mark.parametrize(("since", "rests"), [(STILL_MS, False), (STILL_MS + 1, True)])
@pytest.mark.parametrize(
    "before", [[(1000, REST)], [(0, _wholly(0.5)), (1000, _wholly(0.9))]], ids=["came", "moved"]
)
def test_card_beside_the_mouth_is_still_once_it_was_for_so_long(
    since: int, before: list[tuple[int, list[float]]], *, rests: bool
) -> None:
    """Since a card shows at the lip and its edge has not moved."""
    found = _lip(*before, (1000 + since, _wholly(0.9)), beside=True)
    assert bool(found[Lip.REST] == found[Lip.WHOLLY]) is rests


OUT, NONE = _wholly(0.9), REST


@pytest.mark.parametrize("covered", [0.0, 0.1])
@pytest.mark.parametrize(
    ("before", "rests"),
    [
        ([[OUT, NONE]], True),
        ([[OUT, NONE]] * CARDS_BEFORE, False),
        ([[NONE, OUT]] * CARDS_BEFORE, False),
        ([[NONE], *[[OUT, OUT]] * CARDS_BEFORE], True),
    ],
    ids=["too few before", "none in the end", "none at first", "most were out all the time"],
)
def test_card_beside_the_mouth_is_what_seems_out_unless_those_before_seemed_none(
    before: list[list[list[float]]], covered: float, *, rests: bool
) -> None:
    """A second card lies before the shoe while the first is in a slot there, or a hand is."""
    lip, at, near = LipEvidence(_table()), 0, _near(card=not covered, covered=covered)
    for lying in before:
        for values, beside in [*((each, near) for each in lying), *[(NONE, [])] * 3]:
            at += 1000
            lip.take(values, at, beside)
    for ms in (0, STILL_MS + 1):
        found = lip.take(OUT, at + 1000 + ms, near)
    assert bool(found[Lip.REST] == found[Lip.WHOLLY]) is rests


# --- how much looks count -------------------------------------------------------------------------


def test_run_counts_as_the_logarithm_of_its_length_until_a_burst_is_over() -> None:
    """Each look by the time since the one before, against how long its symbol has lasted."""
    slots = SlotEvidence(_table().slots)
    full = _table().slots[:, 1]

    def weight(at: int, symbol: int = 1) -> float:
        found = slots.take(_same_in_all(symbol), at)
        return float(found[0, 0] / _table().slots[0, symbol])

    assert slots.take(_same_in_all(1), 0)[:, 3] == pytest.approx(full)
    assert weight(100) == pytest.approx(100 / (PLACE_MS + 100))
    assert weight(5000) == pytest.approx(PLACE_MS / (PLACE_MS + BURST_MS))
    assert weight(5050) == pytest.approx(50 / (PLACE_MS + BURST_MS))
    assert weight(5150, 2) == pytest.approx(100 / PLACE_MS)  # another symbol is another run
    assert weight(5250, 1) == pytest.approx(100 / PLACE_MS)


def test_card_was_seen_to_lie_once_looks_say_so_and_until_it_looks_empty() -> None:
    """Twenty times likelier than none; an empty slot that was long empty says nothing of it."""
    table = np.zeros((3, SYMBOLS))
    table[1, 1], table[2, 2], table[0, 3] = SEEN, SEEN + 0.01, 2 * SEEN

    def holds(slots: SlotEvidence, symbol: int, covered: float = 0.0, at: int = 0) -> bool:
        slots.take([SlotObservation(symbol, None, covered, moves=False)] * 6, at)
        (held,) = set(slots.holds)
        return held

    for symbol, covered, held in (
        (1, 0.0, False),
        (2, 0.0, True),
        (2, COVERED, True),
        (2, 1.01 * COVERED, False),
    ):
        assert holds(SlotEvidence(table), symbol, covered) is held
    slots = SlotEvidence(table)
    found = [holds(slots, symbol, 1.0 if symbol == 3 else 0.0, 10_000 * number)
             for number, symbol in enumerate((3, 2, 3))]  # fmt: skip
    assert found == [False, True, False]


@pytest.mark.parametrize(("cards", "likely"), [(0, (0, 0)), (1, (1, 0)), (2, (1, 1)), (3, (1, 1))])
def test_cards_outside_the_slots_count_as_the_first_and_one_more(
    cards: int, likely: tuple[int, int]
) -> None:
    """Each as much likelier as one is seen, or overlooked; one like those before less."""
    seen = ElsewhereEvidence(VIEW).take(cards, (), 300).cards
    often = PLACE_MS / (PLACE_MS + 300)
    assert seen == pytest.approx(
        [ASIDE_SEEN if is_seen else ASIDE_UNSEEN**often for is_seen in likely]
    )


@pytest.mark.parametrize(("score", "hand"), [(LEAST_HAND, True), (LEAST_HAND - 0.01, False)])
def test_hand_is_seen_from_a_score_on(score: float, *, hand: bool) -> None:
    """Below it what is seen is none, and speaks against a card in the hand."""
    box = Detection(np.zeros((4, 2), np.float32), Kind.HAND, score)
    assert ElsewhereEvidence(VIEW).take(0, [box], 100).hand == (1.0 if hand else HAND_UNSEEN)


@pytest.mark.parametrize(
    ("seen", "likely"),
    [
        ([[0.0], [0.0]], HAND_RESTS),
        ([[0.0], [REST_MM + 1]], 1.0),
        ([[0.0], [0.0, 200.0]], 1.0),
        ([[0.0, 200.0], [200.0]], HAND_RESTS),
        ([[], [0.0]], 1.0),
        ([[0.0], [20.0], [20.0]], HAND_RESTS),
    ],
    ids=["rests", "moved", "one of two moves", "one is gone", "came", "rests for 100 ms"],
)
def test_hand_that_rests_hardly_carries_a_card(seen: list[list[float]], likely: float) -> None:
    """Each hand was where one had been just before; one that moves may carry a card."""
    evidence = ElsewhereEvidence(VIEW)
    for number, hands in enumerate(seen):
        boxes = [
            Detection(np.asarray(CORNERS / 100 + [x, 0], np.float32), Kind.HAND, 0.9) for x in hands
        ]
        found = evidence.take(0, boxes, number * MOVED_SINCE_MS).hand
    assert found == (1.0 if likely == 1 else pytest.approx(likely ** (MOVED_SINCE_MS / PLACE_MS)))
    at = (len(seen) - 1) * MOVED_SINCE_MS + round(BURST_MS)
    assert likely == 1 or evidence.take(0, boxes, at + 1).hand == 1  # it may wait with a card
