"""A camera that sees nothing says so, and does not cry wolf."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from tests.sight.film import Stage
from vision.sight.blindness import Watch, blind_reason, sharpness
from vision.sight.frame import Image

TABLE = Stage().picture().image


def uniform(level: int) -> Image:
    """Return a picture of one level with a little noise."""
    noise = np.random.default_rng(1).normal(level, 1, TABLE.shape)
    return np.clip(noise, 0, 255).astype(np.uint8)


@pytest.mark.parametrize(
    ("image", "word"),
    [
        (uniform(3), "dark"),
        (uniform(254), "dazzled"),
        (np.full_like(TABLE, 120), "empty"),
        (cv2.GaussianBlur(TABLE, (0, 0), 12), "blurred"),
    ],
    ids=["dark", "dazzled", "empty", "blurred"],
)
def test_blindness_is_named(image: Image, word: str) -> None:
    """Each way of seeing nothing has its word."""
    assert word in (blind_reason(image, sharpness(TABLE)) or "")


def test_table_is_not_blind() -> None:
    """A bare table, and one that is dimmed by half, can be seen."""
    assert blind_reason(TABLE, sharpness(TABLE)) is None
    assert blind_reason((TABLE // 2).astype(np.uint8), sharpness(TABLE)) is None


def test_watch_waits_before_it_tells() -> None:
    """Half a second of darkness is nothing; two seconds are told once, and the return once."""
    watch = Watch()
    dark = uniform(3)
    seen = [TABLE] * 30 + [dark] * 15 + [TABLE] * 30 + [dark] * 60 + [TABLE] * 60
    told = []
    for i, image in enumerate(seen):
        if watch.look(image, i * 33):
            told.append((i, watch.reason))
    assert [reason for _, reason in told] == ["the picture is dark", None]
    assert 75 < told[0][0] < 135 < told[1][0]
