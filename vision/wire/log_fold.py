"""Fold the records of a log, one after another: the one way in which a log becomes a table.

A checkpoint is a cache and never a source: where the records before it are there, it must be what
they come to, byte for byte. It is taken at its word only where they are not: where the fold begins,
or after what was pruned; whether that part is signed, the caller knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vision.game.events import Event, Started
from vision.record.chain import BrokenChainError
from vision.record.codec import canonical, event_from_json
from vision.record.facts import Fact, Recorded
from vision.record.proofs import Anchored
from vision.wire.session import Step, TableSession, advance, session_from_json, session_to_json

END = "stop"  # why the signature was made with which a run ends


class CheckpointError(BrokenChainError):
    """A checkpoint is not what the records before it come to."""


class LogFold:
    """The session as the records taken so far leave it."""

    def __init__(self, start: TableSession) -> None:
        """Begin before the first event; `start` is as the header has it."""
        self.session = self._start = start
        self._last = 0
        self._ended = False

    def take(self, content: Mapping[str, Any]) -> Step | None:
        """Take the content of the next record; return what its event came to, if it has one.

        BrokenChainError where it cannot stand there; ValueError where this version does not
        understand it.
        """
        number, last = content["n"], self._last
        if "log" in content:
            return None
        step = None
        if "desk" in content:
            self._hold_against(number, content["desk"], follows=number == last + 1)
        elif number != last + 1:
            raise BrokenChainError(number, "follows a gap, but is no checkpoint")
        event = event_from_json(content["event"]) if "event" in content else None
        if self._ended and not _begins(event):
            raise BrokenChainError(number, "stands behind the signature with which a run ended")
        if event is not None:
            step = advance(self.session, event)
            self.session = step.session
        self._ended = isinstance(event, Anchored) and event.why == END
        self._last = number
        return step

    def adopt(self, content: Mapping[str, Any]) -> None:
        """Go on from a checkpoint as it is, though the records before it come to another state."""
        self.session = session_from_json(content["desk"], self._start)
        self._last = content["n"]

    def _hold_against(self, number: int, desk: Mapping[str, Any], *, follows: bool) -> None:
        if not follows:
            self.session = session_from_json(desk, self._start)
        elif canonical(session_to_json(self.session)) != canonical(desk):
            raise CheckpointError(number, "is a checkpoint, but not what the records before say")


def _begins(event: Event | None) -> bool:
    """Whether a run begins with the event."""
    taken_over = isinstance(event, Recorded) and event.kind is Fact.TAKEN_OVER
    return isinstance(event, Started) or taken_over
