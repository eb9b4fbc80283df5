"""Keys and signatures: who signed, over what, and what a forger without the key achieves."""

from __future__ import annotations

import json
import logging
import os
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.access.signing import (
    forged,
    is_found,
    sign_log,
    tampered,
    without_anchors_elsewhere,
)
from tests.schemas import check
from tests.table_log import PLAYS, header, session_of, write_export
from vision.audit.verify import Trust
from vision.cli import main
from vision.commands.printing.console import NOT_PROVEN
from vision.errors import ConfigurationError, OutsideError
from vision.game.events import Started
from vision.record.chain import verified
from vision.record.facts import Anchored
from vision.storage.anchors import (
    LogSigner,
    fingerprint,
    is_signed,
    load_key,
    load_public,
    make_keys,
    read_anchors,
)
from vision.storage.log import Store
from vision.storage.log_reader import read_log
from vision.wire.session import advance

CASES = 60
ANCHOR = Anchored(1000, "a" * 64, 7, "b" * 64, "s1", "shoe", "")


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Trust]:
    """Give the folder of a signed log of five coups, and what proves it."""
    folder = tmp_path_factory.mktemp("signed")
    return folder, sign_log(folder, PLAYS["clean"]().events)


def test_keys_made_are_a_pair_that_only_the_owner_reads(tmp_path: Path) -> None:
    """The private half is 0600, the public half is its own, and neither is ever overwritten."""
    path = tmp_path / "key"
    public = make_keys(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert fingerprint(load_key(path).public_key()) == fingerprint(public)
    assert fingerprint(load_public(tmp_path / "key.pub")) == fingerprint(public)
    before = path.read_bytes()
    with pytest.raises(ConfigurationError, match="not overwritten"):
        make_keys(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644])
def test_key_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    """A key that anybody could have copied proves nothing."""
    make_keys(tmp_path / "key")
    (tmp_path / "key").chmod(mode)
    with pytest.raises(ConfigurationError, match="chmod 600"):
        load_key(tmp_path / "key")


@pytest.mark.parametrize("content", [b"", b"key", b"\xff" * 100], ids=["empty", "text", "bytes"])
def test_file_that_is_no_key_is_explained(tmp_path: Path, content: bytes) -> None:
    """Either half says what it should have been."""
    (tmp_path / "key").write_bytes(content)
    (tmp_path / "key").chmod(0o600)
    for load in (load_key, load_public):
        with pytest.raises(ConfigurationError, match=r"no .* Ed25519 key"):
            load(tmp_path / "key")
        with pytest.raises(ConfigurationError, match="cannot read"):
            load(tmp_path / "none")


def test_signature_covers_every_field(tmp_path: Path) -> None:
    """An anchor with another site, table, record, hash, moment or reason is not signed."""
    public = make_keys(tmp_path / "key")
    anchor = LogSigner(tmp_path / "key", tmp_path / "a", "house", "7", 600).sign(ANCHOR)
    assert is_signed(anchor, "house", "7", public)
    assert not is_signed(anchor, "house", "8", public)
    assert not is_signed(anchor, "casa", "7", public)
    for name in ("at", "log", "number", "hash", "shoe", "why", "key", "signature"):
        value: Any = getattr(anchor, name)
        other: Any = value + 1 if isinstance(value, int) else value[1:] + "0"
        assert not is_signed(replace(anchor, **{name: other}), "house", "7", public), name
    assert not is_signed(replace(anchor, signature="none"), "house", "7", public)


def test_anchor_is_due_at_a_shoe_a_day_and_after_a_while(tmp_path: Path) -> None:
    """The log is signed when its shoe changes, each day, and every so often; not else."""
    make_keys(tmp_path / "key")
    signer = LogSigner(tmp_path / "key", tmp_path / "a", "house", "7", 600)
    day = 86_400_000
    assert signer.due(day - 1000, "") == ""
    assert signer.due(day - 999, "s1") == "shoe"
    signer.sign(replace(ANCHOR, at=day - 999))
    assert signer.due(day - 1, "s1") == ""
    assert signer.due(day, "s1") == "day"
    signer.sign(replace(ANCHOR, at=day))
    assert signer.due(day + 599_999, "s1") == ""
    assert signer.due(day + 600_000, "s1") == "time"


def test_anchors_are_reported_and_written_elsewhere(signed: tuple[Path, Trust]) -> None:
    """Each anchor of the log is in the file too, and is published as the contract says."""
    folder, trust = signed
    records = list(read_log(folder / "t.sqlite"))
    assert len(trust.anchors) >= 3
    inside = [json.loads(r.body)["event"] for r in records if '"is":"Anchored"' in r.body]
    assert [event["hash"] for event in inside] == [a.hash for _, _, a in trust.anchors]
    assert [a.why for _, _, a in trust.anchors][-1] == "stop"
    run = advance(session_of(header()), Started(0, "b1")).session
    step = advance(run, trust.anchors[0][2])
    assert [m.topic for m in step.messages] == ["casino/house/table/7/anchor"]
    check(step.messages[0])


def test_torn_line_of_anchors_harms_no_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A line half written in a power cut is told and passed over; the next one stands alone."""
    make_keys(tmp_path / "key")
    file = tmp_path / "a.jsonl"
    signer = LogSigner(tmp_path / "key", file, "house", "7", 600)
    signer.note(signer.sign(ANCHOR))
    file.write_bytes(file.read_bytes() + file.read_bytes()[:40])
    signer.note(signer.sign(replace(ANCHOR, number=9)))
    with caplog.at_level(logging.WARNING):
        assert [anchor.number for _, _, anchor in read_anchors(file)] == [7, 9]
    assert "line 2 is not an anchor" in caplog.text


def test_anchors_that_cannot_be_written_follow_later(tmp_path: Path) -> None:
    """A full or missing disk elsewhere does not stop the table, and loses no anchor."""
    make_keys(tmp_path / "key")
    file = tmp_path / "away" / "a.jsonl"
    signer = LogSigner(tmp_path / "key", file, "house", "7", 600)
    signer.note(signer.sign(ANCHOR))
    file.parent.mkdir()
    signer.note(signer.sign(replace(ANCHOR, number=9)))
    assert [anchor.number for _, _, anchor in read_anchors(file)] == [7, 9]


# --- proof d: any single changed, removed, inserted or reordered record is found -----------------


def test_good_signed_log_is_good(signed: tuple[Path, Trust]) -> None:
    """The log as it was written passes, with the key alone and with the anchors."""
    records = list(read_log(signed[0] / "t.sqlite"))
    assert is_found(records, signed[1]) == ""
    assert is_found(records, without_anchors_elsewhere(signed[1])) == ""


@pytest.mark.parametrize("seed", range(CASES))
def test_any_single_change_of_a_signed_log_is_found(signed: tuple[Path, Trust], seed: int) -> None:
    """One record touched anywhere is found at its number."""
    records, first_bad = tampered(list(read_log(signed[0] / "t.sqlite")), random.Random(seed))
    assert f"record {first_bad}" in is_found(records, without_anchors_elsewhere(signed[1]))


@pytest.mark.parametrize("seed", range(CASES))
def test_chain_made_again_without_the_key_is_found(signed: tuple[Path, Trust], seed: int) -> None:
    """A forger who makes every hash fit again is found, with the public key alone."""
    records, done = forged(list(read_log(signed[0] / "t.sqlite")), random.Random(seed))
    assert len(list(verified(records))) == len(records), "the forger's chain holds"
    for trust in (signed[1], without_anchors_elsewhere(signed[1])):
        assert "record" in is_found(records, trust) or "anchor" in is_found(records, trust), done


def test_log_without_its_last_anchor_is_found(signed: tuple[Path, Trust]) -> None:
    """A run that ended in order ends with an anchor."""
    records = list(read_log(signed[0] / "t.sqlite"))[:-1]
    assert "was not signed" in is_found(records, signed[1])


def test_log_cut_short_is_found_by_the_anchors_elsewhere(signed: tuple[Path, Trust]) -> None:
    """Records cut off the end, anchors and all, are missed by who kept the anchors."""
    records = list(read_log(signed[0] / "t.sqlite"))
    cut = [number for number, record in enumerate(records) if "Anchored" in record.body][-2] + 3
    assert "is missing" in is_found(records[:cut], signed[1])


def test_log_of_another_forger_is_found(signed: tuple[Path, Trust], tmp_path: Path) -> None:
    """A log made from nothing and signed with another key is not taken."""
    sign_log(tmp_path, PLAYS["overdraw"]().events)
    records = list(read_log(tmp_path / "t.sqlite"))
    assert "none of this log" in is_found(records, signed[1])
    assert "no anchor by the given key" in is_found(records, without_anchors_elsewhere(signed[1]))


# --- the commands --------------------------------------------------------------------------------


def test_audit_says_how_far_the_log_is_signed(
    signed: tuple[Path, Trust], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Signed stretch, unsigned tail, and signatures that nobody verified are told apart."""
    folder, _ = signed
    log, key = str(folder / "t.sqlite"), str(folder / "key.pub")
    words = ["audit", log, "--public-key", key, "--anchors", str(folder / "anchors.jsonl")]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "signed up to record" in printed
    assert "NOT YET" not in printed
    assert main(["audit", log]) == NOT_PROVEN
    assert "were NOT verified" in capsys.readouterr().out
    records = list(read_log(folder / "t.sqlite"))
    cut = [number for number, record in enumerate(records) if "Anchored" in record.body][-2] + 3
    write_export(tmp_path / "tail.jsonl", records[:cut])
    assert main(["audit", str(tmp_path / "tail.jsonl"), "--public-key", key]) == 0
    assert f"NOT YET SIGNED: records {cut - 3} to {cut - 1}" in capsys.readouterr().out


def test_audit_of_an_unsigned_log_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody takes a chain without signatures for more than it is."""
    with Store(tmp_path / "t.sqlite", header()):
        pass
    assert main(["audit", str(tmp_path / "t.sqlite")]) == 0
    assert "UNSIGNED" in capsys.readouterr().out


def test_keys_command_makes_a_pair(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The public half is named by what an audit prints; no pair is written over."""
    key = str(tmp_path / "key")
    assert main(["log", "keys", "make", key]) == 0
    assert fingerprint(load_public(Path(f"{key}.pub"))) in capsys.readouterr().out
    assert main(["log", "keys", "make", key]) == 2
    assert main(["log", "keys", "make", str(tmp_path / "none" / "key")]) == 3


@pytest.mark.skipif(os.geteuid() == 0, reason="the rights of files do not bind root")
def test_key_that_cannot_be_read_is_explained(tmp_path: Path) -> None:
    """A key of another user is refused in words."""
    make_keys(tmp_path / "key")
    (tmp_path / "key").chmod(0)
    with pytest.raises(ConfigurationError, match="cannot read"):
        load_key(tmp_path / "key")


def test_missing_anchors_are_explained(tmp_path: Path) -> None:
    """The file that is not there is named."""
    with pytest.raises(OutsideError, match="cannot read the anchors"):
        list(read_anchors(tmp_path / "none"))
