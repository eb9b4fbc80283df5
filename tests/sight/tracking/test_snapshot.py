"""A snapshot shows what the tracker holds true: its cards, what is open, and the counts."""

from __future__ import annotations

import numpy as np
import pytest

from tests.sight.film import MOUTH, PLACES, Prop, Stage
from vision.game.events import Slot
from vision.sight.detection.detector import Kind
from vision.sight.geometry.plane import Pose
from vision.sight.tracking.card import Life
from vision.sight.tracking.tracker import Tracker


def test_snapshot_of_the_tracker_has_its_cards_and_what_is_open() -> None:
    """A card that lies counts on both sides; a box that has just come in sight is a run, open."""
    stage = Stage(props=[])
    tracker = Tracker(stage.view)
    for _ in stage.deal(Prop(MOUTH, Kind.FACE), PLACES[Slot.PUNTO_1]):
        frame = stage.picture()
        tracker.update(stage.detections(), frame.at, frame.image)
    stage.props.append(Prop(PLACES[Slot.BANCO_1], Kind.BACK))
    frame = stage.picture()
    tracker.update(stage.detections(), frame.at, frame.image)
    found = tracker.snapshot()
    assert found.at == frame.at
    assert [(each.life, each.slot, each.seen) for each in found.cards] == [
        (Life.LYING, Slot.PUNTO_1, True)
    ]
    assert (found.left, found.lying, found.doubts) == (1, 1, ())
    assert [run.odds for run in found.runs] == [()]
    middle = stage.view.homography.to_px(np.array([PLACES[Slot.BANCO_1].centre], np.float32))[0]
    assert np.abs(found.runs[0].quad.mean(axis=0) - middle).max() < 4


def test_snapshot_weighs_a_run_that_lies_until_it_is_explained() -> None:
    """A card found where none is dealt may be none: while that is open its odds are shown."""
    stage = Stage(props=[])
    tracker = Tracker(stage.view)
    weighed = []
    for number in range(100):
        if number == 40:
            stage.props.append(Prop(Pose(700, 600, 90), Kind.FACE))
        frame = stage.picture()
        tracker.update(stage.detections(), frame.at, frame.image)
        weighed += [run.odds for run in tracker.snapshot().runs if run.odds]
    assert len(weighed) > 5
    for odds in weighed:
        assert sum(each.probability for each in odds) == pytest.approx(1)
        assert [e.probability for e in odds] == sorted((e.probability for e in odds), reverse=True)
        assert {each.new for each in odds} == {True, False}
