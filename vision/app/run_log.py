"""The log of a run: fold a table's events, sign, write and prune; the evidence lies there before.

`RunLog.take` folds each event once. The pictures that prove it are on the disk before the log
names them, and the log is on the disk before anything is sent.
"""

from __future__ import annotations

import json
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

from vision.access.command_gate import Ordered
from vision.app.evidence import EvidenceRecorder
from vision.app.machine import SlowDisk
from vision.app.restore import CHECKPOINT_EVERY, restored
from vision.app.retention import TIME, Retention
from vision.config.profiles import load_profile, profile_text
from vision.config.table import TableConfig
from vision.errors import OutsideError
from vision.game.coup.state import Table
from vision.game.events import Event, Stopped
from vision.game.rules import Dealing
from vision.record.facts import Anchored, is_of_the_reader
from vision.storage.anchors import LogSigner, anchors_of, load_ring, refuse_unsigned, sign_head
from vision.storage.log import Confirm, Entry, Seal, Store
from vision.wire.session import (
    END,
    Step,
    TableSession,
    advance,
    apply_event,
    new_header,
    session_to_json,
    with_messages,
)

Input = Event | Ordered


def event_of(item: Input) -> Event:
    """Return the event of an input."""
    return item.event if isinstance(item, Ordered) else item


SEGMENTS_AT_ONCE = 4  # pruned at a change of shoe, so that the table never waits for long
SIGNALS = (signal.SIGINT, signal.SIGTERM)  # arrive as exceptions, anywhere


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Do what is within to its end; a signal that comes meanwhile acts after it.

    Only the main thread is interrupted, so that in others nothing is changed. What is within deals
    with its own errors: where a signal came too, that is what is raised.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def act() -> None:
        if came:
            signal.raise_signal(came[0])

    with ExitStack() as restoring:
        restoring.callback(act)
        for each in SIGNALS:
            handler = signal.getsignal(each)
            if handler is not None:  # one that Python did not set cannot be set again
                restoring.callback(signal.signal, each, handler)
                signal.signal(each, lambda number, _frame: came.append(number))
        yield


@dataclass(frozen=True, slots=True)
class Destinations:
    """Where a run writes: its log, and whether to a broker."""

    log: Path
    publish: bool = True


def new_boot() -> str:
    """Return what a run, or the beginning of a log, is called in its messages."""
    return uuid.uuid4().hex[:12]


def header_of(config: TableConfig) -> dict[str, Any]:
    """Return the header of a new log of this table."""
    profile = load_profile(config.profile).dealt(Dealing(config.dealing))
    header = new_header(config.site, config.table, profile, rules=profile_text(config.profile))
    return {**header, "id": uuid.uuid4().hex}


def open_signer(config: TableConfig, log: Path) -> LogSigner | None:
    """Return the signer of a log, `None` where no key is set; ConfigurationError for a bad key."""
    settings = config.log
    if not settings.signing_key:
        return None
    key, file = Path(settings.signing_key), anchors_of(log, settings.anchors)
    signer = LogSigner(key, file, config.site, config.table, settings.anchor_every_s)
    if settings.ring:
        signer.trusted += [key.key for key in load_ring(Path(settings.ring)).values()]
    return signer


def fold(
    session: TableSession, inputs: Iterable[Input], evidence: EvidenceRecorder | None
) -> Iterator[tuple[Input, Step]]:
    """Yield each input with what it comes to, and before it the evidence of that, kept already.

    Nothing is folded twice: evidence changes only which messages an event comes to.
    """
    for item in inputs:
        event = event_of(item)
        table, outputs = apply_event(session.table, event)
        for stored in evidence.evidence_of(session.shelf, outputs) if evidence else ():
            step = advance(session, stored)
            session = step.session
            yield stored, step
        step = with_messages(session, event, table, outputs)
        session = step.session
        yield item, step


class RunLog:
    """The session of a table during a run, as it now stands, and the log that it is folded from."""

    def __init__(
        self,
        config: TableConfig,
        destinations: Destinations,
        evidence: EvidenceRecorder | None = None,
    ) -> None:
        """Open the log and go on where it ended."""
        self._evidence = evidence
        header = self._header(config, destinations.log)
        self._closing = ExitStack()
        with ExitStack() as opening:
            self._store = opening.enter_context(
                Store(destinations.log, header, has_outbox=destinations.publish)
            )
            self._signer = open_signer(config, destinations.log)
            self._store.vouches = self._signer.signed if self._signer else None
            self.session, self._unsigned = restored(destinations.log, header, self._signer)
            refuse_unsigned(destinations.log, self._signer, self.session.register)
            self._closing = opening.pop_all()
        self._retention = Retention(self._store, evidence, config.log, self.session)
        self._disk = SlowDisk()
        self._refusal = ""  # why the disk took something no more, for which the run ends
        self._writes_s: list[float] = []  # how long each took since the disk was judged

    def _header(self, config: TableConfig, _log: Path) -> dict[str, Any]:
        return header_of(config)

    @property
    def table(self) -> Table:
        """The table as it now stands."""
        return self.session.table

    @property
    def unsent_since(self) -> str:
        """Return the time of the oldest message that waits: ISO 8601, "9999" where none does."""
        for message in self._store.pending(0, 1):
            # A message that clears a topic has no time; the one before it is of the same event.
            for dated in (message, *self._store.messages(message.seq - 1, message.seq - 1)):
                if dated.payload:
                    return str(json.loads(dated.payload)["at"])
            return ""
        return "9999"

    def take(self, inputs: Iterable[Input], why: str = "") -> tuple[Step, ...]:
        """Fold the inputs, write them and their messages to the disk, and have those sent.

        Where there is a key they are signed with them if it is time, or there is a `why`.
        """
        folded = list(fold(self.session, inputs, self._evidence))
        before = self.session.table.shoes
        if folded and folded[-1][1].session.table.shoes != before:
            after = folded[-1][1].session
            folded += fold(after, [self._retention.time(after.table.clock)], None)
        entries: list[Entry] = []
        for item, step in folded:
            # Where a shoe begins, and after very many records without one.
            is_due = self._store.since_checkpoint >= CHECKPOINT_EVERY
            is_due = is_due or step.session.table.shoes != before
            checkpoint = session_to_json(step.session) if is_due else None
            before = step.session.table.shoes
            order = item.record() if isinstance(item, Ordered) else None
            entries.append(Entry(event_of(item), step.messages, checkpoint, order))
        is_marked = any(entry.checkpoint is not None for entry in entries)
        self._sign(entries, folded, why or is_marked * "shoe")
        if entries:
            try:
                self._write(entries, folded[-1][1].session, partial(self._written, folded))
            except OutsideError as error:
                self._refusal = str(error)
                raise
        if is_marked and why != END:
            self.prune(self.session.table.clock)
        return tuple(step for _, step in folded)

    def _sign(self, entries: list[Entry], folded: list[tuple[Input, Step]], why: str) -> None:
        """Add the signature over the log with these entries, if it is time or there is a `why`.

        It is written with them, so that no power cut leaves unsigned what is always signed.
        """
        if self._signer is None:
            return
        session = folded[-1][1].session if folded else self.session
        says = any(is_of_the_reader(entry.event) for entry in entries)
        reason = (
            why or says * TIME or self._signer.due(session.table.clock, session.table.shoe.name)
        )
        if reason:
            head = self._head_after(entries)
            anchor, step = sign_head(self._signer, self._store.hash_of(0), head, session, reason)
            folded.append((anchor, step))
            entries.append(Entry(anchor, step.messages))

    def _head_after(self, entries: Sequence[Entry]) -> tuple[int, str]:
        return self._store.head_after(entries)

    def _write(
        self, entries: Sequence[Entry], after: TableSession, then: Callable[[], None]
    ) -> None:
        """Write the entries, after which the table stands as in `after`; `then` says so."""
        with uninterrupted():  # or the end of the run would write the same numbers again
            self._append(entries)
            self.session = after
            then()

    def _append(self, entries: Sequence[Entry], confirm: Confirm | None = None) -> None:
        began_s = time.monotonic()
        try:
            self._store.append(entries, confirm)
        finally:
            self._writes_s.append(time.monotonic() - began_s)

    def _written(self, folded: Sequence[tuple[Input, Step]]) -> None:
        for item, _ in folded:
            if isinstance(item, Anchored) and self._signer is not None:
                self._signer.note(item)

    def tidy(self, at: int) -> None:
        """Delete evidence that is too old or too much and not protected; `at` in Unix ms."""
        self._retention.tidy(self.session, at, lambda: self.unsent_since[:10], self.take)

    def prune(self, now: int) -> None:
        """Delete what is too old or too much, a little at a time; `now` in Unix ms."""
        for _ in range(SEGMENTS_AT_ONCE):
            with uninterrupted():
                if not self._prune_one(now):
                    return

    def _prune_one(self, now: int) -> bool:
        log_id, signer = self._store.hash_of(0), self._signer
        signed: list[tuple[Anchored, Step]] = []

        def sign(by: LogSigner, number: int, head: str) -> Entry:
            signed.append(sign_head(by, log_id, (number, head), self.session, "prune"))
            return Entry(signed[0][0], signed[0][1].messages)

        seal = None if signer is None else Seal(partial(sign, signer), signer.signed)
        if not self._retention.prune(self.session, now, seal):
            return False
        for anchor, step in signed:
            self.session = step.session
            self._written([(anchor, step)])
        return True

    def end(self, at: int) -> tuple[Step, ...]:
        """Write the end of the run; OutsideError where the log cannot be written any more.

        A disk that has refused something may still take the last record, and then not close.
        """
        if self._refusal:
            raise OutsideError(self._refusal)
        self._store.settle()
        return self.take([self._retention.time(at), Stopped(at)], END)

    def close(self) -> None:
        """Close the files."""
        self._closing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
