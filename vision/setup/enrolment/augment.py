"""New views of a captured card: what lamp, lens, hand and compression may make of it later.

From a rectified picture of a card come pictures of the same card boxed otherwise, partly covered,
lit, blurred, noisy. Every view keeps the card readable to a person. Never mirrors a card; knows no
network and no file.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.sight.detection.classifier import CROP_SIZE
from vision.sight.geometry.frame import Image, Points

Rng = np.random.Generator
WIDTH, HEIGHT = CROP_SIZE
MIDDLE = np.array([WIDTH / 2, HEIGHT / 2])
CORNERS = np.array([[0, 0], [WIDTH, 0], [WIDTH, HEIGHT], [0, HEIGHT]], np.float32)
# The box of a detector: this far off, as a share of the card's height, and how often.
LOOSE, LOOSE_SHARES = (0.008, 0.02, 0.035, 0.06), (0.25, 0.35, 0.3, 0.1)
COVERED = 0.4
GLARING = 0.16


def hard_view(rng: Rng, card: Image, others: Sequence[Image]) -> Image:
    """Return a view as bad as a table gives: often partly covered, at times by another card."""
    if rng.random() < COVERED:
        card = covered(rng, card, others)
    loose = float(rng.choice(LOOSE, p=LOOSE_SHARES))
    card = lit(rng, boxed(rng, card, loose), strength=1.0)
    if rng.random() < GLARING:
        card = _glare(rng, card)
    return spoilt(rng, card, smallest=28)


def plain_view(rng: Rng, card: Image) -> Image:
    """Return a view as a card gives that lies free, in another light and box, a little soft."""
    return spoilt(rng, lit(rng, boxed(rng, card, 0.012), strength=0.6), smallest=64)


def boxed(rng: Rng, card: Image, loose: float) -> Image:
    """Return the card as cut out by another box, either end up."""
    moved = (CORNERS - MIDDLE) * np.exp(rng.normal(0.01, loose)) + MIDDLE
    moved = moved + (rng.normal(0, loose, 2) + 0.5 * rng.normal(0, loose, (4, 2))) * HEIGHT
    if rng.random() < 0.5:
        moved = np.roll(moved, 2, axis=0)
    half = np.float32(0.5)
    matrix = cv2.getPerspectiveTransform(moved.astype(np.float32) - half, CORNERS - half)
    warped = cv2.warpPerspective(card, matrix, CROP_SIZE, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(warped, np.uint8)


def lit(rng: Rng, card: Image, *, strength: float) -> Image:
    """Return the card under another lamp: a slope, a cast, more or less light, a veil."""
    slope = np.clip(rng.normal(1, 0.16 * strength, (3, 3, 1)), 0.3, 2.0)
    cast = np.exp(rng.normal(0, 0.1 * strength, 3))
    gain = np.exp(rng.normal(-0.05, 0.22 * strength))
    field = cv2.resize((slope * cast / cast.mean() * gain).astype(np.float32), CROP_SIZE)
    veil = max(0.0, rng.normal(0, 12 * strength))
    if rng.random() < 0.15 * strength:
        veil = rng.uniform(0, 60)
    return _bytes(card * field + veil)


def spoilt(rng: Rng, card: Image, *, smallest: int) -> Image:
    """Return the card as a camera gives it: fewer pixels (down to a width), blur, noise, JPEG."""
    width = WIDTH
    if rng.random() < 0.5:
        width = round(np.exp(rng.uniform(np.log(smallest), np.log(WIDTH))))
    small = (width, round(HEIGHT * width / WIDTH))
    card = _sized(card, small)
    soft = (0.35 + WIDTH / 130) * width / WIDTH
    chance = rng.random()
    if chance < 0.6:
        blur = cv2.GaussianBlur(card, (0, 0), 0.2 + rng.exponential(0.4) * soft)
        card = _sized(np.asarray(blur, np.uint8), small)
    elif chance < 0.75:
        card = _smeared(rng, card, 1 + rng.exponential(2.0) * soft)
    if rng.random() < 0.75:
        card = _bytes(card + rng.normal(0, min(rng.exponential(5.0), 20.0), card.shape))
    if rng.random() < 0.6:
        quality = [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(30, 97))]
        packed = cv2.imencode(".jpg", card, quality)[1]
        card = np.asarray(cv2.imdecode(packed, cv2.IMREAD_COLOR), np.uint8)
    return _sized(card, CROP_SIZE)


def covered(rng: Rng, card: Image, others: Sequence[Image]) -> Image:
    """Return the card partly under a finger, a chip, a sleeve or another card of the deck."""
    chance = rng.random()
    if chance < 0.3:
        return _under_finger(rng, card)
    way = rng.uniform(0, 2 * np.pi)
    normal = np.array([np.cos(way), np.sin(way)])
    reach = float(np.abs(normal) @ MIDDLE)
    if chance < 0.8 and len(others):
        along = np.asarray(MIDDLE + normal * rng.uniform(-0.1, 0.8) * reach, np.float32)
        return _under_card(rng, card, others[int(rng.integers(len(others)))], along, normal)
    across = np.array([-normal[1], normal[0]]) * 300
    edge = MIDDLE + normal * rng.uniform(0.15, 0.8) * reach
    rim = np.array([edge + across, edge - across, edge - across + 300 * normal])
    outline = np.vstack([rim, edge + across + 300 * normal])
    result = card.copy()
    colour = rng.uniform(0, 255, 3).tolist()
    cv2.fillConvexPoly(result, outline.astype(np.int32), colour, cv2.LINE_AA)
    return result


def _under_finger(rng: Rng, card: Image) -> Image:
    way = rng.uniform(0, 2 * np.pi)
    out = np.array([np.cos(way), np.sin(way)]) * MIDDLE
    tip = (MIDDLE + out * rng.uniform(0.35, 1.0)).astype(int).tolist()
    skin = rng.uniform((60, 90, 140), (160, 190, 235))
    colour = skin if rng.random() < 0.6 else rng.uniform(0, 255, 3)
    result = card.copy()
    thick = int(rng.uniform(0.2, 0.48) * WIDTH)
    far = (MIDDLE + 3 * out).astype(int).tolist()
    cv2.line(result, tip, far, colour.tolist(), thick, cv2.LINE_AA)
    return result


def _under_card(rng: Rng, card: Image, other: Image, edge: Points, normal: Points) -> Image:
    """Lay another card so that one of its edges runs through `edge`, across `normal`."""
    upright = rng.random() < 0.5
    along, out = (WIDTH, HEIGHT) if upright else (HEIGHT, WIDTH)
    across = np.array([-normal[1], normal[0]]) * along / 2
    start = edge + across * rng.normal(0, 0.5)
    quad = np.array([start - across, start + across])
    quad = np.vstack([quad, quad[::-1] + normal * out]).astype(np.float32)
    source = CORNERS if upright else np.roll(CORNERS, 1, axis=0)
    matrix = cv2.getPerspectiveTransform(source, quad)
    layer = cv2.warpPerspective(other, matrix, CROP_SIZE)
    mask = np.zeros((HEIGHT, WIDTH), np.uint8)
    cv2.fillConvexPoly(mask, np.round(quad * 16).astype(np.int32), 255, cv2.LINE_AA, 4)
    share = mask[:, :, None] / np.float32(255)
    return _bytes(layer * share + card * (1 - share))


def _glare(rng: Rng, card: Image) -> Image:
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float32)
    cx, cy = rng.uniform(0.2, 0.8, 2) * CROP_SIZE
    rx, ry = np.exp(rng.uniform(np.log(0.06), np.log(0.5), 2)) * WIDTH
    spot = np.exp(-2 * ((x - cx) / rx) ** 2 - 2 * ((y - cy) / ry) ** 2)
    return _bytes(card + 255 * rng.uniform(0.2, 0.9) * spot[:, :, None])


def _smeared(rng: Rng, card: Image, length: float) -> Image:
    reach = int(np.ceil(length))
    kernel = np.zeros((2 * reach + 1, 2 * reach + 1), np.float32)
    angle = rng.uniform(0, np.pi)
    step = np.array([np.cos(angle), np.sin(angle)]) * length / 2
    start, end = (np.round(reach + side * step).astype(int).tolist() for side in (-1, 1))
    cv2.line(kernel, start, end, 1.0)
    return np.asarray(cv2.filter2D(card, -1, kernel / kernel.sum()), np.uint8)


def _sized(card: NDArray[np.uint8], size: tuple[int, int]) -> Image:
    if card.shape[1::-1] == size:
        return np.asarray(card, np.uint8)
    smaller = size[0] < card.shape[1]
    method = cv2.INTER_AREA if smaller else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(card, size, interpolation=method), np.uint8)


def _bytes(values: NDArray[np.floating]) -> Image:
    return np.asarray(np.clip(values, 0, 255), np.uint8)
