"""Which records of a log belong to a shoe, a coup or some messages.

It runs the log through the rules again to see what each record is about. It must not know files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vision.config.profiles import logged_profile
from vision.errors import ConfigurationError
from vision.game.events import Event
from vision.record.chain import GENESIS, Record, verified
from vision.record.codec import event_from_json
from vision.record.proofs import Anchored
from vision.storage.log_reader import read_log
from vision.wire.session import Step, advance, new_session, session_from_json


@dataclass(frozen=True, slots=True)
class Part:
    """What is asked for: a shoe, one coup of it, or messages by `seq` (first and last)."""

    shoe: str = ""
    coup: int | None = None
    seq: tuple[int, int] | None = None

    def __str__(self) -> str:
        """Say it for people."""
        shoe = [f"shoe {self.shoe}"] if self.shoe else []
        coup = [] if self.coup is None else [f"coup {self.coup}"]
        seq = [] if self.seq is None else [f"messages {self.seq[0]} to {self.seq[1]}"]
        return ", ".join([*shoe, *coup, *seq])


@dataclass(slots=True)
class _Stretch:
    """Records from `first` to `last`; `previous` is the hash before."""

    first: int
    last: int
    previous: str


def part_of(log: Path, part: Part | None) -> tuple[int, int, str]:
    """Return the first and last record of a part, and the hash before the first.

    A part goes on to the next anchor, so that its end is signed. ConfigurationError when there is
    no such part, or records within it have been pruned; BrokenChainError.
    """
    found: dict[str, _Stretch] = {}
    anchors: list[int] = []
    gaps: list[int] = []
    number, previous = -1, GENESIS
    for record, step in _steps(read_log(log)):
        if record.number != number + 1:
            gaps.append(record.number)
        for shoe in _shoes_of(step, part) if step is not None and part is not None else ():
            stretch = found.setdefault(shoe, _Stretch(record.number, record.number, previous))
            stretch.last = record.number
        if step is not None and isinstance(step.event, Anchored):
            anchors.append(record.number)
        number, previous = record.number, record.hash
    if part is None:
        return 0, number, GENESIS
    if not found:
        raise ConfigurationError(f"{log} has no {part}; shoe-reader replay {log} shows what it has")
    stretch = found[list(found)[-1]]
    last = next((anchor for anchor in anchors if anchor > stretch.last), stretch.last)
    if any(stretch.first < gap <= last for gap in gaps):
        raise ConfigurationError(f"{log}: part of {part} has been pruned; ask for a later part")
    return stretch.first, last, stretch.previous


@dataclass(frozen=True, slots=True)
class _Told:
    """An event and what it came to; `before` is the shoe then in use."""

    event: Event
    step: Step
    before: str


def _steps(records: Iterator[Record]) -> Iterator[tuple[Record, _Told | None]]:
    """Yield every record with what it came to, if it is an event."""
    desk = start = None
    for record, content in verified(records):
        told = None
        if desk is None or start is None:
            header = content["log"]
            desk = start = new_session(header, logged_profile(header))
        elif "desk" in content:
            desk = session_from_json(content["desk"], start)
        elif "event" in content:
            event, before = event_from_json(content["event"]), desk.table.shoe.name
            step = advance(desk, event)
            desk, told = step.session, _Told(event, step, before)
        yield record, told


def _shoes_of(told: _Told, part: Part) -> set[str]:
    """Return the shoes for which the record belongs to the part."""
    if part.seq is not None:
        first, last = part.seq
        return {""} if any(first <= one.seq <= last for one in told.step.messages) else set()
    if part.coup is None:
        named = {told.before, told.step.session.table.shoe.name}
    else:
        facts = [told.event, *(getattr(one, "alert", one) for one in told.step.outputs)]
        named = {
            str(getattr(one, "shoe", "")) for one in facts if getattr(one, "coup", 0) == part.coup
        }
    return {shoe for shoe in named if shoe and part.shoe in ("", shoe)}
