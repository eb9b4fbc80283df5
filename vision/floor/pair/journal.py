"""A pair of readers at one table: the journal that both keep, and the change from one to the other.

Whoever follows writes the other's records to its own log and watches the table itself; when the
lease is granted to it, it reads the shared records to their end, writes its takeover behind them,
tells what only it has seen, and connects to the broker.
"""

from __future__ import annotations

import math
import time
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from vision.app.evidence import EvidenceRecorder
from vision.app.journal import Destinations, Journal, header_of, uninterrupted
from vision.app.order_intake import StaffRecord
from vision.clock import CLOCK
from vision.config.table import TableConfig
from vision.errors import OutsideError
from vision.floor.pair.house_store import AwayError
from vision.floor.pair.lease import Lease, LeaseStore
from vision.floor.pair.shared_log import FencedError, LogBatch, Pair, RecordStore
from vision.floor.pair.sight import OwnSight
from vision.game.events import Started
from vision.record.codec import canonical, event_from_json
from vision.record.facts import Fact, Recorded
from vision.storage.log import Checkpoint, Entry
from vision.version import VERSION
from vision.wire.session import Step, TableSession, advance

BOOT_DIGITS = 12  # hex digits of a run's id, as a reader's run has
# Messages of the other reader that are taken out of the outbox at once; the rest at the next turn.
ACKNOWLEDGED_AT_ONCE = 500
# Days and megabytes: no limit. The two logs are one history, and neither is shortened by itself.
FOR_EVER = {"keep_days": 36_500.0, "max_mb": 10_000_000.0}


class PairStore(RecordStore, LeaseStore, Protocol):
    """What a pair needs of the house's store."""


class PairJournal(Journal):
    """The journal of one of two readers; it speaks only after `take_over`."""

    def __init__(
        self,
        config: TableConfig,
        destinations: Destinations,
        store: PairStore,
        evidence: EvidenceRecorder | None = None,
    ) -> None:
        """Open the log, the same for both readers, and begin to follow."""
        self.lease = Lease(store, config.standby.name, config.standby.lease_s)
        self._pair = Pair(store, config.standby.name)
        self._watching_since_s: float | None = None
        self._waiting: deque[tuple[list[Entry], Callable[[], None]]] = deque()
        kept = config.model_copy(update={"log": config.log.model_copy(update=FOR_EVER)})
        super().__init__(kept, destinations, evidence)
        self._pair.share(self._store)
        self._pair.find(self._store)
        self.lease.acked = self._acked
        self.lease.term_of_log = lambda: self._session.stream.term
        self.lease.start()

    @property
    def speaks(self) -> bool:
        """Whether this reader has taken over."""
        return self._pair.term > 0

    def may_send(self) -> bool:
        """Whether this reader may say anything at this moment."""
        return self.speaks and self.lease.is_valid

    def _header(self, config: TableConfig, log: Path) -> dict[str, Any]:
        own = header_of(config)
        return own if log.exists() else self._pair.header(own)

    # --- following ------------------------------------------------------------------------------

    def follow(self) -> tuple[Step, ...]:
        """Write what the other reader has written since; OutsideError where it does not fit."""
        self._watching_since_s = self._watching_since_s or time.monotonic()
        steps = [step for batch in self._pair.arrived() for step in self._adopt(batch)]
        acked = min(self.lease.seen.acked, self._store.last_seq)
        sent = [m.seq for m in self._store.pending(0, ACKNOWLEDGED_AT_ONCE) if m.seq <= acked]
        if sent:
            self._store.acknowledge(sent)
        return tuple(steps)

    def _adopt(self, batch: LogBatch) -> list[Step]:
        if not batch.bodies:
            self._pair.check(batch, self._store.head)
            return []
        entries: list[Entry] = []
        steps: list[Step] = []
        session = self._session
        for content in batch.contents():
            if "event" in content:
                event = event_from_json(content["event"])
                steps.append(advance(session, event))
                session = steps[-1].session
                entries.append(Entry(event, steps[-1].messages, None, content.get("order")))
            elif "desk" in content and entries:
                mark = Checkpoint(session.table.clock, session.stream.seq, content["desk"])
                entries[-1] = replace(entries[-1], checkpoint=mark)
        with uninterrupted():
            self._store.append(entries, self._pair.fitting(batch))
            self._session = session
        return steps

    # --- speaking -------------------------------------------------------------------------------

    def take_over(
        self, at: int, models: tuple[str, ...], identity: str, own: OwnSight
    ) -> tuple[Step, ...]:
        """Go on where the other reader ended, and tell what it has not told; AwayError.

        FencedError when the lease was lost meanwhile.
        """
        steps = [step for batch in self._pair.rest() for step in self._adopt(batch)]
        if self.lease.lost:
            raise FencedError(
                "the lease of this table was lost before it was taken over; start the reader again"
            )
        table, (number, head) = self.table, self._store.head
        CLOCK.not_before(table.clock)
        at = max(at, table.clock)
        self.gate.remember(self._store.orders(), table.clock)
        self._staff = StaffRecord(self._session.register)
        before = {"after": number, "hash": head, "boot": table.boot, "term": self.lease.granted}
        if self._signer is not None:
            before["proof"] = self._signer.term_proof(self.lease.granted)
        fact = Recorded(at, Fact.TAKEN_OVER, self._pair.node, canonical(before))
        boot = uuid.uuid4().hex[:BOOT_DIGITS]
        is_counted = own.counts_as(table, at)
        # Only who watched already while the other still lived has missed nothing.
        watched = self.lease.renewed_s > (self._watching_since_s or math.inf)
        unbroken = is_counted and watched
        started = Started(
            at, boot, VERSION, models, identity, self.lease.granted, unbroken=unbroken
        )
        self._pair.term = self.lease.granted
        news = [replace(event, at=max(at, event.at)) for event in own.unsaid(self.table)]
        return (*steps, *self.begin(started, before=(fact,), more=news if is_counted else ()))

    def _write(
        self, entries: Sequence[Entry], after: TableSession, then: Callable[[], None]
    ) -> None:
        if not self.speaks:
            raise OutsideError("the standby reader must not write to the log; report this")
        with uninterrupted():
            self._session = after
            self._waiting.append((list(entries), then))
        self.flush()

    def _head_after(self, entries: Sequence[Entry]) -> tuple[int, str]:
        waiting = [entry for some, _ in self._waiting for entry in some]
        return super()._head_after([*waiting, *entries])

    def flush(self) -> None:
        """Write what waits for the house's store, in order; the rest waits on. FencedError."""
        while self._waiting:
            with uninterrupted():
                if not self._flush_one(*self._waiting[0]):
                    return

    def _flush_one(self, entries: list[Entry], then: Callable[[], None]) -> bool:
        try:
            self._append(entries, self._pair.confirm)
        except AwayError:
            return False
        except FencedError:
            self.lease.lost = True
            raise
        self._waiting.popleft()
        then()
        return True

    def _acked(self) -> int:
        """Return the number up to which the broker has every message."""
        unsent = self._store.pending(0, 1)
        return unsent[0].seq - 1 if unsent else self._store.last_seq

    def stop(self, at: int) -> tuple[Step, ...]:
        """End the run in order: the other reader takes over at once. Say nothing if it has."""
        if not self.may_send():
            return ()
        return super().stop(at)

    def close(self) -> None:
        """Send what is left, give the lease back, and close everything."""
        self._pair.close()
        if self._link is not None and self._intake is not None:
            self._intake.stop()
            self._link.stop()
        self.lease.stop()
        super().close()
