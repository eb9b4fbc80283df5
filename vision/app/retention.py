"""Delete what is too old or too much, by confirmed time only, and have the log say what went."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from vision.app.evidence import EvidenceRecorder, wanted_names
from vision.app.restore import moments_in_dispute
from vision.clock import DAY_MS
from vision.config.table import LogSection
from vision.game.events import Event
from vision.record.codec import canonical
from vision.record.facts import Fact, Recorded
from vision.storage.evidence import Doomed, Why
from vision.storage.log import Seal, Store
from vision.storage.retention import TOLD_MS, LogLimits
from vision.wire.session import TableSession

TIDY_EVERY_S = 60.0  # seconds between two looks; a longer gap deletes more at a time

log = logging.getLogger(__name__)


class Retention:
    """What is kept of a table's log and evidence, and for how long."""

    def __init__(
        self,
        store: Store,
        evidence: EvidenceRecorder | None,
        section: LogSection,
        begin: int,
        *,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Keep to the limits of the section; time begins at `begin` (Unix ms) in a new log.

        Where a new log has no time yet (0), at the newest evidence: the clock alone proves none.
        """
        self._store = store
        self._evidence = evidence
        self._limits = LogLimits(section.keep_days, section.messages_days, section.max_mb)
        newest = evidence.newest() if evidence is not None and not begin else 0
        self._elapsed = store.elapsed_time(begin or newest, monotonic_s)
        self.monotonic_s = monotonic_s
        self.next_look_s = monotonic_s()
        self._told = False
        self._doomed: tuple[Doomed, ...] = ()

    def prune(self, session: TableSession, now: int, seal: Seal | None) -> bool:
        """Delete a shoe of the log if one is to go, and old messages; return whether one went."""
        marked = moments_in_dispute(session.table)
        return self._store.prune(self._limits, self._elapsed.at(now), marked, seal)

    def look(self, session: TableSession, at: int, before_day: str) -> tuple[Event, ...]:
        """Choose the evidence to delete; return what the log is to say of it first.

        Nothing of `before_day` (2026-11-21) or later. The next look is due at `next_look_s`.
        """
        self.next_look_s = self.monotonic_s() + TIDY_EVERY_S
        if self._evidence is None:
            return ()
        confirmed = self._elapsed.at(at)
        wanted = wanted_names(session)
        self._doomed = self._evidence.doomed(confirmed, wanted=wanted, before_day=before_day)
        return (*self._waits(at), *self._deleted(at))

    def delete(self) -> None:
        """Delete the evidence that was chosen, once the log says so."""
        doomed, self._doomed = self._doomed, ()
        if self._evidence is not None and doomed:
            self._evidence.delete(doomed)

    def _deleted(self, at: int) -> tuple[Event, ...]:
        """Return the facts of what is deleted, one for each reason."""
        facts = []
        for why in Why:
            names = [piece.name for piece in self._doomed if piece.why is why]
            if names:
                facts.append(Recorded(at, Fact.EVIDENCE_DELETED, why, canonical(names)))
        return tuple(facts)

    def _waits(self, at: int) -> tuple[Event, ...]:
        """Return the fact that a clock far ahead is not believed, once while that lasts."""
        ahead_ms, told = self._elapsed.ahead_ms, self._told
        self._told = ahead_ms > TOLD_MS
        if told or not self._told:
            return ()
        words = (
            f"the clock is {ahead_ms / DAY_MS:.0f} days ahead of the time that this program has "
            "seen pass, so nothing is deleted on its word; compare it with another one, and if it "
            "is right, stop the reader and run shoe-reader log confirm-clock"
        )
        log.warning("%s", words)
        return (Recorded(at, Fact.RETENTION_WAITS, "clock", words),)
