"""Sessions of people who are logged in: cookies that the server has signed, and which have ended.

A cookie holds who somebody is, in which role and since when, signed by itsdangerous with the time
at which it was last active. So a restart of the server logs nobody out, and only what has ended
before its time is kept, in a private file.
"""

from __future__ import annotations

import logging
import math
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from itsdangerous import BadData, Signer, URLSafeTimedSerializer
from pydantic import TypeAdapter

from vision.board.orders import Records
from vision.errors import OutsideError
from vision.files import is_private, write_json
from vision.record.facts import Fact

# Random bytes of a session's name: 128 bits are never the same by chance; the signature guards it.
NAME_BYTES = 16
# Seconds of activity after which a cookie is signed anew: a restart may forget so much of it.
SIGN_EVERY_S = 60.0
# Looks that are remembered; bounds memory, and beyond it one is recorded again.
SEEN_LIMIT = 20_000
ENDED = TypeAdapter(dict[str, float])

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Session:
    """One log-in, begun at Unix time `begun_s`.

    `proof` is that of the password it was opened with: with another password it ends.
    """

    name: str
    role: str
    begun_s: float
    proof: str
    id: str

    @property
    def who(self) -> dict[str, str]:
        """Person and role, as the fields of an order or a fact name them."""
        return {"by": self.name, "role": self.role}


class Sessions:
    """Makes and knows the cookies of sessions; safe to use from several threads."""

    def __init__(
        self,
        secret: bytes,
        *,
        idle_s: float,
        length_s: float,
        path: Path | None = None,
        ended: Callable[[Session, str], None] = lambda _session, _why: None,
    ) -> None:
        """Let sessions last `length_s` at most, and `idle_s` after the last request.

        `secret` is the same after a restart, and known to nobody else; in the file of `path` is
        which have ended. `ended` is told of each that ends otherwise than by a log-out, and why.
        """
        salt = f"session {path}"  # the cookie of another server of this house is none of ours
        self._signer = URLSafeTimedSerializer(secret, salt=salt)
        self._pages = Signer(secret, salt="pages")
        self._idle_s = idle_s
        self._length_s = length_s
        self._path = path
        self._tell = ended
        self._mutex = threading.Lock()
        self._ended = {} if path is None else _loaded(path)  # until when a cookie might be used
        self._active_s: dict[str, float] = {}

    def open(self, name: str, role: str, *, proof: str = "") -> tuple[str, Session]:
        """Begin a session; return its cookie, and the session."""
        now = time.time()
        session = Session(name, role, now, proof, secrets.token_urlsafe(NAME_BYTES))
        with self._mutex:  # of those that nobody has asked for since
            active = self._active_s.items()
            self._active_s = {one: at for one, at in active if now - at < self._idle_s}
        return self._signed(session), session

    def csrf(self, session: Session) -> str:
        """Return what the session's pages send with every request that changes something."""
        return self._pages.get_signature(session.id).decode()

    def find(self, cookie: str, *, touch: bool = True) -> Session | None:
        """Return the session of a cookie, None where it has ended; `touch` keeps it from idling."""
        try:
            content, signed_at = self._signer.loads(cookie, return_timestamp=True)
            session = Session(**content)
        except (BadData, TypeError):  # no cookie of ours
            return None
        with self._mutex:
            if session.id in self._ended:
                return None
        now = time.time()
        active_s = max(signed_at.timestamp(), self._active_s.get(session.id, 0.0))
        # A clock that was set back past a log-in ends it.
        if not 0 <= now - session.begun_s < self._length_s or now - active_s >= self._idle_s:
            self.end(session, "its time was over")
            return None
        if touch:
            with self._mutex:
                self._active_s[session.id] = now
        return session

    def renewed(self, cookie: str, session: Session) -> str:
        """Return the cookie to go on with, "" where it has ended or is signed newly enough."""
        if session.id in self._ended:
            return ""
        signed_at = self._signer.loads(cookie, return_timestamp=True)[1].timestamp()
        return self._signed(session) if time.time() - signed_at > SIGN_EVERY_S else ""

    def end(self, session: Session, why: str = "") -> None:
        """End a session, and tell why where it is not the person who ends it."""
        now = time.time()
        with self._mutex:
            if session.id in self._ended:
                return
            ended = {**self._ended, session.id: now + self._length_s}
            self._ended = {one: until for one, until in ended.items() if until > now}
            self._active_s.pop(session.id, None)
            try:
                if self._path is not None:
                    write_json(self._path, self._ended, mode=0o600)
            except OutsideError as error:
                log.warning(
                    "%s: a restart would let a session go on that has ended; check [desk] folder",
                    error,
                )
        if why:
            self._tell(session, why)

    def _signed(self, session: Session) -> str:
        return str(self._signer.dumps(asdict(session)))


def _loaded(path: Path) -> dict[str, float]:
    """Return what has ended by its file; nothing where others may have written it."""
    try:
        return ENDED.validate_json(path.read_bytes()) if is_private(path) else {}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise OutsideError(
            f"{path}: cannot be read: {error}; without it a session that was ended could go on: "
            "correct its permissions, or remove it and set the passwords anew"
        ) from error


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
