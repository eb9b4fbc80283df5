"""The pages of the whole house: all tables as they stand, and questions to the archive."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from vision.board.answers import RefusalError
from vision.board.login.pages import LoginPages
from vision.board.login.sessions import Session
from vision.board.rights import MAY_SEE

NO_ARCHIVE = "there are no reports here: [archive] address is not set in the table file"

# Answers a question, given its kind and what was asked: an object with `columns` and `rows`.
# ConfigurationError where it makes no sense, OutsideError where the archive does not answer.
Ask = Callable[[str, Mapping[str, str]], Mapping[str, Any]]
# The kinds of question, each with the ways in which it can be asked.
Kinds = Mapping[str, tuple[str, ...]]


class ReportPages:
    """The floor page, the reports page, and the answers that it asks for."""

    def __init__(self, login: LoginPages, kinds: Kinds, ask: Ask) -> None:
        """Prepare; without `kinds` there is no archive, and the page says so."""
        self._login = login
        self._kinds = kinds
        self._ask = ask

    def routes(self) -> list[Route]:
        """Return the routes of the pages and of their requests."""
        guard, may = self._login.guard, MAY_SEE["reports"]
        return [
            Route("/floor", self._login.guard_page("floor.html", MAY_SEE["floor"])),
            Route("/reports", self._login.guard_page("reports.html", may)),
            Route("/api/reports", guard(self._list, may)),
            Route("/api/report/{kind}", guard(self._answer, may)),
        ]

    def _list(self, _request: Request, _session: Session) -> Kinds:
        if not self._kinds:
            raise RefusalError(404, NO_ARCHIVE)
        return self._kinds

    def _answer(self, request: Request, _session: Session) -> Mapping[str, Any] | Response:
        kind = request.path_params["kind"]
        if kind not in self._kinds:
            raise RefusalError(404, "there is no such report" if self._kinds else NO_ARCHIVE)
        asked = dict(request.query_params)
        form = asked.pop("format", "json")
        answer = self._ask(kind, asked)
        if form != "csv":
            return answer
        name = {"Content-Disposition": f'attachment; filename="{kind}.csv"'}
        return Response(_csv(answer), media_type="text/csv", headers=name)


def _csv(answer: Mapping[str, Any]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, answer["columns"])
    writer.writeheader()
    writer.writerows(answer["rows"])
    return text.getvalue()
