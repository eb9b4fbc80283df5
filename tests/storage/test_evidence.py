"""Evidence on the disk is whole, stays what it was, and is bounded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.table_log import NOON, header, session_of
from vision.files import WriteError
from vision.record.facts import EvidenceKept, Medium
from vision.storage.evidence import EvidenceLimits, EvidenceStore, file_name
from vision.wire.commands import again
from vision.wire.messages import Message, evidence_topic
from vision.wire.session import advance

DAY_MS = 86_400_000
KEPT = EvidenceKept(NOON, "s1-2-a1", Medium.STILL, "s1", 2, "", 0, None, "a1")


def standing_for(stored: EvidenceKept) -> Message:
    """Return the message that stands for a picture."""
    return advance(session_of(header()), stored).messages[0]


def test_picture_takes_the_place_of_its_message(tmp_path: Path) -> None:
    """What is sent on evidence/{id} is the picture; other messages pass."""
    evidence_store = EvidenceStore(tmp_path)
    stored = evidence_store.keep(KEPT, b"picture")
    picture = evidence_store.filled(standing_for(stored))
    assert picture.payload == b"picture"
    prefix = picture.topic.removesuffix(evidence_topic(KEPT))
    asked_for = evidence_store.filled(again(standing_for(stored), prefix))
    assert asked_for.payload == b"picture", "said again on request, it is the same"
    published = advance(session_of(header()), stored).messages[1]
    assert evidence_store.filled(published) == published


def test_changed_or_lost_picture_is_never_sent(tmp_path: Path) -> None:
    """A picture that is not what its hash says, or is gone, goes out empty."""
    evidence_store = EvidenceStore(tmp_path)
    stored = evidence_store.keep(KEPT, b"picture")
    (tmp_path / file_name(stored)).write_bytes(b"another")
    assert evidence_store.filled(standing_for(stored)).payload == b""
    (tmp_path / file_name(stored)).unlink()
    assert evidence_store.filled(standing_for(stored)).payload == b""


def test_picture_half_written_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fails in the middle leaves neither a file nor a part of one."""

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("vision.files.os.fsync", full)
    with pytest.raises(WriteError, match="No space"):
        EvidenceStore(tmp_path).keep(KEPT, b"picture")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def filled_store(folder: Path) -> EvidenceStore:
    """Keep ten megabytes of evidence on each of four days, half of it of coup 2."""
    evidence_store = EvidenceStore(folder)
    for day in range(4):
        for piece in range(10):
            kept = replace(KEPT, at=NOON + day * DAY_MS, id=f"s{day}-{1 + piece % 2}-c{piece}")
            evidence_store.keep(kept, bytes([piece]) * 1_000_000)
    return evidence_store


def gone(
    store: EvidenceStore,
    limits: EvidenceLimits,
    now: int,
    *,
    before_day: str = "9999",
    wanted: str = "-",
) -> list[str]:
    """Delete what is to go; return the names."""
    doomed = store.doomed(limits, now, before_day=before_day, wanted=(wanted,))
    store.delete(doomed)
    return [piece.name for piece in doomed]


def left(folder: Path) -> list[int]:
    """Return how many pieces are left of each day."""
    return [len(list(day.iterdir())) for day in sorted(folder.iterdir())]


def test_old_evidence_goes_but_never_what_is_wanted(tmp_path: Path) -> None:
    """Age counts by the day; an open alert's coup and what is unsent stay."""
    evidence_store = filled_store(tmp_path)
    now = NOON + 4 * DAY_MS
    limits = EvidenceLimits(keep_days=2, max_mb=1000, alert_days=2)
    assert gone(evidence_store, limits, now, before_day="2023-11-14") == []
    names = gone(evidence_store, limits, now, wanted="s0-2-")
    assert len(names) == 15
    assert names[0].startswith("2023-11-14/s0-1-c0.")
    assert left(tmp_path) == [5, 10, 10]


def test_too_much_evidence_goes_oldest_first(tmp_path: Path) -> None:
    """The size is kept to, a few files at a time, beginning with the oldest."""
    evidence_store = filled_store(tmp_path)
    assert gone(evidence_store, EvidenceLimits(31, 25, 31), NOON)
    assert left(tmp_path) == [5, 10, 10]
    evidence_store.keep(replace(KEPT, at=NOON + 3 * DAY_MS, id="s3-1-x"), b"x" * 2_000_000)
    assert gone(evidence_store, EvidenceLimits(31, 25, 31), NOON)
    assert left(tmp_path) == [3, 10, 11]


def test_evidence_of_alerts_is_kept_for_its_own_time(tmp_path: Path) -> None:
    """Pictures of cards go first, those of an alert when the alert's own time has come."""
    store = filled_store(tmp_path)
    store.keep(replace(KEPT, at=NOON, id="s0-1-a7"), b"alert")
    now = NOON + 4 * DAY_MS
    assert len(gone(store, EvidenceLimits(2, 1000, 4), now)) == 20
    assert left(tmp_path)[0] == 1
    assert len(gone(store, EvidenceLimits(2, 1000, 3), now)) == 1
