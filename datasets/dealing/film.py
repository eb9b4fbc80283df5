"""The film of a simulated shoe: acts drawn frame by frame, as a camera over the table sees them.

Keeps a picture of what lies still; a frame is a copy of it with the moving things painted over
their own part, then sensor noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import cv2
import numpy as np

from ..faces.registry import cut_card, load_back, load_deck
from ..render.paint import Image, Points, paste
from .actors import (
    CUT_FACE,
    Arm,
    Pack,
    arm,
    arm_quad,
    card_quad,
    hand_quad,
    paint_card,
    warped,
)
from .film_settings import Look
from .stage import Chips, Stage, set_stage
from .table_places import SHOULDER, Camera, toward
from .timeline import Act, Carried, Leg, Pose, is_moving, pose_at

Window = tuple[int, int, int, int]
# Longest exposure, s; at a high frame rate it is half the time between two frames.
_SHUTTER_S = 1 / 60
# Motion blur: the exposure is drawn in steps of at most this many px, and at most so many steps.
# Larger steps show as ghosts, more steps cost time.
_STEP_PX = 6.0
_MOST_STEPS = 8
# Room for the shadow about a moving thing, px at 1 px a millimetre.
_SHADOW_PX = 26.0
# The noise picture is larger than the frame by this, px, and shifted at random frame by frame:
# drawing fresh noise would take longer than all else.
_NOISE_ROOM = 96
# The camera looks on for a while: a table is seen to be empty only after the last card has left.
_LAST_LOOK_S = 2.0


def frame_count(acts: Sequence[Act], fps: float) -> int:
    """Return how many frames a film of the acts has."""
    return int((acts[-1].end + _LAST_LOOK_S) * fps) + 1


def frame_ms(index: int, fps: float) -> int:
    """Return the instant of a frame in ms from the start."""
    return round(1000 * index / fps)


def film(acts: Sequence[Act], look: Look) -> Iterator[tuple[Image, int]]:
    """Yield every frame of the acts, uint8 (h, w, 3) BGR, with its instant in ms.

    A frame is the caller's to keep. ConfigurationError where there is no such deck or back.
    """
    shot = Shot(look)
    lasting: list[Carried] = []
    number = 0
    for index in range(frame_count(acts, look.fps)):
        at = index / look.fps
        while number + 1 < len(acts) and at >= acts[number].end:
            lasting += [card for card in acts[number].cards if card.gone is None]
            number += 1
        act = acts[number]
        yield shot.frame((*lasting, *act.cards), act, at), frame_ms(index, look.fps)


class Shot:
    """The camera at work on one stage; its frames are to be taken in order of time."""

    def __init__(self, look: Look) -> None:
        rng = np.random.default_rng([look.seed, 3])
        deck, back = load_deck(look.deck), load_back(look.back)
        self.pack = Pack(deck, back, cut_card(deck.back.shape[0]))
        self.camera = look.camera
        self.stage: Stage = set_stage(rng, look.camera, look.table, self.pack.back)
        self.arm: Arm = arm(rng, split=look.split, sun=self.stage.sun)
        self.guest = arm(rng, split=look.split, sun=self.stage.sun)
        self.chips = Chips(rng, look.split)
        self.bet = 0
        self.rng = rng
        self.noise = self._noise(look.noise)
        self.shutter = min(_SHUTTER_S, 0.5 / look.fps)
        self.still: tuple[tuple[int, Pose | None], ...] | None = None
        self.canvas = self.stage.bare

    def frame(self, cards: Sequence[Carried], act: Act, at: float) -> Image:
        """Return the picture at an instant of an act; `cards` are its and those still lying."""
        start, end = at - self.shutter / 2, at + self.shutter / 2
        seen = [card for card in cards if card.pose(end) is not None]
        moving = [card for card in seen if is_moving(card.legs, start, end)]
        self._bet(act, at)
        self._settle([card for card in seen if card not in moving], at)
        image = self.canvas.copy()
        if act.guest is not None:
            guest = self._reach(self.guest, act.guest.legs, act.guest.shoulder, at)
            self._paint_moving(image, (), guest, at)
        self._paint_moving(image, moving, self._reach(self.arm, act.hand, SHOULDER, at), at)
        return self._exposed(image)

    def hands(self, act: Act, at: float) -> tuple[Points, ...]:
        """Return the corners (4, 2) px of the hands over the table at an instant of an act."""
        reaching = [(self.arm, act.hand, SHOULDER)]
        if act.guest is not None:
            reaching.append((self.guest, act.guest.legs, act.guest.shoulder))
        poses = [(limb, pose_at(legs, at), shoulder) for limb, legs, shoulder in reaching]
        return tuple(
            hand_quad(limb, pose.centre, toward(pose.centre, shoulder), self.camera)
            for limb, pose, shoulder in poses
            if pose is not None
        )

    def _bet(self, act: Act, at: float) -> None:
        """Change the chips when a guest's hand is over them."""
        if act.guest is not None and at >= act.guest.at and self.bet != act.coup.number:
            self.bet = act.coup.number
            self.chips.change(self.rng, act.guest.spot)
            self.still = None

    def _settle(self, cards: Sequence[Carried], at: float) -> None:
        """Bring the still picture up to date: it holds exactly these cards."""
        still = tuple((card.drawn.order, card.pose(at)) for card in cards)
        if still == self.still:
            return
        self.still = still
        self.canvas = self.stage.bare.copy()
        self.chips.paint(self.canvas, self.stage)
        for card, (_, pose) in zip(cards, still, strict=True):
            if pose is not None:
                paint_card(self.canvas, self.stage, self.pack, _face(card), pose)

    def _paint_moving(
        self, image: Image, cards: Sequence[Carried], reach: _Reach | None, at: float
    ) -> None:
        """Paint what moves, at several instants of the exposure, over its part of the picture."""
        quads = [quad for card in cards for quad in self._ends(card, at)]
        window = _around(quads, self.camera.size, _SHADOW_PX * self.camera.scale)
        if reach is not None:
            window = _joined(window, reach.window)
        if window is None:
            return
        x0, y0, x1, y1 = window
        steps = self._steps(cards, reach, at)
        times = at + self.shutter * ((np.arange(steps) + 0.5) / steps - 0.5)
        part = image[y0:y1, x0:x1]
        total = np.zeros(part.shape, np.uint16)
        for time in times:
            layer = part.copy()
            self._paint_instant(layer, (x0, y0), cards, float(time))
            if reach is not None:
                corner = reach.corner(float(time), self.camera)
                paste(layer, reach.patch, corner[0] - x0, corner[1] - y0)
            cv2.add(total, layer, dst=total, dtype=cv2.CV_16U)
        cv2.convertScaleAbs(total, dst=part, alpha=1 / steps)

    def _paint_instant(
        self, layer: Image, at: tuple[int, int], cards: Sequence[Carried], time: float
    ) -> None:
        for card in cards:
            pose = card.pose(time)
            if pose is not None:
                paint_card(layer, self.stage, self.pack, _face(card), pose, at=at)
        if cards:
            for cover in self.stage.covers:
                paste(layer, cover.patch, cover.x - at[0], cover.y - at[1])

    def _ends(self, card: Carried, at: float) -> list[Points]:
        times = (at - self.shutter / 2, at, at + self.shutter / 2)
        poses = [card.pose(time) for time in times]
        return [card_quad(p, self.pack.size_mm, self.camera) for p in poses if p is not None]

    def _steps(self, cards: Sequence[Carried], reach: _Reach | None, at: float) -> int:
        """Return at how many instants to paint: the farther things go, the more."""
        ways = [np.abs(ends[-1] - ends[0]).max() for ends in map(partial(self._ends, at=at), cards)]
        if reach is not None:
            first, last = (reach.corner(at + s * self.shutter / 2, self.camera) for s in (-1, 1))
            ways.append(np.abs(np.subtract(last, first)).max())
        return int(np.clip(np.ceil(max(ways, default=0.0) / _STEP_PX), 1, _MOST_STEPS))

    def _reach(self, limb: Arm, legs: Sequence[Leg], shoulder: Points, at: float) -> _Reach | None:
        """Return a hand as it is in the middle of the exposure, None while it is away."""
        pose = pose_at(legs, at)
        if pose is None:
            return None
        quad = arm_quad(limb, pose.centre, toward(pose.centre, shoulder), self.camera)
        window = _around([quad], self.camera.size, 0.0)
        if window is None:
            return None
        grip = self.camera.project(pose.centre[None])[0]
        return _Reach(window, warped(limb, quad, window), grip, legs)

    def _exposed(self, image: Image) -> Image:
        """Return the picture with noise and a breath of flicker."""
        y, x = (int(v) for v in self.rng.integers(0, _NOISE_ROOM, 2))
        height, width = image.shape[:2]
        gain = 1 + float(self.rng.normal(0, 0.004))
        grain = self.noise[y : y + height, x : x + width]
        return cv2.addWeighted(image, gain, grain, 1.0, -128.0)

    def _noise(self, sigma: float) -> Image:
        width, height = self.camera.size
        shape = (height + _NOISE_ROOM, width + _NOISE_ROOM)
        grey = self.rng.standard_normal((*shape, 1), np.float32)
        colour = self.rng.standard_normal((*shape, 3), np.float32)
        field = cv2.GaussianBlur(0.8 * grey + 0.6 * colour, (0, 0), 0.6)
        return cv2.convertScaleAbs(field, alpha=sigma / float(field.std()), beta=128)


@dataclass(frozen=True, slots=True)
class _Reach:
    """The hand in the picture: its patch, the window it fills, and where its grip is, px."""

    window: Window
    patch: Image
    grip: Points
    legs: Sequence[Leg]

    def corner(self, at: float, camera: Camera) -> tuple[int, int]:
        """Return where the patch's top left pixel is at an instant."""
        shift = np.zeros(2)
        pose = pose_at(self.legs, at)
        if pose is not None:
            shift = camera.project(pose.centre[None])[0] - self.grip
        x, y = np.round(shift).astype(int)
        return self.window[0] + int(x), self.window[1] + int(y)


def _face(card: Carried) -> str:
    return str(card.drawn.card) if card.drawn.card else CUT_FACE


def _around(quads: Sequence[Points], size: tuple[int, int], margin: float) -> Window | None:
    """Return the window around all quads px within the picture, None where there is none."""
    if not quads:
        return None
    points = np.concatenate(quads)
    low = np.clip(np.floor(points.min(axis=0) - margin), 0, size).astype(int)
    high = np.clip(np.ceil(points.max(axis=0) + margin), 0, size).astype(int)
    if (high <= low).any():
        return None
    return int(low[0]), int(low[1]), int(high[0]), int(high[1])


def _joined(window: Window | None, more: Window) -> Window:
    if window is None:
        return more
    left, top, right, bottom = window
    return min(left, more[0]), min(top, more[1]), max(right, more[2]), max(bottom, more[3])
