"""`shoe-reader explain`: what is printed, and what is refused."""

from __future__ import annotations

import pytest

from vision.cli import main


def test_explain_prints_steps_and_what_is_paid(capsys: pytest.CaptureFixture[str]) -> None:
    """Steps, end, and the winning bets of the profile."""
    assert main(["explain", "As 2d 2s Ac 8s"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == " 1  As  to Punto 1: Punto has 1"
    assert lines[-2:] == [
        "Complete: Banco wins, 3 to 1.",
        "Pays: Banco 19-20; Three Giving Eight 180-1.",
    ]


def test_explain_takes_cards_as_words(capsys: pytest.CaptureFixture[str]) -> None:
    """Quotes may be left out, and another profile chosen."""
    assert main(["explain", "9s", "7d", "4h", "Kc", "2d", "--profile", "commission"]) == 0
    assert capsys.readouterr().out.endswith("Pays: Banco 1-1 less 5 %.\n")


def test_explain_two_hands(capsys: pytest.CaptureFixture[str]) -> None:
    """Two hands as they lie; an illegal card is told, and nothing is paid."""
    assert main(["explain", "6s 4h / 7d Kc 3d"]) == 0
    out = capsys.readouterr().out
    assert out.endswith("WRONG: the card is due to Punto 3; this one lies at Banco 3.\n")


def test_explain_table(capsys: pytest.CaptureFixture[str]) -> None:
    """The tableau alone, or before the explanation."""
    assert main(["explain", "--table"]) == 0
    table = capsys.readouterr().out
    assert "3               0-1-2-3-4-5-6-7-9                    8               draws\n" in table
    assert main(["explain", "--table", "9s 7d"]) == 0
    assert capsys.readouterr().out.startswith(table)


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        ([], "no cards given: write them as dealt"),
        ([" "], "no cards given"),
        (["9x"], "CARDS: '9x' is not a card"),
        (["9s / 8s / 7s"], "CARDS: there are 3 hands; a coup has two"),
        (["2c 3c 4c 5c / 6c"], "CARDS: Punto has 4 cards"),
        (["9s " * 9], "CARDS: 9s is there 9 times, but 8 decks hold 8; write them as dealt"),
        (["9s", "--profile", "nosuch"], "there is no profile 'nosuch'"),
    ],
)
def test_explain_refuses(
    words: list[str], reported: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bad usage ends with exit code 2 and a cure."""
    assert main(["explain", *words]) == 2
    assert reported in capsys.readouterr().err
