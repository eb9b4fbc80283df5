"""Learn a deck from its captured cards: views made of them, ways to read tried, the best kept.

Everything is measured on captured frames that nothing was fitted to. Takes a minute or two on two
CPU cores; knows numpy and cv2 only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vision.game.cards import Card
from vision.setup.enrolment.augment import hard_view, plain_view
from vision.setup.enrolment.margins import margins
from vision.sight.deck.captured import Captured
from vision.sight.deck.classifier import Deck, FeatureReader
from vision.sight.deck.head import (
    LEARNERS,
    Head,
    Table,
    Views,
    calibrated,
    generic_head,
    surprise,
)
from vision.sight.deck.likeness import likeness, spread_evenly
from vision.sight.geometry.frame import Image
from vision.sight.reading.fusion import FACES

FIT_VIEWS, KEPT_VIEWS, PLAIN_VIEWS = 120, 20, 20
NAMED_BOUND = 0.02
# Plain views of the captured frames spread less than looks at another hour: never below this.
LEAST_ALIKE_SPREAD = 0.18
Told = Callable[[str], None]
View = Callable[[np.random.Generator, Image], Image]


@dataclass(frozen=True, slots=True)
class Score:
    """How one way of reading did on views kept apart; shares are per cent."""

    name: str
    error_pct: float
    named_pct: float
    wrong_among_named_pct: float
    surprise: float


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A learnt deck, how each way of reading it did, its margins, and the cards misread."""

    deck: Deck
    scores: tuple[Score, ...]
    chosen: str
    margins: NDArray[np.float64]
    misread: tuple[Card, ...]


def fit(
    captured: Captured, read: FeatureReader, *, tell: Told = lambda _: None, views: int = FIT_VIEWS
) -> Fitted:
    """Learn a deck; every one of the 52 cards needs at least one crop to fit and one kept apart."""
    rng = np.random.default_rng(0)
    used, kept = _groups(captured, ~captured.kept), _groups(captured, captured.kept)
    others = list(captured.crops[~captured.kept])

    def hard(source: np.random.Generator, crop: Image) -> Image:
        return hard_view(source, crop, others)

    tell(f"making {views} views of each card")
    learning = _views(rng, used, read, views, hard)
    tuning = _views(rng, kept, read, KEPT_VIEWS, hard)
    judging = _views(rng, kept, read, KEPT_VIEWS, hard)
    tell("trying ways to read them")
    heads = [generic_head(learning.features.shape[1]), *(learn(learning) for learn in LEARNERS)]
    heads = [calibrated(head, tuning) for head in heads]
    scores = tuple(score(head, judging) for head in heads)
    best = min(range(len(heads)), key=lambda i: scores[i].surprise)
    tell("measuring what was kept apart")
    plain = _views(rng, kept, read, PLAIN_VIEWS, plain_view)
    said = heads[best](plain.log_p, plain.features)
    faces = np.array([_typical(group) for group in used])
    backs = _typical(captured.backs)[None] if len(captured.backs) else captured.backs
    shown = [*zip(kept, faces, strict=True), *((captured.backs, back) for back in backs)]
    alike = np.array([_alike(rng, group, face) for group, face in shown])
    deck = Deck(heads[best], faces, backs, alike)
    wrong = plain.cards[said.argmax(axis=1) != plain.cards]
    misread = tuple(Card.of(int(card)) for card in np.unique(wrong))
    return Fitted(deck, scores, heads[best].name, margins(said, plain.cards), misread)


def score(head: Head, views: Views) -> Score:
    """Measure a head on views."""
    log_p = head(views.log_p, views.features)
    right = log_p.argmax(axis=1) == views.cards
    named = np.exp(log_p.max(axis=1)) >= 1 - NAMED_BOUND
    wrong = float((named & ~right).sum()) / max(int(named.sum()), 1)
    return Score(
        head.name,
        100 * float((~right).mean()),
        100 * float(named.mean()),
        100 * wrong,
        surprise(log_p, views.cards),
    )


def _groups(captured: Captured, chosen: NDArray[np.bool_]) -> list[NDArray[np.uint8]]:
    """Return the chosen crops of each card, 52 groups."""
    return [captured.crops[chosen & (captured.cards == card)] for card in range(FACES)]


def _views(
    rng: np.random.Generator,
    groups: Sequence[NDArray[np.uint8]],
    read: FeatureReader,
    count: int,
    view: View,
) -> Views:
    """Return what is said of `count` views of each card, its crops taken in turn."""
    log_p: list[Table] = []
    features: list[Table] = []
    for group in groups:
        said = read([view(rng, group[number % len(group)]) for number in range(count)])
        log_p.append(said.log_p)
        features.append(said.features)
    cards = np.repeat(np.arange(len(groups)), count)
    return Views(np.concatenate(log_p), np.concatenate(features), cards)


def _typical(group: NDArray[np.uint8]) -> Image:
    """Return the crop that is most like all others of its card: not a mean, which would blur."""
    middle = np.median(group, axis=0)
    away = np.abs(group - middle).mean(axis=(1, 2, 3))
    return np.asarray(group[int(away.argmin())])


def _alike(rng: np.random.Generator, group: NDArray[np.uint8], face: Image) -> tuple[float, float]:
    """Return mean and spread of how alike plain views of a card are to its captured face."""
    views = (plain_view(rng, group[number % len(group)]) for number in range(PLAIN_VIEWS))
    found = [spread_evenly(likeness(view, face)) for view in views]
    return float(np.mean(found)), max(float(np.std(found)), LEAST_ALIKE_SPREAD)
