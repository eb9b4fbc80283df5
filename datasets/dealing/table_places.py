"""Where things lie on the simulated table, in millimetres, and the camera that looks at it.

x to the right, y down as seen, the dealer at the top.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

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

# The lip of the shoe, and the way a card goes as it leaves: to the left and down.
LIP = np.array([1042.0, 142.0])
WAY = np.array([-np.cos(np.radians(28)), np.sin(np.radians(28))])
ACROSS = np.array([-WAY[1], WAY[0]])
# A card leaves the shoe long side first: its long axis lies across the way.
LEAVING_TURN = -28.0
# Size of the shoe and corners of the discard tray, mm.
SHOE_WIDTH_MM = 116.0
SHOE_LENGTH_MM = 330.0
TRAY = np.array([[48.0, 60.0], [172.0, 60.0], [172.0, 200.0], [48.0, 200.0]])
TRAY_MIDDLE = np.array([110.0, 128.0])

# The dealer's shoulder, from which the arm reaches in.
SHOULDER = np.array([615.0, -430.0])
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


def slot_polygon(name: str) -> Points:
    """Return the corners (4, 2) mm of a slot, clockwise from the top left."""
    x, y, turn = PLACES[name]
    width, height = CARD_MM if turn == 0 else CARD_MM[::-1]
    half = np.array([width, height]) / 2 + _SLOT_ROOM_MM
    corners: Points = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * half + (x, y)
    return corners


def mouth_polygon() -> Points:
    """Return the corners (4, 2) mm of the place before the shoe where a card is first seen."""
    back, front, half = LIP - WAY * 45, LIP + WAY * 95, ACROSS * 62
    return np.array([back + half, back - half, front - half, front + half])


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
    distance at the picture's edge.
    """

    size: tuple[int, int]
    tilt: float = 8.0
    lens: float = 0.0

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
        bent: Points = arm * (1 + self.lens * reach) + np.array(self.size) / 2
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
