"""Surfaces a card may lie on: felts, woods, carpets, cloths, stone, tiles, paper; all procedural.

Train and test surfaces come from disjoint seeds, and the families `marble`, `herringbone` and
`speckle` are kept for testing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from .paint import Image

Field = NDArray[Any]
Rng = np.random.Generator
# Side of a stored surface, px.
BANK_PX = 640
# How many are made a split.
_BANK = {"train": 160, "test": 40}
# Seeds begin here, apart for train and test, so that no sprite of one is in the other.
_SEED = {"train": 71_000, "test": 92_000}


def background(rng: Rng, shape: tuple[int, int], *, split: str = "train") -> Image:
    """Return a surface of (height, width) px: a banked texture cropped, turned and recoloured."""
    height, width = shape
    which = int(rng.integers(_BANK[split]))
    texture = _banked(split, which)
    reach = float(np.hypot(height, width))
    zoom = reach / BANK_PX * float(np.exp(rng.uniform(0.0, 0.9)))
    slack = (BANK_PX - reach / zoom) / 2
    at = BANK_PX / 2 + rng.uniform(-slack, slack, 2)
    turn = cv2.getRotationMatrix2D((at[0], at[1]), float(rng.uniform(0, 360)), zoom)
    turn[:, 2] = turn[:, 2] + np.array([width / 2, height / 2]) - at
    image = cv2.warpAffine(texture, turn, (width, height), flags=cv2.INTER_LINEAR)
    return cv2.transform(image, recolour(rng, 0.25))


def recolour(rng: Rng, strength: float) -> Field:
    """Return a (3, 4) BGR matrix: a little hue turn, saturation, contrast and brightness."""
    angle = rng.normal(0, strength * 0.8)
    grey = np.full((3, 3), 1 / 3)
    axis = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]]) / np.sqrt(3)
    turn = np.cos(angle) * np.eye(3) + (1 - np.cos(angle)) * grey + np.sin(angle) * axis
    saturation = np.exp(rng.normal(0, strength))
    gain = np.exp(rng.normal(0, strength))
    matrix = gain * (grey + saturation * (turn - grey))
    return np.hstack([matrix, np.full((3, 1), rng.normal(0, 30 * strength))]).astype(np.float32)


def fractal(rng: Rng, size: tuple[int, int], *, coarse: float, fine: float = 1.0) -> Field:
    """Return (h, w) noise of zero mean and unit spread, from `coarse` to `fine` px features."""
    height, width = size
    total: Field = np.zeros(size, np.float32)
    cell, weight = coarse, 1.0
    while cell >= fine:
        shape = (max(2, round(height / cell) + 1), max(2, round(width / cell) + 1))
        grid = rng.standard_normal(shape, np.float32)
        layer: Field = cv2.resize(grid, (width, height), interpolation=cv2.INTER_CUBIC)
        total = total + weight * layer
        cell, weight = cell / 2, weight * 0.62
    total -= total.mean()
    unit: Field = total / (total.std() + 1e-6)
    return unit


def felt(rng: Rng, shape: tuple[int, int], colour: tuple[float, float, float]) -> Image:
    """Return felt of a BGR colour: short nap, faint wear in clouds."""
    fibres = rng.standard_normal(shape, np.float32)
    nap = cv2.GaussianBlur(fibres, (0, 0), float(rng.uniform(0.5, 1.2)))
    nap = nap / nap.std() * rng.uniform(0.01, 0.07)
    wear = fractal(rng, shape, coarse=shape[0] / 3, fine=30) * rng.uniform(0.0, 0.05)
    return _coloured(1 + nap + wear, colour)


def felt_colour(rng: Rng) -> tuple[float, float, float]:
    """Return the BGR of a casino felt: often green, blue or red, any hue at times."""
    hue = rng.choice(
        [rng.normal(65, 12), rng.normal(108, 8), rng.normal(0, 6), rng.uniform(0, 180)]
    )
    saturation = rng.uniform(70, 235)
    value = rng.uniform(45, 190)
    pixel = np.array([[[hue % 180, saturation, value]]], np.uint8)
    blue, green, red = (float(c) for c in cv2.cvtColor(pixel, cv2.COLOR_HSV2BGR)[0, 0])
    return blue, green, red


def _felt(rng: Rng) -> Image:
    return felt(rng, (BANK_PX, BANK_PX), felt_colour(rng))


def _wood(rng: Rng) -> Image:
    """Planks: stretched noise for the grain, rings, dark joints."""
    size = BANK_PX
    grain = cv2.resize(
        fractal(rng, (size, size // 8), coarse=40, fine=1.5), (size, size), interpolation=1
    )
    rows = np.arange(size, dtype=np.float32)[:, None] / rng.uniform(8, 60)
    bend = cv2.resize(fractal(rng, (size // 4, size // 16), coarse=30, fine=8), (size, size))
    rings = np.sin(rows + bend * rng.uniform(0.5, 4.0))
    value = 1 + grain * rng.uniform(0.04, 0.25) + rings * rng.uniform(0.0, 0.18)
    if rng.random() < 0.6:
        plank = int(rng.integers(60, 260))
        for top in range(int(rng.integers(plank)), size, plank):
            value[top:] *= rng.uniform(0.85, 1.15)
            value[top : top + 3] *= rng.uniform(0.3, 0.8)
    base = np.array([rng.uniform(20, 90), rng.uniform(45, 130), rng.uniform(75, 190)])
    return _coloured(value, tuple(np.sort(base)))


def _carpet(rng: Rng) -> Image:
    """Pile: strong noise of a few px, two tones."""
    size = (BANK_PX, BANK_PX)
    tufts = fractal(rng, size, coarse=rng.uniform(4, 16), fine=1.2)
    clouds = fractal(rng, size, coarse=160, fine=40)
    mix = 1 / (1 + np.exp(-(tufts * rng.uniform(0.6, 2.5) + 0.3 * clouds)))
    return _mixed(mix, _any_colour(rng), _any_colour(rng), rng.uniform(0.2, 0.9))


def _stripes(rng: Rng) -> Image:
    """Striped or checked cloth with a weave."""
    size = BANK_PX
    at = np.arange(size, dtype=np.float32)
    edges = np.sort(rng.uniform(0, size, int(rng.integers(6, 60))))
    tone = rng.uniform(0, 1, len(edges) + 1)[np.searchsorted(edges, at)].astype(np.float32)
    mix: Field = np.repeat(tone[None, :], size, axis=0)
    if rng.random() < 0.4:
        mix = (mix + mix.T) / 2
    mix = mix + fractal(rng, (size, size), coarse=6, fine=1.5) * rng.uniform(0.02, 0.2)
    return _mixed(np.clip(mix, 0, 1), _any_colour(rng), _any_colour(rng), 1.0)


def _tiles(rng: Rng) -> Image:
    """Tiles or paving with joints, each of its own tone."""
    size = BANK_PX
    wide, tall = (int(v) for v in rng.integers(30, 240, 2))
    y, x = _grid()
    warp = fractal(rng, (size, size), coarse=200, fine=20) * rng.uniform(0, 12)
    row: Field = np.floor((y + warp) / tall)
    x = x + (row % 2) * wide * rng.choice([0.0, 0.5])
    column = np.floor((x + warp) / wide)
    tone: Field = np.sin(row * 12.99 + column * 78.23) * 43758.5
    value = 1 + (tone - np.floor(tone) - 0.5) * rng.uniform(0.05, 0.5)
    value += fractal(rng, (size, size), coarse=30, fine=2) * rng.uniform(0.02, 0.15)
    joint = ((y + warp) % tall < 4) | ((x + warp) % wide < 4)
    value[joint] *= rng.uniform(0.3, 1.3)
    return _coloured(value.astype(np.float32), _any_colour(rng))


def _stone(rng: Rng) -> Image:
    """Concrete, granite, leather: fractal noise at all scales."""
    size = (BANK_PX, BANK_PX)
    value = fractal(rng, size, coarse=rng.uniform(40, 300), fine=1.5)
    return _mixed(1 / (1 + np.exp(-value)), _any_colour(rng), _any_colour(rng), rng.uniform(0.2, 1))


def _plain(rng: Rng) -> Image:
    """Desk, sheet or screen: one colour, hardly any texture, at times near white or black."""
    size = (BANK_PX, BANK_PX)
    value = 1 + fractal(rng, size, coarse=200, fine=2) * rng.uniform(0.0, 0.04)
    level = rng.choice([rng.uniform(8, 40), rng.uniform(150, 235), rng.uniform(40, 200)])
    tint = np.clip(level + rng.normal(0, 10, 3), 2, 250)
    return _coloured(value, tuple(tint))


def _cloth(rng: Rng) -> Image:
    """Woven cloth with folds and, at times, a printed pattern of blobs."""
    size = (BANK_PX, BANK_PX)
    folds = fractal(rng, size, coarse=rng.uniform(120, 320), fine=60)
    y, x = _grid()
    weave = np.sin(x * rng.uniform(0.6, 2.2)) * np.sin(y * rng.uniform(0.6, 2.2))
    value = 1 + folds * rng.uniform(0.02, 0.16) + weave * rng.uniform(0.02, 0.2)
    cloth = _coloured(value.astype(np.float32), _any_colour(rng))
    if rng.random() < 0.5:
        blobs = fractal(rng, size, coarse=rng.uniform(20, 90), fine=10) > rng.uniform(0.3, 1.5)
        cloth[blobs] = cv2.transform(cloth, recolour(rng, 0.8))[blobs]
    return cloth


def _marble(rng: Rng) -> Image:
    size = (BANK_PX, BANK_PX)
    veins = np.abs(fractal(rng, size, coarse=240, fine=3))
    return _mixed(np.exp(-veins * rng.uniform(3, 12)), _any_colour(rng), _any_colour(rng), 0.8)


def _herringbone(rng: Rng) -> Image:
    y, x = _grid()
    band = rng.uniform(20, 90)
    lean = np.where((x // band) % 2 == 0, x, -x)
    mix = 0.5 + 0.5 * np.sin((y + lean) * rng.uniform(0.15, 0.8))
    mix += fractal(rng, (BANK_PX, BANK_PX), coarse=8, fine=2) * 0.1
    return _mixed(np.clip(mix, 0, 1), _any_colour(rng), _any_colour(rng), rng.uniform(0.3, 1))


def _speckle(rng: Rng) -> Image:
    grains = fractal(rng, (BANK_PX, BANK_PX), coarse=rng.uniform(3, 9), fine=2)
    mix = (grains > rng.uniform(0.4, 1.4)).astype(np.float32)
    return _mixed(cv2.GaussianBlur(mix, (0, 0), 0.7), _any_colour(rng), _any_colour(rng), 0.8)


_TRAIN: tuple[Callable[[Rng], Image], ...] = (
    _felt, _felt, _felt, _wood, _wood, _carpet, _carpet, _stripes, _tiles, _stone, _plain, _cloth,
)  # fmt: skip
_TEST: tuple[Callable[[Rng], Image], ...] = (_felt, _wood, _marble, _herringbone, _speckle)


@lru_cache(maxsize=256)
def _banked(split: str, which: int) -> Image:
    rng = np.random.default_rng(_SEED[split] + which)
    families = _TRAIN if split == "train" else _TEST
    return families[which % len(families)](rng)


def _grid() -> tuple[Field, Field]:
    y, x = np.mgrid[0:BANK_PX, 0:BANK_PX].astype(np.float32)
    return y, x


def _any_colour(rng: Rng) -> tuple[float, float, float]:
    pixel = np.array([[[rng.uniform(0, 180), 200 * rng.random() ** 2, rng.uniform(15, 240)]]])
    blue, green, red = (
        float(c) for c in cv2.cvtColor(pixel.astype(np.uint8), cv2.COLOR_HSV2BGR)[0, 0]
    )
    return blue, green, red


def _coloured(value: Field, colour: tuple[float, ...]) -> Image:
    flat = np.clip(value, 0, 4).astype(np.float32)
    return cv2.merge([cv2.convertScaleAbs(flat, alpha=c) for c in colour])


def _mixed(mix: Field, first: tuple[float, ...], second: tuple[float, ...], spread: float) -> Image:
    """Blend two colours by a (h, w) mix 0 to 1; `spread` is how far the second differs."""
    low = np.asarray(first, np.float32)
    step = (np.asarray(second, np.float32) - low) * np.float32(spread)
    blend: Image = np.clip(low + mix[:, :, None].astype(np.float32) * step, 0, 255).astype(np.uint8)
    return blend
