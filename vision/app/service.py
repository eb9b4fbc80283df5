"""Run several tables as one service: a process for each, started again alone when it ends.

Each process reports to the service as a service reports to systemd (sd_notify), over a socket of
its own: that it is ready, alive, stopping. One that reports nothing for too long is killed. What a
process prints is passed on, with its table before each line. The loop has one thread and waits for
whatever comes first: a report, a line, the end of a process, a time.
"""

from __future__ import annotations

import json
import logging
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, TextIO

from vision.app.watchdog import Watchdog

# Seconds before a process that ended is started again, by how many of its runs in a row ended
# early. Short at first, because a table is blind meanwhile; a mistake in a file does not correct
# itself, so the last pause is long enough not to load the machine with starts.
RESTART_PAUSES_S = (1.0, 2.0, 5.0, 10.0, 30.0)
# Seconds of a run after which its end counts as the first again. Shorter than the start of a reader
# (about two), and the pauses would never grow.
STEADY_S = 60.0
# Seconds in which a reader must become ready (it may open a long log), and in which it must report
# that it is alive: as in deploy/shoe-reader.service. Shorter kills a slow one, longer leaves a
# table that hangs without a reader.
START_S = 180.0
ALIVE_S = 30.0
# Seconds for all processes to end in order, within the unit's TimeoutStopSec of 20; a reader sends
# what is left for up to 5 s. Shorter cuts that off.
STOP_S = 15.0
LOOK_S = 0.2  # seconds of one wait: how late the end of a process or a time limit is noticed
REPORT_BYTES = 256  # of a report; a longer one is cut, and none of ours is
KILLED = 3  # exit code of the service for a reader of a recording that a signal ended
PIPE_BYTES = 65536  # read from a pipe at once; a pipe of Linux holds no more

log = logging.getLogger(__name__)


# What runs one table, before the words of its job; no module comes from the working folder.
PROGRAM = (sys.executable, "-P", "-m", "vision.cli", "run", "--in-service")


@dataclass(frozen=True, slots=True)
class TableJob:
    """A table that the service runs, with the words that the command `run` is given.

    `check` returns in words why it cannot be started now, "" where it can. `again`: start it again
    when it ends, as a live table; one that reads a recording ends with it.
    """

    name: str
    words: tuple[str, ...]
    again: bool
    check: Callable[[], str]


@dataclass(slots=True)
class _Pipe:
    """The lines that a process prints on one of its streams."""

    source: IO[bytes]
    sink: TextIO
    rest: bytes = b""


@dataclass(slots=True)
class TableProcess:
    """A table's process, or the wait for its next one; instants are monotonic, in seconds."""

    job: TableJob
    socket: socket.socket
    process: subprocess.Popen[bytes] | None = None
    pipes: list[_Pipe] = field(default_factory=list)
    started_s: float = 0.0
    heard_s: float = 0.0
    due_s: float = 0.0
    ready: bool = False
    ended_early: int = 0
    restarts: int = 0
    why: str = ""  # it ended the last time, in words
    last_line: str = ""  # it printed on stderr
    code: int | None = None  # it ended with, for good


class TableService:
    """Runs the jobs until all recordings are read, or it is ended."""

    def __init__(
        self,
        jobs: Sequence[TableJob],
        *,
        program: Sequence[str] = PROGRAM,
        alive_s: float = ALIVE_S,
    ) -> None:
        """Prepare; nothing is started before `run`.

        `program` runs one table, and reports that it is alive within `alive_s`.
        """
        self._program = program
        self._alive_s = alive_s
        self._watchdog = Watchdog()
        self._folder = tempfile.TemporaryDirectory(prefix="shoe-reader-")
        self._selector = selectors.DefaultSelector()
        self.tables = [TableProcess(job, self._listen(number)) for number, job in enumerate(jobs)]
        for table in self.tables:
            self._selector.register(table.socket, selectors.EVENT_READ, partial(self._hear, table))
        self._told_ready = False
        self._stopping = False
        self._status = ""

    def run(self) -> int:
        """Return the highest exit code once all have ended; a signal ends all in order."""
        try:
            while any(table.code is None for table in self.tables):
                self._look()
        finally:
            self._stop()
        return max(table.code or 0 for table in self.tables)

    def _listen(self, number: int) -> socket.socket:
        wire = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        wire.bind(str(Path(self._folder.name, str(number))))
        wire.setblocking(False)
        return wire

    def _look(self) -> None:
        """Go round once: start what is due, hear what came, end what hangs."""
        now_s = time.monotonic()
        for table in self.tables:
            if table.process is None and table.code is None and now_s >= table.due_s:
                self._start(table)
            self._end_if_silent(table)
        self._wait(LOOK_S)
        for table in self.tables:
            if table.process is not None and table.process.poll() is not None:
                self._ended(table)
        self._report()

    def _report(self) -> None:
        """Report to systemd: ready once each table has a reader or a reason to have none."""
        self._watchdog.alive()
        if not self._told_ready and all(table.ready or table.why for table in self.tables):
            self._told_ready = True
            self._watchdog.ready()
        status = "; ".join(_state(table) for table in self.tables)
        if status != self._status:
            self._status = status
            self._watchdog.say(status)

    def _wait(self, seconds: float) -> None:
        for key, _ in self._selector.select(seconds):
            key.data()

    # --- one table -------------------------------------------------------------------------------

    def _start(self, table: TableProcess) -> None:
        why = table.job.check()
        if why:
            self._failed(table, why)
            return
        table.process = subprocess.Popen(  # noqa: S603  # our own program
            [*self._program, *table.job.words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **self._environment(table)},
            # Ctrl-C is for the service, which ends its processes in order. A session of its own is
            # a share of the processor of its own too, where the kernel groups by session.
            start_new_session=True,
        )
        table.started_s = table.heard_s = time.monotonic()
        table.ready, table.last_line = False, ""
        state = {"restarts": table.restarts, "why": table.why}
        if table.process.stdin is not None:
            table.process.stdin.write(json.dumps(state).encode() + b"\n")
            table.process.stdin.flush()
        self._follow(table, table.process.stdout, sys.stdout)
        self._follow(table, table.process.stderr, sys.stderr)

    def _environment(self, table: TableProcess) -> Mapping[str, str]:
        address = str(table.socket.getsockname())
        return {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": str(round(1e6 * self._alive_s))}

    def _follow(self, table: TableProcess, source: IO[bytes] | None, sink: TextIO) -> None:
        if source is not None:
            pipe = _Pipe(source, sink)
            os.set_blocking(source.fileno(), False)
            table.pipes.append(pipe)
            self._selector.register(source, selectors.EVENT_READ, partial(self._read, table, pipe))

    def _hear(self, table: TableProcess) -> None:
        """Take a report; that it stops in order needs none."""
        words = table.socket.recv(REPORT_BYTES)
        table.heard_s = time.monotonic()
        if words == b"READY=1" and not table.ready:
            table.ready = True
            log.info("table %s: ready", table.job.name)

    def _end_if_silent(self, table: TableProcess) -> None:
        limit_s = self._alive_s if table.ready else START_S
        if table.process is not None and time.monotonic() - table.heard_s > limit_s:
            table.last_line = f"it hung: no report for {limit_s:g} s"
            table.process.kill()
            table.heard_s = time.monotonic()

    def _ended(self, table: TableProcess) -> None:
        """Take note that a process has ended, and when its next one is due."""
        process, table.process = table.process, None
        for pipe in table.pipes:
            while self._read(table, pipe):
                pass
            self._selector.unregister(pipe.source)
            pipe.source.close()
        table.pipes.clear()
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        code = process.returncode
        if self._stopping or not table.job.again:
            table.code = KILLED if code < 0 else code
            return
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"code {code}"
        if time.monotonic() - table.started_s >= STEADY_S:
            table.ended_early = 0
        self._failed(table, f"ended with {how}" + f": {table.last_line}" * bool(table.last_line))

    def _failed(self, table: TableProcess, why: str) -> None:
        """Say why a table has no reader, and when it is tried again."""
        if not table.job.again:
            table.code = 2
        pause_s = RESTART_PAUSES_S[min(table.ended_early, len(RESTART_PAUSES_S) - 1)]
        table.why, table.due_s = why, time.monotonic() + pause_s
        table.ended_early += 1
        table.restarts += 1
        again = f"; it starts again in {pause_s:g} s, the others go on" * table.job.again
        log.error("table %s: %s%s", table.job.name, why, again)

    def _read(self, table: TableProcess, pipe: _Pipe) -> bool:
        """Pass on the lines that came; return whether there were any."""
        try:
            data = os.read(pipe.source.fileno(), PIPE_BYTES)
        except BlockingIOError:
            return False
        *lines, pipe.rest = (pipe.rest + data).split(b"\n")
        if not data and pipe.rest:
            lines, pipe.rest = [pipe.rest], b""
        for line in lines:
            text = line.decode("utf-8", "replace")
            if pipe.sink is sys.stderr:
                table.last_line = _words(text)
            print(_labelled(text, table.job.name), file=pipe.sink, flush=True)
        return bool(data)

    # --- the end ---------------------------------------------------------------------------------

    def _stop(self) -> None:
        """End every process in order, those that take too long at once."""
        self._stopping = True
        self._watchdog.stopping()
        running = [table for table in self.tables if table.process is not None]
        for table in running:
            _signal(table, signal.SIGTERM)
        deadline_s = time.monotonic() + STOP_S
        while any(_runs(table) for table in running) and time.monotonic() < deadline_s:
            self._wait(LOOK_S)
        for table in running:
            if _runs(table):
                log.error("table %s: did not end within %g s; killed", table.job.name, STOP_S)
                _signal(table, signal.SIGKILL)
            if table.process is not None:
                table.process.wait()
            self._ended(table)
        self._selector.close()
        for table in self.tables:
            table.socket.close()
        self._folder.cleanup()


def _state(table: TableProcess) -> str:
    """Return in words how a table stands."""
    if table.process is not None:
        return f"table {table.job.name} {'runs' if table.ready else 'starts'}"
    return f"table {table.job.name} has NO reader: {table.why}" if table.why else ""


def _runs(table: TableProcess) -> bool:
    return table.process is not None and table.process.poll() is None


def _signal(table: TableProcess, number: signal.Signals) -> None:
    if table.process is not None:
        table.process.send_signal(number)


def _labelled(line: str, table: str) -> str:
    """Return a line with the table it is of; a JSON object stays one."""
    if line.startswith('{"'):
        return f'{{"table": {json.dumps(table)}, {line[1:]}'
    return f"{table}: {line}"


def _words(line: str) -> str:
    """Return what a line of the log says, without the program's name or the JSON around it."""
    try:
        found = json.loads(line)
    except ValueError:
        return line.removeprefix("shoe-reader: ")
    return str(found.get("message", line)) if isinstance(found, dict) else line


# --- the process of a table ----------------------------------------------------------------------


def obey_service(orders: int = 0) -> dict[str, object]:
    """Return what the service knows of this table, and from then on end in order with it.

    `orders` is the handle of the standard input: one line of JSON, and its end when the service is
    gone. It is read unbuffered, because a program cannot end while a thread holds a buffer.
    """
    line = b""
    while not line.endswith(b"\n") and (more := os.read(orders, 1)):
        line += more

    def end_with_service() -> None:
        os.read(orders, 1)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=end_with_service, name="service", daemon=True).start()
    state: dict[str, object] = json.loads(line or b"{}")
    return state
