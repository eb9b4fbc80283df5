"""The public side of the board: the results pages, and what the public may know of a table.

Server-sent events take the changes of a feed to a browser; those not fetched yet are merged by key.
Whatever makes an answer may raise: a refusal is a `RefusalError`, what cannot be done a
ShoeReaderError, anything else a defect. A browser can ask for the files of `pages` and the events
of tables, and for nothing else. `FIELDS` lists what is let through: names of staff, reasons, faults
and counts of the cards left never are. The feed behind these pages keeps nothing else.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vision.board.feed import Feed
from vision.board.table_state import Update
from vision.config.table import BoardSection
from vision.errors import ConfigurationError, OutsideError
from vision.pictures import picture_in
from vision.wire.form import FormError, Payload, json_object

# Streams of public boards at once. The rest of the connections (`server.IN_ALL`) is left to
# those who log in, whatever the public does.
STREAMS = 600

# Fields of a hand, and of each topic, that are public.
HAND = ("cards", "points", "natural", "pair")
FIELDS: dict[str, tuple[str, ...]] = {
    "status": ("state", "profile"),
    "shoe": ("shoe", "decks", "coups", "cut_card_seen", "last_hand", "ended"),
    "coup/live": ("shoe", "coup", "punto", "banco", "expected", "complete", "free"),
    "coup/result": (
        "at", "shoe", "coup", "revision", "state", "why", "winner", "punto", "banco",
        "egalite_points", "three_giving_eight", "wagers", "free",
    ),
    "roads": (
        "shoe", "rows", "bead_plate", "big_road", "leading_ties", "big_eye_boy", "small_road",
        "cockroach_pig", "ask", "counts",
    ),
}  # fmt: skip
TOPICS = (*FIELDS, "health", "replay/public/coup/result")


def public_part(topic: str, payload: Payload) -> Payload | None:
    """Return the part of a message that the public may know; None where it may know nothing."""
    fields = FIELDS.get(topic)
    if fields is None:
        return None
    part = {name: payload[name] for name in fields if name in payload}
    for side in ("punto", "banco"):
        if isinstance(part.get(side), dict):
            part[side] = {name: part[side][name] for name in HAND if name in part[side]}
    return part


HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; font-src 'self'; img-src 'self' data: blob:; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
# A year, as browsers' own lists ask for: a page is never fetched in clear again.
OVER_TLS = {"Strict-Transport-Security": "max-age=31536000"}
PAGES = ("vision.board", "pages")  # styles, scripts and words: a browser can ask for each
# A logo is a picture and nothing else: what may hold scripts (SVG) is given to no browser.
LOGOS = {b"\x89PNG": "image/png", b"\xff\xd8": "image/jpeg"}
LOGO_BYTES = 1_000_000  # every screen fetches it at every start
Answer = Callable[[Request], Awaitable[Response]]


# What the board itself says of each table, by name: title, language, wagers and limits.
TableFacts = Mapping[str, Mapping[str, Any]]


def with_safe_headers(app: ASGIApp, *, tls: bool) -> ASGIApp:
    """Return an application with headers on every answer that isolate a page from other sites.

    With `tls` browsers are made to come by no other way again.
    """
    added = {**HEADERS, **(OVER_TLS if tls else {})}

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(added)
                headers.setdefault("Cache-Control", "no-cache")
            await send(message)

        await app(scope, receive, send_safely)

    return answer


# --- requests and refusals ---

# Bytes of a request's body: an order, a log-in or the areas of a table. Longer ones count as empty.
BODY_LIMIT = 16 * 1024
# Seconds for a request's body, which is one packet. Shorter cuts off poor wireless links, longer
# lets who sends nothing hold a connection.
BODY_S = 10.0

log = logging.getLogger(__name__)


T = TypeVar("T")


class RefusalError(Exception):
    """A request is refused with a status of HTTP and a reason; `more` goes with the answer.

    `retry_s` is after how long the browser may try again, where that is known.
    """

    def __init__(self, status: int, why: str, *, retry_s: float = 0.0, **more: object) -> None:
        super().__init__(why)
        self.status = status
        self.retry_s = retry_s
        self.more = more


def _refused(_request: Request, error: Exception) -> Response:
    if not isinstance(error, RefusalError):
        error = RefusalError(400 if isinstance(error, ConfigurationError) else 503, str(error))
    answer = JSONResponse({"why": str(error), **error.more}, error.status)
    answer.headers["Cache-Control"] = "no-store"
    if error.retry_s:
        answer.headers["Retry-After"] = str(round(error.retry_s))
    return answer


def _failed(request: Request, error: Exception) -> Response:
    path, method = ascii(request.url.path), request.method
    log.error("%s %s failed; this is a defect of the program", method, path, exc_info=error)
    return PlainTextResponse("this failed; the log says why", 500)


HANDLERS: Mapping[Any, Callable[[Request, Exception], Response | Awaitable[Response]]] = {
    RefusalError: _refused,
    ConfigurationError: _refused,
    OutsideError: _refused,
    Exception: _failed,
}


async def read_json(request: Request) -> dict[str, Any]:
    """Return the JSON object of a request; empty where it is none, too long or too slow."""
    body = b""
    try:
        async with asyncio.timeout(BODY_S):
            async for part in request.stream():
                body += part
                if len(body) > BODY_LIMIT:
                    return {}
        return json_object(body)
    except (FormError, TimeoutError):
        return {}


# --- limits ---

TOO_MANY = 429  # the status of HTTP of what was asked too often, or by too many at once
# Keys of a throttle that are remembered; bounds memory, and the oldest is forgotten.
KEYS = 10_000


class Throttle:
    """Limits how many times each key may do something in so many seconds."""

    def __init__(
        self, times: int, per_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._times = times
        self._per_s = per_s
        self._clock = clock
        self._done: dict[str, deque[float]] = {}

    def allows(self, key: str) -> bool:
        """Whether the key may do it once more now."""
        done = self._done.get(key)
        while done and self._clock() - done[0] >= self._per_s:
            done.popleft()
        return not done or len(done) < self._times

    def take(self, key: str) -> bool:
        """Whether the key may do it once more now; counted where it may."""
        allowed = self.allows(key)
        if allowed:
            self.count(key)
        return allowed

    def count(self, key: str) -> None:
        """Note that the key has done it."""
        if key not in self._done and len(self._done) >= KEYS:
            del self._done[next(iter(self._done))]
        self._done.setdefault(key, deque()).append(self._clock())

    def forgive(self, key: str) -> None:
        """Forget what the key has done."""
        self._done.pop(key, None)


class OneAtATime:
    """Runs slow work in order, one piece at a time, beside the server's own thread."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._asked = 0

    async def run(self, work: Callable[[], T], *, most: int, full: str) -> T:
        """Return what the work comes to; RefusalError with `full` where `most` wait already."""
        if self._asked >= most:
            raise RefusalError(TOO_MANY, full)
        self._asked += 1
        try:
            async with self._turn:
                return await run_in_threadpool(work)
        finally:
            self._asked -= 1


# --- server-sent events ---

# Seconds between two ticks; the pages show a table as silent after some missed ones. Shorter costs
# traffic of every open page.
TICK_S = 1.0
# Keys that changed and were not fetched after which the connection is closed; the browser connects
# again and begins with the whole state.
BEHIND = 5000


class _Viewer:
    """One browser: the changes that were not sent to it yet, the newest of each key only."""

    def __init__(self, tables: Iterable[str]) -> None:
        self._loop = asyncio.get_running_loop()
        self._tables = frozenset(tables)
        self._changes: dict[tuple[str, str], Update] = {}
        self._changed = asyncio.Event()

    def receive(self, update: Update) -> None:
        """Take a change; called from the feed's thread."""
        if update.table in self._tables:
            self._loop.call_soon_threadsafe(self._add, update)

    def _add(self, update: Update) -> None:
        self._changes[update.table, update.key] = update
        self._changed.set()

    async def changes(self) -> list[Update]:
        """Return the changes; wait for them until the next tick at most."""
        try:
            await asyncio.wait_for(self._changed.wait(), TICK_S)
        except TimeoutError:
            return []
        self._changed.clear()
        changes, self._changes = list(self._changes.values()), {}
        return changes


def stream(
    request: Request,
    feed: Feed,
    facts: TableFacts,
    open_still: Callable[[], bool],
    may_receive: Callable[[Update], bool] = lambda _: True,
) -> StreamingResponse:
    """Return server-sent events for a browser: the state of its tables, then each change.

    The tables are those of `facts`, which the board itself says of them. A tick each second proves
    that the connection stands, and has the age of each table's last message. It ends when
    `open_still` returns False. A HEAD request gets no events: they would hold up the connection.
    """

    def updates(changes: Iterable[Update]) -> str:
        return "".join(_event("update", one.text) for one in changes if may_receive(one))

    def tick() -> str:
        silent = {table: round(feed.silent_s(table), 1) for table in facts}
        return _event("tick", json.dumps({"link": feed.connected, "silent_s": silent}))

    async def events() -> AsyncIterator[str]:
        viewer = _Viewer(facts)
        state = feed.subscribe(viewer.receive, tuple(facts))
        try:
            yield "retry: 1000\n\n" + _event("reset", json.dumps(facts)) + tick()
            yield updates(state)
            sent_s = time.monotonic()
            while request.method == "GET" and open_still():
                changes = await viewer.changes()
                if len(changes) > BEHIND:
                    return
                text = updates(changes)
                if time.monotonic() - sent_s >= TICK_S / 2:
                    text, sent_s = text + tick(), time.monotonic()
                if text:
                    yield text
        finally:
            feed.unsubscribe(viewer.receive)

    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events(), media_type="text/event-stream", headers=headers)


def _event(kind: str, data: str) -> str:
    return f"event: {kind}\ndata: {data}\n\n"


def page(name: str) -> Answer:
    """Return an answer with a page: the head that all have, and what is its own."""
    folder = files("vision.board") / "html"
    content = b"".join((folder / part).read_bytes() for part in ("head.html", name))

    async def answer(_request: Request) -> Response:
        return Response(content, media_type="text/html")

    return answer


def asset_routes(house: BoardSection) -> list[BaseRoute]:
    """Return the routes of styles, scripts and words, and of the house's logo; put them last.

    They answer for every path that no other route has. OutsideError, or ConfigurationError, where
    the logo is no picture that a browser may be given.
    """
    words = files("vision.board").joinpath("pages", "words")
    names = {file.name.removesuffix(".json"): json.loads(file.read_text("utf-8"))["language"]
             for file in sorted(words.iterdir(), key=str)}  # fmt: skip
    spoken = {"language": house.language, "languages": names}
    routes: list[BaseRoute] = [Route("/words/house.json", lambda _: JSONResponse(spoken))]
    if house.logo:
        picture_in(Path(house.logo))
        data = Path(house.logo).read_bytes()
        kind = next((kind for start, kind in LOGOS.items() if data.startswith(start)), "")
        if not kind or len(data) > LOGO_BYTES:
            raise ConfigurationError(
                f"[board] logo: {house.logo} is not a PNG or JPEG of at most 1 MB; give one"
            )
        routes.append(Route("/house-logo", lambda _: Response(data, media_type=kind)))
    return [*routes, Mount("/", StaticFiles(packages=[PAGES]))]


def public_routes(feed: Feed, facts: TableFacts, stopping: Callable[[], bool]) -> list[Route]:
    """Return the routes of the results boards; `feed` must keep the public part only."""

    async def events(request: Request) -> Response:
        # A browser has one stream for the boards of all its tabs.
        names = request.path_params["table"].split(",")
        if not set(names) <= set(feed.tables):
            return PlainTextResponse("no such table", 404)
        if feed.listeners >= STREAMS:
            return PlainTextResponse("too many boards are open", 503, {"Retry-After": "5"})
        chosen = {name: facts[name] for name in names}
        return stream(request, feed, chosen, lambda: not stopping())

    async def tables(_request: Request) -> Response:
        return JSONResponse(
            [{"table": name, "title": facts[name]["title"]} for name in feed.tables]
        )

    async def board(request: Request) -> Response:
        if request.path_params["table"] not in feed.tables:
            return PlainTextResponse("no such table", 404)
        return await board_page(request)

    board_page = page("board.html")
    return [
        Route("/", board_page if len(feed.tables) == 1 else page("lobby.html")),
        Route("/lobby", page("lobby.html")),
        Route("/table/{table}", board),
        Route("/tables", tables),
        Route("/events/{table}", events),
    ]
