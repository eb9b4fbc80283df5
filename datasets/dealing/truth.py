"""The truth about a simulated shoe: what a faultless reader would report, and its table file.

Read off the acts alone, no picture needed. Times are ms from the start of the film.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from vision.game.cards import points_of
from vision.sight.geometry.plane import shared_area

from ..faces.registry import load_deck
from ..render.paint import Points
from .deal import CUT, Mistake
from .film import frame_count, frame_ms
from .film_settings import Look
from .table_places import SLOTS, toward
from .timeline import Act, Carried, Reach, is_moving, pose_at

# What a hand with its arm covers about its grip, arm downwards, with room for its shadow; mm.
_HAND = np.array(
    [[-62, -58], [62, -58], [80, 20], [66, 160], [110, 860], [-110, 860], [-66, 160], [-80, 20]],
    np.float64,
)
# A card of which more than this is under a hand is covered, mm2.
_COVERED_MM2 = 25.0
# Within this time around its instant a frame's exposure must be free of movement; s.
_STILL_S = 0.02


def truth(acts: Sequence[Act], look: Look, *, dealing: str) -> dict[str, Any]:
    """Return the truth as it is written to truth.json."""
    pixels, plane = look.camera.calibration()
    layout = look.style.layout
    cards = [_card(act, card, look.fps) for act in acts for card in act.cards if card.drawn.order]
    coups = [act for act in acts if act.coup.number > 0]
    cuts = [c.out for act in acts for c in act.cards if c.drawn.place == CUT]
    return {
        "fps": look.fps,
        "frames": frame_count(acts, look.fps),
        "calibration": {"image_px": _rounded(pixels), "table_mm": _rounded(plane)},
        "slots_mm": {name: _rounded(layout.slot_polygon(name)) for name in SLOTS},
        "mouth_mm": _rounded(layout.mouth_polygon()),
        "discard_mm": _rounded(layout.tray_polygon()),
        "card_mm": list(load_deck(look.deck).size_mm),
        "deck": look.deck,
        "back": look.back,
        "table": look.table,
        "style": look.style.name,
        "seed": look.seed,
        "dealing": dealing,
        "cut_ms": _ms(cuts[0]) if cuts else None,
        "cards": cards,
        "coups": [_coup(act) for act in coups],
        "faults": [_fault(act, mistake, cards) for act in acts for mistake in act.coup.mistakes],
    }


def table_toml(look: Look, *, source: str, dealing: str, profile: str) -> str:
    """Return a table file for the film at `source`, as `shoe-reader run` reads it."""
    pixels, plane = look.camera.calibration()
    layout = look.style.layout
    width, height = look.camera.size
    lines = [
        'site = "demo"',
        'table = "1"',
        f"profile = {json.dumps(profile)}",
        f"dealing = {json.dumps(dealing)}",
        "",
        "[camera]",
        f"source = {json.dumps(source)}",
        f"width = {width}",
        f"height = {height}",
        f"fps = {look.fps:.3f}",
        "",
        "[view]",
        f"image_px = {_rounded(pixels)}",
        f"table_mm = {_rounded(plane)}",
        f"mouth_mm = {_rounded(layout.mouth_polygon())}",
        f"exit_mm = {_rounded(layout.exit[None])[0]}",
        f"discard_mm = {_rounded(layout.tray_polygon())}",
        f"card_mm = {list(load_deck(look.deck).size_mm)}",
        "",
        "[view.slots_mm]",
        *(f"{name} = {_rounded(layout.slot_polygon(name))}" for name in SLOTS),
        "",
        "[broker]",
        'kind = "embedded"',
        "",
        "[log]",
        'path = "table.sqlite"',
    ]
    return "\n".join(lines) + "\n"


def _card(act: Act, card: Carried, fps: float) -> dict[str, Any]:
    slot = card.drawn.slot
    return {
        "order": card.drawn.order,
        "card": str(card.drawn.card),
        "slot": slot.name if slot is not None else None,
        "coup": act.coup.number,
        "began_ms": _ms(card.began),
        "out_ms": _ms(card.out),
        "returns_ms": [[_ms(out), _ms(back)] for out, back in card.returns],
        "placed_ms": _ms(card.placed),
        "face_ms": _face_ms(card, act.hands, fps),
        "shown_ms": _ms(card.shown) if card.shown is not None else None,
        "removed_ms": _ms(card.removed) if card.removed is not None else None,
    }


def _coup(act: Act) -> dict[str, Any]:
    punto, banco = act.coup.hand("PUNTO"), act.coup.hand("BANCO")
    return {
        "coup": act.coup.number,
        "dealing": act.coup.dealing.value,
        "punto": [str(card) for card in punto],
        "banco": [str(card) for card in banco],
        "winner": act.coup.winner,
        "punto_points": points_of(punto),
        "banco_points": points_of(banco),
        "faults": [mistake.code for mistake in act.coup.mistakes],
        "start_ms": _ms(act.start),
        "end_ms": _ms(act.end),
    }


def _fault(act: Act, mistake: Mistake, cards: Sequence[dict[str, Any]]) -> dict[str, Any]:
    if mistake.order is None:
        times = [c["removed_ms"] for c in cards if c["coup"] == act.coup.number]
        at = min(time for time in times if time is not None)
    else:
        card = next(c for c in cards if c["order"] == mistake.order)
        at = card[f"{mistake.moment}_ms"]
    return {
        "code": mistake.code,
        "coup": act.coup.number,
        "order": mistake.order,
        "at_ms": at,
    }


def _face_ms(card: Carried, hands: Sequence[Reach], fps: float) -> int | None:
    """Return the first frame in which the card lies still, face up and clear of all hands."""
    until = card.removed if card.removed is not None else card.placed + 60.0
    for index in range(int(np.ceil(card.placed * fps)), int(until * fps) + 1):
        at = index / fps
        pose = card.pose(at)
        if pose is None or pose.flip < 1 or is_moving(card.legs, at - _STILL_S, at + _STILL_S):
            continue
        if not any(_is_covered(pose.corners(), reach, at) for reach in hands):
            return frame_ms(index, fps)
    return None


def _is_covered(corners: Points, reach: Reach, at: float) -> bool:
    pose = pose_at(reach.legs, at)
    if pose is None:
        return False
    way = toward(pose.centre, reach.shoulder)
    cos, sin = float(way[1]), -float(way[0])
    outline = _HAND @ np.array([[cos, sin], [-sin, cos]]) + pose.centre
    shared = shared_area(outline.astype(np.float32), corners.astype(np.float32))
    return shared > _COVERED_MM2


def _ms(seconds: float) -> int:
    return round(1000 * seconds)


def _rounded(points: Points) -> list[list[float]]:
    return [[round(float(x), 2), round(float(y), 2)] for x, y in points]
