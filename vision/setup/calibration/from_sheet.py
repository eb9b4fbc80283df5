"""Find the table plane from pictures of the marker sheet, or from measured points.

The fit is judged: an OutsideError says what to do where it is not good enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.camera.source import frames, is_live
from vision.config.errors import is_flat
from vision.config.table import CameraSection
from vision.errors import ConfigurationError, OutsideError
from vision.pictures import decode_picture
from vision.setup.calibration.solver import PlaneFit, Thing, Vector, fit
from vision.sight.geometry.plane import Homography, Image, Lens, Points
from vision.sight.quality.view import SHARP_SHARE, focus

# The board: the largest of whole squares on both papers; a marker needs a white rim in its square.
# A sheet printed with other values is not found.
COLUMNS, ROWS = 6, 8
SQUARE_MM, MARKER_MM = 30, 24
SIZE_MM = (COLUMNS * SQUARE_MM, ROWS * SQUARE_MM)
# Intended length of the printed line by which a person checks the print's scale.
LINE_MM = 100.0
# Corners that a picture needs: of 35, enough for a plane although a hand covers most of the sheet.
# Fewer, and a wrong corner weighs too much.
LEAST_CORNERS = 8


class NotSeenError(ValueError):
    """The sheet cannot be used from this picture; the message says why and what to do."""


def board() -> cv2.aruco.CharucoBoard:
    """Return the board as OpenCV has it, in millimetres."""
    words = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_4X4_50)
    return cv2.aruco.CharucoBoard((COLUMNS, ROWS), SQUARE_MM, MARKER_MM, words)


def sheet_pdf() -> bytes:
    """Return a PDF with the sheet on each paper, and a line of LINE_MM that checks the print.

    `python -m tests.setup.calibration.draw_sheet` has drawn it.
    """
    return Path(__file__).with_name("sheet.pdf").read_bytes()


def find(image: Image, *, name: str = "", scale: float = 1.0) -> Thing:
    """Find the sheet in a picture (H x W x 3, BGR).

    `scale` is the sheet's true size over the intended one. NotSeenError says why it cannot be used.
    """
    grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    corners, numbers, _, markers = cv2.aruco.CharucoDetector(board()).detectBoard(grey)
    seen = 0 if markers is None else len(markers)
    if corners is None or numbers is None or len(corners) < LEAST_CORNERS:
        raise NotSeenError(_why_unseen(grey, seen, 0 if corners is None else len(corners)))
    grid = np.asarray(board().getChessboardCorners(), np.float64)[numbers.ravel(), :2] * scale
    if np.linalg.svd(grid - grid.mean(axis=0), compute_uv=False)[1] < SQUARE_MM:
        raise NotSeenError("too little of the sheet is in sight: a single row; uncover it")
    # OpenCV counts from the middle of the first pixel, this program from its corner.
    return Thing(grid, corners.reshape(-1, 2).astype(np.float64) + 0.5, name)


def _why_unseen(grey: NDArray[np.integer | np.floating], markers: int, corners: int) -> str:
    total = COLUMNS * ROWS // 2
    if markers:
        return (
            f"only {markers} of the sheet's {total} markers and {corners} of its corners are seen "
            f"({LEAST_CORNERS} corners are needed): bring the whole sheet into the picture, take "
            "away what covers it, and see that no lamp shines on it"
        )
    if focus(grey) < SHARP_SHARE:
        return "no marker is seen, and the picture is blurred: focus the lens, keep the sheet still"
    return (
        "no marker is seen: lay the printed sheet flat on the table, face up and wholly in the "
        "picture; a square of it should be 25 pixels or wider"
    )


# A sheet whose corners are further off a flat plane than this, mm (root mean square), has waves, or
# the camera moved. Flat sheets come to some hundredths of a millimetre on simulated tables.
MOST_MISFIT_MM = 1.0
# The same for measured points: what a person reads off a tape and a picture.
MOST_POINT_MISFIT_MM = 3.0
# Pictures that the median of an empty layout is made of; more only take memory.
LAYOUT_PICTURES = 15
# A source is looked at this often, ms.
LOOK_EVERY_MS = 200
# The sheet lies still when no corner moved further since the last look, px.
STILL_PX = 0.5
# The sheet lies at a new place when its middle is this far from all places before, px; smaller, and
# places tell the fit nothing new.
NEW_PLACE_PX = 60.0
# Places that are enough for the fullest lens model; a live source ends with them.
PLACES_WANTED = 10
# A live source ends after this time, ms.
LIVE_LIMIT_MS = 180_000


@dataclass(frozen=True, slots=True, eq=False)
class FoundPlane:
    """A plane, how it was found, and the lines that report it.

    `picture` is one to draw on, `layout` shows the table empty, where that could be had; `outlines`
    are what the plane was fitted to (n x 2 px each). `fit` gives the uncertainty of the plane.
    """

    plane: Homography
    picture: Image
    words: tuple[str, ...]
    fit: PlaneFit | None = None
    layout: Image | None = None
    outlines: tuple[Points, ...] = ()


@dataclass(slots=True, eq=False)
class Sheets:
    """Pictures of the sheet, as they are gathered."""

    scale: float = 1.0
    things: list[Thing] = field(default_factory=list)
    images: list[Image] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def add(self, image: Image, name: str) -> None:
        """Look for the sheet in a picture; why it cannot be used is kept."""
        if self.images and image.shape != self.images[0].shape:
            raise ConfigurationError(
                f"{name}: is {_size(image)}, but the pictures before it are "
                f"{_size(self.images[0])}; give pictures of one camera, as the reader receives them"
            )
        self.images.append(image)
        try:
            self.things.append(find(image, name=name, scale=self.scale))
        except NotSeenError as error:
            self.failures.append(f"{name}: {error}")

    def found(self, lens: Lens | None, *, fit_lens: bool) -> FoundPlane:
        """Return the plane; OutsideError where the pictures do not give one."""
        if not self.things:
            raise OutsideError("\n".join(self.failures) or "no pictures of the sheet")
        height, width = self.images[0].shape[:2]
        things = (
            self.things
            if lens is None
            else [
                replace(thing, seen_px=lens.straighten(thing.seen_px).astype(np.float64))
                for thing in self.things
            ]
        )
        # The fullest lens model (an index of LENSES) that so many pictures can determine.
        fullest = 1 if len(things) < 4 else 2 if len(things) < 6 else 3
        fitted = fit(things, (width, height), lenses=fullest if fit_lens else 0)
        self._judge(misfit := fitted.misfit_mm)
        plane = Homography(fitted.plane.matrix, lens) if lens else fitted.plane
        words = (
            f"sheet: found in {len(self.things)} of {len(self.images)} pictures",
            *self.failures,
            lens_words(plane, (width, height)),
            f"plane: misfit {_rms(misfit):.2f} mm, worst picture {misfit.max():.2f} mm",
        )
        hulls = (cv2.convexHull(thing.seen_px.astype(np.float32)) for thing in self.things)
        outlines = tuple(np.asarray(hull, np.float32)[:, 0] for hull in hulls)
        layout = empty(self.images) if len(self.images) >= 3 else None
        return FoundPlane(plane, self.images[0], words, fitted, layout, outlines)

    def _judge(self, misfit_mm: Vector) -> None:
        worst = int(misfit_mm.argmax())
        if misfit_mm[worst] <= MOST_MISFIT_MM:
            return
        what = "lies flat on the table, and that the camera did not move between the pictures"
        if len(self.things) == 1:
            what = "lies flat on the table, without waves or folds"
        raise OutsideError(
            f"{self.things[worst].name}: the sheet's corners are {misfit_mm[worst]:.1f} mm "
            f"off a flat table ({MOST_MISFIT_MM:g} mm is the limit): check that the sheet {what}; "
            "take the picture again, or leave it out"
        )

    def lies_still(self, thing: Thing, before: Thing | None) -> bool:
        """Whether a sheet lies where it lay at the look before, and lay at no place before that."""
        if before is None or thing.seen_px.shape != before.seen_px.shape:
            return False
        moved = np.linalg.norm(thing.seen_px - before.seen_px, axis=1).max()
        middle = thing.seen_px.mean(axis=0)
        away = (np.linalg.norm(middle - known.seen_px.mean(axis=0)) for known in self.things)
        return bool(moved < STILL_PX) and all(far > NEW_PLACE_PX for far in away)


def from_source(camera: CameraSection, sheets: Sheets, report: Callable[[str], None]) -> None:
    """Gather pictures from a camera or video before which the sheet is moved about.

    Each place where the sheet lay still is reported. A live source ends when the sheet has lain at
    enough places, or after three minutes. OutsideError where the sheet is never seen lying still.
    """
    before: Thing | None = None
    image: Image | None = None
    began, why = None, "no picture came"
    for frame in frames(camera, every_ms=LOOK_EVERY_MS):
        image, began = frame.image, frame.at if began is None else began
        if is_live(camera.source) and frame.at - began > LIVE_LIMIT_MS:
            break
        name = f"{camera.source} at {(frame.at - began) / 1000:.1f} s"
        try:
            thing = find(image, name=name, scale=sheets.scale)
        except NotSeenError as error:
            before, why = None, str(error)
            continue
        if sheets.lies_still(thing, before):
            sheets.things.append(thing)
            sheets.images.append(image)
            report(f"  place {len(sheets.things)}: {len(thing.form_mm)} corners ({name})")
        before = thing
        if len(sheets.things) >= PLACES_WANTED:
            break
    if not sheets.things:
        still = "; where it was seen it did not lie still" if before else ""
        raise OutsideError(f"{camera.source}: {why}{still}")
    if image is not None:
        sheets.images.append(image)


def from_points(
    pairs: Sequence[tuple[float, float, float, float]], picture: Image, lens: Lens | None
) -> FoundPlane:
    """Return the plane through measured points (x px, y px, x mm, y mm each)."""
    table = np.array(pairs, np.float64)
    height, width = picture.shape[:2]
    outside = [p for p in pairs if not (0 <= p[0] <= width and 0 <= p[1] <= height)]
    if outside:
        x, y = outside[0][:2]
        raise ConfigurationError(
            f"--points: ({x:g}, {y:g}) px lies outside the picture ({width} x {height} px); read "
            "the points off a picture of the camera's full size"
        )
    try:
        plane = Homography.fit(table[:, :2], table[:, 2:], lens)
    except ValueError as error:
        raise ConfigurationError(
            f"--points: {error}; give four or more points that span the layout, no three in a line"
        ) from error
    if len(pairs) == 4 and any(is_flat(side.astype(np.float32)) for side in np.hsplit(table, 2)):
        raise ConfigurationError(
            "--points: three of the four points lie on one line: give four corners of a rectangle"
        )
    off = np.linalg.norm(plane.to_mm(table[:, :2]) - table[:, 2:], axis=1)
    if len(pairs) > 4 and off.max() > MOST_POINT_MISFIT_MM:
        worst = pairs[int(off.argmax())]
        raise ConfigurationError(
            f"--points: {worst[0]:g},{worst[1]:g}={worst[2]:g},{worst[3]:g} is {off.max():.1f} mm "
            "off the plane of the others: measure it again, or leave it out"
        )
    known = (
        f"misfit {_rms(off):.2f} mm" if len(pairs) > 4 else "four points leave no misfit to measure"
    )
    return FoundPlane(plane, picture, (f"plane: {len(pairs)} points, {known}",))


def empty(images: Sequence[Image]) -> Image:
    """Return the median picture, without the cards and hands that come and go."""
    step = max(1, len(images) // LAYOUT_PICTURES)
    return cast(Image, np.median(np.stack(images[::step]), axis=0).astype(np.uint8))


def open_picture(path: Path) -> Image:
    """Return a picture (H x W x 3, BGR); ConfigurationError where the file is none."""
    try:
        image = decode_picture(path.read_bytes())
    except OSError as error:
        raise ConfigurationError(
            f"{path}: {error.strerror}; give pictures of the sheet as JPEG, PNG, WebP or BMP files"
        ) from error
    if image is None:
        raise ConfigurationError(f"{path}: is not a picture; give a JPEG, PNG, WebP or BMP file")
    return image


def lens_words(plane: Homography, size: tuple[int, int]) -> str:
    """Return in words what a lens does to the picture."""
    if plane.lens is None:
        return "lens: no distortion that could be measured"
    ends = np.array([[0, 0], [size[0], 0], [size[0], size[1]], [0, size[1]]], np.float64)
    off = np.linalg.norm(plane.lens.straighten(ends) - ends, axis=1).max()
    lens = plane.lens
    return (
        f"lens: k1 {lens.k1:.4f}, k2 {lens.k2:.4f}, p1 {lens.p1:.4f}, p2 {lens.p2:.4f} for "
        f"{lens.focal_px:.0f} px; moves the picture's corners by {off:.0f} px"
    )


def _rms(values: Vector) -> float:
    return float(np.sqrt((values**2).mean()))


def _size(image: Image) -> str:
    return f"{image.shape[1]} x {image.shape[0]} px"
