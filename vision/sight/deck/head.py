"""Ways to read one deck by the classifier's features: prototypes, ridge, and a learnt correction.

Each is one linear map of standardised features, weighed against what the classifier itself says;
the weights are fitted on views kept apart, which calibrates the stated probabilities. Knows no
pixels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vision.sight.reading.fusion import FACES

Table = NDArray[np.float32]
Labels = NDArray[np.int64]

SHRINKAGE = 8.0
RIDGE = 10.0
DECAY = 3e-3
ROUNDS, BATCH, RATE = 30, 512, 0.01
OWN_WEIGHTS = np.geomspace(0.05, 60, 48)
GENERIC_WEIGHTS = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0, 1.25)


@dataclass(frozen=True, slots=True, eq=False)
class Views:
    """N views: what the classifier says (N x 52 log-probabilities), features (N x D), cards (N)."""

    log_p: Table
    features: Table
    cards: Labels

    def part(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> Views:
        """Return some of the views."""
        return Views(self.log_p[chosen], self.features[chosen], self.cards[chosen])


@dataclass(frozen=True, slots=True, eq=False)
class Head:
    """One way to read a deck.

    The score of a card is `own` times (standardised features, 1) @ `weights` (D + 1 x 52), plus
    `generic` times the classifier's log-probability; `unit` scales the features to length 1.
    """

    name: str
    mean: Table
    scale: Table
    weights: Table
    own: float = 1.0
    generic: float = 0.0
    unit: bool = False

    def __call__(self, log_p: Table, features: Table) -> Table:
        """Return N x 52 log-probabilities."""
        return log_softmax(self.own * self.scores(features) + self.generic * log_p)

    def scores(self, features: Table) -> Table:
        """Return what the features alone say, N x 52."""
        lifted = with_one(self._standard(features))
        return np.asarray(lifted @ self.weights, np.float32)

    def _standard(self, features: Table) -> Table:
        rows = (features - self.mean) / self.scale
        if self.unit:
            rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)
        return np.asarray(rows, np.float32)


def generic_head(width: int) -> Head:
    """Return the head that leaves everything to the classifier."""
    zeros = np.zeros(width, np.float32)
    weights = np.zeros((width + 1, FACES), np.float32)
    return Head("generic", zeros, zeros + 1, weights, own=0.0, generic=1.0)


def prototypes(views: Views) -> Head:
    """Return the cosine to each card's mean features, shrunk towards the mean of all."""
    mean, scale = _moments(views)
    rows = (views.features - mean) / scale
    sums = one_hot(views.cards).T @ rows
    counts = np.bincount(views.cards, minlength=FACES)[:, None]
    centres = sums / (counts + SHRINKAGE)
    centres /= np.maximum(np.linalg.norm(centres, axis=1, keepdims=True), 1e-6)
    weights = np.vstack([centres.T, np.zeros((1, FACES))])
    return Head("prototypes", mean, scale, weights.astype(np.float32), unit=True)


def ridge(views: Views) -> Head:
    """Return the ridge regression of the cards on the features."""
    mean, scale = _moments(views)
    rows = with_one(((views.features - mean) / scale).astype(np.float32)).astype(np.float64)
    gram = rows.T @ rows + RIDGE * np.eye(rows.shape[1])
    weights = np.linalg.solve(gram, rows.T @ (one_hot(views.cards) - 1 / FACES))
    return Head("ridge", mean, scale, weights.astype(np.float32))


def correction(views: Views) -> Head:
    """Return a logistic regression that corrects the classifier, and adds 0 where it learns none.

    Minimises the cross-entropy of log p + features @ weights with a pull of the weights to 0
    (Adam, mini-batches, a falling rate; the order follows from a fixed seed).
    """
    mean, scale = _moments(views)
    rows = with_one(((views.features - mean) / scale).astype(np.float32))
    wanted = one_hot(views.cards)
    weights = np.zeros((rows.shape[1], FACES), np.float32)
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    rng, step = np.random.default_rng(0), 0
    for turn in range(ROUNDS):
        rate = RATE * 0.5 * (1 + np.cos(np.pi * turn / ROUNDS))
        for part in np.array_split(rng.permutation(len(rows)), -(-len(rows) // BATCH)):
            said = np.exp(log_softmax(rows[part] @ weights + views.log_p[part]))
            slope = rows[part].T @ (said - wanted[part]) / len(part) + DECAY * weights
            step += 1
            first += 0.1 * (slope - first)
            second += 0.01 * (slope * slope - second)
            size = np.sqrt(second / (1 - 0.99**step)) + 1e-8
            weights -= (rate * first / (1 - 0.9**step) / size).astype(np.float32)
    return Head("correction", mean, scale, weights, generic=1.0)


LEARNERS: tuple[Callable[[Views], Head], ...] = (prototypes, ridge, correction)


def calibrated(head: Head, kept: Views) -> Head:
    """Return the head with the two weights that make the truth of the kept views likeliest."""
    own = head.scores(kept.features)
    found = [
        (surprise(log_softmax(a * own + b * kept.log_p), kept.cards), a, b)
        for a in (OWN_WEIGHTS if head.own else (0.0,))
        for b in (GENERIC_WEIGHTS if head.own else np.geomspace(0.3, 3, 40))
    ]
    _, a, b = min(found)
    return replace(head, own=float(a), generic=float(b))


def surprise(log_p: Table, cards: Labels) -> float:
    """Return the mean of -log p of the truth."""
    return float(-log_p[np.arange(len(cards)), cards].mean())


def log_softmax(scores: NDArray[np.floating]) -> Table:
    """Return the rows of N x 52 scores as log-probabilities."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)), np.float32)


def one_hot(cards: Labels) -> Table:
    """Return N x 52, 1 at each card."""
    return np.eye(FACES, dtype=np.float32)[cards]


def with_one(rows: Table) -> Table:
    """Return the rows with a column of ones behind."""
    return np.hstack([rows, np.ones((len(rows), 1), np.float32)])


def _moments(views: Views) -> tuple[Table, Table]:
    return views.features.mean(axis=0), views.features.std(axis=0) + np.float32(1e-3)
