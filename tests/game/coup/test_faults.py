"""Every fault: told at the right moment, not told for the legal reading, its time limit passing."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product

import pytest

from tests.game.dealer import B1, B2, B3, INSPECTOR, P1, P2, P3, Dealer
from vision.game.cards import Card
from vision.game.commands import (
    AckAlert,
    CallInspector,
    CarryCard,
    CloseAlert,
    CorrectCard,
    HoldResult,
    NewShoe,
    ResultStands,
    VoidCoup,
)
from vision.game.coup.fault_table import KINDS
from vision.game.events import (
    BetsClosed,
    Category,
    CutCardOut,
    Noticed,
    ResultEntered,
    ShoeEnded,
    ShoeStarted,
    Slot,
    TimePassed,
    ViewLost,
    Winner,
)
from vision.game.outputs import AlertChanged, AlertState, ResultState, Severity
from vision.game.rules import BurnKind, BurnRule, Rules

Scene = Callable[[Dealer], object]
NATURAL, STANDS, DRAWS = "9h 3c Kd Kc", "4h 4c 3d 3c", "2h 4c Kd Kc"


def next_card(dealer: Dealer) -> None:
    """Let one more card leave the shoe."""
    dealer.out()


def settle(dealer: Dealer) -> None:
    """Take the cards off the table."""
    dealer.clear()


def next_coup(dealer: Dealer) -> None:
    """Take the cards off the table and begin the next coup."""
    dealer.clear()
    dealer.tick(5_000)
    dealer.deal(P1, "2s")


def new_shoe(dealer: Dealer) -> None:
    """Put a new shoe in use."""
    dealer.tell(NewShoe(dealer.tick(), *INSPECTOR, "another"))


def held(dealer: Dealer) -> None:
    """Hold the result of the first coup."""
    dealer.tell(HoldResult(dealer.tick(), *INSPECTOR, 1))


def let_stand(dealer: Dealer) -> None:
    """Let the result of the first coup stand."""
    dealer.tell(ResultStands(dealer.tick(), *INSPECTOR, 1))


def voided(dealer: Dealer) -> None:
    """Void the first coup."""
    dealer.tell(VoidCoup(dealer.tick(), *INSPECTOR, 1))


def wait(dealer: Dealer, ms: int = 30_000) -> None:
    """Let time pass, telling the table at each moment it waits for."""
    end = dealer.now + ms
    while (at := dealer.table.waits_until) is not None and at <= end:
        dealer.now = at
        dealer.tell(TimePassed(at))
    dealer.now = end


@dataclass(frozen=True)
class Case:
    """A fault, the scene that brings it about, one that differs in being legal, and its end.

    `lasts`: no time limit ends it, and the result stays held.
    """

    code: str
    scene: Scene
    legal: Scene
    severity: Severity
    late: Scene | None = None
    rules: Rules = field(default_factory=Rules)
    lasts: bool = False


def hands(text: str, *more: tuple[Slot, str | None]) -> Scene:
    """Deal these cards."""
    return lambda dealer: dealer.hand(text, *more)


def then(*scenes: Scene) -> Scene:
    """Play one scene after another."""

    def play(dealer: Dealer) -> None:
        for scene in scenes:
            scene(dealer)

    return play


def notice(code: str) -> Scene:
    """Notice something."""
    return lambda dealer: dealer.tell(Noticed(dealer.tick(), code, detail="seen"))


def allege(code: str, order: int | None = None) -> Scene:
    """Have sight allege something."""
    return lambda dealer: dealer.allege(code, order)


def entered(winner: Winner, **marks: bool) -> Scene:
    """Key in a result."""
    return lambda dealer: dealer.tell(ResultEntered(dealer.tick(), winner, **marks))


def orders(*slots: Slot) -> Scene:
    """Deal low cards to these slots."""
    return lambda dealer: [dealer.deal(slot, "2c") for slot in slots]


def carried(dealer: Dealer) -> None:
    """Deal a card too many and carry it over."""
    dealer.hand(STANDS)
    dealer.out()
    dealer.tell(CarryCard(dealer.tick(), *INSPECTOR, 1))


def started(dealer: Dealer, burn: bool = True) -> None:
    """Put in use a shoe whose burn is watched."""
    dealer.tell(ShoeStarted(dealer.tick(), "watched", watch_burn=burn))


def burn(count: int) -> Scene:
    """Burn a five, and so many cards after it."""

    def play(dealer: Dealer) -> None:
        started(dealer)
        first = dealer.lay(None)
        dealer.read(first, "5d")
        for _ in range(count):
            dealer.lay(None)
        dealer.clear()
        dealer.hand(STANDS)

    return play


def dealt_out(count: int, cut: bool = True) -> Scene:
    """Let that many cards leave the shoe before the next coup, of which the reader saw the last."""

    def play(dealer: Dealer) -> None:
        if cut:
            dealer.tell(CutCardOut(dealer.tick()))
        dealer.order = count - 1
        dealer.deal(P1, "3d")

    return play


def run_of(text: str) -> Scene:
    """Deal these cards, coup after coup, without regard to the tableau."""

    def play(dealer: Dealer) -> None:
        words = text.split()
        for first in range(0, len(words), 4):
            dealer.hand(" ".join(words[first : first + 4]))
            dealer.clear()

    return play


def reads(*faces: tuple[str, float]) -> Scene:
    """Deal a card and read it so, one reading after the other, and then the rest of a coup."""

    def play(dealer: Dealer) -> None:
        order = dealer.lay(P1)
        for face, confidence in faces:
            dealer.read(order, face, confidence)
        for slot, face in ((B1, "7c"), (P2, "Kd"), (B2, "Kc")):
            dealer.deal(slot, face)

    return play


def doubtful(second: str) -> Scene:
    """Read a nine with little confidence, and this as second best."""

    def play(dealer: Dealer) -> None:
        order = dealer.lay(P1)
        dealer.read(order, "6h", 0.8, second)
        for slot, card in ((B1, "7c"), (P2, "Kd"), (B2, "Kc")):
            dealer.deal(slot, card)

    return play


def switched(face: str) -> Scene:
    """Read a card again once the result has been told."""

    def play(dealer: Dealer) -> None:
        dealer.hand(STANDS)
        dealer.see(dealer.sight.switch(dealer.tick(), 1, Card.parse(face)))

    return play


def unread(dealer: Dealer) -> None:
    """Deal a coup of which one open card cannot be read."""
    dealer.deal(P1, "4h")
    order = dealer.lay(B1)
    dealer.read(order, None)
    dealer.deal(P2, "3d")
    dealer.deal(B2, "3c")


def removed(*places: int) -> Scene:
    """Deal four cards of which Punto's make 2, and take some away; then wait."""

    def play(dealer: Dealer) -> None:
        dealer.hand(DRAWS)
        for place in places:
            dealer.take(place)
            dealer.lying.remove(place)
        dealer.tick(3_000)
        dealer.tell(TimePassed(dealer.now))

    return play


def over_hands(dealer: Dealer) -> None:
    """Let a card leave before the hands are cleared, which then is the first of the next coup."""
    dealer.hand(STANDS)
    order = dealer.out()
    dealer.clear()
    dealer.lay(P1, order)
    dealer.allege("EARLY_DEAL", order)


def bets(dealer: Dealer, *, closed: bool) -> None:
    """Deal the second coup at a table that says when bets are closed."""
    dealer.tell(BetsClosed(dealer.tick()))
    dealer.hand(STANDS)
    dealer.clear()
    if closed:
        dealer.tell(BetsClosed(dealer.tick()))
    dealer.deal(P1, "2c")


def copies(count: int) -> Scene:
    """Deal that many copies of one card, four to a coup, all of them pictures."""

    def play(dealer: Dealer) -> None:
        for number in range(count):
            if number % 4 == 0 and number:
                dealer.clear()
                dealer.tick(4_000)
            dealer.deal((P1, B1, P2, B2)[number % 4], "9s")

    return play


W, C, A, I = Severity.WARNING, Severity.CRITICAL, Severity.ADVISORY, Severity.INFO  # noqa: E741
CASES = (
    Case("OVER_P3_STAND", then(hands(STANDS), lambda d: d.lay(P3)), hands(DRAWS, (P3, "4h")),
         W, next_coup),
    Case("OVER_NATURAL", then(hands(NATURAL), next_card), hands(DRAWS, (P3, "4h")), C, next_coup),
    Case("OVER_B3", then(hands("2h 7c Kd Kc", (P3, "3h")), next_card),
         hands("2h 4c Kd Kc", (P3, "3h"), (B3, "2h")), W, next_coup),
    Case("OVER_4TH", then(hands("2h 4c Kd Kc", (P3, "3h"), (B3, "2h")), next_card),
         hands("2h 4c Kd Kc", (P3, "3h"), (B3, "2h")), C, next_coup),
    Case("UNDER_P3", then(hands(DRAWS), settle), then(hands(DRAWS, (P3, "9h")), settle), W,
         next_coup),
    Case("UNDER_B3", then(hands("6h 4c Kd Kc"), settle),
         then(hands("6h 4c Kd Kc", (B3, "9h")), settle), W, next_coup),
    Case("WRONG_HAND", then(hands("2h 7c Kd Kc"), lambda d: d.lay(B3)),
         hands("2h 7c Kd Kc", (P3, "3h")), W, next_coup),
    Case("OUT_OF_TURN_B3", then(hands("2h 2c Kd Kc"), lambda d: d.lay(B3)),
         hands("2h 2c Kd Kc", (P3, "3h"), (B3, "3h")), W, next_coup),
    Case("WRONG_HAND", orders(P1, P2), orders(P1, B1), W, next_coup),
    Case("WRONG_ORDER_INIT", orders(P1, P2, B1, B2), orders(P1, B1, P2, B2), W,
         then(orders(P3, B3), next_coup)),
    Case("TWO_CARDS_OUT", then(orders(P1), allege("TWO_CARDS_OUT")), orders(P1), W, next_card),
    Case("EXPOSED_IN_SHOE", then(orders(P1), notice("EXPOSED_IN_SHOE")), orders(P1), W, next_card),
    Case("EXPOSED_EARLY", then(orders(P1), allege("EXPOSED_EARLY", 1)), orders(P1), I, settle),
    Case("EXPOSED_EARLY", then(orders(P1, B1), allege("EXPOSED_EARLY", 2)), orders(P1), W, settle),
    Case("EXCESS_CARRIED", carried, hands(STANDS), I),
    Case("EARLY_DEAL", over_hands, then(hands(STANDS), settle, orders(P1)), A, next_card),
    Case("EARLY_DEAL", lambda d: bets(d, closed=False), lambda d: bets(d, closed=True), A,
         next_card),
    Case("SWITCH", switched("9s"), then(hands(STANDS), lambda d: d.read(1, "9s")), C,
         then(settle, next_coup), lasts=True),
    Case("CARD_UNACCOUNTED", then(next_card, wait), then(orders(P1), wait), W, None),
    Case("PREMATURE_CLEAR", then(orders(P1, B1, P2), settle, lambda d: d.tick(3_000),
         lambda d: d.tell(TimePassed(d.now))), then(hands(STANDS), settle), W, next_coup),
    Case("WRONG_REMOVED", removed(2), removed(), W, settle),
    Case("RETURNED_TO_SHOE", then(orders(P1), allege("RETURNED_TO_SHOE")), orders(P1), C,
         next_card),
    Case("FOREIGN_CARD", then(orders(P1), allege("FOREIGN_CARD", 1)), orders(P1), C, next_card),
    Case("WRONG_RESULT", then(hands(STANDS), entered(Winner.BANCO)),
         then(hands(STANDS), entered(Winner.EGALITE)), C, next_coup),
    Case("WRONG_SIDE", then(hands(STANDS), entered(Winner.EGALITE, punto_pair=True)),
         then(hands(STANDS), entered(Winner.EGALITE, punto_pair=False)), W, settle),
    Case("HELD_OVER", then(hands(STANDS), held, new_shoe),
         then(hands(STANDS), held, let_stand, new_shoe), W),
    Case("HELD_OVER", then(hands(STANDS), held, settle, new_shoe),
         then(hands(STANDS), held, settle, voided, new_shoe), W),
    Case("SHORT_SHOE", then(hands(DRAWS), lambda d: d.tell(ShoeEnded(d.tick()))),
         then(hands(DRAWS), lambda d: d.tell(ShoeEnded(d.tick(), 9))), C, next_card),
    Case("SHORT_SHOE", dealt_out(412), dealt_out(411), C, next_card),
    Case("CUT_IGNORED", then(hands(STANDS), settle, lambda d: d.tell(CutCardOut(d.tick())),
         hands(STANDS), settle, hands(STANDS), settle, orders(P1)),
         then(hands(STANDS), settle, lambda d: d.tell(CutCardOut(d.tick())), hands(STANDS),
              settle, hands(STANDS)),
         W, new_shoe),
    Case("CUT_MISSING", dealt_out(403, cut=False), dealt_out(402, cut=False), A, new_shoe),
    Case("SHOE_COUNT", then(started, burn(5), lambda d: d.tell(ShoeEnded(d.tick(), 400))),
         then(started, burn(5), lambda d: d.tell(ShoeEnded(d.tick(), 406))), W, new_shoe),
    Case("DUP_CARD", copies(9), copies(8), C, new_shoe),
    Case("NEW_DECK_ORDER", run_of("Kc Qc Jc Tc 9c 8c 7c 6c 5c 4c 3c 2c"),
         run_of("Kc Qd Jh Ts 9c 8d 7h 6s 5c 4d 3h 2s"), C, next_coup),
    # Two suits meet, each too short to tell; cut in the middle of a suit.
    Case("NEW_DECK_ORDER", run_of("9d Td Jd Qd Kd Ac 2c 3c 4c 5h 2s Kh"),
         run_of("9d Td Jd Qd Kc Ac 2c 3c 4c 5h 2s Kh"), C, next_coup),
    # Two suits rise and two fall, as decks come from the factory; the turn is seen.
    Case("NEW_DECK_ORDER", run_of("Td Jd Qd Kd Kc Qc Jc Tc 9c 8c 7c 6c 5c 4c 3c 2c"),
         run_of("Td Jd Qd Kd Kc Jc Tc 9c 8c 6c 5c 4c 3s 2s Ac Ks"), C, next_coup),
    Case("BURN_MISSED", then(started, hands(STANDS)), then(lambda d: started(d, False),
         hands(STANDS)), W, next_coup),
    Case("BURN_WRONG", burn(4), burn(5), W, next_coup),
    Case("REVIEW", then(hands(STANDS), lambda d: d.doubt("seen")), hands(STANDS), A,
         then(settle, next_coup), lasts=True),
    Case("MISREAD_RISK", doubtful("9h"), doubtful("6d"), A, then(settle, next_coup), lasts=True),
    Case("UNREAD", unread, hands(STANDS), A, settle),
    Case("READ_CONFLICT", reads(("6h", 1.0), ("9h", 1.0)), reads(("6h", 0.9), ("9h", 1.0)), W,
         then(settle, next_coup), lasts=True),
    Case("VIEW_LOST", lambda d: d.tell(ViewLost(d.tick(), "lens covered")), orders(P1), W,
         next_card),
    Case("CAMERA_MOVED", notice("CAMERA_MOVED"), orders(P1), W, next_card),
    Case("LIGHT", notice("LIGHT"), orders(P1), W, next_card),
    Case("CLOCK", lambda d: d.tell(TimePassed(d.now - 5_000)),
         lambda d: d.tell(TimePassed(d.now - 500)), W),
    Case("LINK", notice("LINK"), orders(P1), W),
    Case("LOG", notice("LOG"), orders(P1), C),
    Case("READING_POOR", notice("READING_POOR"), orders(P1), W),
    Case("OVERLOAD", notice("OVERLOAD"), orders(P1), A),
    Case("EVIDENCE", notice("EVIDENCE"), orders(P1), W),
    Case("EVIDENCE_AT_RISK", notice("EVIDENCE_AT_RISK"), orders(P1), W),
    Case("UNSIGNED", notice("UNSIGNED"), orders(P1), W),
    Case("INSTALLATION", notice("INSTALLATION"), orders(P1), Severity.INFO),
    Case("RESTART_CONFIRM", then(orders(P1), allege("RESTART_CONFIRM", 1)), orders(P1), W,
         then(settle, next_coup), lasts=True),
    Case("ORDERS", notice("ORDERS"), orders(P1), W),
    Case("LOGINS", notice("LOGINS"), orders(P1), W),
    Case("CALLED", lambda d: d.tell(CallInspector(d.tick(), *INSPECTOR)), orders(P1), W),
)  # fmt: skip
IDS = [f"{number}-{case.code}" for number, case in enumerate(CASES)]


def played(case: Case, scene: Scene) -> Dealer:
    """Play a scene at a new table."""
    dealer = Dealer(case.rules).start()
    scene(dealer)
    return dealer


def test_cases_cover_every_fault() -> None:
    """Each row of the table of faults is brought about by a test."""
    assert {case.code for case in CASES} == set(KINDS)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_fault_is_raised(case: Case) -> None:
    """The scene raises the fault, as loud as it should be, to those who should hear."""
    dealer = played(case, case.scene)
    alert = dealer.alerts[case.code]
    assert alert.severity is case.severity
    assert alert.state is AlertState.RAISED or case.late in (settle, None)
    reminder = case.code.startswith("UNDER") and case.severity is Severity.ADVISORY
    assert ("surveillance" in alert.audience) is not reminder
    assert alert.text


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_fault_is_not_raised_for_the_legal_reading(case: Case) -> None:
    """A scene that differs in the one thing raises no alert of that fault."""
    assert case.code not in played(case, case.legal).raised


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_fault_lapses_when_its_time_limit_passes(case: Case) -> None:
    """Once the last time limit has passed the alert lapses; without one it stays as it is."""
    dealer = played(case, case.scene)
    if case.late is None:
        assert dealer.alerts[case.code].state in (AlertState.RAISED, AlertState.LAPSED)
        return
    case.late(dealer)
    alert = dealer.alerts[case.code]
    if case.lasts:
        assert alert.state is AlertState.RAISED, alert
        assert dealer.result_of(alert.coup).state is ResultState.HELD
        return
    assert alert.state is AlertState.LAPSED, alert
    assert alert.in_time is False
    assert alert.deadline_at is not None


def test_card_before_the_bets_are_closed_is_named() -> None:
    """The alert is about the first card of the coup."""
    dealer = Dealer().start()
    bets(dealer, closed=False)
    assert (dealer.alerts["EARLY_DEAL"].coup, dealer.alerts["EARLY_DEAL"].order) == (2, 5)


def test_words_are_complete() -> None:
    """No text of an alert shows a place-holder or an empty phrase."""
    for case, scene in product(CASES, ("scene", "legal")):
        for alert in played(case, getattr(case, scene)).alerts.values():
            assert "{" not in alert.text
            assert "None" not in alert.text, alert.text


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_fault_is_named_in_words(case: Case) -> None:
    """No text of an alert, and no name of a fault, shows a code to people."""
    dealer = played(case, case.scene)
    texts = [alert.text for alert in dealer.alerts.values()] + [KINDS[case.code].title]
    for text in texts:
        assert not {*re.findall(r"\w+", text)} & set(KINDS), text
        assert "_" not in text, text


def test_fault_not_put_right_before_the_next_coup_is_one_alert_that_grows() -> None:
    """A time limit that passes changes the alert: its state, its severity and its words."""
    dealer = Dealer().start()
    then(hands("4h 4c 3d 3c", (P3, None)), next_coup)(dealer)
    alert = dealer.alerts["OVER_P3_STAND"]
    assert (alert.state, alert.severity) == (AlertState.LAPSED, Severity.CRITICAL)
    assert alert.text.endswith("Card face down. Not resolved before coup 2.")
    dealer.read(5, "2c")
    alert = dealer.alerts["OVER_P3_STAND"]
    assert alert.text.endswith("Card exposed: 2c. Not resolved before coup 2.")
    assert dealer.raised.count("OVER_P3_STAND") == 1


def test_hands_cleared_card_by_card_without_the_card_due_are_one_under_draw() -> None:
    """However long the clearing takes, it is no card removed too early beside the under-draw."""
    dealer = Dealer().start()
    dealer.hand(DRAWS)
    for order in dealer.lying:
        dealer.take(order, 1_300)
        dealer.tell(TimePassed(dealer.tick(0)))
    next_coup(dealer)
    assert dealer.raised == ["UNDER_P3"]


def test_fault_that_becomes_another_is_not_raised_again_once_people_have_seen_it() -> None:
    """A correction that makes it another fault changes the alert that they work on."""
    dealer = Dealer().start()
    then(hands("4h 4c 3d 3c", (B3, "2c")))(dealer)
    dealer.tell(AckAlert(dealer.tick(), *INSPECTOR, "a1"))
    dealer.tell(CorrectCard(dealer.tick(), *INSPECTOR, 1, P1, Card.parse("5h")))
    last = dealer.all(AlertChanged)[-1]
    assert (last.alert.id, last.alert.code) == ("a1", "OVER_NATURAL")
    assert last.alert.state is AlertState.ACKNOWLEDGED
    assert not last.first


def test_fault_found_after_the_next_coup_began_is_not_called_late() -> None:
    """Nobody could put right in time what was found only then."""
    dealer = Dealer().start()
    hands(DRAWS)(dealer)
    dealer.tell(CorrectCard(dealer.tick(), *INSPECTOR, 1, P2, Card.parse("7d")))
    next_coup(dealer)
    dealer.tell(CorrectCard(dealer.tick(), *INSPECTOR, 1, P2, Card.parse("Kd")))
    alert = dealer.alerts["UNDER_P3"]
    assert (alert.state, alert.severity) == (AlertState.LAPSED, Severity.CRITICAL)
    assert "Not resolved" not in alert.text


def behind_cut(coups: int) -> Dealer:
    """Deal so many coups behind the cut card: the last hand is coup 2."""
    dealer = Dealer().start()
    then(hands(STANDS), settle, lambda d: d.tell(CutCardOut(d.tick())), hands(STANDS), settle)(
        dealer
    )
    for _ in range(coups):
        then(hands(STANDS), settle)(dealer)
    return dealer


def test_coups_dealt_behind_the_cut_card_are_one_alert_that_counts_them() -> None:
    """The cut card was ignored once; each further coup makes that worse, and is no second alert."""
    dealer = behind_cut(6)
    alert = dealer.alerts["CUT_IGNORED"]
    last = dealer.table.shoe.last_coup
    assert last is not None
    assert dealer.raised.count("CUT_IGNORED") == 1
    assert alert.text == f"Cut card ignored: {alert.count} coups since coup {last}."
    assert (alert.count, alert.coup) == (dealer.result.coup - last, last + 1)
    assert (alert.state, alert.severity) == (AlertState.RAISED, Severity.CRITICAL)
    assert dealer.result.faults == ("CUT_IGNORED",)


def test_cut_card_ignored_once_and_closed_is_raised_again_by_the_next_coup_only() -> None:
    """The second coup is graver, and is told again; after that the ruling stands for the shoe."""
    dealer = behind_cut(2)
    alert = dealer.alerts["CUT_IGNORED"]
    for state in (AlertState.RAISED, AlertState.CLOSED):
        dealer.tell(CloseAlert(dealer.tick(), *INSPECTOR, alert.id, Category.PROCEDURE))
        then(hands(STANDS), settle)(dealer)
        assert dealer.alerts["CUT_IGNORED"].state is state
    assert {one.alert.id for one in dealer.all(AlertChanged)} == {alert.id}


def test_no_burn_is_no_fault_where_the_house_burns_none() -> None:
    """A house without a burn rule gets no alert about a burn."""
    dealer = Dealer(Rules(burn=BurnRule(BurnKind.NONE)))
    started(dealer)
    dealer.hand(STANDS)
    assert dealer.raised == []
