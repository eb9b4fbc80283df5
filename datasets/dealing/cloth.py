"""Cloths of the simulated table: felt and the printed layout, seen by the camera."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import cv2
import numpy as np

from ..render.paint import Image, Points
from ..render.surfaces import felt
from .table_places import (
    FIELD_MM,
    RINGS_MM,
    SEATS_MM,
    SLOTS,
    Camera,
    Layout,
    on_ring,
)

Rng = np.random.Generator
Colour = tuple[float, float, float]
# Pixels a millimetre at which the cloth's print is drawn before the camera sees it, and how far the
# cloth goes on beyond the field, mm: a leaning camera sees more than the field.
_PX_PER_MM = 2.0
_MARGIN_MM = 70.0
# The word of a hand is printed this far above the middle of its slots, mm.
_ABOVE_SLOTS_MM = 72.0
_ROWS = ("EGALITE", "BANCO", "PUNTO")


@dataclass(frozen=True, slots=True)
class Cloth:
    """A table's cloth: felt and ink colours BGR, and its split."""

    split: str
    felt: Colour
    ink: Colour


# Colours are BGR.
TABLES: dict[str, Cloth] = {
    "jade": Cloth("test", (78, 104, 22), (190, 226, 236)),
    "plum": Cloth("test", (78, 34, 70), (150, 205, 235)),
    "slate": Cloth("test", (86, 72, 58), (235, 235, 230)),
    "green": Cloth("train", (52, 92, 28), (210, 235, 240)),
    "blue": Cloth("train", (120, 66, 22), (225, 235, 240)),
    "red": Cloth("train", (36, 26, 118), (120, 205, 235)),
    # As brown as hands, as grey as sleeves, as dark as gloves: hard to tell from what covers them.
    "tan": Cloth("train", (92, 128, 162), (40, 52, 66)),
    "brown": Cloth("train", (52, 78, 118), (190, 220, 235)),
    "grey": Cloth("train", (112, 112, 108), (235, 235, 235)),
    "black": Cloth("train", (38, 36, 34), (150, 190, 215)),
    "teal": Cloth("train", (104, 98, 30), (225, 235, 240)),
}


def printed(rng: Rng, camera: Camera, cloth: Cloth, layout: Layout) -> Image:
    """Return the felt with its printing, seen by the camera."""
    width, height = camera.size
    extent = np.array(FIELD_MM) + 2 * _MARGIN_MM
    size = (int(extent[1] * _PX_PER_MM), int(extent[0] * _PX_PER_MM))
    flat = felt(rng, size, cloth.felt)
    for name in SLOTS:
        _line(flat, layout.slot_polygon(name), cloth.ink, closed=True, width_mm=1.4)
    for name in ("PUNTO", "BANCO"):
        first, second = (np.array(layout.places[f"{name}_{n}"][:2]) for n in (1, 2))
        x, y = (first + second) / 2 - (0, _ABOVE_SLOTS_MM)
        _word(flat, name, (float(x), float(y)), height_mm=20, ink=cloth.ink)
    _bets(flat, cloth.ink)
    # A plane seen by a camera without lens errors: four points settle it; the lens is bent after.
    corners = np.array([[0.0, 0.0], [extent[0], 0.0], [extent[0], extent[1]], [0.0, extent[1]]])
    plain = replace(camera, lens=0.0)
    matrix = cv2.getPerspectiveTransform(
        (corners * _PX_PER_MM).astype(np.float32), plain.project(corners - _MARGIN_MM)
    )
    image = cv2.warpPerspective(
        flat, matrix, (width, height), flags=cv2.INTER_AREA, borderMode=cv2.BORDER_REFLECT
    )
    return _bent(image, camera) if camera.lens else image


def _bent(image: Image, camera: Camera) -> Image:
    """Return the picture of a straight lens as this camera's lens bends it."""
    width, height = camera.size
    middle = np.array([width, height]) / 2
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    arm = np.dstack([x, y]) - middle
    straight = arm.copy()
    for _ in range(4):
        reach = (straight**2).sum(axis=2, keepdims=True) / (width / 2) ** 2
        straight = arm / (1 + camera.lens * reach)
    source = (straight + middle).astype(np.float32)
    across, down = cv2.split(source)
    return cv2.remap(image, across, down, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)


def _bets(flat: Image, ink: Colour) -> None:
    """Print the betting rows, the seats' borders and their words."""
    for ring in RINGS_MM:
        _line(flat, _arc(ring, 20, 1180), ink, closed=False, width_mm=1.6)
    for left, right in pairwise(SEATS_MM):
        middle = (left + right) / 2
        ends = [on_ring(ring, middle) for ring in (RINGS_MM[0], RINGS_MM[-1])]
        _line(flat, np.array(ends), ink, closed=False, width_mm=1.2)
    for number, x in enumerate(SEATS_MM, start=1):
        for row, word in enumerate(_ROWS):
            spot = on_ring((RINGS_MM[row] + RINGS_MM[row + 1]) / 2, x)
            _word(flat, word, (float(spot[0]), float(spot[1])), height_mm=12, ink=ink)
        place = on_ring(RINGS_MM[-1] + 28, x)
        _word(flat, str(number), (float(place[0]), float(place[1])), height_mm=16, ink=ink)


def _arc(radius: float, first: float, last: float) -> Points:
    return np.array([on_ring(radius, x) for x in np.linspace(first, last, 60)])


def _line(flat: Image, points: Points, ink: Colour, *, closed: bool, width_mm: float) -> None:
    pixels = np.round((points + _MARGIN_MM) * _PX_PER_MM * 16).astype(np.int32)
    thick = max(1, round(width_mm * _PX_PER_MM))
    cv2.polylines(flat, [pixels], closed, ink, thick, cv2.LINE_AA, 4)


def _word(
    flat: Image, text: str, middle: tuple[float, float], *, height_mm: float, ink: Colour
) -> None:
    scale = height_mm * _PX_PER_MM / 21
    thick = max(1, round(scale * 1.6))
    font = cv2.FONT_HERSHEY_TRIPLEX
    (width, height), _ = cv2.getTextSize(text, font, scale, thick)
    x = round((middle[0] + _MARGIN_MM) * _PX_PER_MM - width / 2)
    y = round((middle[1] + _MARGIN_MM) * _PX_PER_MM + height / 2)
    cv2.putText(flat, text, (x, y), font, scale, ink, thick, cv2.LINE_AA)
