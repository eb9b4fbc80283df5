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
from vision.sight.geometry.plane import Frame, Image, Points, TableView, covered, polygon
from vision.sight.quality.table_fit import Drift
from vision.sight.quality.view import gauges

MOST_POINTS = 32  # of a polygon that a page sends; a layout drawn by hand needs 4 to 12
# Seconds that the camera stays open after the last question: the page asks every second.
OPEN_AFTER_S = 8.0
# Seconds that a picture counts as live; older, and the page says that none comes.
NEW_S = 3.0
# Seconds that a page waits for a picture: opening an address may take 2.5 s ([camera] open_s), and
# starting the capture process about one.
PICTURE_S = 6.0
# JPEG quality of a picture: edges stay clear enough to drag areas to them.
QUALITY = 80

# Gives what draws on the frames of a table, in order of time, what a reader makes of them.
Draw = Callable[[TableConfig], Callable[[Frame], Image]]


# Measures a table by the cards in a picture, given places without a card, and their size if known;
# what it gives is a `vision.setup.calibration.cards.LaidCards`.
Measure = Callable[[Image, Collection[str], str | None], Any]


class TableEditor:
    """One table file and its camera."""

    def __init__(self, config: TableConfig, path: Path, draw: Draw, measure: Measure) -> None:
        self._path = path
        self.file = str(path)
        self.viewfinder = Viewfinder(config.camera, lambda: draw(load(path)))
        self._measure = measure
        # The last picture that was measured, and what it gave.
        self._last: tuple[Image, Any] | None = None

    def picture(self, kind: str) -> bytes:
        """Return what the camera sees now, JPEG; OutsideError without an answer.

        `live` shows the layout alone, `drawn` what the reader makes of it, `whole` all.
        """
        image = self.viewfinder.image(drawn=kind == "drawn")
        return jpeg(self._covered(image) if kind == "live" else image, QUALITY)

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

    def save(self) -> tuple[str, str, str]:
        """Write what the cards gave at the last look; return as `write` does.

        ConfigurationError where they gave nothing that can be kept.
        """
        if self._last is None or self._last[1].view is None or self._last[1].faults:
            raise ConfigurationError(
                f"{self._path}: the cards do not lie right yet; do what the page says"
            )
        before, file, (image, found) = self._version(), TableFile(self._path), self._last
        file.change_view(found.view, found.emptied(image))
        return str(file.write()), before, self._version()

    def write(self, changed: Mapping[str, Any]) -> tuple[str, str, str]:
        """Write the `places` that were moved (pixels), or all, `moved` by a drift.

        A picture of the layout is kept. Return where the old file is, its hash, and that of the
        new. ConfigurationError where they are no places, or the file is another than they were read
        from; OutsideError where it cannot be written.
        """
        before, view = self._version(), self._view()
        if changed.get("version") != before:
            raise ConfigurationError(
                f"{self._path}: has changed meanwhile; reload the page, then move the areas"
            )
        given, drift = changed.get("places"), changed.get("moved")
        if view is not None and drift:
            after = _drifted(view, drift)
        elif view is not None and isinstance(given, dict) and given:
            after = _dragged(view, given)
        else:
            raise ConfigurationError("no area was moved; drag one, then save")
        file = TableFile(self._path)
        file.change_view(after, self.viewfinder.image())
        return str(file.write()), before, self._version()

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


def _dragged(view: TableView, given: Mapping[str, Any]) -> TableView:
    """Return a view with some areas (n x 2 px by name) elsewhere."""
    areas = {**view.areas, **{n: view.homography.to_mm(_polygon(n, p)) for n, p in given.items()}}
    if strange := areas.keys() - view.areas.keys():
        raise ConfigurationError(
            f"this table has no such areas: {sorted(strange)}; load the page again"
        )
    slots = {slot: areas[slot.name] for slot in view.slots}
    return replace(view, slots=slots, mouth=areas["MOUTH"], discard=areas.get("DISCARD"))


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
    """Return the areas of a table in the picture, n x 2 px by name."""
    return {name: _rounded(view.homography.to_px(area)) for name, area in view.areas.items()}


def _rounded(points: Points) -> list[list[float]]:
    found: list[list[float]] = np.round(points.astype(float), 1).tolist()
    return found


def _polygon(name: str, points: object) -> Points:
    """Return a polygon (n x 2 px) that a page sent; ConfigurationError where it is none."""
    try:
        area = polygon(points)  # type: ignore[arg-type]
    except (ValueError, TypeError) as error:
        raise ConfigurationError(f"{name}: {error}") from error
    if len(area) > MOST_POINTS or not np.isfinite(area).all():
        raise ConfigurationError(f"{name}: has too many corners, or none; drag it anew")
    return area


# --- live picture ---


class Viewfinder:
    """The newest picture of a table's camera, plain or drawn on; safe to use from several threads.

    The camera is opened when a picture is asked for, and closed soon after the last question. Only
    while drawn ones are asked for, pictures are drawn on by what `drawing` makes.
    """

    def __init__(
        self, camera: CameraSection, drawing: Callable[[], Callable[[Frame], Image]]
    ) -> None:
        self._camera = camera
        self._drawing = drawing
        self._news = threading.Condition()
        # By whether they are drawn on: the newest picture and when it came; when it was asked for.
        self._taken: dict[bool, tuple[Image, float]] = {}
        self._asked_s: dict[bool, float] = {}
        self._complaint = ""
        self._thread: threading.Thread | None = None

    def release(self) -> None:
        """Close the camera, for a command that opens it, and wait until it is closed."""
        thread = self._thread
        with self._news:
            self._asked_s.clear()
        if thread is not None:
            thread.join(PICTURE_S)

    def image(self, *, drawn: bool = False) -> Image:
        """Return the newest picture; OutsideError where none comes in time."""
        with self._news:
            self._asked_s[drawn] = time.monotonic()
            if self._thread is None:
                self._complaint = ""
                self._thread = threading.Thread(target=self._look, name="viewfinder", daemon=True)
                self._thread.start()
            self._news.wait_for(
                lambda: self._new(drawn=drawn) is not None or self._complaint, PICTURE_S
            )
            image = self._new(drawn=drawn)
            complaint = self._complaint or "no picture comes"
        if image is None:
            raise OutsideError(
                f"{shown(self._camera.source)}: {complaint}; a camera on a cable serves one "
                "program at a time: stop the reader, or use the calibration picture"
            )
        return image

    def _new(self, *, drawn: bool) -> Image | None:
        image, taken_s = self._taken.get(drawn, (None, -math.inf))
        return image if time.monotonic() - taken_s < NEW_S else None

    def _is_wanted(self, *, drawn: bool) -> bool:
        return time.monotonic() - self._asked_s.get(drawn, -math.inf) <= OPEN_AFTER_S

    def _look(self) -> None:
        complaint = ""
        try:
            self._follow()
        except ShoeReaderError as error:
            complaint = masked(str(error))
        with self._news:
            self._thread = None
            self._complain(complaint)

    def _complain(self, complaint: str) -> None:
        with self._news:
            self._complaint = complaint
            self._news.notify_all()

    def _follow(self) -> None:
        """Take pictures until nobody has asked for one for a while."""
        draw: Callable[[Frame], Image] | None = None
        for seen in open_source(self._camera):
            if isinstance(seen, Shot):
                self._take(seen.frame.image, drawn=False)
                if self._is_wanted(drawn=True):
                    draw = draw or self._drawing()
                    self._take(draw(seen.frame), drawn=True)
            else:
                self._complain(seen.reason)
            if not (self._is_wanted(drawn=False) or self._is_wanted(drawn=True)):
                break

    def _take(self, image: Image, *, drawn: bool) -> None:
        with self._news:
            self._taken[drawn] = image, time.monotonic()
            self._news.notify_all()
