"""The log and the outbox: durable, chained, locked, and clear about what is wrong."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.seen import SURE, Sight, out
from tests.table_log import events_of
from vision.errors import ConfigurationError, OutsideError
from vision.game.cards import Card
from vision.game.events import Event
from vision.record.chain import BrokenChainError, verified
from vision.record.codec import GENESIS, seal
from vision.storage.log import Entry, Store
from vision.storage.log_reader import contents, read_log, read_table, recent_orders
from vision.wire.messages import Message

HEADER = {"site": "house", "table": "7", "rules": "text", "rules_sha256": "aa"}


def message(seq: int, topic: str = "card", text: str = "{}", *, retain: bool = False) -> Message:
    """One message of the table."""
    return Message(f"casino/house/table/7/{topic}", text.encode(), 1, retain, seq)


def entry(event: Event, *messages: Message) -> Entry:
    """One step."""
    return Entry(event, messages)


def filled(path: Path, cards: int = 5) -> Path:
    """Write a log of so many cards out, a message each, and close it."""
    with Store(path, HEADER) as store:
        for n in range(1, cards + 1):
            store.append([entry(out(n, n), message(n))])
    return path


def test_events_after_reopening_are_those_appended(tmp_path: Path) -> None:
    """What was written comes back, in order and without loss."""
    sight = Sight()
    events = [*sight.out(1, 1), *sight.read(2, 1, Card.parse("As"), SURE), out(3, 2, 2)]
    with Store(tmp_path / "t.sqlite", HEADER) as store:
        store.append([entry(event) for event in events[:2]])
        store.append([entry(events[2])])
        store.append([])
    with Store(tmp_path / "t.sqlite", HEADER) as store:
        assert events_of(store) == events
        assert store.header == {"version": "1.1", **HEADER}


def test_outbox_keeps_a_message_until_acknowledged(tmp_path: Path) -> None:
    """A message leaves only when the broker has it, and waits through a restart."""
    with Store(tmp_path / "t.sqlite", HEADER) as store:
        store.append([entry(out(1, 1), message(1), message(2)), entry(out(2, 2), message(3))])
        assert [m.seq for m in store.pending(0, 2)] == [1, 2]
        assert [m.seq for m in store.pending(2, 9)] == [3]
        store.acknowledge([2, 99])
    with Store(tmp_path / "t.sqlite", HEADER) as store:
        assert store.pending(0, 9) == [message(1), message(3)]
        assert store.depth() == 2


def test_outbox_switched_off_stays_empty(tmp_path: Path) -> None:
    """A run without a broker does not pile up messages."""
    with Store(tmp_path / "t.sqlite", HEADER, has_outbox=False) as store:
        store.append([entry(out(1, 1), message(1, "status", "{}", retain=True))])
        assert store.depth() == 0
        assert [m.seq for m in store.retained()] == [1]


def test_retained_is_the_latest_of_each_topic_that_stands(tmp_path: Path) -> None:
    """What stands is told again: not what was replaced, cleared or is unsent."""
    with Store(tmp_path / "t.sqlite", HEADER) as store:
        store.append(
            [
                entry(
                    out(1, 1),
                    message(1, "status", '"old"', retain=True),
                    message(2, "status", '"new"', retain=True),
                    message(3, "alert/a", '"raised"', retain=True),
                    message(4, "alert/a", "", retain=True),
                    message(5, "shoe", '"sent"', retain=True),
                    message(6, "card"),
                )
            ]
        )
        store.acknowledge([1, 2, 3, 4, 5, 6])
        store.append([entry(out(2, 2), message(7, "shoe", '"unsent"', retain=True))])
        assert store.retained() == [message(2, "status", '"new"', retain=True)]
        store.acknowledge([7])
        assert [m.payload for m in store.retained()] == [b'"new"', b'"unsent"']


def test_chain_of_a_written_log_holds(tmp_path: Path) -> None:
    """Every record vouches for the one before; the file can be read while it is written."""
    path = tmp_path / "t.sqlite"
    with Store(path, HEADER) as store:
        store.append([entry(out(1, 1), message(1))])
        assert len(list(verified(read_log(path)))) == 2
    assert len(list(verified(read_log(path)))) == 2


def locks_on(path: Path) -> int:
    """Return how many locks the system holds on a file."""
    return Path("/proc/locks").read_text("utf-8").count(f":{path.stat().st_ino} ")


def test_reading_its_own_log_leaves_the_reader_its_locks(tmp_path: Path) -> None:
    """Another program that closes the log must not take its write-ahead file away."""
    path = filled(tmp_path / "t.sqlite")
    with Store(path, HEADER) as store:
        store.append([entry(out(9, 9))])
        held = locks_on(path)
        assert held
        assert list(verified(read_table(path, 0)))
        assert list(contents(path, 0))
        assert recent_orders(path) == []
        assert locks_on(path) == held


def test_walk_that_nobody_finishes_may_be_closed_in_another_thread(tmp_path: Path) -> None:
    """The collector closes it wherever it runs; the file is let go, and nothing is raised."""
    walk = read_table(filled(tmp_path / "t.sqlite"), 0)
    next(walk)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(walk.close).result()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "body",
    ["5", "[]", "no JSON", '{"order":5}', '{"order":{}}', '{"order":{"fields":{"key":1}}}',
     '{"event":null}', '{"event":{"nonces":[7]}}'],
)  # fmt: skip
def test_what_is_no_order_is_passed_over(tmp_path: Path, body: str) -> None:
    """A record that nobody has verified yet does not end the search for orders."""
    path = filled(tmp_path / "t.sqlite")
    order = '{"order":{"fields":{"key":"k","nonce":"n","time":"2026-01-01T00:00:00Z"}}}'
    with sqlite3.connect(path) as db:
        db.executemany("INSERT INTO log(n, body, hash) VALUES(?, ?, '')", [(90, body), (91, order)])
    assert [fields["nonce"] for fields in recent_orders(path)] == ["n"]


@pytest.mark.parametrize("gaps", [5, None, [1], [[]], [["x", 2, "h"]], [[1, 2]], {}])
def test_a_list_of_gaps_in_no_known_form_is_refused(gaps: object) -> None:
    """A record that says what was pruned is read with care, in a foreign export too."""
    first = seal(0, GENESIS, {"log": {}})
    with pytest.raises(BrokenChainError, match="record 1"):
        list(verified([first, seal(1, first.hash, {"pruned": gaps})]))


@pytest.mark.parametrize(
    "tampering",
    [
        "UPDATE log SET body = replace(body, '\"order\":3', '\"order\":4') WHERE n = 3",
        "DELETE FROM log WHERE n = 3",
        "UPDATE log SET hash = replace(hash, 'a', 'b') WHERE n = 3",
    ],
    ids=["changed", "removed", "hash"],
)
def test_changed_log_is_refused_naming_the_record(tmp_path: Path, tampering: str) -> None:
    """A record changed behind our back is found when the table is restored."""
    path = filled(tmp_path / "t.sqlite")
    with sqlite3.connect(path) as db:
        db.execute(tampering)
    with Store(path, HEADER), pytest.raises(BrokenChainError, match="record 3"):
        list(verified(read_table(path, 0)))


def test_log_of_another_table_is_refused(tmp_path: Path) -> None:
    """Two tables, or two sets of rules, do not share a log; another comment is no other rule."""
    path = filled(tmp_path / "t.sqlite")
    with pytest.raises(ConfigurationError, match="another table"):
        Store(path, {**HEADER, "table": "8"})
    with Store(path, {**HEADER, "rules": "text  # a comment"}) as store:
        assert store.header["rules"] == "text"


def test_second_reader_of_a_log_is_refused(tmp_path: Path) -> None:
    """Two readers cannot write one log; the first goes on undisturbed."""
    path = tmp_path / "t.sqlite"
    with Store(path, HEADER) as store:
        with pytest.raises(OutsideError, match="another reader"):
            Store(path, HEADER)
        store.append([entry(out(1, 1))])
    with Store(path, HEADER) as store:
        assert len(events_of(store)) == 1


def test_log_in_a_missing_folder_is_explained(tmp_path: Path) -> None:
    """The folder that is missing is named."""
    with pytest.raises(OutsideError, match=r"nowhere.*folder"):
        Store(tmp_path / "nowhere" / "t.sqlite", HEADER)


@pytest.mark.parametrize("content", [b"a text, no database " * 100, b"\0" * 5000])
def test_file_that_is_no_database_is_explained(tmp_path: Path, content: bytes) -> None:
    """Another file under that name is not touched."""
    path = tmp_path / "t.sqlite"
    path.write_bytes(content)
    with pytest.raises(OutsideError, match="not an SQLite file"):
        Store(path, HEADER)
    assert path.read_bytes() == content


def test_other_programs_database_is_explained(tmp_path: Path) -> None:
    """Another program's database is not written into."""
    path = tmp_path / "t.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE log (n INTEGER)")
    with pytest.raises(OutsideError, match="not a log of Shoe Reader"):
        Store(path, HEADER)
    with pytest.raises(OutsideError, match="not a log of Shoe Reader"):
        list(read_log(path))


def test_damaged_log_is_explained(tmp_path: Path) -> None:
    """A log with flipped bytes is said to be damaged, with the cure."""
    path = filled(tmp_path / "t.sqlite", 400)
    data = bytearray(path.read_bytes())
    for page in range(1, len(data) // 4096):
        data[page * 4096 : page * 4096 + 200] = os.urandom(200)
    path.write_bytes(data)
    with pytest.raises(OutsideError, match="damaged"), Store(path, HEADER):
        list(verified(read_table(path, 0)))


def test_log_locked_by_another_program_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write that another program blocks is refused with the cure, and works again after."""
    monkeypatch.setattr("vision.storage.sqlite.BUSY_MS", 20)
    path = tmp_path / "t.sqlite"
    with Store(path, HEADER) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(OutsideError, match="another program holds it locked"):
            store.append([entry(out(1, 1), message(1))])
        other.close()
        store.append([entry(out(2, 1), message(1))])
        assert events_of(store) == [out(2, 1)]


def append_for_ever(store: Store) -> None:
    """Write one step after the other, a kilobyte each, until the store refuses."""
    for n in itertools.count(1):
        store.append([entry(out(n, n), message(n, text="x" * 1000))])


FILL_DISK = """
import resource, signal, sys
from pathlib import Path
from tests.storage.test_log import HEADER, entry, message
from vision.storage.log import Store
from vision.errors import OutsideError
from tests.seen import out

store = Store(Path(sys.argv[1]), HEADER)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
n = 0
try:
    while True:
        store.append([entry(out(n, n + 1), message(n + 1, text="x" * 1000))])
        n += 1
except OutsideError as error:
    print(n)
    print(error)
"""


def test_disk_that_takes_no_more_is_explained_and_loses_nothing(tmp_path: Path) -> None:
    """A write that does not fit is refused; what was written before it stands."""
    path = tmp_path / "t.sqlite"
    done = subprocess.run(
        [sys.executable, "-c", FILL_DISK, str(path)], capture_output=True, text=True, check=True
    )
    written, words = done.stdout.splitlines()
    assert "disk" in words
    assert "full" in words
    with Store(path, HEADER) as store:
        assert len(events_of(store)) == int(written) > 5


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="no disk in memory here")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_full_disk_is_explained(tmp_path: Path) -> None:
    """On a disk that is really full the words say so, and room made lets it go on."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        (disk / "ballast").write_bytes(b"x" * 100_000)
        with Store(disk / "t.sqlite", HEADER) as store:
            with pytest.raises(OutsideError, match="the disk is full"):
                append_for_ever(store)
            written = len(events_of(store))
            assert written > 3
            (disk / "ballast").unlink()
            store.append([entry(out(0, 1), message(written + 1))])
            assert len(events_of(store)) == written + 1
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_read_only_log_is_explained(tmp_path: Path) -> None:
    """A log that this user may not write is refused with the cure."""
    path = filled(tmp_path / "t.sqlite")
    path.chmod(0o400)
    with pytest.raises(OutsideError, match="read-only"):
        Store(path, HEADER)


def test_read_log_that_is_missing_is_explained(tmp_path: Path) -> None:
    """Reading creates nothing."""
    with pytest.raises(OutsideError, match=r"none\.sqlite: No such file"):
        list(read_log(tmp_path / "none.sqlite"))
    assert list(tmp_path.iterdir()) == []


KILLED = """
import sys
from pathlib import Path
from tests.storage.test_log import HEADER, entry, message
from vision.storage.log import Store
from tests.seen import out

store = Store(Path(sys.argv[1]), HEADER)
n = 0
while True:
    n += 1
    store.append([entry(out(n, n), message(n))])
    print(n, flush=True)
"""


def test_killed_reader_leaves_no_lock_and_no_half_step(tmp_path: Path) -> None:
    """After kill -9 every step that was reported as written is there, whole, and nothing blocks."""
    path = tmp_path / "t.sqlite"
    command = [sys.executable, "-c", KILLED, str(path)]
    with (tmp_path / "out").open("w") as out, subprocess.Popen(command, stdout=out) as reader:
        while (tmp_path / "out").read_text().count("\n") < 20:
            time.sleep(0.01)
        reader.send_signal(signal.SIGKILL)
    reported = (tmp_path / "out").read_text().count("\n")
    with Store(path, HEADER) as store:
        events = events_of(store)
        assert reported <= len(events) <= reported + 1
        assert [m.seq for m in store.pending(0, 10_000)] == [e.at for e in events]


def test_write_ahead_file_torn_by_a_power_cut_loses_only_the_last_step(tmp_path: Path) -> None:
    """A half-written last step is dropped; the log opens and its chain holds."""
    path, cut = tmp_path / "t.sqlite", tmp_path / "cut.sqlite"
    with Store(path, HEADER) as store:
        for n in range(1, 6):
            store.append([entry(out(n, n), message(n))])
        shutil.copy(path, cut)
        wal = path.with_name("t.sqlite-wal").read_bytes()
    cut.with_name("cut.sqlite-wal").write_bytes(wal[:-1000])
    with Store(cut, HEADER) as store:
        assert [e.at for e in events_of(store)] == [1, 2, 3, 4]
        assert [m.seq for m in store.pending(0, 99)] == [1, 2, 3, 4]


def test_append_takes_milliseconds(tmp_path: Path) -> None:
    """One durable step is far below the 100 ms that a result may take."""
    with Store(tmp_path / "t.sqlite", HEADER) as store:
        spent = []
        for n in range(1, 101):
            began = time.perf_counter()
            store.append([entry(out(n, n), *(message(3 * n + i) for i in range(3)))])
            spent.append(time.perf_counter() - began)
    assert sorted(spent)[50] < 0.05


def test_lock_holds_under_every_name_of_the_log(tmp_path: Path) -> None:
    """A symbolic link is no way round the lock: two writers would fork the chain."""
    (tmp_path / "other.sqlite").symlink_to(tmp_path / "t.sqlite")
    with (
        Store(tmp_path / "t.sqlite", HEADER),
        pytest.raises(OutsideError, match="another reader"),
    ):
        Store(tmp_path / "other.sqlite", HEADER)
