"""Pieces of photographs keep their outlines, whichever way they are turned."""

import cv2
import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the train extra")
pytest.importorskip("ultralytics", reason="needs the train extra")

from datasets.training.scene import Label
from models.evaluate.compare_stages import CLASSES, class_of
from models.train.real_stills import CARD_PX, views


def test_views_carry_the_outlines_along() -> None:
    """What is white in the photograph is white inside every moved outline, and of the sizes due."""
    image = np.zeros((900, 1200, 3), np.uint8)
    quad = np.array([[500, 300], [650, 330], [610, 540], [460, 510]], np.float32)
    cv2.fillConvexPoly(image, quad.astype(np.int32), (255, 255, 255))
    seen = 0
    for piece, (moved,) in views(np.random.default_rng(2), image, [quad], 256):
        assert piece.shape == (256, 256, 3)
        assert CARD_PX[0] * 0.98 < np.linalg.norm(moved[1] - moved[0]) < CARD_PX[1] * 1.02
        mask = np.zeros((256, 256), np.uint8)
        cv2.fillConvexPoly(mask, moved.astype(np.int32), 255)
        if np.count_nonzero(mask) > 300:
            seen += 1
            assert piece[cv2.erode(mask, np.ones((7, 7), np.uint8)) > 0].mean() > 235
    assert seen > 5


@pytest.mark.parametrize(
    ("kind", "card", "name"),
    [("face", "Ts", "Ts"), ("face", None, "foreign"), ("back", None, "back"), ("cut", None, "cut")],
)
def test_class_of_names_every_kind_of_card(kind: str, card: str | None, name: str) -> None:
    """One network that names cards has a class for each face, backs, the cut card and strangers."""
    assert CLASSES[class_of(Label(kind, np.zeros((4, 2), np.float32), 1.0, card))] == name
