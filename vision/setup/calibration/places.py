"""The view of a calibrated table: the frame of its millimetres, and slots, mouth and discard.

A new plane is turned and shifted so that places that are known stay where they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vision.config.editor import areas_section, plane_section
from vision.config.table import ViewSection
from vision.errors import ConfigurationError
from vision.game.events import Slot
from vision.setup.calibration.solver import Size, in_frame, rigid
from vision.sight.geometry.plane import (
    POKER_MM,
    Homography,
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
        size = {"MOUTH": MOUTH_MM, "DISCARD": DISCARD_MM}.get(name) or with_room(card_mm)
        out[name] = card_rectangle(pose, size)
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


def with_room(card_mm: tuple[float, float]) -> tuple[float, float]:
    """Return the size of a slot for cards of a size, mm."""
    return card_mm[0] + 2 * ROOM_MM, card_mm[1] + 2 * ROOM_MM


def view_section(view: TableView, size: Size) -> dict[str, Any]:
    """Return the view as a table file holds it; keys with the value `None` are to be removed."""
    lens = view.homography.lens
    return {
        **plane_section(view.homography, size),
        "card_mm": list(view.card_mm),
        "discard_mm": None,
        **areas_section(view.areas),
        "lens": None
        if lens is None
        else {
            "focal_px": lens.focal_px,
            "centre_px": list(lens.centre_px),
            **{name: round(getattr(lens, name), 6) for name in ("k1", "k2", "p1", "p2")},
        },
    }
