"""What is noticed is of the machine or the shoe; a face in the mouth goes to its coup."""

from __future__ import annotations

from tests.game.dealer import B1, P1, Dealer
from vision.game.events import Noticed, ShoeStarted
from vision.game.outputs import AlertChanged, AlertState

STANDS = "4h 4c 3d 3c"


def exposed(dealer: Dealer) -> None:
    """Show a face in the mouth of the shoe."""
    dealer.tell(Noticed(dealer.tick(), "EXPOSED_IN_SHOE"))


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
    """A face in the mouth while a coup is dealt is of that coup, once its card is out."""
    dealer = Dealer().start()
    dealer.deal(P1, "4h")
    exposed(dealer)
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


def test_notice_of_a_card_that_never_came_is_over_with_its_shoe() -> None:
    """Nothing is left of it in the next shoe but its alert."""
    dealer = Dealer().start()
    exposed(dealer)
    dealer.tell(ShoeStarted(dealer.tick(), "another"))
    dealer.hand(STANDS)
    assert dealer.result.faults == ()
