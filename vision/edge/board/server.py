"""Serves the board to browsers: one page, its style and script, and a stream of events.

Takes what a `Feed` knows and adds nothing; a browser can ask for nothing else.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import AsyncIterator
from importlib.resources import files
from types import TracebackType
from typing import Any, Self

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from vision.edge.board.feed import Feed, Payload
from vision.errors import OutsideError

TICK_S = 1.0
START_S = 10.0
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
PAGES = {
    "/": ("board.html", "text/html"),
    "/board.css": ("board.css", "text/css"),
    "/board.js": ("board.js", "text/javascript"),
    "/cards.js": ("cards.js", "text/javascript"),
    "/roads.js": ("roads.js", "text/javascript"),
}


class _Viewer:
    """One browser: the changes it has not been sent yet, the newest of each place only."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._changes: dict[str, tuple[str, Payload | None]] = {}
        self._news = asyncio.Event()

    def hear(self, topic: str, payload: Payload | None) -> None:
        """Take a change; called from the feed's thread."""
        self._loop.call_soon_threadsafe(self._add, topic, payload)

    def _add(self, topic: str, payload: Payload | None) -> None:
        # Coalescing bounds what a browser that has stopped reading can cost.
        which = "" if payload is None else str(payload.get("coup", ""))
        place = f"{topic}#{which}" if topic == "coup/result" else topic
        self._changes[place] = (topic, payload)
        self._news.set()

    async def changes(self) -> list[tuple[str, Payload | None]]:
        """Return what has changed, waiting at most until the next tick."""
        try:
            await asyncio.wait_for(self._news.wait(), TICK_S)
        except TimeoutError:
            return []
        self._news.clear()
        changes, self._changes = list(self._changes.values()), {}
        return changes


class BoardServer:
    """An HTTP server for one table's board, in a thread of its own; port 0 picks a free one."""

    def __init__(
        self, feed: Feed, *, title: str, host: str = "127.0.0.1", port: int = 8080
    ) -> None:
        self._feed = feed
        self._title = title
        self._host = host
        self._port = port
        self._closing = False
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The address of the page."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}/"

    def start(self) -> None:
        """Start serving; OutsideError when the port is taken or the address is not ours."""
        listener = _listen(self._host, self._port)
        self._port = listener.getsockname()[1]
        routes = [Route(path, _page(*page)) for path, page in PAGES.items()]
        app = Starlette(routes=[*routes, Route("/events", self._events)])
        config = uvicorn.Config(
            app,
            log_level="critical",
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=2,
            server_header=False,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, args=([listener],), name="board", daemon=True
        )
        self._thread.start()
        deadline = time.monotonic() + START_S
        while not self._server.started and time.monotonic() < deadline:
            time.sleep(0.01)

    def stop(self) -> None:
        """Stop serving; open pages say within seconds that they lost the board."""
        self._closing = True
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            self._thread.join(timeout=5.0)

    async def _events(self, _request: Request) -> Response:
        return StreamingResponse(
            self._stream(), media_type="text/event-stream", headers={"Cache-Control": "no-store"}
        )

    async def _stream(self) -> AsyncIterator[str]:
        """Send the state, then each change, and a tick each second to prove that the line holds."""
        viewer = _Viewer(asyncio.get_running_loop())
        state = self._feed.subscribe(viewer.hear)
        try:
            yield "retry: 1000\n\n" + _event("reset", {}) + self._tick()
            yield "".join(_event("told", _told(key, payload)) for key, payload in state.items())
            sent_s = time.monotonic()
            while not self._closing:
                changes = await viewer.changes()
                text = "".join(_event("told", _told(key, payload)) for key, payload in changes)
                if time.monotonic() - sent_s >= TICK_S / 2:
                    text, sent_s = text + self._tick(), time.monotonic()
                if text:
                    yield text
        finally:
            self._feed.unsubscribe(viewer.hear)

    def _tick(self) -> str:
        feed = self._feed
        line = {"title": self._title, "alerts": feed.alerts, "link": feed.connected}
        return _event("tick", {**line, "silent_s": round(feed.silent_s(), 1)})

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def _told(key: str, payload: Payload | None) -> dict[str, Any]:
    return {"topic": key.partition("#")[0], "payload": payload}


def _event(kind: str, data: dict[str, Any]) -> str:
    return f"event: {kind}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n"


def _page(name: str, media_type: str) -> Any:
    content = files("vision.edge.board").joinpath("pages", name).read_bytes()

    async def answer(_request: Request) -> Response:
        return Response(content, media_type=media_type, headers=HEADERS)

    return answer


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise OutsideError(
            f"the board cannot use port {port} of {host}: {reason}; stop the program that holds it "
            f"(ss -ltnp 'sport = :{port}' names it), or choose another with [board] port or "
            "--http-port"
        ) from error
    return listener
