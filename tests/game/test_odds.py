"""Odds: exact counts against brute force and published integers; what is told of them."""

from __future__ import annotations

import time
from fractions import Fraction
from itertools import permutations

import pytest

from tests.game.rule_sheets.published import (
    Convention,
    Figure,
    figures_table,
    published_figures,
)
from vision.commands.odds import (
    edge_table,
    probabilities,
    ten_digits,
)
from vision.commands.printing.console import TextTable
from vision.config.profiles import load_profile, profile_names
from vision.game.cards import DECK, Card, parse_cards
from vision.game.odds import (
    Edge,
    OutcomeCounts,
    count,
    edge,
    edges,
    full_shoe,
    percent,
    remaining,
)
from vision.game.outcome import is_natural, outcome_of
from vision.game.tableau import STANDARD, next_slot
from vision.game.wagers import Bet, Betting, wins

EIGHT = count(full_shoe(8), STANDARD)
SIX = count(full_shoe(6), STANDARD)


def test_count_eight_decks_known_integers() -> None:
    """Eight decks give the integers that every analysis of the game gives."""
    assert EIGHT.total == 4998398275503360
    assert EIGHT.of(Bet.BANCO) == 2292252566437888
    assert EIGHT.of(Bet.PUNTO) == 2230518282592256
    assert EIGHT.of(Bet.EGALITE) == 475627426473216


def test_count_six_decks_known_integers() -> None:
    """Six decks likewise."""
    assert SIX.total == 878869206895680
    assert SIX.of(Bet.BANCO) == 403095751234560
    assert SIX.of(Bet.PUNTO) == 392220492728832
    assert SIX.of(Bet.EGALITE) == 83552962932288


def test_count_cards_a_coup() -> None:
    """A coup from eight decks takes 4.9388 cards on average."""
    mean = Fraction(sum(n * w for n, w in zip((4, 5, 6), EIGHT.lengths, strict=True)), EIGHT.total)
    assert ten_digits(mean) == "4.938818850"


def played(cards: tuple[Card, ...]) -> tuple[tuple[Card, ...], tuple[Card, ...]]:
    """Deal a coup from the front of a run of cards, asking the tableau for each place."""
    hands: dict[bool, tuple[Card, ...]] = {True: (), False: ()}
    for card in cards:
        points = {side: tuple(c.points for c in hand) for side, hand in hands.items()}
        slot = next_slot(points[True], points[False])
        if slot is None:
            break
        hands[slot.is_punto] = (*hands[slot.is_punto], card)
    return hands[True], hands[False]


@pytest.mark.parametrize(
    "text",
    [
        "2c 2d 3c 8d Kc Kd 8h",
        "Ac Ad Ah 4c 5c 3s 8s",
        "Tc 3d Kh 8c 8d 9s 6h",
        "7c 6d 5h 4c 3d 2s Ah",
        "2c 2d 2h 2s 3c 8d",
    ],
)
def test_count_against_every_run_of_a_short_shoe(text: str) -> None:
    """Every ordered run of a few cards, dealt one by one, gives the same counts."""
    cards = parse_cards(text)
    ranks = tuple(sum(card.rank == rank for card in cards) for rank in range(1, 14))
    counts = count(ranks, STANDARD)
    won = dict.fromkeys(Bet, 0)
    lengths, naturals = [0, 0, 0], [0, 0, 0]
    runs = list(permutations(cards, 6))
    for run in runs:
        punto, banco = played(run)
        outcome = outcome_of(punto, banco)
        for bet in Bet:
            won[bet] += wins(bet, outcome)
        lengths[len(punto) + len(banco) - 4] += 1
        held = (is_natural(punto), is_natural(banco), is_natural(punto) and is_natural(banco))
        naturals = [n + h for n, h in zip(naturals, held, strict=True)]
    assert counts.total == len(runs)
    assert {bet: counts.of(bet) for bet in Bet} == won
    assert list(counts.lengths) == lengths
    assert list(counts.naturals) == naturals
    assert counts.natural == naturals[0] + naturals[1] - naturals[2]


def test_count_refuses_a_shoe_too_short_for_a_coup() -> None:
    """Five cards may not finish a coup."""
    with pytest.raises(ValueError, match="5 cards are left; a coup can need 6"):
        count((5,) + (0,) * 12, STANDARD)
    assert count((6,) + (0,) * 12, STANDARD).of(Bet.EGALITE_3) == 720


def test_remaining_takes_out_what_has_gone() -> None:
    """Cards that have left the shoe are counted off by rank."""
    assert remaining(1, parse_cards("Ac Kd")) == (3, *[4] * 11, 3)
    assert remaining(6, ()) == full_shoe(6) == (24,) * 13


def test_remaining_refuses_a_copy_too_many() -> None:
    """A ninth copy cannot have gone from eight decks."""
    gone = [DECK[0]] * 8
    assert remaining(8, gone)[0] == 24
    with pytest.raises(ValueError, match="9 copies of Ac have gone; 8 decks hold 8"):
        remaining(8, [*gone, DECK[0]])


def test_edges_all_profiles_under_two_seconds() -> None:
    """All packaged profiles, counted afresh for 6 and 8 decks, take less than two seconds."""
    count.cache_clear()
    started = time.process_time()
    for name in profile_names():
        profile = load_profile(name)
        for decks in (6, 8):
            assert edges(count(full_shoe(decks), profile.rules.tableau), profile.betting)
    assert time.process_time() - started < 2


def edge_of(name: str, bet: Bet, share: Fraction | None = None) -> Edge:
    """Return the edge of a bet of a packaged profile from eight decks."""
    return next(
        one
        for one in edges(EIGHT, load_profile(name).betting)
        if one.offer.bet is bet and one.share == share
    )


@pytest.mark.parametrize(
    ("name", "bet", "per_bet", "per_resolved"),
    [
        ("punto-banco", Bet.BANCO, "1.0579", "1.1692"),
        ("punto-banco", Bet.PUNTO, "1.2351", "1.3650"),
        ("commission", Bet.BANCO, "1.0579", "1.1692"),
        ("punto-banco", Bet.EGALITE, "4.8440", "4.8440"),
        ("commission", Bet.EGALITE, "14.3596", "14.3596"),
        ("punto-banco", Bet.THREE_GIVING_EIGHT, "17.7686", "17.7686"),
        ("punto-banco-ur-way", Bet.PUNTO_PAIR, "10.3614", "10.3614"),
        ("house", Bet.EITHER_PAIR, "13.7099", "13.7099"),
        ("punto-banco", Bet.EGALITE_5, "11.8732", "11.8732"),
    ],
)
def test_edges_per_bet_and_per_resolved(
    name: str, bet: Bet, per_bet: str, per_resolved: str
) -> None:
    """Both conventions are told; they differ only where an Egalite returns the stake."""
    found = edge_of(name, bet)
    assert percent(found.per_bet, 4) == per_bet
    assert percent(found.per_resolved, 4) == per_resolved
    assert (found.per_bet != found.per_resolved) == bet.is_main


def test_edges_of_double_chance_at_both_ends() -> None:
    """Double Chance costs less the higher the percentage; no bet stands off."""
    low = edge_of("double-chance", Bet.PUNTO, Fraction(2, 100))
    high = edge_of("double-chance", Bet.PUNTO, Fraction(10, 100))
    assert percent(low.per_bet, 4) == "1.0448"
    assert percent(high.per_bet, 4) == "0.2835"
    assert low.per_bet == low.per_resolved
    assert edge_of("double-chance", Bet.EGALITE).share is None


def test_edge_by_settling_every_total() -> None:
    """The edge of a bet equals minus the mean profit of one unit, weighed by its wins."""
    offer = load_profile("house").betting.offer(Bet.BANCO)
    assert offer is not None
    won, lost = EIGHT.of(Bet.BANCO), EIGHT.of(Bet.PUNTO)
    assert edge(EIGHT, offer).per_bet == Fraction(lost - won * Fraction(95, 100), EIGHT.total)
    assert edge(EIGHT, offer).wins == Fraction(won, EIGHT.total)


AGREEING = [
    ("Double Chance at 10 %", "0.195", "mean of Banco and Punto, 8 decks"),
    ("Double Chance at 2 %", "0.956", "mean of Banco and Punto, 8 decks"),
    ("Egalite at 9-1", "4.84", "9 to 1, 8 decks"),
    ("Three giving eight at 180-1", "17.77", "180 to 1, 8 decks"),
    (
        "UR WAY Egalite 7 at 45-1",
        "8.43",
        "45 for 1, 8 decks, from a probability rounded to 2.035 %",
    ),
    ("UR WAY Egalite 6 at 45-1", "13.42", "45 for 1, 8 decks"),
    ("Banco at 1-1 less 5 %", "1.17", "per bet resolved, 8 decks"),
    ("Punto at 1-1", "1.36", "per bet resolved, 8 decks"),
    ("Egalite at 8-1", "14.12", "8 to 1, endless shoe"),
]


@pytest.mark.parametrize(("what", "published", "words"), AGREEING, ids=[a[0] for a in AGREEING])
def test_published_figures_agree_under(what: str, published: str, words: str) -> None:
    """Every published figure comes out under a named convention."""
    figure = next(f for f in published_figures() if f.what == what)
    assert figure.published == published
    assert figure.agreeing[0].words == words


def test_published_figures_are_all_there() -> None:
    """Nine figures, of sheets 0 and 4; 6 decks do not give those of Double Chance at 10 %."""
    figures = published_figures()
    assert [f.what for f in figures] == [a[0] for a in AGREEING]
    assert [f.sheet for f in figures] == [0] * 6 + [4] * 3
    assert [r.words for r in figures[0].agreeing] == ["mean of Banco and Punto, 8 decks"]


@pytest.mark.parametrize(
    ("share", "places", "text"),
    [
        ("0.08425", 2, "8.43"),
        ("0.0842488", 2, "8.42"),
        ("0.00195", 3, "0.195"),
        ("0.5", 0, "50"),
        ("-0.7258", 1, "-72.6"),
        ("0.0004", 1, "0.0"),
        ("-0.00015", 3, "-0.015"),
    ],
)
def test_percent_rounds_halves_up(share: str, places: int, text: str) -> None:
    """Percentages are rounded from exact fractions, halves up."""
    assert percent(Fraction(share), places) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (Fraction(1, 3), "0.3333333333"),
        (Fraction(EIGHT.of(Bet.EGALITE), EIGHT.total), "0.09515596802"),
        (Fraction(EIGHT.three_giving_eight, EIGHT.total), "0.004543170855"),
        (Fraction(1), "1"),
    ],
)
def test_ten_digits_are_significant(share: Fraction, text: str) -> None:
    """Ten significant digits, not ten decimals."""
    assert ten_digits(share) == text


PROBABILITIES = {
    "Egalite at 0": "0.005797837592",
    "Egalite at 6": "0.01924016375",
    "Egalite at 7": "0.02035002681",
    "Three giving eight": "0.004543170855",
    "Punto pair": "0.07469879518",
    "Banco pair": "0.07469879518",
    "Either pair": "0.1438168719",
    "Both pairs": "0.005580718495",
    "Punto natural": "0.1894346617",
    "Banco natural": "0.1894346617",
    "A natural in either hand": "0.3430490973",
    "Coup of 4 cards": "0.3788684909",
    "Coup of 5 cards": "0.3034441685",
    "Coup of 6 cards": "0.3176873406",
}


def test_probabilities_table_names_everything() -> None:
    """One table has every total, 3G8, pairs, naturals and lengths to ten digits."""
    table = probabilities(EIGHT)
    reported = {row[0]: row[2] for row in table.rows}
    assert len(reported) == len(table.rows) == 24
    assert reported["Banco wins"] == "0.4585974226"
    assert {what: reported[what] for what in PROBABILITIES} == PROBABILITIES
    assert table.rows[0][1] == str(EIGHT.of(Bet.BANCO))
    assert table.heading[0] == f"of {EIGHT.total} runs of six cards"


def test_edge_table_names_both_conventions() -> None:
    """The table of edges has a column for each convention and the share of Double Chance."""
    profile = load_profile("double-chance")
    table = edge_table(edges(EIGHT, profile.betting))
    assert table.heading == ("bet", "pays", "wins", "per bet made", "per bet resolved")
    assert table.rows[0] == (
        "Banco",
        "19-20, Egalite pays 2 %",
        "0.4585974226",
        "0.8676 %",
        "0.8676 %",
    )
    assert edge_table(edges(EIGHT, load_profile("commission").betting)).rows[0][1:] == (
        "1-1 less 5 %",
        "0.4585974226",
        "1.0579 %",
        "1.1692 %",
    )


def test_table_text_is_aligned() -> None:
    """In a terminal the first column is flush left, the others flush right."""
    table = TextTable(("what", "n"), (("a", "10"), ("long name", "5")))
    assert table.text() == "what        n\na          10\nlong name   5"
    assert table.markdown() == "| what | n |\n| :-- | --: |\n| a | 10 |\n| long name | 5 |"


def test_figures_table_says_where_none_agrees() -> None:
    """A figure that no reading gives is told so."""
    reading = Convention("8 decks", Fraction(5, 100))
    rows = figures_table((Figure(0, "x", "4.00", (reading,)),)).rows
    assert rows == (("sheet 0: x", "4.00 %", "5.0000 %", "8 decks", "none that we tried"),)
    rows = figures_table((Figure(0, "x", "5.00", (reading, reading)),)).rows
    assert rows[0][-1] == "8 decks; 8 decks"


def test_counts_of_every_bet_fit_together() -> None:
    """Winners add up to everything, individual Egalites to the Egalite, lengths too."""
    for counts in (SIX, EIGHT):
        assert isinstance(counts, OutcomeCounts)
        sides = (Bet.BANCO, Bet.PUNTO, Bet.EGALITE)
        assert sum(counts.of(bet) for bet in sides) == counts.total == sum(counts.lengths)
        totals = sum(counts.of(bet) for bet in Bet if bet.total is not None)
        assert totals == counts.of(Bet.EGALITE)


def test_edges_of_nothing_is_nothing() -> None:
    """A house that offers no bet has no edge to tell."""
    assert edges(EIGHT, Betting(())) == ()
