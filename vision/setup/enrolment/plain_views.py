"""Views of a captured card lying free, as another box, lamp, focus and compression would give it.

Every view keeps the card readable to a person and never mirrors it. The strengths below were
chosen by eye on crops of simulated films; stronger ones make own cards look less alike, and then
cards of other decks are noticed less.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.sight.detection.classifier import CROP_SIZE
from vision.sight.geometry.frame import Image

Rng = np.random.Generator
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
