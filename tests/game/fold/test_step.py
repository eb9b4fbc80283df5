"""`step` answers everything, and a correction leaves no trace of the error."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.game.dealer import B1, B2, DEALT, INSPECTOR, P1, P2, Dealer, cards
from vision.game.cards import DECK, Card
from vision.game.commands import (
    AckAlert,
    BurnCard,
    CarryCard,
    CloseAlert,
    Command,
    Confirm,
    CorrectCard,
    FreeHand,
    HoldResult,
    MoveCard,
    NewShoe,
    RectifyAlert,
    ResultStands,
    UndoLast,
    VoidCoup,
)
from vision.game.coup.fault_table import KINDS
from vision.game.coup.state import Coup, DealtCard, HandLayout, Shoe, lay_out, new_table
from vision.game.events import (
    Allegation,
    BetsClosed,
    CoupSeen,
    CutCardOut,
    Event,
    Life,
    Noticed,
    ResultEntered,
    Role,
    SeenCard,
    ShoeEnded,
    ShoeStarted,
    Slot,
    Started,
    Stopped,
    TimePassed,
    ViewBack,
    ViewLost,
    Winner,
)
from vision.game.fold.shoe import FEWEST, begin_faults, burn_due, last_coup, new_shoe
from vision.game.fold.step import CLOCK_MS, step
from vision.game.outputs import (
    AlertChanged,
    AlertState,
    CoupResult,
    CoupsChanged,
    Ignored,
    Replied,
    ResultState,
    Severity,
    ShoeChanged,
    StatusChanged,
)
from vision.game.rules import BurnKind, BurnRule, Dealing, Rules
from vision.game.tableau import next_slot

AT = st.integers(0, 60_000)
ORDER = st.integers(-8, 14)
CARD = st.sampled_from(DECK[30:36])
SLOT = st.sampled_from(Slot)
COUP = st.integers(0, 4)
ALERT = st.integers(0, 6).map(lambda number: f"a{number}")
BY = {"at": AT, "by": st.sampled_from(["Ada", "Ada", ""]), "role": st.sampled_from(Role)}
ABOUT = {**BY, "coup": COUP}
CODE = st.sampled_from([*KINDS, "NO_SUCH"])
LIFE = st.sampled_from(Life)
SEEN_CARD = st.builds(
    SeenCard, ORDER, AT, LIFE, st.none() | SLOT, st.booleans(), st.none() | CARD, st.booleans(),
    st.floats(0, 1), st.none() | CARD, st.none() | CARD,
)  # fmt: skip
SEEN = st.builds(
    CoupSeen,
    AT,
    st.integers(0, 4),
    st.lists(SEEN_CARD, max_size=7).map(tuple),
    st.lists(st.builds(Allegation, CODE, st.none() | ORDER, st.floats(1, 100)), max_size=2).map(
        tuple
    ),
    st.booleans(),
    st.sampled_from(["", "seen"]),
    st.none() | st.floats(1, 100),
)
SAID = st.one_of(
    st.builds(CutCardOut, AT),
    st.builds(Noticed, AT, CODE, over=st.booleans()),
    st.builds(ViewLost, AT, st.just("dark")),
    st.builds(ViewBack, AT),
    st.builds(TimePassed, AT),
    st.builds(Started, AT, st.just("b"), unbroken=st.booleans()),
    st.builds(Stopped, AT),
    st.builds(ShoeStarted, AT, st.sampled_from(["x", "y", ""]), st.booleans()),
    st.builds(ShoeEnded, AT, st.integers(-1, 500)),
    st.builds(BetsClosed, AT),
    st.builds(ResultEntered, AT, st.sampled_from(Winner), st.none() | st.booleans()),
    st.builds(Event, AT),
)
ORDERED = st.one_of(
    *(st.builds(kind, **ABOUT) for kind in (Confirm, VoidCoup, ResultStands, HoldResult)),
    *(st.builds(kind, **ABOUT) for kind in (BurnCard, CarryCard, FreeHand)),
    st.builds(CorrectCard, **ABOUT, slot=SLOT, card=CARD),
    st.builds(MoveCard, **ABOUT, source=SLOT, target=SLOT),
    st.builds(NewShoe, **BY, shoe=st.sampled_from(["x", "z"])),
    st.builds(UndoLast, **BY),
    st.builds(AckAlert, **BY, alert=ALERT),
    st.builds(RectifyAlert, **BY, alert=ALERT, remedy=st.sampled_from(["R1", "R99"])),
    st.builds(CloseAlert, **BY, alert=ALERT),
    st.builds(Command, **BY),
)
RULES = st.sampled_from(
    [
        Rules(),
        Rules(decks=1, cut_depth=50, coups_after_cut=0, dealing=Dealing.PUNTO_FIRST),
        Rules(burn=BurnRule(BurnKind.FIXED, 2), dealing=Dealing.FACE_DOWN),
        Rules(burn=BurnRule(BurnKind.NONE)),
    ]
)


@settings(max_examples=300, deadline=None)
@given(RULES, st.lists(SEEN | SAID | ORDERED | SEEN, max_size=60))
def test_step_answers_any_sequence(rules: Rules, events: list[Event]) -> None:
    """Whatever happens, step answers: orders are replied to, revisions and alerts are numbered."""
    table = new_table(rules)
    revisions: dict[tuple[int, int], int] = {}
    raised = 0
    for event in events:
        before = table
        table, outputs = step(table, event)
        assert step(before, event) == (table, outputs)
        assert sum(isinstance(one, Replied) for one in outputs) == isinstance(event, Command)
        for one in outputs:
            assert one.at == event.at
            if isinstance(one, CoupResult):
                old = before.shoe.name == one.shoe
                key = (before.shoes if old else table.shoes, one.coup)
                assert one.revision == revisions.get(key, -1) + 1
                revisions[key] = one.revision
                shown = one.state in (ResultState.FINAL, ResultState.CORRECTED)
                assert (one.winner is not None) == shown
                assert not shown or None not in (*one.punto.cards, *one.banco.cards)
            if isinstance(one, AlertChanged) and int(one.alert.id[1:]) > raised:
                assert one.first
                raised = int(one.alert.id[1:])
        assert table.alerts_raised == raised
        assert table.clock >= before.clock
        waits = table.waits_until
        assert waits is None or waits > table.clock


@settings(max_examples=150, deadline=None)
@given(
    RULES,
    st.integers(0, 1_000),
    st.lists(st.tuples(st.integers(0, 150), st.sampled_from("dcsio")), min_size=1, max_size=12),
    st.lists(SEEN | SAID | ORDERED, min_size=12, max_size=12),
)
def test_step_answers_a_disturbed_shoe(
    rules: Rules, seed: int, disturbed: list[tuple[int, str]], others: list[Event]
) -> None:
    """A shoe of which events are dropped, doubled, swapped or mixed with others is answered."""
    events = _play(_shoe(seed, 6), {}).events
    for (where, how), other in zip(disturbed, others, strict=False):
        place = where % (len(events) - 1)
        if how == "d":
            del events[place]
        elif how == "c":
            events.insert(place, events[place])
        elif how == "s":
            events[place], events[place + 1] = events[place + 1], events[place]
        else:
            events.insert(place, replace(other, at=events[place].at))
    table = new_table(rules)
    for event in events:
        table, outputs = step(table, event)
        assert all(one.at == event.at for one in outputs)


def test_repeated_event_is_ignored() -> None:
    """A coup that is said twice is the same."""
    dealer = Dealer()
    dealer.hand("4h 4c 3d 3c")
    before = dealer.table
    assert dealer.tell(dealer.events[-1]) == ()
    assert dealer.table == before


def _shoe(seed: int, coups: int) -> list[tuple[Slot, Card]]:
    """Return the places and cards of that many coups, dealt with a fault now and then."""
    rng = Random(seed)
    shoe = list(DECK) * 2
    rng.shuffle(shoe)
    dealt = []
    for _ in range(coups):
        hands: tuple[list[int], list[int]] = ([], [])
        while (slot := next_slot(tuple(hands[0]), tuple(hands[1]))) is not None:
            if slot in (Slot.PUNTO_3, Slot.BANCO_3) and rng.random() < 0.1:
                break
            dealt.append((slot, shoe.pop()))
            hands[slot % 2].append(dealt[-1][1].points)
    return dealt


def _play(
    dealt: list[tuple[Slot, Card]], read: dict[int, Card | None], until: int | None = None
) -> Dealer:
    """Deal these cards, reading some of them as something else; stop after so many, if told to."""
    dealer = Dealer(Rules(decks=2))
    for order, (slot, face) in enumerate(dealt[:until], start=1):
        if slot is DEALT[0]:
            dealer.clear()
            dealer.tick(4_000)
        dealer.deal(slot, face) if order not in read else dealer.read(dealer.lay(slot), read[order])
    if until is None:
        dealer.clear()
    return dealer


def _play_on(dealer: Dealer, dealt: list[tuple[Slot, Card]]) -> None:
    """Deal the rest of the cards, and clear the table."""
    for slot, face in dealt:
        if slot is DEALT[0]:
            dealer.clear()
            dealer.tick(4_000)
        dealer.deal(slot, face)
    dealer.clear()


def _standing(dealer: Dealer) -> list[tuple[object, ...]]:
    """Return what each coup came to, without the history of it."""
    last = {one.coup: one for one in dealer.results}
    return [
        (one.coup, one.winner, one.punto, one.banco, one.three_giving_eight, one.faults)
        for _, one in sorted(last.items())
    ]


def _roads(dealer: Dealer) -> list[tuple[object, ...]]:
    """Return what the roads were last drawn of, if they were, without the history of it."""
    return [
        tuple((one.coup, one.winner, one.punto, one.banco) for one in changed.coups if one.winner)
        for changed in dealer.all(CoupsChanged)[-1:]
    ]


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, 10_000),
    st.lists(st.integers(0, 40), min_size=1, max_size=4, unique=True),
    st.integers(0, 40),
)
def test_correction_leaves_no_trace(seed: int, wrong: list[int], until: int) -> None:
    """Correcting a card to X gives the results, roads and counts there would be, had X been read.

    It does so at any point of a shoe: in the middle of a coup, after it, many coups later.
    """
    dealt = _shoe(seed, 8)
    rng = Random(seed)
    misread = {n + 1: rng.choice([*DECK, None]) for n in wrong if n < len(dealt)}
    point = max([until, *misread])
    right, corrected = _play(dealt, {}, point), _play(dealt, misread, point)
    for order in misread:
        coup = corrected.table.coup_of(order)
        assert coup is not None
        slot = _laid(corrected, order).slot_of(order)
        assert slot is not None
        command = CorrectCard(corrected.tick(), *INSPECTOR, coup.number, slot, dealt[order - 1][1])
        corrected.tell(command)
    for dealer in (right, corrected):
        _play_on(dealer, dealt[point:])
    assert _standing(corrected) == _standing(right)
    assert _roads(corrected) == _roads(right)
    assert corrected.table.shoe.counts == right.table.shoe.counts
    assert corrected.table.shoe.surplus == right.table.shoe.surplus


def _laid(dealer: Dealer, order: int) -> HandLayout:
    coup = dealer.table.coup_of(order)
    assert coup is not None
    return lay_out(coup.cards, dealer.rules)


def test_results_keyed_in_while_blind_are_of_one_coup_until_it_could_be_over() -> None:
    """One keyed in sooner corrects the one before; from `removed_after_ms` on it is of the next."""
    for later_ms, coups in ((-1, 1), (0, 2)):
        dealer = Dealer().start()
        dealer.tell(ViewLost(dealer.tick(), "dark"))
        at = dealer.tick()
        dealer.tell(ResultEntered(at, Winner.PUNTO))
        at += dealer.rules.removed_after_ms + later_ms
        dealer.tell(ResultEntered(at, Winner.BANCO))
        entered = [coup.entered for coup in dealer.table.coups]
        assert len(entered) == coups
        assert entered[-1] == ResultEntered(at, Winner.BANCO)


# --- the clock, the view, a run -------------------------------------------------------------------

STANDS = "4h 4c 3d 3c"


@pytest.mark.parametrize(("back", "wrong"), [(CLOCK_MS, False), (CLOCK_MS + 1, True)])
def test_clock_that_goes_back_by_more_than_a_second_is_wrong(back: int, *, wrong: bool) -> None:
    """Until it has caught up; the clock of the table never goes back."""
    dealer = Dealer().start()
    dealer.tell(TimePassed(dealer.now - back))
    assert dealer.table.clock == dealer.now
    assert dealer.raised == ["CLOCK"] * wrong
    dealer.tell(TimePassed(dealer.now - 1))
    assert dealer.open == ["CLOCK"] * wrong
    dealer.tell(TimePassed(dealer.now))
    assert dealer.open == []
    if wrong:
        alert = dealer.alerts["CLOCK"]
        assert alert.text == f"The clock of the reader is wrong. It went back by {back} ms."
        assert alert.reason == "the clock has caught up"


def lose(dealer: Dealer, ms: int) -> None:
    """Lose the view for so long."""
    dealer.tell(ViewLost(dealer.tick(), "dark"))
    dealer.tell(ViewBack(dealer.tick(ms)))


def test_lost_view_is_told_with_what_may_have_passed() -> None:
    """Graver while a coup is dealt; between coups nothing is held."""
    dealer = Dealer().start()
    dealer.tell(ViewLost(dealer.tick(), "dark"))
    alert = dealer.alerts["VIEW_LOST"]
    assert (alert.text, alert.severity) == ("Reader blind: dark. Results held.", Severity.WARNING)
    dealer.tell(ViewBack(dealer.tick(1_500)))
    missed = "view back after 1.5 s; no coup was in progress, any dealt since was not seen"
    assert dealer.alerts["VIEW_LOST"].reason == missed
    dealer.hand(STANDS)
    lose(dealer, 120_000)
    assert dealer.alerts["VIEW_LOST"].reason == missed.replace("1.5", "120.0")
    dealer.clear()
    dealer.deal(P1, "4h")
    dealer.tell(ViewLost(dealer.tick(), "dark"))
    alert = next(a.alert for a in reversed(dealer.all(AlertChanged)) if a.alert.code == "VIEW_LOST")
    assert alert.severity is Severity.CRITICAL
    dealer.tell(ViewBack(dealer.tick(2_000)))
    alert = next(a.alert for a in reversed(dealer.all(AlertChanged)) if a.alert.code == "VIEW_LOST")
    assert alert.reason == (
        "view back after 2.0 s; coup 2 was in progress, cards may have passed unseen"
    )
    states = [(one.state, one.boot, one.why) for one in dealer.all(StatusChanged)]
    told = [("blind", "boot-1", "dark"), ("online", "boot-1", "")]
    assert states == [("online", "boot-1", ""), *told * 3]


def test_view_is_not_lost_twice_nor_found_where_it_was_not_lost() -> None:
    """What makes no sense is said to be ignored, with the reason."""
    dealer = Dealer().start()
    dealer.tell(ViewBack(dealer.tick()))
    dealer.tell(ViewLost(dealer.tick(), "dark"))
    since = dealer.now
    dealer.tell(ViewLost(dealer.tick(), "an arm"))
    assert dealer.table.blind_since == since
    ignored = [(one.event, one.why) for one in dealer.all(Ignored)]
    assert ignored == [
        ("ViewBack", "the view was not lost"),
        ("ViewLost", "the view is lost already"),
    ]


@pytest.mark.parametrize(("early", "unseen"), [(0, True), (1, False)])
def test_card_that_left_while_the_view_was_lost_may_not_be_the_only_one(
    early: int, *, unseen: bool
) -> None:
    """From the moment on when it was lost; the coup had lain complete before that."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    dealer.tell(ViewLost(dealer.tick(), "dark"))
    coup = dealer.table.coup
    assert coup is not None
    seen = replace(dealer.events[-2], at=dealer.tick())
    assert isinstance(seen, CoupSeen)
    last = replace(seen.cards[-1], out_at=dealer.now - dealer.pause - early)
    dealer.tell(replace(seen, cards=(*seen.cards[:-1], last)))
    dealer.tell(ViewBack(dealer.tick()))
    assert dealer.table.coup is not None
    assert dealer.table.coup.unseen is unseen


@pytest.mark.parametrize(
    ("hand", "cleared", "unbroken", "unseen"),
    [
        ("4h", False, False, True),
        ("4h", False, True, False),
        ("4h 4c 3d 3c", False, False, False),  # no card is due
        ("4h 4c 3d", True, False, False),
    ],
)
def test_run_that_begins_may_have_missed_something_of_the_running_coup(
    hand: str, *, cleared: bool, unbroken: bool, unseen: bool
) -> None:
    """Unless this reader has watched all the time, or nothing more can come of it."""
    dealer = Dealer().start()
    for slot, card in zip(DEALT, hand.split(), strict=False):
        dealer.deal(slot, card)
    if cleared:
        dealer.clear()
    dealer.tell(Started(dealer.tick(), "boot-2", unbroken=unbroken))
    assert dealer.table.coup is not None
    assert (dealer.table.coup.unseen, dealer.table.boot) == (unseen, "boot-2")


def test_run_that_begins_sees_and_one_that_ends_is_stopped() -> None:
    """What the run before did not see is over; it goes on in the same shoe."""
    dealer = Dealer().start()
    dealer.tell(ViewLost(dealer.tick(), "dark"))
    dealer.tell(Stopped(dealer.tick()))
    dealer.tell(Started(dealer.tick(), "boot-2"))
    assert dealer.table.blind_since is None
    assert dealer.alerts["VIEW_LOST"].reason == "the reader started again"
    states = [(one.state, one.boot) for one in dealer.all(StatusChanged)]
    assert states == [
        ("online", "boot-1"), ("blind", "boot-1"), ("stopped", "boot-1"), ("online", "boot-2"),
    ]  # fmt: skip
    assert dealer.table.shoe.name == "shoe-1"


@pytest.mark.parametrize("void", [True, False])
def test_result_is_entered_of_a_coup_that_counts(*, void: bool) -> None:
    """Of a void one it could be no result."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    if void:
        dealer.tell(VoidCoup(dealer.tick(), *INSPECTOR, 1))
    dealer.tell(ResultEntered(dealer.tick(), Winner.BANCO))
    ignored = [(one.event, one.why) for one in dealer.all(Ignored)]
    assert ignored == [("ResultEntered", "there is no coup that it could be of")] * void
    assert dealer.raised == ["WRONG_RESULT"] * (not void)


def test_event_of_no_kind_is_ignored_by_its_name() -> None:
    """It is no event of a table."""
    dealer = Dealer().start()
    (ignored,) = dealer.tell(Event(dealer.tick()))
    assert ignored == Ignored(dealer.now, "Event", "no such event is known")


# --- a shoe ---------------------------------------------------------------------------------------


def test_shoe_announced_again_is_the_same_and_one_without_a_name_is_another() -> None:
    """A shoe without a name is numbered."""
    dealer = Dealer().start()
    for name in ("x", "x", "", ""):
        dealer.tell(ShoeStarted(dealer.tick(), name))
    ignored = [(one.event, one.why) for one in dealer.all(Ignored)]
    assert ignored == [("ShoeStarted", "shoe x is in use already")]
    assert [one.shoe for one in dealer.all(ShoeChanged)] == ["shoe-1", "x", "shoe-3", "shoe-4"]
    assert [(one.shoe, one.coups) for one in dealer.all(CoupsChanged)][-1] == ("shoe-4", ())


def test_new_shoe_begins_with_nothing_but_what_concerns_the_machine() -> None:
    """Faults of the machine go on under their alert; orders of the last shoe cannot be undone."""
    dealer = Dealer().start()
    dealer.tell(Noticed(dealer.tick(), "LINK"))
    dealer.tell(Noticed(dealer.tick(), "EXPOSED_IN_SHOE"))
    dealer.tell(BetsClosed(dealer.tick()))
    dealer.tell(FreeHand(dealer.tick(), *INSPECTOR, 1))
    raised = dealer.table.alerts_raised
    dealer.tell(ShoeStarted(dealer.tick(), "another"))
    table = dealer.table
    assert [fault.code for fault in table.noticed] == ["LINK"]
    assert [tracked.alert.code for tracked in table.alerts] == ["LINK"]
    assert [tracked.alert.code for tracked in table.earlier_alerts] == ["EXPOSED_IN_SHOE"]
    assert (table.coup, table.done, table.undo, table.free_next) == (None, (), (), False)
    assert (table.bets_closed, table.alerts_raised, table.shoes) == (False, raised, 2)
    dealer.tell(Noticed(dealer.tick(), "LINK", over=True))
    assert dealer.alerts["LINK"].state is AlertState.RECTIFIED


def test_table_without_word_of_its_bets_never_deals_too_early() -> None:
    """Once it gave word, each coup waits for its own."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    dealer.clear()
    dealer.tell(BetsClosed(dealer.tick()))
    dealer.hand(STANDS)
    assert dealer.table.bets_closed is False
    assert dealer.raised == []
    dealer.clear()
    dealer.hand(STANDS)
    assert dealer.raised == ["EARLY_DEAL"]
    assert dealer.alerts["EARLY_DEAL"].text == "Card out before the bets were closed."


@pytest.mark.parametrize(
    ("left", "hand", "void", "short"),
    [
        (0, "2h 7c Kd Kc", False, True),
        (1, "2h 7c Kd Kc", False, False),
        (0, STANDS, False, False),
        (0, "2h 7c Kd Kc", True, False),
    ],
)
def test_shoe_that_runs_empty_in_a_coup_is_too_short(
    left: int, hand: str, *, void: bool, short: bool
) -> None:
    """Where a card is due, whatever is not read, and the coup counts."""
    dealer = Dealer().start()
    dealer.hand(hand)
    if void:
        dealer.tell(VoidCoup(dealer.tick(), *INSPECTOR, 1))
    for _ in range(2):
        dealer.tell(ShoeEnded(dealer.tick(), left))
    assert ("SHORT_SHOE" in dealer.raised) is short
    if short:
        assert dealer.alerts["SHORT_SHOE"].text == "Not enough cards to finish: 0 left."
        assert dealer.table.coup is not None
        assert [fault.key for fault in dealer.table.coup.noticed] == ["short"]


@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_cards_of_a_shoe_add_up(more: int, *, announced: bool) -> None:
    """Of one that was in use already some may have left before; no shoe has more than its cards."""
    dealer = Dealer().start()
    if announced:
        dealer.tell(ShoeStarted(dealer.tick(), "x"))
    dealer.hand(STANDS)
    dealer.tell(ShoeEnded(dealer.tick(), 412 + more))
    wrong = more > 0 or (more < 0 and announced)
    assert dealer.raised == ["SHOE_COUNT"] * wrong
    assert dealer.all(ShoeChanged)[-1].left == 412 + more
    assert not wrong or dealer.alerts["SHOE_COUNT"].text == (
        f"{416 + more} of 416 cards accounted for."
    )


@pytest.mark.parametrize(
    ("rule", "first", "due"),
    [
        (BurnRule(BurnKind.NONE), "5d", 0),
        (BurnRule(BurnKind.FIXED, 3), None, 3),
        (BurnRule(), None, None),
        (BurnRule(), "5d", 6),
        (BurnRule(), "Ad", 2),
        (BurnRule(ace=11), "Ad", 12),
        (BurnRule(), "Td", 11),
        (BurnRule(), "Kd", 11),
    ],
)
def test_burn_is_as_many_as_the_rule_says(
    rule: BurnRule, first: str | None, due: int | None
) -> None:
    """None, so many, or the first card and as many more as it counts."""
    card = None if first is None else cards(first)[0]
    assert burn_due(rule, card) == due


def test_burn_is_watched_only_where_there_is_one() -> None:
    """And where the camera sees it; its number is known where it is fixed."""
    for kind, watched, burning, due in (
        (BurnKind.FIXED, True, True, 3),
        (BurnKind.FIXED, False, False, None),
        (BurnKind.NONE, True, False, 0),
        (BurnKind.VALUE, True, True, None),
    ):
        rules = Rules(burn=BurnRule(kind, 3))
        for partial in (True, False):
            shoe = new_shoe(rules, "s", watch_burn=watched, partial=partial)
            assert shoe == Shoe("s", burning=burning, burn_due=due, partial=partial)


@pytest.mark.parametrize(
    ("coup", "more", "is_last", "last"),
    [
        (None, 1, False, 2),
        (None, 1, True, 1),
        (None, 0, True, 1),
        (Coup(4, 0, 0), 2, True, 6),
        (Coup(4, 0, 0, complete=True), 2, False, 7),
        (Coup(4, 0, 0, complete=True), 2, True, 6),
        (Coup(4, 0, 0, void=True), 0, False, 5),
        (Coup(4, 0, 0, cleared_at=0), 0, True, 5),
    ],
)
def test_last_coup_is_so_many_after_that_of_the_cut_card(
    coup: Coup | None, more: int, last: int, *, is_last: bool
) -> None:
    """That is the one in which it comes; between coups the next, or even the last."""
    table = new_table(Rules(coups_after_cut=more, cut_first_is_last=is_last))
    table.coup = coup
    assert last_coup(table) == last


@pytest.mark.parametrize(("left", "short"), [(FEWEST, False), (FEWEST - 1, True)])
@pytest.mark.parametrize("back", [0, 2])
def test_coup_begins_with_as_many_cards_as_it_can_need(
    left: int, back: int, *, short: bool
) -> None:
    """Those that went back are in the shoe still."""
    table = new_table(Rules(decks=1))
    table.shoe = Shoe("s", back=back)
    faults = list(begin_faults(table, 1, DealtCard(52 - left + back + 1, 0)))
    assert [fault.text for fault in faults] == [f"Not enough cards to finish: {left} left."] * short


@pytest.mark.parametrize(("number", "count"), [(3, 0), (4, 1), (6, 3)])
def test_coup_behind_the_cut_card_is_counted(number: int, count: int) -> None:
    """From the last one on; graver each time."""
    table = new_table()
    table.shoe = Shoe("s", last_coup=3)
    found = [(f.code, f.count, f.grade) for f in begin_faults(table, number, DealtCard(9, 0))]
    assert found == [("CUT_IGNORED", count, count - 1)] * bool(count)


def test_cut_card_is_out_once() -> None:
    """It ends what was missed of it, and is told with the shoe."""
    dealer = Dealer(Rules(decks=1, cut_depth=49)).start()
    dealer.hand(STANDS)
    assert dealer.open == ["CUT_MISSING"]
    told = len(dealer.all(ShoeChanged))
    for _ in range(2):
        dealer.tell(CutCardOut(dealer.tick()))
    assert dealer.alerts["CUT_MISSING"].reason == "the cut card is out"
    assert [one.cut_seen for one in dealer.all(ShoeChanged)[told:]] == [True]
    ignored = [(one.event, one.why) for one in dealer.all(Ignored)]
    assert ignored == [("CutCardOut", "the cut card is out already")]


def test_coup_of_which_nothing_was_seen_takes_the_next_order() -> None:
    """It is held until its cards are keyed in, and told with the shoe."""
    dealer = Dealer().start()
    dealer.hand(STANDS)
    dealer.clear()
    dealer.tell(ViewLost(dealer.tick(), "dark"))
    dealer.tell(ResultEntered(dealer.tick(60_000), Winner.PUNTO))
    coup = dealer.table.coup
    assert coup is not None
    assert (coup.number, coup.first, coup.started_at, coup.unseen) == (2, 5, dealer.now, True)
    assert dealer.all(ShoeChanged)[-1].coups == 2


def test_coup_that_begins_takes_the_order_of_its_first_card() -> None:
    """It is seen, and free where that was ordered of the coming one."""
    dealer = Dealer().start()
    dealer.tell(FreeHand(dealer.tick(), *INSPECTOR, 1))
    for number in (1, 2):
        for slot, card in zip((P1, B1, P2, B2), STANDS.split(), strict=True):
            dealer.deal(slot, card)
        coup = dealer.table.coup
        assert coup is not None
        assert (coup.number, coup.first, coup.unseen) == (number, 4 * number - 3, False)
        assert coup.free is (number == 1)
        dealer.clear()
