"""The vision pipeline hands what one stage returns to the next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from av.video.frame import VideoFrame
from numpy.typing import NDArray

from tests.sight.film import PLACES, Eye, Prop, Stage
from vision.app.pipeline import SightPipeline, rules_of
from vision.camera.decoding import Planes
from vision.config.table import TableConfig
from vision.game.events import Event
from vision.inference.load import ModelSet
from vision.sight.detection.classifier import Observation
from vision.sight.detection.detector import Detection, Kind, Window
from vision.sight.geometry.plane import Frame, Image, Points
from vision.sight.motion_gate import QUIET_MS

FRAME_MS = 100
STAGE = Stage(props=[Prop(pose, Kind.FACE) for pose in PLACES.values()])
CORNERS = [[0, 0], [639, 0], [639, 359], [0, 359]]


class Models:
    """A detector that finds the stage's cards, and a classifier that is not sure."""

    def __init__(self) -> None:
        self.boxes_asked = 0

    def window(self, _: Points, width: int, height: int, __: Window | None = None) -> Window:
        """Return the whole picture."""
        return 0, 0, width, height

    def once(self, found: Sequence[Detection]) -> tuple[Detection, ...]:
        """Return the boxes as they are."""
        return tuple(found)

    def cards_and_hands(self, _: Image, least: float, __: Window) -> tuple[Detection, ...]:
        """Return what lies on the stage."""
        self.boxes_asked += 1
        return tuple(box for box in STAGE.detections() if box.score >= least)

    def outlined(self, _: Image, boxes: Sequence[Detection]) -> Sequence[Detection]:
        """Return the boxes as they are."""
        return boxes

    def mouth(self, _: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return what the mouth's network gives of a shoe at rest."""
        return STAGE.mouth()[None, :10]

    def classify(self, _: Image, quads: Sequence[Points]) -> list[Observation]:
        """Look at each card."""
        log_p = np.full(52, np.log(0.3 / 51), np.float32)
        log_p[7] = np.log(0.7)
        return [Observation(log_p, 0.95)] * len(quads)


def pipeline(models: Models) -> SightPipeline:
    """Return the pipeline of the stage's table with these models."""
    view = STAGE.view
    section = {
        "image_px": CORNERS,
        "table_mm": view.homography.to_mm(CORNERS).tolist(),
        "slots_mm": {slot.name: area.tolist() for slot, area in view.slots.items()},
        "mouth_mm": view.mouth.tolist(),
    }
    config = TableConfig.model_validate(
        {
            "site": "test",
            "table": "1",
            "camera": {"source": "0", "width": 640, "height": 360},
            "view": section,
        }
    )
    symbols = Eye(STAGE).models().symbols
    found = ModelSet(models, models.classify, models.mouth, models.mouth, symbols)  # type: ignore[arg-type]
    return SightPipeline(config, found, rules=rules_of(config))


def shown(sight: SightPipeline, frames: range) -> list[Event]:
    """Show the cards, with something that moves beside them so that every frame is looked at."""
    events: list[Event] = []
    for index in frames:
        image = STAGE.picture().image
        image[300:340, 10:60] = 255 * (index % 2)
        events += sight.see(Frame(image, index * FRAME_MS, index))
    return events


def test_still_table_is_seen_without_its_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """While nothing moves only the mouth and a rare look need them; the view is checked then."""
    made: list[Planes] = []
    image = STAGE.picture().image

    def counted(planes: Planes) -> Image:
        made.append(planes)
        return image

    monkeypatch.setattr(Planes, "bgr", counted)
    coded = VideoFrame.from_ndarray(image, format="bgr24").reformat(format="yuv420p")
    sight = pipeline(Models())
    every_ms, seconds = 25, 10  # eight frames from one check to the next, 80 to a heartbeat
    frames = [Frame(Planes(coded), every_ms * n, n) for n in range(3 * seconds * 1000 // every_ms)]
    settled = len(frames) * 2 // 3  # the cards that lie there are taken up and read until then
    for frame in frames[:settled]:
        sight.see(frame)
    made.clear()
    looked = sight.looked
    for frame in frames[settled:]:
        sight.see(frame)
    mouths = seconds * 1000 // QUIET_MS
    assert mouths <= len(made) <= mouths + sight.looked - looked
    assert sight.looked - looked < 10


def test_detector_is_asked_again_where_something_changed() -> None:
    """Of looks at a picture that stays the same it is asked for a few, and at once of another."""
    models = Models()
    sight = pipeline(models)
    shown(sight, range(20))
    image, looked, asked = STAGE.picture().image, sight.looked, models.boxes_asked
    for index in range(20, 28):
        sight.see(Frame(image, index * FRAME_MS, index))
    assert sight.looked - looked == 8
    assert models.boxes_asked - asked <= 4
    for index in range(28, 32):
        asked = models.boxes_asked
        middle = image[100:260, 200:440]
        sight.see(Frame(np.ascontiguousarray(image), index * FRAME_MS, index))
        image = image.copy()
        image[100:260, 200:440] = 255 - middle
        assert models.boxes_asked - asked == 1 or index == 28


def test_dark_picture_is_not_looked_at_from_the_first_on() -> None:
    """Long before the view counts as lost: what it shows is not what lies on the table."""
    sight = pipeline(Models())
    shown(sight, range(20))
    looked, dark = sight.looked, np.zeros_like(STAGE.picture().image)
    for index in range(20, 25):
        sight.see(Frame(dark, index * FRAME_MS, index))
    assert sight.looked == looked
    assert not any(sight.blind.values())
    shown(sight, range(25, 30))
    assert sight.looked > looked


def test_view_is_kept_from_when_it_is_asked_for() -> None:
    """What was made of a frame can be looked at, once somebody wants to: here six open faces."""
    sight = pipeline(Models())
    shown(sight, range(5))
    assert sight.view is None
    sight.keep_view()
    shown(sight, range(5, 30))
    assert sight.view is not None
    assert sight.view.at == 29 * FRAME_MS
    assert len(sight.view.found) == len(sight.view.cards) == len(PLACES)
    assert [card.reported.order for card in sight.view.cards] == [1, 2, 3, 4, 5, 6]
