"""Exact intervals of rates, and how likely a difference from the exact odds is by chance alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from scipy.special import gammaincc, gammaincinv

CONFIDENCE = 0.95  # of every interval: what readers of such tables expect unless told otherwise
# Probability of a false alarm in one look at one table's frequencies, before it is divided by the
# number of tests and looks: one in a thousand. Higher, and right shoes are suspected every month.
ALARM = 0.001


class Rate(NamedTuple):
    """Events per thousand, with the exact interval of a Poisson count (Garwood 1936)."""

    events: int
    of: int
    per_thousand: float | None
    low: float | None
    high: float | None


def rate(events: int, of: int) -> Rate:
    """Return the rate of events among `of` coups; None where there was no coup."""
    if not of:
        return Rate(events, of, None, None, None)
    tail = (1 - CONFIDENCE) / 2
    low = float(gammaincinv(events, tail)) if events else 0.0
    high = float(gammaincinv(events + 1, 1 - tail))
    return Rate(events, of, *(round(1000 * x / of, 3) for x in (events, low, high)))


class Fit(NamedTuple):
    """A chi-square test of counts against exact probabilities; `p` is that of so much by chance."""

    chi_square: float
    freedom: int
    p: float


def fit(counts: Sequence[int], probabilities: Sequence[float]) -> Fit:
    """Return how well counts fit; the probabilities come to 1."""
    total = sum(counts)
    wanted = [total * share for share in probabilities]
    terms = ((n - w) ** 2 / w for n, w in zip(counts, wanted, strict=True))
    chi_square, freedom = sum(terms), len(counts) - 1
    p = float(gammaincc(freedom / 2, chi_square / 2)) if total else 1.0
    return Fit(round(chi_square, 3), freedom, p)


def middle(values: Sequence[float], share: float) -> float | None:
    """Return the value below which that share lies, by the nearest rank; None without values."""
    ordered = sorted(values)
    place = max(0, min(len(ordered) - 1, round(share * len(ordered) + 0.5) - 1))
    return ordered[place] if ordered else None
