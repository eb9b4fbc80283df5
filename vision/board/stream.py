"""Server-sent events: what a feed tells, to one browser, with a tick each second.

The tick proves that the line holds and says how fresh the tables are. Coalescing bounds what a
browser that has stopped reading can cost.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any

from starlette.responses import StreamingResponse

from vision.board.feed import Feed
from vision.board.table_state import Told

TICK_S = 1.0
# So many places that changed and were not fetched: the browser is sent away, and comes anew.
BEHIND = 5000


class _Viewer:
    """One browser: the changes it has not been sent yet, the newest of each place only."""

    def __init__(self, tables: Sequence[str]) -> None:
        self._loop = asyncio.get_running_loop()
        self._tables = frozenset(tables)
        self._changes: dict[tuple[str, str], Told] = {}
        self._news = asyncio.Event()

    def hear(self, told: Told) -> None:
        """Take a change; called from the feed's thread."""
        if told.table in self._tables:
            self._loop.call_soon_threadsafe(self._add, told)

    def _add(self, told: Told) -> None:
        self._changes[told.table, told.place] = told
        self._news.set()

    async def changes(self) -> list[Told]:
        """Return what has changed, waiting at most until the next tick."""
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
        house: Mapping[str, Mapping[str, Any]],
        may_hear: Callable[[Told], bool] = lambda _: True,
    ) -> None:
        """Prepare a stream of what the browser may hear; `house` is what the board itself says."""
        self._feed = feed
        self._tables = tuple(tables)
        self._house = house
        self._may_hear = may_hear

    def response(self, method: str, open_still: Callable[[], bool]) -> StreamingResponse:
        """Return the answer to a browser; it ends when `open_still` says so.

        HEAD asks for no events: what goes on after it would hold up the connection.
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
            house = {table: self._house[table] for table in self._tables}
            yield "retry: 1000\n\n" + event("reset", json.dumps(house)) + self._tick()
            yield self._told(state)
            sent_s = time.monotonic()
            while open_still():
                changes = await viewer.changes()
                if len(changes) > BEHIND:
                    return
                text = self._told(changes)
                if time.monotonic() - sent_s >= TICK_S / 2:
                    text, sent_s = text + self._tick(), time.monotonic()
                if text:
                    yield text
        finally:
            self._feed.unsubscribe(viewer.hear)

    def _told(self, changes: Iterable[Told]) -> str:
        return "".join(event("told", told.text) for told in changes if self._may_hear(told))

    def _tick(self) -> str:
        silent = {table: round(self._feed.silent_s(table), 1) for table in self._tables}
        return event("tick", json.dumps({"link": self._feed.connected, "silent_s": silent}))


def event(kind: str, data: str) -> str:
    """Return one server-sent event; `data` is one line."""
    return f"event: {kind}\ndata: {data}\n\n"
