"""What sight makes of a frame stands where it is, in the colour that the legend gives it."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest

from tests.sight.film import PLACES, Stage, around
from vision.game.cards import Card
from vision.game.events import CardOut, CardPlaced, CardRead, CardRemoved, Event, Noticed, Slot
from vision.sight.detection.detector import Detection, Kind
from vision.sight.drawing import (
    BAD,
    COUNTS_PX,
    FOUND,
    GOOD,
    HAND,
    LIVES,
    RUN,
    STRIP_PX,
    WIDTH_PX,
    Colour,
    Drawing,
    SightView,
    shortened,
    words_of,
)
from vision.sight.geometry.frame import Frame, Image, Points
from vision.sight.geometry.plane import Pose
from vision.sight.reading.reader import CardName
from vision.sight.tracking.card import Life
from vision.sight.tracking.snapshot import CardView, Possibility, RunView, TrackerView

STAGE = Stage()
SCALE = WIDTH_PX / 640
HEIGHT = 540
EMPTY = SightView(0, (), (), TrackerView(0, (), (), 0, 0, ()), {}, ())


def quad(pose: Pose) -> Points:
    """Return the corners of a card on the stage, pixels."""
    return STAGE.view.quad_px(pose)


def card(pose: Pose, life: Life, *, seen: bool = True) -> CardView:
    """Return a card of the tracker."""
    return CardView(7, quad(pose), Kind.FACE, life, None, seen)


def with_cards(*cards: CardView, names: dict[int, CardName] | None = None) -> SightView:
    """Return a view of a frame with these cards, none of them detected."""
    tracker = replace(EMPTY.tracker, cards=cards, left=len(cards), lying=len(cards))
    return replace(EMPTY, tracker=tracker, names=names or {})


def ink(image: Image, colour: Colour, where: Points, margin: float = 3.0) -> int:
    """Return how many pixels along an outline (n x 2 px of the frame) have a colour."""
    mask = np.zeros(image.shape[:2], np.uint8)
    whole = np.round(np.asarray(where) * SCALE).astype(np.int32)
    cv2.polylines(mask, [whole], True, 255, round(2 * margin))
    same = (np.abs(image.astype(int) - colour).max(axis=2) < 60) & (mask > 0)
    return int(same.sum())


def drawn(seen: SightView | None, at: int = 0) -> Image:
    """Return the drawing of the bare stage with a view."""
    return Drawing(STAGE.view)(Frame(STAGE.felt.copy(), at, 0), seen)


@pytest.mark.parametrize("life", [life for life in Life if life is not Life.GONE])
def test_card_is_outlined_where_it_lies_in_the_colour_of_its_state(life: Life) -> None:
    """Each state of a card is seen from its colour, and nowhere else on the table."""
    here, elsewhere = PLACES[Slot.BANCO_2], PLACES[Slot.PUNTO_2]
    image = drawn(with_cards(card(here, life)))
    assert image.shape == (HEIGHT + STRIP_PX, WIDTH_PX, 3)
    assert ink(image, LIVES[life], quad(here)) > 150
    assert ink(image, LIVES[life], quad(elsewhere)) == 0


def test_states_have_a_colour_each() -> None:
    """No two states of a card look alike, and none has been forgotten."""
    assert set(LIVES) == set(Life)
    assert len({*LIVES.values(), RUN, HAND, FOUND}) == len(Life) + 3


def test_card_out_of_sight_is_dashed() -> None:
    """What is only known, not seen, has gaps in its outline."""
    here = PLACES[Slot.BANCO_2]
    seen, unseen = (with_cards(card(here, Life.COVERED, seen=s)) for s in (True, False))
    whole, dashed = (ink(drawn(v), LIVES[Life.COVERED], quad(here)) for v in (seen, unseen))
    assert 0.3 * whole < dashed < 0.75 * whole


def test_card_bears_its_order_and_its_name() -> None:
    """The words over a card change with what is known of it."""
    here = PLACES[Slot.BANCO_2]
    view = card(here, Life.LYING)
    names = [{}, {7: CardName(4, None, unread=False)}, {7: CardName(4, Card.of(3), unread=False)}]
    amounts = []
    for known in names:
        image = drawn(with_cards(view, names=known))
        box = quad(here) * SCALE
        above = image[round(box[:, 1].min()) - 18 : round(box[:, 1].min()) - 3]
        amounts.append(int((np.abs(above.astype(int) - LIVES[Life.LYING]).max(axis=2) < 90).sum()))
    assert 0 < amounts[0] != amounts[1] < amounts[2]


def test_labels_of_cards_in_a_pile_stay_readable() -> None:
    """Two cards in one place have their words one above the other."""
    here = PLACES[Slot.BANCO_2]
    names = {7: CardName(4, None, unread=False), 8: CardName(5, None, unread=False)}
    pile = (card(here, Life.LIFTED), replace(card(here, Life.COVERED), id=8))
    image = drawn(with_cards(*pile, names=names)).astype(int)
    top = round(float((quad(here) * SCALE)[:, 1].min()))
    for life, lines in ((Life.LIFTED, (17, 3)), (Life.COVERED, (32, 18))):
        line = image[top - lines[0] : top - lines[1]]
        assert (np.abs(line - LIVES[life]).max(axis=2) < 90).sum() > 30


def test_run_not_explained_has_its_odds_below_it() -> None:
    """A run of sightings is dashed, with a line for each explanation that is likely at all."""
    here = PLACES[Slot.PUNTO_2]
    heights = []
    for odds in ((), (Possibility(0.9, new=True), Possibility(0.095), Possibility(0.005, 7))):
        runs = (RunView(quad(here), Kind.BACK, odds),)
        image = drawn(replace(EMPTY, tracker=replace(EMPTY.tracker, runs=runs)))
        assert ink(image, RUN, quad(here)) > 60
        under = image[round(float((quad(here) * SCALE)[:, 1].max())) + 4 : HEIGHT]
        rows = (np.abs(under.astype(int) - RUN).max(axis=2) < 90).any(axis=1)
        heights.append(int(np.flatnonzero(rows).max() - np.flatnonzero(rows).min()))
    assert heights[0] < 12 < heights[1] < 30


def test_boxes_and_hands_are_drawn_on_their_own_frame_only() -> None:
    """A hand has gone on by the next frame; where it was would mislead."""
    hand = Detection(STAGE.view.homography.to_px(around(Pose(600, 250, 0), 75)), Kind.HAND, 0.9)
    box = Detection(quad(PLACES[Slot.PUNTO_1]), Kind.FACE, 0.9)
    seen = replace(EMPTY, found=(box,), hands=(hand,))
    now, later = drawn(seen), drawn(seen, at=100)
    for where, colour in ((hand.quad, HAND), (box.quad, FOUND)):
        assert ink(now, colour, where) > 100
        assert ink(later, colour, where) == 0
    x, y = (hand.quad.mean(axis=0) * SCALE).astype(int)
    assert np.abs(now[y, x].astype(int) - HAND).sum() < np.abs(later[y, x].astype(int) - HAND).sum()


@pytest.mark.parametrize(("lying", "colour"), [(2, GOOD), (1, RUN)], ids=["agree", "differ"])
def test_counts_of_the_witnesses_show_whether_they_agree(lying: int, colour: Colour) -> None:
    """Two cards out and one lying is seen at a glance; a doubt is said in red."""
    tracker = replace(EMPTY.tracker, left=2, lying=lying, doubts=("PUNTO_1 holds 2 cards",))
    strip = drawn(replace(EMPTY, tracker=tracker))[HEIGHT:, COUNTS_PX:200].astype(int)
    assert (np.abs(strip - colour).max(axis=2) < 40).sum() > 40
    assert (np.abs(strip - BAD).max(axis=2) < 40).sum() > 40


def test_what_was_said_stays_for_a_while() -> None:
    """Events of a look are said once, however often its view is drawn; the oldest lines go."""
    drawing = Drawing(STAGE.view)
    felt = STAGE.felt
    blank = drawing(Frame(felt, 0, 0), None)[HEIGHT:]
    seen = replace(EMPTY, events=(CardOut(0, 1),))
    once = drawing(Frame(felt, 0, 1), seen)[HEIGHT:, 236:700]
    again = drawing(Frame(felt, 0, 2), seen)[HEIGHT:, 236:700]
    assert (once == again).all()
    assert (once != blank[:, 236:700]).any()
    for number in range(20):
        full = drawing(Frame(felt, 0, 3), seen, [(f"line {number}", GOOD)])[HEIGHT:, 236:700]
    assert (np.abs(full.astype(int) - GOOD).max(axis=2) < 40).sum() > 40
    assert full.shape[0] == STRIP_PX


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (CardOut(5, 3), "card 3 out"),
        (CardPlaced(5, 3, Slot.PUNTO_2), "card 3 in PUNTO_2"),
        (CardPlaced(5, 3, None), "card 3 in no slot"),
        (CardRead(5, 3, Card.of(0), 0.99987), f"card 3 is {Card.of(0)}, 0.9999"),
        (CardRead(5, 3, None, 0.2), "card 3 cannot be read"),
        (CardRemoved(5, 3), "card 3 gone"),
        (Noticed(5, "FOREIGN_CARD", 3), "FOREIGN_CARD card 3"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_words_of_an_event_name_the_card(event: Event, words: str) -> None:
    """A line is short and says which card it is about."""
    assert words_of(event) == words


def test_shortened_words_fit() -> None:
    """What does not fit ends in dots; what fits is left alone."""
    assert shortened("12345678", 8) == "12345678"
    assert shortened("123456789", 8) == "12345..."
