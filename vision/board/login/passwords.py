"""Who may log in: people of the users file who have a password (argon2id) in the passwords file.

Both files are read again when they change, so that a person who is removed is out at once.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import get_args

import pyotp
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

from vision.access.users import Credential, RoleName, User, Users, load_users, save_users
from vision.clock import now_ms
from vision.errors import ConfigurationError, OutsideError
from vision.files import WatchedFile, is_private, locked, refuse_others_file, write_json

ISSUER = "shoe-reader"
# Seconds that a code is shown for; what the apps take as given (RFC 6238, section 5.2).
STEP_S = 30
# Steps before and after this one whose codes are taken: clocks differ, and people type slowly.
DRIFT = 1
# Bytes of a passwords file that are read: thousands of people at about 1 kB each.
FILE_LIMIT = 8 * 1024 * 1024
# Characters of a password. NIST SP 800-63B asks for at least 8 and for at least 64 to be allowed;
# the upper limit bounds what one log-in makes the server hash.
SHORTEST = 10
LONGEST = 200


def address_of(name: str, secret: str) -> str:
    """Return the address that an app takes the secret from, as a QR code or by hand."""
    return pyotp.TOTP(secret).provisioning_uri(name=name, issuer_name=ISSUER)


def step_of(secret: str, code: str, at_s: float) -> int:
    """Return the step of time that a code belongs to, 0 where it is not one of about now."""
    if not code.isascii():
        return 0
    totp, now = pyotp.TOTP(secret), int(at_s) // STEP_S
    near = range(now - DRIFT, now + DRIFT + 1)
    return next((step for step in near if totp.verify(code, for_time=step * STEP_S)), 0)


class SecondFactors:
    """Checks codes, and remembers which have been used, in a file beside the sessions."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock

    def passes(self, name: str, secret: str, code: str) -> bool:
        """Whether a code is good, which uses it up; WriteError where that cannot be kept."""
        step = step_of(secret, code.replace(" ", ""), self._clock())
        with locked(self._path):
            used = self._used()
            if step <= used.get(name, 0):
                return False
            write_json(self._path, {**used, name: step}, mode=0o600)
        return True

    def _used(self) -> dict[str, int]:
        try:
            return USED.validate_json(self._path.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise OutsideError(
                f"{self._path}: cannot be read: {error}; without it a code could be used twice, so "
                "none is taken: correct its permissions, or remove it"
            ) from error


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


USED = TypeAdapter(dict[str, int])  # the step of time of the last code of each person
ENTRIES = TypeAdapter(dict[str, PasswordEntry])


def load_passwords(path: Path, *, needed: bool = True) -> dict[str, PasswordEntry]:
    """Return the accounts by name; none where there is no file and it is not `needed`.

    ConfigurationError when it is not such a file, or when others may read it.
    """
    if not needed and not path.exists():
        return {}
    cure = "make one with shoe-reader users password NAME"
    try:
        if not is_private(path):
            raise ConfigurationError(f"{path}: others may read the passwords; chmod 600 {path}")
        refuse_others_file(path, "passwords")
        return ENTRIES.validate_json(path.read_bytes()[:FILE_LIMIT])
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}; {cure}") from error
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
    change_account(path, name, lambda old: replace(old, hash=new, since=now_ms()))


def make_people(folder: Path, roles: Iterable[RoleName]) -> str:
    """Let one person of each role log in, named after it, where nobody can yet; OutsideError.

    Makes the users file, the passwords file and the desk's key; returns the password of them all.
    """
    desk, password = Credential.new("desk"), secrets.token_hex(6)
    users = Users(users={"desk": User(roles=get_args(RoleName), key=desk.public, may_act_for=True)})
    for role in roles:
        users = users.with_user(role, User(roles=(role,)))
        save_password(folder / "passwords.json", role, password)
    save_users(folder / "users.json", users)
    desk.save(folder / "desk.key")
    return password


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

    def proof(self, name: str) -> str:
        """Return what a session is tied to: another once any of it has changed."""
        account = self.account(name)
        tied = f"{account.hash}\n{account.secret}\n{account.ended}"
        return hashlib.sha256(tied.encode()).hexdigest()

    def knows(self, name: str, password: str) -> bool:
        """Whether the password is that of the name; slow on purpose, so call it from a thread."""
        stored = self.account(name).hash if self.roles(name) else ""
        try:
            self._hasher.verify(stored or self._nobody, password)
        except (VerificationError, InvalidHashError, ValueError):
            return False  # ValueError: a text that is no UTF-8
        return bool(stored)
