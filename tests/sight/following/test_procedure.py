"""What is known late of a coup changes what its hypotheses were worth."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import pytest

from vision.game.rules import BurnKind, BurnRule, Dealing, Rules
from vision.sight.following.actions import ACTIONS, LAID_FACE_UP, LESS_USUAL, UNUSUAL
from vision.sight.following.cards import (
    ASIDE,
    BACK,
    CARDS,
    FACE,
    GONE,
    GONE_ASIDE,
    HAND,
    HELD,
    PLACES,
    SHOE,
    SLOTS,
    TAKEN,
    UNSEEN,
    Cards,
    CoupCard,
    Lip,
    Place,
    Side,
)
from vision.sight.following.hypotheses import By, Move
from vision.sight.following.procedure import (
    COMPLETE,
    ELSEWHERE,
    MOST_CARDS,
    OVER,
    REMOVED,
    RETURNED,
    TWO_OUT,
    UNDER,
    Procedure,
)

PROCEDURE = Procedure(Rules(dealing=Dealing.FACE_UP))
IN_HAND = CARDS[HAND, UNSEEN[BACK], None]
NATURAL = (4, 2, 4, 0)  # points in the order of the slots: Punto has 8, no card is due
FOUR = (1, 2, 3, 4)  # Punto has 4: a third card is due


def moves(cards: Cards, lip: Lip = Lip.REST, codes: tuple[str, ...] = ()) -> tuple[Move, ...]:
    """Return what may happen next."""
    return PROCEDURE.moves(PROCEDURE.state(cards, lip, codes)).moves


def lying(*points: int | None, side: Side = FACE) -> Cards:
    """Return cards that lie in the first slots."""
    return tuple(CARDS[SLOTS[slot], side, each] for slot, each in enumerate(points))


def gone(*points: int) -> Cards:
    """Return cards that were taken from the first slots."""
    return tuple(CARDS[GONE[slot], FACE, each] for slot, each in enumerate(points))


def rate(found: Iterable[Move]) -> float:
    """Return the rates of some moves together, a second."""
    return sum(move.rate for move in found)


def puts(
    cards: Cards, index: int, place: Place, lip: Lip = Lip.REST, *codes: str
) -> tuple[Move, ...]:
    """Return the moves that put one of the cards into a place."""
    same = (m for m in moves(cards, lip, codes) if len(m.cards) == len(cards) and not m.begins)
    return tuple(move for move in same if move.cards[index].place is place)


def put(cards: Cards, index: int, place: Place, lip: Lip = Lip.REST, *codes: str) -> float:
    """Return how often a card is put into a place without one more departure, a second."""
    return rate(move for move in puts(cards, index, place, lip, *codes) if move.codes == codes)


def drawn(cards: Cards, *codes: str) -> dict[tuple[int, tuple[str, ...]], float]:
    """Return how often cards are drawn wholly out: how many there are then, and the codes."""
    found: dict[tuple[int, tuple[str, ...]], float] = {}
    for move in moves(cards, Lip.PARTLY, codes):
        if move.lip is Lip.WHOLLY:
            found[len(move.cards), move.codes] = move.rate
    return found


# --- what is less usual ---------------------------------------------------------------------------


def test_second_card_of_a_hand_is_seldom_laid_first() -> None:
    """Of two cards in the hand the first that left is laid first."""
    first, second = (put((IN_HAND, IN_HAND), index, SLOTS[0]) for index in (0, 1))
    assert second == pytest.approx(UNUSUAL * first)


def test_card_is_seldom_drawn_while_another_is_in_the_hand() -> None:
    """A card is laid before the next is drawn."""
    laid, held = drawn(lying(1)), drawn((IN_HAND,))
    assert held[2, ()] == pytest.approx(LESS_USUAL * laid[2, ()])


@pytest.mark.parametrize("lip", [Lip.WHOLLY, Lip.CLEAR])
def test_card_is_seldom_laid_while_the_lip_still_shows_it(lip: Lip) -> None:
    """What shows there while the only card out is laid is likely another card."""
    cards = (IN_HAND,)
    assert put(cards, 0, SLOTS[0], lip) == pytest.approx(LESS_USUAL * put(cards, 0, SLOTS[0]))


@pytest.mark.parametrize("lip", [Lip.EMERGING, Lip.PARTLY])
def test_table_is_seldom_cleared_while_the_next_card_is_half_out(lip: Lip) -> None:
    """The next coup's first card comes once the table is bare."""
    cards = lying(*NATURAL)
    assert put(cards, 0, GONE[0], lip) == pytest.approx(LESS_USUAL * put(cards, 0, GONE[0]))


def test_table_is_seldom_cleared_of_cards_that_lie_face_down() -> None:
    """Cards are turned before they are taken."""
    cards = lying(*NATURAL)
    down = (*cards[:3], CARDS[SLOTS[3], BACK, None])
    for index in range(4):
        usual = put((*cards[:3], CARDS[SLOTS[3], FACE, None]), index, GONE[index])
        assert put(down, index, GONE[index]) == pytest.approx(UNUSUAL * usual)


def test_card_that_nobody_saw_lie_is_seldom_taken() -> None:
    """What was not seen to lie is not what a clearing begins with, nor goes on with."""
    cards = lying(*NATURAL)
    new = (*cards[:3], CARDS[SLOTS[3], UNSEEN[FACE], 0])
    assert put(new, 3, GONE[3]) == pytest.approx(UNUSUAL * put(cards, 3, GONE[3]))
    assert put(new, 0, GONE[0]) == pytest.approx(put(cards, 0, GONE[0]))
    begun, unseen = ((*gone(4), *each[1:]) for each in (cards, new))
    assert put(unseen, 3, GONE[3]) == pytest.approx(UNUSUAL * put(begun, 3, GONE[3]))


@pytest.mark.parametrize(
    ("place", "after"),
    [(HAND, GONE_ASIDE), (HELD[3, None], GONE[3]), (ASIDE, GONE_ASIDE)],
    ids=["in the hand", "with a player", "aside"],
)
def test_card_that_lies_in_no_slot_seldom_goes_with_the_others(place: Place, after: Place) -> None:
    """A clearing takes cards out of a hand, or from a player, as seldom as what nobody saw."""
    cards = (*gone(4), *lying(*NATURAL)[1:3], CARDS[place, BACK, None])
    usual = ACTIONS["take more"].due
    assert put(cards, 3, after) == pytest.approx(usual if place is ASIDE else UNUSUAL * usual)


def test_one_card_taken_off_is_no_clearing() -> None:
    """While the coup goes on the other cards are not on their way."""
    cards = (*gone(4), *lying(*NATURAL)[1:])
    begun, alone = (
        {move.rate for move in puts(cards, 1, GONE[1], Lip.REST, *codes) if move.codes == codes}
        for codes in ((), (REMOVED,))
    )
    assert begun == {ACTIONS["take more"].due}
    assert min(alone) == pytest.approx(ACTIONS["take more"].due / 100)


def test_coup_seldom_begins_while_cards_of_the_one_before_lie() -> None:
    """The edge of the next coup's first card emerges over a bare table."""
    edge, undue = ACTIONS["edge"].due, ACTIONS["edge"].undue

    def emerges(cards: Cards) -> float:
        return rate(move for move in moves(cards) if move.lip is Lip.EMERGING)

    left = (*gone(4, 2, 4), CARDS[SLOTS[3], FACE, 0])
    assert emerges(gone(*NATURAL)) == pytest.approx(edge)
    assert emerges(left) == pytest.approx(UNUSUAL * edge + (1 - UNUSUAL) * undue)


def test_coup_seldom_begins_after_one_of_fewer_than_four_cards() -> None:
    """What seems to be a coup of three was not seen well."""
    assert drawn(gone(4, 2, 4))[1, ()] == pytest.approx(UNUSUAL * drawn(gone(*NATURAL))[1, ()])


def test_lifted_card_is_put_down_beside_its_slot_less_often_than_in_it() -> None:
    """Either side up, over the bare slots of its hand: it is no card more."""
    cards = (CARDS[HELD[0, None], BACK, None], *(CARDS[SLOTS[n], BACK, None] for n in (1, 2)))

    def sides(place: Place) -> dict[Side, float]:
        return {move.cards[0].side: move.rate for move in puts(cards, 0, place)}

    each = LESS_USUAL * ACTIONS["bring back"].due / 2
    assert sides(HELD[0, 4]) == pytest.approx({BACK: each, FACE: each})
    assert sides(HELD[0, 2]) == sides(HELD[0, 1]) == {}


def test_lifted_card_is_seen_over_another_slot_of_its_hand_less_often() -> None:
    """It is over none at most times, and never over a slot in which a card lies."""
    cards = (CARDS[SLOTS[0], BACK, None], CARDS[SLOTS[1], BACK, None])
    lift = ACTIONS["lift"].due
    shares = {over: put(cards, 0, HELD[0, over]) / lift for over in (None, 1, 2, 3, 4, 5)}
    assert shares == pytest.approx({None: 1 - 2 * LESS_USUAL, 2: 0.1, 4: 0.1, 1: 0, 3: 0, 5: 0})
    taken = (*cards, CARDS[SLOTS[2], BACK, None])
    assert put(taken, 0, HELD[0, 2]) == 0
    assert put(taken, 0, HELD[0, None]) / lift == pytest.approx(1 - LESS_USUAL)


def test_card_seldom_lingers_before_the_shoe() -> None:
    """Most cards are carried on at once."""
    lingers = rate(move for move in moves((IN_HAND,), Lip.CLEAR) if move.lip is Lip.LINGERS)
    assert lingers == pytest.approx(UNUSUAL * ACTIONS["go on"].due)


def test_held_card_comes_back_with_either_side_up() -> None:
    """A player looks at it or shows it: one is as likely as the other."""
    back = {
        move.cards[0].side: move.rate
        for move in puts((CARDS[HELD[0, None], BACK, None],), 0, SLOTS[0])
    }
    assert back == dict.fromkeys((BACK, FACE), ACTIONS["bring back"].due / 2)


def test_card_that_lay_aside_is_brought_on_to_any_slot_that_is_due() -> None:
    """Whether a card is due is open while points are: it comes to each slot that may be."""
    others = lying(1, 2, None, 2)
    found = moves((*others, CARDS[ASIDE, BACK, None]))
    slots = {move.cards[4].place.lies for move in found if len(move.cards) == 5}
    assert slots - {None} == set(PROCEDURE.due(others)) - {COMPLETE}
    assert len(slots) > 2


def test_card_that_a_hand_held_over_another_slot_lies_where_it_is_laid() -> None:
    """In the slot of its hand that was due as it left, until a card lies there."""
    seemed = (*lying(1, 2), CARDS[SLOTS[4], BACK, None])  # Punto's third slot, without a second
    bring = ACTIONS["bring on"].due
    assert put(seemed, 2, SLOTS[2]) == pytest.approx(bring)
    assert put((*seemed, IN_HAND), 2, SLOTS[2]) == pytest.approx(bring)
    assert not put(seemed, 2, SLOTS[3])
    for second in (*lying(1, 2, 3)[2:], *gone(1, 2, 3)[2:]):
        assert not put((*lying(1, 2), second, seemed[2]), 3, SLOTS[2])
    whole = moves(lying(*FOUR))
    assert {c.place for move in whole for c in move.cards if c.place in SLOTS} == {*SLOTS[:4]}


def test_card_is_laid_in_the_slot_that_is_due_far_more_often_than_in_another() -> None:
    """In another slot of that hand it is at times; with the other hand by a departure."""
    cards = (*lying(1), IN_HAND)
    assert put(cards, 1, SLOTS[1]) == pytest.approx(ACTIONS["lay"].due)
    assert put(cards, 1, SLOTS[3]) == pytest.approx(ACTIONS["lay in order"].due)
    elsewhere = puts(cards, 1, SLOTS[2])
    assert {move.codes for move in elsewhere} == {(ELSEWHERE,)}
    assert rate(elsewhere) == pytest.approx(ACTIONS["lay"].undue)


@pytest.mark.parametrize(
    ("cards", "begins"), [(gone(*NATURAL), True), (lying(1), False)], ids=["first", "next"]
)
def test_draw_that_the_mouth_did_not_see_is_of_one_card(cards: Cards, *, begins: bool) -> None:
    """A hand drew it: the first of a coup as well as the next one, as often; never two."""
    (unseen,) = (move for move in moves(cards) if move.by is By.STAYING_HAND)
    assert (unseen.begins, len(unseen.cards)) == (begins, 1 if begins else len(cards) + 1)
    assert unseen.rate == pytest.approx(ACTIONS["unseen"].due)


# --- what is never --------------------------------------------------------------------------------


def test_table_is_not_cleared_lawfully_while_a_card_is_in_the_hand_or_due() -> None:
    """What is still to come makes a clearing an under-draw, or one card taken alone."""
    for cards in ((*lying(*NATURAL), IN_HAND), lying(*FOUR)):
        assert put(cards, 0, GONE[0]) == 0
        codes = {move.codes for move in puts(cards, 0, GONE[0])}
        assert codes == {(UNDER,), (REMOVED,)}
    assert {move.codes for move in puts(lying(1, 2), 0, GONE[0])} == {(REMOVED,)}


def test_what_is_taken_from_anywhere_is_gone() -> None:
    """From a slot, a hand, a player or beside the slots; what went back into the shoe is there."""
    assert [place for place in PLACES if not TAKEN[place].gone] == [SHOE]


def test_clearing_that_began_begins_no_second_time() -> None:
    """Only where one card was taken alone may the clearing still come."""
    begun = (*gone(4), *lying(*NATURAL)[1:])
    assert [move.codes for move in puts(begun, 1, GONE[1])] == [()]
    alone = {move.rate for move in puts(begun, 1, GONE[1], Lip.REST, REMOVED)}
    assert max(alone) == pytest.approx(ACTIONS["take"].due)


def test_card_is_laid_where_none_lies_and_none_was_lifted_from() -> None:
    """What was lifted from a slot comes back to it; from a slot that is bare again it may."""
    held = (CARDS[HELD[2, None], BACK, None], CARDS[SLOTS[1], FACE, 2], IN_HAND)
    assert not puts(held, 2, SLOTS[1])
    assert not puts(held, 2, SLOTS[2])
    assert puts((*gone(4), IN_HAND), 1, SLOTS[0])


def test_only_two_departures_are_believed_in_one_coup() -> None:
    """A third one is not even weighed; the same again is no other."""
    codes = (OVER, RETURNED)
    found = {m.codes for m in moves((*lying(*NATURAL), IN_HAND), codes=codes)}
    assert all(len(each) <= 2 for each in found)
    assert (7, codes) in drawn((*lying(*NATURAL), *lying(0, 0)), *codes)
    assert (7, (OVER, TWO_OUT)) not in drawn((*lying(*NATURAL), *lying(0, 0)), *codes)


def test_no_more_cards_are_believed_than_a_coup_can_have() -> None:
    """What seems to leave after nine is no card."""
    cards = (*lying(*FOUR), *(IN_HAND,) * (MOST_CARDS - 4))
    assert drawn(cards[:-1])
    assert not drawn(cards)


def test_last_card_in_the_hand_goes_back_at_times_from_the_lip_and_seldom_later() -> None:
    """The card that went back last is the one that left last; what lies does not go back."""
    cards = (CARDS[SLOTS[0], FACE, 1], IN_HAND, IN_HAND)
    for lip, action in ((Lip.WHOLLY, "due"), (Lip.CLEAR, "due"), (Lip.REST, "undue")):
        back = [m for m in moves(cards, lip) if m.lip is Lip.RETURNING]
        assert [[c.place is SHOE for c in m.cards] for m in back] == [[False, False, True]]
        assert back[0].rate == getattr(ACTIONS["push back"], action)
        assert back[0].codes == (RETURNED,)
    assert not [m for m in moves(lying(1), Lip.CLEAR) if m.lip is Lip.RETURNING]


def test_card_that_went_back_changes_nothing_of_what_is_read_later() -> None:
    """No over-draw is found of a card that is in the shoe."""
    before = (*lying(4, 2, None, 0), CARDS[SHOE, BACK, None])
    seen = (*lying(4, 2, 4, 0), CARDS[SHOE, BACK, None])
    assert PROCEDURE.reprice(before, seen, (RETURNED,)) == (1.0, (RETURNED,))


def test_third_card_that_proves_not_to_be_due_is_an_over_draw_once() -> None:
    """Punto has 8, read after a fifth card lay: the card was not due; one code says so."""
    fifth = CARDS[SLOTS[4], FACE, 3]
    before, seen = (*lying(4, 2, None, 0), fifth), (*lying(4, 2, 4, 0), fifth)
    ratio, codes = PROCEDURE.reprice(before, seen, ())
    assert codes == (OVER,)
    assert 0 < ratio < ACTIONS["edge"].undue / ACTIONS["edge"].due * 3
    assert PROCEDURE.reprice(before, seen, (OVER,)) == (1.0, (OVER,))
    assert PROCEDURE.reprice(before, seen, (RETURNED, TWO_OUT))[0] == 0


def test_third_card_that_proves_to_lie_with_the_other_hand_is_elsewhere() -> None:
    """Banco's third lay there while Punto's points were open: Punto's was due."""
    fifth = CARDS[SLOTS[5], FACE, 3]
    before, seen = (*lying(1, 2, None, 2), fifth), (*lying(1, 2, 3, 2), fifth)
    ratio, codes = PROCEDURE.reprice(before, seen, ())
    assert codes == (ELSEWHERE,)
    assert 0 < ratio < 0.1


def test_third_card_that_lay_with_the_other_hand_from_the_start_is_no_new_departure() -> None:
    """Punto stood on 7, so a card in its third place was elsewhere before Banco's were read."""
    fifth = CARDS[SLOTS[4], FACE, 3]
    before, seen = (*lying(3, None, 4, 2), fifth), (*lying(3, 1, 4, 2), fifth)
    assert PROCEDURE.reprice(before, seen, (ELSEWHERE,)) == (1.0, (ELSEWHERE,))


# --- what is known late ---------------------------------------------------------------------------


def test_clearing_before_a_card_that_proves_to_be_due_is_an_under_draw() -> None:
    """Punto has 1 and 3, read as its cards are being taken off: a third card was due."""
    there, gone = CARDS[SLOTS[0], FACE, 1], CARDS[GONE[0], FACE, 1]
    lying = tuple(CARDS[SLOTS[slot], FACE, points] for slot, points in ((1, 2), (2, None), (3, 4)))
    seen = (lying[0], CARDS[SLOTS[2], FACE, 3], lying[2])
    ratio, codes = PROCEDURE.reprice((gone, *lying), (gone, *seen), ())
    assert codes == (UNDER,)
    assert ratio < 0.1
    assert PROCEDURE.reprice((gone, *lying), (gone, *seen), (REMOVED,)) == (1.0, (REMOVED,))
    # Nothing was taken yet: the card may still come.
    assert PROCEDURE.reprice((there, *lying), (there, *seen), ()) == (1.0, ())


def test_card_that_is_held_before_the_shoe_is_not_laid_from_there() -> None:
    """It goes on first, so that once it lies the next draw is not taken for its lingering."""
    held = (CARDS[HAND, BACK, None],)
    assert puts(held, 0, SLOTS[0], Lip.REST)
    assert puts(held, 0, SLOTS[0], Lip.CLEAR)
    assert not puts(held, 0, SLOTS[0], Lip.LINGERS)


def test_card_that_stayed_before_the_shoe_is_taken_up_and_may_be_held_there() -> None:
    """A hand may draw what is half out behind one that is held."""
    two = (CARDS[SLOTS[0], BACK, None], CARDS[HAND, BACK, None])
    after = {move.lip for move in moves(two, Lip.STAYS) if move.lip is not None}
    assert after == {Lip.REST, Lip.LINGERS}
    drawn = {move.lip: move.by for move in moves(two, Lip.LINGERS) if move.lip is not None}
    assert drawn == {Lip.REST: By.NOTHING, Lip.PARTLY: By.HAND}


def test_only_a_card_in_the_hand_is_held_before_the_shoe() -> None:
    """Or a card that was just laid would hide the draw of the next."""

    def lingers(place: Place) -> bool:
        found = moves((CARDS[place, BACK, None],), Lip.CLEAR)
        return any(move.lip is Lip.LINGERS for move in found)

    assert lingers(HAND)
    assert not lingers(SLOTS[0])


def test_card_after_a_complete_coup_begins_the_next_one_though_a_card_was_removed_early() -> None:
    """All six cards were taken off, the first one early: nobody draws a seventh."""
    points = (2, 1, 0, 0, 5, 0)  # in their slots: Punto has 7 of 3 cards, Banco 1
    cards = tuple(CARDS[place, FACE, value] for place, value in zip(GONE, points, strict=True))
    drawn = moves(cards, Lip.PARTLY, (REMOVED,))
    first = sum(move.rate for move in drawn if move.begins and move.lip is Lip.WHOLLY)
    seventh = sum(move.rate for move in drawn if OVER in move.codes and move.lip is Lip.WHOLLY)
    assert 0 < seventh < first / 100


def test_cut_card_comes_as_a_card_would() -> None:
    """By a hand, half out first; where a card would be unusual, so is the cut card."""
    rates = []
    for cards in ((), (IN_HAND,)):
        assert not [move for move in moves(cards, Lip.REST) if move.lip is Lip.CUT]
        found = moves(cards, Lip.PARTLY)
        (cut,) = (move for move in found if move.lip is Lip.CUT)
        assert cut.by is By.CUT_CARD
        rates.append(cut.rate / sum(move.rate for move in found if move.lip is Lip.WHOLLY))
    assert rates == pytest.approx([ACTIONS["cut"].due] * 2)


# --- what each action is worth --------------------------------------------------------------------


OPEN = lying(1, 2, None, 2)  # Punto's points are not read: a third card may be due, or none
MAY_BE_DUE = 1 - PROCEDURE.due(OPEN)[COMPLETE]
EDGE, OUT, LAY = ACTIONS["edge"], ACTIONS["out"], ACTIONS["lay"]


def only(found: Iterable[Move]) -> Move:
    """Return the one move of some."""
    (move,) = found
    return move


def emerging(cards: Cards, *codes: str) -> Move:
    """Return the move by which an edge emerges."""
    return only(move for move in moves(cards, codes=codes) if move.lip is Lip.EMERGING)


@pytest.mark.parametrize("cards", [(), OPEN, (*lying(1), IN_HAND), gone(*NATURAL)])
@pytest.mark.parametrize("lip", Lip)
def test_likeliest_moves_come_first_and_their_rates_and_costs_are_summed(
    cards: Cards, lip: Lip
) -> None:
    """What is too rare to be looked at is known by the first that is; waiting costs as summed."""
    for burning in (True, False):
        state = PROCEDURE.state(cards, lip, burning=burning)
        found = PROCEDURE.moves(state)
        rates = [move.rate for move in found.moves]
        assert rates == sorted(rates, reverse=True)
        assert found.rate == pytest.approx(sum(rates))
        assert found.cost == pytest.approx(sum(move.cost for move in found.moves))
        assert all(0 <= move.cost <= move.rate + 1e-9 for move in found.moves)
        assert PROCEDURE.moves(state) is found


def test_wait_for_what_is_due_counts_a_little_and_for_what_is_free_in_full() -> None:
    """Dealers wait: that a due action does not come says a share of what its rate says."""
    cards = (*lying(1), IN_HAND)
    for slot, action in ((1, "lay"), (3, "lay in order")):
        for move in puts(cards, 1, SLOTS[slot]):
            assert move.cost == pytest.approx(move.rate * ACTIONS[action].survival)
    edge = emerging(lying(1))
    assert edge.cost == pytest.approx(edge.rate * EDGE.survival)
    turned = only(m for m in moves(lying(1)) if m.cards[0].side is BACK and len(m.cards) == 1)
    assert turned.cost == pytest.approx(turned.rate * ACTIONS["turn"].survival)
    took = only(m for m in puts(lying(*NATURAL), 0, GONE[0]) if not m.codes)
    assert took.cost == pytest.approx(took.rate * ACTIONS["take"].survival)
    drew = only(m for m in moves(lying(1), Lip.PARTLY) if m.lip is Lip.WHOLLY and not m.codes)
    assert drew.cost == pytest.approx(OUT.due * OUT.survival)


def test_edge_emerges_as_far_as_a_card_is_due() -> None:
    """Where it may be due or not the rates are mixed."""
    for cards, share in ((lying(*FOUR), 1), (lying(*NATURAL), 0), (OPEN, MAY_BE_DUE)):
        assert emerging(cards).rate == pytest.approx(EDGE.due * share + EDGE.undue * (1 - share))
    assert 0 < MAY_BE_DUE < 1


def test_coup_of_which_one_card_was_taken_goes_on_until_it_is_complete() -> None:
    """The next card is its own while one is due, and the next coup's then."""
    early, complete = (*gone(1), *lying(*FOUR)[1:]), (*gone(4), *lying(*NATURAL)[1:])
    assert emerging(early, REMOVED).rate == pytest.approx(EDGE.due)
    live = UNUSUAL * EDGE.due + (1 - UNUSUAL) * EDGE.undue
    assert emerging(early).rate == emerging(complete, REMOVED).rate == pytest.approx(live)


def test_first_card_of_a_coup_leaves_the_one_before_swept() -> None:
    """It takes the codes of that coup with it, and has none itself; two at once have theirs."""
    before = (*gone(4, 2, 4), CARDS[SLOTS[3], FACE, 0])
    begun = [m for m in moves(before, Lip.PARTLY, (OVER,)) if m.begins]
    assert {(m.left, m.before) for m in begun} == {(gone(*NATURAL), (OVER,))}
    assert {(len(m.cards), m.codes) for m in begun} == {(1, ()), (2, (TWO_OUT,))}
    one, two = sorted(begun, key=lambda move: len(move.cards))
    assert set(one.cards + two.cards) == {IN_HAND}
    assert (one.rate, one.cost) == pytest.approx((OUT.due, OUT.due * OUT.survival))
    assert (two.rate, two.cost) == pytest.approx((ACTIONS["two"].due * OUT.due, 0))
    assert not [m for m in moves(before, Lip.PARTLY) if m.lip is Lip.WHOLLY and not m.begins]


def test_card_that_may_be_due_is_drawn_and_else_is_one_too_many() -> None:
    """An over-draw was paid for where its edge emerged; where it may be due, the difference is."""
    found = {(len(m.cards), m.codes): m for m in moves(OPEN, Lip.PARTLY) if m.lip is Lip.WHOLLY}
    two = ACTIONS["two"].due * OUT.due
    ratio = (1 - MAY_BE_DUE) * EDGE.undue / (EDGE.due * MAY_BE_DUE + EDGE.undue * (1 - MAY_BE_DUE))
    rates = {key: move.rate for key, move in found.items()}
    over = OUT.due * ratio
    assert rates == pytest.approx({(5, ()): OUT.due, (5, (OVER,)): over, (6, (TWO_OUT,)): two})
    assert found[5, (OVER,)].cost == pytest.approx(OUT.due * OUT.survival * ratio)
    assert found[6, (TWO_OUT,)].cost == 0
    assert found[6, (TWO_OUT,)].cards[4:] == (IN_HAND, IN_HAND)
    assert drawn(lying(*NATURAL)) == {(5, (OVER,)): pytest.approx(OUT.due)}
    assert set(drawn(lying(*FOUR))) == {(5, ()), (6, (TWO_OUT,))}


def test_draw_is_by_a_hand_and_what_the_mouth_missed_by_one_that_stayed() -> None:
    """Nothing at the mouth speaks for the rest of what may happen."""
    cards = (*lying(1), IN_HAND)
    assert {m.by for m in moves(cards, Lip.PARTLY) if m.lip is Lip.WHOLLY} == {By.HAND}
    unseen = only(m for m in moves(cards) if m.by not in {By.NOTHING, By.HOLDING_HAND})
    assert (unseen.by, unseen.lip, unseen.cost) == (By.STAYING_HAND, Lip.INSIDE, 0)
    lingers = [m for m in moves(cards, Lip.LINGERS) if m.by is not By.NOTHING]
    assert [(m.by, m.lip) for m in lingers] == [(By.HAND, Lip.PARTLY)]


@pytest.mark.parametrize("lip", [Lip.REST, Lip.EMERGING, Lip.PARTLY])
def test_hand_beside_the_mouth_may_hide_what_its_lip_shows(lip: Lip) -> None:
    """No card has left then, and none needs to be out; the next may have come out meanwhile."""
    hidden = only(m for m in moves(lying(1), lip) if m.lip is Lip.HIDDEN)
    assert (hidden.by, hidden.cards, hidden.codes) == (By.HOLDING_HAND, lying(1), ())
    assert hidden.rate == pytest.approx(ACTIONS["linger"].due * LESS_USUAL)
    ends = {m.lip for m in moves(lying(1), Lip.HIDDEN) if m.lip is not None}
    assert ends == {Lip.REST, Lip.PARTLY}


@pytest.mark.parametrize(
    ("card", "squeezed"),
    [
        (CARDS[SLOTS[4], BACK, None], True),
        (CARDS[HELD[4, None], BACK, None], True),
        (CARDS[SLOTS[4], FACE, 3], False),
        (CARDS[GONE[4], BACK, None], False),
        (CARDS[SLOTS[5], BACK, None], False),
    ],
)
def test_card_of_a_slot_beside_the_mouth_may_be_squeezed_before_it(
    card: CoupCard, *, squeezed: bool
) -> None:
    """One that lies face down there, or was lifted from it: no other has left the shoe then."""
    procedure = Procedure(Rules(), beside=(4,))
    found = procedure.moves(procedure.state((*lying(1, 2, 3, 4), card))).moves
    into = [m for m in found if m.lip is Lip.SQUEEZED]
    assert [(m.by, m.cards[-1], m.codes) for m in into] == [(By.HOLDING_HAND, card, ())] * squeezed


@pytest.mark.parametrize("dealing", list(Dealing))
def test_card_is_laid_face_up_as_often_as_by_the_way_of_dealing(dealing: Dealing) -> None:
    """Whichever side shows, it has not been seen to lie."""
    procedure = Procedure(Rules(dealing=dealing))
    found = procedure.moves(procedure.state((IN_HAND,))).moves
    laid = {m.cards[0].side: m.rate for m in found if m.cards and m.cards[0].place is SLOTS[0]}
    up = LAID_FACE_UP[dealing]
    assert laid == pytest.approx({UNSEEN[FACE]: LAY.due * up, UNSEEN[BACK]: LAY.due * (1 - up)})


def test_card_too_many_lies_in_a_third_place_or_aside_where_both_are_taken() -> None:
    """Its code is known already, so that it is no further departure."""
    cards = (*lying(*NATURAL), IN_HAND)
    for slot in (4, 5):
        assert put(cards, 4, SLOTS[slot], Lip.REST, OVER) == pytest.approx(LAY.due / 2)
    full = (*cards[:4], *(CARDS[SLOTS[slot], FACE, 1] for slot in (4, 5)), IN_HAND)
    for each, action in ((full, "lay"), (cards, "lay aside")):
        aside = only(puts(each, len(each) - 1, ASIDE, Lip.REST, OVER))
        assert aside.rate == aside.cost == pytest.approx(ACTIONS[action].due)
    aside = only(m for m in puts(full, 6, ASIDE))
    assert aside.rate == pytest.approx(ACTIONS["lay aside"].due)
    bare = (*gone(*NATURAL), IN_HAND)  # no card is due: in a first place it lies by a departure
    assert put(bare, 4, SLOTS[0], Lip.REST, OVER) == pytest.approx(LAY.undue)


def test_no_more_than_the_first_two_cards_of_a_hand_are_laid_next() -> None:
    """A third waits for them."""
    hand = (IN_HAND,) * 3
    assert puts(hand, 1, SLOTS[0])
    assert not puts(hand, 2, SLOTS[0])


def test_card_that_was_none_takes_its_over_draw_with_it() -> None:
    """Unless another card is one too many as well."""

    def without(cards: Cards) -> Move:
        return only(m for m in moves(cards, codes=(OVER,)) if m.cards == cards[:-1])

    none = without((*lying(*NATURAL), IN_HAND))
    assert none.codes == ()
    assert none.rate == none.cost == pytest.approx(ACTIONS["no card"].due)
    assert without((*lying(*NATURAL), CARDS[SLOTS[4], FACE, 1], IN_HAND)).codes == (OVER,)
    assert without((*lying(*FOUR), IN_HAND)).codes == ()


@pytest.mark.parametrize(
    ("dealing", "number", "side", "due"),
    [
        (Dealing.FACE_UP, 1, BACK, True),
        (Dealing.FACE_UP, 1, FACE, False),
        (Dealing.PUNTO_FIRST, 3, BACK, False),
        (Dealing.PUNTO_FIRST, 4, BACK, True),
        (Dealing.PUNTO_FIRST, 4, FACE, False),
    ],
)
def test_card_is_turned_face_up_in_its_turn(
    dealing: Dealing, number: int, side: Side, *, due: bool
) -> None:
    """Punto first: once four lie. A face is turned down by a departure."""
    procedure, turn = Procedure(Rules(dealing=dealing)), ACTIONS["turn"]
    cards = tuple(CARDS[SLOTS[slot], side, None] for slot in range(number))
    found = procedure.moves(procedure.state(cards)).moves
    turned = [
        m.rate for m in found if m.cards and m.cards[0] is CARDS[SLOTS[0], _other(side), None]
    ]
    assert turned == [pytest.approx(turn.due if due else turn.undue)]


def _other(side: Side) -> Side:
    return BACK if side is FACE else FACE


def test_face_is_not_lifted_and_a_lifted_card_is_turned_and_held_away() -> None:
    """Players lift what lies face down; from over another slot it goes on."""
    assert not puts(lying(1), 0, HELD[0, None])
    over = (CARDS[HELD[0, 2], BACK, None],)
    assert put(over, 0, HELD[0, None]) == pytest.approx(ACTIONS["hold away"].due)
    turned = only(m for m in puts(over, 0, HELD[0, 2]) if m.lip is None)
    assert (turned.cards[0].side, turned.rate) == (FACE, ACTIONS["turn in hand"].due)
    away = puts((CARDS[HELD[0, None], BACK, None],), 0, HELD[0, None])
    assert [m.cards[0].side for m in away if m.lip is None] == [
        FACE
    ]  # it is turned, and nowhere to go from


def test_card_that_lay_aside_comes_to_its_slot_either_side_up() -> None:
    """Half of the time each; where none is due it stays there."""
    cards = (*lying(*FOUR), CARDS[ASIDE, BACK, None])
    back = {m.cards[4].side: m.rate for m in puts(cards, 4, SLOTS[4])}
    assert back == dict.fromkeys((UNSEEN[BACK], UNSEEN[FACE]), ACTIONS["bring on"].due / 2)
    done = (*lying(*NATURAL), CARDS[ASIDE, BACK, None])
    assert not [m for m in moves(done) if m.cards[4:] and m.cards[4].place.lies is not None]


def test_card_that_seemed_to_be_taken_may_lie_still_where_no_other_came() -> None:
    """What was last in a slot is there again; once a card lies in it, it was taken."""
    cards = (*gone(4), *lying(*NATURAL)[1:])
    assert put(cards, 0, SLOTS[0]) == pytest.approx(ACTIONS["lies still"].due)
    assert not puts((*gone(4), *lying(*NATURAL)), 0, SLOTS[0])


def test_card_is_taken_too_early_or_alone_as_a_departure() -> None:
    """So far as the coup may not be over; of what nobody saw lie it is said as seldom."""
    take = ACTIONS["take"]
    found = {m.codes: m.rate for m in puts(OPEN, 0, GONE[0])}
    over = 1 - MAY_BE_DUE
    departs = take.undue * MAY_BE_DUE
    assert found == pytest.approx({(): take.due * over, (UNDER,): departs, (REMOVED,): departs})
    hidden = (CARDS[SLOTS[0], UNSEEN[FACE], 1], *OPEN[1:])
    rates = {m.codes: m.rate for m in puts(hidden, 0, GONE[0])}
    assert rates == pytest.approx({codes: UNUSUAL * rate for codes, rate in found.items()})
    assert {m.cost for m in puts(OPEN, 0, GONE[0]) if m.codes} == {0.0}
    assert {m.codes for m in puts(lying(*NATURAL), 0, GONE[0])} == {()}
    assert [m.codes for m in puts(lying(1, 2, 3), 0, GONE[0])] == [(REMOVED,)]  # fewer than four


def test_card_is_laid_from_before_the_shoe_only_where_another_is_out() -> None:
    """Of two, one lies there while a hand lays the other, unless both are known to have left."""
    assert not puts((IN_HAND,), 0, SLOTS[0], Lip.STAYS)
    both = (IN_HAND, IN_HAND)
    for codes, by in (((), By.HOLDING_HAND), ((TWO_OUT,), By.NOTHING)):
        laid = puts(both, 0, SLOTS[0], Lip.STAYS, *codes)
        assert {move.by for move in laid} == {by}
        assert rate(laid) == pytest.approx(LAY.due)
    stays = [len(cards) for cards in ((IN_HAND,), both) for m in moves(cards, Lip.CLEAR)
             if m.lip is Lip.STAYS]  # fmt: skip
    assert stays == [2]


# --- the burn -------------------------------------------------------------------------------------


BURNED = CARDS[GONE_ASIDE, BACK, None]


@pytest.mark.parametrize(
    ("burn", "least"),
    [
        (BurnRule(BurnKind.VALUE), 2),
        (BurnRule(BurnKind.FIXED, 1), 1),
        (BurnRule(BurnKind.FIXED, 5), 2),
        (BurnRule(BurnKind.NONE), 2),
    ],
)
def test_coup_begins_once_as_many_are_burned_as_the_least_burn_has(
    burn: BurnRule, least: int
) -> None:
    """Until then each card that leaves is burned; then it is burned, or a coup's first."""
    procedure = Procedure(Rules(burn=burn))
    for number in range(1, 4):
        cards = (BURNED,) * number
        for lip, to, by in (
            (Lip.REST, Lip.INSIDE, By.STAYING_HAND),
            (Lip.PARTLY, Lip.WHOLLY, By.HAND),
        ):
            found = procedure.moves(procedure.state(cards, lip, burning=True)).moves
            out = [m for m in found if m.cards != cards]
            assert {(m.lip, m.by, m.codes) for m in out} == {(to, by, ())}
            burns, begins = ([m for m in out if m.begins is each] for each in (False, True))
            assert [(m.cards, m.burning) for m in burns] == [((*cards, BURNED), True)]
            first = [(m.cards, m.left, m.burning) for m in begins]
            assert first == [((IN_HAND,), cards, False)] * (number >= least)
            assert [m.rate for m in begins] == [burns[0].rate] * (number >= least)


def test_first_burned_card_is_turned_and_laid_aside_before_the_next_is_drawn() -> None:
    """It says how many follow: two in the hand within a second are no burn."""
    burn = partial(PROCEDURE.state, burning=True)
    drawn = only(m for m in PROCEDURE.moves(burn((), Lip.PARTLY)).moves if m.lip is Lip.WHOLLY)
    assert (drawn.cards, drawn.burning) == ((IN_HAND,), True)
    shown = CARDS[HAND, UNSEEN[FACE], None]
    for card, action, after in ((IN_HAND, "turn", shown), (shown, "lay", BURNED)):
        found = PROCEDURE.moves(burn((card,), Lip.PARTLY)).moves
        carried = only(m for m in found if m.lip is None)
        assert (carried.cards, carried.burning) == ((after,), True)
        assert carried.rate == ACTIONS[action].due / 4
        hasty = only(m for m in found if m.lip is Lip.WHOLLY)
        assert hasty.cards == (BURNED, BURNED)
        assert hasty.rate == pytest.approx(ACTIONS["out"].due * UNUSUAL)


def test_burn_goes_on_whatever_the_lip_shows() -> None:
    """Its edge emerges as any other; a card is held before the shoe once one is out."""
    for number, held in ((0, set()), (1, {Lip.LINGERS}), (2, {Lip.LINGERS, Lip.STAYS})):
        cards = (BURNED,) * number
        state = PROCEDURE.state(cards, Lip.CLEAR, burning=True)
        found = PROCEDURE.moves(state).moves
        assert {m.lip for m in found} == {Lip.REST, *held}
        assert all(m.burning and m.cards == cards for m in found)
    rest = PROCEDURE.moves(PROCEDURE.state((), Lip.REST, burning=True)).moves
    edge = only(m for m in rest if m.lip is Lip.EMERGING)
    assert (edge.rate, edge.burning, edge.by) == (EDGE.due, True, By.NOTHING)


# --- what is read late, exactly -------------------------------------------------------------------


def test_price_of_what_is_read_late_is_that_of_the_departure() -> None:
    """Against what was due: by how likely that was when the card left, lay, or was taken."""
    before, fifth = lying(4, 2, None, 0), CARDS[SLOTS[4], FACE, 3]
    asked = 1 - PROCEDURE.due(before)[COMPLETE]
    price = PROCEDURE.reprice((*before, fifth), (*lying(*NATURAL), fifth), (RETURNED,))
    assert price == (pytest.approx(EDGE.undue / (EDGE.due * asked)), (OVER, RETURNED))
    assert PROCEDURE.reprice((*before, fifth), (*lying(*NATURAL), fifth), (RETURNED, TWO_OUT)) == (
        0.0,
        (RETURNED, TWO_OUT),
    )
    wrong = CARDS[SLOTS[5], FACE, 3]
    was = PROCEDURE.due(OPEN)[5]
    price = PROCEDURE.reprice((*OPEN, wrong), (*lying(1, 2, 3, 2), wrong), ())
    assert price == (pytest.approx(LAY.undue / (LAY.due * was)), (ELSEWHERE,))
    taken, over = ACTIONS["take"], 1 - MAY_BE_DUE
    early, seen = (*gone(1), *OPEN[1:]), (*gone(1), *lying(*FOUR)[1:3], OPEN[3])
    price = PROCEDURE.reprice(early, seen, ())
    assert price == (pytest.approx(taken.undue / (taken.due * over)), (UNDER,))
    full = (RETURNED, TWO_OUT)
    assert PROCEDURE.reprice(early, seen, full) == (0.0, full)
    assert PROCEDURE.reprice(early, seen, (UNDER,)) == (1.0, (UNDER,))
    assert PROCEDURE.reprice(OPEN, lying(*FOUR), ()) == (1.0, ())


def test_card_in_the_hand_is_taken_to_go_where_one_is_due() -> None:
    """The next is due after it; of places that are as likely, in the last."""
    assert PROCEDURE.due((*lying(1), IN_HAND)) == {2: 1.0}
    assert PROCEDURE.due((IN_HAND, IN_HAND, IN_HAND)) == {3: 1.0}
    assert PROCEDURE.due((*lying(1, 2, 3), CARDS[ASIDE, BACK, None])) == {3: 1.0}
    assert PROCEDURE.due((*lying(*FOUR), IN_HAND)) == PROCEDURE.due(
        (*lying(*FOUR), CARDS[SLOTS[4], BACK, None])
    )
