"""What an engineer does to a table file from a page: measure it by laid cards, move its places.

Places travel as pixels and are kept in millimetres, as `calibrate` writes them. `Viewfinder` gives
the newest picture of the camera while somebody looks. Knows nothing of pages and people.
"""

from __future__ import annotations

import hashlib
import math
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from vision.camera.decoding import Shot
from vision.camera.source import open_source
from vision.config.editor import TableFile
from vision.config.table import CameraSection, TableConfig, load
from vision.errors import ConfigurationError, OutsideError, ShoeReaderError
from vision.pictures import jpeg, open_picture
from vision.secrets import masked, shown
from vision.sight.detection.mouth import exit_way
from vision.sight.geometry.plane import Image, Points, TableView, covered
from vision.sight.quality.table_fit import Drift
from vision.sight.quality.view import gauges

# Seconds that the camera stays open after the last question: the page asks every second.
OPEN_AFTER_S = 8.0
# Seconds that a picture counts as live; older, and the page says that none comes.
NEW_S = 3.0
# Seconds that a page waits for a picture: opening an address may take 2.5 s ([camera] open_s), and
# starting the capture process about one.
PICTURE_S = 6.0
# The arrowhead on the page that says where cards leave to: its half width, and how far it is before
# the middle of a mouth that has none in the file, mm: clear of the mouth, near enough to be seen.
ARROW_MM, AHEAD_MM = 12.0, 110.0
# JPEG quality of a picture: edges stay clear enough to drag areas to them.
QUALITY = 80

# Measures a table by the cards in a picture, given places without a card, and their size if known;
# what it gives is a `vision.setup.calibration.cards.LaidCards`.
Measure = Callable[[Image, Collection[str], str | None], Any]


class TableEditor:
    """One table file and its camera."""

    def __init__(self, config: TableConfig, path: Path, measure: Measure) -> None:
        self._path = path
        self.file = str(path)
        self.viewfinder = Viewfinder(config.camera)
        self._measure = measure
        # The last picture that was measured, and what it gave.
        self._last: tuple[Image, Any] | None = None

    def picture(self, *, whole: bool) -> bytes:
        """Return what the camera sees now, the `whole` of it or the layout alone, JPEG.

        OutsideError without an answer.
        """
        image = self.viewfinder.image()
        return jpeg(image if whole else self._covered(image), QUALITY)

    def gauges(self) -> list[dict[str, Any]]:
        """Return light, focus and size of a card in the newest picture; OutsideError likewise."""
        found = gauges(self.viewfinder.image(), self._view())
        return [{**one._asdict(), "good": one.good} for one in found]

    def stored(self) -> bytes:
        """Return the picture of the layout that was kept, JPEG; OutsideError without one."""
        layout = self._load().view.layout
        image = open_picture(Path(layout)) if layout else None
        if image is None:
            raise OutsideError(
                f"{self._path}: no picture of the layout is kept; measuring the table keeps one"
            )
        return jpeg(self._covered(image), QUALITY)

    def places(self, moved: str = "") -> dict[str, Any]:
        """Return size (width, height), places (name: n x 2 px), and the file they stand in.

        There are none as long as nothing is measured. `proposed` are those after a drift, given as
        the numbers of CAMERA_MOVED.
        """
        config, view = self._load(), self._view()
        drifted = None if view is None or not moved else _drifted(view, moved)
        return {
            "size": [config.camera.width, config.camera.height],
            "places": {} if view is None else _in_picture(view),
            "proposed": {} if drifted is None else _in_picture(drifted),
            "file": self.file,
            "version": self._version(),
        }

    def look(self, without: Collection[str], size: str | None) -> dict[str, Any]:
        """Measure the table by the cards that lie on it now; OutsideError without a picture.

        Return the outlines that are `seen` and the `places` as they would be (name: n x 2 px),
        `faults` and `notes` in words, `misfit_mm`, and whether the cards lie `at_rest`.
        """
        image, last = self.viewfinder.image(), self._last
        found = self._measure(image, without, size)
        self._last = image, found
        rest = last is not None and last[0].shape == image.shape and found.at_rest(last[0], image)
        return {
            "seen": {name: _rounded(quad) for name, quad in found.seen.items()},
            "places": {} if found.view is None else _in_picture(found.view),
            "faults": list(found.faults),
            "notes": list(found.notes),
            "misfit_mm": round(found.misfit_mm, 2),
            "at_rest": rest,
        }

    def write(self, changed: Mapping[str, Any]) -> tuple[str, str, str]:
        """Write what the cards gave at the last look (`laid`), or move areas: see `_moved`.

        A picture of the layout is kept. Return where the old file is, its hash, and that of the
        new. ConfigurationError where the areas are none that can be, or the file is another than
        they were read from; OutsideError where it cannot be written.
        """
        before, (image, found) = self._version(), self._last or (None, None)
        if not changed.get("laid"):
            view, layout = self._moved(changed, before), self.viewfinder.image()
        elif found is not None and found.view is not None and not found.faults:
            view, layout = found.view, found.emptied(image)
        else:
            raise ConfigurationError(
                f"{self._path}: the cards do not lie right yet; do what the page says"
            )
        file = TableFile(self._path)
        file.change_view(view, layout)
        return str(file.write()), before, self._version()

    def _moved(self, changed: Mapping[str, Any], version: str) -> TableView:
        """Return the view with areas where they were dragged (`ways`: name to x, y in px).

        Or all of them after a drift (`moved`: the numbers of CAMERA_MOVED).
        """
        if changed.get("version") != version:
            raise ConfigurationError(
                f"{self._path}: has changed meanwhile; reload the page, then move the areas"
            )
        view, ways, drift = self._view(), changed.get("ways"), changed.get("moved")
        if view is not None and drift:
            return _drifted(view, drift)
        if view is None or not isinstance(ways, dict) or not ways:
            raise ConfigurationError("no area was moved; drag one, then save")
        return _dragged(view, ways)

    def _load(self) -> TableConfig:
        return load(self._path, unmeasured=True)

    def _view(self) -> TableView | None:
        """Return the view of the table, `None` as long as nothing is measured."""
        return self._load().view.table_view() if TableFile(self._path).section("view") else None

    def _covered(self, image: Image) -> Image:
        """Return a picture with all blacked out that lies beyond the layout: guests, and staff.

        Where the layout lies is not known before it is measured: all is shown.
        """
        if self._view() is None:
            return image
        return covered(image, self._load().view.outline_px())

    def _version(self) -> str:
        try:
            return hashlib.sha256(self._path.read_bytes()).hexdigest()
        except OSError as error:
            raise OutsideError(f"{self._path}: {error.strerror}") from error


def _dragged(view: TableView, ways: Mapping[str, Any]) -> TableView:
    """Return a view with some areas elsewhere, in their own size; ways (x, y) in px by name."""
    areas = _handles(view)
    mouth = areas["MOUTH"]
    for name, way in ways.items():
        try:
            middle = areas[name].mean(axis=0)
            there = view.homography.to_mm(view.homography.to_px(middle) + np.array(way, float))
            areas[name] = areas[name] + (there - middle)
        except (KeyError, ValueError, TypeError) as error:
            raise ConfigurationError(f"{name}: cannot be moved so; load the page again") from error
    if not all(np.isfinite(area).all() for area in areas.values()):
        raise ConfigurationError("an area was moved nowhere; drag it again")
    slots = {slot: areas[slot.name] for slot in view.slots}
    exit_mm = view.exit
    if "EXIT" in ways:
        exit_mm = areas["EXIT"].mean(axis=0)
    elif exit_mm is not None:  # goes with the mouth
        exit_mm = exit_mm + (areas["MOUTH"] - mouth).mean(axis=0)
    return replace(
        view, slots=slots, mouth=areas["MOUTH"], discard=areas.get("DISCARD"), exit=exit_mm
    )


def _handles(view: TableView) -> dict[str, Points]:
    """Return the areas of a table, and `EXIT`: an arrowhead before the mouth, as cards leave."""
    way = exit_way(view)
    across = np.array([-way[1], way[0]])
    ends = np.array([2 * way, across - way, -across - way]) * ARROW_MM
    middle = view.mouth.mean(axis=0)
    there = middle + way * AHEAD_MM if view.exit is None else view.exit
    return {**view.areas, "EXIT": (there + ends).astype(np.float32)}


def _drifted(view: TableView, numbers: object) -> TableView:
    """Return a view whose areas moved as the numbers of CAMERA_MOVED say."""
    try:
        drift = Drift(*map(float, str(numbers).split()))
    except (ValueError, TypeError):
        drift = Drift(0, 0, 0, 0, 0)
    if not (np.isfinite(drift).all() and drift.size > 0 and drift.spread > 0):
        raise ConfigurationError(
            f"moved: {numbers} is no drift; open the page by the link of CAMERA_MOVED"
        )
    return drift.applied(view)


def _in_picture(view: TableView) -> dict[str, Any]:
    """Return the areas of a table in the picture, and its exit, n x 2 px by name."""
    return {name: _rounded(view.homography.to_px(area)) for name, area in _handles(view).items()}


def _rounded(points: Points) -> list[list[float]]:
    found: list[list[float]] = np.round(points.astype(float), 1).tolist()
    return found


class Viewfinder:
    """The newest picture of a table's camera; safe to use from several threads.

    The camera is opened when a picture is asked for, and closed soon after the last question.
    """

    def __init__(self, camera: CameraSection) -> None:
        self._camera = camera
        self._changed = threading.Condition()
        self._taken: tuple[Image | None, float] = None, -math.inf  # with when it came
        self._asked_s = -math.inf
        self._complaint = ""
        self._thread: threading.Thread | None = None

    def release(self) -> None:
        """Close the camera, for a command that opens it, and wait until it is closed."""
        thread = self._thread
        with self._changed:
            self._asked_s = -math.inf
        if thread is not None:
            thread.join(PICTURE_S)

    def image(self) -> Image:
        """Return the newest picture; OutsideError where none comes in time."""
        with self._changed:
            self._asked_s = time.monotonic()
            if self._thread is None:
                self._complaint = ""
                self._thread = threading.Thread(target=self._look, name="viewfinder", daemon=True)
                self._thread.start()
            self._changed.wait_for(lambda: self._new() is not None or self._complaint, PICTURE_S)
            image = self._new()
            complaint = self._complaint or "no picture comes"
        if image is None:
            raise OutsideError(
                f"{shown(self._camera.source)}: {complaint}; a camera on a cable serves one "
                "program at a time: stop the reader, or use the calibration picture"
            )
        return image

    def _new(self) -> Image | None:
        image, taken_s = self._taken
        return image if time.monotonic() - taken_s < NEW_S else None

    def _look(self) -> None:
        """Take pictures until nobody has asked for one for a while."""
        complaint = ""
        try:
            for seen in open_source(self._camera):
                if self._asked_s < time.monotonic() - OPEN_AFTER_S:
                    break
                if isinstance(seen, Shot):
                    self._pass_on("", seen.frame.image)
                else:
                    self._pass_on(seen.reason)
        except ShoeReaderError as error:
            complaint = masked(str(error))
        with self._changed:
            self._thread = None
            self._pass_on(complaint)

    def _pass_on(self, complaint: str, image: Image | None = None) -> None:
        """Let those that wait have a picture, or the reason why none comes."""
        with self._changed:
            self._complaint = complaint
            if image is not None:
                self._taken = image, time.monotonic()
            self._changed.notify_all()
