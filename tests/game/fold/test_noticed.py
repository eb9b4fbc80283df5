"""What sight or the machine notices goes to the card, coup or table that it is about."""

from __future__ import annotations

from tests.game.dealer import B1, P1, P2, Dealer
from vision.game.events import Noticed, ShoeStarted, Started
from vision.game.outputs import AlertChanged, AlertState, ResultState

STANDS = "4h 4c 3d 3c"


def exposed(dealer: Dealer, order: int | None = None) -> None:
    """Show a face in the mouth of the shoe."""
    dealer.tell(Noticed(dealer.tick(), "EXPOSED_IN_SHOE", order))


def test_card_exposed_in_the_shoe_between_coups_is_of_the_next() -> None:
    """The alert names the coup to come, and its result has the fault."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    assert dealer.table.waits_until is None
    dealer.tell(Noticed(dealer.tick(), "LIGHT"))
    exposed(dealer)
    assert (dealer.alerts["EXPOSED_IN_SHOE"].coup, dealer.alerts["EXPOSED_IN_SHOE"].order) == (2, 5)
    dealer.clear()
    dealer.hand(STANDS)
    assert [dealer.result_of(coup).faults for coup in (1, 2)] == [(), ("EXPOSED_IN_SHOE",)]
    assert dealer.raised == ["LIGHT", "EXPOSED_IN_SHOE"]
    assert dealer.alerts["EXPOSED_IN_SHOE"].state is AlertState.LAPSED


def test_card_exposed_before_the_first_coup_is_of_the_first() -> None:
    """Where no coup has been dealt yet, the next card begins the first."""
    dealer = Dealer().start()
    exposed(dealer)
    dealer.hand(STANDS)
    assert dealer.result.faults == ("EXPOSED_IN_SHOE",)
    assert {one.alert.coup for one in dealer.all(AlertChanged)} == {1}


def test_card_exposed_during_a_coup_is_of_that_coup() -> None:
    """With or without its number, a face in the mouth while a coup is dealt is of that coup."""
    for named in (True, False):
        dealer = Dealer().start()
        dealer.deal(P1, "4h")
        exposed(dealer, 2 if named else None)
        dealer.deal(B1, "4c")
        assert dealer.table.coup is not None
        assert [fault.code for fault in dealer.table.coup.noticed] == ["EXPOSED_IN_SHOE"]


def test_notice_of_a_card_that_goes_to_another_coup_follows_it() -> None:
    """A card drawn while the hands still lie belongs to them, and so does what was noticed."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    exposed(dealer)
    dealer.out()
    assert dealer.alerts["EXPOSED_IN_SHOE"].coup == 1
    assert set(dealer.open) == {"EXPOSED_IN_SHOE", "OVER_P3_STAND"}


def test_doubt_about_a_card_still_in_the_shoe_holds_its_coup() -> None:
    """What is doubted before the card is out holds the coup that gets the card."""
    dealer = Dealer().start()
    dealer.tell(Noticed(dealer.tick(), "REVIEW", 2))
    dealer.hand(STANDS)
    assert dealer.result.state is ResultState.HELD
    dealer.tell(Noticed(dealer.tick(), "REVIEW", 2, over=True))
    assert dealer.result.state is ResultState.FINAL


def test_notice_of_a_card_that_never_came_is_over_with_its_shoe() -> None:
    """Nothing is left of it in the next shoe but its alert."""
    dealer = Dealer().start()
    exposed(dealer)
    dealer.tell(ShoeStarted(dealer.tick(), "another"))
    dealer.hand(STANDS)
    assert dealer.result.faults == ()


def test_doubt_with_no_coup_is_told_and_ended() -> None:
    """Before the first card there is no result to hold."""
    dealer = Dealer().start()
    dealer.tell(Noticed(dealer.tick(), "REVIEW"))
    assert dealer.open == ["REVIEW"]
    assert dealer.alerts["REVIEW"].text == "Reader in doubt about this coup: compare the cards."
    dealer.tell(Noticed(dealer.tick(), "REVIEW", over=True))
    assert dealer.open == []


def test_doubt_names_the_slot_that_sight_gives() -> None:
    """A card in a slot is named by it."""
    dealer = Dealer().start()
    dealer.deal(P1, "4h")
    dealer.tell(Noticed(dealer.tick(), "REVIEW", 1, P1, "seen twice"))
    alert = dealer.alerts["REVIEW"]
    assert alert.text == "Reader in doubt about card Punto 1: compare the cards. seen twice"
    assert alert.slot is P1


def test_restart_doubted_again_after_a_ruling_is_told_again() -> None:
    """Each restart in a coup is a doubt of its own."""
    dealer = Dealer().start()
    dealer.deal(P2, "4h")
    for number in (1, 2):
        dealer.tell(Noticed(dealer.tick(), "RESTART_CONFIRM"))
        assert dealer.raised.count("RESTART_CONFIRM") == number
        dealer.confirm(1)
        assert "RESTART_CONFIRM" not in dealer.open


def test_first_edition_keeps_a_face_in_the_mouth_where_it_was() -> None:
    """A run of an earlier program is folded as it was then."""
    dealer = Dealer()
    dealer.tell(Started(dealer.tick(), "boot-1", "0.1.0"))
    exposed(dealer)
    exposed(dealer, 1)
    dealer.hand(STANDS)
    assert dealer.result.faults == ()
