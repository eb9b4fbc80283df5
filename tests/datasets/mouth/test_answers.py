"""What a watcher of the mouth should say, by where the cards are."""

from __future__ import annotations

import math

import pytest

from datasets.mouth.answers import Answer, Mouth, Placed, answer

DEPTH = 63.0
BACK, FACE = 0, 1


def said(*cards: Placed, waits: float = 0.0) -> Answer:
    """Return what is to be said of cards at a mouth whose next card shows its back."""
    return answer(cards, Mouth(DEPTH, BACK, waits), hand=False)


def out(front: float, *, seen: float = 1.0, **also: bool | int) -> Placed:
    """Return a card that came straight out until its front edge is so far from the lip."""
    kind = int(also.pop("kind", BACK))
    return Placed(front, front - DEPTH, 0.0, seen, kind, **also)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("front", "phase"), [(1.0, 0), (4.0, -1), (30.0, 1), (57.0, 1), (62.0, -1), (67.0, 2)]
)
def test_answer_card_coming_out_is_partly_and_then_wholly_out(front: float, phase: int) -> None:
    """Where an eye could not say, nothing is asked."""
    assert said(out(front)).phase == phase


def test_answer_shift_is_one_when_the_rear_edge_is_at_the_lip() -> None:
    """How far a card has come grows steadily, also of one that is turned as it is drawn."""
    straight = [said(out(front)).shift for front in (20.0, 63.0, 94.5)]
    assert straight == pytest.approx([20 / 63, 1.0, 1.5])
    turned = [Placed(front, front - 90, 0, 1, BACK) for front in (45.0, 90.0)]
    assert [said(card).shift for card in turned] == pytest.approx([0.5, 1.0])


def test_answer_card_that_waits_out_of_the_lip_is_at_rest() -> None:
    """What always lies there has not left; once it moves, it is partly out."""
    assert said(out(25.0), waits=25.0).phase == 0
    assert said(out(40.0), waits=25.0).phase == 1
    assert said(out(29.0), waits=25.0).phase == -1


def test_answer_next_card_that_comes_forth_is_none_that_leaves() -> None:
    """Whoever tells it as partly out knows late that the card before it has left."""
    assert said(out(15.0), waits=25.0).phase == 0


def test_answer_card_carried_past_is_out_while_it_is_in_sight() -> None:
    """A card from elsewhere is no card in the mouth, wherever it is."""
    assert said(out(30.0, drawn=False)).phase == 2
    assert said(out(30.0, drawn=False, seen=0.2)).phase == -1
    gone = said(out(30.0, drawn=False, seen=0.05))
    assert gone.phase == 0
    assert math.isnan(gone.shift)


def test_answer_two_that_leave_as_one_are_recognised_by_the_first() -> None:
    """The second one says that there are two, once it is to be seen, and hides what it lies on."""
    found = said(out(40.0, kind=FACE), out(20.0, kind=FACE, follows=True))
    assert (found.together, found.kind) == (1, FACE)
    assert said(out(40.0, kind=FACE), out(20.0, follows=True)).kind == -1
    beneath = said(out(40.0, kind=FACE), out(20.0, follows=True, under=True))
    assert (beneath.together, beneath.kind) == (-1, FACE)
    assert said(out(40.0), out(37.0, follows=True)).together == -1
    assert found.shift == pytest.approx(40 / 63)
    assert said(out(40.0)).together == 0


def test_answer_drawn_card_is_out_though_the_next_one_waits_half_out() -> None:
    """It is held or turned before the shoe; only once the next one is drawn is that one told."""
    held = out(95.0)
    assert said(held, out(25.0), waits=25.0).phase == 2
    assert said(held, out(40.0), waits=25.0).phase == 1


def test_answer_second_of_two_on_the_first_is_reported_once_its_edge_is_out() -> None:
    """What still lies in the shoe, or flush on the first, is not asked for."""
    assert said(out(30.0), out(5.0, follows=True)).together == -1
    assert said(out(30.0), out(10.0, follows=True)).together == 1
    assert said(out(95.0), out(89.0, follows=True)).together == -1


def test_answer_next_card_under_a_hand_is_not_asked_for() -> None:
    """A hand at the mouth hides what the next card shows; a card that is out is still told."""
    mouth = Mouth(DEPTH, BACK)
    assert answer([], mouth, hand=True).kind == -1
    assert answer([], mouth, hand=False).kind == BACK
    assert answer([out(1.0)], mouth, hand=True).kind == -1
    assert answer([out(30.0, kind=FACE)], mouth, hand=True).kind == FACE


def test_answer_two_that_lie_out_are_still_two() -> None:
    """Both are in sight beyond the lip."""
    assert said(out(95.0), out(75.0, follows=True)).together == 1
    assert said(out(95.0)).together == 0


def test_answer_second_of_two_that_stays_is_out_like_any_card() -> None:
    """Once the first was taken away, the one that stays before the shoe is told, as one."""
    stays = said(out(140.0, seen=0.0), out(75.0, follows=True))
    assert (stays.phase, stays.together) == (2, 0)
    assert stays.shift == pytest.approx(75 / 63)
