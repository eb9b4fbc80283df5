"""A floor on one machine: `python -m tests.floor.archive.floor` (`make floor`).

Three brokers, eight tables at play, the archive on a PostgreSQL, the boards. It stays until it is
interrupted. With `--prove` each part is killed in turn during play, and the archive is then held
against the logs of all tables: prints what was lost or is not as they say, and how long after each
death the boards were right again and all tables were archived again.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import itertools
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Self

from tests.browser.people import PASSWORD, PEOPLE
from tests.floor.archive.house import RECOVERED_S, Floor
from tests.floor.cluster import HERE, NAMES
from tests.mqtt.mqtt_tools import wait_for
from vision.errors import OutsideError
from vision.record.codec import canonical

LOOK_S = 0.05  # seconds between two looks, and before a screen asks for the boards again


class Part(NamedTuple):
    """A part of the floor; `has_others`: the house goes on without it, so nobody waits for it."""

    name: str
    kill: Callable[[], None]
    start: Callable[[], object]
    has_others: bool = False


def parts(floor: Floor) -> Iterator[Part]:
    """Yield each part that is killed."""

    def kill_archive() -> None:
        assert floor.archive is not None
        floor.archive.kill()
        floor.archive.wait()

    def kill_boards() -> None:
        assert floor.boards is not None
        floor.boards.kill()
        floor.boards.wait()

    def kill_table() -> None:
        floor.players[floor.tables[0]].kill()
        floor.players[floor.tables[0]].join()

    brokers, first = floor.brokers, floor.tables[0]
    for name in NAMES:
        kill, start = (lambda n=name: brokers.kill(n)), (lambda n=name: brokers.start(n))
        yield Part(f"node {name}", kill, start, has_others=True)
    yield Part("archive", kill_archive, floor.start_archive)
    yield Part("database", floor.database.kill, floor.database.start)
    yield Part("boards", kill_boards, floor.start_boards)
    yield Part(f"table {first}", kill_table, lambda: floor.start_table(first))


class Screens:
    """A screen before the board of each table: what it showed of the running coup, and when."""

    def __init__(self, floor: Floor) -> None:
        self.showed: dict[str, dict[str, float]] = defaultdict(dict)
        self._port = floor.boards_port
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._watch, args=(table,), daemon=True)
            for table in floor.tables
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()

    def _watch(self, table: str) -> None:
        while not self._stopping.wait(LOOK_S):
            browser = http.client.HTTPConnection(HERE, self._port, timeout=5)
            with contextlib.suppress(OSError, http.client.HTTPException):
                browser.request("GET", f"/events/{table}")
                for line in browser.getresponse():
                    self._show(table, line)
            browser.close()

    def _show(self, table: str, line: bytes) -> None:
        if line.startswith(b"data: ") and b'"coup/live"' in line:
            payload = json.loads(line.removeprefix(b"data: "))["payload"]
            self.showed[table].setdefault(canonical(payload), time.monotonic())

    def is_right(self, floor: Floor, table: str, after: int) -> bool:
        """Whether a screen has shown a running coup as it stood after that number, or later."""
        return any(text in self.showed[table] for text in floor.shown(table, after))


def prove(floor: Floor, play_s: float, only: str = "") -> list[str]:
    """Kill each part in turn during play; return what was measured. OutsideError for a loss."""
    lines = []
    archive = floor.archive
    assert archive is not None
    wait_for(
        lambda: archive.poll() is not None or all(floor.archived(t, 9) for t in floor.tables),
        RECOVERED_S,
    )
    assert archive.poll() is None, (floor.folder / "floor.log").read_text("utf-8")
    floor.start_boards()
    with Screens(floor) as screens:
        for part in parts(floor):
            if only and part.name not in only.split(","):
                continue
            time.sleep(play_s)
            lines.append(killed(floor, screens, part, play_s))
            print(lines[-1], flush=True)
    lines.append(held_against_logs(floor))
    return lines


def killed(floor: Floor, screens: Screens, part: Part, play_s: float) -> str:
    """Kill a part; return in words how long it was until the house was whole for its people."""
    part.kill()
    words = f"{part.name} killed"
    if not part.has_others:
        time.sleep(play_s)
        words += f", and started again after {play_s:.1f} s"
    before, began_s = {table: floor.newest(table) for table in floor.tables}, time.monotonic()
    if not part.has_others:
        part.start()
    boards_s, archive_s = recovered(floor, screens, before, began_s)
    if part.has_others:
        part.start()
    return f"{words}: boards right {boards_s:.1f} s later, archive {archive_s:.1f} s later"


def recovered(
    floor: Floor, screens: Screens, before: Mapping[str, int], since_s: float
) -> tuple[float, float]:
    """Return the seconds until boards had news of each table, and the archive all until then."""
    checks = (lambda t: screens.is_right(floor, t, before[t]),
              lambda t: floor.archived(t, before[t]))  # fmt: skip
    waiting = [set(before) for _ in checks]
    took = [0.0 for _ in checks]
    while any(waiting):
        time.sleep(LOOK_S)
        for number, check in enumerate(checks):
            if waiting[number]:
                waiting[number] = {table for table in waiting[number] if not check(table)}
                took[number] = time.monotonic() - since_s
        assert max(took) < RECOVERED_S, f"waited in vain for tables {waiting}"
    return took[0], took[1]


def held_against_logs(floor: Floor) -> str:
    """End the play, and count what the archive has otherwise than the logs; OutsideError."""
    floor.end_play()
    time.sleep(1)
    floor.end_play()
    floor.await_end()
    wait_for(lambda: not missing(floor), RECOVERED_S)
    found = floor.compared()
    lost = sum(one.startswith("missing") for one in found)
    messages = sum(floor.newest(table) for table in floor.tables)
    words = (
        f"{messages} messages of {len(floor.tables)} tables, {floor.count()} of them kept whole: "
        f"lost {lost}, otherwise than in the logs {len(found) - lost}"
    )
    if found:
        raise OutsideError("\n".join([words, *found[:20]]))
    return words


def missing(floor: Floor) -> list[str]:
    """Return what the archive does not have yet."""
    with contextlib.suppress(OutsideError):
        return floor.compared()
    return ["the archive does not answer"]


def main() -> None:
    """Run the floor until it is interrupted, or prove that it loses nothing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prove", action="store_true", help="kill each part in turn, and end")
    parser.add_argument("--play", type=float, default=5.0, metavar="S", help="between kills (5)")
    parser.add_argument("--pace", type=float, default=0.5, metavar="S", help="an event (0.5)")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # all parts end with this process
    folder = Path(tempfile.mkdtemp(prefix="floor-"))
    try:
        with Floor(folder, pace_s=args.pace) as floor:
            if args.prove:
                print(prove(floor, args.play)[-1])
                return
            url = floor.start_boards()
            print(f"boards: {url}  floor: {url}floor  reports: {url}reports")
            print(f"log in as {', '.join(PEOPLE)}, password: {PASSWORD}")
            print(f"brokers: {', '.join(floor.hosts)}")
            print(f"archive: {floor.database.address}   (Ctrl-C ends it all)", flush=True)
            with contextlib.suppress(KeyboardInterrupt):
                for _ in itertools.count():
                    time.sleep(1)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONPATH", str(Path(__file__).parents[3]))
    main()
