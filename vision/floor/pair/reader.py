"""Run one of two readers of a table: it watches all the time, and speaks when the other is gone."""

from __future__ import annotations

from dataclasses import replace

from vision.app.reader import SeenShot, TableReader, notify
from vision.app.run_log import Destinations
from vision.camera.decoding import Shot
from vision.config.table import TableConfig
from vision.errors import ConfigurationError
from vision.floor.pair.house_store import AwayError, HouseAccount, HouseStore
from vision.floor.pair.journal import OwnSight, PairJournal, unpublished_part
from vision.mqtt.endpoint import endpoint_of, refuse_in_clear


class PairReader(TableReader):
    """The reader of a table that has another beside it, for one run."""

    _journal: PairJournal
    # Between two pictures sight may be made to count on where the other reader's table stands, so
    # no picture may have been looked at before.
    works_ahead = False

    def _open_journal(self, config: TableConfig, destinations: Destinations) -> PairJournal:
        self._house = HouseStore(account_of(config))
        self._house.open()
        self._own = OwnSight()
        self._inherited = 0
        return PairJournal(config, destinations, self._house, self._recorder)

    def run(self) -> None:
        """Follow the other reader and the camera; speak from the takeover on, to the end."""
        try:
            super().run()
        finally:
            self._house.close()

    def _start(self) -> None:
        """Say nothing before the takeover."""

    def _begin(self) -> None:
        self._align()

    def _take(self, seen: SeenShot) -> None:
        if not self._journal.has_taken_over:
            self._follow(seen)
            return
        self._journal.flush()
        table = self._journal.table
        if table.shoes == self._shoes:
            reported = (
                published
                for event in seen.events
                for published in unpublished_part(table, event, self._inherited)
            )
            seen = replace(seen, events=tuple(reported))
        super()._take(seen)

    def _stop(self) -> None:
        if self._journal.may_send():
            super()._stop()

    def _follow(self, seen: SeenShot) -> None:
        """See for oneself, and write what the other reader tells."""
        self._note(seen)
        self._own.note(seen.events, self._journal.table)
        if isinstance(seen.shot, Shot):
            self._recorder.look(seen.shot.frame)
        self._report(self._journal.follow())
        notify("WATCHDOG=1")
        table = self._journal.table
        if table.shoes != self._shoes or not self._own.counts_as(table, self._at):
            self._align()
        if self._journal.lease.granted:
            self._take_over()

    def _align(self) -> None:
        """Have this reader's sight count on where the table stands, as after a restart."""
        table = self._journal.table
        self._shoes = table.shoes
        self._pipeline.restore(table, self._at)
        self._own.begin(table)

    def _take_over(self) -> None:
        own = self._own
        try:
            self._report(self._journal.take_over(self._at, self._models, self._identity, own))
        except AwayError:
            return  # tried again at the next picture
        table = self._journal.table
        self._inherited = table.next_order
        if not own.counts_as(table, self._at) or table.shoes != self._shoes:
            self._align()
        if not table.shoe.name:
            super()._begin()


def account_of(config: TableConfig) -> HouseAccount:
    """Return how the house's store is reached; ConfigurationError if its password is not set."""
    standby = config.standby
    for name in (config.site, config.table):
        if "." in name:
            raise ConfigurationError(
                f"'{name}': with a standby, site and table must have no dots; rename it"
            )
    account = endpoint_of(config.broker, standby)
    hosts = (server.rpartition("://")[2].rpartition(":")[0] or server for server in standby.servers)
    refuse_in_clear(hosts, standby, config.broker)
    return HouseAccount(
        tuple(host if "://" in host else f"nats://{host}" for host in standby.servers),
        f"{config.site}.{config.table}",
        standby.replicas,
        account.username,
        account.password,
        account.tls_ca,
    )
