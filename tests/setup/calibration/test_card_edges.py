"""A card's true edges are found to a fraction of a pixel from a poor box, or not claimed at all."""

from __future__ import annotations

from functools import cache

import cv2
import numpy as np
import pytest

from vision.setup.calibration.card_edges import true_corners
from vision.sight.geometry.plane import Image

TRUE = np.array([[300.3, 200.7], [402.8, 212.4], [386.1, 356.9], [282.2, 343.2]])


@cache
def card_on_felt() -> Image:
    """Return a card with an inner frame and pips, drawn four times too large and shrunk."""
    big = np.full((600 * 4, 700 * 4, 3), (60, 90, 30), np.uint8)
    cv2.fillConvexPoly(big, np.int32(np.round(TRUE * 4)), (235, 240, 240))
    middle = TRUE.mean(axis=0)
    inner = middle + (TRUE - middle) * 0.8
    cv2.polylines(big, [np.int32(inner * 4)], True, (40, 40, 40), 4)
    for way in (-0.4, 0.0, 0.4):
        spot = middle + way * (TRUE[3] - TRUE[0])
        cv2.circle(big, (int(spot[0] * 4), int(spot[1] * 4)), 35, (30, 30, 190), -1)
    small = cv2.resize(big, (700, 600), interpolation=cv2.INTER_AREA)
    noise = np.random.default_rng(1).normal(0, 2.5, small.shape)
    return np.clip(small + noise, 0, 255).astype(np.uint8)


@pytest.mark.parametrize("seed", range(4))
def test_corners_are_found_from_a_poor_box(seed: int) -> None:
    """A box several pixels off leads to corners within half a pixel."""
    box = TRUE + np.random.default_rng(seed).uniform(-5, 5, (4, 2))
    found = true_corners(card_on_felt(), box)
    assert found is not None
    assert np.linalg.norm(found - TRUE, axis=1).max() < 0.5


def test_hidden_edge_is_not_guessed() -> None:
    """A card whose side lies under a hand gives nothing."""
    image = card_on_felt().copy()
    image[180:400, 330:460] = (90, 120, 170)
    assert true_corners(image, TRUE) is None


def test_bare_felt_has_no_corners() -> None:
    """Where the detector dreamt there is no edge to be found."""
    noise = np.random.default_rng(2).normal(90, 3, (600, 700, 3))
    assert true_corners(np.clip(noise, 0, 255).astype(np.uint8), TRUE) is None
