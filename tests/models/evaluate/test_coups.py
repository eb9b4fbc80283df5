"""Incidents are counted by code, false alerts apart, and each film is of another style."""

from __future__ import annotations

import argparse
from typing import Any

from models.evaluate.coups import Tally, compare, options_of, summary

HAND = {"cards": ["9s"], "points": 9}
CLEAN = {"punto": ["9s"], "banco": ["8d"], "punto_points": 9, "banco_points": 8, "winner": "punto"}
TRUTH: dict[str, Any] = {
    "coups": [CLEAN | {"coup": 1, "faults": []}, CLEAN | {"coup": 2, "faults": ["SWITCH"]}],
    "faults": [{"coup": 2, "code": "SWITCH"}],
    "cut_ms": None,
    "cards": [],
}


def message(topic: str, **payload: Any) -> dict[str, Any]:
    """Return a message of a table."""
    return {
        "topic": f"casino/a/table/1/{topic}",
        "payload": {"at": "2026-01-01T00:00:00Z", **payload},
    }


RESULT = message(
    "coup/result",
    coup=1,
    winner="punto",
    punto={"cards": ["9s"], "points": 9},
    banco={"cards": ["8d"], "points": 8},
)


def test_incident_under_its_code_is_raised_and_under_another_missed() -> None:
    """A switched card told as a conflict of readings is a miss; told as what it is, raised."""
    raised, missed = Tally(), Tally()
    compare(TRUTH, [RESULT, message("alert", coup=2, code="SWITCH")], raised, "film")
    compare(TRUTH, [RESULT, message("alert", coup=2, code="READ_CONFLICT")], missed, "film")
    assert (raised.right, raised.raised["SWITCH"], raised.missed["SWITCH"]) == (1, 1, 0)
    assert (missed.raised["SWITCH"], missed.missed["SWITCH"]) == (0, 1)
    assert "SWITCH 0 of 1" in summary(missed)


def test_fault_alleged_in_a_clean_coup_is_a_false_alert() -> None:
    """An alert about the reading is none; one that accuses the dealer is."""
    tally = Tally()
    alerts = [message("alert", coup=1, code=code) for code in ("UNREAD", "OVER_B3")]
    compare(TRUTH, [RESULT, *alerts], tally, "film")
    assert tally.false_alerts == 1


def test_films_of_a_split_have_its_styles_in_turn() -> None:
    """Each film has another style and, unless asked for, its camera's own frame rate."""
    given = argparse.Namespace(
        seed=3, split="held-out", plain=False, fps=None, coups=9, fault_every=3, size="640x360",
        pace=1.5,
    )  # fmt: skip
    words = [options_of(number, given) for number in range(3)]
    assert [film[film.index("--style") + 1] for film in words] == ["3", "4", "5"]
    assert all("--fps" not in film for film in words)
    plain = options_of(0, argparse.Namespace(**{**vars(given), "plain": True}))
    assert "--style" not in plain
