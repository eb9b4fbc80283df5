"""What moves on the simulated table, painted on a picture: cards in any pose, a dealer's hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np

from ..faces.registry import Deck
from ..render.hands import FRAME_MM, GRIP_MM, Hand, frame_quad
from ..render.paint import Image, Points, inks, lay, pyramid, shadow
from .stage import Stage
from .table_places import Camera, card_corners
from .timeline import Pose

CUT_FACE = "cut"
# A card on its edge is still drawn this share of its width wide.
_THINNEST = 0.05
# How much lighter and darker the halves of a creased card are, as a share for each mm it stands up.
_CREASED = 0.015
# How dark a shadow is, 0 to 1, by eye.
_SHADOW = 0.34


class Pack:
    """The cards of a film as pyramids, made when first seen."""

    def __init__(self, deck: Deck, back: Image, cut: Image) -> None:
        self.size_mm = deck.size_mm
        self.back = pyramid(back)
        self._cut = pyramid(cut)
        self._faces = lru_cache(maxsize=None)(lambda name: pyramid(np.asarray(deck.faces[name])))

    def side(self, name: str, *, face_up: bool) -> Sequence[Image]:
        """Return the pyramid of a card's visible side; `cut` is the cut card, alike on both."""
        if name == CUT_FACE:
            return self._cut
        return self._faces(name) if face_up else self.back


def card_quad(pose: Pose, size_mm: tuple[float, float], camera: Camera) -> Points:
    """Return the corners (4, 2) px of a card in a pose, partly turned over or not."""
    angle = np.pi * pose.flip
    lean = float(np.cos(angle))
    turned = size_mm[1] if pose.over_end else size_mm[0]
    rise = turned / 2 * float(np.sin(angle))
    near = -rise if lean > 0 else rise
    edges = [near, near, -near, -near] if pose.over_end else [near, -near, -near, near]
    heights = pose.height + rise + np.array(edges)
    return camera.project(card_corners(pose.turn, _seen_mm(pose, size_mm)) + pose.centre, heights)


def _seen_mm(pose: Pose, size_mm: tuple[float, float]) -> tuple[float, float]:
    """Return the width and height of what is seen from above of a card, partly turned or not."""
    share = max(abs(float(np.cos(np.pi * pose.flip))), _THINNEST)
    width, height = size_mm
    return (width, height * share) if pose.over_end else (width * share, height)


def paint_card(
    image: Image, stage: Stage, pack: Pack, name: str, pose: Pose, *, at: tuple[int, int] = (0, 0)
) -> None:
    """Paint a card with its shadow on the part of the picture whose top left pixel is `at`."""
    quad = card_quad(pose, pack.size_mm, stage.camera)
    flat = card_corners(pose.turn, _seen_mm(pose, pack.size_mm)) + pose.centre
    lift = pose.height + pack.size_mm[0] / 2 * float(np.sin(np.pi * pose.flip))
    soft = (0.9 + 0.22 * lift) * stage.camera.scale
    strength = _SHADOW / (1 + 0.012 * lift)
    ground = stage.camera.project(flat)
    shadow(image, ground - at, soft=soft, strength=strength, offset=stage.sun * (1.2 + lift))
    light = stage.light_at(quad.mean(axis=0))
    tint = inks(np.diag([light, light, light, 0.0])[:3])
    side = pack.side(name, face_up=pose.flip > 0.5)
    if pose.fold:
        _lay_folded(image, side, quad - at, (pose, stage, light))
        return
    touched = lay(image, side, quad - at, tint=tint)
    if touched is None:
        return
    x0, y0, x1, y1, opacity = touched
    shine = stage.shine[y0 + at[1] : y1 + at[1], x0 + at[0] : x1 + at[0]]
    if shine.any():
        spot = cv2.multiply(opacity, shine, scale=1 / 255)
        part = image[y0:y1, x0:x1]
        cv2.add(part, cv2.merge([spot] * 3), dst=part)


def _lay_folded(
    image: Image, side: Sequence[Image], quad: Points, lying: tuple[Pose, Stage, float]
) -> None:
    """Paint a card with a crease along its middle: two halves, one turned to the light."""
    pose, stage, light = lying
    camera = stage.camera
    raised = camera.project(pose.centre[None], pose.fold) - camera.project(pose.centre[None], 0.0)
    top, bottom = (quad[0] + quad[1]) / 2 + raised[0], (quad[2] + quad[3]) / 2 + raised[0]
    halves = np.array([quad[0], top, bottom, quad[3]]), np.array([top, quad[1], quad[2], bottom])
    lean = float(np.sign(stage.sun @ (quad[1] - quad[0]))) * _CREASED * pose.fold
    for number, half in enumerate(halves):
        gain = light * (1 + lean * (1, -1)[number])
        parts = [np.array_split(level, 2, axis=1)[number] for level in side]
        tint = inks(np.diag([gain, gain, gain, 0.0])[:3])
        lay(image, parts, half.astype(np.float32), tint=tint)


@dataclass(frozen=True, slots=True)
class Arm:
    """A hand with its sleeve and shadow: one premultiplied BGRA picture and its outline in mm.

    `corners` (4, 2) mm are where its corners lie when the grip is at the origin, arm downwards,
    `hand` those of the hand alone.
    """

    picture: Image
    corners: Points
    hand: Points


def arm(drawn: Hand, sun: Points, *, mirrored: bool = False) -> Arm:
    """Return a drawn hand as an arm; `sun` (2,) is the way its shadow falls, any length.

    `mirrored` is the same person's other hand.
    """
    below, above = drawn.below[0], drawn.above[0]
    flat = cv2.add(cv2.multiply(below, _through(above), scale=1 / 255), above)
    box = drawn.box_mm
    if mirrored:
        flat = cv2.flip(flat, 1)
        box = (2 * GRIP_MM[0] - box[2], box[1], 2 * GRIP_MM[0] - box[0], box[3])
    scale = flat.shape[1] / FRAME_MM[0]
    shift = np.asarray(sun) / np.hypot(*sun) * 11 * scale
    matrix = np.array([[1, 0, shift[0]], [0, 1, shift[1]]], np.float32)
    dark = cv2.warpAffine(flat[:, :, 3], matrix, (flat.shape[1], flat.shape[0]))
    dark = cv2.convertScaleAbs(cv2.GaussianBlur(dark, (0, 0), 7 * scale), alpha=0.4)
    veil = np.zeros_like(flat)
    veil[:, :, 3] = dark
    flat = cv2.add(cv2.multiply(veil, _through(flat), scale=1 / 255), flat)
    columns = np.flatnonzero(flat[:, :, 3].max(axis=0) > 2)
    rows = np.flatnonzero(flat[:, :, 3].max(axis=1) > 2)
    x0, x1, y0, y1 = columns[0], columns[-1] + 1, rows[0], rows[-1] + 1
    frame = frame_quad(np.zeros(2), 0.0)[0]
    edges = np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]]) / scale + frame
    palm = frame_quad(np.zeros(2), 0.0, box=box)
    return Arm(np.ascontiguousarray(flat[y0:y1, x0:x1]), edges, palm)


def arm_quad(limb: Arm, grip: Points, way: Points, camera: Camera) -> Points:
    """Return the corners (4, 2) px of an arm's picture; it reaches its grip mm from the `way`."""
    return _reached(limb.corners, grip, way, camera)


def hand_quad(limb: Arm, grip: Points, way: Points, camera: Camera) -> Points:
    """Return the corners (4, 2) px of the hand of an arm, without its sleeve."""
    return _reached(limb.hand, grip, way, camera)


def _reached(corners: Points, grip: Points, way: Points, camera: Camera) -> Points:
    cos, sin = float(way[1]), -float(way[0])
    return camera.project(corners @ np.array([[cos, sin], [-sin, cos]]) + grip)


def warped(limb: Arm, quad: Points, window: tuple[int, int, int, int]) -> Image:
    """Return the part of an arm's picture, laid on a quad px, that falls into a window px."""
    x0, y0, x1, y1 = window
    height, width = limb.picture.shape[:2]
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    matrix = cv2.getPerspectiveTransform(corners, (quad - (x0, y0)).astype(np.float32))
    return cv2.warpPerspective(limb.picture, matrix, (x1 - x0, y1 - y0), flags=cv2.INTER_LINEAR)


def _through(layer: Image) -> Image:
    """Return how much of what lies beneath a premultiplied layer is seen, in four channels."""
    return cv2.merge([cv2.bitwise_not(layer[:, :, 3])] * 4)
