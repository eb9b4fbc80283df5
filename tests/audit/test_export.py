"""An export of a log proves itself, and shows whether it was touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.test_evidence import Table
from tests.table_log import overdraw
from vision.audit import selection
from vision.audit.export import Sources, audit_archive, write_archive
from vision.audit.selection import Part
from vision.audit.verify import Trust
from vision.cli import main
from vision.errors import ConfigurationError, OutsideError
from vision.game.events import Event
from vision.storage.evidence import folder_of
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
    assert {kept.coup for kept in found.kept} == {2}
    assert "0 are not kept here" in evidence
    with pytest.raises(ConfigurationError, match="not overwritten"):
        write_archive(sources, out)


def test_export_of_a_coup_folds_the_log_once(
    dealt: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log is verified and searched for the coup in the same reading."""
    folded: list[Event] = []
    advance = selection.advance

    def counting(desk: TableSession, event: Event) -> Step:
        folded.append(event)
        return advance(desk, event)

    monkeypatch.setattr(selection, "advance", counting)
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
    with pytest.raises(OutsideError, match="is not what the log says"):
        audit_archive(out, Trust())
    still.unlink()
    assert "1 are not kept here" in audit_archive(out, Trust())[1]
    records = out / "records.jsonl"
    records.write_text(records.read_text("utf-8").replace("9c", "8c", 1), "utf-8")
    assert main(["audit", str(out)]) == 3
    (out / "receipt.json").write_text("{}", "utf-8")
    with pytest.raises(OutsideError, match="no export"):
        audit_archive(out, Trust())


def test_part_that_is_not_there_is_explained(dealt: Table, tmp_path: Path) -> None:
    """Asking for another shoe or coup makes nothing and says so."""
    log = str(dealt.log)
    assert main(["export", log, str(tmp_path / "a"), "--coup", "99"]) == 2
    assert main(["export", log, str(tmp_path / "a"), "--shoe", "none"]) == 2
    assert main(["export", log, str(tmp_path / "a"), "--seq", "1", "2", "--coup", "1"]) == 2
    assert main(["export", str(tmp_path / "none"), str(tmp_path / "a")]) == 3
    assert list(tmp_path.iterdir()) == []
    assert main(["export", log, str(tmp_path / "b"), "--seq", "5", "9"]) == 0
