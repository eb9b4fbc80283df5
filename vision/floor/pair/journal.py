"""A pair of readers at one table: the journal that both keep, and the change from one to the other.

Whoever follows writes the other's records to its own log and watches the table itself; when the
lease is granted to it, it reads the shared records to their end, writes its takeover behind them,
publishes what only it has seen, and connects to the broker.

Both readers number cards and coups from the same shoe, so that at a takeover the coups can be
compared (`OwnSight`): what only this reader has seen is published, what the other published stands,
and where they differ nobody is believed: the coup is in doubt until a person rules.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from vision.app.evidence import EvidenceRecorder
from vision.app.journal import Journal
from vision.app.run_log import Destinations, header_of, new_boot, uninterrupted
from vision.clock import CLOCK
from vision.config.table import TableConfig
from vision.errors import OutsideError
from vision.floor.pair.house_store import AwayError, HouseStore
from vision.floor.pair.lease import Lease
from vision.floor.pair.shared_log import FencedError, LogBatch, Pair
from vision.game.coup.state import DealtCard, Table
from vision.game.events import (
    CoupSeen,
    CutCardOut,
    Event,
    Life,
    Noticed,
    SeenCard,
    Started,
    ViewBack,
    ViewLost,
)
from vision.game.fold.step import step
from vision.record.codec import canonical, event_from_json
from vision.record.facts import Fact, Recorded
from vision.storage.log import Entry
from vision.version import VERSION
from vision.wire.session import Step, TableSession, advance

# Milliseconds for which the counts of two readers may differ: one sees a card some pictures before
# the other. Longer takes another count for the same, shorter gives up a good one.
APART_MS = 2_000
DIFFER = "Two readers saw a card differently."


class OwnSight:
    """What one sight has seen of the running shoe; `at` is when it last saw something."""

    def __init__(self) -> None:
        self.at = 0
        self._count = (0, 0)  # the last coup, the last card
        self._coups: dict[int, CoupSeen] = {}
        self._others: list[Noticed] = []
        self._blind: ViewLost | None = None
        self._cut: CutCardOut | None = None

    def begin(self, table: Table) -> None:
        """Begin to count where the table stands: a new shoe, or the count of the other reader."""
        self._count = _count_of(table)
        self._coups.clear()
        self._others.clear()
        self._cut = None

    def note(self, events: Iterable[Event], table: Table) -> None:
        """Take note of what was seen; coups before the running one are forgotten."""
        for event in events:
            self.at = event.at
            match event:
                case CoupSeen():
                    last = max((card.order for card in event.cards), default=0)
                    self._count = max(self._count[0], event.coup), max(self._count[1], last)
                    self._coups[event.coup] = event
                case ViewLost() | ViewBack():
                    self._blind = event if isinstance(event, ViewLost) else None
                case CutCardOut():
                    self._cut = event
                case Noticed():
                    self._others.append(event)
        self._coups = {n: seen for n, seen in self._coups.items() if n >= table.shoe.sight}
        self._others = [event for event in self._others if event.at > table.clock - APART_MS]

    def counts_as(self, table: Table, at: int) -> bool:
        """Whether this sight has counted the same cards as the table at `at` (ms), or may still."""
        return self._count == _count_of(table) or at - max(self.at, table.clock) <= APART_MS

    def unpublished(self, table: Table) -> Iterator[Event]:
        """Yield what only this sight has seen, in the order of time."""
        if self._blind is not None and table.blind_since is None:
            yield self._blind
        if self._cut is not None and table.shoe.last_coup is None:
            yield self._cut
        late = [event for event in self._others if event.at > table.clock]
        inherited = table.next_order
        for event in sorted((*self._coups.values(), *late), key=lambda event: event.at):
            for published in unpublished_part(table, event, inherited):
                yield published
                table = step(table, published)[0]


def _count_of(table: Table) -> tuple[int, int]:
    return table.shoe.sight, table.shoe.last


def unpublished_part(table: Table, event: Event, inherited: int) -> Iterator[Event]:
    """Yield what an event of this reader's sight adds to the table, if it adds anything.

    Cards below the order `inherited` were published by another reader, and stand as they are. Where
    this reader has seen one otherwise, the coup is in doubt; where it has not seen one, it is not
    sure of the coup.
    """
    at = max(event.at, table.clock)
    if not isinstance(event, CoupSeen):
        yield replace(event, at=at)
        return
    published = replace(_merged(table, event, inherited), at=at)
    after = step(table, published)[0]
    if (after.coup, after.done, after.shoe) != (table.coup, table.done, table.shoe):
        yield published


def _merged(table: Table, event: CoupSeen, inherited: int) -> CoupSeen:
    """Return a coup as seen here, with what another reader published of it."""
    shoe, coup = table.shoe, table.coup_of_sight(event.coup)
    burn = shoe.burn_of(event.coup)
    burned = () if burn is None else burn.cards
    dealt = () if coup is None else (c for c in coup.cards if c.order not in (coup.carried, 0))
    known = {c.order: c for c in (*burned, *dealt) if 0 < c.order < inherited}
    late = event.at < table.clock
    cards = {card.order: card for card in event.cards}
    merged = [
        _with_reported(card, known[order], late=late) if order in known else card
        for order, card in cards.items()
    ]
    missing = [
        _with_reported(SeenCard(order, card.out_at, Life.OUT), card, late=True)
        for order, card in known.items()
        if order not in cards
    ]
    if missing:
        merged = sorted((*merged, *missing), key=lambda card: card.order)
    differ = any(_contradicts(cards[n], reported) for n, reported in known.items() if n in cards)
    return replace(
        event,
        cards=tuple(merged),
        sure=event.sure and not missing,
        odds=None if missing or differ else event.odds,
        doubt=event.doubt or (DIFFER if differ else ""),
    )


def _with_reported(seen: SeenCard, reported: DealtCard, *, late: bool) -> SeenCard:
    """Return a card as seen, but for what was published; `late`: after it was seen so."""
    life = seen.life
    if late and reported.placed_at is not None and life is Life.OUT:
        life = Life.LYING
    if late and reported.removed_at is not None and life is not Life.RETURNED:
        life = Life.REMOVED
    seen = replace(
        seen, out_at=reported.out_at, life=life, face_up=seen.face_up or reported.face_up
    )
    if reported.slot is not None:
        seen = replace(seen, slot=reported.slot)
    if reported.card is None:
        return replace(seen, declined=seen.declined or reported.marks.declined)
    return replace(
        seen,
        card=reported.card,
        confidence=reported.confidence,
        second=reported.second,
        declined=False,
    )


def _contradicts(seen: SeenCard, reported: DealtCard) -> bool:
    """Whether a card was seen in another slot, or with another face, than was published."""
    return (None not in (seen.slot, reported.slot) and seen.slot != reported.slot) or (
        None not in (seen.card, reported.card) and seen.card != reported.card
    )


# --- the journal ----------------------------------------------------------------------------------


# Messages of the other reader that are taken out of the outbox at once; the rest at the next turn.
ACKNOWLEDGED_AT_ONCE = 500
# Days and megabytes: no limit. The two logs are one history, and neither is shortened by itself.
FOR_EVER = {"keep_days": 36_500.0, "max_mb": 10_000_000.0}


class PairJournal(Journal):
    """The journal of one of two readers; it speaks only after `take_over`."""

    def __init__(
        self,
        config: TableConfig,
        destinations: Destinations,
        store: HouseStore,
        evidence: EvidenceRecorder | None = None,
    ) -> None:
        """Open the log, the same for both readers, and begin to follow."""
        self.lease = Lease(store, config.standby.name, config.standby.lease_s)
        self._pair = Pair(store, config.standby.name)
        self._watching_since_s: float | None = None
        self._waiting: deque[tuple[list[Entry], Callable[[], None]]] = deque()
        stored = config.model_copy(update={"log": config.log.model_copy(update=FOR_EVER)})
        super().__init__(stored, destinations, evidence)
        self._pair.join(self._store)
        self.lease.acked = self._acked
        self.lease.term_of_log = lambda: self.session.stream.term
        self.lease.start()

    @property
    def has_taken_over(self) -> bool:
        """Whether this reader has taken over."""
        return self._pair.term > 0

    def may_send(self) -> bool:
        """Whether this reader may say anything at this moment."""
        return self.has_taken_over and self.lease.is_valid

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
        session = self.session
        for content in batch.contents():
            if "event" in content:
                event = event_from_json(content["event"])
                steps.append(advance(session, event))
                session = steps[-1].session
                entries.append(Entry(event, steps[-1].messages, None, content.get("order")))
            elif "desk" in content and entries:
                entries[-1] = replace(entries[-1], checkpoint=content["desk"])
        with uninterrupted():
            self._store.append(entries, self._pair.fitting(batch))
            self.session = session
        return steps

    # --- speaking -------------------------------------------------------------------------------

    def take_over(
        self, at: int, models: tuple[str, ...], identity: str, own: OwnSight
    ) -> tuple[Step, ...]:
        """Go on where the other reader ended, and publish what it has not; AwayError.

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
        self.link.remember()
        before = {"after": number, "hash": head, "boot": table.boot, "term": self.lease.granted}
        if self._signer is not None:
            before["proof"] = self._signer.term_proof(self.lease.granted)
        fact = Recorded(at, Fact.TAKEN_OVER, self._pair.node, canonical(before))
        is_counted = own.counts_as(table, at)
        # Only who watched already while the other still lived has missed nothing.
        watched = self.lease.renewed_s > (self._watching_since_s or math.inf)
        self._pair.term = term = self.lease.granted
        unbroken = is_counted and watched
        started = Started(at, new_boot(), VERSION, models, identity, term, unbroken=unbroken)
        missed = [replace(event, at=max(at, event.at)) for event in own.unpublished(self.table)]
        return (*steps, *self.begin(started, before=(fact,), more=missed if is_counted else ()))

    def _write(
        self, entries: Sequence[Entry], after: TableSession, then: Callable[[], None]
    ) -> None:
        if not self.has_taken_over:
            raise OutsideError("the standby reader must not write to the log; report this")
        with uninterrupted():
            self.session = after
            self._waiting.append((list(entries), then))
        self.flush()

    def _head_after(self, entries: Sequence[Entry]) -> tuple[int, str]:
        waiting = [entry for some, _ in self._waiting for entry in some]
        return super()._head_after([*waiting, *entries])

    def flush(self) -> None:
        """Write what waits for the house's store, in order; the rest waits on. FencedError."""
        while self._waiting:
            entries, then = self._waiting[0]
            with uninterrupted():
                try:
                    self._append(entries, self._pair.confirm)
                except AwayError:
                    return
                except FencedError:
                    self.lease.lost = True
                    raise
                self._waiting.popleft()
                then()

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
        self.link.close()
        self.lease.stop()
        super().close()
