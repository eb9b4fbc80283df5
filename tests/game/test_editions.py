"""A log of an earlier program is folded by the rules that were in force then."""

from __future__ import annotations

import pytest

from tests.game.dealer import B1, B2, INSPECTOR, P1, P2, Dealer
from vision.game.cards import Card
from vision.game.commands import Confirm
from vision.game.coup.state import Table
from vision.game.editions import Edition, edition_of
from vision.game.events import (
    CardPlaced,
    CardRead,
    CardRemoved,
    Noticed,
    ShoeStarted,
    Started,
    ViewLost,
)
from vision.game.outputs import AlertState, ResultState
from vision.game.rules import Rules

STANDS = "4h 4c 3d 3c"


@pytest.mark.parametrize(
    ("version", "edition"),
    [
        ("0.1", Edition.FIRST),
        ("0.1.0", Edition.FIRST),
        ("0.1.7+local", Edition.FIRST),
        ("0.2", Edition.SECOND),
        ("0.2.0", Edition.SECOND),
        ("1.0.0", Edition.SECOND),
        ("", Edition.SECOND),
        ("next", Edition.SECOND),
    ],
)
def test_version_says_the_edition(version: str, edition: Edition) -> None:
    """What a run says of its program decides; a run that says nothing is of this one."""
    assert edition_of(version) is edition


def test_checkpoint_without_an_edition_is_of_the_first() -> None:
    """A table stored before there were editions goes on by the first."""
    assert Table(Rules()).edition is Edition.FIRST


def of(version: str) -> Dealer:
    """Return a dealer at a table whose program has that version."""
    dealer = Dealer()
    dealer.tell(Started(dealer.tick(), "boot-1", version))
    return dealer


def test_doubt_lapsed_in_the_first_edition() -> None:
    """Under 0.1 a misread risk lapsed as the cards were cleared, and its result was final."""
    for version, state in (("0.1.0", ResultState.FINAL), ("0.2.0", ResultState.HELD)):
        dealer = of(version)
        order = dealer.lay(P1)
        dealer.tell(CardRead(dealer.tick(), order, Card.parse("4h"), 0.8, Card.parse("9h")))
        for slot, face in zip((B1, P2), ("4c", "3d"), strict=True):
            dealer.deal(slot, face)
        dealer.deal(B1, "3c")
        dealer.clear()
        dealer.out()
        assert dealer.result_of(1).state is state


def test_face_read_after_the_result_was_a_switch_in_the_first_edition() -> None:
    """Under 0.1 any other face after the result was a switched card, until the clearing."""
    dealer = of("0.1.0")
    dealer.hand(STANDS)
    dealer.read(1, "9s")
    assert dealer.alerts["SWITCH"].deadline == "settlement"
    dealer.clear()
    assert dealer.alerts["SWITCH"].state is AlertState.LAPSED


def test_order_of_the_first_four_was_judged_at_once_in_the_first_edition() -> None:
    """Under 0.1 the second card with Punto was another order, not a card with the wrong hand."""
    dealer = of("0.1.0")
    dealer.deal(P1, "2c")
    dealer.deal(P2, "2c")
    assert dealer.raised == ["WRONG_ORDER_INIT"]


def test_conflict_and_confirmation_in_the_first_edition() -> None:
    """Under 0.1 a confirmed card stayed so, and a confirmed restart was forgotten."""
    dealer = of("0.1.0")
    dealer.deal(P1, "4h")
    dealer.tell(Noticed(dealer.tick(), "RESTART_CONFIRM"))
    dealer.tell(Confirm(dealer.tick(), *INSPECTOR, 1))
    assert dealer.table.coup is not None
    assert dealer.table.coup.noticed == ()
    dealer.read(1, "5h")
    assert "READ_CONFLICT" not in dealer.raised


def test_program_that_follows_takes_open_doubts_over() -> None:
    """A doubt that an earlier program raised loses its time limit when this one goes on."""
    dealer = of("0.1.0")
    order = dealer.lay(P1)
    dealer.tell(CardRead(dealer.tick(), order, Card.parse("4h"), 0.8, Card.parse("9h")))
    for slot, face in ((B1, "4c"), (P2, "3d"), (B1, "3c")):
        dealer.deal(slot, face)
    assert dealer.alerts["MISREAD_RISK"].deadline == "settlement"
    dealer.tell(Started(dealer.tick(), "boot-2", "0.2.0"))
    dealer.clear()
    dealer.out()
    alert = dealer.alerts["MISREAD_RISK"]
    assert (alert.state, alert.deadline) == (AlertState.RAISED, "none")
    assert dealer.result_of(1).state is ResultState.HELD


def test_count_alone_was_a_fault_in_the_first_edition() -> None:
    """Under 0.1 a card too many was alleged as it left, whatever was followed before."""
    for version, raised in (("0.1.0", ["OVER_NATURAL"]), ("0.2.0", [])):
        dealer = of(version)
        for slot, face in zip((P1, B1, P2, B2), ("9h", "3c", "Kd", "Kc"), strict=True):
            order = dealer.out()
            dealer.tell(CardPlaced(dealer.tick(), order, slot, unordered=slot is P2))
            dealer.read(order, face)
        dealer.out()
        assert dealer.raised == raised


def test_card_taken_away_before_the_last_was_no_fault_in_the_first_edition() -> None:
    """Under 0.1 it was one only while a card was due."""
    for version, raised in (("0.1.0", []), ("0.2.0", ["WRONG_REMOVED"])):
        dealer = of(version)
        for slot, face in ((P1, "7c"), (B1, "7h"), (P2, "Ts")):
            dealer.deal(slot, face)
        dealer.tell(CardRemoved(dealer.tick(), 2))
        dealer.deal(B2, "Js")
        assert dealer.raised == raised


def test_turn_of_a_card_not_followed_was_taken_as_seen_in_the_first_edition() -> None:
    """Under 0.1 the first card told was the first of the coup, though another was on its way."""
    for version, raised in (("0.1.0", ["WRONG_ORDER_INIT"]), ("0.2.0", [])):
        dealer = of(version)
        dealer.tell(CardPlaced(dealer.tick(), dealer.out(), B1, unordered=True))
        dealer.out()
        assert dealer.raised == raised


def test_card_missing_while_the_view_was_lost_was_an_under_draw_in_the_first_edition() -> None:
    """Of a coup that begins then, what is missing may only not have been seen."""
    raised = {}
    for version in ("0.1.0", "0.2.0"):
        dealer = of(version)
        dealer.tell(ViewLost(dealer.tick(), "dark"))
        dealer.hand("2h 4c Kd Kc")
        dealer.clear()
        raised[version] = dealer.raised
    assert raised == {"0.1.0": ["VIEW_LOST", "UNDER_P3"], "0.2.0": ["VIEW_LOST"]}


def test_card_gone_that_never_came_was_a_card_in_the_first_edition() -> None:
    """The hands of the last coup may be cleared after a new shoe was ordered."""
    coups = {}
    for version in ("0.1.0", "0.2.0"):
        dealer = of(version)
        lying = dealer.hand("9h 4c Kd Kc")
        dealer.tell(ShoeStarted(dealer.tick(), "next"))
        for order in lying:
            dealer.tell(CardRemoved(dealer.tick(), order))
        coups[version] = len(dealer.table.coups)
    assert coups == {"0.1.0": 1, "0.2.0": 0}
