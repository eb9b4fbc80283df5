"""Answers as text, and what several people's answers come to."""

from __future__ import annotations

import pytest

from vision.acceptance.answers import (
    CUT_CARD,
    CUT_FIRST,
    INCIDENTS,
    Keyed,
    Settled,
    answer_text,
    latest,
    read_answer,
    settle,
)
from vision.errors import ConfigurationError
from vision.game.coup.fault_table import KINDS
from vision.game.events import Winner

GOOD = (
    "Kc 2s / 5h 4h",
    "Kc ? / 5h 4h Td ! OVER_B3",
    "/",
    "2c 3c / 4c 5c ; Kc 2s / 5h 4h ! CUT_CARD SWITCH",
    "As Ah Ad Ac / 2c ?",
)


def keyed(by: str, text: str, revision: int = 1) -> Keyed:
    """Give an answer of somebody."""
    return Keyed("s1/1", by, "inspector", revision, read_answer(text))


@pytest.mark.parametrize("text", GOOD)
def test_answer_read_is_the_text_written(text: str) -> None:
    """What stands in the log is what was typed, in one form."""
    assert answer_text(read_answer(text)) == text


def test_answer_typed_loosely_is_written_in_one_form() -> None:
    """Two people who say the same write the same."""
    assert answer_text(read_answer("kC 2S/ 5h  4h!SWITCH OVER_B3 SWITCH")) == (
        "Kc 2s / 5h 4h ! OVER_B3 SWITCH"
    )


@pytest.mark.parametrize(
    "text",
    [
        "Kc 2s", "Kc 2x / 5h 4h", "Kc / ", "As Ah Ad Ac Ks / 2c 3c", "Kc 2s / 5h 4h ! NONE",
        "/ ! SWITCH", "/ ; Kc 2s / 5h 4h", "a / b / c", "",
        f"Kc 2s / 5h 4h ! {' '.join(INCIDENTS)}",
    ],
)  # fmt: skip
def test_answer_that_is_none_is_refused_in_words(text: str) -> None:
    """Nothing gets into the log that cannot be read again."""
    with pytest.raises(ConfigurationError):
        read_answer(text)


def test_incidents_are_faults_of_the_rules_and_fit_the_keys() -> None:
    """Each can be alleged by the reader, but for the cut card; each has a letter."""
    assert set(INCIDENTS) - set(KINDS) == {CUT_CARD, CUT_FIRST}
    assert len(INCIDENTS) <= 26


@pytest.mark.parametrize(
    ("text", "winner"),
    [
        ("Kc 9s / 5h 3h", Winner.PUNTO),
        ("Kc 2s / 5h 4h", Winner.BANCO),
        ("9c / 4c 5c", Winner.EGALITE),
        ("9c ? / 4c 4d", None),
        ("/", None),
    ],
)
def test_winner_follows_from_the_cards_seen(text: str, winner: Winner | None) -> None:
    """Nobody keys who won; with a card unseen nobody knows."""
    assert read_answer(text)[-1].winner is winner


A, B, C = "Kc 2s / 5h 4h", "Kc 3s / 5h 4h", "Kc 4s / 5h 4h"


@pytest.mark.parametrize(
    ("answers", "settled", "which"),
    [
        ([], Settled.NOBODY, None),
        ([("Ann", A)], Settled.ONE, A),
        ([("Ann", A), ("Cy", A)], Settled.AGREED, A),
        ([("Ann", A), ("Cy", B)], Settled.OPEN, None),
        ([("Ann", A), ("Cy", B), ("Fay", B)], Settled.THIRD, B),
        ([("Ann", A), ("Cy", B), ("Fay", C)], Settled.UNDECIDED, None),
    ],
)  # fmt: skip
def test_answers_of_people_settle(
    answers: list[tuple[str, str]], settled: Settled, which: str | None
) -> None:
    """One person counts alone, two where they agree, else a third decides."""
    assert settle([keyed(*each) for each in answers]) == (settled, which and read_answer(which))


def test_later_revision_replaces_whatever_the_order_in_the_log() -> None:
    """An answer that was sent late does not undo the one that changed it."""
    found = latest([keyed("Ann", B, 2), keyed("Cy", A), keyed("Ann", A, 1)])
    assert [(each.by, answer_text(each.answer)) for each in found] == [("Ann", B), ("Cy", A)]


def test_fourth_answer_decides_nothing() -> None:
    """The first three people count, whoever comes later."""
    error, truth = read_answer("2c 3c / 4c 5c"), read_answer("2c 3d / 4c 5c")
    given = [
        Keyed("s1/1", by, "inspector", 1, answer)
        for by, answer in (("Ann", error), ("Cy", truth), ("Fay", truth), ("Gil", error))
    ]
    assert settle(given) == (Settled.THIRD, truth)
