"""Delete what is too old or too much, by confirmed time only, and have the log say what went.

The wall clock alone makes nothing old: an empty battery, a bad answer of a time server or a slip of
the finger set it years ahead. Time counts only as the monotonic clock confirms it (`ElapsedTime`).
For the time in which the program did not run there is an allowance, which fills up while it runs; a
clock that is set far ahead is followed at twice the pace of time at most, and a person may confirm
it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from vision.app.evidence import EvidenceRecorder, wanted_names
from vision.app.restore import moments_in_dispute
from vision.clock import DAY_MS
from vision.config.table import LogSection
from vision.game.events import Event
from vision.record.codec import canonical
from vision.record.facts import Fact, Recorded
from vision.storage.evidence import Why
from vision.storage.log import READ_TIME, TIME_TABLE, WRITE_TIME, Database, Seal, Store
from vision.storage.retention import LogLimits
from vision.wire.session import TableSession

TIDY_EVERY_S = 60.0  # seconds between two looks; a longer gap deletes more at a time

# Milliseconds that may be made up for at once, after a night or a day off. Chosen: more deletes
# more on the word of a wrong clock, less keeps things longer at tables that are often switched off.
ALLOWANCE_MS = DAY_MS
# Milliseconds that the wall clock may be ahead before people are told that nothing grows old by it.
# Chosen beyond a table's longest ordinary rest; a smaller number reports every long week-end.
TOLD_MS = 4 * DAY_MS

log = logging.getLogger(__name__)


class ElapsedTime:
    """Unix time in milliseconds as far as it is confirmed; it survives a restart."""

    def __init__(
        self, db: Database, begin: int, monotonic_s: Callable[[], float] = time.monotonic
    ) -> None:
        """Go on from where the log left it, else from `begin` (0: from the first time asked)."""
        self._db = db
        self._monotonic_s = monotonic_s
        rows = db.read(READ_TIME)
        self._at: int
        self._allowance: int
        self._at, self._allowance = rows[0] if rows else (begin, ALLOWANCE_MS)
        self._asked_s = monotonic_s()
        self.ahead_ms = 0

    def at(self, now: int) -> int:
        """Return how much of the wall clock's `now` is confirmed; `ahead_ms` is what is not."""
        asked_s = self._monotonic_s()
        passed = round(1000 * (asked_s - self._asked_s))
        self._asked_s = asked_s
        self._at = self._at or now
        self._allowance = min(ALLOWANCE_MS, self._allowance + passed)
        made_up = min(max(0, now - self._at - passed), self._allowance)
        self._allowance -= made_up
        self._at = max(self._at, min(now, self._at + passed + made_up))
        self.ahead_ms = max(0, now - self._at)
        self._write(synchronous="NORMAL")
        return min(self._at, now)

    def confirm(self, now: int) -> None:
        """Take the wall clock's `now` as right: a person has looked."""
        self._at = now
        self._write(synchronous="FULL")

    def _write(self, synchronous: str) -> None:
        with self._db.transaction(synchronous) as connection:
            connection.execute(WRITE_TIME, (self._at, self._allowance))


def confirm_clock(path: Path, now: int) -> None:
    """Take `now` (Unix ms) as right for a log that no reader writes; OutsideError."""
    with closing(Database(path, TIME_TABLE)) as db:
        ElapsedTime(db, now).confirm(now)


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
        newest = evidence.store.newest() if evidence is not None and not begin else 0
        self._elapsed = ElapsedTime(store.database, begin or newest, monotonic_s)
        self._monotonic_s = monotonic_s
        self._next_look_s = monotonic_s()
        self._told = False

    def prune(self, session: TableSession, now: int, seal: Seal | None) -> bool:
        """Delete a shoe of the log if one is to go, and old messages; return whether one went."""
        marked = moments_in_dispute(session.table)
        return self._store.prune(self._limits, self._elapsed.at(now), marked, seal)

    def tidy(
        self,
        session: TableSession,
        at: int,
        before_day: Callable[[], str],
        say: Callable[[Sequence[Event]], object],
    ) -> None:
        """Delete the evidence that is to go at `at` (Unix ms), if a look at it is due.

        Nothing of `before_day` (2026-11-21) or later, and nothing before `say` has put it into the
        log.
        """
        if self._monotonic_s() < self._next_look_s:
            return
        self._next_look_s = self._monotonic_s() + TIDY_EVERY_S
        if self._evidence is None:
            return
        confirmed = self._elapsed.at(at)
        wanted = wanted_names(session)
        doomed = self._evidence.doomed(confirmed, wanted=wanted, before_day=before_day())
        facts = [*self._waits(at)]
        for why in Why:
            names = [piece.name for piece in doomed if piece.why is why]
            if names:
                facts.append(Recorded(at, Fact.EVIDENCE_DELETED, why, canonical(names)))
        if facts:
            say(facts)
        self._evidence.delete(doomed)

    def _waits(self, at: int) -> tuple[Recorded, ...]:
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
