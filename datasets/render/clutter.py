"""Things that lie on tables and are not cards: chips, papers, phones, books, cloths, pens, glasses.

Each is drawn once as a flat BGRA sprite with a size in mm and then laid like a card. Chips bear
suits and numbers, papers print, so that neither alone means a card.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np

from .paint import Image, pyramid

Rng = np.random.Generator
Colour = tuple[float, float, float]
# How many are made a split.
_BANK = {"train": 160, "test": 48}
# Seeds begin here, apart for train and test, so that no sprite of one is in the other.
_SEED = {"train": 11_000, "test": 22_000}
# OpenCV's fonts by number, all but its script without capitals.
FONTS = (0, 1, 2, 3, 4, 6, 7)


@dataclass(frozen=True, slots=True)
class Sprite:
    """A flat thing: pyramid, (width, height) mm, how high it stands in mm, its shape."""

    levels: tuple[Image, ...]
    size_mm: tuple[float, float]
    height_mm: float
    round_: bool = False


def sprite(rng: Rng, *, split: str = "train", chips: bool = False) -> Sprite:
    """Return one of the banked things of a split; only chips where asked."""
    count = _BANK[split]
    return _banked(split, int(rng.integers(count // 4 if chips else count)), count // 4)


@lru_cache(maxsize=256)
def _banked(split: str, which: int, chips: int) -> Sprite:
    rng = np.random.default_rng(_SEED[split] + which)
    if which < chips:
        return _chip(rng)
    return _THINGS[which % len(_THINGS)](rng)


def suit_outline(suit: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Return a plain printed suit (n, 2) in a unit box about 0; suits in the order `cdhs`."""
    turn = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    if suit == 1:
        return np.array([[0, -0.5], [0.38, 0], [0, 0.5], [-0.38, 0]], np.float32)
    heart = np.stack([
        16 * np.sin(turn) ** 3,
        -(13 * np.cos(turn) - 5 * np.cos(2 * turn) - 2 * np.cos(3 * turn) - np.cos(4 * turn)),
    ], axis=1) / 34  # fmt: skip
    if suit == 2:
        return heart.astype(np.float32)
    stem = np.array([[0.03, 0.1], [0.16, 0.5], [-0.16, 0.5], [-0.03, 0.1]])
    if suit == 3:
        leaf = heart * (1, -0.85) - (0, 0.08)
        cut = int(np.argmax(leaf[:, 1] - np.abs(leaf[:, 0])))
        return np.concatenate([leaf[:cut], stem, leaf[cut:]]).astype(np.float32)
    petals = [0.24 * np.stack([np.sin(turn), -np.cos(turn)], axis=1) + c
              for c in ((0.24, 0.1), (0.0, -0.22), (-0.24, 0.1))]  # fmt: skip
    return np.concatenate([*petals, stem]).astype(np.float32)


def print_suit(
    image: Image, suit: int, at: tuple[float, float], size: float, ink: tuple[float, ...]
) -> None:
    """Print a suit of a height in px at a point of a picture, in place."""
    outline = suit_outline(suit) * size + at
    points = np.round(outline * 16).astype(np.int32)
    parts = [points] if suit else [points[:40], points[40:80], points[80:120], points[120:]]
    for part in parts:
        cv2.fillPoly(image, [part], ink, cv2.LINE_AA, 4)


def colour(rng: Rng, *, low: float = 10, high: float = 245) -> Colour:
    """Return a BGR colour, from grey to vivid."""
    level = rng.uniform(low, high)
    tint = np.clip(level + rng.normal(0, 60, 3) * rng.random(), 0, 255)
    return float(tint[0]), float(tint[1]), float(tint[2])


def _chip(rng: Rng) -> Sprite:
    """Draw a chip, a plaque or a small stack seen from above."""
    size, middle = 96, 48
    body, spot = colour(rng), colour(rng, low=150)
    image = np.zeros((size, size, 4), np.uint8)
    cv2.circle(image, (middle, middle), 46, (*body, 255), -1, cv2.LINE_AA)
    spots = int(rng.choice([4, 6, 8, 12]))
    for k in range(spots):
        first = 360 * k / spots + rng.uniform(0, 2)
        cv2.ellipse(image, (middle, middle), (45, 45), 0, first, first + 180 / spots,
                    (*spot, 255), -1, cv2.LINE_AA)  # fmt: skip
    cv2.circle(image, (middle, middle), int(rng.integers(28, 38)), (*body, 255), -1, cv2.LINE_AA)
    cv2.circle(image, (middle, middle), int(rng.integers(20, 28)), (*spot, 255), -1, cv2.LINE_AA)
    ink = (*colour(rng, high=120), 255)
    if rng.random() < 0.5:
        print_suit(image, int(rng.integers(4)), (middle, middle), 30, ink)
    else:
        text = str(rng.choice([1, 5, 10, 25, 50, 100, 500]))
        cv2.putText(image, text, (middle - 7 * len(text), 56), 2, 0.7, ink, 2, cv2.LINE_AA)
    return Sprite(pyramid(image), (39.0, 39.0), float(rng.choice([3, 3, 10, 30])), round_=True)


def _sheet(size_mm: tuple[float, float], paper: Colour) -> Image:
    scale = 260 / max(size_mm)
    shape = (max(8, round(size_mm[1] * scale)), max(8, round(size_mm[0] * scale)), 4)
    image = np.empty(shape, np.uint8)
    image[:] = (*paper, 255)
    return image


def _write(rng: Rng, image: Image, ink: Colour, *, lines: int) -> None:
    """Scribble or print text lines over a sheet."""
    height, width = image.shape[:2]
    alphabet = list("AKQJT98765432 abcdeghiklmnoprstu.:-")
    for line in range(lines):
        y = int((line + 1) * height / (lines + 1))
        text = "".join(rng.choice(alphabet, int(rng.integers(4, 30))))
        scale = height / (lines + 1) / 40 * rng.uniform(0.7, 1.4)
        cv2.putText(image, text, (int(width * 0.06), y), int(rng.choice(FONTS)), scale,
                    (*ink, 255), max(1, round(scale * 1.5)), cv2.LINE_AA)  # fmt: skip


def _paper(rng: Rng) -> Sprite:
    """Draw a receipt, a letter, a score card or a business card."""
    options = ((70, 160), (210, 297), (105, 148), (85, 54), (63, 88), (148, 105), (90, 90))
    size = options[int(rng.integers(len(options)))]
    image = _sheet(size, colour(rng, low=190, high=252))
    if rng.random() < 0.8:
        _write(rng, image, colour(rng, high=110), lines=int(rng.integers(2, 16)))
    if rng.random() < 0.3:
        step = int(rng.integers(10, 40))
        image[::step, :, :3] = colour(rng, high=180)
        image[:, ::step, :3] = colour(rng, high=180)
    return Sprite(pyramid(image), size, 0.5)


def _phone(rng: Rng) -> Sprite:
    """Draw a phone or a tablet with a lit or a dark screen."""
    size = (72.0, 148.0) if rng.random() < 0.8 else (160.0, 230.0)
    image = _sheet(size, colour(rng, high=70))
    height, width = image.shape[:2]
    screen = image[height // 14 : -height // 14, width // 20 : -width // 20]
    screen[:, :, :3] = colour(rng) if rng.random() < 0.5 else (14, 12, 12)
    if rng.random() < 0.4:
        _write(rng, screen, colour(rng), lines=8)
    return Sprite(pyramid(image), size, 8.0)


def _book(rng: Rng) -> Sprite:
    """Draw a book, a box or a packet with a title and a picture."""
    size = (float(rng.uniform(60, 200)), float(rng.uniform(90, 260)))
    image = _sheet(size, colour(rng))
    height, width = image.shape[:2]
    for _ in range(int(rng.integers(0, 5))):
        x, y = rng.integers(0, width), rng.integers(0, height)
        cv2.rectangle(image, (int(x), int(y)), (int(rng.integers(0, width)), int(y + 30)),
                      (*colour(rng), 255), -1)  # fmt: skip
    _write(rng, image, colour(rng), lines=int(rng.integers(1, 5)))
    return Sprite(pyramid(image), size, float(rng.uniform(5, 40)))


def _napkin(rng: Rng) -> Sprite:
    """Draw a napkin, a coaster or a cloth: square or round, often white and blank."""
    side = float(rng.uniform(70, 240))
    image = _sheet((side, side * rng.uniform(0.7, 1)), colour(rng, low=120, high=250))
    height, width = image.shape[:2]
    noise = cv2.resize(rng.normal(0, 6, (height // 6, width // 6)).astype(np.float32),
                       (width, height))[:, :, None]  # fmt: skip
    image[:, :, :3] = np.clip(image[:, :, :3] + noise, 0, 255)
    if rng.random() < 0.4:
        mask = np.zeros((height, width), np.uint8)
        cv2.ellipse(mask, (width // 2, height // 2), (width // 2 - 1, height // 2 - 1), 0, 0, 360,
                    255, -1, cv2.LINE_AA)  # fmt: skip
        image[:, :, 3] = mask
    return Sprite(pyramid(image), (side, side * height / width), 1.0)


def _pen(rng: Rng) -> Sprite:
    """Draw a pen, a stick or a cable end."""
    length = float(rng.uniform(90, 400))
    image = _sheet((length, length / 16), colour(rng))
    shiny = image[: image.shape[0] // 3, :, :3]
    shiny[:] = cv2.convertScaleAbs(shiny, beta=50)
    cut = int(rng.integers(20, image.shape[1] - 20))
    image[:, cut:, :3] = colour(rng)
    return Sprite(pyramid(image, smallest=40), (length, length / 16), 8.0)


def _glass(rng: Rng) -> Sprite:
    """Draw a glass, a cup, a coin or a dish: rings in a disc."""
    image = np.zeros((160, 160, 4), np.uint8)
    radius = 78
    cv2.circle(image, (80, 80), radius, (*colour(rng), int(rng.integers(60, 256))), -1, cv2.LINE_AA)
    for _ in range(int(rng.integers(1, 5))):
        radius = int(radius * rng.uniform(0.6, 0.97))
        shade = (*colour(rng), int(rng.integers(90, 256)))
        cv2.circle(image, (80, 80), radius, shade, int(rng.choice([-1, 2, 4])), cv2.LINE_AA)
    side = float(rng.choice([22, 70, 85, 110, 240]))
    return Sprite(pyramid(image), (side, side), side / 4, round_=True)


_THINGS: tuple[Callable[[Rng], Sprite], ...] = (
    _paper, _paper, _phone, _book, _napkin, _pen, _glass, _paper,
)  # fmt: skip
