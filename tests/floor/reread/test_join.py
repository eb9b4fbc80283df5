"""Pieces joined are one run: the same messages, byte for byte, wherever the film was cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from tests.seen import out
from tests.table_log import NOON, PLAYS, clean, header, session_of
from vision.errors import OutsideError
from vision.floor.reread.film import Survey
from vision.floor.reread.join import Join, JoinedRecording
from vision.floor.reread.pieces import EPOCH_MS, PieceCost, PieceRead, from_json, to_json
from vision.game.events import (
    Allegation,
    CoupSeen,
    CutCardOut,
    Event,
    Life,
    Noticed,
    ShoeStarted,
    Started,
    Stopped,
    TimePassed,
    ViewLost,
)
from vision.wire.messages import Message, message_line

FPS = 10
FRAMES = 1200
COST = PieceCost(0.0, 0, 0)
SURVEY = Survey("00", 1, str(FPS), FRAMES, (0,))
STARTED = Started(NOON, "b1", "0.1", ("detector sha256:00",))
OTHERS = (Started, Stopped, ShoeStarted, TimePassed)


def recorded(*shoes: tuple[int, str]) -> JoinedRecording:
    """Return the recording of a play."""
    return JoinedRecording(SURVEY, NOON, shoes or ((NOON, "s1"),), STARTED)


def seen(events: Sequence[Event]) -> list[Event]:
    """Return what a camera sees of a play."""
    return [event for event in events if not isinstance(event, OTHERS)]


def piece(events: Sequence[Event], begin: int, end: int) -> PieceRead:
    """Return the part of a play between two frames, as a reader of its own has it."""
    rows: dict[int, list[Event]] = {}
    before = [e for e in events if isinstance(e, CoupSeen) and frame_of(e) < begin]
    coups = max((seen.coup for seen in before), default=0)
    cards = max((card.order for seen in before for card in seen.cards), default=0)
    for event in events:
        frame = frame_of(event)
        if begin <= frame < end:
            own = replace(event, at=EPOCH_MS + SURVEY.at(frame))
            if isinstance(own, CoupSeen):
                own = counted(own, coups, cards)
            rows.setdefault(frame, []).append(own)
    seals = (f"picture {begin}" if begin else "", f"picture {end}" if end < FRAMES else "")
    ordered = tuple((frame, tuple(rows[frame])) for frame in sorted(rows))
    return PieceRead(begin, end, ordered, seals, (), 0, COST)


def counted(seen: CoupSeen, coups: int, cards: int) -> CoupSeen:
    """Return a coup as a piece counts it before which there were so many coups and cards."""
    return replace(
        seen,
        coup=seen.coup - coups,
        cards=tuple(
            replace(
                card, order=card.order - cards, out_at=EPOCH_MS + SURVEY.at(frame_at(card.out_at))
            )
            for card in seen.cards
        ),
        alleged=tuple(
            Allegation(a.code, None if a.order is None else a.order - cards, a.odds)
            for a in seen.alleged
        ),
    )


def frame_of(event: Event) -> int:
    """Return the first frame that is not before an event."""
    return frame_at(event.at)


def frame_at(at: int) -> int:
    """Return the first frame that is not before a time."""
    return -((NOON - at) * FPS // 1000)


def joined(events: Sequence[Event], *cuts: int) -> list[str]:
    """Return the messages of a play that was cut at some frames."""
    bounds = [0, *cuts, FRAMES]
    pieces = [piece(events, a, b) for a, b in pairwise(bounds)]
    kept = [from_json(to_json(each)) for each in pieces]
    return lines(Join(session_of(header()), recorded()).run(kept))


def lines(messages: Sequence[Message]) -> list[str]:
    """Return the messages as a messages file has them."""
    return [message_line(message) for message in messages]


def empty_frames(events: Sequence[Event]) -> list[int]:
    """Return the first frame after each coup's last card was taken away."""
    return [
        frame_of(event) + 1
        for event in events
        if isinstance(event, CoupSeen) and all(c.life is Life.REMOVED for c in event.cards)
    ]


@pytest.mark.parametrize("name", ["clean", "doubted"])
def test_pieces_joined_are_the_whole_run(name: str) -> None:
    """Cut at any of its empty tables, or at all of them, a film gives the same messages."""
    events = seen(PLAYS[name]().events)
    cuts = empty_frames(events)
    whole = joined(events)
    assert len(whole) > 20
    assert cuts
    assert all(joined(events, cut) == whole for cut in cuts)
    assert joined(events, *cuts) == whole


def test_pieces_that_do_not_fit_are_refused() -> None:
    """Another frame, or another picture at the same one, is an error and no result."""
    events = seen(clean().events)
    (cut, *_) = empty_frames(events)
    one, other = piece(events, 0, cut), piece(events, cut, FRAMES)
    for wrong in (replace(other, begin=cut + 1), replace(other, seals=("another", ""))):
        with pytest.raises(OutsideError, match="do not fit"):
            Join(session_of(header()), recorded()).run([one, wrong])


def test_what_a_piece_leaves_open_ends_with_it() -> None:
    """A card still out, a lost view, poor light: at the cut the table is seen, and empty."""
    at = EPOCH_MS + SURVEY.at(5)
    open_events = (out(at), Noticed(at, "LIGHT", detail="Dim."), ViewLost(at, "dark"))
    first = PieceRead(0, 50, ((5, open_events),), ("", "x"), (), 0, COST)
    second = PieceRead(50, FRAMES, (), ("x", ""), (), 0, COST)
    said = lines(Join(session_of(header()), recorded()).run([first, second]))
    moments = [line for line in said if '"at":"2023-11-14T22:13:25.000Z"' in line]
    assert any('"event":"removed"' in line for line in moments)
    assert any('"state":"online"' in line for line in moments)
    assert any("LIGHT" in line and '"state":"rectified"' in line for line in moments)


def test_new_shoe_within_a_piece_counts_its_cards_from_one() -> None:
    """The shoes are those of the evening, and the numbers of cards begin again with each."""
    rows = tuple((n, (CutCardOut(EPOCH_MS + SURVEY.at(n)), out(EPOCH_MS + SURVEY.at(n), i, i)))
                 for i, n in ((1, 10), (2, 20), (3, 30)))  # fmt: skip
    whole = PieceRead(0, FRAMES, rows, ("", ""), (), 0, COST)
    shoes = ((NOON, "s1"), (NOON + 1500, "s2"))
    said = lines(Join(session_of(header()), recorded(*shoes)).run([whole]))
    outs = [line for line in said if '"event":"out"' in line]
    assert ['"shoe":"s2"' in line for line in outs] == [False, True, True]
    assert ['"order":1,' in line for line in outs] == [True, True, False]
