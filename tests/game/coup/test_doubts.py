"""Doubts of sight: they hold a result until sight agrees or a person rules, and accuse nobody."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.game.dealer import B1, B2, B3, INSPECTOR, P1, P2, P3, Dealer
from vision.game.cards import DECK, Card
from vision.game.commands import (
    BurnCard,
    CommentAlert,
    Confirm,
    CorrectCard,
    MoveCard,
    RectifyAlert,
    ResultStands,
    UndoLast,
    VoidCoup,
)
from vision.game.coup.doubts import open_reviews
from vision.game.coup.fault_table import KINDS
from vision.game.coup.results import PUBLIC
from vision.game.events import (
    CardOut,
    CardPlaced,
    CardRead,
    CardRemoved,
    CardWithdrawn,
    Event,
    Noticed,
    ResultEntered,
    ShoeStarted,
    Slot,
    TimePassed,
    ViewLost,
    Winner,
)
from vision.game.outputs import AlertState, Replied, ResultState

STANDS, DRAWS, NATURAL = "4h 4c 3d 3c", "2h 4c Kd Kc", "9h 3c Kd Kc"
FINAL, HELD = ResultState.FINAL, ResultState.HELD


def review(dealer: Dealer, order: int | None = None, *, over: bool = False) -> None:
    """Say that sight is in doubt, or no longer."""
    dealer.tell(Noticed(dealer.tick(), "REVIEW", order, detail="6 lie, 5 left.", over=over))


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
    review(dealer, phantom)
    dealer.lay(P3, phantom)
    dealer.read(phantom, "Jc")
    next_coup(dealer)
    next_coup(dealer)
    assert dealer.result_of(1).state is HELD
    assert "DEADLINE_PASSED" not in dealer.raised
    assert dealer.open == ["REVIEW"]
    assert [dealer.result_of(coup).state for coup in (2, 3)] == [FINAL, FINAL]
    alert = dealer.alerts["REVIEW"]
    assert (alert.state, alert.deadline, alert.order) == (AlertState.RAISED, "none", phantom)
    assert (
        alert.text
        == f"Reader in doubt about card number {phantom}: compare the cards. 6 lie, 5 left."
    )


def test_fault_alleged_before_the_doubt_is_withdrawn() -> None:
    """An over-draw that turns out to rest on a doubt ends, and says why."""
    dealer = Dealer().start()
    dealer.hand(NATURAL)
    phantom = dealer.lay(P3)
    assert dealer.open == ["OVER_NATURAL"]
    review(dealer, phantom)
    alert = dealer.alerts["OVER_NATURAL"]
    assert (alert.state, alert.reason) == (AlertState.RECTIFIED, "a card of the coup is in doubt")
    assert dealer.open == ["REVIEW"]


def test_fault_that_rests_on_another_card_is_alleged() -> None:
    """A doubt about one card does not hide what is wrong whichever way it turns out."""
    dealer = Dealer().start()
    dealer.hand("2h 4c Kd Kc", (P3, "3h"), (B3, "2h"))
    review(dealer, 6)
    dealer.deal(P3, "9c")
    assert dealer.open == ["REVIEW", "OVER_4TH"]


def test_doubt_about_a_coup_hides_every_fault_of_its_cards() -> None:
    """Where it is not known which card is in doubt, nothing about the cards is alleged."""
    dealer = Dealer().start()
    dealer.hand(NATURAL)
    review(dealer)
    dealer.deal(P3, "Jc")
    dealer.tell(ResultEntered(dealer.tick(), Winner.BANCO))
    assert dealer.open == ["REVIEW"]
    review(dealer, over=True)
    assert "OVER_NATURAL" in dealer.open
    assert "WRONG_RESULT" in dealer.open


def test_order_and_clearing_are_not_alleged_while_a_card_is_in_doubt() -> None:
    """A card that may have left at any time says nothing of the order, nor of what was cleared."""
    dealer = Dealer().start()
    for slot in (B1, P2):
        dealer.deal(slot, "2c")
    assert dealer.open == ["WRONG_HAND"]
    review(dealer, 2)
    dealer.clear()
    dealer.tell(TimePassed(dealer.tick(4_000)))
    assert dealer.open == ["REVIEW"]


def test_doubt_that_sight_resolves_releases_the_result() -> None:
    """Once the witnesses agree the result is final, in the coup itself and long after it."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    review(dealer, 2)
    assert dealer.result.state is HELD
    review(dealer, 2, over=True)
    assert dealer.result.state is FINAL
    review(dealer)
    next_coup(dealer)
    assert dealer.result_of(1).state is HELD
    review(dealer, over=True)
    assert dealer.result_of(1).state is FINAL
    assert dealer.open == []


def test_phantom_that_sight_withdraws_leaves_a_clean_coup() -> None:
    """A card that was none leaves coup and shoe as they are without it."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    phantom = dealer.lay(P3)
    review(dealer, phantom)
    dealer.read(phantom, "Jc")
    dealer.tell(CardWithdrawn(dealer.tick(), phantom))
    assert dealer.result.state is HELD
    review(dealer, phantom, over=True)
    assert (dealer.result.state, dealer.result.faults) == (FINAL, ())
    assert dealer.result.punto.cards == (Card.parse("4h"), Card.parse("3d"))
    assert dealer.table.shoe.gone == 4
    assert dealer.table.shoe.counts[Card.parse("Jc").index] == 0


def test_phantom_does_not_keep_the_next_coup_from_beginning() -> None:
    """A card in doubt that seems to lie there still is no reason to take the hands for lying."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    phantom = dealer.lay(None)
    review(dealer, phantom)
    dealer.lying.remove(phantom)
    next_coup(dealer)
    assert (dealer.result.coup, dealer.result.state) == (2, FINAL)
    assert "EARLY_DEAL" not in dealer.raised


def test_first_card_laid_over_a_phantom_begins_the_next_coup() -> None:
    """A card where a first card lies begins a coup, though a doubted one seems to lie there."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    phantom = dealer.lay(None)
    order = dealer.out()
    dealer.lying.remove(phantom)
    dealer.clear()
    review(dealer, phantom)
    dealer.lay(P1, order)
    assert [len(coup.cards) for coup in dealer.table.coups] == [5, 1]


@pytest.mark.parametrize("role", ["confirm", "rectify", "stands", "void", "burn"])
def test_person_ends_a_doubt(role: str) -> None:
    """Whoever may rule ends a doubt, long after the coup too; what it hid is then dealt with."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    phantom = dealer.lay(P3)
    review(dealer, phantom)
    dealer.read(phantom, "Jc")
    next_coup(dealer)
    name = dealer.alerts["REVIEW"].id
    at = dealer.tick()
    order = {
        "confirm": Confirm(at, *INSPECTOR, 1),
        "rectify": RectifyAlert(at, *INSPECTOR, name, "R2"),
        "stands": ResultStands(at, *INSPECTOR, 1),
        "void": VoidCoup(at, *INSPECTOR, 1),
        "burn": BurnCard(at, *INSPECTOR, 1),
    }[role]
    dealer.tell(order)
    assert dealer.all(Replied)[-1].accepted
    result = dealer.result_of(1)
    # Four cards made a result before there was a fifth.
    after = {"void": ResultState.VOID, "burn": FINAL}
    assert result.state is after.get(role, ResultState.CORRECTED)
    assert dealer.alerts["REVIEW"].state is AlertState.RECTIFIED
    assert dealer.alerts["REVIEW"].by == "Ada"
    assert result.faults == (() if role == "void" else ("OVER_P3_STAND",))
    assert len(result.punto.cards) == (2 if role == "burn" else 3)
    if role == "stands":
        assert dealer.alerts["OVER_P3_STAND"].remedy == "R1"


def test_doubt_after_a_ruling_is_another_doubt() -> None:
    """What a person ruled on stays ruled; a later doubt is told, held, and over, by itself."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    review(dealer)
    dealer.tell(Confirm(dealer.tick(), *INSPECTOR, 1))
    assert dealer.result.state is FINAL
    review(dealer)
    assert dealer.result.state is HELD
    assert dealer.raised == ["REVIEW", "REVIEW"]
    review(dealer, over=True)
    assert dealer.result.state is FINAL


def test_doubt_that_comes_again_is_the_same_doubt() -> None:
    """Sight that doubts, agrees and doubts again has one alert, whatever was said of it."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    review(dealer, 2)
    review(dealer, 2, over=True)
    review(dealer, 2)
    assert dealer.raised == ["REVIEW"]
    assert dealer.result.state is HELD
    name = dealer.alerts["REVIEW"].id
    dealer.tell(CommentAlert(dealer.tick(), *INSPECTOR, name, reason="looking"))
    review(dealer, 2, over=True)
    review(dealer, 2)
    assert dealer.result.state is HELD


@pytest.mark.parametrize("code", ["REVIEW", "RESTART_CONFIRM"])
def test_ruling_taken_back_opens_the_doubt_again(code: str) -> None:
    """With the order that ended it, the end of a doubt is taken back."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    dealer.tell(Noticed(dealer.tick(), code))
    dealer.tell(Confirm(dealer.tick(), *INSPECTOR, 1))
    assert dealer.result.state is FINAL
    dealer.tell(UndoLast(dealer.tick(), *INSPECTOR))
    assert dealer.result.state is HELD
    assert dealer.open == [code]


def test_coup_held_for_a_doubt_as_its_shoe_ends_is_kept() -> None:
    """A coup that is left in doubt raises HELD_OVER, which keeps its shoe and pictures."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    review(dealer, 2)
    dealer.clear()
    dealer.tell(ShoeStarted(dealer.tick(), "another"))
    assert dealer.open == ["REVIEW", "HELD_OVER"]
    assert dealer.result_of(1).state is HELD


def test_fault_that_rests_on_a_misread_card_waits_for_it() -> None:
    """Whether a card was due hangs on a card in doubt: the limit passes once that is settled."""
    dealer = Dealer().start()
    order = dealer.lay(P1)
    dealer.tell(CardRead(dealer.tick(), order, Card.parse("6h"), 0.8, Card.parse("5h")))
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
    assert "DEADLINE_PASSED" not in dealer.raised


def test_face_read_after_the_result_is_a_conflict_until_sight_says_more() -> None:
    """Another face may be a misread as well as a switched card: it holds, and accuses nobody."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    dealer.tell(Confirm(dealer.tick(), *INSPECTOR, 1))
    dealer.read(1, "9s", 0.5)
    assert dealer.result.state is FINAL
    dealer.read(1, "9s")
    assert dealer.open == ["READ_CONFLICT"]
    assert dealer.result.state is HELD
    next_coup(dealer)
    assert dealer.result_of(1).state is HELD


def test_switched_card_shows_both_faces_and_lasts() -> None:
    """What was noticed as switched names the face that lies there now, and no time ends it."""
    dealer = Dealer().start()
    dealer.deal(P1, "9c")
    dealer.tell(Noticed(dealer.tick(), "SWITCH", 1, P1, "It was lifted."))
    assert dealer.alerts["SWITCH"].text == (
        "Card in Punto 1 was one face, now another. It was lifted."
    )
    dealer.read(1, None)
    dealer.read(1, "9c")
    dealer.read(1, "Ah")
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


def test_switch_of_a_card_never_read_waits_for_its_face() -> None:
    """A notice of a card without a face changes nothing in how the card is read."""
    dealer = Dealer().start()
    dealer.lay(P1)
    dealer.tell(Noticed(dealer.tick(), "SWITCH", 1))
    dealer.read(1, "9c")
    assert dealer.open == ["SWITCH"]
    assert dealer.table.coup is not None
    assert dealer.table.coup.cards[0].face is None


def test_what_sight_notices_of_a_doubted_card_is_not_alleged() -> None:
    """Two cards out together are none where it is not known whether there were two."""
    dealer = Dealer().start()
    dealer.deal(P1, "4h")
    dealer.deal(B1, "4c")
    dealer.tell(Noticed(dealer.tick(), "TWO_CARDS_OUT", 2))
    dealer.tell(Noticed(dealer.tick(), "RETURNED_TO_SHOE"))
    review(dealer, 2)
    assert dealer.open == ["RETURNED_TO_SHOE", "REVIEW"]
    dealer.confirm(1)
    assert dealer.open == ["TWO_CARDS_OUT", "RETURNED_TO_SHOE"]


def test_order_of_cards_keyed_in_is_not_judged() -> None:
    """Of cards that nobody saw it is not known in which order they left the shoe."""
    dealer = Dealer().start()
    dealer.tell(ViewLost(dealer.tick(), "dark"))
    dealer.tell(ResultEntered(dealer.tick(), Winner.PUNTO))
    for slot in (P1, P2):
        dealer.tell(CorrectCard(dealer.tick(), *INSPECTOR, 1, slot, Card.parse("2c")))
    assert dealer.open == ["VIEW_LOST"]


# --- any sequence of events -----------------------------------------------------------------------

ORDERS = st.integers(1, 9)
SEEN = st.one_of(
    st.builds(CardOut, st.just(0), ORDERS),
    st.builds(CardPlaced, st.just(0), ORDERS, st.sampled_from([None, *Slot])),
    st.builds(
        CardRead, st.just(0), ORDERS, st.sampled_from(DECK[::5]), st.sampled_from([1.0, 0.8])
    ),
    st.builds(CardRemoved, st.just(0), ORDERS),
    st.builds(CardWithdrawn, st.just(0), st.integers(5, 9)),
    st.builds(TimePassed, st.just(0)),
    st.builds(ResultEntered, st.just(0), st.sampled_from(Winner)),
    st.builds(Noticed, st.just(0), st.sampled_from(["TWO_CARDS_OUT", "EXPOSED_IN_SHOE"])),
)
GAPS = st.sampled_from([50, 800, 6_000])


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.integers(1, 4), st.sampled_from([STANDS, DRAWS, NATURAL]), st.lists(st.tuples(SEEN, GAPS))
)
def test_no_sequence_makes_a_result_of_a_coup_in_doubt(
    doubted: int, hands: str, events: list[tuple[Event, int]]
) -> None:
    """Nothing but sight's own word or a person's ends a doubt, and no fault is alleged for time."""
    dealer = Dealer().start()
    dealer.out()
    review(dealer, 1)
    dealer.lay(P1, 1)
    for slot, face in zip((P1, B1, P2, B2), hands.split(), strict=True):
        if slot is P1:
            dealer.read(1, face)
        else:
            dealer.deal(slot, face)
    review(dealer, 1, over=True)
    assert dealer.table.coup is not None
    review(dealer, doubted)
    told = len(dealer.said)
    for event, gap in events:
        dealer.tell(type(event)(**{**_fields(event), "at": dealer.tick(gap)}))
        coup = dealer.table.coup_at(1)
        assert coup is not None
        assert open_reviews(coup)
        assert coup.result is None or coup.result.state is HELD
    later = [one for one in dealer.said[told:] if one in dealer.results]
    assert not [one for one in later if one.coup == 1 and one.state in PUBLIC]  # type: ignore[union-attr]
    passed = [a for a in dealer.alerts.values() if a.coup == 1 and a.code == "DEADLINE_PASSED"]
    assert not [a for a in passed if "WRONG_ORDER_INIT" in a.text]


def _fields(event: Event) -> dict[str, object]:
    return {name: getattr(event, name) for name in event.__dataclass_fields__}


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


def test_card_too_many_by_a_count_alone_is_no_fault_until_it_lies() -> None:
    """A card was not seen all its way: another that is out may be the same one, counted twice."""
    dealer = Dealer()
    for slot, face in zip((P1, B1, P2, B2), ("9h", "3c", "Kd", "Kc"), strict=True):
        order = dealer.out()
        dealer.tell(CardPlaced(dealer.tick(), order, slot, unordered=slot is P2))
        dealer.read(order, face)
    surplus = dealer.out()
    assert dealer.raised == []
    dealer.lay(P3, surplus)
    assert dealer.raised == ["OVER_NATURAL"]


def test_card_whose_turn_is_not_known_accuses_nobody_while_another_is_to_be_laid() -> None:
    """It lies with Banco and left first or second: the other one tells."""
    dealer = Dealer()
    dealer.tell(CardPlaced(dealer.tick(), dealer.out(), B1, unordered=True))
    second = dealer.out()
    assert dealer.raised == []
    dealer.tell(CardPlaced(dealer.tick(), second, P1, unordered=True))
    dealer.lay(P2)
    assert dealer.raised == []


def test_card_taken_away_before_another_leaves_is_told_though_the_coup_is_complete() -> None:
    """The dealer took it off too soon; a hand that is cleared gets no further card."""
    dealer = Dealer()
    for slot, face in ((P1, "7c"), (B1, "7h"), (P2, "Ts")):
        dealer.deal(slot, face)
    dealer.tell(CardRemoved(dealer.tick(), 2))
    dealer.deal(B2, "Js")
    assert dealer.raised == ["WRONG_REMOVED"]


def test_card_of_which_the_turn_is_not_known_left_after_what_lay_already() -> None:
    """The second card was followed to the wrong hand; which of the next two is which is open."""
    dealer = Dealer()
    dealer.lay(P1)
    dealer.lay(P2)
    third, fourth = dealer.out(), dealer.out()
    dealer.tell(CardPlaced(dealer.tick(), third, B1, unordered=True))
    dealer.tell(CardPlaced(dealer.tick(), fourth, B2, unordered=True))
    for order, face in enumerate(("5d", "8d", "Qd", "4c"), start=1):
        dealer.read(order, face)
    assert dealer.open == ["WRONG_ORDER_INIT"]


def test_card_too_many_that_is_put_aside_is_told_though_one_was_not_followed() -> None:
    """It lies in no place of a hand, and it lies: that is an over-draw."""
    dealer = Dealer()
    for slot, face in zip((P1, B1, P2, B2), ("9h", "3c", "Kd", "Kc"), strict=True):
        order = dealer.out()
        dealer.tell(CardPlaced(dealer.tick(), order, slot, unordered=slot is P2))
        dealer.read(order, face)
    dealer.lay(None)
    assert dealer.raised == ["OVER_NATURAL"]


def test_order_found_wrong_stays_so_when_the_next_card_leaves() -> None:
    """All four lie, in another order, one of them not seen all its way: a fifth changes nothing."""
    dealer = Dealer()
    for slot, face in zip((P1, P2, B1, B2), ("5d", "8d", "Qd", "4c"), strict=True):
        order = dealer.out()
        dealer.tell(CardPlaced(dealer.tick(), order, slot, unordered=slot is B1))
        dealer.read(order, face)
    assert dealer.open == ["WRONG_ORDER_INIT"]
    dealer.out()
    assert "WRONG_ORDER_INIT" in dealer.open


def test_card_keyed_in_after_the_clearing_accuses_nobody() -> None:
    """Nobody knows when a card left that sight has missed."""
    dealer = Dealer()
    for slot, face in ((P1, "7c"), (B1, "7h"), (P2, "Ts")):
        dealer.deal(slot, face)
    dealer.clear()
    order = dealer.out()
    dealer.tell(CardPlaced(dealer.tick(), order, B2, unordered=True))
    dealer.read(order, "Js")
    assert "WRONG_REMOVED" not in dealer.open
