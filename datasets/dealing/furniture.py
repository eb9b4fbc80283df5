"""What stands on the simulated table, drawn by the camera: chip rack, discard tray and shoe."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from ..render.paint import Image, Points, fill, lay, shadow
from .table_places import CARD_MM, SHOE_LENGTH_MM, SHOE_WIDTH_MM, Camera, Layout

Rng = np.random.Generator
# How much of what is behind it the wall of a clear shoe hides, 0 to 1, by eye.
CLEAR = 0.3


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


def tray(image: Image, camera: Camera, layout: Layout) -> Points:
    """Draw the discard tray, a box with a lid open to the right; return its outline px."""
    corners = layout.tray_polygon()
    top = camera.project(corners, 46.0)
    base = camera.project(corners)
    outline = np.asarray(cv2.convexHull(np.concatenate([base, top])))[:, 0]
    shadow(image, outline, soft=8 * camera.scale, strength=0.5)
    fill(image, outline, (30, 32, 36))
    fill(image, top, (58, 60, 66))
    middle = np.array(layout.tray)
    inner = camera.project(middle + (corners - middle) * 0.86, 46.0)
    fill(image, inner, (46, 48, 54))
    return outline


def shoe(image: Image, camera: Camera, back: Sequence[Image], layout: Layout) -> Points:
    """Draw the shoe, a card's back in the notch of its sloping front; return its outline px."""
    lip, way = layout.mouth, layout.way
    half = layout.across * SHOE_WIDTH_MM / 2
    rear, ridge = lip - way * SHOE_LENGTH_MM, lip - way * 62
    base = camera.project(np.array([lip + half, lip - half, rear - half, rear + half]))
    top = camera.project(np.array([ridge + half, ridge - half, rear - half, rear + half]), 78.0)
    front = np.array([lip + half, lip - half, ridge - half, ridge + half])
    slope = camera.project(front, np.array([3.0, 3.0, 78.0, 78.0]))
    outline = np.asarray(cv2.convexHull(np.concatenate([base, top, slope])))[:, 0]
    shadow(image, outline, soft=10 * camera.scale, strength=0.25 if layout.clear else 0.55)
    dense = CLEAR if layout.clear else 1.0
    if layout.clear:
        _pack(image, camera, back, layout)
    fill(image, outline, (226, 220, 214) if layout.clear else (26, 26, 28), opacity=dense)
    fill(image, top, (240, 236, 232) if layout.clear else (44, 42, 42), opacity=dense)
    lid = lip - way * np.array([[76], [76], [310], [310]]) + half * [[0.8], [-0.8], [-0.8], [0.8]]
    fill(image, camera.project(lid, 80.0), (60, 57, 55), opacity=dense)
    fill(image, slope, (206, 210, 212), opacity=dense)
    _notch(image, camera, back, layout)
    return outline


def _pack(image: Image, camera: Camera, back: Sequence[Image], layout: Layout) -> None:
    """Draw the cards left in a clear shoe: their edges, and the back of the first."""
    lip, way = layout.mouth, layout.way
    half = layout.across * CARD_MM[1] / 2
    near, far = lip - way * CARD_MM[0], lip - way * 0.7 * SHOE_LENGTH_MM
    edges = np.array([near + half, near - half, far - half, far + half])
    fill(image, camera.project(edges, np.array([60.0, 60.0, 66.0, 66.0])), (205, 212, 214))
    lay(image, back, camera.project(_next_card(layout), np.array([3.0, 60.0, 60.0, 3.0])))


def _next_card(layout: Layout) -> Points:
    """Return the corners (4, 2) mm of the card that comes next, in the mouth."""
    middle = layout.mouth - layout.way * (CARD_MM[0] / 2 + 2)
    long, short = layout.across * CARD_MM[1] / 2, layout.way * CARD_MM[0] / 2
    return np.array(
        [middle + short + long, middle - short + long, middle - short - long, middle + short - long]
    )


def _notch(image: Image, camera: Camera, back: Sequence[Image], layout: Layout) -> None:
    """Cut the finger notch into the shoe's front: a half disc showing the next card's back."""
    at = np.linspace(0, np.pi, 24)
    reach = np.column_stack([np.cos(at), np.sin(at)]) * 17.0
    rim = layout.mouth - layout.way * 3 + reach[:, :1] * layout.across - reach[:, 1:] * layout.way
    heights = 3.0 + reach[:, 1] * 75 / 62
    outline = camera.project(rim, heights)
    under = image.copy()
    lay(under, back, camera.project(_next_card(layout), 3.0))
    mask = np.zeros(image.shape[:2], np.uint8)
    cv2.fillPoly(mask, [np.round(outline * 16).astype(np.int32)], 255, cv2.LINE_AA, 4)
    share = cv2.merge([mask] * 3).astype(np.float32) / 255
    image[:] = (image * (1 - share) + under * 0.72 * share).astype(np.uint8)
