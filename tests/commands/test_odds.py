"""`shoe-reader odds`: what is printed, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.game.rule_sheets.published import figures_table, published_figures
from vision.cli import main
from vision.config.profiles import profile_names


def test_odds_of_one_profile(capsys: pytest.CaptureFixture[str]) -> None:
    """Probabilities to ten digits, both edges, and their convention, in one command."""
    assert main(["odds", "commission"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("commission: Baccarat with commission. 8 decks, full shoe.\n")
    assert "Egalite at 6                             96170001308416   0.01924016375\n" in out
    assert "1.0579 %          1.1692 %\n" in out
    assert "Per bet made counts every bet" in out


def test_odds_without_a_profile_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each, with what tells it from the others."""
    assert main(["odds"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(profile_names())
    assert "Baccarat with commission: 8 decks; Banco 1-1 less 5 %, Egalite 8-1" in lines[0]


def test_odds_of_what_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    """The back office may ask for a shoe of other decks, or for what is left of it."""
    assert main(["odds", "commission", "--decks", "6", "--gone", "As, Kd", "--markdown"]) == 0
    out = capsys.readouterr().out
    assert "6 decks, 2 cards gone." in out
    assert "| bet | pays | wins | per bet made | per bet resolved |" in out


def test_table_of_published_figures() -> None:
    """Every published figure beside ours."""
    out = figures_table(published_figures()).markdown()
    assert out.count("| sheet ") == 9
    assert "| 14.12 % | 14.3596 % | 8 to 1, 8 decks | 8 to 1, endless shoe |" in out


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (["nosuch"], "there is no profile 'nosuch': choose one of"),
        (["--markdown"], "odds: no profile is named; shoe-reader odds lists them"),
        (["commission", "--decks", "0"], "--decks: is 0; write a whole number from 1 to 12"),
        (["commission", "--decks", "13"], "--decks: is 13; write"),
        (["commission", "--gone", "1x"], "--gone: '1x' is not a card"),
        (["commission", "--decks", "1", "--gone", "As As"], "--gone: 2 copies of As have gone"),
    ],
)
def test_odds_refuses(words: list[str], reported: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Bad usage ends with exit code 2 and a cure."""
    assert main(["odds", *words]) == 2
    assert reported in capsys.readouterr().err


def test_odds_page_shows_what_the_commands_print(capsys: pytest.CaptureFixture[str]) -> None:
    """The tables of the page are those that the program gives today."""
    page = (Path(__file__).parents[2] / "deploy" / "odds.md").read_text(encoding="utf-8")
    assert figures_table(published_figures()).markdown() in page
    assert main(["odds", "punto-banco", "--markdown"]) == 0
    assert capsys.readouterr().out.split("\n\n")[1] in page
