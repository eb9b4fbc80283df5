"""Blur spreads light as lens, hand and shutter do, and keeps its amount and its place."""

from __future__ import annotations

import numpy as np
import pytest

from datasets.render import optics


def moments(kernel: optics.Kernel) -> tuple[float, float]:
    """Return how far the middle of a kernel is from its centre, and its spread along a line."""
    reach = kernel.shape[0] // 2
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    middle = np.array([(kernel * x).sum(), (kernel * y).sum()])
    spread = (kernel * (x**2 + y**2)).sum() - (middle**2).sum()
    return float(np.hypot(*middle)), float(np.sqrt(spread / 2))


@pytest.mark.parametrize("radius", [1.5, 4.0, 9.0])
def test_disc_is_as_wide_as_its_radius_says(radius: float) -> None:
    """Whatever its blades and its rim, a disc lies in its middle and spreads by half a radius."""
    for seed in range(20):
        kernel = optics.disc(np.random.default_rng(seed), radius)
        off, spread = moments(kernel)
        assert kernel.sum() == pytest.approx(1, abs=1e-5)
        assert off < 0.05
        assert spread == pytest.approx(radius / 2, rel=0.12)
        assert kernel[kernel.shape[0] // 2, 0] < 1e-3, "the whole disc is within"


def test_shake_is_as_long_as_asked_and_stays_about_its_middle() -> None:
    """The path of a shaken camera has its length, its light and its place."""
    for seed in range(20):
        off, spread = moments(optics.shake(np.random.default_rng(seed), 12.0))
        assert off < 0.5
        assert 0.15 < spread / 12.0 < 0.32


def test_spread_mixes_light_not_levels() -> None:
    """Half black and half white is brighter than the mean level, and an even picture stays."""
    striped = np.zeros((32, 32, 3), np.uint8)
    striped[:, ::2] = 255
    mixed = optics.spread(striped, np.full((1, 16), 1 / 16, np.float32)[:, :15])
    assert 165 < mixed[16, 16, 0] < 195
    even = np.full((32, 32, 3), 90, np.uint8)
    kernel = optics.disc(np.random.default_rng(1), 3.0)
    assert np.array_equal(optics.spread(even, kernel), even)


def test_disc_splits_what_a_bell_curve_only_softens() -> None:
    """Lines finer than a disc come out with black and white exchanged."""
    x = np.arange(240)
    lines = np.repeat(((x // 4) % 2 * 255).astype(np.uint8)[None], 120, axis=0)
    picture = np.repeat(lines[:, :, None], 3, axis=2)
    inner = optics.spread(picture, _round_disc(6.5))[60, 40:200, 0].astype(float)
    assert np.corrcoef(inner, lines[60, 40:200])[0, 1] < -0.5


def test_sharpened_edges_have_halos() -> None:
    """Beside an edge the dark side gets darker and the bright one brighter; elsewhere nothing."""
    picture = np.full((20, 40, 3), 80, np.uint8)
    picture[:, 20:] = 160
    row = optics.sharpened(picture, radius=1.0, amount=1.0)[10, :, 0]
    assert row[19] < 80
    assert row[20] > 160
    assert (row[[5, 35]] == [80, 160]).all()


def test_rolled_rows_move_by_the_sway_at_most() -> None:
    """An upright line bends, by no more than the sway, and stays a line."""
    picture = np.zeros((80, 60, 3), np.uint8)
    picture[:, 30] = 255
    bent = optics.rolled(np.random.default_rng(2), picture, 3.0)[:, :, 0].astype(float)
    middle = (bent * np.arange(60)).sum(axis=1) / bent.sum(axis=1)
    assert 2.0 < np.abs(middle - 30).max() < 3.1
    assert np.abs(np.diff(middle)).max() < 1


def test_sheen_is_bands_across_the_whole_picture() -> None:
    """Light runs in bands from edge to edge: full in their middle, with dark between them."""
    for seed in range(20):
        light = optics.sheen(np.random.default_rng(seed), (60, 60), 30.0)
        assert light.shape == (60, 60)
        assert 0.1 < light.max() < 1.01
        brightest = light > 0.9 * light.max()
        assert (brightest[0] | brightest[-1]).any() or (brightest[:, [0, -1]]).any()
        assert light.min() < 0.5 * light.max()


def _round_disc(radius: float) -> optics.Kernel:
    """Return an even, round disc."""
    reach = int(radius) + 1
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    inside = (np.hypot(x, y) <= radius).astype(np.float32)
    return np.asarray(inside / inside.sum(), np.float32)
