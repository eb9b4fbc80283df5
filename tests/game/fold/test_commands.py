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
    AlertChanged,
    AlertState,
    CardSeen,
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


# --- what is answered, and what an order leaves behind --------------------------------------------


def test_every_order_is_answered_with_its_name_its_maker_and_its_number() -> None:
    """Taken or not; the words of a refusal name whom it is for."""
    dealer = over_drawn()
    dealer.tell(HoldResult(dealer.tick(), *DESK, 1, ref="17"))
    assert dealer.all(Replied)[-1] == Replied(
        dealer.now, "17", "HoldResult", "Cy", accepted=True, why=""
    )
    dealer.tell(HoldResult(dealer.tick(), *DEALER, 1, ref="18"))
    why = "this is for inspector or surveillance to order, not for dealer"
    assert dealer.all(Replied)[-1] == Replied(
        dealer.now, "18", "HoldResult", "Bo", accepted=False, why=why
    )


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (Command(1, *INSPECTOR), "no such order is known"),
        (Confirm(1, *DEALER, 2), "there is no coup 2 in this shoe"),
        (FreeHand(1, *INSPECTOR, 2), ""),
        (FreeHand(1, *INSPECTOR, 3), "there is no coup 3 in this shoe"),
        (CorrectCard(1, *DEALER, 1, P1, Card.parse("2c")),
         "a dealer keys in only what was not read; this is for the inspector to correct"),
        (CorrectCard(1, *DEALER, 1, P3, Card.parse("2c")), ""),
        (MoveCard(1, *INSPECTOR, 1, P3, B3), "there is no card in Punto 3"),
        (MoveCard(1, *INSPECTOR, 1, P1, P2),
         "a card moves to the other hand, and a hand has three at most"),
        (MoveCard(1, *INSPECTOR, 1, P1, B1), ""),
        (BurnCard(1, *INSPECTOR, 1),
         "its last card was due: there is none to burn or to carry over"),
        (UndoLast(1, *INSPECTOR), "there is no order to take back"),
        (NewShoe(1, *INSPECTOR, "shoe-1"), "shoe shoe-1 is in use already"),
        (NewShoe(1, *INSPECTOR, ""), ""),
        (KeepEvidence(1, *INSPECTOR, "s", 1), "a legal hold needs words: its reason"),
        (CommentAlert(1, *DESK, "a9", reason="x"), "no alert a9 is open"),
    ],
)  # fmt: skip
def test_refusal_says_why(command: Command, why: str) -> None:
    """In words of its own for each reason."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    assert give(dealer, command) == why


def test_hand_of_three_takes_no_card() -> None:
    """Nor is a slot filled beyond the next one of its hand."""
    dealer = Dealer().start()
    dealer.hand("2h 7c Kd Kc", (P3, "6s"))
    full = MoveCard(1, *INSPECTOR, 1, B1, P1)
    assert give(dealer, full) == "a card moves to the other hand, and a hand has three at most"
    dealer = Dealer().start()
    dealer.deal(P1, "2c")
    key = CorrectCard(1, *INSPECTOR, 1, B2, Card.parse("2c"))
    assert give(dealer, key) == "there is no card in Banco 2"
    assert give(dealer, replace(key, slot=B1)) == ""


@pytest.mark.parametrize("known", [True, False])
def test_dealer_keys_in_a_card_that_was_not_read(*, known: bool) -> None:
    """One that lies there unread, or that nobody saw."""
    dealer = Dealer().start()
    dealer.deal(P1, "2c" if known else None)
    assert bool(give(dealer, CorrectCard(1, *DEALER, 1, P1, Card.parse("9c")))) is known


def test_card_keyed_in_is_told_to_surveillance() -> None:
    """One that nobody saw has no order of a shoe; it lies where it was keyed in."""
    dealer = Dealer().start()
    dealer.hand("2h 7c Kd Kc")
    give(dealer, CorrectCard(1, *INSPECTOR, 1, P3, Card.parse("6h")))
    told = dealer.all(CardSeen)[-1]
    assert (told.event, told.order, told.slot, told.card) == ("keyed", -5, P3, Card.parse("6h"))
    assert dealer.table.coup is not None
    keyed = dealer.table.coup.cards[-1]
    assert (keyed.out_at, keyed.placed_at, keyed.order) == (dealer.now, dealer.now, -5)
    assert give(dealer, UndoLast(1, *INSPECTOR)) == ""
    assert [card.order for card in dealer.table.coup.cards] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("order", "remedy"),
    [
        (VoidCoup(1, *INSPECTOR, 1, reason="r"), "R9"),
        (ResultStands(1, *INSPECTOR, 1, reason="r"), "R1"),
        (BurnCard(1, *INSPECTOR, 1, reason="r"), "R5"),
        (CarryCard(1, *INSPECTOR, 1, reason="r"), "R3"),
        (MoveCard(1, *INSPECTOR, 1, P3, B3, reason="r"), "R7"),
        (RectifyAlert(1, *INSPECTOR, "a1", "R12", reason="r"), "R12"),
    ],
)
def test_order_puts_right_what_it_is_the_remedy_of(order: Command, remedy: str) -> None:
    """In the name of who gave it, with their words; the alert is changed, not raised again."""
    dealer = over_drawn()
    told = len(dealer.all(AlertChanged))
    assert give(dealer, order) == ""
    alert = dealer.alerts["OVER_P3_STAND"]
    assert (alert.state, alert.remedy, alert.by, alert.reason) == (
        AlertState.RECTIFIED, remedy, "Ada", "r",
    )  # fmt: skip
    changed = [each for each in dealer.all(AlertChanged)[told:] if each.alert.id == "a1"]
    assert changed
    assert not any(each.first for each in changed)
    assert dealer.alerts["LINK"].state is AlertState.RAISED


@pytest.mark.parametrize("order", [BurnCard, CarryCard, Confirm])
def test_order_about_one_card_leaves_other_alerts_of_its_coup(
    order: type[BurnCard | CarryCard | Confirm],
) -> None:
    """Two cards that left as one are another matter."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    dealer.allege("TWO_CARDS_OUT", 4)
    dealer.deal(P3, "2s")
    assert give(dealer, order(1, *INSPECTOR, 1)) == ""
    opened = ["TWO_CARDS_OUT"] if order is not Confirm else ["TWO_CARDS_OUT", "OVER_P3_STAND"]
    assert [alert for alert in dealer.open if alert != "EXCESS_CARRIED"] == opened


@pytest.mark.parametrize("code", ["REVIEW", "RESTART_CONFIRM"])
def test_confirmation_ends_what_asked_for_it(code: str) -> None:
    """Without a remedy: nothing was wrong; and what was not seen is vouched for."""
    dealer = Dealer().start()
    for slot, face in ((P1, "4h"), (B1, "4c"), (P2, "3d")):
        dealer.deal(slot, face)
    dealer.tell(ViewLost(dealer.tick(), "dark"))
    dealer.deal(B2, "3c")
    if code == "REVIEW":
        dealer.doubt("It may be P1.")
    else:
        dealer.allege(code)
    assert give(dealer, Confirm(1, *DEALER, 1)) == ""
    alert = dealer.alerts[code]
    assert (alert.state, alert.remedy, alert.by) == (AlertState.RECTIFIED, "", "Bo")
    assert dealer.table.coup is not None
    assert not dealer.table.coup.unseen
    assert all(card.marks.confirmed for card in dealer.table.coup.cards)


def test_only_a_card_that_was_read_is_confirmed() -> None:
    """What nobody read cannot be right."""
    dealer = Dealer().start()
    dealer.deal(P1, "4h")
    dealer.deal(B1, None)
    assert give(dealer, Confirm(1, *DEALER, 1)) == ""
    assert dealer.table.coup is not None
    assert [card.marks.confirmed for card in dealer.table.coup.cards] == [True, False]


def test_result_that_stands_releases_all_that_held_it() -> None:
    """A hold, a void, what was not seen, and a doubt with what it hid."""
    dealer = Dealer().start()
    dealer.hand(STANDS, (P3, "2s"))
    for order in (HoldResult, VoidCoup, ResultStands):
        assert give(dealer, order(1, *INSPECTOR, 1)) == ""
    coup = dealer.table.coup
    assert coup is not None
    assert (coup.stands, coup.hold, coup.void, coup.unseen) == (True, False, False, False)
    dealer = Dealer().start()
    dealer.hand(STANDS, (P3, "2s"))
    dealer.doubt("It may be P1.")
    assert dealer.open == ["REVIEW"]
    assert give(dealer, ResultStands(1, *INSPECTOR, 1)) == ""
    assert dealer.open == []
    assert {dealer.alerts[code].remedy for code in ("REVIEW", "OVER_P3_STAND")} == {"R1"}


def test_carried_card_is_told_of_with_what_it_was() -> None:
    """Its fault stays with its coup; the next one says with which card it starts."""
    dealer = Dealer().start()
    dealer.hand(STANDS, (P3, "2s"))
    text = dealer.alerts["OVER_P3_STAND"].text
    told = len(dealer.all(ShoeChanged))
    assert give(dealer, CarryCard(1, *INSPECTOR, 1)) == ""
    first, second = dealer.table.coups
    (fault,) = first.noticed
    assert (fault.key, fault.text, fault.order, fault.observed) == ("extra:5", text, 5, P3)
    (fault,) = second.noticed
    assert (fault.key, fault.code, fault.order, fault.card) == (
        "carried", "EXCESS_CARRIED", 5, Card.parse("2s"),
    )  # fmt: skip
    assert fault.text == "Coup starts with a card carried over: 2s."
    (card,) = second.cards
    assert (card.order, card.slot, card.placed_at, card.face) == (5, None, None, Card.parse("2s"))
    assert (second.carried, second.sight, first.cards[-1].marks.fate) == (5, 0, "carried")
    assert [shoe.coups for shoe in dealer.all(ShoeChanged)[told:]] == [2]


def test_face_down_card_is_carried_with_the_face_that_was_keyed_in() -> None:
    """Unread, it is said to lie face down."""
    dealer = Dealer().start()
    dealer.hand(STANDS, (P3, None))
    assert give(dealer, CarryCard(1, *INSPECTOR, 1)) == ""
    text = dealer.alerts["EXCESS_CARRIED"].text
    assert text == "Coup starts with a card carried over: face down."
    assert give(dealer, UndoLast(1, *INSPECTOR)) == ""
    assert give(dealer, CorrectCard(1, *INSPECTOR, 1, P3, Card.parse("Kd"))) == ""
    assert give(dealer, CarryCard(1, *INSPECTOR, 1)) == ""
    assert dealer.table.coup is not None
    assert [card.face for card in dealer.table.coup.cards] == [Card.parse("Kd")]


def test_undo_is_told_and_brings_back_only_what_the_order_ended() -> None:
    """Alerts that it ended are open as they were, once told; what ended since stays ended."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    dealer.allege("TWO_CARDS_OUT", 4)
    dealer.deal(P3, "2s")
    assert give(dealer, HoldResult(1, *INSPECTOR, 1)) == ""
    dealer.allege("TWO_CARDS_OUT", 4, over=True)
    assert give(dealer, BurnCard(1, *INSPECTOR, 1)) == ""
    told = len(dealer.all(AlertChanged))
    assert give(dealer, UndoLast(1, *INSPECTOR)) == ""
    changed = dealer.all(AlertChanged)[told:]
    assert [(each.alert.code, each.first) for each in changed] == [("OVER_P3_STAND", False)]
    assert dealer.open == ["OVER_P3_STAND"]
    assert dealer.alerts["OVER_P3_STAND"].remedy == ""
    assert dealer.table.coup is not None
    assert dealer.table.coup.hold


@pytest.mark.parametrize("begins", [True, False])
def test_carried_card_goes_back_only_while_it_is_alone(*, begins: bool) -> None:
    """Another card that followed it is of its coup."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    dealer.out()
    assert give(dealer, CarryCard(1, *INSPECTOR, 1)) == ""
    if begins:
        dealer.clear()
        dealer.lay(P1, 5)
        dealer.out()
    why = "too late: another card has followed card 5, which was carried over"
    assert give(dealer, UndoLast(1, *INSPECTOR)) == why * begins


@pytest.mark.parametrize(
    ("category", "reason", "why"),
    [
        (
            Category.DEALER,
            "",
            "it held a result, and bets with it: closing it needs words, its reason",
        ),
        (Category.DEALER, "seen", ""),
        (Category.OTHER, "seen", ""),
        (None, "seen", ""),
    ],
)
def test_alert_that_held_a_result_is_closed_with_words(
    category: Category | None, reason: str, why: str
) -> None:
    """Once it holds none: it has lapsed, or is of a shoe that is over."""
    for later in (lambda d: (d.clear(), d.out()), lambda d: d.tell(ShoeStarted(d.tick(), "x"))):
        dealer = over_drawn()
        closing = CloseAlert(1, *DESK, "a1", category, reason=reason)
        holds = "it holds a result: rectify it, or let the result stand, first"
        assert give(dealer, closing) == holds
        assert give(dealer, AckAlert(1, *INSPECTOR, "a1")) == ""
        later(dealer)
        if dealer.table.shoe.name == "shoe-1":
            assert give(dealer, closing) == holds  # management knows of it: it does not lapse
            assert give(dealer, RectifyAlert(1, *INSPECTOR, "a1", "R1")) == ""
        assert give(dealer, closing) == why
        closed = [t.alert.id for t in dealer.table.earlier_alerts]
        assert ("a1" in closed) is (bool(why) and dealer.table.shoe.name == "x")


def test_held_coup_lasts_beyond_its_shoe_by_one_alert() -> None:
    """By that which holds it, or by one of its own; a void coup by none."""
    for orders_, code in (
        ((HoldResult(1, *INSPECTOR, 1),), "HELD_OVER"),
        ((AckAlert(1, *INSPECTOR, "a1"),), "OVER_P3_STAND"),
        ((VoidCoup(1, *INSPECTOR, 1), HoldResult(1, *INSPECTOR, 1)), ""),
    ):
        dealer = Dealer().start()
        dealer.hand(STANDS, *([(P3, "2s")] if code.startswith("OVER") else []))
        for each in orders_:
            assert give(dealer, each) == ""
        text = dealer.alerts[code].text if code in dealer.raised else ""
        dealer.tell(ShoeStarted(dealer.tick(), "x"))
        words = "Coup 1: held as its shoe ended. Close this alert to release the shoe."
        assert dealer.open == [code] * bool(code)
        assert not code or dealer.alerts[code].text == f"{text} {words}".strip()
        assert not code or dealer.alerts[code].changed_at == dealer.now
        assert dealer.raised == [code] * bool(code)


def test_calls_for_the_inspector_are_told_apart_by_their_words() -> None:
    """What was said with the call follows its name."""
    dealer = over_drawn()
    assert give(dealer, CallInspector(1, *DEALER, reason="chips on the floor")) == ""
    assert dealer.alerts["CALLED"].text == "Bo calls the inspector. chips on the floor"
    assert give(dealer, CallInspector(1, *INSPECTOR)) == (
        "the inspector is called already; close that alert first"
    )
