"""Decide which of two readers of a table speaks: a lease in the house's store, renewed by a thread.

The holder writes its name and its term again and again. Who follows waits until nothing new was
written for the length of the lease, by its own monotonic clock: clocks of two machines are never
compared. Then it takes the lease with the next term. The holder counts its lease from before it
wrote, so it stops before anybody else may begin. Should its clock run slow, or should it be frozen
between looking and writing, its records are refused by the store: see `shared_log`.
"""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from vision.floor.pair.house_store import AwayError, HouseStore, OvertakenError
from vision.record.codec import record_from_json
from vision.wire.commands import NUMBER_LIMIT
from vision.wire.form import FormError, json_object

log = logging.getLogger(__name__)

# Renewals within the length of a lease: so many may be late before it lapses. More is traffic,
# fewer lets one slow answer silence a table.
RENEWALS = 5
# Share of the lease after which its holder no longer counts on it: clocks of two machines may run
# so much apart. A quartz differs by less than a thousandth.
CERTAIN_SHARE = 0.95
# Bytes of a lease, and takeovers that may lie between two that are read; whatever is more, no
# reader wrote. Fewer takeovers locks out a machine that was away for long.
LEASE_LIMIT = 512
TERM_LEAP = 10_000
UNKNOWN = "?"  # who holds a lease that cannot be read: it is not free


class Held(NamedTuple):
    """Who holds the lease ("" for nobody), and its number.

    The broker has all messages up to the number `acked`.
    """

    node: str = ""
    term: int = 0
    acked: int = 0


class Lease:
    """One reader's part in the lease; `granted` is its term once it has it, 0 before.

    `lost` says that another has it now: this one never speaks again in this run.
    """

    def __init__(self, store: HouseStore, node: str, length_s: float) -> None:
        """Prepare for the reader called `node`; `length_s` is how long a lease lasts."""
        self.granted = 0
        self.lost = False
        self.seen = Held()
        # The monotonic instant at which the other was last seen to renew.
        self.renewed_s = -math.inf
        self.acked: Callable[[], int] = lambda: 0
        self.term_of_log: Callable[[], int] = lambda: 0  # a store may have been set up again since
        self._store = store
        self._node = node
        self._length_s = length_s
        self._revision = 0
        self._unchanged_since_s: float | None = None
        self._valid_until_s = -math.inf
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)

    @property
    def is_valid(self) -> bool:
        """Whether this reader may speak at this moment."""
        return not self.lost and time.monotonic() < self._valid_until_s

    def start(self) -> None:
        """Begin to follow the lease, and to take it when it is free."""
        self._thread.start()

    def stop(self) -> None:
        """Give the lease back, if this reader has it, so that the other need not wait."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(self._length_s)
        if self.is_valid:
            self._valid_until_s = -math.inf
            with suppress(AwayError, OvertakenError):
                self._put(Held("", self.granted, self.acked()))

    def _run(self) -> None:
        while not self._stopping.wait(self._length_s / RENEWALS):
            try:
                self.turn()
            except AwayError:
                # While the store was away its holder could not renew either: it gets a whole lease.
                self._unchanged_since_s = None
            except Exception:  # whatever the store holds, this reader goes on looking
                self._unchanged_since_s = None
                log.exception("the lease of this table failed; retrying; report this")

    def turn(self) -> None:
        """Renew the lease, or look whether it is free; AwayError."""
        if self.granted:
            self._renew()
        else:
            self._look()

    def _renew(self) -> None:
        if self.lost:
            return
        began_s = time.monotonic()
        try:
            self._put(Held(self._node, self.granted, self.acked()))
        except OvertakenError:
            self._read()
            if self.seen[:2] != (self._node, self.granted):
                self.lost = True
            return
        self._valid_until_s = began_s + CERTAIN_SHARE * self._length_s

    def _look(self) -> None:
        began_s = time.monotonic()
        before = self._revision
        self._read()
        if self._revision != before and before:
            self.renewed_s = time.monotonic()
        if self._revision != before or self._unchanged_since_s is None:
            self._unchanged_since_s = time.monotonic()
        is_free = not self.seen.node
        if not is_free and began_s - self._unchanged_since_s <= self._length_s:
            return
        try:
            term = max(self.seen.term, self.term_of_log()) + 1
            self._put(Held(self._node, term, self.seen.acked))
        except OvertakenError:
            return
        self._valid_until_s = began_s + CERTAIN_SHARE * self._length_s
        self.granted = self.seen.term

    def _read(self) -> None:
        data, self._revision = self._store.lease()
        try:
            self.seen = self._held_of(data) if self._revision else Held()
        except ValueError as error:
            self.seen = self.seen._replace(node=self.seen.node or UNKNOWN)
            log.warning(
                "the lease of this table was not written by a reader: %s; it is written again; "
                "check who else has the account of the house's store",
                error,
            )

    def _held_of(self, data: bytes) -> Held:
        """Return the lease that some bytes are; ValueError where no reader wrote them."""
        content = json_object(data, LEASE_LIMIT)
        if set(content) != set(Held._fields):
            raise FormError("it has other fields")
        held: Held = record_from_json(Held, content)
        if held.term < 0 or held.acked < 0:
            raise FormError("a number below zero")
        known = max(self.seen.term, self.term_of_log())
        if held.term > (known + TERM_LEAP if known else NUMBER_LIMIT - TERM_LEAP):
            raise FormError(f"its term leaps from {known} to {held.term}")
        return held

    def _put(self, held: Held) -> None:
        self._revision = self._store.put_lease(json.dumps(held._asdict()).encode(), self._revision)
        self.seen = held
