"""Who somebody is: the check of password and second factor, one at a time and never in a hurry.

A check costs 64 MiB and about 0.1 s of some cores on purpose. So one runs at a time, at low
priority, few wait, and tries are limited by address and by name. A device on which a person has
logged in before waits apart from the others and has an allowance of its own, so that nobody can
keep that person out by trying wrong passwords elsewhere.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Container, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from itsdangerous import BadData, URLSafeTimedSerializer

from vision.board.login.passwords import PasswordBook, SecondFactors
from vision.board.orders import Records
from vision.board.server import network_of
from vision.board.web import RefusalError
from vision.record.facts import Fact

# Failed log-ins allowed in so many seconds: of a name from devices that are not known, from an
# address (a house may have one address for many people), and of a known device. Chosen: looser
# limits help whoever guesses passwords, tighter ones lock people out after typing errors.
TRIES_OF_NAME = (5, 300.0)
TRIES_FROM_ADDRESS = (20, 300.0)
TRIES_OF_DEVICE = (5, 300.0)
# Names or addresses whose tries are remembered; bounds memory, and the oldest is forgotten.
KEYS = 10_000
# Seconds that a device is known for: half a year, so that a desk is not forgotten over a holiday.
KNOWN_S = 182 * 86_400
DEVICE_BYTES = 12  # random bytes of a device's name: an allowance of its own, no secret


class Throttle:
    """Limits how many times each key may do something in so many seconds."""

    def __init__(
        self, times: int, per_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._times = times
        self._per_s = per_s
        self._clock = clock
        self._done: dict[str, deque[float]] = {}

    def allows(self, key: str) -> bool:
        """Whether the key may do it once more now."""
        done = self._done.get(key)
        while done and self._clock() - done[0] >= self._per_s:
            done.popleft()
        return not done or len(done) < self._times

    def take(self, key: str) -> bool:
        """Whether the key may do it once more now; counted where it may."""
        allowed = self.allows(key)
        if allowed:
            self.count(key)
        return allowed

    def count(self, key: str) -> None:
        """Note that the key has done it."""
        if key not in self._done and len(self._done) >= KEYS:
            del self._done[next(iter(self._done))]
        self._done.setdefault(key, deque()).append(self._clock())

    def forgive(self, key: str) -> None:
        """Forget what the key has done."""
        self._done.pop(key, None)


class Devices:
    """Makes and knows the cookies by which the devices of a person are known again."""

    def __init__(self, secret: bytes) -> None:
        """Prepare; `secret` is the same after a restart and known to nobody else."""
        self._signer = URLSafeTimedSerializer(secret, salt="device")

    def cookie(self, name: str) -> str:
        """Return a new cookie for a device on which that person has just logged in."""
        return str(self._signer.dumps([name, secrets.token_urlsafe(DEVICE_BYTES)]))

    def known(self, name: str, cookie: str) -> str:
        """Return what a known device of that person is called, "" where it is none."""
        try:
            owner, device = self._signer.loads(cookie, max_age=KNOWN_S)
        except (BadData, ValueError):  # none of ours, or of before
            return ""
        return str(device) if owner == name else ""


# --- the check ------------------------------------------------------------------------------------


# Checks that may wait, of devices that are not known and of all: at 0.1 s each, who is let wait at
# all waits for seconds at most. Fewer turn people away when a shift begins.
WAITING = 10
WAITING_WITH_KNOWN = 40
# How much a thread of slow work gives way to the reader on the same machine (`nice`).
NICE = 5
CROWD = "many people log in at once; try again in a moment"

log = logging.getLogger(__name__)

T = TypeVar("T")
Tries = Sequence[tuple[Throttle, str]]  # what counts the failures of a claim, each under which key
TOO_MANY_TRIES = 429  # as HTTP has it


class OneAtATime:
    """Runs slow work in order in a thread that gives way to others by NICE."""

    def __init__(self, name: str) -> None:
        self._thread = ThreadPoolExecutor(1, name, initializer=_give_way)
        self._waiting = 0

    async def run(self, work: Callable[[], T], *, most: int, full: str) -> T:
        """Return what the work comes to; RefusalError with `full` where `most` wait already."""
        if self._waiting >= most:
            raise RefusalError(TOO_MANY_TRIES, full)
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        finally:
            self._waiting -= 1


def _give_way() -> None:
    with suppress(OSError):  # a sandbox may forbid it; then the work is as urgent as the rest
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)


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


class Identities:
    """Checks claims against the accounts."""

    def __init__(
        self,
        accounts: PasswordBook,
        factors: SecondFactors,
        devices: Devices,
        *,
        records: Records,
        two_factors: Container[str],
    ) -> None:
        """Prepare; people in a role of `two_factors` need a code too, as does who has one set up.

        `records` keep each failure.
        """
        self.accounts = accounts
        self.records = records
        self.devices = devices
        self._factors = factors
        self._two_factors = two_factors
        # The failed log-ins, which the thread of the checks alone counts.
        self._by_name = Throttle(*TRIES_OF_NAME)
        self._by_address = Throttle(*TRIES_FROM_ADDRESS)
        self._by_device = Throttle(*TRIES_OF_DEVICE)
        self._checks = OneAtATime("passwords")
        self._untried = 0
        self._reported = Throttle(1, TRIES_OF_NAME[1])

    async def check(self, claim: Claim) -> str:
        """Return the role in which the claim holds; NotKnownError with the reason."""
        device = self.devices.known(claim.name, claim.device)
        tries = [(self._by_address, network_of(claim.address)), (self._by_name, claim.name)]
        if device:
            tries = [(self._by_device, device)]
        most = WAITING_WITH_KNOWN if device else WAITING
        try:
            return await self._checks.run(partial(self._check, claim, tries), most=most, full=CROWD)
        except RefusalError as error:
            if error.status == TOO_MANY_TRIES:
                self._note_untried(claim)
            raise

    def _check(self, claim: Claim, tries: Tries) -> str:
        """Check a claim, in the one thread of the checks: none is begun past the limits."""
        if not all(throttle.allows(key) for throttle, key in tries):
            why = "too many tries; wait some minutes"
            raise NotKnownError(TOO_MANY_TRIES, why, retry_s=TRIES_OF_NAME[1])
        if not self.accounts.knows(claim.name, claim.password):
            self._fail(claim, tries)
            raise NotKnownError(401, "wrong name or password")
        roles = self.accounts.roles(claim.name)
        role = claim.role or roles[0]
        if role not in roles:
            raise NotKnownError(403, f"you may not be logged in as {role}")
        secret = self.accounts.account(claim.name).secret
        if not secret and role in self._two_factors:
            raise NotKnownError(
                403,
                f"as {role} you need a second factor; have one set up: shoe-reader users "
                "second-factor NAME",
            )
        if secret and not claim.code:
            raise NotKnownError(401, "give the code that your telephone shows", ask="code")
        if secret and not self._factors.passes(claim.name, secret, claim.code):
            self._fail(claim, tries)
            raise NotKnownError(401, "that code is wrong, or was used before; wait for the next")
        for throttle, key in tries:
            if throttle is not self._by_address:  # which others may share
                throttle.forgive(key)
        return role

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
        """Log the first, second, fourth, eighth refusal without a try: a flood fills no log."""
        self._untried += 1
        name = claim.name if self.accounts.roles(claim.name) else ""
        if self._untried & (self._untried - 1) == 0:
            words = "log-in of %r not tried, %d so far: too many at once, from %s"
            log.warning(words, name, self._untried, claim.address)
        if name and self._reported.take(name):
            self.records.fact(
                Fact.SIGN_IN_LOCKED, subject=name, detail=f"too many tries, from {claim.address}"
            )
