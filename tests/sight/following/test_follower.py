"""From pictures to what is said of a coup: as dealt, and nothing alleged of what was not seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from tests.sight.film import (
    DOWN,
    MOUTH,
    PLACES,
    PUNTO_FIRST,
    UP,
    Eye,
    Faults,
    Prop,
    Stage,
    deal_coup,
)
from vision.game.cards import Card, parse_cards
from vision.game.events import CoupSeen, CutCardOut, Event, Life, Noticed, SeenCard, Slot
from vision.game.rules import BurnKind, BurnRule, Dealing, Rules
from vision.sight.detection.classifier import HIDDEN_MS, Classifier
from vision.sight.detection.detector import Detection, Kind
from vision.sight.following.cards import (
    ASIDE,
    BACK,
    CARDS,
    FACE,
    GONE,
    GONE_ASIDE,
    HAND,
    HELD,
    SHOE,
    SLOTS,
    Cards,
    CoupCard,
    Lip,
    Place,
)
from vision.sight.following.decisions import PLACED, Account, Allegations
from vision.sight.following.evidence import SURE_MS
from vision.sight.following.follower import (
    BEGUN_MS,
    BURN_REPORTED,
    BURN_SEEN,
    DOUBT_MS,
    EARLY_MS,
    GAP_MS,
    HIDES_MS,
    RESTART_MS,
    TAKEN_MEANWHILE,
    Follower,
    Resumed,
    Sight,
)
from vision.sight.following.hypotheses import Hypothesis
from vision.sight.following.places import COVERED, LEAST_SCORE, STRONG, SlotObservation, SlotWatch
from vision.sight.following.procedure import OVER, RETURNED
from vision.sight.geometry.plane import Pose
from vision.sight.reading.faces import FaceReader, Limits, Where

SIX = parse_cards("As Kd 7h 3c 9d 2s")
FIVE = parse_cards("As Kd 3c 7h 9d")
NATURAL = parse_cards("4s Kd 5c 7h")
MODES = {UP: Dealing.FACE_UP, DOWN: Dealing.FACE_DOWN, PUNTO_FIRST: Dealing.PUNTO_FIRST}
# A detector that misses one card in ten, doubles some and takes some backs for faces.
BAD = Faults(missed=0.1, doubled=0.05, wrong_kind=0.03, jitter_mm=1.0)
FPS = 15  # half of a camera's: what goes by is told all the same, at half the time


@dataclass
class Desk:
    """A follower that watches a stage, and what it reported."""

    stage: Stage
    dealing: str = UP
    burn: BurnKind = BurnKind.VALUE
    reported: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.eye = Eye(self.stage)
        models = replace(self.eye.models(), classifier=cast("Classifier", self.stage.classify))
        faces = FaceReader(self.stage.view, models, Limits(1e-5, 50), decks=8)
        rules = Rules(dealing=MODES[self.dealing], burn=BurnRule(self.burn))
        self.follower = Follower(self.stage.view, models.symbols, faces, rules, allege_odds=50)
        self.places = SlotWatch(self.stage.view)

    def play(self, script: Iterator[None], *, blind: bool = False) -> None:
        """Play a script to its end; `blind`: nothing is seen meanwhile."""
        for _ in script:
            frame = self.stage.picture()
            if blind:
                self.follower.miss()
                continue
            self.eye.remember(frame.image)
            boxes = self.eye.cards_and_hands(frame.image, LEAST_SCORE)
            sight = Sight(frame.image, boxes, self.places.look(boxes, frame.image, frame.at))
            mouth = self.eye.mouth(frame.image)
            self.reported += self.follower.see(frame.at, mouth, sight)

    def coup(self, number: int) -> CoupSeen:
        """Return what was reported last of a coup."""
        return [e for e in self.reported if isinstance(e, CoupSeen) and e.coup == number][-1]

    def alleged(self) -> set[str]:
        """Return the codes of all that was ever alleged."""
        seen = [event for event in self.reported if isinstance(event, CoupSeen)]
        return {each.code for event in seen for each in event.alleged}


def desk(dealing: str = UP, burn: BurnKind = BurnKind.VALUE, **stage: object) -> Desk:
    """Return a desk whose table has lain still for a second."""
    stage = {"fps": FPS, **stage}
    found = Desk(Stage(props=[Prop(MOUTH, Kind.BACK)], **stage), dealing, burn)  # type: ignore[arg-type]
    found.play(found.stage.wait(1200))
    return found


def laid(seen: CoupSeen) -> list[tuple[int, Slot | None, str]]:
    """Return order, slot and face of each card."""
    return [(card.order, card.slot, str(card.card)) for card in seen.cards]


def as_dealt(cards: Sequence[Card], first: int) -> list[tuple[int, Slot, str]]:
    """Return what is to be said of a coup of those cards."""
    slots = list(Slot)
    return [(first + n, slots[n], str(card)) for n, card in enumerate(cards)]


@pytest.mark.parametrize("dealing", [UP, DOWN, PUNTO_FIRST])
@pytest.mark.parametrize(("fps", "seed"), [pytest.param(30, 1, marks=pytest.mark.nightly), (12, 2)])
def test_coups_come_out_as_dealt(dealing: str, seed: int, fps: int) -> None:
    """Two coups before a poor detector: each card in its slot, with its face, in order."""
    table = desk(dealing, fps=fps, seed=seed, faults=BAD)
    for cards in (SIX, FIVE):
        table.play(deal_coup(table.stage, cards, dealing))
    first, second = table.coup(1), table.coup(2)
    assert laid(first) == as_dealt(SIX, 1)
    assert laid(second) == as_dealt(FIVE, 7)
    assert first.sure
    assert {card.life for card in (*first.cards, *second.cards)} == {Life.REMOVED}
    assert table.alleged() == set()
    assert [event.at for event in table.reported] == sorted(event.at for event in table.reported)
    seen = [event for event in table.reported if isinstance(event, CoupSeen)]
    for number in (1, 2):
        of_it = [replace(event, at=0) for event in seen if event.coup == number]
        assert all(one != other for one, other in pairwise(of_it))  # nothing is reported twice
    assert not table.follower.waiting


def test_card_is_out_before_it_lies_and_lies_before_it_is_read() -> None:
    """What is said of a card grows; a card is told of as soon as it left."""
    table = desk()
    table.play(table.stage.deal(Prop(MOUTH, Kind.FACE, SIX[0]), PLACES[Slot.PUNTO_1]))
    table.play(table.stage.wait(1000))
    reported = [event.cards[0] for event in table.reported if isinstance(event, CoupSeen)]
    assert reported[0].life is Life.OUT
    assert [card.slot for card in reported].index(Slot.PUNTO_1) > 0
    assert reported[-1].card == SIX[0]
    assert reported[-1].confidence >= 1 - 1e-5


def test_face_that_lay_in_a_slot_before_its_card_left_is_none_of_it() -> None:
    """A player gave another card back there for a moment; the one that comes was never read."""
    table = desk()
    table.play(table.stage.deal(Prop(MOUTH, Kind.FACE, SIX[0]), PLACES[Slot.PUNTO_1]))
    table.play(table.stage.wait(1000))
    table.follower.faces.restore(Where(1, int(Slot.BANCO_1)), SIX[4], 1.0)
    table.play(table.stage.deal(Prop(MOUTH, Kind.BACK), PLACES[Slot.BANCO_1]))
    table.play(table.stage.wait(1000))
    assert laid(table.coup(1)) == [(1, Slot.PUNTO_1, "As"), (2, Slot.BANCO_1, "None")]


def test_coup_that_proves_to_be_none_is_taken_back() -> None:
    """A card was believed to have left for the next coup; it did not, and is told of no more."""
    table = desk()
    table.play(deal_coup(table.stage, FIVE, UP))
    accounts, decoder = table.follower.accounts, table.follower.decoder
    lies = max(decoder.hypotheses, key=lambda hypothesis: decoder.hypotheses[hypothesis]).state
    drawn = decoder.procedure.state((CARDS[HAND, BACK, None],))
    for next_one in (0.99, 0.01, 0.01):
        hypotheses = {Hypothesis(2, lies, drawn): next_one, Hypothesis(1, None, lies): 1 - next_one}
        accounts.decoder = SimpleNamespace(hypotheses=hypotheses)  # type: ignore[assignment]
        table.play(table.stage.wait(40))
    reported = [e.cards for e in table.reported if isinstance(e, CoupSeen) and e.coup == 2]
    assert [[card.order for card in cards] for cards in reported] == [[6], []]


def test_coup_whose_cards_were_taken_for_the_burn_is_a_doubt() -> None:
    """Burned cards gathered on the layout were a coup in another order, with a card too many."""
    table = desk()
    accounts, procedure = table.follower.accounts, table.follower.decoder.procedure
    burned = procedure.state((CARDS[GONE_ASIDE, FACE, None],) * 2, burning=True)
    lies = tuple(CARDS[SLOTS[slot], FACE, None] for slot in (2, 0, 1, 3))
    for state in (burned, procedure.state(lies)):
        hypotheses = {Hypothesis(1, None, state): 1.0}
        accounts.decoder = SimpleNamespace(hypotheses=hypotheses, procedure=procedure)  # type: ignore[assignment]
        table.play(table.stage.wait(100))
    assert table.coup(1).doubt == "Its cards were taken for the burn."


@pytest.mark.parametrize(("before", "reported"), [(0, 0), (1, 1)], ids=["first", "later"])
def test_cut_card_is_reported_once_and_is_no_card_of_the_coup(before: int, reported: int) -> None:
    """The next card has the next order. The first that leaves a shoe may be an arm as well."""
    table = desk()
    for _ in range(before):
        table.play(deal_coup(table.stage, FIVE, UP))
    table.play(table.stage.deal(Prop(MOUTH, Kind.CUT), Pose(1200, 620, 100)))
    table.play(table.stage.wait(600))
    table.play(table.stage.deal(Prop(MOUTH, Kind.FACE, SIX[0]), PLACES[Slot.PUNTO_1]))
    table.play(table.stage.wait(SURE_MS))
    assert [type(event) for event in table.reported].count(CutCardOut) == reported
    assert laid(table.coup(1 + before)) == as_dealt(SIX[:1], 1 + len(FIVE) * before)


@pytest.mark.parametrize(("kind", "burn", "exposed"),
                         [(Kind.FACE, BurnKind.NONE, True), (Kind.BACK, BurnKind.NONE, False),
                          (Kind.FACE, BurnKind.VALUE, False)])  # fmt: skip
def test_face_that_shows_in_the_hand_is_exposed_where_faces_have_their_turn(
    kind: Kind, burn: BurnKind, *, exposed: bool
) -> None:
    """A card held out face up on its way is alleged; a back is not, nor what may be burned."""
    table = desk(PUNTO_FIRST, burn)
    card = Prop(MOUTH, Kind.BACK, SIX[0])
    carrying = table.stage.deal(card, Pose(1000, 260, 90))
    table.play(carrying)
    card.kind = kind
    table.play(table.stage.wait(350))
    card.kind = Kind.BACK
    table.stage.props.remove(card)
    table.play(table.stage.deal(card, PLACES[Slot.PUNTO_1], start=Pose(1000, 260, 90)))
    table.play(table.stage.wait(800))
    assert table.alleged() == ({"EXPOSED_EARLY"} if exposed else set())


def test_switched_card_is_alleged_with_both_faces() -> None:
    """A read card is hidden and another lies there then: the first face stays, the other beside."""
    table = desk()
    prop = Prop(MOUTH, Kind.FACE, SIX[0])
    table.play(table.stage.deal(prop, PLACES[Slot.PUNTO_1]))
    table.play(table.stage.wait(1000))
    table.play(table.stage.reach(Pose(prop.pose.x, prop.pose.y + 95, 0), 250))
    table.play(table.stage.wait(600))
    prop.card = SIX[1]
    table.play(table.stage.withdraw())
    table.play(table.stage.wait(2500))
    card = table.coup(1).cards[0]
    assert (card.card, card.switched) == (SIX[0], SIX[1])
    assert [(each.code, each.order) for each in table.coup(1).alleged] == [("SWITCH", 1)]


def test_other_face_seen_for_a_moment_is_a_conflict_with_both_names() -> None:
    """The card is cleared before it is known: people hear of it, and nobody is accused."""
    table = desk()
    prop = Prop(MOUTH, Kind.FACE, SIX[0])
    table.play(table.stage.deal(prop, PLACES[Slot.PUNTO_1]))
    table.play(table.stage.wait(1500))
    above = Pose(prop.pose.x, prop.pose.y + 95, 0)
    table.play(table.stage.reach(above, 250))
    table.play(table.stage.wait(600))
    prop.card = SIX[1]
    table.play(table.stage.withdraw())
    table.play(table.stage.wait(100))
    table.play(table.stage.reach(above, 250))
    table.play(table.stage.wait(1000))
    card = table.coup(1).cards[0]
    assert (card.card, card.second, card.switched) == (SIX[0], SIX[1], None)
    assert table.alleged() == {"READ_CONFLICT"}


def test_nothing_is_alleged_of_what_happened_while_nothing_was_seen() -> None:
    """Cards dealt and taken while the camera was away accuse nobody."""
    for seed in range(3):
        table = desk(seed=seed)
        script = deal_coup(table.stage, FIVE, UP)
        for number, _ in enumerate(script):
            table.play(iter([None]), blind=1.5 * FPS < number < 3.7 * FPS)
        table.play(deal_coup(table.stage, SIX, UP))
        assert table.alleged() == set()
        last = [event for event in table.reported if isinstance(event, CoupSeen)][-1]
        assert [str(card.card) for card in last.cards] == [str(card) for card in SIX]


@pytest.mark.parametrize("unseen", [None, "before", "now"])
def test_early_deal_is_alleged_only_where_both_coups_were_seen(unseen: str | None) -> None:
    """A card drawn over lying hands is; where a part of either coup was not seen, nobody is."""
    table = desk()
    for card, slot in zip(NATURAL, Slot, strict=False):
        table.play(table.stage.deal(Prop(MOUTH, Kind.FACE, card), PLACES[slot]))
    table.play(table.stage.wait(1000))
    before = table.follower.accounts.open[-1]
    at = table.stage.frame_number * 1000 // FPS
    now = Account(2, 5, Allegations(50), [CARDS[HAND, BACK, None]], [at])
    before.cards = [CARDS[GONE[card.place.slot or 0], card.side, None] for card in before.cards]
    for account, name in ((before, "before"), (now, "now")):
        account.blind = unseen == name
    table.follower.accounts.open = [before, now]
    values = np.zeros((3, 6))
    values[2] = 3.0
    for _ in range(4):
        table.follower._note_early(at, values)
    codes = {each.code for each in now.alleged.reported(5)}
    assert codes == (set() if unseen else {"EARLY_DEAL"})


@pytest.mark.parametrize("blind", [True, False])
def test_hand_that_nobody_saw_may_have_drawn_in_a_gap(*, blind: bool) -> None:
    """What lies there after a gap was drawn by a hand; without one a card came from nowhere."""
    table = desk()
    table.play(table.stage.wait(1000), blind=blind)
    table.stage.props.append(Prop(PLACES[Slot.PUNTO_1], Kind.FACE, SIX[0]))
    table.play(table.stage.wait(80))
    hypotheses = table.follower.decoder.hypotheses.items()
    drawn = sum(p for hypothesis, p in hypotheses if hypothesis.state.cards)
    assert (drawn > 0.5) is blind


def test_restart_goes_on_with_the_coup_of_the_log() -> None:
    """Cards that lay there before keep their orders and faces; the next has the next order."""
    before = desk()
    props = [Prop(MOUTH, Kind.FACE, card) for card in SIX[:3]]
    for prop, slot in zip(props[:2], Slot, strict=False):
        before.play(before.stage.deal(prop, PLACES[slot]))
    before.play(before.stage.wait(1000))
    lay = before.coup(1)
    after = Desk(before.stage)
    at = before.stage.frame_number * 1000 // before.stage.fps
    after.follower.begin_shoe(3, [card.card for card in lay.cards if card.card is not None])
    after.follower.restore(at, 1, Resumed(1, lay.cards, over=False))
    goes_on = [one.state.cards for one in after.follower.decoder.hypotheses]
    assert [[card.points for card in cards] for cards in goes_on] == [[1, 0], [1, 0]]
    after.play(after.stage.wait(1500))
    after.play(after.stage.deal(props[2], PLACES[Slot.PUNTO_2]))
    after.play(after.stage.wait(6000))
    assert laid(after.coup(1)) == as_dealt(SIX[:3], 1)
    assert after.alleged() == set()


def test_restart_asks_for_a_confirmation_where_other_cards_lie() -> None:
    """A card that came while the reader was off is found, and the coup is to be confirmed."""
    table = desk()
    table.stage.props += [Prop(PLACES[slot], Kind.FACE, SIX[slot]) for slot in list(Slot)[:3]]
    one = SeenCard(1, 0, Life.LYING, Slot.PUNTO_1, face_up=True, card=SIX[0], confidence=1.0)
    after = Desk(table.stage)
    at = table.stage.frame_number * 1000 // table.stage.fps
    after.follower.begin_shoe(2, [SIX[0]])
    after.follower.restore(at, 1, Resumed(1, (one,), over=False))
    after.play(after.stage.wait(7500))
    assert after.alleged() == {"RESTART_CONFIRM"}


def test_reader_that_begins_in_mid_coup_takes_up_what_lies_there() -> None:
    """Cards on the table at the first look are cards of a coup, and accuse nobody."""
    stage = Stage(FPS, props=[Prop(MOUTH, Kind.BACK)])
    stage.props += [Prop(PLACES[slot], Kind.FACE, FIVE[slot]) for slot in list(Slot)[:4]]
    table = Desk(stage)
    table.play(stage.wait(2500))
    table.play(stage.deal(Prop(MOUTH, Kind.FACE, FIVE[4]), PLACES[Slot.PUNTO_3]))
    table.play(stage.wait(1000))
    assert laid(table.coup(1)) == as_dealt(FIVE, 1)
    first = next(event for event in table.reported if isinstance(event, CoupSeen))
    assert [card.face_up for card in first.cards] == [True] * 4
    assert table.alleged() == set()


@pytest.mark.parametrize("past", [True, False], ids=["of the coup that ended", "of a new one"])
def test_shoe_that_begins_while_cards_lie_counts_from_its_own_first(past: bool) -> None:
    """Cards of the shoe before are told of no more; else they are the first of the new one."""
    table = desk()
    for card, slot in zip(NATURAL, Slot, strict=False):
        table.play(table.stage.deal(Prop(MOUTH, Kind.FACE, card), PLACES[slot]))
    table.play(table.stage.wait(800))
    table.reported.clear()
    table.follower.change_shoe(1, (), past=past)
    table.play(table.stage.clear())
    table.play(table.stage.wait(1500))
    assert [event for event in table.reported if isinstance(event, CoupSeen)] == [] or not past
    table.play(table.stage.deal(Prop(MOUTH, Kind.FACE, SIX[1]), PLACES[Slot.PUNTO_1]))
    table.play(table.stage.wait(1000))
    last = [event for event in table.reported if isinstance(event, CoupSeen)][-1]
    assert (last.coup, last.cards[0].order) == ((1, 1) if past else (2, 5))


def test_face_in_the_mouth_is_exposed_once() -> None:
    """A face that shows in the shoe for a third of a second, as none before, is told of, once."""
    table = desk()

    def shown(back: float, face: float, pictures: int) -> None:
        values = np.array([0, -6, -6, 0, back, face, -6, -6, -3, -6, np.nan], np.float32)
        for _ in range(pictures):
            frame = table.stage.picture()
            table.reported += table.follower.see(frame.at, values, None)

    for card, slot in zip(NATURAL[:3], Slot, strict=False):
        shown(0, -6, 5)
        table.play(table.stage.deal(Prop(MOUTH, Kind.FACE, card), PLACES[slot]))
    shown(-6, 0, 30)
    noticed = [event for event in table.reported if isinstance(event, Noticed)]
    assert [event.code for event in noticed] == ["EXPOSED_IN_SHOE"]


# --- what is said of a coup, case by case ---------------------------------------------------------

ALLEGED = 50.0
BARE = Stage(FPS)  # nothing lies there, and nothing is played on it
LAY = tuple(CARDS[place, FACE, None] for place in SLOTS[:4])
KING = Card.parse("Kh")
REST = np.array([6, 0, 0, 0, 0, -6, -6, 6, -6, -6, np.nan], np.float32)


def follower(dealing: str = UP, burn: BurnKind = BurnKind.VALUE) -> Follower:
    """Return a follower that has seen nothing yet."""
    return Desk(BARE, dealing, burn).follower


def believed(
    cards: Cards = LAY, facts: Mapping[str, object] | None = None, *, coup: int = 1
) -> Account:
    """Return an account of a coup whose layout is sure, with these facts."""
    found = Account(coup, 1, Allegations(ALLEGED), list(cards), [0] * len(cards))
    found.layout = tuple(card.place.slot for card in cards if card.place is not SHOE)
    for name, value in (facts or {}).items():
        setattr(found, name, value)
    return found


OPENED = {"p": PLACED, "open_since": 1000}  # it is open how it lies, since one second
OTHER = "It may be P1 B1 P2 B2"
BLIND = "A part of it was not seen."


@pytest.mark.parametrize(
    ("facts", "ms", "decided", "twice", "doubt"),
    [
        ({}, 9000, True, None, ""),
        (OPENED, DOUBT_MS - 1, False, None, ""),
        (OPENED, DOUBT_MS, False, None, OTHER),
        (OPENED, 0, True, None, OTHER),
        ({"p": PLACED}, 9000, False, None, ""),  # it is open since now
        ({**OPENED, "doubt": "It may be."}, 0, False, None, "It may be."),  # it stays as it was
        ({"doubt": "It may be."}, 0, False, None, ""),
        ({**OPENED, "under_way": True}, 9000, False, None, ""),  # it will show
        ({"odds": {OVER: 2.0}, "open_since": 1000}, DOUBT_MS, False, None, "Not decided"),
        ({"odds": {OVER: 2.0}, "blind": True}, 0, False, None, BLIND),
        ({"odds": {OVER: 1.0}, "blind": True}, 0, False, None, ""),
        ({"odds": {RETURNED: ALLEGED}, "blind": True, "mixed": True}, 0, False, KING, BLIND),
        ({"mixed": True}, 0, False, KING, "Its cards were taken for the burn."),
        ({}, 0, False, KING, "Kh was read in two places, and seen to leave the shoe once."),
    ],
)
def test_doubt_about_the_reader_is_what_was_not_seen_or_stays_open(
    facts: dict[str, object], ms: int, twice: Card | None, doubt: str, *, decided: bool
) -> None:
    """It says what a person has to look at; what may still come is waited for."""
    states = {follower().decoder.procedure.state(LAY): 1.0}
    account = believed(LAY, {**facts, "likeliest": tuple(states.items())})
    follower()._doubt(1000 + ms, account, twice, decided=decided)
    assert account.doubt.startswith(doubt)
    assert bool(account.doubt) is bool(doubt)
    is_open = account.is_open(ALLEGED) and not account.under_way
    since = facts.get("open_since", 1000 + ms)
    assert account.open_since == (since if is_open else None)


@pytest.mark.parametrize(
    ("cards", "doubt"), [(LAY[:3], ""), (LAY, OTHER), ((*LAY, CARDS[HAND, BACK, None]), "")]
)
def test_coup_of_fewer_than_four_cards_is_no_doubt_yet(cards: Cards, doubt: str) -> None:
    """Nor is one of which a card is in the hand: nothing is decided that people have to know."""
    states = {follower().decoder.procedure.state(LAY): 1.0}
    account = believed(cards, {**OPENED, "likeliest": tuple(states.items())})
    follower()._doubt(1000 + DOUBT_MS, account, None, decided=False)
    assert account.doubt.startswith(doubt)
    assert bool(account.doubt) is bool(doubt)


def told(account: Account, *, decided: bool = False) -> CoupSeen:
    """Return what is said of an account."""
    (seen,) = follower()._report(7000, account, decided=decided)
    assert isinstance(seen, CoupSeen)
    assert account.published is seen
    return seen


@pytest.mark.parametrize(
    ("facts", "sure", "odds"),
    [
        ({}, True, None),
        ({"odds": {OVER: 123.0}}, True, 100.0),
        ({"odds": {RETURNED: 70.0, OVER: 123.0}}, True, 100.0),
        ({"odds": {RETURNED: ALLEGED}}, True, ALLEGED),
        ({"odds": {RETURNED: ALLEGED - 1}}, False, None),
        ({"uncounted": True, "odds": {OVER: 123.0}}, False, None),
        ({"p": PLACED, "odds": {OVER: 123.0}}, False, 100.0),  # wherever it lies, it was not due
        ({"p": PLACED, "odds": {RETURNED: 123.0}}, False, None),
        ({"p": PLACED, "odds": {OVER: 123.0}, "blind": True}, False, None),
    ],
)
def test_odds_are_stated_of_what_is_sure_or_was_not_due_anyhow(
    facts: dict[str, object], odds: float | None, *, sure: bool
) -> None:
    """With one digit, the worst of them; those that were stated first stand."""
    account = believed(LAY, facts)
    seen = told(account)
    assert (seen.at, seen.coup, seen.sure, seen.odds) == (7000, 1, sure, odds)
    account.odds = {code: 10 * each for code, each in account.odds.items()}
    account.first = 3
    again = told(account)
    if odds is not None:
        assert again.odds == odds
    assert [card.order for card in again.cards] == [3, 4, 5, 6]


def test_nothing_is_alleged_of_a_coup_in_doubt() -> None:
    """And what was is said again once the doubt is over; the same is not said twice."""
    account, follows = believed(), follower()
    account.alleged.take_flashed(1)
    alleged = [[each.code for each in told(account).alleged]]
    account.mixed = True
    seen = told(account)
    alleged.append([each.code for each in seen.alleged])
    assert (alleged, seen.doubt) == ([["EXPOSED_EARLY"], []], "Its cards were taken for the burn.")
    assert follows._report(8000, account) == []


def test_orders_follow_those_of_the_coup_before() -> None:
    """However many cards it proves to have had; that of the shoe before counts no more."""
    follows = follower()
    before, now = believed(), believed(LAY[:2], coup=2)
    before.first = 11
    follows.accounts.open = [before, now]
    follows._report(0, now)
    assert now.first == 15
    before.cards.append(CARDS[GONE[4], FACE, None])
    follows._muted = 1
    follows._report(0, now)
    assert now.first == 15
    follows._muted, follows._before = 0, 7
    (seen,) = follows._report(0, now)
    assert isinstance(seen, CoupSeen)
    assert (now.first, seen.coup, [card.order for card in seen.cards]) == (16, 9, [16, 17])


@pytest.mark.parametrize(
    ("place", "burning", "life", "slot"),
    [
        (HAND, False, Life.OUT, None),
        (SHOE, False, Life.RETURNED, None),
        (SLOTS[1], False, Life.LYING, Slot.BANCO_1),
        (HELD[1, None], False, Life.LYING, Slot.BANCO_1),
        (ASIDE, False, Life.LYING, None),
        (GONE[1], False, Life.REMOVED, Slot.BANCO_1),
        (GONE[1], True, Life.REMOVED, Slot.BANCO_1),
        (GONE_ASIDE, False, Life.REMOVED, None),
        (GONE_ASIDE, True, Life.LYING, None),  # beside the shoe, while the burn goes on
    ],
)
def test_card_is_told_of_by_where_it_is(
    place: Place, life: Life, slot: Slot | None, *, burning: bool
) -> None:
    """And when it left, face up or down."""
    for side in (BACK, FACE):
        account = believed((CARDS[place, side, None],), {"burning": burning})
        account.left_at = [123]
        (card,) = told(account).cards
        assert card == SeenCard(1, 123, life, slot, face_up=side is FACE)


def test_face_beside_the_slots_is_of_the_first_card_there() -> None:
    """Of a card in the hand none is known; a face that was read showed."""
    follows = follower()
    follows.faces.restore(Where(1, None), KING, 0.9)
    follows.faces.restore(Where(1, 0), SIX[0], 0.8)
    places = (SLOTS[0], HAND, GONE_ASIDE, ASIDE)
    account = believed(tuple(CARDS[place, BACK, None] for place in places))
    (seen,) = follows._report(0, account)
    assert isinstance(seen, CoupSeen)
    found = [(card.card, card.confidence, card.face_up) for card in seen.cards]
    none = (None, 0.0, False)
    assert found == [(SIX[0], 0.8, True), none, (KING, 0.9, True), none]


# --- what is begun, gone on with, or found --------------------------------------------------------


@pytest.mark.parametrize(
    ("burn", "order", "stated", "p"),
    [
        (BurnKind.VALUE, 1, BURN_SEEN, BURN_SEEN),
        (BurnKind.VALUE, 1, BURN_REPORTED, BURN_REPORTED),
        (BurnKind.VALUE, 2, BURN_REPORTED, 0),
        (BurnKind.NONE, 1, BURN_REPORTED, 0),
    ],
)
def test_first_cards_of_a_shoe_may_be_burned(
    burn: BurnKind, order: int, stated: float, p: float
) -> None:
    """Where the house burns; later ones are not, nor do cards lie there from before."""
    follows = follower(burn=burn)
    follows.begin_shoe(order, (), burn=stated)
    hypotheses = follows.decoder.hypotheses.items()
    assert sum(each for one, each in hypotheses if one.state.burning) == pytest.approx(p)
    assert follows.accounts.next == order
    assert (follows._first is None) is (order > 1)


LEFT = (
    SeenCard(4, 10, Life.LYING, Slot.PUNTO_1, face_up=True, card=SIX[0], confidence=0.9),
    SeenCard(3, 20, Life.LYING, Slot.BANCO_1),
    SeenCard(5, 30, Life.REMOVED, Slot.PUNTO_2, face_up=True, card=SIX[2], confidence=0.8),
    SeenCard(6, 40, Life.OUT, face_up=True),
    SeenCard(7, 50, Life.RETURNED),
    SeenCard(8, 60, Life.LYING, face_up=True, card=SIX[3], confidence=0.7),
    SeenCard(9, 70, Life.REMOVED),
)
LEFT_THERE: tuple[CoupCard, ...] = (
    CARDS[SLOTS[0], FACE, 1],
    CARDS[SLOTS[1], BACK, None],
    CARDS[GONE[2], FACE, SIX[2].points],
    CARDS[HAND, BACK, None],
    CARDS[SHOE, BACK, None],
    CARDS[ASIDE, FACE, SIX[3].points],
    CARDS[GONE_ASIDE, BACK, None],
)


def test_cards_of_the_log_are_where_they_were_left() -> None:
    """Or were taken meanwhile; faces are known, and what lies there is compared for a time."""
    follows = follower()
    follows.restore(5000, 8, Resumed(6, LEFT, over=True))
    likely = {one.state.cards: p for one, p in follows.decoder.hypotheses.items()}
    assert likely[LEFT_THERE] == pytest.approx(1 - TAKEN_MEANWHILE)
    assert {one.coup for one in follows.decoder.hypotheses} == {1}
    (account,) = follows.accounts.open
    assert (account.cards, account.left_at) == (list(LEFT_THERE), [10, 20, 30, 40, 50, 60, 70])
    assert (account.first, account.found, account.burning, account.blind) == (
        3,
        set(),
        False,
        False,
    )
    restart = account.alleged.restart
    assert restart is not None
    assert (restart.until, restart.lay, restart.over) == (5000 + RESTART_MS, {0, 1}, True)
    reads = {where: face.read for where, face in follows.faces.faces.items()}
    assert reads == {
        Where(1, 0): SIX[0], Where(1, 2): SIX[2], Where(1, None): SIX[3],
    }  # fmt: skip
    assert follows._before == 5
    assert follows.waiting
    bare = follower()
    bare.restore(5000, 8, None)
    assert (bare._before, bare.accounts.open, bare.waiting) == (8, [], False)


def looks(places: Sequence[Slot], *, score: float = STRONG) -> tuple[SlotObservation, ...]:
    """Return what slots show in which cards lie, face up."""
    box = Detection(np.zeros((4, 2), np.float32), Kind.FACE, score)
    return tuple(
        SlotObservation(0, box if slot in places else None, 0.0, moves=False) for slot in Slot
    )


@pytest.mark.parametrize(
    ("last", "shown", "score", "cards"),
    [
        (BEGUN_MS, 2, STRONG, 1),
        (BEGUN_MS - 1, 3, STRONG, 0),  # not looked for long enough
        (BEGUN_MS, 1, STRONG, 0),  # in fewer than half of the looks
        (BEGUN_MS, 4, STRONG - 0.01, 0),
    ],
)
def test_cards_that_lie_there_from_the_first_look_on_are_of_a_coup_begun_before(
    last: int, shown: int, score: float, cards: int
) -> None:
    """In half of the looks or more, and surely; a part of it was not seen."""
    follows = follower()
    for number, at in enumerate((5000, 5100, 5200, 5000 + last)):
        follows._shown = looks([Slot.BANCO_1] if number < 2 or number >= 5 - shown else [])
        lying = [Slot.BANCO_1] if number < shown else []
        follows._note_begun(at, looks(lying, score=score))
    found = [(a.cards, a.left_at, a.blind, a.burning) for a in follows.accounts.open]
    there = ([CARDS[SLOTS[1], BACK, None]], [5000 + last], True, False)
    assert [each[1:] for each in found] == [there[1:]] * cards
    assert [[card.place for card in each[0]] for each in found] == [[SLOTS[1]]] * cards
    assert (follows._first is None) is (last == BEGUN_MS)


def test_card_that_came_out_was_none_of_a_coup_begun_before() -> None:
    """The reader saw it leave: the coup began before its eyes."""
    follows = follower()
    follows._note_begun(0, looks([Slot.PUNTO_1]))
    account = believed(LAY[:1])
    follows.accounts.open = [account]
    follows._note_begun(BEGUN_MS, looks([Slot.PUNTO_1]))
    assert follows.accounts.open == [account]
    assert follows._first is None


@pytest.mark.parametrize(("ms", "blind"), [(GAP_MS, False), (GAP_MS + 1, True)])
@pytest.mark.parametrize("still", [False, True])
def test_coup_was_not_seen_whole_across_a_gap(ms: int, *, still: bool, blind: bool) -> None:
    """But where the time was seen to be still; nobody knows how long a hand was there then."""
    follows = follower()
    follows.see(1000, REST, None)
    follows.accounts.open = [believed()]
    follows.see(1000 + ms, REST, None, still_at=1000 + ms * still)
    assert follows.accounts.open[0].blind is (blind and not still)
    follows.miss()
    assert follows.accounts.open[0].blind


@pytest.mark.parametrize(("ms", "again"), [(HIDDEN_MS - 1, False), (HIDDEN_MS, True)])
def test_face_is_read_again_where_nothing_was_seen_for_a_time(ms: int, *, again: bool) -> None:
    """Counted from the last picture: in a moment nobody puts another card there."""
    follows = follower()
    follows.see(1000, REST, None)
    follows.faces.restore(Where(1, 0), SIX[0], 1.0)
    follows.miss()
    face = follows.faces.faces[Where(1, 0)]
    face.note(1000 + ms, Kind.FACE, ())
    assert face.waits is again


@pytest.mark.parametrize(
    ("ms", "muted", "alleged"),
    [(EARLY_MS, 0, True), (EARLY_MS + 1, 0, False), (0, 1, False), (0, 0, True)],
)
def test_cards_of_the_coup_before_are_watched_for_a_moment(
    ms: int, muted: int, *, alleged: bool
) -> None:
    """Not those of the shoe before, nor where the first card of the next coup comes to lie."""
    follows = follower()
    before = believed((CARDS[GONE[1], FACE, None], CARDS[GONE[0], FACE, None]))
    now = believed((CARDS[HAND, BACK, None],), coup=2)
    follows.accounts.open, follows._muted = [before, now], muted
    values = np.zeros((3, 6))
    values[2, 0] = 99.0
    follows._note_early(ms, values)
    assert now.alleged.reported(1) == ()
    values[2, 1] = 99.0
    follows._note_early(ms, values)
    assert bool(now.alleged.reported(1)) is alleged


def test_card_that_hides_the_shoe_for_long_leaves_the_burn_uncounted() -> None:
    """While it is burned; a coup's cards are counted where they lie."""
    for burning in (True, False):
        follows = follower()
        follows.accounts.open = [believed(LAY, {"burning": burning})]
        state = follows.decoder.procedure.state
        for at, lip, uncounted in (
            (1000, Lip.REST, False),
            (1000 + HIDES_MS, Lip.WHOLLY, False),
            (1001 + HIDES_MS, Lip.CLEAR, burning),
        ):
            out, rest = state(LAY, lip), state(LAY)
            follows.decoder.hypotheses = {
                Hypothesis(1, None, out): 0.5,
                Hypothesis(1, rest, rest): 0.5,
            }
            assert not list(follows._at_lip(at, REST))
            assert follows.out == (0.0 if lip is Lip.REST else 0.5)
            assert follows.accounts.open[0].uncounted is uncounted


@pytest.mark.parametrize(
    ("look", "lies"),
    [
        ({}, True),
        ({"box": None}, False),
        ({"moves": True}, False),
        ({"covered": COVERED}, True),
        ({"covered": COVERED + 0.01}, False),
    ],
)
def test_face_is_read_of_a_card_that_lies_in_clear_sight(
    look: dict[str, object], *, lies: bool
) -> None:
    """Where one is believed to lie, and nothing moves there or covers it; beside the slots once."""
    follows = follower()
    seen = replace(looks([Slot.PUNTO_1])[0], **look)  # type: ignore[arg-type]
    places = [seen, *looks([Slot.BANCO_1])[1:]]
    aside = [Detection(np.zeros((4, 2), np.float32), Kind.FACE, each) for each in (0.7, 0.8)]
    assert follows._lying(places, aside) == {}
    account = believed(LAY[:1], coup=3)
    follows.accounts.open = [account]
    assert follows._lying(places, aside) == {}
    for beside, found in ((HAND, []), (ASIDE, aside[:1]), (GONE_ASIDE, aside[:1])):
        state = follows.decoder.procedure.state((LAY[0], CARDS[beside, BACK, None]))
        account.likeliest = ((state, 1.0),)
        where = follows._lying(places, aside)
        assert where == (
            {Where(3, 0): seen.box} if lies else {}
        ) | {Where(3, None): each for each in found}  # fmt: skip


def test_cards_are_drawn_where_they_lie_as_they_were_told() -> None:
    """In the box that shows them, else in their slot; what lies nowhere is not drawn."""
    table = desk()
    follows = table.follower
    assert (follows.cards(), follows.likeliest()) == ((), ())
    account = believed((*LAY[:2], CARDS[GONE[2], FACE, None], CARDS[HAND, BACK, None]))
    follows.accounts.open = [account]
    assert follows.cards() == ()
    (seen,) = follows._report(0, account)
    assert isinstance(seen, CoupSeen)
    follows._shown = ()  # of a reader that begins, before its first look
    assert [card.seen for card in follows.cards()] == [False, False]
    quad = follows._view.quad_px(PLACES[Slot.PUNTO_1])
    box = Detection(quad, Kind.FACE, 0.9)
    follows._shown = tuple(
        SlotObservation(0, box if slot is Slot.PUNTO_1 else None, 0.0, moves=False) for slot in Slot
    )
    drawn = follows.cards()
    assert [(card.reported, card.seen) for card in drawn] == [
        (seen.cards[0], True), (seen.cards[1], False),
    ]  # fmt: skip
    assert drawn[0].quad.mean(axis=0) == pytest.approx(quad.mean(axis=0), abs=1.0)
    slot = follows._view.homography.to_px(follows._view.slots[Slot.BANCO_1])
    assert np.array_equal(drawn[1].quad, slot)


def at_lip(follows: Follower, at: int, shares: dict[Lip, float]) -> list[Event]:
    """Return what is told where the lip shows these states with these probabilities."""
    state = follows.decoder.procedure.state
    follows.decoder.hypotheses = {
        Hypothesis(1, None, state(LAY, lip)): p for lip, p in shares.items()
    }
    return list(follows._at_lip(at, REST))


@pytest.mark.parametrize(
    ("shares", "reported"),
    [
        ({Lip.CUT: 0.3, Lip.WHOLLY: 0.3, Lip.REST: 0.4}, True),
        ({Lip.CUT: 0.3, Lip.WHOLLY: 0.6, Lip.REST: 0.1}, False),  # a card after all
        ({Lip.CUT: 0.1, Lip.EMERGING: 0.5, Lip.PARTLY: 0.4}, True),
        ({Lip.CUT: 0.1, Lip.STAYS: 0.5, Lip.RETURNING: 0.4}, False),
    ],
)
def test_cut_card_is_out_once_the_next_card_is(shares: dict[Lip, float], *, reported: bool) -> None:
    """What neither waits nor is the cut card is another card."""
    follows = follower()
    steps = [{Lip.CUT: 1.0}, shares, {Lip.REST: 1.0}, {Lip.CLEAR: 1.0}, {Lip.CLEAR: 1.0}]
    times = [*range(len(steps)), 3 + SURE_MS, 4 + SURE_MS]
    steps += [{Lip.REST: 1.0}] * 2
    found = [
        event for at, each in zip(times, steps, strict=True) for event in at_lip(follows, at, each)
    ]
    assert found == [CutCardOut(3 + SURE_MS)] * reported


def test_card_is_wholly_out_in_the_states_that_show_it() -> None:
    """Just out, for a moment, held before the shoe, or left there."""
    follows = follower()
    at_lip(
        follows,
        0,
        {Lip.WHOLLY: 0.1, Lip.CLEAR: 0.2, Lip.LINGERS: 0.25, Lip.STAYS: 0.3, Lip.REST: 0.15},
    )
    assert follows.out == pytest.approx(0.85)
    assert follows._free_at == 0
    at_lip(follows, 700, {Lip.WHOLLY: 0.2, Lip.CLEAR: 0.2, Lip.CUT: 0.6})
    assert follows._free_at == 700


@pytest.mark.parametrize("past", [True, False])
def test_shoe_that_begins_over_lying_cards_goes_on_with_them_as_new(past: bool) -> None:
    """They are its first coup, or the last of the one before, and nothing was said of them yet."""
    follows = follower()
    follows.accounts.open = [believed(coup=2), believed(coup=3)]
    running = follows.accounts.open[-1]
    running.alleged.take_flashed(1)
    follows._report(0, running)
    running.doubt, running.open_since = "a", 5
    follows.change_shoe(11, (), past=past)
    (now,) = follows.accounts.open
    assert (now.coup, now.cards, now.first, now.doubt) == (3, list(LAY), 11, "")
    assert (now.published, now.open_since, now.alleged.reported(1)) == (None, None, ())
    assert (follows._muted, follows._before) == ((3, -3) if past else (2, -2))
    assert follows.accounts.next == 11


def test_shoe_that_begins_over_a_bare_table_begins_anew() -> None:
    """Cards that are gone are of no coup of it."""
    for cards in ((), (CARDS[GONE[0], FACE, None], CARDS[GONE_ASIDE, BACK, None])):
        follows = follower()
        follows.accounts.open, follows._muted = [believed(cards)] if cards else [], 4
        before = follows.decoder
        follows.change_shoe(11, (), past=True)
        assert (follows.accounts.open, follows.accounts.next, follows._muted) == ([], 11, 0)
        assert follows.decoder is not before
