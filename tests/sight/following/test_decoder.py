"""The beam of hypotheses: what was dealt is decoded, and nobody is accused of what was not seen."""

from __future__ import annotations

import numpy as np
import pytest

from tests.sight.following.play import FRAME_MS, Play
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
)
from vision.sight.following.decisions import Account, Allegations
from vision.sight.following.evidence import AtMouth, Lip
from vision.sight.following.hypotheses import (
    BEAM,
    MOST_CARRIED,
    SHORTEST_MS,
    Decoder,
    Hypothesis,
    State,
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
        believed.append([(w.coup, w.state.cards, w.state.codes, p) for w, p in hypotheses])
        sizes.append(len(play.decoder.procedure.states))
    assert believed[0] == believed[1]
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
