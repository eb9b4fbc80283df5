"""What an engineer does to a table file from a page: see its places in the picture, move them.

Places travel as pixels and are kept in millimetres, as `calibrate` writes them. Knows nothing of
pages and people.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import cv2
import numpy as np

from vision.board.desk.setup import Viewfinder, Written
from vision.config.editor import TableFile
from vision.config.table import TableConfig, ViewSection, load
from vision.errors import ConfigurationError, OutsideError
from vision.pictures import open_picture
from vision.sight.geometry.frame import Frame, Image, Points
from vision.sight.geometry.plane import Homography, TableView, polygon
from vision.sight.quality.gauges import gauges

MOST_POINTS = 32  # of a polygon that a page sends; a layout drawn by hand needs 4 to 12
# A place may reach out of the picture, but not so far that it is a slip.
OUTSIDE = 0.5
LAYOUT = "LAYOUT"  # what a page calls the corners of a template
# Where the four points of a plane are written, shares of the picture: as `calibrate` writes them.
PICTURE_CORNERS = np.array([[0.05, 0.05], [0.95, 0.05], [0.95, 0.95], [0.05, 0.95]])

# Gives what draws on the frames of a table, in order of time, what a reader makes of them.
Draw = Callable[[TableConfig], Callable[[Frame], Image]]


class TableEditor:
    """One table file and its camera."""

    def __init__(self, config: TableConfig, path: Path, draw: Draw) -> None:
        self._path = path
        self._viewfinder = Viewfinder(config.camera, lambda: draw(load(path)), cover=self._covered)

    @property
    def file(self) -> str:
        """The path of the table file."""
        return str(self._path)

    def live(self) -> bytes:
        """Return what the camera sees of the layout now, JPEG; OutsideError without an answer."""
        return self._viewfinder.picture()

    def drawn(self) -> bytes:
        """Return the same with what the reader makes of it drawn on; OutsideError likewise."""
        return self._viewfinder.picture(drawn=True)

    def gauges(self) -> list[dict[str, Any]]:
        """Return light, focus and size of a card in the newest picture; OutsideError likewise."""
        found = gauges(self._viewfinder.image(), load(self._path).view.table_view())
        return [{**one._asdict(), "good": one.good} for one in found]

    def release(self) -> None:
        """Close the camera, for a command that opens it."""
        self._viewfinder.release()

    def kept(self) -> bytes:
        """Return the picture of the empty layout that was kept, JPEG; OutsideError without one."""
        layout = load(self._path).view.layout
        image = open_picture(Path(layout)) if layout else None
        if image is None:
            raise OutsideError(
                f"{self._path}: no picture of the layout is kept; shoe-reader calibrate keeps one"
            )
        return cv2.imencode(".jpg", self._covered(image))[1].tobytes()

    def places(self) -> dict[str, Any]:
        """Return size (width, height), places (name: n x 2 px), and the file they stand in.

        As long as nothing is measured, the corners of the template are a place too.
        """
        config = load(self._path)
        view = config.view.table_view()
        named = {name: view.homography.to_px(area) for name, area in _areas(view).items()}
        if _is_loose(config.view):
            named = {LAYOUT: np.asarray(config.view.image_px), **named}
        return {
            "size": [config.camera.width, config.camera.height],
            "places": {name: np.round(area, 1).tolist() for name, area in named.items()},
            "file": self.file,
            "template": config.view.template,
            "version": self._version(),
        }

    def write(self, changed: Mapping[str, Any]) -> Written:
        """Write the places that were moved (pixels); return what was done.

        ConfigurationError where they are no places, or the file is another than they were read
        from; OutsideError where it cannot be written.
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
            pixels = np.round(PICTURE_CORNERS * size)
            section["image_px"] = pixels.tolist()
            section["table_mm"] = plane.to_mm(pixels).astype(float).round(2).tolist()
        strange = moved.keys() - _areas(view).keys()
        if strange:
            raise ConfigurationError(
                f"this table has no such areas: {sorted(strange)}; load the page again"
            )
        file = TableFile(self._path)
        areas = {n: view.homography.to_mm(area) for n, area in moved.items()}
        file.change("view", {**section, **_section(areas)})
        kept = str(file.write())
        return Written(kept, before, self._version())

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


def _areas(view: TableView) -> dict[str, Points]:
    """Return the places of a view by name, polygons in mm."""
    areas = {slot.name: area for slot, area in view.slots.items()}
    areas["MOUTH"] = view.mouth
    return areas if view.discard is None else {**areas, "DISCARD": view.discard}


def _section(moved: Mapping[str, Points]) -> dict[str, Any]:
    """Return the keys of the view section for places in mm."""
    rounded = {name: np.round(area.astype(float), 1).tolist() for name, area in moved.items()}
    keys = {"MOUTH": "mouth_mm", "DISCARD": "discard_mm"}
    section: dict[str, Any] = {keys[name]: rounded.pop(name) for name in keys if name in rounded}
    return {**section, "slots_mm": rounded} if rounded else section


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
