"""The house's store in NATS, for a pair of readers: the records of one table, and its lease.

Records go into a JetStream stream of the table's own: each publish names the sequence that must be
the last, so that of two writers only one succeeds. The lease is a key of a key-value bucket. Calls
block for at most `ANSWER_S`; a thread of its own holds the connection and makes it again for ever.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import ssl
import threading
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import nats
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.api import KeyValueConfig, RetentionPolicy, StorageType, StreamConfig
from nats.js.errors import APIError, KeyNotFoundError, KeyWrongLastSequenceError, NotFoundError
from nats.js.kv import KeyValue

from vision.errors import OutsideError

BUCKET = "shoe-reader-lease"
STREAM = "shoe-reader-log"
# Seconds that the store may take to answer. It takes milliseconds, and an election of its leader 4
# to 9 s. Longer delays the discovery that a lease is lost; shorter asks twice on a busy machine.
ANSWER_S = 1.0
# Seconds that the first connection of a run may take, with its streams: more than an election.
START_S = 20.0
# Seconds between tries to connect again, and between two signs of life.
RECONNECT_S = 0.2
PING_S = 1
# Seconds for which records stay in the store: a standby that was away for longer is given a
# copy of the other's log. Longer takes room on each broker (about 1 GB a table and month).
KEEP_S = 14 * 86_400
# JetStream's code for "wrong last sequence".
WRONG_LAST = 10071

T = TypeVar("T")


class AwayError(Exception):
    """The store does not answer now; what was asked may or may not have been done."""


class OvertakenError(Exception):
    """Somebody else has written meanwhile."""


@dataclass(frozen=True, slots=True)
class HouseAccount:
    """Where the store is, and who comes to it; `key` is SITE.TABLE."""

    servers: tuple[str, ...]
    key: str
    replicas: int
    username: str = ""
    password: str = field(default="", repr=False)
    tls_ca: str = ""


class HouseStore:
    """The store of one table, from `open` on; safe to use from several threads."""

    def __init__(self, account: HouseAccount) -> None:
        self._account = account
        self._stream = f"{STREAM}-{account.key.replace('.', '-')}"
        self._subject = f"shoe-reader.log.{account.key}"
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="house-store", daemon=True
        )
        self._client: Client | None = None
        self._js: JetStreamContext  # from `open` on, as the bucket of leases
        self._bucket: KeyValue

    def open(self) -> None:
        """Connect, and make the table's stream and the bucket where they are not; OutsideError."""
        self._thread.start()
        try:
            self._future(self._connect()).result(START_S)
        except (TimeoutError, NatsError, OSError) as error:
            self.close()
            raise _unusable(self._account, error) from error

    def close(self) -> None:
        """Disconnect."""
        if self._thread.is_alive():
            if self._client is not None:
                done = self._future(self._client.close())
                concurrent.futures.wait([done], ANSWER_S)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(ANSWER_S)

    def append(self, data: bytes, after: int) -> concurrent.futures.Future[int]:
        """Begin to write behind sequence `after`; the future has the new one, or OvertakenError."""
        return self._future(self._append(data, after))

    def read(self, after: int) -> tuple[int, bytes] | None:
        """Return the first message behind sequence `after`, `None` where there is none yet."""
        wanted = self._js.get_msg(self._stream, seq=after + 1, subject=self._subject, next=True)
        try:
            found = self._wait(wanted, NotFoundError)
        except NotFoundError:
            return None
        return found.seq or 0, found.data or b""

    def bounds(self) -> tuple[int, int]:
        """Return the first and the last sequence that are there; (1, 0) where nothing ever was."""
        state = self._wait(self._js.stream_info(self._stream)).state
        return max(1, state.first_seq), state.last_seq

    def lease(self) -> tuple[bytes, int]:
        """Return the lease and its revision; (b"", 0) where nobody ever had one.

        Empty with a revision where somebody deleted it.
        """
        try:
            found = self._wait(self._bucket.get(self._account.key), KeyNotFoundError)
        except KeyNotFoundError as error:  # with the mark of whoever deleted it, if anybody did
            return b"", 0 if error.entry is None else error.entry.revision or 0
        return found.value or b"", found.revision or 0

    def put_lease(self, data: bytes, revision: int) -> int:
        """Replace the lease of that revision, and return the new one; OvertakenError."""
        try:
            done = self._bucket.update(self._account.key, data, last=revision)
            return self._wait(done, KeyWrongLastSequenceError)
        except KeyWrongLastSequenceError as error:
            raise OvertakenError from error

    # --- the thread ----------------------------------------------------------------------------

    def _future(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _wait(self, work: Coroutine[Any, Any, T], *answers: type[NatsError]) -> T:
        """Return what comes of it; AwayError, or one of `answers`, which say that it was done."""
        future = self._future(work)
        try:
            return future.result(2 * ANSWER_S)
        except answers:
            raise
        except (TimeoutError, NatsError, OSError) as error:
            future.cancel()
            raise AwayError(str(error) or "no answer") from error

    async def _connect(self) -> None:
        self._client = await _joined(self._account, reconnect=True)
        self._js = self._client.jetstream(timeout=ANSWER_S)
        while True:
            try:
                await self._make_places(self._js)
            except (TimeoutError, NatsError):
                await asyncio.sleep(RECONNECT_S)
            else:
                return

    async def _make_places(self, js: JetStreamContext) -> None:
        try:
            await js.stream_info(self._stream)
        except NotFoundError:
            wanted = StreamConfig(
                name=self._stream,
                subjects=[self._subject],
                retention=RetentionPolicy.LIMITS,
                storage=StorageType.FILE,
                max_age=KEEP_S,
                num_replicas=self._account.replicas,
            )
            await js.add_stream(wanted)
        try:
            self._bucket = await js.key_value(BUCKET)
        except NotFoundError:
            settings = KeyValueConfig(BUCKET, history=1, replicas=self._account.replicas)
            self._bucket = await js.create_key_value(settings)

    async def _append(self, data: bytes, after: int) -> int:
        try:
            done = await self._js.publish(
                self._subject,
                data,
                timeout=ANSWER_S,
                headers={"Nats-Expected-Last-Sequence": f"{after}"},
            )
        except (TimeoutError, NatsError, OSError) as error:
            if isinstance(error, APIError) and error.err_code == WRONG_LAST:
                raise OvertakenError from error
            raise AwayError(str(error) or "no answer") from error
        return done.seq


async def _ignore(_error: Exception) -> None:
    """Say nothing of a connection that is made again: who asks learns that the store is away."""


async def _joined(account: HouseAccount, *, reconnect: bool) -> Client:
    context = ssl.create_default_context(cafile=account.tls_ca) if account.tls_ca else None
    return await nats.connect(
        servers=list(account.servers),
        user=account.username or None,
        password=account.password or None,
        tls=context,
        inbox_prefix=f"_INBOX.{account.key}".encode(),
        connect_timeout=ANSWER_S,
        allow_reconnect=reconnect,
        reconnect_time_wait=RECONNECT_S,
        max_reconnect_attempts=-1 if reconnect else 1,
        ping_interval=PING_S,
        error_cb=_ignore,
    )


def _unusable(account: HouseAccount, error: Exception) -> OutsideError:
    return OutsideError(
        f"the house's store at {', '.join(account.servers)} cannot be used: {error or 'no answer'};"
        " start the nats-servers, or check [standby] servers, username and the rights there"
    )


def reachable(account: HouseAccount) -> Iterator[str]:
    """Yield each server of the store once it has let us in; OutsideError where one does not."""

    async def join(server: HouseAccount) -> None:
        await (await _joined(server, reconnect=False)).close()

    for server in account.servers:
        one = replace(account, servers=(server,))
        try:
            asyncio.run(asyncio.wait_for(join(one), 2 * ANSWER_S))
        except (TimeoutError, NatsError, OSError) as error:
            raise _unusable(one, error) from error
        yield server
