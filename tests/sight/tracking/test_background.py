"""The bare table is known in light and in shadow, and nothing else is taken for it."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from tests.sight.film import PLACES, Stage
from vision.game.events import Slot
from vision.sight.tracking.background import BackgroundModel, Sight


@pytest.mark.parametrize(
    ("colour", "light", "seen"),
    [
        (None, 1.0, Sight.FELT),
        (None, 0.7, Sight.FELT),
        (None, 0.4, Sight.COVERED),
        ((25, 25, 25), 1.0, Sight.COVERED),
        ((120, 150, 205), 1.0, Sight.COVERED),
    ],
    ids=["bare", "in a hand's shadow", "in the dark", "a black sleeve", "a hand"],
)
def test_place_without_a_card_is_bare_in_light_and_in_shadow(
    colour: tuple[int, int, int] | None, light: float, seen: Sight
) -> None:
    """A shadow darkens all channels alike; a sleeve or a hand is another colour."""
    stage = Stage()
    background = BackgroundModel(stage.view)
    for number in range(20):
        if background.observe(stage.felt, 100 * number):
            background.learn(100 * number, [])
    place = stage.view.rectangle(PLACES[Slot.PUNTO_1])
    image = np.clip(stage.felt * light, 0, 255).astype(np.uint8)
    if colour is not None:
        corners = np.round(stage.view.homography.to_px(place)).astype(np.int32)
        cv2.fillConvexPoly(image, corners, colour)
    background.observe(image, 3000)
    assert background.sight(place, None) is seen
