"""What a dealer may do next in each state of a coup, and the hypotheses that it leads to.

The rules are a prior on where a card goes and whether one comes, never on its face.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from functools import cache
from operator import attrgetter

from vision.game.events import Slot
from vision.game.rules import BurnKind, Dealing, Rules
from vision.game.tableau import expected
from vision.sight.following.actions import ACTIONS, LAID_FACE_UP, LESS_USUAL, UNUSUAL
from vision.sight.following.cards import (
    ASIDE,
    BACK,
    BESIDE,
    CARDS,
    FACE,
    GONE,
    GONE_ASIDE,
    HAND,
    HAND_OF,
    HELD,
    LAY,
    SHOE,
    SLOTS,
    TAKEN,
    THIRD,
    TURNED,
    UNSEEN,
    Cards,
    Lip,
    Place,
    Side,
)
from vision.sight.following.hypotheses import By, Codes, Move, Moves, State, StateSpace, swept

# Departures from procedure, as hypotheses name them; which fault each is, the layout's rules say.
OVER, ELSEWHERE, UNDER, REMOVED = "OVER", "ELSEWHERE", "UNDER", "TAKEN"
RETURNED, TWO_OUT = "RETURNED_TO_SHOE", "TWO_CARDS_OUT"
# More departures than these in one coup are not believed; nor more cards.
MOST_CODES, MOST_CARDS = 2, 9
# Cards that every coup has, and every burn: the first, and as many more as it counts. One that
# seems to be burned alone was none.
FIRST_CARDS, LEAST_BURNED = 4, 2
COMPLETE = -1
_DRAWN = CARDS[HAND, UNSEEN[BACK], None]
_SHOWN, _BURNED = CARDS[HAND, UNSEEN[FACE], None], CARDS[GONE_ASIDE, BACK, None]
_FIRST: Cards = (_DRAWN,)
_BOTH: Cards = (_DRAWN, _DRAWN)
# What may be seen of the lip next, whatever the cards, by the action that it takes.
_STEPS: dict[Lip, tuple[tuple[str, Lip], ...]] = {
    Lip.REST: (),
    Lip.CUT: (("cut out", Lip.REST),),
    Lip.EMERGING: (("slide", Lip.PARTLY), ("edge back", Lip.REST)),
    Lip.PARTLY: (("edge back", Lip.REST),),
    Lip.WHOLLY: (("step", Lip.CLEAR),),
    Lip.CLEAR: (("leave", Lip.REST), ("linger", Lip.LINGERS), ("stay", Lip.STAYS)),
    # The next card may have come half out meanwhile.
    Lip.LINGERS: (("go on", Lip.REST), ("go on", Lip.PARTLY)),
    # It is taken up, and may be held before the shoe.
    Lip.STAYS: (("go on", Lip.LINGERS), ("go on", Lip.REST)),
    # Pushed back slowly, or not wholly: what is left of it in sight is the next one's edge.
    Lip.RETURNING: (("slide", Lip.INSIDE), ("go on", Lip.EMERGING)),
    Lip.INSIDE: (("go on", Lip.REST),),
    Lip.HIDDEN: (("go on", Lip.REST), ("go on", Lip.PARTLY)),
    Lip.SQUEEZED: (("go on", Lip.REST),),
}
# What a hand beside the mouth may hide.
_HIDES = {Lip.REST, Lip.EMERGING, Lip.PARTLY}
# How many cards out it takes that one is held, or lies, before the shoe.
_HELD = {Lip.LINGERS: 1, Lip.STAYS: 2}
# How usual it is (0 to 1) that the only card out is laid while one shows at the lip: one that is
# held before the shoe lies nowhere. So what stays there while a card is laid is another card.
_LAYS = {Lip.WHOLLY: LESS_USUAL, Lip.CLEAR: LESS_USUAL, Lip.LINGERS: 0.0}


class Procedure(StateSpace):
    """The moves from each state of a coup, by the rules and the way of dealing of a table."""

    def __init__(self, rules: Rules, beside: Container[int] = ()) -> None:
        """By these rules; the slots `beside` the mouth (0 to 5) reach into its picture."""
        super().__init__()
        self._rules, self._beside = rules, beside
        self._face_up = LAID_FACE_UP[rules.dealing]
        fixed = rules.burn.kind is BurnKind.FIXED
        self._least_burned = min(LEAST_BURNED, rules.burn.cards) if fixed else LEAST_BURNED
        self.due = cache(self._due)
        self._on_table = cache(self._table_moves)
        self._priced = cache(self._reprice)
        self.reprice = self._priced

    def forget(self, needed: Iterable[State]) -> None:
        """Forget what was worked out of cards that were read, but for the states that are kept."""
        super().forget(needed)
        for known in (self.due, self._on_table, self._priced):
            known.cache_clear()

    def moves(self, state: State) -> Moves:
        """Return what may happen next in a state."""
        if state.moves is None:
            cards, lip, codes = state.cards, state.lip, state.codes
            if state.burning:
                found = list(_moves_of_burn(cards, lip, self._least_burned))
            else:
                lays, drawn = _LAYS.get(lip, 1.0), lip in {Lip.EMERGING, Lip.PARTLY}
                if lip is Lip.STAYS:
                    lays = float(sum(card.place is HAND for card in cards) > 1)
                table = self._on_table(cards, codes, lays=lays, drawn=drawn)
                if lip is Lip.STAYS and TWO_OUT not in codes:
                    # Of two drawn one after the other, a hand holds one while another lays one.
                    table = tuple(replace(move, by=By.HOLDING_HAND) for move in table)
                found = [*self._at_lip(cards, lip, codes), *table]
            found.sort(key=attrgetter("rate"), reverse=True)
            rate, cost = sum([move.rate for move in found]), sum([move.cost for move in found])
            state.moves = Moves(tuple(found), rate, cost)
        return state.moves

    def _due(self, cards: Cards) -> dict[int, float]:
        """Return how likely each slot is due next, `COMPLETE` for none; cards in hand are laid."""
        hands: tuple[list[int | None], list[int | None]] = [], []  # points of Punto and Banco
        for card in cards:
            if card.place.slot is not None:
                hands[HAND_OF[card.place.slot]].append(card.points)
        for _ in range(sum(card.place is HAND for card in cards)):
            wanted = self._expected(*hands)
            slot = max(wanted, key=lambda s: (wanted[s], s))
            hands[HAND_OF[max(wanted) if slot == COMPLETE else slot]].append(None)
        return self._expected(*hands)

    def _expected(self, punto: list[int | None], banco: list[int | None]) -> dict[int, float]:
        rules = self._rules
        slots = expected(tuple(punto[:3]), tuple(banco[:3]), rules.tableau, rules.deal_order)
        return {COMPLETE if slot is None else int(slot): 1 / len(slots) for slot in slots}

    def _reprice(self, before: Cards, cards: Cards, codes: Codes) -> tuple[float, Codes]:
        """Return by how much less likely a state is once points are read, and its codes then.

        A third card that was drawn, or laid, while the points were unknown may prove not to have
        been due, or not there; a clearing that began then, to have come before a card that was.
        """
        ratio = 1.0
        for index in range(FIRST_CARDS, len(cards)):
            was, now = self.due(before[:index]), self.due(cards[:index])
            place = cards[index].place
            slot, asked = place.slot, 1 - was.get(COMPLETE, 0.0)
            if place is SHOE or was == now:
                continue
            if OVER not in codes and asked > 0 and now.get(COMPLETE, 0.0) == 1:
                action, share, code = ACTIONS["edge"], asked, OVER
            elif slot is not None and was.get(slot, 0.0) > 0 and not {slot, COMPLETE} & set(now):
                action, share, code = ACTIONS["lay"], was[slot], ELSEWHERE
            else:
                continue
            after = _with(codes, code)
            if after is None:
                return 0.0, codes
            ratio, codes = ratio * action.undue / (action.due * share), after
        over, still = self.due(before).get(COMPLETE, 0.0), self.due(cards).get(COMPLETE, 0.0)
        if over > still == 0 and any(card.place.gone for card in cards):
            after = codes if REMOVED in codes else _with(codes, UNDER)
            if after is None:
                return 0.0, codes
            if after != codes:
                action = ACTIONS["take"]
                ratio, codes = ratio * action.undue / (action.due * over), after
        return min(ratio, 1.0), codes

    def _table_moves(
        self, cards: Cards, codes: Codes, *, lays: float, drawn: bool
    ) -> tuple[Move, ...]:
        """Return what may happen on the table; a card may be on its way out.

        `lays` (0 to 1): how usual it is that a card is laid, by what shows at the lip.
        """
        return (
            *(self._laying(cards, codes, lays) if lays else ()),
            *self._turning(cards, codes),
            *self._taking(cards, codes, drawn=drawn),
        )

    # --- at the lip ------------------------------------------------------------------------------

    def _at_lip(self, cards: Cards, lip: Lip, codes: Codes) -> Iterator[Move]:
        hand = [i for i, card in enumerate(cards) if card.place is HAND]
        for name, to in _STEPS[lip]:
            if len(hand) >= _HELD.get(to, 0):
                move = _move(name, cards, to, codes)
                if (lip, to) == (Lip.LINGERS, Lip.PARTLY):
                    move.by = By.HAND  # draws what comes behind a card that lingers
                yield move
        if lip in _HIDES:
            hides = _move("linger", cards, Lip.HIDDEN, codes, LESS_USUAL)
            yield replace(hides, by=By.HOLDING_HAND)
            near = (card for card in cards if card.place.slot in self._beside)
            if any(not (card.side.is_face or card.place.gone) for card in near):
                squeezed = _move("squeeze", cards, Lip.SQUEEZED, codes)
                yield replace(squeezed, by=By.HOLDING_HAND)
        if lip is Lip.REST:
            rate = self._edge_rate(cards, codes)
            yield Move(rate, rate * ACTIONS["edge"].survival, cards, codes, Lip.EMERGING)
            yield from self._unseen(cards, codes)
            yield from _pushed_back(cards, codes, hand, ACTIONS["push back"].undue)
        elif lip is Lip.PARTLY:
            drawn = list(self._drawn(cards, codes))
            for move in drawn:
                move.by = By.HAND
                yield move
            # The cut card comes as any card would.
            rate = ACTIONS["cut"].due * sum(move.rate for move in drawn)
            yield Move(rate, 0.0, cards, codes, Lip.CUT, by=By.CUT_CARD)
        elif lip in {Lip.WHOLLY, Lip.CLEAR}:
            yield from _pushed_back(cards, codes, hand, ACTIONS["push back"].due)

    def _edge_rate(self, cards: Cards, codes: Codes) -> float:
        action, share = ACTIONS["edge"], self._wanted(cards, codes)
        return action.due * share + action.undue * (1 - share)

    def _wanted(self, cards: Cards, codes: Codes) -> float:
        """Return how far (0 to 1) a next card is asked for: by the tableau, or as a new coup's."""
        goes_on = REMOVED in codes and self.due(cards).get(COMPLETE, 0.0) < 1
        if _begins(cards) and not goes_on:
            live = any(TAKEN[card.place] is not card.place for card in cards)
            return UNUSUAL if live else 1.0
        return 1 - self.due(cards).get(COMPLETE, 0.0)

    def _unseen(self, cards: Cards, codes: Codes) -> Iterator[Move]:
        rate = ACTIONS["unseen"].due * self._wanted(cards, codes)
        for move in self._drawn(cards, codes):
            drawn = len(move.cards) - (0 if move.begins else len(cards))
            if drawn == 1 and not set(move.codes) - set(codes):
                yield replace(move, rate=rate, cost=0.0, lip=Lip.INSIDE, by=By.STAYING_HAND)

    def _drawn(self, cards: Cards, codes: Codes) -> Iterator[Move]:
        edge, out = ACTIONS["edge"], ACTIONS["out"]
        if any(card.place is HAND for card in cards):
            out = out._replace(due=out.due * LESS_USUAL)  # a card is laid before the next is drawn
        cost = out.due * out.survival
        if _begins(cards):
            left, laid = swept(cards), sum(card.place.slot is not None for card in cards)
            due = out.due * (1.0 if laid >= FIRST_CARDS else UNUSUAL)
            first = Move(due, cost, _FIRST, (), Lip.WHOLLY, begins=True, left=left, before=codes)
            yield first
            rate = ACTIONS["two"].due * due
            yield replace(first, rate=rate, cost=0.0, cards=_BOTH, codes=(TWO_OUT,))
            if REMOVED not in codes:
                return
        if len(cards) >= MOST_CARDS:
            return
        more = (*cards, _DRAWN)
        share = 1 - self.due(cards).get(COMPLETE, 0.0)
        if share > 0:
            yield Move(out.due, cost, more, codes, Lip.WHOLLY)
            both = _with(codes, TWO_OUT)
            if both is not None:
                two = (*cards, *_BOTH)
                yield Move(ACTIONS["two"].due * out.due, 0.0, two, both, Lip.WHOLLY)
        over = _with(codes, OVER)
        if share < 1 and over is not None:
            # The edge of a card that is not due was paid for where it emerged; where it may have
            # been due, or be the next coup's, the difference is.
            ratio = (1 - share) * edge.undue / self._edge_rate(cards, codes)
            yield Move(out.due * ratio, cost * ratio, more, over, Lip.WHOLLY)

    # --- on the table ----------------------------------------------------------------------------

    def _laying(self, cards: Cards, codes: Codes, lays: float) -> Iterator[Move]:
        taken = {card.place.slot for card in cards if not card.place.gone}
        hand = [i for i, card in enumerate(cards) if card.place is HAND]
        due = self.due(tuple(c for c in cards if c.place is not HAND)) if hand else {}
        for number, index in enumerate(hand[:2]):
            usual = lays * (UNUSUAL if number else 1.0)
            for slot, place in enumerate(SLOTS):
                # What was lifted from a slot comes back to it.
                if slot in taken:
                    continue
                action, rate, after = self._lay_rate(slot, due, codes)
                if after is None:
                    continue
                for side, share in ((BACK, 1 - self._face_up), (FACE, self._face_up)):
                    each = rate * usual * share
                    laid = _put(cards, index, place, UNSEEN[side])
                    yield Move(each, each * ACTIONS[action].survival, laid, after)
            full = OVER in codes and {card.place.slot for card in cards} >= THIRD
            aside = ACTIONS["lay"].due if full else ACTIONS["lay aside"].due
            aside *= usual
            yield Move(aside, aside, _put(cards, index, ASIDE, UNSEEN[BACK]), codes)
        if hand:
            none = tuple(card for i, card in enumerate(cards) if i != hand[0])
            # An over-draw goes with the card, unless another card is over too.
            over = any(self.due(none[:i]).get(COMPLETE) == 1 for i in range(FIRST_CARDS, len(none)))
            after = codes if over else tuple(code for code in codes if code != OVER)
            yield _move("no card", none, None, after)

    def _lay_rate(
        self, slot: int, due: dict[int, float], codes: Codes
    ) -> tuple[str, float, Codes | None]:
        """Return the action of laying a card in a slot, its rate and the codes after it."""
        wanted = [other for other in due if other != COMPLETE]
        lay = ACTIONS["lay"]
        if due.get(slot, 0.0) > 0:
            return "lay", lay.due * max(due[slot], 0.05), codes
        if wanted and HAND_OF[slot] == HAND_OF[wanted[0]]:
            return "lay in order", ACTIONS["lay in order"].due, codes
        if OVER in codes or not wanted:  # the departure has its code already
            return "lay", lay.due / 2 if slot >= Slot.PUNTO_3 else lay.undue, codes
        return "lay", lay.undue, _with(codes, ELSEWHERE)

    def _turning(self, cards: Cards, codes: Codes) -> Iterator[Move]:
        turn = ACTIONS["turn"]
        laid = sum(card.place.lies is not None for card in cards)
        for index, card in enumerate(cards):
            place, slot = card.place, card.place.lies
            if slot is not None:
                in_turn = self._rules.dealing is not Dealing.PUNTO_FIRST or laid >= FIRST_CARDS
                back = not card.side.is_face
                rate = turn.due if in_turn and back else turn.undue
                turned = _put(cards, index, place, TURNED[card.side])
                yield Move(rate, rate * turn.survival, turned, codes)
                for over, share in _over(cards, slot) if back else ():
                    away = _put(cards, index, HELD[slot, over])
                    yield _move("lift", away, None, codes, share)
            if place.held:
                yield from self._held(cards, index, codes)
            elif slot is not None or place is ASIDE:
                yield from self._brought_on(cards, index, codes)

    def _held(self, cards: Cards, index: int, codes: Codes) -> Iterator[Move]:
        card = cards[index]
        place, slot = card.place, card.place.slot or 0
        yield _move("turn in hand", _put(cards, index, place, TURNED[card.side]), None, codes)
        for shown in (BACK, FACE):
            yield _move("bring back", _put(cards, index, SLOTS[slot], shown), None, codes, 1 / 2)
            for over, share in _over(cards, slot):
                if over is not None and over != place.over:
                    beside = _put(cards, index, HELD[slot, over], shown)
                    yield _move("bring back", beside, None, codes, share / 2)
        if place.over is not None:
            yield _move("hold away", _put(cards, index, HELD[slot, None]), None, codes)

    def _brought_on(self, cards: Cards, index: int, codes: Codes) -> Iterator[Move]:
        """Yield the moves of a card from aside to what is due, or from where it seemed to lie.

        A hand may hold it over another slot of its hand for a second before it lays it.
        """
        lay, taken = cards[index].place.slot, {card.place.slot for card in cards}
        if lay is None:
            before, bare = (*cards[:index], *cards[index + 1 :]), {*range(len(SLOTS))} - taken
        else:
            before, bare = cards[:index], {slot for slot in BESIDE[lay] if slot < lay} - taken
        for slot, share in self.due(before).items() if bare else ():
            if slot not in bare:
                continue
            for side in (BACK, FACE):
                brought = _put(cards, index, SLOTS[slot], UNSEEN[side])
                yield _move("bring on", brought, None, codes, share / 2)

    def _taking(self, cards: Cards, codes: Codes, *, drawn: bool) -> Iterator[Move]:
        lying = [i for i, card in enumerate(cards) if card.place.lies is not None]
        gone = [i for i, card in enumerate(cards) if card.place in GONE]
        places = {card.place for card in cards}
        for index in gone:
            lay = LAY[cards[index].place]
            if lay not in places:
                yield _move("lies still", _put(cards, index, lay), None, codes)
        if gone:
            yield from self._taking_more(cards, codes)
        if not lying or (gone and REMOVED not in codes):
            return
        take, share = ACTIONS["take"], self.due(cards).get(COMPLETE, 0.0)
        share *= LESS_USUAL if drawn else 1.0
        if HAND in places:
            share = 0.0
        backs = any(not cards[i].side.is_face for i in lying)
        for index in lying:
            left = _put(cards, index, TAKEN[cards[index].place])
            hidden = 1.0 if cards[index].side.seen else UNUSUAL
            usual = share * (UNUSUAL if backs else 1.0) * hidden
            if usual:
                yield _move("take", left, None, codes, usual)
            for code in (UNDER, REMOVED) if len(cards) >= FIRST_CARDS else (REMOVED,):
                after = _with(codes, code)
                if share < 1 and after is not None:
                    yield Move(take.undue * (1 - share) * hidden, 0.0, left, after)

    def _taking_more(self, cards: Cards, codes: Codes) -> Iterator[Move]:
        # One card alone was taken off: the coup goes on, and the others are not on their way.
        usual = 1e-2 if REMOVED in codes else 1.0
        for index, card in enumerate(cards):
            place, after = card.place, TAKEN[card.place]
            if after is not place:
                hidden = place is HAND or place.held or not card.side.seen
                times = usual * (UNUSUAL if hidden else 1.0)
                yield _move("take more", _put(cards, index, after), None, codes, times)


def _moves_of_burn(cards: Cards, lip: Lip, least: int) -> Iterator[Move]:
    """Yield the moves while cards are burned: each goes aside, or is the first of a coup.

    It is that of a coup once there are as many as a burn has at `least`. The first is turned, read
    and laid aside before the next is drawn: it says how many follow. The lip is that of any other
    draw: what shows there, a card that waits half out of the shoe, speaks neither for a burn nor
    against it.
    """
    for name, to in _STEPS[lip]:
        if len(cards) >= _HELD.get(to, 0):
            yield replace(_move(name, cards, to, ()), burning=True)
    usual, burned = 1.0, (_BURNED,) * len(cards)
    if cards and cards[0].place is HAND:
        usual = UNUSUAL
        action, after = ("lay", _BURNED) if cards[0].side.is_face else ("turn", _SHOWN)
        # It is read out to all first: a quarter as quick as a card that lies on the table.
        yield replace(_move(action, (after,), None, (), 1 / 4), burning=True)
    drawn: tuple[tuple[str, Lip, By], ...] = ()
    if lip is Lip.REST:
        yield replace(_move("edge", cards, Lip.EMERGING, ()), burning=True)
        drawn = (("unseen", Lip.INSIDE, By.STAYING_HAND),)
    elif lip is Lip.PARTLY:
        drawn = (("out", Lip.WHOLLY, By.HAND),)
    for name, to, by in drawn:
        more = (*burned, _BURNED) if cards else _FIRST
        yield replace(_move(name, more, to, (), usual), burning=True, by=by)
        if len(cards) >= least:
            first = _move(name, _FIRST, to, ())
            yield replace(first, begins=True, left=burned, by=by)


def _move(name: str, cards: Cards, lip: Lip | None, codes: Codes, times: float = 1.0) -> Move:
    """Return the move of an action that is due, at so many times its rate."""
    action = ACTIONS[name]
    rate = action.due * times
    return Move(rate, rate * action.survival, cards, codes, lip)


def _put(cards: Cards, index: int, place: Place, side: Side | None = None) -> Cards:
    card = cards[index]
    moved = CARDS[place, card.side if side is None else side, card.points]
    return (*cards[:index], moved, *cards[index + 1 :])


def _pushed_back(cards: Cards, codes: Codes, hand: list[int], rate: float) -> Iterator[Move]:
    after = _with(codes, RETURNED)
    if hand and after is not None:
        yield Move(rate, rate, _put(cards, hand[-1], SHOE), after, Lip.RETURNING)


def _over(cards: Cards, slot: int) -> Iterator[tuple[int | None, float]]:
    """Yield over which bare slots a card may be seen that was lifted from one, and how likely."""
    lying = {card.place.lies for card in cards}
    bare = [other for other in BESIDE[slot] if other not in lying]
    yield None, 1 - LESS_USUAL * len(bare)
    yield from ((other, LESS_USUAL) for other in bare)


def _with(codes: Codes, code: str) -> Codes | None:
    """Return the codes with one more, `None` where that would be too many."""
    if code in codes:
        return codes
    return None if len(codes) >= MOST_CODES else tuple(sorted((*codes, code)))


def _begins(cards: Cards) -> bool:
    """Whether the next card drawn is, or may be, the first of another coup."""
    return any(card.place.gone for card in cards)
