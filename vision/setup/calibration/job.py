"""Calibrate one table file: find the plane, find the places, judge both, write the file.

Findings are reported as lines of text. The caller shows them, and asks before it has a table file
written over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

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
    from_points,
    from_source,
    open_picture,
)
from vision.setup.calibration.places import aligned, drawn, marked, view_of, view_section
from vision.setup.calibration.solver import upright
from vision.sight.geometry.plane import POKER_MM, Homography, Image, Points, TableView
from vision.sight.quality.camera_position import CameraShift, ReferenceLayout

# A plane that may be further off than this at the slots, mm (1 sigma), is refused: card outlines
# are compared with slots to a few millimetres. Larger, cards near a slot's edge fall into another.
MOST_UNSURE_MM = 1.0
# Where the new view puts known slots further off than this, mm, a person is warned: about a sixth
# of a card's long side, more than a camera moves by itself.
FAR_MM = 15.0
# Quality of the JPEGs kept beside the table file: no block edges that the camera's shift would see.
JPEG_QUALITY = 92


@dataclass(eq=False)
class Calibration:
    """The calibration of one table file; ConfigurationError where what is asked makes no sense.

    The plane comes from `pictures` of the marker sheet, from a `source` before which it is moved
    about ("" for the table's own camera), or from `points` (x px, y px, x mm, y mm each). `marks`
    are places by name: x px, y px and, at will, an angle in degrees. `line_mm` is the true length
    of the sheet's printed line, `no_lens` takes the lens as perfect. `report` gets what is found.
    """

    table: Path
    report: Callable[[str], None]
    pictures: Sequence[Path] = ()
    source: str | None = None
    points: Sequence[tuple[float, float, float, float]] = ()
    marks: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    no_lens: bool = False
    line_mm: float = LINE_MM
    empty: Path | None = None
    out: Path | None = None

    def __post_init__(self) -> None:
        self._file = TableFile(self.table)
        self._old = self._old_view()
        camera = self._file.camera(source=self.source or "0")
        other = {"source": self.source} if self.source else {}
        self._camera = camera.model_copy(update=other)
        # Points cannot show what the lens does: with them the known one is kept.
        kept = self._old.lens if self._old and self.points and not self.no_lens else None
        self._known_lens = None if kept is None else kept.lens()

    @property
    def target(self) -> Path:
        """Where the table file is to be written."""
        return self.out or self.table

    def find(self) -> tuple[TableView, FoundPlane]:
        """Find plane and places, and draw them beside the table file.

        OutsideError where they are not good enough.
        """
        found = self._plane()
        for line in found.words:
            self.report(line)
        view = self._view(found)
        self._judge(found, view)
        path = self._beside("calibration.jpg")
        write_whole(path, jpeg(drawn(found.picture, view, found.outlines), JPEG_QUALITY))
        self.report(f"picture: {path} shows it all drawn: look at it")
        return view, found

    def write(self, view: TableView, found: FoundPlane, target: Path) -> None:
        """Write the table file to `target`, and the picture of the empty layout beside it."""
        height, width = found.picture.shape[:2]
        section = view_section(view, (width, height))
        section["layout"] = self._write_layout(found, target)
        if len(self.marks) > len(Slot):
            section["template"] = None
        # A file that names no source yet gets the one that was calibrated.
        named = "source" in self._file.section("camera")
        source = {} if named else {"source": self._camera.source}
        self._file.change("camera", {**source, "width": width, "height": height})
        self._file.change("view", section)
        kept = self._file.write(target)
        self.report(f"wrote {target}" + (f"; the one before is {kept}" if kept else ""))

    def _plane(self) -> FoundPlane:
        ways = (self.pictures and not self.points, self.source is not None, self.points)
        if sum(map(bool, ways)) != 1:
            raise ConfigurationError(
                "calibrate: give one of these to find the plane from: pictures of the sheet, "
                "--source or --points; shoe-reader setup leads through it"
            )
        if self.points:
            given = self.pictures
            image = open_picture(given[0]) if given else first_frame(self._camera).image
            return from_points(self.points, image, self._known_lens)
        sheets = Sheets(self.line_mm / LINE_MM)
        for path in self.pictures:
            sheets.add(open_picture(path), str(path))
        if self.source is not None:
            from_source(self._camera, sheets, self.report)
        return sheets.found(self._known_lens, fit_lens=not self.no_lens)

    def _view(self, found: FoundPlane) -> TableView:
        """Return the view: the plane in its frame, and the places that are known."""
        height, width = found.picture.shape[:2]
        plane, old, areas = found.plane, self._old, dict[str, Points]()
        if old is not None:
            plane = plane if self.points else self._in_old_frame(found, old)
            areas |= old.table_view().areas
        elif not self.points:
            plane = upright(plane, (width, height))
        card_mm = POKER_MM if old is None else old.card_mm
        areas |= marked(self.marks, plane, card_mm)
        return view_of(areas, plane, card_mm)

    def _in_old_frame(self, found: FoundPlane, old: ViewSection) -> Homography:
        plane, apart = aligned(found.plane, old, self._shift(found.layout, old))
        if old.template:
            self.report("areas: not measured yet: drag them into place on the set-up page")
            return plane
        self.report(
            f"slots: kept from {self.table}; the view there differs by up to {apart:.1f} mm"
        )
        if apart > FAR_MM:
            self.report("  that is much: see in the picture whether the slots are right")
        return plane

    def _shift(self, layout: Image | None, old: ViewSection) -> CameraShift | None:
        """Return how far the camera has moved since the table file's own calibration."""
        if layout is None or not old.layout or not Path(old.layout).exists():
            return None
        shift = ReferenceLayout(open_picture(Path(old.layout)), old.table_view()).shift(layout)
        if shift is not None:
            self.report(f"camera: moved by {shift.worst_mm:.1f} mm since the last calibration")
        return shift

    def _judge(self, found: FoundPlane, view: TableView) -> None:
        if found.fit is None:
            return
        middles = np.array([area.mean(axis=0) for area in view.slots.values()], np.float32)
        unsure = float(found.fit.uncertainty_mm(view.homography.to_px(middles)).max())
        self.report(f"at the slots: sure to {unsure:.2f} mm (1 sigma)")
        if unsure > MOST_UNSURE_MM:
            raise OutsideError(
                f"the plane is known to {unsure:.1f} mm only at the slots ({MOST_UNSURE_MM:g} mm "
                "is the limit): add pictures with the sheet at other positions, some near the "
                "slots and some near the picture's edges; with a lens known to be good, --no-lens"
            )

    def _old_view(self) -> ViewSection | None:
        """Return the view of the table file, `None` where it has none that can be used."""
        section = self._file.section("view")
        try:
            view = ViewSection.model_validate(section, context={"folder": self.table.parent})
            view.plane()
        except ValueError as error:
            if section:
                self.report(
                    f"{self.table}: [view] cannot be used and is made again "
                    f"({type(error).__name__})"
                )
            return None
        return view

    def _write_layout(self, found: FoundPlane, target: Path) -> str | None:
        """Write the picture of the empty layout, and return its path for the table file."""
        layout = open_picture(self.empty) if self.empty else found.layout
        if layout is None:
            self.report("no picture of the empty layout is kept; --empty gives one")
            return None
        path = self._beside("layout.jpg")
        write_whole(path, jpeg(layout, JPEG_QUALITY))
        return path.name if path.parent == target.parent else str(path)

    def _beside(self, name: str) -> Path:
        """Return the path of a new file that belongs to the table file."""
        return free_name(self.target.with_name(f"{self.target.stem}-{name}"))
