"""From detections to card events: a dealt coup comes out as it was dealt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from tests.sight.film import (
    DOWN,
    MOUTH,
    ORDER,
    PLACES,
    PUNTO_FIRST,
    UP,
    Faults,
    Prop,
    Stage,
    deal_coup,
    play,
)
from vision.game.cards import Card, parse_cards
from vision.game.events import (
    CardFound,
    CardOut,
    CardPlaced,
    CardRead,
    CardRemoved,
    CardWithdrawn,
    CutCardOut,
    Event,
    Noticed,
    Slot,
)
from vision.sight.detection.classifier import Look
from vision.sight.detection.detector import Detection, Kind
from vision.sight.geometry.frame import Frame, Image, Points
from vision.sight.geometry.plane import Pose
from vision.sight.reading.reader import CardReader, ForeignCards
from vision.sight.tracking.card import Track
from vision.sight.tracking.tracker import Tracker

SIX_CARDS = parse_cards("As Kd 7h 3c 9d 2s")
FIVE_CARDS = parse_cards("4s 4s 2c Th 8d")
BAD = Faults(missed=0.1, doubled=0.05, spurious=0.03, wrong_kind=0.03, jitter_mm=1.0)


@dataclass
class Log:
    """Tracker and reader over a stage, and the events they gave."""

    stage: Stage
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tracker = Tracker(self.stage.view)
        self.reader = CardReader(self.stage.classify, error_bound=1e-5, decks=8)

    def see(self, detections: tuple[Detection, ...], frame: Frame) -> None:
        """Take one frame."""
        tracks = self.tracker.update(detections, frame.at, frame.image)
        self.events += self.reader.update(tracks, frame).events

    def play(self, script: Iterator[None]) -> None:
        """Play a script to its end."""
        play(self.stage, script, self.see)


def of(events: Sequence[Event], order: int) -> list[tuple[str, object]]:
    """Return the events of one card: (name, slot or card)."""
    found: list[tuple[str, object]] = []
    for event in events:
        if getattr(event, "order", None) == order:
            detail = getattr(event, "slot", None) if isinstance(event, CardPlaced) else None
            detail = event.card if isinstance(event, CardRead) else detail
            found.append((type(event).__name__, detail))
    return found


def check_coup(events: Sequence[Event], cards: tuple[Card, ...], first: int) -> None:
    """Assert that a coup's events are exactly those of the cards dealt, in order."""
    outs = [event.order for event in events if isinstance(event, CardOut)]
    assert outs == list(range(first, first + len(cards)))
    for i, card in enumerate(cards):
        assert of(events, first + i) == [
            ("CardOut", None),
            ("CardPlaced", ORDER[i]),
            ("CardRead", card),
            ("CardRemoved", None),
        ]
    assert [event.at for event in events] == sorted(event.at for event in events)


@pytest.mark.parametrize("dealing", [UP, DOWN, PUNTO_FIRST])
@pytest.mark.parametrize(("fps", "seed"), [(30, 1), (12, 2)])
def test_coups_come_out_as_dealt(dealing: str, seed: int, fps: int) -> None:
    """Two coups with a bad detector give each card's four events once, in the right order."""
    log = Log(Stage(fps=fps, seed=seed, faults=BAD, props=[Prop(MOUTH, Kind.BACK)]))
    log.play(log.stage.wait(2000))
    log.play(deal_coup(log.stage, SIX_CARDS, dealing))
    between = len(log.events)
    log.play(deal_coup(log.stage, FIVE_CARDS, dealing))
    check_coup(log.events[:between], SIX_CARDS, 1)
    check_coup(log.events[between:], FIVE_CARDS, 7)
    assert not log.reader.waiting


def test_hand_that_hides_the_flight_loses_no_card() -> None:
    """Cards never seen between mouth and slot still come out, in order."""
    log = Log(Stage(seed=4, grip_mm=40, props=[Prop(MOUTH, Kind.BACK)]))
    log.play(log.stage.wait(2000))
    log.play(deal_coup(log.stage, SIX_CARDS, UP))
    check_coup(log.events, SIX_CARDS, 1)


@pytest.mark.parametrize("face_down", [False, True])
def test_face_that_shows_on_its_way_is_told_where_cards_are_dealt_face_down(
    face_down: bool,
) -> None:
    """It is told once; where faces are laid open it is nothing."""
    reader = CardReader(lambda _, __: [], error_bound=1e-5, decks=8, face_down=face_down)
    frame = Frame(np.zeros((720, 1280, 3), np.uint8), 0, 0)
    flies = replace(track(0, kind=Kind.BACK), resting=False, placed_at=None, slot=None)
    told: list[str] = []
    for flashed in (False, True, True):
        events = reader.update([replace(flies, flashed=flashed)], frame).events
        told += [event.code for event in events if isinstance(event, Noticed)]
    assert told == (["EXPOSED_EARLY"] if face_down else [])


# --- the reader alone, on tracks made by hand ----------------------------------------------------

STAGE = Stage()


def track(
    at: int, *, kind: Kind = Kind.FACE, gone: bool = False, number: int = 1, covered: bool = False
) -> Track:
    """Return a card at rest in Punto's first slot."""
    pose = PLACES[Slot.PUNTO_1]
    quad = STAGE.view.quad_px(pose)
    return Track(number, pose, quad, kind, not gone, not gone, 0, 0, Slot.PUNTO_1, gone, covered)


class Desk:
    """A reader shown one lying card, with looks of our choice."""

    def __init__(self, decks: int = 8) -> None:
        self.strange, self.strange_back = 0.0, 0.0
        self.reader = CardReader(
            self.classify,
            error_bound=1e-5,
            decks=decks,
            strange_backs=lambda _, quads: [self.strange_back] * len(quads),
        )
        self.p, self.card, self.readable = 0.99, SIX_CARDS[0], 1.0
        self.at, self.looks = 0, 0
        self.ends: list[list[float]] = []

    def classify(self, _: Image, quads: Sequence[Points]) -> list[Look]:
        """Give the look set."""
        self.looks += len(quads)
        self.ends += [quad[0].tolist() for quad in quads]
        log_p = np.full(52, np.log((1 - self.p) / 51))
        log_p[self.card.index] = np.log(self.p)
        return [Look(log_p.astype(np.float32), self.readable, self.strange) for _ in quads]

    def show(
        self,
        frames: int,
        *,
        gone: bool = False,
        kind: Kind = Kind.FACE,
        covered: bool = False,
        beside: bool = False,
    ) -> list[Event]:
        """Show the card for some frames, `beside` the picture in part, and return the events."""
        events: list[Event] = []
        for _ in range(frames):
            self.at += 33
            shown = track(self.at, gone=gone, kind=kind, covered=covered)
            if beside:
                shown = replace(shown, quad=shown.quad - (2000, 0))
            events += self.reader.update([shown], Frame(STAGE.felt, self.at, self.at // 33)).events
        return events


def reads(events: Sequence[Event]) -> list[Card | None]:
    """Return the faces read."""
    return [event.card for event in events if isinstance(event, CardRead)]


def test_reader_waits_for_the_bound_and_then_reads_once() -> None:
    """Looks at 99 per cent are read after a few, once, within the stated error."""
    desk = Desk()
    assert reads(desk.show(1)) == []
    assert desk.reader.waiting
    events = [event for event in desk.show(60) if isinstance(event, CardRead)]
    assert [event.card for event in events] == [SIX_CARDS[0]]
    assert 1 - 1e-5 <= events[0].confidence <= 1
    assert events[0].second not in (None, SIX_CARDS[0])
    assert not desk.reader.waiting


def test_card_is_looked_at_from_both_ends_in_turn() -> None:
    """Every second look begins at the card's other end, whatever the end the tracker found."""
    desk = Desk()
    desk.p = 0.5
    desk.show(10)
    quad = track(0).quad
    assert desk.ends == [quad[2 * (number % 2)].tolist() for number in range(10)]


def test_settled_card_is_looked_at_rarely() -> None:
    """After the read a lying card costs at most three looks a second."""
    desk = Desk()
    desk.show(30)
    before = desk.looks
    desk.show(30)
    assert desk.looks - before <= 3


def test_doubtful_face_is_openly_unread_and_may_be_read_later() -> None:
    """Looks that never suffice are declined after three seconds; a better look still counts."""
    desk = Desk()
    desk.p = 0.6
    events = [event for event in desk.show(150) if isinstance(event, CardRead)]
    assert [event.card for event in events] == [None]
    assert events[0].second == SIX_CARDS[0]
    assert events[0].at >= 3000
    desk.p = 1 - 1e-7
    assert reads(desk.show(400)) == [SIX_CARDS[0]]


def test_unreadable_looks_are_no_evidence() -> None:
    """Looks under a hand are not counted, however sure they seem."""
    desk = Desk()
    desk.p, desk.readable = 1 - 1e-9, 0.2
    assert reads(desk.show(150)) == [None]


def test_back_is_never_read() -> None:
    """A card face down is not looked at and not called unread."""
    desk = Desk()
    assert reads(desk.show(200, kind=Kind.BACK)) == []
    assert not desk.reader.waiting
    assert reads(desk.show(1, kind=Kind.BACK, gone=True)) == []
    assert desk.looks == 0


def test_open_card_taken_away_too_soon_is_unread_then_removed() -> None:
    """A face shown but not read by the time it goes is given as unread."""
    desk = Desk()
    desk.p = 0.6
    desk.show(20)
    events = desk.show(1, gone=True)
    assert [type(event) for event in events] == [CardRead, CardRemoved]
    assert reads(events) == [None]


def test_later_looks_correct_a_read() -> None:
    """A face that differs for long is read again, and the first copy is given back."""
    desk = Desk(decks=1)
    desk.p = 0.9999
    assert reads(desk.show(30)) == [SIX_CARDS[0]]
    desk.card = SIX_CARDS[1]
    assert reads(desk.show(2000)) == [SIX_CARDS[1]]


def test_copy_too_many_is_not_read_lightly_and_a_new_shoe_forgets() -> None:
    """With its copies dealt a face at 99 per cent is declined; in a new shoe it is read."""
    desk = Desk(decks=1)
    desk.reader.begin_shoe(order=53, read=[SIX_CARDS[0]])
    events = desk.show(150)
    assert events[0] == CardOut(33, 53)
    assert SIX_CARDS[0] not in reads(events)
    desk.show(1, gone=True)
    desk.reader.begin_shoe()
    events = desk.show(60)
    assert isinstance(events[0], CardOut)
    assert events[0].order == 1
    assert reads(events) == [SIX_CARDS[0]]


@pytest.mark.parametrize("past", [(1,), ()], ids=["of the coup that ended", "of a new one"])
def test_card_that_still_lies_when_a_shoe_begins_is_told_of_no_more(past: tuple[int, ...]) -> None:
    """The hands of the last coup are cleared after the order; a card already drawn goes on."""
    desk = Desk()
    assert isinstance(desk.show(60)[0], CardOut)
    desk.reader.begin_shoe(order=1, past=past)
    told = desk.show(1, gone=True)
    assert [type(event) for event in told] == ([] if past else [CardRemoved])
    assert not desk.reader.names()


def test_cut_card_is_told_once_and_takes_no_order() -> None:
    """The cut card is an event of its own; the next card keeps the next order."""
    log = Log(Stage(seed=5, faults=BAD))
    log.play(log.stage.wait(1500))
    log.play(log.stage.deal(Prop(MOUTH, Kind.CUT), Pose(1200, 420, 100)))
    log.play(log.stage.deal(Prop(MOUTH, Kind.FACE, SIX_CARDS[0]), PLACES[Slot.PUNTO_1]))
    log.play(log.stage.wait(1000))
    assert [type(event) for event in log.events] == [CutCardOut, CardOut, CardPlaced, CardRead]
    assert of(log.events, 1)[0] == ("CardOut", None)


def test_card_of_another_deck_is_noticed_once_and_never_read() -> None:
    """However sure its looks are, a face that has looked strange from the first is not told."""
    desk = Desk()
    desk.p, desk.strange = 1 - 1e-7, 9.0
    events = desk.show(200)
    noticed = [event for event in events if isinstance(event, Noticed)]
    assert [(event.code, event.order) for event in noticed] == [("FOREIGN_CARD", 1)]
    assert reads(events) == [None]
    desk.strange = 0.0
    assert reads(desk.show(100)) == []


def test_card_read_before_it_is_known_to_be_foreign_is_taken_back() -> None:
    """A face whose first looks are like the deck's is read, and unread once most are not."""
    desk = Desk()
    desk.p = 1 - 1e-7
    assert reads(desk.show(30)) == [SIX_CARDS[0]]
    desk.strange = 9.0
    assert reads(desk.show(400)) == [None]


def test_one_strange_look_delays_a_reading_and_no_more() -> None:
    """A poor first look of an own card costs the time of the next looks, not the card."""
    desk = Desk()
    desk.strange = 9.0
    assert reads(desk.show(1)) == []
    desk.strange = 0.0
    assert reads(desk.show(30)) == [SIX_CARDS[0]]


def test_card_with_another_back_is_noticed_before_it_is_turned() -> None:
    """The back is enough; the own back is not noticed."""
    desk = Desk()
    assert not any(isinstance(event, Noticed) for event in desk.show(50, kind=Kind.BACK))
    other = Desk()
    other.strange_back = 9.0
    noticed = [e for e in other.show(50, kind=Kind.BACK) if isinstance(e, Noticed)]
    assert [(event.code, event.slot) for event in noticed] == [("FOREIGN_CARD", Slot.PUNTO_1)]
    assert "back" in noticed[0].detail


def test_foreign_card_is_noticed_once_when_most_looks_agree() -> None:
    """One poor look says nothing; five strange ones do, and only once."""
    cards = ForeignCards()
    assert cards.look(0, 1, None, 50.0) is None
    for at in range(1, 5):
        assert cards.look(at, 1, None, 0.5) is None
    notices = [cards.look(at, 2, Slot.PUNTO_1, 9.0) for at in range(9)]
    assert [event is not None for event in notices] == [False] * 4 + [True] + [False] * 4
    assert notices[4] is not None
    assert (notices[4].code, notices[4].order, notices[4].slot) == ("FOREIGN_CARD", 2, Slot.PUNTO_1)
    assert cards.noticed(2)
    assert not cards.noticed(1)
    cards.forget(2)
    assert not cards.noticed(2)


# --- another face in the same place ---------------------------------------------------------------


def known(desk: Desk, frames: int = 60) -> None:
    """Have the card read from several looks, 60 frames of them unless fewer are wanted."""
    desk.p = 0.9999
    assert reads(desk.show(frames)) == [SIX_CARDS[0]]


def notices(events: Sequence[Event]) -> list[tuple[str, int | None]]:
    """Return the codes noticed, each with the card that it is about."""
    return [(event.code, event.order) for event in events if isinstance(event, Noticed)]


def test_card_hidden_and_then_another_face_is_switched() -> None:
    """A sure face, a hand, and for a second another as sure: the switch is told before the face."""
    desk = Desk()
    known(desk)
    desk.show(10, covered=True)
    desk.card, began = SIX_CARDS[1], desk.at
    assert desk.show(20) == []
    assert desk.reader.waiting
    events = desk.show(30)
    assert notices(events) == [("SWITCH", 1)]
    assert [type(event) for event in events] == [Noticed, CardRead]
    assert reads(events) == [SIX_CARDS[1]]
    assert events[0].at - began >= 1000
    assert isinstance(events[0], Noticed)
    assert (events[0].slot, events[0].detail) == (
        Slot.PUNTO_1,
        "Read As, hidden, then Kd in 4 clear looks.",
    )
    assert not desk.reader.waiting
    assert desk.show(100) == []


def test_switched_card_gives_the_first_copy_back() -> None:
    """Of the two faces only the one that lies there now is out of the shoe."""
    desk = Desk(decks=1)
    known(desk)
    desk.show(10, kind=Kind.BACK)
    desk.card = SIX_CARDS[1]
    desk.show(50)
    desk.show(10, kind=Kind.BACK)
    desk.card = SIX_CARDS[0]
    assert reads(desk.show(60)) == [SIX_CARDS[0]]


def test_covered_card_is_not_looked_at() -> None:
    """What shows beside a hand is no look at the card, before it was read and after."""
    desk = Desk()
    desk.p, desk.card = 0.9999, SIX_CARDS[1]
    assert reads(desk.show(60, covered=True)) == []
    assert desk.looks == 0
    desk.card = SIX_CARDS[0]
    known(desk)
    looks, desk.card = desk.looks, SIX_CARDS[1]
    assert desk.show(200, covered=True) == []
    assert desk.looks == looks


def test_face_that_changes_in_sight_is_no_switch() -> None:
    """A card that was never hidden cannot have been switched: it is read otherwise, no more."""
    desk = Desk()
    known(desk)
    desk.card = SIX_CARDS[1]
    events = desk.show(2000)
    assert (notices(events), reads(events)) == ([], [SIX_CARDS[1]])


@pytest.mark.parametrize("hidden", [2, 5])
def test_card_missed_for_a_moment_is_not_checked(hidden: int) -> None:
    """A frame or two without the card, as the detector may give, hide nothing."""
    desk = Desk()
    known(desk)
    desk.show(hidden, kind=Kind.BACK)
    desk.show(1)
    assert not desk.reader.waiting


def test_face_read_from_too_few_looks_is_no_proof() -> None:
    """What was read in passing before a hand came may have been the misread."""
    desk = Desk()
    known(desk, frames=4)
    desk.show(10, covered=True)
    desk.card = SIX_CARDS[1]
    assert notices(desk.show(400)) == []


def test_looks_that_disagree_are_no_proof() -> None:
    """One look at a third face, and nothing is said but what all looks together say."""
    desk = Desk()
    known(desk)
    desk.show(10, covered=True)
    desk.card = SIX_CARDS[2]
    desk.show(1)
    desk.card = SIX_CARDS[1]
    assert notices(desk.show(400)) == []


def test_looks_that_are_unsure_are_no_proof() -> None:
    """Another face within no bound of error is no switch; unreadable looks are no looks."""
    for p, readable in ((0.5, 1.0), (0.9999, 0.1)):
        desk = Desk()
        known(desk)
        desk.show(10, covered=True)
        desk.card, desk.p, desk.readable = SIX_CARDS[1], p, readable
        assert notices(desk.show(200)) == []


def test_same_face_after_a_hand_says_nothing() -> None:
    """Most cards that a hand hides are the same afterwards; then they are looked at rarely."""
    desk = Desk()
    known(desk)
    desk.show(10, covered=True)
    assert desk.show(60) == []
    assert not desk.reader.waiting


def test_card_hidden_again_is_checked_again() -> None:
    """A check that a hand cuts short is made afresh; what was read before it still counts."""
    desk = Desk()
    known(desk)
    desk.show(10, covered=True)
    desk.card = SIX_CARDS[1]
    desk.show(15)
    desk.show(10, covered=True)
    assert not desk.reader.waiting
    assert notices(desk.show(60)) == [("SWITCH", 1)]


def test_card_partly_out_of_the_picture_is_no_proof() -> None:
    """Of a card that is cut by the edge of the picture, part is hidden."""
    desk = Desk()
    known(desk)
    desk.show(10, beside=True)
    desk.card = SIX_CARDS[1]
    assert notices(desk.show(60, beside=True)) == []


# --- cards that were none, that went back, that left unseen ---------------------------------------


def ended(desk: Desk, kind: Kind = Kind.FACE, **how: bool) -> tuple[Event, ...]:
    """Show that the card ended in that way, and return the events."""
    last = replace(track(desk.at, kind=kind, gone=True), **how)
    return desk.reader.update([last], Frame(STAGE.felt, desk.at, 1)).events


def looks_to_read(desk: Desk) -> int:
    """Show a new card until it is read, and return how many looks that took."""
    before = desk.looks
    for _ in range(100):
        if reads(desk.show(1)) == [SIX_CARDS[0]]:
            return desk.looks - before
    raise AssertionError("not read")


@pytest.mark.parametrize("how", ["returned", "withdrawn"])
def test_card_that_went_back_or_was_none_is_in_the_shoe_again(how: str) -> None:
    """It ends once; its only copy is as likely as before, and the card drawn next has a number."""
    desk = Desk(decks=1)
    first = looks_to_read(desk)
    back = Noticed(desk.at, "RETURNED_TO_SHOE", 1)
    event = back if how == "returned" else CardWithdrawn(desk.at, 1)
    assert ended(desk, **{how: True}) == (event,)
    assert looks_to_read(desk) == first
    assert ended(desk) == (CardRemoved(desk.at, 2),)


def test_card_that_was_removed_is_not_in_the_shoe_again() -> None:
    """Its only copy lies in the discard: looks that sufficed for it do not for another."""
    desk = Desk(decks=1)
    looks_to_read(desk)
    assert ended(desk) == (CardRemoved(desk.at, 1),)
    assert SIX_CARDS[0] not in reads(desk.show(60))


def test_card_not_read_goes_back() -> None:
    """A card face down may go back as well."""
    desk = Desk()
    desk.show(5, kind=Kind.BACK)
    assert ended(desk, Kind.BACK, returned=True) == (Noticed(desk.at, "RETURNED_TO_SHOE", 1),)


def test_card_whose_exit_was_unseen_is_found() -> None:
    """A track that nobody saw leave the shoe is given as found, and then as any other."""
    desk = Desk()
    shown = replace(track(33), found=True)
    events = desk.reader.update([shown], Frame(STAGE.felt, 33, 1)).events
    assert events == (CardFound(33, 1), CardPlaced(33, 1, Slot.PUNTO_1))
