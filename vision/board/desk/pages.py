"""The pages for people who are logged in: surveillance desk, dealer strip, set-up; what they ask.

Hands orders on and shows what was heard; it decides nothing about the table.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from vision.board.desk.commands import Order, Orders
from vision.board.desk.history import History
from vision.board.feed import Feed
from vision.board.login.door import Door, read_json, refusal
from vision.board.login.sessions import Session, Throttle
from vision.board.rights import MAY_ORDER, MAY_SEE, may_hear
from vision.board.stream import Stream
from vision.board.web import House
from vision.errors import ShoeReaderError
from vision.wire.commands import RefusedError

ANSWER_S = 6.0
ORDERS_OF_ONE = (30, 10.0)
NO_STORE = {"Cache-Control": "no-store"}
DESK = MAY_SEE["desk"]
KINDS = {"evidence": "image/jpeg", "clip": "video/x-msvideo"}
# Table, shoe, coup, and the file to write.
Exporter = Callable[[str, str, int, Path], object]

NO_ANSWER = "no answer from the table; see how it stands before giving the order again"


class Desk:
    """What the pages of people who are logged in may ask."""

    def __init__(
        self, door: Door, feed: Feed, orders: Orders, history: History, exporter: Exporter
    ) -> None:
        """Ask the others; `exporter` writes the archive of a coup, OutsideError when it cannot."""
        self._exporter = exporter
        self._door = door
        self._feed = feed
        self._orders = orders
        self._history = history
        self._given = Throttle(*ORDERS_OF_ONE)

    def routes(self, house: House, stopping: Callable[[], bool]) -> list[Route]:
        """Return the routes of the pages, and of what they ask."""
        guard = self._door.guard
        return [
            Route("/desk", self._door.guard_page("desk.html", DESK)),
            Route("/dealer", self._door.guard_page("dealer.html", MAY_SEE["dealer"])),
            Route("/dealer/{table}", self._door.guard_page("dealer.html", MAY_SEE["dealer"])),
            Route("/setup", self._door.guard_page("setup.html", MAY_SEE["setup"])),
            Route("/api/events", guard(self._events(house, stopping))),
            Route("/api/order/{table}/{name}", guard(self._order, change=True), methods=["POST"]),
            Route("/api/history/{table}", guard(self._shoes, DESK)),
            Route("/api/history/{table}/{shoe}", guard(self._shoe, DESK)),
            Route("/api/replies/{table}", guard(self._replies, DESK)),
            Route("/api/search", guard(self._search, DESK)),
            Route("/api/media/{table}/{kind}/{id}", guard(self._media, DESK)),
            Route("/api/export/{table}/{shoe}/{coup:int}", guard(self._export, DESK)),
        ]

    def _events(self, house: House, stopping: Callable[[], bool]) -> Any:
        async def events(request: Request, session: Session) -> Response:
            stream = Stream(
                self._feed,
                self._feed.tables,
                house=house.tables,
                may_hear=lambda told: may_hear(session.role, told),
            )
            # To look on is not to be there: an open page does not keep its session from ending.
            return stream.response(
                request.method,
                lambda: not stopping() and self._door.session(request, touch=False) is session,
            )

        return events

    async def _order(self, request: Request, session: Session) -> Response:
        table, name = request.path_params["table"], request.path_params["name"]
        if table not in self._feed.tables or name not in MAY_ORDER:
            return refusal(404, "there is no such table or order")
        if session.role not in MAY_ORDER[name]:
            return refusal(403, f"{name} is not for the role {session.role}")
        if not self._given.allows(session.name):
            return refusal(429, "too many orders at once; wait a moment")
        self._given.count(session.name)
        fields = await read_json(request)
        order = Order(table, name, {**fields, "by": session.name, "role": session.role})
        try:
            answer = await asyncio.wait_for(asyncio.wrap_future(self._orders.give(order)), ANSWER_S)
        except RefusedError as error:
            return JSONResponse({"accepted": False, "why": str(error)}, headers=NO_STORE)
        except TimeoutError:
            return JSONResponse({"accepted": False, "why": NO_ANSWER}, 504, headers=NO_STORE)
        told = {"accepted": answer.get("accepted"), "why": answer.get("why")}
        return JSONResponse(told, headers=NO_STORE)

    async def _shoes(self, request: Request, _session: Session) -> Response:
        return JSONResponse(self._history.shoes(request.path_params["table"]), headers=NO_STORE)

    async def _shoe(self, request: Request, _session: Session) -> Response:
        whole = self._history.shoe(request.path_params["table"], request.path_params["shoe"])
        if whole is None:
            return refusal(404, "nothing is known of that shoe")
        return JSONResponse(whole, headers=NO_STORE)

    async def _replies(self, request: Request, _session: Session) -> Response:
        return JSONResponse(self._history.replies(request.path_params["table"]), headers=NO_STORE)

    async def _search(self, request: Request, _session: Session) -> Response:
        return JSONResponse(self._history.search(dict(request.query_params)), headers=NO_STORE)

    async def _media(self, request: Request, _session: Session) -> Response:
        kind, name = request.path_params["kind"], request.path_params["id"]
        found = self._history.media(request.path_params["table"], f"{kind}/{name}")
        if found is None or kind not in KINDS:
            return refusal(404, "that picture is not kept here")
        return Response(found, media_type=KINDS[kind], headers={"Cache-Control": "private"})

    async def _export(self, request: Request, session: Session) -> Response:
        table, shoe, coup = (request.path_params[name] for name in ("table", "shoe", "coup"))
        folder = Path(tempfile.mkdtemp(prefix="shoe-reader-export-"))
        name = f"{table}-{shoe}-{coup}.zip"
        try:
            await run_in_threadpool(self._exporter, table, shoe, coup, folder / "archive.zip")
        except ShoeReaderError as error:
            shutil.rmtree(folder, ignore_errors=True)
            return refusal(409, str(error))
        # In the table's own log by name, sent until it stands there, as log-ins are.
        who = {"by": session.name, "role": session.role, "shoe": shoe, "coup": coup}
        self._orders.record(Order(table, "take_archive", who))
        tidy = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
        return FileResponse(
            folder / "archive.zip", filename=name, headers=NO_STORE, background=tidy
        )
