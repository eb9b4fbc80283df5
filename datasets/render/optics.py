"""Blur as lens, hand and shutter make it, in linear light; and what a camera then does against it.

A lens out of focus draws every point as a disc, the picture of its aperture: signs split and merge
before they vanish, which no bell curve shows. Lengths are px.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from .exposure import Image

Rng = np.random.Generator
Kernel = NDArray[np.float32]
# Steps a px in which the path of a shaken camera is laid.
_STEPS = 4


def spread(image: Image, kernel: Kernel) -> Image:
    """Return the picture with the light of every point spread as `kernel` (odd sides) says.

    A camera's levels go about with the square root of the light.
    """
    light = cv2.multiply(image, image, dtype=cv2.CV_32F)
    mixed = cv2.filter2D(light, -1, kernel, borderType=cv2.BORDER_REPLICATE)
    return cv2.convertScaleAbs(cv2.sqrt(np.maximum(mixed, 0.0)))


def disc(rng: Rng, radius: float) -> Kernel:
    """Return what a lens makes of a point out of focus, of the light and size of a disc.

    Its aperture is round or has five to nine blades; its rim may be brighter or darker than its
    middle. The standard deviation along any line is about half the radius.
    """
    reach = int(np.ceil(radius + 1))
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1].astype(np.float32)
    away, rim = np.hypot(x, y), np.float32(radius)
    if rng.random() < 0.5:
        blade = 2 * np.pi / int(rng.integers(5, 10))
        angle = (np.arctan2(y, x) + rng.uniform(0, blade)) % blade - blade / 2
        # Of the disc's own area, whatever the number of blades.
        rim = radius * np.sqrt(blade / np.sin(blade)) * np.cos(blade / 2) / np.cos(angle)
    weight = np.clip(rim + 0.5 - away, 0, 1) * (1 + rng.uniform(-0.5, 1.0) * (away / radius) ** 2)
    return np.asarray(weight / weight.sum(), np.float32)


def shake(rng: Rng, length: float) -> Kernel:
    """Return the path of a point while the shutter is open: any way, ever faster or slower, bent.

    `length` is about the distance of its ends.
    """
    time = np.linspace(-0.5, 0.5, max(int(_STEPS * length), 2))
    along = time + rng.normal(0, 0.5) * (time**2 - 1 / 12)
    bend = rng.normal(0, 0.3) * (time**2 - 1 / 12)
    way = np.exp(1j * rng.uniform(0, 2 * np.pi))
    path = length * way * (along + 1j * bend)
    reach = int(np.ceil(np.abs(path).max())) + 1
    kernel = np.zeros((2 * reach + 1, 2 * reach + 1), np.float32)
    for down in (0, 1):
        for across in (0, 1):
            x, y = np.floor(path.real) + across, np.floor(path.imag) + down
            share = (1 - np.abs(path.real - x)) * (1 - np.abs(path.imag - y))
            np.add.at(kernel, ((y + reach).astype(int), (x + reach).astype(int)), share)
    return np.asarray(kernel / kernel.sum(), np.float32)


def rolled(rng: Rng, image: Image, sway: float) -> Image:
    """Return the picture of a shutter that reads row after row while the camera sways.

    `sway` is the most that a row is off to one side. What is even of the motion only slants the
    picture: see `camera`.
    """
    height, width = image.shape[:2]
    turns = rng.uniform(0.5, 2.0) * 2 * np.pi * np.arange(height) / height
    off = sway * np.sin(turns + rng.uniform(0, 2 * np.pi))
    x = (np.arange(width)[None, :] + off[:, None]).astype(np.float32)
    y = np.repeat(np.arange(height, dtype=np.float32)[:, None], width, axis=1)
    return np.asarray(cv2.remap(image, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE))


def sharpened(image: Image, *, radius: float, amount: float) -> Image:
    """Return the picture sharpened as cameras do it: edges get halos of `radius`."""
    soft = cv2.GaussianBlur(image, (0, 0), radius)
    return cv2.addWeighted(image, 1 + amount, soft, -amount, 0)


def sheen(rng: Rng, shape: tuple[int, int], wide: float) -> Kernel:
    """Return the light that plastic or foil throws back: one to three bands, 0 to 1, of (h, w).

    They are a sixteenth to a half of `wide` to either side, flat in the middle, side by side.
    """
    angle, broad = rng.uniform(0, np.pi), wide * np.exp(rng.uniform(np.log(0.06), np.log(0.5)))
    x0, y0 = rng.uniform(0.2, 0.8, 2) * shape[0]
    y, x = np.mgrid[: shape[0], : shape[1]].astype(np.float32)
    off = ((x - x0) * np.sin(angle) - (y - y0) * np.cos(angle)) / broad
    # Bands that lie 2.6 of their halves apart hardly touch.
    bands = [np.exp(-((off - 2.6 * number) ** 4)) for number in range(rng.choice([1, 1, 2, 3]))]
    light = rng.uniform(0.15, 1.0) * np.sum(bands, axis=0)
    return np.asarray(light, np.float32)
