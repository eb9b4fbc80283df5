"""Wagers: what wins, what it pays to the last fraction, and what the house refuses."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vision.config.profiles import load_profile, profile_names
from vision.game.cards import DECK, parse_cards
from vision.game.events import Winner
from vision.game.outcome import Outcome, outcome_of, outcome_of_result
from vision.game.outputs import CoupResult, Hand, ResultState
from vision.game.wagers import (
    EGALITES,
    Bet,
    Betting,
    Commission,
    IllegalWagersError,
    Offer,
    Result,
    Rounding,
    Settlement,
    Wager,
    WinningWager,
    odds_text,
    parse_odds,
    refusals,
    settle,
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


def wager(bet: Bet, stake: str = "10", player: str = "") -> Wager:
    """Build a wager."""
    return Wager(bet, Fraction(stake), player)


def profit(outcome: Outcome, bet: Bet, betting: Betting, stake: str = "10") -> Fraction:
    """Settle one wager by itself, beside whatever it needs, and return the profit."""
    offer = betting.offer(bet)
    assert offer is not None
    beside = [wager(need) for need in offer.needs[:1]]
    return settle(outcome, [wager(bet, stake), *beside], betting)[0].profit


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


def test_outcome_of_a_told_result() -> None:
    """A result that was told is taken as told; a held one amounts to nothing yet."""
    told = outcome_of_result(result(Winner.PUNTO))
    assert told == Outcome(Winner.PUNTO, None, True, True, True, False)
    assert outcome_of_result(result(None)) is None
    level = result(Winner.EGALITE)._replace(egalite_points=8, three_giving_eight=True)
    assert outcome_of_result(level) == Outcome(Winner.EGALITE, 8, True, True, True, True)


@pytest.mark.parametrize(
    ("betting", "bet", "outcome", "gain"),
    [
        (PUNTO_BANCO, Bet.BANCO, BANCO_7_5, "9.5"),
        (PUNTO_BANCO, Bet.BANCO, PUNTO_8, "-10"),
        (PUNTO_BANCO, Bet.BANCO, EGALITE_6, "0"),
        (PUNTO_BANCO, Bet.PUNTO, PUNTO_8, "10"),
        (PUNTO_BANCO, Bet.PUNTO, EGALITE_6, "0"),
        (PUNTO_BANCO, Bet.EGALITE, EGALITE_6, "90"),
        (PUNTO_BANCO, Bet.EGALITE, PUNTO_8, "-10"),
        (PUNTO_BANCO, Bet.EGALITE_6, EGALITE_6, "450"),
        (PUNTO_BANCO, Bet.EGALITE_7, EGALITE_6, "-10"),
        (PUNTO_BANCO, Bet.THREE_GIVING_EIGHT, THREE_GIVING_EIGHT, "1800"),
        (UR_WAY, Bet.PUNTO_PAIR, PAIRS, "110"),
        (UR_WAY, Bet.BANCO_PAIR, BANCO_7_5, "-10"),
        (COMMISSION, Bet.BANCO, BANCO_7_5, "9.5"),
        (COMMISSION, Bet.EGALITE, EGALITE_6, "80"),
        (SIX_OR_EIGHT, Bet.BANCO_PAIR, PAIRS, "110"),
        (HOUSE, Bet.EITHER_PAIR, PAIRS, "50"),
    ],
)
def test_settle_pays_what_the_sheet_says(
    betting: Betting, bet: Bet, outcome: Outcome, gain: str
) -> None:
    """Each bet gains or loses exactly what its sheet says."""
    assert profit(outcome, bet, betting) == Fraction(gain)


@pytest.mark.parametrize("share", ["0.02", "0.05", "0.1"])
@pytest.mark.parametrize("bet", [Bet.BANCO, Bet.PUNTO])
def test_double_chance_pays_the_agreed_percentage(bet: Bet, share: str) -> None:
    """On an Egalite the stake comes back with the percentage on top; only then."""
    agreed = {"Ann": Fraction(share)}
    (tie,) = settle(EGALITE_6, [wager(bet, player="Ann")], DOUBLE_CHANCE, agreed)
    assert tie.result is Result.DOUBLE_CHANCE
    assert tie.profit == 10 * Fraction(share)
    assert tie.returned == 10 + 10 * Fraction(share)
    (lost,) = settle(
        PUNTO_8 if bet is Bet.BANCO else BANCO_7_5,
        [wager(bet, player="Ann")],
        DOUBLE_CHANCE,
        agreed,
    )
    assert lost.result is Result.LOST
    assert lost.returned == 0


def test_settle_tells_result_and_commission() -> None:
    """A settlement says what became of the wager, and what the house kept of the win."""
    won, tie = (
        settle(one, [wager(Bet.BANCO, "7")], COMMISSION)[0] for one in (BANCO_7_5, EGALITE_6)
    )
    assert won == Settlement(wager(Bet.BANCO, "7"), Result.WON, Fraction("6.65"), Fraction("0.35"))
    assert won.returned == Fraction("13.65")
    assert tie == Settlement(wager(Bet.BANCO, "7"), Result.STAND_OFF, Fraction(0), Fraction(0))


@pytest.mark.parametrize(
    ("rounding", "win", "kept"),
    [
        (Rounding.EXACT, "7", "0.35"),
        (Rounding.DOWN, "7", "0"),
        (Rounding.UP, "7", "0.5"),
        (Rounding.NEAREST, "7", "0.5"),
        (Rounding.NEAREST, "5", "0.5"),
        (Rounding.NEAREST, "4", "0"),
        (Rounding.DOWN, "10", "0.5"),
        (Rounding.UP, "10", "0.5"),
        (Rounding.DOWN, "39", "1.5"),
        (Rounding.UP, "31", "2"),
    ],
)
def test_commission_rounding(rounding: Rounding, win: str, kept: str) -> None:
    """Five per cent in units of 0.50: down, up, or nearest with halves up."""
    commission = Commission(Fraction(5, 100), rounding, Fraction(1, 2))
    assert commission.on(Fraction(win)) == Fraction(kept)


def test_commission_unit_is_one_unless_told() -> None:
    """Rounding without a unit is to whole money."""
    assert Commission(Fraction(5, 100), Rounding.UP).on(Fraction(10)) == 1


ILLEGAL = [
    ([(Bet.BANCO, "5"), (Bet.PUNTO, "5")], PUNTO_BANCO, "Banco and Punto together"),
    ([(Bet.EGALITE_4, "5")], PUNTO_BANCO, "must be accompanied by a wager on banco or punto"),
    ([(Bet.EGALITE_4, "5"), (Bet.EGALITE, "5")], PUNTO_BANCO, "Individual Egalite 4 must be"),
    ([(Bet.EGALITE_4, "5")], UR_WAY, "accompanied by a wager on banco or punto or egalite"),
    ([(Bet.PUNTO_PAIR, "5")], PUNTO_BANCO, "punto_pair is not offered at this table"),
    ([(Bet.BANCO, "0")], PUNTO_BANCO, "a stake of 0 on banco"),
    ([(Bet.BANCO, "-1")], PUNTO_BANCO, "a stake of -1 on banco"),
    ([(Bet.BANCO, "4")], HOUSE, "4 on Banco is under the minimum of 5"),
    ([(Bet.BANCO, "1001")], HOUSE, "1001 on Banco is over the maximum of 1000"),
    ([(Bet.BANCO, "600"), (Bet.BANCO, "600")], HOUSE, "1200 on Banco is over the maximum"),
]


@pytest.mark.parametrize(("placed", "betting", "words"), ILLEGAL, ids=[i[2] for i in ILLEGAL])
def test_settle_refuses_what_the_sheet_refuses(
    placed: list[tuple[Bet, str]], betting: Betting, words: str
) -> None:
    """An illegal combination is refused in words, and nothing is settled."""
    with pytest.raises(IllegalWagersError, match=words):
        settle(BANCO_7_5, [wager(bet, stake) for bet, stake in placed], betting)


@pytest.mark.parametrize(
    ("placed", "betting"),
    [
        ([(Bet.EGALITE_4, "5"), (Bet.BANCO, "5")], PUNTO_BANCO),
        ([(Bet.EGALITE_4, "5"), (Bet.PUNTO, "5")], PUNTO_BANCO),
        ([(Bet.EGALITE_4, "5"), (Bet.EGALITE, "5")], UR_WAY),
        ([(Bet.EGALITE, "5")], PUNTO_BANCO),
        ([(Bet.THREE_GIVING_EIGHT, "5")], PUNTO_BANCO),
        ([(Bet.PUNTO_PAIR, "5"), (Bet.BANCO_PAIR, "5")], UR_WAY),
        ([(Bet.BANCO, "5"), (Bet.PUNTO, "1000")], HOUSE),
        ([(Bet.EGALITE, "2.5")], HOUSE),
        ([(Bet.BANCO, "1"), (Bet.BANCO, "4")], HOUSE),
    ],
)
def test_refusals_none_for_legal_wagers(placed: list[tuple[Bet, str]], betting: Betting) -> None:
    """What the sheet allows is not refused; limits hold at their ends."""
    assert refusals([wager(bet, stake) for bet, stake in placed], betting) == ()


def test_refusals_are_per_player() -> None:
    """One player's wager qualifies nobody else, and opposite players may oppose."""
    placed = [
        wager(Bet.BANCO, player="Ann"),
        wager(Bet.PUNTO, player="Ben"),
        wager(Bet.EGALITE_1, player="Cid"),
    ]
    assert refusals(placed, PUNTO_BANCO) == (
        "Cid: Individual Egalite 1 must be accompanied by a wager on banco or punto",
    )


def test_refusals_tell_every_reason() -> None:
    """All reasons are told at once, also in the error's words."""
    placed = [wager(Bet.BANCO), wager(Bet.PUNTO), wager(Bet.EITHER_PAIR)]
    assert refusals(placed, PUNTO_BANCO) == (
        "Banco and Punto together; a player may wager on one of them only",
        "either_pair is not offered at this table",
    )
    assert refusals([wager(Bet.PUNTO, "0", "Ann")], PUNTO_BANCO) == (
        "Ann: a stake of 0 on punto",
        "Ann: 0 on Punto is under the minimum of 1",
    )
    with pytest.raises(IllegalWagersError) as caught:
        settle(BANCO_7_5, placed, PUNTO_BANCO)
    assert str(caught.value) == "; ".join(caught.value.refusals)
    assert caught.value.refusals == refusals(placed, PUNTO_BANCO)


@pytest.mark.parametrize(
    ("bet", "agreed", "betting", "words"),
    [
        (
            Bet.BANCO,
            None,
            DOUBLE_CHANCE,
            "no percentage agreed for Double Chance; agree one of 2 %",
        ),
        (Bet.PUNTO, "0.019", DOUBLE_CHANCE, "Double Chance at 1.9 % is outside 2 % to 10 %"),
        (Bet.BANCO, "0.11", DOUBLE_CHANCE, "Double Chance at 11 % is outside 2 % to 10 %"),
        (Bet.EGALITE, "0.11", DOUBLE_CHANCE, "Double Chance at 11 % is outside"),
        (Bet.BANCO, "0.05", PUNTO_BANCO, "no Double Chance is played at this table"),
    ],
)
def test_refusals_of_double_chance_percentages(
    bet: Bet, agreed: str | None, betting: Betting, words: str
) -> None:
    """The percentage is agreed beforehand, within 2 to 10, and only where it is played."""
    shares = {"Ann": Fraction(agreed)} if agreed else {}
    (reason,) = refusals([wager(bet, player="Ann")], betting, shares)
    assert reason.startswith(f"Ann: {words}")


def test_double_chance_percentage_not_needed_for_side_bets() -> None:
    """A player without a Banco or Punto bet need not agree on a percentage."""
    assert refusals([wager(Bet.EGALITE)], DOUBLE_CHANCE) == ()


@given(st.lists(st.sampled_from(DECK), min_size=4, max_size=6), st.sampled_from(profile_names()))
def test_settlement_and_winning_wagers_agree(cards: list[object], name: str) -> None:
    """A bet gains at any coup exactly where the result message lists it."""
    hands = tuple(cards)
    outcome = outcome_of((*hands[0:4:2], *hands[4:5]), (*hands[1:4:2], *hands[5:6]))  # type: ignore[arg-type]
    betting = load_profile(name).betting
    agreed = {"": Fraction(1, 20)} if betting.double_chance else {}
    listed = {paid.bet for paid in winning_wagers(outcome, betting)}
    for offer in betting.offers:
        placed = [wager(offer.bet), *(wager(need) for need in offer.needs[:1])]
        settled = settle(outcome, placed, betting, agreed)[0]
        assert (settled.profit > 0) == (offer.bet in listed)
        assert settled.returned >= 0


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
