"""What is unlike the cards before it: a face in the mouth, and the cut card."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from vision.sight.following.evidence import LIES, LIES_MS, CutEvidence, CutWatch, ExposureWatch

Values = NDArray[np.float64]
WEIGHTS = np.array([1.5, 1.0, 1.5, -1.0])


def _out(word: float = -5.0, unlike: float = -3.0) -> Values:
    """Return what the networks say of a card that is out: of the cut card, beside those before."""
    return np.array([0, 0, 6, 1.2, 4, 0, 4 + word, 0, 2, -6, unlike])


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
        """Let a card wait and leave; return what its pictures say together."""
        for _ in range(10):
            self._take(waits)
        return sum(more for _, more in (self._take(out) for _ in range(pictures)))

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


def _watched(steps: list[tuple[int, float | None, float]]) -> list[int]:
    """Return the times (ms) at which a watch says so, of what waits and passes then."""
    watch = CutWatch()
    return [at for at, waits, passes in steps if watch.look(at, waits, passes=passes, next_out=0.0)]


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
    watch = CutWatch()
    assert not watch.look(0, None, passes=1.0, next_out=0.0)
    assert not watch.look(100, None, passes=0.0, next_out=0.2)
    assert watch.look(200, None, passes=0.0, next_out=1.0)


def test_arm_that_looked_like_the_cut_card_is_none() -> None:
    """What is no cut card after all, before the mouth was empty, was none, whatever leaves next."""
    steps = [(0, 1.0, 0.0), (100, 0.1, 0.8), (200, 0.0, 0.0), (300, 0.0, 1.0)]
    watch = CutWatch()
    assert not any(watch.look(at, None, passes=cut, next_out=out) for at, cut, out in steps)
    assert not watch.look(400, 0.0, passes=0.0, next_out=0.0)


def test_evidence_of_a_card_is_what_its_last_picture_says(shoe: Shoe) -> None:
    """However many pictures show it, and however it looked at first, they add up to the last."""
    for pictures in (2, 20):
        shoe.draw(_out(), _rests(), pictures=1)
        few = shoe.draw(_out(2.0, 4.0), _rests(), pictures)
        assert few == pytest.approx(float(WEIGHTS @ [7.0, 4.0, 0.0, 1.0]))
