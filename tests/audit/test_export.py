"""An export of a log proves itself, and shows whether it was touched."""

from __future__ import annotations

import json
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from tests.app.test_evidence import Table
from tests.chaos.shoe import COUPS_A_SHOE, play
from tests.chaos.table import journal_of
from tests.table_log import overdraw
from vision.audit.export import Part, Sources, audit_archive, write_archive
from vision.audit.verify import Trust
from vision.cli import main
from vision.errors import ConfigurationError, OutsideError
from vision.game.events import Event
from vision.record.chain import BrokenChainError
from vision.storage.evidence import folder_of
from vision.storage.log_reader import read_log
from vision.wire import session
from vision.wire.session import Step, TableSession


@pytest.fixture(scope="module")
def dealt(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Give a table at which Banco was given a card that was not due."""
    return Table(tmp_path_factory.mktemp("dealt")).play(overdraw().events)


@pytest.mark.parametrize("name", ["out", "out.zip"])
def test_export_of_a_coup_proves_itself(dealt: Table, tmp_path: Path, name: str) -> None:
    """A coup's records, pictures and receipt can be verified from the folder or the .zip alone."""
    out = tmp_path / name
    sources = Sources(dealt.log, folder_of(dealt.log))
    receipt = write_archive(sources, out, Part(coup=2))
    found, evidence = audit_archive(out, Trust())
    assert (found.first, found.last.number) == (receipt["first"], receipt["last"])
    assert found.first > 1
    assert {stored.coup for stored in found.stored} == {2}
    assert "0 are not kept here" in evidence
    with pytest.raises(ConfigurationError, match="not overwritten"):
        write_archive(sources, out)


@pytest.fixture
def folded(monkeypatch: pytest.MonkeyPatch) -> list[Event]:
    """Return the events that are folded from now on."""
    folded: list[Event] = []
    advance = session.advance

    def counting(desk: TableSession, event: Event) -> Step:
        folded.append(event)
        return advance(desk, event)

    monkeypatch.setattr(session, "advance", counting)
    return folded


def test_export_of_a_coup_folds_the_log_once(
    dealt: Table, tmp_path: Path, folded: list[Event]
) -> None:
    """The log is verified and searched for the coup in the same reading."""
    write_archive(Sources(dealt.log, folder_of(dealt.log)), tmp_path / "out", Part(coup=2))
    assert folded == dealt.events


def test_export_that_was_touched_is_found(dealt: Table, tmp_path: Path) -> None:
    """A changed record, picture or receipt of an export is told."""
    sources = Sources(dealt.log, folder_of(dealt.log))
    out = tmp_path / "out"
    write_archive(sources, out)
    still = next(out.glob("evidence/*/*.jpg"))
    before = still.read_bytes()
    still.write_bytes(before[:-1] + b"x")
    with pytest.raises(OutsideError, match="does not match the receipt"):
        audit_archive(out, Trust())
    still.unlink()
    with pytest.raises(OutsideError, match="was removed"):
        audit_archive(out, Trust())
    still.write_bytes(before)
    records = out / "records.jsonl"
    records.write_text(records.read_text("utf-8").replace("9c", "8c", 1), "utf-8")
    assert main(["audit", str(out)]) == 3
    (out / "receipt.json").write_text("{}", "utf-8")
    with pytest.raises(OutsideError, match="not an export"):
        audit_archive(out, Trust())


def test_part_that_is_not_there_is_explained(dealt: Table, tmp_path: Path) -> None:
    """Asking for another shoe or coup makes nothing and says so."""
    log = str(dealt.log)
    assert main(["log", "export", log, str(tmp_path / "a"), "--coup", "99"]) == 2
    assert main(["log", "export", log, str(tmp_path / "a"), "--shoe", "none"]) == 2
    assert main(["log", "export", str(tmp_path / "none"), str(tmp_path / "a")]) == 3
    assert list(tmp_path.iterdir()) == []


RECEIPT_CHANGES = {
    "site": "casa", "table": "8", "log": "0" * 64, "last": 3, "hash": "0" * 64, "files": {},
}  # fmt: skip


@pytest.mark.parametrize("name", RECEIPT_CHANGES)
def test_receipt_that_says_another_thing_is_found(dealt: Table, tmp_path: Path, name: str) -> None:
    """Whatever the receipt claims is what the export has."""
    out = tmp_path / "out"
    write_archive(Sources(dealt.log, folder_of(dealt.log)), out)
    receipt = json.loads((out / "receipt.json").read_text("utf-8"))
    receipt[name] = RECEIPT_CHANGES[name]
    (out / "receipt.json").write_text(json.dumps(receipt), "utf-8")
    assert main(["audit", str(out)]) == 3


def test_picture_that_was_put_in_is_found(dealt: Table, tmp_path: Path) -> None:
    """No picture lies in an export that the receipt does not list."""
    out = tmp_path / "out"
    write_archive(Sources(dealt.log, folder_of(dealt.log)), out)
    day = next((out / "evidence").iterdir())
    (day / "s1-1-c999.0123456789ab.jpg").write_bytes(b"planted")
    with pytest.raises(OutsideError, match=r"c999.* was inserted"):
        audit_archive(out, Trust())


def test_file_that_stands_twice_in_a_zip_is_found(dealt: Table, tmp_path: Path) -> None:
    """Two programs never read two different records out of one export."""
    out = tmp_path / "out.zip"
    write_archive(Sources(dealt.log, folder_of(dealt.log)), out)
    with zipfile.ZipFile(out, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("records.jsonl", b"{}")
    with pytest.raises(OutsideError, match="stands twice"):
        audit_archive(out, Trust())


def test_small_zip_does_not_fill_the_memory(dealt: Table, tmp_path: Path) -> None:
    """A line that unpacks to hundreds of megabytes is refused before it is read whole."""
    out = tmp_path / "out.zip"
    write_archive(Sources(dealt.log, folder_of(dealt.log)), tmp_path / "out")
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted((tmp_path / "out").rglob("*")):
            if path.is_file() and path.name != "records.jsonl":
                archive.write(path, path.relative_to(tmp_path / "out").as_posix())
        with archive.open("records.jsonl", "w", force_zip64=True) as file:
            for _ in range(100):
                file.write(b" " * 1_000_000)
    tracemalloc.start()
    with pytest.raises(BrokenChainError, match="is longer than"):
        audit_archive(out, Trust())
    assert tracemalloc.get_traced_memory()[1] < 80_000_000
    tracemalloc.stop()


def test_export_of_a_coup_reads_its_shoe_only(tmp_path: Path, folded: list[Event]) -> None:
    """A coup of one shoe of six costs a part of the log, found from its checkpoint."""
    log = tmp_path / "t.sqlite"
    with journal_of(log, 1, publish=False) as journal:
        journal.take(list(play(6 * COUPS_A_SHOE)))
    folded.clear()
    receipt = write_archive(Sources(log, folder_of(log)), tmp_path / "out", Part("s3", 7))
    total = sum('"event":' in record.body for record in read_log(log))
    assert len(folded) < total / 4
    found, _ = audit_archive(tmp_path / "out", Trust())
    assert found.first == receipt["first"]
    assert 2 * total / 6 < found.first < 3 * total / 6
