"""A coup as sight tells of it, whole: the same results, whatever was believed in between."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.game.dealer import B1, B2, INSPECTOR, P1, P2, P3, Dealer, cards
from vision.game.cards import DECK, Card
from vision.game.commands import (
    BurnCard,
    CarryCard,
    Confirm,
    CorrectCard,
    MoveCard,
    UndoLast,
    VoidCoup,
)
from vision.game.coup.state import DealtCard
from vision.game.events import (
    Allegation,
    CoupSeen,
    Life,
    Noticed,
    SeenCard,
    ShoeEnded,
    ShoeStarted,
    Slot,
    TimePassed,
    Winner,
)
from vision.game.outputs import (
    AlertState,
    CardSeen,
    CoupLive,
    Ignored,
    ResultState,
    ShoeChanged,
)
from vision.game.rules import BurnKind, BurnRule, Dealing, Rules
from vision.game.tableau import next_slot

STANDS, HAND = "P1:4h B1:4c P2:3d B2:3c", "4h 4c 3d 3c"
OUT, LYING, REMOVED, RETURNED = Life
PLACES = dict(zip(["P1", "B1", "P2", "B2", "P3", "B3"], Slot, strict=True)) | {"-": None}


def seen_card(order: int, text: str, life: Life = LYING) -> SeenCard:
    """Return a card written as `P1:9c`; `P1:-` lies on its face, `-:-` lies nowhere yet."""
    place, face = text.split(":")
    slot = PLACES[place]
    card = None if face in "-?" else Card.parse(face)
    return SeenCard(
        order,
        995_000 + 100 * order,
        OUT if slot is None and life is LYING and face == "-" else life,
        slot,
        face_up=face != "-",
        card=card,
        declined=face == "?",
        confidence=0.0 if card is None else 1.0,
    )


class Table(Dealer):
    """A table of which sight tells."""

    first: int = 1

    def see(  # type: ignore[override]  # what the page of a test says, not a dealer's own events
        self, text: str, coup: int = 1, life: Life = LYING, **facts: object
    ) -> CoupSeen:
        """Tell of a coup whose cards lie as written, from the order `first` on."""
        seen = CoupSeen(
            self.tick(),
            coup,
            tuple(seen_card(n, word, life) for n, word in enumerate(text.split(), self.first)),
            **facts,  # type: ignore[arg-type]
        )
        self.tell(seen)
        return seen

    def states(self) -> list[tuple[int, ResultState]]:
        """Return coup and state of each result."""
        return [(result.coup, result.state) for result in self.results]

    @property
    def published(self) -> list[str]:
        """What was published of single cards, as `1 out`."""
        return [f"{card.order} {card.event}" for card in self.all(CardSeen)]


def table(rules: Rules | None = None) -> Table:
    """Return a table at which a run has begun."""
    dealer = Table(rules or Rules())
    dealer.start()
    return dealer


# --- what was believed in between -----------------------------------------------------------------


def deal_anyhow(dealer: Dealer, rng: Random) -> None:
    """Deal five coups, some with a card too many, too few, or with the wrong hand."""
    shoe = rng.sample(DECK * 8, 60)
    for _ in range(5):
        hands: tuple[list[int], list[int]] = ([], [])
        dealt = 0
        while True:
            due = next_slot(tuple(hands[0]), tuple(hands[1]), order=dealer.rules.deal_order)
            odd = rng.random()
            if due is None and (odd > 0.1 or dealt > 5):
                break
            slot = Slot.BANCO_3 if due is None else due
            if due is not None and odd < 0.04:
                slot = Slot(slot ^ 1)
            face = shoe.pop()
            order = dealer.lay(slot)
            if odd < 0.97:
                dealer.read(order, face)
            if len(hands[slot % 2]) < 3:
                hands[slot % 2].append(face.points)
            dealt += 1
            if odd > 0.985:
                break
        dealer.clear()
        dealer.tick(4_000)
        dealer.tell(TimePassed(dealer.now))


@pytest.mark.parametrize("order", [(P1, B1, P2, B2), (P1, P2, B1, B2)], ids=["PBPB", "PPBB"])
@pytest.mark.parametrize("dealing", Dealing)
def test_coup_published_once_is_what_it_was_step_by_step(
    dealing: Dealing, order: tuple[Slot, ...]
) -> None:
    """What each coup came to is the same, for right coups and for wrong ones."""
    rules = Rules(dealing=dealing, deal_order=order)
    for seed in range(8):
        dealer, late = Dealer(rules).start(), Dealer(rules).start()
        deal_anyhow(dealer, Random(seed))
        last = {event.coup: event for event in dealer.events if isinstance(event, CoupSeen)}
        for event in dealer.events:
            if event in last.values() or isinstance(event, TimePassed):
                late.tell(event)
        stand = [
            {r.coup: (r.why, r.winner, r.punto, r.banco, r.faults) for r in each.results}
            for each in (dealer, late)
        ]
        assert stand[0] == stand[1], seed


def test_messages_of_a_card_are_the_difference() -> None:
    """A card is told of when it leaves, lies, is read and is taken, once each."""
    dealer = table()
    dealer.see("-:-")
    dealer.see("P1:-")
    dealer.see("P1:9c -:-")
    dealer.see("P1:9c B1:3s")
    dealer.see("P1:9c B1:3s", life=REMOVED)
    assert dealer.published == [
        *("1 out", "1 placed", "1 read", "2 out", "2 placed", "2 read", "1 removed", "2 removed")
    ]


def test_same_again_changes_nothing() -> None:
    """What was told already is told no more, and the table is the same but for its clock."""
    dealer = table()
    for text in ("-:-", "P1:9c", "P1:9c B1:- P2:- -:-", "P1:9c B1:3s P2:Kd B2:4h"):
        seen = dealer.see(text, alleged=(Allegation("EXPOSED_EARLY", 1, 90.0),), odds=3.0)
        before = dealer.table
        assert dealer.tell(replace(seen, at=dealer.tick())) == ()
        assert replace(dealer.table, clock=0) == replace(before, clock=0)


# --- what was believed before ---------------------------------------------------------------------


def test_order_as_now_believed_counts() -> None:
    """A wrong order of the first four was none once the cards are told in another order."""
    dealer = table()
    dealer.see("B1:4c P1:4h P2:3d B2:3c")
    assert dealer.open == ["WRONG_ORDER_INIT"]
    dealer.see(STANDS)
    assert dealer.open == []
    assert dealer.result.punto.cards == cards("4h 3d")
    assert dealer.result.faults == ()


def test_withdrawn_card_is_no_longer_counted() -> None:
    """A fourth card that was none goes, with its alert and its number; the result is released."""
    dealer = table()
    dealer.see(f"{STANDS} P3:-")
    assert dealer.open == ["OVER_P3_STAND"]
    assert dealer.table.shoe.last == 5
    dealer.see(STANDS)
    assert dealer.open == []
    assert dealer.published[-1] == "5 withdrawn"
    assert (dealer.table.shoe.last, dealer.table.shoe.out) == (4, 4)
    assert dealer.result.state is ResultState.FINAL


def test_late_card_takes_its_turn() -> None:
    """A card that nobody saw leave moves those after it, and passes no time limit."""
    dealer = table()
    dealer.see("P1:4h P2:3d B2:3c")
    dealer.see(STANDS)
    assert dealer.open == []
    assert (dealer.table.shoe.last, dealer.table.shoe.gone) == (4, 4)
    assert dealer.result.banco.cards == cards("4c 3c")


def test_returned_card_is_of_no_hand() -> None:
    """A card that went back is alleged with its odds; drawn again it is the next number."""
    dealer = table()
    dealer.see("P1:9c B1:-")
    back = replace(seen_card(2, "B1:-"), life=RETURNED)
    alleged = (Allegation("RETURNED_TO_SHOE", 2, 400.0),)
    dealer.tell(CoupSeen(dealer.tick(), 1, (seen_card(1, "P1:9c"), back), alleged))
    assert dealer.alerts["RETURNED_TO_SHOE"].odds == 400.0
    shoe = dealer.table.shoe
    assert (shoe.last, shoe.gone, shoe.out) == (2, 1, 1)
    again = tuple(seen_card(n, w) for n, w in ((3, "B1:3s"), (4, "P2:Kd"), (5, "B2:4h")))
    dealer.tell(CoupSeen(dealer.tick(), 1, (seen_card(1, "P1:9c"), back, *again), alleged))
    assert dealer.result.banco.cards == cards("3s 4h")
    assert dealer.result.faults == ("RETURNED_TO_SHOE",)


def test_only_card_that_went_back_leaves_a_coup_to_be_dealt() -> None:
    """The next card that leaves is the first of the same coup."""
    dealer = table()
    dealer.see("-:-")
    dealer.see("-:-", life=RETURNED)
    assert dealer.results == []
    dealer.first = 2
    dealer.see(STANDS)
    assert dealer.states() == [(1, ResultState.FINAL)]


def test_coup_of_before_is_still_decided_after_the_next_began() -> None:
    """Its third card is read late: the result is corrected, the running coup goes on."""
    dealer = table()
    dealer.see("P1:2h B1:4c P2:Kd B2:3c P3:-")
    gone = "P1:2h B1:4c P2:Kd B2:3c P3:5s"
    dealer.first = 6
    dealer.see("P1:9c", coup=2)
    assert dealer.result.why == "unread"
    dealer.first = 1
    dealer.see(gone, life=REMOVED)
    assert dealer.states()[-1] == (1, ResultState.FINAL)
    assert dealer.table.coup is not None
    assert dealer.table.coup.number == 2
    dealer.first = 6
    dealer.see("P1:9c B1:3s P2:Kd B2:4h", coup=2)
    assert dealer.result_of(2).winner is Winner.PUNTO


def test_card_that_belongs_to_the_next_coup_moves_there() -> None:
    """A fourth card that turns out to be the first of the next coup accuses nobody any more."""
    dealer = table()
    dealer.see(f"{STANDS} P1:2c")
    assert dealer.open == ["OVER_P3_STAND"]
    dealer.see(STANDS, life=REMOVED)
    dealer.first = 5
    dealer.see("P1:2c", coup=2)
    assert dealer.open == []
    assert (dealer.table.shoe.last, dealer.table.shoe.out) == (5, 5)


def test_coup_that_sight_did_not_begin_here_is_ignored() -> None:
    """Of a coup of the shoe before nothing is known: it is no coup of this one."""
    dealer = table()
    dealer.see("P1:9c", coup=7)
    why = "coup 7 of sight was not begun here: the next of this shoe is 1"
    assert [one.why for one in dealer.all(Ignored)] == [why]
    assert dealer.table.coup is None


def test_running_coup_is_shown_again_only_where_it_shows_otherwise() -> None:
    """Not for a surer reading of the same face, nor for one that comes when the cards are gone."""
    dealer = table()
    dealer.see(STANDS)
    shown = len(dealer.all(CoupLive))
    lying = [seen_card(order, word) for order, word in enumerate(STANDS.split(), 1)]
    surer = tuple(replace(card, confidence=0.99) for card in lying)
    dealer.tell(CoupSeen(dealer.tick(), 1, surer))
    dealer.see(STANDS, life=REMOVED)
    dealer.see("P1:5h B1:4c P2:3d B2:3c", life=REMOVED)
    assert len(dealer.all(CoupLive)) == shown


def test_coup_of_which_nothing_came_has_no_result() -> None:
    """A shoe that ends after its last card went back ends without another coup's result."""
    dealer = Dealer().start()
    dealer.give_back(dealer.out())
    dealer.tell(ShoeEnded(dealer.tick(), 416))
    dealer.tell(ShoeStarted(dealer.tick(), "another"))
    assert dealer.results == []
    assert "SHOE_COUNT" not in dealer.raised


def test_card_returned_after_it_was_read_is_counted_once() -> None:
    """The face of a card that is in the shoe again counts as left in it."""
    dealer = Dealer().start()
    order = dealer.deal(P1, "9s")
    dealer.give_back(order)
    dealer.lying.remove(order)
    assert sum(dealer.table.shoe.counts) == 0
    dealer.deal(P1, "9s")
    assert sum(dealer.table.shoe.counts) == 1


def test_card_withdrawn_after_the_others_were_cleared_ends_the_coup() -> None:
    """Where only a card that was none seemed to lie, the hands are cleared."""
    dealer = Dealer().start()
    dealer.hand(HAND)
    order = dealer.lay(P3)
    dealer.lying.remove(order)
    dealer.clear()
    assert dealer.table.coup is not None
    assert dealer.table.coup.cleared_at is None
    dealer.withdraw(order)
    assert dealer.table.coup.cleared_at is not None
    dealer.hand(HAND)
    assert (dealer.result.coup, dealer.result.state) == (2, ResultState.FINAL)


def test_card_withdrawn_from_an_earlier_coup_corrects_it() -> None:
    """What sight comes to know late makes a new revision."""
    dealer = Dealer().start()
    dealer.hand(HAND)
    dealer.deal(P3, "Jc")
    dealer.clear()
    dealer.hand(HAND)
    dealer.withdraw(5)
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
    dealer.withdraw(2)
    assert (len(dealer.table.shoe.burned), dealer.table.shoe.burn_due) == (1, 3)
    dealer.withdraw(1)
    assert (len(dealer.table.shoe.burned), dealer.table.shoe.burn_due) == (0, None)
    shoe = dealer.all(ShoeChanged)[-1]
    assert (shoe.out, shoe.missed, shoe.burned) == (0, 0, 0)


# --- sure, unsure, in doubt -----------------------------------------------------------------------


def test_fault_of_the_layout_waits_until_sight_is_sure() -> None:
    """Nothing is alleged meanwhile and no result given; what was alleged before stays."""
    dealer = table()
    dealer.see(f"{STANDS} P3:2s", sure=False)
    assert dealer.raised == []
    assert dealer.results == []
    dealer.see(f"{STANDS} P3:2s", odds=60.0)
    assert dealer.open == ["OVER_P3_STAND"]
    assert dealer.alerts["OVER_P3_STAND"].odds == 60.0
    dealer.see(STANDS, sure=False)
    assert dealer.open == ["OVER_P3_STAND"]
    dealer.see(STANDS)
    assert dealer.open == []
    assert dealer.result.state is ResultState.FINAL


NATURAL = "P1:4h B1:4c P2:5d B2:3c"


@pytest.mark.parametrize("doubt", ["", "It may be P3 (90%) or B3 (6%)."])
@pytest.mark.parametrize(
    ("cards", "odds", "code"),
    [
        (f"{NATURAL} -:-", 60.0, "OVER_NATURAL"),
        (f"{NATURAL} P3:-", 60.0, "OVER_NATURAL"),
        (f"{NATURAL} -:-", None, None),
        (f"{STANDS} -:-", 60.0, None),
        (f"{STANDS} P3:2s B3:2h -:-", 60.0, "OVER_4TH"),
    ],
)
def test_fault_that_holds_with_either_hand_is_alleged_though_it_is_open_where_the_card_lies(
    cards: str, odds: float | None, code: str | None, doubt: str
) -> None:
    """Which hand has it changes nothing of a natural; where the fault's name would, it waits."""
    dealer = table()
    dealer.see(cards, sure=False, odds=odds, doubt=doubt)
    alleged = [] if code is None else [code]
    assert dealer.open == [*alleged, *(["REVIEW"] if doubt else [])]
    if code:
        assert dealer.alerts[code].odds == odds
        dealer.see(cards.split(" -", maxsplit=1)[0].removesuffix(" P3:-"))
        assert code not in dealer.open


def test_doubt_about_the_reading_accuses_nobody_of_a_card_too_many() -> None:
    """A face that was read in two places may be one card, however sure the layout seems."""
    dealer = table()
    dealer.see(f"{NATURAL} P3:2s", odds=90.0, doubt="2s was read in two places.")
    assert dealer.open == ["REVIEW"]


def test_card_that_may_lie_somewhere_is_not_missing() -> None:
    """It is missing once sight is sure that it lies nowhere."""
    dealer = table()
    dealer.see("P1:4h -:-", sure=False)
    dealer.tick(20_000)
    dealer.tell(TimePassed(dealer.now))
    assert dealer.open == []
    dealer.see("P1:4h -:-")
    dealer.tick(100)
    dealer.tell(TimePassed(dealer.now))
    assert dealer.open == ["CARD_UNACCOUNTED"]


def test_published_result_stands_while_sight_is_unsure() -> None:
    """A result on the board does not come and go with a hand over the cards."""
    dealer = table()
    dealer.see(STANDS)
    revisions = len(dealer.results)
    dealer.see("P1:4h B1:4c P2:3d -:-", sure=False)
    assert len(dealer.results) == revisions
    dealer.see(STANDS)
    assert len(dealer.results) == revisions


def test_coup_that_is_gone_while_sight_is_unsure_is_held() -> None:
    """It is released once sight is sure."""
    dealer = table()
    dealer.see(STANDS, life=REMOVED, sure=False)
    assert dealer.result.why == "review"
    dealer.see(STANDS, life=REMOVED)
    assert dealer.result.state is ResultState.FINAL


def test_doubt_accuses_nobody() -> None:
    """REVIEW with its words holds the result and takes back what was alleged of the dealer."""
    dealer = table()
    dealer.see(f"{STANDS} P3:2s")
    dealer.see(f"{STANDS} P3:2s", sure=False, doubt="3 times likelier than four cards.")
    assert dealer.open == ["REVIEW"]
    assert dealer.alerts["REVIEW"].text.endswith("3 times likelier than four cards.")
    assert dealer.result.why == "review"
    dealer.see(STANDS)
    assert dealer.open == []
    assert dealer.result.state is ResultState.FINAL


def test_person_ends_a_doubt() -> None:
    """Confirmed cards count though sight stays unsure; a doubt that comes later is another."""
    dealer = table()
    dealer.see(STANDS, sure=False, doubt="a")
    dealer.confirm(1)
    assert dealer.result.state is ResultState.FINAL
    dealer.see(STANDS, sure=False, doubt="b")
    assert dealer.result.state is ResultState.FINAL
    dealer.see(STANDS)
    dealer.see(STANDS, sure=False, doubt="c")
    assert dealer.open == ["REVIEW"]
    assert dealer.result.state is ResultState.HELD


def test_sure_face_that_becomes_another_is_settled_by_a_person() -> None:
    """Neither is right until somebody says which."""
    dealer = table()
    dealer.see(STANDS)
    dealer.see("P1:5h B1:4c P2:3d B2:3c")
    assert dealer.open == ["READ_CONFLICT"]
    assert dealer.result.state is ResultState.HELD
    dealer.confirm(1)
    assert dealer.result.punto.cards == cards("5h 3d")


def test_switched_card_shows_both_faces() -> None:
    """The face that was dealt counts; the result is held."""
    dealer = table()
    seen = dealer.see(STANDS)
    first = replace(seen.cards[0], switched=Card.parse("Kh"))
    alleged = (Allegation("SWITCH", 1, 5_000.0),)
    dealer.tell(replace(seen, at=dealer.tick(), cards=(first, *seen.cards[1:]), alleged=alleged))
    alert = dealer.alerts["SWITCH"]
    assert (alert.card, alert.second, alert.odds) == (Card.parse("4h"), Card.parse("Kh"), 5_000.0)
    assert dealer.result.why == "review"


@pytest.mark.parametrize(("slot", "severity"), [("P2", "info"), ("B2", "warning")])
def test_allegation_names_its_card(slot: str, severity: str) -> None:
    """A face that showed early is graver with Banco; a code that sight cannot know is none."""
    dealer = table()
    alleged = (Allegation("EXPOSED_EARLY", 2, 90.0), Allegation("OVER_B3", 1, 90.0))
    dealer.see(f"P1:- {slot}:9c", alleged=alleged)
    assert dealer.alerts["EXPOSED_EARLY"].severity == severity
    assert "OVER_B3" not in dealer.raised


# --- orders ---------------------------------------------------------------------------------------


def test_keyed_face_stays_with_its_place() -> None:
    """It survives a reading, another order, a withdrawal, and the card's coming back."""
    dealer = table()
    dealer.see("P1:4h B1:4c P2:? B2:3c")
    dealer.tell(CorrectCard(dealer.tick(), *INSPECTOR, 1, P2, Card.parse("3d")))
    final = (1, ResultState.FINAL)
    assert dealer.states()[-1] == final
    for text in ("B1:4c P1:4h P2:9s B2:3c", "P1:4h B1:4c B2:3c", "P1:4h B1:4c P2:9s B2:3c"):
        dealer.see(text)
        assert dealer.result.punto.cards == cards("4h 3d"), text
    assert dealer.result.state in (ResultState.FINAL, ResultState.CORRECTED)
    assert len(dealer.table.coups[0].cards) == 4


def test_keyed_face_stays_with_its_place_where_every_card_changes() -> None:
    """Two cards that are taken for each other are those of their slots, whatever their order."""
    dealer = table()
    dealer.see("P1:? B1:4c")
    dealer.tell(CorrectCard(dealer.tick(), *INSPECTOR, 1, P1, Card.parse("3d")))
    dealer.see("B1:4c P1:?")
    faces = {card.slot: card.face for card in dealer.table.latest[-1].cards}
    assert faces == {P1: Card.parse("3d"), B1: Card.parse("4c")}


def test_keyed_card_that_comes_after_all_is_one_more_out() -> None:
    """A card that nobody saw leave is not counted; the one that sight finds in its place is."""
    dealer = Dealer().start()
    dealer.hand("2h 4c Kd Kc")
    dealer.tell(CorrectCard(dealer.tick(), *INSPECTOR, 1, P3, Card.parse("9h")))
    assert dealer.table.shoe.out == 4
    dealer.lay(P3)
    assert dealer.table.shoe.out == 5


def test_order_about_a_coup_survives_what_sight_says_later() -> None:
    """A void coup stays void, a moved card moved, a burned one burned; taken back, they are not."""
    dealer = table()
    dealer.see(f"{STANDS} P3:2s")
    dealer.tell(BurnCard(dealer.tick(), *INSPECTOR, 1))
    dealer.see(f"{STANDS} P3:2s", life=REMOVED)
    assert dealer.result.punto.cards == cards("4h 3d")
    dealer.tell(VoidCoup(dealer.tick(), *INSPECTOR, 1))
    dealer.see(f"{STANDS} P3:2c", life=REMOVED)
    assert dealer.result.state is ResultState.VOID
    dealer.tell(UndoLast(dealer.tick(), *INSPECTOR))
    dealer.tell(UndoLast(dealer.tick(), *INSPECTOR))
    assert dealer.open == ["OVER_P3_STAND", "READ_CONFLICT"]


def test_moved_card_stays_moved() -> None:
    """Where a card was ordered to be counts, also when it is told in another order."""
    dealer = table()
    dealer.see("P1:4h P2:4c P3:3d B2:3c")
    dealer.tell(MoveCard(dealer.tick(), *INSPECTOR, 1, P2, B1))
    dealer.see("P1:4h P2:4c P3:3d B2:3c", life=REMOVED)
    assert dealer.result.banco.cards == cards("4c 3c")


def test_carried_card_is_of_the_next_coup() -> None:
    """Sight tells of it with the old coup and then with the new: it counts once, in the new."""
    dealer = table()
    dealer.see(f"{STANDS} P3:-")
    dealer.tell(CarryCard(dealer.tick(), *INSPECTOR, 1))
    dealer.see(f"{STANDS} P3:9c")
    assert dealer.table.shoe.out == 5
    dealer.see(f"{STANDS} P3:9c", life=REMOVED)
    dealer.first = 6
    dealer.see("B1:3s P2:Kd B2:4h", coup=2, life=REMOVED)
    assert dealer.result.coup == 2
    assert dealer.result.punto.cards == cards("9c Kd")
    dealer.first = 9
    dealer.see("P1:2c", coup=3)
    assert dealer.table.coup is not None
    assert (dealer.table.coup.number, dealer.table.shoe.out) == (3, 9)


def test_confirmed_coup_stays_confirmed() -> None:
    """A doubtful face that was confirmed is not asked about again."""
    dealer = table()
    seen = dealer.see(STANDS)
    card = replace(seen.cards[0], confidence=0.9, second=Card.parse("9h"))
    dealer.tell(replace(seen, at=dealer.tick(), cards=(card, *seen.cards[1:])))
    assert dealer.open == ["MISREAD_RISK"]
    dealer.tell(Confirm(dealer.tick(), *INSPECTOR, 1))
    dealer.tell(replace(seen, at=dealer.tick(), cards=(card, *seen.cards[1:]), odds=2.0))
    assert dealer.open == []


def test_card_is_reported_as_placed_wherever_it_is_laid() -> None:
    """In another hand too, and where it was when it comes back to the table."""
    dealer = table()
    for text, life in (("P1:9c", LYING), ("B1:9c", LYING), ("B1:9c", REMOVED), ("B1:9c", LYING)):
        dealer.see(text, life=life)
    assert dealer.published[2:] == ["1 read", "1 placed", "1 removed", "1 placed"]


def test_card_in_no_slot_is_another_one_by_its_number() -> None:
    """Faces that lie aside one after the other, under two numbers, contradict nothing."""
    dealer = table()
    seen = dealer.see("P1:4h B1:4c -:9c")
    cards = (*seen.cards[:2], seen_card(4, "-:3s"))
    dealer.tell(replace(seen, at=dealer.tick(), cards=cards))
    assert "READ_CONFLICT" not in dealer.raised


@pytest.mark.parametrize(("below", "raised"), [(0.0, True), (1e-9, False)], ids=["at", "below"])
def test_readings_contradict_one_another_from_the_gate_on(below: float, *, raised: bool) -> None:
    """One that is less sure contradicts nothing."""
    dealer = table()
    gate = dealer.rules.confidence_gate
    seen = dealer.see("P1:9c")
    for face, confidence in (("9c", gate), ("3s", gate - below)):
        card = replace(seen.cards[0], card=Card.parse(face), confidence=confidence)
        dealer.tell(replace(seen, at=dealer.tick(), cards=(card,)))
    assert ("READ_CONFLICT" in dealer.raised) is raised


def test_card_burned_by_order_keeps_no_coup_open() -> None:
    """It may lie there for long: the hands are cleared without it."""
    dealer = table()
    seen = dealer.see(f"{STANDS} P3:2c")
    dealer.tell(BurnCard(dealer.tick(), *INSPECTOR, 1))
    hands = tuple(replace(card, life=REMOVED) for card in seen.cards[:4])
    dealer.tell(replace(seen, at=dealer.tick(), cards=(*hands, seen.cards[4])))
    assert dealer.table.latest[-1].cleared_at == dealer.now


def test_ended_shoe_goes_on_only_with_a_card_more() -> None:
    """A card fewer ends none; other numbers of as many cards leave one ended."""
    dealer = table()
    dealer.see(f"{STANDS} P3:2c")
    dealer.see(STANDS)
    assert not dealer.table.shoe.ended, "one card was none"
    dealer.tell(ShoeEnded(dealer.tick(), 412))
    cards = [seen_card(order, "P1:4h") for order in (1, 2, 3, 4, 5)]
    dealer.tell(CoupSeen(dealer.tick(), 1, (*cards[:3], cards[4])))
    assert (dealer.table.shoe.ended, dealer.table.shoe.last) == (True, 5)
    dealer.tell(CoupSeen(dealer.tick(), 1, tuple(cards)))
    assert not dealer.table.shoe.ended


# --- the burn -------------------------------------------------------------------------------------


FIRST = replace(seen_card(1, "-:9c"), life=Life.REMOVED)
SECOND = seen_card(2, "-:-")


@pytest.mark.parametrize(
    ("reported", "burned"),
    [
        pytest.param([(1, FIRST, replace(SECOND, life=RETURNED))], 1, id="one went back"),
        pytest.param([(1, FIRST), (2, SECOND), (2,)], 1, id="the end was none"),
        pytest.param(
            [(1, FIRST), (2, SECOND), (1, FIRST, SECOND), (2, seen_card(3, "-:-"))],
            3,
            id="one more in the first of two coups",
        ),
    ],
)
def test_burn_may_be_stated_otherwise(reported: list[tuple[Any, ...]], burned: int) -> None:
    """Sight may count it as two coups, and change its mind: what is out is what it says now."""
    dealer = table(Rules(burn=BurnRule(BurnKind.VALUE)))
    for coup, *seen in reported:
        dealer.tell(CoupSeen(dealer.tick(), coup, tuple(seen)))
    shoe = dealer.all(ShoeChanged)[-1]
    assert (shoe.out, shoe.missed, shoe.burned) == (burned, 0, burned)


def burn_table(due: int = 3) -> Table:
    """Return a table where so many cards are to be burned, and the camera sees them."""
    dealer = table(Rules(burn=BurnRule(BurnKind.FIXED, due)))
    dealer.tell(ShoeStarted(dealer.tick(), "s", watch_burn=True))
    return dealer


@pytest.mark.parametrize("burned", [0, 2, 3, 4])
@pytest.mark.parametrize("own", [True, False], ids=["own-number", "same-number"])
def test_cards_that_lie_in_no_slot_are_the_burn(burned: int, own: bool) -> None:
    """They are counted against the rule; the coup after them is the first."""
    dealer = burn_table()
    aside = [replace(seen_card(n, "-:-"), life=LYING) for n in range(1, burned + 1)]
    for number in range(1, burned + 1):
        dealer.tell(CoupSeen(dealer.tick(), 1, tuple(aside[:number])))
    coup = 2 if own and burned else 1
    before = () if coup == 2 else tuple(replace(card, life=REMOVED) for card in aside)
    first = burned + 1
    for text in ("-:-", "P1:4h", STANDS):
        after = tuple(seen_card(n, word) for n, word in enumerate(text.split(), first))
        dealer.tell(CoupSeen(dealer.tick(), coup, (*before, *after)))
    wrong = {0: ["BURN_MISSED"], 3: []}
    assert dealer.raised == wrong.get(burned, ["BURN_WRONG"])
    assert dealer.states() == [(1, ResultState.FINAL)]
    shoe = dealer.table.shoe
    assert (len(shoe.burned), shoe.last, shoe.out) == (burned, burned + 4, burned + 4)


def test_burn_that_seemed_missed_is_not_once_its_card_proves_to_be_burned() -> None:
    """A card that seemed to lie in a slot was on its way aside."""
    dealer = burn_table(1)
    dealer.see("P1:4h")
    assert dealer.open == ["BURN_MISSED"]
    dealer.see("")
    dealer.see("-:4h", life=REMOVED)
    dealer.first = 2
    dealer.see(STANDS, coup=2)
    assert dealer.open == []
    assert len(dealer.table.shoe.burned) == 1


def test_coup_behind_what_was_no_burn_is_the_second() -> None:
    """Its first cards were out, and so burned, before the burn proved to be the first coup."""
    dealer = burn_table(11)
    burn = replace(seen_card(1, "-:2d"), life=LYING)
    dealer.tell(CoupSeen(dealer.tick(), 1, (burn,), sure=False))
    dealer.tell(CoupSeen(dealer.tick(), 2, (seen_card(5, "-:-"),), sure=False))
    laid = tuple(seen_card(n, word) for n, word in enumerate(STANDS.split(), 1))
    dealer.tell(CoupSeen(dealer.tick(), 1, laid, sure=False, doubt="They were taken for a burn."))
    dealer.first = 5
    dealer.see(STANDS, coup=2)
    assert dealer.table.shoe.burned == ()
    assert dealer.states() == [(1, ResultState.HELD), (2, ResultState.FINAL)]
    assert dealer.raised == ["REVIEW"]


def test_burn_counted_again_after_it_was_over() -> None:
    """One burn card that was none makes the burn right."""
    dealer = burn_table()
    aside = [replace(seen_card(n, "-:-"), life=LYING) for n in range(1, 5)]
    dealer.tell(CoupSeen(dealer.tick(), 1, tuple(aside)))
    dealer.first = 5
    dealer.see(STANDS, coup=2)
    assert dealer.open == ["BURN_WRONG"]
    dealer.tell(CoupSeen(dealer.tick(), 1, tuple(aside[:3])))
    assert [coup.sight for coup in dealer.table.latest] == [2]
    dealer.first = 4
    dealer.see(STANDS, coup=2)
    assert dealer.open == []
    assert (dealer.table.shoe.last, dealer.table.shoe.out) == (7, 7)


def test_card_that_was_none_is_withdrawn_unless_it_was_burned() -> None:
    """What is published of a card is of that number, whatever was burned."""
    dealer = burn_table()
    aside = [replace(seen_card(n, "-:-"), life=LYING) for n in range(1, 4)]
    dealer.tell(CoupSeen(dealer.tick(), 1, tuple(aside[:2])))
    dealer.first = 3
    dealer.see("-:-", coup=2)
    dealer.tell(CoupSeen(dealer.tick(), 1, tuple(aside)))
    dealer.tell(CoupSeen(dealer.tick(), 2, ()))
    assert "3 withdrawn" not in dealer.published
    dealer.first = 4
    dealer.see(f"{STANDS} P3:-", coup=3)
    dealer.see(STANDS, coup=3)
    assert dealer.published[-1] == "8 withdrawn"


def test_wrong_burn_waits_for_the_result_of_the_first_coup() -> None:
    """A card of the burn that sight takes for one of the coup spoils both."""
    dealer = burn_table()
    aside = [replace(seen_card(n, "-:-"), life=LYING) for n in range(1, 5)]
    dealer.tell(CoupSeen(dealer.tick(), 1, tuple(aside)))
    dealer.first = 5
    dealer.see("P1:4h B1:9c P2:? B2:9d", 2)
    dealer.see("P1:4h B1:9c P2:? B2:9d", 2, REMOVED)
    assert "BURN_WRONG" not in dealer.raised


def test_burn_card_that_went_back_is_counted_once() -> None:
    """However often the burn is seen anew."""
    dealer = burn_table()
    cards = [seen_card(1, "-:-", RETURNED)]
    for order in (2, 3, 4):
        cards.append(replace(seen_card(order, "-:-"), life=LYING))
        dealer.tell(CoupSeen(dealer.tick(), 1, tuple(cards)))
    assert (dealer.table.shoe.back, dealer.table.shoe.out) == (1, 3)


def test_number_of_burned_cards_that_is_not_sure_accuses_nobody() -> None:
    """Cards in a fan hide one another; once sight is sure of the number the alert comes."""
    dealer = burn_table()
    aside = tuple(replace(seen_card(n, "-:-"), life=LYING) for n in range(1, 5))
    dealer.tell(CoupSeen(dealer.tick(), 1, aside, sure=False, doubt="It may be 3 or 4."))
    dealer.first = 5
    dealer.see(STANDS, coup=2)
    assert dealer.raised == []
    assert dealer.states() == [(1, ResultState.FINAL)]
    dealer.tell(CoupSeen(dealer.tick(), 1, aside))
    assert dealer.open == ["BURN_WRONG"]
    dealer.tell(CoupSeen(dealer.tick(), 1, aside, sure=False))
    assert dealer.open == []


def test_coup_that_lay_in_its_slots_is_no_burn() -> None:
    """A first coup whose cards are pushed together lay in slots, and so is none laid aside."""
    dealer = table(Rules(burn=BurnRule()))
    dealer.see(STANDS)
    dealer.see("-:4h -:4c -:3d -:3c")
    assert dealer.table.shoe.burned == ()
    assert len(dealer.table.latest[-1].cards) == 4


def test_later_coup_laid_aside_is_no_burn() -> None:
    """Only the first cards of a shoe may be a burn that nobody announced."""
    dealer = table(Rules(burn=BurnRule()))
    dealer.see(STANDS)
    aside = [replace(seen_card(order, "-:2d"), life=LYING) for order in (5, 6)]
    dealer.tell(CoupSeen(dealer.tick(), 2, (aside[0],)))
    dealer.tell(CoupSeen(dealer.tick(), 2, tuple(aside)))
    assert dealer.table.shoe.burned == ()
    assert dealer.table.coup is not None
    assert dealer.table.coup.number == 2


def test_burn_that_nobody_announced_is_no_coup() -> None:
    """First cards laid aside, the first one open, are the burn as soon as that is seen."""
    dealer = table(Rules(burn=BurnRule()))
    opened = replace(seen_card(1, "-:2d"), life=LYING)
    dealer.tell(CoupSeen(dealer.tick(), 1, (opened,)))
    aside = [replace(seen_card(n, "-:-"), life=LYING) for n in (2, 3)]
    dealer.tell(CoupSeen(dealer.tick(), 1, (opened, *aside)))
    assert dealer.table.coup is None
    dealer.first = 4
    dealer.see(STANDS, coup=2)
    assert dealer.states() == [(1, ResultState.FINAL)]
    assert dealer.raised == []


# --- what is kept of each card and of the coup ----------------------------------------------------


def cards_of(dealer: Table, coup: int = 1) -> tuple[DealtCard, ...]:
    """Return the cards of a coup."""
    found = dealer.table.coup_at(coup)
    assert found is not None
    return found.cards


def test_card_lies_since_it_first_lay_and_is_gone_since_it_was_first_gone() -> None:
    """Until it is told of otherwise; in the hand it lies nowhere."""
    dealer = table()
    times = []
    for text, life in (
        ("-:-", LYING), ("P1:-", LYING), ("B1:9c", LYING), ("B1:9c", REMOVED), ("B1:9c", REMOVED),
        ("B1:9c", LYING), ("-:-", OUT),
    ):  # fmt: skip
        dealer.see(text, life=life)
        (card,) = cards_of(dealer)
        times.append((card.placed_at, card.removed_at))
    start = dealer.now - 6 * dealer.pause
    at = [start + n * dealer.pause for n in range(7)]
    lay = (at[1], None)
    assert times == [(None, None), lay, lay, (at[1], at[3]), (at[1], at[3]), lay, (None, None)]


def test_card_beside_the_slots_lies_and_one_that_is_gone_from_there_lay_in_none() -> None:
    """What is seen of it is kept as it is."""
    dealer = table(Rules(burn=BurnRule(BurnKind.NONE)))
    card = SeenCard(
        1,
        5,
        LYING,
        None,
        face_up=True,
        card=Card.parse("9c"),
        confidence=0.7,
        second=Card.parse("6c"),
    )
    dealer.tell(CoupSeen(dealer.tick(), 1, (card,)))
    (kept,) = cards_of(dealer)
    assert (kept.order, kept.out_at, kept.placed_at, kept.slot) == (1, 5, dealer.now, None)
    assert (kept.card, kept.face, kept.confidence, kept.second, kept.face_up) == (
        card.card, card.card, 0.7, card.second, True,
    )  # fmt: skip
    dealer.tell(CoupSeen(dealer.tick(), 1, (replace(card, order=2, life=REMOVED),)))
    assert [card.placed_at for card in cards_of(dealer)] == [None]


def test_coup_changes_with_its_cards_and_begins_with_the_first_of_them() -> None:
    """Its words about it change nothing of its cards; cards that went back are counted."""
    dealer = table()
    dealer.see("P1:9c")
    coup = dealer.table.coup
    assert coup is not None
    changed = dealer.now
    assert (coup.changed_at, coup.first, coup.started_at) == (changed, 1, 995_100)
    dealer.see("P1:9c", sure=False, odds=3.0)
    coup = dealer.table.coup
    assert coup is not None
    assert (coup.changed_at, coup.sure, coup.odds, coup.doubt) == (changed, False, 3.0, "")
    back = replace(seen_card(2, "-:-"), life=RETURNED)
    late = replace(seen_card(4, "P1:9c"), out_at=7)
    dealer.tell(CoupSeen(dealer.tick(), 1, (back, late), doubt="a"))
    coup = dealer.table.coup
    assert coup is not None
    assert (coup.changed_at, coup.first, coup.started_at) == (dealer.now, 2, 7)
    assert (coup.back, coup.sure, coup.doubt, coup.doubted_at) == ((2,), True, "a", 0)


def test_coup_is_cleared_once_the_last_of_its_cards_is_gone() -> None:
    """Then, and not when it is told again; a card that is out keeps none open."""
    dealer = table()
    dealer.see("P1:4h B1:4c")
    one = tuple(seen_card(n, word) for n, word in ((1, "P1:4h"), (2, "B1:4c")))
    gone = tuple(replace(card, life=REMOVED) for card in one)
    cleared = []
    for seen in ((gone[0], one[1]), gone, (*gone, seen_card(3, "-:-")), gone, one):
        dealer.tell(CoupSeen(dealer.tick(), 1, seen))
        assert dealer.table.coup is not None
        at = dealer.table.coup.cleared_at
        cleared.append(None if at is None else dealer.now - at)
    assert cleared == [None, 0, dealer.pause, 2 * dealer.pause, None]


def test_time_limits_pass_as_a_card_leaves_and_as_the_hands_are_cleared() -> None:
    """A card that nobody saw leave, before others, passes none."""
    dealer = table()
    dealer.see("P1:4h B1:-", alleged=(Allegation("EXPOSED_EARLY", 1, 60.0),))
    dealer.tell(Noticed(dealer.tick(), "LIGHT"))
    exposed = (Allegation("EXPOSED_EARLY", 1, 60.0), Allegation("TWO_CARDS_OUT", None, 60.0))
    dealer.see("P1:4h B1:-", alleged=exposed)
    early = replace(seen_card(2, "P2:-"), out_at=1)
    laid = (seen_card(1, "P1:4h"), early, seen_card(3, "B1:-"))
    laid = (laid[0], laid[1], replace(laid[2], out_at=995_200))
    dealer.tell(CoupSeen(dealer.tick(), 1, laid, exposed))
    raised, lapsed = AlertState.RAISED, AlertState.LAPSED

    def states() -> list[AlertState]:
        return [dealer.alerts[code].state for code in ("EXPOSED_EARLY", "TWO_CARDS_OUT", "LIGHT")]

    assert states() == [raised, raised, raised]
    more = (*laid, seen_card(4, "-:-"))
    dealer.tell(CoupSeen(dealer.tick(), 1, more, exposed))
    assert states() == [raised, lapsed, lapsed]
    gone = tuple(replace(card, life=REMOVED, slot=card.slot or B2) for card in more)
    dealer.tell(CoupSeen(dealer.tick(), 1, gone, exposed))
    assert states() == [lapsed, lapsed, lapsed]


def test_first_card_of_the_next_coup_passes_the_time_limits_of_the_shoe() -> None:
    """As any next card does."""
    dealer = table()
    dealer.see(STANDS, life=REMOVED)
    dealer.tell(Noticed(dealer.tick(), "LIGHT"))
    dealer.first = 5
    dealer.see("-:-", coup=2)
    assert dealer.alerts["LIGHT"].state is AlertState.LAPSED
    assert dealer.table.shoe.sight == 2


@pytest.mark.parametrize(
    ("face", "switched", "confirmed", "open_"),
    [
        ("9c", None, True, []),
        ("5h", None, False, ["READ_CONFLICT"]),
        ("9c", "Kh", False, ["SWITCH"]),
    ],
)
def test_confirmation_holds_for_what_was_confirmed(
    face: str, switched: str | None, open_: list[str], *, confirmed: bool
) -> None:
    """Another face, or another card in its place, is asked about again; said twice it is one."""
    dealer = table()
    seen = dealer.see("P1:9c")
    dealer.tell(Confirm(dealer.tick(), *INSPECTOR, 1))
    other = None if switched is None else Card.parse(switched)
    alleged = (Allegation("SWITCH", 1, 60.0),) if switched else ()
    card = replace(seen.cards[0], card=Card.parse(face), switched=other)
    dealer.tell(replace(seen, at=dealer.tick(), cards=(card,), alleged=alleged))
    assert [each.marks.confirmed for each in cards_of(dealer)] == [confirmed]
    assert dealer.open == open_
    dealer.tell(Confirm(dealer.tick(), *INSPECTOR, 1))
    card = replace(card, confidence=0.999)
    dealer.tell(replace(seen, at=dealer.tick(), cards=(card,), alleged=alleged))
    assert [each.marks.confirmed for each in cards_of(dealer)] == [True]


def test_contradiction_lasts_while_the_card_is_read_and_ends_as_both_faces_are_true() -> None:
    """A card that is not read now contradicts nothing."""
    dealer = table()
    seen = dealer.see("P1:9c")
    marks = []
    for face, switched in (("5h", None), ("5h", "9c"), ("5h", None), (None, None), ("9c", None)):
        card = replace(
            seen.cards[0],
            card=None if face is None else Card.parse(face),
            switched=None if switched is None else Card.parse(switched),
        )
        dealer.tell(replace(seen, at=dealer.tick(), cards=(card,)))
        (kept,) = cards_of(dealer)
        marks.append(None if kept.marks.clash is None else str(kept.marks.clash))
    assert marks == ["9c", None, None, None, None]


def test_declined_card_is_told_of_once_as_read() -> None:
    """It lies open; what is known of it is that nobody can read it."""
    dealer = table()
    for text in ("P1:-", "P1:?", "P1:?", "P1:9c", "P1:-"):
        dealer.see(text)
    assert dealer.published == ["1 found", "1 placed", "1 read", "1 read", "1 read"]


def test_sight_begins_coups_one_by_one() -> None:
    """The next of the shoe, or one that it began before; with no cards none begins."""
    dealer = table()
    dealer.see(STANDS, coup=2)
    dealer.see(STANDS, coup=1)
    dealer.tell(CoupSeen(dealer.tick(), 2, ()))
    dealer.see("P1:9c", coup=3)
    ignored = [one.why.split(" of ")[0] for one in dealer.all(Ignored)]
    assert ignored == ["coup 2", "coup 3"]
    dealer.first = 5
    dealer.see("P1:9c", coup=2)
    assert [coup.sight for coup in dealer.table.coups] == [1, 2]


def test_order_that_carried_a_card_began_the_coup_that_sight_begins_then() -> None:
    """It is the same coup; its face is that which shows in the coup before."""
    dealer = table()
    dealer.see(f"{STANDS} P3:-")
    dealer.tell(CarryCard(dealer.tick(), *INSPECTOR, 1))
    dealer.see(f"{STANDS} P3:9c")
    (carried,) = cards_of(dealer, 2)
    assert (carried.face, carried.confidence) == (Card.parse("9c"), 1.0)
    dealer.first = 6
    dealer.see("B1:3s", coup=2)
    assert len(dealer.table.coups) == 2
    assert [card.order for card in cards_of(dealer, 2)] == [5, 6]
    coup = dealer.table.coup
    assert coup is not None
    assert (coup.number, coup.sight, dealer.table.shoe.sight) == (2, 2, 2)


def test_keyed_card_that_sight_does_not_tell_of_stays_in_its_turn() -> None:
    """Before what lies in a later slot; what was only moved is told of, or is none."""
    dealer = table()
    dealer.see("P1:4h B1:4c P2:? B2:3c")
    dealer.tell(CorrectCard(dealer.tick(), *INSPECTOR, 1, P2, Card.parse("3d")))
    dealer.see("P1:4h B1:4c B2:3c")
    kept = cards_of(dealer)
    assert [(card.order, card.slot) for card in kept] == [(1, P1), (2, B1), (-3, P2), (3, B2)]
    assert kept[2].marks.keyed == Card.parse("3d")
    assert dealer.table.shoe.out == 3
    dealer.tell(MoveCard(dealer.tick(), *INSPECTOR, 1, B1, P1))
    dealer.see("P1:4h B2:3c")
    assert B1 not in {card.slot for card in cards_of(dealer)}


# --- which of the first cards are burned ----------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "life", "burned"),
    [
        (["-:2d"], LYING, 0),  # one card that lies open aside may be the first of a coup
        (["-:2d"], REMOVED, 1),
        (["-:2d -:-"], REMOVED, 2),
        (["-:-"], REMOVED, 0),  # nobody saw that it was burned: it was not open
        (["P1:2d"], REMOVED, 0),
        (["P1:2d", "-:2d"], REMOVED, 0),  # a coup has begun
    ],
)
def test_unannounced_burn_is_known_by_its_first_card(
    texts: list[str], life: Life, burned: int
) -> None:
    """Open, and laid aside with others or gone, before anything lay in a slot."""
    dealer = table(Rules(burn=BurnRule()))
    for text in texts:
        cards = tuple(
            replace(seen_card(n, word), life=life) for n, word in enumerate(text.split(), 1)
        )
        dealer.tell(CoupSeen(dealer.tick(), 1, cards))
    assert len(dealer.table.shoe.burned) == burned
    assert (dealer.table.coup is None) is (burned > 0)


def test_burn_ends_with_the_card_that_is_out_after_as_many_as_are_due() -> None:
    """Until then a card that is out is burned; behind it it is the first coup's."""
    dealer = burn_table(2)
    burned = []
    for orders in range(1, 4):
        seen = [replace(seen_card(n, "-:-"), life=LYING) for n in range(1, orders)]
        dealer.tell(CoupSeen(dealer.tick(), 1, (*seen, seen_card(orders, "-:-"))))
        burned.append(len(dealer.table.shoe.burned))
    assert burned == [1, 2, 3]
    dealer.tell(CoupSeen(dealer.tick(), 1, tuple(seen)))
    assert len(dealer.table.shoe.burned) == 2
    dealer.tell(CoupSeen(dealer.tick(), 2, (seen_card(3, "-:-"),)))
    assert (len(dealer.table.shoe.burned), dealer.table.coup is None) == (2, False)
    shoe = dealer.table.shoe
    assert (shoe.burning, shoe.sight, shoe.burn_due, shoe.out) == (False, 2, 2, 3)


# --- anything at all ------------------------------------------------------------------------------

snapshots = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.lists(
            st.tuples(
                st.sampled_from(Life),
                st.sampled_from([None, *Slot]),
                st.sampled_from([None, *DECK[:8]]),
            ),
            max_size=6,
        ),
        st.booleans(),
        st.sampled_from(["", "a"]),
    ),
    max_size=12,
)


@given(snapshots)
@settings(max_examples=40, deadline=None)
def test_last_word_counts(reported: list[tuple[int, list[Any], bool, str]]) -> None:
    """Whatever was believed before, a coup told clean at last is right, and the counts are."""
    dealer = table(Rules(burn=BurnRule(BurnKind.NONE)))
    dealer.see("P1:2c")
    number, first = 1, 1
    for step, drawn, sure, doubt in reported:
        number += step
        seen = tuple(
            SeenCard(
                first + index,
                dealer.now + index,
                life,
                slot,
                face_up=card is not None,
                card=card,
                confidence=0.5,
            )
            for index, (life, slot, card) in enumerate(drawn)
        )
        known = dealer.table.coup_of_sight(number)
        event = CoupSeen(dealer.tick(), number, seen, sure=sure, doubt=doubt)
        dealer.tell(event)
        if known is None and not seen:
            number -= step
        else:
            assert dealer.tell(replace(event, at=dealer.tick())) == ()
    dealer.see(STANDS, coup=number)
    assert dealer.table.coup is not None
    assert dealer.result_of(dealer.table.coup.number).punto.cards == cards("4h 3d")
    alerts = [tracked.alert for tracked in dealer.table.coup.alerts]
    still = {alert.code for alert in alerts if alert.state is AlertState.RAISED}
    assert not still & {"REVIEW", "WRONG_HAND", "OVER_P3_STAND", "UNREAD"}


# --- the cards that are out of the shoe ----------------------------------------------------------


@st.composite
def beliefs(draw: st.DrawFn) -> list[tuple[CoupSeen, ...]]:
    """Return what sight tells picture by picture: it changes its mind of the last two coups."""
    life, slot = st.sampled_from([*Life, LYING, LYING]), st.sampled_from([*Slot, None])
    pictures: list[tuple[CoupSeen, ...]] = []
    counts, decided, now = [0, 0, 0], 0, 1_000_000
    for _ in range(draw(st.integers(3, 12))):
        begun = sum(map(bool, counts))
        changed = draw(st.integers(decided, min(begun, 2)))
        counts[changed] = draw(st.integers(1 if changed in {0, decided} else 0, 6))
        decided, now = decided or int(counts[2] > 0), now + 400
        reported = list(pictures[-1][:decided] if pictures else ())
        order = 1 + sum(counts[:decided])
        for coup, number in enumerate(counts[decided:], 1 + decided):
            words = (f"-:{draw(st.sampled_from(['-', '9c', '?']))}" for _ in range(number))
            cards = [seen_card(n, word, draw(life)) for n, word in enumerate(words, order)]
            placed = [c if c.life is OUT else replace(c, slot=draw(slot)) for c in cards]
            reported.append(CoupSeen(now, coup, tuple(placed)))
            order += number
        pictures.append(tuple(reported))
    return pictures


@pytest.mark.parametrize("burn", [BurnKind.NONE, BurnKind.VALUE])
@given(pictures=beliefs())
@settings(max_examples=150, deadline=None)
def test_cards_out_of_the_shoe_are_those_of_its_coups(
    burn: BurnKind, pictures: list[tuple[CoupSeen, ...]]
) -> None:
    """However sight changes its mind: as many are out as it says now, and none was missed."""
    dealer = table(Rules(burn=BurnRule(burn)))
    for reported in pictures:
        for event in reported:
            dealer.tell(event)
        out = sum(card.life is not RETURNED for event in reported for card in event.cards)
        assert (dealer.table.shoe.out, dealer.table.shoe.missed) == (out, 0)
        shoes = dealer.all(ShoeChanged)
        assert not shoes or shoes[-1].missed == 0
    assert all(shoe.missed >= 0 for shoe in dealer.all(ShoeChanged))
