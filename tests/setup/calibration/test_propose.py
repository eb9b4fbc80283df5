"""Places are proposed from where cards rest, come from and go, and what is not known is said."""

from __future__ import annotations

from collections.abc import Sequence

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
ALL = list(PLACES)
# A coup takes so long, its cards come so far apart and are cleared after so long, ms.
COUP, STEP, LIES = 15_000, 1000, 9000


def rested(play: Play, pose: Pose, since: int, until: int) -> Rest:
    """Let a card lie still, seen by a track of its own that moves nowhere."""
    quad = PLANE.to_px(card_rectangle(pose)).astype(float)
    rest = Rest(since, until, quad.mean(axis=0), [quad] * 3)
    play.ways.append(Way([(since, rest.middle), (until, rest.middle)], 31.0, [rest]))
    return rest


def played(coups: int, slots: Sequence[Slot] = ALL, *, broken: bool = False) -> Play:
    """Return so many coups in which a card came to each slot in turn, and went to the discard.

    `broken`: no track holds from the shoe to the slot or from there to the discard.
    """
    play, rng = Play(), np.random.default_rng(1)
    for coup in range(coups):
        for turn, slot in enumerate(slots):
            at, end = COUP * coup + STEP * turn, COUP * coup + LIES
            pose = PLACES[slot]
            spot = np.array(pose.centre) + rng.normal(0, 3, 2)
            rest = rested(play, Pose(*spot.tolist(), pose.angle), at + 400, end)
            if not broken:
                start = MOUTH + 0.05 * (spot - MOUTH)
                shares = np.array([0.0, 0.25, 0.5, 0.75, 1.0])[:, None]
                path = [*(start + shares * (spot - start)), *(spot + shares * (DISCARD - spot))]
                times = [*range(at, at + 500, 100), *range(end, end + 500, 100)]
                middles = [
                    (t, PLANE.to_px(p).astype(float)) for t, p in zip(times, path, strict=True)
                ]
                play.ways[-1] = Way(middles, 31.0, [rest])
    return play


def off(proposal: Proposal, slot: Slot) -> float:
    """Return how far a proposed slot's middle lies from the true one, mm."""
    middle = proposal.known[slot.name].mean(axis=0)
    return float(np.linalg.norm(middle - PLACES[slot].centre))


def test_places_are_proposed_where_cards_lay() -> None:
    """Each slot has its name and place, mouth and discard are held, nothing is unknown."""
    found = propose(played(4), PLANE, POKER_MM)
    assert all(off(found, slot) < 8 for slot in Slot)
    assert np.linalg.norm(found.known["MOUTH"].mean(axis=0) - MOUTH) < 100
    assert np.linalg.norm(found.known["DISCARD"].mean(axis=0) - DISCARD) < 100
    assert not found.unknown


def test_third_place_that_was_never_used_is_not_proposed() -> None:
    """It is named with a guess by the other hand's, to be looked at: a guess is no proposal."""
    found = propose(played(4, ALL[:5]), PLANE, POKER_MM)
    assert set(found.unknown) == {"BANCO_3"}
    x, y = (float(v) for v in PLANE.to_px(np.array(PLACES[Slot.BANCO_3].centre)))
    guess = found.unknown["BANCO_3"].split("BANCO_3=")[1].split(",")
    assert np.hypot(float(guess[0]) - x, float(guess[1]) - y) < 6


def test_broken_tracks_propose_no_mouth_and_no_discard() -> None:
    """Where cards begin and end is not guessed; the slots, which rests alone show, are right."""
    found = propose(played(4, broken=True), PLANE, POKER_MM)
    assert set(found.unknown) == {"MOUTH", "DISCARD"}
    assert all(off(found, slot) < 8 for slot in Slot)


def test_pile_that_lies_on_from_a_clearing_is_the_discard() -> None:
    """No track leads there: a card that comes to lie at the end of a coup and stays is enough."""
    play = played(4, broken=True)
    rested(play, Pose(*DISCARD.tolist(), 80), LIES + 500, 4 * COUP)
    found = propose(play, PLANE, POKER_MM)
    assert np.linalg.norm(found.known["DISCARD"].mean(axis=0) - DISCARD) < 10


def test_things_that_look_like_cards_elsewhere_move_no_slot() -> None:
    """Chips and printed boxes seen as cards, now and then or always, are no places of the game."""
    play, rng = played(4, broken=True), np.random.default_rng(2)
    for box in range(6):
        pose = Pose(150 + 160 * box, 480, 90)
        for since in np.sort(rng.integers(0, 4 * COUP, 12)):
            rested(play, pose, int(since), int(since) + 2000)
    found = propose(play, PLANE, POKER_MM)
    assert all(off(found, slot) < 8 for slot in Slot)


def test_hands_filled_in_another_order_each_time_are_not_named() -> None:
    """Where the coups do not agree which hand is first, nothing is proposed."""
    play = played(2)
    other = [Slot.BANCO_1, Slot.PUNTO_1, Slot.BANCO_2, Slot.PUNTO_2]
    for way in played(2, other).ways:
        moved = [
            Rest(r.since + 2 * COUP, r.until + 2 * COUP, r.middle, r.corners) for r in way.rests
        ]
        play.ways.append(Way([(at + 2 * COUP, spot) for at, spot in way.middles], 31.0, moved))
    with pytest.raises(NotEnoughError, match="which hand comes first differs"):
        propose(play, PLANE, POKER_MM)


@pytest.mark.parametrize(
    ("coups", "slots"),
    [pytest.param(4, ALL[:3], id="three places"), pytest.param(2, ALL, id="two coups")],
)
def test_too_little_play_is_said_in_words(coups: int, slots: list[Slot]) -> None:
    """Three places are no table, and two coups no habit."""
    with pytest.raises(NotEnoughError, match="longer"):
        propose(played(coups, slots), PLANE, POKER_MM)
