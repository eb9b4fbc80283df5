"""Places are proposed from where cards rest, come from and go, and what is a guess is said."""

from __future__ import annotations

import numpy as np
import pytest

from vision.game.events import Slot
from vision.setup.calibration.observed_play import Play, Rest, Way
from vision.setup.calibration.propose import NotEnoughError, Proposal, propose
from vision.sight.geometry.plane import POKER_MM, Homography, Pose, card_rectangle

PLANE = Homography(np.diag([0.5, 0.5, 1.0]))
MOUTH, DISCARD = np.array([1000.0, 150.0]), np.array([110.0, 130.0])
PLACES = {
    Slot.PUNTO_1: Pose(312, 262, 90),
    Slot.BANCO_1: Pose(686, 262, 90),
    Slot.PUNTO_2: Pose(394, 262, 90),
    Slot.BANCO_2: Pose(768, 262, 90),
    Slot.PUNTO_3: Pose(216, 262, 0),
    Slot.BANCO_3: Pose(864, 262, 0),
}


def played(coups: int, slots: list[Slot]) -> Play:
    """Return so many coups in which a card came to each slot in turn, and went to the discard."""
    play, rng = Play(), np.random.default_rng(1)
    for coup in range(coups):
        for turn, slot in enumerate(slots):
            at, end = 15_000 * coup + 1000 * turn, 15_000 * coup + 9000
            pose = PLACES[slot]
            spot = np.array(pose.centre) + rng.normal(0, 3, 2)
            start = MOUTH + 0.05 * (spot - MOUTH)
            quad = PLANE.to_px(card_rectangle(Pose(*spot.tolist(), pose.angle)))
            path = [
                start,
                (start + spot) / 2,
                spot,
                (spot + DISCARD) / 2,
                np.add(DISCARD, (20, 10)),
            ]
            times = (at, at + 150, at + 300, end, end + 150)
            middles = [(t, PLANE.to_px(p).astype(float)) for t, p in zip(times, path, strict=True)]
            rest = Rest(at + 300, end, middles[2][1], [quad.astype(float)] * 3)
            play.ways.append(Way(middles, 126.0, [rest]))
    return play


def off(proposal: Proposal, slot: Slot) -> float:
    """Return how far a proposed slot's middle lies from the true one, mm."""
    return float(np.linalg.norm(proposal.slots[slot].mean(axis=0) - PLACES[slot].centre))


@pytest.mark.parametrize("slots", [list(PLACES), list(PLACES)[:5]], ids=["all", "no third Banco"])
def test_places_are_proposed_where_cards_lay(slots: list[Slot]) -> None:
    """Each slot has its name and place, mouth and discard lie about right, guesses are named."""
    found = propose(played(3, slots), PLANE, POKER_MM)
    assert all(off(found, slot) < 8 for slot in slots)
    assert all(off(found, slot) < 40 for slot in Slot)
    guesses = [line.split(":")[0] for line in found.words if "a guess" in line]
    assert guesses == [slot.name for slot in Slot if slot not in slots]
    assert np.linalg.norm(found.mouth.mean(axis=0) - MOUTH) < 100
    assert found.discard is not None
    assert np.linalg.norm(found.discard.mean(axis=0) - DISCARD) < 100


def test_too_little_play_is_said_in_words() -> None:
    """Three places are no table."""
    with pytest.raises(NotEnoughError, match="longer"):
        propose(played(2, list(PLACES)[:3]), PLANE, POKER_MM)
