"""The records that two readers of a table share: each is in the house's store before it counts.

The reader that speaks writes each transaction of its log to the store first, behind the sequence
that it knows as the last; only then is it written to its own log and published. So there is one
history, whoever speaks and whatever clocks and leases say: a reader that was frozen, or parted from
the others, finds that its write is refused, and publishes nothing. The other reader writes the same
records to its own log, and finds the same hashes.
"""

from __future__ import annotations

import concurrent.futures
import json
import math
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from vision.errors import OutsideError
from vision.floor.pair.house_store import AwayError, HouseStore, OvertakenError
from vision.record.chain import LOG_VERSION
from vision.record.codec import GENESIS, Record, canonical, record_from_json, record_to_json, seal
from vision.storage.log import Confirm, Store

# Seconds that the table waits for the store at once; then it goes on and looks again at the next
# picture. A store answers in milliseconds. Longer delays pictures while the store is away.
PATIENCE_S = 0.25
# Seconds between two looks for new records while there are none. Shorter asks the store more often,
# longer makes a takeover as much later.
LOOK_S = 0.05
# Seconds that the end of the thread is waited for: what it asks of the store is answered by then.
STOP_S = 3.0
# Tries to write the first record of a table against another reader that begins at the same time.
TRIES = 20


class FencedError(OutsideError):
    """Another reader speaks for the table: this one says no more, and is to be started again."""


@dataclass(frozen=True, slots=True)
class LogBatch:
    """Records written at once; `first` is the number of the first, `head` the hash of the last.

    `before` is the hash of the record before the first. A batch without records says where the log
    stood that was the first to be shared.
    """

    node: str
    term: int
    first: int
    before: str
    bodies: tuple[str, ...]
    head: str

    @property
    def last(self) -> int:
        """The number of its last record."""
        return self.first + len(self.bodies) - 1

    def contents(self) -> Iterator[Mapping[str, Any]]:
        """Yield the content of each record."""
        return map(json.loads, self.bodies)

    def data(self) -> bytes:
        """Return the batch as the store has it."""
        return canonical(record_to_json(self)).encode()


def batch_from(data: bytes) -> LogBatch:
    """Return the batch that the store has; OutsideError where it is none."""
    try:
        batch: LogBatch = record_from_json(LogBatch, json.loads(data))
        if not all(isinstance(content, dict) for content in batch.contents()):
            raise TypeError("a record is none")
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise OutsideError(
            "the house's store holds records that this version does not understand; run the same "
            "version of shoe-reader on both machines"
        ) from error
    return batch


class Pair:
    """One reader's end of the shared records; used by the thread of the table only."""

    def __init__(self, store: HouseStore, node: str) -> None:
        """Prepare for the reader called `node`."""
        self.term = 0
        self.node = node
        self._store = store
        self._sequence = 0
        self._begun: tuple[str, concurrent.futures.Future[int]] | None = None
        # A thread of its own fetches what others write, so that no picture waits for the store.
        self._fetched: SimpleQueue[tuple[int, LogBatch]] = SimpleQueue()
        self._failure: OutsideError | None = None
        self._stopping = threading.Event()
        self._follower = threading.Thread(target=self._fetch, name="follower", daemon=True)

    # --- before the log is opened ----------------------------------------------------------------

    def header(self, own: Mapping[str, Any]) -> dict[str, Any]:
        """Return the header of the table's shared log: the one in the store, else `own`, put there.

        OutsideError where the store's records begin later: this machine needs a copy of the log.
        """
        for _ in range(TRIES):
            first, last = self._retried(self._store.bounds)
            if last:
                break
            record = seal(0, GENESIS, {"log": {"version": LOG_VERSION, **own}})
            batch = LogBatch(self.node, 0, 0, GENESIS, (record.body,), record.hash)
            concurrent.futures.wait([self._store.append(batch.data(), 0)])
        else:
            raise OutsideError("the house's store accepts no records; read the nats-servers' logs")
        stored = self._batch(first)
        if stored is None or stored.first != 0 or not stored.bodies:
            raise OutsideError(
                "the house's store no longer has the beginning of this table's records; copy the "
                "other reader's log here first (deploy/record.md, Backup)"
            )
        header = dict(json.loads(stored.bodies[0])["log"])
        del header["version"]
        return header

    # --- following ------------------------------------------------------------------------------

    def join(self, store: Store) -> None:
        """Find the batch behind which this log stands, and follow from there.

        A log that was there before anything was shared first says in the store where it stands.
        OutsideError where the log is not the one that is shared.
        """
        number, head = store.head
        if not self._retried(self._store.bounds)[1]:
            batch = LogBatch(self.node, 0, number + 1, head, (), head)
            concurrent.futures.wait([self._store.append(batch.data(), 0)])
        first, last = self._retried(self._store.bounds)
        before = bisect_right(range(first, last + 1), float(number), key=self._last_of)
        self._sequence = first + before - 1
        found = self._batch(self._sequence) if self._sequence else None
        if found is not None and store.hash_of(found.last) != found.head:
            raise _other(found)
        self._follower.start()

    def _batch(self, sequence: int) -> LogBatch | None:
        """Return the batch of that sequence, or the first that is still there behind it."""
        found = self._retried(lambda: self._store.read(sequence - 1))
        return batch_from(found[1]) if found else None

    def _last_of(self, sequence: int) -> float:
        batch = self._batch(sequence)
        return math.inf if batch is None else batch.last

    def _fetch(self) -> None:
        sequence = self._sequence
        while not self._stopping.is_set():
            try:
                found = self._store.read(sequence)
                if found is None:
                    self._stopping.wait(LOOK_S)
                    continue
                self._fetched.put((found[0], batch_from(found[1])))
                sequence = found[0]
            except AwayError:
                self._stopping.wait(LOOK_S)
            except OutsideError as error:
                self._failure = error
                return
            except Exception as error:  # noqa: BLE001  # raised by the thread of the table
                self._failure = OutsideError(f"the house's store failed: {error!r}; report this")
                return

    def arrived(self) -> Iterator[LogBatch]:
        """Yield what has come from the other since; OutsideError where it is not understood."""
        with suppress(Empty):
            while True:
                sequence, batch = self._fetched.get_nowait()
                yield batch
                self._sequence = sequence
        if self._failure is not None:
            raise self._failure

    def rest(self) -> Iterator[LogBatch]:
        """Yield all that is still to come, and follow no more; AwayError."""
        self.close()
        yield from self.arrived()
        while (found := self._store.read(self._sequence)) is not None:
            yield batch_from(found[1])
            self._sequence = found[0]

    def close(self) -> None:
        """Follow no more; what was fetched can still be taken."""
        self._stopping.set()
        if self._follower.is_alive():
            self._follower.join(STOP_S)

    @staticmethod
    def fitting(batch: LogBatch) -> Confirm:
        """Return what holds the records that we made of a batch against it; OutsideError."""

        def confirm(records: Sequence[Record], before: str) -> None:
            bodies = tuple(record.body for record in records)
            if (bodies, before) != (batch.bodies, batch.before):
                raise _other(batch)

        return confirm

    @staticmethod
    def check(batch: LogBatch, head: tuple[int, str]) -> None:
        """Refuse a batch without records where our log, whose end is `head`, is another."""
        if (batch.last, batch.head) != head:
            raise _other(batch)

    # --- speaking -------------------------------------------------------------------------------

    def confirm(self, records: Sequence[Record], before: str) -> None:
        """Write the records of a transaction to the store, which makes them count.

        AwayError when it has not answered yet: to be called again with the same. FencedError when
        somebody else has written: the transaction never was.
        """
        head = records[-1].hash
        if self._begun is None:
            bodies = tuple(record.body for record in records)
            batch = LogBatch(self.node, self.term, records[0].number, before, bodies, head)
            self._begun = head, self._store.append(batch.data(), self._sequence)
            concurrent.futures.wait([self._begun[1]], PATIENCE_S)
        name, future = self._begun
        if not future.done() or name != head:
            raise AwayError("no answer")
        self._begun = None
        try:
            self._sequence = future.result()
        except (OvertakenError, AwayError):
            self._settle(head)

    def _settle(self, head: str) -> None:
        """Find out whose the record behind our sequence is: ours, if an answer was lost."""
        found = self._store.read(self._sequence)
        if found is None:
            raise AwayError("not written yet")
        if batch_from(found[1]).head != head:
            raise FencedError(
                f"another reader ({batch_from(found[1]).node}) speaks for this table now; this one "
                "says no more: start it again as the standby (the service does so by itself)"
            )
        self._sequence = found[0]

    @staticmethod
    def _retried(ask: Callable[[], Any]) -> Any:
        for _ in range(TRIES):
            try:
                return ask()
            except AwayError as error:
                why = str(error)
        raise OutsideError(f"the house's store does not answer ({why}); check the nats-servers")


def _other(batch: LogBatch) -> OutsideError:
    return OutsideError(
        f"record {batch.first} of reader {batch.node} does not fit this machine's log: the two "
        "logs, profiles or versions of shoe-reader differ; keep this log as evidence, and copy the "
        "other reader's here (deploy/record.md, Backup)"
    )
