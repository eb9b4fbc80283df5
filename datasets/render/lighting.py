"""Light and camera of a whole still: lamps, sun and shade, glare, exposure, blur, noise, JPEG."""

from __future__ import annotations

import cv2
import numpy as np

from .camera import View
from .exposure import blurred, glare, jpeg, lit, motion_blurred, noisy
from .paint import Image, shadow

Rng = np.random.Generator
# A light field is drawn on a grid this fine and enlarged: light changes slowly.
_CELLS = 16


def lighted(rng: Rng, image: Image, view: View, extent_mm: tuple[float, float]) -> Image:
    """Return the picture under lamps: gradients, soft pools, hard shadows, a colour cast, glare."""
    if rng.random() < 0.3:
        _hard_shadows(rng, image, view, extent_mm)
    y, x = np.mgrid[-1 : 1 : _CELLS * 1j, -1 : 1 : _CELLS * 1j].astype(np.float32)
    slope = rng.normal(0, 0.14, 2)
    field = 1 + slope[0] * x + slope[1] * y
    for _ in range(int(rng.choice([0, 1, 2, 3]))):
        cx, cy = rng.uniform(-1.2, 1.2, 2)
        pool = np.exp(-((x - cx) ** 2 + (y - cy) ** 2) / rng.uniform(0.1, 1.2))
        field = field + rng.uniform(-0.35, 0.5) * pool
    cast = np.exp(rng.normal(0, 0.09, 3) * rng.choice([0.3, 0.8, 1.6]))
    gain = np.exp(rng.normal(0.06, 0.22)) if rng.random() < 0.85 else rng.uniform(0.25, 1.9)
    colours = np.clip(field, 0.15, 2.5)[:, :, None] * (cast / cast.mean() * gain)
    lift = max(0.0, rng.normal(2, 8))
    bright = lit(image, colours.astype(np.float32), lift=lift)
    for _ in range(int(rng.choice([0, 1, 2], p=[0.8, 0.15, 0.05]))):
        height, width = image.shape[:2]
        radii = np.exp(rng.uniform(np.log(6), np.log(width * 0.35), 2))
        glare(bright, rng.uniform(0, 1, 2) * (width, height), radii, rng.uniform(0.15, 1.0))
    return bright


def finished(rng: Rng, image: Image) -> Image:
    """Return what a camera makes of the picture: tone, blur, sharpening, noise, compression."""
    if rng.random() < 0.5:
        image = cv2.LUT(image, _tone(rng))
    chance = rng.random()
    if chance < 0.4:
        image = blurred(image, rng.exponential(0.5))
    elif chance < 0.52:
        image = motion_blurred(image, length=1 + rng.exponential(2.5), angle=rng.uniform(0, 3.14))
    elif chance < 0.7:
        amount = rng.uniform(0.2, 1.0)
        image = cv2.addWeighted(image, 1 + amount, cv2.blur(image, (3, 3)), -amount, 0)
    if rng.random() < 0.75:
        grain = int(rng.choice([1, 1, 2, 3]))
        image = noisy(
            image, rng, sigma=min(rng.exponential(4.0), 14.0), chroma=rng.random(), grain=grain
        )
    if rng.random() < 0.7:
        image = jpeg(image, int(rng.integers(35, 97)))
    return image


def _tone(rng: Rng) -> Image:
    """Return the (256,) table of a gamma and a soft S curve."""
    level = np.linspace(0, 1, 256)
    curve = level ** np.exp(rng.normal(0, 0.25))
    steep = rng.uniform(-0.3, 0.8)
    curve = curve + steep * curve * (1 - curve) * (2 * curve - 1)
    table: Image = np.clip(curve * 255, 0, 255).astype(np.uint8)
    return table


def _hard_shadows(rng: Rng, image: Image, view: View, extent_mm: tuple[float, float]) -> None:
    """Throw the shadow of a window frame, a person or an edge over the table."""
    for _ in range(int(rng.integers(1, 4))):
        middle = rng.uniform(-1, 1, 2) * extent_mm
        count = int(rng.choice([4, 4, 7]))
        at = np.sort(rng.uniform(0, 2 * np.pi, count))
        reach = np.exp(rng.uniform(np.log(0.15), np.log(2.5), (count, 1))) * max(extent_mm)
        corners = middle + reach * np.stack([np.cos(at), np.sin(at)], axis=1)
        pixels = np.clip(view.project(corners), -2000, 2500)
        shadow(image, pixels, soft=float(rng.exponential(3.0)), strength=rng.uniform(0.2, 0.75))
