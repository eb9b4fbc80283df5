"""The page on which people answer what was dealt, without seeing what the reader published."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Literal, Protocol, cast

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from vision.board.desk.pages import Viewings
from vision.board.login.pages import LoginPages
from vision.board.login.sessions import Session
from vision.board.orders import Records
from vision.board.rights import MAY_ALLOW, MAY_SEE
from vision.board.web import RefusalError
from vision.errors import OutsideError
from vision.record.facts import Fact

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
        self._viewings = Viewings(records, Fact.PICTURE_SEEN)
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
            *(Route(path, lambda _: RedirectResponse("/accept", 303)) for path in ("/", "/desk")),
        ]

    def _task(self, request: Request, session: Session) -> Mapping[str, Any]:
        return self._book.task(session.name, request.query_params.get("again", ""))

    def _answer(self, request: Request, session: Session) -> dict[str, Any]:
        """Keep an answer, on the disk when it returns."""
        fields = request.state.fields
        coup, text = str(fields.get("coup", "")), str(fields.get("answer", ""))
        with self._one_by_one:
            detail = self._book.detail(session.name, coup, text)
            self._fact(session, Fact.COUP_KEYED, subject=coup, detail=detail)
        return {}

    def _fact(self, session: Session, kind: Fact, **what: str) -> None:
        self._records.fact(kind, table=self._table, **session.who, **what)

    def _allow(self, _request: Request, session: Session) -> dict[str, Any]:
        words = "pictures of the layout and what was dealt may go to those who improve the reader"
        self._fact(session, Fact.BUNDLE_ALLOWED, detail=words)
        return {}

    def _picture(self, request: Request, session: Session) -> Response:
        number, side = request.path_params["number"], request.query_params.get("hand", "")
        if side not in ("punto", "banco", ""):
            raise RefusalError(404, "there is no such hand")
        picture = partial(self._book.picture, number=number, side=cast(Side, side))
        return self._shown(request, session, picture, "image/jpeg")

    def _clip(self, request: Request, session: Session) -> Response:
        return self._shown(request, session, self._book.clip, "video/x-msvideo")

    def _shown(
        self, request: Request, session: Session, make: Callable[[str], bytes], kind: str
    ) -> Response:
        coup = "{shoe}/{coup}".format(**request.path_params)
        try:
            found = make(coup)
        except (KeyError, OutsideError) as error:
            raise RefusalError(404, str(error)) from error
        if not found:
            raise RefusalError(404, "there is no clip of this coup")
        self._viewings.note(session, self._table, f"coup/{coup}")
        return Response(found, media_type=kind, headers={"Cache-Control": "private, max-age=600"})
