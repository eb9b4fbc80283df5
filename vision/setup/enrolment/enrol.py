"""Enrol a deck: watch it being shown, ask about unclear cards, measure it and write its file.

Progress and questions go through callables, so that a terminal and an evaluation can both use it.

How far apart the cards read, and how alike later looks at each are, is measured on plain views made
of the captured crops: boxed otherwise, in other light, a little soft, as looks at another hour are.
Nothing is learnt: reading stays the classifier's. The margin of a pair is the log-odds between its
two cards that the looks at a card lying still come to; below ln(1 / bound) such a card could never
be read at that bound of error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.config.table import CameraSection
from vision.game.cards import Card
from vision.inference.deck_file import write
from vision.inference.load import ModelSet
from vision.setup.enrolment.gather import Gatherer, Showing, Sighting
from vision.sight.detection.classifier import CROP_SIZE, FACES, STILL_OBSERVATIONS, Classifier
from vision.sight.detection.detector import Kind
from vision.sight.geometry.plane import Frame, Image, TableView, rectify
from vision.sight.reading.deck import Captured, Deck, likeness, spread_evenly

Rng = np.random.Generator
# Views made of each card. A quarter of them (POOR) must be more than a few; more cost time.
VIEWS = 20
# Least spread of the likeness of a card's views, on the scale of `spread_evenly`. Made views spread
# less than looks at another hour; found by trying on simulated tables. Too small: own cards are
# called foreign; too large: foreign cards pass.
LEAST_ALIKE_SPREAD = 0.18
# A poor look: the one that this share of the looks at a card lying free are worse than. Chosen;
# smaller, one poor view refuses a deck that can be read, larger, a deck is armed that reads badly.
POOR = 0.25
# The strengths below were chosen by eye on crops of simulated films; stronger ones make own cards
# look less alike, and then cards of other decks are noticed less.
WIDTH, HEIGHT = CROP_SIZE
# Middle and corners of a crop, px.
MIDDLE = np.array([WIDTH / 2, HEIGHT / 2])
CORNERS = np.array([[0, 0], [WIDTH, 0], [WIDTH, HEIGHT], [0, HEIGHT]], np.float32)
# How far the box of a detector is off, as a share of the card's height (standard deviation).
BOX_OFF = 0.012
# The least width, px, at which a card on the table is still seen by the camera.
SMALLEST_PX = 64
# Standard deviations of a lamp: its slope over the card, its cast a channel, its gain (the last
# two of a logarithm), and the veil it lays over the card, grey levels.
SLOPE, CAST, GAIN, VEIL_LEVELS = 0.1, 0.06, 0.13, 7.0


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


def _views(rng: Rng, group: NDArray[np.uint8]) -> list[Image]:
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


@dataclass(frozen=True, slots=True)
class CardPair:
    """Two cards and their margin: the log-odds that a still card's looks come to, the worse way."""

    first: Card
    second: Card
    margin: float

    def __str__(self) -> str:
        return f"{self.first} and {self.second}"


def margins(log_p: NDArray[np.floating], cards: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return 52 x 52 margins of a card (row) against each other one, from N looks.

    `log_p` is N x 52, `cards` (N,) the truth. A margin is a poor look's log-odds, times the
    independent looks that a still card may count as; infinite on the diagonal and in rows of cards
    without looks.
    """
    found = np.full((FACES, FACES), np.inf)
    for card in np.unique(cards):
        rows = np.asarray(log_p[cards == card], np.float64)
        gaps = rows[:, [card]] - rows
        found[card] = STILL_OBSERVATIONS * np.quantile(gaps, POOR, axis=0)
        found[card, card] = np.inf
    return found


def closest(found: NDArray[np.float64], count: int) -> tuple[CardPair, ...]:
    """Return the pairs of cards with the least margins, the closest first."""
    both = np.minimum(found, found.T)
    first, second = np.triu_indices(FACES, 1)
    order = np.argsort(both[first, second])[:count]
    return tuple(
        CardPair(Card.of(int(a)), Card.of(int(b)), float(both[a, b]))
        for a, b in zip(first[order], second[order], strict=True)
    )


def too_alike(found: NDArray[np.float64], bound: float) -> tuple[CardPair, ...]:
    """Return the pairs between which a still card could not be read at an error of `bound`."""
    pairs = closest(found, FACES * FACES)
    return tuple(pair for pair in pairs if pair.margin < -math.log(bound))


def plain_view(rng: Rng, card: Image) -> Image:
    """Return the card (136 x 96 x 3, BGR) in another light and box, a little soft."""
    return _worn(rng, _lit(rng, _boxed(rng, card)))


def _boxed(rng: Rng, card: Image) -> Image:
    """Return the card as cut out by another box, either end up."""
    moved = (CORNERS - MIDDLE) * np.exp(rng.normal(0.01, BOX_OFF)) + MIDDLE
    moved = moved + (rng.normal(0, BOX_OFF, 2) + 0.5 * rng.normal(0, BOX_OFF, (4, 2))) * HEIGHT
    if rng.random() < 0.5:
        moved = np.roll(moved, 2, axis=0)
    half = np.float32(0.5)
    matrix = cv2.getPerspectiveTransform(moved.astype(np.float32) - half, CORNERS - half)
    warped = cv2.warpPerspective(card, matrix, CROP_SIZE, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(warped, np.uint8)


def _lit(rng: Rng, card: Image) -> Image:
    """Return the card under another lamp: a slope, a cast, more or less light, a veil."""
    slope = np.clip(rng.normal(1, SLOPE, (3, 3, 1)), 0.3, 2.0)
    cast = np.exp(rng.normal(0, CAST, 3))
    gain = np.exp(rng.normal(-0.05, GAIN))
    field = cv2.resize((slope * cast / cast.mean() * gain).astype(np.float32), CROP_SIZE)
    return _bytes(card * field + max(0.0, rng.normal(0, VEIL_LEVELS)))


def _worn(rng: Rng, card: Image) -> Image:
    """Return the card as a camera gives it: fewer pixels, blur, noise, JPEG."""
    width = WIDTH
    if rng.random() < 0.5:
        width = round(np.exp(rng.uniform(np.log(SMALLEST_PX), np.log(WIDTH))))
    small = (width, round(HEIGHT * width / WIDTH))
    card = _sized(card, small)
    if rng.random() < 0.75:
        sigma = 0.2 + rng.exponential(0.4) * (0.35 + WIDTH / 130) * width / WIDTH
        card = np.asarray(cv2.GaussianBlur(card, (0, 0), sigma), np.uint8)
    if rng.random() < 0.75:
        card = _bytes(card + rng.normal(0, min(rng.exponential(5.0), 20.0), card.shape))
    if rng.random() < 0.6:
        quality = [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(30, 97))]
        packed = cv2.imencode(".jpg", card, quality)[1]
        card = np.asarray(cv2.imdecode(packed, cv2.IMREAD_COLOR), np.uint8)
    return _sized(card, CROP_SIZE)


def _sized(card: NDArray[np.uint8], size: tuple[int, int]) -> Image:
    if card.shape[1::-1] == size:
        return np.asarray(card, np.uint8)
    method = cv2.INTER_AREA if size[0] < card.shape[1] else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(card, size, interpolation=method), np.uint8)


def _bytes(values: NDArray[np.floating]) -> Image:
    return np.asarray(np.clip(values, 0, 255), np.uint8)


# --- the enrolment --------------------------------------------------------------------------------


# Pictures of a film or camera are looked at this far apart, ms: eight looks at a card that is left
# for the two seconds that deploy/enrolment.md asks for. Longer, and a card is captured too seldom.
LOOK_EVERY_MS = 250
# An outline whose corners are further than this from a card on the table, mm, is a card in a hand
# or no whole card. Chosen on simulated films; larger, bent crops are captured.
MISFIT_MM = 15.0
PAIRS_NAMED = 9  # of the closest pairs, in the report and in the deck file; more tell nothing new
# A message lists at most this many cards or pairs: about one line of a terminal.
NAMED_AT_MOST = 12

# Answers which card a showing is, `None` to leave it out; the text gives the reader's guess.
Ask = Callable[[str, Showing], Card | None]


@dataclass(frozen=True, slots=True, eq=False)
class Enrolled:
    """What became of an enrolment: the deck file's hash, and why it is not armed ("" if it is)."""

    measured: Measured
    sha256: str
    why: str


@dataclass(slots=True, eq=False)
class Watch:
    """Looks at pictures for a gatherer, and reports what is still missing whenever that changes."""

    models: ModelSet
    view: TableView
    camera: CameraSection
    report: Callable[[str], None]
    gatherer: Gatherer = field(default_factory=Gatherer)
    _reported: str = ""

    @property
    def complete(self) -> bool:
        """Whether all 52 faces and the back have been seen."""
        return not self.gatherer.missing and self.gatherer.back_seen

    def see(self, frame: Frame) -> None:
        """Look at one picture; ConfigurationError where it is not of the calibrated size."""
        self.camera.check_size(frame)
        places: list[tuple[float, float]] = []
        crops: dict[Kind, list[Image]] = {Kind.FACE: [], Kind.BACK: []}
        for found in self.models.detector(frame.image):
            pose, misfit = self.view.locate(found.quad)
            if found.kind is Kind.CUT or misfit > MISFIT_MM:
                continue
            crops[found.kind].append(rectify(frame.image, self.view.quad_px(pose), CROP_SIZE))
            if found.kind is Kind.FACE:
                places.append(pose.centre)
        faces = crops[Kind.FACE]
        looks = self.models.classifier.of_crops(faces) if faces else ()
        seen = [
            Sighting(place, crop, look)
            for place, crop, look in zip(places, faces, looks, strict=True)
        ]
        self.gatherer.see(seen, crops[Kind.BACK])
        words = progress(self.gatherer)
        if words != self._reported:
            self._reported = words
            self.report(words)


def progress(gatherer: Gatherer) -> str:
    """Return in words which cards have been seen and which have not."""
    return "; ".join([f"seen {52 - len(gatherer.missing)} of 52 faces", *lacks(gatherer)])


def lacks(gatherer: Gatherer) -> list[str]:
    """Return in words why the deck is not whole; none where it is."""
    missing, twice, found = gatherer.missing, gatherer.conflicts(), []
    if missing:
        found.append(f"not seen for sure: {named(missing)}")
        if again := gatherer.shown_twice():
            found.append(f"seen at two places, one may be a missing card: {named(again)}")
    if twice:
        found.append(f"two cards at once look like {named(twice)}")
    if not gatherer.back_seen:
        found.append("the back was not seen")
    return found


def named(things: Sequence[object], between: str = " ") -> str:
    """Return the names of cards or pairs, the first ones of many."""
    left = len(things) - NAMED_AT_MOST
    words = between.join(map(str, things[:NAMED_AT_MOST]))
    return f"{words} and {left} more" if left > 0 else words


def ask_all(gatherer: Gatherer, ask: Ask) -> None:
    """Ask about every card that is not clear, until none is left that could be missing."""
    while (showing := gatherer.unclear()) is not None:
        guess = showing.guess()
        words = "" if guess is None else f"it looks like {guess.best}, or else {guess.second}"
        gatherer.name(showing, ask(words, showing))


def enrol(captured: Captured, models: ModelSet, *, bound: float, out: Path) -> Enrolled:
    """Measure a deck and write its file."""
    measured = measure(captured, models.classifier)
    why = not_armed_because(measured.margins, bound)
    pairs = closest(measured.margins, PAIRS_NAMED)
    facts = {
        "classifier": models.hashes["classifier"],
        "bound": bound,
        "armed": not why,
        "why": why,
        "frames": len(captured.cards),
        "closest": [f"{pair}: {pair.margin:.1f}" for pair in pairs],
    }
    digest = write(out, measured.deck, measured.margins, captured, facts)
    return Enrolled(measured, digest, why)


def not_armed_because(margins: NDArray[np.float64], bound: float) -> str:
    """Return which pairs are too alike to be read at a bound of error, "" where none is."""
    needed = f"needed {-math.log(bound):.1f}"
    alike = too_alike(margins, bound)
    words = [f"{p} are too alike under this lamp (margin {p.margin:.1f}, {needed})" for p in alike]
    return named(words, "; ")


def report(measured: Measured) -> Iterable[str]:
    """Yield the closest pairs, and the cards misread at times, a line each."""
    pairs = closest(measured.margins, PAIRS_NAMED)
    words = ", ".join(f"{pair} {pair.margin:.1f}" for pair in pairs)
    yield f"closest pairs (margin in log-odds of a still card): {words}"
    if measured.misread:
        yield f"misread at times, lying free: {' '.join(map(str, measured.misread))}"
