"""Where things lie on a simulated table, in millimetres, and the camera that looks at it.

x to the right, y down, the dealer at the top; a turned camera sees it from the dealer's side.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType

import numpy as np

from ..render.paint import Points

# The part of the table that the camera shows, mm, 16 to 9; and the size of a poker card.
FIELD_MM = (1200.0, 675.0)
CARD_MM = (63.0, 88.0)
# Centre x, y and the turn of an upright card in degrees, clockwise as seen.
PLACES: dict[str, tuple[float, float, float]] = {
    "PUNTO_1": (312.0, 262.0, 0.0),
    "PUNTO_2": (394.0, 262.0, 0.0),
    "PUNTO_3": (216.0, 262.0, -90.0),
    "PUNTO_4": (353.0, 358.0, -90.0),
    "BANCO_1": (686.0, 262.0, 0.0),
    "BANCO_2": (768.0, 262.0, 0.0),
    "BANCO_3": (864.0, 262.0, -90.0),
    "BANCO_4": (727.0, 358.0, -90.0),
    "CUT": (1110.0, 372.0, 14.0),
    "BURN_FACE": (470.0, 120.0, 0.0),
    "BURN": (556.0, 120.0, 0.0),
}
SLOTS = tuple(name for name in PLACES if name.endswith(("_1", "_2", "_3")))
# A slot is larger than a card by this on every side, mm, as calibration proposes it.
_SLOT_ROOM_MM = 8.0

# Size of the shoe and half the sides of the discard tray, mm.
SHOE_WIDTH_MM = 116.0
SHOE_LENGTH_MM = 330.0
_TRAY_HALF_MM = (62.0, 70.0)
_EXIT_MM = 150.0  # as far as a card is drawn
# The dealer's shoulders lie this far behind the table's edge and to each side of the middle, mm:
# the arm's sprite ends 860 mm from the hand. Nearer, and the stump of the arm shows.
_SHOULDER_MM = (-430.0, 150.0)
_DEALER_X_MM = 615.0
# The betting rows lie between rings about a middle far behind the dealer.
RINGS_MM = (1942.0, 2004.0, 2072.0, 2146.0)
SEATS_MM = (145.0, 372.0, 600.0, 828.0, 1055.0)
_RING_MIDDLE = (600.0, -1500.0)
_BESIDE_WORD_MM = 46.0


def on_ring(radius: float, x: float) -> Points:
    """Return the point (2,) mm of a ring at a given x."""
    return np.array([x, _RING_MIDDLE[1] + np.sqrt(radius**2 - (x - _RING_MIDDLE[0]) ** 2)])


# Where bets lie, seat by seat and from the dealer outwards.
SPOTS = tuple(
    on_ring((inner + outer) / 2, seat + _BESIDE_WORD_MM)
    for seat in SEATS_MM
    for inner, outer in pairwise(RINGS_MM)
)


def toward(point: Points, target: Points) -> Points:
    """Return the unit vector (2,) from a point to a target."""
    way = target - point
    unit: Points = way / np.hypot(*way)
    return unit


@dataclass(frozen=True, slots=True)
class Layout:
    """Where shoe, tray and hands lie on one table; angles in degrees, clockwise as seen.

    `lip` is the middle of the shoe's opening, `leaving` the direction in which a card comes out of
    it, `tray` the middle of the discard tray. The walls of a `clear` shoe are seen through.
    """

    places: Mapping[str, tuple[float, float, float]] = field(
        default_factory=lambda: MappingProxyType(PLACES)
    )
    lip: tuple[float, float] = (1042.0, 142.0)
    leaving: float = 152.0
    tray: tuple[float, float] = (110.0, 130.0)
    clear: bool = False

    @property
    def mouth(self) -> Points:
        """The middle of the shoe's opening, (2,) mm."""
        return np.array(self.lip)

    @property
    def way(self) -> Points:
        """The unit vector (2,) along which a card leaves the shoe."""
        angle = np.radians(self.leaving)
        return np.array([np.cos(angle), np.sin(angle)])

    @property
    def exit(self) -> Points:
        """A point (2,) mm before the shoe, towards which cards leave."""
        return self.mouth + self.way * _EXIT_MM

    @property
    def across(self) -> Points:
        """The unit vector (2,) along the shoe's opening."""
        way = self.way
        return np.array([-way[1], way[0]])

    @property
    def leaving_turn(self) -> float:
        """The turn of a card in the mouth: it leaves long side first."""
        return (self.leaving + 90) % 180 - 90

    def shoulder(self, side: float) -> Points:
        """Return the dealer's shoulder (2,) mm from which an arm reaches in: side -1, 0 or 1."""
        return np.array([_DEALER_X_MM + side * _SHOULDER_MM[1], _SHOULDER_MM[0]])

    def slot_polygon(self, name: str) -> Points:
        """Return the corners (4, 2) mm of a slot, clockwise from the top left."""
        x, y, turn = self.places[name]
        width, height = CARD_MM if turn == 0 else CARD_MM[::-1]
        return _box((x, y), (width / 2 + _SLOT_ROOM_MM, height / 2 + _SLOT_ROOM_MM))

    def tray_polygon(self) -> Points:
        """Return the corners (4, 2) mm of the discard tray."""
        return _box(self.tray, _TRAY_HALF_MM)

    def mouth_polygon(self) -> Points:
        """Return the corners (4, 2) mm of the place before the shoe where a card is first seen."""
        back, front, half = self.mouth - self.way * 45, self.mouth + self.way * 95, self.across * 62
        return np.array([back + half, back - half, front - half, front + half])


def _box(middle: tuple[float, float], half: tuple[float, float]) -> Points:
    corners: Points = np.array([[-1.0, -1], [1, -1], [1, 1], [-1, 1]]) * half + middle
    return corners


def card_corners(turn: float, size_mm: tuple[float, float] = CARD_MM) -> Points:
    """Return the corners (4, 2) mm of a card about its centre, point 0 its top left one."""
    angle = np.radians(turn)
    spin = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    half = np.array(size_mm) / 2
    corners: Points = (np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * half) @ spin
    return corners


@dataclass(frozen=True, slots=True)
class Camera:
    """A pinhole camera over the middle of the field, leaning back by `tilt` degrees.

    `size` is (width, height) px. `lens` bends lines: below 0 a barrel, 0 none, as a share of the
    distance at the picture's edge. A `turned` camera hangs with the dealer at the bottom.
    """

    size: tuple[int, int]
    tilt: float = 8.0
    lens: float = 0.0
    turned: bool = False

    @property
    def scale(self) -> float:
        """The pixels per mm in the middle of the picture."""
        return max(self.size[0] / FIELD_MM[0], self.size[1] / FIELD_MM[1])

    def project(self, points: Points, height: Points | float = 0.0) -> Points:
        """Return the pixels (n, 2) of points (n, 2) mm that are `height` mm above the table."""
        focal = 1.3 * self.size[0]
        away = focal / self.scale
        lean = np.radians(self.tilt)
        x = points[:, 0] - FIELD_MM[0] / 2
        y = points[:, 1] - FIELD_MM[1] / 2
        down = y * np.cos(lean) - height * np.sin(lean)
        depth = away - y * np.sin(lean) - height * np.cos(lean)
        arm = focal * np.column_stack([x, down]) / depth[:, None]
        reach = (arm**2).sum(axis=1, keepdims=True) / (self.size[0] / 2) ** 2
        bent: Points = arm * (1 + self.lens * reach)
        bent = np.array(self.size) / 2 + (-bent if self.turned else bent)
        return bent.astype(np.float32)

    def calibration(self) -> tuple[Points, Points]:
        """Return four points in sight on the table as pixels and as mm (4, 2), for the reader."""
        corners = np.array([[60.0, 50.0], [1140.0, 50.0], [1140.0, 630.0], [60.0, 630.0]])
        middle = np.array(FIELD_MM) / 2
        # A lens with a tilt may push them out of the picture.
        while not self._shows(pixels := self.project(corners)):
            corners = middle + 0.97 * (corners - middle)
        return pixels, corners

    def _shows(self, pixels: Points) -> bool:
        return bool((pixels >= 0).all() and (pixels <= np.array(self.size) - 1).all())
