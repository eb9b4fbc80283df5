"""A view that is wrong is said to be, and meanwhile nothing of a coup is reported."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import cv2
import numpy as np
import pytest

from tests.sight.film import table_view
from vision.game.cards import Card, parse_cards
from vision.game.events import CoupSeen, Event, Life, Noticed, SeenCard, Slot
from vision.game.tableau import DEAL_ORDER
from vision.sight.detection.classifier import FACES, Observation
from vision.sight.detection.detector import Detection, Kind
from vision.sight.following.places import SlotObservation
from vision.sight.geometry.plane import Image, Points, Pose, TableView
from vision.sight.quality.table_fit import DRAWN_MS, HANDS, MIRROR, MOUTH, UNREAD, Drift, TableFit

REST, WHOLLY = 0.0, 1.0  # how likely a card is wholly out
VIEW = table_view()
ACE = parse_cards("As")[0]
CARD_MS, COUP_MS = 2_000, 20_000
IMAGE = np.zeros((8, 8, 3), np.uint8)
EXCHANGED = (Slot.BANCO_1, Slot.PUNTO_1, Slot.BANCO_2, Slot.PUNTO_2)
Classify = Callable[[Image, Sequence[Points]], Iterator[Observation]]


def sure(_image: Image, quads: Sequence[Points]) -> Iterator[Observation]:
    """Read the first of two pictures of a card surely, the mirrored one not."""
    return (look_of(share) for share in (0.99, 0.3)[: len(quads)])


def surer_mirrored(_image: Image, quads: Sequence[Points]) -> Iterator[Observation]:
    """Read the mirrored one of two pictures of a card more surely."""
    return (look_of(share) for share in (0.6, 0.99)[: len(quads)])


def look_of(share: float) -> Observation:
    """Return a look that gives one face that probability."""
    shares = np.full(FACES, (1 - share) / (FACES - 1), np.float32)
    shares[0] = share
    return Observation(np.log(shares), readable=1.0)


def fit_of(view: TableView = VIEW, classify: Classify = sure) -> TableFit:
    """Return a check of a view of a house that deals as due."""
    return TableFit(view, DEAL_ORDER, classify)


def coup(
    fit: TableFit,
    number: int,
    slots: Sequence[Slot] = DEAL_ORDER,
    *,
    drawn: bool = True,
    card: Card | None = ACE,
    size: float = 1.0,
) -> list[tuple[Event, ...]]:
    """Deal a coup into those slots; return what is reported as each card lies, but `is_out_only`.

    `drawn`: the mouth shows each card; `card` is what all read as, `None`: declined; they
    look so many times as large as the table file says.
    """
    begin, reported = number * COUP_MS, []
    cards: tuple[SeenCard, ...] = ()
    show(fit, begin - CARD_MS, ())
    for index, slot in enumerate(slots):
        at = begin + index * CARD_MS
        order = 4 * number + index
        cards += (SeenCard(order, at, Life.OUT),)
        out = CoupSeen(at, number, cards)
        found = [*fit.take(at, WHOLLY if drawn else REST, [out])]
        lying = SeenCard(order, at, Life.LYING, slot, card=card, declined=card is None)
        cards = (*cards[:-1], lying)
        show(fit, at + 200, slots[: index + 1], size)
        show(fit, at + 700, slots[: index + 1], size)
        found += fit.take(at + 800, REST, [CoupSeen(at + 800, number, cards)])
        reported.append(tuple(event for event in found if not is_out_only(event)))
    return reported


def is_out_only(event: Event) -> bool:
    """Whether no more is reported of a coup than that cards are out."""
    if not isinstance(event, CoupSeen) or event.sure:
        return False
    return all(card == SeenCard(card.order, card.out_at, Life.OUT) for card in event.cards)


def out_of(events: Sequence[Event]) -> list[tuple[int, list[int]]]:
    """Return the coup and the orders of the cards that are reported to be out, and no more."""
    coups = (event for event in events if isinstance(event, CoupSeen) and is_out_only(event))
    return [(event.coup, [card.order for card in event.cards]) for event in coups]


def show(fit: TableFit, at: int, slots: Sequence[Slot], size: float = 1.0) -> None:
    """Show cards at rest in the middle of those slots, and nothing in the others."""
    boxes = {slot: in_slot(slot, Drift(size, 1.0, 0.0, 0.0, 0.0)) for slot in slots}
    shown = [SlotObservation(0, boxes.get(slot), 0.0, moves=False) for slot in Slot]
    fit.look(at, IMAGE, shown, [*boxes.values()])


def in_slot(slot: Slot, drift: Drift) -> Detection:
    """Return the box of a face that lies where the slot's middle is after a drift, in its size."""
    size = replace(VIEW, card_mm=(63.0 * drift.size, 88.0 * drift.size))
    x, y = drift.moved(VIEW.slots[slot].mean(axis=0)[None])[0]
    return Detection(size.quad_px(Pose(float(x), float(y), 90.0)), Kind.FACE, 0.9)


def lies(fit: TableFit, times: float = 1.0, *, begin: int = 0) -> None:
    """Show cards in their slots for two coups, so many times as large as the table file says."""
    lay(fit, Drift(times, 1.0, 0.0, 0.0, 0.0), begin=begin)
    fit.take(begin + 40_000, REST, [])


def test_right_view_is_believed_from_the_third_card_on() -> None:
    """Two cards that were seen to leave and lie where they are due are not enough, three are."""
    first, second, third, fourth = coup(fit_of(), 1)
    assert (first, second) == ((), ())
    assert [event.cards[-1].slot for event in third if isinstance(event, CoupSeen)] == [
        Slot.PUNTO_2
    ]
    assert len(fourth) == 2


def test_cards_of_the_first_coup_are_out_before_the_view_is_believed() -> None:
    """That they left the shoe is known; where they lie comes in the place of it."""
    fit = fit_of()
    card = SeenCard(4, 0, Life.OUT)
    assert out_of(fit.take(0, WHOLLY, [CoupSeen(0, 1, (card,))])) == [(1, [4])]
    lying = replace(card, life=Life.LYING, slot=Slot.PUNTO_1, card=ACE)
    assert fit.take(500, REST, [CoupSeen(500, 1, (lying,))]) == ()
    both = (lying, SeenCard(5, 900, Life.OUT))
    assert out_of(fit.take(900, WHOLLY, [CoupSeen(900, 1, both)])) == [(1, [4, 5])]
    found = fit.take(1500, REST, [CoupSeen(1500, 1, (both[0],))])
    assert out_of(found) == [(1, [4])]
    assert (
        out_of(fit.take(COUP_MS, WHOLLY, [CoupSeen(COUP_MS, 2, (replace(card, order=5),))])) == []
    )


def test_burn_is_reported_before_the_view_is_believed_and_the_outs_behind_it() -> None:
    """The coup's first card seemed to be burned until it lay. A wrong view takes back the coup."""
    fit = fit_of()
    shown = SeenCard(1, 0, Life.LYING, card=ACE)
    burn = (shown, SeenCard(2, 900, Life.LYING))
    assert fit.take(500, REST, [CoupSeen(500, 1, (shown,))]) == (
        CoupSeen(500, 1, (shown,), sure=False),
    )
    more = (*burn, SeenCard(3, 5000, Life.OUT))
    assert fit.take(5000, WHOLLY, [CoupSeen(5000, 1, more)]) == (
        CoupSeen(5000, 1, more, sure=False),
    )
    lies = SeenCard(3, 5000, Life.LYING, Slot.PUNTO_1, card=ACE)
    found = fit.take(6000, REST, [CoupSeen(6000, 1, burn), CoupSeen(6000, 2, (lies,))])
    assert found == (
        CoupSeen(6000, 1, burn, sure=False),
        CoupSeen(6000, 2, (SeenCard(3, 5000, Life.OUT),), sure=False),
    )
    fit._why = lambda: HANDS  # type: ignore[method-assign]
    assert fit.take(7000, REST, []) == (CoupSeen(7000, 2, (), sure=False),)


def test_cards_that_lay_there_already_are_not_out() -> None:
    """Nobody saw them leave the shoe."""
    lying = SeenCard(4, 0, Life.LYING, Slot.PUNTO_1)
    assert fit_of().take(0, REST, [CoupSeen(0, 1, (lying,))]) == ()


def test_cards_that_were_out_are_none_where_the_view_is_wrong() -> None:
    """They are taken back as the reader becomes blind, and their number is the next coup's."""
    fit, reported = fit_of(), list[Event]()
    take = fit.take

    def taken(at: int, out: float, events: Sequence[Event]) -> tuple[Event, ...]:
        found = take(at, out, events)
        reported.extend(found)
        return found

    fit.take = taken  # type: ignore[method-assign,assignment]
    coup(fit, 1, EXCHANGED)
    assert out_of(reported) == [(1, [4]), (1, [4, 5]), (1, [4, 5, 6]), (1, [4, 5, 6, 7])]
    coup(fit, 2, EXCHANGED)
    assert fit.reason == HANDS
    assert out_of(reported)[4:] == [(1, [])]
    coup(fit, 3)
    assert out_of(reported)[5:] == [(1, [14])]
    assert isinstance(reported[-1], CoupSeen)
    assert (reported[-1].coup, len(reported[-1].cards)) == (1, 4)


def test_exchanged_hands_are_reported_after_two_coups_and_nothing_before() -> None:
    """Neither coup is reported, and the reason asks for what is to be put right."""
    fit = fit_of()
    assert not any(coup(fit, 1, EXCHANGED))
    assert fit.reason is None
    assert not any(coup(fit, 2, EXCHANGED))
    assert fit.reason == HANDS


def test_one_card_of_the_next_coup_ends_no_exchanged_hands() -> None:
    """The second of its cards says which hand the first one was of."""
    fit = fit_of()
    coup(fit, 1, EXCHANGED)
    coup(fit, 2, EXCHANGED)
    coup(fit, 3, DEAL_ORDER[:1])
    assert fit.reason == HANDS


def test_cards_of_which_the_first_was_not_seen_say_nothing_of_the_hands() -> None:
    """Two cards that a hand uncovers at once may have come in either order."""
    fit = fit_of()
    coup(fit, 1)
    for at in (2 * COUP_MS, 3 * COUP_MS, 4 * COUP_MS):
        show(fit, at, ())
        show(fit, at + 1000, EXCHANGED[:2])
        assert fit.take(at + 1500, REST, [Noticed(at, "EXPOSED_IN_SHOE")])
    assert fit.reason is None


def test_one_coup_in_the_wrong_order_is_reported_once_the_next_begins_right() -> None:
    """A dealer's mistake in the first coup of a run is not lost."""
    fit = fit_of()
    assert not any(coup(fit, 1, EXCHANGED))
    reported = [event for events in coup(fit, 2) for event in events]
    assert isinstance(reported[0], CoupSeen)
    assert [card.slot for card in reported[0].cards] == list(EXCHANGED)
    assert fit.reason is None


def test_mistake_of_a_later_coup_is_reported_at_once() -> None:
    """Once the view is believed, hands that are exchanged once are the dealer's doing."""
    fit = fit_of()
    coup(fit, 1)
    assert all(coup(fit, 2, EXCHANGED))
    assert not any(coup(fit, 3, EXCHANGED)[1:])
    assert fit.reason == HANDS


def test_coups_are_counted_on_where_the_view_is_right_again() -> None:
    """What was dealt meanwhile is not reported, and the next coup has the next number.

    Of the third one card was out, before it was known where it would lie.
    """
    fit = fit_of()
    coup(fit, 1)
    for number in (2, 3, 4):
        coup(fit, number, EXCHANGED)
    assert fit.reason == HANDS
    reported = [event for events in coup(fit, 5) for event in events]
    assert fit.reason is None
    assert {event.coup for event in reported if isinstance(event, CoupSeen)} == {4}


def test_cards_that_nobody_saw_leave_are_the_fault_of_the_mouth() -> None:
    """Eight cards come to lie, and the mouth showed none."""
    fit = fit_of()
    assert not any(coup(fit, 1, drawn=False))
    assert not any(coup(fit, 2, drawn=False))
    assert fit.reason == MOUTH
    coup(fit, 3)
    coup(fit, 4)
    assert fit.reason is None


def test_hands_that_clear_the_table_are_no_draws() -> None:
    """Two passages at a mouth that is elsewhere do not make up for a coup that nobody saw leave."""
    fit = fit_of()
    assert not any(coup(fit, 1, drawn=False))
    for at in (2 * COUP_MS - 4000, 2 * COUP_MS - 2000):
        fit.take(at, WHOLLY, [])
        fit.take(at + 500, REST, [])
    assert not any(coup(fit, 2, drawn=False))
    assert fit.reason == MOUTH


def test_card_was_seen_to_leave_however_late_its_place_is_known() -> None:
    """In a first coup of which it was long open whether its cards are burned."""
    fit, begin = fit_of(), COUP_MS
    show(fit, begin - CARD_MS, ())
    for index in range(4):
        fit.take(begin + index * CARD_MS, WHOLLY, [])
        fit.take(begin + index * CARD_MS + 500, REST, [])
        for later in (700, 1200):
            show(fit, begin + index * CARD_MS + later, DEAL_ORDER[: index + 1])
    cards = tuple(
        SeenCard(4 + index, begin + index * CARD_MS, Life.LYING, slot, card=ACE)
        for index, slot in enumerate(DEAL_ORDER)
    )
    late = begin + 10 * DRAWN_MS
    assert fit.take(late, REST, [CoupSeen(late, 1, cards)])


def test_single_card_that_the_mouth_missed_holds_nothing_back() -> None:
    """The mouth may miss a card."""
    fit = fit_of()
    coup(fit, 1)
    assert all(coup(fit, 2, DEAL_ORDER[:1], drawn=False))


def test_what_is_noticed_waits_with_the_coups() -> None:
    """A face in the mouth may be a face on the table, until the view is believed."""
    fit = fit_of()
    exposed = Noticed(0, "EXPOSED_IN_SHOE")
    assert fit.take(0, REST, [exposed]) == ()
    _, _, third, _ = coup(fit, 1)
    assert isinstance(third[0], Noticed)
    assert third[0].code == "EXPOSED_IN_SHOE"


def test_nothing_read_of_two_coups_is_a_reason() -> None:
    """Until a face is read, what is declined is reported neither."""
    fit = fit_of()
    assert not any(events for events in coup(fit, 1, card=None))
    coup(fit, 2, card=None)
    assert fit.reason == UNREAD


def test_unread_cards_are_reported_where_others_are_read() -> None:
    """A view in which a face was read is not doubted for faces that are not."""
    fit = fit_of()
    coup(fit, 1)
    assert all(coup(fit, 2, card=None))
    assert all(coup(fit, 3, card=None))


@pytest.mark.parametrize("times", [0.6, 1.6])
def test_cards_of_no_size_that_a_card_has_are_a_reason(times: float) -> None:
    """The reason says how large they look; cards of the right size end it."""
    fit = fit_of()
    lies(fit, times)
    assert fit.reason is not None
    assert f"{times:.2f} times" in fit.reason
    lies(fit, begin=100_000)
    assert fit.reason is None


def test_mirrored_picture_is_a_reason() -> None:
    """Faces that read more surely in a mirror are in mirror image."""
    fit = fit_of(VIEW, surer_mirrored)
    lies(fit)
    assert fit.reason == MIRROR


def test_mirror_image_is_judged_on_cards_in_the_size_that_they_have() -> None:
    """A view of the wrong scale cuts no card to pieces, half of which might read mirrored."""
    sizes: list[float] = []

    def classify(image: Image, quads: Sequence[Points]) -> Iterator[Observation]:
        sizes.extend(cv2.contourArea(quad) for quad in quads)
        return sure(image, quads)

    for times in (1.0, 1.3):
        lies(fit_of(VIEW, classify), times)
    assert max(sizes) / min(sizes) == pytest.approx(1.3**2, rel=0.1)


def test_slots_on_one_another_are_a_reason_from_the_beginning() -> None:
    """No card says so, the table file does."""
    slots = {**VIEW.slots, Slot.PUNTO_2: VIEW.slots[Slot.PUNTO_1]}
    fit = fit_of(replace(VIEW, slots=slots))
    assert fit.reason is not None
    assert fit.reason.startswith("Punto 1 lies on Punto 2")
    assert not any(coup(fit, 1))


def about_the_middle(drift: Drift) -> Drift:
    """Return a drift that turns and spreads about the middle of all slots, not the origin."""
    middle = np.mean([area.mean(axis=0) for area in VIEW.slots.values()], axis=0)
    x, y = middle - drift._replace(x=0.0, y=0.0).moved(middle[None])[0]
    return drift._replace(x=drift.x + float(x), y=drift.y + float(y))


def lay(fit: TableFit, drift: Drift, coups: int = 2, *, begin: int = 0) -> None:
    """Show four cards at rest where the slots lie after a drift, in its size, coup by coup.

    A card that lies farther than 45 mm from its slot's middle is none of the slot.
    """
    shown, boxes = [], []
    for slot in Slot:
        middle = VIEW.slots[slot].mean(axis=0)
        x, y = drift.moved(middle[None])[0]
        box = in_slot(slot, drift)
        boxes += [box] if slot < Slot.PUNTO_3 else []
        there = box if boxes[-1] is box and np.hypot(x - middle[0], y - middle[1]) < 45 else None
        shown.append(SlotObservation(0, there, 0.0, moves=False))
    bare = [SlotObservation(0, None, 0.0, moves=False)] * len(Slot)
    for index in range(coups * 20):
        lies_there = index % 20 < 15
        fit.look(
            begin + index * 500, IMAGE, shown if lies_there else bare, boxes if lies_there else []
        )


@pytest.mark.parametrize(
    "drift",
    [Drift(1.0, 1.0, 30.0, -10.0, 0.0), Drift(1.0, 1.0, 0.0, 48.0, 0.0),
     Drift(1.3, 1.0, 0.0, 0.0, 0.0), Drift(0.7, 1.0, 0.0, 0.0, 0.0),
     about_the_middle(Drift(0.9, 0.95, 15.0, 15.0, 2.0))],
    ids=["moved", "beside their slots", "larger", "smaller", "all"],
)  # fmt: skip
def test_drift_names_the_numbers_that_mend_it(drift: Drift) -> None:
    """After two coups: what is said, given to `calibrate`, puts the areas where the cards lie."""
    fit = fit_of()
    lay(fit, drift)
    words = fit.drift()
    assert words is not None
    found = Drift(*map(float, words.partition("--moved")[2].split()))
    assert found.size == pytest.approx(drift.size, rel=0.02)
    for slot in (Slot.PUNTO_1, Slot.BANCO_2):
        there = [each.moved(VIEW.slots[slot]) for each in (found, drift)]
        assert np.abs(there[0] - there[1]).max() < 4


def test_cards_that_lie_in_their_slots_are_no_drift() -> None:
    """Nor is one coup enough."""
    fit = fit_of()
    lay(fit, Drift(1.02, 1.0, 4.0, 5.0, 0.5))
    assert fit.drift() is None
    once = fit_of()
    lay(once, Drift(1.0, 1.0, 40.0, 0.0, 0.0), coups=1)
    assert once.drift() is None


def test_nothing_read_of_cards_of_another_size_is_a_drift() -> None:
    """The cure is to measure again, not light and lens."""
    fit = fit_of()
    coup(fit, 1, card=None, size=0.7)
    coup(fit, 2, card=None, size=0.7)
    assert fit.reason is not None
    assert fit.reason.startswith("Cards look 0.70 times as large")
