"""A face is read within the stated error, declined openly, and told from another in its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from tests.sight.film import PLACES, Stage
from vision.game.cards import Card, parse_cards
from vision.game.events import Slot
from vision.sight.detection.classifier import CardModels, Observation
from vision.sight.detection.detector import Detection, Kind
from vision.sight.geometry.plane import Image, Points, box_around
from vision.sight.reading.deck import DeckClassifier
from vision.sight.reading.faces import Face, FaceReader, Limits, Where

CARDS = parse_cards("As Kd 7h 3c 9d 2s")
STAGE = Stage()
WHERE = Where(1, int(Slot.PUNTO_1))
BOUND = 1e-5


class Enrolled(DeckClassifier):
    """A classifier of an enrolled deck, with looks of our choice."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def __call__(self, _: Image, quads: Sequence[Points]) -> tuple[Observation, ...]:
        """Give the look that is set."""
        return tuple(self._desk.look(quad) for quad in quads)

    def strange_backs(self, _: Image, quads: Sequence[Points]) -> tuple[float, ...]:
        """Give how strange backs are set to be."""
        return (self._desk.strange_back,) * len(quads)


class Desk:
    """A reader that is shown one card which lies in a slot."""

    def __init__(self, decks: int = 8) -> None:
        self.p, self.card, self.readable = 0.99, CARDS[0], 1.0
        self.strange, self.strange_back = 0.0, 0.0
        self.at, self.looks, self.ends = 0, 0, list[list[float]]()
        detector = SimpleNamespace(outlined=lambda _, boxes: boxes)
        models = cast(CardModels, SimpleNamespace(detector=detector, classifier=Enrolled(self)))
        self.reader = FaceReader(STAGE.view, models, Limits(BOUND, 50), decks=decks)

    @property
    def face(self) -> Face:
        """What is known of the card."""
        return self.reader.faces[WHERE]

    def look(self, quad: Points) -> Observation:
        """Return a look at the card."""
        self.looks += 1
        self.ends.append(quad[0].tolist())
        log_p = np.full(52, np.log((1 - self.p) / 51))
        log_p[self.card.index] = np.log(self.p)
        return Observation(log_p.astype(np.float32), self.readable, self.strange)

    def show(self, frames: int, *, kind: Kind | None = Kind.FACE, shift: float = 0.0) -> Face:
        """Show the card for some frames, `None`: hidden; return what is known of it."""
        box = box_around(STAGE.view.quad_px(PLACES[Slot.PUNTO_1])) - np.float32(shift)
        for _ in range(frames):
            self.at += 33
            seen = {} if kind is None else {WHERE: Detection(box, kind, 0.9)}
            self.reader.look(STAGE.felt, self.at, seen)
        return self.reader.faces.get(WHERE, Face())


def known(desk: Desk, frames: int = 60) -> None:
    """Have the card read from several looks, 60 frames of them unless fewer are wanted."""
    desk.p = 0.9999
    assert desk.show(frames).read == CARDS[0]


def test_face_is_read_once_its_looks_leave_no_more_than_the_bound() -> None:
    """One look at 99 per cent does not do; several do, and then it is looked at rarely."""
    desk = Desk()
    assert desk.show(1).read is None
    assert desk.reader.waiting
    face = desk.show(60)
    assert face.read == face.now == CARDS[0]
    assert 1 - BOUND <= face.confidence <= 1
    assert face.second not in (None, CARDS[0])
    assert not desk.reader.waiting
    before = desk.looks
    desk.show(30)
    assert desk.looks - before <= 3


def test_card_is_looked_at_from_both_ends_in_turn() -> None:
    """Every second look begins at the card's other end."""
    desk = Desk()
    desk.p = 0.5
    desk.show(6)
    ends = np.array(desk.ends)
    assert np.abs(ends[::2] - ends[0]).max() < 1
    assert np.abs(ends[1] - ends[0]).max() > 10


def test_doubtful_face_is_declined_and_may_be_read_later() -> None:
    """Looks that never suffice are declined after three seconds; better ones still count."""
    desk = Desk()
    desk.p = 0.6
    assert not desk.show(85).declined
    face = desk.show(30)
    assert face.declined
    assert (face.read, face.second) == (None, CARDS[0])
    desk.p = 1 - 1e-7
    face = desk.show(400)
    assert (face.read, face.declined) == (CARDS[0], False)


def test_unreadable_looks_are_no_evidence() -> None:
    """Looks under a hand are not counted, however sure they seem."""
    desk = Desk()
    desk.p, desk.readable = 1 - 1e-9, 0.2
    assert desk.show(150).declined


def test_back_is_never_read() -> None:
    """A card face down is not looked at and not called unread."""
    desk = Desk()
    face = desk.show(200, kind=Kind.BACK)
    assert (face.now, face.declined, desk.looks) == (None, False, 0)
    assert not desk.reader.waiting


def test_card_partly_out_of_the_picture_is_not_looked_at() -> None:
    """Of a card that is cut by the edge of the picture, part is hidden."""
    desk = Desk()
    desk.show(60, shift=2000)
    assert desk.looks == 0


def test_later_looks_correct_a_reading_and_give_the_first_copy_back() -> None:
    """A face that differs for long is read again."""
    desk = Desk(decks=1)
    known(desk)
    desk.card = CARDS[1]
    face = desk.show(2000)
    assert (face.read, face.switched) == (CARDS[1], None)


def test_copy_too_many_is_not_read_lightly_and_a_new_shoe_forgets() -> None:
    """With its copies dealt a face at 99 per cent is declined; in a new shoe it is read."""
    desk = Desk(decks=1)
    desk.reader.begin_shoe([CARDS[0]])
    assert desk.show(150).declined
    desk.reader.begin_shoe(())
    desk.reader.forget(1)
    assert desk.show(60).read == CARDS[0]


def test_face_in_a_slot_that_no_card_holds_is_forgotten_and_its_copy_given_back() -> None:
    """What lies elsewhere, outside the slots or of another coup stays as read."""
    desk = Desk(decks=1)
    known(desk)
    desk.reader.forget_bare(WHERE.coup, {WHERE.slot})
    desk.reader.forget_bare(WHERE.coup + 1, ())
    assert desk.face.read == CARDS[0]
    desk.reader.forget_bare(WHERE.coup, ())
    assert WHERE not in desk.reader.faces
    known(desk)


def test_cards_read_alike_that_lie_open_at_once_are_apart() -> None:
    """One that was laid down in another slot shows there first, and then no more."""
    desk, other = Desk(), Where(1, int(Slot.PUNTO_2))
    known(desk)
    box = Detection(box_around(STAGE.view.quad_px(PLACES[Slot.PUNTO_2])), Kind.FACE, 0.9)
    for _ in range(60):
        desk.at += 33
        desk.reader.look(STAGE.felt, desk.at, {other: box})
    face = desk.reader.faces[other]
    assert face.read == desk.face.read == CARDS[0]
    assert [face.apart, desk.face.apart] == [False, False]
    here = replace(box, quad=box_around(STAGE.view.quad_px(PLACES[Slot.PUNTO_1])))
    desk.reader.look(STAGE.felt, desk.at + 33, {WHERE: here, other: box})
    assert face.apart
    assert desk.face.apart
    before = desk.looks
    desk.reader.look(STAGE.felt, desk.at + 66, {WHERE: here, other: box})
    assert desk.looks - before == 1  # the one whose turn it is


def test_card_of_another_deck_is_foreign_and_never_read() -> None:
    """However sure its looks are, a face that looks strange is not named."""
    desk = Desk()
    desk.p, desk.strange = 1 - 1e-7, 9.0
    face = desk.show(200)
    assert (face.foreign, face.read, face.declined) == ("face", None, True)
    desk.strange = 0.0
    assert desk.show(100).read is None


def test_card_read_before_it_is_known_to_be_foreign_is_taken_back() -> None:
    """A face whose first looks are like the deck's is read, and declined once most are not."""
    desk = Desk()
    desk.p = 1 - 1e-7
    assert desk.show(30).read == CARDS[0]
    desk.strange = 9.0
    face = desk.show(400)
    assert (face.read, face.foreign) == (None, "face")


def test_one_strange_look_delays_a_reading_and_no_more() -> None:
    """A poor first look at an own card costs the time of the next looks, not the card."""
    desk = Desk()
    desk.strange = 9.0
    assert desk.show(1).read is None
    desk.strange = 0.0
    assert desk.show(30).read == CARDS[0]


def test_card_with_another_back_is_foreign_before_it_is_turned() -> None:
    """The back is enough; the own back is not foreign."""
    desk = Desk()
    assert not desk.show(50, kind=Kind.BACK).foreign
    desk.strange_back = 9.0
    assert desk.show(50, kind=Kind.BACK).foreign == "back"


@pytest.mark.parametrize("hidden", [None, Kind.BACK])
def test_card_hidden_and_then_another_face_is_switched(hidden: Kind | None) -> None:
    """A sure face, hidden, and for a second another as sure: both are known."""
    desk = Desk(decks=1)
    known(desk)
    desk.show(10, kind=hidden)
    desk.card = CARDS[1]
    assert desk.show(10).switched is None
    assert desk.reader.waiting
    face = desk.show(40)
    assert (face.read, face.switched, face.now) == (CARDS[0], CARDS[1], CARDS[1])
    assert not desk.reader.waiting


def test_another_face_after_the_view_was_lost_is_read_again_and_no_switch() -> None:
    """Meanwhile the coup may have been cleared; a switch that was seen before stays one."""
    desk = Desk()
    known(desk)
    desk.reader.lose_sight(desk.at)
    desk.at, desk.card = desk.at + 2000, CARDS[1]
    face = desk.show(90)
    assert (face.read, face.switched) == (CARDS[1], None)
    desk.show(20, kind=None)
    desk.card = CARDS[2]
    assert desk.show(90).switched == CARDS[2]
    desk.reader.lose_sight(desk.at)
    desk.at += 2000
    assert desk.show(90).switched == CARDS[2]


def test_card_seen_again_after_the_view_was_lost_can_be_switched() -> None:
    """Read from few looks before, and seen to be the same card since."""
    desk = Desk()
    known(desk, frames=38)
    desk.reader.lose_sight(desk.at)
    desk.at += 2000
    desk.show(60)
    desk.show(20, kind=None)
    desk.card = CARDS[1]
    assert desk.show(90).switched == CARDS[1]


def test_face_that_changes_in_sight_is_no_switch() -> None:
    """A slow camera does not see it hidden: either reading may be wrong, which holds the result."""
    desk = Desk()
    known(desk)
    desk.card = CARDS[1]
    assert desk.show(15).read == CARDS[0]
    face = desk.show(60)
    assert (face.read, face.switched) == (CARDS[1], None)


def test_look_that_shows_another_face_for_a_moment_changes_nothing() -> None:
    """A finger misleads a look or two: the card is seen to be the same one, and can be switched."""
    desk = Desk()
    known(desk)
    desk.card = CARDS[1]
    desk.show(25)
    desk.card = CARDS[0]
    assert desk.show(90).read == CARDS[0]
    desk.show(20, kind=None)
    desk.card = CARDS[1]
    assert desk.show(90).switched == CARDS[1]


@pytest.mark.parametrize("hidden", [2, 5])
def test_card_missed_for_a_moment_is_not_checked(hidden: int) -> None:
    """A frame or two without the card, as the detector may give, hide nothing."""
    desk = Desk()
    known(desk)
    desk.show(hidden, kind=None)
    desk.show(1)
    assert not desk.reader.waiting


@pytest.mark.parametrize("how", ["few looks", "disagree", "unsure", "same"])
def test_what_proves_no_switch_says_nothing(how: str) -> None:
    """Too few looks before, looks that disagree or are unsure, the same face: no switch."""
    desk = Desk()
    known(desk, frames=4 if how == "few looks" else 60)
    desk.show(10, kind=None)
    if how != "same":
        desk.card = CARDS[1]
    desk.p = 0.5 if how == "unsure" else 0.9999
    for _ in range(100):
        if how == "disagree":
            desk.card = CARDS[1] if desk.card == CARDS[0] else CARDS[0]
        assert desk.show(3).switched is None


def test_card_hidden_again_is_checked_again() -> None:
    """A check that a hand cuts short is made afresh; what was read before it still counts."""
    desk = Desk()
    known(desk)
    desk.show(10, kind=None)
    desk.card = CARDS[1]
    desk.show(15)
    desk.show(10, kind=None)
    assert not desk.reader.waiting
    assert desk.show(60).switched == CARDS[1]


def test_face_of_the_log_goes_on_after_a_restart() -> None:
    """What was read before is known, and read otherwise only by looks of its own."""
    desk = Desk()
    desk.reader.begin_shoe([CARDS[0]])
    desk.reader.restore(WHERE, CARDS[0], 0.99999)
    assert desk.show(1).now == CARDS[0]
    assert isinstance(desk.face.now, Card)
