"""The simulated table without cards: its picture, its light, its covers, and the bets on it.

Picture, light and covers (what cards slide under) are made once a film; guests change the bets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray

from ..render import clutter
from ..render.exposure import glare, lit
from ..render.paint import Image, Points, inks, lay, pyramid, shadow
from . import furniture
from .cloth import TABLES, printed
from .table_places import SPOTS, Camera, Layout

Rng = np.random.Generator
_USUAL = Layout()
# A chip is drawn with this many corners.
_AROUND = np.linspace(0, 2 * np.pi, 24, endpoint=False)
_RIM = np.column_stack([np.cos(_AROUND), np.sin(_AROUND)])


@dataclass(frozen=True, slots=True)
class Cover:
    """A part of the table that cards slide under: a premultiplied BGRA patch at x, y px."""

    patch: Image
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Stage:
    """A table ready for cards: the bare picture, the covers, and the light that falls on cards.

    `light` is a coarse (h, w) field over the picture, 1 = full; `shine` (h, w) uint8 what a glossy
    card reflects of the lamp; `sun` the shadow's offset in px a mm of height.
    """

    camera: Camera
    bare: Image
    covers: tuple[Cover, ...]
    light: NDArray[np.float32]
    shine: Image
    sun: Points

    def light_at(self, pixel: Points) -> float:
        """Return the light at a point (2,) px of the picture or beside it."""
        height, width = self.light.shape
        across, down = np.asarray(pixel) / self.camera.size * (width, height)
        return float(
            self.light[int(np.clip(down, 0, height - 1)), int(np.clip(across, 0, width - 1))]
        )


def set_stage(
    rng: Rng, camera: Camera, table: str, back: Sequence[Image], layout: Layout = _USUAL
) -> Stage:
    """Draw a table of `TABLES`; `back` is the pyramid of the card back seen in the shoe."""
    image = printed(rng, camera, TABLES[table], layout)
    furniture.rack(rng, image, camera)
    tray = furniture.tray(image, camera, layout)
    shoe = furniture.shoe(image, camera, back, layout)
    light = _light(rng, camera.size)
    tint = np.array([rng.uniform(0.93, 1.0), 0.99, rng.uniform(0.96, 1.03)], np.float32)
    image = lit(image, (light[:, :, None] * tint).astype(np.float32))
    shine = _shine(rng, camera)
    cv2.add(image, cv2.merge([cv2.convertScaleAbs(shine, alpha=0.12)] * 3), dst=image)
    angle = rng.uniform(0, 2 * np.pi)
    sun = np.array([np.cos(angle), np.sin(angle)]) * rng.uniform(0.35, 0.8) * camera.scale
    covers = (_cover(image, tray), _cover(image, shoe, furniture.CLEAR if layout.clear else 1.0))
    return Stage(camera, image, covers, light, shine, sun)


def _cover(image: Image, outline: Points, opacity: float = 1.0) -> Cover:
    """Cut what lies inside an outline (n, 2) px out of the finished picture."""
    height, width = image.shape[:2]
    low = np.clip(np.floor(outline.min(axis=0)).astype(int) - 1, 0, (width, height))
    high = np.clip(np.ceil(outline.max(axis=0)).astype(int) + 1, 0, (width, height))
    mask = np.zeros((high[1] - low[1], high[0] - low[0]), np.uint8)
    local = np.round((outline - low - 0.5) * 16).astype(np.int32)
    cv2.fillPoly(mask, [local], round(255 * opacity), cv2.LINE_AA, 4)
    part = image[low[1] : high[1], low[0] : high[0]]
    ink = cv2.multiply(part, cv2.merge([mask] * 3), scale=1 / 255)
    return Cover(np.dstack([ink, mask]), int(low[0]), int(low[1]))


def _light(rng: Rng, size: tuple[int, int]) -> NDArray[np.float32]:
    """Return the fall of light over the picture: brightest near the lamp, coarse."""
    width, height = 64, max(2, round(64 * size[1] / size[0]))
    y, x = np.mgrid[0:height, 0:width] / width
    cx, cy = rng.uniform(0.3, 0.7), rng.uniform(0.1, 0.4)
    far = (x - cx) ** 2 + (y - cy) ** 2
    peak = rng.uniform(0.94, 1.04)
    return np.asarray(peak - rng.uniform(0.25, 0.7) * far, np.float32)


def _shine(rng: Rng, camera: Camera) -> Image:
    """Return what a glossy card shows of the lamp at each place of the picture, uint8."""
    width, height = camera.size
    image = np.zeros((height, width, 3), np.uint8)
    for _ in range(int(rng.integers(1, 3))):
        place = camera.project(np.array([[rng.uniform(150, 950), rng.uniform(120, 400)]]))[0]
        radii = rng.uniform(45, 150, 2) * camera.scale
        glare(image, place.tolist(), radii.tolist(), float(rng.uniform(0.05, 0.32)))
    return np.ascontiguousarray(image[:, :, 0])


class Chips:
    """Which chip lies on which spot; spots are numbered as in `SPOTS`."""

    def __init__(self, rng: Rng, split: str) -> None:
        self._split = split
        self._lying: dict[int, tuple[clutter.Sprite, Points]] = {}
        for spot in range(len(SPOTS)):
            if rng.random() < 0.3:
                self.change(rng, spot)

    def change(self, rng: Rng, spot: int) -> None:
        """Take the chip away, or lay one where there is none."""
        if self._lying.pop(spot, None) is None:
            chip = clutter.sprite(rng, split=self._split, chips=True)
            self._lying[spot] = (chip, SPOTS[spot] + rng.normal(0, 5, 2))

    def paint(self, image: Image, stage: Stage) -> None:
        """Paint all chips with their shadows on the whole picture."""
        for chip, middle in self._lying.values():
            paint_thing(image, stage, chip, middle)


def paint_thing(image: Image, stage: Stage, thing: clutter.Sprite, middle: Points) -> None:
    """Paint a chip or a marker lying at (2,) mm with its shadow on the whole picture."""
    half = np.array(thing.size_mm) / 2
    square = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * half + middle
    base, top = stage.camera.project(square), stage.camera.project(square, thing.height_mm)
    offset = stage.sun * (1 + 0.4 * thing.height_mm)
    disc = stage.camera.project(_RIM * half + middle)
    shadow(image, disc, soft=4 * stage.camera.scale, strength=0.4, offset=offset)
    light = stage.light_at(base.mean(axis=0))
    lay(image, thing.levels, top, tint=inks(np.diag([light, light, light, 0.0])[:3]))


@cache
def marker() -> clutter.Sprite:
    """Return the dealer's plastic marker: a white disc with a dark rim and a word."""
    image = np.zeros((256, 256, 4), np.uint8)
    for radius, colour in ((124, (60, 40, 30)), (112, (236, 240, 242)), (80, (214, 220, 226))):
        cv2.circle(image, (128, 128), radius, (*colour, 255), -1, cv2.LINE_AA)
    font = cv2.FONT_HERSHEY_DUPLEX
    cv2.putText(image, "BANCO", (50, 142), font, 1.4, (30, 30, 150, 255), 3, cv2.LINE_AA)
    return clutter.Sprite(pyramid(image), (58.0, 58.0), 6.0, round_=True)
