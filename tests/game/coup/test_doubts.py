"""Doubts of sight: they hold a result until sight agrees or a person rules, and accuse nobody."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.game.dealer import B1, B2, B3, INSPECTOR, P1, P2, P3, Dealer
from tests.seen import out
from vision.game.cards import DECK, Card
from vision.game.commands import (
    CloseAlert,
    Confirm,
    CorrectCard,
    MoveCard,
    RectifyAlert,
    ResultStands,
    UndoLast,
    VoidCoup,
)
from vision.game.coup.fault_table import KINDS
from vision.game.coup.results import PUBLIC, is_doubted
from vision.game.events import (
    CoupSeen,
    Life,
    Noticed,
    ResultEntered,
    SeenCard,
    ShoeStarted,
    Slot,
    TimePassed,
    ViewLost,
    Winner,
)
from vision.game.outputs import AlertState, CoupResult, Replied, ResultState

STANDS, DRAWS, NATURAL = "4h 4c 3d 3c", "2h 4c Kd Kc", "9h 3c Kd Kc"
FINAL, HELD = ResultState.FINAL, ResultState.HELD


WORDS = "5 cards are 3 times likelier than 4."


def next_coup(dealer: Dealer, text: str = STANDS) -> None:
    """Clear the table and deal another coup."""
    dealer.clear()
    dealer.tick(5_000)
    dealer.hand(text)


def test_phantom_third_card_never_becomes_a_result() -> None:
    """A card that sight doubts accuses nobody, and time does not make a result of it."""
    dealer = Dealer().start()
    dealer.hand(NATURAL)
    phantom = dealer.out()
    dealer.doubt(WORDS)
    dealer.lay(P3, phantom)
    dealer.read(phantom, "Jc")
    next_coup(dealer)
    next_coup(dealer)
    assert dealer.result_of(1).state is HELD
    assert all("Not resolved" not in one.text for one in dealer.alerts.values())
    assert dealer.open == ["REVIEW"]
    assert [dealer.result_of(coup).state for coup in (2, 3)] == [FINAL, FINAL]
    alert = dealer.alerts["REVIEW"]
    assert (alert.state, alert.deadline) == (AlertState.RAISED, "none")
    assert alert.text == f"Reader in doubt about this coup: compare the cards. {WORDS}"


def test_fault_alleged_before_the_doubt_is_withdrawn() -> None:
    """An over-draw that turns out to rest on a doubt ends, and says why."""
    dealer = Dealer().start()
    dealer.hand(NATURAL)
    dealer.lay(P3)
    assert dealer.open == ["OVER_NATURAL"]
    dealer.doubt(WORDS)
    alert = dealer.alerts["OVER_NATURAL"]
    assert (alert.state, alert.reason) == (AlertState.RECTIFIED, "a card of the coup is in doubt")
    assert dealer.open == ["REVIEW"]


def test_doubt_about_a_coup_hides_every_fault_of_its_cards() -> None:
    """Nothing about the cards is alleged, nor what only sight can know, until the doubt ends."""
    dealer = Dealer().start()
    dealer.hand(NATURAL)
    dealer.allege("TWO_CARDS_OUT", 2)
    dealer.doubt(WORDS)
    dealer.deal(P3, "Jc")
    dealer.tell(ResultEntered(dealer.tick(), Winner.BANCO))
    assert dealer.open == ["REVIEW"]
    dealer.doubt("")
    assert "TWO_CARDS_OUT" in dealer.open
    assert "OVER_NATURAL" in dealer.open
    assert "WRONG_RESULT" in dealer.open


def test_doubt_that_sight_resolves_releases_the_result() -> None:
    """Once the witnesses agree the result is final, in the coup itself and long after it."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    dealer.doubt(WORDS)
    assert dealer.result.state is HELD
    dealer.doubt("")
    assert dealer.result.state is FINAL
    dealer.doubt(WORDS)
    assert dealer.raised == ["REVIEW"]
    next_coup(dealer)
    assert dealer.result_of(1).state is HELD
    dealer.doubt("", coup=1)
    assert dealer.result_of(1).state is FINAL
    assert dealer.open == []


def test_phantom_that_sight_withdraws_leaves_a_clean_coup() -> None:
    """A card that was none leaves coup and shoe as they are without it."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    phantom = dealer.lay(P3)
    dealer.doubt(WORDS)
    dealer.read(phantom, "Jc")
    dealer.withdraw(phantom)
    assert dealer.result.state is HELD
    dealer.doubt("")
    assert (dealer.result.state, dealer.result.faults) == (FINAL, ())
    assert dealer.result.punto.cards == (Card.parse("4h"), Card.parse("3d"))
    assert dealer.table.shoe.gone == 4
    assert dealer.table.shoe.counts[Card.parse("Jc").index] == 0


@pytest.mark.parametrize("role", ["confirm", "rectify", "stands", "void"])
def test_person_ends_a_doubt(role: str) -> None:
    """Whoever may rule ends a doubt, long after the coup too; what it hid is then dealt with."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    phantom = dealer.lay(P3)
    dealer.doubt(WORDS)
    dealer.read(phantom, "Jc")
    next_coup(dealer)
    name = dealer.alerts["REVIEW"].id
    at = dealer.tick()
    order = {
        "confirm": Confirm(at, *INSPECTOR, 1),
        "rectify": RectifyAlert(at, *INSPECTOR, name, "R2"),
        "stands": ResultStands(at, *INSPECTOR, 1),
        "void": VoidCoup(at, *INSPECTOR, 1),
    }[role]
    dealer.tell(order)
    assert dealer.all(Replied)[-1].accepted
    result = dealer.result_of(1)
    # Four cards made a result before there was a fifth.
    assert result.state is (ResultState.VOID if role == "void" else ResultState.CORRECTED)
    assert dealer.alerts["REVIEW"].state is AlertState.RECTIFIED
    assert dealer.alerts["REVIEW"].by == "Ada"
    assert result.faults == (() if role == "void" else ("OVER_P3_STAND",))
    assert len(result.punto.cards) == 3
    if role == "stands":
        assert dealer.alerts["OVER_P3_STAND"].remedy == "R1"


def test_doubt_after_a_ruling_is_another_doubt() -> None:
    """What a person ruled on stays ruled; a later doubt is told, held, and over, by itself."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    dealer.doubt(WORDS)
    dealer.tell(Confirm(dealer.tick(), *INSPECTOR, 1))
    assert dealer.result.state is FINAL
    dealer.doubt("")
    dealer.doubt(WORDS)
    assert dealer.result.state is HELD
    assert dealer.raised == ["REVIEW", "REVIEW"]
    dealer.doubt("")
    assert dealer.result.state is FINAL


@pytest.mark.parametrize("code", ["REVIEW", "RESTART_CONFIRM"])
def test_ruling_taken_back_opens_the_doubt_again(code: str) -> None:
    """With the order that ended it, the end of a doubt is taken back."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    if code == "REVIEW":
        dealer.doubt(WORDS)
    else:
        dealer.allege(code)
    dealer.tell(Confirm(dealer.tick(), *INSPECTOR, 1))
    assert dealer.result.state is FINAL
    assert dealer.alerts[code].remedy == "", "that is no remedy of the house's list"
    dealer.tell(UndoLast(dealer.tick(), *INSPECTOR))
    assert dealer.result.state is HELD
    assert dealer.open == [code]


def test_coup_held_for_a_doubt_as_its_shoe_ends_is_kept() -> None:
    """The alert of a coup left in doubt says so and keeps its shoe, until it is closed."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    dealer.doubt(WORDS)
    dealer.clear()
    dealer.tell(ShoeStarted(dealer.tick(), "another"))
    assert dealer.open == ["REVIEW"]
    alert = dealer.alerts["REVIEW"]
    assert alert.text.endswith("Close this alert to release the shoe.")
    assert dealer.result_of(1).state is HELD
    dealer.tell(CloseAlert(dealer.tick(), *INSPECTOR, alert.id, reason="paid as dealt"))
    assert dealer.open == []


def test_fault_that_rests_on_a_misread_card_waits_for_it() -> None:
    """Whether a card was due hangs on a card in doubt: the limit passes once that is settled."""
    dealer = Dealer().start()
    order = dealer.lay(P1)
    dealer.read(order, "6h", 0.8, "5h")
    for slot, face in ((B1, "7c"), (P2, "Kd"), (B2, "Kc")):
        dealer.deal(slot, face)
    dealer.lay(P3)
    next_coup(dealer)
    alert = dealer.alerts["OVER_P3_STAND"]
    assert (alert.state, alert.deadline, alert.check_card) == (AlertState.RAISED, "none", True)
    assert dealer.result_of(1).state is HELD
    dealer.tell(CorrectCard(dealer.tick(), *INSPECTOR, 1, P1, Card.parse("6h")))
    alert = dealer.alerts["OVER_P3_STAND"]
    assert (alert.state, alert.in_time) == (AlertState.LAPSED, False)


def test_missing_card_waits_for_a_card_read_as_two_faces() -> None:
    """The same where a different earlier reading would make the missing card not due."""
    dealer = Dealer().start()
    order = dealer.deal(P1, "6h")
    dealer.read(order, "5h")
    for slot, face in ((B1, "7c"), (P2, "Kd"), (B2, "Kc")):
        dealer.deal(slot, face)
    next_coup(dealer)
    alert = dealer.alerts["UNDER_P3"]
    assert (alert.state, alert.deadline, alert.check_card) == (AlertState.RAISED, "none", True)
    assert all("Not resolved" not in one.text for one in dealer.alerts.values())


def test_face_read_after_the_result_is_a_conflict_until_sight_says_more() -> None:
    """Another face may be a misread as well as a switched card: it holds, and accuses nobody."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    dealer.tell(Confirm(dealer.tick(), *INSPECTOR, 1))
    dealer.read(1, "9s")
    assert dealer.open == ["READ_CONFLICT"]
    assert dealer.result.state is HELD
    next_coup(dealer)
    assert dealer.result_of(1).state is HELD


def test_conflict_that_proves_to_be_a_switch_is_one_alert() -> None:
    """Once sight is sure that both faces are true, none of them was misread."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    dealer.read(1, "9s")
    assert dealer.open == ["READ_CONFLICT"]
    dealer.read(1, "4h")
    dealer.see(dealer.sight.switch(dealer.tick(), 1, Card.parse("9s")))
    assert dealer.open == ["SWITCH"]


def test_switched_card_shows_both_faces_and_lasts() -> None:
    """What was noticed as switched names the face that lies there now, and no time ends it."""
    dealer = Dealer().start()
    dealer.deal(P1, "9c")
    dealer.see(dealer.sight.switch(dealer.tick(), 1))
    assert dealer.alerts["SWITCH"].text == "Card in Punto 1 was one face, now another."
    dealer.see(dealer.sight.switch(dealer.tick(), 1, Card.parse("Ah")))
    for slot, face in ((B1, "5h"), (P2, "7s"), (B2, "7h"), (B3, "8h")):
        dealer.deal(slot, face)
    next_coup(dealer)
    alert = dealer.alerts["SWITCH"]
    assert (alert.state, alert.text) == (AlertState.RAISED, "Card in Punto 1 was 9c, now Ah.")
    assert (alert.card, alert.second) == (Card.parse("9c"), Card.parse("Ah"))
    assert dealer.raised == ["SWITCH"]
    assert dealer.result_of(1).state is HELD
    dealer.tell(ResultStands(dealer.tick(), *INSPECTOR, 1))
    assert (dealer.result_of(1).state, dealer.result_of(1).faults) == (FINAL, ("SWITCH",))


def test_order_of_cards_keyed_in_is_not_judged() -> None:
    """Of cards that nobody saw it is not known in which order they left the shoe."""
    dealer = Dealer().start()
    dealer.tell(ViewLost(dealer.tick(), "dark"))
    dealer.tell(ResultEntered(dealer.tick(), Winner.PUNTO))
    for slot in (P1, P2):
        dealer.tell(CorrectCard(dealer.tick(), *INSPECTOR, 1, slot, Card.parse("2c")))
    assert dealer.open == ["VIEW_LOST"]


# --- any sequence of events -----------------------------------------------------------------------

CARDS = st.lists(
    st.tuples(st.sampled_from(Life), st.sampled_from([None, *Slot]), st.sampled_from(DECK[::5])),
    max_size=7,
)
SEEN = st.one_of(
    st.tuples(CARDS, st.booleans()),
    st.builds(TimePassed, st.just(0)),
    st.builds(ResultEntered, st.just(0), st.sampled_from(Winner)),
    st.builds(Noticed, st.just(0), st.just("EXPOSED_IN_SHOE")),
    st.just(out(0, 20, 2)),
    st.just(out(0, 24, 3)),
)
GAPS = st.sampled_from([50, 800, 6_000])


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@example(STANDS, [(([(Life.REMOVED, None, Card.parse("Ac"))], False), 50)])  # as a burn card goes
@example(DRAWS, [(([], False), 50), (([(Life.REMOVED, None, Card.parse("Ac"))], False), 50)])
@given(st.sampled_from([STANDS, DRAWS, NATURAL]), st.lists(st.tuples(SEEN, GAPS)))
def test_no_sequence_makes_a_result_of_a_coup_in_doubt(
    hands: str, events: list[tuple[Any, int]]
) -> None:
    """Nothing but sight's own word or a person's ends a doubt, and no fault is alleged for time."""
    dealer = Dealer().start()
    dealer.hand(hands)
    dealer.doubt(WORDS)
    before = len(dealer.outputs)
    for event, gap in events:
        at = dealer.tick(gap)
        if isinstance(event, tuple):
            cards, sure = event
            seen = tuple(
                SeenCard(order, at, life, slot, face_up=True, card=card, confidence=1.0)
                for order, (life, slot, card) in enumerate(cards, start=1)
            )
            dealer.tell(CoupSeen(at, 1, seen, sure=sure, doubt=WORDS))
        else:
            dealer.tell(replace(event, at=at))
        coup = dealer.table.coup_at(1)
        assert coup is not None
        assert is_doubted(coup)
        assert coup.result is None or coup.result.state is HELD
    later = [one for one in dealer.outputs[before:] if isinstance(one, CoupResult)]
    assert not [one for one in later if one.coup == 1 and one.state in PUBLIC]
    assert all("Not resolved" not in one.text for one in dealer.alerts.values())


def test_every_doubt_is_of_the_reader_and_has_no_time_limit() -> None:
    """A kind that is about the reading and holds a result never lapses."""
    doubts = [kind for kind in KINDS.values() if kind.of_reader and kind.holds]
    assert {kind.code for kind in doubts} == {
        "REVIEW", "MISREAD_RISK", "READ_CONFLICT", "RESTART_CONFIRM",
    }  # fmt: skip
    assert {kind.deadlines for kind in doubts} == {("none",)}


def test_moved_card_keeps_its_code() -> None:
    """A card of the first four that was ordered to the right hand lay with the wrong one."""
    dealer = Dealer().start()
    dealer.deal(P1, "8h")
    dealer.deal(P2, "9h")
    assert dealer.alerts["WRONG_HAND"].text == "Card 2 lies with Punto, due to Banco."
    dealer.tell(MoveCard(dealer.tick(), *INSPECTOR, 1, P2, B1))
    dealer.deal(P2, "Jc")
    dealer.deal(B2, "7s")
    assert dealer.open == []
    assert dealer.result.faults == ("WRONG_HAND",)


def test_card_taken_away_before_another_leaves_is_reported_though_the_coup_is_complete() -> None:
    """The dealer took it off too soon; a hand that is cleared gets no further card."""
    dealer = Dealer()
    for slot, face in ((P1, "7c"), (B1, "7h"), (P2, "Ts")):
        dealer.deal(slot, face)
    dealer.take(2)
    dealer.deal(B2, "Js")
    assert dealer.raised == ["WRONG_REMOVED"]
