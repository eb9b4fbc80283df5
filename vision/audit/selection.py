"""Find the records of a log that belong to a shoe, a coup or a range of messages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vision.errors import ConfigurationError
from vision.game.events import Event
from vision.record.chain import GENESIS
from vision.record.codec import event_from_json
from vision.record.proofs import Anchored
from vision.storage.log_walk import Taken
from vision.wire.session import Step, TableSession


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


class Selection:
    """Finds the records of a part among all records of a log, taken one after another.

    What a record came to counts, because it says little of the shoe and coup that it concerns.
    """

    def __init__(self, part: Part) -> None:
        self._part = part
        self._session: TableSession | None = None
        self._found: dict[str, _Stretch] = {}  # by shoe, in the order in which they were found
        self._anchors: list[int] = []
        self._gaps: list[int] = []
        self._last = -1, GENESIS

    def take(self, taken: Taken) -> None:
        """Take the next record of a walk."""
        record = taken.record
        number, previous = self._last
        if record.number != number + 1:
            self._gaps.append(record.number)
        self._session = taken.after
        for shoe in _shoes_of(taken, self._part):
            stretch = self._found.setdefault(shoe, _Stretch(record.number, record.number, previous))
            stretch.last = record.number
        if taken.content.get("event", {}).get("is") == Anchored.__name__:
            self._anchors.append(record.number)
        self._last = record.number, record.hash

    def skip_to(self, number: int, previous: str) -> None:
        """Go on at a checkpoint, record `number`; `previous` is the hash of the record before."""
        self._last = number - 1, previous

    @property
    def is_found(self) -> bool:
        """Whether some record belongs to the part."""
        return bool(self._found)

    @property
    def is_whole(self) -> bool:
        """Whether the part was found and no later record can belong to it.

        Its shoe is over, no alert of it is open, and its end is signed if the log is.
        """
        if not self._found or self._session is None or self._part.seq is not None:
            return False
        table = self._session.table
        of_it = [kept.alert for kept in table.earlier_alerts if kept.alert.shoe in self._found]
        last = max(stretch.last for stretch in self._found.values())
        signed = not self._anchors or self._anchors[-1] > last
        return table.shoe.name not in self._found and not of_it and signed

    def stretch(self, log: Path) -> tuple[int, int, str]:
        """Return the first and last record of the part, and the hash before the first.

        A part goes on to the next anchor, so that its end is signed. ConfigurationError when `log`
        has no such part, or records within it have been pruned.
        """
        part = self._part
        if not self._found:
            raise ConfigurationError(
                f"{log} has no {part}; shoe-reader replay {log} shows what it has"
            )
        found = self._found[list(self._found)[-1]]
        last = next((anchor for anchor in self._anchors if anchor > found.last), found.last)
        if any(found.first < gap <= last for gap in self._gaps):
            raise ConfigurationError(f"{log}: part of {part} has been pruned; ask for a later part")
        return found.first, last, found.previous


def _shoes_of(taken: Taken, part: Part) -> set[str]:
    """Return the shoes for which a record belongs to the part."""
    if taken.step is None or taken.before is None:
        return set()
    event = event_from_json(taken.content["event"])
    return _shoes_named(event, taken.step, taken.before.table.shoe.name, part)


def _shoes_named(event: Event, step: Step, before: str, part: Part) -> set[str]:
    """Return the shoes for which a step belongs to the part; `before` is the shoe then in use."""
    if part.seq is not None:
        first, last = part.seq
        return {""} if any(first <= message.seq <= last for message in step.messages) else set()
    if part.coup is None:
        named = {before, step.session.table.shoe.name}
    else:
        facts = [event, *(getattr(output, "alert", output) for output in step.outputs)]
        named = {
            str(getattr(fact, "shoe", ""))
            for fact in facts
            if getattr(fact, "coup", 0) == part.coup
        }
    return {shoe for shoe in named if shoe and part.shoe in ("", shoe)}
