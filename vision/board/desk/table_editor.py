"""What an engineer does to a table file from a page: see its places in the picture, move them.

Places travel as pixels and are kept in millimetres, as `calibrate` writes them. `Viewfinder` gives
the newest picture of the camera while somebody looks. Knows nothing of pages and people.
"""

from __future__ import annotations

import hashlib
import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import cv2
import numpy as np

from vision.camera.source import Shot, open_source
from vision.config.editor import TableFile, areas_section, plane_section
from vision.config.table import CameraSection, TableConfig, ViewSection, load
from vision.errors import ConfigurationError, OutsideError, ShoeReaderError
from vision.pictures import jpeg, open_picture
from vision.secrets import masked, shown
from vision.sight.geometry.plane import Frame, Homography, Image, Points, polygon
from vision.sight.quality.view import gauges

MOST_POINTS = 32  # of a polygon that a page sends; a layout drawn by hand needs 4 to 12
# A place may reach out of the picture, but not so far that it is a slip.
OUTSIDE = 0.5
LAYOUT = "LAYOUT"  # what a page calls the corners of a template

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


class TableEditor:
    """One table file and its camera."""

    def __init__(self, config: TableConfig, path: Path, draw: Draw) -> None:
        self._path = path
        self.file = str(path)
        self.viewfinder = Viewfinder(config.camera, lambda: draw(load(path)))

    def picture(self, *, drawn: bool) -> bytes:
        """Return what the camera sees of the layout now, JPEG; OutsideError without an answer.

        `drawn`: with what the reader makes of it drawn on.
        """
        return jpeg(self._covered(self.viewfinder.image(drawn=drawn)), QUALITY)

    def gauges(self) -> list[dict[str, Any]]:
        """Return light, focus and size of a card in the newest picture; OutsideError likewise."""
        found = gauges(self.viewfinder.image(), load(self._path).view.table_view())
        return [{**one._asdict(), "good": one.good} for one in found]

    def kept(self) -> bytes:
        """Return the picture of the empty layout that was kept, JPEG; OutsideError without one."""
        layout = load(self._path).view.layout
        image = open_picture(Path(layout)) if layout else None
        if image is None:
            raise OutsideError(
                f"{self._path}: no picture of the layout is kept; shoe-reader calibrate keeps one"
            )
        return jpeg(self._covered(image), QUALITY)

    def places(self) -> dict[str, Any]:
        """Return size (width, height), places (name: n x 2 px), and the file they stand in.

        As long as nothing is measured, the corners of the template are a place too.
        """
        config = load(self._path)
        view = config.view.table_view()
        named = {name: view.homography.to_px(area) for name, area in view.areas.items()}
        if _is_loose(config.view):
            named = {LAYOUT: np.asarray(config.view.image_px), **named}
        return {
            "size": [config.camera.width, config.camera.height],
            "places": {name: np.round(area, 1).tolist() for name, area in named.items()},
            "file": self.file,
            "template": config.view.template,
            "version": self._version(),
        }

    def write(self, changed: Mapping[str, Any]) -> tuple[str, str, str]:
        """Write the places that were moved (pixels).

        Return where the old file is kept, its hash, and that of the new. ConfigurationError where
        they are no places, or the file is another than they were read from; OutsideError where it
        cannot be written.
        """
        before = self._version()
        if changed.get("version") != before:
            raise ConfigurationError(
                f"{self._path}: has changed meanwhile; reload the page, then move the areas"
            )
        config = load(self._path)
        view, size = config.view.table_view(), (config.camera.width, config.camera.height)
        given = changed.get("places")
        if not isinstance(given, dict) or not given:
            raise ConfigurationError("no area was moved; drag one, then save")
        moved = {name: _pixels(name, points, size) for name, points in given.items()}
        section: dict[str, Any] = {"template": None}
        if _is_loose(config.view) and LAYOUT in moved:
            plane = Homography.fit(moved.pop(LAYOUT), config.view.table_mm)
            view = replace(view, homography=plane)
            # Corners of a layout may lie outside the picture; the points of a table file may not.
            section |= plane_section(plane, size)
        strange = moved.keys() - view.areas.keys()
        if strange:
            raise ConfigurationError(
                f"this table has no such areas: {sorted(strange)}; load the page again"
            )
        file = TableFile(self._path)
        areas = {n: view.homography.to_mm(area) for n, area in moved.items()}
        file.change("view", {**section, **areas_section(areas)})
        return str(file.write()), before, self._version()

    def _covered(self, image: Image) -> Image:
        """Return a picture with all blacked out that lies beyond the layout: guests, and staff.

        Where the layout lies is not known of a template: all is shown.
        """
        view = load(self._path).view
        if view.template:
            return image
        hull = cv2.convexHull(view.outline_px()).reshape(-1, 2)
        mask = np.zeros(image.shape[:2], np.uint8)
        cv2.fillConvexPoly(mask, np.rint(hull).astype(np.int32), 255)
        return cast(Image, cv2.bitwise_and(image, image, mask=mask))

    def _version(self) -> str:
        try:
            return hashlib.sha256(self._path.read_bytes()).hexdigest()
        except OSError as error:
            raise OutsideError(f"{self._path}: {error.strerror}") from error


def _is_loose(view: ViewSection) -> bool:
    """Whether the plane is the template's own, so that its corners may be dragged."""
    return view.template and not view.layout and view.lens is None


def _pixels(name: str, points: object, size: tuple[int, int]) -> Points:
    """Return a polygon that a page sent; ConfigurationError where it is none in the picture."""
    try:
        area = polygon(points)  # type: ignore[arg-type]
    except (ValueError, TypeError) as error:
        raise ConfigurationError(f"{name}: {error}") from error
    low, high = -OUTSIDE * np.array(size), (1 + OUTSIDE) * np.array(size)
    if len(area) > MOST_POINTS or not np.all((area >= low) & (area <= high)):
        raise ConfigurationError(f"{name}: lies outside the picture; drag it back in")
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
