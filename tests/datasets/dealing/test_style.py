"""Dealers' styles: held-out ones are strange, and every one deals smoothly and tells the truth."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from datasets.dealing.choreography import choreograph
from datasets.dealing.deal import deal
from datasets.dealing.film import Shot
from datasets.dealing.film_settings import look_for
from datasets.dealing.manners import SQUEEZES, in_manner
from datasets.dealing.scenario import Dealing, Plan, Scenario, Slip
from datasets.dealing.simulate import Show, rehearse
from datasets.dealing.style import (
    COUNT,
    HELD_OUT,
    PLAIN,
    Looking,
    Manner,
    Motion,
    Optics,
    Style,
    styles,
)
from datasets.dealing.table_places import FIELD_MM, Camera
from datasets.dealing.timeline import Act, Limb, on_table

SMALL = Camera((480, 270))
CODES = {
    Slip.EXPOSED_IN_SHOE: "EXPOSED_IN_SHOE",
    Slip.RETURNED_TO_SHOE: "RETURNED_TO_SHOE",
    Slip.TWO_AT_ONCE: "TWO_CARDS_OUT",
    Slip.EXPOSED_EARLY: "EXPOSED_EARLY",
    Slip.SWITCHED: "SWITCH",
    Slip.TAKEN_OFF: "WRONG_REMOVED",
    Slip.STAYS_COVERED: "UNREAD",
}


def shown(style: Style = PLAIN, slip: Slip | None = None, **scenario: object) -> Show:
    """Return a show of two coups in a style, noiseless, the first with a slip."""
    settings = {"coups": 2, "dealing": Dealing.FACE_DOWN, "plans": {1: Plan(slip)}} | scenario
    look = look_for("test", 1, SMALL, noise=0.0, style=style)
    return rehearse(Scenario(**settings), look)  # type: ignore[arg-type]


def motions(style: Style) -> set[str]:
    """Return how the dealer of a style carries, turns and collects."""
    return {style.motion.carry, style.motion.turning, style.motion.collecting}


def test_every_held_out_style_has_a_motion_that_no_training_style_has() -> None:
    """What carries over to held-out styles carries over to a dealer nobody has seen."""
    trained = set().union(*map(motions, styles("train")))
    assert not trained & HELD_OUT
    assert all(motions(style) - trained for style in styles("test"))
    assert set(HELD_OUT) <= set().union(*map(motions, styles("test")))


def test_styles_are_the_same_each_time_and_all_different() -> None:
    """A style's number names it for good, and no two are alike."""
    styles.cache_clear()
    before = {split: styles(split) for split in COUNT}
    styles.cache_clear()
    assert before == {split: styles(split) for split in COUNT}
    drawn = [repr(replace(style, name="")) for split in COUNT for style in styles(split)]
    assert len(set(drawn)) == sum(COUNT.values())


@pytest.mark.parametrize("split", COUNT)
def test_no_style_has_the_shoe_or_the_tray_in_the_way(split: str) -> None:
    """All slots lie in the picture, and neither mouth nor tray reaches into one."""
    for style in styles(split):
        layout = style.layout
        slots = np.array(
            [layout.slot_polygon(f"{h}_{n}") for h in ("PUNTO", "BANCO") for n in "123"]
        )
        assert (slots > 0).all()
        assert (slots < FIELD_MM).all()
        for area in (layout.mouth_polygon(), layout.tray_polygon()):
            apart = [np.linalg.norm(slot.mean(axis=0) - area.mean(axis=0)) for slot in slots]
            assert min(apart) > 90


@pytest.mark.parametrize("dealing", [Dealing.FACE_UP, Dealing.PUNTO_FIRST], ids=str)
@pytest.mark.parametrize("split", COUNT)
def test_hands_and_cards_never_jump_in_any_style(split: str, dealing: Dealing) -> None:
    """Each motion begins where and how the one before it ended, mistakes included."""
    for number, style in enumerate(styles(split)[:16]):
        scenario = Scenario(
            seed=number, coups=2, dealing=dealing, slip_every=2, from_sight=True, burn=True
        )
        for act in choreograph(deal(scenario), scenario, style):
            _assert_smooth(act)


@pytest.mark.parametrize("manner", Manner, ids=str)
def test_hands_and_cards_never_jump_in_any_manner(manner: Manner) -> None:
    """Each motion begins where the one before it ended, and a card's life keeps its order."""
    number = list(Manner).index(manner)
    style = in_manner(styles("test")[number], manner, number)
    for dealing in (Dealing.FACE_UP, Dealing.PUNTO_FIRST):
        show = shown(
            style, dealing=dealing, coups=3, plans={}, slip_every=2, from_sight=True, burn=True
        )
        for act in show.acts:
            _assert_smooth(act)
        for card in show.truth()["cards"]:
            assert card["began_ms"] < card["out_ms"] < card["placed_ms"]


def test_manner_is_seen_in_the_acts() -> None:
    """Each does what its name says: who opens cards, where a burn lies, how long nothing moves."""
    acts = {
        manner: shown(in_manner(PLAIN, manner, 1), burn=True, coups=6).acts for manner in Manner
    }
    for manner in SQUEEZES:
        guests = [hand for act in acts[manner] for hand in act.hands if hand.limb is Limb.GUEST]
        assert len(guests) > 20
        again = replace(PLAIN, motion=replace(PLAIN.motion, looking=Looking.SQUEEZED))
        for act in shown(in_manner(again, manner, 1), coups=2).acts:
            for card in act.cards:
                opened = [leg.target.flip == 1 for leg in card.legs]
                assert opened == sorted(opened), "an open card was bent open again"
    assert max(act.end - act.start for act in acts[Manner.PAUSES]) > 50
    burned = acts[Manner.BURN_FAN][0].cards[1:]
    assert np.ptp([card.pose(card.placed).x for card in burned]) > 15 * (len(burned) - 1)  # type: ignore[union-attr]
    straight = pairwise(acts[Manner.BURN_STRAIGHT][0].cards[1:])
    assert all(one.gone and one.gone < two.placed for one, two in straight)
    relieved = [hand.limb for act in acts[Manner.RELIEVED] for hand in act.hands]
    assert {Limb.DRAWING, Limb.RELIEF} <= set(relieved)
    held = (card for act in acts[Manner.TWO_IN_HAND] for card in pairwise(act.cards))
    assert any(two.out < one.placed for one, two in held)


def _assert_smooth(act: Act) -> None:
    for legs in (*(hand.legs for hand in act.hands), *(card.legs for card in act.cards)):
        for one, two in pairwise(legs):
            assert one.end <= two.start + 1e-9
            assert np.hypot(*(one.target.centre - two.origin.centre)) < 1e-6
            assert one.target.flip == two.origin.flip


@pytest.mark.parametrize("number", range(0, COUNT["test"], 3))
def test_truth_keeps_the_order_of_a_card_s_life_in_every_style(number: int) -> None:
    """A card begins to leave, is out, lies, shows its face and is removed, one after the other."""
    cards = shown(styles("test")[number], coups=1, seed=number).truth()["cards"]
    for card in cards:
        assert card["began_ms"] < card["out_ms"] < card["placed_ms"]
        assert card["placed_ms"] < card["face_ms"] < card["removed_ms"]
    assert all(one["out_ms"] < two["began_ms"] for one, two in pairwise(cards))


@pytest.mark.parametrize("slip", CODES, ids=str)
def test_mistake_from_sight_has_its_code_and_its_instant(slip: Slip) -> None:
    """The hands are dealt by the tableau; one fault is told, at an instant within the coup."""
    truth = shown(slip=slip, dealing=Dealing.PUNTO_FIRST).truth()
    (fault,) = truth["faults"]
    assert fault["code"] == CODES[slip]
    assert truth["coups"][0]["start_ms"] < fault["at_ms"] < truth["coups"][0]["end_ms"]


def card_of(reported: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Return the card that the only fault of a truth is about."""
    (fault,) = reported["faults"]
    return next(card for card in reported["cards"] if card["order"] == fault["order"])


def test_returned_card_goes_out_and_back_before_it_is_out_for_good() -> None:
    """Its first exit and its return stand in the truth, and it leaves once more after them."""
    card = card_of(shown(slip=Slip.RETURNED_TO_SHOE).truth())
    ((out, back),) = card["returns_ms"]
    assert out < back < card["began_ms"] < card["out_ms"]


def test_two_cards_at_once_are_out_in_order_and_close_together() -> None:
    """The second follows within a fraction of a second and lies long after the first."""
    truth = shown(slip=Slip.TWO_AT_ONCE).truth()
    card = card_of(truth)
    other = next(c for c in truth["cards"] if c["order"] == card["order"] - 1)
    assert 0 < card["out_ms"] - other["out_ms"] < 300
    assert card["placed_ms"] > other["placed_ms"] + 300


def test_covered_card_is_never_seen() -> None:
    """Its face has no instant in the truth; the faces of the others have."""
    truth = shown(slip=Slip.STAYS_COVERED).truth()
    card = card_of(truth)
    assert card["face_ms"] is None
    assert all(c["face_ms"] for c in truth["cards"] if c is not card)


def test_switched_card_shows_another_face_in_the_same_place() -> None:
    """The card that lies there afterwards is none of the shoe's."""
    act = shown(slip=Slip.SWITCHED).acts[0]
    (stranger,) = [card for card in act.cards if card.drawn.order == 0]
    (gone,) = [c for c in act.cards if c.drawn.place == stranger.drawn.place and c is not stranger]
    assert stranger.drawn.card != gone.drawn.card
    assert stranger.legs[0].start == gone.gone


def test_next_card_waits_half_out_of_the_shoe() -> None:
    """Of a dealer whose cards wait, one is in sight before the mouth long before it is drawn."""
    style = Style(motion=Motion(waits_mm=30.0))
    acts = shown(style).acts
    coming = acts[1].cards[0]
    assert coming in on_table(acts, 0)
    pose = coming.pose(acts[0].end)
    assert pose is not None
    reach = ((pose.corners() - style.layout.mouth) @ style.layout.way).max()
    assert 25 < reach < 40


def test_rolling_exposure_bends_what_moves_and_nothing_else() -> None:
    """A frame of rest is the same with a slow readout; one of motion is not."""
    rolling = Style(optics=Optics(readout_s=0.03))
    quick, slow = shown(), shown(rolling)
    act = quick.acts[0]
    flight = act.cards[0].legs[-1 if len(act.cards[0].legs) < 2 else 1]
    for at, same in ((act.start + 0.01, True), ((flight.start + flight.end) / 2, False)):
        one, two = (
            Shot(show.look).frame(on_table(show.acts, 0), show.acts[0], at)
            for show in (quick, slow)
        )
        assert np.array_equal(one, two) is same
