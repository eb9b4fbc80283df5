"""Take orders into the log of a recording, which no reader writes any more.

It is a reader without a camera: its run has no models, and nothing of the game happens in it. So
answers are verified, signed and chained there as at a table that runs.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vision.app.journal import Journal
from vision.app.run_log import Destinations, new_boot
from vision.clock import CLOCK, now_ms
from vision.config.table import TableConfig
from vision.errors import ConfigurationError, ShoeReaderError
from vision.game.events import Started
from vision.storage.log_reader import unsent_messages

LOOK_S = 0.02  # from one look at what has come to the next: nobody notices so short a wait
ALIVE_S = 1.0  # between signs of life, as a reader gives them: without them no desk sends anything

log = logging.getLogger(__name__)


@contextmanager
def clerk(config: TableConfig, path: Path, last: Started | None) -> Iterator[None]:
    """Write the log while the block lasts; ConfigurationError where it waits for its reader.

    `last` is its last run: what a run of this kind that was killed has not sent waits for us.
    OutsideError where the log cannot be written.
    """
    if unsent_messages(path) and (last is None or last.models):
        raise ConfigurationError(
            f"{path}: messages of it are not sent yet; start its reader, and leave out --log"
        )
    journal, over = Journal(config, Destinations(path)), threading.Event()
    CLOCK.not_before(journal.table.clock)
    journal.start(_at(journal), new_boot(), ())
    thread = threading.Thread(target=_take, args=(journal, over), name="clerk", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        with journal:
            journal.stop(_at(journal))


def _at(journal: Journal) -> int:
    return max(now_ms(), journal.table.clock)


def _take(journal: Journal, over: threading.Event) -> None:
    alive_s = 0.0
    try:
        while not over.wait(LOOK_S):
            journal.take(journal.link.orders(_at(journal)))
            if time.monotonic() - alive_s > ALIVE_S:
                alive_s = time.monotonic()
                journal.link.publish_health(now_ms(), {})
    except ShoeReaderError as error:
        log.error("answers not in the log: %s; they are kept and written the next time", error)
