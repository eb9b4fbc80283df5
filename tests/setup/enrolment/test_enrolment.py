"""Learning a deck from captured cards: heads, margins, likeness, strange cards, gathering."""

from __future__ import annotations

import numpy as np
import pytest

from vision.game.cards import DECK, Card
from vision.setup.enrolment.augment import hard_view, plain_view
from vision.setup.enrolment.fit import fit
from vision.setup.enrolment.gather import Gatherer, Sighting
from vision.setup.enrolment.margins import closest, margins, sheet, too_alike
from vision.sight.deck.captured import Captured
from vision.sight.deck.classifier import STRANGE_AT_ONCE, Deck, DeckClassifier, FeatureReader
from vision.sight.deck.head import (
    LEARNERS,
    Views,
    calibrated,
    generic_head,
    log_softmax,
    surprise,
)
from vision.sight.deck.likeness import likeness
from vision.sight.detection.classifier import CROP_SIZE, Classifier
from vision.sight.detection.detector import Tensor
from vision.sight.geometry.frame import Image

WIDTH, HEIGHT = CROP_SIZE


def drawn(card: int, *, style: int = 0) -> Image:
    """Return a made-up face: blots whose places follow from card and style."""
    rng = np.random.default_rng([card, style])
    face = np.full((HEIGHT, WIDTH, 3), 240, np.uint8)
    for _ in range(14):
        x, y = int(rng.integers(4, WIDTH - 16)), int(rng.integers(4, HEIGHT - 16))
        face[y : y + 12, x : x + 12] = rng.integers(0, 200, 3)
    return face


def said_of(tensor: Tensor) -> tuple[Tensor, Tensor]:
    """Stand in for the network: it sees a coarse grey picture, and names nothing."""
    grey = tensor.mean(axis=1)[:, :136, :96].reshape(len(tensor), 17, 8, 12, 8).mean(axis=(2, 4))
    logits = np.zeros((len(tensor), 18), np.float32)
    logits[:, 17] = 6.0
    return logits, grey.reshape(len(tensor), -1).astype(np.float32)


def reader() -> FeatureReader:
    """Return a reader of features that has no opinion of its own."""
    return FeatureReader(Classifier(lambda t: said_of(t)[0]), said_of)


def views(*, spread: float, seed: int = 0, count: int = 20) -> Views:
    """Return views whose features lie about a centre a card."""
    centres = np.random.default_rng(5).normal(0, 1, (52, 40))
    rng = np.random.default_rng(seed)
    cards = np.repeat(np.arange(52), count)
    features = centres[cards] + rng.normal(0, spread, (len(cards), 40))
    log_p = log_softmax(rng.normal(0, 1, (len(cards), 52)))
    return Views(log_p, features.astype(np.float32), cards)


@pytest.mark.parametrize("learn", LEARNERS, ids=lambda learn: learn.__name__)
def test_each_way_to_learn_reads_fresh_views_better_than_the_classifier(learn) -> None:  # type: ignore[no-untyped-def]
    """What was learnt holds on views that nothing was fitted to."""
    tuned = calibrated(learn(views(spread=0.5)), views(spread=0.5, seed=1))
    fresh = views(spread=0.5, seed=2)
    said = tuned(fresh.log_p, fresh.features)
    assert (said.argmax(axis=1) == fresh.cards).mean() > 0.95
    assert np.exp(said).sum(axis=1) == pytest.approx(1.0, abs=1e-4)
    generic = generic_head(40)(fresh.log_p, fresh.features)
    assert surprise(said, fresh.cards) < surprise(generic, fresh.cards)


def test_calibration_tells_a_head_that_learnt_too_well_to_be_less_sure() -> None:
    """The stated probabilities fit the views kept apart, not the fitted ones."""
    learnt = LEARNERS[-1](views(spread=0.3))
    worse = views(spread=2.0, seed=1)
    raw = surprise(learnt(worse.log_p, worse.features), worse.cards)
    tuned = calibrated(learnt, worse)
    assert surprise(tuned(worse.log_p, worse.features), worse.cards) < raw


def test_generic_head_says_what_the_classifier_says() -> None:
    """Without anything learnt nothing changes."""
    some = views(spread=1.0)
    assert generic_head(40)(some.log_p, some.features) == pytest.approx(some.log_p, abs=1e-5)


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
    faces = np.stack([drawn(card) for card in range(52)])
    picture = sheet(closest(found, 4), faces, 1e-5)
    assert picture.shape[1] > 3 * 2 * 144
    assert picture.std() > 10


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
    others = [drawn(card) for card in range(1, 5)]
    for make in (
        lambda rng: hard_view(rng, drawn(0), others),
        lambda rng: plain_view(rng, drawn(0)),
    ):
        one, same, other = (make(np.random.default_rng(seed)) for seed in (1, 1, 2))
        assert one.shape == (HEIGHT, WIDTH, 3)
        assert one.dtype == np.uint8
        assert (one == same).all()
        assert (one != other).any()


def captured(*, twin: bool = False) -> Captured:
    """Return a made-up deck, three pictures a card, one kept apart; the 7h like the 7d if twins."""
    rng = np.random.default_rng(0)
    crops, cards, kept = [], [], []
    for card in DECK:
        shown = Card.parse("7d") if twin and str(card) == "7h" else card
        for number in range(3):
            noise = rng.normal(0, 4, (HEIGHT, WIDTH, 3))
            crops.append(np.clip(drawn(shown.index) + noise, 0, 255).astype(np.uint8))
            cards.append(card.index)
            kept.append(number == 2)
    back = np.stack([drawn(60)] * 3)
    return Captured(np.stack(crops), np.array(cards), np.array(kept), back)


@pytest.mark.slow
@pytest.mark.parametrize("twin", [False, True], ids=["deck", "twins"])
def test_fit_reads_a_deck_unknown_to_the_classifier_unless_two_cards_are_alike(
    twin: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A deck that the classifier cannot read at all is read after enrolment; twins are named."""
    monkeypatch.setattr("vision.setup.enrolment.fit.KEPT_VIEWS", 8)
    monkeypatch.setattr("vision.setup.enrolment.fit.PLAIN_VIEWS", 8)
    fitted = fit(captured(twin=twin), reader(), views=16)
    assert fitted.chosen != "generic"
    best = next(score for score in fitted.scores if score.name == fitted.chosen)
    generic = next(score for score in fitted.scores if score.name == "generic")
    assert best.error_pct < generic.error_pct / 3
    alike = [str(pair) for pair in too_alike(fitted.margins, 1e-5)]
    assert ("7d and 7h" in alike) == twin
    if not twin:
        classifier = DeckClassifier(reader(), fitted.deck)
        own, foreign = classifier.of_crops([drawn(8), drawn(8, style=1)])
        assert Card.of(int(own.log_p.argmax())).index == 8
        assert own.strange < foreign.strange
        same, other = classifier.strange_back_crops([drawn(60), drawn(61)])
        assert same < other


def small_deck() -> Deck:
    """Return a deck whose head leaves all to the classifier."""
    faces = np.stack([drawn(card) for card in range(52)])
    return Deck(generic_head(204), faces, faces[:0], np.full((53, 2), (2.5, 0.2)))


def test_deck_classifier_calls_another_face_unreadable_and_its_own_not() -> None:
    """A face unlike the one it is taken for says nothing, and says how strange it is."""
    own, foreign = DeckClassifier(reader(), small_deck()).of_crops([drawn(0), drawn(0, style=1)])
    assert own.strange < 1
    assert own.readable > 0.9
    assert foreign.strange > STRANGE_AT_ONCE
    assert foreign.readable == 0.0


def test_deck_classifier_without_a_captured_back_finds_none_strange() -> None:
    """What was never shown cannot be told from others."""
    assert DeckClassifier(reader(), small_deck()).strange_back_crops([drawn(1)]) == (0.0,)
    assert DeckClassifier(reader(), small_deck()).of_crops([]) == ()


def sighting(card: Card, x: float, *, sure: float = 12.0, second: Card | None = None) -> Sighting:
    """Return a look at a card at a place; `second` is as likely as the card itself."""
    scores = np.zeros((1, 52))
    scores[0, card.index] = sure
    if second is not None:
        scores[0, second.index] = sure
    return Sighting((x, 100.0), drawn(card.index), log_softmax(scores)[0], 1.0)


def shown(gatherer: Gatherer, *seen: Sighting) -> None:
    """Show a spread in six pictures, then clear the table for a while."""
    for _ in range(6):
        gatherer.see(seen, [])
    for _ in range(6):
        gatherer.see([], [])


def test_gatherer_knows_the_deck_when_all_were_shown_and_keeps_frames_apart() -> None:
    """In spreads of any order; a third of each card's pictures is kept apart."""
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
        assert found.kept[found.cards == card].tolist() == [False] * 4 + [True] * 2


def test_gatherer_keeps_the_second_showing_of_a_card_apart() -> None:
    """Another pose is a better test than another frame of the same."""
    gatherer = Gatherer()
    shown(gatherer, sighting(DECK[0], 0))
    shown(gatherer, sighting(DECK[0], 300))
    assert gatherer.captured().kept.tolist() == [False] * 6 + [True] * 6


def test_gatherer_believes_neither_of_two_cards_of_one_name_at_once_and_asks() -> None:
    """A person's word settles it."""
    gatherer = Gatherer()
    seven_d, seven_h = Card.parse("7d"), Card.parse("7h")
    shown(gatherer, sighting(seven_d, 0), sighting(seven_d, 300))
    assert gatherer.conflicts() == (seven_d,)
    assert {seven_d, seven_h} <= set(gatherer.missing)
    for card in (seven_d, seven_h):
        showing = gatherer.unclear()
        assert showing is not None
        gatherer.tell(showing, card)
    assert gatherer.unclear() is None
    assert not {seven_d, seven_h} & set(gatherer.missing)


def test_gatherer_names_the_last_unsure_card_by_exclusion() -> None:
    """When all others are known, what looks like one of two is the one that is missing."""
    gatherer = Gatherer()
    last, known = DECK[51], DECK[50]
    for part in np.array_split(np.arange(51), 4):
        shown(gatherer, *(sighting(DECK[i], 100.0 * k) for k, i in enumerate(part)))
    assert gatherer.missing == (last,)
    unsure = sighting(last, 0, second=known)
    unsure.log_p[last.index] += 0.1
    shown(gatherer, unsure)
    assert gatherer.missing == ()
    assert gatherer.unclear() is None


def test_gatherer_leaves_out_what_a_person_does_not_name() -> None:
    """An empty answer is not asked again."""
    gatherer = Gatherer()
    shown(gatherer, sighting(DECK[0], 0, second=DECK[1]))
    showing = gatherer.unclear()
    assert showing is not None
    gatherer.tell(showing, None)
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
    for card in (seven_d, seven_h):
        showing = gatherer.unclear()
        assert showing is not None
        gatherer.tell(showing, card)
    assert gatherer.unclear() is None
    assert not {seven_d, seven_h} & set(gatherer.missing)
