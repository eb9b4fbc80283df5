"""Sessions of people who are logged in, kept in a private file.

A restart of the server logs nobody out. Another program may end sessions in the file, or take the
file away to end all: the server sees it at the next request.
"""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from vision.errors import OutsideError
from vision.files import locked, write_json
from vision.record.facts import Fact

# Random bytes of a token: 256 bits cannot be guessed.
TOKEN_BYTES = 32
# Sessions of a person (desk, dealer strip and set-up on some screens) and of all; beyond it the
# oldest ends.
SESSIONS_OF_A_PERSON = 5
SESSIONS = 500
# Seconds between two saves because somebody was active: a restart may forget so much activity.
SAVE_EVERY_S = 60.0

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


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who logs in: the person, the role, the proof of the password, and from where."""

    name: str
    role: str
    proof: str = ""
    address: str = ""


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

    def open(self, visitor: Visitor) -> tuple[str, Session]:
        """Begin a session; return its token, of which only a hash is kept, and the session."""
        token, now = secrets.token_urlsafe(TOKEN_BYTES), self._clock()
        csrf = secrets.token_urlsafe(TOKEN_BYTES)
        who = (visitor.proof, visitor.address)
        session = Session(visitor.name, visitor.role, csrf, now, now, *who)

        def add() -> None:
            self._prune(visitor.name)
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

    def close(self, token: str) -> None:
        """End a session."""
        self._change(lambda: self._sessions.pop(_key(token), None))

    def end(self, token: str, why: str) -> None:
        """End a session for a reason that is told."""
        session = self._sessions.get(_key(token))
        if session is not None:
            self.close(token)
            self._ended(session, why)

    def _lasts(self, session: Session) -> bool:
        now = self._clock()
        # A clock that was set back past a log-in ends it.
        return 0 <= now - session.begun_s < self._length_s and now - session.seen_s < self._idle_s

    def _renew(self) -> None:
        """Take the sessions from the file where another has changed it or taken it away."""
        found = () if self._path is None else _stat(self._path)
        if self._path is None or found == self._seen:
            return
        kept = _loaded(self._path) if found else {}
        for key, session in kept.items():
            # The same object as before: an open page compares with it.
            known = self._sessions.get(key)
            kept[key] = session if known is None else known
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
                    self._seen = _stat(self._path)
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
    write_json(path, {key: asdict(session) for key, session in sessions.items()}, mode=0o600)


def _loaded(path: Path) -> dict[str, Session]:
    """Return the sessions of a file; none where it cannot be used or others may have written it."""
    try:
        if path.stat().st_mode & 0o077:
            return {}
        return {key: Session(**kept) for key, kept in json.loads(path.read_bytes()).items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _stat(path: Path) -> tuple[int, ...]:
    """Return what tells one state of a file from another; nothing where there is no file."""
    try:
        stat = path.stat()
    except OSError:
        return ()
    return stat.st_mtime_ns, stat.st_size, stat.st_ino, stat.st_mode


def _key(token: str) -> str:
    # A dump of the server's memory or file gives no token that works.
    return hashlib.sha256(token.encode()).hexdigest()


class Recorder(Protocol):
    """Keeps orders and facts for the logs of the tables, on the disk when a method returns.

    Without a `table` they are for all. OutsideError where they cannot be kept.
    """

    def order(self, name: str, fields: Mapping[str, Any], table: str = "") -> None:
        """Keep an order that the server gives for a person, such as a log-in."""

    def fact(self, kind: Fact, *, table: str = "", **fields: str) -> None:
        """Keep a fact: `subject`, `detail`, `by` and `role`, of which each may be left out."""
