"""Proof c: a disk that is full, read-only, slow or turns bytes over: said, and nothing wrong."""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import random
import resource
import sqlite3
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.chaos.consumer import Consumer
from tests.chaos.kills import some_broker
from tests.chaos.outcome import Done, LimitBrokenError, demand_same, rounds
from tests.chaos.shoe import play
from tests.chaos.table import PREFIX, journal_of, undisturbed
from tests.mqtt.mqtt_tools import wait_for
from vision.app.journal import Journal
from vision.errors import ShoeReaderError
from vision.game.events import Event
from vision.storage.log import MESSAGES
from vision.wire.messages import Message

COUPS = 24

Fault = Callable[[], str]


def live(log: str, port: int, limit: int | None, words: str) -> None:
    """Be the reader, with files of at most `limit` bytes; leave its last words in a file."""
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        with journal_of(Path(log), port) as journal:
            play_on(journal)
    except ShoeReaderError as error:
        Path(words).write_text(str(error)[:limit], "utf-8")
        raise SystemExit(3) from error


def play_on(journal: Journal, coups: int = COUPS) -> None:
    """Go on with the play as a run does, and end it in order."""
    clock = journal.table.clock
    journal.start(clock, f"b{time.time_ns()}", ())
    try:
        for event in play(coups):
            if event.at > clock:
                journal.take([event])
        wait_for(lambda: journal._store.depth() == 0, 60)
    finally:
        journal.stop(journal.table.clock)


def full(limits: tuple[int, ...] = (250_000, 500_000)) -> str:
    """Let files grow no further, more than once; make room; compare the consumer's record."""
    context = multiprocessing.get_context("forkserver")
    with tempfile.TemporaryDirectory() as name, some_broker(Path(name)) as port:
        log, words = Path(name) / "t.sqlite", Path(name) / "words"
        consumer = Consumer(port, PREFIX)
        consumer.await_up()
        wanted = undisturbed(play(COUPS))
        for limit in (*limits, None):
            child = context.Process(target=live, args=(str(log), port, limit, str(words)))
            child.start()
            child.join(120)
            reported = consumer.results()
            assert reported == wanted[: len(reported)], "something wrong was published"
            if limit is not None:
                assert child.exitcode == 3
                wait_for(lambda: _last_status(consumer)["state"] == "offline", 20)
                assert "make room" in words.read_text("utf-8")
        assert child.exitcode == 0
        wait_for(lambda: len(consumer.results()) >= len(wanted) and not consumer.missing(), 30)
        consumer.close()
        demand_same(consumer.results(), wanted, "results")
    return f"full {len(limits)} times, told with its cure, offline at once; then complete"


def _last_status(consumer: Consumer) -> dict[str, str]:
    return [payload for topic, payload in consumer.taken if topic == "status"][-1]


def read_only() -> str:
    """Take the right to write away in the middle of play, and give it back."""
    with tempfile.TemporaryDirectory() as name:
        disk = Path(name) / "disk"
        disk.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(disk)]
        if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
            return "not tried: mounting is not allowed here"
        try:
            return _read_only(disk)
        finally:
            subprocess.run(["umount", "-l", str(disk)], check=True)


def _read_only(disk: Path) -> str:
    events = list(play(COUPS))
    with journal_of(disk / "t.sqlite", 1, publish=False) as journal:
        journal.take(events[:40])
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    reported = _refusal(lambda: journal_of(disk / "t.sqlite", 1, publish=False))
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    with journal_of(disk / "t.sqlite", 1, publish=False) as journal:
        assert journal.table.clock == events[39].at
    return f"said '{reported.rpartition(': ')[2]}'; writable again, it went on where it was"


def _refusal(deed: Callable[[], object]) -> str:
    try:
        deed()
    except ShoeReaderError as error:
        return str(error)
    raise AssertionError("it was not refused")


def slow(hold_s: float = 1.3) -> str:
    """Hold up the disk for a moment: the table goes on and says so, and that it is over."""
    with tempfile.TemporaryDirectory() as name:
        log = Path(name) / "t.sqlite"
        events = list(play(COUPS))
        with journal_of(log, 1, publish=False) as journal:
            journal.take(events[:40])
            held = threading.Event()
            keeper = threading.Thread(target=_hold, args=(log, held, hold_s))
            keeper.start()
            held.wait(10)
            journal.take(events[40:41])
            keeper.join()
            news = journal.reports(events[40].at)
            journal.take(news)
            open_alerts = [reported.alert.code for reported in journal.table.alerts]
            for event in events[41:80]:
                journal.take([event])
            over = journal.reports(events[79].at)
            assert open_alerts == ["LOG"]
            assert [one.over for one in over] == [True]  # type: ignore[attr-defined]
    return f"said '{news[0].detail}', and when it was over"  # type: ignore[attr-defined]


def _hold(log: Path, held: threading.Event, seconds: float) -> None:
    other = sqlite3.connect(log)
    other.execute("BEGIN IMMEDIATE")
    held.set()
    time.sleep(seconds)
    other.rollback()
    other.close()


def flipped(times: int, seconds: float = math.inf, seed: int = 1) -> Done:
    """Turn bytes of a log over, so many times afresh; nothing wrong may ever leave it."""
    draw = random.Random(seed)
    ended: Counter[str] = Counter()
    events = list(play(90))
    wanted = undisturbed(events)
    with tempfile.TemporaryDirectory() as name:
        good, bad = Path(name) / "good.sqlite", Path(name) / "bad.sqlite"
        with journal_of(good, 1) as journal:
            journal.take(events[:1])
            journal.take(events[1:-60])
        reported = dict(_said(good))
        whole = good.read_bytes()
        for _ in rounds(times, seconds):
            damaged = bytearray(whole)
            for place in draw.sample(range(len(whole)), draw.choice([1, 1, 1, 8, 64])):
                damaged[place] ^= 1 << draw.randrange(8)
            for left in Path(name).glob("bad.*"):
                left.unlink()
            bad.write_bytes(damaged)
            ended[_take_up(bad, events, reported, wanted)] += 1
    parts = ", ".join(f"{count} {how}" for how, count in sorted(ended.items()))
    tries = ended.total()
    words = f"{tries} damaged logs of {len(whole) // 1000} kB: {parts}, 0 wrong messages"
    return Done(tries, words)


def _take_up(
    log: Path, events: list[Event], reported: dict[int, Message], wanted: list[dict[str, object]]
) -> str:
    """Start on a damaged log; say how that ended."""
    try:
        journal = journal_of(log, 1)
    except ShoeReaderError:
        return "refused at the start"
    with contextlib.closing(journal):
        try:
            sent = _everything_sent(journal)
            clock = journal.table.clock
            steps = journal.take(event for event in events if event.at > clock)
        except ShoeReaderError:
            return "stopped before saying anything wrong"
    for message in sent:
        if reported[message.seq] != message:
            raise LimitBrokenError(f"message {message.seq} was published wrong", wrong=1)
    new = [m for step in steps for m in step.messages if m.topic.endswith("coup/result")]
    assert len(new) <= len(wanted)
    return "unharmed"


def _everything_sent(journal: Journal) -> list[Message]:
    store = journal._store
    found, after = store.retained(), 0
    while batch := store.pending(after, 500):
        found += batch
        after = batch[-1].seq
    return found


def _said(log: Path) -> Iterator[tuple[int, Message]]:
    with contextlib.closing(sqlite3.connect(log)) as db:
        for topic, payload, qos, retain, seq, _ in db.execute(MESSAGES):
            yield seq, Message(topic, bytes(payload), qos, bool(retain), seq)
