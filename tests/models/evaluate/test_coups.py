"""Incidents are counted by code, false alerts apart, and each film is of another style."""

from __future__ import annotations

import argparse
from typing import Any

from datasets.dealing.style import Manner
from models.evaluate.coups import Tally, compare, options_of, shown_in, summary, table

HAND = {"cards": ["9s"], "points": 9}
CLEAN = {"punto": ["9s"], "banco": ["8d"], "punto_points": 9, "banco_points": 8, "winner": "punto"}
TRUTH: dict[str, Any] = {
    "coups": [CLEAN | {"coup": 1, "faults": []}, CLEAN | {"coup": 2, "faults": ["SWITCH"]}],
    "faults": [{"coup": 2, "code": "SWITCH"}],
    "cut_ms": None,
    "cards": [],
    "frames": 600,
    "fps": 15,
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


def counted(messages: list[dict[str, Any]]) -> Tally:
    """Return the counts of a film that published these messages."""
    tally = Tally()
    compare(TRUTH, messages, tally, "film")
    return tally


def test_incident_under_its_code_is_raised_and_under_another_missed() -> None:
    """A switched card told as a conflict of readings is a miss; told as what it is, raised."""
    raised = counted([RESULT, message("alert", coup=2, code="SWITCH")])
    missed = counted([RESULT, message("alert", coup=2, code="READ_CONFLICT")])
    assert (raised.right, raised.raised["SWITCH"], raised.missed["SWITCH"]) == (1, 1, 0)
    assert (missed.raised["SWITCH"], missed.missed["SWITCH"]) == (0, 1)
    assert "SWITCH 0 of 1" in summary(missed)


def test_face_in_the_mouth_belongs_to_the_coup_in_which_it_shows() -> None:
    """It may lie open while the coup before its own is on: an alert then accuses nobody falsely."""
    coups = [{"coup": 1, "start_ms": 0}, {"coup": 2, "start_ms": 9000}]
    assert shown_in({"coup": 2, "at_ms": 8000}, coups) == 1
    assert shown_in({"coup": 2, "at_ms": 9500}, coups) == 2


def test_fault_alleged_in_a_clean_coup_is_a_false_alert() -> None:
    """An alert about the reading is none; one that accuses the dealer is."""
    alerts = [message("alert", coup=1, code=code) for code in ("UNREAD", "OVER_B3")]
    assert counted([RESULT, *alerts]).false_alerts == 1


def test_table_shows_the_weak_manner_apart_from_the_sum() -> None:
    """What is missed in one manner stands in its row, and counts once in the sum of all."""
    good = counted([RESULT, message("alert", coup=2, code="SWITCH")])
    weak = counted([RESULT])
    rows = table({"drinks": weak, "tidied": good}).splitlines()
    assert "| 0 of 1 |" in next(row for row in rows if "drinks" in row)
    assert "| 1 of 1 |" in next(row for row in rows if "tidied" in row)
    together = sum((good, weak), Tally())
    assert (together.coups, together.raised["SWITCH"], together.missed["SWITCH"]) == (2, 1, 1)


def test_films_of_a_split_have_its_styles_in_turn() -> None:
    """Each film has another style and, unless asked for, its camera's own frame rate."""
    given = argparse.Namespace(
        seed=3, split="held-out", plain=False, fps=None, coups=9, fault_every=3, size="640x360",
        pace=1.5, manners=False, cheats=False,
    )  # fmt: skip
    words = [options_of(number, given) for number in range(3)]
    assert [film[film.index("--style") + 1] for film in words] == ["3", "4", "5"]
    assert all("--fps" not in film for film in words)
    plain = options_of(0, argparse.Namespace(**{**vars(given), "plain": True}))
    assert "--style" not in plain
    dealt = [
        options_of(n, argparse.Namespace(**{**vars(given), "manners": True})) for n in range(9)
    ]
    assert [film[film.index("--manner") + 1] for film in dealt] == list(Manner)[:9]
    assert all(("--burn" in film) == any("burn-" in word for word in film) for film in dealt)
