"""Pieces of photographs keep their outlines, whichever way they are turned."""

import cv2
import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the train extra")
pytest.importorskip("ultralytics", reason="needs the train extra")

from datasets.training.scene import Label
from models.evaluate.compare_stages import CLASSES, class_of
from models.train.real_stills import CARD_PX, Overlay, in_sight, views


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


def test_cards_of_one_photograph_are_laid_on_those_of_another_with_their_outlines() -> None:
    """Each lies in the picture, partly in sight, its paper as bright as the others."""
    quad = np.array([[500, 300], [650, 330], [610, 540], [460, 510]], np.float32)
    photographs = []
    for ground, paper in (((0, 0, 0), (240, 240, 240)), ((0, 90, 0), (120, 120, 120))):
        image = np.full((900, 1200, 3), ground, np.uint8)
        cv2.fillConvexPoly(image, quad.astype(np.int32), paper)
        photographs.append(image)
    cards = Overlay(np.random.default_rng(3))
    first, alone = cards.lay(photographs[0], [quad])
    assert (first == photographs[0]).all()
    assert len(alone) == 1
    several = [cards.lay(photographs[1], [quad]) for _ in range(12)]
    assert max(len(outlines) for _, outlines in several) > 1
    for image, outlines in several:
        for outline in outlines:
            assert (outline >= 0).all()
            assert (outline <= (1200, 900)).all()
        mask = np.zeros(image.shape[:2], np.uint8)
        cv2.fillConvexPoly(mask, outlines[-1].astype(np.int32), 255)
        inside = image[cv2.erode(mask, np.ones((25, 25), np.uint8)) > 0]
        assert np.abs(np.median(inside, axis=0) - 120).max() < 15
    assert (photographs[1][0, 0] == (0, 90, 0)).all()


def test_outline_of_a_card_that_others_hide_is_left_out() -> None:
    """A detector would learn to guess what lies under a card."""
    image = np.zeros((400, 400, 3), np.uint8)
    card = np.array([[100, 100], [200, 100], [200, 240], [100, 240]], np.float32)
    half, most = card + np.array((50, 0), np.float32), card + np.array((5, 0), np.float32)
    assert len(in_sight(image, [card, half])) == 2
    assert [outline is most for outline in in_sight(image, [card, most])] == [True]


@pytest.mark.parametrize(
    ("kind", "card", "name"),
    [("face", "Ts", "Ts"), ("face", None, "foreign"), ("back", None, "back"), ("cut", None, "cut")],
)
def test_class_of_names_every_kind_of_card(kind: str, card: str | None, name: str) -> None:
    """One network that names cards has a class for each face, backs, the cut card and strangers."""
    assert CLASSES[class_of(Label(kind, np.zeros((4, 2), np.float32), 1.0, card))] == name
