"""Proof a: the reader is killed at random moments; the consumer's record is as if it never was."""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import random
import tempfile
import time
from collections.abc import Iterator
from itertools import takewhile
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from tests.chaos.consumer import Consumer
from tests.chaos.outcome import Done, LimitBrokenError, demand_same, rounds
from tests.chaos.shoe import COUPS_A_SHOE, play
from tests.chaos.table import PREFIX, journal_of, undisturbed
from tests.mqtt.mqtt_tools import MOSQUITTO, Mosquitto, wait_for
from vision.game.events import ShoeStarted
from vision.mqtt.embedded_broker import EmbeddedBroker
from vision.storage.log_reader import read_log

PACE_S = 0.002
AT_WORK_S = (0.0, 0.15)
STARTING_S = (0.0, 0.2)
ENDLESS = 1_000_000  # coups: more than any machine plays between two starts of this part


@contextlib.contextmanager
def some_broker(folder: Path) -> Iterator[int]:
    """Give the port of a real broker: mosquitto where there is one, else the embedded one."""
    if MOSQUITTO:
        with Mosquitto(folder, "listener PORT 127.0.0.1", "allow_anonymous true",
                       "max_queued_messages 0") as broker:  # fmt: skip
            yield broker.port
    else:
        with EmbeddedBroker(0) as embedded:
            yield embedded.port


def live(log: str, port: int, coups: int, pace_s: float, ready: Connection) -> None:
    """Be the reader: take up the log where it ends, and go on with the play to its end."""
    journal = journal_of(Path(log), port)
    clock = journal.table.clock
    journal.start(clock, f"b{time.time_ns()}", ())
    ready.send(True)
    for event in play(coups):
        if event.at > clock:
            journal.take([event])
            time.sleep(pace_s)
    wait_for(lambda: journal._store.depth() == 0, 60)
    journal.close()


def run(times: int, seconds: float = math.inf, seed: int = 1) -> Done:
    """Kill the reader so many times, or until the time is over; LimitBrokenError.

    The play goes on, shoe after shoe, until all kills are done; the shoe of the last is then
    played to its end, so the number of coups depends on the machine and the kills do not.
    """
    draw = random.Random(seed)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name, some_broker(Path(name)) as port:
        log = Path(name) / "t.sqlite"
        consumer = Consumer(port, PREFIX)
        consumer.await_up()
        killed = torn = 0
        for _ in rounds(times, seconds):
            kill_one(log, port, draw)
            killed += 1
            torn += draw.random() < 0.3 and tear(log, draw)
        coups = play_to_an_end(log, port)
        heard = compared(consumer, coups)
        starts = sum('"is":"Started"' in record.body for record in read_log(log))
    words = (
        f"killed {killed} times, {starts - 1} of them at work, {torn} with a torn write-ahead "
        f"file, over {coups} coups in {coups // COUPS_A_SHOE} shoes: {heard} results, each once, "
        f"in order, as undisturbed; {len(consumer.seqs)} messages, none missing, "
        f"{consumer.repeats} repeats dropped; {time.monotonic() - began:.0f} s"
    )
    return Done(killed, words)


def kill_one(log: Path, port: int, draw: random.Random) -> None:
    """Start the reader where the log ends, and kill it at work or while it starts."""
    here, child = started(log, port, ENDLESS, PACE_S)
    if draw.random() < 0.8:
        here.poll(60)
        child.join(draw.uniform(*AT_WORK_S))
    else:
        child.join(draw.uniform(*STARTING_S))
    assert child.exitcode is None, "the reader ended by itself"
    child.kill()
    child.join()


def started(
    log: Path, port: int, coups: int, pace_s: float
) -> tuple[Connection, ForkServerProcess]:
    """Start the reader; return what tells when it is ready, and its process."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.chaos.kills"])
    here, there = context.Pipe()
    child = context.Process(target=live, args=(str(log), port, coups, pace_s, there))
    child.start()
    return here, child


def play_to_an_end(log: Path, port: int) -> int:
    """Let the reader finish the shoe that the log has begun; return the coups of all shoes."""
    with journal_of(log, port, publish=False) as journal:
        clock = journal.table.clock
    shoes = sum(isinstance(event, ShoeStarted) for event in takewhile(
        lambda event: event.at <= clock, play(ENDLESS)))  # fmt: skip
    coups = max(1, shoes) * COUPS_A_SHOE
    here, last = started(log, port, coups, 0.0)
    last.join(300)
    here.close()
    assert last.exitcode == 0, "the reader did not start again"
    return coups


def compared(consumer: Consumer, coups: int) -> int:
    """Hold the consumer's record against an undisturbed run; return its number of results."""
    wanted = undisturbed(play(coups))
    with contextlib.suppress(AssertionError):  # what never came is counted below
        wait_for(lambda: len(consumer.results()) >= len(wanted) and not consumer.missing(), 60)
    consumer.close()
    demand_same(consumer.results(), wanted, "results")
    demand_same(consumer.of("card"), undisturbed(play(coups), "card"), "cards")
    if missing := consumer.missing():
        raise LimitBrokenError(f"messages {missing[:9]} never came", lost=len(missing))
    return len(wanted)


def tear(log: Path, draw: random.Random) -> bool:
    """Leave half a frame at the end of the write-ahead file, as a power cut does."""
    ahead = log.with_name(log.name + "-wal")
    if not ahead.exists():
        return False
    with ahead.open("ab") as file:
        file.write(draw.randbytes(draw.randrange(1, 4096)))
    return True
