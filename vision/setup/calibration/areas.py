"""Which card lies on which place of a table, the areas that follow, and a picture for people.

The frame of the millimetres is the picture's: x to the right, y down as seen. Slots are as large as
a card and some room, straight where the cards were laid a little askew.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from vision.game.cards import Card
from vision.game.events import Slot
from vision.setup.calibration.plane_fit import PlaneFit, Size, Vector
from vision.sight.geometry.plane import Homography, Points, Pose, card_rectangle, shared_part

MOUTH, DISCARD = "MOUTH", "DISCARD"
# The card of each place: low ranks tell first, second and third, suits the hands; kings are found
# where much of them is hidden.
LAID = {
    "PUNTO_1": Card.parse("As"), "PUNTO_2": Card.parse("2s"), "PUNTO_3": Card.parse("3s"),
    "BANCO_1": Card.parse("Ah"), "BANCO_2": Card.parse("2h"), "BANCO_3": Card.parse("3h"),
    DISCARD: Card.parse("Kc"), MOUTH: Card.parse("Kd"),
}  # fmt: skip
# Places whose card may be left out; all others are needed.
OPTIONAL = ("PUNTO_3", "BANCO_3", DISCARD)
# The second card lies nearer to the first than the third one does, at least by this factor.
CLOSER = 1.1
# A slot is larger than a card by this on every side, mm: dealers lay cards down that exactly.
ROOM_MM = 6.0
# The discard area is larger than a card by this on every side, mm: cards fall into a tray so.
DISCARD_ROOM_MM = 12.0
# The mouth: its depth along the way out and its room on both sides of a card, mm, and how far its
# middle lies before the lip. The watcher of the mouth sees 60 mm behind the middle and 140 before
# it, and learnt lips 45 mm behind to 28 mm before the middle. Deeper, and a card laid near the shoe
# counts as one in its mouth.
MOUTH_DEPTH_MM, MOUTH_ROOM_MM, MOUTH_AHEAD_MM = 66.0, 15.0, -4.0
# Between two cards that lie side by side, mm, where a third place is put from the others.
GAP_MM = 8.0


def name_of(card: Card) -> str:
    """Return a card in words."""
    return f"{card.rank.name} of {card.suit.name}".lower()


def called(place: str) -> str:
    """Return the card of a place in words."""
    return name_of(LAID[place])


def where(place: str) -> str:
    """Return a place in words."""
    if place in {MOUTH, DISCARD}:
        return {MOUTH: "the shoe's mouth", DISCARD: "the discard"}[place]
    hand, number = place.split("_")
    return f"{hand.capitalize()}'s {('first', 'second', 'third')[int(number) - 1]} place"


def exchanged(poses: Mapping[str, Pose]) -> list[str]:
    """Return in words which cards lie where others should; nothing where all seems right.

    A hand's cards lie on one side of the other's, its first and second side by side and alike.
    """
    hands = [[place for place in poses if place.startswith(hand)] for hand in ("PUNTO", "BANCO")]
    if not _apart(poses, hands):
        for one, two in product(*hands):
            swapped = {**poses, one: poses[two], two: poses[one]}
            if _apart(swapped, hands):
                return [_swap(one, two)]
        return [
            "Punto's and Banco's cards lie among one another: spades are Punto's, hearts Banco's"
        ]
    faults = []
    for hand in ("PUNTO", "BANCO"):
        first, second, third = (poses.get(f"{hand}_{n}") for n in (1, 2, 3))
        if first is None or second is None or third is None:
            continue
        if first.turn(second) > 45:
            other = "1" if third.turn(second) < 45 else "2"
            faults.append(_swap(f"{hand}_{other}", f"{hand}_3"))
        elif first.distance(second) > CLOSER * first.distance(third):
            faults.append(_swap(f"{hand}_2", f"{hand}_3"))
    return faults


def _apart(poses: Mapping[str, Pose], hands: Sequence[Sequence[str]]) -> bool:
    """Whether the cards of both hands lie on two sides of a line across from hand to hand."""
    points = [np.array([poses[place].centre for place in hand]) for hand in hands]
    way = points[1].mean(axis=0) - points[0].mean(axis=0)
    way /= max(float(np.hypot(*way)), 1e-6)
    return float((points[0] @ way).max()) < float((points[1] @ way).min())


def _swap(one: str, two: str) -> str:
    return (
        f"the {called(one)} and the {called(two)} seem to have changed places: "
        f"the {called(one)} belongs on {where(one)}, the {called(two)} on {where(two)}"
    )


def poses_of(fitted: PlaneFit, places: Sequence[str]) -> dict[str, Pose]:
    """Return where the cards of places lie, each the mean of all pictures that show it."""
    poses: dict[str, Pose] = {}
    for place in dict.fromkeys(places):
        these = [number for number, name in enumerate(places) if name == place]
        x, y = fitted.centres[these].mean(axis=0).tolist()
        twice = np.exp(2j * fitted.turns[these]).sum()
        poses[place] = Pose(x, y, (90.0 + float(np.degrees(np.angle(twice))) / 2) % 180.0)
    return poses


def areas_of(laid: Mapping[str, Pose], card_mm: tuple[float, float]) -> dict[str, Points]:
    """Return the areas of a table (n x 2 mm) by name, from where the cards of its places lie."""
    poses = {**laid, **_put(laid, card_mm)}
    width, length = card_mm
    areas: dict[str, Points] = {}
    for slot in Slot:
        hand = [poses[name] for name in poses if name[:5] == slot.name[:5]]
        pose = straightened(poses[slot.name], hand)
        areas[slot.name] = card_rectangle(pose, (width + 2 * ROOM_MM, length + 2 * ROOM_MM))
    way = leaving(laid)
    across = np.array([-way[1], way[0]]) * (length / 2 + MOUTH_ROOM_MM)
    middle = np.array(laid[MOUTH].centre) + way * MOUTH_AHEAD_MM
    ends = ((-1, -1), (1, -1), (1, 1), (-1, 1))
    corners = [middle + a * MOUTH_DEPTH_MM / 2 * way + b * across for a, b in ends]
    areas[MOUTH] = np.array(corners, np.float32)
    if DISCARD in laid:
        more = 2 * DISCARD_ROOM_MM
        areas[DISCARD] = card_rectangle(laid[DISCARD], (width + more, length + more))
    return areas


def leaving(laid: Mapping[str, Pose]) -> Vector:
    """Return the unit vector (2,) along which cards leave the shoe.

    They leave it long side first: of the half-drawn card's long sides it is the one that faces the
    places. A shoe may stand so that they leave across the way to the places.
    """
    mouth = laid[MOUTH]
    slots = [pose.centre for name, pose in laid.items() if name not in {MOUTH, DISCARD}]
    turn = math.radians(mouth.angle + 90.0)
    way = np.array([math.cos(turn), math.sin(turn)])
    faces = way @ (np.mean(slots, axis=0) - mouth.centre) > 0
    return way if faces else -way


def straightened(pose: Pose, hand: Sequence[Pose]) -> Pose:
    """Return a card's pose along or across the middle one of its hand's directions."""
    angles = np.array([one.angle for one in hand])
    apart = np.abs((angles[:, None] - angles + 45.0) % 90.0 - 45.0)
    base = float(angles[apart.sum(axis=1).argmin()])
    return Pose(pose.x, pose.y, (base + 90.0 * round((pose.angle - base) / 90.0)) % 180.0)


def _put(laid: Mapping[str, Pose], card_mm: tuple[float, float]) -> dict[str, Pose]:
    """Return third places that no card shows.

    They lie as the other hand's, or else across beyond the second card.
    """
    put: dict[str, Pose] = {}
    for hand, other in (("PUNTO", "BANCO"), ("BANCO", "PUNTO")):
        one, two = (complex(*laid[f"{hand}_{n}"].centre) for n in (1, 2))
        way, turn = (sum(card_mm) / 2 + GAP_MM) / abs(two - one) + 0j, 90.0
        if f"{other}_3" in laid:
            first, second, third = (complex(*laid[f"{other}_{n}"].centre) for n in (1, 2, 3))
            way = (third - second) / (second - first)
            # The hands mostly mirror one another.
            way = way.conjugate() if ((second - first) / (two - one)).real < 0 else way
            turn = laid[f"{other}_3"].angle - laid[f"{other}_2"].angle
        there = two + way * (two - one)
        pose = Pose(there.real, there.imag, (laid[f"{hand}_2"].angle + turn) % 180.0)
        put |= {} if f"{hand}_3" in laid else {f"{hand}_3": pose}
    return put


def clipped(area: Points, plane: Homography, size: Size) -> Points:
    """Return the part of an area (n x 2 mm) that the picture shows; all of it if it shows none."""
    width, height = size
    edge = np.array([[1, 1], [width - 1, 1], [width - 1, height - 1], [1, height - 1]], np.float32)
    pixels = plane.to_px(area)
    inside = (pixels > 0).all() and (pixels < size).all()
    part = pixels[:0] if inside else shared_part(pixels, edge)
    return plane.to_mm(part) if len(part) else area
