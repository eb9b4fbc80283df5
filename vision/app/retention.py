"""Delete what is too old or too much, by confirmed time only, and have the log say what went.

The wall clock alone makes nothing old: an empty battery, a bad answer of a time server or a slip of
the finger set it years ahead. Time counts only as the monotonic clock confirms it (`ElapsedTime`).
For the time in which the program did not run there is an allowance, which fills up while it runs; a
clock that is set far ahead is followed at twice the pace of time at most, and a person may confirm
it. How far it was confirmed is a fact of the log, signed as it is written: at the end of a run, at
a change of shoe, and each hour between.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

from vision.app.evidence import EvidenceRecorder, wanted_names
from vision.app.restore import moments_in_dispute
from vision.clock import DAY_MS
from vision.config.table import LogSection
from vision.game.events import Event
from vision.record.chain import BrokenChainError
from vision.record.codec import canonical
from vision.record.facts import Fact, Recorded, Register
from vision.storage.evidence import Doomed, Why
from vision.storage.log import Seal, Store
from vision.storage.retention import LogLimits
from vision.wire.session import TableSession

# Milliseconds after which the log says again how far time is confirmed. What passed since counts
# as switched off where the reader is killed: more makes things old later, less makes records.
REPORT_EVERY_MS = 3_600_000
TIDY_EVERY_S = 60.0  # seconds between two looks; a longer gap deletes more at a time

# Milliseconds that may be made up for at once, after a night or a day off. Chosen: more deletes
# more on the word of a wrong clock, less keeps things longer at tables that are often switched off.
ALLOWANCE_MS = DAY_MS
# Milliseconds that the wall clock may be ahead before people hear that nothing grows old by it.
# Chosen beyond a table's longest ordinary rest; a smaller number reports every long week-end.
REPORTED_MS = 4 * DAY_MS

TIME = "time"  # why the log is signed then, in the words of the contract

log = logging.getLogger(__name__)


class ElapsedTime:
    """Unix time in milliseconds as far as it is confirmed, gone on from what the log says of it."""

    def __init__(
        self, register: Register, begin: int, monotonic_s: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin at `begin` (0: at the first time asked) where the log has no time yet."""
        self._monotonic_s = monotonic_s
        self._at = register.time or begin
        self._allowance = register.allowance if register.time else ALLOWANCE_MS
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
        return min(self._at, now)

    def fact(self, now: int) -> Recorded:
        """Return what the log is to say of the time confirmed at the wall clock's `now`."""
        self.at(now)
        return confirmed(now, self._at, self._allowance)


def confirmed(at: int, time_ms: int, allowance_ms: int, by: str = "") -> Recorded:
    """Return the fact that time is confirmed up to `time_ms`; it is always written signed."""
    return Recorded(at, Fact.CLOCK_CONFIRMED, by, canonical([time_ms, allowance_ms]))


class Retention:
    """What is kept of a table's log and evidence, and for how long."""

    def __init__(
        self,
        store: Store,
        evidence: EvidenceRecorder | None,
        section: LogSection,
        session: TableSession,
        *,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Keep to the limits of the section; time goes on from where the session has it.

        Where a new log has no time yet, at the newest evidence: the clock alone proves none.
        """
        self._store = store
        self._evidence = evidence
        self._limits = LogLimits(section.keep_days, section.messages_days, section.max_mb)
        newest = evidence.store.newest() if evidence is not None and not session.table.clock else 0
        begin = session.table.clock or newest
        self._elapsed = ElapsedTime(session.register, begin, monotonic_s)
        self._doubt = ""
        self._monotonic_s = monotonic_s
        self._next_look_s = monotonic_s()
        self._reported = False

    def prune(self, session: TableSession, now: int, seal: Seal | None) -> bool:
        """Delete a shoe of the log if one is to go, and old messages; return whether one went.

        Nothing goes where what would decide is not proven: that is logged at the next `tidy`.
        """
        marked = moments_in_dispute(session.table)
        try:
            return self._store.prune(self._limits, self._elapsed.at(now), marked, seal)
        except BrokenChainError as error:
            self._doubt = f"the log was changed, so nothing of it is deleted: {error}; audit it"
            log.error("%s", self._doubt)
            return False

    def time(self, now: int) -> Recorded:
        """Return the fact how far time is confirmed at `now` (Unix ms), to be written signed."""
        return self._elapsed.fact(now)

    def tidy(
        self,
        session: TableSession,
        at: int,
        before_day: Callable[[], str],
        say: Callable[[Sequence[Event], str], object],
    ) -> None:
        """Delete the evidence that is to go at `at` (Unix ms), if a look at it is due.

        Nothing of `before_day` (2026-11-21) or later, and nothing before `say` has put it into the
        log.
        """
        if self._monotonic_s() < self._next_look_s:
            return
        self._next_look_s = self._monotonic_s() + TIDY_EVERY_S
        now = self._elapsed.at(at)
        facts = [*self._waits(at)]
        if now - session.register.time >= REPORT_EVERY_MS:
            facts.append(self.time(at))
        doomed: tuple[Doomed, ...] = ()
        if self._evidence is not None:
            wanted = wanted_names(session)
            doomed = self._evidence.doomed(now, wanted=wanted, before_day=before_day())
        for why in Why:
            names = [piece.name for piece in doomed if piece.why is why]
            if names:
                facts.append(Recorded(at, Fact.EVIDENCE_DELETED, why, canonical(names)))
        if facts:
            say(facts, TIME)
        if self._evidence is not None:
            self._evidence.delete(doomed)

    def _waits(self, at: int) -> tuple[Recorded, ...]:
        """Return the fact that a clock far ahead is not believed, once while that lasts."""
        doubt, self._doubt = self._doubt, ""
        if doubt:
            return (Recorded(at, Fact.RETENTION_WAITS, "log", doubt),)
        ahead_ms, reported = self._elapsed.ahead_ms, self._reported
        self._reported = ahead_ms > REPORTED_MS
        if reported or not self._reported:
            return ()
        words = (
            f"the clock is {ahead_ms / DAY_MS:.0f} days ahead of the time that this program has "
            "seen pass, so nothing is deleted on its word; compare it with another one, and if it "
            "is right, stop the reader and run shoe-reader log confirm-clock"
        )
        log.warning("%s", words)
        return (Recorded(at, Fact.RETENTION_WAITS, "clock", words),)
