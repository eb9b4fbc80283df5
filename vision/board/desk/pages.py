"""The pages of people who are logged in: surveillance desk, dealer strip and set-up."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from vision.access.command_gate import NEEDED, VOUCHERS
from vision.board.desk.commands import Order, Orders, Second
from vision.board.desk.history import History
from vision.board.desk.records import Records
from vision.board.feed import Feed
from vision.board.login.identity import Claim, NotKnownError
from vision.board.login.pages import LoginPages, read_json, refusal
from vision.board.login.sessions import Session
from vision.board.login.throttle import Throttle
from vision.board.rights import MAY_ORDER, MAY_SEE, may_hear
from vision.board.stream import Stream
from vision.board.web import TableFacts
from vision.errors import OutsideError, ShoeReaderError
from vision.record.facts import Fact
from vision.wire.commands import RefusedError

# Seconds that a page waits for the answer to an order. The reader answers within a frame; after
# this the person looks at the table's state before trying again.
ANSWER_S = 6.0
# Orders that a person may give in so many seconds: more than anybody needs in a busy coup, and far
# below what would slow a table down.
ORDERS_OF_A_PERSON = (30, 10.0)
NO_STORE = {"Cache-Control": "no-store"}
DESK = MAY_SEE["desk"]
# Content types of the pictures of a table, by the first level of their topic.
MEDIA_TYPES = {"evidence": "image/jpeg", "clip": "video/x-msvideo"}
# Archives asked for and not yet made: more people than that do not look back at once; each waits
# for those before it, some seconds each.
EXPORTS_ASKED = 8
# Takes table, shoe, coup and the file to write.
Exporter = Callable[[str, str, int, Path], object]
# Pictures remembered as seen in a session; bounds memory, and beyond it one is recorded again.
SEEN_LIMIT = 20_000

NO_ANSWER = "no answer from the table; look at its state before you give the order again"


@dataclass(frozen=True, slots=True)
class Parts:
    """What the desks hear, look back on, order and record by."""

    feed: Feed
    orders: Orders
    records: Records
    history: History


class DeskPages:
    """The pages of people who are logged in, and the answers to their requests."""

    def __init__(self, login: LoginPages, parts: Parts, exporter: Exporter) -> None:
        """Prepare; `exporter` writes the archive of a coup, OutsideError when it cannot."""
        self._exporter = exporter
        self._login = login
        self._feed, self._history = parts.feed, parts.history
        self._orders, self._records = parts.orders, parts.records
        self._given = Throttle(*ORDERS_OF_A_PERSON)
        # One archive at a time: each folds a shoe of a log, on the processors that serve all pages.
        self._exporting = asyncio.Semaphore(1)
        self._exports_asked = 0
        # Sessions, by their own token, and the pictures that were recorded as seen in them.
        self._seen: dict[tuple[str, str, str], None] = {}

    def routes(self, facts: TableFacts, stopping: Callable[[], bool]) -> list[Route]:
        """Return the routes of the pages and of their requests."""
        guard = self._login.guard
        return [
            Route("/desk", self._login.guard_page("desk.html", DESK)),
            Route("/dealer", self._login.guard_page("dealer.html", MAY_SEE["dealer"])),
            Route("/dealer/{table}", self._login.guard_page("dealer.html", MAY_SEE["dealer"])),
            Route("/setup", self._login.guard_page("setup.html", MAY_SEE["setup"])),
            Route("/api/events", guard(self._events(facts, stopping))),
            Route("/api/order/{table}/{name}", guard(self._order, change=True), methods=["POST"]),
            Route("/api/history/{table}", guard(self._shoes, DESK)),
            Route("/api/history/{table}/{shoe}", guard(self._shoe, DESK)),
            Route("/api/replies/{table}", guard(self._replies, DESK)),
            Route("/api/search", guard(self._search, DESK)),
            Route("/api/media/{table}/{kind}/{id}", guard(self._media, DESK)),
            Route("/api/export/{table}/{shoe}/{coup:int}", guard(self._export, DESK)),
        ]

    def _events(self, facts: TableFacts, stopping: Callable[[], bool]) -> Any:
        async def events(request: Request, session: Session) -> Response:
            stream = Stream(
                self._feed,
                self._feed.tables,
                facts=facts,
                may_hear=lambda update: may_hear(session.role, update),
            )
            # An open page is no sign of its person: it does not keep the session from ending.
            return stream.response(
                request.method,
                lambda: not stopping() and self._login.session(request, touch=False) is session,
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
        try:
            second = await self._second(fields.pop("second", None), request, session)
        except NotKnownError as error:
            return _second_refused(error)
        except OutsideError as error:
            return refusal(503, str(error))
        by = {"by": session.name, "role": session.role}
        return await self._give(Order(table, name, {**fields, **by}, second=second))

    async def _give(self, order: Order) -> Response:
        try:
            given = asyncio.wrap_future(self._orders.give(order))
            answer = await asyncio.wait_for(given, ANSWER_S)
        except RefusedError as error:
            return JSONResponse({"accepted": False, "why": str(error)}, headers=NO_STORE)
        except TimeoutError:
            return JSONResponse({"accepted": False, "why": NO_ANSWER}, 504, headers=NO_STORE)
        why = answer.get("why")
        decision = {"accepted": answer.get("accepted"), "why": why}
        asks = {"ask": "second"} if why == NEEDED else {}
        return JSONResponse({**decision, **asks}, headers=NO_STORE)

    async def _second(self, claimed: object, request: Request, session: Session) -> Second | None:
        """Return the second person, once it is known that it is them; NotKnownError."""
        if claimed is None:
            return None
        claim = Claim.read(claimed if isinstance(claimed, dict) else {})
        if claim.name == session.name:
            raise NotKnownError(403, "the second person must be another one")
        role = next((role for role in self._login.roles(claim.name) if role in VOUCHERS), "")
        claim = replace(claim, role=claim.role or role)
        role = await self._login.identify(claim, request)
        if role not in VOUCHERS:
            raise NotKnownError(403, f"this is not for the role {role} to vouch for")
        return Second(claim.name, role)

    async def _shoes(self, request: Request, _session: Session) -> Response:
        return JSONResponse(self._history.shoes(request.path_params["table"]), headers=NO_STORE)

    async def _shoe(self, request: Request, _session: Session) -> Response:
        whole = self._history.shoe(request.path_params["table"], request.path_params["shoe"])
        if whole is None:
            return refusal(404, "this shoe is not known here")
        return JSONResponse(whole, headers=NO_STORE)

    async def _replies(self, request: Request, _session: Session) -> Response:
        return JSONResponse(self._history.replies(request.path_params["table"]), headers=NO_STORE)

    async def _search(self, request: Request, _session: Session) -> Response:
        return JSONResponse(self._history.search(dict(request.query_params)), headers=NO_STORE)

    async def _media(self, request: Request, session: Session) -> Response:
        table = request.path_params["table"]
        kind, name = request.path_params["kind"], request.path_params["id"]
        found = self._history.media(table, f"{kind}/{name}")
        if found is None or kind not in MEDIA_TYPES:
            return refusal(404, "that picture is not kept here")
        try:
            await run_in_threadpool(self._note_seen, session, table, f"{kind}/{name}")
        except OutsideError as error:
            return refusal(503, f"no picture is shown unrecorded: {error}")
        return Response(found, media_type=MEDIA_TYPES[kind], headers={"Cache-Control": "private"})

    def _note_seen(self, session: Session, table: str, topic: str) -> None:
        """Record who looks at which picture, once in each session; OutsideError."""
        key = (session.csrf, table, topic)
        if key in self._seen:
            return
        who = {"by": session.name, "role": session.role}
        self._records.fact(Fact.PICTURE_SEEN, table=table, subject=topic, **who)
        self._seen[key] = None
        while len(self._seen) > SEEN_LIMIT:
            self._seen.pop(next(iter(self._seen)), None)

    async def _export(self, request: Request, session: Session) -> Response:
        if self._exports_asked >= EXPORTS_ASKED:
            return refusal(429, "other archives are being made; try again in a minute")
        self._exports_asked += 1
        try:
            async with self._exporting:
                return await self._exported(request, session)
        finally:
            self._exports_asked -= 1

    async def _exported(self, request: Request, session: Session) -> Response:
        table, shoe, coup = (request.path_params[name] for name in ("table", "shoe", "coup"))
        folder = Path(tempfile.mkdtemp(prefix="shoe-reader-export-"))
        name = f"{table}-{shoe}-{coup}.zip"
        # Recorded by name in the table's own log, as log-ins are, before it is handed out.
        who = {"by": session.name, "role": session.role, "shoe": shoe, "coup": coup}
        try:
            await run_in_threadpool(self._exporter, table, shoe, coup, folder / "archive.zip")
            await run_in_threadpool(self._records.order, "take_archive", who, table)
        except ShoeReaderError as error:
            shutil.rmtree(folder, ignore_errors=True)
            return refusal(409, str(error))
        tidy = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
        return FileResponse(
            folder / "archive.zip", filename=name, headers=NO_STORE, background=tidy
        )


def _second_refused(error: NotKnownError) -> Response:
    """Return the answer where the second person is not known: ask again, and log nobody out."""
    said = {"accepted": False, "why": str(error), "ask": error.asks or "second"}
    return JSONResponse(said, 403, headers=NO_STORE)
