"""Who may log in: people of the users file who have a password (argon2id) in the passwords file.

Both files are read again when they change, so that a person who is removed is out at once.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from vision.access.users import Users, load_users
from vision.errors import ConfigurationError
from vision.files import write_json

# Bytes of a passwords file that are read: thousands of people at about 120 bytes each.
FILE_LIMIT = 1024 * 1024
# Characters of a password. NIST SP 800-63B asks for at least 8 and for at least 64 to be allowed;
# the upper limit bounds what one log-in makes the server hash.
SHORTEST = 10
LONGEST = 200

T = TypeVar("T")


def load_passwords(path: Path) -> dict[str, str]:
    """Return the hashes by name.

    ConfigurationError when it is not such a file, or when others may read it.
    """
    cure = "make one with shoe-reader users password NAME"
    try:
        if path.stat().st_mode & 0o077:
            raise ConfigurationError(f"{path}: others may read the passwords; chmod 600 {path}")
        content = json.loads(path.read_bytes()[:FILE_LIMIT])
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}; {cure}") from error
    except (ValueError, RecursionError):
        raise ConfigurationError(f"{path}: is not a passwords file; {cure}") from None
    if not isinstance(content, dict) or not all(isinstance(kept, str) for kept in content.values()):
        raise ConfigurationError(f"{path}: is not a passwords file; {cure}")
    return content


def save_password(path: Path, name: str, password: str) -> None:
    """Put a password into the file, which is created if it is missing.

    ConfigurationError when the password is too short, OutsideError when it cannot be written.
    """
    if not SHORTEST <= len(password) <= LONGEST:
        raise ConfigurationError(
            f"a password has {SHORTEST} to {LONGEST} characters; take a few words"
        )
    known = load_passwords(path) if path.exists() else {}
    write_json(path, {**known, name: PasswordHasher().hash(password)}, mode=0o600)


def drop_password(path: Path, name: str) -> None:
    """Take a name's password out of the file, if it is there."""
    if path.exists():
        known = load_passwords(path)
        write_json(path, {key: value for key, value in known.items() if key != name}, mode=0o600)


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


class Accounts:
    """Who may log in, and in which roles."""

    def __init__(self, users: Path, passwords: Path) -> None:
        """Read both files; ConfigurationError when one cannot be used."""
        self._users = _Kept(users, load_users, Users())
        self._passwords: _Kept[dict[str, str]] = _Kept(passwords, load_passwords, {})
        self._hasher = PasswordHasher()
        # Verified where the name is unknown, so that the time it takes gives no name away.
        self._nobody = self._hasher.hash(os.urandom(16).hex())

    def roles(self, name: str) -> tuple[str, ...]:
        """Return the roles in which a person may be logged in; none where they may not log in."""
        user = self._users.now().users.get(name)
        if user is None or user.may_act_for or name not in self._passwords.now():
            return ()
        return tuple(role for role in user.roles if role != "house")

    def knows(self, name: str, password: str) -> bool:
        """Whether the password is that of the name; slow on purpose, so call it from a thread."""
        kept = self._passwords.now().get(name) if self.roles(name) else None
        try:
            self._hasher.verify(self._nobody if kept is None else kept, password)
        except (VerificationError, InvalidHashError):
            return False
        return kept is not None
