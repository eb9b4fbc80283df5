"""Work is done wherever there is a core, and nothing is lost with a worker or the scheduler."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from distributed import Client

from tests.mqtt.mqtt_tools import free_port
from vision.errors import ConfigurationError, OutsideError
from vision.floor.reread.cluster import Cluster, here, own_workers, scheduler_at

SCRIPTS = Path(sys.executable).parent


def double(number: int) -> int:
    """Return twice a number; 13 brings misfortune."""
    if number == 13:
        raise OutsideError("13: misfortune")
    return 2 * number


def slowly(task: tuple[int, str]) -> tuple[int, int]:
    """Return twice a number and who did it, after a moment; say in a file that it was begun."""
    number, folder = task
    with Path(folder, f"{number}-{os.getpid()}").open("w", encoding="ascii"):
        time.sleep(0.5)
    return 2 * number, os.getpid()


def test_here_does_each_and_gives_errors_as_values() -> None:
    """One that cannot be done keeps no other from being done."""
    found = dict(here(double, {"a": 1, "b": 13, "c": 3}))
    assert (found["a"], found["c"]) == (2, 6)
    assert isinstance(found["b"], OutsideError)


@pytest.mark.slow
def test_killed_worker_loses_nothing(tmp_path: Path) -> None:
    """What a killed worker had is done by another one, and an error stays that of its task."""
    with ExitStack() as closing:
        cluster = Cluster(own_workers(2, closing))
        assert dict(cluster(double, {"a": 1, "c": 3})) == {"a": 2, "c": 6}
        assert isinstance(dict(cluster(double, {"b": 13}))["b"], OutsideError)
        tasks = {f"t{number}": (number, str(tmp_path)) for number in range(8)}
        found: dict[str, tuple[int, int]] = {}
        for name, result in cluster(slowly, tasks):
            if not found:
                running = {int(path.name.split("-")[1]) for path in tmp_path.iterdir()}
                os.kill(max(running), signal.SIGKILL)
            assert isinstance(result, tuple)
            found[name] = result
    assert {name: result[0] for name, result in found.items()} == {
        name: 2 * number for name, (number, _) in tasks.items()
    }


@pytest.mark.slow
def test_scheduler_that_is_lost_ends_the_run_with_what_to_do(tmp_path: Path) -> None:
    """What came back before is there, and the words say to give the command again."""
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    with ExitStack() as closing:
        scheduler = _begin(closing, "scheduler", "--port", str(port), "--no-dashboard")
        _begin(closing, "worker", address, "--nthreads", "1", "--death-timeout", "60")
        tasks = {f"t{number}": (number, str(tmp_path)) for number in range(6)}
        results = Cluster(scheduler_at(address, None))(slowly, tasks)
        name, result = next(results)
        assert name in tasks
        assert not isinstance(result, Exception)
        scheduler.kill()
        scheduler.wait()
        with pytest.raises(OutsideError, match="give the same command"):
            list(results)
        with pytest.raises(OutsideError, match="dask scheduler"):
            dict(Cluster(scheduler_at(address, None))(double, {"a": 1}))


def _begin(closing: ExitStack, what: str, *words: str) -> subprocess.Popen[bytes]:
    command = [str(SCRIPTS / "dask"), what, *words]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=_paths()
    )
    closing.callback(_end, process)
    return process


def _paths() -> dict[str, str]:
    """Return the environment in which workers find the tests' functions."""
    root = str(Path(__file__).parents[3])
    return {**os.environ, "PYTHONPATH": root}


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("tcp://scheduler.house.example:8786", "a scheduler runs what anybody sends it"),
        ("scheduler.house.example:8786", "a scheduler runs what anybody sends it"),
        ("tls://127.0.0.1:8786", "a scheduler runs what anybody sends it"),
        ("tcp://0.0.0.0:8786", "a scheduler runs what anybody sends it"),
    ],
)
def test_scheduler_of_the_network_is_met_with_certificates_only(address: str, words: str) -> None:
    """Workers run what they are sent, so strangers must not reach them."""
    with pytest.raises(ConfigurationError, match=words):
        scheduler_at(address, None)


def test_own_workers_are_closed_to_other_programs() -> None:
    """They listen with certificates of this run."""
    with ExitStack() as closing:
        at = own_workers(1, closing)
        assert at.address.startswith("tls://")
        with pytest.raises(OSError, match=r"(?i)tls|ssl|timed out|security|reset"):
            Client(at.address.replace("tls://", "tcp://"), timeout=3, set_as_default=False)
