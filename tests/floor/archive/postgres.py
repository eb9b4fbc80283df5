"""A PostgreSQL of one's own: a private cluster in a folder, on a free port, to be killed."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Self

from tests.mqtt.mqtt_tools import free_port

FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
# A process that is killed loses nothing without fsync: only a power cut of the machine would.
SETTINGS = "shared_buffers=32MB\nmax_connections=20\nunix_socket_directories=''\nfsync=off\n"


class Postgres:
    """A database server that only this machine reaches; PostgreSQL refuses to run as root."""

    def __init__(self) -> None:
        """Make the cluster, owned by an unprivileged user."""
        self.port = free_port()
        self._folder = Path(tempfile.mkdtemp(prefix="archive-postgres-"))
        self._data = self._folder / "data"
        self._user = pwd.getpwnam("postgres") if os.geteuid() == 0 else None
        if self._user is not None:
            os.chown(self._folder, self._user.pw_uid, self._user.pw_gid)
        self._run("initdb", "-D", str(self._data), "-U", "archive", "-A", "trust", "-N")
        with (self._data / "postgresql.conf").open("a") as file:
            file.write(SETTINGS)

    @property
    def address(self) -> str:
        """Where the archive finds it."""
        return f"postgresql://archive@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Start the server and wait until it answers."""
        log = str(self._folder / "log")
        self._run(
            "pg_ctl", "-D", str(self._data), "-o", f"-p {self.port}", "-l", log, "-w", "start"
        )

    def kill(self) -> None:
        """Kill it, as a crash does: no process of it writes any more."""
        number = int((self._data / "postmaster.pid").read_text().split()[0])
        os.kill(number, signal.SIGKILL)
        deadline = time.monotonic() + 20
        while Path(f"/proc/{number}").exists() and time.monotonic() < deadline:
            time.sleep(0.02)

    def close(self) -> None:
        """End the server and delete the cluster."""
        self._run("pg_ctl", "-D", str(self._data), "-m", "immediate", "stop", check=False)
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, name: str, *words: str, check: bool = True) -> None:
        who: dict[str, Any] = (
            {} if self._user is None else {"user": self._user.pw_uid, "group": self._user.pw_gid}
        )
        subprocess.run(
            [str(FOLDERS[-1] / name), *words],
            check=check,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self._folder,
            **who,
        )
