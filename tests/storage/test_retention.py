"""What a log lets go, what it never lets go, and that the rest is verifiable and goes on."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.chaos.table import journal_of
from tests.seen import out
from tests.storage.test_log import HEADER, entry, message
from tests.table_log import Play, write_export
from vision.cli import main
from vision.clock import DAY_MS
from vision.commands.printing.console import NOT_PROVEN
from vision.errors import OutsideError
from vision.game.commands import CloseAlert, HoldResult
from vision.game.events import Role, ShoeStarted, TimePassed
from vision.record.chain import BrokenChainError, verified
from vision.record.codec import Record
from vision.storage.log import Entry, Store
from vision.storage.log_reader import read_log
from vision.storage.retention import LogLimits

OLD = LogLimits(keep_days=10, messages_days=1, max_mb=1000)
SHOES = 5


def filled(path: Path, sent: int = SHOES) -> Store:
    """Return a log of five shoes, a day and ten records each, the messages of some unsent."""
    store = Store(path, HEADER)
    seq = 0
    for shoe in range(SHOES):
        at = shoe * DAY_MS
        for n in range(10):
            seq += 1
            check = {"line": {"seq": seq}, "table": {"clock": at}} if n == 0 else None
            store.append([Entry(out(at + n, seq), (message(seq),), check)])
            if shoe < sent:
                store.acknowledge([seq])
    return store


def shoes_left(path: Path) -> list[int]:
    """Return the shoes of which the chain still has the events."""
    events = [content["event"] for _, content in verified(read_log(path)) if "event" in content]
    return sorted({event["at"] // DAY_MS for event in events if event["at"] % DAY_MS})


def prune(store: Store, limits: LogLimits, day: float, *marked: int) -> None:
    """Prune until nothing goes any more."""
    while store.prune(limits, round(day * DAY_MS), marked):
        pass


def test_old_shoes_go_and_the_rest_is_verified_and_goes_on(tmp_path: Path) -> None:
    """After pruning the chain holds, a restart works, and new records join on."""
    path = tmp_path / "t.sqlite"
    with filled(path) as store:
        prune(store, OLD, 13.5)
        assert shoes_left(path) == [3, 4]
    with Store(path, HEADER) as store:
        store.append([entry(out(0, 99), message(99))])
        prune(store, OLD, 14.5)
    assert shoes_left(path) == [4]


def test_pruned_log_can_be_exported_and_is_still_verified(tmp_path: Path) -> None:
    """An export shows the gap as it is."""
    with filled(tmp_path / "t.sqlite") as store:
        prune(store, OLD, 13.5, DAY_MS + 5)
    write_export(tmp_path / "t.jsonl", read_log(tmp_path / "t.sqlite"))
    assert shoes_left(tmp_path / "t.jsonl") == [1, 3, 4]


@pytest.mark.parametrize(
    ("marked", "sent", "left"),
    [
        ((DAY_MS + 5,), SHOES, [1, 3, 4]),
        ((DAY_MS * 2,), SHOES, [1, 2, 3, 4]),
        ((), 1, [0, 1, 2, 3, 4]),
        ((), SHOES, [3, 4]),
    ],
    ids=["with an open alert", "with one raised as it ended", "unsent", "neither"],
)
def test_disputed_and_unsent_shoes_stay(
    tmp_path: Path, marked: tuple[int, ...], sent: int, left: list[int]
) -> None:
    """Age alone takes nothing that somebody may still need."""
    path = tmp_path / "t.sqlite"
    with filled(path, sent=sent) as store:
        prune(store, OLD, 13.5, *marked)
    assert shoes_left(path) == left


def test_shoe_with_a_held_coup_stays_until_its_alert_is_closed(tmp_path: Path) -> None:
    """A hold keeps its shoe in the log whatever its age; closing `HELD_OVER` lets it go."""
    play = Play().begin().coup("P1:4h B1:3d P2:4c B2:3c")
    play.then(HoldResult(play.at, "Eva", Role.SURVEILLANCE, 1))
    play.then(ShoeStarted(play.at, "s2"), ShoeStarted(play.at, "s3"))
    later = play.at + 2 * DAY_MS
    with journal_of(tmp_path / "t.sqlite", 1, publish=False, keep_days=1) as journal:
        journal.take([*play.events, TimePassed(later)])
        journal.prune(later)
        assert held_coups(tmp_path / "t.sqlite") == 1
        journal.take([CloseAlert(later, "Eva", Role.SURVEILLANCE, "a1")])
        journal.prune(later)
        assert held_coups(tmp_path / "t.sqlite") == 0
    assert main(["audit", str(tmp_path / "t.sqlite")]) == NOT_PROVEN, "nobody signs this log"


def held_coups(path: Path) -> int:
    """Return how many orders to hold a result the log still has."""
    return sum('"HoldResult"' in record.body for record in read_log(path))


def test_file_grown_too_large_loses_its_oldest_shoes(tmp_path: Path) -> None:
    """Size counts like age, but never the shoe that runs."""
    path = tmp_path / "t.sqlite"
    with filled(path) as store:
        prune(store, LogLimits(keep_days=9999, messages_days=9999, max_mb=0.0), 5)
    assert shoes_left(path) == [4]


def test_messages_are_kept_for_replay_for_their_own_time(tmp_path: Path) -> None:
    """Old messages go before old records; what is unsent or stands on its topic stays."""
    with filled(tmp_path / "t.sqlite", sent=3) as store:
        prune(store, LogLimits(keep_days=9999, messages_days=1, max_mb=1000), 4.5)
        assert store.count_messages(1, 30) < 30
        assert store.count_messages(31, 50) == 20
        assert len(store.pending(0, 99)) == 20


@pytest.mark.parametrize(
    "forge",
    [
        lambda records: [records[0], Record(5, "", records[5].hash), *records[6:]],
        lambda records: [*records[:3], Record(3, "", records[3].hash), *records[4:]],
        lambda records: [Record(0, "", records[0].hash), *records[1:]],
    ],
    ids=["beginning", "middle", "header"],
)
def test_gap_that_no_record_vouches_for_is_found(
    tmp_path: Path, forge: Callable[[list[Record]], list[Record]]
) -> None:
    """Nobody prunes behind the chain's back."""
    filled(tmp_path / "t.sqlite").close()
    records = list(read_log(tmp_path / "t.sqlite"))
    with pytest.raises(BrokenChainError):
        list(verified(forge(records)))


def test_damaged_message_is_never_given_out(tmp_path: Path) -> None:
    """A byte turned over in an unsent message stops the store, reading and writing."""
    with filled(tmp_path / "t.sqlite", sent=0) as store:
        with store.database.transaction() as db:
            db.execute("UPDATE message SET payload = '{ }' WHERE seq = 3")
        with pytest.raises(OutsideError, match="message 3 is not what was written"):
            store.pending(0, 9)
        with pytest.raises(OutsideError, match="nothing more is published"):
            store.append([entry(out(0, 99), message(99))])


def test_message_that_stood_while_others_went_is_no_gap_once_it_is_replaced(
    tmp_path: Path,
) -> None:
    """An alert is closed after the messages of its days are gone: the audit finds no fault."""
    play = Play().begin().coup("P1:4h B1:3d P2:4c B2:3c")
    play.then(HoldResult(play.at, "Eva", Role.SURVEILLANCE, 1))
    play.then(ShoeStarted(play.at, "s2"), ShoeStarted(play.at, "s3"))
    later = play.at + 9 * DAY_MS
    path = tmp_path / "t.sqlite"
    with journal_of(path, 1, publish=False, messages_days=1) as journal:
        journal.take([*play.events, TimePassed(later), ShoeStarted(later, "s4")])
        journal.take([CloseAlert(later + 1, "Eva", Role.SURVEILLANCE, "a1")])
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT max(seq) > count(*) FROM message").fetchone() == (1,)
    assert main(["audit", str(path)]) == 0
