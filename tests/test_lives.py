"""The lives of an alert and a coup's result: the tables of the code are the page's.

`python -m tests.test_lives` writes `deploy/states.md`.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import cast

import pytest

from vision.game.coup import alerts, results
from vision.game.coup.alerts import ALERT_LIFE, AlertEvent
from vision.game.coup.results import RESULT_LIFE, ResultEvent
from vision.game.outputs import AlertState, ResultState

PAGE = Path(__file__).parents[1] / "deploy" / "states.md"
Life = Mapping[StrEnum | None, Mapping[StrEnum, StrEnum]]
HEAD = """# The lives of an alert and a coup's result

Each table is the one that the program goes by (`vision/game/coup/alerts.py`, `results.py` there): a
row for each state, a column for each event, in the cell the state after it. A dash: that cannot
happen in this state; an order for it is refused, an observation changes nothing. Taking back an
order about a coup puts the alerts that the order ended back as they were. This page is written by
`python -m tests.test_lives`.
"""
NAMES: dict[StrEnum | None, str] = {None: "running"}


def comments(source: str, name: str) -> list[str]:
    """Return the comment above each row of the literal table of that name."""
    lines = source.splitlines()
    for node in ast.parse(source).body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name:
            assert isinstance(node.value, ast.Dict)
            keys = [key.lineno for key in node.value.keys if key is not None]
            return [lines[line - 2].strip().removeprefix("# ") for line in keys]
    raise AssertionError(f"no table {name}")


def table(life: Life, events: type[StrEnum], words: list[str]) -> list[str]:
    """Return a life as a table of Markdown."""
    rows = [
        "| | " + " | ".join(event.value for event in events) + " | what it means |",
        "|---" * (len(events) + 2) + "|",
    ]
    for (state, after), meaning in zip(life.items(), words, strict=True):
        cells = [after[event].value if event in after else "-" for event in events]
        rows.append(f"| **{NAMES.get(state) or state}** | {' | '.join(cells)} | {meaning} |")
    return rows


def page() -> str:
    """Return the page as the code has it."""
    parts = [HEAD]
    for title, life, events, name, module in (
        ("An alert", ALERT_LIFE, AlertEvent, "ALERT_LIFE", alerts),
        ("A coup's result", RESULT_LIFE, ResultEvent, "RESULT_LIFE", results),
    ):
        source = Path(module.__file__ or "").read_text("utf-8")
        parts.append(
            f"## {title}\n\n" + "\n".join(table(cast("Life", life), events, comments(source, name)))
        )
    return "\n\n".join(part.strip() for part in parts) + "\n"


def test_page_has_the_tables_of_the_code() -> None:
    """The documented lives are those that the program goes by."""
    assert PAGE.read_text("utf-8") == page()


@pytest.mark.parametrize(
    ("life", "states"),
    [(ALERT_LIFE, AlertState), (RESULT_LIFE, ResultState)],
    ids=["alert", "coup"],
)
def test_every_state_can_be_reached_and_left(life: Life, states: type[StrEnum]) -> None:
    """Each state has a row, each is some event's outcome, and none is a dead end."""
    assert set(life) - {None} == set(states)
    assert {state for after in life.values() for state in after.values()} == set(states)
    assert all(after for after in life.values())


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    print(f"wrote {PAGE}")
