"""What sight makes of a frame stands where it is, in the colour that the legend gives it."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest

from tests.sight.film import PLACES, Stage, around
from vision.game.cards import Card
from vision.game.events import (
    Allegation,
    CoupSeen,
    CutCardOut,
    Event,
    Life,
    Noticed,
    SeenCard,
    Slot,
)
from vision.sight.detection.detector import Detection, Kind
from vision.sight.drawing import (
    COUNTS_PX,
    FOUND,
    GOOD,
    HAND,
    OPEN,
    READ,
    STRIP_PX,
    UNREAD,
    WIDTH_PX,
    Colour,
    Drawing,
    SightView,
    shortened,
    words_of,
)
from vision.sight.following.follower import CardView
from vision.sight.geometry.plane import Frame, Image, Points, Pose

STAGE = Stage()
SCALE = WIDTH_PX / 640
HEIGHT = 540
EMPTY = SightView(0, (), (), (), (), ())
NINE = Card.parse("9c")


def quad(pose: Pose) -> Points:
    """Return the corners of a card on the stage, pixels."""
    return STAGE.view.quad_px(pose)


def card(
    pose: Pose, face: Card | None = None, *, declined: bool = False, seen: bool = True
) -> CardView:
    """Return a card of the running coup."""
    reported = SeenCard(7, 0, Life.LYING, Slot.BANCO_2, card=face, declined=declined)
    return CardView(reported, quad(pose), seen)


def with_cards(*cards: CardView) -> SightView:
    """Return a view of a frame with these cards, none of them detected."""
    return replace(EMPTY, cards=cards)


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


@pytest.mark.parametrize(
    ("face", "declined", "colour"), [(None, False, OPEN), (NINE, False, READ), (None, True, UNREAD)]
)
def test_card_is_outlined_where_it_lies_in_the_colour_of_its_state(
    face: Card | None, declined: bool, colour: Colour
) -> None:
    """Whether a card is read is seen from its colour, and nowhere else on the table."""
    here, elsewhere = PLACES[Slot.BANCO_2], PLACES[Slot.PUNTO_2]
    image = drawn(with_cards(card(here, face, declined=declined)))
    assert image.shape == (HEIGHT + STRIP_PX, WIDTH_PX, 3)
    assert ink(image, colour, quad(here)) > 150
    assert ink(image, colour, quad(elsewhere)) == 0


def test_card_out_of_sight_is_dashed() -> None:
    """What is only known, not seen, has gaps in its outline."""
    here = PLACES[Slot.BANCO_2]
    seen, unseen = (with_cards(card(here, seen=s)) for s in (True, False))
    whole, dashed = (ink(drawn(v), OPEN, quad(here)) for v in (seen, unseen))
    assert 0.3 * whole < dashed < 0.75 * whole


def test_card_bears_its_order_and_its_name() -> None:
    """The words over a card change with what is known of it."""
    here = PLACES[Slot.BANCO_2]
    amounts = []
    for view, colour in ((card(here), OPEN), (card(here, NINE), READ)):
        image = drawn(with_cards(view))
        box = quad(here) * SCALE
        above = image[round(box[:, 1].min()) - 18 : round(box[:, 1].min()) - 3]
        amounts.append(int((np.abs(above.astype(int) - colour).max(axis=2) < 90).sum()))
    assert 0 < amounts[0] < amounts[1]


def test_card_that_was_changed_is_red_and_bears_both_names() -> None:
    """What lies there now stands beside what was read before: it is no card that is simply read."""
    here = PLACES[Slot.BANCO_2]
    view = card(here, NINE)
    changed = replace(view, reported=replace(view.reported, switched=Card.parse("Ac")))
    top, bare, widths = round(float((quad(here) * SCALE)[:, 1].min())), drawn(with_cards()), []
    for each, colour in ((view, READ), (changed, UNREAD)):
        image = drawn(with_cards(each))
        assert ink(image, colour, quad(here)) > 150
        label = (image != bare).any(axis=2)[top - 18 : top - 5]
        widths.append(int(label.any(axis=0).sum()))
    assert widths[1] > 1.5 * widths[0]


def test_labels_of_cards_in_a_pile_stay_readable() -> None:
    """Two cards in one place have their words one above the other."""
    here = PLACES[Slot.BANCO_2]
    seventh = card(here)
    eighth = replace(seventh, reported=replace(seventh.reported, order=8))
    image = drawn(with_cards(card(here, NINE), eighth)).astype(int)
    top = round(float((quad(here) * SCALE)[:, 1].min()))
    for colour, lines in ((READ, (17, 3)), (OPEN, (32, 18))):
        line = image[top - lines[0] : top - lines[1]]
        assert (np.abs(line - colour).max(axis=2) < 90).sum() > 15


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


@pytest.mark.parametrize(("p", "colour"), [(0.999, GOOD), (0.7, OPEN)], ids=["sure", "open"])
def test_layouts_show_whether_one_is_sure(p: float, colour: Colour) -> None:
    """Whether it is known how the coup lies is seen at a glance."""
    view = replace(EMPTY, layouts=(("P1 B1", p), ("P1", 1 - p)))
    strip = drawn(view)[HEIGHT:, COUNTS_PX:200].astype(int)
    assert (np.abs(strip - colour).max(axis=2) < 40).sum() > 40


def test_what_was_reported_stays_for_a_while() -> None:
    """Events of a look are said once, however often its view is drawn; the oldest lines go."""
    drawing = Drawing(STAGE.view)
    felt = STAGE.felt
    blank = drawing(Frame(felt, 0, 0), None)[HEIGHT:]
    seen = replace(EMPTY, events=(CutCardOut(0),))
    once = drawing(Frame(felt, 0, 1), seen)[HEIGHT:, 236:700]
    again = drawing(Frame(felt, 0, 2), seen)[HEIGHT:, 236:700]
    assert (once == again).all()
    assert (once != blank[:, 236:700]).any()
    for number in range(20):
        full = drawing(Frame(felt, 0, 3), seen, [(f"line {number}", GOOD)])[HEIGHT:, 236:700]
    assert (np.abs(full.astype(int) - GOOD).max(axis=2) < 40).sum() > 40
    assert full.shape[0] == STRIP_PX


SEEN = (
    SeenCard(3, 5, Life.LYING, Slot.PUNTO_1, card=NINE),
    SeenCard(4, 5, Life.REMOVED, Slot.BANCO_3, declined=True),
    SeenCard(5, 5, Life.OUT),
)


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (CoupSeen(5, 2, SEEN), "coup 2: P1:9c B3:? removed out"),
        (CoupSeen(5, 2, SEEN[:1], sure=False), "coup 2: P1:9c not sure"),
        (
            CoupSeen(5, 2, SEEN[2:], (Allegation("SWITCH", 5, 100.0),), doubt="Unseen."),
            "coup 2: out Card changed Unseen.",
        ),
        (CutCardOut(5), "cut card out"),
        (Noticed(5, "LIGHT"), "LIGHT"),
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
