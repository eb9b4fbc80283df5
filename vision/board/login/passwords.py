"""Who may log in: people of the users file who have a password (argon2id) in the passwords file.

Both files are read again when they change, so that a person who is removed is out at once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyotp
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

from vision.access.users import Users, load_users
from vision.clock import now_ms
from vision.errors import ConfigurationError, OutsideError
from vision.files import WatchedFile, locked, secret_in, write_json

# Seconds that a code is shown for; what the apps take as given (RFC 6238, section 5.2).
STEP_S = 30
# Steps before and after this one whose codes are taken: clocks differ, and people type slowly.
DRIFT = 1
# Characters of a password. NIST SP 800-63B asks for at least 8 and for at least 64 to be allowed;
# the upper limit bounds what one log-in makes the server hash.
SHORTEST = 10
LONGEST = 200


def step_of(secret: str, code: str, at_s: float) -> int:
    """Return the step of time that a code belongs to, 0 where it is not one of about now."""
    if not code.isascii():
        return 0
    totp, now = pyotp.TOTP(secret), int(at_s) // STEP_S
    near = range(now - DRIFT, now + DRIFT + 1)
    return next((step for step in near if totp.verify(code, for_time=step * STEP_S)), 0)


USED = TypeAdapter(dict[str, int])  # the step of time of the last code of each person


def use_code(used_codes: Path, name: str, secret: str, code: str) -> bool:
    """Whether a code is good now, which uses it up; OutsideError where that cannot be kept."""
    step = step_of(secret, code.replace(" ", ""), time.time())
    with locked(used_codes):
        try:
            used = USED.validate_json(used_codes.read_bytes()) if used_codes.exists() else {}
        except (OSError, ValueError) as error:
            raise OutsideError(
                f"{used_codes}: cannot be read: {error}; without it a code could be used twice, so "
                "none is taken: correct its permissions, or remove it"
            ) from error
        is_new = step > used.get(name, 0)
        if is_new:
            write_json(used_codes, {**used, name: step}, mode=0o600)
    return is_new


@dataclass(frozen=True, slots=True)
class PasswordEntry:
    """What is kept of one person: times are Unix ms, 0 where none is known.

    `secret` is that of the second factor (base32, "" for none), `ended` when an administrator last
    ended the person's sessions.
    """

    hash: str = ""
    since: int = 0
    secret: str = ""
    ended: int = 0


ENTRIES = TypeAdapter(dict[str, PasswordEntry])


def load_passwords(path: Path, *, needed: bool = True) -> dict[str, PasswordEntry]:
    """Return the accounts by name; none where there is no file and it is not `needed`.

    ConfigurationError when it is not such a file, or when others may read it.
    """
    if not needed and not path.exists():
        return {}
    cure = "make one with shoe-reader users password NAME"
    try:
        return ENTRIES.validate_json(secret_in(path, "the passwords", cure))
    except ValueError:
        raise ConfigurationError(f"{path}: is not a passwords file; {cure}") from None


def change_account(
    path: Path, name: str, change: Callable[[PasswordEntry], PasswordEntry | None]
) -> None:
    """Change what is kept of a person, who may be new; None takes the person out. WriteError."""
    with locked(path):
        accounts = load_passwords(path, needed=False)
        account = change(accounts.pop(name, PasswordEntry()))
        if account is not None:
            accounts[name] = account
        write_json(path, ENTRIES.dump_python(accounts, exclude_defaults=True), mode=0o600)


def save_password(path: Path, name: str, password: str) -> None:
    """Put a password into the file, which is created if it is missing.

    ConfigurationError when the password is too short or long, WriteError.
    """
    if not SHORTEST <= len(password) <= LONGEST:
        raise ConfigurationError(
            f"a password has {SHORTEST} to {LONGEST} characters; use a few words"
        )
    new = PasswordHasher().hash(password)
    change_account(path, name, lambda old: replace(old, hash=new, since=now_ms()))


class PasswordBook:
    """Who may log in, and in which roles."""

    def __init__(self, users: Path, passwords: Path, *, needed: bool = True) -> None:
        """Read both files; ConfigurationError when one cannot be used.

        Passwords are not `needed` where somebody else knows who people are.
        """
        self._needed = needed
        self._users = WatchedFile(users, load_users)
        self._passwords = WatchedFile(passwords, partial(load_passwords, needed=needed))
        self._hasher = PasswordHasher()
        # Verified where the name is unknown, so that the time it takes gives no name away.
        self._nobody = self._hasher.hash(os.urandom(16).hex())

    @property
    def users(self) -> Users:
        """Everybody of the users file; nobody while it cannot be used."""
        try:
            return self._users.now()
        except ConfigurationError:
            return Users()

    def roles(self, name: str) -> tuple[str, ...]:
        """Return the roles in which a person may be logged in; none where they may not log in."""
        user = self.users.users.get(name)
        if user is None or user.may_act_for or (self._needed and not self.account(name).hash):
            return ()
        return tuple(role for role in user.roles if role != "house")

    def account(self, name: str) -> PasswordEntry:
        """Return what is kept of a person; an empty account of one who is not known."""
        try:
            return self._passwords.now().get(name, PasswordEntry())
        except ConfigurationError:
            return PasswordEntry()

    def knows(self, name: str, password: str) -> bool:
        """Whether the password is that of the name; slow on purpose, so call it from a thread."""
        stored = self.account(name).hash if self.roles(name) else ""
        try:
            self._hasher.verify(stored or self._nobody, password)
        except (VerificationError, InvalidHashError):
            return False
        return bool(stored)
