"""Sessions of people who are logged in, kept in a private file.

A restart of the server logs nobody out. Another program may end sessions in the file, or take the
file away to end all: the server sees it at the next request.
"""

from __future__ import annotations

import hashlib
import logging
import math
import secrets
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from vision.board.orders import Records
from vision.errors import OutsideError
from vision.files import is_private, locked, stamp, write_json
from vision.record.facts import Fact

# Random bytes of a token: 256 bits cannot be guessed.
TOKEN_BYTES = 32
# Sessions of a person (desk, dealer strip and set-up on some screens) and of all; beyond it the
# oldest ends.
SESSIONS_OF_A_PERSON = 5
SESSIONS = 500
# Seconds between two saves because somebody was active: a restart may forget so much activity.
SAVE_EVERY_S = 60.0
# Looks that are remembered; bounds memory, and beyond it one is recorded again.
SEEN_LIMIT = 20_000

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Session:
    """One log-in; its pages must send `csrf` with every request that changes something.

    `proof` is that of the password it was opened with: with another password it ends.
    """

    name: str
    role: str
    csrf: str
    begun_s: float
    seen_s: float
    proof: str = ""
    address: str = ""

    @property
    def who(self) -> dict[str, str]:
        """Person and role, as the fields of an order or a fact name them."""
        return {"by": self.name, "role": self.role}


KEPT = TypeAdapter(dict[str, Session])


class Sessions:
    """The sessions of a board server."""

    def __init__(
        self,
        *,
        idle_s: float,
        length_s: float,
        path: Path | None = None,
        clock: Callable[[], float] = time.time,
        ended: Callable[[Session, str], None] = lambda _session, _why: None,
    ) -> None:
        """Let sessions last `length_s` at most, and `idle_s` after the last request.

        With a `path` they are kept in that file, by the hash of their token, and go on after a
        restart. `ended` is told of each that ends otherwise than by a log-out, and why.
        """
        self._idle_s = idle_s
        self._length_s = length_s
        self._path = path
        self._clock = clock
        self._ended = ended
        self._sessions: dict[str, Session] = {}
        self._seen: tuple[int, ...] = ()
        self._renew()
        self._saved_s = clock()

    def open(
        self, name: str, role: str, *, proof: str = "", address: str = ""
    ) -> tuple[str, Session]:
        """Begin a session; return its token, of which only a hash is kept, and the session.

        `proof` is that of the password, `address` where the person logs in from.
        """
        token, csrf = (secrets.token_urlsafe(TOKEN_BYTES) for _ in range(2))
        now = self._clock()
        session = Session(name, role, csrf, now, now, proof, address)

        def add() -> None:
            self._prune(name)
            self._sessions[_key(token)] = session

        self._change(add)
        return token, session

    def find(self, token: str, *, touch: bool = True) -> Session | None:
        """Return the session of a token, None where it has ended; `touch` keeps it from idling."""
        self._renew()
        session = self._sessions.get(_key(token))
        if session is not None and not self._lasts(session):
            self.end(token, "its time was over")
            return None
        if session is not None and touch:
            session.seen_s = self._clock()
            if session.seen_s - self._saved_s > SAVE_EVERY_S:
                self._change(lambda: None)
        return session

    def end(self, token: str, why: str = "") -> None:
        """End a session, and tell why where it is not the person who ends it."""
        session = self._sessions.get(_key(token))
        self._change(lambda: self._sessions.pop(_key(token), None))
        if session is not None and why:
            self._ended(session, why)

    def _lasts(self, session: Session) -> bool:
        now = self._clock()
        # A clock that was set back past a log-in ends it.
        return 0 <= now - session.begun_s < self._length_s and now - session.seen_s < self._idle_s

    def _renew(self) -> None:
        """Take the sessions from the file where another has changed it or taken it away."""
        found = () if self._path is None else stamp(self._path)
        if self._path is None or found == self._seen:
            return
        # A session that is known stays the same object: an open page compares with it.
        kept = {key: self._sessions.get(key, one) for key, one in _loaded(self._path).items()}
        gone = [session for key, session in self._sessions.items() if key not in kept]
        self._sessions, self._seen = kept, found
        for session in gone:
            self._ended(session, "it was ended by an administrator")

    def _change(self, change: Callable[[], object]) -> None:
        self._saved_s = self._clock()
        try:
            with nullcontext() if self._path is None else locked(self._path):
                self._renew()
                change()
                if self._path is not None:
                    _save(self._path, self._sessions)
                    self._seen = stamp(self._path)
        except OutsideError as error:
            change()
            log.warning("a restart will log everybody out: %s; check that folder", error)

    def _prune(self, name: str) -> None:
        """Drop what has ended, and the oldest where one more of that name would be too many."""
        lasting = {k: one for k, one in self._sessions.items() if self._lasts(one)}
        own = [key for key, session in lasting.items() if session.name == name]
        for key in own[: max(0, len(own) - SESSIONS_OF_A_PERSON + 1)]:
            self._ended(lasting.pop(key), "the same person has logged in too often since")
        while len(lasting) >= SESSIONS:
            self._ended(lasting.pop(next(iter(lasting))), "too many others have logged in since")
        self._sessions = lasting


def sessions_path(folder: Path, port: int) -> Path | None:
    """Return where the sessions of the server at a port are kept: each server has its own file."""
    return folder / f"sessions-{port}.json" if port else None


def kept_sessions(folder: Path) -> list[Session]:
    """Return the sessions of all board servers of a folder, the oldest first."""
    found = [one for path in _files(folder) for one in _loaded(path).values()]
    return sorted(found, key=lambda session: session.begun_s)


def end_sessions(folder: Path, name: str | None) -> int:
    """End the sessions of a person, or of everybody; return how many. WriteError."""
    ended = 0
    for path in _files(folder):
        with locked(path):
            sessions = _loaded(path)
            left = {k: one for k, one in sessions.items() if name not in (None, one.name)}
            ended += len(sessions) - len(left)
            _save(path, left)
    return ended


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("sessions-*.json"))


def _save(path: Path, sessions: dict[str, Session]) -> None:
    write_json(path, KEPT.dump_python(sessions), mode=0o600)


def _loaded(path: Path) -> dict[str, Session]:
    """Return the sessions of a file; none where it cannot be used or others may have written it."""
    try:
        return KEPT.validate_json(path.read_bytes()) if is_private(path) else {}
    except (OSError, ValueError):
        return {}


def _key(token: str) -> str:
    # A dump of the server's memory or file gives no token that works.
    return hashlib.sha256(token.encode()).hexdigest()


class Looks:
    """Records who looks at what, once in a session or, after `again_s` seconds, as going on."""

    def __init__(self, records: Records, kind: Fact, *, again_s: float = math.inf) -> None:
        self._records = records
        self._kind = kind
        self._again_s = again_s
        self._seen_s: dict[tuple[str, str, str], float] = {}

    def note(self, session: Session, table: str, subject: str) -> None:
        """Have a look recorded; call it before anything is shown. OutsideError."""
        key, now_s = (session.csrf, table, subject), time.monotonic()
        if now_s - self._seen_s.get(key, -math.inf) < self._again_s:
            return
        self._records.fact(self._kind, table=table, subject=subject, **session.who)
        self._seen_s[key] = now_s
        while len(self._seen_s) > SEEN_LIMIT:
            self._seen_s.pop(next(iter(self._seen_s)), None)
