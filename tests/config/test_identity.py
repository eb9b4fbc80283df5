"""What a laboratory approved is what runs: one signature, which any part that differs changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.chaos.table import PREFIX, config_of, journal_of
from tests.config.test_table import table_file
from tests.schemas import check
from tests.table_log import events_of
from vision.app.signing import refuse_unapproved, signed_list
from vision.cli import main
from vision.config import identity as module
from vision.config.identity import Identity, identify
from vision.config.table import load
from vision.errors import ConfigurationError
from vision.game.events import Started
from vision.storage.anchors import make_keys

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


def test_what_is_not_on_the_signed_list_does_not_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another program or model is refused, whatever its card says; the table's settings are not."""
    make_keys(tmp_path / "laboratory")
    make_keys(tmp_path / "other")
    table = table_file(tmp_path)
    assert main(["check", str(table), "--sign", str(tmp_path / "laboratory")]) == 0
    listed = tmp_path / "approved.json"
    listed.write_text(capsys.readouterr().out, "utf-8")
    config = load(table)
    hashes = {name.removeprefix("model "): digest for name, digest in json.loads(
        listed.read_text("utf-8"))["parts"].items() if name.startswith("model ")}  # fmt: skip
    assert {"detector", "corners", "classifier", "mouth", "following"} == set(hashes)

    def try_with(models: dict[str, str], key: str = "laboratory.pub", text: str = "") -> None:
        if text:
            listed.write_text(text, "utf-8")
        settings = config.models.model_copy(
            update={"approved": str(listed), "approved_by": key and str(tmp_path / key)}
        )
        moved = config.model_copy(update={"profile": "commission", "models": settings})
        refuse_unapproved(settings, identify(moved, models))

    try_with(hashes)
    try_with({**hashes, "deck": "0" * 64})
    for other in ({**hashes, "mouth": "0" * 64}, {**hashes, "one more": "0" * 64}):
        with pytest.raises(ConfigurationError, match="install what was approved"):
            try_with(other)
    for key in ("other.pub", ""):
        with pytest.raises(ConfigurationError, match=r"\[models\] approved"):
            try_with(hashes, key)
    forged = listed.read_text("utf-8").replace(hashes["mouth"], "0" * 64)
    for text in (forged, "[]", "\x00"):
        with pytest.raises(ConfigurationError, match="is not a list signed by key"):
            try_with({**hashes, "mouth": "0" * 64}, text=text)


def test_reader_and_check_refuse_what_is_not_on_the_list(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before a picture is taken, with the cure."""
    make_keys(tmp_path / "key")
    empty = signed_list(Identity("", ()), tmp_path / "key")
    (tmp_path / "approved.json").write_text(empty, "utf-8")
    lines = f'approved = "{tmp_path}/approved.json"\napproved_by = "{tmp_path}/key.pub"'
    table = table_file(tmp_path, "[models]", f"[models]\n{lines}")
    assert main(["run", str(table), "--no-broker", "--log", str(tmp_path / "t.sqlite")]) == 2
    assert "lists None" in capsys.readouterr().err
    assert not (tmp_path / "t.sqlite").exists()
    main(["check", str(table)])
    assert "FAULT  models: [models] approved" in capsys.readouterr().out
