"""Two journals at one table, with the house's store in memory: what each takeover comes to."""

from __future__ import annotations

import concurrent.futures
import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import cast

import pytest

from tests.chaos.shoe import play
from tests.chaos.table import config_of
from tests.mqtt.mqtt_tools import wait_for
from vision.app.journal import Journal
from vision.app.run_log import Destinations
from vision.config.table import StandbySection
from vision.errors import ConfigurationError, OutsideError
from vision.floor.pair.house_store import HouseStore, OvertakenError
from vision.floor.pair.journal import OwnSight, PairJournal
from vision.floor.pair.shared_log import FencedError
from vision.game.events import Event
from vision.record.codec import Record
from vision.storage.anchors import RingKey, added, load_ring, make_keys, save_ring, term_check
from vision.storage.log_reader import read_log

LEASE_S = 0.5
EVENTS = list(play(4))
MID_COUP = 8  # events: two cards lie, the third is out


class MemoryStore:
    """The house's store, in this process."""

    def __init__(self) -> None:
        self.records: list[bytes] = []
        self._lease, self._revision = b"", 0

    def append(self, data: bytes, after: int) -> concurrent.futures.Future[int]:
        """Write behind that sequence."""
        done: concurrent.futures.Future[int] = concurrent.futures.Future()
        if after != len(self.records):
            done.set_exception(OvertakenError())
        else:
            self.records.append(data)
            done.set_result(len(self.records))
        return done

    def read(self, after: int) -> tuple[int, bytes] | None:
        """Return the first message behind that sequence."""
        return (after + 1, self.records[after]) if after < len(self.records) else None

    def bounds(self) -> tuple[int, int]:
        """Return the first and the last sequence."""
        return 1, len(self.records)

    def lease(self) -> tuple[bytes, int]:
        """Return the lease."""
        return self._lease, self._revision

    def put_lease(self, data: bytes, revision: int) -> int:
        """Replace the lease."""
        if revision != self._revision:
            raise OvertakenError
        self._lease, self._revision = data, revision + 1
        return self._revision


class Reader:
    """A journal of the pair with the sight that belongs to it."""

    def __init__(self, folder: Path, name: str, store: MemoryStore, **log: str) -> None:
        section = StandbySection(node=name, lease_s=LEASE_S)
        config = config_of(1, **log).model_copy(update={"standby": section})
        self.log = folder / f"{name}.sqlite"
        self.journal = PairJournal(
            config, Destinations(self.log, publish=False), cast("HouseStore", store)
        )
        self.own = OwnSight()
        self.own.begin(self.journal.table)

    def see(self, events: Iterable[Event]) -> None:
        """See what happens: tell it, or keep it for oneself and follow."""
        for event in events:
            if self.journal.has_taken_over:
                self.journal.take([event])
            else:
                self.own.note([event], self.journal.table)
                self.journal.follow()

    def take_over(self, at: int) -> None:
        """Wait for the lease, and go on."""
        wait_for(lambda: self.journal.lease.granted)
        self.journal.take_over(at, (), "", self.own)

    def die(self) -> None:
        """End without a word; the lease is not given back."""
        self.journal.lease._stopping.set()
        self.journal.lease._thread.join()
        self.journal._pair.close()
        self.journal._closing.close()


@pytest.fixture
def store() -> MemoryStore:
    """Give an empty store."""
    return MemoryStore()


def pair(folder: Path, store: MemoryStore) -> tuple[Reader, Reader]:
    """Return the one that speaks, after the first event, and the one that follows it."""
    first = Reader(folder, "a", store)
    first.take_over(EVENTS[0].at)
    first.see(EVENTS[:1])
    second = Reader(folder, "b", store)
    second.journal.follow()
    wait_for(lambda: second.journal.lease.renewed_s > 0)
    return first, second


def one_history(*readers: Reader) -> list[Record]:
    """Return the longer log, once all that the shorter has stands there too."""
    shorter, longer = sorted((list(read_log(reader.log)) for reader in readers), key=len)
    assert longer[: len(shorter)] == shorter
    return longer


def test_standby_goes_on_in_the_middle_of_a_coup_as_if_nothing_was(
    tmp_path: Path, store: MemoryStore
) -> None:
    """What only the standby saw is told, the coup is not held, the numbers go on."""
    first, second = pair(tmp_path, store)
    first.see(EVENTS[1:MID_COUP])
    second.see(EVENTS[1 : MID_COUP + 3])  # three events that the first did not live to see
    first.die()
    second.take_over(EVENTS[MID_COUP + 3].at)
    second.see(EVENTS[MID_COUP + 3 :])
    results = [coup.result for coup in second.journal.table.coups]
    assert [(r.coup, r.state.value) for r in results if r] == [(n, "final") for n in (1, 2, 3, 4)]
    assert not any(coup.unseen for coup in second.journal.table.coups)
    taken = [record.body for record in one_history(first, second) if "taken_over" in record.body]
    assert ['"subject":"b"' in body for body in taken] == [False, True]
    second.journal.close()


def test_table_that_goes_back_to_one_reader_keeps_its_term(
    tmp_path: Path, store: MemoryStore
) -> None:
    """Who remembers the pair's last term would ignore every message of a lower one."""
    first, second = pair(tmp_path, store)
    first.die()
    second.die()
    with Journal(config_of(1), Destinations(first.log, publish=False)) as journal:
        (step, *_) = journal.start(journal.table.clock, "alone", ())
    published = [json.loads(message.payload) for message in step.messages if message.payload]
    assert {content["term"] for content in published} == {1}


def test_term_of_a_signed_log_is_proven_in_every_message(
    tmp_path: Path, store: MemoryStore
) -> None:
    """Of each reader by its own key, and of one alone that goes on; another key proves nothing."""
    ring = tmp_path / "ring.json"
    for name in "ab":
        public = make_keys(tmp_path / f"key-{name}")
        save_ring(ring, added(load_ring(ring) if ring.exists() else {}, RingKey(public)))
    proves = term_check(str(ring), "chaos", "1")
    readers = {}
    for term, name in enumerate("ab", start=1):
        key = str(tmp_path / f"key-{name}")
        reader = Reader(tmp_path, name, store, signing_key=key, ring=str(ring))
        reader.take_over(EVENTS[0].at)
        reader.see(EVENTS[term - 1 : term])
        reader.die()
        stream = reader.journal.session.stream
        readers[term] = stream.term_proof
        assert stream.term == term
        assert proves(term, stream.term_proof)
    assert proves(0, ""), "said before there was a pair"
    assert not any((proves(1, readers[2]), proves(3, readers[2]), proves(2, "")))
    with pytest.raises(ConfigurationError, match="make up a term"):
        term_check("", "chaos", "1")
    assert not term_check(str(ring), "chaos", "2")(1, readers[1]), "another table's"
    assert not proves(1, readers[1].replace(":", "0:")), "a key that the ring has not"
    config = config_of(1, signing_key=str(tmp_path / "key-b"), ring=str(ring))
    with Journal(config, Destinations(tmp_path / "b.sqlite", publish=False)) as journal:
        steps = journal.start(journal.table.clock, "alone", ())
    published = [json.loads(m.payload) for step in steps for m in step.messages if m.payload]
    assert {(content["term"], content["term_proof"]) for content in published} == {(2, readers[2])}


def test_reader_that_starts_when_both_were_dead_holds_the_running_coup(
    tmp_path: Path, store: MemoryStore
) -> None:
    """Nobody watched meanwhile, so it is as after any restart."""
    first, second = pair(tmp_path, store)
    first.see(EVENTS[1:MID_COUP])
    for reader in (first, second):
        reader.die()
    time.sleep(LEASE_S)
    again = Reader(tmp_path, "b", store)
    again.journal.follow()
    wait_for(lambda: again.journal.follow() or again.journal.table.next_order > 1)
    again.take_over(EVENTS[MID_COUP].at)
    assert again.journal.table.coup is not None
    assert again.journal.table.coup.unseen
    again.journal.close()


def test_reader_that_was_overtaken_writes_and_says_nothing(
    tmp_path: Path, store: MemoryStore
) -> None:
    """Whatever its lease says: its record is refused, and its log stays the other's beginning."""
    first, second = pair(tmp_path, store)
    first.journal.lease._stopping.set()
    second.take_over(EVENTS[1].at)
    first.journal.lease._valid_until_s = time.monotonic() + 1000  # a clock that runs slow
    assert first.journal.may_send()
    with pytest.raises(FencedError, match="another reader \\(b\\) speaks"):
        first.see(EVENTS[1:2])
    assert not first.journal.may_send()
    assert first.journal.stop(EVENTS[1].at) == ()
    first.journal.close()
    second.see(EVENTS[1:5])
    assert one_history(first, second)
    second.journal.close()


def test_log_that_is_another_is_refused_with_the_cure(tmp_path: Path, store: MemoryStore) -> None:
    """A machine with an older or another log would make a second history."""
    first, second = pair(tmp_path, store)
    first.see(EVENTS[1:6])
    for reader in (first, second):
        reader.die()
    (tmp_path / "other").mkdir()
    alone = Reader(tmp_path / "other", "b", MemoryStore())
    alone.take_over(EVENTS[0].at)
    alone.journal.close()
    section = StandbySection(node="b", lease_s=LEASE_S)
    config = config_of(1).model_copy(update={"standby": section})
    with pytest.raises(OutsideError, match="deploy/record"):
        PairJournal(config, Destinations(alone.log, publish=False), cast("HouseStore", store))
