"""Stills of a whole table from above, taken out of simulated deals: what the reader will see.

The other stills show cards anywhere; these teach what a table has that is no card: printed boxes of
a card's size, a shoe, a tray, a dealer's arm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import cv2
import numpy as np

from vision.sight.geometry.plane import shared_area

from ..dealing.actors import card_quad
from ..dealing.film import Shot
from ..dealing.film_settings import look_for
from ..dealing.scenario import Dealing, Scenario
from ..dealing.simulate import rehearse
from ..dealing.style import PLAIN, Style, styles
from ..dealing.table_places import Camera
from ..dealing.timeline import Act, Carried, on_table
from ..faces.registry import deck_names
from ..render.paint import Image, Points
from .scene import Label, Still

Rng = np.random.Generator
# Part of every seed, so that train and test draw other numbers.
_SEED_FAMILY = {"train": 1, "test": 2}
# Frames taken of one film: more are cheaper and more alike.
_FRAMES_A_LOOK = 24
# Share of the stills that are of the plain dealer's table: it is the demo's.
_PLAIN = 0.2
# Grey of the letterbox, as the detector gets it.
_GREY = 114
# A card that has just left the mouth is mostly hidden by the shoe.
_OUT_FOR_S = 0.06
# Shares: of a hand that is in the picture, of a card that a hand's rectangle covers. Looser, and
# a sleeve is a hand, a hand a card; stricter, and hands at the edge and covered cards are missed.
_HAND_SHOWN, _HIDDEN = 0.4, 0.9
# Of the film's picture, least and most: cards as large as the detector will meet them.
_SCALES = (0.19, 0.45)


class _Frame(NamedTuple):
    """How large a still is, px, and between which scales its picture is."""

    size: tuple[int, int]
    scales: tuple[float, float]


def overhead(
    seed: int,
    *,
    split: str = "train",
    size: tuple[int, int] = (416, 416),
    scales: tuple[float, float] = _SCALES,
) -> Iterator[Still]:
    """Yield stills of (width, height) px for ever, a few dozen of each simulated table.

    `scales` of the film's picture, 1920 x 1080: at 1 a card is 101 px wide.
    """
    rng = np.random.default_rng([_SEED_FAMILY[split], 5, seed])
    while True:
        style = _style(rng, split)
        camera = Camera((1920, 1080), float(rng.uniform(0, 18)), 0.0, style.optics.turned)
        deck = str(rng.choice(deck_names(split)))
        number = int(rng.integers(1 << 30))
        noise = float(rng.uniform(1, 7))
        look = look_for(split, number, camera, deck=deck, noise=noise, style=style)
        scenario = Scenario(coups=2, seed=number, dealing=Dealing.MIXED, slip_every=2)
        acts = rehearse(scenario, look).acts
        shot = Shot(look)
        for at in np.sort(rng.uniform(0, acts[-1].end, _FRAMES_A_LOOK)):
            act, cards = _at(acts, float(at))
            image = shot.frame(cards, act, float(at))
            hands = [quad for quad in shot.hands(act, float(at)) if _in_sight(quad, image)]
            labels = [label for card in cards if (label := _label(card, shot, float(at)))]
            labels = [label for label in labels if not _covered(label.quad, hands)]
            yield _framed(rng, image, labels, _Frame(size, scales), hands)


def _style(rng: Rng, split: str) -> Style:
    """Return the plain dealer and table, or any of the split's."""
    known = styles(split)
    return PLAIN if rng.random() < _PLAIN else known[int(rng.integers(len(known)))]


def _at(acts: Sequence[Act], at: float) -> tuple[Act, tuple[Carried, ...]]:
    """Return the act of an instant and the cards on the table in it."""
    number = next((n for n, act in enumerate(acts) if at < act.end), len(acts) - 1)
    return acts[number], on_table(acts, number)


def _label(card: Carried, shot: Shot, at: float) -> Label | None:
    pose = card.pose(at)
    if pose is None or at < card.out + _OUT_FOR_S:
        return None
    quad = card_quad(pose, shot.pack.size_mm, shot.camera).astype(np.float32)
    face = card.drawn.card
    if face is None:
        return Label("cut", quad, 1.0, None)
    up = pose.flip > 0.5
    return Label("face" if up else "back", quad, 1.0, str(face) if up else None)


def _in_sight(quad: Points, image: Image) -> bool:
    """Whether enough of a hand is in the film's picture for it to be known as one."""
    height, width = image.shape[:2]
    frame = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    shown = shared_area(quad.astype(np.float32), frame)
    return shown > _HAND_SHOWN * float(cv2.contourArea(quad.astype(np.float32)))


def _covered(card: Points, hands: Sequence[Points]) -> bool:
    """Whether a hand lies over all but an edge of a card: what is not seen has no label."""
    area = float(cv2.contourArea(card))
    return any(shared_area(card, hand.astype(np.float32)) > _HIDDEN * area for hand in hands)


def _framed(
    rng: Rng,
    image: Image,
    labels: Sequence[Label],
    frame: _Frame,
    hands: Sequence[Points],
) -> Still:
    """Return a part of the picture at a smaller scale, grey where it ends, as the reader pads."""
    size = frame.size
    scale = float(np.exp(rng.uniform(*np.log(frame.scales))))
    small = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    height, width = small.shape[:2]
    x = int(rng.integers(min(0, width - size[0]), max(0, width - size[0]) + 1))
    y = int(rng.integers(min(0, height - size[1]), max(0, height - size[1]) + 1))
    canvas = np.full((size[1], size[0], 3), _GREY, np.uint8)
    part = small[max(y, 0) : max(y, 0) + size[1], max(x, 0) : max(x, 0) + size[0]]
    top, left = max(-y, 0), max(-x, 0)
    canvas[top : top + part.shape[0], left : left + part.shape[1]] = part
    kept = []
    for label in labels:
        quad = (label.quad * scale - (x, y)).astype(np.float32)
        middle = quad.mean(axis=0)
        if (middle > 0).all() and (middle < size).all():
            kept.append(Label(label.kind, quad, label.visible, label.card))
    held = tuple((quad * scale - (x, y)).astype(np.float32) for quad in hands)
    return Still(canvas, tuple(kept), held)
