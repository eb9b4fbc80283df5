"""Pictures of a simulated table on which eight cards are laid to measure it, with their truth.

The table is drawn once from straight above, and seen from there by any camera: tilted, turned, near
or far, through any lens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import cv2
import numpy as np

from datasets.dealing.stage import set_stage
from datasets.dealing.table_places import CARD_MM, FIELD_MM, Camera, Layout, card_corners
from datasets.faces.registry import back_names, load_back, load_deck
from datasets.render.paint import Image, Points, lay, paste, pyramid, shadow
from vision.setup.calibration.areas import LAID
from vision.sight.geometry.plane import Homography, Lens

Rng = np.random.Generator
Pose = tuple[float, float, float]  # middle x, y in mm, turn in degrees
# Pixels a mm of the picture from above: finer than any camera here sees.
PX_PER_MM = 3
# How a person lays a card: spread of its place, mm, and of its direction, degrees.
LAID_MM, LAID_DEG = 2.0, 3.0
# The front half of the card in the mouth is out, give or take, mm.
OUT_MM = 3.0
# A printed frame: how far it is from the edge, and its line, in widths of a card.
FRAME_SHARE, FRAME_LINE = 0.13, 0.025
# Beyond the table the floor is dark.
FLOOR = (24, 26, 28)


@dataclass(frozen=True, slots=True)
class Table:
    """A table from above, and where its cards lie: middle x, y mm and turn in degrees, by place."""

    image: Image
    layout: Layout
    cards: Mapping[str, Pose]


def places_of(layout: Layout) -> dict[str, Pose]:
    """Return the middle and turn of a card on each place, the half-drawn one in the mouth."""
    named = {name: layout.places[name] for name in LAID if name in layout.places}
    x, y = layout.lip
    tray = (*layout.tray, 0.0)
    return {**named, "DISCARD": tray, "MOUTH": (x, y, layout.leaving_turn)}


def laid_by_hand(rng: Rng, layout: Layout) -> dict[str, Pose]:
    """Return where a person lays the cards of a layout."""
    cards = {}
    for name, (x, y, turn) in places_of(layout).items():
        (dx, dy), spin = rng.normal(0, LAID_MM, 2), float(rng.normal(0, LAID_DEG))
        if name == "MOUTH":
            dx, dy = layout.way * rng.normal(0, OUT_MM)
            spin = float(rng.normal(0, 1))
        cards[name] = (x + float(dx), y + float(dy), turn + spin + 180.0 * int(rng.integers(2)))
    return cards


@dataclass(frozen=True, slots=True)
class Style:
    """How a table looks: its cloth, deck, and the size of its cards, mm.

    `framed` names faces on which a frame is printed, round the pips and inside the index.
    """

    cloth: str = "jade"
    deck: str = "meridian"
    card_mm: tuple[float, float] = CARD_MM
    framed: frozenset[str] = frozenset()

    def faces(self) -> Mapping[str, Image]:
        """Return the faces of the deck (BGRA) by name."""
        faces = load_deck(self.deck).faces
        return {
            name: with_frame(face) if name in self.framed else face for name, face in faces.items()
        }


def with_frame(face: Image) -> Image:
    """Return a face (BGRA) with a printed frame, as decks have it whose pips stand in one."""
    framed, (height, width) = face.copy(), face.shape[:2]
    inset = round(FRAME_SHARE * width)
    corners = (inset, inset), (width - 1 - inset, height - 1 - inset)
    cv2.rectangle(framed, *corners, (20, 20, 20, 255), max(1, round(FRAME_LINE * width)))
    return framed


def table(
    rng: Rng,
    style: Style,
    layout: Layout,
    cards: Mapping[str, Pose],
    others: Mapping[str, Pose] | None = None,
) -> Table:
    """Draw a table with cards laid on it; `others` are more cards, by face (`7h`)."""
    camera = Camera((round(FIELD_MM[0] * PX_PER_MM), round(FIELD_MM[1] * PX_PER_MM)), 0.0)
    stage = set_stage(rng, camera, style.cloth, pyramid(load_back(back_names("test")[0])), layout)
    image, faces = stage.bare.copy(), style.faces()
    last = [("MOUTH", cards["MOUTH"])] if "MOUTH" in cards else []
    first = [(name, pose) for name, pose in cards.items() if name != "MOUTH"]
    named = [(str(LAID[name]), pose) for name, pose in first] + list((others or {}).items())
    for face, pose in [*named, *((str(LAID[name]), pose) for name, pose in last)]:
        quad = camera.project(card_corners(pose[2], style.card_mm) + np.array(pose[:2]))
        shadow(image, quad, soft=2.0, strength=0.35, offset=(2.0, 3.0))
        lay(image, pyramid(faces[face]), quad)
    shoe = stage.covers[1]
    paste(image, shoe.patch, shoe.x, shoe.y)
    return Table(image, layout, dict(cards))


def laid_on(
    image: Image,
    to_px: Callable[[Points], Points],
    layout: Layout,
    cards: Mapping[str, Pose],
    style: Style,
) -> Image:
    """Return a picture of a bare table (H x W x 3, BGR) with cards drawn on their places.

    `to_px` gives the pixels (n x 2) of points of the table (n x 2 mm).
    """
    picture, faces = image.copy(), style.faces()
    for name, (x, y, turn) in cards.items():
        quad = to_px(card_corners(turn, style.card_mm) + np.array([x, y])).astype(np.float32)
        before = picture.copy()
        shadow(picture, quad, soft=2.0, strength=0.35, offset=(2.0, 2.0))
        lay(picture, pyramid(faces[str(LAID[name])]), quad)
        if name == "MOUTH":
            half, deep = layout.across * 100, layout.way * 100
            shoe = layout.mouth + np.array([half, -half, -half - deep, half - deep])
            hidden = np.zeros(image.shape[:2], np.uint8)
            cv2.fillConvexPoly(hidden, np.rint(to_px(shoe)).astype(np.int32), 255)
            picture[hidden > 0] = before[hidden > 0]
    return picture


def camera_over(
    size: tuple[int, int], wide_mm: float, tilt: float, turn: float, lens: tuple[float, float]
) -> Homography:
    """Return the plane of a camera over the middle of the field that sees so many mm across.

    `tilt` leans it back from straight down and `turn` turns it, in degrees; `lens` is its focal
    length in widths of the picture, and k1 for that length.
    """
    focal, k1 = lens[0] * size[0], lens[1]
    lean, spin = np.radians(tilt), np.radians(turn)
    turned = np.array(
        [[np.cos(spin), -np.sin(spin), 0], [np.sin(spin), np.cos(spin), 0], [0, 0, 1.0]]
    )
    leaned = np.array(
        [[1.0, 0, 0], [0, np.cos(lean), -np.sin(lean)], [0, np.sin(lean), np.cos(lean)]]
    )
    pose = leaned @ turned
    pose[:, 2] = (0.0, 0.0, lens[0] * wide_mm)
    to_middle = np.array([[1, 0, -FIELD_MM[0] / 2], [0, 1, -FIELD_MM[1] / 2], [0, 0, 1.0]])
    inner = np.array([[focal, 0, size[0] / 2], [0, focal, size[1] / 2], [0, 0, 1.0]])
    matrix = np.linalg.inv(inner @ pose @ to_middle)
    return Homography(matrix, Lens(focal, (size[0] / 2, size[1] / 2), k1) if k1 else None)


def seen(above: Image, plane: Homography, size: tuple[int, int], rng: Rng) -> Image:
    """Return a picture (H x W x 3) as a camera gives it: bent, a little soft, noisy."""
    x, y = np.meshgrid(np.arange(size[0]) + 0.5, np.arange(size[1]) + 0.5)
    there = plane.to_mm(np.stack([x, y], axis=-1).reshape(-1, 2)).reshape(size[1], size[0], 2)
    there = there * PX_PER_MM - np.float32(0.5)
    step = float(np.median(np.abs(np.diff(there, axis=1)).max(axis=2)))
    soft = cv2.GaussianBlur(above, (0, 0), max(0.45 * step, 0.3))
    image = cv2.remap(soft, there[..., 0].copy(), there[..., 1].copy(), cv2.INTER_LINEAR,
                      borderMode=cv2.BORDER_CONSTANT, borderValue=FLOOR)  # fmt: skip
    image = cv2.GaussianBlur(image, (0, 0), 0.6)
    noisy = image.astype(np.float32) + rng.standard_normal(image.shape, np.float32) * 2.5
    return np.asarray(np.clip(noisy, 0, 255), np.uint8)


def layout_for(rng: Rng, wide_mm: float) -> Layout:
    """Return a layout that a camera over its middle shows in so many mm: hands, shoe and tray.

    Third places lie beyond the others, or where it is narrow above them; Banco on either side.
    """
    x, y = np.array(FIELD_MM) / 2
    half = min(wide_mm, 1250.0) / 2
    narrow = half < 500
    gap = float(rng.uniform(67, 72) if narrow else rng.uniform(70, 88))
    apart = gap / 2 + (40 if narrow else 60) + float(rng.uniform(0, 20))
    side = 1.0 if rng.random() < 0.5 else -1.0
    places = {}
    for hand, way in (("PUNTO", -side), ("BANCO", side)):
        middle = x + way * apart
        places[f"{hand}_1"] = (middle - way * gap / 2, y + 40, 0.0)
        places[f"{hand}_2"] = (middle + way * gap / 2, y + 40, 0.0)
        beyond = (middle, y - 50.0) if narrow else (middle + way * (gap / 2 + 86), y + 40.0)
        places[f"{hand}_3"] = (*beyond, -90.0)
    ends = (half - 75, 0.0 if narrow else -130.0)
    right = rng.random() < 0.5
    way = 1.0 if right else -1.0
    leaving = float(rng.uniform(95, 178))
    return Layout(
        places,
        (x + way * ends[0], y + ends[1]),
        leaving if right else 180.0 - leaving,
        (x - way * (ends[0] - 10), y + ends[1]),
    )
