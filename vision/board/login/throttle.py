"""Who may try a password now: limits by address and by name, and devices that are known already.

A device on which a person has logged in before has an allowance of its own, so that nobody can keep
that person out by trying wrong passwords elsewhere.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import deque
from collections.abc import Callable

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


class Tries:
    """Counts the tries to log in; safe in the server's thread only."""

    def __init__(self) -> None:
        self._by_name = Throttle(*TRIES_OF_NAME)
        self._by_address = Throttle(*TRIES_FROM_ADDRESS)
        self._by_device = Throttle(*TRIES_OF_DEVICE)
        self._failed = Throttle(*BURST)
        self._told = Throttle(1, BURST[1])
        self._unlocked: dict[str, int] = {}

    def may(self, name: str, address: str, device: str) -> bool:
        """Whether a password may be tried; counts the try, before the password is checked.

        `device` is the known device of that person, "" where it is none.
        """
        pairs = self._limits(name, address, device)
        allowed = all(throttle.allows(key) for throttle, key in pairs)
        for throttle, key in pairs if allowed else ():
            throttle.count(key)
        return allowed

    def forgive(self, name: str, address: str, device: str) -> None:
        """Forget the tries of a person who has got in; of an address only this one."""
        self._by_device.forgive(device)
        self._by_name.forgive(name)
        if not device:
            self._by_address.take_back(address)

    def take_back(self, name: str, address: str, device: str) -> None:
        """Take back a try at which no password or code was wrong."""
        for throttle, key in self._limits(name, address, device):
            throttle.take_back(key)

    def unlock(self, name: str, at: int) -> None:
        """Forget the tries of a name where an administrator has said so since (Unix ms)."""
        if at > self._unlocked.get(name, 0):
            self._unlocked[name] = at
            self._by_name.forgive(name)

    def fail(self) -> bool:
        """Count a failed or refused try; whether the house is to be told of a burst now."""
        self._failed.count("")
        burst = not self._failed.allows("") and self._told.allows("")
        if burst:
            self._told.count("")
        return burst

    def _limits(self, name: str, address: str, device: str) -> list[tuple[Throttle, str]]:
        if device:
            return [(self._by_device, device)]
        return [(self._by_address, address), (self._by_name, name)]


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
