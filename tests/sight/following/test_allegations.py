"""What sight itself alleges of a coup."""

import math

import numpy as np
import pytest

from vision.game.cards import Card
from vision.game.events import Slot
from vision.game.rules import Rules
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
    UNSEEN,
    Cards,
    CoupCard,
    Lip,
    Place,
)
from vision.sight.following.decisions import (
    DECIDED_MS,
    MOST_SHOWN,
    OUT,
    PLACED,
    SETTLED_MS,
    SURE_ODDS,
    WITHDRAWN,
    Account,
    Accounts,
    Allegations,
    Restart,
    rounded,
)
from vision.sight.following.hypotheses import LEAST_LAWFUL, Decoder, Hypothesis, State
from vision.sight.following.procedure import ELSEWHERE, OVER, RETURNED, TWO_OUT, Procedure
from vision.sight.reading.faces import Face

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
    assert coup.repeated([Face(read=read) for read in reads]) == (
        Card.parse(twice) if twice else None
    )
    assert coup.repeated([Face(read=read, apart=True) for read in reads]) is None


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
    for p in (OUT - 0.01, OUT + 0.01, 0.5, WITHDRAWN + 0.01, WITHDRAWN - 0.01):
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


# --- what is believed of a coup, exactly ----------------------------------------------------------

LITTLE = 1e-6
IN_HAND = CARDS[HAND, BACK, None]
FIFTH = CARDS[SLOTS[4], BACK, None]
KING, TWO = Card.parse("Kh"), Card.parse("2d")


def test_layouts_are_told_in_words_the_likeliest_first() -> None:
    """What agrees in its slots is one; a card in no slot is a dash."""
    found = account({
        state(LAY[0], IN_HAND): 0.3,
        state(LAY[0], LAY[1]): 0.25,
        state(LAY[0], CARDS[SLOTS[1], BACK, None]): 0.25,
        state(LAY[0], FIFTH): 0.2,
    })  # fmt: skip
    assert found.layouts == (("P1 B1", 0.5), ("P1 –", 0.3), ("P1 P3", 0.2))
    assert found.doubted(LEAST) == "It may be P1 B1 (50%) or P1 – (30%)."
    found.likeliest = found.likeliest[:2]
    assert found.layouts == (
        ("P1 –", pytest.approx(0.3 / 0.55)),
        ("P1 B1", pytest.approx(0.25 / 0.55)),
    )
    assert account().layouts == ()


def test_doubt_says_what_is_open() -> None:
    """That not all was seen; each departure that is neither unlikely nor sure; or how it lies."""
    found = account()
    found.p, found.unseen = 0.99, 1 + LITTLE
    assert found.doubted(LEAST) == "Not every card of it was seen to lie."
    found.unseen = 1.0
    found.odds = {RETURNED: 2.0, OVER: 2.0, TWO_OUT: LEAST - 1}
    both = "Not decided: Card returned to the shoe. Two cards left the shoe together."
    assert found.doubted(LEAST) == both
    found.odds = {RETURNED: 1.0, OVER: 2.0, TWO_OUT: LEAST}
    assert found.doubted(LEAST) == "Not decided: whether it was dealt by the rules."
    for odds in (1.0, LEAST):
        found.odds = {OVER: odds}
        assert found.doubted(LEAST).startswith("It may be ")
    found.p, found.unseen, found.odds = PLACED, 2.0, {OVER: 2.0}
    assert found.doubted(LEAST).startswith("It may be ")


def test_no_more_than_the_likeliest_states_are_shown() -> None:
    """In their order."""
    states = {state(LAY[0], codes=(f"F{n}",)): 0.1 + 0.01 * n for n in range(MOST_SHOWN + 2)}
    shown = [p for _, p in account(states).likeliest]
    assert shown == sorted(states.values(), reverse=True)[:MOST_SHOWN]


@pytest.mark.parametrize(
    ("p", "number"),
    [(OUT, 2), (OUT + LITTLE, 4), (WITHDRAWN, 2), (WITHDRAWN - LITTLE, 2)],
)
def test_cards_are_out_as_far_as_all_agree(p: float, number: int) -> None:
    """More than one may come, or go, at once."""
    found = account({state(*LAY[:2]): 1.0})
    found.take(2000, {state(*LAY): p, state(*LAY[:2]): 1 - p})
    assert len(found.cards) == number
    assert found.left_at == [1000] * 2 + [2000] * (number - 2)
    gone = account({state(*LAY): 1.0})
    gone.take(2000, {state(*LAY): p, state(*LAY[:1]): 1 - p})
    assert len(gone.cards) == (1 if p < WITHDRAWN else 4)
    gone.take(3000, {state(*LAY[:3]): 1.0})
    assert len(gone.cards) == 3


@pytest.mark.parametrize(("p", "published"), [(PLACED - LITTLE, False), (PLACED + LITTLE, True)])
def test_place_and_side_are_published_from_a_probability_on(p: float, *, published: bool) -> None:
    """Each for itself: where a card lies, which side shows, whether it is gone, or lies again."""
    back, face, gone = (CARDS[place, side, None] for place, side in
                        ((SLOTS[0], BACK), (SLOTS[0], FACE), (GONE[0], FACE)))  # fmt: skip
    for before, after in ((IN_HAND, back), (back, face), (face, back), (face, gone), (gone, face)):
        found = account({state(before): 1.0})
        assert found.cards == [before]
        found.take(2000, {state(after): p, state(before): 1 - p})
        assert found.cards == [after if published else before]


def test_place_of_a_card_is_as_sure_as_it_is_where_there_is_such_a_card() -> None:
    """That it may be none is another matter; a card that may have gone aside lies there."""
    found = account({state(LAY[0]): 0.99, state(LAY[0], LAY[1]): 0.01})
    found.cards, found.left_at = [LAY[0], IN_HAND], [0, 0]
    found.take(1000, {state(*LAY[:2]): 0.5, state(LAY[0]): 0.5})
    assert found.cards == list(LAY[:2])
    aside = account(
        {state(CARDS[GONE_ASIDE, BACK, None]): 0.5, state(CARDS[ASIDE, BACK, None]): 0.5}
    )
    assert aside.cards == [CARDS[ASIDE, BACK, None]]


@pytest.mark.parametrize(
    ("lies", "under_way"), [(1 - PLACED - LITTLE, True), (1 - PLACED + LITTLE, False)]
)
def test_layout_waits_for_a_hand_unless_another_one_may_lie(
    lies: float, *, under_way: bool
) -> None:
    """What may lie otherwise by more than a trifle is a doubt; what is sure waits for nothing."""
    more, hand = state(*LAY, FIFTH), state(*LAY, IN_HAND)
    found = account({state(*LAY): 0.6, more: lies, hand: 0.4 - lies})
    assert found.under_way is under_way
    for p in (PLACED - LITTLE, PLACED + LITTLE):
        sure = account({state(*LAY): p, hand: 1 - p})
        assert sure.under_way is (p < PLACED)
        assert sure.is_laid is (p > PLACED)


@pytest.mark.parametrize(
    ("now", "burning", "mixed"),
    [
        (PLACED + LITTLE, True, False),
        (PLACED - LITTLE, True, False),
        (1 - PLACED + LITTLE, True, False),
        (1 - PLACED - LITTLE, False, True),
    ],
)
def test_cards_that_were_burned_and_are_a_coups_were_mixed(
    now: float, *, burning: bool, mixed: bool
) -> None:
    """Once that they are none of a burn is sure; a coup that never was a burn mixed nothing."""
    burn, coup = state(*LAY, burning=True), state(*LAY)
    found = account({burn: 1.0})
    assert (found.burning, found.mixed) == (True, False)
    found.take(2000, {burn: now, coup: 1 - now})
    assert (found.burning, found.mixed) == (burning, mixed)
    assert not account({coup: 1.0}).mixed


@pytest.mark.parametrize(
    ("burned", "p", "mixed"),
    [(2, 1 / 2 + LITTLE, True), (2, 1 / 2, False), (1, 1 - LITTLE, False)],
)
def test_cards_that_were_likelier_burned_than_not_are_mixed(
    burned: int, p: float, *, mixed: bool
) -> None:
    """Two at least: a burn has a card that is shown, and as many as that says."""
    found = account({state(*LAY[:burned], burning=True): p, state(*LAY[:burned]): 1 - p})
    found.take(2000, {state(*LAY): 1.0})
    assert found.mixed is mixed


def test_odds_stop_where_the_lawful_hypothesis_is_kept() -> None:
    """Without one they would be infinite."""
    assert account({state(*LAY, codes=(OVER,)): 1.0}).odds == {OVER: LEAST_LAWFUL**-1}
    new = state(CARDS[SLOTS[0], UNSEEN[FACE], None], codes=(OVER,))
    assert account({new: 1.0}).unseen == LEAST_LAWFUL**-1


@pytest.mark.parametrize("code", [RETURNED, TWO_OUT])
@pytest.mark.parametrize(("ms", "settled"), [(SETTLED_MS - 1, False), (SETTLED_MS, True)])
def test_departure_at_the_mouth_is_believed_once_it_was_likely_for_so_long(
    code: str, ms: int, *, settled: bool
) -> None:
    """Without a break, from the odds of an allegation on; until then it is not decided."""
    p = 1.01 * LEAST / (1 + LEAST)
    likely, not_so = (
        {state(*LAY, codes=(code,)): each, state(*LAY): 1 - each} for each in (p, 0.5)
    )
    found = account(likely)
    for at in (1000, 1000 + ms):
        found.take(at, likely)
    assert (found.rising, found.odds[code] >= LEAST) == (not settled, settled)
    assert found.odds[code] > LEAST - 1
    found.take(9000, not_so)
    assert not found.rising
    found.take(9001, likely)
    assert (found.rising, found.odds[code]) == (True, math.nextafter(LEAST, 0))


def test_over_draw_is_believed_at_once() -> None:
    """It shows on the table, and stays there."""
    found = account({state(*LAY, codes=(OVER,)): 0.99, state(*LAY): 0.01})
    assert (found.rising, found.odds) == (False, {OVER: pytest.approx(99)})


def test_card_elsewhere_is_believed_at_once_unless_one_is_in_a_hand() -> None:
    """Of two in the hands the first may be held over a slot while the second is drawn."""
    for cards, rising in (
        (LAY[:2], False),
        ((*LAY[:2], CARDS[HAND, UNSEEN[BACK], None]), True),
    ):
        wrong = {state(*cards, codes=(ELSEWHERE,)): 0.99, state(*cards): 0.01}
        found = account({state(*LAY[:1]): 1.0})
        for at in (1000, 1000 + SETTLED_MS - 1):
            found.odds[ELSEWHERE] = 99.0  # it was likely before the card on its way was drawn
            found.take(at, wrong)
            assert (found.rising, found.odds[ELSEWHERE] >= LEAST) == (rising, not rising)
        found.take(1000 + SETTLED_MS, wrong)
        assert (found.rising, found.odds[ELSEWHERE] >= LEAST) == (False, True)


def test_coup_is_decided_a_while_after_the_next_one_began() -> None:
    """What was still open of it is known by then; a third coup decides the first at once."""
    decoder = Decoder(Procedure(Rules()), burn=0.0)
    accounts = Accounts(decoder, order=5)
    one, two = decoder.procedure.state(LAY), decoder.procedure.state(LAY[:1])

    def take(at: int, coup: int, *, looked: bool = False) -> list[int]:
        before = None if coup == 1 else one
        decoder.hypotheses = {Hypothesis(coup, before, one if coup == 1 else two): 1.0}
        return [account.coup for account in accounts.take(at, looked=looked)]

    assert take(0, 1) == []
    assert [(a.coup, a.first, len(a.cards)) for a in accounts.open] == [(1, 5, 4)]
    assert take(5000, 2) == []
    assert take(5000 + DECIDED_MS, 2) == []
    assert [a.coup for a in accounts.open] == [1, 2]
    assert take(5001 + DECIDED_MS, 2) == [1]
    assert list(decoder.hypotheses) == [Hypothesis(2, None, two)]
    assert take(9000, 3) == []
    assert take(9001, 4) == [2]
    assert [a.coup for a in accounts.open] == [3, 4]


def test_coup_that_proves_to_be_none_is_withdrawn_once() -> None:
    """Without cards; the one before goes on."""
    decoder = Decoder(Procedure(Rules()), burn=0.0)
    accounts = Accounts(decoder)
    lies, begun = decoder.procedure.state(LAY), decoder.procedure.state((IN_HAND,))
    withdrawn = []
    for p in (0.99, 0.01, 0.001):
        decoder.hypotheses = {Hypothesis(2, lies, begun): p, Hypothesis(1, None, lies): 1 - p}
        accounts.take(1000, looked=False)
        withdrawn.append([(a.coup, a.cards) for a in accounts.withdrawn])
    assert withdrawn == [[], [(2, [])], []]
    assert [a.coup for a in accounts.open] == [1]


def test_places_are_weighed_at_a_look_or_with_a_card_more() -> None:
    """Between looks nothing is known of them."""
    decoder = Decoder(Procedure(Rules()), burn=0.0)
    accounts = Accounts(decoder)
    for cards, looked, place in (
        ((IN_HAND,), False, HAND),
        (LAY[:1], False, HAND),
        (LAY[:1], True, SLOTS[0]),
        ((CARDS[GONE[0], FACE, None],), False, SLOTS[0]),
        ((CARDS[GONE[0], FACE, None], IN_HAND), False, GONE[0]),
    ):
        decoder.hypotheses = {Hypothesis(1, None, decoder.procedure.state(cards)): 1.0}
        accounts.take(1000, looked=looked)
        assert accounts.open[0].cards[0].place is place


@pytest.mark.parametrize("aside", [True, False])
def test_burned_cards_count_with_those_of_the_coup_behind_them(aside: bool) -> None:
    """While they may be one coup: only where all of the burn went aside."""
    decoder = Decoder(Procedure(Rules()), burn=0.5)
    accounts = Accounts(decoder)
    burned = CARDS[GONE_ASIDE, BACK, None]
    burn = decoder.procedure.state((burned, burned if aside else LAY[0]), burning=True)
    one = decoder.procedure.state(LAY[:1])
    decoder.hypotheses = {
        Hypothesis(2, burn, one): 0.4,
        Hypothesis(1, None, decoder.procedure.state(LAY[:3])): 0.6,
    }
    accounts.take(1000, looked=True)
    assert [(a.coup, len(a.cards)) for a in accounts.open] == [(1, 3 if aside else 2)]
    found = accounts.open[0].likeliest
    weights = {(len(each.cards), each.burning): p for each, p in found}
    assert weights == (
        {(3, False): 0.6, (3, True): 0.4} if aside else {(3, False): 0.6, (2, True): 0.4}
    )


@pytest.mark.parametrize(
    ("cards", "p", "rising", "settled"),
    [
        (LAY, 1.0, False, True),
        (LAY, PLACED, False, False),
        ((*LAY, IN_HAND), 1.0, False, False),
        (LAY, 1.0, True, False),
    ],
)
def test_nothing_is_open_once_each_card_lies(
    cards: Cards, p: float, *, rising: bool, settled: bool
) -> None:
    """And nothing is rising."""
    accounts = Accounts(Decoder(Procedure(Rules()), burn=0.0))
    assert accounts.is_settled
    accounts.open = [account(cards=LAY), account(cards=cards)]
    accounts.open[1].p, accounts.open[1].rising = p, rising
    assert accounts.is_settled is settled


def test_face_alleges_what_it_shows_for_as_long_as_it_does() -> None:
    """A card changed, read in two ways, or of another deck, each with its odds."""
    found = Allegations(LEAST)
    for face, expected in (
        (Face(read=KING, switched=TWO, odds=123.0), [("SWITCH", 7, 100.0)]),
        (Face(read=KING, doubted=TWO, odds=60.0), [("READ_CONFLICT", 7, 60.0)]),
        (Face(foreign="back"), [("FOREIGN_CARD", 7, SURE_ODDS)]),
        (Face(read=KING, odds=99.0), []),
    ):
        found.take_face(2, face)
        assert [(each.code, each.order, each.odds) for each in found.reported(5)] == expected


def test_card_that_flashed_is_alleged_once() -> None:
    """Of that card, with the odds of what sight is sure of."""
    found = Allegations(LEAST)
    for number in (0, 2, 2):
        found.take_flashed(number)
    reported = [(each.code, each.order, each.odds) for each in found.reported(5)]
    assert reported == [("EXPOSED_EARLY", 5, SURE_ODDS), ("EXPOSED_EARLY", 7, SURE_ODDS)]


def test_odds_of_an_early_deal_are_of_the_slot_that_is_surest() -> None:
    """Summed up look by look; from those of an allegation on, within what can be stated."""
    cards = (CARDS[GONE[1], FACE, None], CARDS[GONE[2], FACE, None])
    before, values = account(cards=cards), np.zeros((3, len(Slot)))
    for least, each, looks, odds in (
        (LEAST, math.log(LEAST) / 2 + LITTLE, 2, LEAST),
        (LEAST, math.log(LEAST) / 2 - LITTLE, 2, None),
        (LEAST, 99.0, 1, rounded(math.exp(20))),
    ):
        found = Allegations(least)
        values[2, 1], values[0, 2] = each + 1, 1.0
        values[0, 1] = 1.0
        for _ in range(looks):
            found.take_before(before, values, {None, 0})
        reported = [(one.code, one.order, one.odds) for one in found.reported(5)]
        assert reported == ([] if odds is None else [("EARLY_DEAL", 5, odds)])


def test_odds_are_stated_with_one_digit() -> None:
    """More are not known."""
    assert [rounded(odds) for odds in (1.26, 55.0, 149.0, 1.6e6)] == [1.0, 60.0, 100.0, 2e6]
