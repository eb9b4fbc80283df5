"""The pages of people who are logged in: desk, dealer strip, set-up, floor and reports."""

from __future__ import annotations

import asyncio
import math
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from vision.access.command_gate import NEEDED
from vision.board.desk.history import History
from vision.board.login.identity import NotKnownError
from vision.board.login.pages import Guarded, LoginPages
from vision.board.login.sessions import Session
from vision.board.orders import Order, Records, Second
from vision.board.rights import MAY_ORDER, MAY_SEE, may_receive
from vision.board.web import OneAtATime, RefusalError, TableFacts, Throttle, stream
from vision.errors import ShoeReaderError
from vision.files import csv_text
from vision.game.fold.commands import MAY_VOUCH
from vision.record.facts import Fact, Medium
from vision.wire.commands import RefusedError
from vision.wire.messages import LEVELS, TYPES

# Seconds that a page waits for the answer to an order. The reader answers within a frame; after
# this the person looks at the table's state before trying again.
ANSWER_S = 6.0
# Orders that a person may give in so many seconds: more than anybody needs in a busy coup, and far
# below what would slow a table down.
ORDERS_OF_A_PERSON = (30, 10.0)
DESK = MAY_SEE["desk"]
# Content types of the pictures of a table, by the first level of their topic.
MEDIA_TYPES = {LEVELS[medium]: TYPES[medium] for medium in Medium}
# Archives asked for and not yet made: more people than that do not look back at once; each waits
# for those before it, some seconds each.
EXPORTS_ASKED = 8
# Takes table, shoe, coup and the file to write.
Exporter = Callable[[str, str, int, Path], object]
# Looks that are remembered; bounds memory, and beyond it one is recorded again.
SEEN_LIMIT = 20_000
NO_ANSWER = "no answer from the table; look at its state before you give the order again"
NO_ARCHIVE = "there are no reports here: [archive] address is not set in the table file"

# Answers a question, given its kind and what was asked: an object with `columns` and `rows`.
# ConfigurationError where it makes no sense, OutsideError where the archive does not answer.
Ask = Callable[[str, Mapping[str, str]], Mapping[str, Any]]
# The kinds of question, each with the ways in which it can be asked.
Kinds = Mapping[str, tuple[str, ...]]
# What can be asked of an archive, and what asks it.
Reports = tuple[Kinds, Ask]
NO_REPORTS: Reports = ({}, lambda _kind, _asked: {})  # of a house without one


class Viewings:
    """Records who looks at what, once in a session or, after `again_s` seconds, as going on."""

    def __init__(self, records: Records, kind: Fact, *, again_s: float = math.inf) -> None:
        self._records = records
        self._kind = kind
        self._again_s = again_s
        self._seen_s: dict[tuple[str, str, str], float] = {}

    def note(self, session: Session, table: str, subject: str) -> None:
        """Have a look recorded; call it before anything is shown. OutsideError."""
        key, now_s = (session.id, table, subject), time.monotonic()
        if now_s - self._seen_s.get(key, -math.inf) < self._again_s:
            return
        self._records.fact(self._kind, table=table, subject=subject, **session.who)
        self._seen_s[key] = now_s
        while len(self._seen_s) > SEEN_LIMIT:
            self._seen_s.pop(next(iter(self._seen_s)), None)


class DeskPages:
    """The pages of people who are logged in, and the answers to their requests."""

    def __init__(
        self, login: LoginPages, history: History, exporter: Exporter, reports: Reports
    ) -> None:
        """Prepare; `exporter` writes the archive of a coup, OutsideError when it cannot.

        Without kinds of `reports` there is no archive, and the page of reports says so.
        """
        self._exporter = exporter
        self._kinds, self._ask = reports
        self._login = login
        self._history = history
        self._records = login.records
        self._orders = login.records.orders
        self._feed = login.records.orders.feed
        self._given = Throttle(*ORDERS_OF_A_PERSON)
        # One archive at a time: each folds a shoe of a log, on the processors that serve all pages.
        self._exports = OneAtATime()
        self._viewings = Viewings(self._records, Fact.PICTURE_SEEN)
        self._results = Viewings(self._records, Fact.RESULTS_SEEN)

    def routes(self, facts: TableFacts, stopping: Callable[[], bool]) -> list[Route]:
        """Return the routes of the pages and of their requests."""
        guard, history = self._login.guard, self._history
        shown = partial(guard, note=self._note_results)

        def of_table(look: Callable[[str], object]) -> Guarded:
            return lambda request, _: look(request.path_params["table"])

        names = ("desk", "dealer", "setup", "floor", "reports")
        pages = {n: self._login.guard_page(f"{n}.html", MAY_SEE[n]) for n in names}
        return [
            *(Route(f"/{name}", page) for name, page in pages.items()),
            Route("/dealer/{table}", pages["dealer"]),
            Route("/api/events", shown(self._events(facts, stopping))),
            Route("/api/order/{table}/{name}", guard(self._order, change=True), methods=["POST"]),
            Route("/api/history/{table}", shown(of_table(history.shoes), DESK)),
            Route("/api/history/{table}/{shoe}", shown(self._shoe, DESK)),
            Route(
                "/api/history/{table}/{shoe}/{coup:int}",
                shown(lambda request, _: history.coup(**request.path_params), DESK),
            ),
            Route("/api/search", shown(lambda r, _: history.search(dict(r.query_params)), DESK)),
            Route("/api/media/{table}/{kind}/{id}", guard(self._media, DESK)),
            Route("/api/export/{table}/{shoe}/{coup:int}", guard(self._export, DESK)),
            Route("/api/reports", guard(self._list, MAY_SEE["reports"])),
            Route("/api/report/{kind}", shown(self._report, MAY_SEE["reports"])),
        ]

    def _note_results(self, request: Request, session: Session) -> None:
        """Record who sees a shoe's results, or all, once in a session: they may key them later."""
        table, shoe = (request.path_params.get(name, "") for name in ("table", "shoe"))
        if session.role in MAY_SEE["accept"]:
            self._results.note(session, table, shoe)

    def _events(self, facts: TableFacts, stopping: Callable[[], bool]) -> Guarded:
        async def events(request: Request, session: Session) -> Response:
            # An open page is no sign of its person: it does not keep the session from ending.
            def open_still() -> bool:
                return not stopping() and self._login.session(request, touch=False) == session

            receives = partial(may_receive, session.role)
            return stream(request, self._feed, facts, open_still, receives)

        return events

    async def _order(self, request: Request, session: Session) -> dict[str, Any]:
        table, name = request.path_params["table"], request.path_params["name"]
        if name not in MAY_ORDER:
            raise RefusalError(404, "there is no such order")
        if session.role not in MAY_ORDER[name]:
            raise RefusalError(403, f"{name} is not for the role {session.role}")
        if not self._given.take(session.name):
            raise RefusalError(429, "too many orders at once; wait a moment")
        fields = dict(request.state.fields)
        try:
            second = await self._second(fields.pop("second", None), request, session)
        except NotKnownError as error:  # the page asks again, and logs nobody out
            ask: dict[str, Any] = {"ask": "second", **error.more}
            raise RefusalError(403, str(error), accepted=False, **ask) from error
        return await self._give(Order(table, name, {**fields, **session.who}, second=second))

    async def _give(self, order: Order) -> dict[str, Any]:
        try:
            given = asyncio.wrap_future(self._orders.give(order))
            answer = await asyncio.wait_for(given, ANSWER_S)
        except RefusedError as error:
            return {"accepted": False, "why": str(error)}
        except TimeoutError:
            raise RefusalError(504, NO_ANSWER, accepted=False) from None
        why = answer.get("why")
        asks = {"ask": "second"} if why == NEEDED else {}
        return {"accepted": answer.get("accepted"), "why": why, **asks}

    async def _second(self, claimed: object, request: Request, session: Session) -> Second | None:
        """Return the second person, once it is known that it is them; NotKnownError."""
        if claimed is None:
            return None
        fields = claimed if isinstance(claimed, dict) else {}
        if fields.get("name") == session.name:
            raise NotKnownError(403, "the second person must be another one")
        name = await self._login.identify(fields, request)
        roles = self._login.accounts.roles(name)
        role = next((role for role in roles if role in MAY_VOUCH), "")
        if not role:
            raise NotKnownError(403, f"this is not for the role {' or '.join(roles)} to vouch for")
        return Second(name, role)

    def _shoe(self, request: Request, _session: Session) -> dict[str, Any]:
        whole = self._history.shoe(request.path_params["table"], request.path_params["shoe"])
        if whole is None:
            raise RefusalError(404, "this shoe is not known here")
        return whole

    def _media(self, request: Request, session: Session) -> Response:
        table, kind, name = (request.path_params[part] for part in ("table", "kind", "id"))
        found = self._history.media(table, f"{kind}/{name}")
        if found is None or kind not in MEDIA_TYPES:
            raise RefusalError(404, "that picture is not kept here")
        self._viewings.note(session, table, f"{kind}/{name}")
        return Response(found, media_type=MEDIA_TYPES[kind], headers={"Cache-Control": "private"})

    async def _export(self, request: Request, session: Session) -> Response:
        return await self._exports.run(
            partial(self._exported, request, session),
            most=EXPORTS_ASKED,
            full="other archives are being made; try again in a minute",
        )

    def _exported(self, request: Request, session: Session) -> Response:
        table, shoe, coup = (request.path_params[name] for name in ("table", "shoe", "coup"))
        folder = Path(tempfile.mkdtemp(prefix="shoe-reader-export-"))
        # Recorded by name in the table's own log, as log-ins are, before it is handed out.
        try:
            self._exporter(table, shoe, coup, folder / "archive.zip")
            self._records.order("take_archive", {**session.who, "shoe": shoe, "coup": coup}, table)
        except ShoeReaderError:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        name = f"{table}-{shoe}-{coup}.zip"
        tidy = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
        return FileResponse(folder / "archive.zip", filename=name, background=tidy)

    # --- reports of the whole house ---

    def _list(self, _request: Request, _session: Session) -> Kinds:
        if not self._kinds:
            raise RefusalError(404, NO_ARCHIVE)
        return self._kinds

    def _report(self, request: Request, _session: Session) -> Mapping[str, Any] | Response:
        kind = request.path_params["kind"]
        if kind not in self._kinds:
            raise RefusalError(404, "there is no such report" if self._kinds else NO_ARCHIVE)
        asked = dict(request.query_params)
        form = asked.pop("format", "json")
        answer = self._ask(kind, asked)
        if form != "csv":
            return answer
        name = {"Content-Disposition": f'attachment; filename="{kind}.csv"'}
        columns = answer["columns"]
        rows = [[row[column] for column in columns] for row in answer["rows"]]
        return Response(csv_text(columns, rows), media_type="text/csv", headers=name)
