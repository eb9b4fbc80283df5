"""What a laboratory approved is what runs: one signature, which any part that differs changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.chaos.table import PREFIX, config_of, journal_of
from tests.schemas import check
from tests.table_log import events_of
from vision.config import identity as module
from vision.config.identity import identify
from vision.game.events import Noticed, Started

MODELS = {"detector": "0" * 64}


def test_signature_is_the_same_for_the_same_installation() -> None:
    """Asked twice it is the same, and it names each part."""
    first, again = identify(config_of(1), MODELS), identify(config_of(1), MODELS)
    assert first == again
    assert [name for name, _ in first.parts] == [
        "calibration", "model detector", "program", "rules", "settings"
    ]  # fmt: skip


@pytest.mark.parametrize("part", ["calibration", "model detector", "rules", "settings"])
def test_any_part_that_differs_gives_another_signature(part: str) -> None:
    """One slot moved, one model byte, one rule, one limit: it is told which."""
    config, models = config_of(1), MODELS
    if part == "calibration":
        view = config.view.model_copy(update={"card_mm": (57.0, 87.0)})
        config = config.model_copy(update={"view": view})
    elif part == "model detector":
        models = {"detector": "1" * 64}
    elif part == "rules":
        config = config.model_copy(update={"profile": "commission"})
    else:
        config = config_of(1, keep_days=99)
    before, after = identify(config_of(1), MODELS), identify(config, models)
    assert before.signature != after.signature
    differing = {name for name, _ in set(before.parts) ^ set(after.parts)}
    assert part in differing
    assert differing <= {part, "settings"}


def test_program_that_was_touched_gives_another_signature(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A changed line of the program's own files is another program."""
    (tmp_path / "a.py").write_text("x = 1\n", "utf-8")
    monkeypatch.setattr(module, "PROGRAM", tmp_path)
    before = identify(config_of(1), MODELS).signature
    (tmp_path / "a.py").write_text("x = 2\n", "utf-8")
    assert identify(config_of(1), MODELS).signature != before


def test_signature_stands_in_the_log_and_in_status(tmp_path: Path) -> None:
    """A run says what it is, to the record and to whoever listens."""
    found = identify(config_of(1), MODELS).signature
    with journal_of(tmp_path / "t.sqlite", 1, publish=False) as journal:
        steps = journal.start(1_700_000_000_000, "b1", (), found)
        messages = [message for step in steps for message in step.messages]
        (status,) = [message for message in messages if message.topic == f"{PREFIX}status"]
        check(status)
        assert json.loads(status.payload)["identity"] == found
        (started,) = [e for e in events_of(journal._store) if isinstance(e, Started)]
        assert started.identity == found


@pytest.mark.parametrize(
    ("last", "then", "named"),
    [
        (("1" * 64, "eyes 1"), ("1" * 64, "eyes 1"), None),
        (("", "eyes 1"), ("1" * 64, "eyes 1"), None),  # of a version that had no identity
        (("1" * 64, "eyes 1"), ("2" * 64, "eyes 2"), "model eyes"),
        (("1" * 64, "eyes 1"), ("2" * 64, "eyes 1"), "settings, calibration"),
    ],
    ids=["same", "first", "model", "settings"],
)
def test_other_installation_than_before_is_reported_to_surveillance(
    tmp_path: Path, last: tuple[str, str], then: tuple[str, str], named: str | None
) -> None:
    """Whoever changes what reads cannot do so unnoticed: the next run raises it once."""
    raised: list[str] = []
    for at, (identity, model) in enumerate((last, then, then)):
        with journal_of(tmp_path / "t.sqlite", 1, publish=False) as journal:
            journal.start(1_700_000_000_000 + at, f"b{at}", (model,), identity)
            codes = [one.alert.code for one in journal.table.alerts]
            events = events_of(journal._store)
            journal.stop(1_700_000_000_500 + at)
        raised = [event.detail for event in events if isinstance(event, Noticed)]
        assert codes == ["INSTALLATION"] * len(raised)
    assert len(raised) == (named is not None)
    assert named is None or named in raised[0]
