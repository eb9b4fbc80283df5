"""Proof a: the reader is killed at random moments; the consumer's record is as if it never was."""

from __future__ import annotations

import contextlib
import multiprocessing
import random
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

from tests.chaos.consumer import Consumer
from tests.chaos.shoe import COUPS_A_SHOE, play
from tests.chaos.table import PREFIX, journal_of, undisturbed
from tests.mqtt.mqtt_tools import MOSQUITTO, Mosquitto, wait_for
from vision.mqtt.embedded_broker import EmbeddedBroker
from vision.storage.log_reader import read_log

PACE_S = 0.002
AT_WORK_S = (0.0, 0.15)
STARTING_S = (0.0, 0.2)


@contextlib.contextmanager
def some_broker(folder: Path) -> Iterator[int]:
    """Give the port of a real broker: mosquitto where there is one, else the embedded one."""
    if MOSQUITTO:
        with Mosquitto(folder, "listener PORT 127.0.0.1", "allow_anonymous true",
                       "max_queued_messages 0") as broker:  # fmt: skip
            yield broker.port
    else:
        with EmbeddedBroker(0, 0) as embedded:
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
    wait_for(lambda: journal.unsent == 0, 60)
    journal.close()


def run(times: int, seed: int = 1) -> str:
    """Kill the reader so many times; return the figures, AssertionError when a promise broke."""
    coups = max(12, times // 2)
    draw = random.Random(seed)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.chaos.kills"])
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name, some_broker(Path(name)) as port:
        log = Path(name) / "t.sqlite"
        consumer = Consumer(port, PREFIX)
        consumer.await_up()
        killed = torn = 0
        while killed < times:
            here, there = context.Pipe()
            child = context.Process(target=live, args=(str(log), port, coups, PACE_S, there))
            child.start()
            if draw.random() < 0.8:
                here.poll(60)
                child.join(draw.uniform(*AT_WORK_S))
            else:
                child.join(draw.uniform(*STARTING_S))
            assert child.exitcode is None, "the reader ended by itself"
            child.kill()
            child.join()
            killed += 1
            torn += draw.random() < 0.3 and tear(log, draw)
        last = context.Process(target=live, args=(str(log), port, coups, 0.0, there))
        last.start()
        last.join(300)
        assert last.exitcode == 0, "the reader did not start again"
        wanted = undisturbed(play(coups))
        wait_for(lambda: len(consumer.results()) >= len(wanted) and not consumer.missing(), 30)
        consumer.close()
        assert consumer.results() == wanted
        assert consumer.of("card") == undisturbed(play(coups), "card")
        starts = sum('"is":"Started"' in record.body for record in read_log(log))
    shoes = -(-coups // COUPS_A_SHOE)
    return (
        f"killed {killed} times, {starts - 1} of them at work, {torn} with a torn write-ahead "
        f"file, over {coups} coups in {shoes} shoes: {len(wanted)} results, each once, in order, "
        "as undisturbed; "
        f"{len(consumer.seqs)} messages, none missing, {consumer.repeats} repeats dropped; "
        f"{time.monotonic() - began:.0f} s"
    )


def tear(log: Path, draw: random.Random) -> bool:
    """Leave half a frame at the end of the write-ahead file, as a power cut does."""
    ahead = log.with_name(log.name + "-wal")
    if not ahead.exists():
        return False
    with ahead.open("ab") as file:
        file.write(draw.randbytes(draw.randrange(1, 4096)))
    return True
