"""How much what is unlike the cards before weighs for the cut card: fitted on films with truth.

Of all that leaves a shoe, the cut card or another card, each counts once, by what its last picture
says of all: pictures of one card fail together. Both kinds weigh alike, so that what is fitted is
how much likelier a card is the one than the other. What else passes a mouth, as an arm does,
is known from cards by other evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.evaluate.streams import Film
from vision.sight.following.evidence import WEIGHTS, CutEvidence

# A card is out before so many ms after the last picture that shows it, and without one so long it
# has left; what is out for longer than the second is no card on its way.
AROUND_MS, LONGEST_MS = 100, 3000
# How much weights are drawn to 0, as a share of a film's likelihood, and how often Newton's step is
# taken: a ridge that keeps a weight finite where one kind was never seen without it.
RIDGE, STEPS = 1e-4, 50
Values = NDArray[np.float64]


class Leaving(NamedTuple):
    """One card that leaves: what of it is unlike (4), as far as it was seen; if it is the cut."""

    unlike: Values
    is_cut: bool


def gathered(films: Iterable[Film]) -> list[Leaving]:
    """Return the cards that leave in some films, once those before them are known."""
    return [each for film in films for each in _leaving(film)]


def _leaving(film: Film) -> Iterator[Leaving]:
    evidence = CutEvidence(np.zeros(len(WEIGHTS)))
    outs = [card.out for card in film.truth.cards]
    pictures = [
        (at, unlike)
        for at, values in zip(film.stream.frames, film.stream.mouth, strict=True)
        if (unlike := evidence.unlike(np.asarray(values, np.float64), at)) is not None
        and evidence.leaving.is_known
    ]
    ends = [i for i, ((a, _), (b, _)) in enumerate(pairwise(pictures), 1) if b - a > AROUND_MS]
    for first, end in pairwise([0, *ends, len(pictures)]):
        times = [at for at, _ in pictures[first:end]]
        if not times or times[-1] - times[0] > LONGEST_MS:
            continue
        is_cut = film.truth.cut is not None and _among(times, [film.truth.cut])
        if is_cut or _among(times, outs):
            yield Leaving(pictures[end - 1][1], is_cut)


def _among(times: Sequence[int], outs: Iterable[int]) -> bool:
    return any(times[0] <= out < times[-1] + AROUND_MS for out in outs)


def fitted(leaving: Sequence[Leaving]) -> Values:
    """Return the weights (4): logistic regression by Newton's method."""
    x, y, share = _stacked(leaving)
    ridge = np.full(len(WEIGHTS), RIDGE)
    weights = np.zeros(len(WEIGHTS))
    for _ in range(STEPS):
        p = _sigmoid(x @ weights)
        slope = x.T @ (share * (p - y)) + ridge * weights
        bend = (x * (share * p * (1 - p))[:, None]).T @ x + np.diag(ridge)
        weights = weights - np.linalg.solve(bend, slope)
    return weights


def log_likelihood(weights: Values, leaving: Sequence[Leaving]) -> float:
    """Return the mean log-likelihood of a card that leaves, both kinds alike."""
    x, y, share = _stacked(leaving)
    p = _sigmoid(x @ weights)
    return float(share @ np.log(np.where(y > 0, p, 1 - p)))


def _stacked(leaving: Sequence[Leaving]) -> tuple[Values, Values, Values]:
    """Return cards (N x 4), whether they are the cut card, and the share that each counts."""
    x = np.array([each.unlike for each in leaving]).reshape(-1, len(WEIGHTS))
    y = np.array([float(each.is_cut) for each in leaving])
    share = np.array([1 / (2 * np.count_nonzero(y == kind)) for kind in y])
    return x, y, share


def _sigmoid(logits: Values) -> Values:
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -30, 30))), np.float64)
