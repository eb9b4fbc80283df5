"""Which key counts when: rotation, expiry and revocation, by the ring that an auditor keeps."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.chaos.shoe import NOON, play
from tests.chaos.table import config_of
from vision.app.journal import Journal
from vision.app.run_log import Destinations
from vision.cli import main
from vision.clock import DAY_MS
from vision.errors import ConfigurationError, OutsideError
from vision.files import refuse_others_file
from vision.storage.anchors import load_ring
from vision.storage.log_reader import read_log
from vision.wire.messages import iso

IDENTITY = "1d" * 32


class Rotated:
    """The log of a table that changed its key after the first day, and the ring of both keys."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log, self.ring = folder, folder / "t.sqlite", folder / "ring.json"
        main(["log", "keys", "make", str(folder / "old")])
        main(["log", "keys", "make", str(folder / "new")])
        self.run("old", 0)
        self.run("new", 1)

    def run(self, key: str, day: int) -> None:
        """Run the reader for a coup or two, with that key."""
        config = config_of(1, signing_key=str(self.folder / key), ring=self.known())
        with Journal(config, Destinations(self.log, publish=False)) as journal:
            at = NOON + day * DAY_MS
            journal.start(at, f"b{day}", (), IDENTITY)
            journal.take(list(play(2, seed=day, start=at)))
            journal.stop(journal.table.clock)

    def known(self) -> str:
        """Return the ring of the table file, with every key that the house has made."""
        ring = self.folder / "table.ring.json"
        ring.unlink(missing_ok=True)
        for public in self.folder.glob("*.pub"):
            assert main(["log", "keys", "add", str(public), "--ring", str(ring)]) == 0
        return str(ring)

    def add(self, key: str, *more: str) -> None:
        """Put a key in the ring."""
        public = str(self.folder / f"{key}.pub")
        assert main(["log", "keys", "add", public, "--ring", str(self.ring), *more]) == 0

    def audit(self, *words: str) -> int:
        """Audit the log."""
        return main(["audit", str(self.log), *words])


@pytest.fixture(name="house")
def _house(tmp_path: Path) -> Rotated:
    """Give such a log."""
    return Rotated(tmp_path)


def test_old_key_signs_nothing_after_the_new_one(
    house: Rotated, capsys: pytest.CaptureFixture[str]
) -> None:
    """Given both keys, a signature of the old one behind the new one's is refused."""
    both = [
        word for key in ("old", "new") for word in ("--public-key", f"{house.folder}/{key}.pub")
    ]
    assert house.audit(*both) == 0
    house.run("old", 2)
    assert house.audit(*both) == 3
    assert "had taken over before" in capsys.readouterr().err


def test_ring_says_when_a_key_counts(house: Rotated, capsys: pytest.CaptureFixture[str]) -> None:
    """Each key within its time: good; the new one not yet good: its stretch is not signed."""
    house.add("old", "--until", iso(NOON + DAY_MS // 2))
    house.add("new", "--from", iso(NOON + DAY_MS // 2))
    assert house.audit("--ring", str(house.ring)) == 0
    house.ring.unlink()
    house.add("old")
    house.add("new", "--from", iso(NOON + 9 * DAY_MS))
    capsys.readouterr()
    assert house.audit("--ring", str(house.ring)) == 3
    assert "do NOT count: by the ring it was not good then" in capsys.readouterr().out


def test_revoked_key_vouches_for_nothing_by_itself(house: Rotated) -> None:
    """What a revoked key signed counts under a later good key, and not at the end of a log."""
    house.add("old")
    house.add("new")
    ring = ["--ring", str(house.ring)]
    words = ["--why", "laptop stolen", *ring]
    with pytest.raises(SystemExit, match="2"):
        main(["log", "keys", "revoke", str(house.folder / "old.pub"), *ring])  # without a reason
    assert main(["log", "keys", "revoke", str(house.folder / "old.pub"), *words]) == 0
    assert house.audit(*ring) == 0
    assert main(["log", "keys", "revoke", str(house.folder / "new.pub"), *words]) == 0
    assert house.audit(*ring) == 3


def test_rotation_ends_the_old_key_and_begins_the_new(
    house: Rotated, capsys: pytest.CaptureFixture[str]
) -> None:
    """One command makes the key, and the ring says from when to when each counts."""
    house.add("new")
    ring = ["--ring", str(house.ring)]
    assert main(["log", "keys", "rotate", str(house.folder / "third"), *ring]) == 0
    old, new = load_ring(house.ring).values()
    assert old.until == new.since
    assert (house.folder / "third").stat().st_mode & 0o777 == 0o600
    capsys.readouterr()
    assert main(["log", "keys", "list", *ring]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_older_copy_is_noticed_also_after_a_rotation(house: Rotated) -> None:
    """A reader with a new key still believes what the keys of the ring signed."""
    house.add("old")
    house.add("new")
    shutil.copyfile(house.log, house.folder / "copy")
    house.run("new", 2)
    shutil.copyfile(house.folder / "copy", house.log)
    assert main(["log", "keys", "make", str(house.folder / "third")]) == 0
    with pytest.raises(OutsideError, match="is not the one that was signed"):
        house.run("third", 3)


def test_log_says_which_key_signs(house: Rotated, capsys: pytest.CaptureFixture[str]) -> None:
    """Each change of key is a fact in the log, with the public half."""
    bodies = [record.body for record in read_log(house.log)]
    assert sum('"kind":"key"' in body for body in bodies) == 2


def test_key_in_a_folder_that_others_may_write_is_refused(tmp_path: Path) -> None:
    """Who may put another file in its place has the key."""
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "key").write_bytes(b"")
    refuse_others_file(tmp_path / "f" / "key", "key")
    (tmp_path / "f").chmod(0o777)
    with pytest.raises(ConfigurationError, match="chmod go-w"):
        refuse_others_file(tmp_path / "f" / "key", "key")
    (tmp_path / "f").chmod(0o1777)
    refuse_others_file(tmp_path / "f" / "key", "key")


def test_error_of_a_ring_is_a_sentence(tmp_path: Path) -> None:
    """Whatever the file is, the answer says what it should be."""
    for content in (b"", b"[]", b'{"keys": {"a": {}}}', b'{"keys": {"a": {"public": "00"}}}'):
        (tmp_path / "ring").write_bytes(content)
        with pytest.raises(ConfigurationError, match="not a ring of keys"):
            load_ring(tmp_path / "ring")
