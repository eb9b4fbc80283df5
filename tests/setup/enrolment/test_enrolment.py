"""Enrolling a deck: gathering, margins, likeness, foreign cards."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from vision.game.cards import DECK, Card
from vision.setup.enrolment.enrol import (
    closest,
    margins,
    measure,
    plain_view,
    too_alike,
)
from vision.setup.enrolment.gather import Gatherer, Sighting
from vision.sight.detection.classifier import CROP_SIZE, Classifier, Observation
from vision.sight.detection.detector import Tensor, batch
from vision.sight.geometry.plane import Image
from vision.sight.reading.deck import Captured, Deck, DeckClassifier, likeness
from vision.sight.reading.faces import STRANGE_FOR_LONG

WIDTH, HEIGHT = CROP_SIZE


def drawn(card: int, *, style: int = 0) -> Image:
    """Return a made-up face: blots whose places follow from card and style."""
    rng = np.random.default_rng([card, style])
    face = np.full((HEIGHT, WIDTH, 3), 240, np.uint8)
    for _ in range(14):
        x, y = int(rng.integers(4, WIDTH - 16)), int(rng.integers(4, HEIGHT - 16))
        face[y : y + 12, x : x + 12] = rng.integers(0, 200, 3)
    return face


def coarse(pictures: Tensor) -> Tensor:
    """Return pictures (N x 3 x H x W) as rows of a few grey levels each, less their mean."""
    grey = pictures.mean(axis=1)[:, :136, :96].reshape(len(pictures), 17, 8, 12, 8)
    rows = grey.mean(axis=(2, 4)).reshape(len(pictures), -1)
    rows = rows - rows.mean(axis=1, keepdims=True)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


class KnowsDrawn(Classifier):
    """A classifier of the made-up faces, either end up: the more alike, the more likely."""

    def __init__(self) -> None:
        faces = [drawn(card) for card in range(52)]
        self._up = coarse(batch(faces))
        self._down = coarse(batch([np.ascontiguousarray(face[::-1, ::-1]) for face in faces]))

    def of_crops(self, crops: Sequence[Image]) -> tuple[Observation, ...]:
        """Return one look a crop."""
        seen = coarse(batch(crops))
        alike = np.maximum(seen @ self._up.T, seen @ self._down.T)
        return tuple(Observation(row, 1.0) for row in log_softmax(400 * alike))


def log_softmax(scores: NDArray[np.floating]) -> Tensor:
    """Return the rows of scores as log-probabilities."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)), np.float32)


def test_margins_name_the_two_cards_that_look_alike() -> None:
    """Two cards told apart by little are the closest pair, and the only one below the bound."""
    scores = np.full((52, 52), -20.0)
    np.fill_diagonal(scores, 0.0)
    seven_d, seven_h = Card.parse("7d").index, Card.parse("7h").index
    scores[seven_h, seven_d] = -0.5
    found = margins(np.repeat(log_softmax(scores), 4, axis=0), np.repeat(np.arange(52), 4))
    (pair,) = too_alike(found, 1e-5)
    assert str(pair) == "7d and 7h"
    assert pair.margin == pytest.approx(1.5, abs=0.05)
    assert closest(found, 3)[0] == pair


@pytest.mark.parametrize("turned", [False, True], ids=["upright", "turned"])
def test_likeness_survives_light_and_a_hand_and_not_another_face(turned: bool) -> None:
    """The same face stays alike when dimmed, shifted, turned and partly covered."""
    face = drawn(3)
    seen = np.roll((face * 0.6 + 20).astype(np.uint8), 3, axis=1)
    seen[:40] = (90, 120, 190)
    if turned:
        seen = np.ascontiguousarray(seen[::-1, ::-1])
    assert likeness(seen, face) > 0.9
    assert likeness(drawn(4), face) < 0.6


def test_views_keep_size_follow_from_the_seed_and_differ() -> None:
    """Views are pictures like the captured ones, the same for the same seed."""
    view, same, other = (plain_view(np.random.default_rng(s), drawn(0)) for s in (1, 1, 2))
    assert view.shape == (HEIGHT, WIDTH, 3)
    assert view.dtype == np.uint8
    assert (view == same).all()
    assert (view != other).any()


def captured(*, twin: bool = False) -> Captured:
    """Return a made-up deck, three pictures a card; the 7h like the 7d if twins."""
    rng = np.random.default_rng(0)
    crops, cards = [], []
    for card in DECK:
        shown = Card.parse("7d") if twin and str(card) == "7h" else card
        for _ in range(3):
            noise = rng.normal(0, 4, (HEIGHT, WIDTH, 3))
            crops.append(np.clip(drawn(shown.index) + noise, 0, 255).astype(np.uint8))
            cards.append(card.index)
    return Captured(np.stack(crops), np.array(cards), np.stack([drawn(60)] * 3))


@pytest.mark.parametrize("twin", [False, True], ids=["deck", "twins"])
def test_measure_names_cards_too_alike_and_knows_cards_and_back_of_another_deck(
    twin: bool,
) -> None:
    """Two cards that read alike are named first; foreign faces and backs are stranger."""
    found = measure(captured(twin=twin), KnowsDrawn())
    alike = [str(pair) for pair in too_alike(found.margins, 1e-5)]
    assert alike[:1] == (["7d and 7h"] if twin else [])
    assert found.misread == ((Card.parse("7h"),) if twin else ())
    classifier = DeckClassifier(KnowsDrawn(), found.deck)
    own, foreign = classifier.of_crops([drawn(8), drawn(8, style=1)])
    assert int(own.log_p.argmax()) == 8
    assert own.strange < 1 < foreign.strange
    same, other = classifier.strange_back_crops([drawn(60), drawn(61)])
    assert same < 1 < other


def small_deck() -> Deck:
    """Return a deck without a back."""
    faces = np.stack([drawn(card) for card in range(52)])
    return Deck(faces, faces[:0], np.full((52, 2), (2.5, 0.2)))


def test_deck_classifier_says_how_strange_a_face_is_and_changes_nothing_else() -> None:
    """An enrolled deck never makes a look worse: names, doubt and readability are as without."""
    classifier = DeckClassifier(KnowsDrawn(), small_deck())
    shown = [drawn(0), drawn(0, style=1)]
    own, foreign = classifier.of_crops(shown)
    assert own.strange < 1 < STRANGE_FOR_LONG < foreign.strange
    for found, without in zip((own, foreign), KnowsDrawn().of_crops(shown), strict=True):
        assert (found.log_p == without.log_p).all()
        assert found.readable == without.readable > 0.9


class Doubts(KnowsDrawn):
    """A classifier to which every card is as likely as any other."""

    def of_crops(self, crops: Sequence[Image]) -> tuple[Observation, ...]:
        """Return one look a crop."""
        return tuple(Observation(row, 1.0) for row in log_softmax(np.zeros((len(crops), 52))))


def test_card_that_reads_as_none_is_not_foreign() -> None:
    """A poor outline of an own card is unlike every face: that makes it unread, not foreign."""
    (look,) = DeckClassifier(Doubts(), small_deck()).of_crops([drawn(0, style=1)])
    assert look.strange == 0.0


def test_deck_classifier_without_a_captured_back_finds_none_strange() -> None:
    """What was never shown cannot be told from others."""
    classifier = DeckClassifier(KnowsDrawn(), small_deck())
    assert classifier.strange_back_crops([drawn(1)]) == (0.0,)
    assert classifier.of_crops([]) == ()


def sighting(card: Card, x: float, *, sure: float = 12.0, second: Card | None = None) -> Sighting:
    """Return a look at a card at a place; `second` is as likely as the card itself."""
    scores = np.zeros((1, 52))
    scores[0, card.index] = sure
    if second is not None:
        scores[0, second.index] = sure
    look = Observation(log_softmax(scores)[0], 1.0)
    return Sighting((x, 100.0), drawn(card.index), look)


def shown(gatherer: Gatherer, *seen: Sighting) -> None:
    """Show a spread in six pictures, then clear the table for a while."""
    for _ in range(6):
        gatherer.see(seen, [])
    for _ in range(6):
        gatherer.see([], [])


def test_gatherer_knows_the_deck_when_all_were_shown() -> None:
    """In spreads of any order; every picture is captured under its card."""
    gatherer = Gatherer()
    order = np.random.default_rng(1).permutation(52)
    for part in np.array_split(order, 4):
        shown(gatherer, *(sighting(DECK[i], 100.0 * k) for k, i in enumerate(part)))
    assert gatherer.missing == ()
    assert gatherer.unclear() is None
    assert not gatherer.back_seen
    gatherer.see([], [drawn(60)] * 3)
    assert gatherer.back_seen
    found = gatherer.captured()
    assert len(found.cards) == 52 * 6
    for card in range(52):
        crops = found.crops[found.cards == card]
        assert len(crops) == 6
        assert (crops == drawn(card)).all()


def _name(gatherer: Gatherer, *cards: Card) -> None:
    """Name what is asked about, one after the other; then nothing is."""
    for card in cards:
        showing = gatherer.unclear()
        assert showing is not None
        gatherer.name(showing, card)
    assert gatherer.unclear() is None
    assert not set(cards) & set(gatherer.missing)


def test_gatherer_believes_neither_of_two_cards_of_one_name_at_once_and_asks() -> None:
    """A person's word settles it."""
    gatherer = Gatherer()
    seven_d, seven_h = Card.parse("7d"), Card.parse("7h")
    shown(gatherer, sighting(seven_d, 0), sighting(seven_d, 300))
    assert gatherer.conflicts() == (seven_d,)
    assert {seven_d, seven_h} <= set(gatherer.missing)
    _name(gatherer, seven_d, seven_h)


def test_gatherer_names_the_last_unsure_card_by_exclusion() -> None:
    """When all others are known, what looks like one of two is the one that is missing."""
    gatherer = Gatherer()
    last, known = DECK[51], DECK[50]
    for part in np.array_split(np.arange(51), 4):
        shown(gatherer, *(sighting(DECK[i], 100.0 * k) for k, i in enumerate(part)))
    assert gatherer.missing == (last,)
    unsure = sighting(last, 0, second=known)
    unsure.look.log_p[last.index] += 0.1
    shown(gatherer, unsure)
    assert gatherer.missing == ()
    assert gatherer.unclear() is None


def test_gatherer_leaves_out_what_a_person_does_not_name() -> None:
    """An empty answer is not asked again."""
    gatherer = Gatherer()
    shown(gatherer, sighting(DECK[0], 0, second=DECK[1]))
    showing = gatherer.unclear()
    assert showing is not None
    gatherer.name(showing, None)
    assert gatherer.unclear() is None
    assert len(gatherer.missing) == 52


def test_gatherer_takes_a_card_laid_in_the_same_place_for_another_showing() -> None:
    """Cards may be shown one after the other without the table being cleared."""
    gatherer = Gatherer()
    for card in DECK[:3]:
        for _ in range(4):
            gatherer.see([sighting(card, 0)], [])
    assert len(gatherer.missing) == 49


def test_gatherer_asks_about_a_card_shown_twice_while_another_is_missing() -> None:
    """A 7h taken for a second 7d is found out, though read for sure and never beside the 7d."""
    gatherer = Gatherer()
    seven_d, seven_h = Card.parse("7d"), Card.parse("7h")
    shown(gatherer, sighting(seven_d, 0))
    shown(gatherer, sighting(seven_d, 300))
    assert gatherer.shown_twice() == (seven_d,)
    _name(gatherer, seven_d, seven_h)
