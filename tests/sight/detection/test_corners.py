"""The corner finder: geometry of what it is shown and of what it makes of the answers."""

import numpy as np
import pytest

from vision.sight.detection.detector import GROWTH, CornerFinder, Tensor, grown
from vision.sight.geometry.plane import Points

QUAD = np.array([[100, 50], [163, 50], [163, 138], [100, 138]], np.float32)
LEANING = np.array([[110, 40], [170, 52], [160, 150], [84, 132]], np.float32)
IMAGE = np.full((240, 320, 3), 90, np.uint8)


def answering(shift: Points) -> CornerFinder:
    """Return a finder whose network always gives one answer."""

    def infer(tensor: Tensor) -> Tensor:
        assert tensor.shape[1:] == (3, 96, 72)
        return np.repeat(shift.reshape(1, 8), len(tensor), axis=0).astype(np.float32)

    return CornerFinder(infer)


@pytest.mark.parametrize("quad", [QUAD, LEANING], ids=["upright", "leaning"])
def test_corners_nothing_to_move_stay(quad: Points) -> None:
    """A network that sees nothing wrong leaves a quad as it was."""
    (found,) = answering(np.zeros((4, 2), np.float32))(IMAGE, [quad])
    np.testing.assert_allclose(found, quad, atol=0.05)


def test_corners_shift_is_in_shares_of_what_is_seen() -> None:
    """A tenth of the width seen is 0.14 of the box's width."""
    (found,) = answering(np.array([[0.1, 0.0]] + [[0.0, 0.0]] * 3))(IMAGE, [QUAD])
    np.testing.assert_allclose(found[0], QUAD[0] + [0.1 * GROWTH * 63, 0], atol=0.05)
    np.testing.assert_allclose(found[1:], QUAD[1:], atol=0.05)


def test_corners_answer_out_of_all_reason_is_not_believed() -> None:
    """A corner that would move by a third of what is seen leaves the box as it was."""
    (found,) = answering(np.array([[0.3, 0.0]] + [[0.0, 0.0]] * 3))(IMAGE, [QUAD])
    np.testing.assert_array_equal(found, QUAD)


def test_corners_answer_that_is_no_outline_is_not_believed() -> None:
    """A corner that falls inside the other three is no card's."""
    inwards = np.array([[0.24, 0.24], [-0.24, -0.24], [0.0, 0.0], [-0.24, -0.24]])
    (found,) = answering(inwards)(IMAGE, [QUAD])
    np.testing.assert_array_equal(found, QUAD)


def test_corners_of_a_card_boxed_sideways_begin_at_its_short_side() -> None:
    """A box nearly square may take the long side for the short one: the outline sets it right."""
    sideways = np.roll(QUAD, 1, axis=0)
    (found,) = answering(np.zeros((4, 2), np.float32))(IMAGE, [sideways])
    np.testing.assert_allclose(
        np.linalg.norm(found[1] - found[0]), np.linalg.norm(QUAD[1] - QUAD[0])
    )


def test_corners_of_no_cards_is_nothing() -> None:
    """Without quads the network is not asked."""

    def never(_: Tensor) -> Tensor:
        raise AssertionError

    assert CornerFinder(never)(IMAGE, []) == []


def test_grown_keeps_the_middle_and_the_perspective() -> None:
    """An enlarged quad, made smaller again, is the quad."""
    back = grown(grown(LEANING, 1.4), 1 / 1.4)
    np.testing.assert_allclose(back, LEANING, atol=0.05)


def test_grown_beyond_a_horizon_is_a_plain_enlargement() -> None:
    """A quad so steep that its enlargement would turn over is enlarged about its middle."""
    steep = np.array([[150, 100], [154, 100], [230, 130], [70, 130]], np.float32)
    found = grown(steep, 3.0)
    middle = steep.mean(axis=0)
    np.testing.assert_allclose(found, middle + 3 * (steep - middle), atol=0.01)
