"""What sight corrects of a coup: cards that left unseen, that went back, that were none."""

from __future__ import annotations

import pytest

from tests.game.dealer import B1, B2, B3, DEALT, INSPECTOR, P1, P2, P3, Dealer
from vision.game.cards import Card
from vision.game.commands import CarryCard, UndoLast
from vision.game.events import (
    CardFound,
    CardOut,
    CardPlaced,
    CardRead,
    CardRemoved,
    CardWithdrawn,
    Noticed,
    ShoeEnded,
    ShoeStarted,
)
from vision.game.outputs import AlertState, CardSeen, Ignored, ResultState, ShoeChanged

STANDS = "4h 4c 3d 3c"


def found(dealer: Dealer) -> int:
    """Find a card on the table that nobody saw leave, and return its order."""
    dealer.order = max(dealer.order, dealer.table.next_order - 1) + 1
    dealer.tell(CardFound(dealer.tick(), dealer.order))
    return dealer.order


def returned(dealer: Dealer, order: int | None) -> None:
    """Push a card back into the shoe."""
    dealer.tell(Noticed(dealer.tick(), "RETURNED_TO_SHOE", order))
    if order in dealer.lying:
        dealer.lying.remove(order)


# --- found ----------------------------------------------------------------------------------------


def test_first_card_found_late_makes_the_codes_right() -> None:
    """Once the card whose exit was unseen is known, the order is right and the natural is seen."""
    dealer = Dealer().start()
    for slot, face in ((B1, "9c"), (P2, "8d"), (B2, "2d")):
        dealer.deal(slot, face)
    assert dealer.open == ["WRONG_HAND"]
    dealer.deal(B3, "Td")
    order = found(dealer)
    dealer.lay(P1, order)
    dealer.read(order, "As")
    assert dealer.open == ["OVER_NATURAL"]
    assert dealer.result.state is ResultState.HELD
    assert dealer.result.faults == ("OVER_NATURAL",)
    assert [card.order for card in dealer.table.coup.cards] == [5, 1, 2, 3, 4]  # type: ignore[union-attr]
    assert [one.event for one in dealer.all(CardSeen) if one.order == order] == [
        "found", "placed", "read",
    ]  # fmt: skip


def test_card_found_where_the_first_lies_begins_no_coup_while_one_is_to_be_laid() -> None:
    """Of two on their way the second comes to light first, and lies where the first card lies."""
    dealer = Dealer().start()
    dealer.out()
    on_its_way, order = dealer.order, found(dealer)
    dealer.lay(P1, order)
    dealer.lay(B1, on_its_way)
    coup = dealer.table.coup
    assert coup is not None
    assert (coup.number, [card.order for card in coup.cards]) == (1, [order, on_its_way])
    assert dealer.raised == []


@pytest.mark.parametrize("missed", range(4))
def test_card_of_the_first_four_found_at_any_time_raises_nothing(missed: int) -> None:
    """A legal coup of which one exit was unseen raises nothing once all is known."""
    for late in range(missed, 4):
        dealer = Dealer().start()
        waiting = None
        for index, (slot, face) in enumerate(zip(DEALT, STANDS.split(), strict=True)):
            if index == missed:
                waiting = (slot, face)
            else:
                dealer.deal(slot, face)
            if index == late and waiting is not None:
                order = found(dealer)
                dealer.lay(waiting[0], order)
                dealer.read(order, waiting[1])
        assert dealer.open == [], (missed, late)
        assert dealer.result.state is ResultState.FINAL
        assert [str(card) for card in dealer.result.punto.cards] == ["4h", "3d"]


def test_first_card_read_late_makes_the_codes_right() -> None:
    """A natural that is known only when its card is keyed in makes the third card one too many."""
    dealer = Dealer().start()
    order = dealer.lay(P1)
    dealer.read(order, None)
    for slot, face in ((B1, "9c"), (P2, "8d"), (B2, "2d"), (B3, "Td")):
        dealer.deal(slot, face)
    assert "OVER_NATURAL" not in dealer.raised
    dealer.read(order, "As")
    assert dealer.open == ["OVER_NATURAL"]


def test_third_card_found_after_bancos_is_not_out_of_turn() -> None:
    """Where Punto's third card was seen last but not seen to leave, nobody drew out of turn."""
    dealer = Dealer().start()
    dealer.hand("2h 4c Kd Kc")
    dealer.deal(B3, "2c")
    assert dealer.open == ["WRONG_HAND"]
    order = found(dealer)
    dealer.lay(P3, order)
    dealer.read(order, "3h")
    assert dealer.open == []
    assert dealer.result.state is ResultState.FINAL


def test_card_found_passes_no_time_limit() -> None:
    """A card found left before: it is not the next card that a fault is to be put right before."""
    dealer = Dealer().start()
    for slot in (P1, B1):
        dealer.deal(slot, "2c")
    dealer.tell(Noticed(dealer.tick(), "TWO_CARDS_OUT"))
    order = found(dealer)
    assert dealer.alerts["TWO_CARDS_OUT"].state is AlertState.RAISED
    dealer.lay(P2, order)
    dealer.out()
    assert dealer.alerts["TWO_CARDS_OUT"].state is AlertState.LAPSED


def test_card_found_in_no_slot_keeps_its_turn() -> None:
    """Nothing is known of where such a card belongs."""
    dealer = Dealer().start()
    dealer.deal(P1, "2c")
    order = found(dealer)
    dealer.lay(None, order)
    assert [card.order for card in dealer.table.coup.cards] == [1, 2]  # type: ignore[union-attr]
    assert dealer.raised == []


def test_card_found_between_coups_begins_the_next() -> None:
    """With the hands cleared, a card that lies on the table is of the coup to come."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    dealer.clear()
    dealer.lay(P1, found(dealer))
    assert dealer.table.coup is not None
    assert dealer.table.coup.number == 2
    dealer.tell(CardFound(dealer.tick(), 5))
    assert isinstance(dealer.said[-1], Ignored)


def test_burn_card_found_counts_as_burned() -> None:
    """While cards are burned, one that was not seen to leave is burned too."""
    dealer = Dealer().start()
    dealer.tell(ShoeStarted(dealer.tick(), "x", watch_burn=True))
    found(dealer)
    assert len(dealer.table.shoe.burned) == 1
    assert dealer.all(CardSeen)[-1].event == "found"


# --- gone back ------------------------------------------------------------------------------------


def test_card_returned_and_drawn_again_leaves_the_coup_right() -> None:
    """Drawn again the card has the next number; the first time does not count."""
    dealer = Dealer().start()
    dealer.deal(P1, "9s")
    dealer.deal(B1, "4d")
    back = dealer.out()
    returned(dealer, back)
    assert dealer.open == ["RETURNED_TO_SHOE"]
    alert = dealer.alerts["RETURNED_TO_SHOE"]
    assert (alert.severity, alert.deadline, alert.order) == ("critical", "next-card", back)
    dealer.deal(P2, "2h")
    dealer.deal(B2, "Qc")
    dealer.deal(P3, "Js")
    assert dealer.raised == ["RETURNED_TO_SHOE"]
    result = dealer.result
    assert [str(card) for card in (*result.punto.cards, *result.banco.cards)] == [
        "9s", "2h", "Js", "4d", "Qc",
    ]  # fmt: skip
    assert result.faults == ("RETURNED_TO_SHOE",)
    shoe = dealer.table.shoe
    assert (shoe.last, shoe.gone, shoe.out, shoe.back) == (6, 5, 5, 1)
    assert dealer.all(CardSeen)[-3].event != "withdrawn"
    assert [one.order for one in dealer.all(CardSeen) if one.event == "withdrawn"] == [back]


def test_only_card_of_a_coup_returned_waits_for_the_next() -> None:
    """A coup whose first card went back is still the same coup, with no result of its own."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    dealer.clear()
    returned(dealer, dealer.out())
    before = len(dealer.results)
    dealer.hand(STANDS)
    assert (dealer.result.coup, dealer.result.state) == (2, ResultState.FINAL)
    assert len(dealer.results) == before + 1
    assert dealer.raised == ["RETURNED_TO_SHOE"]


def test_coup_of_which_nothing_came_has_no_result() -> None:
    """A shoe that ends after its last card went back ends without another coup's result."""
    dealer = Dealer().start()
    returned(dealer, dealer.out())
    dealer.tell(ShoeEnded(dealer.tick(), 416))
    dealer.tell(ShoeStarted(dealer.tick(), "another"))
    assert dealer.results == []
    assert "SHOE_COUNT" not in dealer.raised


def test_card_returned_after_it_was_read_is_counted_once() -> None:
    """The face of a card that is in the shoe again counts as left in it."""
    dealer = Dealer().start()
    order = dealer.deal(P1, "9s")
    returned(dealer, order)
    assert sum(dealer.table.shoe.counts) == 0
    dealer.deal(P1, "9s")
    assert sum(dealer.table.shoe.counts) == 1


def test_notice_of_a_return_without_a_card_only_says_so() -> None:
    """Where sight does not know which card went back, it is told, and held."""
    dealer = Dealer().start()
    dealer.deal(P1, "9s")
    returned(dealer, None)
    assert dealer.open == ["RETURNED_TO_SHOE"]
    assert len(dealer.table.coup.cards) == 1  # type: ignore[union-attr]


def test_return_noticed_twice_is_one() -> None:
    """A card that is in the shoe again cannot go back, and the alert is the same."""
    dealer = Dealer().start()
    dealer.deal(P1, "9s")
    order = dealer.lay(B1)
    returned(dealer, order)
    returned(dealer, order)
    assert dealer.raised == ["RETURNED_TO_SHOE"]
    assert dealer.table.shoe.back == 1
    dealer.tell(CardPlaced(dealer.tick(), order, B1))
    assert isinstance(dealer.said[-1], Ignored)
    dealer.tell(Noticed(dealer.tick(), "RETURNED_TO_SHOE", order, over=True))
    assert dealer.open == []


# --- none -----------------------------------------------------------------------------------------


def test_card_withdrawn_after_the_others_were_cleared_ends_the_coup() -> None:
    """Where only a card that was none seemed to lie, the hands are cleared."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    order = dealer.lay(P3)
    dealer.lying.remove(order)
    dealer.clear()
    assert dealer.table.coup is not None
    assert dealer.table.coup.cleared_at is None
    dealer.tell(CardWithdrawn(dealer.tick(), order))
    assert dealer.table.coup.cleared_at is not None
    dealer.hand(STANDS)
    assert (dealer.result.coup, dealer.result.state) == (2, ResultState.FINAL)


def test_card_withdrawn_from_an_earlier_coup_corrects_it() -> None:
    """What sight comes to know late makes a new revision."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    dealer.deal(P3, "Jc")
    dealer.clear()
    dealer.hand(STANDS)
    dealer.tell(CardWithdrawn(dealer.tick(), 5))
    result = dealer.result_of(1)
    # Four cards made a result before there was a fifth; the next card made the over-draw stand.
    assert (result.state, result.faults) == (ResultState.CORRECTED, ())
    assert dealer.alerts["OVER_P3_STAND"].state is AlertState.RECTIFIED


def test_burn_card_withdrawn_is_not_burned() -> None:
    """A burn card that was none is one fewer, the first one too."""
    dealer = Dealer().start()
    dealer.tell(ShoeStarted(dealer.tick(), "x", watch_burn=True))
    first = dealer.lay(None)
    dealer.read(first, "2d")
    dealer.lay(None)
    dealer.tell(CardWithdrawn(dealer.tick(), 2))
    assert (len(dealer.table.shoe.burned), dealer.table.shoe.burn_due) == (1, 3)
    dealer.tell(CardWithdrawn(dealer.tick(), 1))
    assert (len(dealer.table.shoe.burned), dealer.table.shoe.burn_due) == (0, None)
    shoe = dealer.all(ShoeChanged)[-1]
    assert (shoe.out, shoe.missed, shoe.burned) == (0, 0, 0)


def test_card_that_is_not_known_cannot_be_withdrawn() -> None:
    """Nothing changes, and it is said."""
    dealer = Dealer().start()
    dealer.tell(CardWithdrawn(dealer.tick(), 7))
    assert isinstance(dealer.said[-1], Ignored)


def test_cards_missed_and_withdrawn_are_counted_apart() -> None:
    """A number skipped is a card that nobody saw; one withdrawn is no card."""
    dealer = Dealer().start()
    dealer.tell(CardOut(dealer.tick(), 2))
    dealer.tell(CardWithdrawn(dealer.tick(), 2))
    shoe = dealer.all(ShoeChanged)[-1]
    assert (shoe.out, shoe.missed) == (0, 1)


def test_carried_card_that_is_withdrawn_cannot_be_uncarried() -> None:
    """An order that made a card the next coup's is not taken back once that card was none."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    order = dealer.out()
    dealer.tell(CarryCard(dealer.tick(), *INSPECTOR, 1))
    dealer.tell(CardWithdrawn(dealer.tick(), order))
    dealer.tell(UndoLast(dealer.tick(), *INSPECTOR))
    assert dealer.table.coup is not None
    assert dealer.table.coup.number == 2
    dealer.tell(CardRead(dealer.tick(), order, Card.parse("2c"), 1.0))
    assert isinstance(dealer.said[-1], Ignored)


@pytest.mark.parametrize("unordered", [True, False])
def test_order_is_not_alleged_of_cards_whose_order_was_not_seen(*, unordered: bool) -> None:
    """Two on their way at one time have the turns of their places; seen apart, a fault is one."""
    dealer = Dealer().start()
    dealer.deal(P1, "4h")
    first, second = dealer.out(), dealer.out()
    for order, slot in ((first, P2), (second, B1)):
        dealer.tell(CardPlaced(dealer.tick(), order, slot, unordered))
    dealer.deal(B2, "3c")
    assert dealer.open == ([] if unordered else ["WRONG_ORDER_INIT"])


def test_order_is_not_alleged_of_cards_past_one_that_was_laid_nowhere() -> None:
    """A sign of the mouth that was no card takes a turn until it is withdrawn."""
    dealer = Dealer().start()
    dealer.deal(P1, "4h")
    phantom = dealer.out()
    for slot, face in ((B1, "4c"), (P2, "As"), (B2, "3c")):
        dealer.deal(slot, face)
        assert dealer.open == []
    dealer.tell(CardWithdrawn(dealer.tick(), phantom))
    dealer.deal(P3, "Ts")
    assert dealer.raised == []


def test_overdraw_is_alleged_once_the_card_before_it_lies() -> None:
    """A natural stands; a card lies too many, and one that left before it is under a hand."""
    dealer = Dealer().start()
    for slot, face in ((P1, "4h"), (B1, "9c"), (P2, "3d")):
        dealer.deal(slot, face)
    hidden = dealer.out()
    dealer.deal(P3, "Ts")
    assert "OVER_NATURAL" not in dealer.open
    dealer.lay(B2, hidden)
    dealer.read(hidden, "Th")
    assert dealer.open == ["OVER_NATURAL"]


def test_order_is_alleged_though_a_card_before_was_carried_off_unseen() -> None:
    """What is known to be gone is no longer on its way."""
    dealer = Dealer().start()
    carried = dealer.out()
    dealer.deal(B1, "9c")
    assert dealer.open == []
    dealer.tell(CardRemoved(dealer.tick(), carried))
    dealer.deal(B2, "3d")
    assert "WRONG_HAND" in dealer.raised


def test_card_that_never_lay_is_no_coup_of_its_own() -> None:
    """A card pushed back unseen, or a false sign, comes before the first card of a coup."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    dealer.clear()
    phantom = dealer.out()
    dealer.deal(P1, "9h")
    began = dealer.table.coup.cards[1].out_at  # type: ignore[union-attr]
    assert [result.coup for result in dealer.results] == [1]
    dealer.deal(B1, "8d")
    dealer.tell(CardWithdrawn(dealer.tick(), phantom))
    assert dealer.table.coup.started_at == began  # type: ignore[union-attr]
    dealer.deal(P2, "Ts")
    dealer.deal(B2, "Kc")
    assert dealer.raised == []
    assert (dealer.result.coup, dealer.result.state) == (2, ResultState.FINAL)


@pytest.mark.parametrize("unseen", [True, False])
def test_card_too_many_by_the_mouth_alone_is_alleged_when_it_lies(*, unseen: bool) -> None:
    """A false sign after the last card of a coup is no over-draw; a card that is laid is one."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    dealer.order = dealer.table.next_order
    dealer.tell(CardOut(dealer.tick(), dealer.order, unseen))
    assert bool(dealer.open) is not unseen
    dealer.lay(P3, dealer.order)
    assert dealer.open == ["OVER_P3_STAND"]


def test_card_that_lay_nowhere_in_its_coup_decides_no_later_result() -> None:
    """A card of the next coup, told too early, is laid when its own coup is dealt."""
    dealer = Dealer().start()
    for slot, face in ((P1, "4h"), (B1, "4c"), (P2, "As")):
        dealer.deal(slot, face)
    early = dealer.out()
    dealer.deal(B2, "3c")
    dealer.clear()
    for slot, face in zip(DEALT, ("4h", "4c", "3d", "3s"), strict=True):
        dealer.deal(slot, face)
    held = dealer.result_of(1)
    assert held.state is ResultState.HELD
    dealer.lay(P3, early)
    dealer.read(early, "9d")
    assert dealer.result_of(1) == held
    assert isinstance(dealer.said[-1], Ignored)
