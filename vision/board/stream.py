"""Server-sent events: the changes of a feed for one browser, with a tick each second.

The tick proves that the connection stands, and has the age of each table's last message. Changes
that were not fetched yet are merged by key, which bounds what a browser that has stopped reading
can cost.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any

from starlette.responses import StreamingResponse

from vision.board.feed import Feed
from vision.board.table_state import Update

# Seconds between two ticks; the pages show a table as silent after some missed ones. Shorter costs
# traffic of every open page.
TICK_S = 1.0
# Keys that changed and were not fetched after which the connection is closed; the browser connects
# again and begins with the whole state.
BEHIND = 5000


class _Viewer:
    """One browser: the changes that were not sent to it yet, the newest of each key only."""

    def __init__(self, tables: Sequence[str]) -> None:
        self._loop = asyncio.get_running_loop()
        self._tables = frozenset(tables)
        self._changes: dict[tuple[str, str], Update] = {}
        self._news = asyncio.Event()

    def hear(self, update: Update) -> None:
        """Take a change; called from the feed's thread."""
        if update.table in self._tables:
            self._loop.call_soon_threadsafe(self._add, update)

    def _add(self, update: Update) -> None:
        self._changes[update.table, update.key] = update
        self._news.set()

    async def changes(self) -> list[Update]:
        """Return the changes; wait for them until the next tick at most."""
        try:
            await asyncio.wait_for(self._news.wait(), TICK_S)
        except TimeoutError:
            return []
        self._news.clear()
        changes, self._changes = list(self._changes.values()), {}
        return changes


class Stream:
    """The events of some tables of a feed, for as long as a browser may have them."""

    def __init__(
        self,
        feed: Feed,
        tables: Sequence[str],
        *,
        facts: Mapping[str, Mapping[str, Any]],
        may_hear: Callable[[Update], bool] = lambda _: True,
    ) -> None:
        """Prepare a stream of what the browser may hear; `facts` are the board's own by table."""
        self._feed = feed
        self._tables = tuple(tables)
        self._facts = facts
        self._may_hear = may_hear

    def response(self, method: str, open_still: Callable[[], bool]) -> StreamingResponse:
        """Return the answer to a browser; it ends when `open_still` returns False.

        A HEAD request gets no events: they would hold up the connection.
        """
        return StreamingResponse(
            self._events(open_still if method == "GET" else lambda: False),
            media_type="text/event-stream",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )

    async def _events(self, open_still: Callable[[], bool]) -> AsyncIterator[str]:
        viewer = _Viewer(self._tables)
        state = self._feed.subscribe(viewer.hear, self._tables)
        try:
            facts = {table: self._facts[table] for table in self._tables}
            yield "retry: 1000\n\n" + event("reset", json.dumps(facts)) + self._tick()
            yield self._updates(state)
            sent_s = time.monotonic()
            while open_still():
                changes = await viewer.changes()
                if len(changes) > BEHIND:
                    return
                text = self._updates(changes)
                if time.monotonic() - sent_s >= TICK_S / 2:
                    text, sent_s = text + self._tick(), time.monotonic()
                if text:
                    yield text
        finally:
            self._feed.unsubscribe(viewer.hear)

    def _updates(self, changes: Iterable[Update]) -> str:
        return "".join(event("update", change.text) for change in changes if self._may_hear(change))

    def _tick(self) -> str:
        silent = {table: round(self._feed.silent_s(table), 1) for table in self._tables}
        return event("tick", json.dumps({"link": self._feed.connected, "silent_s": silent}))


def event(kind: str, data: str) -> str:
    """Return a server-sent event; `data` is one line."""
    return f"event: {kind}\ndata: {data}\n\n"
