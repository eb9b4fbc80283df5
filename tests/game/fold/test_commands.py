"""Every order a supervisor can give: who may, what it does, what is refused, and taking it back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.game.dealer import B1, B2, B3, P1, P2, P3, Dealer, cards
from vision.game.cards import Card
from vision.game.commands import (
    AckAlert,
    BurnCard,
    CallInspector,
    CarryCard,
    CloseAlert,
    Command,
    CommentAlert,
    Confirm,
    CorrectCard,
    FreeHand,
    HoldResult,
    KeepEvidence,
    MoveCard,
    NewShoe,
    RectifyAlert,
    ReleaseEvidence,
    ResultStands,
    SignIn,
    SignOut,
    TakeArchive,
    UndoLast,
    VoidCoup,
)
from vision.game.events import (
    Category,
    CutCardOut,
    Noticed,
    Role,
    ShoeStarted,
    TimePassed,
    ViewLost,
    Winner,
)
from vision.game.fold.commands import ORDERS, needs_second, refusal
from vision.game.outputs import (
    AlertState,
    CoupsChanged,
    Deadline,
    Replied,
    ResultState,
    ShoeChanged,
)
from vision.game.rules import BurnKind, BurnRule, Rules

DEALER, INSPECTOR = ("Bo", Role.DEALER), ("Ada", Role.INSPECTOR)
DESK, ENGINEER = ("Cy", Role.SURVEILLANCE), ("Di", Role.ENGINEER)
STANDS = "4h 4c 3d 3c"


def orders(by: str, role: Role) -> tuple[Command, ...]:
    """Return one order of each kind, all of which can be carried out, by that person."""
    who = (1, by, role)
    king = Card.parse("Kd")
    return (
        Confirm(*who, 1),
        CorrectCard(*who, 1, P1, king),
        VoidCoup(*who, 1),
        ResultStands(*who, 1),
        HoldResult(*who, 1),
        MoveCard(*who, 1, P3, B3),
        BurnCard(*who, 1),
        CarryCard(*who, 1),
        FreeHand(*who, 1),
        NewShoe(*who, "next"),
        UndoLast(*who),
        AckAlert(*who, "a1"),
        RectifyAlert(*who, "a1", "R1"),
        CloseAlert(*who, "a2"),
        CommentAlert(*who, "a1", reason="seen on camera 4"),
        CallInspector(*who),
        SignIn(*who),
        SignOut(*who),
        TakeArchive(*who, "s1", 1),
        KeepEvidence(*who, "s1", 1, reason="claim 17"),
        ReleaseEvidence(*who, "s1", 1, reason="claim 17"),
    )


def over_drawn() -> Dealer:
    """Deal a coup with a card too many to Punto; alert a1 is about it, a2 about the link."""
    dealer = Dealer().start()
    dealer.hand(STANDS, (P3, "2s"))
    dealer.tell(Noticed(dealer.tick(), "LINK"))
    dealer.tell(FreeHand(dealer.tick(), *INSPECTOR, 1))
    return dealer


def give(dealer: Dealer, command: Command) -> str:
    """Give an order; return why it was refused, "" if it was not."""
    command = replace(command, at=max(command.at, dealer.now))
    outputs = [one for one in dealer.tell(command) if isinstance(one, Replied)]
    assert len(outputs) == 1
    assert outputs[0].accepted == (not outputs[0].why)
    assert outputs[0].command == type(command).__name__
    return outputs[0].why


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("number", range(len(ORDERS)))
def test_order_is_obeyed_only_from_those_who_may_give_it(number: int, role: Role) -> None:
    """Each order is taken from those it is for and refused from all others."""
    dealer = over_drawn()
    command = orders("Ada", role)[number]
    asked = refusal(dealer.table, command)
    why = give(dealer, command)
    assert asked == why, "what is asked before is what is answered"
    if role not in ORDERS[type(command)].roles:
        assert "to order" in why
    elif role is Role.DEALER and isinstance(command, CorrectCard):
        assert "inspector" in why
    elif role is Role.ENGINEER and isinstance(command, AckAlert):
        assert "machine" in why
    else:
        assert why == ""


@pytest.mark.parametrize("number", range(len(ORDERS)))
def test_second_person_is_needed_where_one_alone_could_pay_or_take(number: int) -> None:
    """What cannot be taken back needs two at once, a correction once the wagers are paid."""
    dealer = over_drawn()
    command = orders("Ada", Role.INSPECTOR)[number]
    always = isinstance(command, VoidCoup | ResultStands | UndoLast)
    assert needs_second(dealer.table, command) is always
    dealer = Dealer().start()
    dealer.hand(STANDS)
    assert needs_second(dealer.table, command) is always, "its result is out, the coup not over"
    dealer.clear()
    dealer.hand("9h 2c Kd Kc")
    corrects = isinstance(command, CorrectCard | MoveCard | BurnCard | CarryCard)
    assert needs_second(dealer.table, command) is (always or corrects)


def test_order_without_a_name_is_refused() -> None:
    """Nobody gives orders namelessly."""
    why = give(over_drawn(), VoidCoup(1, "", Role.INSPECTOR, 1))
    assert why == "an order needs the name of who gives it"


def test_order_of_no_kind_is_refused() -> None:
    """An order that is none is answered, too."""
    assert "no such order" in give(over_drawn(), Command(1, "Ada", Role.INSPECTOR))


def test_dealer_keys_in_an_unread_card() -> None:
    """A held coup becomes final when the dealer keys in the card that was not read."""
    dealer = Dealer().start()
    for slot, face in ((P1, "4h"), (B1, None), (P2, "3d"), (B2, "3c")):
        dealer.deal(slot, face)
    dealer.clear()
    assert (dealer.result.state, dealer.result.why) == (ResultState.HELD, "unread")
    assert dealer.result.banco.cards == (None, Card.parse("3c"))
    assert dealer.result.winner is None
    assert give(dealer, CorrectCard(dealer.tick(), *DEALER, 1, B1, Card.parse("4c"))) == ""
    assert dealer.result.state is ResultState.FINAL
    assert dealer.result.revision == 1
    assert dealer.result.winner is Winner.EGALITE
    assert dealer.result.by == "Bo"
    assert dealer.open == []


def test_inspector_corrects_a_past_coup() -> None:
    """A correction makes a new revision, and the list of coups is told anew."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    dealer.clear()
    dealer.hand("9h 2c Kd Kc")
    command = CorrectCard(
        dealer.tick(), *INSPECTOR, 1, P1, Card.parse("3h"), reason="seen on video", ref="7"
    )
    assert give(dealer, command) == ""
    result = dealer.result
    assert (result.coup, result.revision, result.state) == (1, 1, ResultState.CORRECTED)
    assert (result.winner, result.by, result.reason) == (Winner.BANCO, "Ada", "seen on video")
    assert [one.winner for one in dealer.all(CoupsChanged)[-1].coups] == [
        Winner.BANCO,
        Winner.PUNTO,
    ]


def test_correction_that_makes_a_card_due_holds_the_result() -> None:
    """Where the corrected cards ask for a card that nobody drew, the past coup stands as dealt."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    assert give(dealer, CorrectCard(dealer.tick(), *INSPECTOR, 1, P1, Card.parse("2h"))) == ""
    assert (dealer.result.state, dealer.result.why) == (ResultState.HELD, "incomplete")
    dealer.clear()
    assert dealer.result.why == "review"
    dealer.out()
    assert dealer.result.state is ResultState.CORRECTED
    assert dealer.result.faults == ("UNDER_P3",)


def test_card_nobody_saw_is_keyed_in() -> None:
    """A card that passed unseen is entered in its slot and counts."""
    dealer = Dealer().start()
    dealer.hand("2h 7c Kd Kc")
    dealer.tell(ViewLost(dealer.tick(), "dark"))
    dealer.clear()
    assert (dealer.result.state, dealer.result.why) == (ResultState.HELD, "view")
    assert give(dealer, CorrectCard(dealer.tick(), *INSPECTOR, 1, P3, Card.parse("6h"))) == ""
    assert dealer.result.state is ResultState.FINAL
    assert dealer.result.winner is Winner.PUNTO
    assert give(dealer, UndoLast(dealer.tick(), *INSPECTOR)) == ""
    assert (dealer.result.state, dealer.result.why) == (ResultState.HELD, "view")


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (CorrectCard(1, *INSPECTOR, 1, B3, Card.parse("2c")), ""),
        (CorrectCard(1, *INSPECTOR, 9, B3, Card.parse("2c")), "no coup 9"),
        (MoveCard(1, *INSPECTOR, 1, B3, P3), "no card"),
        (MoveCard(1, *INSPECTOR, 1, P1, P3), "other hand"),
        (BurnCard(1, *INSPECTOR, 1), "was due"),
        (CarryCard(1, *INSPECTOR, 1), "was due"),
        (UndoLast(1, *INSPECTOR), "no order"),
        (AckAlert(1, *INSPECTOR, "a9"), "no alert"),
        (RectifyAlert(1, *INSPECTOR, "a9", "R1"), "no alert"),
        (CloseAlert(1, *INSPECTOR, "a9"), "no alert"),
        (NewShoe(1, *INSPECTOR, "shoe-1"), "in use"),
        (FreeHand(1, *INSPECTOR, 3), "no coup 3"),
    ],
)
def test_order_that_makes_no_sense_is_refused(command: Command, why: str) -> None:
    """An order that cannot be carried out is refused with the reason, and changes nothing."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    before = dealer.table
    answer = give(dealer, command)
    assert why in answer
    assert bool(answer) == bool(why)
    assert not why or dealer.table == before


def test_slot_beyond_the_next_is_refused() -> None:
    """A card cannot be keyed in beyond a gap in the hand."""
    dealer = Dealer().start()
    dealer.deal(P1, "2c")
    command = CorrectCard(dealer.tick(), *INSPECTOR, 1, P3, Card.parse("2c"))
    assert "no card" in give(dealer, command)


def test_void_coup_does_not_count_and_ends() -> None:
    """A void coup is told as void; the next card out begins the next coup."""
    dealer = Dealer().start()
    dealer.deal(P1, "2c")
    dealer.deal(B1, "2d")
    assert give(dealer, VoidCoup(dealer.tick(), *INSPECTOR, 1)) == ""
    assert dealer.result.state is ResultState.VOID
    dealer.clear()
    dealer.hand(STANDS)
    assert (dealer.result.coup, dealer.result.state) == (2, ResultState.FINAL)
    assert [one.state for one in dealer.all(CoupsChanged)[-1].coups] == ["void", "final"]
    assert dealer.raised == []


def test_result_stands_releases_a_held_result() -> None:
    """An inspector lets the coup stand as dealt: final, with the fault, its alert rectified."""
    dealer = Dealer().start()
    dealer.hand(STANDS, (P3, "2s"))
    assert dealer.result.why == "review"
    assert give(dealer, ResultStands(dealer.tick(), *INSPECTOR, 1)) == ""
    assert dealer.result.state is ResultState.CORRECTED
    assert dealer.result.faults == ("OVER_P3_STAND",)
    alert = dealer.alerts["OVER_P3_STAND"]
    assert (alert.state, alert.remedy, alert.by) == (AlertState.RECTIFIED, "R1", "Ada")
    assert alert.in_time is True
    dealer.clear()
    dealer.out()
    assert dealer.alerts["OVER_P3_STAND"].state is AlertState.RECTIFIED


def test_result_with_an_unread_card_cannot_stand() -> None:
    """What is not known cannot stand."""
    dealer = Dealer().start()
    dealer.deal(P1, "2c")
    assert "not all" in give(dealer, ResultStands(dealer.tick(), *INSPECTOR, 1))
    dealer.deal(B1, None)
    dealer.deal(P2, "9c")
    dealer.deal(B2, "9d")
    assert "not all" in give(dealer, ResultStands(dealer.tick(), *INSPECTOR, 1))


def test_under_drawn_coup_stands_as_dealt() -> None:
    """A coup that lacks a card is final when the inspector says so, before the next one."""
    dealer = Dealer().start()
    dealer.hand("2h 7c Kd Kc")
    assert give(dealer, ResultStands(dealer.tick(), *INSPECTOR, 1)) == ""
    assert (dealer.result.state, dealer.result.winner) == (ResultState.FINAL, Winner.BANCO)
    assert give(dealer, HoldResult(dealer.tick(), *DESK, 1)) == ""
    assert dealer.result.state is ResultState.HELD
    assert give(dealer, UndoLast(dealer.tick(), *INSPECTOR)) == ""
    assert dealer.result.state is ResultState.FINAL, "it stands still: that order was another"


@pytest.mark.parametrize("order", [VoidCoup, HoldResult, FreeHand, ResultStands])
def test_undo_leaves_what_was_ordered_before(
    order: type[VoidCoup | HoldResult | FreeHand | ResultStands],
) -> None:
    """Of two orders about a coup the last is taken back, and the first is as it was."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    assert give(dealer, order(dealer.tick(), *INSPECTOR, 1)) == ""
    first = dealer.table.coup
    other = ResultStands if order is not ResultStands else FreeHand
    assert give(dealer, other(dealer.tick(), *INSPECTOR, 1)) == ""
    assert give(dealer, UndoLast(dealer.tick(), *INSPECTOR)) == ""
    coup = dealer.table.coup
    assert first is not None
    assert coup is not None
    assert (coup.void, coup.hold, coup.free, coup.stands) == (
        first.void, first.hold, first.free, first.stands,
    )  # fmt: skip


def test_surveillance_holds_a_result() -> None:
    """A held result is taken back until the inspector lets it stand."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    assert give(dealer, HoldResult(dealer.tick(), *DESK, 1)) == ""
    assert (dealer.result.state, dealer.result.why) == (ResultState.HELD, "hold")
    assert dealer.all(CoupsChanged)[-1].coups == ()
    assert give(dealer, ResultStands(dealer.tick(), *INSPECTOR, 1)) == ""
    assert (dealer.result.state, dealer.result.revision) == (ResultState.FINAL, 2)


def test_moved_card_counts_where_it_belongs() -> None:
    """A third card laid with the wrong hand is moved by order, and play goes on."""
    dealer = Dealer().start()
    dealer.hand("2h 7c Kd Kc", (B3, "6s"))
    assert dealer.open == ["WRONG_HAND"]
    assert give(dealer, MoveCard(dealer.tick(), *INSPECTOR, 1, B3, P3)) == ""
    assert dealer.result.state is ResultState.FINAL
    assert (dealer.result.punto.points, dealer.result.banco.points) == (8, 7)
    assert dealer.result.faults == ("WRONG_HAND",)
    assert dealer.alerts["WRONG_HAND"].remedy == "R7"


def test_card_laid_right_by_the_dealer_needs_no_order() -> None:
    """A card that the dealer himself moves to its hand is no fault any more."""
    dealer = Dealer().start()
    dealer.hand("2h 7c Kd Kc", (B3, "6s"))
    dealer.lay(P3, 5)
    assert dealer.open == []
    assert dealer.result.faults == ()
    assert dealer.result.state is ResultState.FINAL


def test_burned_card_leaves_the_result_as_it_was() -> None:
    """A card too many is burned: the result is final again, the fault stays with it."""
    dealer = Dealer().start()
    dealer.hand(STANDS, (P3, "2s"))
    assert give(dealer, BurnCard(dealer.tick(), *INSPECTOR, 1)) == ""
    assert dealer.result.winner is Winner.EGALITE
    assert dealer.result.punto.cards == cards("4h 3d")
    assert dealer.result.faults == ("OVER_P3_STAND",)
    assert "was due" in give(dealer, BurnCard(dealer.tick(), *INSPECTOR, 1))


def test_carried_card_begins_the_next_coup() -> None:
    """A card too many is carried over: it is the first card of the next coup."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    order = dealer.out()
    assert give(dealer, CarryCard(dealer.tick(), *INSPECTOR, 1)) == ""
    assert dealer.result.faults == ("OVER_P3_STAND",)
    assert dealer.result.state is ResultState.FINAL
    dealer.clear()
    dealer.lay(P1, order)
    dealer.read(order, "9c")
    for slot, face in ((B1, "2d"), (P2, "Kc"), (B2, "Kd")):
        dealer.deal(slot, face)
    assert (dealer.result.coup, dealer.result.winner) == (2, Winner.PUNTO)
    assert dealer.result.faults == ("EXCESS_CARRIED",)
    assert "too late" in give(dealer, UndoLast(dealer.tick(), *INSPECTOR))
    assert "was due" in give(dealer, CarryCard(dealer.tick(), *INSPECTOR, 1))


def test_carried_card_that_was_laid_leaves_its_hand() -> None:
    """The coup that it was dealt to has those that were due; its fault says where it lay."""
    dealer = Dealer().start()
    dealer.hand(STANDS, (P3, "2s"))
    assert give(dealer, CarryCard(dealer.tick(), *INSPECTOR, 1)) == ""
    assert dealer.result_of(1).punto.cards == cards("4h 3d")
    coup = dealer.table.coup_at(1)
    assert coup is not None
    (fault,) = coup.noticed
    assert (fault.code, fault.order, fault.observed) == ("OVER_P3_STAND", 5, P3)


def test_carried_card_is_taken_back() -> None:
    """Undone before another card, the coup goes on with its alert open; its card can be burned."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    dealer.allege("TWO_CARDS_OUT", 4)
    dealer.out()
    before, opened, over = dealer.table, dealer.open, dealer.alerts["OVER_P3_STAND"]
    assert give(dealer, CarryCard(dealer.tick(), *INSPECTOR, 1)) == ""
    carried = dealer.alerts["OVER_P3_STAND"]
    assert (carried.text, carried.remedy) == (over.text, "R3")
    assert give(dealer, UndoLast(dealer.tick(), *INSPECTOR)) == ""
    assert dealer.open == opened
    assert dealer.table.coup is not None
    assert dealer.table.coup.over_at is None
    assert dealer.raised.count("OVER_P3_STAND") == 1
    assert (dealer.table.coup_of(5), dealer.table.done) == (dealer.table.coup, ())
    assert dealer.table.shoe == before.shoe
    assert dealer.result.coup == 1
    assert give(dealer, BurnCard(dealer.tick(), *INSPECTOR, 1)) == ""
    assert "OVER_P3_STAND" not in dealer.open
    dealer.clear()
    dealer.hand(STANDS)
    assert (dealer.result.coup, dealer.result.state) == (2, ResultState.FINAL)


def test_alert_raised_since_a_card_was_carried_stays_when_that_is_taken_back() -> None:
    """Taking an order back ends nothing that came to be known after it."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    dealer.out()
    assert give(dealer, CarryCard(dealer.tick(), *INSPECTOR, 1)) == ""
    dealer.allege("TWO_CARDS_OUT", 4)
    assert give(dealer, UndoLast(dealer.tick(), *INSPECTOR)) == ""
    assert set(dealer.open) == {"OVER_P3_STAND", "TWO_CARDS_OUT"}


def test_card_carried_behind_the_cut_is_taken_back() -> None:
    """The coup that it began is behind the cut card no more, and the alert says so."""
    dealer = Dealer(Rules(coups_after_cut=0)).start()
    dealer.deal(P1, "4h")
    dealer.tell(CutCardOut(dealer.tick()))
    for slot, face in ((B1, "4c"), (P2, "3d"), (B2, "3c")):
        dealer.deal(slot, face)
    dealer.out()
    assert "CUT_IGNORED" not in dealer.raised
    assert give(dealer, CarryCard(dealer.tick(), *INSPECTOR, 1)) == ""
    assert "CUT_IGNORED" in dealer.open
    assert "1 coup since coup 1" in dealer.alerts["CUT_IGNORED"].text
    assert give(dealer, UndoLast(dealer.tick(), *INSPECTOR)) == ""
    assert "CUT_IGNORED" not in dealer.open
    assert dealer.alerts["CUT_IGNORED"].reason == "no coup is dealt behind the cut card"


def test_coming_free_hand_is_taken_back() -> None:
    """A free hand ordered of a coup not begun is undone before that coup begins, and after."""
    for begins in (False, True):
        dealer = Dealer().start()
        assert give(dealer, FreeHand(dealer.tick(), *INSPECTOR, 1)) == ""
        if begins:
            dealer.hand(STANDS)
        assert give(dealer, UndoLast(dealer.tick(), *INSPECTOR)) == ""
        assert "no order" in give(dealer, UndoLast(dealer.tick(), *INSPECTOR))
        if not begins:
            dealer.hand(STANDS)
        assert not dealer.result.free


def test_undo_does_not_bring_the_view_back() -> None:
    """The view lost after an order is lost still when the order is taken back."""
    dealer = Dealer().start()
    dealer.deal(P1, "2c")
    assert give(dealer, FreeHand(dealer.tick(), *INSPECTOR, 1)) == ""
    dealer.tell(ViewLost(dealer.tick(), "dark"))
    assert give(dealer, UndoLast(dealer.tick(), *INSPECTOR)) == ""
    assert dealer.table.coup is not None
    assert dealer.table.coup.unseen


def test_card_of_a_past_coup_cannot_be_carried() -> None:
    """Once a later coup has begun it is too late to carry a card over."""
    dealer = Dealer().start()
    dealer.hand(STANDS, (P3, "2s"))
    dealer.clear()
    dealer.out()
    assert "too late" in give(dealer, CarryCard(dealer.tick(), *INSPECTOR, 1))


def test_free_hand_is_marked() -> None:
    """A coming coup, or the running one, is dealt without bets."""
    dealer = Dealer().start()
    assert give(dealer, FreeHand(dealer.tick(), *INSPECTOR, 1)) == ""
    dealer.hand(STANDS)
    assert dealer.result.free
    dealer.clear()
    dealer.hand(STANDS)
    assert not dealer.result.free
    assert give(dealer, FreeHand(dealer.tick(), *INSPECTOR, 2)) == ""
    assert (dealer.result.free, dealer.result.revision) == (True, 1)


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 6, 8])
def test_undo_takes_an_order_back(number: int) -> None:
    """After an order and its undoing the coup stands as before, its alerts are open again."""
    dealer = over_drawn()
    before, opened = dealer.result, dealer.open
    assert give(dealer, orders(*INSPECTOR)[number]) == ""
    assert give(dealer, UndoLast(dealer.tick(), *INSPECTOR)) == ""
    after = dealer.result
    assert (after.why, after.winner, after.punto) == (before.why, before.winner, before.punto)
    assert (after.faults, after.free) == (before.faults, True)
    assert dealer.open == opened


def test_confirmed_reading_ends_the_doubt() -> None:
    """A dealer confirms a doubtful card, and the result is released."""
    dealer = Dealer().start()
    order = dealer.lay(P1)
    dealer.read(order, "6h", 0.8, "9h")
    for slot, face in ((B1, "7c"), (P2, "Kd"), (B2, "Kc")):
        dealer.deal(slot, face)
    assert dealer.result.why == "review"
    assert give(dealer, Confirm(dealer.tick(), *DEALER, 1)) == ""
    assert dealer.result.state is ResultState.FINAL
    assert dealer.open == []
    assert give(dealer, UndoLast(dealer.tick(), *INSPECTOR)) == ""
    assert (dealer.result.state, dealer.result.why) == (ResultState.HELD, "review")


def test_alert_brought_to_management_does_not_lapse() -> None:
    """Acknowledged by an inspector in time, an alert stays open and the result held."""
    dealer = over_drawn()
    assert give(dealer, AckAlert(dealer.tick(), *INSPECTOR, "a1")) == ""
    dealer.clear()
    dealer.out()
    alert = dealer.alerts["OVER_P3_STAND"]
    assert (alert.state, alert.in_time) == (AlertState.ACKNOWLEDGED, True)
    assert alert.acknowledged_by == "Ada"
    assert dealer.result.why == "review"
    assert "holds" in give(dealer, CloseAlert(dealer.tick(), *INSPECTOR, "a1"))
    why = give(dealer, RectifyAlert(dealer.tick(), *INSPECTOR, "a1", "R0"))
    assert why == "'R0' is no remedy; they are R1 to R12"
    assert give(dealer, RectifyAlert(dealer.tick(), *INSPECTOR, "a1", "R2")) == ""
    assert dealer.result.state is ResultState.CORRECTED
    assert "needs words" in give(dealer, CloseAlert(dealer.tick(), *DESK, "a1", Category.DEALER))
    closing = CloseAlert(dealer.tick(), *DESK, "a1", Category.DEALER, reason="told the dealer")
    assert give(dealer, closing) == ""
    alert = dealer.alerts["OVER_P3_STAND"]
    assert (alert.state, alert.category) == (AlertState.CLOSED, Category.DEALER)
    assert alert.reason == "told the dealer"
    assert "no alert" in give(dealer, CloseAlert(dealer.tick(), *DESK, "a1"))
    assert "no alert" in give(dealer, AckAlert(dealer.tick(), *DESK, "a1"))


def test_alert_is_closed_as_something_else_only_with_words() -> None:
    """A category of one's own says nothing without words."""
    dealer = Dealer().start()
    dealer.tell(Noticed(dealer.tick(), "READING_POOR"))
    other = CloseAlert(dealer.tick(), *DESK, "a1", Category.OTHER)
    assert give(dealer, other) == "another category needs words: its reason"
    assert give(dealer, replace(other, reason="lamp changed")) == ""


def test_alert_acknowledged_by_the_dealer_lapses_all_the_same() -> None:
    """The dealer is not the management: the coup stands as dealt."""
    dealer = over_drawn()
    assert give(dealer, AckAlert(dealer.tick(), *DEALER, "a1")) == ""
    dealer.clear()
    dealer.out()
    assert dealer.alerts["OVER_P3_STAND"].state is AlertState.LAPSED
    assert dealer.result.state is ResultState.CORRECTED
    assert dealer.result.faults == ("OVER_P3_STAND",)
    assert give(dealer, AckAlert(dealer.tick(), *INSPECTOR, "a1")) == ""
    assert dealer.alerts["OVER_P3_STAND"].state is AlertState.LAPSED
    assert give(dealer, RectifyAlert(dealer.tick(), *INSPECTOR, "a1", "R2")) == ""
    assert dealer.alerts["OVER_P3_STAND"].in_time is False


def test_engineer_acknowledges_what_concerns_the_machine() -> None:
    """The engineer hears of the link and says so."""
    assert give(over_drawn(), AckAlert(1, *ENGINEER, "a2")) == ""


def test_new_shoe_keeps_the_alerts_that_nobody_closed() -> None:
    """A new shoe begins at coup 1; open alerts of the old one can still be closed."""
    dealer = over_drawn()
    assert give(dealer, NewShoe(dealer.tick(), *INSPECTOR, "second")) == ""
    assert dealer.all(ShoeChanged)[-1].shoe == "second"
    assert dealer.all(ShoeChanged)[-1].out == 0
    assert dealer.all(CoupsChanged)[-1].coups == ()
    assert dealer.alerts["OVER_P3_STAND"].state is AlertState.LAPSED
    assert give(dealer, CloseAlert(dealer.tick(), *DESK, "a1", reason="paid as dealt")) == ""
    assert "no alert" in give(dealer, CloseAlert(dealer.tick(), *DESK, "a1"))
    dealer.lying, dealer.order = [], 0
    dealer.hand(STANDS)
    assert (dealer.result.shoe, dealer.result.coup) == ("second", 1)
    assert "LINK" in dealer.open


@pytest.mark.parametrize("watched", [True, False])
@pytest.mark.parametrize(
    ("rule", "asked"),
    [(BurnRule(), "as the first card counts"), (BurnRule(BurnKind.FIXED, 3), "3 cards")],
)
def test_burn_of_a_new_shoe_is_watched_as_ordered(
    rule: BurnRule, asked: str, watched: bool
) -> None:
    """Only where whoever put the shoe in use says that the camera sees its burn is one missed."""
    dealer = Dealer(Rules(burn=rule)).start()
    dealer.tell(NewShoe(dealer.tick(), *INSPECTOR, "second", watch_burn=watched))
    dealer.hand(STANDS)
    assert dealer.raised == ["BURN_MISSED"] * watched
    assert not watched or asked in dealer.alerts["BURN_MISSED"].text


def test_shoe_started_twice_is_one_shoe() -> None:
    """The same shoe announced again is not another."""
    dealer = Dealer().start()
    dealer.tell(ShoeStarted(dealer.tick(), "x"))
    before = dealer.table
    dealer.tell(ShoeStarted(dealer.now, "x"))
    assert dealer.table == before


def test_deadline_moves_from_the_next_card_to_the_next_coup() -> None:
    """An over-draw is to be put right before the next card, at the latest before the next coup."""
    dealer = over_drawn()
    assert dealer.alerts["OVER_P3_STAND"].deadline is Deadline.NEXT_CARD
    dealer.out()
    assert dealer.alerts["OVER_P3_STAND"].deadline is Deadline.NEXT_COUP
    assert dealer.alerts["OVER_P3_STAND"].state is AlertState.RAISED


def test_fault_that_comes_back_has_its_alert_again() -> None:
    """A correction ends an alert, taking it back raises the same one again; late stays late."""
    dealer = Dealer().start()
    dealer.hand("2h 7c Kd Kc")
    dealer.clear()
    dealer.out()
    reported = dealer.alerts["UNDER_P3"]
    assert (reported.state, reported.in_time) == (AlertState.LAPSED, False)
    assert give(dealer, CorrectCard(1, *INSPECTOR, 1, P1, Card.parse("7h"))) == ""
    assert dealer.alerts["UNDER_P3"].state is AlertState.RECTIFIED
    assert dealer.result.faults == ()
    assert give(dealer, UndoLast(1, *INSPECTOR)) == ""
    again = dealer.alerts["UNDER_P3"]
    assert (again.id, again.state, again.in_time) == (reported.id, AlertState.LAPSED, False)
    assert again.raised_at == reported.raised_at
    assert dealer.result.faults == ("UNDER_P3",)


def test_fault_found_by_a_late_correction_has_lapsed() -> None:
    """A past coup found to be wrong stands as dealt, with the fault."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    dealer.clear()
    dealer.out()
    assert give(dealer, CorrectCard(1, *INSPECTOR, 1, P1, Card.parse("2h"))) == ""
    assert dealer.result.state is ResultState.CORRECTED
    assert dealer.result.faults == ("UNDER_P3",)
    assert dealer.alerts["UNDER_P3"].state is AlertState.LAPSED


def test_rectified_alert_is_raised_again_only_when_it_grows_worse() -> None:
    """What an inspector put right is not told again, unless it comes to more than it was."""
    dealer = Dealer().start()
    dealer.hand("2h 7c Kd Kc")
    dealer.tell(TimePassed(dealer.tick(5_000)))
    assert give(dealer, RectifyAlert(1, *INSPECTOR, "a1", "R2")) == ""
    dealer.tell(TimePassed(dealer.tick(5_000)))
    assert dealer.open == []
    dealer.clear()
    assert dealer.open == ["UNDER_P3"]


def test_order_about_cards_that_were_burned_is_taken_back() -> None:
    """What seemed the first coup was the burn: the order about it goes with it."""
    dealer = Dealer().start()
    order = dealer.lay(None)
    assert give(dealer, FreeHand(1, *INSPECTOR, 1)) == ""
    dealer.read(order, "5d")
    dealer.lay(None)
    assert give(dealer, UndoLast(1, *INSPECTOR)) == ""
    assert "no order" in give(dealer, UndoLast(1, *INSPECTOR))


def test_comment_is_reported_with_its_name_and_changes_nothing_else() -> None:
    """A comment goes with the alert, which stays as open as it was; without words it is none."""
    dealer = over_drawn()
    assert give(dealer, CommentAlert(1, *DESK, "a1", reason="seen on camera 4")) == ""
    alert = dealer.alerts["OVER_P3_STAND"]
    assert (alert.state, alert.by, alert.reason) == (AlertState.RAISED, "Cy", "seen on camera 4")
    assert "words" in give(dealer, CommentAlert(1, *DESK, "a1"))
    assert give(dealer, CommentAlert(1, *DESK, "a99", reason="x")) == "no alert a99 is open"


def test_call_for_the_inspector_is_an_alert_until_it_is_closed() -> None:
    """One at a time, for each is filmed; after that a second one, and the words of a call."""
    dealer = over_drawn()
    assert give(dealer, CallInspector(1, *DEALER)) == ""
    first = dealer.alerts["CALLED"]
    assert first.text == "Bo calls the inspector."
    assert "called already" in give(dealer, CallInspector(1, *DEALER))
    assert dealer.raised.count("CALLED") == 1
    assert give(dealer, CloseAlert(1, *INSPECTOR, first.id)) == ""
    dealer.tick(5000)
    assert give(dealer, CallInspector(1, *DEALER, reason="chips on the floor")) == ""
    assert dealer.open[-1] == "CALLED"
    assert dealer.raised.count("CALLED") == 2


@pytest.mark.parametrize("kind", [KeepEvidence, ReleaseEvidence])
def test_legal_hold_needs_words(kind: type[KeepEvidence | ReleaseEvidence]) -> None:
    """Why evidence is kept, or let go, is asked for years later."""
    assert "words" in give(over_drawn(), kind(1, *INSPECTOR, "s1", 1))
