"""The messages file: complete at once, and clear about a disk that refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.storage.test_log import message
from vision.errors import ConfigurationError
from vision.storage.messages_file import MessagesFile


def test_messages_are_in_the_file_as_soon_as_they_are_written(tmp_path: Path) -> None:
    """A reader of the file need not wait for the end of the run."""
    path = tmp_path / "said.jsonl"
    with MessagesFile(path) as file:
        file.write([message(1), message(2, "roads", '{"a":1}', retain=True)])
        assert path.read_text("utf-8").splitlines() == [
            '{"topic":"casino/house/table/7/card","payload":{},"qos":1,"retain":false}',
            '{"topic":"casino/house/table/7/roads","payload":{"a":1},"qos":1,"retain":true}',
        ]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device here is always full")
def test_full_disk_is_explained(caplog: pytest.LogCaptureFixture) -> None:
    """A disk without room is told with the file, once, and ends nothing."""
    with MessagesFile(Path("/dev/full")) as file:
        for number in range(3):
            file.write([message(number)])
    assert "/dev/full: No space left" in file.failure
    assert caplog.text.count("No space left") == 1


def test_file_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    """A name given twice costs nobody what was written first."""
    path = tmp_path / "said.jsonl"
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="not overwritten"):
        MessagesFile(path)
    assert path.read_text("utf-8") == "mine"
