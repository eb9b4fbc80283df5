"""Sessions of people who are logged in, kept in a private file, and limits on how often to try.

A restart of the server logs nobody out.
"""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from vision.errors import OutsideError
from vision.files import write_json

# Random bytes of a token: 256 bits cannot be guessed.
TOKEN_BYTES = 32
# Sessions of a person (desk, dealer strip and set-up on some screens) and of all; beyond it the
# oldest ends.
SESSIONS_OF_A_PERSON = 5
SESSIONS = 500
# Names or addresses whose tries are remembered; bounds memory, and the oldest is forgotten.
KEYS = 10_000
# Seconds between two saves because somebody was active: a restart may forget so much activity.
SAVE_EVERY_S = 60.0

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Session:
    """One log-in; its pages must send `csrf` with every request that changes something."""

    name: str
    role: str
    csrf: str
    begun_s: float
    seen_s: float


class Sessions:
    """The sessions of a board server."""

    def __init__(
        self,
        *,
        idle_s: float,
        length_s: float,
        path: Path | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Let sessions last `length_s` at most, and `idle_s` after the last request.

        With a `path` they are kept in that file, by the hash of their token, and go on after a
        restart.
        """
        self._idle_s = idle_s
        self._length_s = length_s
        self._path = path
        self._clock = clock
        self._sessions = {} if path is None else _loaded(path)
        self._saved_s = clock()

    def open(self, name: str, role: str) -> tuple[str, Session]:
        """Begin a session; return its token, of which only a hash is kept, and the session."""
        self._prune()
        own = [key for key, session in self._sessions.items() if session.name == name]
        for key in own[: max(0, len(own) - SESSIONS_OF_A_PERSON + 1)]:
            del self._sessions[key]
        while len(self._sessions) >= SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        token, now = secrets.token_urlsafe(TOKEN_BYTES), self._clock()
        session = Session(name, role, secrets.token_urlsafe(TOKEN_BYTES), now, now)
        self._sessions[_key(token)] = session
        self._save()
        return token, session

    def find(self, token: str, *, touch: bool = True) -> Session | None:
        """Return the session of a token, None where it has ended; `touch` keeps it from idling."""
        session = self._sessions.get(_key(token))
        if session is None or not self._lasts(session):
            self._sessions.pop(_key(token), None)
            return None
        if touch:
            session.seen_s = self._clock()
            if session.seen_s - self._saved_s > SAVE_EVERY_S:
                self._save()
        return session

    def close(self, token: str) -> None:
        """End a session."""
        self._sessions.pop(_key(token), None)
        self._save()

    def _lasts(self, session: Session) -> bool:
        now = self._clock()
        # A clock that was set back past a log-in ends it.
        return 0 <= now - session.begun_s < self._length_s and now - session.seen_s < self._idle_s

    def _save(self) -> None:
        self._saved_s = self._clock()
        if self._path is None:
            return
        try:
            sessions = {key: asdict(session) for key, session in self._sessions.items()}
            write_json(self._path, sessions, mode=0o600)
        except OutsideError as error:
            log.warning("a restart will log everybody out: %s; see to that folder", error)

    def _prune(self) -> None:
        self._sessions = {
            k: session for k, session in self._sessions.items() if self._lasts(session)
        }


class Throttle:
    """Limits how many times each key may do something in so many seconds."""

    def __init__(
        self, times: int, per_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._times = times
        self._per_s = per_s
        self._clock = clock
        self._done: dict[str, deque[float]] = {}

    def allows(self, key: str) -> bool:
        """Whether the key may do it once more now."""
        done = self._done.get(key)
        while done and self._clock() - done[0] >= self._per_s:
            done.popleft()
        return not done or len(done) < self._times

    def count(self, key: str) -> None:
        """Note that the key has done it."""
        if key not in self._done and len(self._done) >= KEYS:
            del self._done[next(iter(self._done))]
        self._done.setdefault(key, deque()).append(self._clock())

    def take_back(self, key: str) -> None:
        """Forget the last time that the key did it."""
        if self._done.get(key):
            self._done[key].pop()

    def forgive(self, key: str) -> None:
        """Forget what the key has done."""
        self._done.pop(key, None)


def _loaded(path: Path) -> dict[str, Session]:
    """Return the sessions of a file; none where it cannot be used or others may have written it."""
    try:
        if path.stat().st_mode & 0o077:
            return {}
        return {key: Session(**kept) for key, kept in json.loads(path.read_bytes()).items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _key(token: str) -> str:
    # A dump of the server's memory or file gives no token that works.
    return hashlib.sha256(token.encode()).hexdigest()
