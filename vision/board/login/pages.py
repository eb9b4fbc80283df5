"""Log-in and log-out, and the guard before every page that is not public.

The guard finds out who sends a request and in which role, and refuses what the role may not do.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from vision.board.login.passwords import Accounts
from vision.board.login.sessions import Session, Sessions, Throttle
from vision.board.rights import HOME
from vision.board.web import Answer, page

COOKIE = "shoe-reader"
CSRF_HEADER = "x-shoe-reader"
# Bytes of a request's body: an order, a log-in or the areas of a table. Longer ones count as empty.
BODY_LIMIT = 16 * 1024
# Failed log-ins allowed in so many seconds: of a name, from an address (a house may have one
# address for many people), and of all together, since each check costs about 0.1 s of a core.
# Looser limits help whoever guesses passwords, tighter ones lock people out after typing errors.
TRIES_OF_NAME = (5, 300.0)
TRIES_FROM_ADDRESS = (20, 300.0)
TRIES_OF_ALL = (10, 10.0)

# Called at each log-in and log-out: order name, person, role, accepted.
Recorder = Callable[[str, str, str, bool], None]
Guarded = Callable[[Request, Session], Awaitable[Response]]

log = logging.getLogger(__name__)


class LoginPages:
    """Logs people in and out, and answers requests only in the roles that may send them."""

    def __init__(
        self, accounts: Accounts, sessions: Sessions, recorder: Recorder, *, secure: bool
    ) -> None:
        """Prepare; `recorder` is called at each log-in, `secure` sends the cookie over TLS only."""
        self._accounts = accounts
        self._sessions = sessions
        self._record = recorder
        self._secure = secure
        self._cookie = f"__Host-{COOKIE}" if secure else COOKIE
        self._by_name = Throttle(*TRIES_OF_NAME)
        self._by_address = Throttle(*TRIES_FROM_ADDRESS)
        self._of_all = Throttle(*TRIES_OF_ALL)

    def routes(self) -> list[Route]:
        """Return the routes of logging in and out."""
        return [
            Route("/login", page("login.html")),
            Route("/login", self._log_in, methods=["POST"]),
            Route("/logout", self.guard(self._log_out, change=True), methods=["POST"]),
            Route("/me", self.guard(self._me)),
        ]

    def session(self, request: Request, *, touch: bool = True) -> Session | None:
        """Return the session of a request, None where it has ended or the role was taken away."""
        session = self._sessions.find(request.cookies.get(self._cookie, ""), touch=touch)
        if session is None or session.role not in self._accounts.roles(session.name):
            return None
        return session

    def guard(
        self, answer: Guarded, roles: Iterable[str] = HOME, *, change: bool = False
    ) -> Answer:
        """Return an answer for those roles only; a `change` must come from our own pages."""
        allowed = frozenset(roles)

        async def guarded(request: Request) -> Response:
            session = self.session(request)
            if session is None:
                return refusal(401, "log in first")
            if session.role not in allowed:
                return refusal(403, f"this is not for the role {session.role}")
            if change and not self._is_own(request, session):
                return refusal(403, "this did not come from a page of this board")
            return await answer(request, session)

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

    def _is_own(self, request: Request, session: Session) -> bool:
        origin = request.headers.get("origin")
        own = f"{request.url.scheme}://{request.headers.get('host', '')}"
        return request.headers.get(CSRF_HEADER) == session.csrf and origin in (None, own)

    async def _log_in(self, request: Request) -> Response:
        # A page of another site cannot send JSON without asking first, which is never allowed.
        if not request.headers.get("content-type", "").startswith("application/json"):
            return refusal(415, "send JSON")
        body = await read_json(request)
        name, password = body.get("name"), body.get("password")
        if not isinstance(name, str) or not isinstance(password, str) or not name:
            return refusal(400, "name and password are needed")
        address = request.client.host if request.client else ""
        if not self._may_try(name, address):
            answer = refusal(429, "too many tries; wait some minutes")
            answer.headers["Retry-After"] = str(round(TRIES_OF_NAME[1]))
            return answer
        if not await run_in_threadpool(self._accounts.knows, name, password):
            self._refused(name, address)
            return refusal(401, "wrong name or password")
        self._by_name.forgive(name)
        self._by_address.take_back(address)
        self._of_all.take_back("")
        return self._let_in(name, str(body.get("role") or ""))

    def _let_in(self, name: str, role: str) -> Response:
        roles = self._accounts.roles(name)
        role = role or roles[0]
        if role not in roles:
            return refusal(403, f"you may not be logged in as {role}")
        token, session = self._sessions.open(name, role)
        self._record("sign_in", name, role, True)
        answer = JSONResponse(self._about(session), headers={"Cache-Control": "no-store"})
        answer.set_cookie(
            self._cookie, token, httponly=True, secure=self._secure, samesite="strict", path="/"
        )
        return answer

    def _may_try(self, name: str, address: str) -> bool:
        allowed = (
            self._by_name.allows(name)
            and self._by_address.allows(address)
            and self._of_all.allows("")
        )
        if allowed:
            # Counted before the password is checked: many tries at once are many tries.
            for throttle, key in (
                (self._by_name, name), (self._by_address, address), (self._of_all, "")
            ):  # fmt: skip
                throttle.count(key)
        return allowed

    def _refused(self, name: str, address: str) -> None:
        log.warning("log-in refused: %r from %s", name, address)
        roles = self._accounts.roles(name)
        if roles:
            self._record("sign_in", name, roles[0], False)

    async def _log_out(self, request: Request, session: Session) -> Response:
        self._sessions.close(request.cookies.get(self._cookie, ""))
        self._record("sign_out", session.name, session.role, True)
        answer = JSONResponse({})
        answer.delete_cookie(self._cookie, path="/", secure=self._secure, httponly=True)
        return answer

    async def _me(self, _request: Request, session: Session) -> Response:
        return JSONResponse(self._about(session), headers={"Cache-Control": "no-store"})

    def _about(self, session: Session) -> dict[str, Any]:
        return {
            "name": session.name,
            "role": session.role,
            "csrf": session.csrf,
            "home": HOME[session.role],
        }


def refusal(status: int, why: str) -> Response:
    """Return an answer that refuses, with the reason."""
    return JSONResponse({"why": why}, status, headers={"Cache-Control": "no-store"})


async def read_json(request: Request) -> dict[str, Any]:
    """Return the JSON object of a request; empty where it is none, or too long."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > BODY_LIMIT:
            return {}
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
