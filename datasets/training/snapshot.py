"""One card photographed with little around it: the raw material of a classifier crop.

Keeps what decides whether a person could read it: what covers it and how sharp it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from ..faces.random_non_cards import oddment
from ..faces.sprites import NAMES, Levels, Pack, cut_card, foreign_face
from ..render import clutter, hands
from ..render.backdrop import ground
from ..render.camera import View, view
from ..render.exposure import blurred, glare, jpeg, lit, noisy
from ..render.optics import disc, rolled, shake, sharpened, sheen, spread
from ..render.paint import Image, Points, fill, inks, lay, shadow
from ..render.surfaces import recolour
from ..render.table_print import print_word, turned
from .hide import hide

Rng = np.random.Generator
# Corners of a card as shares of its sides, and its width in mm.
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
_WIDTH_MM = 63.0
# How often something lies on the card, how often that is other cards, and how often the picture's
# edge cuts the card. Cards partly in sight are the ones that are hard to read.
_COVERED, _BY_CARDS, _CUT_OFF = 0.55, 0.62, 0.05
# Where no card lies: how often there are things, mostly chips; else an empty slot is painted, or
# nothing.
_THINGS = 0.6
# How often the signs of a card are covered on purpose. Rarer, and the classifier guesses what is
# hidden; more often, and it learns less of cards in sight.
HIDDEN = 0.3
# Added light, as a share of white, from which it drowns a sign: judged by eye on contact sheets.
_BURNT = 0.7
# Radius of the widest disc of a point out of focus, in card widths: beyond, nobody reads anything.
_WIDEST_DISC = 0.12


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A BGR picture of one card and the truth about it.

    `quad` (4, 2) px; `card` its class number, None for anything but a face of the 52, which is one
    of `pack`; `back` says that a back is up; `laid` are the class numbers of the faces laid on it;
    `clear` is 1 where the card itself is seen; `sharp_px` its width in px as far as the focus
    allows, `wide_px` if it were sharp; `tilt` (radians) leans the camera back from straight down.
    """

    image: Image
    quad: NDArray[np.float32]
    card: int | None
    clear: NDArray[np.uint8]
    sharp_px: float
    wide_px: float
    tilt: float
    pack: Pack
    back: bool = False
    laid: tuple[int, ...] = ()


def series(
    rng: Rng,
    decks: Sequence[Pack],
    *,
    split: str,
    count: int,
    without: frozenset[str] = frozenset(),
    hidden: float = HIDDEN,
) -> list[Snapshot]:
    """Return `count` pictures of one card as it lies: only focus, noise and compression differ.

    It is a card of one of the packs, or at times a back, a foreign face or no card at all.

    `without` leaves out any of "blur", "glare", "hands"; `hidden` is how often (0 to 1) the signs
    of the card are covered on purpose.
    """
    pack = decks[int(rng.integers(len(decks)))]
    levels, card, back = _subject(rng, pack, split)
    wide = _card_width(rng)
    tilt = min(abs(rng.normal(0, 0.3)), 0.75)
    margin = rng.uniform(1.55, 1.9)
    side = round(wide * margin)
    scene = view(rng, (side, side), px_per_mm=wide / _WIDTH_MM, tilt=tilt, turn=0.0)
    turn = _turn(rng)
    quad = scene.project(turned(pack.size_mm, np.zeros(2), turn))
    shot = _Shot(rng, scene, side, split, without)
    tint = inks(_print(rng))
    if levels is not None:
        shot.around(decks, tint)
        shot.subject(levels, quad, tint)
    elif rng.random() < _THINGS:
        quad = shot.things(turn)
    else:
        shot.slot(turn)
    if card is not None and rng.random() < hidden:
        hide(rng, shot, pack, tint=tint, turn=turn, split=split)
    elif rng.random() < _COVERED:
        shot.cover(decks if card is not None else (), tint, turn)
    if rng.random() < _CUT_OFF:
        shot.cut_off(quad)
    shot.light(wide)
    lit_up = shot.image
    taken = []
    for _ in range(count):
        shot.image = lit_up
        sharp = shot.finish(wide)
        laid = tuple(shot.laid)
        taken.append(
            Snapshot(shot.image, quad, card, shot.clear, sharp, wide, tilt, pack, back, laid)
        )
    return taken


class _Shot:
    """The small picture being made."""

    def __init__(
        self, rng: Rng, scene: View, side: int, split: str, without: frozenset[str]
    ) -> None:
        self._rng, self.view, self._split, self._without = rng, scene, split, without
        self.image = _ground(rng, side, split)
        self.clear: NDArray[np.uint8] = np.zeros((side, side), np.uint8)
        self._shade_way = rng.uniform(-1, 1, 2)
        self.laid: list[int] = []

    def around(self, decks: Sequence[Pack], tint: NDArray[np.float32]) -> None:
        """Lay neighbours and things around and under the card."""
        rng = self._rng
        for _ in range(int(rng.choice([0, 1, 2, 3], p=[0.5, 0.25, 0.15, 0.1]))):
            way = rng.uniform(0, 2 * np.pi)
            middle = np.array([np.cos(way), np.sin(way)]) * rng.uniform(8, 85)
            self.neighbour(self._one_of(decks), tint, middle, rng.uniform(-np.pi, np.pi))
        if rng.random() < 0.08:
            thing = clutter.sprite(rng, split=self._split)
            corners = turned(thing.size_mm, rng.normal(0, 60, 2), rng.uniform(-np.pi, np.pi))
            lay(self.image, thing.levels, self.view.project(corners))

    def subject(self, levels: Levels, quad: Points, tint: NDArray[np.float32]) -> None:
        """Lay the card itself, at times bent or spotted with dirt."""
        rng = self._rng
        self._shade(quad, abs(rng.normal(0, 3.0)))
        bow = rng.normal(0, 0.025) if rng.random() < 0.15 else 0.0
        touched = lay(self.image, levels, quad, tint=tint, bow=bow)
        if touched is not None:
            x0, y0, x1, y1, alpha = touched
            self.clear[y0:y1, x0:x1] = alpha > 127
        if rng.random() < 0.12:
            for _ in range(int(rng.integers(1, 6))):
                spot = quad.mean(axis=0) + rng.normal(0, 0.3, 2) * (quad[2] - quad[0])
                blob = spot + rng.normal(0, 0.02, (5, 2)) * np.ptp(quad, axis=0)
                fill(self.image, blob, clutter.colour(rng), opacity=rng.uniform(0.1, 0.5))

    def things(self, turn: float) -> NDArray[np.float32]:
        """Lay things that are no cards; return the outline that a detector may give the first."""
        rng = self._rng
        size = rng.uniform((36, 36), (75, 105))
        outline = self.view.project(turned((size[0], size[1]), np.zeros(2), turn))
        for number in range(int(rng.choice([1, 1, 2, 4]))):
            thing = clutter.sprite(rng, split=self._split, chips=rng.random() < 0.6)
            middle = rng.normal(0, 4 if number == 0 else 30, 2)
            quad = self.view.project(turned(thing.size_mm, middle, turn))
            self._shade(quad, 0.1 * thing.height_mm)
            lay(self.image, thing.levels, quad)
            if number == 0 and rng.random() < 0.5:
                outline = quad
        return np.asarray(outline, np.float32)

    def slot(self, turn: float) -> None:
        """Print an empty slot where a card could lie: its frame, often a word in or by it."""
        rng, ink = self._rng, clutter.colour(self._rng)
        if rng.random() < 0.8:
            size = rng.uniform((52, 74), (74, 106))
            corners = self.view.project(turned((size[0], size[1]), rng.normal(0, 2, 2), turn))
            if rng.random() < 0.15:
                fill(self.image, corners, clutter.colour(rng), opacity=rng.uniform(0.2, 1.0))
            points = np.round((corners - 0.5) * 16).astype(np.int32)
            wide = int(rng.choice([1, 1, 2, 3])) * (1 + self.image.shape[0] // 150)
            cv2.polylines(self.image, [points], True, ink, wide, cv2.LINE_AA, 4)
        if rng.random() < 0.6:
            middle, tall = rng.normal(0, 15, 2), rng.uniform(8, 40)
            print_word(
                rng, self.image, self.view, middle=middle, turn=turn, tall=tall,
                ink=(*ink, rng.uniform(0.3, 1.0)),
            )  # fmt: skip

    def cover(self, decks: Sequence[Pack], tint: NDArray[np.float32], turn: float) -> None:
        """Cover part of the card: cards of a fan or a row (if any), a hand, chips or a thing."""
        rng = self._rng
        chance = rng.uniform(0.0 if decks else _BY_CARDS, 1.0)
        way = rng.uniform(0, 2 * np.pi)
        out = np.array([np.cos(way), np.sin(way)])
        if chance < _BY_CARDS:
            step = rng.normal(0, 0.12) if rng.random() < 0.7 else rng.uniform(-np.pi, np.pi)
            reach = rng.uniform(10, 75)
            for number in range(1, int(rng.integers(2, 4))):
                there, angle = out * reach * number, turn + step * number
                self.neighbour(self._one_of(decks), tint, there, angle, over=True)
        elif chance < 0.82 and "hands" not in self._without:
            tip = out * rng.uniform(10, 48)
            towards = np.arctan2(-out[0], out[1]) + rng.normal(0, 0.5)
            held = hands.hand(rng, split=self._split)
            frame = self.view.project(hands.frame_quad(tip, towards))
            self.over(held.below if rng.random() < 0.6 else held.above, frame)
            self.over(held.above, frame)
        else:
            thing = clutter.sprite(rng, split=self._split, chips=rng.random() < 0.7)
            middle = out * (rng.uniform(0, 45) + 0.4 * min(thing.size_mm) * (rng.random() < 0.5))
            corners = turned(thing.size_mm, middle, rng.uniform(-np.pi, np.pi))
            self.over(thing.levels, self.view.project(corners))

    def cut_off(self, quad: Points) -> None:
        """Let the picture end within the card; at which side does not matter, cards lie any way."""
        end = self._rng.uniform(0.4, 1.0) * np.ptp(quad[:, 0]) + quad[:, 0].min()
        self.image = np.ascontiguousarray(self.image[:, : round(end)])
        self.clear = np.ascontiguousarray(self.clear[:, : round(end)])

    def light(self, wide: float) -> None:
        """Light the picture: a slope, a colour cast, a hard shadow, glare, the sheen of plastic."""
        rng = self._rng
        side = self.image.shape[0]
        if rng.random() < 0.2:
            corners = rng.uniform(-0.4, 1.4, (int(rng.integers(3, 5)), 2)) * side
            soft = float(rng.exponential(0.03)) * wide
            shadow(self.image, corners, soft=soft, strength=rng.uniform(0.2, 0.7))
        slope = rng.normal(1, 0.16, (3, 3, 1))
        cast = np.exp(rng.normal(0, 0.1, 3) * rng.choice([0.3, 1.0, 1.8]))
        # Lamps differ along one line: from bulbs to the sky.
        cast *= np.exp(rng.normal(0, 0.12) * np.array([1.0, 0.0, -1.0]))
        gain = np.exp(rng.normal(-0.05, 0.22)) if rng.random() < 0.85 else rng.uniform(0.22, 1.7)
        field = np.clip(slope, 0.3, 2.0) * (cast / cast.mean() * gain)
        lift = max(0.0, rng.normal(0, 12)) if rng.random() < 0.8 else rng.uniform(0, 70)
        self.image = lit(self.image, field.astype(np.float32), lift=lift)
        if "glare" in self._without:
            return
        if rng.random() < 0.14:
            self._spot(wide)
        if rng.random() < 0.08:
            shine = sheen(rng, self.clear.shape, wide)
            tone = 255 * np.exp(rng.normal(0, 0.08, 3)).astype(np.float32)
            self.image = cv2.add(self.image, shine[:, :, None] * tone, dtype=cv2.CV_8U)
            self.clear[shine > _BURNT] = 0

    def _spot(self, wide: float) -> None:
        """Let a lamp shine back from one place."""
        rng, side = self._rng, self.image.shape[0]
        strength = rng.uniform(0.2, 1.0)
        radii = np.exp(rng.uniform(np.log(0.06), np.log(0.6), 2)) * wide
        centre = rng.uniform(0.2, 0.8, 2) * side
        glare(self.image, centre, radii, strength)
        if strength > 0.55:
            burnt = (int(radii[0] * 0.6), int(radii[1] * 0.6))
            at = (int(centre[0]), int(centre[1]))
            cv2.ellipse(self.clear, at, burnt, 0, 0, 360, 0, -1)

    def finish(self, wide: float) -> float:
        """Blur, add noise, sharpen, compress; return the card's width in px as far as sharp."""
        rng = self._rng
        smear = 0.0 if "blur" in self._without else self._blur(wide)
        if rng.random() < 0.06:
            self.image = rolled(rng, self.image, float(rng.exponential(0.008)) * wide)
        sharpens = rng.random() < 0.4
        if rng.random() < 0.75:
            # What sharpens also smooths first, or it would sharpen the noise.
            sigma = min(float(rng.exponential(2.5 if sharpens else 5.0)), 20.0)
            grain = int(rng.choice([1, 1, 2, 3]))
            self.image = noisy(self.image, rng, sigma=sigma, chroma=rng.random(), grain=grain)
        if sharpens:
            radius, amount = rng.uniform(0.6, 2.0), rng.uniform(0.2, 1.4)
            self.image = sharpened(self.image, radius=radius, amount=amount)
        if rng.random() < 0.7:
            self.image = jpeg(self.image, int(rng.integers(28, 97)))
        return float(wide / np.sqrt(1 + (2.2 * smear) ** 2))

    def _blur(self, wide: float) -> float:
        """Blur by a poor lens, by focus, or by motion; return the standard deviation, px."""
        rng = self._rng
        # Blur grows with the picture: out of focus is so in mm as much as in px.
        size = 0.35 + wide / 130
        chance = rng.random()
        if chance < 0.28:
            smear = 0.3 + float(rng.exponential(0.5)) * size
            self.image = blurred(self.image, smear)
            return smear
        if chance < 0.64:
            radius = min(0.6 + float(rng.exponential(1.8)) * size, _WIDEST_DISC * wide)
            self.image = spread(self.image, disc(rng, radius))
            return radius / 2
        if chance < 0.8:
            length = 1 + float(rng.exponential(2.6)) * size
            self.image = spread(self.image, shake(rng, length))
            return 0.24 * length
        return 0.0

    def _one_of(self, decks: Sequence[Pack]) -> Pack:
        rng = self._rng
        return decks[0] if rng.random() < 0.5 else decks[int(rng.integers(len(decks)))]

    def neighbour(
        self, pack: Pack, tint: NDArray[np.float32], middle: Points, turn: float,
        *, over: bool = False,
    ) -> None:  # fmt: skip
        """Lay a card of a pack with its middle there (mm), under or over the subject."""
        rng = self._rng
        face = None if rng.random() < 0.2 else int(rng.integers(52))
        levels = pack.back(int(rng.integers(64))) if face is None else pack.drawn(rng, NAMES[face])
        quad = self.view.project(turned(pack.size_mm, middle, turn))
        self._shade(quad, abs(rng.normal(0, 2.0)))
        if over:
            self.laid += [] if face is None else [face]
            self.over(levels, quad, tint)
        else:
            lay(self.image, levels, quad, tint=tint)

    def over(self, levels: Levels, quad: Points, tint: NDArray[np.float32] | None = None) -> None:
        """Lay a sprite on the subject."""
        touched = lay(self.image, levels, quad, tint=tint)
        if touched is not None:
            x0, y0, x1, y1, alpha = touched
            self.clear[y0:y1, x0:x1][alpha > 90] = 0

    def patch(self, quad: Points) -> None:
        """Cover what lies in a quad with one colour."""
        fill(self.image, quad, clutter.colour(self._rng))
        cv2.fillConvexPoly(self.clear, np.round((quad - 0.5) * 16).astype(np.int32), 0, 8, 4)

    def _shade(self, quad: Points, lift_mm: float) -> None:
        reach = lift_mm * self.image.shape[0] / 110
        way = self._shade_way * reach
        shadow(self.image, quad, soft=0.4 + 0.5 * reach, strength=0.45, offset=way)


def _subject(rng: Rng, pack: Pack, split: str) -> tuple[Levels | None, int | None, bool]:
    """Return what is photographed, its class number if a face of the 52, and whether it is a back.

    Nothing stands for a place where no card lies.
    """
    chance = rng.random()
    if chance < 0.82:
        card = int(rng.integers(52))
        return pack.drawn(rng, NAMES[card]), card, False
    if chance < 0.88:
        return pack.back(int(rng.integers(64))), None, True
    if chance < 0.92:
        foreign = oddment(rng, split=split) if rng.random() < 0.6 else foreign_face(rng)
        return foreign, None, False
    if chance < 0.93:
        return cut_card(rng), None, False
    return None, None, False


def _card_width(rng: Rng) -> float:
    """Return a card's width in px: 20 to 320, most of them 40 to 130."""
    low, high = (40.0, 130.0) if rng.random() < 0.72 else (20.0, 320.0)
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _turn(rng: Rng) -> float:
    """Return a card's angle: any, often along the picture's axes."""
    if rng.random() < 0.6:
        return float(rng.uniform(-np.pi, np.pi))
    return float(rng.integers(4) * np.pi / 2 + rng.normal(0, 0.1))


def _print(rng: Rng) -> NDArray[np.float32]:
    """Return a (3, 4) colour map of paper and inks: hue, fading, yellowing, contrast."""
    matrix = recolour(rng, 0.09)
    fade = max(0.0, rng.normal(0, 0.09))
    matrix[:, :3] *= 1 - fade
    matrix[:, 3] += 200 * fade + rng.normal(0, 6)
    if rng.random() < 0.25:
        matrix *= np.array([[rng.uniform(0.72, 1.0)], [rng.uniform(0.9, 1.0)], [1.0]])
    return matrix.astype(np.float32)


def _ground(rng: Rng, side: int, split: str) -> Image:
    """Return (side, side) of a surface, seen from any distance."""
    small = max(32, side // int(rng.choice([1, 1, 2])))
    patch = ground(rng, (small, small), split=split)
    return patch if small == side else cv2.resize(patch, (side, side))
