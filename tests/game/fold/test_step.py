"""`step` answers everything, and a correction leaves no trace of the error."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.game.dealer import DEALT, INSPECTOR, Dealer
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
from vision.game.coup.state import HandLayout, lay_out, new_table
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
from vision.game.fold.step import step
from vision.game.outputs import (
    AlertChanged,
    CoupResult,
    CoupsChanged,
    Replied,
    ResultState,
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
