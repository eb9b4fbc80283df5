"""Hands with sleeves, drawn once as flat BGRA sprites and then laid on pictures like cards.

A sprite is a pair of layers in one frame: `below` goes under a held card, `above` (the thumb, or
nothing) over it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise

import cv2
import numpy as np

from .paint import Image, Points, fill, pyramid

Rng = np.random.Generator
# Frame of a sprite, mm: a hand and the arm to the elbow.
FRAME_MM = (320.0, 860.0)
# The middle of a card held between thumb and fingers, in the frame.
GRIP_MM = (160.0, 108.0)
# A hand ends here, down the frame, a little below the wrist's middle.
_WRIST_MM = 275.0
# How many are made a split, and where their seeds begin: apart for train and test.
_BANK = {"train": 96, "test": 16}
_SEED = {"train": 31_000, "test": 52_000}
_SCALE = 0.8  # px per mm
# Fingers that bear rings, from the forefinger or the little finger on, the likeliest first.
_RINGED = (2, 1)
_GOLD_BGR = (70, 150, 205)
Colour = tuple[float, float, float]
_SKINS_BGR = (
    (190, 205, 238), (170, 190, 230), (140, 170, 220), (115, 150, 205), (95, 130, 190),
    (75, 105, 165), (60, 85, 140), (45, 62, 105), (35, 45, 78),
)  # fmt: skip
# Of the hands of the training split: the share in gloves of any colour; how far lightness (standard
# deviation of its logarithm) and colour (levels) go from the skins above; how strongly they are
# shaded, 1 as drawn. Wide on purpose: lamps and cameras that nobody here has seen make brown hands
# on tan felt, and a network that knows nine skins on green does not find them.
_GLOVED, _LIGHTNESS, _HUE, _SHADED = 0.12, 0.22, 8.0, (0.25, 1.2)
# And the share of their sleeves and of their cuffs that are of any colour at all, white included.
_COLOURED, _WHITE = 0.6, 0.15


@dataclass(frozen=True, slots=True)
class Hand:
    """A hand reaching up the frame: premultiplied pyramids of `FRAME_MM`, fingers towards y = 0."""

    below: tuple[Image, ...]
    above: tuple[Image, ...]
    box_mm: tuple[float, float, float, float]  # x0, y0, x1, y1 of the hand to its wrist
    is_right: bool = True


@dataclass(frozen=True, slots=True)
class Wear:
    """What is on a hand: a long sleeve or none (None: as it comes), rings, a watch.

    `cloth` are the colours of sleeve and cuff (None: as they come).
    """

    sleeve: bool | None = None
    rings: int = 0
    watch: bool = False
    cloth: tuple[Colour, Colour] | None = None


def any_cloth(rng: Rng) -> Colour:
    """Return a colour (BGR) that cloth can have: white, pale, dark or as bright as any dye."""
    if rng.random() < _WHITE:
        tone = np.clip(rng.uniform(205, 250) + rng.normal(0, 4, 3), 0, 255)
    else:
        hue, strength, light = rng.uniform(0, 180), 255 * rng.random() ** 0.7, rng.uniform(35, 250)
        tone = cv2.cvtColor(np.array([[[hue, strength, light]]], np.uint8), cv2.COLOR_HSV2BGR)[0, 0]
    return float(tone[0]), float(tone[1]), float(tone[2])


def hand(rng: Rng, *, split: str = "train", wear: Wear | None = None) -> Hand:
    """Return one of the banked hands of a split, left or right."""
    return _banked(split, int(rng.integers(_BANK[split])), wear or Wear())


def frame_quad(
    tip: Points,
    angle: float,
    *,
    scale: float = 1.0,
    box: tuple[float, float, float, float] = (0.0, 0.0, *FRAME_MM),
) -> Points:
    """Return the corners (4, 2) mm of a frame, or of a box in it, whose grip lies at `tip`.

    The arm is turned by `angle` radians.
    """
    x0, y0, x1, y1 = box
    corners = np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]]) - GRIP_MM
    cos, sin = np.cos(angle), np.sin(angle)
    placed: Points = (corners * scale) @ np.array([[cos, sin], [-sin, cos]]) + tip
    return placed


@lru_cache(maxsize=112)
def _banked(split: str, which: int, wear: Wear) -> Hand:
    rng = np.random.default_rng(_SEED[split] + which)
    if split == "test":
        tone = np.array(_SKINS_BGR[rng.integers(len(_SKINS_BGR))]) * rng.uniform(0.85, 1.08)
        return _draw(rng, wear, np.clip(tone + rng.normal(0, 3, 3), 8, 250))
    return _draw(rng, wear, _varied_skin(rng), rng.uniform(*_SHADED), coloured=_COLOURED)


def _varied_skin(rng: Rng) -> Points:
    """Return the colour (BGR) of a hand in some light, or of a glove."""
    if rng.random() < _GLOVED:
        return np.asarray(rng.uniform(15, 245, 3))
    first, second = (np.array(_SKINS_BGR[n]) for n in rng.integers(len(_SKINS_BGR), size=2))
    share = rng.random()
    tone = (share * first + (1 - share) * second) * np.exp(rng.normal(0, _LIGHTNESS))
    return np.asarray(np.clip(tone + rng.normal(0, _HUE, 3), 8, 250))


def _draw(
    rng: Rng, wear: Wear, skin: Points, shaded: float = 1.0, *, coloured: float = 0.0
) -> Hand:
    """Draw the arm, the palm and four fingers below, the thumb above.

    `coloured` is the share (0 to 1) of sleeves, and of cuffs, that are of any colour.
    """
    size = (int(FRAME_MM[1] * _SCALE), int(FRAME_MM[0] * _SCALE), 3)
    skin_limb = partial(_limb, shaded=shaded)
    side = -1.0 if rng.random() < 0.5 else 1.0
    lower, upper = (np.zeros(size, np.uint8) for _ in range(2))
    opaque, thumb_mask = (np.zeros(size[:2], np.uint8) for _ in range(2))
    wrist = np.array([160.0 + side * rng.uniform(-15, 25), 265.0])
    elbow = np.array([160.0 + rng.normal(0, 40), 880.0])
    skin_limb(lower, opaque, [wrist, elbow], [56, 78], skin)
    palm = np.array([160.0 + side * rng.uniform(10, 25), 195.0])
    skin_limb(lower, opaque, [wrist, palm, palm - np.array([side * 4, 42])], [54, 76, 80], skin)
    spread = rng.uniform(0.02, 0.2)
    curl = rng.uniform(0.55, 1.0)
    for finger, (root, length) in enumerate([(-30, 78), (-10, 88), (11, 82), (31, 64)]):
        start = palm + np.array([side * root, -38.0 + abs(root) * 0.15])
        lean = side * (finger - 1.5) * spread + rng.normal(0, 0.05)
        middle = start + length * 0.5 * curl * np.array([np.sin(lean), -np.cos(lean)])
        bend = lean - side * rng.uniform(0, 0.35)
        tip = middle + length * 0.5 * curl * np.array([np.sin(bend), -np.cos(bend)])
        skin_limb(
            lower, opaque, [start, middle, tip], [20, 18.5, 15], skin * rng.uniform(0.93, 1.05)
        )
        _nail(lower, middle, tip, skin)
        if finger in _RINGED[: wear.rings]:
            _band(lower, start + (middle - start) * 0.45, middle - start, _GOLD_BGR,
                  size_mm=(20.5, 5.0))  # fmt: skip
    base = palm + np.array([-side * 34, 12])
    joint = base + np.array([-side * rng.uniform(8, 24), -rng.uniform(30, 42)])
    tip = joint + np.array([side * rng.uniform(0, 26), -rng.uniform(24, 36)])
    skin_limb(upper, thumb_mask, [base, joint, tip], [30, 24, 18], skin * rng.uniform(0.97, 1.08))
    _nail(upper, joint, tip, skin)
    if wear.watch:
        strap = wrist + (elbow - wrist) * 0.03
        _band(lower, strap, elbow - wrist, (40.0, 38.0, 36.0), size_mm=(58.0, 16.0))
    _sleeve(rng, (lower, opaque), (wrist, elbow), wear, coloured)
    box = _box(cv2.max(opaque, thumb_mask))
    sprites = _sprite(rng, lower, opaque), _sprite(rng, upper, thumb_mask)
    return Hand(*sprites, box, side > 0)


def _band(
    image: Image, at: Points, along: Points, colour: Colour, *, size_mm: tuple[float, float]
) -> None:
    """Draw a ring or a strap (width, length) across a finger or a wrist, lighter in the middle."""
    way = along / np.hypot(*along)
    across = np.array([-way[1], way[0]])
    width, length = size_mm
    for share, tone in ((1.0, 0.75), (0.6, 1.0), (0.25, 1.25)):
        corners = [at + across * x * share * width / 2 + way * y * length / 2
                   for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))]  # fmt: skip
        shade = tuple(min(255.0, c * tone) for c in colour)
        fill(image, (np.array(corners) * _SCALE).astype(np.float32), shade)


def _box(mask: Image) -> tuple[float, float, float, float]:
    """Return the rectangle (mm) round what of a hand lies above its wrist."""
    x, y, width, height = cv2.boundingRect(mask[: int(_WRIST_MM * _SCALE)])
    return x / _SCALE, y / _SCALE, (x + width) / _SCALE, (y + height) / _SCALE


def _limb(
    image: Image,
    mask: Image,
    joints: list[Points],
    widths: list[float],
    skin: Points,
    *,
    shaded: float = 1.0,
) -> None:
    """Draw a tapering limb: several narrowing strokes make it look round, `shaded` how much."""
    for share, tone in ((1.0, 0.62), (0.92, 0.78), (0.78, 0.9), (0.55, 1.0), (0.3, 1.06)):
        colour = np.clip(skin * (1 - shaded * (1 - tone)), 0, 255)
        shape = _stroke(joints, [w * share for w in widths]) * _SCALE
        fill(image, shape, tuple(colour))
        if share == 1.0:
            outline = np.round(shape * 16).astype(np.int32)
            cv2.fillPoly(mask, [outline], 255, cv2.LINE_AA, 4)


def _stroke(joints: list[Points], widths: list[float]) -> Points:
    """Return the outline (n, 2) of round-ended segments of changing width, as one hull per bend."""
    rim = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    circle = np.stack([np.cos(rim), np.sin(rim)], axis=1)
    discs = [j + circle * w / 2 for j, w in zip(joints, widths, strict=True)]
    path = np.concatenate(discs)
    if len(joints) == 2:
        return np.asarray(cv2.convexHull(path.astype(np.float32))[:, 0])
    parts = [cv2.convexHull(np.concatenate(pair).astype(np.float32))[:, 0]
             for pair in pairwise(discs)]  # fmt: skip
    return _union(parts)


def _union(parts: list[Points]) -> Points:
    """Return the outer outline of overlapping hulls, through a small mask."""
    points = np.concatenate(parts)
    low = points.min(axis=0) - 2
    fine = 4.0
    extent = np.ceil((points.max(axis=0) - low + 2) * fine).astype(int)
    mask = np.zeros((extent[1], extent[0]), np.uint8)
    for part in parts:
        cv2.fillConvexPoly(mask, np.round((part - low) * fine).astype(np.int32), 255)
    outlines, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    outline: Points = np.asarray(outlines[0][:, 0], np.float32) / fine + low
    return outline


def _nail(image: Image, joint: Points, tip: Points, skin: Points) -> None:
    along = (tip - joint) / (np.hypot(*(tip - joint)) + 1e-6)
    across = np.array([-along[1], along[0]])
    middle = tip + along * 1.5
    corners = [middle + along * a + across * b for a, b in ((5, -4), (5, 4), (-6, 4.5), (-6, -4.5))]
    colour = np.clip(skin * 0.9 + 30, 0, 255)
    fill(image, (np.array(corners) * _SCALE).astype(np.float32), tuple(colour), opacity=0.7)


def _sleeve(
    rng: Rng,
    layers: tuple[Image, Image],
    arm: tuple[Points, Points],
    wear: Wear,
    coloured: float,
) -> None:
    """Draw a cuff and a sleeve over the arm from wrist to elbow, or leave it bare."""
    wrist, elbow = arm
    bare = rng.random() < 0.25
    if bare if wear.sleeve is None else not wear.sleeve:
        return
    start = wrist + (elbow - wrist) * rng.uniform(0.02, 0.45)
    end = elbow + (elbow - wrist) * 0.2
    cloth = np.array([rng.uniform(10, 245)] * 3) + rng.normal(0, 30, 3) * rng.uniform(0, 1.5)
    cuff = np.clip(cloth + rng.choice([0, 0, 120, -60]), 0, 255)
    if coloured:
        cloth = np.array(any_cloth(rng)) if rng.random() < coloured else cloth
        cuff = np.array(any_cloth(rng)) if rng.random() < coloured else cuff
    if wear.cloth is not None:
        cloth, cuff = (np.array(colour) for colour in wear.cloth)
    _limb(*layers, [start - (end - start) * 0.03, end], [76, 104], cuff)
    _limb(*layers, [start, end], [80, 108], np.clip(cloth, 4, 255))


def _sprite(rng: Rng, image: Image, mask: Image) -> tuple[Image, ...]:
    """Return the pyramid of a drawn layer, with skin mottle and one soft side light."""
    height, width = mask.shape
    mottle = cv2.resize(rng.standard_normal((height // 4, width // 4), np.float32), (width, height))
    left, right = (float(v) for v in rng.uniform(0.85, 1.1, 2))
    slope = np.linspace(left, right, width)[None, :] + 0.025 * mottle
    soft = cv2.GaussianBlur(image, (0, 0), 1.6)
    shaded = cv2.multiply(soft, cv2.merge([slope.astype(np.float32)] * 3), dtype=cv2.CV_8U)
    return pyramid(np.dstack([shaded, mask]))
