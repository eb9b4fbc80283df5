"""Random faces that no reader should name: jokers, trumps, game cards, blanks, advertising.

Stored per split like other sprites, beside those of `drawn_non_cards`. None is one of the 52 faces.
"""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np

from ..render.clutter import FONTS, colour, print_suit
from ..render.paint import Image, pyramid

Rng = np.random.Generator
# How many are made a split. More would show the network more kinds and take longer to load.
_BANK = {"train": 72, "test": 24}
# Seeds begin here, apart for train and test, so that no sprite of one is in the other.
_SEED = {"train": 61_000, "test": 82_000}
# Size of a sprite, px.
_WIDTH, _HEIGHT = 190, 266
_TRUMPS = ("0", "I", "II", "III", "V", "VI", "IX", "XI", "XIV", "XVII", "XX", "XXI")
_JOKERS = ("JOKER", "JOLLY", "BUE", "Joker", "J O K E R", "RULES", "CASINO")


def oddment(rng: Rng, *, split: str = "train") -> tuple[Image, ...]:
    """Return the pyramid of one of the split's random foreign faces."""
    return _banked(split, int(rng.integers(_BANK[split])))


@lru_cache(maxsize=128)
def _banked(split: str, which: int) -> tuple[Image, ...]:
    rng = np.random.default_rng(_SEED[split] + which)
    paper = (250, 252, 252) if rng.random() < 0.7 else colour(rng, low=120)
    image = np.empty((_HEIGHT, _WIDTH, 3), np.uint8)
    image[:] = paper
    (_joker, _trump, _game, _blank, _joker, _advert)[which % 6](rng, image)
    mask = np.zeros((_HEIGHT, _WIDTH), np.uint8)
    radius = int(rng.integers(4, 16))
    inner = (radius, radius), (_WIDTH - 1 - radius, _HEIGHT - 1 - radius)
    cv2.rectangle(mask, *inner, 255, -1)
    cv2.rectangle(mask, *inner, 255, 2 * radius)
    return pyramid(np.dstack([image, mask]))


def _joker(rng: Rng, image: Image) -> None:
    """Draw a figure of coloured shapes and a word down the corners."""
    ink = (20, 20, 20) if rng.random() < 0.5 else (40, 30, 200)
    word = str(rng.choice(_JOKERS))
    _figure(rng, image, (40, 50, 150, 216))
    if rng.random() < 0.6:
        for letter, glyph in enumerate(word.replace(" ", "")[:6]):
            cv2.putText(image, glyph, (8, 26 + letter * 19), 2, 0.55, ink, 1, cv2.LINE_AA)
    else:
        cv2.putText(image, word, (12, 30), int(rng.choice(FONTS)), 0.8, ink, 2, cv2.LINE_AA)
    _twice(image, ink)


def _trump(rng: Rng, image: Image) -> None:
    """Draw a framed scene with a roman number."""
    cv2.rectangle(image, (12, 12), (177, 253), colour(rng, high=120), int(rng.integers(1, 5)))
    _figure(rng, image, (20, 34, 170, 226))
    trump = str(rng.choice(_TRUMPS))
    cv2.putText(image, trump, (95 - 9 * len(trump), 30), 3, 0.8, (20, 20, 20), 1, cv2.LINE_AA)


def _game(rng: Rng, image: Image) -> None:
    """Draw a colour game's card: a vivid ground, an ellipse, a big sign in the middle."""
    ground = colour(rng, low=40, high=220)
    cv2.rectangle(image, (8, 8), (181, 257), ground, -1)
    cv2.ellipse(image, (95, 133), (70, 115), 25, 0, 360, (245, 250, 250), -1, cv2.LINE_AA)
    sign = str(rng.choice(["+2", "+4", "R", "X", "?", "<>", "0", "1", "12", "W"]))
    cv2.putText(image, sign, (95 - 24 * len(sign), 158), 2, 2.4, ground, 6, cv2.LINE_AA)
    cv2.putText(image, sign, (14, 34), 2, 0.8, (250, 250, 250), 2, cv2.LINE_AA)
    _twice(image, None)


def _blank(rng: Rng, image: Image) -> None:
    """Leave the card blank, or with a frame or one ornament in the middle."""
    if rng.random() < 0.5:
        cv2.rectangle(image, (14, 14), (175, 251), colour(rng), int(rng.integers(1, 4)))
    if rng.random() < 0.4:
        cv2.circle(image, (95, 133), int(rng.integers(10, 60)), colour(rng), -1, cv2.LINE_AA)


def _advert(rng: Rng, image: Image) -> None:
    """Print lines of text, a logo and at times a suit in the middle."""
    for line in range(int(rng.integers(2, 12))):
        text = "".join(rng.choice(list("abcdefghilmnoprstuv ."), int(rng.integers(5, 22))))
        scale = rng.uniform(0.3, 0.8)
        cv2.putText(image, text, (14, 34 + line * 20), int(rng.choice(FONTS)), scale,
                    colour(rng, high=120), 1, cv2.LINE_AA)  # fmt: skip
    if rng.random() < 0.4:
        print_suit(image, int(rng.integers(4)), (95, 150), 70, colour(rng, high=160))


def _figure(rng: Rng, image: Image, box: tuple[int, int, int, int]) -> None:
    """Fill a box x0, y0, x1, y1 with the coloured polygons and discs of a picture."""
    x0, y0, x1, y1 = box
    for _ in range(int(rng.integers(6, 26))):
        middle = rng.uniform((x0, y0), (x1, y1))
        tone = colour(rng)
        if rng.random() < 0.4:
            at = (int(middle[0]), int(middle[1]))
            cv2.circle(image, at, int(rng.integers(3, 24)), tone, -1, cv2.LINE_AA)
        else:
            corners = middle + rng.normal(0, 22, (int(rng.integers(3, 6)), 2))
            clipped = np.clip(corners, (x0, y0), (x1, y1)).astype(np.int32)
            cv2.fillPoly(image, [clipped], tone, cv2.LINE_AA)


def _twice(image: Image, ink: tuple[int, int, int] | None) -> None:
    """Make the lower half the upper one turned by 180 degrees, at times with a line between."""
    half = image.shape[0] // 2
    image[half:] = image[:half][::-1, ::-1]
    if ink is not None:
        cv2.line(image, (20, half), (169, half), ink, 1, cv2.LINE_AA)
