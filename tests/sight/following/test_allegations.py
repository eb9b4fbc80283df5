"""What sight itself alleges of a coup."""

import numpy as np
import pytest

from vision.game.cards import Card
from vision.game.events import Slot
from vision.sight.following.cards import (
    ASIDE,
    BACK,
    CARDS,
    FACE,
    GONE,
    HAND,
    HELD,
    SHOE,
    SLOTS,
    UNSEEN,
    Cards,
    CoupCard,
    Place,
)
from vision.sight.following.decisions import OUT, PLACED, Account, Allegations, Restart
from vision.sight.following.evidence import Lip
from vision.sight.following.hypotheses import State
from vision.sight.following.procedure import OVER, RETURNED, TWO_OUT

EMPTY, LIES = -3.0, 3.0
LEAST = 50.0
LAY = tuple(CARDS[place, FACE, None] for place in SLOTS[:4])


def state(*cards: object, codes: tuple[str, ...] = (), burning: bool = False) -> State:
    """Return a state of those cards."""
    return State(cards, Lip.REST, codes, burning)  # type: ignore[arg-type]


def account(states: dict[State, float] | None = None, cards: Cards = LAY) -> Account:
    """Return an account that has taken how likely some states are, or has those cards."""
    found = Account(1, 1, Allegations(LEAST))
    if states is None:
        found.cards, found.left_at = list(cards), [0] * len(cards)
        found.layout = tuple(card.place.slot for card in cards if card.place is not SHOE)
    else:
        found.take(1000, states)
    return found


# --- what was not seen accuses nobody -------------------------------------------------------------


def test_departure_with_a_card_that_was_seen_to_lie_has_its_odds() -> None:
    """The odds are those of the hypotheses with it against all others."""
    found = account({state(*LAY, codes=(OVER,)): 0.8, state(*LAY): 0.2})
    assert found.odds == {OVER: pytest.approx(4)}
    assert found.unseen == 0


def test_departure_with_a_card_that_was_not_seen_to_lie_accuses_nobody() -> None:
    """A card that never lay anywhere is doubt about the reader, and holds the result."""
    new = (*LAY[:3], CARDS[SLOTS[3], UNSEEN[FACE], None])
    found = account({state(*new, codes=(OVER,)): 0.8, state(*LAY): 0.2})
    assert found.odds == {}
    assert found.unseen == pytest.approx(4)
    assert found.is_open(LEAST)


@pytest.mark.parametrize(("before", "stands"), [(0.6, True), (0.4, False)])
def test_departure_that_was_likely_stands_while_one_more_card_is_under_way(
    before: float, *, stands: bool
) -> None:
    """What was likelier than not is still weighed as it was; what was not begins no accusation."""
    found = account({state(*LAY, codes=(OVER,)): before, state(*LAY): 1 - before})
    more = CARDS[HAND, UNSEEN[BACK], None]
    found.take(2000, {state(*LAY, more, codes=(OVER,)): before, state(*LAY, more): 1 - before})
    assert (OVER in found.odds) is stands
    assert found.unseen == pytest.approx(0 if stands else before / (1 - before))


def test_return_to_the_shoe_is_weighed_though_another_card_was_not_seen() -> None:
    """The card that went back was at the mouth, where it was seen; nothing else is weighed."""
    new = (CARDS[SLOTS[0], UNSEEN[FACE], None], CARDS[SHOE, UNSEEN[BACK], None])
    found = account({state(*new, codes=(OVER, RETURNED)): 0.8, state(new[0]): 0.2})
    assert found.odds == {RETURNED: pytest.approx(4)}
    assert found.unseen == pytest.approx(4)
    only = account({state(*new, codes=(RETURNED,)): 0.8, state(new[0]): 0.2})
    assert (only.odds, only.unseen) == ({RETURNED: pytest.approx(4)}, 0)


def test_card_that_lies_in_the_shoe_need_not_be_seen_to_lie() -> None:
    """It lay nowhere; each other card of the likeliest state must have been seen."""
    back = CARDS[SHOE, UNSEEN[BACK], None]
    assert account({state(LAY[0], back): 1.0}).seen
    assert not account({state(CARDS[SLOTS[0], UNSEEN[FACE], None]): 1.0}).seen
    assert account({state(LAY[0], CARDS[HAND, UNSEEN[BACK], None]): 1.0}).seen


@pytest.mark.parametrize(
    ("odds", "unseen", "p", "seen", "is_open"),
    [
        ({}, 0.0, 0.99, True, False),
        ({OVER: 0.9}, 1.0, 0.99, True, False),
        ({OVER: LEAST}, 0.0, 0.99, True, False),
        ({OVER: LEAST - 1}, 0.0, 0.99, True, True),
        ({OVER: 1.1}, 0.0, 0.99, True, True),
        ({}, 1.1, 0.99, True, True),
        ({}, 0.0, PLACED, True, True),
        ({}, 0.0, 0.99, False, True),
    ],
)
def test_coup_is_open_while_layout_or_departure_is(
    odds: dict[str, float], unseen: float, p: float, *, seen: bool, is_open: bool
) -> None:
    """Between the even chance and the odds of an allegation nothing is known."""
    found = account()
    found.odds, found.unseen, found.p, found.seen = odds, unseen, p, seen
    assert found.is_open(LEAST) is is_open


@pytest.mark.parametrize(
    ("odds", "unseen", "blind", "over"),
    [
        ({OVER: LEAST}, 1.0, False, True),
        ({OVER: LEAST - 1}, 0.0, False, False),
        ({TWO_OUT: LEAST}, 0.0, False, False),
        ({OVER: LEAST}, 1.1, False, False),
        ({OVER: LEAST}, 0.0, True, False),
    ],
)
def test_card_that_was_not_due_may_be_known_before_its_place(
    odds: dict[str, float], unseen: float, *, blind: bool, over: bool
) -> None:
    """That one was drawn holds however it lies; what was not seen accuses nobody."""
    found = account()
    found.odds, found.unseen, found.blind, found.p = odds, unseen, blind, 0.9
    assert found.has_over(LEAST) is over


@pytest.mark.parametrize(
    ("other", "under_way"),
    [(CARDS[HAND, BACK, None], True), (CARDS[SLOTS[4], BACK, None], False), (None, False)],
)
def test_what_a_hand_may_hold_is_no_doubt_yet(other: CoupCard | None, *, under_way: bool) -> None:
    """A card that may be under way will show where it lies; one that may lie there is a doubt."""
    more = state(*LAY, *(() if other is None else (other,)))
    assert account({state(*LAY): 0.93, more: 0.07}).under_way is under_way


@pytest.mark.parametrize(
    ("found", "twice"), [({4}, "Kh"), ({1}, None), ({2, 4}, None), (set(), None), ({5}, None)]
)
def test_face_of_a_card_that_nobody_saw_leave_may_be_another_cards(
    found: set[int], twice: str | None
) -> None:
    """One that a player lays into the next slot is read there too; two that were drawn are two."""
    coup = account()
    coup.found = found
    reads = [Card.parse(name) if name else None for name in ("Js", "2d", "Kh", "", "Kh")]
    assert coup.repeated(reads) == (Card.parse(twice) if twice else None)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (TWO_OUT, "Not decided: Two cards left the shoe together."),
        (OVER, "Not decided: whether it was dealt by the rules."),
    ],
)
def test_doubt_names_the_departure_that_is_not_decided(code: str, words: str) -> None:
    """Where it is known how the cards lie, the layout is not what a person has to look at."""
    found = account({state(*LAY, codes=(code,)): 0.8, state(*LAY): 0.2})
    assert found.doubted(LEAST) == words
    more = state(*LAY, CARDS[SLOTS[4], BACK, None])
    assert account({state(*LAY): 0.7, more: 0.3}).doubted(LEAST).startswith("It may be P1 B1 P2 B2")


# --- what is published ----------------------------------------------------------------------------


def test_card_is_out_and_withdrawn_at_its_probabilities() -> None:
    """What was published stays until another number of cards is as likely."""
    found = account({state(): 1.0})
    number = []
    for p in (OUT - 0.01, OUT + 0.01, 0.5, 1 - OUT + 0.01, 1 - OUT - 0.01):
        found.take(1000, {state(CARDS[HAND, BACK, None]): p, state(): 1 - p})
        number.append(len(found.cards))
    assert number == [0, 1, 1, 1, 0]


def test_place_and_side_are_published_once_they_are_likely() -> None:
    """A slot and a face stand until another is as likely; a lifted card lies where it lay."""
    found = account({state(CARDS[HAND, BACK, None]): 1.0})
    assert found.cards == [CARDS[HAND, BACK, None]]
    for place, side, p in (
        (SLOTS[0], FACE, 0.99),
        (SLOTS[2], BACK, 0.9),
        (HELD[0, 2], FACE, 0.99),
        (HELD[0, None], BACK, 0.9),
    ):
        other = CARDS[SLOTS[0], FACE, None]
        found.take(1000, {state(CARDS[place, side, None]): p, state(other): 1 - p})
        assert found.cards == [CARDS[SLOTS[0], FACE, None]]
    found.take(1000, {state(CARDS[SLOTS[2], BACK, None]): 0.99, state(LAY[0]): 0.01})
    assert found.cards == [CARDS[SLOTS[2], BACK, None]]


def test_card_is_gone_once_that_is_likely_and_lies_again_once_that_is() -> None:
    """Neither is published while both may be."""
    found = account({state(LAY[0]): 1.0})
    taken = state(CARDS[GONE[0], FACE, None])
    published = []
    for p in (0.9, 0.99, 0.1, 0.01):
        found.take(1000, {taken: p, state(LAY[0]): 1 - p})
        published.append(found.cards[0].place)
    assert published == [SLOTS[0], GONE[0], GONE[0], SLOTS[0]]


def test_card_that_lay_there_when_it_was_first_out_was_found() -> None:
    """It is no card that came out of the shoe before the reader's eyes."""
    found = account({state(LAY[0]): 1.0})
    assert found.found == {0}
    found.take(2000, {state(LAY[0], CARDS[HAND, BACK, None]): 1.0})
    assert (found.found, found.left_at) == ({0}, [1000, 2000])
    found.take(3000, {state(): 1.0})
    assert (found.found, found.left_at) == (set(), [])


# --- what sight alone alleges ---------------------------------------------------------------------


def codes(allegations: Allegations) -> list[tuple[str, int | None]]:
    """Return what is alleged, of a coup whose first card has order 5."""
    return [(each.code, each.order) for each in allegations.reported(5)]


@pytest.mark.parametrize(("odds", "alleged"), [(LEAST, True), (LEAST - 1, False)])
def test_return_and_two_cards_are_alleged_from_their_odds_on(odds: float, *, alleged: bool) -> None:
    """A card that lies in the shoe went back at those odds; two left as one at theirs."""
    found = account(cards=(LAY[0], CARDS[SHOE, BACK, None]))
    found.odds = {RETURNED: odds, TWO_OUT: odds}
    found.alleged.take_cards(found)
    assert codes(found.alleged) == ([(RETURNED, 6), (TWO_OUT, None)] if alleged else [])
    found.odds = {}
    found.alleged.take_cards(found)
    assert codes(found.alleged) == []


def test_first_odds_of_an_allegation_stand() -> None:
    """They are those at which it was made, with one digit."""
    found = account()
    for odds in (123.0, 1e6):
        found.odds = {TWO_OUT: odds}
        found.alleged.take_cards(found)
    assert [each.odds for each in found.alleged.reported(1)] == [100.0]


@pytest.mark.parametrize(
    ("cards", "p", "alleged"),
    [
        (LAY[:2], 0.99, [("EXPOSED_EARLY", 5), ("EXPOSED_EARLY", 6)]),
        (LAY, 0.99, []),  # all four lie: faces have their turn
        (LAY[:2], 0.5, []),  # it is open how they lie
        ((CARDS[SLOTS[0], BACK, None],), 0.99, []),
        ((CARDS[GONE[0], FACE, None],), 0.99, []),  # what is gone shows nothing now
        ((CARDS[ASIDE, FACE, None],), 0.99, []),
    ],
)
def test_card_that_lies_open_before_its_turn_is_alleged(
    cards: Cards, p: float, alleged: list[tuple[str, int]]
) -> None:
    """Where cards are dealt face down none shows its face before four lie."""
    found = account(cards=cards)
    found.p = p
    found.alleged.take_exposed(found)
    assert codes(found.alleged) == alleged
    assert {each.odds for each in found.alleged.reported(5)} == ({LEAST} if alleged else set())


@pytest.mark.parametrize(
    ("lay", "over", "found", "at", "confirm"),
    [
        ({0, 1}, False, (), 6000, False),
        ({0}, False, (), 6000, False),  # the other card left the shoe meanwhile
        ({0}, False, (1,), 6000, True),  # it lay there already
        ({0, 1, 2}, False, (), 6000, True),  # one is missing
        ({0, 1, 2}, True, (), 6000, False),  # which a clearing explains
        ({0}, True, (1,), 6000, True),  # but not one more
        ({0, 1, 2}, False, (), 5999, False),  # not yet
    ],
)
def test_restart_is_confirmed_by_a_person_where_other_cards_lie(
    lay: set[int], found: tuple[int, ...], at: int, *, over: bool, confirm: bool
) -> None:
    """What lies then is compared with what lay when the log ended, once."""
    reported = account(cards=LAY[:2])
    reported.found = set(found)
    reported.alleged.restart = Restart(6000, frozenset(lay), over)
    reported.alleged.check_restart(at, reported)
    assert codes(reported.alleged) == ([("RESTART_CONFIRM", None)] if confirm else [])
    assert (reported.alleged.restart is None) is (at >= 6000)


@pytest.mark.parametrize(
    ("place", "taken", "alleged"),
    [(GONE[1], {0}, True), (GONE[1], {0, 1}, False), (SLOTS[1], {0}, False), (SHOE, {0}, False)],
)
def test_early_deal_is_alleged_of_cards_believed_gone_from_slots_that_are_bare(
    place: Place, taken: set[int], *, alleged: bool
) -> None:
    """A card that is believed to lie there is no sign, nor is what the next coup laid there."""
    before = account(cards=(CARDS[place, FACE, None],))
    values = np.zeros((3, len(Slot)))
    values[2] = 10 * LIES
    for least in (LEAST, 1.0):
        now = Allegations(least)
        now.take_before(before, values, taken)
        assert codes(now) == ([("EARLY_DEAL", 5)] if alleged else [])


# --- an early deal --------------------------------------------------------------------------------


def early(reported: list[float]) -> bool:
    """Whether an early deal is alleged, by how much a slot looks like a card look by look."""
    allegations = Allegations(50)
    before = Account(1, 1, Allegations(50), [CARDS[GONE[1], FACE, None]], [0])
    for each in reported:
        values = np.zeros((3, 6))
        values[2, 1] = each
        allegations.take_before(before, values, {0})
    return any(published.code == "EARLY_DEAL" for published in allegations.reported(1))


@pytest.mark.parametrize(
    ("reported", "alleged"),
    [
        ([LIES, LIES, LIES], True),
        ([LIES], False),
        ([EMPTY, LIES, LIES, LIES, LIES], False),  # the next coup's card passes over an empty slot
    ],
)
def test_early_deal_is_alleged_of_cards_that_lay_there_all_the_time(
    reported: list[float], *, alleged: bool
) -> None:
    """A card of the coup before still lies when the next one begins; one that comes does not."""
    assert early(reported) is alleged
