"""Who somebody is: the check of password and second factor, one at a time and never in a hurry.

A check costs 64 MiB and about 0.1 s of some cores on purpose. So one runs at a time, at low
priority, few wait, and tries are limited by address and by name. A device on which a person has
logged in before waits apart from the others and has an allowance of its own, so that nobody can
keep that person out by trying wrong passwords elsewhere.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import os
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Container, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

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
# Failed or refused tries of all within so many seconds that are a burst, told to the house once in
# that time. People who mistype in a whole house make fewer; chosen, not measured.
BURST = (10, 300.0)
# Names or addresses whose tries are remembered; bounds memory, and the oldest is forgotten.
KEYS = 10_000
# Seconds that a device is known for: half a year, so that a desk is not forgotten over a holiday.
KNOWN_S = 182 * 86_400.0


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

    def take_back(self, key: str) -> None:
        """Forget the last time that the key did it."""
        if self._done.get(key):
            self._done[key].pop()

    def forgive(self, key: str) -> None:
        """Forget what the key has done."""
        self._done.pop(key, None)


class Devices:
    """Makes and knows the cookies by which the devices of a person are known again."""

    def __init__(self, secret: bytes, clock: Callable[[], float] = time.time) -> None:
        """Prepare; `secret` is the same after a restart and known to nobody else."""
        self._secret = secret
        self._clock = clock

    def cookie(self, name: str) -> str:
        """Return a new cookie for a device on which that person has just logged in."""
        content = f"{round(self._clock())}.{secrets.token_hex(16)}"
        return f"{content}.{self._proof(name, content)}"

    def known(self, name: str, cookie: str) -> str:
        """Return what a known device of that person is called, "" where it is none."""
        content, _, proof = cookie.rpartition(".")
        since = content.partition(".")[0]
        good = hmac.compare_digest(proof.encode(), self._proof(name, content).encode())
        if not good or not 0 <= self._clock() - int(since) < KNOWN_S:
            return ""
        return content

    def _proof(self, name: str, content: str) -> str:
        text = f"{name}\n{content}".encode(errors="replace")
        return hmac.new(self._secret, text, hashlib.sha256).hexdigest()


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


class OneAtATime:
    """Runs slow work in order in a thread that gives way to others by NICE."""

    def __init__(self, name: str) -> None:
        self._thread = ThreadPoolExecutor(1, name, initializer=_give_way)
        self._waiting = 0

    async def run(self, work: Callable[[], T], *, most: int, full: str) -> T:
        """Return what the work comes to; RefusalError with `full` where `most` wait already."""
        if self._waiting >= most:
            raise RefusalError(429, full)
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
        # The tries to log in, which the server's thread alone counts.
        self._by_name = Throttle(*TRIES_OF_NAME)
        self._by_address = Throttle(*TRIES_FROM_ADDRESS)
        self._by_device = Throttle(*TRIES_OF_DEVICE)
        self._failed = Throttle(*BURST)
        self._burst_told = Throttle(1, BURST[1])
        self._unlocked: dict[str, int] = {}
        self._checks = OneAtATime("passwords")
        self._untried = 0
        self._told = Throttle(1, TRIES_OF_NAME[1])

    async def check(self, claim: Claim) -> str:
        """Return the role in which the claim holds; NotKnownError with the reason."""
        name, address = claim.name, network_of(claim.address)
        device = self.devices.known(name, claim.device)
        self._unlock(name)
        limits = [(self._by_address, address), (self._by_name, name)]
        if device:
            limits = [(self._by_device, device)]
        if not all(throttle.allows(key) for throttle, key in limits):
            self._note_untried(claim)
            why = "too many tries; wait some minutes"
            raise NotKnownError(429, why, retry_s=TRIES_OF_NAME[1])
        for throttle, key in limits:  # counted before the password is checked
            throttle.count(key)
        try:
            known = await self._checks.run(
                lambda: self.accounts.knows(name, claim.password),
                most=WAITING_WITH_KNOWN if device else WAITING,
                full=CROWD,
            )
        except RefusalError:
            _take_back(limits)
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
                _take_back(limits)
            raise
        self._by_device.forgive(device)
        self._by_name.forgive(name)
        if not device:
            self._by_address.take_back(address)  # of an address this try only
        return role

    def _unlock(self, name: str) -> None:
        """Forget the tries of a name where an administrator has said so since."""
        at = self.accounts.account(name).unlocked
        if at > self._unlocked.get(name, 0):
            self._unlocked[name] = at
            self._by_name.forgive(name)

    def _role(self, claim: Claim) -> str:
        roles = self.accounts.roles(claim.name)
        role = claim.role or next(iter(roles), "")
        if role not in roles:
            raise NotKnownError(403, f"you may not be logged in as {role}")
        if self.accounts.is_expired(claim.name):
            raise NotKnownError(
                403, "your password is too old; have a new one set: shoe-reader users password NAME"
            )
        return role

    async def _check_code(self, claim: Claim, role: str) -> None:
        account = self.accounts.account(claim.name)
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
        roles = self.accounts.roles(claim.name)
        who = repr(claim.name) if roles else "a name that is not known"
        log.warning("log-in refused: %s from %s", who, claim.address)
        if roles:
            fields = {"by": claim.name, "role": roles[0], "accepted": False}
            self.records.order("sign_in", fields)
        else:
            self.records.fact(Fact.SIGN_IN_REFUSED, detail=f"{who}, from {claim.address}")
        self._tell_of_burst()

    def _note_untried(self, claim: Claim) -> None:
        """Log the first, second, fourth, eighth refusal without a try: a flood fills no log."""
        self._untried += 1
        name = claim.name if self.accounts.roles(claim.name) else ""
        if self._untried & (self._untried - 1) == 0:
            words = "log-in of %r not tried, %d so far: too many at once, from %s"
            log.warning(words, name, self._untried, claim.address)
        if name and self._told.take(name):
            self.records.fact(
                Fact.SIGN_IN_LOCKED, subject=name, detail=f"too many tries, from {claim.address}"
            )
        self._tell_of_burst()

    def _tell_of_burst(self) -> None:
        """Count a failed or refused try; tell the house of a burst once in its time."""
        self._failed.count("")
        if not self._failed.allows("") and self._burst_told.take(""):
            words = f"{BURST[0]} log-ins or more failed within {BURST[1] / 60:.0f} minutes"
            log.error("%s: somebody may be guessing passwords; see the addresses", words)
            self.records.fact(Fact.SIGN_IN_LOCKED, detail=words)


def _take_back(limits: Iterable[tuple[Throttle, str]]) -> None:
    """Take back a try at which no password or code was wrong."""
    for throttle, key in limits:
        throttle.take_back(key)
