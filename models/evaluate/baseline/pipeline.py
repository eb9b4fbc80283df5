"""The usual pipeline up to its tracks: detections of a YOLO, a tracker of Ultralytics.

With `networks` for `Usual` it is seen what following adds to the networks.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
from ultralytics.engine.results import Boxes
from ultralytics.models import YOLO
from ultralytics.trackers import BOTSORT, BYTETracker
from ultralytics.utils import YAML, IterableSimpleNamespace
from ultralytics.utils.checks import check_yaml

from models.evaluate.baseline.train import CLASSES
from vision.inference.load import ModelSet
from vision.sight.detection.detector import Kind
from vision.sight.geometry.plane import Image, Points, TableView

# How large the table is shown to the network, px a mm: a card is 66 px wide, as in training and as
# on a film of 960 px. Larger costs time and shows it larger cards than it knows.
PX_PER_MM = 1.05
# Room round slots, mouth and tray, mm: half a card, so that none that lies is cut.
ROOM_MM = 50.0
# Detections below are not even tracked, 0 to 1: ByteTrack's own lower threshold.
LOWEST, AVERAGE = 0.1, cv2.INTER_AREA
BACK = CLASSES.index("back")
TRACKERS = {"bytetrack": BYTETracker, "botsort": BOTSORT}


class Found(NamedTuple):
    """The detections of a picture: n x 4 px (left, top, right, bottom), scores, classes, votes."""

    boxes: Points
    scores: Points
    classes: Points
    votes: Points


class Seen(NamedTuple):
    """A track in a picture: its number, middle (mm), class, and what its vote counts."""

    track: int
    middle: tuple[float, float]
    kind: int
    vote: float


Detect = Callable[[Image], Found]


class Usual:
    """A YOLO of Ultralytics on the table's part of a picture of `size` (width, height) px."""

    def __init__(self, weights: Path, view: TableView, size: tuple[int, int]) -> None:
        self._model: Any = YOLO(weights)
        areas = np.concatenate(list(view.areas.values()))
        (left, top), (right, bottom) = areas.min(axis=0) - ROOM_MM, areas.max(axis=0) + ROOM_MM
        around = view.homography.to_px([[left, top], [right, top], [right, bottom], [left, bottom]])
        around = around.clip(0, size).astype(int)
        self._low, self._high = around.min(axis=0), around.max(axis=0)
        slot = next(iter(view.slots.values()))
        ratio = cv2.contourArea(view.homography.to_px(slot)) / cv2.contourArea(slot)
        self._scale = PX_PER_MM / float(np.sqrt(ratio))

    def __call__(self, image: Image) -> Found:
        """Return what is found in a picture (h x w x 3, BGR)."""
        (x0, y0), (x1, y1), scale = self._low, self._high, self._scale
        part = cv2.resize(image[y0:y1, x0:x1], None, fx=scale, fy=scale, interpolation=AVERAGE)
        sides = [-(-side // 32) * 32 for side in part.shape[:2]]
        (result,) = self._model.predict(
            part, imgsz=sides, conf=LOWEST, iou=0.6, agnostic_nms=True, verbose=False, device="cpu"
        )
        found = result.boxes.cpu().numpy()
        boxes = found.xyxy / scale + np.array([x0, y0, x0, y0])
        return Found(boxes.astype(np.float32), found.conf, found.cls, found.conf)


def networks(models: ModelSet, image: Image) -> Found:
    """Return what our networks find in a picture; a face votes by how sure its look is."""
    found = models.detector(image, threshold=LOWEST)
    cards = [each for each in found if each.kind in (Kind.FACE, Kind.BACK)]
    observations = models.classifier(image, [each.quad for each in cards])
    rows = [
        [*card.quad.min(axis=0), *card.quad.max(axis=0), card.score]
        + ([BACK, 1] if card.kind is Kind.BACK else [look.best.index, look.confidence])
        for card, look in zip(cards, observations, strict=True)
    ]
    table = np.asarray(rows, np.float32).reshape(-1, 7)
    return Found(table[:, :4], table[:, 4], table[:, 5], table[:, 6])


class Tracking:
    """A tracker of Ultralytics with its own settings; a box of a score of `sure` begins a track."""

    def __init__(self, name: str, view: TableView, *, sure: float) -> None:
        file = check_yaml(f"{name}.yaml")  # type: ignore[no-untyped-call]
        own = {"gmc_method": "none", "track_high_thresh": sure, "new_track_thresh": sure}
        values = YAML.load(file) | own  # type: ignore[no-untyped-call]
        self._tracker = TRACKERS[name](IterableSimpleNamespace(**values))
        self._plane = view.homography

    def __call__(self, image: Image, found: Found) -> list[Seen]:
        """Return the tracks of a picture."""
        table = np.column_stack([found.boxes, found.scores, found.classes]).astype(np.float32)
        seen = []
        rows = self._tracker.update(Boxes(table, image.shape[:2]), image)
        for left, top, right, bottom, track, _, kind, index in rows:
            x, y = self._plane.to_mm([(left + right) / 2, (top + bottom) / 2])
            middle, vote = (float(x), float(y)), float(found.votes[int(index)])
            seen.append(Seen(int(track), middle, int(kind), vote))
        return seen
