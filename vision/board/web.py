"""The public side of the board: the results pages, and what the public may know of a table.

A browser can ask for the files of `pages` and for the events of a table by its name, and for
nothing else. `FIELDS` lists what is let through, so that a field added to the contract stays inside
until somebody decides that it may go out; names of staff, reasons, faults and counts of the cards
left never do. The feed behind these pages keeps nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from importlib.resources import files
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vision.board.feed import Feed
from vision.board.stream import Stream
from vision.wire.form import Payload

# Streams of public boards at once. The rest of the connections (`server.IN_ALL`) is left to
# those who log in, whatever the public does.
STREAMS = 600

TOPICS = (
    "status", "shoe", "coup/live", "coup/result", "roads", "health", "replay/public/coup/result"
)  # fmt: skip

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
    "connect-src 'self'; img-src 'self' data: blob:; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
# A year, as browsers' own lists ask for: a page is never fetched in clear again.
OVER_TLS = {"Strict-Transport-Security": "max-age=31536000"}
PAGES = ("vision.board", "pages")  # styles, scripts and words: a browser can ask for each
Answer = Callable[[Request], Awaitable[Response]]


# What the board itself says of each table, by name: title, language, wagers and limits.
TableFacts = Mapping[str, Mapping[str, Any]]


class SafeHeaders:
    """Puts the headers that isolate a page from other sites on every answer."""

    def __init__(self, app: ASGIApp, *, tls: bool) -> None:
        """Prepare; with `tls` browsers are told to come by no other way again."""
        self._app = app
        self._headers = {**HEADERS, **(OVER_TLS if tls else {})}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with the headers added."""

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-cache")
            await send(message)

        await self._app(scope, receive, send_safely)


def page(name: str) -> Answer:
    """Return an answer with a page."""
    content = files("vision.board").joinpath("html", name).read_bytes()

    async def answer(_request: Request) -> Response:
        return Response(content, media_type="text/html")

    return answer


def asset_routes(language: str) -> list[BaseRoute]:
    """Return the routes of styles, scripts and words, and of the pages' `language`; put them last.

    They answer for every path that no other route has.
    """

    async def house(_request: Request) -> Response:
        return JSONResponse({"language": language})

    return [Route("/words/house.json", house), Mount("/", StaticFiles(packages=[PAGES]))]


def public_routes(feed: Feed, facts: TableFacts, stopping: Callable[[], bool]) -> list[Route]:
    """Return the routes of the results boards; `feed` must keep the public part only."""

    async def events(request: Request) -> Response:
        table = request.path_params["table"]
        if table not in feed.tables:
            return PlainTextResponse("no such table", 404)
        if feed.listeners >= STREAMS:
            return PlainTextResponse("too many boards are open", 503, {"Retry-After": "5"})
        stream = Stream(feed, (table,), facts=facts)
        return stream.response(request.method, lambda: not stopping())

    async def tables(_request: Request) -> Response:
        names = [{"table": name, "title": facts[name]["title"]} for name in feed.tables]
        return Response(json.dumps(names), media_type="application/json")

    async def board(request: Request) -> Response:
        if request.path_params["table"] not in feed.tables:
            return PlainTextResponse("no such table", 404)
        return await board_page(request)

    board_page = page("board.html")
    return [
        Route("/", board_page if len(feed.tables) == 1 else page("tables.html")),
        Route("/table/{table}", board),
        Route("/tables", tables),
        Route("/events/{table}", events),
    ]
