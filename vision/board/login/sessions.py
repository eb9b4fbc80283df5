"""Sessions of people who are logged in: a name that only their browser knows, and its time.

They are in the memory of the server alone, so a restart of it logs everybody out, and nothing that
lies on its disk opens one.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from vision.board.login.passwords import PasswordEntry

NAME_BYTES = 32  # random bytes of a session's name, which is its cookie: nobody guesses 256 bits


@dataclass(frozen=True, slots=True)
class Session:
    """One log-in, begun at `begun_s` of the monotonic clock; `id` is its cookie.

    `account` is that of the person as it was then: with another password it ends.
    """

    name: str
    role: str
    begun_s: float
    account: PasswordEntry = field(repr=False)
    id: str = field(repr=False)

    @property
    def who(self) -> dict[str, str]:
        """Person and role, as the fields of an order or a fact name them."""
        return {"by": self.name, "role": self.role}


class Sessions:
    """The sessions that are open; used from the server's thread only."""

    def __init__(
        self,
        *,
        idle_s: float,
        length_s: float,
        ended: Callable[[Session, str], None] = lambda _session, _why: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Let sessions last `length_s` at most, and `idle_s` after the last request.

        `ended` is called with each that ends otherwise than by a log-out, and why.
        """
        self._idle_s = idle_s
        self._length_s = length_s
        self._report = ended
        self._clock = clock
        self._open: dict[str, tuple[Session, float]] = {}  # by cookie, with when it was last active

    def open(self, name: str, role: str, account: PasswordEntry) -> Session:
        """Begin a session, and end those whose time is over."""
        for other in tuple(self._open):
            self.find(other, touch=False)
        cookie = secrets.token_urlsafe(NAME_BYTES)
        session = Session(name, role, self._clock(), account, cookie)
        self._open[cookie] = session, session.begun_s
        return session

    def find(self, cookie: str, *, touch: bool = True) -> Session | None:
        """Return the session of a cookie, None where it has ended; `touch` keeps it from idling."""
        session, active_s = self._open.get(cookie, (None, 0.0))
        if session is None:
            return None
        now = self._clock()
        if now - session.begun_s >= self._length_s or now - active_s >= self._idle_s:
            self.end(session, "its time was over")
            return None
        if touch:
            self._open[cookie] = session, now
        return session

    def end(self, session: Session, why: str = "") -> None:
        """End a session, and report why where it is not the person who ends it."""
        if self._open.pop(session.id, None) is not None and why:
            self._report(session, why)
