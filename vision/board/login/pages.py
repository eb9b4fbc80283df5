"""Log-in and log-out, and the guard before every page that is not public.

The guard finds out who sends a request and in which role, and refuses what the role may not do.
Where a proxy of the house knows who people are, it says so by a header with each request: a session
is opened for that person, and is theirs only while the header says the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from inspect import iscoroutinefunction
from typing import Any, Literal
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from vision.board.login.identity import KNOWN_S, Claim, Identities, NotKnownError
from vision.board.login.sessions import Session, Sessions
from vision.board.rights import HOME
from vision.board.web import Answer, RefusalError, page, read_json
from vision.config.table import BoardSection

CLAIMED = ("name", "password", "code")  # what a page sends of somebody
PAGES = re.compile(r"/[a-z]+(/[A-Za-z0-9._-]+)?")  # of ours, to which a log-in may lead

# Makes the answer to a request of a session, or the data of it.
Guarded = Callable[[Request, Session], Any]


class LoginPages:
    """Logs people in and out, and answers requests only in the roles that may send them."""

    def __init__(
        self, identities: Identities, sessions: Sessions, address: BoardSection, *, header: str = ""
    ) -> None:
        """Prepare; the records of the identities keep each log-in and log-out.

        With a `header` it names who sends a request (`believed_from`), and nobody gives a password.
        """
        self._header = header
        self.accounts = identities.accounts
        self.records = identities.records
        self._identities = identities
        self._sessions = sessions
        self._secure = address.is_private
        self._own = address.public_url.rstrip("/")
        self._cookie = "__Host-shoe-reader" if self._secure else "shoe-reader"
        self._device_cookie = f"{self._cookie}-device"

    def routes(self) -> list[Route]:
        """Return the routes of logging in and out."""
        return [
            Route("/login", self._enter if self._header else page("login.html")),
            *([] if self._header else [Route("/login", self._log_in, methods=["POST"])]),
            Route("/logout", self.guard(self._log_out, change=True), methods=["POST"]),
            Route(
                "/me", self.guard(lambda _, session: {"name": session.name, "role": session.role})
            ),
        ]

    def session(self, request: Request, *, touch: bool = True) -> Session | None:
        """Return the session of a request, None where it has ended or the role was taken away."""
        token = request.cookies.get(self._cookie, "")
        session = self._sessions.find(token, touch=touch)
        if session is None or session.role not in self.accounts.roles(session.name):
            return None
        if session.account != self.accounts.account(session.name):
            self._sessions.end(session, "an administrator ended it, or changed how to log in")
            return None
        named = request.headers.get(self._header, "") if self._header else session.name
        return session if named == session.name else None

    async def identify(self, fields: Mapping[str, Any], request: Request) -> str:
        """Return who sends name, password and code; NotKnownError, recorded where it failed."""
        name, password, code = given = [fields.get(each) or "" for each in CLAIMED]
        if not all(isinstance(each, str) for each in given) or not (name and password):
            raise NotKnownError(400, "name and password are needed")
        address = request.client.host if request.client else ""
        device = request.cookies.get(self._device_cookie, "")
        await self._identities.check(Claim(name, password, code, address, device))
        return name

    def guard(
        self,
        answer: Guarded,
        roles: Iterable[str] = HOME,
        *,
        change: bool = False,
        note: Guarded | None = None,
    ) -> Answer:
        """Return an answer for those roles only; a `change` must come from our own pages.

        `note` has it recorded who looks, before anything is shown.

        The JSON object that comes with a change is in `request.state.fields`. Data are answered as
        JSON, and no cache keeps an answer unless it says so itself.
        """
        allowed = frozenset(roles)

        async def guarded(request: Request) -> Response:
            session = self.session(request)
            if session is None:
                raise RefusalError(401, "log in first")
            if session.role not in allowed:
                raise RefusalError(403, f"this is not for the role {session.role}")
            table = request.path_params.get("table")
            if table is not None and table not in self.records.orders.feed.tables:
                raise RefusalError(404, "there is no such table")
            if change:
                own = self._own or f"{request.url.scheme}://{request.headers.get('host', '')}"
                if request.headers.get("origin") != own:  # a browser says which site's page it is
                    raise RefusalError(403, "this did not come from a page of this board")
                request.state.fields = await read_json(request)
            if note is not None:
                await run_in_threadpool(note, request, session)
            if iscoroutinefunction(answer):
                found = await answer(request, session)
            else:  # slow work
                found = await run_in_threadpool(answer, request, session)
            response = found if isinstance(found, Response) else JSONResponse(found)
            response.headers.setdefault("Cache-Control", "no-store")
            return response

        return guarded

    def guard_page(self, name: str, roles: Iterable[str]) -> Answer:
        """Return a page for those roles only; others are sent to the log-in page."""
        allowed, shown = frozenset(roles), page(name)

        async def guarded(request: Request) -> Response:
            session = self.session(request)
            if session is None:
                return RedirectResponse(f"/login?next={quote(request.url.path)}", 303)
            if session.role not in allowed:
                return RedirectResponse("/login?why=role", 303)
            return await shown(request)

        return guarded

    async def _log_in(self, request: Request) -> Response:
        # A page of another site cannot send JSON without asking first, which is never allowed.
        if not request.headers.get("content-type", "").startswith("application/json"):
            raise RefusalError(415, "send JSON")
        fields = await read_json(request)
        name = await self.identify(fields, request)
        session = self._open(name)
        answer = JSONResponse({"page": _page_of(session.role, str(fields.get("next", "")))})
        self._let_in(answer, session)
        device = self._identities.new_device(name)
        self._set_cookie(answer, self._device_cookie, device, KNOWN_S)
        return answer

    async def _enter(self, request: Request) -> Response:
        """Log in whom the proxy names, in the first role that they have."""
        session = self.session(request)
        if session is not None:  # its page is not for the role: round and round
            return RedirectResponse(_page_of(session.role), 303)
        session = self._open(request.headers.get(self._header, ""))
        wanted = request.query_params.get("next", "")
        answer = RedirectResponse(_page_of(session.role, wanted), 303)
        self._let_in(answer, session)
        return answer

    def _open(self, name: str) -> Session:
        """Open a session for a person in their first role, once that is recorded; OutsideError."""
        role = next(iter(self.accounts.roles(name)), "")
        if not role:
            raise RefusalError(403, "nobody of the users file has that name")
        self.records.order("sign_in", {"by": name, "role": role, "accepted": True})
        return self._sessions.open(name, role, self.accounts.account(name))

    def _let_in(self, answer: Response, session: Session) -> None:
        answer.headers["Cache-Control"] = "no-store"
        self._set_cookie(answer, self._cookie, session.id, None)

    def _set_cookie(self, answer: Response, name: str, value: str, max_age: int | None) -> None:
        # After an identity provider's page a browser follows to ours, and needs the cookie there.
        site: Literal["lax", "strict"] = "lax" if self._header else "strict"
        answer.set_cookie(
            name, value, max_age, path="/", secure=self._secure, httponly=True, samesite=site
        )

    async def _log_out(self, _request: Request, session: Session) -> Response:
        self._sessions.end(session)
        self.records.order("sign_out", session.who)
        answer = JSONResponse({})
        answer.delete_cookie(self._cookie, path="/", secure=self._secure, httponly=True)
        return answer


def _page_of(role: str, wanted: str = "") -> str:
    """Return the page that somebody wanted, if it is one of ours, else the first of their role."""
    return wanted if PAGES.fullmatch(wanted) else f"/{HOME[role]}"


def believed_from(app: ASGIApp, header: str, address: str) -> ASGIApp:
    """Return the app, to which that header comes from one address only, and there only once."""
    name = header.lower().encode()

    async def sifted(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            peer, headers = (scope.get("client") or ("",))[0], scope["headers"]
            if peer != address or sum(key.lower() == name for key, _ in headers) > 1:
                headers = [(key, value) for key, value in headers if key.lower() != name]
                scope = {**scope, "headers": headers}
        await app(scope, receive, send)

    return sifted
