"""Sessions of people who are logged in: a name that only their browser knows, and its time.

They are in the memory of the server alone, so a restart of it logs everybody out, and nothing that
lies on its disk opens one.
"""

from __future__ import annotations

import math
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from vision.board.orders import Records
from vision.record.facts import Fact

# Random bytes of a session's name, which is its cookie, and of the token of its pages: nobody
# guesses 256 bits.
NAME_BYTES = 32
# Looks that are remembered; bounds memory, and beyond it one is recorded again.
SEEN_LIMIT = 20_000


@dataclass(frozen=True, slots=True)
class Session:
    """One log-in, begun at `begun_s` of the monotonic clock; `id` is its cookie.

    `proof` is that of the password it was opened with: with another password it ends. Its pages
    send `csrf` with every request that changes something.
    """

    name: str
    role: str
    begun_s: float
    proof: str = field(repr=False)
    id: str = field(repr=False)
    csrf: str = field(repr=False)

    @property
    def who(self) -> dict[str, str]:
        """Person and role, as the fields of an order or a fact name them."""
        return {"by": self.name, "role": self.role}


class Sessions:
    """The sessions that are open; safe to use from several threads."""

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
        self._mutex = threading.Lock()
        self._open: dict[str, tuple[Session, float]] = {}  # by cookie, with when it was last active

    def open(self, name: str, role: str, *, proof: str = "") -> Session:
        """Begin a session, and end those whose time is over."""
        cookie, csrf = secrets.token_urlsafe(NAME_BYTES), secrets.token_urlsafe(NAME_BYTES)
        session = Session(name, role, self._clock(), proof, cookie, csrf)
        with self._mutex:
            known = tuple(self._open)
            self._open[cookie] = session, session.begun_s
        for other in known:
            self.find(other, touch=False)
        return session

    def find(self, cookie: str, *, touch: bool = True) -> Session | None:
        """Return the session of a cookie, None where it has ended; `touch` keeps it from idling."""
        now = self._clock()
        with self._mutex:
            session, active_s = self._open.get(cookie, (None, 0.0))
            if session is None:
                return None
            is_over = now - session.begun_s >= self._length_s or now - active_s >= self._idle_s
            if touch and not is_over:
                self._open[cookie] = session, now
        if is_over:
            self.end(session, "its time was over")
        return None if is_over else session

    def end(self, session: Session, why: str = "") -> None:
        """End a session, and report why where it is not the person who ends it."""
        with self._mutex:
            was_open = self._open.pop(session.id, None) is not None
        if was_open and why:
            self._report(session, why)


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
