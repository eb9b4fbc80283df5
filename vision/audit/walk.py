"""Walk through a log once: its records verified and folded, for all that is checked of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vision.config.profiles import logged_profile
from vision.record.chain import (
    GENESIS,
    BrokenChainError,
    Record,
    said_digest,
    verified,
    verified_from,
)
from vision.version import VERSION
from vision.wire.log_fold import CheckpointError, LogFold
from vision.wire.messages import Message, message_line
from vision.wire.session import Step, TableSession, new_session

OURS = ("", VERSION)  # versions of runs that this program folds to the same bytes

Opened = tuple[Record, dict[str, Any]]


def is_what_was_said(messages: tuple[Message, ...], content: Mapping[str, Any]) -> bool:
    """Whether the messages of a record are those of which it has the digest."""
    said = content.get("said")
    return said == (said_digest(map(message_line, messages)) if messages else None)


@dataclass(frozen=True, slots=True)
class Taken:
    """A record of a walk: the session before it and after it, and what its event came to.

    Both sessions are None where another version wrote what this one does not understand.
    """

    record: Record
    content: Mapping[str, Any]
    before: TableSession | None
    after: TableSession | None
    step: Step | None


def opened(records: Iterable[Record], first: int, previous: str) -> Iterator[Opened]:
    """Yield record 0 and the records from `first` on, with their contents, verified.

    `previous` is the hash of the record before `first`. BrokenChainError.
    """
    records = iter(records)
    if first == 0:
        yield from verified(records)
        return
    head = next(records, None)
    yield from verified_from(0, GENESIS, [] if head is None else [head])
    yield from verified_from(first, previous, records)


class Walk:
    """Folds records, one after another, as far as this version understands them.

    `differs` says what another version wrote that this one understands otherwise or not at all;
    of its own version nothing can. A part that begins at no checkpoint is folded from its first on.
    """

    def __init__(self, first: int = 0) -> None:
        """Begin with record 0, then record `first`."""
        self.differs = ""
        self._first = first
        self._is_adrift = False
        self._fold: LogFold | None = None

    def take(self, record: Record, content: Mapping[str, Any]) -> Taken:
        """Take the next record, whose chain holds; BrokenChainError where it cannot stand there."""
        before, step = self._session, None
        if self._is_adrift or record.number == self._first > 1:
            self._is_adrift = "desk" not in content
        try:
            if record.number == 0:
                header = content["log"]
                self._fold = LogFold(new_session(header, logged_profile(header)))
            elif self._fold is not None and not self._is_adrift:
                step = self._fold.take(content)
                if step is not None and not is_what_was_said(step.messages, content):
                    self._excuse(content, "gives other messages than it says")
        except CheckpointError as error:
            self._excuse(content, error.why)
            self._adopt(content)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            self._excuse(content, f"is not understood ({error})")
            self._fold = None
        return Taken(record, content, before, self._session, step)

    @property
    def _session(self) -> TableSession | None:
        return None if self._fold is None or self._is_adrift else self._fold.session

    def _adopt(self, content: Mapping[str, Any]) -> None:
        try:
            if self._fold is not None:
                self._fold.adopt(content)
        except ValueError:
            self._fold = None

    def _excuse(self, content: Mapping[str, Any], why: str) -> None:
        """Take note of what another version wrote; refuse what none can have written."""
        version = self._fold.session.stream.version if self._fold is not None else "unknown"
        version = str(content.get("event", {}).get("version", version))
        if version in OURS:
            raise BrokenChainError(content["n"], why)
        self.differs = self.differs or f"record {content['n']} of version {version} {why}"
