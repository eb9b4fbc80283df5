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

from ..faces.backs import CUT_COLORS
from ..faces.registry import cut_card, load_back, load_deck
from ..render import clutter
from ..render.exposure import jpeg
from ..render.hands import Wear, any_cloth, hand
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
from .stage import Chips, Stage, marker, paint_thing, set_stage
from .style import Manner
from .table_places import SLOTS, Camera, toward
from .timeline import Act, Carried, Leg, Limb, Pose, Pushed, Reach, is_moving, on_table, pose_at

Rng = np.random.Generator
Window = tuple[int, int, int, int]
# Motion blur: the exposure is drawn in steps of at most this many px, and at most so many steps.
# Larger steps show as ghosts, more steps cost time.
_STEP_PX = 6.0
_MOST_STEPS = 8
# Room for the shadow about a moving thing, px at 1 px a millimetre.
_SHADOW_PX = 26.0
# The noise picture is larger than the frame by this, px, and shifted at random frame by frame:
# drawing fresh noise would take longer than all else.
_NOISE_ROOM = 96
# Things of players near the slots are at most so large, mm, and lie at so many of the places.
_SMALL_MM, _LAID = 120.0, 0.6
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
    number = 0
    for index in range(frame_count(acts, look.fps)):
        at = index / look.fps
        while number + 1 < len(acts) and at >= acts[number].end:
            number += 1
        yield shot.frame(on_table(acts, number), acts[number], at), frame_ms(index, look.fps)


class Shot:
    """The camera at work on one stage; its frames are to be taken in order of time."""

    def __init__(self, look: Look) -> None:
        rng = np.random.default_rng([look.seed, 3])
        deck, back = load_deck(look.deck), load_back(look.back)
        optics, layout = look.style.optics, look.style.layout
        self.pack = Pack(deck, back, _cut_card(look, deck.back.shape[0]))
        self.camera = look.camera
        self.stage: Stage = set_stage(rng, look.camera, look.table, self.pack.back, layout)
        self.arms = self._arms(rng, look)
        if look.style.manner is Manner.DRINKS:
            _lay_drinks(self.stage, look)
        if look.style.manner is Manner.RELIEVED:
            self.arms |= self._relief(look)
        self.chips = Chips(rng, look.split)
        self.things = look.split
        self.bet = 0
        self.rng = rng
        self.noise = self._noise(look.noise)
        self.quality = optics.quality
        self.shutter = min(optics.shutter_s, 0.5 / look.fps)
        self.readout = min(optics.readout_s, 0.9 / look.fps)
        self.still: tuple[tuple[str, Pose | None], ...] | None = None
        self.canvas = self.stage.bare

    def _arms(self, rng: Rng, look: Look) -> dict[Limb, Arm]:
        """Return the arms of everybody at the table; the dealer's two are one person's."""
        wear, left = look.style.wear, look.style.motion.left_handed
        dealer = hand(rng, split=look.split, wear=wear)
        others = [hand(rng, split=look.split) for _ in (Limb.GUEST, Limb.STRANGER)]
        wrong = left is not None and dealer.is_right is left
        sun = self.stage.sun
        return {
            Limb.DRAWING: arm(dealer, sun, mirrored=wrong),
            Limb.OTHER: arm(dealer, sun, mirrored=not wrong),
            Limb.GUEST: arm(others[0], sun),
            Limb.STRANGER: arm(others[1], sun),
        }

    def _relief(self, look: Look) -> dict[Limb, Arm]:
        """Return the arms of the dealer who takes over: another person's, in other cloth."""
        rng = np.random.default_rng([look.seed, 8])
        wear = Wear(sleeve=bool(rng.random() < 0.8), cloth=(any_cloth(rng), any_cloth(rng)))
        person = hand(rng, split=look.split, wear=wear)
        arms = [arm(person, self.stage.sun, mirrored=other) for other in (False, True)]
        return dict(zip((Limb.RELIEF, Limb.RELIEF_OTHER), arms, strict=True))

    def frame(self, cards: Sequence[Carried], act: Act, at: float) -> Image:
        """Return the picture at an instant of an act; `cards` are its and those still lying."""
        start, end = self._exposure(at)
        seen = [card for card in cards if card.pose(end) is not None]
        moving = [card for card in seen if is_moving(card.legs, start, end)]
        self._bet(act, at)
        self._settle([card for card in seen if card not in moving], at)
        image = self.canvas.copy()
        for thing in act.pushed:
            self._paint_pushed(image, thing, at)
        reaches = [reach for hand in act.hands if (reach := self._reach(hand, at)) is not None]
        self._paint_moving(image, moving, reaches[-1:], at)
        for reach in reaches[:-1]:
            self._paint_moving(image, (), [reach], at)
        return self._sent(self._exposed(image))

    def hands(self, act: Act, at: float) -> tuple[Points, ...]:
        """Return the corners (4, 2) px of the hands over the table at an instant of an act."""
        poses = [(hand, pose_at(hand.legs, at)) for hand in act.hands]
        return tuple(
            hand_quad(
                self.arms[hand.limb], pose.centre, toward(pose.centre, hand.shoulder), self.camera
            )
            for hand, pose in poses
            if pose is not None
        )

    def _exposure(self, at: float) -> tuple[float, float]:
        """Return when the first row begins to be exposed and the last one ends."""
        half = (self.shutter + self.readout) / 2
        return at - half, at + half

    def _bet(self, act: Act, at: float) -> None:
        """Change the chips when a guest's hand is over them."""
        if act.bet is not None and at >= act.bet.at and self.bet != act.coup.number:
            self.bet = act.coup.number
            self.chips.change(self.rng, act.bet.spot)
            self.still = None

    def _settle(self, cards: Sequence[Carried], at: float) -> None:
        """Bring the still picture up to date: it holds exactly these cards."""
        still = tuple((_face(card), card.pose(at)) for card in cards)
        if still == self.still:
            return
        self.still = still
        self.canvas = self.stage.bare.copy()
        self.chips.paint(self.canvas, self.stage)
        for name, pose in still:
            if pose is not None:
                paint_card(self.canvas, self.stage, self.pack, name, pose)
        if cards:
            self._cover(self.canvas, (0, 0))

    def _cover(self, image: Image, at: tuple[int, int]) -> None:
        """Paint what cards slide under on the part of the picture whose top left pixel is `at`."""
        for cover in self.stage.covers:
            paste(image, cover.patch, cover.x - at[0], cover.y - at[1])

    def _paint_pushed(self, image: Image, thing: Pushed, at: float) -> None:
        pose = pose_at(thing.legs, at)
        if pose is not None:
            number = np.random.default_rng(thing.number)
            made = clutter.sprite(number, split=self.things, chips=True)
            paint_thing(image, self.stage, made if thing.chip else marker(), pose.centre)

    def _paint_moving(
        self, image: Image, cards: Sequence[Carried], reaches: Sequence[_Reach], at: float
    ) -> None:
        """Paint what moves, at several instants of the exposure, over its part of the picture."""
        quads = [quad for card in cards for quad in self._ends(card, at)]
        window = _around(quads, self.camera.size, _SHADOW_PX * self.camera.scale)
        for reach in reaches:
            window = _joined(window, reach.window)
        if window is None:
            return
        x0, y0, x1, y1 = window
        steps = self._steps(cards, reaches, at)
        start, end = self._exposure(at)
        part = image[y0:y1, x0:x1]
        total, count = np.zeros(part.shape, np.uint16), np.zeros(len(part), np.uint16)
        for time in start + (end - start) * (np.arange(steps) + 0.5) / steps:
            top, bottom = self._rows(float(time - at), y0, y1, 0.5 * (end - start) / steps)
            if top >= bottom:
                continue
            layer = part.copy()
            self._paint_instant(layer, (x0, y0), cards, float(time))
            for reach in reaches:
                corner = reach.corner(float(time), self.camera)
                paste(layer, reach.patch, corner[0] - x0, corner[1] - y0)
            rows = slice(top, bottom)
            cv2.add(total[rows], layer[rows], dst=total[rows], dtype=cv2.CV_16U)
            count[rows] += 1
        if self.readout:
            part[:] = (total // np.maximum(count, 1)[:, None, None]).astype(np.uint8)
        else:
            cv2.convertScaleAbs(total, dst=part, alpha=1 / steps)

    def _rows(self, time: float, y0: int, y1: int, slack: float) -> tuple[int, int]:
        """Return which rows of a window are exposed at a time from the middle of the exposure."""
        if not self.readout:
            return 0, y1 - y0
        height = self.camera.size[1]
        reach = self.shutter / 2 + slack
        low, high = ((time + sign * reach) / self.readout + 0.5 for sign in (-1, 1))
        top, bottom = (int(np.clip(np.ceil(share * height), y0, y1)) - y0 for share in (low, high))
        return top, bottom

    def _paint_instant(
        self, layer: Image, at: tuple[int, int], cards: Sequence[Carried], time: float
    ) -> None:
        for card in cards:
            pose = card.pose(time)
            if pose is not None:
                paint_card(layer, self.stage, self.pack, _face(card), pose, at=at)
        if cards:
            self._cover(layer, at)

    def _ends(self, card: Carried, at: float) -> list[Points]:
        poses = [card.pose(time) for time in (*self._exposure(at), at)]
        return [card_quad(p, self.pack.size_mm, self.camera) for p in poses if p is not None]

    def _steps(self, cards: Sequence[Carried], reaches: Sequence[_Reach], at: float) -> int:
        """Return at how many instants to paint: the farther things go, the more."""
        ends = self._exposure(at)
        ways = [
            np.abs(quads[1] - quads[0]).max()
            for quads in map(partial(self._ends, at=at), cards)
            if len(quads) > 1
        ]
        for reach in reaches:
            first, last = (reach.corner(time, self.camera) for time in ends)
            ways.append(np.abs(np.subtract(last, first)).max())
        steps = int(np.clip(np.ceil(max(ways, default=0.0) / _STEP_PX), 1, _MOST_STEPS))
        # Rows that are exposed one after the other each need a picture of their own time.
        return steps if steps == 1 else round(steps * (1 + min(self.readout / self.shutter, 1.0)))

    def _reach(self, hand: Reach, at: float) -> _Reach | None:
        """Return a hand as it is in the middle of the exposure, None while it is away."""
        pose = pose_at(hand.legs, at)
        if pose is None:
            return None
        limb = self.arms[hand.limb]
        quad = arm_quad(limb, pose.centre, toward(pose.centre, hand.shoulder), self.camera)
        window = _around([quad], self.camera.size, 0.0)
        if window is None:
            return None
        grip = self.camera.project(pose.centre[None])[0]
        return _Reach(window, warped(limb, quad, window), grip, hand.legs)

    def _exposed(self, image: Image) -> Image:
        """Return the picture with noise and a breath of flicker."""
        y, x = (int(v) for v in self.rng.integers(0, _NOISE_ROOM, 2))
        height, width = image.shape[:2]
        gain = 1 + float(self.rng.normal(0, 0.004))
        grain = self.noise[y : y + height, x : x + width]
        return cv2.addWeighted(image, gain, grain, 1.0, -128.0)

    def _sent(self, image: Image) -> Image:
        """Return the picture as it comes out of the camera's compression."""
        return image if self.quality is None else jpeg(image, self.quality)

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


def _lay_drinks(stage: Stage, look: Look) -> None:
    """Lay glasses, papers and cards of players on the bare table, near the slots."""
    rng = np.random.default_rng([look.seed, 7])
    slots = np.concatenate([look.style.layout.slot_polygon(name) for name in SLOTS])
    (left, _), (right, bottom) = slots.min(axis=0), slots.max(axis=0)
    for x in np.arange(left - 30, right + 30, 92.0):
        things = (clutter.sprite(rng, split=look.split) for _ in range(40))
        small = next((thing for thing in things if max(thing.size_mm) < _SMALL_MM), None)
        if small is not None and rng.random() < _LAID:
            y = bottom + max(small.size_mm) / 2 + rng.uniform(2, 30)
            paint_thing(stage.bare, stage, small, np.array([x + rng.uniform(-20, 20), y]))


def _cut_card(look: Look, height_px: int) -> Image:
    """Return the cut card of a film, of any colour that one is made in."""
    rng = np.random.default_rng([look.seed, 6])
    if look.style.manner is Manner.CUT_CARDS:
        blue, green, red = (int(v) for v in any_cloth(rng))
        return cut_card(height_px, color=(blue, green, red))
    tone = np.array(list(CUT_COLORS.values()))[rng.integers(len(CUT_COLORS))]
    blue, green, red = (int(v) for v in np.clip(tone + rng.normal(0, 14, 3), 4, 250))
    return cut_card(height_px, color=(blue, green, red))


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
