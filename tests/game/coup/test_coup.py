"""Coups as they are dealt: what is shown, what is held, where one ends and the next begins."""

from __future__ import annotations

import pytest

from tests.game.dealer import B1, B2, B3, DEALT, INSPECTOR, P1, P2, P3, Dealer, cards
from vision.game.cards import Card
from vision.game.commands import CorrectCard, VoidCoup
from vision.game.events import (
    CutCardOut,
    Event,
    Noticed,
    ResultEntered,
    ShoeEnded,
    ShoeStarted,
    Started,
    Stopped,
    TimePassed,
    ViewBack,
    ViewLost,
    Winner,
)
from vision.game.fold.shoe import burn_due
from vision.game.outputs import (
    AlertChanged,
    AlertState,
    CoupLive,
    CoupResult,
    CoupsChanged,
    Ignored,
    ResultState,
    Severity,
    ShoeChanged,
    StatusChanged,
)
from vision.game.rules import BurnKind, BurnRule, Dealing, Rules

STANDS, DRAWS = "4h 4c 3d 3c", "2h 4c Kd Kc"


def test_result_is_reported_with_the_last_card_read() -> None:
    """A result is final as soon as no card is due, not when the table is cleared."""
    dealer = Dealer().start()
    dealer.hand("5h 3c Kd Kc")
    assert dealer.results == []
    dealer.deal(P3, "8d")
    result = dealer.result
    assert (result.state, result.winner, result.revision) == (ResultState.FINAL, Winner.EGALITE, 0)
    assert result.three_giving_eight
    assert result.egalite_points == 3
    assert (result.shoe, result.coup) == ("shoe-1", 1)
    before = len(dealer.results)
    dealer.clear()
    dealer.out()
    assert len(dealer.results) == before


def test_naturals_and_pairs_are_reported() -> None:
    """A natural and a pair are marked on the hand that has them."""
    dealer = Dealer().start()
    dealer.hand("9h 4c Kd 4d")
    assert (dealer.result.punto.natural, dealer.result.banco.natural) == (True, True)
    assert (dealer.result.punto.pair, dealer.result.banco.pair) == (False, True)
    assert dealer.result.winner is Winner.PUNTO


def test_live_coup_shows_exposed_cards_only() -> None:
    """A card face down is not shown, and what is due is a set while it lies so."""
    dealer = Dealer(Rules(dealing=Dealing.PUNTO_FIRST)).start()
    for slot in (P1, B1, P2, B2):
        dealer.lay(slot)
    live = dealer.all(CoupLive)[-1]
    assert (live.punto, live.banco) == ((None, None), (None, None))
    assert (live.expected, live.complete) == ((P3, B3), False)
    dealer.read(1, "2h")
    dealer.read(3, "Kd")
    live = dealer.all(CoupLive)[-1]
    assert (live.punto_points, live.banco_points) == (2, None)
    assert live.expected == (P3,)
    dealer.read(2, "4c")
    dealer.read(4, "5c")
    live = dealer.all(CoupLive)[-1]
    assert (live.complete, live.expected) == (True, ())


def test_expected_names_the_next_of_the_first_four() -> None:
    """While the first four cards are dealt, the next of them is due."""
    dealer = Dealer().start()
    dealer.deal(P1, "2h")
    assert dealer.all(CoupLive)[-1].expected == (B1,)


def test_third_card_of_the_wrong_kind_is_reported_under_one_alert() -> None:
    """A card too many whose hand is not known yet keeps its alert when it is laid."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    order = dealer.out()
    dealer.lay(B3, order)
    reported = [one.alert for one in dealer.all(AlertChanged)]
    assert [alert.code for alert in reported] == ["OVER_P3_STAND", "OVER_B3"]
    assert {alert.id for alert in reported} == {"a1"}
    assert reported[-1].severity is Severity.WARNING
    dealer.read(order, "2c")
    assert dealer.alerts["OVER_B3"].severity is Severity.CRITICAL
    assert dealer.alerts["OVER_B3"].card == Card.parse("2c")
    assert dealer.alerts["OVER_B3"].exposed is True


def test_card_due_is_advised_then_warned_then_critical() -> None:
    """A missing card is told softly after five seconds, loudly at clearing, gravely too late."""
    dealer = Dealer().start()
    dealer.hand(DRAWS)
    assert dealer.raised == []
    waits = dealer.table.waits_until
    assert waits == dealer.now + 5_000
    dealer.now = waits
    dealer.tell(TimePassed(waits))
    assert dealer.alerts["UNDER_P3"].severity is Severity.ADVISORY
    dealer.clear()
    assert dealer.alerts["UNDER_P3"].severity is Severity.WARNING
    assert dealer.result.why == "review"
    dealer.out()
    alert = dealer.alerts["UNDER_P3"]
    assert (alert.severity, alert.state) == (Severity.CRITICAL, AlertState.LAPSED)
    assert alert.text == "Card due to Punto (Punto 2, Banco 4). Not resolved before coup 2."
    assert dealer.raised == ["UNDER_P3"]
    assert dealer.result.state is ResultState.FINAL
    assert dealer.result.faults == ("UNDER_P3",)
    assert dealer.result.winner is Winner.BANCO


def test_card_that_comes_late_ends_the_advice() -> None:
    """Once the card due is out there is nothing to tell."""
    dealer = Dealer().start()
    dealer.hand(DRAWS)
    dealer.tell(TimePassed(dealer.tick(5_000)))
    dealer.deal(P3, "9h")
    assert dealer.open == []
    assert dealer.result.faults == ()


def test_deck_of_four_stands_for_a_fourth_card() -> None:
    """A fourth card does not count in the hand it lies with."""
    dealer = Dealer().start()
    dealer.hand("2h 4c Kd Kc", (P3, "3h"), (B3, "2h"))
    dealer.deal(P3, "9c")
    assert dealer.result.punto.cards == cards("2h Kd 3h")
    assert dealer.open == ["OVER_4TH"]


def test_fault_that_hangs_on_a_doubtful_card_says_so() -> None:
    """Where the second-best reading makes it legal, the alert says to check the card."""
    dealer = Dealer().start()
    order = dealer.lay(P1)
    dealer.read(order, "6h", 0.999, "5h")
    for slot, face in ((B1, "7c"), (P2, "Kd"), (B2, "Kc")):
        dealer.deal(slot, face)
    dealer.out()
    alert = dealer.alerts["OVER_P3_STAND"]
    assert alert.check_card
    assert alert.text.startswith("Check card.")
    dealer.lay(P3, 5)
    dealer.read(1, "5h", 0.5)
    assert dealer.alerts["OVER_P3_STAND"].check_card


def test_missing_card_that_hangs_on_a_doubtful_card_says_so() -> None:
    """The same for a card that seems due."""
    dealer = Dealer().start()
    order = dealer.lay(P1)
    dealer.read(order, "5h", 0.999, "6h")
    for slot, face in ((B1, "7c"), (P2, "Kd"), (B2, "Kc")):
        dealer.deal(slot, face)
    dealer.clear()
    assert dealer.alerts["UNDER_P3"].check_card


def test_later_reading_replaces_an_earlier_one() -> None:
    """Until the result is told, the last reading counts; a better look of the same card too."""
    dealer = Dealer().start()
    order = dealer.lay(P1)
    dealer.read(order, "6h", 0.9)
    dealer.read(order, "9h", 0.9999)
    for slot, face in ((B1, "7c"), (P2, "Kd"), (B2, "Kc")):
        dealer.deal(slot, face)
    assert dealer.result.punto.cards == cards("9h Kd")
    assert dealer.raised == []
    dealer.read(order, "9h", 1.0)
    assert dealer.result.revision == 0
    assert dealer.raised == []


def test_unread_card_is_reported_after_ten_seconds_when_cards_lie_open() -> None:
    """A face-up table waits ten seconds for a face, then asks for it."""
    dealer = Dealer().start()
    for slot, face in ((P1, "9h"), (B1, None), (P2, "Kd"), (B2, "Kc")):
        order = dealer.lay(slot)
        if face:
            dealer.read(order, face)
    dealer.tell(TimePassed(dealer.tick(10_000)))
    assert dealer.open == ["UNREAD"]
    assert dealer.alerts["UNREAD"].severity is Severity.ADVISORY
    dealer.read(2, "2c")
    assert dealer.open == []
    assert dealer.result.state is ResultState.FINAL


def test_unread_coup_becomes_final_when_the_card_is_read_late() -> None:
    """A read that comes after the hands were cleared still completes its coup."""
    dealer = Dealer().start()
    for slot, face in ((P1, "9h"), (B1, None), (P2, "Kd"), (B2, "Kc")):
        order = dealer.lay(slot)
        if face:
            dealer.read(order, face)
    dealer.clear()
    assert dealer.result.why == "unread"
    dealer.deal(P1, "2c")
    dealer.read(2, "2d")
    assert (dealer.result.coup, dealer.result.state) == (1, ResultState.FINAL)
    assert dealer.alerts["UNREAD"].in_time is False


def test_first_card_over_uncleared_hands_is_of_the_next_coup() -> None:
    """A card too many that ends as the first of the next coup gives the old result back."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    order = dealer.out()
    assert dealer.result.why == "review"
    dealer.clear()
    dealer.lay(P1, order)
    assert dealer.result.coup == 1
    assert (dealer.result.state, dealer.result.faults) == (ResultState.FINAL, ())
    dealer.read(order, "9c")
    for slot, face in ((B1, "2d"), (P2, "Kc"), (B2, "Kd")):
        dealer.deal(slot, face)
    assert (dealer.result.coup, dealer.result.faults) == (2, ())


def test_coup_of_three_cards_does_not_swallow_the_next() -> None:
    """After a coup broken off, the next one begins with the card in the first slot."""
    dealer = Dealer().start()
    for slot, face in ((P1, "9h"), (B1, "2c"), (P2, "Kd")):
        dealer.deal(slot, face)
    dealer.clear()
    dealer.hand(STANDS)
    assert (dealer.result.coup, dealer.result.state) == (2, ResultState.FINAL)
    assert "PREMATURE_CLEAR" in dealer.raised


def test_view_lost_holds_what_cannot_be_known() -> None:
    """A coup that went on unseen is held, not called an under-draw; the way back is told."""
    dealer = Dealer().start()
    dealer.hand(DRAWS)
    dealer.tell(ViewLost(dealer.tick(), "lens covered"))
    dealer.tell(ViewLost(dealer.tick(), "lens covered"))
    status = dealer.all(StatusChanged)[-1]
    assert (status.state, status.why) == ("blind", "lens covered")
    assert dealer.alerts["VIEW_LOST"].severity is Severity.CRITICAL
    dealer.tell(ViewBack(dealer.tick(12_000)))
    assert "coup 1 was in progress" in dealer.alerts["VIEW_LOST"].reason
    dealer.tell(ViewBack(dealer.tick()))
    ignored = [one.why for one in dealer.all(Ignored)]
    assert ignored == ["the view is lost already", "the view was not lost"]
    dealer.clear()
    assert (dealer.result.state, dealer.result.why) == (ResultState.HELD, "view")
    dealer.out()
    assert dealer.raised == ["VIEW_LOST"]
    assert dealer.result.why == "view"


@pytest.mark.parametrize("lies", [False, True], ids=["on its way", "lying unread"])
def test_no_time_limit_of_what_is_to_be_seen_passes_while_the_view_is_lost(lies: bool) -> None:
    """A card that may have been laid and turned during a gap is neither missing nor unread."""
    dealer = Dealer(Rules(dealing=Dealing.FACE_UP)).start()
    order = dealer.out()
    if lies:
        dealer.lay(P1, order)
    dealer.tell(ViewLost(dealer.tick(), "the film has a gap"))
    dealer.tell(TimePassed(dealer.tick(20_000)))
    dealer.tell(ViewBack(dealer.tick()))
    dealer.tell(TimePassed(dealer.tick(1_000)))
    assert dealer.raised == ["VIEW_LOST"]


def test_coup_that_begins_while_the_view_is_lost_may_have_gone_on_unseen() -> None:
    """It does so whatever became of the coup before it."""
    dealer = Dealer().start()
    dealer.hand(DRAWS)
    dealer.tell(ViewLost(dealer.tick(), "lens covered"))
    dealer.clear()
    dealer.out()
    assert dealer.table.coup is not None
    assert (dealer.table.coup.number, dealer.table.coup.unseen) == (2, True)


def test_view_lost_is_over_when_the_reader_starts_again() -> None:
    """A run that begins sees the table: its alert says what ended the last one's blindness."""
    dealer = Dealer().start()
    dealer.tell(ViewLost(dealer.tick(), "dark"))
    dealer.tell(Started(dealer.tick(), "boot-2"))
    alert = dealer.alerts["VIEW_LOST"]
    assert (alert.state, alert.reason) == (AlertState.RECTIFIED, "the reader started again")


def test_view_lost_between_coups_holds_nothing() -> None:
    """Nothing was in progress: the next coup is told as ever."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    dealer.tell(ViewLost(dealer.tick(), "dark"))
    dealer.tell(ViewBack(dealer.tick()))
    assert "no coup was" in dealer.alerts["VIEW_LOST"].reason
    dealer.clear()
    dealer.hand(STANDS)
    assert dealer.result.state is ResultState.FINAL


def test_coup_that_begins_while_the_view_is_lost_is_held_if_a_card_is_not_there() -> None:
    """Cards are seen now and then, as by a machine that is too slow: a gap is no under-draw."""
    dealer = Dealer().start()
    dealer.tell(ViewLost(dealer.tick(), "the machine is too slow"))
    dealer.hand(DRAWS)
    dealer.clear()
    assert (dealer.result.state, dealer.result.why) == (ResultState.HELD, "view")
    dealer.hand(STANDS)
    assert dealer.raised == ["VIEW_LOST"]
    assert [r.state for r in dealer.all(CoupResult)] == [ResultState.HELD, ResultState.FINAL]


@pytest.mark.parametrize("early", [True, False], ids=["then the coup is told apart", "before"])
def test_coup_whose_first_card_came_while_the_view_was_lost_is_held_too(early: bool) -> None:
    """Its card was taken for one more of the hands before, whose clearing nobody saw."""
    dealer = Dealer().start()
    first = dealer.hand(STANDS)
    dealer.tell(ViewLost(dealer.tick(), "dark"))
    fifth = dealer.out()
    if early:
        dealer.tell(ViewBack(dealer.tick()))
    for order in first:
        dealer.take(order)
    dealer.lying = []
    dealer.lay(P1, fifth)
    dealer.read(fifth, "2h")
    for slot, face in ((P2, "Kd"), (B1, "4c"), (B2, "Kc")):
        dealer.deal(slot, face)
    if not early:
        dealer.tell(ViewBack(dealer.tick()))
    dealer.clear()
    assert dealer.result_of(2).why == "view"
    assert "UNDER_P3" not in dealer.raised


def test_coup_seen_whole_after_a_loss_of_view_is_final() -> None:
    """When the cards still lie there and all is as it should be, the result is told."""
    dealer = Dealer().start()
    dealer.hand(DRAWS)
    dealer.tell(ViewLost(dealer.tick(), "arm"))
    dealer.tell(ViewBack(dealer.tick()))
    dealer.deal(P3, "9h")
    assert dealer.result.state is ResultState.FINAL


def test_restart_marks_the_running_coup() -> None:
    """A reader that starts again in the middle of a coup does not call it under-drawn."""
    dealer = Dealer().start()
    dealer.hand(DRAWS)
    dealer.tell(Stopped(dealer.tick()))
    assert dealer.all(StatusChanged)[-1].state == "stopped"
    dealer.tell(Started(dealer.tick(), "boot-2"))
    assert dealer.all(StatusChanged)[-1].boot == "boot-2"
    assert dealer.table.next_order == 5
    dealer.clear()
    assert dealer.result.why == "view"


@pytest.mark.parametrize(
    ("rule", "first", "due"),
    [
        (BurnRule(), "5c", 6),
        (BurnRule(), "Kc", 11),
        (BurnRule(), "Tc", 11),
        (BurnRule(), "Ac", 2),
        (BurnRule(ace=11), "Ac", 12),
        (BurnRule(BurnKind.FIXED, cards=3), "Ac", 3),
        (BurnRule(BurnKind.NONE), "Ac", 0),
    ],
)
def test_burn_rule_says_how_many(rule: BurnRule, first: str, due: int) -> None:
    """The first card is shown and as many more are burned as it counts, tens and courts ten."""
    assert burn_due(rule, Card.parse(first)) == due


def test_burn_is_counted_and_not_dealt() -> None:
    """Burn cards are of no coup; the first coup begins when enough are burned."""
    dealer = Dealer()
    dealer.tell(ShoeStarted(dealer.tick(), "x", watch_burn=True))
    order = dealer.lay(None)
    dealer.read(order, "3d")
    for _ in range(3):
        dealer.lay(None)
    shoe = dealer.all(ShoeChanged)[-1]
    assert (shoe.burned, shoe.burn_due, shoe.coups) == (4, 4, 0)
    dealer.clear()
    dealer.hand(STANDS)
    assert (dealer.result.coup, dealer.result.faults) == (1, ())
    assert dealer.raised == []


def test_burn_is_noticed_where_nobody_announced_it() -> None:
    """First cards that lie open in no slot are burn cards; the coup after them is the first."""
    dealer = Dealer().start()
    order = dealer.lay(None)
    dealer.read(order, "2d")
    dealer.lay(None)
    dealer.lay(None)
    dealer.clear()
    dealer.hand(STANDS)
    assert (dealer.result.coup, dealer.result.state) == (1, ResultState.FINAL)
    assert dealer.raised == []


def test_one_burned_card_too_many_is_reported() -> None:
    """A card burned beyond the rule is found when the first coup begins."""
    dealer = Dealer()
    dealer.tell(ShoeStarted(dealer.tick(), "x", watch_burn=True))
    order = dealer.lay(None)
    dealer.read(order, "Ad")
    dealer.lay(None)
    dealer.lay(None)
    dealer.clear()
    dealer.hand(STANDS)
    assert dealer.raised == ["BURN_WRONG"]
    assert (dealer.result.coup, dealer.result.state) == (1, ResultState.FINAL)


@pytest.mark.parametrize(
    ("more", "is_last", "between", "last"),
    [
        (1, True, False, 2),
        (0, True, False, 1),
        (1, True, True, 2),
        (1, False, True, 3),
        (0, False, True, 2),
        (2, True, True, 3),
    ],
)
def test_cut_card_fixes_the_last_hand(more: int, is_last: bool, between: bool, last: int) -> None:
    """In a coup: that one and so many more. Between two: the next one counts as that one."""
    dealer = Dealer(Rules(coups_after_cut=more, cut_first_is_last=is_last)).start()
    dealer.deal(P1, "9h")
    if between:
        for slot, face in ((B1, "2c"), (P2, "Kd"), (B2, "3c")):
            dealer.deal(slot, face)
    dealer.tell(CutCardOut(dealer.tick()))
    dealer.tell(CutCardOut(dealer.tick()))
    assert isinstance(dealer.outputs[-1], Ignored)
    assert dealer.table.shoe.last_coup == last


def test_cut_card_before_the_first_coup() -> None:
    """Where the house says so, a cut card that comes before any card makes the first the last."""
    dealer = Dealer(Rules(cut_first_is_last=True)).start()
    dealer.tell(CutCardOut(dealer.tick()))
    dealer.deal(P1, "2c")
    assert dealer.all(ShoeChanged)[-1].last_hand


def test_shoe_is_reckoned_up_at_its_end() -> None:
    """Cards out and cards left are told with what stays unseen; a part-seen shoe is no fault."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    dealer.clear()
    dealer.tell(ShoeEnded(dealer.tick(), 400))
    shoe = dealer.all(ShoeChanged)[-1]
    assert (shoe.ended, shoe.left, shoe.unseen) == (True, 400, 12)
    assert dealer.raised == []
    dealer.tell(ShoeEnded(dealer.tick(), 413))
    assert dealer.raised == ["SHOE_COUNT"]


def test_noticed_thing_that_is_over_ends_its_alert() -> None:
    """What is noticed ends when that is said; what is found, or alleged, cannot be noticed."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    dealer.tell(Noticed(dealer.tick(), "LIGHT", detail="seen"))
    assert dealer.open == ["LIGHT"]
    dealer.tell(Noticed(dealer.tick(), "LIGHT", over=True))
    assert dealer.open == []
    for code in ("OVER_B3", "TWO_CARDS_OUT", "REVIEW"):
        dealer.tell(Noticed(dealer.tick(), code))
        assert isinstance(dealer.outputs[-1], Ignored)


def test_clock_that_catches_up_ends_its_alert() -> None:
    """A clock set back is told until time has passed the old mark."""
    dealer = Dealer().start()
    dealer.tell(TimePassed(dealer.now - 5_000))
    assert dealer.open == ["CLOCK"]
    dealer.tell(TimePassed(dealer.now + 1))
    assert dealer.open == []


def test_result_entered_before_any_coup_is_ignored() -> None:
    """A result keyed in when there is no coup is of none."""
    dealer = Dealer().start()
    dealer.tell(ResultEntered(dealer.tick(), Winner.PUNTO))
    assert [one.why for one in dealer.all(Ignored)] == ["there is no coup that it could be of"]


def test_result_entered_while_a_card_is_due_warns() -> None:
    """Keying a result in says that the dealer takes the coup as over."""
    dealer = Dealer().start()
    dealer.hand(DRAWS)
    dealer.tell(ResultEntered(dealer.tick(), Winner.BANCO, egalite_points=4))
    assert dealer.alerts["UNDER_P3"].severity is Severity.WARNING
    assert dealer.alerts["WRONG_SIDE"].text == "Cards: Egalite none. Entered: Egalite 4."


def test_ninth_copy_is_the_last_of_them() -> None:
    """Of nine copies the last to leave the shoe is the one too many, whichever was read last."""
    dealer = Dealer(Rules(decks=1)).start()
    dealer.deal(P1, "4h")
    order = dealer.lay(B1)
    dealer.deal(P2, "9h")
    dealer.deal(B2, "3c")
    dealer.read(order, "9h")
    alert = dealer.alerts["DUP_CARD"]
    assert (alert.order, alert.slot) == (3, P2)
    dealer.read(3, "9d", 0.5)
    assert dealer.open == []


def test_event_of_no_kind_is_ignored() -> None:
    """An event that is none is said to be ignored."""
    dealer = Dealer().start()
    dealer.tell(Event(dealer.tick()))
    assert [one.event for one in dealer.all(Ignored)] == ["Event"]
    assert dealer.table.waits_until is None


def test_view_back_before_any_coup() -> None:
    """A view lost and found before the first card holds nothing."""
    dealer = Dealer().start()
    dealer.tell(ViewLost(dealer.tick(), "dark"))
    dealer.tell(ViewBack(dealer.tick()))
    assert dealer.open == []
    assert dealer.all(StatusChanged)[-1].state == "online"


def test_order_of_the_first_four_is_not_judged_across_a_gap() -> None:
    """Where one of the first cards passed unseen, the others are not called out of order."""
    dealer = Dealer().start()
    dealer.deal(P1, "4h")
    dealer.order += 1
    dealer.deal(P2, "3d")
    dealer.deal(B2, "3c")
    assert dealer.raised == []


def test_entered_result_waits_for_unread_cards() -> None:
    """What the dealer keyed in is not judged while a card is unread."""
    dealer = Dealer().start()
    for slot, face in ((P1, "4h"), (B1, None), (P2, "3d"), (B2, "3c")):
        dealer.deal(slot, face)
    dealer.tell(ResultEntered(dealer.tick(), Winner.BANCO))
    assert "WRONG_RESULT" not in dealer.raised
    dealer.read(2, "4c")
    assert "WRONG_RESULT" in dealer.raised


def test_new_deck_order_ends_when_the_cards_are_read_otherwise() -> None:
    """A run that was misread is no run."""
    dealer = Dealer().start()
    for first in ("Kc Qc Jc Tc", "9c 8c 7c 6c", "5c 4c 3c 2c"):
        dealer.hand(first)
        dealer.clear()
    assert "NEW_DECK_ORDER" in dealer.open
    for coup, face in ((1, "2h"), (2, "2s")):
        for slot in (P1, P2):
            card = Card.parse(face)
            dealer.tell(CorrectCard(dealer.tick(), *INSPECTOR, coup, slot, card))
    assert "NEW_DECK_ORDER" not in dealer.open


def test_copies_among_burn_cards_count() -> None:
    """A burn card that is one copy too many is counted, though it is of no coup."""
    dealer = Dealer(Rules(decks=1))
    dealer.tell(ShoeStarted(dealer.tick(), "x", watch_burn=True))
    for face in ("3d", "3d", "5c", "6c"):
        dealer.read(dealer.lay(None), face)
    dealer.hand("4h 4c 3d 2d")
    assert dealer.alerts["DUP_CARD"].order == 7
    dealer.lay(P3)
    dealer.read(2, "8d")
    assert dealer.table.shoe.surplus == {7}


def test_alert_says_check_card_only_where_that_would_help() -> None:
    """A second-best reading that changes nothing is no reason to doubt the fault."""
    dealer = Dealer().start()
    order = dealer.lay(P1)
    dealer.read(order, "4h", 0.999, "3h")
    for slot, face in ((B1, "7c"), (P2, "Kd"), (B2, "Kc")):
        dealer.deal(slot, face)
    dealer.clear()
    assert not dealer.alerts["UNDER_P3"].check_card
    dealer.tick(5_000)
    for slot, face, second in (
        (P1, "6h", "7h"),
        (B1, "7c", None),
        (P2, "Kd", None),
        (B2, "Kc", None),
    ):
        dealer.read(dealer.lay(slot), face, 0.999, second)
    dealer.out()
    assert not dealer.alerts["OVER_P3_STAND"].check_card


def test_deal_order_that_leaves_a_hand_out_is_refused() -> None:
    """A deal order names both first places of both hands."""
    with pytest.raises(ValueError, match="deal order"):
        Rules(deal_order=(P1, P2, B1, B1))


def test_void_coup_waits_for_nothing() -> None:
    """A void coup asks for no card and no time."""
    dealer = Dealer().start()
    dealer.deal(P1, "4h")
    assert dealer.table.waits_until is not None
    dealer.tell(VoidCoup(dealer.tick(), *INSPECTOR, 1))
    assert dealer.table.waits_until is None
    live = dealer.all(CoupLive)[-1]
    assert (live.expected, live.complete) == ((), True)


def test_card_read_as_two_faces_stays_unread_after_the_deadline() -> None:
    """The next coup makes a dealer's mistake stand, but it does not make a card known."""
    dealer = Dealer().start()
    first = dealer.deal(P1, "9c")
    dealer.read(first, "Jc")
    for slot, card in ((B1, "7c"), (P2, "8d"), (B2, "Kc")):
        dealer.deal(slot, card)
    dealer.clear()
    dealer.deal(P1, "5d")
    (result,) = [one for one in dealer.results if one.coup == 1][-1:]
    assert (result.state, result.why, result.winner) == (ResultState.HELD, "review", None)


def test_coup_dealt_while_blind_is_counted_and_held() -> None:
    """A result keyed in while nothing is seen has a number, and its cards can be keyed in later."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    dealer.clear()
    dealer.tell(ViewLost(dealer.tick(), "dark"))
    dealer.tell(ResultEntered(dealer.tick(), Winner.BANCO))
    dealer.tell(ResultEntered(dealer.tick(), Winner.PUNTO))
    assert (dealer.result.coup, dealer.result.state, dealer.result.why) == (2, "held", "view")
    dealer.tick(60_000)
    dealer.tell(ResultEntered(dealer.tick(), Winner.BANCO))
    assert (dealer.result.coup, dealer.result.state) == (3, "held")
    dealer.tell(ViewBack(dealer.tick()))
    dealer.hand(STANDS)
    assert (dealer.result.coup, dealer.result.state) == (4, "final")
    assert dealer.all(ShoeChanged)[-1].coups == 4
    for slot, face in zip(DEALT, cards("9h 3c Kd Kc"), strict=True):
        dealer.tell(CorrectCard(dealer.tick(), *INSPECTOR, 2, slot, face))
    assert (dealer.result.coup, dealer.result.winner) == (2, Winner.PUNTO)
    assert [reported.coup for reported in dealer.all(CoupsChanged)[-1].coups] == [1, 2, 4]
    assert "WRONG_RESULT" not in dealer.raised
    assert [dealer.table.coup_of(order).number for order in (4, 5)] == [1, 4]  # type: ignore[union-attr]


def test_view_back_between_coups_says_that_some_may_be_missing() -> None:
    """Where no coup was in progress, one may have been dealt and not seen: it is said."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    dealer.clear()
    dealer.tell(ViewLost(dealer.tick(), "dark"))
    dealer.tell(ViewBack(dealer.tick(90_000)))
    assert dealer.alerts["VIEW_LOST"].reason.endswith("any dealt since was not seen")
