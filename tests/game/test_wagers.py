"""Wagers: what wins, what it pays to the last fraction, and what the house refuses."""

from __future__ import annotations

from fractions import Fraction

import pytest

from vision.config.profiles import load_profile
from vision.game.cards import parse_cards
from vision.game.events import Winner
from vision.game.outcome import Outcome, outcome_of, outcome_of_result
from vision.game.outputs import CoupResult, Hand, ResultState
from vision.game.wagers import (
    EGALITES,
    Bet,
    Commission,
    Offer,
    WinningWager,
    odds_text,
    parse_odds,
    winning_wagers,
    wins,
)

PUNTO_BANCO = load_profile("punto-banco").betting
DOUBLE_CHANCE = load_profile("double-chance").betting
UR_WAY = load_profile("punto-banco-ur-way").betting
COMMISSION = load_profile("commission").betting
SIX_OR_EIGHT = load_profile("six-or-eight").betting
HOUSE = load_profile("house").betting


def coup(text: str) -> Outcome:
    """Build an outcome from two hands, Punto first, as in `9s 4h 2d / 7d Kc`."""
    punto, banco = (parse_cards(hand) for hand in text.split("/"))
    return outcome_of(punto, banco)


BANCO_7_5 = coup("9s 4h 2d / 7d Kc")
PUNTO_8 = coup("9s 9h / 7d Kc")
EGALITE_6 = coup("6s Kh / 6d Kc")
THREE_GIVING_EIGHT = coup("2s 2h 8d / 3d Kc")
PAIRS = coup("Kd Ks 9c / 4h 4d")


OUTCOMES = [
    (BANCO_7_5, {Bet.BANCO}),
    (PUNTO_8, {Bet.PUNTO, Bet.PUNTO_PAIR, Bet.EITHER_PAIR}),
    (EGALITE_6, {Bet.EGALITE, Bet.EGALITE_6}),
    (THREE_GIVING_EIGHT, {Bet.BANCO, Bet.THREE_GIVING_EIGHT, Bet.PUNTO_PAIR, Bet.EITHER_PAIR}),
    (PAIRS, {Bet.PUNTO, Bet.PUNTO_PAIR, Bet.BANCO_PAIR, Bet.EITHER_PAIR}),
    (coup("2s 3h Kd / 4d 4c 7s"), {Bet.EGALITE, Bet.EGALITE_5, Bet.BANCO_PAIR, Bet.EITHER_PAIR}),
]


@pytest.mark.parametrize(("outcome", "winning"), OUTCOMES)
def test_wins_names_exactly_the_winning_bets(outcome: Outcome, winning: set[Bet]) -> None:
    """Of all bets there are, a coup pays those and no other."""
    assert {bet for bet in Bet if wins(bet, outcome)} == winning


def test_ten_and_king_are_no_pair() -> None:
    """A pair is of one rank: ten and king count alike but are none."""
    assert not coup("Td Ks / 4h 3d").punto_pair
    assert coup("Td Ts / 4h 3d").punto_pair
    assert not coup("2d 4s 4h / 5h 3d").punto_pair


@pytest.mark.parametrize(
    ("text", "winner"),
    [
        ("9s / 8d", Winner.PUNTO),
        ("8s / 9d", Winner.BANCO),
        ("As / Kd", Winner.PUNTO),
        ("Ks / Ad", Winner.BANCO),
        ("7s 8d / 2d 3c", Winner.EGALITE),
        ("Ts / Kd", Winner.EGALITE),
    ],
)
def test_winner_is_the_hand_nearest_to_nine(text: str, winner: Winner) -> None:
    """One point more wins; the same total is an Egalite, and told as such."""
    assert coup(text).winner is winner
    assert (coup(text).egalite_points is not None) == (winner is Winner.EGALITE)


@pytest.mark.parametrize(
    ("text", "winning"),
    [
        ("2s 2h 8d / 3d Kc", True),
        ("Ks Kh 8d / 8s 5c", True),
        ("2s 3h 8d / 3d Kc", True),
        ("2s 2h 7d / 3d Kc", False),
        ("2s 2h 8d / 2d Kc", False),
        ("2s 4h / 3d Kc 8d", False),
        # Six stands: a third card dealt to it by mistake entitles nobody.
        ("2s 4h 8d / 3d Kc", False),
        # Banco was given a third card by mistake; it had three on two cards when it counted.
        ("2s 2h 8d / 3d Kc 2c", True),
    ],
)
def test_three_giving_eight(text: str, winning: bool) -> None:
    """It takes Banco 3 on two cards, a Punto entitled to draw, and an eight."""
    assert coup(text).three_giving_eight is winning


@pytest.mark.parametrize(
    ("text", "natural"),
    [
        ("9s Kh / 2d Kc 3c", True),
        ("2s Kh / 4d 4c", True),
        ("7s Kh / 6d Kc", False),
        ("4s Kh 4d / 6d Kc", False),
        ("2s Kh 6d / 4d Kc 4c", False),
    ],
)
def test_natural_takes_two_cards(text: str, natural: bool) -> None:
    """Eight or nine on two cards in either hand; never on three."""
    assert coup(text).natural is natural


def result(winner: Winner | None) -> CoupResult:
    """Build a told result of Kd Ks 9c against 4h 4d."""
    return CoupResult(
        at=0,
        shoe="s",
        coup=1,
        revision=0,
        state=ResultState.FINAL if winner else ResultState.HELD,
        why="" if winner else "unread",
        winner=winner,
        punto=Hand(parse_cards("Kd Ks 9c"), 9, False, True),
        banco=Hand(parse_cards("4h 4d"), 8, True, True),
        egalite_points=None,
        three_giving_eight=False,
        faults=(),
        free=False,
        by="",
        reason="",
    )


def test_outcome_of_a_stated_result() -> None:
    """A result that was told is taken as told; a held one amounts to nothing yet."""
    reported = outcome_of_result(result(Winner.PUNTO))
    assert reported == Outcome(Winner.PUNTO, None, True, True, True, False)
    assert outcome_of_result(result(None)) is None
    level = result(Winner.EGALITE)._replace(egalite_points=8, three_giving_eight=True)
    assert outcome_of_result(level) == Outcome(Winner.EGALITE, 8, True, True, True, True)


def test_winning_wagers_carry_names_and_odds() -> None:
    """The result message says what pays, with this profile's odds in words."""
    assert winning_wagers(EGALITE_6, PUNTO_BANCO) == (
        WinningWager(Bet.EGALITE, "Egalite", "9-1"),
        WinningWager(Bet.EGALITE_6, "Individual Egalite 6", "45-1"),
    )
    assert winning_wagers(BANCO_7_5, COMMISSION) == (
        WinningWager(Bet.BANCO, "Banco", "1-1 less 5 %"),
    )
    assert [paid.odds for paid in winning_wagers(EGALITE_6, DOUBLE_CHANCE)] == [
        "2 % to 10 %, as agreed",
        "2 % to 10 %, as agreed",
        "9-1",
        "45-1",
    ]
    assert winning_wagers(EGALITE_6, DOUBLE_CHANCE)[0] == WinningWager(
        Bet.BANCO, "Banco, Double Chance", "2 % to 10 %, as agreed"
    )
    assert winning_wagers(BANCO_7_5, DOUBLE_CHANCE) == (WinningWager(Bet.BANCO, "Banco", "19-20"),)


@pytest.mark.parametrize("text", ["19-20", "9-1", "225-1"])
def test_odds_text_round_trip(text: str) -> None:
    """Odds are written as they were read."""
    assert odds_text(parse_odds(text)) == text


@pytest.mark.parametrize("text", ["9", "9-0", "0-1", "9-1-1", "nine-one", "-9-1", "", "9:1", "²-1"])
def test_parse_odds_refuses(text: str) -> None:
    """Anything but two whole numbers above 0 is refused in words."""
    with pytest.raises(ValueError, match="is not odds: write two whole numbers"):
        parse_odds(text)


def test_offer_terms_and_net_odds() -> None:
    """Terms name a commission; net odds are what a winner keeps."""
    offer = Offer(Bet.BANCO, "Banco", Fraction(1), commission=Commission(Fraction(5, 100)))
    assert offer.terms == "1-1 less 5 %"
    assert offer.net_odds == Fraction(19, 20)
    plain = Offer(Bet.PUNTO, "Punto", Fraction(1))
    assert (plain.terms, plain.net_odds) == ("1-1", Fraction(1))
    assert (plain.minimum, plain.maximum) == (Fraction(1), None)
    assert plain.needs == ()


def test_bets_name_their_totals() -> None:
    """Ten individual Egalites, 0 to 9; main bets are the two hands."""
    assert [bet.total for bet in EGALITES] == list(range(10))
    assert [bet for bet in Bet if bet.total is None and bet.is_main] == [Bet.BANCO, Bet.PUNTO]
    assert Bet.EGALITE.total is None
