"""The view of a calibrated table: the frame of its millimetres, and slots, mouth and discard.

A new plane is turned and shifted so that places that are known stay where they are. All is drawn
on the picture it was made from, for people to look at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import cv2
import numpy as np

from vision.config.editor import areas_section, plane_section
from vision.config.table import ViewSection
from vision.errors import ConfigurationError
from vision.game.events import Slot
from vision.setup.calibration.solver import Size, in_frame, rigid
from vision.sight.geometry.plane import (
    POKER_MM,
    Homography,
    Image,
    Points,
    Pose,
    TableView,
    card_rectangle,
)
from vision.sight.quality.camera_position import CameraShift

# A slot is larger than a card by this on every side, mm: dealers lay cards down that exactly.
ROOM_MM = 8.0
# Size of a marked mouth and discard, mm: the width of a shoe's opening, a pile of cards.
MOUTH_MM, DISCARD_MM = (120.0, 120.0), (150.0, 150.0)
# The usual layout, for a table that nobody has measured yet: its size and the middles of its
# areas, mm. A person drags it into place; another one would only be dragged further.
TEMPLATE_MM = (1200.0, 700.0)
TEMPLATE = {
    "PUNTO_1": (345.0, 340.0),
    "PUNTO_2": (445.0, 340.0),
    "PUNTO_3": (395.0, 460.0),
    "BANCO_1": (745.0, 340.0),
    "BANCO_2": (845.0, 340.0),
    "BANCO_3": (795.0, 460.0),
    "MOUTH": (1080.0, 140.0),
    "DISCARD": (110.0, 140.0),
}
TEMPLATE_SHARE = 0.85  # of the picture that the template takes up, so that its corners can be seen
# Distance between grid lines, and between those with figures, mm.
GRID_MM, BOLD_MM = 50, 200
# Lines farther away are not drawn, mm: a camera that sees the horizon has many.
DRAWN_MM = 3000
# Points by which a line is drawn: a lens bends it.
STEPS = 24
Colour = tuple[int, int, int]
GRID, FAINT = (170, 170, 170), (130, 130, 130)
SLOT, CARD = (80, 255, 255), (80, 255, 80)
MOUTH, DISCARD = (80, 160, 255), (255, 170, 80)


def aligned(
    plane: Homography, view: ViewSection, shift: CameraShift | None
) -> tuple[Homography, float]:
    """Return a new plane in the frame of a table file, and how far the two disagree, mm.

    The camera may have moved since: `shift` has where the slots are now seen by the old plane.
    """
    old = view.plane()
    here = {slot: np.mean(area, axis=0) for slot, area in view.slots_mm.items()}
    moved = {} if shift is None else shift.at
    there = np.array([mm + np.array(moved.get(slot, (0, 0))) for slot, mm in here.items()])
    seen = plane.to_mm(old.to_px(there))
    kept = np.array(list(here.values()))
    frame = rigid(seen, kept)
    return in_frame(plane, frame), float(np.linalg.norm(frame.apply(seen) - kept, axis=1).max())


def marked(
    marks: Mapping[str, tuple[float, ...]], plane: Homography, card_mm: tuple[float, float]
) -> dict[str, Points]:
    """Return places marked in the picture as polygons in mm, by name.

    A mark is x, y in pixels and, for a slot, the angle of its cards' long side in degrees as seen
    (90 upright; without one 90, and 0 for third cards).
    """
    names = [*(slot.name for slot in Slot), "MOUTH", "DISCARD"]
    out: dict[str, Points] = {}
    for name, mark in marks.items():
        if name not in names:
            raise ConfigurationError(f"--place {name}: no such place; there are {', '.join(names)}")
        x, y = plane.to_mm([mark[0], mark[1]]).tolist()
        usual = 0.0 if name.endswith("_3") or name in {"MOUTH", "DISCARD"} else 90.0
        pose = Pose(x, y, mark[2] if len(mark) > 2 else usual)
        slot_mm = (card_mm[0] + 2 * ROOM_MM, card_mm[1] + 2 * ROOM_MM)
        sizes = {"MOUTH": MOUTH_MM, "DISCARD": DISCARD_MM}
        out[name] = card_rectangle(pose, sizes.get(name, slot_mm))
    return out


def view_of(
    areas: Mapping[str, Points], plane: Homography, card_mm: tuple[float, float]
) -> TableView:
    """Return the view of a table with areas by name; ConfigurationError names those not given."""
    missing = [name for name in (*(slot.name for slot in Slot), "MOUTH") if name not in areas]
    if missing:
        raise ConfigurationError(
            f"these areas are unknown: {', '.join(missing)}; begin with shoe-reader setup, or mark "
            "each in the picture with --place NAME=X,Y"
        )
    slots = {slot: areas[slot.name] for slot in Slot}
    return TableView(plane, slots, areas["MOUTH"], areas.get("DISCARD"), card_mm)


def template(size: Size) -> dict[str, Any]:
    """Return the view of a table that nobody has measured yet, for pictures of a size (px)."""
    table = np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) * TEMPLATE_MM
    scale = TEMPLATE_SHARE * float((np.array(size) / TEMPLATE_MM).min())
    pixels = np.round((table - np.array(TEMPLATE_MM) / 2) * scale + np.array(size) / 2)
    plane = Homography.fit(pixels, table)
    middles = {name: tuple(plane.to_px(middle).tolist()) for name, middle in TEMPLATE.items()}
    view = view_of(marked(middles, plane, POKER_MM), plane, POKER_MM)
    corners = {"image_px": pixels.tolist(), "table_mm": table.tolist()}
    return {"template": True, **view_section(view, size), **corners}


def view_section(view: TableView, size: Size) -> dict[str, Any]:
    """Return the view as a table file holds it; keys with the value `None` are to be removed."""
    found, lens = None, view.homography.lens
    if lens is not None:
        factors = {name: round(getattr(lens, name), 6) for name in ("k1", "k2", "p1", "p2")}
        found = {"focal_px": lens.focal_px, "centre_px": list(lens.centre_px), **factors}
    return {
        **plane_section(view.homography, size),
        "card_mm": list(view.card_mm),
        "discard_mm": None,
        **areas_section(view.areas),
        "lens": found,
    }


def drawn(image: Image, view: TableView, seen: Sequence[Points]) -> Image:
    """Return the picture with grid, slots, mouth, discard, and a card's outline in each slot.

    `seen` are outlines (4 x 2 px) of what the plane was fitted to.
    """
    picture = np.asarray(image // 4 * 3, np.uint8)
    _grid(picture, view)
    for outline in seen:
        _stroke(picture, outline, (255, 80, 255))
    areas = [(area, SLOT, slot.name) for slot, area in view.slots.items()]
    areas += [(view.rectangle(_lying(area)), CARD, "") for area in view.slots.values()]
    areas += [(view.mouth, MOUTH, "mouth")]
    areas += [] if view.discard is None else [(view.discard, DISCARD, "discard")]
    for area, colour, name in areas:
        around = zip(area, np.roll(area, -1, axis=0), strict=True)
        points = np.concatenate([np.linspace(start, end, STEPS) for start, end in around])
        pixels = view.homography.to_px(points)
        _stroke(picture, pixels, colour)
        _words(picture, name, pixels.min(axis=0) - (0, 4 * _scale(picture)), colour, 0.55)
    return picture


def _lying(area: Points) -> Pose:
    """Return a card in the middle of a slot, along its longer side."""
    (x, y), (width, height), angle = cv2.minAreaRect(np.asarray(area, np.float32))
    return Pose(x, y, (angle if width > height else angle + 90.0) % 180.0)


def _grid(picture: Image, view: TableView) -> None:
    """Draw lines of whole millimetres, the round ones with their figures."""
    height, width = picture.shape[:2]
    plane = view.homography
    corners = plane.to_mm([[0, 0], [width, 0], [width, height], [0, height]])
    low, high = np.clip([corners.min(axis=0), corners.max(axis=0)], -DRAWN_MM, DRAWN_MM)
    first = np.ceil(low / GRID_MM) * GRID_MM + 0.0  # -0 would be written so
    xs, ys = (np.arange(first[i], high[i], GRID_MM) for i in (0, 1))
    lines = [((x, low[1]), (x, high[1]), x) for x in xs]
    lines += [((low[0], y), (high[0], y), y) for y in ys]
    for start, end, at in lines:
        points = plane.to_px(np.linspace(start, end, 2 * STEPS))
        _stroke(picture, points, GRID if at % BOLD_MM == 0 else FAINT, 1, closed=False)
    for x, y in product(xs[xs % BOLD_MM == 0], ys[ys % BOLD_MM == 0]):
        _words(picture, f"{x:.0f},{y:.0f}", plane.to_px([x, y]), GRID, 0.4)


def _scale(picture: Image) -> float:
    return float(max(picture.shape[:2])) / 1400


def _stroke(
    picture: Image, line: Points, colour: Colour, weight: int = 2, *, closed: bool = True
) -> None:
    thick = max(1, round(weight * _scale(picture)))
    eighths = np.round(np.clip(line, -20000, 20000) * 8).astype(np.int32)
    cv2.polylines(picture, [eighths], closed, colour, thick, cv2.LINE_AA, 3)


def _words(picture: Image, text: str, place: Points, colour: Colour, size: float) -> None:
    scale, corner = _scale(picture), (int(place[0]) + 2, int(place[1]))
    for tint, weight in (((0, 0, 0), 4), (colour, 1)):
        thick = max(1, round(weight * scale))
        font = cv2.FONT_HERSHEY_SIMPLEX
        cv2.putText(picture, text, corner, font, size * scale, tint, thick, cv2.LINE_AA)
