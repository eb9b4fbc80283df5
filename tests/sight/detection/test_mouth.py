"""Colours that no card had before are told from those of cards, hands and shadows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from vision.game.events import Slot
from vision.sight.detection.detector import Tensor
from vision.sight.detection.mouth import (
    LEAST_CARDS,
    CardColours,
    Cells,
    MouthSight,
    changed_cells,
    slots_beside,
)
from vision.sight.geometry.plane import Homography, TableView

SHAPE = (3, 56, 80)
CLOTH, BACK, YELLOW = (0.1, 0.35, 0.15), (0.6, 0.15, 0.2), (0.9, 0.8, 0.15)
WHITE, SKIN = (0.9, 0.9, 0.9), (0.8, 0.6, 0.5)


def table() -> np.ndarray:
    """Return the patch of a mouth at rest."""
    return np.ones(SHAPE, np.float32) * np.array(CLOTH, np.float32)[:, None, None]


def passage(colour: tuple[float, float, float], seed: int) -> list[Cells]:
    """Return pictures of a card of that colour with a white rim, drawn by a hand, with noise."""
    rng = np.random.default_rng(seed)
    pictures = []
    for end in (30, 40, 50):
        now = table()
        now[:, 10:46, end - 22 : end + 2] = np.array(WHITE)[:, None, None]
        now[:, 12:44, end - 20 : end] = np.array(colour)[:, None, None]
        now[:, 25:50, end - 5 : end + 25] = np.array(SKIN)[:, None, None]
        light = 1 + 0.02 * rng.standard_normal()
        seen = now * light + 0.02 * rng.standard_normal(SHAPE)
        pictures.append(changed_cells(np.clip(seen, 0, 1).astype(np.float32), table()))
    return pictures


def passed(colours: CardColours, colour: tuple[float, float, float], seed: int) -> float:
    """Let a card of that colour leave; return how new a colour of it was at most."""
    found = [colours.look(cells) for cells in passage(colour, seed)]
    colours.left()
    return float(np.max(found))


@pytest.fixture
def known() -> CardColours:
    """Return what is known after a few cards of one back."""
    colours = CardColours()
    for seed in range(6):
        passed(colours, BACK, seed)
    return colours


def test_colours_of_cards_like_those_before_are_known(known: CardColours) -> None:
    """The next card of the same back, drawn by the same hand, shows next to nothing new."""
    assert passed(known, BACK, 99) < 0.05


@pytest.mark.parametrize("colour", [YELLOW, WHITE], ids=["yellow", "white, as the rims are"])
def test_cut_card_shows_more_of_one_colour(
    known: CardColours, colour: tuple[float, float, float]
) -> None:
    """Of a colour that no card had, or of one that all had a little of."""
    assert passed(known, colour, 99) > 0.25


def test_colours_nothing_is_new_before_some_cards_have_left() -> None:
    """Of the first cards nothing is known to compare them with."""
    colours = CardColours()
    for seed in range(LEAST_CARDS):
        assert np.isnan(passed(colours, BACK, seed))
    assert not np.isnan(passed(colours, YELLOW, 9))


def test_changed_cells_of_a_patch_at_rest_are_none() -> None:
    """Noise is no change."""
    noise = 0.02 * np.random.default_rng(1).standard_normal(SHAPE)
    assert len(changed_cells((table() + noise).astype(np.float32), table())) == 0


def _meter(given: list[Tensor], reported: Sequence[float] = (0.0,) * 10) -> MouthSight:
    """Return a meter of a mouth with a slot before it; what the network is given is kept.

    `said` is what it always says.
    """
    corners = np.array([[0, 0], [400, 0], [400, 200], [0, 200]], np.float32)
    mouth = np.array([[0, 60], [20, 60], [20, 140], [0, 140]], np.float32)
    slot = np.array([[85, 50], [160, 50], [160, 150], [85, 150]], np.float32)

    def infer(pictures: Tensor) -> Tensor:
        given.append(pictures[0])
        return np.array([reported], np.float32)

    view = TableView(Homography.fit(corners, corners), {Slot.PUNTO_1: slot}, mouth)
    return MouthSight(view, infer)


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


@pytest.mark.parametrize(("x", "seen"), [(0, False), (30, True)], ids=["in the shoe", "out of it"])
def test_colours_of_what_waits_in_the_shoe_are_not_those_of_what_is_out(
    monkeypatch: pytest.MonkeyPatch, x: int, *, seen: bool
) -> None:
    """A cut card shows in the shoe as the card before it leaves: only before the lip it is out."""
    monkeypatch.setattr("vision.sight.detection.mouth.LEAST_CARDS", 0)
    meter = _meter([])
    for at in range(0, 600, 100):
        meter.values(CLOTH_PX, at)
    shown = CLOTH_PX.copy()
    shown[60:140, x : x + 18] = 220
    assert bool(meter.values(shown, 600)[10] > 0) is seen
