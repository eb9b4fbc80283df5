"""Files are written whole or not at all, with the permissions asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from vision.errors import ConfigurationError
from vision.files import WriteError, csv_text, replacing, write_json, write_new, write_whole


def full(_: int) -> None:
    """Fail as a full disk does."""
    raise OSError(28, "No space left on device")


def test_file_is_replaced_with_the_permissions_asked_for(tmp_path: Path) -> None:
    """The old content is gone, no draft is left, and a secret is its owner's alone."""
    path = tmp_path / "a.json"
    path.write_text("old")
    path.chmod(0o644)
    write_json(path, {"b": 1, "a": 2}, mode=0o600)
    assert path.read_text() == '{\n "a": 2,\n "b": 1\n}\n'
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_disk_that_fails_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the path, the system's reason and the cure."""
    path = tmp_path / "a"
    path.write_text("old")
    monkeypatch.setattr("vision.files.os.fsync", full)
    with pytest.raises(WriteError, match="a: No space left on device; give a path") as caught:
        write_whole(path, b"new")
    assert caught.value.reason == "No space left on device"
    assert (path.read_text(), list(tmp_path.iterdir())) == ("old", [path])


def test_block_that_raises_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    """What finds a fault in a draft keeps it from becoming the file."""
    path = tmp_path / "a"
    path.write_text("old")

    def refuse() -> None:
        with replacing(path) as file:
            file.write(b"half")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        refuse()
    assert (path.read_text(), list(tmp_path.iterdir())) == ("old", [path])


def test_new_file_replaces_nothing(tmp_path: Path) -> None:
    """A key that is there is kept; a folder that is not is the disk's fault."""
    path = tmp_path / "key"
    write_new(path, b"first", mode=0o600)
    with pytest.raises(ConfigurationError, match="is there already"):
        write_new(path, b"second", mode=0o600)
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"first", 0o600)
    with pytest.raises(WriteError, match="No such file"):
        write_new(tmp_path / "none" / "key", b"", mode=0o600)


def test_csv_holds_no_formula() -> None:
    """A text of a message that a spreadsheet would carry out is a text there; numbers stay."""
    rows = [("=1+cmd|' /C calc'!A0", -1.5), ("@SUM(A1)", None), ("Punto, 8", 3)]
    lines = csv_text(("code", "n"), rows).splitlines()
    assert lines == ["code,n", "'=1+cmd|' /C calc'!A0,-1.5", "'@SUM(A1),", '"Punto, 8",3']
