"""The page on which people say what was dealt, without seeing what the reader said."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, Protocol, cast

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from vision.board.desk.records import Records
from vision.board.login.pages import LoginPages, read_json, refusal
from vision.board.login.sessions import Session
from vision.board.rights import MAY_ALLOW, MAY_SEE
from vision.errors import ConfigurationError, OutsideError
from vision.record.facts import Fact

NO_STORE = {"Cache-Control": "no-store"}
Side = Literal["punto", "banco", ""]


class Book(Protocol):
    """What is asked and answered at one table."""

    waiting: Callable[[], Iterable[Mapping[str, str]]]

    def task(self, person: str, again: str = "") -> Mapping[str, Any]:
        """Return what a person is asked next, or a coup of theirs again."""

    def detail(self, person: str, coup: str, text: str) -> str:
        """Return an answer as it is to be recorded; ConfigurationError where it is none."""

    def picture(self, coup: str, number: int, side: Side) -> bytes:
        """Return a picture as JPEG; OutsideError, or KeyError where there is no such coup."""

    def clip(self, coup: str) -> bytes:
        """Return the clip as AVI, empty where there is none; KeyError."""


class KeyingPages:
    """The page, its pictures, and the answers that it sends."""

    def __init__(self, login: LoginPages, records: Records, book: Book, table: str) -> None:
        self._login = login
        self._records = records
        self._book = book
        self._table = table
        self._one_by_one = threading.Lock()  # no two answers of a person with one number
        self._seen: set[tuple[str, str]] = set()
        book.waiting = lambda: records.waiting_facts(Fact.COUP_KEYED)

    def routes(self) -> list[Route]:
        """Return the routes; those of other pages lead here."""
        guard, may = self._login.guard, MAY_SEE["accept"]
        return [
            Route("/accept", self._login.guard_page("accept.html", may)),
            Route("/api/accept", guard(self._task, may)),
            Route("/api/accept", guard(self._answer, may, change=True), methods=["POST"]),
            Route(
                "/api/accept/allow", guard(self._allow, MAY_ALLOW, change=True), methods=["POST"]
            ),
            Route("/api/accept/{shoe}/{coup}/clip", guard(self._clip, may)),
            Route("/api/accept/{shoe}/{coup}/{number:int}", guard(self._picture, may)),
            *(Route(path, _to_page) for path in ("/", "/desk")),
        ]

    async def _task(self, request: Request, session: Session) -> Response:
        again = request.query_params.get("again", "")
        return await _answered(self._book.task, session.name, again)

    async def _answer(self, request: Request, session: Session) -> Response:
        fields = await read_json(request)
        coup, text = str(fields.get("coup", "")), str(fields.get("answer", ""))
        return await _answered(self._record, session, coup, text)

    def _record(self, session: Session, coup: str, text: str) -> None:
        """Keep an answer, on the disk when it returns; ConfigurationError, OutsideError."""
        with self._one_by_one:
            detail = self._book.detail(session.name, coup, text)
            self._fact(session, Fact.COUP_KEYED, subject=coup, detail=detail)

    def _fact(self, session: Session, kind: Fact, **what: str) -> None:
        who = {"by": session.name, "role": session.role}
        self._records.fact(kind, table=self._table, **who, **what)

    async def _allow(self, _request: Request, session: Session) -> Response:
        words = "pictures of the layout and what was dealt may go to those who improve the reader"
        return await _answered(self._fact, session, Fact.BUNDLE_ALLOWED, detail=words)

    async def _picture(self, request: Request, session: Session) -> Response:
        number, side = request.path_params["number"], request.query_params.get("hand", "")
        if side not in ("punto", "banco", ""):
            return refusal(404, "there is no such hand")
        return await self._shown(
            request,
            session,
            lambda coup: self._book.picture(coup, number, cast(Side, side)),
            "image/jpeg",
        )

    async def _clip(self, request: Request, session: Session) -> Response:
        return await self._shown(request, session, self._book.clip, "video/x-msvideo")

    async def _shown(
        self, request: Request, session: Session, make: Callable[[str], bytes], kind: str
    ) -> Response:
        coup = "{shoe}/{coup}".format(**request.path_params)
        try:
            found = await run_in_threadpool(make, coup)
            await run_in_threadpool(self._note_seen, session, coup)
        except (KeyError, OutsideError) as error:
            return refusal(404, str(error))
        if not found:
            return refusal(404, "there is no clip of this coup")
        return Response(found, media_type=kind, headers={"Cache-Control": "private, max-age=600"})

    def _note_seen(self, session: Session, coup: str) -> None:
        """Record who looks at the pictures of which coup, once in each session; OutsideError."""
        if (session.csrf, coup) not in self._seen:
            self._fact(session, Fact.PICTURE_SEEN, subject=f"coup/{coup}")
            self._seen.add((session.csrf, coup))


async def _answered(do: Callable[..., object], *args: object, **what: str) -> Response:
    """Do it in a thread; return what comes of it, or why it is not done."""
    try:
        found = await run_in_threadpool(do, *args, **what)
    except ConfigurationError as error:
        return refusal(400, str(error))
    except OutsideError as error:
        return refusal(503, str(error))
    return JSONResponse(found or {}, headers=NO_STORE)


async def _to_page(_request: Request) -> Response:
    return RedirectResponse("/accept", 303)
