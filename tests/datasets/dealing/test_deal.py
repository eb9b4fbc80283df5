"""The dealt shoe: by the tableau where nothing is wrong, wrong in the way asked for where it is."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from datasets.dealing.deal import BURN_FACE, CUT, Coup, deal
from datasets.dealing.scenario import Dealing, Plan, Scenario, Slip
from vision.errors import ConfigurationError
from vision.game.cards import Card, parse_cards
from vision.game.events import Slot
from vision.game.tableau import next_slot

CODES = {
    Slip.OVER_DRAW_PUNTO: "OVER_P3_STAND",
    Slip.OVER_DRAW_BANCO: "OVER_B3",
    Slip.OVER_DRAW_NATURAL: "OVER_NATURAL",
    Slip.UNDER_DRAW_PUNTO: "UNDER_P3",
    Slip.UNDER_DRAW_BANCO: "UNDER_B3",
    Slip.WRONG_HAND: "WRONG_HAND",
    Slip.FOURTH_CARD: "OVER_4TH",
    Slip.OUT_OF_TURN: "OUT_OF_TURN_B3",
    Slip.PPBB: "WRONG_ORDER_INIT",
}


def is_by_the_tableau(coup: Coup) -> bool:
    """Whether every card went where the tableau asks for one, and none is missing."""
    punto: tuple[int, ...] = ()
    banco: tuple[int, ...] = ()
    for drawn in coup.drawn:
        if drawn.card is None:
            continue
        if drawn.slot is None or drawn.slot is not next_slot(punto, banco):
            return False
        if drawn.slot.is_punto:
            punto += (drawn.card.points,)
        else:
            banco += (drawn.card.points,)
    return next_slot(punto, banco) is None


def laid(text: str, slip: Slip | None = None) -> Coup:
    """Deal one coup of laid down cards."""
    return deal(Scenario(coups=1, plans={1: Plan(slip, parse_cards(text))}))[0]


@pytest.mark.parametrize("seed", range(4))
def test_clean_shoe_is_dealt_by_the_tableau(seed: int) -> None:
    """No coup of a shoe without slips departs from the tableau or names a fault."""
    coups = deal(Scenario(seed=seed, coups=60))
    assert all(is_by_the_tableau(coup) and not coup.mistakes for coup in coups)


def test_orders_run_through_the_shoe_without_a_gap() -> None:
    """The orders of all cards are 1, 2, 3 and so on, the burn included."""
    coups = deal(Scenario(coups=30, burn=True))
    orders = [d.order for coup in coups for d in coup.drawn if d.card]
    assert orders == list(range(1, len(orders) + 1))


def test_whole_shoe_holds_no_card_more_often_than_its_decks() -> None:
    """A card comes out of the shoe at most once a deck, mixed again or not."""
    coups = deal(Scenario(seed=3, coups=100, slip_every=3))
    seen = Counter(d.card for coup in coups for d in coup.drawn if d.card)
    assert max(seen.values()) <= 8


@pytest.mark.parametrize("slip", CODES, ids=str)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_slip_breaks_the_tableau_and_names_its_fault(slip: Slip, seed: int) -> None:
    """A coup with a slip is not by the tableau and carries exactly the code of the slip."""
    (coup,) = deal(Scenario(seed=seed, coups=1, plans={1: Plan(slip)}))
    assert not is_by_the_tableau(coup)
    assert [mistake.code for mistake in coup.mistakes] == [CODES[slip]]


def test_slip_in_one_coup_leaves_the_others_clean() -> None:
    """Coups before and after a slip are by the tableau."""
    coups = deal(Scenario(coups=9, plans={5: Plan(Slip.WRONG_HAND)}))
    assert [is_by_the_tableau(coup) for coup in coups] == [n != 5 for n in range(1, 10)]


@pytest.mark.parametrize(
    ("text", "slip", "places"),
    [
        pytest.param("6s 7d Kh Tc 2c", Slip.OVER_DRAW_PUNTO, "P1 B1 P2 B2 P3", id="over-punto"),
        pytest.param("2s 6d 2h Tc 5c 9d", Slip.OVER_DRAW_BANCO, "P1 B1 P2 B2 P3 B3", id="over-b"),
        pytest.param("2s 3d 2h 2c 5c", Slip.UNDER_DRAW_BANCO, "P1 B1 P2 B2 P3", id="under-banco"),
        pytest.param("2s 7d 2h Tc 5c", Slip.WRONG_HAND, "P1 B1 P2 B2 B3", id="wrong-hand"),
        pytest.param("2s Kd 2h Tc 5c 6d", Slip.OUT_OF_TURN, "P1 B1 P2 B2 B3 P3", id="out-of-turn"),
        pytest.param("2s Kd 5h Tc 5c 6d", Slip.PPBB, "P1 P2 B1 B2 P3 B3", id="ppbb"),
    ],
)
def test_slip_with_laid_down_cards_puts_them_in_their_places(
    text: str, slip: Slip, places: str
) -> None:
    """The cards leave the shoe in the order given, each to the place the slip sends it to."""
    coup = laid(text, slip)
    names = [Slot[d.place].name[0] + d.place[-1] for d in coup.drawn]
    assert names == places.split()
    assert [str(d.card) for d in coup.drawn] == text.split()


def test_slip_that_the_laid_down_cards_forbid_is_refused() -> None:
    """Over-drawing a natural without a natural cannot be: the message names coup and fault."""
    with pytest.raises(ConfigurationError, match=r"coup 1: the fault 'over-draw-natural'"):
        laid("2s 2d 2h 2c", Slip.OVER_DRAW_NATURAL)


def test_winner_is_of_the_cards_as_they_lie() -> None:
    """A third card in the wrong hand counts where it lies: Banco 7 and 5 is 2 against Punto's 4."""
    coup = laid("2s 7d 2h Tc 5c", Slip.WRONG_HAND)
    assert (len(coup.hand("PUNTO")), len(coup.hand("BANCO")), coup.winner) == (2, 3, "punto")


def test_ninth_copy_is_one_more_than_the_decks() -> None:
    """With one deck a second copy is a fault of the card that shows it."""
    plans = {5: Plan(Slip.NINTH_COPY)}
    coups = deal(Scenario(coups=5, decks=1, cut_from_back=0, plans=plans))
    (mistake,) = coups[4].mistakes
    faces = {d.order: d.card for coup in coups for d in coup.drawn}
    copies = [order for order, card in faces.items() if card == faces[mistake.order or 0]]
    assert (mistake.code, len(copies), max(copies)) == ("DUP_CARD", 2, mistake.order)


def test_ninth_copy_too_early_is_refused() -> None:
    """Nine copies cannot be out before many cards are: the message says what would help."""
    with pytest.raises(ConfigurationError, match=r"coup 1: no card has been out 8 times"):
        deal(Scenario(coups=1, plans={1: Plan(Slip.NINTH_COPY)}))


def test_cut_card_ends_the_shoe_after_one_more_coup() -> None:
    """The coup with the cut card is finished and one more dealt, none if it came first."""
    for seed in range(12):
        coups = deal(Scenario(seed=seed, coups=200, started_at=360))
        (at,) = [n for n, c in enumerate(coups) if any(d.place == CUT for d in c.drawn)]
        came_first = coups[at].drawn[0].place == CUT
        assert len(coups) - 1 - at == (0 if came_first else 1)
        before = sum(d.card is not None for coup in coups[:at] for d in coup.drawn)
        inside = [d.place for d in coups[at].drawn].index(CUT)
        assert 360 + before + inside == 416 - 14


def test_burn_is_as_many_cards_as_the_first_counts() -> None:
    """The first card is shown; as many more follow as it counts, ten for tens and court cards."""
    for seed in range(8):
        burn = deal(Scenario(seed=seed, coups=1, burn=True))[0]
        first = burn.drawn[0]
        assert first.place == BURN_FACE
        assert isinstance(first.card, Card)
        assert len(burn.drawn) - 1 == (first.card.points or 10)


def test_same_seed_deals_the_same_shoe() -> None:
    """A scenario is dealt the same way each time, and another seed deals another shoe."""
    scenario = Scenario(seed=11, coups=20, dealing=Dealing.MIXED, slip_every=4)
    assert deal(scenario) == deal(scenario)
    assert deal(scenario) != deal(replace(scenario, seed=12))


def test_shoe_without_a_coup_left_is_refused() -> None:
    """A burn that eats the last cards leaves nothing to deal: the message says so."""
    with pytest.raises(ConfigurationError, match="no coup left after 409 cards"):
        deal(Scenario(started_at=409, cut_from_back=0, burn=True))
