"""Who may log in: people of the users file who have a password (argon2id) in the passwords file.

Both files are read again when they change, so that a person who is removed is out at once.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from vision.access.users import Users, load_users
from vision.clock import now_ms
from vision.errors import ConfigurationError
from vision.files import is_private, locked, refuse_others_file, write_json

# Bytes of a passwords file that are read: thousands of people at about 1 kB each.
FILE_LIMIT = 8 * 1024 * 1024
# Characters of a password. NIST SP 800-63B asks for at least 8 and for at least 64 to be allowed;
# the upper limit bounds what one log-in makes the server hash.
SHORTEST = 10
LONGEST = 200
DAY_MS = 86_400_000  # milliseconds of a day

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PasswordEntry:
    """What is kept of one person: times are Unix ms, 0 where none is known.

    `secret` is that of the second factor (base32, "" for none), `recovery` the hashes of the codes
    that replace it; `unlocked` is when an administrator last ended the wait after wrong tries.
    """

    hash: str = ""
    since: int = 0
    unlocked: int = 0
    secret: str = ""
    recovery: tuple[str, ...] = ()


def load_passwords(path: Path) -> dict[str, PasswordEntry]:
    """Return the accounts by name.

    ConfigurationError when it is not such a file, or when others may read it.
    """
    cure = "make one with shoe-reader users password NAME"
    try:
        if not is_private(path):
            raise ConfigurationError(f"{path}: others may read the passwords; chmod 600 {path}")
        refuse_others_file(path, "passwords")
        content = json.loads(path.read_bytes()[:FILE_LIMIT])
        return {name: _account(kept) for name, kept in content.items()}
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}; {cure}") from error
    except (ValueError, RecursionError, TypeError, AttributeError):
        raise ConfigurationError(f"{path}: is not a passwords file; {cure}") from None


def change_account(
    path: Path, name: str, change: Callable[[PasswordEntry], PasswordEntry | None]
) -> None:
    """Change what is kept of a person, who may be new; None takes the person out. WriteError."""
    with locked(path):
        accounts = load_passwords(path) if path.exists() else {}
        account = change(accounts.pop(name, PasswordEntry()))
        if account is not None:
            accounts[name] = account
        kept = {who: _kept(account) for who, account in accounts.items()}
        write_json(path, kept, mode=0o600)


def hashed(password: str) -> str:
    """Return the hash of a new password; ConfigurationError when it is too short or long."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise ConfigurationError(
            f"a password has {SHORTEST} to {LONGEST} characters; use a few words"
        )
    return PasswordHasher().hash(password)


def save_password(path: Path, name: str, password: str) -> None:
    """Put a password into the file, which is created if it is missing.

    ConfigurationError when the password is too short, OutsideError when it cannot be written.
    """
    new = hashed(password)
    change_account(path, name, lambda old: _with_password(old, new))


def drop_password(path: Path, name: str) -> None:
    """Take a name's password out of the file, if it is there."""
    if path.exists():
        change_account(path, name, lambda _: None)


def _with_password(old: PasswordEntry, new: str) -> PasswordEntry:
    return PasswordEntry(new, now_ms(), old.unlocked, old.secret, old.recovery)


def _account(kept: Any) -> PasswordEntry:
    """Read what is kept of a person: an object, or a hash alone; ValueError when it is neither."""
    if isinstance(kept, str):
        return PasswordEntry(kept)
    account = PasswordEntry(**{**kept, "recovery": tuple(kept.get("recovery", ()))})
    texts = (account.hash, account.secret, *account.recovery)
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("not a text")
    if not all(isinstance(number, int) for number in (account.since, account.unlocked)):
        raise ValueError("not a number")
    return account


def _kept(account: PasswordEntry) -> dict[str, Any]:
    """Return what is kept of a person, without what is not known of them."""
    content = {name: getattr(account, name) for name in PasswordEntry.__slots__}
    return {name: value for name, value in content.items() if value}


class _Kept(Generic[T]):
    """The content of a file, read again when the file has changed."""

    def __init__(self, path: Path, load: Callable[[Path], T], none: T) -> None:
        self._path = path
        self._load = load
        self._none = none
        self._stat: tuple[int, ...] = ()
        self._content = load(path)

    def now(self) -> T:
        """Return the content now; `none` while the file cannot be used."""
        try:
            stat = self._path.stat()
            seen = (stat.st_mtime_ns, stat.st_size, stat.st_ino, stat.st_mode)
            if seen != self._stat:
                self._content = self._load(self._path)
                self._stat = seen
        except (OSError, ConfigurationError):
            self._stat = ()
            return self._none
        return self._content


class PasswordBook:
    """Who may log in, and in which roles."""

    def __init__(self, users: Path, passwords: Path, *, days: int = 0) -> None:
        """Read both files; ConfigurationError when one cannot be used.

        A password is good for so many `days`, 0 for ever.
        """
        self._users = _Kept(users, load_users, Users())
        self._passwords: _Kept[dict[str, PasswordEntry]] = _Kept(passwords, load_passwords, {})
        self._days = days
        self._hasher = PasswordHasher()
        # Verified where the name is unknown, so that the time it takes gives no name away.
        self._nobody = self._hasher.hash(os.urandom(16).hex())

    @property
    def users(self) -> Users:
        """Everybody of the users file."""
        return self._users.now()

    def roles(self, name: str) -> tuple[str, ...]:
        """Return the roles in which a person may be logged in; none where they may not log in."""
        user = self._users.now().users.get(name)
        if user is None or user.may_act_for or not self.account(name).hash:
            return ()
        return tuple(role for role in user.roles if role != "house")

    def account(self, name: str) -> PasswordEntry:
        """Return what is kept of a person; an empty account of one who is not known."""
        return self._passwords.now().get(name, PasswordEntry())

    def proof(self, name: str) -> str:
        """Return what a session is tied to: another for each password and second factor."""
        account = self.account(name)
        return hashlib.sha256(f"{account.hash}\n{account.secret}".encode()).hexdigest()

    def is_expired(self, name: str) -> bool:
        """Whether the password is older than it may be; one whose age is not known is."""
        return bool(self._days) and now_ms() - self.account(name).since > self._days * DAY_MS

    def knows(self, name: str, password: str) -> bool:
        """Whether the password is that of the name; slow on purpose, so call it from a thread."""
        kept = self.account(name).hash if self.roles(name) else ""
        try:
            self._hasher.verify(kept or self._nobody, password)
        except (VerificationError, InvalidHashError, ValueError):
            return False  # ValueError: a text that is no UTF-8
        return bool(kept)
