"""Have work done by whoever has a core: this process, workers of its own, or a cluster of Dask.

A task is a function of its module and one value; it gives the same wherever it runs. What Dask
loses with a worker it gives to another one; where it loses the scheduler the run ends, and the next
one goes on with what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar
from urllib.parse import urlsplit

from distributed import Client, Future, LocalCluster, as_completed
from distributed.scheduler import KilledWorker
from distributed.security import Security

from vision.errors import ConfigurationError, OutsideError, ShoeReaderError

# Where only this machine's own programs reach a port.
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
# Seconds in which a scheduler must answer.
ANSWER_S = 10.0

T = TypeVar("T")
R = TypeVar("R")
Results = Iterator[tuple[str, R | ShoeReaderError]]


class Scheduler(NamedTuple):
    """The address of a Dask scheduler, and the certificates to meet it with."""

    address: str
    security: Security | None


class Pool(Protocol):
    """Does the work of each task and yields the name of each with its result as it is done.

    A task that cannot be done has its error for a result, and the others go on.
    """

    def __call__(self, work: Callable[[T], R], tasks: Mapping[str, T]) -> Results[R]:
        """Do a function of its module for each value."""


def here(work: Callable[[T], R], tasks: Mapping[str, T]) -> Results[R]:
    """Do one task after another in this process; a `Pool`."""
    for name, task in tasks.items():
        try:
            yield name, work(task)
        except ShoeReaderError as error:
            yield name, error


class Cluster:
    """Has tasks done by the workers of a Dask scheduler; a `Pool`."""

    def __init__(self, at: Scheduler) -> None:
        self._address, self._security = at

    def __call__(self, work: Callable[[T], R], tasks: Mapping[str, T]) -> Results[R]:
        """Do the work of each task; OutsideError without a scheduler."""
        left = dict(tasks)
        if not left:
            return
        with self._client() as client:
            waiting = [client.submit(work, task, key=name) for name, task in tasks.items()]
            for future in as_completed(waiting, loop=client.loop):
                try:
                    result = _result(future.key, future)
                except (CancelledError, OSError):
                    break  # it went away with what held it
                del left[future.key]
                yield future.key, result
        if left:
            raise OutsideError(
                f"the scheduler at {self._address} is gone, {len(left)} tasks are left; start it "
                "again, and give the same command: what was done is kept"
            )

    def _client(self) -> Client:
        try:
            return Client(
                self._address, security=self._security, timeout=ANSWER_S, set_as_default=False
            )
        except OSError as error:
            raise OutsideError(
                f"no scheduler answers at {self._address} ({error}); start one with "
                "`dask scheduler`, and workers with `dask worker`, and give the same "
                "command again: what was done is kept"
            ) from error


def own_workers(count: int, closing: ExitStack) -> Scheduler:
    """Start so many workers on this machine, a core each; return where they are asked.

    They run what they are sent: nobody else on this machine has the certificate of this run.
    """
    security = Security.temporary()
    cluster = LocalCluster(
        n_workers=count,
        threads_per_worker=1,
        dashboard_address=None,
        silence_logs="CRITICAL",
        protocol="tls://",
        security=security,
    )
    closing.enter_context(cluster)
    return Scheduler(str(cluster.scheduler_address), security)


def scheduler_at(address: str, tls: Sequence[str] | None) -> Scheduler:
    """Return where a scheduler is asked; `tls` are files: authority, own certificate, its key.

    ConfigurationError where strangers could reach it: workers run what anybody sends them.
    """
    scheme, _, where = address.rpartition("://")
    if tls is None and (scheme == "tls" or urlsplit(f"//{where}").hostname not in LOOPBACK):
        raise ConfigurationError(
            f"--scheduler {address}: a scheduler runs what anybody sends it; start "
            "both with certificates (dask scheduler --tls-ca-file ...), and give the address "
            "as tls://HOST:PORT with --tls CA CERTIFICATE KEY"
        )
    if tls is None:
        return Scheduler(address, None)
    if scheme != "tls":
        raise ConfigurationError(
            f"--scheduler {address}: --tls is for tls addresses; write tls://{where}"
        )
    missing = [name for name in tls if not Path(name).is_file()]
    if missing:
        raise ConfigurationError(f"--tls: there is no file {', '.join(missing)}; give three files")
    authority, certificate, key = tls
    security = Security(
        tls_ca_file=authority,
        tls_client_cert=certificate,
        tls_client_key=key,
        require_encryption=True,
    )
    return Scheduler(address, security)


def _result(name: str, future: Future[R]) -> Any:
    """Return what a task gave; an error that is no defect as a value."""
    error = future.exception() if future.status == "error" else None
    if isinstance(error, KilledWorker):
        return OutsideError(
            f"{name}: {error.allowed_failures} workers ended while they read it; see their logs, "
            "and give each 1 GB of memory"
        )
    if isinstance(error, ShoeReaderError):
        return error
    return future.result()
