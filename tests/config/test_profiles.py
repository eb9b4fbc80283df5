"""Profiles: the packaged ones say what was decided; a wrong one is refused with place and cure."""

from __future__ import annotations

from fractions import Fraction
from importlib.resources import files
from pathlib import Path

import pytest

from tests.game.rule_sheets.transcripts import SHEETS
from vision.config.profiles import (
    ProfileError,
    load_profile,
    parse_profile,
    profile_names,
    profile_text,
)
from vision.errors import ConfigurationError
from vision.game.events import Slot
from vision.game.rules import BurnKind, BurnRule, Dealing, Profile
from vision.game.tableau import DEAL_ORDER, STANDARD
from vision.game.wagers import EGALITES, Bet, Commission, Rounding, odds_text
from vision.record.codec import rules_hash

NAMES = (
    "commission",
    "double-chance",
    "house",
    "punto-banco",
    "punto-banco-ur-way",
    "six-or-eight",
)
PUNTO_3 = "draws = [0, 1, 2, 3, 4, 5, 6, 7, 9]"


def text_of(name: str = "punto-banco") -> str:
    """Return the text of a packaged profile."""
    return (files("vision.game") / "profiles" / f"{name}.toml").read_text(encoding="utf-8")


def changed(old: str, new: str, name: str = "punto-banco") -> str:
    """Return the text of a packaged profile with one passage replaced."""
    text = text_of(name)
    assert old in text
    return text.replace(old, new, 1)


def test_profile_names_are_the_packaged_files() -> None:
    """Five sheets and an example of a house's own."""
    assert profile_names() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_packaged_profile_plays_the_standard_tableau(name: str) -> None:
    """Every packaged profile loads and plays the tableau of the sheets, misprints mended."""
    profile = load_profile(name)
    assert profile.name == name
    assert profile.rules.tableau == STANDARD
    assert profile.rules.deal_order == DEAL_ORDER


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.profile)
def test_packaged_profile_belongs_to_its_sheet(sheet: object) -> None:
    """Each sheet names its profile, and the profile its sheet; decks and odds are the sheet's."""
    printed = next(one for one in SHEETS if one is sheet)
    profile = load_profile(printed.profile)
    assert profile.sheet == printed.number
    assert profile.rules.decks in printed.decks
    egalite = profile.betting.offer(Bet.EGALITE)
    assert egalite is not None
    assert odds_text(egalite.odds) == printed.egalite_odds
    assert (profile.betting.double_chance is not None) == (printed.number == 0)


def test_house_profile_is_an_example_of_everything_else() -> None:
    """The example sets what no sheet sets: six decks, face down, fixed burn, rounding, limits."""
    profile = load_profile("house")
    assert profile.sheet is None
    assert profile.rules.decks == 6
    assert profile.rules.dealing is Dealing.FACE_DOWN
    assert profile.rules.burn == BurnRule(BurnKind.FIXED, cards=6)
    assert (profile.rules.cut_depth, profile.rules.coups_after_cut) == (16, 0)
    assert profile.betting.both_hands
    banco = profile.betting.offer(Bet.BANCO)
    assert banco is not None
    assert banco.commission == Commission(Fraction(5, 100), Rounding.DOWN, Fraction(1, 2))
    assert (banco.minimum, banco.maximum) == (Fraction(5), Fraction(1000))


def test_default_rules_of_the_sheets() -> None:
    """What no sheet states is set alike in all: burn by value, cut at 14, one more coup."""
    for sheet in SHEETS:
        rules = load_profile(sheet.profile).rules
        assert rules.burn == BurnRule(BurnKind.VALUE, ace=1)
        assert (rules.cut_depth, rules.coups_after_cut) == (14, 1)
        assert rules.dealing is Dealing.FACE_UP


def test_watch_is_set_by_the_profile_or_as_usual() -> None:
    """The sheets' profiles write the defaults out; a house changes what it likes."""
    for sheet in SHEETS:
        text = profile_text(sheet.profile)
        without = text[: text.index("[watch]")] + text[text.index("[tableau") :]
        assert parse_profile(text, "x") == parse_profile(without, "x")
        some = text.replace("confidence_gate = 0.99", "")
        assert parse_profile(some, "x") == parse_profile(without, "x")
    house = load_profile("house").rules
    assert (house.confidence_gate, house.unread_after_ms) == (0.995, 15_000)
    assert (house.due_after_ms, house.removed_after_ms) == (5_000, 3_000)


def test_individual_egalites_pay_by_total() -> None:
    """Ten totals, ten odds: 5 pays 110-1 wherever individual Egalites are offered."""
    want = ["150-1", "215-1", "225-1", "200-1", "120-1", "110-1", "45-1", "45-1", "80-1", "80-1"]
    for name in ("double-chance", "punto-banco", "punto-banco-ur-way"):
        betting = load_profile(name).betting
        offers = [betting.offer(bet) for bet in EGALITES]
        assert [odds_text(offer.odds) for offer in offers if offer] == want


def test_qualifying_bets_differ_between_sheets() -> None:
    """An Egalite wager qualifies for individual Egalites on sheets 0 and 2, not on 1."""
    needs = {
        name: offer.needs
        for name in ("double-chance", "punto-banco", "punto-banco-ur-way")
        if (offer := load_profile(name).betting.offer(Bet.EGALITE_0))
    }
    assert needs == {
        "double-chance": (Bet.BANCO, Bet.PUNTO, Bet.EGALITE),
        "punto-banco": (Bet.BANCO, Bet.PUNTO),
        "punto-banco-ur-way": (Bet.BANCO, Bet.PUNTO, Bet.EGALITE),
    }


def test_literal_tableau_of_sheet_2_is_refused() -> None:
    """The misprinted row is refused; the message names the row, the cards and the cure."""
    literal = changed(PUNTO_3, "draws = [0, 1, 2, 4, 5, 6, 7, 8, 9]", "punto-banco-ur-way")
    with pytest.raises(ProfileError) as caught:
        parse_profile(literal, "ur-way.toml")
    assert str(caught.value) == (
        "ur-way.toml: tableau.banco.3: this row has 8 as both draw and stand and 3 in neither: "
        "put each card from 0 to 9 in exactly one of the two"
    )


def test_hash_is_of_the_content_only() -> None:
    """Comments, names and titles do not change the hash; any rule or wager does."""
    profile = parse_profile(text_of(), "a")
    assert len(rules_hash(profile)) == 64
    other = parse_profile(text_of().replace('title = "Punto Banco"', '# x\ntitle = "Other"'), "b")
    assert rules_hash(other) == rules_hash(profile)
    for old, new in (
        ("decks = 8", "decks = 6"),
        ('odds = "9-1"', 'odds = "8-1"'),
        ("cut_depth = 14", "cut_depth = 15"),
        ("both_hands = false", "both_hands = true"),
        ('mode = "face-up"', 'mode = "face-down"'),
    ):
        assert rules_hash(parse_profile(changed(old, new), "c")) != rules_hash(profile)
    assert len({rules_hash(load_profile(name)) for name in NAMES}) == len(NAMES)


def test_hash_is_the_same_in_every_run() -> None:
    """The hash of a packaged profile is fixed: it travels in messages and is compared later."""
    assert rules_hash(load_profile("punto-banco")) == PUNTO_BANCO_HASH


PUNTO_BANCO_HASH = "c1424eb03d0659665c061d6e4fcb507d5ba74a7574b9b8380feec67f9de4211d"


REFUSED = [
    (
        "title = ",
        "titel = ",
        "x: title: missing; add the key (see vision/game/profiles/house.toml)",
    ),
    (
        'title = "Punto Banco"',
        "title = 3",
        "x: title: is 3, but must be a valid string; correct the value",
    ),
    ('title = "Punto Banco"', 'title = " "', "x: title: is empty; write a text in quotes"),
    (
        "sheet = 1",
        "sheet = 5",
        "x: sheet: is 5, but must be less than or equal to 4; correct the value",
    ),
    ("sheet = 1", "shoot = 1", "x: shoot: unknown key; did you mean 'shoe'?"),
    (
        "sheet = 1",
        "zebra = 1",
        "x: zebra: unknown key; known here: deal, main, sheet, shoe, tableau, title",
    ),
    (
        "decks = 8",
        "decks = 0",
        "x: shoe.decks: is 0, but must be greater than or equal to 1; correct",
    ),
    (
        "decks = 8",
        "decks = true",
        "x: shoe.decks: is True, but must be a valid integer; correct the value",
    ),
    (
        "decks = 8",
        'decks = "8"',
        "x: shoe.decks: is '8', but must be a valid integer; correct the value",
    ),
    (
        "decks = 8",
        "decks = 8\ncute_depth = 1",
        "x: shoe.cute_depth: unknown key; did you mean 'cut_depth'?",
    ),
    (
        "cut_depth = 14",
        "",
        "x: shoe.cut_depth: missing; add the key (see vision/game/profiles/house.to",
    ),
    (
        "coups_after_cut = 1",
        "coups_after_cut = 3",
        "x: shoe.coups_after_cut: is 3, but must be less than or equal to 2; correct",
    ),
    (
        'burn = "value"',
        'burn = "some"',
        "x: shoe.burn: is 'some', but must be 'none', 'value' or 'fixed'; correct",
    ),
    (
        "burn_ace = 1",
        "burn_ace = 5",
        "x: shoe.burn_ace: is 5, but must be 1 or 11; correct the value",
    ),
    (
        'burn = "value"',
        'burn = "fixed"',
        'x: shoe: burn_cards is missing; a burn of "fixed" needs it',
    ),
    (
        "[shoe]",
        "[shoe.x]",
        "x: shoe.decks: missing; add the key (see vision/game/profiles/house.toml)",
    ),
    (
        "[deal]",
        "[[deal]]",
        "x: deal: is [{'order': ['PUNTO_1', 'BANCO_1', 'PUNTO_2', 'BANCO_2'], ...,",
    ),
    (
        "gate = 0.99",
        "gate = 0.5",
        "x: watch.confidence_gate: is 0.5, but must be greater than or equal to 0.9",
    ),
    (
        "gate = 0.99",
        "gate = true",
        "x: watch.confidence_gate: is True, but must be a valid number; correct",
    ),
    (
        "gate = 0.99",
        'gate = "1"',
        "x: watch.confidence_gate: is '1', but must be a valid number; correct",
    ),
    (
        "due_after_ms = 5000",
        "due_after_ms = 5",
        "x: watch.due_after_ms: is 5, but must be greater than or equal to 100; correct",
    ),
    (
        "due_after_ms = 5000",
        "due_after_s = 5",
        "x: watch.due_after_s: unknown key; did you mean 'due_after_ms'?",
    ),
    (
        "unread_after_ms = 10000",
        "unread_after_ms = 4999",
        "x: watch: unread_after_ms is 4999, less than due_after_ms, 5000; an unread",
    ),
    (
        '"PUNTO_2", "BANCO_2"]',
        '"PUNTO_2"]',
        "x: deal.order: is ['PUNTO_1', 'BANCO_1', 'PUNTO_2']; name each of PUNTO_1,",
    ),
    (
        "order = [",
        "order = [1, ",
        "x: deal.order: is [1, 'PUNTO_1', 'BANCO_1', 'PUNTO_2', 'BANCO_2']; name ea",
    ),
    (
        'mode = "face-up"',
        'mode = ["face-up"]',
        "x: deal.mode: is ['face-up'], but must be 'face-up', 'face-down' or 'punto",
    ),
    (
        'mode = "face-up"',
        'mode = "face-up"\nspeed = 1',
        "x: deal.speed: unknown key; known here: mode, order",
    ),
    (
        "draws = [0, 1, 2, 3, 4, 5]",
        "draws = [0, 1, 2, 3, 4]",
        "x: tableau.punto: this row has 5 in neither: put each card from 0 to 9 in",
    ),
    (
        "stands = [6, 7]",
        "stands = [6, 7, 8]\nx = 1",
        "x: tableau.punto.x: unknown key; known here: draws, stands",
    ),
    (
        "[tableau.banco.0]",
        "[tableau.banco.8]",
        "x: tableau.banco.8.[key]: is '8', but must be '0', '1', '2', '3', '4', '5'",
    ),
    (
        "[tableau.banco.0]",
        "[tableau.banco.8]\n[tableau.banco.0]",
        "x: tableau.banco.8.[key]: is '8', but must be '0', '1', '2', '3', '4', '5'",
    ),
    (
        "draws = [0, 1, 2, 3, 4, 5, 6, 7, 9]",
        "draws = [0, 1, 2, 3, 4, 5, 6, 7, 9, 10]",
        "x: tableau.banco.3: this row names 10: cards count 0 to 9; take them out",
    ),
    (
        "draws = [0, 1, 2, 3, 4, 5, 6, 7, 9]",
        'draws = "0-7"',
        "x: tableau.banco.3.draws: is '0-7', but must be a valid tuple; correct",
    ),
    (
        "draws = [0, 1, 2, 3, 4, 5, 6, 7, 9]",
        "draws = [true]",
        "x: tableau.banco.3.draws.0: is True, but must be a valid integer; correct",
    ),
    (
        'punto_stood = "draws"',
        "",
        "x: tableau.banco.0.punto_stood: missing; add the key (see vision/game/prof",
    ),
    (
        'punto_stood = "draws"',
        'punto_stood = "draws"\nx = 1',
        "x: tableau.banco.0.x: unknown key; known here: draws, punto_stood, stands",
    ),
    (
        "[tableau.punto]",
        "[tableau.bango]\n[tableau.punto]",
        "x: tableau.bango: unknown key; did you mean 'banco'?",
    ),
    (
        "both_hands = false",
        'both_hands = "no"',
        "x: main.both_hands: is 'no', but must be a valid boolean; correct the value",
    ),
    (
        "both_hands = false",
        "both_hands = false\npercent = [2, 10]",
        'x: main: percent goes with on_egalite = "percentage": write both or neithe',
    ),
    (
        'on_egalite = "stand-off"',
        'on_egalite = "percentage"',
        'x: main: percent goes with on_egalite = "percentage": write both or neithe',
    ),
    (
        'bet = "banco"',
        'bet = "bank"',
        "x: wager.0.bet: is 'bank'; write one of egalites, banco, punto, egalite, e",
    ),
    (
        'bet = "punto"',
        'bet = "banco"',
        "x: (top level): [[wager]] banco is offered twice; keep one of the two",
    ),
    (
        'odds = "19-20"',
        'odds = "19:20"',
        "x: wager.0.odds: '19:20' is not odds: write two whole numbers, as in 19-20",
    ),
    (
        'odds = "19-20"',
        'odds = "19-20"\nminimun = 1',
        "x: wager.0.minimun: unknown key; did you mean 'minimum'?",
    ),
    (
        'odds = "19-20"',
        'odds = "19-20"\nminimum = 0',
        'x: wager.0.minimum: is 0; write an amount above 0, decimals in quotes: "0.',
    ),
    (
        'odds = "19-20"',
        'odds = "19-20"\nminimum = 0.5',
        'x: wager.0.minimum: is 0.5; write an amount above 0, decimals in quotes: "',
    ),
    (
        'odds = "19-20"',
        'odds = "19-20"\nminimum = true',
        "x: wager.0.minimum: is True; write an amount above 0, decimals in quotes:",
    ),
    (
        'odds = "19-20"',
        'odds = "19-20"\nminimum = "a"',
        "x: wager.0.minimum: is 'a'; write an amount above 0, decimals in quotes: \"",
    ),
    (
        'odds = "19-20"',
        'odds = "19-20"\nminimum = "1/0"',
        "x: wager.0.minimum: is '1/0'; write an amount above 0, decimals in quotes:",
    ),
    (
        'odds = "19-20"',
        'odds = "19-20"\nminimum = 5\nmaximum = "4.99"',
        "x: wager.0: maximum is 499/100, under the minimum of 5; raise it",
    ),
    (
        'odds = ["150-1", ',
        "odds = [",
        "x: wager.3: odds has 9 entries; write ten, for the totals 0 to 9 in order",
    ),
    (
        'odds = ["150-1", ',
        'odds = ["150", ',
        "x: wager.3.odds: '150' is not odds: write two whole numbers, as in 19-20 o",
    ),
    (
        'needs = ["banco", ',
        'needs = ["bank", ',
        "x: wager.3.needs.0: is 'bank', but must be 'banco', 'punto', 'egalite', 'e",
    ),
    (
        'needs = ["banco", ',
        'needs = ["banco_pair", ',
        "x: (top level): [[wager]] needs: Individual Egalite 0 needs banco_pair, wh",
    ),
    (
        'odds = "19-20"',
        'odds = "1-1"\ncommission_percent = 100',
        "x: wager.0: commission_percent takes the whole win; write less than 100",
    ),
    (
        'odds = "19-20"',
        'odds = "1-1"\ncommission_percent = 5',
        "x: wager.0: commission_percent and commission_rounding go together: write",
    ),
    (
        'odds = "19-20"',
        'odds = "1-1"\ncommission_percent = 5\ncommission_rounding = "up"',
        "x: wager.0: commission_unit goes with a commission_rounding other than exa",
    ),
]


@pytest.mark.parametrize(("old", "new", "words"), REFUSED, ids=[r[2][:60] for r in REFUSED])
def test_parse_profile_refuses_with_place_and_cure(old: str, new: str, words: str) -> None:
    """A wrong value, a missing key or an unknown one is refused: file, key and cure are named."""
    with pytest.raises(ProfileError) as caught:
        parse_profile(changed(old, new), "x")
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize("percent", ["[2]", "[10, 2]", "[0, 10]", "[2, 101]"])
def test_parse_profile_refuses_double_chance_range(percent: str) -> None:
    """The range is lowest and highest, above 0, at most 100."""
    text = changed("percent = [2, 10]", f"percent = {percent}", "double-chance")
    with pytest.raises(ProfileError, match=r"x: main: percent is .*; write lowest and highest"):
        parse_profile(text, "x")


def test_parse_profile_refuses_wrong_kind_of_table() -> None:
    """A table that is missing, and a value where tables are due, are named."""
    text = text_of()
    with pytest.raises(ProfileError, match=r"x: shoe: missing section; add \[shoe\] with decks, "):
        parse_profile(text.replace("[shoe]", "[shoo]"), "x")
    without = text[: text.index("[[wager]]")]
    with pytest.raises(ProfileError, match=r"x: wager: missing"):
        parse_profile(without, "x")
    with pytest.raises(ProfileError, match=r"x: wager: is 3, but must be"):
        parse_profile("wager = 3\n" + without, "x")


def test_unknown_key_within_a_list_names_the_known_ones() -> None:
    """The cure of a misspelt key is found in the arrays and rows of the file too."""
    with pytest.raises(
        ProfileError, match=r"wager\.0\.minimun: unknown key; did you mean 'minimum'"
    ):
        parse_profile(changed('odds = "19-20"', 'odds = "19-20"\nminimun = 1'), "x")


def test_parse_profile_refuses_what_is_not_toml() -> None:
    """Broken TOML is told with its line."""
    with pytest.raises(ProfileError, match=r"x: is not TOML: Invalid value .*line 2"):
        parse_profile("sheet = 1\ntitle = ?\n", "x")


@pytest.mark.parametrize(
    ("old", "new", "burn"),
    [
        ("burn_ace = 1", "burn_ace = 11", BurnRule(BurnKind.VALUE, ace=11)),
        ('burn = "value"\nburn_ace = 1', 'burn = "none"', BurnRule(BurnKind.NONE)),
    ],
)
def test_parse_profile_burn_rules(old: str, new: str, burn: BurnRule) -> None:
    """Every burn rule can be written."""
    assert parse_profile(changed(old, new), "x").rules.burn == burn


def test_parse_profile_deal_order_of_two_and_two() -> None:
    """A house that deals P P B B can say so."""
    text = changed('"BANCO_1", "PUNTO_2"', '"PUNTO_2", "BANCO_1"')
    assert parse_profile(text, "x").rules.deal_order == (
        Slot.PUNTO_1,
        Slot.PUNTO_2,
        Slot.BANCO_1,
        Slot.BANCO_2,
    )


def test_parse_profile_of_another_tableau() -> None:
    """A house may play another tableau, as long as it is complete."""
    text = changed("stands = [8]", "stands = []").replace(
        PUNTO_3, "draws = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]", 1
    )
    profile = parse_profile(text, "x")
    assert profile.rules.tableau.banco_draws(3, 8)
    assert not STANDARD.banco_draws(3, 8)


def test_load_profile_from_a_file(tmp_path: Path) -> None:
    """A house's own file is read by its path and named by its stem."""
    path = tmp_path / "mine.toml"
    path.write_text(text_of("house"), encoding="utf-8")
    profile = load_profile(str(path))
    assert isinstance(profile, Profile)
    assert profile.name == "mine"
    assert rules_hash(profile) == rules_hash(load_profile("house"))


def test_load_profile_tells_what_is_wrong(tmp_path: Path) -> None:
    """Unknown names, missing and broken files end in a configuration error with a cure."""
    with pytest.raises(ConfigurationError, match="no profile 'bacarat': choose one of commission"):
        load_profile("bacarat")
    with pytest.raises(ConfigurationError, match=r"none\.toml: cannot be read as a profile"):
        load_profile(str(tmp_path / "none.toml"))
    path = tmp_path / "bad.toml"
    path.write_bytes(b"\xff\xff")
    with pytest.raises(ConfigurationError, match=r"bad\.toml: is not text in UTF-8"):
        load_profile(str(path))
    path = tmp_path / "wrong.toml"
    path.write_text("sheet = 1", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"/wrong\.toml: title: missing; add the key"):
        load_profile(str(path))
