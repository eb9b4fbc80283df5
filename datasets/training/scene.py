"""Stills for the detector: cards among other things, through one view, with exact labels.

Splits: train and test differ in seeds, decks, backs, surfaces, hands and things. Every quad is the
card's true projected corners, clockwise, edge 0 to 1 a short side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from ..faces.random_non_cards import oddment
from ..faces.sprites import NAMES, Levels, Pack, cut_card, foreign_face, hands_of, packs
from ..render import clutter, hands
from ..render.backdrop import ground, strand
from ..render.camera import View, view
from ..render.lighting import finished, lighted
from ..render.paint import Image, Points, fill, inks, lay, shadow
from ..render.surfaces import recolour
from ..render.table_print import print_layout, turned
from .arrange import OVERLAPS, Spot, coup, overlapping, spots

Rng = np.random.Generator
# Part of every seed, so that train and test draw other numbers.
SEED_FAMILY = {"train": 1, "test": 2}
# Width of a poker card, mm.
_WIDTH_MM = 63.0
# A card less of which is in sight has no label: a detector would learn to guess.
_LEAST_VISIBLE = 0.12
# Share of the stills that show cards under the hands that deal, turn or gather them: on films of
# another renderer a detector that met few of these lost most cards while they were handled.
_DEALT_SHARE = 0.4
# Widths, px at 416, of cards that lie on one another: from where an index can be read in a picture
# a few times as large, up to where a pair fills the picture.
_OVERLAPPING_PX = (20.0, 130.0)
# Share of the stills without any card. Fewer, and chips and empty slots are found as cards; more,
# and less is learnt of cards.
_BARE_SHARE = 0.12


@dataclass(frozen=True, slots=True)
class Label:
    """One card of a still: kind `face`, `back` or `cut`; quad (4, 2) px; share of it in sight.

    `card` is the face's text, None for backs, cut cards and foreign faces.
    """

    kind: str
    quad: NDArray[np.float32]
    visible: float
    card: str | None


@dataclass(frozen=True, slots=True)
class Still:
    """A BGR picture, its cards' labels, the lowest first, and the quads (4, 2) px of its hands."""

    image: Image
    labels: tuple[Label, ...]
    hands: tuple[NDArray[np.float32], ...] = ()


def stills(
    seed: int,
    *,
    split: str = "train",
    size: tuple[int, int] = (416, 416),
    decks: Sequence[str] = (),
) -> Iterator[Still]:
    """Yield stills for ever; the same seed, split and decks give the same stills."""
    rng = np.random.default_rng([SEED_FAMILY[split], 0, seed])
    for active in hands_of(rng, packs(split, decks or None), every=96):
        yield scene(rng, active, size=size, split=split)


def overlaps(
    seed: int,
    *,
    split: str = "train",
    size: tuple[int, int] = (416, 416),
    decks: Sequence[str] = (),
    style: str | None = None,
) -> Iterator[Still]:
    """Yield stills of cards that lie on one another, in a style of `OVERLAPS` or any of them."""
    rng = np.random.default_rng([SEED_FAMILY[split], 7, seed])
    styles = [style] if style else list(OVERLAPS)
    for active in hands_of(rng, packs(split, decks or None), every=96):
        drawn = styles[int(rng.integers(len(styles)))]
        yield overlapped(rng, active, style=drawn, size=size, split=split)


def scene(
    rng: Rng, decks: Sequence[Pack], *, size: tuple[int, int] = (416, 416), split: str = "train"
) -> Still:
    """Return one still of (width, height) px with cards of one or two of the packs, or without."""
    if rng.random() < _BARE_SHARE:
        return bare(rng, size=size, split=split)
    canvas = _Canvas(rng, size, split)
    if rng.random() < 0.45:
        print_layout(rng, canvas.image, canvas.view, extent_mm=canvas.extent_mm)
    canvas.things(int(rng.choice([0, 0, 1, 2, 4, 7])))
    if rng.random() < _DEALT_SHARE:
        canvas.deal(_Dealt(rng, decks, split, backs=float(rng.choice([0.3, 0.9])), cuts=0.08))
    elif rng.random() < 0.94:
        dealt = _Dealt(rng, decks, split)
        for spot in canvas.arrangement():
            canvas.card(spot, dealt)
            if rng.random() < 0.03:
                canvas.things(1)
    canvas.things(int(rng.choice([0, 0, 0, 1, 2])), small=True)
    if rng.random() < 0.06:
        canvas.strand()
    for _ in range(int(rng.choice([0, 1, 2], p=[0.75, 0.2, 0.05]))):
        canvas.hand(rng.uniform(-1, 1, 2) * canvas.extent_mm)
    image = finished(rng, lighted(rng, canvas.image, canvas.view, canvas.extent_mm))
    return Still(image, canvas.labels(), tuple(canvas.hands))


def overlapped(
    rng: Rng, decks: Sequence[Pack], *, style: str, size: tuple[int, int], split: str
) -> Still:
    """Return one still of groups of cards in a style of `OVERLAPS`, a hand on few of them."""
    canvas = _Canvas(rng, size, split, widths=_OVERLAPPING_PX)
    if rng.random() < 0.3:
        print_layout(rng, canvas.image, canvas.view, extent_mm=canvas.extent_mm)
    canvas.things(int(rng.choice([0, 0, 1, 2])))
    extent = (canvas.extent_mm[0] / _WIDTH_MM, canvas.extent_mm[1] / _WIDTH_MM)
    dealt = _Dealt(rng, decks, split, backs=float(rng.choice([0.0, 0.1])), cuts=0.01)
    for spot in overlapping(rng, extent, style):
        canvas.card(spot, dealt)
    if rng.random() < 0.1:
        canvas.hand(rng.uniform(-1, 1, 2) * canvas.extent_mm)
    image = finished(rng, lighted(rng, canvas.image, canvas.view, canvas.extent_mm))
    return Still(image, canvas.labels(), tuple(canvas.hands))


def bare(rng: Rng, *, size: tuple[int, int] = (416, 416), split: str = "train") -> Still:
    """Return one still without any card: chips, print, empty slots, things, hands."""
    canvas = _Canvas(rng, size, split)
    for _ in range(int(rng.choice([0, 1, 2]))):
        print_layout(rng, canvas.image, canvas.view, extent_mm=canvas.extent_mm)
    canvas.things(int(rng.choice([0, 1, 3, 6, 10])))
    canvas.things(int(rng.choice([0, 1, 3, 8])), small=True)
    if rng.random() < 0.06:
        canvas.strand()
    for _ in range(int(rng.choice([0, 1, 2], p=[0.6, 0.3, 0.1]))):
        canvas.hand(rng.uniform(-1, 1, 2) * canvas.extent_mm)
    image = finished(rng, lighted(rng, canvas.image, canvas.view, canvas.extent_mm))
    return Still(image, (), tuple(canvas.hands))


class _Dealt:
    """Draws the faces and backs of one still: one pack, now and then a second one."""

    def __init__(
        self,
        rng: Rng,
        decks: Sequence[Pack],
        split: str,
        *,
        backs: float | None = None,
        cuts: float | None = None,
    ) -> None:
        """`backs`, `cuts`: shares of cards face down and of cut cards; None: drawn, often small."""
        self._rng, self._split = rng, split
        self.pack = decks[int(rng.integers(len(decks)))]
        self._back = int(rng.integers(1 << 16))
        drawn = float(rng.choice([0.0, 0.12, 0.4, 0.9], p=[0.35, 0.4, 0.18, 0.07]))
        few = 0.01 if rng.random() < 0.8 else 0.15
        self._backs = drawn if backs is None else backs
        self._cuts = few if cuts is None else cuts
        self.tint = inks(recolour(rng, 0.06))

    def next(self, *, pile: bool) -> tuple[str, Levels, str | None]:
        """Return kind, pyramid and name of the next card."""
        chance = self._rng.random()
        if chance < self._cuts:
            return "cut", cut_card(self._rng), None
        if chance < self._cuts + self._backs * (2.0 if pile else 1.0):
            return "back", self.pack.back(self._back), None
        if chance > 0.985:
            drawn = self._rng.random() < 0.4
            levels = foreign_face(self._rng) if drawn else oddment(self._rng, split=self._split)
            return "face", levels, None
        name = NAMES[int(self._rng.integers(52))]
        return "face", self.pack.drawn(self._rng, name), name


class _Canvas:
    """The picture being painted and, for each pixel, which card owns it."""

    def __init__(
        self,
        rng: Rng,
        size: tuple[int, int],
        split: str,
        *,
        widths: tuple[float, float] | None = None,
    ) -> None:
        """`widths`: of cards, px at 416, the least and the greatest; None: small ones mostly."""
        self._rng, self._split = rng, split
        width, height = size
        between = float(np.exp(rng.uniform(*np.log(widths)))) if widths else _card_width(rng)
        wide = between * max(size) / 416
        tilt = abs(rng.normal(0, 0.22)) if rng.random() < 0.6 else rng.uniform(0, 0.75)
        turn = rng.choice([0, 1, 2, 3]) * np.pi / 2 if rng.random() < 0.6 else rng.uniform(0, 6.28)
        self.view: View = view(
            rng, size, px_per_mm=wide / _WIDTH_MM, tilt=min(tilt, 0.8), turn=turn
        )
        self.extent_mm = (width / 2 / wide * _WIDTH_MM, height / 2 / wide * _WIDTH_MM)
        self.image = ground(rng, (height, width), split=split)
        self._owner: NDArray[np.int16] = np.zeros((height, width), np.int16)
        self._cards: list[tuple[str, Points, str | None]] = []
        self.hands: list[NDArray[np.float32]] = []

    def arrangement(self) -> list[Spot]:
        """Return where the cards of this still lie."""
        rng = self._rng
        extent = (self.extent_mm[0] / _WIDTH_MM, self.extent_mm[1] / _WIDTH_MM)
        found = spots(rng, extent, most=int(rng.choice([1, 8, 20, 60])))
        if rng.random() < 0.25:
            found += coup(rng, extent)
        return found

    def card(self, spot: Spot, dealt: _Dealt) -> None:
        """Lay the next card at a spot, with its contact shadow, in a hand where it is held."""
        rng = self._rng
        kind, levels, name = dealt.next(pile=spot.pile)
        middle = np.array([spot.x, spot.y]) * _WIDTH_MM
        size = dealt.pack.size_mm
        quad = self.view.project(turned(size, middle, spot.angle))
        if not _in_sight(quad, self.image):
            return
        scale = self.view.scale_at(middle)
        held = self._grip(middle, spot.angle) if spot.held else None
        if held is not None:
            self._put(held[0].below, held[1], lift=8.0)
        lift = 20.0 if held is not None else float(rng.exponential(1.0))
        self._shade(quad, lift * scale)
        self._cards.append((kind, quad, name))
        bow = rng.normal(0, 0.03) if scale * 63 > 30 and rng.random() < 0.2 else 0.0
        touched = lay(self.image, levels, quad, tint=dealt.tint, bow=bow)
        self._own(touched, len(self._cards))
        if held is not None:
            self._put(held[0].above, held[1], lift=4.0)

    def deal(self, dealt: _Dealt) -> None:
        """Lay a few cards, and a dealer's hands on some: flat on top, or gripping an edge."""
        rng = self._rng
        extent = (self.extent_mm[0] / _WIDTH_MM, self.extent_mm[1] / _WIDTH_MM)
        laid = coup(rng, extent) if rng.random() < 0.6 else spots(rng, extent, most=3)
        laid = laid[: int(rng.integers(1, 7))]
        for spot in laid:
            self.card(spot, dealt)
        # The arms of a dealer come from one side of the table.
        side = rng.uniform(-np.pi, np.pi)
        for number in rng.permutation(len(laid))[: int(rng.choice([1, 1, 2]))]:
            spot = laid[int(number)]
            way = side + rng.normal(0, 0.35)
            reach = rng.uniform(-15, 62)  # mm from the card's middle towards the dealer
            middle = np.array([spot.x, spot.y]) * _WIDTH_MM + rng.normal(0, 12, 2)
            self.hand(middle + reach * np.array([-np.sin(way), np.cos(way)]), way)

    def hand(self, tip: Points, way: float | None = None) -> None:
        """Lay a hand over what is there, its arm leaving the picture on the nearer side.

        `way` turns the arm: 0 comes from the picture's lower edge, radians anticlockwise.
        """
        if way is None:
            way = float(np.arctan2(-tip[0], tip[1]) + self._rng.normal(0, 0.5))
        held, quad = self._grip(tip, way)
        self._put(held.below, quad, lift=25.0)
        self._put(held.above, quad, lift=0.0)

    def things(self, count: int, *, small: bool = False) -> None:
        """Lay things that are not cards anywhere; only chips where `small`."""
        rng = self._rng
        for _ in range(count):
            chips = small or rng.random() < 0.5
            thing = clutter.sprite(rng, split=self._split, chips=chips)
            middle = rng.uniform(-1.1, 1.1, 2) * self.extent_mm
            copies = int(rng.choice([1, 1, 3, 6])) if chips else 1
            for _ in range(copies):
                corners = turned(thing.size_mm, middle, rng.uniform(-np.pi, np.pi))
                quad = self.view.project(corners)
                if thing.round_:
                    self._shade(_rounded(quad), thing.height_mm * self.view.scale_at(middle) * 0.4)
                self._put(thing.levels, quad, lift=0.0 if thing.round_ else thing.height_mm)
                middle = middle + rng.normal(0, 25, 2)

    def strand(self) -> None:
        """Lay a cable, a cord or a strap across."""
        outline = self.view.project(strand(self._rng, self.extent_mm))
        outline = np.clip(outline, -2000, 3000)
        shadow(self.image, outline, soft=1.5, strength=0.3, offset=self._rng.normal(0, 1.5, 2))
        fill(self.image, outline, clutter.colour(self._rng, high=200))
        cv2.fillPoly(self._owner, [np.round(outline).astype(np.int32)], 0)

    def labels(self) -> tuple[Label, ...]:
        """Return the cards that are enough in sight, the lowest first."""
        seen = np.bincount(self._owner.ravel(), minlength=len(self._cards) + 1)
        found = []
        for number, (kind, quad, name) in enumerate(self._cards, start=1):
            area = max(cv2.contourArea(quad.astype(np.float32)), 1.0)
            visible = min(1.0, float(seen[number]) / area)
            if visible >= _LEAST_VISIBLE:
                found.append(Label(kind, quad.astype(np.float32), visible, name))
        return tuple(found)

    def _grip(self, tip: Points, angle: float) -> tuple[hands.Hand, Points]:
        """Return a hand and its frame in px, the fingers at `tip`."""
        chosen = hands.hand(self._rng, split=self._split)
        scale = self._rng.uniform(0.85, 1.1)
        box = hands.frame_quad(tip, angle, scale=scale, box=chosen.box_mm)
        self.hands.append(self.view.project(box).astype(np.float32))
        return chosen, self.view.project(hands.frame_quad(tip, angle, scale=scale))

    def _put(self, levels: Levels, quad: Points, *, lift: float) -> None:
        if not _in_sight(quad, self.image):
            return
        if lift and levels[0].shape[0] < 400:
            self._shade(quad, lift * 0.4 * float(np.hypot(*(quad[1] - quad[0]))) / 60)
        self._own(lay(self.image, levels, quad), 0)

    def _shade(self, quad: Points, reach: float) -> None:
        way = self._rng.uniform(-0.5, 0.5, 2) * reach
        shadow(self.image, quad, soft=0.5 + 0.5 * reach, strength=0.45, offset=way)

    def _own(self, touched: tuple[int, int, int, int, Image] | None, number: int) -> None:
        if touched is not None:
            x0, y0, x1, y1, alpha = touched
            self._owner[y0:y1, x0:x1][alpha > 127] = number


def _card_width(rng: Rng) -> float:
    """Return a card's width in px at 416: 10 to 300, most of them 14 to 60."""
    low, high = (14.0, 60.0) if rng.random() < 0.57 else (10.0, 300.0)
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _rounded(quad: Points) -> Points:
    """Return the ellipse (24, 2) that fills a quad."""
    at = np.linspace(0, 2 * np.pi, 24, endpoint=False)[:, None]
    across, down = (quad[1] - quad[0]) / 2, (quad[3] - quad[0]) / 2
    rim: Points = quad.mean(axis=0) + np.cos(at) * across + np.sin(at) * down
    return rim.astype(np.float32)


def _in_sight(quad: Points, image: Image) -> bool:
    height, width = image.shape[:2]
    low, high = quad.min(axis=0), quad.max(axis=0)
    return bool(high[0] > 1 and high[1] > 1 and low[0] < width - 1 and low[1] < height - 1)
