"""The public side of the board: its pages and the stream of what lies open on the tables.

A browser can ask for the files of `pages` and for the events of a table by its name, and for
nothing else. The feed behind it has never heard of anything more.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vision.board.feed import Feed
from vision.board.stream import Stream

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self' data: blob:; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
KINDS = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".json": "application/json",
}
Answer = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class House:
    """What the board itself says of each table, by name: title, language, rules and limits."""

    tables: Mapping[str, Mapping[str, Any]]


class SafeHeaders:
    """Puts the headers that keep a page to itself on every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, with the headers."""

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-cache")
            await send(message)

        await self._app(scope, receive, send_safely)


def page(name: str) -> Answer:
    """Return an answer with a page."""
    content = _pages().joinpath(name).read_bytes()

    async def answer(_request: Request) -> Response:
        return Response(content, media_type="text/html")

    return answer


def asset_routes() -> list[Route]:
    """Return a route for each style, script and list of words of the pages."""
    return [
        Route(f"/{path}", _asset(entry))
        for path, entry in _files(_pages())
        if not path.endswith(".html")
    ]


def public_routes(feed: Feed, house: House, stopping: Callable[[], bool]) -> list[Route]:
    """Return the routes of the results boards; `feed` is one that tells the public part only."""

    async def events(request: Request) -> Response:
        table = request.path_params["table"]
        if table not in feed.tables:
            return PlainTextResponse("no such table", 404)
        stream = Stream(feed, (table,), house=house.tables)
        return stream.response(request.method, lambda: not stopping())

    async def tables(_request: Request) -> Response:
        names = [{"table": name, "title": house.tables[name]["title"]} for name in feed.tables]
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
        *asset_routes(),
    ]


def _pages() -> Traversable:
    return files("vision.board").joinpath("pages")


def _files(folder: Traversable, prefix: str = "") -> list[tuple[str, Traversable]]:
    found: list[tuple[str, Traversable]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _files(entry, f"{prefix}{entry.name}/")
        elif "." + entry.name.rpartition(".")[2] in KINDS:
            found.append((prefix + entry.name, entry))
    return found


def _asset(entry: Traversable) -> Answer:
    content = entry.read_bytes()
    kind = KINDS["." + entry.name.rpartition(".")[2]]

    async def answer(_request: Request) -> Response:
        return Response(content, media_type=kind)

    return answer
