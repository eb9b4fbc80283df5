"""Take orders into the log of a recording, which no reader writes any more.

It is a reader without a camera: its run has no models, and nothing of the game happens in it. So
answers are verified, signed and chained there as at a table that runs.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from pathlib import Path
from typing import Self

from vision.app.journal import Destinations, Journal
from vision.clock import CLOCK, now_ms
from vision.config.table import TableConfig
from vision.errors import ConfigurationError, ShoeReaderError
from vision.game.events import Started
from vision.storage.log_reader import unsent_messages

LOOK_S = 0.02  # from one look at what has come to the next: nobody notices so short a wait
ALIVE_S = 1.0  # between signs of life, as a reader gives them: without them no desk sends anything

log = logging.getLogger(__name__)


class Clerk:
    """Writes the log while the block lasts."""

    def __init__(self, config: TableConfig, path: Path, last: Started | None) -> None:
        """Open the log; ConfigurationError where it waits for its reader, OutsideError.

        `last` is its last run: what a run of this kind that was killed has not sent waits for us.
        """
        if unsent_messages(path) and (last is None or last.models):
            raise ConfigurationError(
                f"{path}: messages of it are not sent yet; start its reader, and leave out --log"
            )
        self._journal = Journal(config, Destinations(path))
        CLOCK.not_before(self._journal.table.clock)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="clerk", daemon=True)

    def __enter__(self) -> Self:
        self._journal.start(self._at, uuid.uuid4().hex[:12], ())
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        with self._journal:
            self._journal.stop(self._at)

    @property
    def _at(self) -> int:
        return max(now_ms(), self._journal.table.clock)

    def _run(self) -> None:
        alive_s = 0.0
        try:
            while not self._over.wait(LOOK_S):
                self._journal.take(self._journal.orders(self._at))
                if time.monotonic() - alive_s > ALIVE_S:
                    alive_s = time.monotonic()
                    self._journal.publish_health(now_ms(), {})
        except ShoeReaderError as error:
            log.error(
                "answers not in the log: %s; they are kept and written the next time",
                error,
            )
