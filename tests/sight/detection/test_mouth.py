"""What the networks of the mouth are given: the patches, the mouth at rest, the cards before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from vision.game.events import Slot
from vision.sight.detection.detector import Tensor
from vision.sight.detection.mouth import (
    CARDS_BEFORE,
    CardsBefore,
    MouthSight,
    exit_way,
    slots_beside,
)
from vision.sight.geometry.plane import Homography, TableView


def _meter(given: list[Tensor], reported: Sequence[float] = (0.0,) * 10) -> MouthSight:
    """Return a meter of a mouth with a slot before it; what the networks are given is kept.

    `reported` is what the first always says.
    """
    corners = np.array([[0, 0], [400, 0], [400, 200], [0, 200]], np.float32)
    mouth = np.array([[0, 60], [20, 60], [20, 140], [0, 140]], np.float32)
    slot = np.array([[85, 50], [160, 50], [160, 150], [85, 150]], np.float32)

    def infer(pictures: Tensor) -> Tensor:
        given.append(pictures[0])
        return np.array([reported], np.float32)

    def compare(pairs: Tensor) -> Tensor:
        given.append(pairs[0])
        return np.array([[2.5]], np.float32)

    view = TableView(Homography.fit(corners, corners), {Slot.PUNTO_1: slot}, mouth)
    return MouthSight(view, infer, compare)


CLOTH_PX = np.full((200, 400, 3), 40, np.uint8)


@pytest.mark.parametrize(("x", "shows"), [(90, False), (20, True)], ids=["in a slot", "before it"])
def test_card_in_a_slot_beside_the_shoe_is_not_at_its_mouth(x: int, shows: bool) -> None:
    """What lies in a slot in the patch is as it was at rest; what comes out before it is not."""
    given: list[Tensor] = []
    meter = _meter(given)
    for at in range(0, 600, 100):
        meter.values(CLOTH_PX, at)
    laid = CLOTH_PX.copy()
    laid[60:140, x : x + 55] = 220
    meter.values(laid, 600)
    rest, now = given[-1][:3], given[-1][6:]
    assert bool(np.abs(now - rest).max() > 0.1) is shows


@pytest.mark.parametrize(("x", "found"), [(60, 1), (125, 1), (155, 0)])
def test_slot_that_reaches_into_the_patch_is_beside_the_mouth(x: int, found: int) -> None:
    """A fifth of it is enough; the patch ends 150 mm from the middle of the mouth."""
    corners = np.array([[0, 0], [400, 0], [400, 200], [0, 200]], np.float32)
    mouth = np.array([[0, 60], [20, 60], [20, 140], [0, 140]], np.float32)
    slot = np.array([[x, 50], [x + 75, 50], [x + 75, 150], [x, 150]], np.float32)
    view = TableView(Homography.fit(corners, corners), {Slot.PUNTO_1: slot}, mouth)
    assert slots_beside(view) == [Slot.PUNTO_1] * found


def test_cards_leave_towards_the_exit_or_the_slots() -> None:
    """A shoe may stand so that cards leave across the way to the slots: the table file says so."""
    corners = np.array([[0, 0], [400, 0], [400, 200], [0, 200]], np.float32)
    slot = np.array([[300, 10], [375, 10], [375, 110], [300, 110]], np.float32)
    mouth = np.array([[0, 0], [60, 0], [60, 100], [0, 100]], np.float32)
    view = TableView(Homography.fit(corners, corners), {Slot.PUNTO_1: slot}, mouth)
    assert exit_way(view) == pytest.approx([1, 0])
    across = replace(view, exit=np.array([30, 150], np.float32))
    assert exit_way(across) == pytest.approx([0, 1])


def test_mouth_in_another_light_is_at_rest() -> None:
    """Where the whole picture is half as bright, so is what is known of the mouth."""
    given: list[Tensor] = []
    meter = _meter(given)
    for at in range(0, 600, 100):
        meter.values(CLOTH_PX, at)
    meter.relight(0.5)
    meter.values(CLOTH_PX // 2, 600)
    rest, before, now = np.split(given[-1], 3)
    assert np.abs(now - rest).max() < 0.01
    assert np.abs(now - before).max() < 0.01


@pytest.mark.parametrize(("hand", "is_rest"), [(-3.0, True), (3.0, False)], ids=["alone", "drawn"])
def test_card_that_came_half_out_alone_is_how_the_mouth_rests(
    hand: float, *, is_rest: bool
) -> None:
    """What waits out of the shoe without a hand is learnt at once; what a hand drew is not."""
    given: list[Tensor] = []
    meter = _meter(given, [-3.0, 3.0, -3.0, 0.5, 0.0, 0.0, 0.0, 0.0, hand, 0.0])
    meter.values(CLOTH_PX, 0)
    waits = CLOTH_PX.copy()
    waits[60:140, 20:45] = 220
    for at in range(100, 3000, 100):
        meter.values(waits, at)
    rest, _, now = np.split(given[-1], 3)
    assert bool(np.abs(now - rest).max() < 0.1) is is_rest


def _patches(value: float) -> Tensor:
    return np.full((9, 2, 2), value, np.float32)


def test_cards_before_are_those_that_left_as_far_out_as_they_were_seen() -> None:
    """Nothing is known before three have left; then each of the last three comes in turn."""
    before = CardsBefore()
    for card in range(CARDS_BEFORE + 1):
        for part, wholly in ((0.1, 0.2), (0.2, 0.9), (0.3, 0.4)):
            before.shows(_patches(card + part), wholly)
        assert (before.next() is None) is (card < CARDS_BEFORE)
        before.left()
        before.left()  # it left once
    shown = [found for _ in range(CARDS_BEFORE) if (found := before.next()) is not None]
    assert sorted(float(found.max()) for found in shown) == pytest.approx([1.2, 2.2, 3.2])


def test_what_leaves_is_compared_once_cards_before_are_known() -> None:
    """Only what is out is, with patches of a card before; at rest there is nothing to say."""
    given: list[Tensor] = []
    out = [-3.0, -3.0, 3.0, 1.0, *[0.0] * 6]
    meter = _meter(given, out)
    found = [meter.values(CLOTH_PX, 0)[10]]
    for card in range(CARDS_BEFORE):
        meter._infer = lambda _: np.array([[3.0, -3.0, -3.0, *[0.0] * 7]], np.float32)
        assert np.isnan([meter.values(CLOTH_PX, 1000 * card + at)[10] for at in (200, 400)]).all()
        meter._infer = lambda _: np.array([out], np.float32)
        found.append(meter.values(CLOTH_PX, 1000 * card + 600)[10])
    assert np.isnan(found[:-1]).all()
    assert found[-1] == 2.5
    assert given[-1].shape == (18, 56, 80)
