"""The second factor of a log-in: a code of an app on a telephone (TOTP, RFC 6238), each used once.

Recovery codes replace a telephone that is lost. What has been used is kept in a private file, so
that a code that was looked over somebody's shoulder is worth nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pyotp

from vision.board.login.passwords import PasswordEntry
from vision.errors import OutsideError
from vision.files import locked, write_json

ISSUER = "shoe-reader"
# Seconds that a code is shown for; what the apps take as given (RFC 6238, section 5.2).
STEP_S = 30
# Steps before and after this one whose codes are taken: clocks differ, and people type slowly.
DRIFT = 1
# Recovery codes of a person, and random bytes of each: eighty bits cannot be guessed.
RECOVERY_CODES = 8
RECOVERY_BYTES = 10


def new_secret() -> str:
    """Return a new secret, base32."""
    return pyotp.random_base32()


def address_of(name: str, secret: str) -> str:
    """Return the address that an app takes the secret from, as a QR code or by hand."""
    return pyotp.TOTP(secret).provisioning_uri(name=name, issuer_name=ISSUER)


def new_recovery_codes() -> tuple[str, ...]:
    """Return codes that replace the telephone, each once."""
    return tuple(secrets.token_hex(RECOVERY_BYTES) for _ in range(RECOVERY_CODES))


def enrolled(account: PasswordEntry, secret: str, codes: tuple[str, ...]) -> PasswordEntry:
    """Return the account with a second factor."""
    return replace(account, secret=secret, recovery=tuple(map(_hash, codes)))


def without(account: PasswordEntry) -> PasswordEntry:
    """Return the account without a second factor."""
    return replace(account, secret="", recovery=())


def step_of(secret: str, code: str, at_s: float) -> int:
    """Return the step of time that a code belongs to, 0 where it is not one of about now."""
    totp, now = pyotp.TOTP(secret), int(at_s) // STEP_S
    for step in range(now - DRIFT, now + DRIFT + 1):
        if hmac.compare_digest(totp.at(step * STEP_S), code):
            return step
    return 0


@dataclass(frozen=True, slots=True)
class Used:
    """What a person has used up: the last step of time, and the hashes of recovery codes."""

    step: int
    codes: tuple[str, ...]

    def with_code(self, step: int, code: str, account: PasswordEntry) -> Used:
        """Return it with a code used too; the same where the code is not good, or was used."""
        if step > self.step:
            return replace(self, step=step)
        if code in account.recovery and code not in self.codes:
            return replace(self, codes=(*self.codes, code))
        return self


class SecondFactors:
    """Checks codes, and remembers which have been used, in a file beside the sessions."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock

    def passes(self, name: str, account: PasswordEntry, code: str) -> bool:
        """Whether a code is good, which uses it up; WriteError where that cannot be kept."""
        given = code.replace(" ", "").replace("-", "").lower()
        if not given.isascii():
            return False
        step = step_of(account.secret, given, self._clock())
        with locked(self._path):
            everybody = _loaded(self._path)
            used = everybody.get(name, Used(0, ()))
            now = used.with_code(step, _hash(given), account)
            if now != used:
                everybody[name] = now
                write_json(
                    self._path, {who: asdict(one) for who, one in everybody.items()}, mode=0o600
                )
        return now != used


def _hash(code: str) -> str:
    # A code has too many random bits to be found from its hash, so a quick hash does.
    return hashlib.sha256(code.encode()).hexdigest()


def _loaded(path: Path) -> dict[str, Used]:
    try:
        kept = json.loads(path.read_bytes())
        return {who: Used(int(one["step"]), tuple(one["codes"])) for who, one in kept.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise OutsideError(
            f"{path}: cannot be read: {error}; without it a code could be used twice, so none is "
            "taken: correct its permissions, or remove it"
        ) from error
