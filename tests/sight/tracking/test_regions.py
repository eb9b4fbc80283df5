"""The detector is shown what changed, and nothing is lost by that."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.sight.film import PLACES, Prop, Stage, in_window
from vision.game.events import Slot
from vision.sight.detection.detector import Detection, Kind, Seen
from vision.sight.geometry.frame import Frame, Image
from vision.sight.tracking.motion_gate import MotionGate, PartGate
from vision.sight.tracking.regions import (
    SETTLED_LOOKS,
    WHOLE_EVERY_MS,
    WHOLE_STILL_MS,
    RegionDetector,
    Window,
)

FRAME_MS = 50
CARD_PX = 40.0


class Eye:
    """A detector that finds what lies on a stage, and keeps what it was shown."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.windows: list[Window | None] = []
        self.spurious: tuple[Detection, ...] = ()

    def see(self, _: Image, window: Window | None = None) -> Seen:
        """Return the cards of the stage that lie in the window."""
        self.windows.append(window)
        return Seen(in_window((*self.stage.detections(), *self.spurious), window))

    def scale(self, width: int, height: int) -> float:
        """Return the scale of a detector's pass."""
        return 416 / max(width, height)


class Table:
    """A stage, looked at frame by frame."""

    def __init__(self) -> None:
        self.stage = Stage(props=[Prop(PLACES[Slot.PUNTO_1], Kind.FACE)])
        self.eye = Eye(self.stage)
        self.gate = MotionGate()
        self.regions = RegionDetector(self.eye, margin_px=CARD_PX)  # type: ignore[arg-type]
        self.at = 0

    def look(self, frames: int = 1) -> Seen:
        """Look at the stage so many times; return what was seen last."""
        for _ in range(frames):
            self.at += FRAME_MS
            frame = Frame(self.stage.picture().image, self.at, 0)
            self.gate.moving(frame)
            seen = self.regions.see(frame.image, self.at, self.gate)
        return seen

    def settled(self) -> None:
        """Look until all boxes are believed, and forget what was shown for it."""
        self.look(SETTLED_LOOKS + 1)
        self.eye.windows.clear()


def test_look_at_what_did_not_change_shows_the_detector_nothing() -> None:
    """A lying card costs no further pass, and is seen all the same."""
    table = Table()
    table.settled()
    assert len(table.look(4).cards) == 1
    assert table.eye.windows == []


def test_look_at_a_new_card_shows_its_part_only_and_keeps_the_others() -> None:
    """A card laid far from another is looked at alone; both are seen."""
    table = Table()
    table.settled()
    table.stage.props.append(Prop(PLACES[Slot.BANCO_2], Kind.BACK))
    assert {card.kind for card in table.look().cards} == {Kind.FACE, Kind.BACK}
    (window,) = table.eye.windows
    quad = table.stage.view.quad_px(PLACES[Slot.BANCO_2])
    assert window is not None
    assert window.touches(Window.around(quad, 0))
    assert window.area < 640 * 360 / 2


def test_look_at_a_card_that_was_taken_away_no_longer_shows_it() -> None:
    """What is gone from a window is gone at once."""
    table = Table()
    table.settled()
    table.stage.props.clear()
    assert table.look().cards == ()


def test_look_at_one_of_two_cards_that_touch_shows_both_whole() -> None:
    """A window cuts no known card: the neighbour of what moved is in it, and stays."""
    table = Table()
    table.stage.props.append(Prop(PLACES[Slot.PUNTO_2], Kind.FACE))
    table.settled()
    table.stage.props[1] = replace(table.stage.props[1], kind=Kind.BACK)
    seen = table.look()
    assert sorted(card.kind for card in seen.cards) == [Kind.BACK, Kind.FACE]
    for window in table.eye.windows:
        assert window is not None
        for card in seen.cards:
            box = Window.around(card.quad, 0)
            assert not window.touches(box) or window.joined(box) == window


def test_false_box_of_one_look_is_looked_at_again_and_forgotten() -> None:
    """One look is no proof: a box that it made up is not repeated until it is believed."""
    table = Table()
    table.settled()
    table.stage.props.append(Prop(PLACES[Slot.BANCO_1], Kind.FACE))
    quad = table.stage.view.quad_px(PLACES[Slot.BANCO_3])
    table.eye.spurious = (Detection(quad, Kind.FACE, 0.5),)
    assert len(table.look().cards) == 3
    table.eye.spurious = ()
    assert len(table.look().cards) == 2


def test_card_that_one_look_missed_is_looked_for_again() -> None:
    """A card that a look does not show is looked for where it was, though nothing changes there."""
    table = Table()
    table.settled()
    lying = list(table.stage.props)
    hand = Prop(replace(PLACES[Slot.PUNTO_1], x=480), Kind.BACK)
    table.stage.props.append(hand)
    table.eye.stage = Stage(props=[hand])  # what the detector shows: it misses the card
    assert len(table.look().cards) == 1
    table.eye.stage = table.stage
    table.stage.props[:] = [*lying, hand]
    assert len(table.look().cards) == 2


@pytest.mark.parametrize(("moving", "every_ms"), [(True, WHOLE_EVERY_MS), (False, WHOLE_STILL_MS)])
def test_whole_picture_is_looked_at_now_and_then(moving: bool, every_ms: int) -> None:
    """However little changes, what a look missed is not missed for good."""
    table = Table()
    table.settled()
    count = 2 * every_ms // FRAME_MS
    for number in range(count):
        if moving:
            place = PLACES[Slot.BANCO_3 if number % 2 else Slot.BANCO_2]
            table.stage.props[1:] = [Prop(place, Kind.BACK)]
        table.look()
    whole = [window for window in table.eye.windows if window is None]
    assert 1 <= len(whole) <= 3


def test_part_gate_rests_while_its_part_does_and_wakes_at_once() -> None:
    """What happens elsewhere does not count; a change within is seen in its first frame."""
    gate = MotionGate()
    rng = np.random.default_rng(2)
    corners = np.array([[10, 10], [60, 10], [60, 60], [10, 60]], np.float32)
    part = PartGate(gate, corners, (480, 270))
    due = []
    for number in range(120):
        image = np.clip(rng.normal(90, 3, (270, 480, 3)), 0, 255).astype(np.uint8)
        image[150:200, 300:350] = 255 * (number % 2)
        if number == 100:
            image[30:40, 30:40] = 240
        gate.moving(Frame(image, number * FRAME_MS, number))
        due.append(part.due(number * FRAME_MS))
    assert sum(due[30:100]) <= 70 * FRAME_MS / 150 + 1
    assert all(due[100:115])
