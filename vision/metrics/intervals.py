"""Exact intervals of what was counted, and how many coups it takes to show something."""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from scipy.special import betaincinv, gammaincinv

from vision.errors import ConfigurationError

CONFIDENCE = 0.95  # of every interval: what readers of such figures expect
MOST = 10**9  # coups: more than any house deals in a year; what would need more is not shown


def decimals(width: float) -> int:
    """Return how many decimals a number with an interval so wide is worth: one to three."""
    return 1 if width >= 1 else 2 if width >= 0.1 else 3


class Share(NamedTuple):
    """A count out of a number, with its interval by Clopper and Pearson (1934), 0 to 1."""

    events: int
    of: int
    low: float
    high: float

    def __str__(self) -> str:
        shown, digits = f"{self.events:,} of {self.of:,}", decimals(100 * (self.high - self.low))
        if not self.of:
            return shown
        interval = f"{self.low:.{digits}%} to {self.high:.{digits}%}"
        return f"{shown} = {self.events / self.of:.{digits}%}, {interval}"


def share(count: int, of: int) -> Share:
    """Return a count with its two-sided interval; of nothing, all is possible."""
    tail = (1 - CONFIDENCE) / 2
    low = float(betaincinv(count, of - count + 1, tail)) if count else 0.0
    high = float(betaincinv(count + 1, of - count, 1 - tail)) if count < of else 1.0
    return Share(count, of, low, high)


def at_most(count: int, of: int) -> float:
    """Return the share that the true one does not exceed, with CONFIDENCE (one-sided)."""
    return float(betaincinv(count + 1, of - count, CONFIDENCE)) if count < of else 1.0


class Hourly(NamedTuple):
    """Events in some hours, with the interval of their rate an hour (Garwood 1936)."""

    events: int
    hours: float
    low: float
    high: float | None

    def __str__(self) -> str:
        if not self.hours or self.high is None:
            return f"{self.events}; no hour was watched"
        digits = decimals(self.high - self.low)
        rate = f"{self.events / self.hours:.{digits}f} an hour"
        interval = f"{self.low:.{digits}f} to {self.high:.{digits}f}"
        return f"{self.events} in {self.hours:.2f} h = {rate}, {interval}"


def hourly(count: int, hours: float) -> Hourly:
    """Return events in some hours with the two-sided interval of the rate."""
    low, high = poisson(count)
    return Hourly(count, hours, low / hours if hours else 0.0, high / hours if hours else None)


def poisson(count: int) -> tuple[float, float]:
    """Return the two-sided exact interval of the mean of which a count was seen (Garwood 1936)."""
    tail = (1 - CONFIDENCE) / 2
    low = float(gammaincinv(count, tail)) if count else 0.0
    return low, float(gammaincinv(count + 1, 1 - tail))


def needed(below: float, wrong: int = 0) -> int:
    """Return the fewest coups that show a share below `below` with so many wrong among them."""
    if not 0 < below < 1:
        raise ConfigurationError("--below: not a share; give a number such as 0.001")
    if at_most(wrong, MOST) >= below:
        raise ConfigurationError(f"--below {below:g}: too many coups; give a larger share")
    coups = range(MOST)
    return bisect_left(coups, 1, key=lambda of: int(at_most(wrong, of) < below))
