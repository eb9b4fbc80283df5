"""A command of this program, run for a page: what it says, and how it ended.

One at a time for a table. Knows neither what the commands do nor who asked for them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence
from typing import IO, Any

KEPT_LINES = 200
END_S = 5.0


class Job:
    """The last command that was run for a table; safe to use from several threads."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._words: tuple[str, ...] = ()
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)

    def start(self, words: Sequence[str]) -> bool:
        """Run a command, its words given; False where another is still running."""
        with self._mutex:
            if self._running:
                return False
            self._words, self._lines = tuple(words), deque(maxlen=KEPT_LINES)
            self._process = subprocess.Popen(  # noqa: S603  # our own program
                [sys.executable, "-m", "vision.cli", *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                start_new_session=True,
            )
            assert self._process.stdout is not None  # noqa: S101
            out = (self._process.stdout, self._lines)
            threading.Thread(target=_listen, args=out, name="job", daemon=True).start()
            return True

    def stop(self) -> None:
        """End the command that runs, in order if it can."""
        process = self._process
        if process is None or process.poll() is not None:
            return
        process.terminate()
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()

    def told(self) -> dict[str, Any]:
        """Return which command it is, its lines so far, and its exit code, None while it runs."""
        with self._mutex:
            code = None if self._process is None else self._process.poll()
            return {
                "name": self._words[0] if self._words else "",
                "running": self._running,
                "code": code,
                "lines": list(self._lines),
            }

    @property
    def _running(self) -> bool:
        return self._process is not None and self._process.poll() is None


def _listen(out: IO[str], lines: deque[str]) -> None:
    with out:
        for line in out:
            lines.append(line.rstrip())
