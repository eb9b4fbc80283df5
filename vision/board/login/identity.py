"""Who somebody is: the check of password and second factor, one at a time and never in a hurry.

A check costs 64 MiB and about 0.1 s of some cores on purpose. So one runs at a time, few wait, and
tries are limited by address and by name. A device on which a person has logged in before waits
apart from the others and has an allowance of its own, so that nobody can keep that person out by
trying wrong passwords elsewhere.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from itsdangerous import BadData, URLSafeTimedSerializer

from vision.board.login.passwords import PasswordBook, use_code
from vision.board.orders import Records
from vision.board.server import network_of
from vision.board.web import TOO_MANY, OneAtATime, RefusalError, Throttle
from vision.record.facts import Fact

# Failed log-ins allowed in so many seconds: of a known device, or of a name from all others, and
# from an address (a house may have one for many people). Chosen: looser limits help whoever guesses
# passwords, tighter ones lock people out after typing errors.
TRIES_OF_NAME = (5, 300.0)
TRIES_FROM_ADDRESS = (20, 300.0)
# Seconds that a device is known for: half a year, so that a desk is not forgotten over a holiday.
KNOWN_S = 182 * 86_400
DEVICE_BYTES = 12  # random bytes of a device's name: an allowance of its own, no secret
# Checks that may wait, of devices that are not known and of all: at 0.1 s each, who is let wait at
# all waits for seconds at most. Fewer turn people away when a shift begins.
WAITING = 10
WAITING_WITH_KNOWN = 40
CROWD = "many people log in at once; try again in a moment"

log = logging.getLogger(__name__)

Tries = Sequence[tuple[Throttle, str]]  # what counts the failures of a claim, each under which key


@dataclass(frozen=True, slots=True)
class Claim:
    """What somebody says of themselves, from which address, and the cookie of their device."""

    name: str
    password: str = field(repr=False)
    code: str = field(repr=False)
    address: str
    device: str


class NotKnownError(RefusalError):
    """Somebody is not who they say, or may not try; `ask` is what the page is to ask for."""


class Identities:
    """Checks claims against the accounts."""

    def __init__(
        self,
        accounts: PasswordBook,
        records: Records,
        *,
        secret: bytes,
        used_codes: Path,
        two_factors: Container[str],
    ) -> None:
        """Prepare; people in a role of `two_factors` need a code too, as does who has one set up.

        `records` keep each failure, the file `used_codes` what counts no more. With `secret`, the
        same after a restart and known to nobody else, devices are known again.
        """
        self.accounts = accounts
        self.records = records
        self._devices = URLSafeTimedSerializer(secret, salt="device")
        self._used_codes = used_codes
        self._two_factors = two_factors
        # The failed log-ins, which the checks alone count, one after another.
        self._by_name = Throttle(*TRIES_OF_NAME)
        self._by_address = Throttle(*TRIES_FROM_ADDRESS)
        self._checks = OneAtATime()
        self._reported = Throttle(1, TRIES_OF_NAME[1])

    def new_device(self, name: str) -> str:
        """Return a new cookie for a device on which that person has just logged in."""
        return str(self._devices.dumps([name, secrets.token_urlsafe(DEVICE_BYTES)]))

    def device(self, name: str, cookie: str) -> str:
        """Return what a known device of that person is called, "" where it is none."""
        try:
            owner, device = self._devices.loads(cookie, max_age=KNOWN_S)
        except (BadData, ValueError):  # none of ours, or of before
            return ""
        return str(device) if owner == name else ""

    async def check(self, claim: Claim) -> None:
        """Check that a claim holds; NotKnownError with the reason."""
        device = self.device(claim.name, claim.device)
        tries = [(self._by_address, network_of(claim.address)), (self._by_name, claim.name)]
        if device:
            tries = [(self._by_name, device)]
        most = WAITING_WITH_KNOWN if device else WAITING
        try:
            await self._checks.run(partial(self._check, claim, tries), most=most, full=CROWD)
        except RefusalError as error:
            if error.status == TOO_MANY:
                self._note_untried(claim)
            raise

    def _check(self, claim: Claim, tries: Tries) -> None:
        """Check a claim where it has its turn: none is begun past the limits."""
        if not all(throttle.allows(key) for throttle, key in tries):
            why = "too many tries; wait some minutes"
            raise NotKnownError(TOO_MANY, why, retry_s=TRIES_OF_NAME[1])
        if not self.accounts.knows(claim.name, claim.password):
            self._fail(claim, tries)
            raise NotKnownError(401, "wrong name or password")
        secret = self.accounts.account(claim.name).secret
        asking = [role for role in self.accounts.roles(claim.name) if role in self._two_factors]
        if asking and not secret:
            raise NotKnownError(
                403,
                f"as {asking[0]} you need a second factor; have one set up: shoe-reader users "
                "second-factor NAME",
            )
        if secret and not claim.code:
            raise NotKnownError(401, "give the code that your telephone shows", ask="code")
        if secret and not use_code(self._used_codes, claim.name, secret, claim.code):
            self._fail(claim, tries)
            raise NotKnownError(401, "that code is wrong, or was used before; wait for the next")
        for throttle, key in tries:
            if throttle is not self._by_address:  # which others may share
                throttle.forgive(key)

    def _fail(self, claim: Claim, tries: Tries) -> None:
        """Count a failure, and record it; a name that is nobody's may be a password: it is not."""
        for throttle, key in tries:
            throttle.count(key)
        roles = self.accounts.roles(claim.name)
        who = repr(claim.name) if roles else "a name that is not known"
        log.warning("log-in refused: %s from %s", who, claim.address)
        if roles:
            fields = {"by": claim.name, "role": roles[0], "accepted": False}
            self.records.order("sign_in", fields)
        else:
            self.records.fact(Fact.SIGN_IN_REFUSED, detail=f"{who}, from {claim.address}")

    def _note_untried(self, claim: Claim) -> None:
        """Log and record whose log-ins are not tried, once in a while: a flood fills no log."""
        name = claim.name if self.accounts.roles(claim.name) else ""
        if not self._reported.take(name):
            return
        log.warning(
            "log-in of %r not tried: too many tries; find out who is at %s", name, claim.address
        )
        if name:
            detail = f"too many tries, from {claim.address}"
            self.records.fact(Fact.SIGN_IN_LOCKED, subject=name, detail=detail)
