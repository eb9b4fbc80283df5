"""Join the pieces of a recording to shoes: one run of events, folded once into coups and messages.

A piece counts its coups and cards from 1 and its time from `EPOCH_MS`: here they get their place in
the shoe and in the evening. What a piece noticed and did not see the end of ends with it, as the
next one has looked at the table for itself. The rules, the numbers of messages and the alerts are
those of a run of the whole film.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from vision.errors import OutsideError
from vision.floor.reread.film import Survey
from vision.floor.reread.pieces import EPOCH_MS, PieceRead
from vision.game.events import (
    CoupSeen,
    Event,
    Life,
    Noticed,
    ShoeStarted,
    Started,
    Stopped,
    TimePassed,
    ViewBack,
    ViewLost,
)
from vision.wire.messages import Message
from vision.wire.session import TableSession, advance

# What sight notices of the table as a whole, and later ends by an `over`.
LASTING = ("LIGHT", "READING_POOR", "CAMERA_MOVED")


@dataclass(frozen=True, slots=True)
class JoinedRecording:
    """A recording as it is to be joined: its survey, when it began (Unix ms), and its shoes.

    `shoes` are the names of the shoes with the time (Unix ms) at which each came into use; the
    first is in use from the beginning. `started` is the event with which its run begins.
    """

    survey: Survey
    start_ms: int
    shoes: tuple[tuple[int, str], ...]
    started: Started

    def at(self, frame: int) -> int:
        """Return the time of a frame, Unix ms."""
        return self.start_ms + self.survey.at(frame)


def check_fit(reads: Sequence[PieceRead]) -> None:
    """Hold the end of each piece against the beginning of the next; OutsideError.

    The same frame must have the same picture in both.
    """
    for one, other in pairwise(reads):
        if (one.end, one.seals[1]) != (other.begin, other.seals[0]):
            raise OutsideError(
                f"pieces do not fit: one ends at frame {one.end}, the next begins at "
                f"{other.begin}, or their pictures differ; the film does not seek to exact frames: "
                "read it with --minutes 0, in one piece"
            )


class Join:
    """The fold of one recording's pieces; `session` is a table's before its first event."""

    def __init__(self, session: TableSession, recorded: JoinedRecording) -> None:
        self.messages: list[Message] = []
        self._session = session
        self._recorded = recorded
        self._shoes = list(recorded.shoes)
        self._last = -1  # the frame that was folded last
        self._offset = 0  # of the cards of this piece in the shoe
        self._top = 0  # the last card out of this shoe
        self._coups: dict[int, int] = {}  # of this piece, as this shoe numbers them
        self._coup = 0  # the last coup of this shoe
        self._open: dict[object, Event] = {}  # what this piece has begun and not ended
        self._due: int | None = None  # when the rules wait for time to pass

    def run(self, reads: Sequence[PieceRead]) -> list[Message]:
        """Return the messages of the run; OutsideError where the pieces do not fit."""
        check_fit(reads)
        self._take(self._recorded.started)
        self._change_shoes(self._recorded.start_ms)
        for number, read in enumerate(reads, start=1):
            self._offset = self._top
            self._coups.clear()
            for frame, events in read.rows:
                self._pass_time(frame)
                self._fold(frame, events)
            if number < len(reads):
                self._close(read.end)
        frames = self._recorded.survey.frames
        self._pass_time(frames)
        self._take(Stopped(self._recorded.at(frames - 1)))
        return self.messages

    def _take(self, event: Event) -> None:
        step = advance(self._session, event)
        self._session = step.session
        self._due = step.session.table.waits_until
        self.messages += step.messages

    def _pass_time(self, frame: int) -> None:
        """Fold what falls on the frames before this one, at which nothing was seen."""
        for passed in range(self._last + 1, frame):
            at = self._recorded.at(passed)
            self._change_shoes(at)
            if self._due is not None and self._due <= at:
                self._take(TimePassed(at))
        self._last = max(self._last, frame - 1)

    def _fold(self, frame: int, events: Iterable[Event]) -> None:
        at, due = self._recorded.at(frame), self._due
        self._change_shoes(at)
        for event in events:
            placed = self._placed(event)
            if placed is not None:
                self._note(placed)
                self._take(placed)
        if due is not None and due <= at:
            self._take(TimePassed(at))
        self._last = frame

    def _change_shoes(self, at: int) -> None:
        while self._shoes and self._shoes[0][0] <= at:
            self._take(ShoeStarted(at, self._shoes.pop(0)[1]))
            self._offset, self._top = self._offset - self._top, 0
            self._coups, self._coup = dict.fromkeys(self._coups, 0), 0
            self._open = {k: e for k, e in self._open.items() if not isinstance(e, CoupSeen)}

    def _placed(self, event: Event) -> Event | None:
        """Return an event at its time, and a coup with its number and those of its cards.

        `None` for a coup of the shoe before.
        """
        event = replace(event, at=self._moved(event.at))
        if not isinstance(event, CoupSeen):
            return event
        number = self._coups.setdefault(event.coup, self._coup + 1)
        if not number:
            return None
        self._coup = max(self._coup, number)
        cards = tuple(
            replace(card, order=card.order + self._offset, out_at=self._moved(card.out_at))
            for card in event.cards
        )
        alleged = tuple(
            replace(each, order=None if each.order is None else each.order + self._offset)
            for each in event.alleged
        )
        return replace(event, coup=number, cards=cards, alleged=alleged)

    def _moved(self, at: int) -> int:
        return at - EPOCH_MS + self._recorded.start_ms

    def _note(self, event: Event) -> None:
        """Keep what has begun, until it ends."""
        match event:
            case CoupSeen(coup=coup, cards=cards):
                self._top = max(self._top, *(card.order for card in cards), 0)
                lies = any(card.life in (Life.OUT, Life.LYING) for card in cards)
                self._begin_or_end(coup, event, ended=not lies)
            case Noticed(code=code, over=over) if code in LASTING:
                self._begin_or_end(code, event, ended=over)
            case ViewLost() | ViewBack():
                self._begin_or_end("view", event, ended=isinstance(event, ViewBack))

    def _begin_or_end(self, what: object, event: Event, *, ended: bool) -> None:
        if ended:
            self._open.pop(what, None)
        else:
            self._open[what] = event

    def _close(self, frame: int) -> None:
        """End what a piece left open: at its end the table is seen, and is empty."""
        self._pass_time(frame)
        at = self._recorded.at(frame)
        for event in self._open.values():
            self._take(_end_of(event, at))
        self._open.clear()


def _end_of(event: Event, at: int) -> Event:
    match event:
        case CoupSeen():
            gone = tuple(
                card if card.life is Life.RETURNED else replace(card, life=Life.REMOVED)
                for card in event.cards
            )
            return replace(event, at=at, cards=gone)
        case Noticed(code=code):
            return Noticed(at, code, over=True)
        case _:
            return ViewBack(at)
