"""Who somebody is: the check of password and second factor, one at a time and never in a hurry.

A check costs 64 MiB and about 0.1 s of some cores on purpose. So one runs at a time, at low
priority, and few wait; devices on which the person has logged in before wait apart from the others.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any

from vision.board.answers import OneAtATime, RefusalError
from vision.board.connections import network_of
from vision.board.login.passwords import PasswordBook, SecondFactors
from vision.board.login.throttle import BURST, TRIES_OF_NAME, Devices, Throttle, Tries
from vision.board.records import Records
from vision.record.facts import Fact

# Checks that may wait, of devices that are not known and of all: at 0.1 s each, who is let wait at
# all waits for seconds at most. Fewer turn people away when a shift begins.
WAITING = 10
WAITING_WITH_KNOWN = 40
# How much the thread of the checks gives way to the reader on the same machine (`nice`).
NICE = 5
CROWD = "many people log in at once; try again in a moment"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Claim:
    """What somebody says of themselves; an empty role stands for the first they have.

    `address` is where it comes from, `device` the cookie of the browser, "" where it has none.
    """

    name: str
    password: str = field(repr=False)
    code: str = field(default="", repr=False)
    role: str = ""
    address: str = ""
    device: str = ""

    @classmethod
    def read(cls, fields: dict[str, Any]) -> Claim:
        """Read a claim that a page sent; NotKnownError where it is none."""
        values = [fields.get(name) or "" for name in ("name", "password", "code", "role")]
        if not all(isinstance(value, str) for value in values) or not all(values[:2]):
            raise NotKnownError(400, "name and password are needed")
        return cls(*values)


class NotKnownError(RefusalError):
    """Somebody is not who they say, or may not try; `ask` is what the page is to ask for."""

    def __init__(self, status: int, why: str, **ask: str) -> None:
        super().__init__(status, why, **ask)
        self.retry_s = TRIES_OF_NAME[1] if status == 429 else 0.0


class Identities:
    """Checks claims against the accounts."""

    def __init__(
        self,
        accounts: PasswordBook,
        factors: SecondFactors,
        devices: Devices,
        *,
        two_factors: frozenset[str],
        recorder: Records,
    ) -> None:
        """Prepare; people in a role of `two_factors` need a code too, as does who has one set up.

        `recorder` keeps each failure.
        """
        self._accounts = accounts
        self._factors = factors
        self._devices = devices
        self._two_factors = two_factors
        self._record = recorder
        self._tries = Tries()
        self._checks = OneAtATime("passwords", nice=NICE)
        self._untried = 0
        self._told = Throttle(1, TRIES_OF_NAME[1])

    def new_device(self, name: str) -> str:
        """Return a cookie by which the device of a person who has got in is known again."""
        return self._devices.cookie(name)

    async def check(self, claim: Claim) -> str:
        """Return the role in which the claim holds; NotKnownError with the reason."""
        name, address = claim.name, network_of(claim.address)
        device = self._devices.known(name, claim.device)
        self._tries.unlock(name, self._accounts.account(name).unlocked)
        if not self._tries.may(name, address, device):
            self._note_untried(claim)
            raise NotKnownError(429, "too many tries; wait some minutes")
        try:
            known = await self._checks.run(
                lambda: self._accounts.knows(name, claim.password),
                most=WAITING_WITH_KNOWN if device else WAITING,
                full=CROWD,
            )
        except RefusalError:
            self._tries.take_back(name, address, device)
            self._note_untried(claim)
            raise
        if not known:
            self._fail(claim)
            raise NotKnownError(401, "wrong name or password")
        try:
            role = self._role(claim)
            await self._check_code(claim, role)
        except RefusalError as error:
            if error.status != 401 or error.more:  # no wrong code was given
                self._tries.take_back(name, address, device)
            raise
        self._tries.forgive(name, address, device)
        return role

    def _role(self, claim: Claim) -> str:
        roles = self._accounts.roles(claim.name)
        role = claim.role or next(iter(roles), "")
        if role not in roles:
            raise NotKnownError(403, f"you may not be logged in as {role}")
        if self._accounts.is_expired(claim.name):
            raise NotKnownError(
                403, "your password is too old; have a new one set: shoe-reader users password NAME"
            )
        return role

    async def _check_code(self, claim: Claim, role: str) -> None:
        account = self._accounts.account(claim.name)
        if not account.secret:
            if role in self._two_factors:
                raise NotKnownError(
                    403,
                    f"as {role} you need a second factor; have one set up: shoe-reader users "
                    "second-factor NAME",
                )
            return
        if not claim.code:
            raise NotKnownError(401, "give the code that your telephone shows", ask="code")
        if not await self._checks.run(
            lambda: self._factors.passes(claim.name, account, claim.code),
            most=WAITING_WITH_KNOWN,
            full=CROWD,
        ):
            self._fail(claim)
            raise NotKnownError(401, "that code is wrong, or was used before; wait for the next")

    def _fail(self, claim: Claim) -> None:
        """Log and record a refusal; a name that is nobody's may be a password, and is kept out."""
        roles = self._accounts.roles(claim.name)
        who = repr(claim.name) if roles else "a name that is not known"
        log.warning("log-in refused: %s from %s", who, claim.address)
        if roles:
            fields = {"by": claim.name, "role": roles[0], "accepted": False}
            self._record.order("sign_in", fields)
        else:
            self._record.fact(Fact.SIGN_IN_REFUSED, detail=f"{who}, from {claim.address}")
        self._tell_of_burst()

    def _note_untried(self, claim: Claim) -> None:
        """Log the first, second, fourth, eighth refusal without a try: a flood fills no log."""
        self._untried += 1
        name = claim.name if self._accounts.roles(claim.name) else ""
        if self._untried & (self._untried - 1) == 0:
            words = "log-in of %r not tried, %d so far: too many at once, from %s"
            log.warning(words, name, self._untried, claim.address)
        if name and self._told.allows(name):
            self._told.count(name)
            self._record.fact(
                Fact.SIGN_IN_LOCKED, subject=name, detail=f"too many tries, from {claim.address}"
            )
        self._tell_of_burst()

    def _tell_of_burst(self) -> None:
        if self._tries.fail():
            words = f"{BURST[0]} log-ins or more failed within {BURST[1] / 60:.0f} minutes"
            log.error("%s: somebody may be guessing passwords; see the addresses", words)
            self._record.fact(Fact.SIGN_IN_LOCKED, detail=words)
