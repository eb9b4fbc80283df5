"""From detections to card events: a dealt coup comes out as it was dealt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

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
from vision.config.table import ReaderSection
from vision.game.cards import Card, parse_cards
from vision.game.events import (
    CardOut,
    CardPlaced,
    CardRead,
    CardRemoved,
    CutCardOut,
    Event,
    Noticed,
    Slot,
)
from vision.sight.detection.classifier import Look
from vision.sight.detection.detector import Detection, Kind
from vision.sight.geometry.frame import Frame, Image, Points
from vision.sight.geometry.plane import Pose
from vision.sight.reading.reader import Reader
from vision.sight.tracking.track import Track
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
        self.reader = Reader(
            self.stage.view, self.stage.classify, error_bound=ReaderSection().error_bound
        )

    def see(self, detections: tuple[Detection, ...], frame: Frame) -> None:
        """Take one frame."""
        tracks = self.tracker.update(detections, frame.at, frame.image)
        self.events += self.reader.update(tracks, frame)

    def play(self, script: Iterator[None]) -> None:
        """Play a script to its end."""
        play(self.stage, script, self.see)


def of(events: Sequence[Event], order: int) -> list[tuple[str, object]]:
    """Return what is said of one card: (event, slot or card)."""
    told: list[tuple[str, object]] = []
    for event in events:
        if getattr(event, "order", None) == order:
            detail = getattr(event, "slot", None) if isinstance(event, CardPlaced) else None
            detail = event.card if isinstance(event, CardRead) else detail
            told.append((type(event).__name__, detail))
    return told


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


# --- the reader alone, on tracks made by hand ----------------------------------------------------

STAGE = Stage()


def track(at: int, *, kind: Kind = Kind.FACE, gone: bool = False, number: int = 1) -> Track:
    """Return a card at rest in Punto's first slot."""
    pose = PLACES[Slot.PUNTO_1]
    quad = STAGE.view.quad_px(pose)
    return Track(number, pose, quad, kind, not gone, not gone, 0, 0, Slot.PUNTO_1, gone)


class Desk:
    """A reader shown one lying card, with looks of our choice."""

    def __init__(self, decks: int = 8) -> None:
        self.strange, self.strange_back = 0.0, 0.0
        self.reader = Reader(
            STAGE.view,
            self.classify,
            error_bound=ReaderSection().error_bound,
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

    def show(self, frames: int, *, gone: bool = False, kind: Kind = Kind.FACE) -> list[Event]:
        """Show the card for some frames and return what was said."""
        said: list[Event] = []
        for _ in range(frames):
            self.at += 33
            shown = track(self.at, gone=gone, kind=kind)
            said += self.reader.update([shown], Frame(STAGE.felt, self.at, self.at // 33))
        return said


def reads(events: Sequence[Event]) -> list[Card | None]:
    """Return the faces read."""
    return [event.card for event in events if isinstance(event, CardRead)]


def test_reader_waits_for_the_bound_and_then_reads_once() -> None:
    """Looks at 99 per cent are read after a few, once, within the stated error."""
    desk = Desk()
    assert reads(desk.show(1)) == []
    assert desk.reader.waiting
    said = [event for event in desk.show(60) if isinstance(event, CardRead)]
    assert [event.card for event in said] == [SIX_CARDS[0]]
    assert 1 - 1e-5 <= said[0].confidence <= 1
    assert said[0].second not in (None, SIX_CARDS[0])
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
    said = [event for event in desk.show(150) if isinstance(event, CardRead)]
    assert [event.card for event in said] == [None]
    assert said[0].second == SIX_CARDS[0]
    assert said[0].at >= 3000
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
    """A face shown but not read by the time it goes is said to be unread."""
    desk = Desk()
    desk.p = 0.6
    desk.show(20)
    said = desk.show(1, gone=True)
    assert [type(event) for event in said] == [CardRead, CardRemoved]
    assert reads(said) == [None]


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
    said = desk.show(150)
    assert said[0] == CardOut(33, 53)
    assert SIX_CARDS[0] not in reads(said)
    desk.show(1, gone=True)
    desk.reader.begin_shoe()
    said = desk.show(60)
    assert isinstance(said[0], CardOut)
    assert said[0].order == 1
    assert reads(said) == [SIX_CARDS[0]]


def test_cut_card_is_told_once_and_takes_no_order() -> None:
    """The cut card is an event of its own; the next card keeps the next order."""
    log = Log(Stage(seed=5, faults=BAD))
    log.play(log.stage.wait(1500))
    log.play(log.stage.deal(Prop(MOUTH, Kind.CUT), Pose(1200, 420, 100)))
    log.play(log.stage.deal(Prop(MOUTH, Kind.FACE, SIX_CARDS[0]), PLACES[Slot.PUNTO_1]))
    log.play(log.stage.wait(1000))
    assert [type(event) for event in log.events] == [CutCardOut, CardOut, CardPlaced, CardRead]
    assert of(log.events, 1)[0] == ("CardOut", None)


def test_card_of_another_deck_is_noticed_once_and_is_unread_again() -> None:
    """A face that was read before it was known to be foreign is taken back."""
    desk = Desk()
    desk.strange = 9.0
    said = desk.show(200)
    noticed = [event for event in said if isinstance(event, Noticed)]
    assert [(event.code, event.order) for event in noticed] == [("FOREIGN_CARD", 1)]
    assert reads(said)[-1] is None
    desk.strange = 0.0
    assert reads(desk.show(100)) == []


def test_card_with_another_back_is_noticed_before_it_is_turned() -> None:
    """The back is enough; the own back is not noticed."""
    desk = Desk()
    assert not any(isinstance(event, Noticed) for event in desk.show(50, kind=Kind.BACK))
    other = Desk()
    other.strange_back = 9.0
    noticed = [e for e in other.show(50, kind=Kind.BACK) if isinstance(e, Noticed)]
    assert [(event.code, event.slot) for event in noticed] == [("FOREIGN_CARD", Slot.PUNTO_1)]
    assert "back" in noticed[0].detail
