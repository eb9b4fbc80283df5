"""Asks tables to say again what a desk has missed: after its own start, and after lost links.

It asks for ranges of message numbers, the newest first; what a table keeps no more it refuses.
"""

from __future__ import annotations

import json
import secrets
import threading

from vision.board.desk.history import History
from vision.board.feed import Feed

LOOK_BACK = 3000
RANGE = 1000
POLL_S = 0.5


class CatchUp:
    """Keeps the history of a feed's tables whole."""

    def __init__(self, feed: Feed, history: History, name: str) -> None:
        """Prepare; `name` is the desk's, told with each request."""
        self._feed = feed
        self._history = history
        self._name = name
        self._known = dict.fromkeys(feed.tables, 0)
        self._asked = dict.fromkeys(feed.tables, 0)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="board-catch-up", daemon=True)

    def start(self) -> None:
        """Begin to watch the link."""
        self._thread.start()

    def stop(self) -> None:
        """Ask no more."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(timeout=3.0)

    def _run(self) -> None:
        while not self._closing.wait(POLL_S):
            connection = self._feed.connections
            for table in self._feed.tables:
                newest = self._history.newest(table)
                if not self._feed.connected or not newest:
                    continue
                if self._asked[table] != connection:
                    self._asked[table] = connection
                    self._ask(table, newest)
                self._known[table] = newest

    def _ask(self, table: str, newest: int) -> None:
        oldest = max(self._known[table], newest - LOOK_BACK) + 1
        last = newest
        while last >= oldest:
            first = max(oldest, last - RANGE + 1)
            request = {"first": first, "last": last, "by": self._name, "ref": secrets.token_hex(8)}
            self._feed.publish(table, "cmd/replay", json.dumps(request).encode())
            last = first - 1
