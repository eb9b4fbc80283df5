"""What is unlike the cards before it: a face in the mouth, and the cut card."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from vision.sight.detection.mouth import CARDS_BEFORE, LEFT_MS
from vision.sight.following.evidence import (
    CUT,
    EXPOSED,
    EXPOSED_MS,
    FACED,
    FIRST_WORD,
    GONE,
    HARDLY_OUT,
    HIDDEN,
    LIES,
    LIES_MS,
    MOST_ODDS,
    MOST_WAITING,
    NEXT_OUT,
    RESTS,
    SHOWN,
    SURE_MS,
    USUAL_CARDS,
    CutEvidence,
    CutReport,
    ExposureWatch,
    Usual,
)

Values = NDArray[np.float64]
WEIGHTS = np.array([1.5, 1.0, 1.5, -1.0])


def _out(word: float = -5.0, unlike: float = -3.0) -> Values:
    """Return what the networks say of a card that is out: of the cut card, beside those before."""
    return np.array([0, 0, 6, 1.2, 4, 0, 4 + word, 0, 2, -6, unlike])


def _edge_of(out: Values) -> Values:
    """Return what they say of a card that is to be as far out, and of which an edge is."""
    return np.array([out[0], out[2], out[1], 0.4, *out[4:]])


def _rests(word: float = -5.0, hand: float = -6.0) -> Values:
    """Return what it says of a mouth at rest."""
    return np.array([6, 0, 0, 0, 4, 0, 4 + word, 0, hand, -6, np.nan])


@pytest.mark.parametrize(("backs", "noticed"), [(-5.0, 1), (2.9, 0)], ids=["plain", "like faces"])
def test_face_in_the_mouth_is_unlike_the_backs_before_it(backs: float, noticed: int) -> None:
    """A deck whose backs look like faces in the mouth exposes none of its cards."""
    watch = ExposureWatch(50.0)
    times = iter(range(0, 100_000, 50))
    found = []
    for odds in (*[backs] * 4, 3.0):
        waiting = np.array([0, 6, 0, 0.3, 0, odds, -9, -9, -6, -6, np.nan], np.float32)
        found += [watch.look(waiting, next(times), waits=1.0) for _ in range(20)]
        found += [watch.look(_out(), next(times), waits=0.0) for _ in range(5)]
    assert sum(found) == noticed


@pytest.mark.parametrize("phases", [(0, 0, 2), (0.1, -3, 0)], ids=["an arm", "a finger aside"])
def test_arm_before_the_shoe_is_no_face_in_its_mouth(phases: tuple[float, float, float]) -> None:
    """What may be a card that is out, without a hand, exposes none that waits."""
    watch = ExposureWatch(50.0)
    back = np.array([0, 6, 0, 0.3, 0, -5, -9, -9, -6, -6, np.nan], np.float32)
    arm = np.array([*phases, 0.8, 0, 3, 1, -9, -0.1, -6, np.nan], np.float32)
    times = iter(range(0, 100_000, 50))
    for _ in range(4):
        assert not any(watch.look(back, next(times), waits=1.0) for _ in range(20))
        watch.look(_out(), next(times), waits=0.0)
    assert not any(watch.look(arm, next(times), waits=1.0) for _ in range(40))


@pytest.mark.parametrize(("cut", "noticed"), [(0.8, 0), (-3.0, 1)], ids=["a cut card", "a face"])
def test_white_cut_card_that_waits_is_no_face_in_the_mouth(cut: float, noticed: int) -> None:
    """It looks like a face, and nearly as much like a cut card."""
    watch = ExposureWatch(50.0)
    back = np.array([0, 6, 0, 0.3, 0, -5, -9, -9, -6, -6, np.nan], np.float32)
    waits = np.array([0.6, -0.6, -3, 0.3, -0.8, 1.3, cut, -7, -4.7, -6, np.nan], np.float32)
    times = iter(range(0, 100_000, 50))
    for _ in range(4):
        assert not any(watch.look(back, next(times), waits=1.0) for _ in range(20))
        watch.look(_out(), next(times), waits=0.0)
    assert sum(watch.look(waits, next(times), waits=1.0) for _ in range(40)) == noticed


@pytest.mark.parametrize(("pictures", "noticed"), [(10, 0), (40, 1)], ids=["passes", "waits"])
def test_what_looks_rather_like_a_back_is_a_face_if_it_waits(pictures: int, noticed: int) -> None:
    """A court that waited came to 1 in 4, and what passed the mouth for 0.35 s as well."""
    watch = ExposureWatch(50.0)
    times = iter(range(0, 100_000, 50))
    for _ in range(4):
        back = np.array([0, 6, 0, 0.3, 0, -8, -9, -9, -6, -6, np.nan], np.float32)
        assert not any(watch.look(back, next(times), waits=1.0) for _ in range(20))
        watch.look(_out(), next(times), waits=0.0)
    court = np.array([2, 0, -2, 0.3, 0, -1.2, -9, -9, -6, -6, np.nan], np.float32)
    assert sum(watch.look(court, next(times), waits=1.0) for _ in range(pictures)) == noticed


class Shoe:
    """A shoe from which cards leave, one a second."""

    def __init__(self) -> None:
        self.evidence, self.at = CutEvidence(WEIGHTS), 0

    def draw(self, out: Values, waits: Values, pictures: int = 3) -> float:
        """Let a card wait and leave, its edge first; return what its pictures say together."""
        self.rest(waits)
        seen = [_edge_of(out), *[out] * pictures]
        return sum(more for _, more in (self._take(values) for values in seen))

    def rest(self, waits: Values) -> float | None:
        """Let the mouth rest; return how unlike what waits there is."""
        for _ in range(10):
            self._take(waits)
        return self.evidence.waits

    def _take(self, values: Values) -> tuple[float, float]:
        self.at += 50
        return self.evidence.take(values, self.at)


@pytest.fixture
def shoe() -> Shoe:
    """Return a shoe that four cards have left."""
    shoe = Shoe()
    for _ in range(4):
        shoe.draw(_out(), _rests())
    return shoe


def test_card_like_those_before_is_not_the_cut_card(shoe: Shoe) -> None:
    """Whatever the network says of this deck's backs, it says of each."""
    assert shoe.draw(_out(), _rests()) < 0


@pytest.mark.parametrize(("word", "unlike", "waits"),
                         [(2.0, -3.0, -5.0), (-5.0, 5.5, -5.0), (-5.0, -3.0, 3.0)],
                         ids=["by itself", "beside cards before", "as it lay"])  # fmt: skip
def test_cut_card_is_unlike_the_cards_before(
    shoe: Shoe, word: float, unlike: float, waits: float
) -> None:
    """Each of three signs tells it: on its way, beside the cards before, as it waited in sight."""
    assert shoe.draw(_out(word, unlike), _rests(waits)) > 0.9


def test_deck_whose_backs_look_like_cut_cards_is_usual() -> None:
    """What the network says of every card says nothing of one."""
    shoe = Shoe()
    for _ in range(6):
        reported = shoe.draw(_out(2.0), _rests(2.0))
    assert reported < 0


@pytest.mark.parametrize(("word", "reported"), [(-3.0, False), (4.0, True)], ids=["like", "sure"])
def test_first_card_is_the_cut_card_only_if_the_network_is_sure(
    word: float, *, reported: bool
) -> None:
    """There are no cards to compare it with."""
    assert bool(Shoe().draw(_out(word, np.nan), _rests()) > 0) is reported


def test_hand_over_what_waits_says_nothing_of_it(shoe: Shoe) -> None:
    """What the network says under a hand is not compared."""
    assert shoe.rest(_rests(3.0, hand=4.0)) is None
    waits = shoe.rest(_rests(3.0))
    assert waits is not None
    assert waits > LIES


def test_what_may_be_a_face_is_no_cut_card_that_waits(shoe: Shoe) -> None:
    """An exposed ace, half white, looked more like a cut card than like a face, and left."""
    ace = _rests(3.0)
    ace[5] = 5.5
    assert shoe.rest(ace) is None


LIE = LIES + 1


def _known(*steps: tuple[int, float | None, float, float]) -> list[int]:
    """Return when (ms) the cut card is known to be out, of what waits, passes, and is out next."""
    report, found = CutReport(), list[int]()
    for at, waits, passes, next_out in steps:
        report.look(at, waits, passes=passes, next_out=next_out)
        found += [at] if report.since == at else []
    return found


def _watched(steps: list[tuple[int, float | None, float]]) -> list[int]:
    return _known(*((*step, 0.0) for step in steps))


def test_cut_card_that_comes_in_sight_behind_another_is_not_out_yet() -> None:
    """It was taken for the card before it; once it leaves itself it is reported, and only once."""
    steps = [(0, 0.0, 0.0), (100, None, 1.0), (200, LIE, 0.0), (300, None, 1.0), (400, 0.0, 0.0)]
    assert _watched(steps) == [300]


@pytest.mark.parametrize(("lies_ms", "reported"), [(LIES_MS + 100, True), (LIES_MS - 100, False)])
def test_cut_card_that_lay_in_sight_and_is_gone_is_out(lies_ms: int, *, reported: bool) -> None:
    """A hand hid all of its way; what lay there for a moment was none."""
    end = 1000 + lies_ms
    steps = [(900, 0.0, 0.0), (1000, LIE, 0.0), (end - 50, None, 0.0), (end, 0.0, 0.0)]
    assert _watched(steps) == [end] * reported


def test_cut_card_that_was_not_seen_to_wait_is_reported_by_the_next_card() -> None:
    """A hand stays at the mouth: no picture shows what lies there, until the next card leaves."""
    steps = (0, None, 1.0, 0.0), (100, None, 0.0, 0.2), (200, None, 0.0, 1.0)
    assert _known(*steps) == [200]


@pytest.mark.parametrize(
    ("left", "found", "reported"),
    [
        (1000, False, True),  # the card before
        (1001, False, False),  # what passed
        (2000, False, True),  # the next one
        (2000, True, False),  # found there: nothing but what passed has left
    ],
)
def test_card_that_left_as_the_cut_card_did_is_what_was_taken_for_it(
    left: int, *, found: bool, reported: bool
) -> None:
    """The mouth was free until 1000 ms; the next cut card is reported in any case."""
    report = CutReport()

    def reported_at(begin: int, *laid: tuple[int, bool]) -> list[int]:
        """Have something pass for the cut card; return when it is reported."""
        steps = ((0, None, 0.0), (500, None, 1.0), (1000, 0.0, 0.0), (999 + SURE_MS, 0.0, 0.0),
                 (1000 + SURE_MS, 0.0, 0.0), (1001 + SURE_MS, 0.0, 0.0))  # fmt: skip
        return [
            begin + ms
            for ms, waits, passes in steps
            if report.look(begin + ms, waits, passes=passes, next_out=0.0,
                           laid=laid if ms > 1000 else ())
        ]  # fmt: skip

    assert reported_at(1000, (left, found)) == [2000 + SURE_MS] * reported
    assert reported_at(9000) == [10_000 + SURE_MS] * (not reported)


def test_cut_card_that_left_unseen_is_compared_with_no_card_that_was_seen() -> None:
    """It lay in sight, and is gone behind a hand; an arm had passed for it long before."""
    report, end = CutReport(), 9000
    steps = ((0, None, 0.0), (100, None, 1.0), (200, None, 0.0), (end - 2 * LIES_MS, LIE, 0.0),
             (end - 50, None, 0.0), (end, 0.0, 0.0), (end + SURE_MS, 0.0, 0.0))  # fmt: skip
    laid = [(1000, False), (end - 500, False)]
    found = [
        at
        for at, waits, cut in steps
        if report.look(at, waits, passes=cut, next_out=float(at == 200), laid=laid)
    ]
    assert found == [end + SURE_MS]


def test_arm_that_looked_like_the_cut_card_is_none() -> None:
    """What is no cut card after all, before the mouth was empty, was none, whatever leaves next."""
    steps = (0, None, 1.0, 0.0), (100, None, 0.1, 0.8), (200, None, 0.0, 0.0), (300, None, 0.0, 1.0)
    assert _known(*steps, (400, 0.0, 0.0, 0.0)) == []


def test_evidence_of_a_card_is_what_its_last_picture_says(shoe: Shoe) -> None:
    """However many pictures show it, and however it looked at first, they add up to the last."""
    for pictures in (1, 3, 20):
        shoe.draw(_out(), _rests(), pictures=1)
        few = shoe.draw(_out(2.0, 4.0), _rests(), pictures)
        assert few == pytest.approx(float(WEIGHTS @ [7.0, 4.0, 0.0, 1.0]))


# --- bounds, each at both of its sides ------------------------------------------------------------

LITTLE = 1e-6
PICTURE_MS = EXPOSED_MS // 3


def _mouth(*, face: float = 0.9, cut: float = 0.0, hand: float = -6.0, out: float = 0.0) -> Values:
    """Return what is said of a mouth in which things show with these probabilities (0 to 1)."""
    back = 1 - face - cut
    phases = np.log([LITTLE**2, 1 - out, max(out, LITTLE**2)])
    shown = np.log(np.maximum([back, face, cut, LITTLE**2], LITTLE**2))
    return np.array([*phases, 0.3, *shown, hand, -6, np.nan])


def _exposes(shows: Values, *, waits: float = 1.0, ms: int = PICTURE_MS, number: int = 12) -> int:
    """Return after how many pictures of that a face is noticed in a shoe of plain backs; 0: never.

    So many ms are between two pictures.
    """
    watch = ExposureWatch(50.0)
    for card in range(CARDS_BEFORE):
        watch.look(_mouth(face=0.001), 100 * card, waits=1.0)
        watch.look(_out(), 100 * card + 50, waits=0.0)
    found = [watch.look(shows, 10_000 + ms * n, waits=waits) for n in range(number)]
    assert sum(found) <= 1  # it is told of once
    return found.index(True) + 1 if any(found) else 0


@pytest.mark.parametrize(
    ("shows", "waits", "noticed"),
    [
        (_mouth(), EXPOSED + LITTLE, True),
        (_mouth(), EXPOSED, False),  # a card may be out
        (_mouth(hand=0.0), 1.0, True),
        (_mouth(hand=LITTLE), 1.0, False),
        (_mouth(out=HARDLY_OUT - LITTLE), 1.0, True),
        (_mouth(out=HARDLY_OUT + LITTLE), 1.0, False),
        (_mouth(face=FACED * 0.9 + LITTLE, cut=(1 - FACED) * 0.9 - LITTLE), 1.0, True),
        (_mouth(face=FACED * 0.9 - LITTLE, cut=(1 - FACED) * 0.9 + LITTLE), 1.0, False),
        (_mouth(face=0.5, cut=0.5 * (1 - FACED) * 0.9), 1.0, True),
    ],
)
def test_face_in_the_mouth_counts_where_it_is_sure_and_alone(
    shows: Values, waits: float, *, noticed: bool
) -> None:
    """No card is out, no hand is there, and what is no back is a face rather than a cut card."""
    assert bool(_exposes(shows, waits=waits)) is noticed


def test_face_is_exposed_once_it_has_shown_for_long() -> None:
    """What is one by halves, twice as long; what is hardly one, never; a gap counts as a half."""
    sure = _mouth(face=1 - LITTLE)
    assert _exposes(sure, number=20) == 3  # the first one after a gap counts as half of the time
    assert _exposes(_mouth(face=0.5), number=20) == 6
    assert _exposes(_mouth(face=SHOWN + LITTLE), number=50) == 15
    assert _exposes(_mouth(face=SHOWN - LITTLE), number=50) == 0
    assert _exposes(sure, ms=10 * EXPOSED_MS) == 3


def test_face_that_goes_out_of_sight_counts_anew() -> None:
    """A finger that passes shows for a moment, time and again."""
    watch = ExposureWatch(50.0)
    for card in range(CARDS_BEFORE):
        watch.look(_mouth(face=0.01), 100 * card, waits=1.0)
        watch.look(_out(), 100 * card + 50, waits=0.0)
    for at in range(10_000, 20_000, PICTURE_MS):
        shows = _mouth(hand=5.0 if at % 300 == 0 else -6.0)
        assert not watch.look(shows, at, waits=1.0)
    sees = [watch.look(_mouth(), at, waits=1.0, covered=True) for at in range(30_000, 32_000, 50)]
    assert not any(sees)  # a hand over a slot beside the mouth


@pytest.mark.parametrize(("cards", "noticed"), [(CARDS_BEFORE - 1, False), (CARDS_BEFORE, True)])
def test_face_is_compared_with_enough_cards_before(cards: int, *, noticed: bool) -> None:
    """Nothing is unlike the usual before there is one, by the median of each card's pictures."""
    watch = ExposureWatch(50.0)
    for card in range(cards):
        for at, face in enumerate((0.01, 0.01, 0.9)):
            watch.look(_mouth(face=face), 500 * card + at, waits=1.0)
        watch.look(_out(), 500 * card + 250, waits=0.0)
    found = [watch.look(_mouth(), at, waits=1.0) for at in range(10_000, 12_000, PICTURE_MS)]
    assert any(found) is noticed


@pytest.mark.parametrize(("times", "noticed"), [(0.9, False), (1.1, True)])
def test_face_is_likelier_than_with_the_cards_before(times: float, *, noticed: bool) -> None:
    """By the odds that are asked for, of a face against a back."""
    watch, usual = ExposureWatch(50.0), 9 / (50 * times)  # odds, against 9 of the one that shows
    for card in range(CARDS_BEFORE):
        watch.look(_mouth(face=usual / (1 + usual)), 100 * card, waits=1.0)
        watch.look(_out(), 100 * card + 50, waits=0.0)
    found = [watch.look(_mouth(), at, waits=1.0) for at in range(10_000, 12_000, PICTURE_MS)]
    assert any(found) is noticed


def test_usual_is_the_median_of_the_last_cards() -> None:
    """Of so many, once there are enough."""
    usual = Usual()
    for number in range(CARDS_BEFORE):
        assert (usual.is_known, usual.above(3.0)) == (False, None), number
        usual.add(1.0)
    assert (usual.is_known, usual.above(3.0)) == (True, 2.0)
    for _ in range(USUAL_CARDS // 2 + 1):
        usual.add(5.0)
    for _ in range(USUAL_CARDS):
        usual.add(7.0)
    assert usual.usual == 7.0


@pytest.mark.parametrize(("passes", "reported"), [(CUT, []), (CUT + LITTLE, [100])])
def test_cut_card_passes_from_a_probability_on(passes: float, reported: list[int]) -> None:
    """Below it what passed may be an arm."""
    assert _known((0, None, passes, 0.0), (100, 0.0, 0.0, 0.0)) == reported


@pytest.mark.parametrize(
    ("left", "after", "reported"),
    [
        # What shows after it: is the mouth empty so surely, and is a card out then?
        (1 - NEXT_OUT - LITTLE, NEXT_OUT + LITTLE, [200]),
        (1 - NEXT_OUT, NEXT_OUT + LITTLE, []),
        (1 - NEXT_OUT - LITTLE, NEXT_OUT, []),
    ],
)
def test_next_card_reports_the_cut_card_that_left(
    left: float, after: float, reported: list[int]
) -> None:
    """It left once nothing is likelier than that something is out; then a card must be."""
    steps = (0, None, 1.0, 0.0), (100, None, left / 2, left / 2), (200, None, 0.0, after)
    assert _known(*steps) == reported


@pytest.mark.parametrize(("out", "reported"), [(NEXT_OUT, [200]), (NEXT_OUT + LITTLE, [])])
def test_what_is_a_card_after_all_was_no_cut_card(out: float, reported: list[int]) -> None:
    """From the even chance on, before it had left."""
    assert _known((0, None, 1.0, 0.0), (100, None, 0.0, out), (200, 0.0, 0.0, 0.0)) == reported


def test_cut_card_that_passes_again_has_not_left_yet() -> None:
    """A hand hid it for a moment."""
    steps = (0, None, 1.0, 0.0), (100, None, 0.0, 0.0), (200, None, 1.0, 0.0)
    assert _known(*steps, (300, None, 0.3, 0.6)) == []
    assert _known(*steps[:2], (300, None, 0.3, 0.6)) == [300]


@pytest.mark.parametrize(
    ("lies", "gone", "hidden", "reported"),
    [
        (LIES + LITTLE, GONE - LITTLE, True, True),
        (LIES, GONE - LITTLE, True, False),
        (LIES + LITTLE, GONE, True, False),
        (LIES + LITTLE, GONE - LITTLE, False, False),  # no hand was there to take it
    ],
)
def test_cut_card_lay_in_sight_and_is_gone_by_how_it_looks(
    lies: float, gone: float, *, hidden: bool, reported: bool
) -> None:
    """So much more like one than the cards before, and then no more."""
    end = LIES_MS + 200
    covered = [(end - 50, None, 0.0, 0.0)] if hidden else []
    steps = [(0, 0.0, 0.0, 0.0), (100, lies, 0.0, 0.0), *covered, (end, gone, 0.0, 0.0)]
    assert _known(*steps) == [end] * reported


@pytest.mark.parametrize(("ms", "reported"), [(LIES_MS, False), (LIES_MS + 1, True)])
def test_cut_card_lay_in_sight_for_so_long(ms: int, *, reported: bool) -> None:
    """Since it came, until a hand did; that it is seen there again begins nothing anew."""
    lies = [(at, LIES + 1, 0.0, 0.0) for at in (0, 50)]
    hidden = [(at, None, 0.0, 0.0) for at in (ms, ms + 500)]
    assert bool(_known(*lies, *hidden, (ms + 600, 0.0, 0.0, 0.0))) is reported


def test_cut_card_is_reported_once() -> None:
    """Whatever passes after it."""
    once = [(0, None, 1.0, 0.0), (100, 0.0, 0.0, 0.0)]
    again = [(at + 1000, *rest) for at, *rest in once]
    assert _known(*once, *again) == [100]  # type: ignore[arg-type]


# --- what the pictures of a card say, exactly -----------------------------------------------------

MORE = float(np.logaddexp.reduce([4, 0, 0])) - 4  # by so much a card is likelier than a back alone


def test_card_is_unlike_those_before_as_far_as_that_may_count(shoe: Shoe) -> None:
    """The network's word and what waits, within bounds; what was most unlike in any picture."""
    usual = -5.0 - MORE  # of a card, and of what waits
    for word, unlike, waits, found in (
        (99.0, -3.0, -5.0, (MOST_ODDS - usual, -3.0, 0.0, 1.0)),
        (-99.0, 99.0, -5.0, (-MOST_ODDS - usual, MOST_ODDS, 0.0, 1.0)),
        (-5.0, -99.0, 9.0, (0.0, -MOST_ODDS, min(MOST_WAITING, MOST_ODDS - usual), 1.0)),
        (-5.0, -3.0, -6.0, (0.0, -3.0, 0.0, 1.0)),
    ):
        assert shoe.draw(_out(word, unlike), _rests(waits)) == pytest.approx(WEIGHTS @ found)
        for _ in range(3):
            shoe.draw(_out(), _rests())
    shoe.rest(_rests())
    for values in (_edge_of(_out()), *[_out(-5.0, 2.0)] * 3):
        shoe._take(values)
    before, more = shoe._take(_out(-5.0, 1.0))
    assert (before, more) == (pytest.approx(WEIGHTS @ [0.0, 2.0, 0.0, 1.0]), pytest.approx(0))


def test_first_card_is_compared_with_what_the_network_says_of_most() -> None:
    """Before the cards of this shoe are known; nothing else of it counts."""
    assert Shoe().draw(_out(1.0, 5.0), _rests(3.0)) == pytest.approx(
        WEIGHTS @ [1.0 - MORE - FIRST_WORD, 0.0, 0.0, 1.0]
    )


def test_picture_counts_as_its_card_is_wholly_out(shoe: Shoe) -> None:
    """What is hardly out hardly shows what it is."""
    hardly = _out(3.0)
    hardly[:3] = 0.0, 6.0, -9.0
    shoe.rest(_rests())
    found = sum(shoe._take(values)[1] for values in (hardly, hardly, _out(-5.0)))
    assert found == pytest.approx(WEIGHTS @ [8.0 * 0.02, -3.0, 0.0, 1.0], abs=0.01)


def test_what_rests_before_the_lip_is_no_cut_card(shoe: Shoe) -> None:
    """Whatever it looks like; before anything was out nothing is said."""
    shoe.rest(_rests())
    assert shoe.evidence.take(_rests(), shoe.at + 50) == (0.0, 0.0)
    shoe._take(_edge_of(_out()))
    shoe.evidence._odds = 0.0
    found = shoe.evidence.take(_out(9.0, 9.0), shoe.at + 1000, rests=True)
    assert found == (0.0, RESTS)


def test_what_shows_no_edge_first_is_no_cut_card(shoe: Shoe) -> None:
    """An arm is before the shoe at once; what comes out of it after a rest shows its edge again."""
    shoe.rest(_rests())
    assert shoe._take(_out(9.0, 9.0)) == (0.0, RESTS)
    assert shoe._take(_edge_of(_out(9.0, 9.0)))[1] > 0
    shoe.rest(_rests())
    assert shoe._take(_out(9.0, 9.0)) == (0.0, RESTS)


def _no_card(share: float) -> Values:
    """Return a mouth at rest at which no card shows with that share (0 to 1), else a back."""
    values = _rests()
    values[4:8] = np.log([1 - share, LITTLE, LITTLE, share])
    return values


@pytest.mark.parametrize(
    ("usual", "share", "hidden"),
    [(0.01, HIDDEN + 0.05, True), (0.01, HIDDEN - 0.05, False), (0.9, 0.95, False)],
    ids=["an arm", "a card", "no card shows there ever"],
)
def test_what_comes_from_under_an_arm_is_no_cut_card(
    usual: float, share: float, *, hidden: bool
) -> None:
    """Where less of a card showed than usual; nor is the arm what waits there."""
    shoe = Shoe()
    for _ in range(4):
        shoe.draw(_out(), _no_card(usual))
    shoe.rest(_no_card(usual))
    assert (shoe.rest(_no_card(share)) is None) is hidden
    assert (shoe._take(_edge_of(_out(9.0, 9.0)))[1] == RESTS) is hidden
    shoe.rest(_no_card(usual))
    assert shoe._take(_edge_of(_out(9.0, 9.0)))[1] != RESTS  # the arm is gone


@pytest.mark.parametrize(("ms", "known"), [(LEFT_MS - 1, False), (LEFT_MS, True)])
def test_card_has_left_once_the_mouth_rested_for_so_long(ms: int, *, known: bool) -> None:
    """Only then is it one of those before; until then what shows is not what waits behind it."""
    shoe = Shoe()
    for _ in range(CARDS_BEFORE - 1):
        shoe.draw(_out(), _rests())
    shoe.rest(_rests())
    shoe.draw(_out(), _rests(), 1)
    rested = shoe.at + 50
    for at in (rested, rested + ms):
        shoe.evidence.take(_rests(), at)
    assert shoe.evidence.leaving.is_known is known
    assert (shoe.evidence.waits is not None) is known


@pytest.mark.parametrize(("hand", "seen"), [(-LITTLE, True), (0.0, False)])
def test_what_waits_is_seen_without_a_hand(shoe: Shoe, hand: float, *, seen: bool) -> None:
    """As it looked on the median of the last pictures, against the cards before."""
    shoe.rest(_rests())
    shoe.rest(_rests(1.0))
    found = shoe.rest(_rests(2.0, hand))
    assert found == (pytest.approx(7.0) if seen else None)
