"""Calibrate one table file: find the plane, find the places, judge both, write the file.

Findings are reported as lines of text. The caller shows them, and asks before it has a table file
written over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from vision.camera.source import first_frame
from vision.config.editor import TableFile
from vision.config.table import ViewSection
from vision.errors import ConfigurationError, OutsideError
from vision.files import free_name, write_whole
from vision.game.events import Slot
from vision.pictures import jpeg
from vision.setup.calibration.from_sheet import (
    LINE_MM,
    FoundPlane,
    Sheets,
    from_pictures,
    from_points,
    from_source,
    open_picture,
)
from vision.setup.calibration.overlay import drawn
from vision.setup.calibration.places import aligned, marked, view_of, view_section
from vision.setup.calibration.solver import upright
from vision.sight.geometry.plane import POKER_MM, Homography, Image, Lens, Points, TableView
from vision.sight.quality.camera_position import CameraShift, ReferenceLayout

# A plane that may be further off than this at the slots, mm (1 sigma), is refused: card outlines
# are compared with slots to a few millimetres. Larger, cards near a slot's edge fall into another.
MOST_UNSURE_MM = 1.0
# Where the new view puts known slots further off than this, mm, a person is warned: about a sixth
# of a card's long side, more than a camera moves by itself.
FAR_MM = 15.0
# Quality of the JPEGs kept beside the table file: no block edges that the camera's shift would see.
JPEG_QUALITY = 92

Report = Callable[[str], None]
# Take the lens from the pictures, keep that of the table file, or take it as perfect.
LensFrom = Literal["pictures", "file", "none"]


@dataclass(frozen=True, slots=True)
class CalibrationRequest:
    """What one table file is to be calibrated from.

    The plane comes from `pictures` of the marker sheet, from a `source` before which it is moved
    about ("" for the table's own camera), or from `points` (x px, y px, x mm, y mm each). `marks`
    are places by name: x px, y px and, at will, an angle in degrees. `line_mm` is the true length
    of the sheet's printed line.
    """

    table: Path
    pictures: Sequence[Path] = ()
    source: str | None = None
    points: Sequence[tuple[float, float, float, float]] = ()
    marks: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    lens: LensFrom = "pictures"
    line_mm: float = LINE_MM
    empty: Path | None = None
    out: Path | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Calibrated:
    """A view that may be written, and what it was found from."""

    view: TableView
    found: FoundPlane


class Calibration:
    """The calibration of one table file; ConfigurationError where the request makes no sense."""

    def __init__(self, request: CalibrationRequest, report: Report) -> None:
        self._request = request
        self._report = report
        self._file = TableFile(request.table)
        self._old = self._old_view()
        camera = self._file.camera(source=request.source or "0")
        other = {"source": request.source} if request.source else {}
        self._camera = camera.model_copy(update=other)
        self._lens = self._known_lens()

    @property
    def target(self) -> Path:
        """Where the table file is to be written."""
        return self._request.out or self._request.table

    def find(self) -> Calibrated:
        """Find plane and places; OutsideError where they are not good enough."""
        found = self._plane()
        for line in found.words:
            self._report(line)
        view = self._view(found)
        self._judge(found, view)
        return Calibrated(view, found)

    def draw(self, calibrated: Calibrated) -> None:
        """Write a picture with plane and places drawn on it beside the table file."""
        found = calibrated.found
        path = self._beside("calibration.jpg")
        picture = drawn(found.picture, calibrated.view, found.outlines)
        write_whole(path, jpeg(picture, JPEG_QUALITY))
        self._report(f"picture: {path} shows it all drawn: look at it")

    def write(self, calibrated: Calibrated, target: Path) -> None:
        """Write the table file to `target`, and the picture of the empty layout beside it."""
        found = calibrated.found
        height, width = found.picture.shape[:2]
        section = view_section(calibrated.view, (width, height))
        section["layout"] = self._write_layout(found, target)
        if len(self._request.marks) > len(Slot):
            section["template"] = None
        # A file that names no source yet gets the one that was calibrated.
        named = "source" in self._file.section("camera")
        source = {} if named else {"source": self._camera.source}
        self._file.change("camera", {**source, "width": width, "height": height})
        self._file.change("view", section)
        kept = self._file.write(target)
        self._report(f"wrote {target}" + (f"; the one before is {kept}" if kept else ""))

    # --- the plane -------------------------------------------------------------------------------

    def _plane(self) -> FoundPlane:
        request = self._request
        ways = [
            bool(request.pictures) and not request.points,
            request.source is not None,
            bool(request.points),
        ]
        if sum(ways) != 1:
            raise ConfigurationError(
                "calibrate: give one of these to find the plane from: pictures of the sheet, "
                "--source or --points; shoe-reader setup leads through it"
            )
        if request.points:
            pictures = request.pictures
            image = open_picture(pictures[0]) if pictures else first_frame(self._camera).image
            return from_points(request.points, image, self._lens)
        sheets = Sheets(request.line_mm / LINE_MM)
        free = request.lens == "pictures"
        if request.pictures:
            return from_pictures(request.pictures, sheets, self._lens, fit_lens=free)
        from_source(self._camera, sheets, self._report)
        return sheets.found(self._lens, fit_lens=free)

    # --- the view --------------------------------------------------------------------------------

    def _view(self, found: FoundPlane) -> TableView:
        """Return the view: the plane in its frame, and the places that are known."""
        height, width = found.picture.shape[:2]
        plane, old, areas = found.plane, self._old, dict[str, Points]()
        if old is not None:
            plane = plane if self._request.points else self._in_old_frame(found, old)
            areas |= old.table_view().areas
        elif not self._request.points:
            plane = upright(plane, (width, height))
        areas |= marked(self._request.marks, plane, self._card_mm())
        return view_of(areas, plane, self._card_mm())

    def _in_old_frame(self, found: FoundPlane, old: ViewSection) -> Homography:
        plane, apart = aligned(found.plane, old, self._shift(found.layout, old))
        if old.template:
            self._report("areas: not measured yet: drag them into place on the set-up page")
            return plane
        self._report(
            f"slots: kept from {self._file.path}; the view there differs by up to {apart:.1f} mm"
        )
        if apart > FAR_MM:
            self._report("  that is much: see in the picture whether the slots are right")
        return plane

    def _shift(self, layout: Image | None, old: ViewSection) -> CameraShift | None:
        """Return how far the camera has moved since the table file's own calibration."""
        if layout is None or not old.layout or not Path(old.layout).exists():
            return None
        shift = ReferenceLayout(open_picture(Path(old.layout)), old.table_view()).shift(layout)
        if shift is not None:
            self._report(f"camera: moved by {shift.worst_mm:.1f} mm since the last calibration")
        return shift

    def _judge(self, found: FoundPlane, view: TableView) -> None:
        if found.fit is None:
            return
        middles = np.array([area.mean(axis=0) for area in view.slots.values()], np.float32)
        unsure = float(found.fit.uncertainty_mm(view.homography.to_px(middles)).max())
        self._report(f"at the slots: sure to {unsure:.2f} mm (1 sigma)")
        if unsure > MOST_UNSURE_MM:
            raise OutsideError(
                f"the plane is known to {unsure:.1f} mm only at the slots ({MOST_UNSURE_MM:g} mm "
                "is the limit): add pictures with the sheet at other positions, some near the "
                "slots and some near the picture's edges; with a lens known to be good, --no-lens"
            )

    # --- the table file --------------------------------------------------------------------------

    def _old_view(self) -> ViewSection | None:
        """Return the view of the table file, `None` where it has none that can be used."""
        section = self._file.section("view")
        try:
            view = ViewSection.model_validate(
                section, context={"folder": self._request.table.parent}
            )
            view.plane()
        except ValueError as error:
            if section:
                self._report(
                    f"{self._file.path}: [view] cannot be used and is made again "
                    f"({type(error).__name__})"
                )
            return None
        return view

    def _known_lens(self) -> Lens | None:
        section = None if self._old is None else self._old.lens
        keep = self._request.lens == "file"
        if keep and section is None:
            raise ConfigurationError(
                f"--keep-lens: {self._file.path} has no [view.lens] yet; leave the option out"
            )
        # Points cannot show what the lens does: with them the known one is kept.
        keep = keep or (bool(self._request.points) and self._request.lens != "none")
        return section.lens() if keep and section is not None else None

    def _write_layout(self, found: FoundPlane, target: Path) -> str | None:
        """Write the picture of the empty layout, and return its path for the table file."""
        empty = self._request.empty
        layout = open_picture(empty) if empty else found.layout
        if layout is None:
            self._report("no picture of the empty layout is kept; --empty gives one")
            return None
        path = self._beside("layout.jpg")
        write_whole(path, jpeg(layout, JPEG_QUALITY))
        return path.name if path.parent == target.parent else str(path)

    def _beside(self, name: str) -> Path:
        """Return the path of a new file that belongs to the table file."""
        return free_name(self.target.with_name(f"{self.target.stem}-{name}"))

    def _card_mm(self) -> tuple[float, float]:
        return POKER_MM if self._old is None else self._old.card_mm
