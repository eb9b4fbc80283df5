"""Brush strokes put cards where they were asked to, unmirrored and without aliasing."""

from __future__ import annotations

import numpy as np
import pytest

from datasets.render import paint


def card(width: int = 120, height: int = 168) -> paint.Image:
    """Return a white card with a red top left quarter and a blue bottom right one."""
    image = np.full((height, width, 4), 255, np.uint8)
    image[: height // 2, : width // 2, :3] = (0, 0, 255)
    image[height // 2 :, width // 2 :, :3] = (255, 0, 0)
    return image


def square(size: int = 200) -> paint.Image:
    """Return a black picture."""
    return np.zeros((size, size, 3), np.uint8)


def test_lay_upright_keeps_corners_and_never_mirrors() -> None:
    """Point 0 of the quad is the card's top left corner and the card is seen from its face."""
    image = square()
    paint.lay(image, paint.pyramid(card()), np.array([[40, 30], [100, 30], [100, 114], [40, 114]]))
    assert image[50, 55].tolist() == [0, 0, 255]
    assert image[50, 85].tolist() == [255, 255, 255]
    assert image[100, 85].tolist() == [255, 0, 0]
    assert image[29, 60].max() == 0
    assert image[30, 60].min() == 0
    assert image[30, 60].max() == 255


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_lay_turned_quad_turns_the_card(turns: int) -> None:
    """A quad rolled by k corners shows the card turned, not mirrored."""
    quad = np.array([[40, 40], [120, 40], [120, 120], [40, 120]], np.float32)
    upright, turned = square(160), square(160)
    levels = paint.pyramid(card(120, 120))
    paint.lay(upright, levels, quad)
    paint.lay(turned, levels, np.roll(quad, -turns, axis=0))
    difference = np.abs(np.rot90(upright, -turns).astype(int) - turned)
    assert difference.mean() < 1.0


def test_lay_small_card_averages_a_fine_pattern() -> None:
    """A pattern finer than a pixel becomes its mean, not moire."""
    striped = np.full((380, 270, 4), 255, np.uint8)
    striped[::2, :, :3] = 0
    image = square(80)
    paint.lay(image, paint.pyramid(striped), np.array([[20, 20], [40, 20], [40, 48], [20, 48]]))
    inner = image[24:44, 24:36]
    assert inner.std() < 12
    assert 110 < inner.mean() < 145


def test_lay_outside_the_picture_touches_nothing() -> None:
    """A card wholly outside gives no footprint and leaves the picture as it was."""
    image = square()
    quad = np.array([[300, 300], [340, 300], [340, 360], [300, 360]])
    assert paint.lay(image, paint.pyramid(card()), quad) is None
    assert image.max() == 0


def test_lay_edge_between_pixels_is_blended() -> None:
    """An edge half way through a pixel covers half of it."""
    image = square()
    white = np.full((168, 120, 4), 255, np.uint8)
    quad = np.array([[40.5, 30], [100.5, 30], [100.5, 114], [40.5, 114]])
    paint.lay(image, paint.pyramid(white), quad)
    assert 80 < image[60, 40, 0] < 175


def test_shadow_darkens_only_around_its_polygon() -> None:
    """A shadow takes its strength from the middle and nothing from afar."""
    image = square()
    image[:] = 200
    polygon = np.array([[80, 80], [120, 80], [120, 120], [80, 120]], np.float32)
    paint.shadow(image, polygon, soft=3, strength=0.5)
    assert abs(int(image[100, 100, 0]) - 100) <= 2
    assert image[20, 20, 0] == 200


def test_noisy_adds_the_stated_spread() -> None:
    """Noise of sigma grey levels has that spread at any picture size."""
    rng = np.random.default_rng(3)
    for size in (100, 1000):
        grey = np.full((size, size, 3), 128, np.uint8)
        spread = (paint.noisy(grey, rng, sigma=6, grain=2).astype(float) - 128).std()
        assert 5.0 < spread < 7.0
