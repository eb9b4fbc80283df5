"""What stands on the simulated table, drawn by the camera: chip rack, discard tray and shoe."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from ..render.paint import Image, Points, fill, lay, shadow
from .table_places import (
    ACROSS,
    CARD_MM,
    LIP,
    SHOE_LENGTH_MM,
    SHOE_WIDTH_MM,
    TRAY,
    WAY,
    Camera,
)

Rng = np.random.Generator


def rack(rng: Rng, image: Image, camera: Camera) -> None:
    """Draw the dealer's chip rack at the far edge."""
    frame = np.array([[450.0, -60.0], [780.0, -60.0], [780.0, 34.0], [450.0, 34.0]])
    shadow(image, camera.project(frame), soft=9 * camera.scale, strength=0.5)
    fill(image, camera.project(frame), (38, 40, 44))
    for column in range(8):
        left = 460.0 + column * 40
        tint = np.array(rng.uniform(30, 220, 3))
        for row in range(14):
            top = -58.0 + row * 6
            tone = tint * (1.0 if row % 5 else 1.35) * rng.uniform(0.85, 1.0)
            chip = np.array([[0, 0], [32, 0], [32, 5.2], [0, 5.2]]) + np.array([left, top])
            fill(image, camera.project(chip), np.clip(tone, 0, 250).tolist())


def tray(image: Image, camera: Camera) -> Points:
    """Draw the discard tray, a box with a lid open to the right; return its outline px."""
    top = camera.project(TRAY, 46.0)
    base = camera.project(TRAY)
    outline = np.asarray(cv2.convexHull(np.concatenate([base, top])))[:, 0]
    shadow(image, outline, soft=8 * camera.scale, strength=0.5)
    fill(image, outline, (30, 32, 36))
    fill(image, top, (58, 60, 66))
    inner = camera.project(TRAY.mean(axis=0) + (TRAY - TRAY.mean(axis=0)) * 0.86, 46.0)
    fill(image, inner, (46, 48, 54))
    return outline


def shoe(image: Image, camera: Camera, back: Sequence[Image]) -> Points:
    """Draw the shoe, a card's back in the notch of its sloping front; return its outline px."""
    half = ACROSS * SHOE_WIDTH_MM / 2
    rear = LIP - WAY * SHOE_LENGTH_MM
    ridge = LIP - WAY * 62
    base = camera.project(np.array([LIP + half, LIP - half, rear - half, rear + half]))
    top = camera.project(np.array([ridge + half, ridge - half, rear - half, rear + half]), 78.0)
    front = np.array([LIP + half, LIP - half, ridge - half, ridge + half])
    slope = camera.project(front, np.array([3.0, 3.0, 78.0, 78.0]))
    outline = np.asarray(cv2.convexHull(np.concatenate([base, top, slope])))[:, 0]
    shadow(image, outline, soft=10 * camera.scale, strength=0.55)
    fill(image, outline, (26, 26, 28))
    fill(image, top, (44, 42, 42))
    lid = LIP - WAY * np.array([[76], [76], [310], [310]]) + half * [[0.8], [-0.8], [-0.8], [0.8]]
    fill(image, camera.project(lid, 80.0), (60, 57, 55))
    fill(image, slope, (206, 210, 212))
    _notch(image, camera, back)
    return outline


def _notch(image: Image, camera: Camera, back: Sequence[Image]) -> None:
    """Cut the finger notch into the shoe's front: a half disc showing the next card's back."""
    at = np.linspace(0, np.pi, 24)
    reach = np.column_stack([np.cos(at), np.sin(at)]) * 17.0
    rim = LIP - WAY * 3 + reach[:, :1] * ACROSS - reach[:, 1:] * WAY
    heights = 3.0 + reach[:, 1] * 75 / 62
    outline = camera.project(rim, heights)
    under = image.copy()
    middle = LIP - WAY * (CARD_MM[0] / 2 + 2)
    long, short = ACROSS * CARD_MM[1] / 2, WAY * CARD_MM[0] / 2
    card = np.array(
        [middle + short - long, middle + short + long, middle - short + long, middle - short - long]
    )
    lay(under, back, np.roll(camera.project(card, 3.0), 1, axis=0))
    mask = np.zeros(image.shape[:2], np.uint8)
    cv2.fillPoly(mask, [np.round(outline * 16).astype(np.int32)], 255, cv2.LINE_AA, 4)
    share = cv2.merge([mask] * 3).astype(np.float32) / 255
    image[:] = (image * (1 - share) + under * 0.72 * share).astype(np.uint8)
