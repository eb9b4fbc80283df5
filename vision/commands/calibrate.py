"""`shoe-reader calibrate`: where the table lies in the picture, and the places on it.

Puts together how the plane is found, how the places are, and what is written; asks before it
writes over a table file.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
from pydantic import ValidationError

from vision.config.editor import TableFile
from vision.config.errors import explain
from vision.config.table import CameraSection, ViewSection
from vision.errors import ConfigurationError, OutsideError
from vision.files import write_whole
from vision.setup.calibration.from_play import from_play
from vision.setup.calibration.from_sheet import (
    Found,
    Sheets,
    from_pictures,
    from_points,
    from_source,
    looks,
    open_picture,
)
from vision.setup.calibration.marker_sheet import LINE_MM, SIZE_MM, black_boxes
from vision.setup.calibration.marker_sheet_pdf import sheet_pdf
from vision.setup.calibration.overlay import drawn
from vision.setup.calibration.places import (
    FAR_MM,
    Places,
    aligned,
    fresh,
    from_marks,
    marked,
    places_of,
    view_section,
)
from vision.sight.geometry.frame import Image
from vision.sight.geometry.plane import POKER_MM, Homography, Lens, TableView
from vision.sight.quality.camera_position import CameraShift, ReferenceLayout


def pair(text: str) -> tuple[float, float, float, float]:
    """Read a point in the picture and on the table, x,y=x,y."""
    number = r"\s*(-?\d+(?:\.\d+)?)\s*"
    match = re.fullmatch(f"{number},{number}={number},{number}", text)
    if not match:
        raise argparse.ArgumentTypeError(
            f"'{text}' is no pair; write pixels=mm as 812,400=350,262.5"
        )
    x, y, table_x, table_y = map(float, match.groups())
    return x, y, table_x, table_y


def place(text: str) -> tuple[str, tuple[float, ...]]:
    """Read a place: its name, its middle in the picture and, at will, a direction."""
    name, _, numbers = text.partition("=")
    try:
        values = tuple(float(part) for part in numbers.split(","))
    except ValueError:
        values = ()
    if len(values) not in {2, 3}:
        raise argparse.ArgumentTypeError(
            f"'{text}' is no place; write PUNTO_1=812,400 or =812,400,90"
        )
    return name.strip().upper(), values


def number(least: float) -> Callable[[str], float]:
    """Return the reading of a number from `least` to 1000."""

    def read(text: str) -> float:
        value = float(text)
        if not least <= value <= 1000:
            raise argparse.ArgumentTypeError(f"{text} is out of range; {least:g} to 1000")
        return value

    return read


HELP = "find the table plane, the lens and the places, and write them into the table file"
MOST_UNSURE_MM = 1.0  # mm at a slot, beyond which people are warned: a few % of a card; chosen


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add = parser.add_argument
    add("table", type=Path, nargs="?", metavar="TABLE.toml", help="the table file, old or new")
    add("pictures", type=Path, nargs="*", metavar="PICTURE", help="pictures of the marker sheet")
    add("--sheet", type=Path, metavar="F.pdf", help="write the marker sheet to print, and end")
    add("--source", metavar="S", nargs="?", const="", help="watch this source (none named: the "
        "table's camera) while the sheet is moved about")  # fmt: skip
    add("--points", nargs="+", type=pair, metavar="X,Y=X,Y",
        help="four or more points instead of the sheet: pixels = millimetres")  # fmt: skip
    add("--from-play", metavar="S", help="propose everything from the first hands dealt there")
    add("--minutes", type=number(0.2), default=5.0, metavar="M", help="how long to watch (5)")
    add("--place", action="append", default=[], type=place, metavar="NAME=X,Y[,DEG]",
        help="a place's middle in the picture: a slot's name, MOUTH or DISCARD")  # fmt: skip
    add("--line", type=number(50), default=LINE_MM, metavar="MM",
        help="true length of the printed line (100)")  # fmt: skip
    lens = parser.add_mutually_exclusive_group()
    lens.add_argument("--no-lens", action="store_true", help="take the lens as perfect")
    lens.add_argument("--keep-lens", action="store_true", help="keep the lens of the table file")
    add("--empty", type=Path, metavar="PICTURE", help="a picture of the empty layout, to be kept")
    add("--out", type=Path, metavar="F.toml", help="write here instead of over TABLE.toml")
    add("--yes", action="store_true", help="write over the table file without asking")


def run(args: argparse.Namespace) -> int:
    """Find, show, ask, write."""
    if args.sheet:
        return _print_sheet(args.sheet)
    if args.table is None:
        raise ConfigurationError(
            "calibrate: give the table file and what to calibrate from (pictures of the sheet, "
            "--source, --points or --from-play), or --sheet F.pdf to print the sheet first"
        )
    job = _Job(args)
    found, proposed = job.find()
    for line in found.words:
        print(line)
    view = job.view(found, proposed)
    picture = job.beside("calibration.jpg")
    _write_picture(picture, drawn(found.picture, view, found.outlines))
    print(f"picture: {picture} shows it all drawn: look at it")
    return job.write(view, found)


class _Job:
    """One calibration of one table file."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args
        self._file = TableFile(args.table)
        folder = {"folder": args.table.parent}
        self._old = _old_view(self._file, folder)
        self._camera = self._camera_of(folder)
        self._lens = self._known_lens()

    def find(self) -> tuple[Found, Places | None]:
        """Return the plane and, where play was watched, the places proposed in it."""
        args = self._args
        ways = [bool(args.pictures) and not args.points, args.source is not None, bool(args.points)]
        if sum(ways) > 1 or not (any(ways) or args.from_play):
            raise ConfigurationError(
                "calibrate: give one of these to find the plane from: pictures of the sheet, "
                "--source, --points, or --from-play alone"
            )
        found = self._plane() if any(ways) else None
        if not args.from_play:
            assert found is not None  # noqa: S101
            return found, None
        plane = None if found is None else found.plane
        played = from_play(
            self._camera_at(args.from_play), self._card_mm(), args.minutes, plane=plane
        )
        if found is not None:
            words = (*found.words, *played.found.words)
            layout = played.found.layout
            return Found(plane or played.found.plane, played.found.picture, words, found.fit,
                         layout, found.outlines), played.places  # fmt: skip
        return played.found, played.places

    def _plane(self) -> Found:
        args = self._args
        if args.points:
            image = open_picture(args.pictures[0]) if args.pictures else self._one_picture()
            return from_points(args.points, image, self._lens)
        sheets = Sheets(args.line / LINE_MM)
        free = not (args.no_lens or args.keep_lens)
        if args.pictures:
            return from_pictures(args.pictures, sheets, self._lens, fit_lens=free)
        camera = self._camera_at(args.source) if args.source else self._camera
        return from_source(camera, sheets, self._lens, fit_lens=free)

    def view(self, found: Found, proposed: Places | None) -> TableView:
        """Return the view: the plane in its frame, and the places that are known or proposed."""
        height, width = found.picture.shape[:2]
        plane, places = found.plane, proposed
        if proposed is None and self._old is not None:
            if not self._args.points:
                plane = self._in_old_frame(found)
            places = places_of(self._old)
        elif proposed is None and not self._args.points:
            plane = fresh(plane, (width, height))
        marks = marked(dict(self._args.place), plane, self._card_mm())
        places = from_marks(marks) if places is None else places | marks
        view = places.view(plane, self._card_mm())
        self._judge(found, view)
        return view

    def _in_old_frame(self, found: Found) -> Homography:
        assert self._old is not None  # noqa: S101
        plane, apart = aligned(found.plane, self._old, self._shift(found.layout))
        print(f"slots: kept from {self._file.path}; the view there differs by up to {apart:.1f} mm")
        if apart > FAR_MM:
            print("  that is much: see in the picture whether the slots are right, or --from-play")
        return plane

    def _shift(self, layout: Image | None) -> CameraShift | None:
        """Return how far the camera has moved since the table file's own calibration."""
        old = self._old
        if layout is None or old is None or not old.layout or not Path(old.layout).exists():
            return None
        before = ReferenceLayout(open_picture(Path(old.layout)), old.table_view())
        shift = before.shift(layout)
        if shift is not None:
            print(f"camera: moved by {shift.worst_mm:.1f} mm since the last calibration")
        return shift

    def _judge(self, found: Found, view: TableView) -> None:
        if found.fit is None:
            return
        middles = np.array([area.mean(axis=0) for area in view.slots.values()], np.float32)
        unsure = float(found.fit.uncertainty_mm(view.homography.to_px(middles)).max())
        print(f"at the slots: sure to {unsure:.2f} mm (1 sigma)")
        if unsure > MOST_UNSURE_MM:
            raise OutsideError(
                f"the plane is sure to {unsure:.1f} mm only at the slots ({MOST_UNSURE_MM:g} mm "
                "is the limit): add pictures with the sheet at other places, some near the slots "
                "and some near the picture's edges; with a lens known to be good, --no-lens"
            )

    def write(self, view: TableView, found: Found) -> int:
        """Write the table file, or a proposal beside it where nobody can be asked."""
        height, width = found.picture.shape[:2]
        section = view_section(view, (width, height))
        layout = open_picture(self._args.empty) if self._args.empty else found.layout
        target = self._target()
        if target is None:
            print("nothing written")
            return 0
        if layout is not None:
            path = self.beside("layout.jpg")
            _write_picture(path, layout)
            section["layout"] = path.name if path.parent == target.parent else str(path)
        else:
            section["layout"] = None
            print("no picture of the empty layout is kept; --empty gives one")
        self._file.change("camera", {**self._new_camera(), "width": width, "height": height})
        self._file.change("view", section)
        kept = self._file.write(target)
        print(f"wrote {target}" + (f"; the one before is {kept}" if kept else ""))
        return 0

    def _target(self) -> Path | None:
        """Return where to write; `None` where the answer was no."""
        path: Path = self._args.out or self._file.path
        if not path.exists() or self._args.yes:
            return path
        if not sys.stdin.isatty():
            path = path.with_suffix(".proposed.toml")
            print(
                f"{self._file.path} is there already: the proposal goes beside it (--yes: over it)"
            )
            return path
        answer = input(f"write over {path}? The old one is kept as {path.name}.bak [y/N] ")
        return path if answer.strip().lower() in {"y", "yes"} else None

    def beside(self, name: str) -> Path:
        """Return the path of a file that belongs to the table file."""
        path: Path = self._args.out or self._file.path
        return path.with_name(f"{path.stem}-{name}")

    def _card_mm(self) -> tuple[float, float]:
        return POKER_MM if self._old is None else self._old.card_mm

    def _camera_at(self, source: str) -> CameraSection:
        """Return the settings of the table's camera for another source."""
        return self._camera.model_copy(update={"source": source})

    def _one_picture(self) -> Image:
        for image, _ in looks(self._camera, 0, 10_000):
            return image
        raise OutsideError(
            f"{self._camera.source}: no picture comes; name one after the table file"
        )

    def _known_lens(self) -> Lens | None:
        section = None if self._old is None else self._old.lens
        if self._args.keep_lens and section is None:
            raise ConfigurationError(
                f"--keep-lens: {self._file.path} has no [view.lens] yet; leave the option out"
            )
        keep = self._args.keep_lens or (self._args.points and not self._args.no_lens)
        return section.lens() if keep and section is not None else None

    def _camera_of(self, folder: dict[str, Path]) -> CameraSection:
        section = self._file.section("camera")
        source = self._args.source or self._args.from_play or "0"
        try:
            return CameraSection.model_validate({"source": source, **section}, context=folder)
        except ValidationError as error:
            raise ConfigurationError(explain(self._file.path, error, CameraSection)) from error

    def _new_camera(self) -> dict[str, str]:
        """Return the source for a file that names none."""
        return {} if "source" in self._file.section("camera") else {"source": self._camera.source}


def _old_view(file: TableFile, folder: dict[str, Path]) -> ViewSection | None:
    """Return the view of a table file, `None` where it has none that can be used."""
    section = file.section("view")
    try:
        view = ViewSection.model_validate(section, context=folder)
        view.plane()
    except (ValidationError, ValueError) as error:
        if section:
            print(f"{file.path}: [view] cannot be used and is made anew ({type(error).__name__})")
        return None
    return view


def _print_sheet(path: Path) -> int:
    pdf = sheet_pdf(black_boxes(), SIZE_MM, LINE_MM)
    write_whole(path, pdf)
    print(f"wrote {path}: print page 1 on A4 or page 2 on Letter, at 100 %, and check its line")
    return 0


def _write_picture(path: Path, image: Image) -> None:
    done, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 92])
    if not done:
        raise OutsideError(f"{path}: the picture could not be encoded")
    write_whole(path, data.tobytes())
