"""From pictures to what is said of a coup: as dealt, and nothing alleged of what was not seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from vision.sight.detection.classifier import Classifier
from vision.sight.detection.detector import Kind
from vision.sight.following.cards import BACK, CARDS, FACE, GONE, GONE_ASIDE, HAND, SLOTS
from vision.sight.following.decisions import Account, Allegations
from vision.sight.following.follower import Follower, Resumed, Sight
from vision.sight.following.hypotheses import Hypothesis
from vision.sight.following.places import LEAST_SCORE, SlotWatch
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
    burned = procedure.state((CARDS[GONE_ASIDE, FACE, None],), burning=True)
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
    table.play(table.stage.wait(1000))
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
