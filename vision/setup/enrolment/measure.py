"""Measure a captured deck: how far apart its cards read, and how alike later looks at each are.

Both are measured on plain views made of the captured crops: boxed otherwise, in other light, a
little soft, as looks at another hour are. Nothing is learnt: reading stays the classifier's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vision.game.cards import Card
from vision.setup.enrolment.margins import margins
from vision.setup.enrolment.plain_views import plain_view
from vision.sight.deck.classifier import Captured, Deck
from vision.sight.deck.likeness import likeness, spread_evenly
from vision.sight.detection.classifier import Classifier
from vision.sight.geometry.frame import Image
from vision.sight.reading.fusion import FACES

# Views made of each card. A quarter of them (margins.POOR) must be more than a few; more views
# only cost time.
VIEWS = 20
# Least spread of the likeness of a card's views, on the scale of `spread_evenly`. Made views spread
# less than looks at another hour; found by trying on simulated tables. Too small: own cards are
# called foreign; too large: foreign cards pass.
LEAST_ALIKE_SPREAD = 0.18


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """A captured deck as it is read with, the 52 x 52 margins, and the cards misread at times."""

    deck: Deck
    margins: NDArray[np.float64]
    misread: tuple[Card, ...]


def measure(captured: Captured, classifier: Classifier) -> Measured:
    """Measure a deck with the classifier; each of the 52 cards needs at least one crop."""
    rng = np.random.default_rng(0)
    groups = [captured.crops[captured.cards == card] for card in range(FACES)]
    views = [_views(rng, group) for group in groups]
    log_p = np.array([look.log_p for shown in views for look in classifier.of_crops(shown)])
    cards = np.repeat(np.arange(FACES), VIEWS)
    wrong = cards[log_p.argmax(axis=1) != cards]
    faces = np.array([_typical(group) for group in groups])
    backs = _typical(captured.backs)[None] if len(captured.backs) else captured.backs
    alike = [_alike(shown, face) for shown, face in zip(views, faces, strict=True)]
    alike += [_alike(_views(rng, captured.backs), back) for back in backs]
    misread = tuple(Card.of(int(card)) for card in np.unique(wrong))
    return Measured(Deck(faces, backs, np.array(alike)), margins(log_p, cards), misread)


def _views(rng: np.random.Generator, group: NDArray[np.uint8]) -> list[Image]:
    """Return views of one card, its crops taken in turn."""
    return [plain_view(rng, group[number % len(group)]) for number in range(VIEWS)]


def _typical(group: NDArray[np.uint8]) -> Image:
    """Return the crop that is most like all others of its card: not a mean, which would blur."""
    middle = np.median(group, axis=0)
    away = np.abs(group - middle).mean(axis=(1, 2, 3))
    return np.asarray(group[int(away.argmin())])


def _alike(views: list[Image], face: Image) -> tuple[float, float]:
    """Return mean and spread of how alike the views of a card are to its captured face."""
    found = [spread_evenly(likeness(view, face)) for view in views]
    return float(np.mean(found)), max(float(np.std(found)), LEAST_ALIKE_SPREAD)
