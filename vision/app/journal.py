"""The log of a run with its link to the broker: what one takes in, the other passes on."""

from __future__ import annotations

from collections.abc import Sequence

from vision.app.evidence import EvidenceRecorder
from vision.app.order_intake import staff_changes
from vision.app.restore import unsigned_facts
from vision.app.retention import TIME
from vision.app.run_log import Destinations, Input, RunLog
from vision.app.signing import key_in_log
from vision.app.table_link import TableLink
from vision.config.table import TableConfig
from vision.errors import OutsideError
from vision.game.events import Event, Started
from vision.version import VERSION
from vision.wire.messages import unix_ms
from vision.wire.session import Step


class Journal(RunLog):
    """A run's log, and its link, over which nothing goes that is not in the log."""

    def __init__(
        self,
        config: TableConfig,
        destinations: Destinations,
        evidence: EvidenceRecorder | None = None,
    ) -> None:
        """Open the log and go on where it ended; nothing is published before `start`."""
        super().__init__(config, destinations, evidence)
        try:
            self.link = TableLink(
                config, self._store, lambda: self._session, publish=destinations.publish
            )
        except BaseException:
            super().close()
            raise

    def start(
        self, at: int, boot: str, models: tuple[str, ...], identity: str = ""
    ) -> tuple[Step, ...]:
        """Begin the run called `boot`, and connect; `identity` is as `identify` makes it.

        A reader that was one of two goes on with their term: a lower one would be ignored.
        """
        stream = self._session.stream
        after = self._store.last_seq if self._store.last_seq > stream.seq else 0
        started = Started(at, boot, VERSION, models, identity, stream.term, after=after)
        return self.begin(started, more=unsigned_facts(self._unsigned, at))

    def begin(
        self, started: Started, *, before: Sequence[Event] = (), more: Sequence[Event] = ()
    ) -> tuple[Step, ...]:
        """Begin that run between what is before and what more has happened, sign, and connect."""
        register = self._session.register
        staff = staff_changes(register, self.link.gate.users, started.at)
        key = key_in_log(self._signer, register, started.at)
        steps = self.take([*before, started, *staff, *key, *more], TIME)
        fill = self._evidence.store.filled if self._evidence else None
        self.link.connect(started.at, fill, self.may_send)
        return steps

    def may_send(self) -> bool:
        """Whether this reader may say anything at this moment."""
        return True

    def _written(self, folded: Sequence[tuple[Input, Step]]) -> None:
        super()._written(folded)
        self.link.pass_on(item for item, _ in folded)

    def reports(self, at: int) -> tuple[Event, ...]:
        """Return the reports on the disk, on bursts of refusals, and on the link to the broker."""
        return (*self.disk_reports(at), *self.link.reports(at))

    def figures(self, at: int) -> dict[str, object]:
        """Return the figures of the link: what waits, since when, and what was refused."""
        since = self.unsent_since
        age_ms = at - unix_ms(since) if "T" in since else 0
        return {
            "outbox": self._store.depth(),
            "outbox_age_s": max(0.0, round(age_ms / 1000, 1)),
            "connected": self.link.is_connected,
            "orders_refused": self.link.orders_refused,
        }

    def stop(self, at: int) -> tuple[Step, ...]:
        """End the run in order; where the log cannot be written any more, publish a lost reader."""
        try:
            return self.end(at)
        except OutsideError as error:
            self.link.say_lost(at, str(error))
            raise

    def close(self) -> None:
        """Send what is left for a few seconds, and close everything."""
        self.link.close()
        super().close()
