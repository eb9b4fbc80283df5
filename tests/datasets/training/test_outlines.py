"""Cards cut out for the corner finder: the corners in the picture are the card's own."""

from collections.abc import Iterator

import cv2
import numpy as np
import pytest

from datasets.training import outlines
from datasets.training.scene import Label

QUAD = np.array([[60, 50], [123, 55], [118, 143], [55, 138]], np.float32)


def cut(visible: float) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield a white card on black, cut out eighty times."""
    image = np.zeros((200, 180, 3), np.uint8)
    cv2.fillConvexPoly(image, np.round(QUAD).astype(np.int32), (255, 255, 255))
    label = Label("face", QUAD, visible, "As")
    for seed in range(80):
        yield outlines.outline(np.random.default_rng(seed), image, label)


@pytest.mark.parametrize("visible", [0.2, 1.0])
def test_corners_are_those_of_the_card_in_the_picture(visible: float) -> None:
    """What is white in the picture is what the four corners go round."""
    for picture, corners in cut(visible):
        expected = np.zeros(picture.shape[:2], np.uint8)
        placed = corners * outlines.SIZE - 0.5
        cv2.fillConvexPoly(expected, np.round(placed).astype(np.int32), 255)
        assert (np.abs(picture[..., 0].astype(int) - expected) > 127).mean() < 0.03


def test_boxes_are_further_off_the_less_of_a_card_is_in_sight() -> None:
    """A card quite in sight is where its frame says; one nearly covered is a fifth off."""
    offs = [
        np.std([corners.mean(axis=0) for _, corners in cut(visible)], axis=0) * outlines.GROWTH
        for visible in (1.0, 0.5, 0.0)
    ]
    assert (offs[0] < 0.02).all()
    assert (offs[1] > 0.07).all()
    assert (offs[2] > 1.5 * offs[1]).all()
