"""The beam of hypotheses: what was dealt is decoded, and nobody is accused of what was not seen."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.sight.following.play import FRAME_MS, SURE, Play
from vision.game.events import Slot
from vision.game.rules import Dealing, Rules
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
    Lip,
)
from vision.sight.following.decisions import Account, Allegations
from vision.sight.following.evidence import AtMouth
from vision.sight.following.hypotheses import (
    BEAM,
    HANDLESS,
    LEAST_LAWFUL,
    LONGEST_S,
    MOST_CARRIED,
    MOST_STEPS,
    PRUNE,
    SHORTEST_MS,
    By,
    Codes,
    Decoder,
    Hypothesis,
    Move,
    Moves,
    State,
    StateSpace,
    TableObservation,
    is_lawful,
)
from vision.sight.following.places import Elsewhere
from vision.sight.following.procedure import (
    ELSEWHERE,
    OVER,
    REMOVED,
    RETURNED,
    TWO_OUT,
    UNDER,
    Procedure,
)

P1, B1, P2, B2, P3, B3 = Slot
NATURAL = ((P1, 4), (B1, 2), (P2, 4), (B2, 0))
# Punto has 4 and draws a two; Banco has 6 and stands.
FIVE = ((P1, 1), (B1, 2), (P2, 3), (B2, 4), (P3, 2))
# Both draw.
SIX = ((P1, 1), (B1, 2), (P2, 1), (B2, 0), (P3, 5), (B3, 3))
ALLEGED = 50.0


@pytest.mark.parametrize("cards", [NATURAL, FIVE, SIX], ids=["four", "five", "six"])
@pytest.mark.parametrize("dealing", list(Dealing))
def test_clean_coups_are_decoded_for_sure_and_lawful(
    cards: tuple[tuple[Slot, int], ...], dealing: Dealing
) -> None:
    """Each way of dealing gives the cards in their slots, in order, and alleges nothing."""
    play = Play(dealing)
    if dealing is Dealing.PUNTO_FIRST:
        play.deal(*cards[:4], face_up=False)
        for slot, points in cards[:4]:
            play.lay(slot, points)
        play.deal(*cards[4:])
    else:
        play.deal(*cards)
    play.wait(1.0)
    play.sweep()
    account = play.decided()
    assert account.is_laid
    assert account.layout == tuple(int(slot) for slot, _ in cards)
    assert not [code for code, odds in account.odds.items() if odds >= 1]


def test_nothing_is_settled_while_a_card_of_either_coup_is_on_its_way() -> None:
    """What lies is settled until the first card of the next coup is drawn, and once that lies."""
    play = Play()
    play.deal(*NATURAL)
    play.wait(1.0)
    assert play.accounts.is_settled
    play.sweep()
    play.draw()
    assert len(play.accounts.open) == 2
    assert not play.accounts.is_settled
    play.lay(P1, 1)
    play.wait(1.0)
    assert play.accounts.is_settled


def test_what_is_believed_at_first_and_after_a_restart_adds_up() -> None:
    """The first cards are burned, or were taken meanwhile, as likely as was stated, or not."""
    procedure = Procedure(Rules())
    decoder = Decoder(procedure, burn=0.3)
    first = {hypothesis.state.burning: p for hypothesis, p in decoder.hypotheses.items()}
    assert first == pytest.approx({True: 0.3, False: 0.7})
    decoder.resume(4, (CARDS[SLOTS[0], FACE, 4],), gone=0.2)
    after = {
        (hypothesis.coup, hypothesis.state.cards[0].place): p
        for hypothesis, p in decoder.hypotheses.items()
    }
    assert after == pytest.approx({(4, SLOTS[0]): 0.8, (4, GONE[0]): 0.2})


def test_what_is_believed_does_not_hang_on_how_many_states_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Memory is bounded at no price: what was forgotten is worked out again, the same."""
    believed, sizes = [], []
    for most in (10**9, 0):
        monkeypatch.setattr("vision.sight.following.hypotheses.MOST_STATES", most)
        play = Play()
        play.deal(*SIX)
        play.sweep()
        play.deal(*NATURAL)
        hypotheses = play.decoder.hypotheses.items()
        believed.append(
            {(w.coup, w.state.cards, w.state.lip, w.state.codes): p for w, p in hypotheses}
        )
        sizes.append(len(play.decoder.procedure.states))
    assert believed[0] == pytest.approx(believed[1])
    assert sizes[0] > 2 * sizes[1]


@pytest.mark.parametrize(
    ("cards", "code"),
    [
        ((*NATURAL, (P3, 2)), OVER),
        ((*FIVE, (B3, 2)), OVER),
        (FIVE[:4], UNDER),
        (SIX[:5], UNDER),
        ((*FIVE[:4], (B3, 2)), ELSEWHERE),
    ],
    ids=["over a natural", "banco stands", "punto draws", "banco draws", "to the other hand"],
)
def test_departure_from_the_tableau_is_alleged_by_its_odds(
    cards: tuple[tuple[Slot, int], ...], code: str
) -> None:
    """A card too many, too few or in the other hand is far likelier than any lawful coup."""
    play = Play()
    play.deal(*cards)
    play.wait(1.0)
    play.sweep()
    account = play.decided()
    assert account.is_laid
    assert account.layout == tuple(int(slot) for slot, _ in cards)
    assert account.odds[code] > ALLEGED


def test_card_pushed_back_into_the_shoe_is_reported() -> None:
    """A card that went back is no card of the layout, and its return is alleged."""
    play = Play()
    play.deal(*NATURAL[:2])
    play.wait(0.15, Lip.EMERGING, Lip.PARTLY)
    play.wait(0.2, Lip.WHOLLY, Lip.CLEAR)
    play.wait(0.2, Lip.RETURNING, Lip.INSIDE)
    play.wait(0.6)
    goes_on_with_one_returned(play, 2)


def test_card_pushed_back_slowly_until_its_edge_waits_in_the_mouth_is_reported() -> None:
    """A quarter of a second on its way in, and then in sight as the edge of the next draw."""
    play = Play()
    play.deal(*NATURAL[:1])
    play.wait(0.15, Lip.EMERGING, Lip.PARTLY)
    play.wait(0.5, Lip.WHOLLY, Lip.CLEAR, Lip.LINGERS)
    play.wait(0.4, Lip.RETURNING, Lip.LINGERS, hand=True)
    play.wait(1.0, Lip.RETURNING, Lip.EMERGING, Lip.PARTLY, Lip.LINGERS, hand=False)
    goes_on_with_one_returned(play, 1)


def goes_on_with_one_returned(play: Play, number: int) -> None:
    """Deal the rest of a coup of which so many cards lie; a return into the shoe is alleged."""
    play.deal(*NATURAL[number:])
    play.wait(1.0)
    play.sweep()
    account = play.decided()
    assert account.layout == (P1, B1, P2, B2)
    assert account.odds[RETURNED] > ALLEGED


@pytest.mark.parametrize("number", [0, 1])
def test_two_cards_that_leave_the_shoe_as_one_are_reported(number: int) -> None:
    """Two cards at once are alleged, also as the first of a coup."""
    play = Play()
    play.deal(*NATURAL[:number])
    play.wait(0.15, Lip.EMERGING, Lip.PARTLY)
    play.wait(0.2, Lip.WHOLLY, Lip.CLEAR)
    play.wait(0.3)
    for slot, points in NATURAL[number : number + 2]:
        play.lay(slot, points)
    play.deal(*NATURAL[number + 2 :])
    play.wait(1.0)
    play.sweep()
    account = play.decided()
    assert account.layout == (P1, B1, P2, B2)
    assert account.odds[TWO_OUT] > ALLEGED


def test_two_cards_stay_alleged_while_the_next_is_drawn() -> None:
    """A card on its way to its slot takes nothing back of what was alleged before."""
    play, alleged = Play(), Allegations(ALLEGED)
    play.draw()
    for slot, points in NATURAL[:2]:
        play.lay(slot, points)
    play.wait(2.0)
    play.wait(0.15, Lip.EMERGING, Lip.PARTLY)
    for seconds, *lip in ((0.05, Lip.WHOLLY), (0.3, Lip.WHOLLY, Lip.CLEAR), (0.3, Lip.REST)):
        alleged.take_cards(play.accounts.open[-1])
        assert [each.code for each in alleged.reported(1)] == [TWO_OUT]
        play.wait(seconds, *lip, hand=True)


@pytest.mark.parametrize("number", [0, 1])
def test_card_that_shows_at_the_mouth_while_the_one_before_lies_is_another(number: int) -> None:
    """Of two that leave as one the second stays before the shoe: it is out before it is laid."""
    play = Play()
    play.deal(*NATURAL[:number])
    play.wait(0.15, Lip.EMERGING, Lip.PARTLY)
    play.wait(0.3, Lip.WHOLLY, Lip.CLEAR)
    held = (Lip.WHOLLY, Lip.CLEAR, Lip.LINGERS, Lip.STAYS)
    play.wait(0.6, *held, hand=False)
    slot, points = NATURAL[number]
    play.lying[int(slot)] = (2, points)
    play.wait(1.5, *held, hand=False)
    assert len(play.accounts.open[-1].cards) == number + 2
    play.wait(0.3)
    play.lay(*NATURAL[number + 1])
    play.deal(*NATURAL[number + 2 :])
    play.wait(1.0)
    play.sweep()
    account = play.decided()
    assert account.layout == (P1, B1, P2, B2)
    assert account.odds[TWO_OUT] > ALLEGED


def test_card_that_no_hand_holds_while_the_one_before_is_laid_left_with_it() -> None:
    """A hand was at the mouth for long after the draw; nobody held there what is left."""
    play = Play()
    play.deal(*NATURAL[:1])
    play.wait(0.15, Lip.EMERGING, Lip.PARTLY)
    held = (Lip.WHOLLY, Lip.CLEAR, Lip.LINGERS, Lip.STAYS)
    play.wait(0.8, Lip.PARTLY, *held, hand=True)
    play.wait(0.5, *held, hand=False)
    slot, points = NATURAL[1]
    play.lying[int(slot)] = (2, points)
    play.wait(1.5, *held, hand=False)
    play.wait(0.3)
    play.lay(*NATURAL[2])
    account = play.accounts.open[-1]
    assert 1 < account.odds[TWO_OUT] < ALLEGED
    assert not play.accounts.is_settled
    play.wait(2.0)
    assert account.odds[TWO_OUT] > ALLEGED


@pytest.mark.parametrize(("ratio", "odds"), [(10.0, 1.0), (0.5, 2.0)])
def test_card_that_a_player_lifted_may_lie_in_sight_or_be_covered(
    ratio: float, odds: float
) -> None:
    """What lies beside the slots is no more a sign of another card; nor is it looked for."""
    procedure = Procedure(Rules(dealing=Dealing.FACE_DOWN))
    lifted = procedure.state((CARDS[HELD[0, None], BACK, None],))
    aside = procedure.state((CARDS[ASIDE, BACK, None],))
    decoder = Decoder(procedure, burn=0.0)
    decoder.hypotheses = {Hypothesis(1, None, state): 0.5 for state in (lifted, aside)}
    bare, elsewhere = np.zeros((3, len(Slot))), Elsewhere((ratio, 1.0), 1.0)
    shown = TableObservation.of(bare, [False] * len(Slot), {}, elsewhere)
    decoder.step(1, np.zeros(len(Lip)), shown, mouth=AtMouth(0.0, 0.0), still_at=1)
    p = decoder.hypotheses
    found = sum(p[each] for each in p if each.state.cards == lifted.cards)
    other = sum(p[each] for each in p if each.state.cards == aside.cards)
    assert found / other == pytest.approx(odds, rel=0.1)


def test_draw_behind_a_card_that_is_held_at_the_mouth_accuses_nobody() -> None:
    """The first card still shows before the shoe while a hand draws the next."""
    play = Play()
    play.wait(0.15, Lip.EMERGING, Lip.PARTLY)
    play.wait(0.3, Lip.WHOLLY, Lip.CLEAR)
    play.wait(0.4, Lip.WHOLLY, Lip.CLEAR, Lip.LINGERS)
    play.wait(0.2, Lip.PARTLY, Lip.LINGERS)
    play.wait(0.3, Lip.WHOLLY, Lip.CLEAR, Lip.LINGERS)
    play.wait(0.5)
    for slot, points in NATURAL[:2]:
        play.lay(slot, points)
    play.deal(*NATURAL[2:])
    play.wait(1.0)
    play.sweep()
    account = play.decided()
    assert account.layout == (P1, B1, P2, B2)
    assert all(odds < 1 for odds in account.odds.values())


@pytest.mark.parametrize("number", [0, 1])
def test_a_draw_that_the_mouth_misses_is_not_taken_for_two_at_once(number: int) -> None:
    """A hand was at the mouth between the two: nobody drew two cards as one."""
    play = Play()
    play.deal(*NATURAL[: number + 1])
    play.draw(seen=False)
    play.lay(*NATURAL[number + 1])
    play.deal(*NATURAL[number + 2 :])
    play.wait(1.0)
    play.sweep()
    account = play.decided()
    assert account.layout == (P1, B1, P2, B2)
    assert account.odds.get(TWO_OUT, 0.0) < 1


def test_card_taken_off_while_the_coup_goes_on_is_reported() -> None:
    """One card alone leaves the layout while another is due."""
    play = Play()
    play.deal(*FIVE[:2])
    del play.lying[int(B1)]
    play.wait(2.0)
    play.deal(*FIVE[2:])
    play.wait(1.0)
    play.sweep()
    account = play.decided()
    assert account.layout == tuple(int(slot) for slot, _ in FIVE)
    assert account.odds[REMOVED] > ALLEGED


def test_draw_that_the_mouth_did_not_see_accuses_nobody() -> None:
    """A card that lies there was drawn, whatever the mouth showed."""
    play = Play()
    play.deal(*FIVE[:2])
    play.draw(seen=False)
    play.lay(*FIVE[2])
    play.deal(*FIVE[3:])
    play.wait(1.0)
    play.sweep()
    account = play.decided()
    assert account.layout == tuple(int(slot) for slot, _ in FIVE)
    assert all(odds < ALLEGED for odds in account.odds.values())


def test_false_passage_at_the_mouth_accuses_nobody() -> None:
    """A card that never lay anywhere is doubt about the reader."""
    play = Play()
    play.deal(*NATURAL)
    play.draw()
    play.wait(2.0)
    play.sweep()
    account = play.decided()
    assert all(odds < ALLEGED for odds in account.odds.values())


def test_false_passage_behind_a_fourth_card_is_no_fifth() -> None:
    """One card lies beside the slots: what passed the mouth after it is seen nowhere for 3 s."""
    play = Play()
    play.deal(*SIX)
    for _ in range(2):
        play.draw()
        play.aside = True
        play.wait(3.0)
    play.sweep()
    account = play.decided()
    assert account.is_laid
    assert len(account.cards) == 7
    assert account.odds[OVER] > ALLEGED


def test_card_under_a_hand_is_found_late_and_accuses_nobody() -> None:
    """A card hidden for four seconds after it was laid is where it was laid."""
    play = Play()
    play.deal(*FIVE[:2])
    play.hidden = {int(P2)}
    play.deal(*FIVE[2:])
    play.wait(2.0)
    play.hidden = set()
    play.wait(2.0)
    play.sweep()
    account = play.decided()
    assert account.is_laid
    assert account.layout == tuple(int(slot) for slot, _ in FIVE)
    assert all(odds < ALLEGED for odds in account.odds.values())


def test_blind_mouth_accuses_nobody() -> None:
    """While the mouth says nothing, cards that come to lie there were drawn."""
    play = Play()
    play.deal(*FIVE[:1])
    for slot, points in FIVE[1:3]:
        play.wait(0.8, mouth=False)
        play.lying[int(slot)] = (2, points)
        play.wait(0.7, mouth=False)
    play.deal(*FIVE[3:])
    play.wait(1.0)
    play.sweep()
    account = play.decided()
    assert all(odds < ALLEGED for odds in account.odds.values())


@pytest.mark.parametrize("still_ms", [0, 340])
def test_still_gap_hides_no_draw(still_ms: int) -> None:
    """A card is due and nothing moves: a gap that was seen to be still is no gap."""
    play = Play()
    play.deal(*SIX[:4])
    play.wait(3.0)
    play.at += 400 - FRAME_MS
    play.wait(0.05, hand=True, still_at=play.at - 350 + still_ms)
    drawn = sum(p for w, p in play.decoder.hypotheses.items() if len(w.state.cards) > 4)
    assert (drawn < 0.005) is bool(still_ms)


def test_coup_swept_while_its_last_card_was_not_seen_to_go_is_over() -> None:
    """The next coup begins though a card of the one before seemed to be left."""
    play = Play()
    play.deal(*FIVE)
    play.wait(1.0)
    left = int(P3)
    play.hidden = {left}
    for slot in list(play.lying):
        if slot != left:
            del play.lying[slot]
    play.wait(3.0)
    play.lying, play.hidden = {}, set()
    account = play.decided()
    assert account.layout == tuple(int(slot) for slot, _ in FIVE)
    assert all(odds < ALLEGED for odds in account.odds.values())


def test_burned_cards_make_no_coup() -> None:
    """Cards that are drawn before the first coup and lie in no slot are the burn."""
    play = Play(burn=0.3)
    for _ in range(4):
        play.draw()
        play.wait(0.5)
    play.deal(*NATURAL)
    best = play.best
    assert best.coup == 2
    assert [card.place.slot for card in best.state.cards] == [P1, B1, P2, B2]


def test_card_that_may_be_burned_or_begin_a_coup_is_out_at_once() -> None:
    """It counts as burned until it lies in a slot: then it is the first of the coup."""
    play = Play(burn=0.3)
    for number in range(1, 6):
        play.draw()
        assert [len(account.cards) for account in play.accounts.open] == [number]
        play.aside, play.more_aside = True, number > 1
        play.wait(1.0)
    play.aside = play.more_aside = False
    play.wait(1.0)
    play.draw()
    assert [len(account.cards) for account in play.accounts.open] == [6]
    play.lay(*NATURAL[0])
    play.wait(1.0)
    burned, coup = play.accounts.open
    assert (len(burned.cards), len(coup.cards)) == (5, 1)


def test_burned_pile_may_lie_over_a_third_slot() -> None:
    """It is none the less a burn: no coup begins with a third card."""
    play = Play(burn=0.3)
    for _ in range(5):
        play.draw()
        play.lay(P3, 0, face_up=False)
    assert play.best.state.burning
    play.sweep()
    play.deal(*NATURAL)
    assert [card.place.slot for card in play.best.state.cards] == [P1, B1, P2, B2]


def test_burned_cards_may_lie_beside_the_slots() -> None:
    """A burn that is spread on the layout is none the less one, and its cards are of no coup."""
    play = Play(burn=0.3)
    for number in range(5):
        play.draw()
        play.aside, play.more_aside = True, number > 0
        play.wait(1.0)
    play.aside = play.more_aside = False
    play.wait(1.0)
    play.deal(*NATURAL)
    best = play.best
    assert best.coup == 2
    assert [card.place.slot for card in best.state.cards] == [P1, B1, P2, B2]


def test_card_that_waits_half_out_says_nothing_of_a_burn() -> None:
    """Cards are burned one by one while the next waits half out of the shoe: none is a coup's."""
    play = Play(burn=0.3)
    for _ in range(4):
        play.draw()
        play.wait(1.0, Lip.EMERGING, hand=False)
    for slot, points in NATURAL:
        play.draw()
        play.lying[int(slot)] = (2, points)
        play.wait(1.0, Lip.EMERGING, hand=False)
    best = play.best
    assert best.coup == 2
    assert [card.place.slot for card in best.state.cards] == [P1, B1, P2, B2]


def test_burn_is_decided_once() -> None:
    """While a coup may have begun, the burn goes on; it ends once that is sure."""
    procedure = Procedure(Rules())
    cards = (CARDS[GONE_ASIDE, BACK, None],) * 2
    burns, ended = procedure.state(cards, burning=True), procedure.state(cards)
    account = Account(1, 1, Allegations(ALLEGED))
    found = []
    for p in (0.9, 0.99, 0.5, 0.01, 0.5):
        account.take(0, {burns: p, ended: 1 - p})
        found.append(account.burning)
    assert found == [False, True, True, False, False]


def test_edge_that_is_gone_without_a_hand_is_no_card() -> None:
    """The next card that waits half out of the shoe becomes how the mouth rests: none was drawn."""
    play = Play()
    play.wait(1.0, Lip.PARTLY, hand=False)
    play.wait(0.3, Lip.PARTLY, Lip.WHOLLY, Lip.CLEAR, Lip.REST, hand=False)
    play.wait(1.0)
    out = sum(p for hypothesis, p in play.decoder.hypotheses.items() if hypothesis.state.cards)
    assert out < 0.05


def test_one_card_alone_is_no_burn() -> None:
    """What seemed to leave the shoe before the first coup and lay nowhere was no card."""
    play = Play(burn=0.3)
    play.draw()
    play.wait(1.0)
    play.deal(*NATURAL)
    play.wait(2.0)
    best = play.best
    assert best.coup == 1
    assert [card.place.slot for card in best.state.cards] == [P1, B1, P2, B2]


def test_beam_is_bounded_and_keeps_a_lawful_hypothesis() -> None:
    """Whatever is seen, no more hypotheses are kept than the beam, and one in which all is well."""
    play = Play()
    play.deal(*NATURAL, (P3, 2), (B3, 1))
    assert len(play.decoder.hypotheses) <= BEAM + 1
    assert abs(sum(play.decoder.hypotheses.values()) - 1) < 1e-9
    assert any(is_lawful(hypothesis) for hypothesis in play.decoder.hypotheses)


def test_a_long_gap_carries_a_bounded_number_of_hypotheses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that was held up catches up: what a gap costs does not grow with all it may hide."""
    play, carried, move = Play(), list[int](), Decoder._move
    play.deal(*NATURAL)
    believed = max(play.decoder.hypotheses, key=play.decoder.hypotheses.__getitem__)

    def counted(self: Decoder, parts: dict[object, float], *rest: float) -> object:
        carried.append(len(parts))
        return move(self, parts, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Decoder, "_move", counted)
    play.at += 2000
    play.wait(0.05)
    assert len(carried) > 30
    assert max(carried) <= MOST_CARRIED + 1  # the best lawful one is among them
    assert max(play.decoder.hypotheses, key=play.decoder.hypotheses.__getitem__) == believed


def test_lawful_hypothesis_is_carried_through_a_gap_however_unlikely() -> None:
    """Odds against a hypothesis that was dropped would only say that it was dropped."""
    play = Play()
    play.deal(*NATURAL)
    decoder = play.decoder
    lawful = max(decoder.hypotheses, key=decoder.hypotheses.__getitem__)
    cards = lawful.state.cards
    faults = (
        Hypothesis(1, None, decoder.procedure.state(cards, codes=(f"F{number}",)))
        for number in range(2 * MOST_CARRIED)
    )
    decoder.hypotheses = {**dict.fromkeys(faults, 1.0), lawful: 1e-6}
    play.at += 500
    play.wait(0.05)
    assert any(is_lawful(hypothesis) for hypothesis in decoder.hypotheses)


@pytest.mark.parametrize("seconds", [0.3, 3.0])
def test_card_that_a_player_holds_up_beside_an_empty_slot_is_no_third_card(seconds: float) -> None:
    """A squeezed hand seems to lie in the slot next to it, however long it is squeezed."""
    play = Play(Dealing.PUNTO_FIRST)
    play.deal(*NATURAL, face_up=False)
    del play.lying[int(P1)], play.lying[int(P2)]
    play.wait(0.5)
    play.lying[int(P3)] = (1, 0)
    play.wait(seconds)
    del play.lying[int(P3)]
    for slot, points in NATURAL:
        play.lay(slot, points)
    play.wait(1.0)
    play.sweep()
    account = play.decided()
    assert account.layout == (P1, B1, P2, B2)
    assert all(odds < ALLEGED for odds in account.odds.values())


def test_places_are_known_though_a_card_may_have_gone_back_before() -> None:
    """A card that went back, if it did, is a matter of its own odds: the others are published."""
    lay, back = CARDS[SLOTS[P1], BACK, None], CARDS[SHOE, BACK, None]
    states = {State((lay,), Lip.REST, (), False): 0.98}
    states[State((back, lay), Lip.REST, (RETURNED,), False)] = 0.02
    account = Account(1, 1, Allegations(ALLEGED))
    account.take(1000, states)
    assert [card.place for card in account.cards] == [SLOTS[P1]]
    assert not account.is_open(ALLEGED)


def test_places_wait_where_a_card_likely_went_back() -> None:
    """Which of the cards lies there is not published while that is open."""
    lay, back = CARDS[SLOTS[P1], BACK, None], CARDS[SHOE, BACK, None]
    states = {State((lay,), Lip.REST, (), False): 0.4}
    states[State((back, lay), Lip.REST, (RETURNED,), False)] = 0.6
    account = Account(1, 1, Allegations(ALLEGED))
    account.take(1000, states)
    assert [card.place for card in account.cards] == [HAND]
    assert account.is_open(ALLEGED)


def test_hypothesis_is_lawful_where_neither_coup_has_a_departure() -> None:
    """One in the coup before counts as much as one in the coup that runs."""
    state = Procedure(Rules()).state
    clean, two_out = state(()), state((), codes=(TWO_OUT,))
    assert is_lawful(Hypothesis(2, clean, clean))
    assert is_lawful(Hypothesis(1, None, clean))
    assert not is_lawful(Hypothesis(2, two_out, clean))
    assert not is_lawful(Hypothesis(2, clean, two_out))


def test_picture_closer_than_a_step_moves_nothing_until_the_next() -> None:
    """What it shows of the lip is added to the next one; only then are coups looked at again."""
    play = Play()
    play.wait(0.2)
    lip, mouth = np.zeros(len(Lip)), AtMouth(1.0, 1.0)
    before = dict(play.decoder.hypotheses)
    assert not play.decoder.step(play.at + SHORTEST_MS - 1, lip, mouth=mouth)
    assert play.decoder.hypotheses == before
    assert play.decoder.step(play.at + SHORTEST_MS, lip, mouth=mouth)


# --- how what is believed moves, exactly ----------------------------------------------------------

LIES = (CARDS[SLOTS[0], FACE, None],)
NEXT_LIES = (CARDS[SLOTS[1], FACE, None],)
EVENLY = np.zeros(len(Lip))
NOBODY = AtMouth(0.0, 0.0)
STEP_MS = round(1000 * LONGEST_S)
RATE, COST = 2.0, 1.5


class OneMove(StateSpace):
    """A space in which nothing happens but one move, from a state without departures."""

    def __init__(self, move: Move | None = None) -> None:
        super().__init__()
        self.move = move
        self.reprice = self._as_it_was

    def moves(self, state: State) -> Moves:
        """Return the move from the first state, none from others."""
        if self.move is None or state is not self.state(LIES):
            return Moves((), 0.0, 0.0)
        return Moves((self.move,), self.move.rate, self.move.cost)

    @staticmethod
    def _as_it_was(_: Cards, __: Cards, codes: Codes) -> tuple[float, Codes]:
        return 1.0, codes


def moving(by: By = By.NOTHING, *, begins: bool = False) -> Decoder:
    """Return a decoder that believes in one state, from which one move leads."""
    move = Move(RATE, COST, NEXT_LIES, (), None, begins, LIES, ("F",), by=by)
    decoder = Decoder(OneMove(move), burn=0.0)
    decoder.hypotheses = {Hypothesis(1, None, decoder.procedure.state(LIES)): 1.0}
    return decoder


def shares(decoder: Decoder) -> float:
    """Return how much likelier it is that the move was made than that it was not."""
    made = sum(p for one, p in decoder.hypotheses.items() if one.state.cards == NEXT_LIES)
    return made / (1 - made)


def after(*seconds: tuple[float, float]) -> float:
    """Return the same after times, s, each with how often the move is made then against its rate.

    A move is made once in a step, so that a step of another length is another sum.
    """
    still, made = 1.0, 0.0
    for elapsed, often in seconds:
        made += still * (1 - math.exp(-RATE * elapsed)) * often
        still *= math.exp(-COST * elapsed)
    return made / still


@pytest.mark.parametrize(
    ("by", "often"),
    [
        (By.NOTHING, 1),
        (By.HAND, 0.3),
        (By.STAYING_HAND, 0.2),
        (By.CUT_CARD, 0.3 * math.exp(0.7)),
        (By.HOLDING_HAND, 0.4),
    ],
)
def test_move_is_as_rare_as_what_makes_it_is_seen(by: By, often: float) -> None:
    """At its rate in the time that went by; its not coming counts by its cost."""
    decoder = moving(by)
    assert decoder.step(1000, EVENLY, mouth=AtMouth(0.3, 0.2, 0.7, 0.4))
    assert shares(decoder) == pytest.approx(after((LONGEST_S, often)))
    decoder.step(1000 + 2 * STEP_MS, EVENLY, mouth=AtMouth(0.3, 0.2, 0.7, 0.4))
    assert shares(decoder) == pytest.approx(after(*[(LONGEST_S, often)] * 3))


@pytest.mark.parametrize("by", [By.HAND, By.STAYING_HAND, By.CUT_CARD, By.HOLDING_HAND])
def test_hand_that_is_not_seen_is_never_ruled_out(by: By) -> None:
    """The network overlooks one at times: as rarely as a draw that nobody made."""
    decoder = moving(by)
    decoder.step(1000, EVENLY, mouth=NOBODY)
    assert shares(decoder) == pytest.approx(after((LONGEST_S, HANDLESS)))


def test_coup_that_begins_has_the_one_before_beside_it() -> None:
    """As it ended, with its departures."""
    decoder = moving(begins=True)
    decoder.step(1000, EVENLY, mouth=NOBODY)
    begun = max(decoder.hypotheses)
    before = decoder.procedure.state(LIES, codes=("F",))
    assert begun == Hypothesis(2, before, decoder.procedure.state(NEXT_LIES))


def test_nothing_happens_while_nothing_moves() -> None:
    """Only what came after it is gone through, by what is seen at the mouth."""
    decoder = moving()
    decoder.step(1000, EVENLY, mouth=NOBODY)
    decoder.step(1500, EVENLY, mouth=NOBODY, still_at=1450)
    assert shares(decoder) == pytest.approx(after(*[(LONGEST_S, 1.0)] * 3))
    for minutes in (1, 20):
        decoder.step(1600 + 60_000 * minutes, EVENLY, mouth=NOBODY, still_at=9_999_999)
    assert shares(decoder) == pytest.approx(after(*[(LONGEST_S, 1.0)] * 3))


def test_of_a_long_gap_no_more_is_gone_through_than_the_most() -> None:
    """By the rates alone any coup would be over."""
    found, most = [], MOST_STEPS * STEP_MS
    for gap in (most // 2, 2 * most, 20 * most):
        decoder = moving()
        decoder.step(1000, EVENLY, mouth=NOBODY)
        decoder.step(1000 + gap, EVENLY, mouth=NOBODY)
        found.append(shares(decoder))
    assert found[0] < found[1] == found[2]
    assert found[2] == pytest.approx(after(*[(LONGEST_S, 1.0)] * (1 + MOST_STEPS)))


def test_pictures_that_follow_quickly_count_together() -> None:
    """By the sum of what they show, and by the cut card as it showed at first."""
    quick, slow = moving(By.CUT_CARD), moving(By.CUT_CARD)
    first, second = (np.linspace(0, each, len(Lip)) for each in (1, -3))
    for decoder in (quick, slow):
        decoder.step(1000, EVENLY, mouth=NOBODY)
    out = Hypothesis(1, None, quick.procedure.state(LIES, Lip.WHOLLY))
    quick.hypotheses[out] = slow.hypotheses[out] = 0.5
    assert not quick.step(1010, first, mouth=AtMouth(0.1, 0.1, 2.0))
    quick.step(1050, second, mouth=AtMouth(0.4, 0.4, -1.0))
    slow.step(1050, first + second, mouth=AtMouth(0.4, 0.4, 2.0))
    assert list(quick.hypotheses.values()) == pytest.approx(list(slow.hypotheses.values()))
    assert quick.hypotheses[out] < 0.4
    shown = TableObservation.of(np.zeros((3, 6)), [False] * 6, {}, Elsewhere((1.0, 1.0), 1.0))
    assert quick.step(1051, first, shown, mouth=NOBODY)  # a look is weighed at once


# --- what is kept ---------------------------------------------------------------------------------


def kept(weights: list[tuple[float, bool]], beam: int = BEAM) -> list[float]:
    """Return what is believed of hypotheses of those weights, each lawful or not, after a step."""
    decoder = Decoder(OneMove(), burn=0.0, beam=beam)
    decoder.hypotheses = {}
    for number, (p, lawful) in enumerate(weights):
        state = decoder.procedure.state((), codes=() if lawful else (f"F{number}",))
        before = decoder.procedure.state((), codes=(), burning=bool(number))
        decoder.hypotheses[Hypothesis(number, before, state)] = p
    decoder.step(1000, EVENLY, mouth=NOBODY)
    assert sum(decoder.hypotheses.values()) == pytest.approx(1)
    best = max(decoder.hypotheses.values())
    return sorted((p / best for p in decoder.hypotheses.values()), reverse=True)


def test_likeliest_hypotheses_are_kept_and_the_best_lawful_one_beside_them() -> None:
    """However unlikely that is: with it as much as the odds may come to."""
    assert kept([(1, True), (0.2, True), (0.4, False), (0.3, True)], 2) == pytest.approx([1, 0.4])
    assert kept([(1, False), (0.5, False), (0.3, False)], 2) == pytest.approx([1, 0.5])
    assert kept([(1, True), (2 * PRUNE, False), (PRUNE / 2, False)]) == pytest.approx(
        [1, 2 * PRUNE]
    )
    for p in (0.0, LEAST_LAWFUL / 10, 10 * LEAST_LAWFUL):
        least = max(p, LEAST_LAWFUL)
        assert kept([(1, False), (p, True)]) == pytest.approx([1, least], rel=1e-6, abs=0)


def test_hypotheses_that_show_the_same_are_kept_or_dropped_together() -> None:
    """An allegation is not the likelier for having more variants: each has a lawful twin."""
    decoder = Decoder(OneMove(), burn=0.0, beam=4)
    lie = [(CARDS[place, FACE, None],) for place in SLOTS[:3]]
    returned = (CARDS[SHOE, BACK, None],)
    weights = {
        (lie[0], ()): 0.1,
        (lie[1], ()): 0.02,
        (lie[2], ()): 0.2,
        (lie[0], (TWO_OUT,)): 1.0,
        ((*returned, *lie[1]), (RETURNED,)): 0.9,
        (lie[2], (TWO_OUT,)): 0.3,
    }
    state = decoder.procedure.state
    decoder.hypotheses = {
        Hypothesis(1, None, state(cards, codes=codes)): p for (cards, codes), p in weights.items()
    }
    decoder.step(1000, EVENLY, mouth=NOBODY)
    believed = {(each.state.cards, each.state.codes) for each in decoder.hypotheses}
    assert believed == set(weights) - {(lie[2], ()), (lie[2], (TWO_OUT,))}


def test_what_fits_nothing_that_was_believed_changes_nothing() -> None:
    """A look that rules all out is wrong itself."""
    decoder = moving()
    slots = np.zeros((3, 6))
    slots[1:] = -np.inf
    before = dict(decoder.hypotheses)
    shown = TableObservation.of(slots, [True] * 6, {}, Elsewhere((1.0, 1.0), 1.0))
    decoder.step(1000, EVENLY, shown, mouth=NOBODY)
    assert decoder.hypotheses == before


def test_what_was_decided_is_forgotten_and_hypotheses_that_agree_then_are_one() -> None:
    """Those that have not come so far are dropped; later coups keep the one before."""
    decoder = Decoder(OneMove(), burn=0.0)
    state = decoder.procedure.state
    now, one, other = state(LIES), state(()), state((), codes=("F",))
    decoder.hypotheses = {
        Hypothesis(2, one, now): 0.2,
        Hypothesis(2, other, now): 0.3,
        Hypothesis(3, one, now): 0.1,
        Hypothesis(1, None, now): 0.4,
    }
    decoder.forget_before(2)
    assert decoder.hypotheses == pytest.approx({
        Hypothesis(2, None, now): 0.5 / 0.6, Hypothesis(3, one, now): 0.1 / 0.6,
    })  # fmt: skip


def test_bare_table_after_a_restart_is_believed_once() -> None:
    """Taken or not, nothing lies there."""
    decoder = Decoder(OneMove(), burn=0.0)
    decoder.resume(3, (), gone=0.4)
    assert decoder.hypotheses == {Hypothesis(3, None, decoder.procedure.state(())): 1.0}


def test_states_of_read_cards_are_forgotten_but_those_that_are_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """States of cards that were not read come again in every coup."""
    monkeypatch.setattr("vision.sight.following.hypotheses.MOST_STATES", 2)
    space = OneMove(Move(1.0, 1.0, (), ()))
    read = [space.state((CARDS[SLOTS[0], FACE, points],)) for points in (1, 2)]
    space._room = 2
    assert not space.is_full
    unread = space.state(LIES)
    assert space.is_full
    for state in (read[0], unread):
        state.moves = Moves((), 0.0, 0.0)
        state.successors.append(space.successor(state, Move(1.0, 1.0, (), ())))
    space.forget([read[0], unread])
    assert set(space.states.values()) == {read[0], unread, space.state(())}
    assert (read[0].moves, read[0].successors) == (None, [])
    assert unread.moves is not None
    assert len(unread.successors) == 1
    assert space.state(LIES) is unread
    assert not space.is_full  # there is room for as many more again
    for points in (3, 4, 5):
        assert not space.is_full or points == 5
        space.state((CARDS[SLOTS[0], FACE, points],))
    assert space.is_full


# --- what a look says of a state ------------------------------------------------------------------


def test_cards_are_seen_where_they_lie_or_are_held_once_each() -> None:
    """A card that lies in a slot hides what is held over it; layouts leave out what went back."""
    cards = (
        CARDS[SLOTS[0], FACE, 3],
        CARDS[HELD[2, 0], BACK, None],
        CARDS[HELD[4, 2], BACK, None],
        CARDS[HELD[1, None], BACK, None],
        CARDS[ASIDE, BACK, None],
        CARDS[SHOE, BACK, None],
        CARDS[GONE[3], FACE, 1],
    )
    state = State(cards, Lip.REST, (), burning=False)
    assert {slot: face for face, slot in state.sights.slots} == {0: True, 2: False}
    assert state.sights[1:] == (1, 1, False)
    assert state.layout == (0, 2, 4, 1, None, 3)
    held = State((*cards, CARDS[HAND, BACK, None]), Lip.REST, (), burning=True)
    assert held.sights[1:] == (1, 8, True)


@pytest.mark.parametrize(
    ("cards", "odds"),
    [
        ((), 1.0),
        (LIES, math.exp(3)),
        ((CARDS[SLOTS[0], BACK, None],), math.exp(1)),
        ((CARDS[ASIDE, BACK, None],), 8.0),
        ((CARDS[ASIDE, BACK, None],) * 2, 8.0 * 0.25),
        ((CARDS[ASIDE, BACK, None],) * 3, 8.0 * 0.25),
        ((CARDS[ASIDE, BACK, None], CARDS[HELD[0, None], BACK, None]), 8.0),
        ((CARDS[HELD[0, None], BACK, None],), 8.0),
        ((CARDS[HAND, BACK, None],), 0.3 * 8.0),
    ],
)
def test_look_weighs_each_card_where_it_would_be_seen(cards: Cards, odds: float) -> None:
    """What may lie aside is no less likely unseen; what is in a hand, as a hand is seen."""
    decoder = Decoder(OneMove(), burn=0.0)
    state = decoder.procedure.state
    other = state(cards, Lip.WHOLLY)
    bare = state((), Lip.WHOLLY, ("F",))
    decoder.hypotheses = {Hypothesis(1, None, other): 0.5, Hypothesis(1, None, bare): 0.5}
    slots = np.zeros((3, 6))
    slots[:, 0] = -1.0, 0.0, 2.0
    shown = TableObservation.of(slots, [False] * 6, {}, Elsewhere((8.0, 0.25), 0.3))
    decoder.step(1000, EVENLY, shown, mouth=NOBODY)
    p = decoder.hypotheses
    assert p[Hypothesis(1, None, other)] / p[Hypothesis(1, None, bare)] == pytest.approx(odds)


def test_lip_weighs_states_by_what_it_shows() -> None:
    """Against the likeliest: a sure picture is nearly all that counts."""
    decoder = Decoder(OneMove(), burn=0.0)
    states = [decoder.procedure.state((), lip) for lip in (Lip.REST, Lip.CUT)]
    decoder.hypotheses = {Hypothesis(1, None, state): 0.5 for state in states}
    lip = np.array([-SURE if each is Lip.CUT else 700.0 for each in Lip])
    lip[Lip.CUT] = 700.0 - SURE
    decoder.step(1000, lip, mouth=NOBODY)
    rest, cut = (decoder.hypotheses[Hypothesis(1, None, state)] for state in states)
    assert rest / cut == pytest.approx(math.exp(SURE))


def test_points_are_read_of_faces_and_cards_are_seen_where_they_show() -> None:
    """A back is not read; what lies aside shows as the first, or as one of more."""
    new_face, new_back = UNSEEN[FACE], UNSEEN[BACK]
    cards = (
        CARDS[SLOTS[0], new_face, None],
        CARDS[SLOTS[1], new_back, None],
        CARDS[SLOTS[2], new_face, 3],
        CARDS[ASIDE, new_back, None],
        CARDS[ASIDE, new_back, None],
        CARDS[ASIDE, new_back, None],
        CARDS[HAND, new_back, None],
        CARDS[GONE[3], new_face, 4],
    )
    holds, reads = [True, True, False, True, True, True], {0: 5, 1: 6, 3: 7}
    for more, side in ((0.5, new_back), (2.0, BACK), (1.0, new_back)):
        shown = TableObservation.of(np.zeros((3, 6)), holds, reads, Elsewhere((2.0, more), 1.0))
        assert shown.into(cards) == (
            CARDS[SLOTS[0], FACE, 5],
            CARDS[SLOTS[1], BACK, None],
            CARDS[SLOTS[2], new_face, 3],
            CARDS[ASIDE, BACK, None],
            CARDS[ASIDE, side, None],
            CARDS[ASIDE, side, None],
            *cards[6:],
        )
