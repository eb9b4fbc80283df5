"""A floor on one machine: `python -m tests.archive.floor` (`make floor`).

A broker, eight tables at play (recorded events through the reader's own journal, outbox and link,
no pictures), the archive on a PostgreSQL of its own, and the boards with desk, reports and floor
page. It stays until it is interrupted. With `--prove` each part is killed in turn during play, and
the archive is then held against the logs of all tables: prints what was lost and doubled, and how
long each part was missed.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import multiprocessing
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import FrameType
from typing import Protocol, Self

import tomlkit
from sqlalchemy import Engine, func, select
from sqlalchemy.exc import SQLAlchemyError

from tests.archive.postgres import Postgres
from tests.browser.people import PASSWORD, PEOPLE, house_of_people, with_desk
from tests.browser.voice import EXAMPLE
from tests.chaos.shoe import play
from tests.chaos.table import config_of
from tests.mqtt.mqtt_tools import Mosquitto, wait_for
from vision.app.journal import Destinations, Journal
from vision.archive.database import open_archive
from vision.archive.numbers import NumberSet
from vision.archive.tables import message, source
from vision.archive.verify import verify
from vision.clock import now_ms
from vision.config.table import TableConfig
from vision.errors import OutsideError
from vision.game.events import CardOut, Event, Noticed
from vision.metrics.time_sync import time_sync

SITE = "floor"
TABLES = tuple("12345678")
FAULTY = {"3": 12, "6": 40}  # one coup in so many has a card face up in the shoe
BROKER = (
    "listener PORT 127.0.0.1", "allow_anonymous true", "max_queued_messages 0",
    "persistence true", "autosave_interval 1",
)  # fmt: skip
ENDLESS = 1_000_000
RECOVERED_S = 400.0  # far above what any part takes, for a machine that is busy


class Broker(Protocol):
    """A broker, or a cluster of them, that can be killed and started again."""

    port: int

    def start(self) -> None:
        """Start it and wait until it answers."""

    def stop(self) -> None:
        """Kill it."""


def config_for(folder: Path, port: int, table: str) -> TableConfig:
    """Return the settings of a table of the floor."""
    log = {"path": str(folder / f"{table}.sqlite")}
    config = config_of(port, **log).model_copy(update={"site": SITE, "table": table})
    users, key = folder / "users.json", folder / "desk.key"
    return with_desk(config, users, key) if users.exists() else config


def events(table: str, start: int) -> Iterator[Event]:
    """Yield the endless play of a table, with a fault now and then at some."""
    draw = random.Random(table)
    rate = FAULTY.get(table, 400)
    for event in play(ENDLESS, int(table), start):
        if isinstance(event, CardOut) and draw.random() < 1 / rate / 5:
            yield Noticed(event.at, "EXPOSED_IN_SHOE")
        yield event


def live(config: TableConfig, start: int, pace_s: float) -> None:
    """Be the reader of a table: take up the log where it ends, and go on with the play."""
    over: list[int] = []

    def end(_signal: int, _frame: FrameType | None) -> None:
        over.append(1)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Journal(config, Destinations(Path(config.log.path))) as journal:
        journal.start(journal.table.clock or start, f"b{time.time_ns()}", ())
        beat_s = 0.0
        for event in events(config.table, start):
            if event.at <= journal.table.clock:
                continue
            journal.take([*journal.orders(event.at), event])
            if time.monotonic() - beat_s > 1:
                beat_s, at = time.monotonic(), now_ms()
                figures = {"fps": 15.0, "blind": False, "clock": time_sync().values()}
                journal.publish_health(at, {**figures, **journal.figures(at)})
            if over:
                break
            time.sleep(pace_s)
        wait_for(lambda: journal.unsent == 0, RECOVERED_S)
        figures = {"fps": 15.0, **journal.figures(now_ms())}
        journal.publish_health(now_ms(), figures)


class Floor:
    """The parts of a floor, each of which can be killed and started again."""

    def __init__(self, folder: Path, *, tables: tuple[str, ...] = TABLES, pace_s: float) -> None:
        """Prepare; nothing runs before the floor is entered."""
        self.folder = folder
        self.tables = tables
        self._pace_s = pace_s
        self._start = now_ms()
        self.database = Postgres()
        self.broker: Broker = Mosquitto(folder, *BROKER, f"persistence_location {folder}/")
        house_of_people(folder)
        self.players: dict[str, ForkServerProcess] = {}
        self.archive: subprocess.Popen[str] | None = None
        self.boards: subprocess.Popen[str] | None = None
        self.url = ""
        self._engine: Engine | None = None

    def __enter__(self) -> Self:
        self.database.start()
        self.broker.start()
        for table in self.tables:
            self._write_table(table)
        self._engine = open_archive(self.database.address)
        self.start_archive()
        for table in self.tables:
            self.start_table(table)
        return self

    def __exit__(self, *_: object) -> None:
        for process in (self.boards, self.archive):
            if process is not None:
                process.kill()
                process.wait()
        for player in self.players.values():
            player.kill()
            player.join()
        self.broker.stop()
        if self._engine is not None:
            self._engine.dispose()
        self.database.close()

    def start_archive(self) -> None:
        """Run the archive as a house does."""
        self.archive = self._run("archive", "serve", self._file(self.tables[0]))

    def start_table(self, table: str) -> None:
        """Let a table play on where it ended."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["vision.app.journal"])
        config = config_for(self.folder, self.broker.port, table)
        self.players[table] = context.Process(target=live, args=(config, self._start, self._pace_s))
        self.players[table].start()

    def start_boards(self) -> str:
        """Run the board server of all tables; return its address."""
        files = [self._file(table) for table in self.tables]
        self.boards = self._run("board", *files, "--http-port", "0", output=subprocess.PIPE)
        assert self.boards.stdout is not None
        return self.boards.stdout.readline().partition(" ")[2].strip()

    def logs(self) -> list[Path]:
        """Return the logs of all tables."""
        return [self.folder / f"{table}.sqlite" for table in self.tables]

    def newest(self, table: str) -> int:
        """Return the number of the newest message of a table, by its log."""
        path = self.folder / f"{table}.sqlite"
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
            return int(db.execute("SELECT coalesce(max(seq), 0) FROM message").fetchone()[0])

    def archived(self, table: str) -> int:
        """Return the number of the newest message of a table that the archive has, 0 without it."""
        assert self._engine is not None
        query = select(source.c.seen).where(source.c.table_name == table)
        with contextlib.suppress(SQLAlchemyError), self._engine.connect() as connection:
            text = connection.execute(query).scalar()
            return NumberSet.of_text(text).newest if text else 0
        return 0

    def end_play(self) -> None:
        """Let all tables end their play and send what they have."""
        for player in self.players.values():
            player.terminate()
        for player in self.players.values():
            player.join(RECOVERED_S)
            assert player.exitcode == 0, "a table could not send all it had"

    def compared(self) -> list[str]:
        """Hold the archive against the logs; return what is wrong, in words."""
        assert self._engine is not None
        return [str(fault) for found in verify(self._engine, self.logs()) for fault in found.faults]

    def count(self) -> int:
        """Return how many messages the archive keeps."""
        assert self._engine is not None
        with self._engine.connect() as connection:
            return int(connection.execute(select(func.count()).select_from(message)).scalar() or 0)

    def _run(self, *words: str, output: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "vision.cli", *words]
        log = (self.folder / f"{words[0]}.log").open("a")
        return subprocess.Popen(command, stdout=output, stderr=log, text=True)

    def _file(self, table: str) -> str:
        return str(self.folder / f"{table}.toml")

    def _write_table(self, table: str) -> None:
        """Write the table file of the board server and of the archive."""
        content = tomlkit.parse(EXAMPLE.read_text("utf-8"))
        content.update({"site": SITE, "table": table})
        for section, values in {
            "broker": {"kind": "external", "port": self.broker.port},
            "log": {"path": str(self.folder / f"{table}.sqlite")},
            "orders": {"users": str(self.folder / "users.json")},
            "desk": {"key": str(self.folder / "desk.key")},
            "archive": {"address": self.database.address},
        }.items():
            content[section].update(values)
        Path(self._file(table)).write_text(tomlkit.dumps(content), encoding="utf-8")


def prove(floor: Floor, play_s: float) -> list[str]:
    """Kill each part in turn during play; return what was measured. OutsideError for a loss."""
    lines = []
    assert floor.archive is not None
    wait_for(
        lambda: floor.archive.poll() is not None or all(map(floor.archived, floor.tables)),
        RECOVERED_S,
    )
    assert floor.archive.poll() is None, (floor.folder / "archive.log").read_text("utf-8")
    for name, kill, start in parts(floor):
        time.sleep(play_s)
        kill()
        time.sleep(play_s)
        before = {table: floor.newest(table) for table in floor.tables}
        began = time.monotonic()
        start()
        wait_for(lambda b=before: all(floor.archived(t) > b[t] for t in b), RECOVERED_S)
        lines.append(
            f"{name} killed, and started again after {play_s:.1f} s: all tables archived again "
            f"{time.monotonic() - began:.1f} s later"
        )
    floor.end_play()
    wait_for(lambda: not missing(floor), RECOVERED_S)
    found = floor.compared()
    lost = sum(one.startswith(("missing", "never came")) for one in found)
    doubled = sum(one.startswith("doubled") for one in found)
    messages = sum(floor.newest(table) for table in floor.tables)
    lines.append(
        f"{messages} messages of {len(floor.tables)} tables, {floor.count()} of them kept whole: "
        f"lost {lost}, doubled {doubled}, otherwise than in the logs {len(found) - lost - doubled}"
    )
    if found:
        raise OutsideError("\n".join([*lines, *found[:20]]))
    return lines


def missing(floor: Floor) -> list[str]:
    """Return what the archive does not have yet."""
    with contextlib.suppress(OutsideError):
        return floor.compared()
    return ["the archive does not answer"]


def parts(floor: Floor) -> Iterator[tuple[str, Callable[[], None], Callable[[], None]]]:
    """Yield each part that is killed: its name, what kills it, and what starts it again."""

    def kill_archive() -> None:
        assert floor.archive is not None
        floor.archive.kill()
        floor.archive.wait()

    def kill_table() -> None:
        floor.players[floor.tables[0]].kill()
        floor.players[floor.tables[0]].join()

    yield "archive", kill_archive, floor.start_archive
    yield "database", floor.database.kill, floor.database.start
    yield "broker", floor.broker.stop, floor.broker.start
    yield f"table {floor.tables[0]}", kill_table, lambda: floor.start_table(floor.tables[0])


def main() -> None:
    """Run the floor until it is interrupted, or prove that it loses nothing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prove", action="store_true", help="kill each part in turn, and end")
    parser.add_argument("--play", type=float, default=5.0, metavar="S", help="between kills (5)")
    parser.add_argument("--pace", type=float, default=0.1, metavar="S", help="an event (0.1)")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # all parts end with this process
    folder = Path(tempfile.mkdtemp(prefix="floor-"))
    try:
        with Floor(folder, pace_s=args.pace) as floor:
            if args.prove:
                print("\n".join(prove(floor, args.play)))
                return
            url = floor.start_boards()
            print(f"boards: {url}  floor: {url}floor  reports: {url}reports")
            print(f"log in as {', '.join(PEOPLE)}, password: {PASSWORD}")
            print(f"archive: {floor.database.address}   (Ctrl-C ends it all)", flush=True)
            with contextlib.suppress(KeyboardInterrupt):
                for _ in itertools.count():
                    time.sleep(1)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONPATH", str(Path(__file__).parents[2]))
    main()
