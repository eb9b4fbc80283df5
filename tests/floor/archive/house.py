"""The parts of a floor on this machine, each of which can be killed and started again.

A cluster of three brokers, tables at play (recorded events through the reader's own journal, outbox
and link, no pictures), the archive on a PostgreSQL of its own, and the boards with desk, reports
and floor page.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import FrameType
from typing import Self

import tomlkit
from sqlalchemy import Engine, func, select
from sqlalchemy.exc import SQLAlchemyError

from tests.browser.people import house_of_people, with_desk
from tests.browser.voice import EXAMPLE
from tests.chaos.shoe import play
from tests.chaos.table import config_of
from tests.floor.archive.postgres import Postgres
from tests.floor.archive.rows import differences
from tests.floor.cluster import Cluster
from tests.mqtt.mqtt_tools import free_port
from tests.seen import is_out
from vision.app.journal import Journal
from vision.app.run_log import Destinations
from vision.board.web import public_part
from vision.clock import now_ms, time_sync
from vision.config.table import TableConfig
from vision.floor.archive.database import open_archive
from vision.floor.archive.tables import message
from vision.game.events import Event, Noticed
from vision.record.codec import canonical

SITE = "floor"
TABLES = tuple("12345678")
FAULTY = {"3": 12, "6": 40}  # one coup in so many has a card face up in the shoe
ENDLESS = 1_000_000
RECOVERED_S = 400.0  # far above what any part takes, for a machine that is busy


def config_for(folder: Path, hosts: tuple[str, ...], table: str) -> TableConfig:
    """Return the settings of a table of the floor, which comes to its own node first."""
    config = config_of(0, path=str(folder / f"{table}.sqlite"))
    turn = int(table) % len(hosts)
    broker = config.broker.model_copy(update={"host": (*hosts[turn:], *hosts[:turn])})
    config = config.model_copy(update={"site": SITE, "table": table, "broker": broker})
    users, key = folder / "users.json", folder / "desk.key"
    return with_desk(config, users, key) if users.exists() else config


def events(table: str, start: int) -> Iterator[Event]:
    """Yield the endless play of a table, with a fault now and then at some."""
    draw = random.Random(table)
    rate = FAULTY.get(table, 400)
    for event in play(ENDLESS, int(table), start):
        if is_out(event) and draw.random() < 1 / rate / 5:
            yield Noticed(event.at, "EXPOSED_IN_SHOE")
        yield event


def live(config: TableConfig, start: int, pace_s: float) -> None:
    """Be the reader of a table: take up the log where it ends, and go on with the play.

    SIGTERM ends the play, a second one the reader, which until then answers whoever missed a
    message.
    """
    over: list[int] = []

    def end(_signal: int, _frame: FrameType | None) -> None:
        over.append(1)

    def beat() -> None:
        at = now_ms()
        figures = {"fps": 15.0, "blind": False, "clock": time_sync()._asdict()}
        journal.link.publish_health(at, {**figures, **journal.figures(at)})

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Journal(config, Destinations(Path(config.log.path))) as journal:
        journal.start(journal.table.clock or start, f"b{time.time_ns()}", ())
        beat_s = 0.0
        for event in events(config.table, start):
            if event.at <= journal.table.clock:
                continue
            journal.take([*journal.link.orders(event.at), event])
            if time.monotonic() - beat_s > 1:
                beat_s = time.monotonic()
                beat()
            if over:
                break
            time.sleep(pace_s)
        while len(over) < 2 or journal._store.depth():
            beat()
            time.sleep(0.5)


class Floor:
    """A floor at work."""

    def __init__(self, folder: Path, *, tables: tuple[str, ...] = TABLES, pace_s: float) -> None:
        """Prepare; nothing runs before the floor is entered."""
        self.folder = folder
        self.tables = tables
        self._pace_s = pace_s
        self._start = now_ms()
        self.database = Postgres()
        self.brokers = Cluster(folder)
        house_of_people(folder)
        self.players: dict[str, ForkServerProcess] = {}
        self.archive: subprocess.Popen[str] | None = None
        self.boards: subprocess.Popen[str] | None = None
        self.boards_port = free_port()
        self._engine: Engine | None = None

    def __enter__(self) -> Self:
        self.database.start()
        self.brokers.start()
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
        self.brokers.__exit__()
        if self._engine is not None:
            self._engine.dispose()
        self.database.close()

    def start_archive(self) -> None:
        """Run the archive as a house does: where all logs come to lie."""
        address = ("--archive", self.database.address)
        self.archive = self._run("floor", "archive", "serve", str(self.folder), *address)

    def start_table(self, table: str) -> None:
        """Let a table play on where it ended."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["vision.app.journal"])
        config = config_for(self.folder, self.hosts, table)
        self.players[table] = context.Process(target=live, args=(config, self._start, self._pace_s))
        self.players[table].start()

    def start_boards(self) -> str:
        """Run the board server of all tables; return its address."""
        files = [self._file(table) for table in self.tables]
        port = ("--http-port", str(self.boards_port))
        self.boards = self._run("board", *files, *port, output=subprocess.PIPE)
        assert self.boards.stdout is not None
        return self.boards.stdout.readline().partition(" ")[2].strip()

    @property
    def hosts(self) -> tuple[str, ...]:
        """Where the nodes of the brokers listen, as a table file has it."""
        return tuple(f"{host}:{port}" for host, port in self.brokers.addresses)

    def logs(self) -> list[Path]:
        """Return the logs of all tables."""
        return [self.folder / f"{table}.sqlite" for table in self.tables]

    def newest(self, table: str) -> int:
        """Return the number of the newest message of a table, by its log."""
        path = self.folder / f"{table}.sqlite"
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
            return int(db.execute("SELECT coalesce(max(seq), 0) FROM message").fetchone()[0])

    def shown(self, table: str, after: int) -> list[str]:
        """Return what a board shows of a running coup after a message of that number, by the log.

        The newest comes last.
        """
        path = self.folder / f"{table}.sqlite"
        query = (
            "SELECT payload FROM message WHERE seq > ? AND topic LIKE '%/coup/live' ORDER BY seq"
        )
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
            found = db.execute(query, (after,)).fetchall()
        return [canonical(public_part("coup/live", json.loads(row[0])) or {}) for row in found]

    def archived(self, table: str, number: int) -> bool:
        """Whether the archive has a later message of a table than that number."""
        assert self._engine is not None
        query = select(func.max(message.c.seq)).where(message.c.table_name == table)
        with contextlib.suppress(SQLAlchemyError), self._engine.connect() as connection:
            return int(connection.execute(query).scalar() or 0) > number
        return False

    def end_play(self) -> None:
        """Let all tables end their play, and a second time the tables themselves."""
        for player in self.players.values():
            player.terminate()

    def await_end(self) -> None:
        """Wait until the tables have sent all they had."""
        for player in self.players.values():
            player.join(RECOVERED_S)
            assert player.exitcode == 0, "a table could not send all it had"

    def compared(self) -> list[str]:
        """Hold the archive against the logs; return what is wrong, in words."""
        assert self._engine is not None
        return differences(self._engine, self.logs())

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
            "broker": {"kind": "external", "host": list(self.hosts)},
            "log": {"path": str(self.folder / f"{table}.sqlite")},
            "orders": {"users": str(self.folder / "users.json")},
            "desk": {"key": str(self.folder / "desk.key")},
            "archive": {"address": self.database.address},
        }.items():
            content[section].update(values)
        Path(self._file(table)).write_text(tomlkit.dumps(content), encoding="utf-8")
