"""Measures several tables on one machine: `python -m tests.chaos.tables --tables 4 --minutes 30`.

Films of play, dealt by the simulator, come by RTSP from a local server, 1080p at 30 frames a second
or as a camera's sub-stream (`--size 960x540 --fps 15`); a reader for each table runs as its unit
would run it, with mosquitto as their broker, while a board server has as many pages open as there
are tables. A coup begins every 25 s, as at a quick table, or with `--every 0` as soon as the last
one is cleared; the tables begin one after the other within that time, as dealers keep no step. A
film is a short shoe that is dealt again and again, and the staff order a new shoe, signed, each
time its last coup has ended. It prints for each table how old pictures were when
they were looked at, what it took from a picture to a subscriber, the looks a second, the memory
(proportional set size of the reader and its capture process), the processor time, and how many
coups came out as dealt; beside it how loaded the machine was.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.resources import files
from pathlib import Path
from subprocess import PIPE
from typing import Any

import av
import numpy as np
import paho.mqtt.client as paho

from tests.camera.video_servers import PYTHON
from tests.chaos.consumer import Consumer
from tests.mqtt.mqtt_tools import Mosquitto, free_port
from vision.access.users import Credential, User, Users, save_users
from vision.clock import now_ms
from vision.simulator.dealing import simulate
from vision.simulator.dealing.cycle import Cycle
from vision.simulator.dealing.film_settings import look_for
from vision.simulator.dealing.scenario import Scenario, with_changes
from vision.simulator.dealing.table_places import Camera
from vision.simulator.dealing.video_writer import Encoding, Progress, write_text, write_video

HOUSE = "house.toml"  # the profile of a house that burns no cards, as the films show none
FILMS = 4  # different ones; more tables than that see the first ones again
SHOE_COUPS = 10  # coups of a film: more are more different ones, and take longer to draw
SIZE, FPS = (1920, 1080), 30
TILT = 8.0  # degrees that the camera leans, as the simulator's own films
PACE = 0.7  # the dealer's speed: a coup takes about 15 s, of a rhythm of 25
# Seconds before the first coup: the signed order for a new shoe comes before its first card.
BEFORE_S = 4.0
START_S = 120.0  # seconds in which the readers must be there; a loaded machine takes as long
EVENTS = ("card", "coup/live", "coup/result", "alert", "shoe", "roads")
TICKS = os.sysconf("SC_CLK_TCK")  # of /proc, a second
HEAD = (
    "table  age p50  p99 ms  to subscriber p50  p99 ms  frames/s  looks/s  skipped/s  damaged/s  "
    "memory MB  core  coups right, held, wrong, of"
)


class Listener(Consumer):
    """Takes everything of all tables, with the moment at which it came; orders new shoes."""

    def __init__(self, port: int, inspector: Credential) -> None:
        self.came: list[tuple[float, str, dict[str, Any]]] = []
        self._inspector = inspector
        self._shoes: dict[str, int] = defaultdict(int)
        super().__init__(port, "casino/+/table/+/")

    def _on_message(self, client: Any, _data: object, message: paho.MQTTMessage) -> None:
        came_ms = 1000 * time.time()
        if message.payload[:1] != b"{":
            return
        payload = json.loads(message.payload)
        self.came.append((came_ms, message.topic, payload))
        table, _, topic = message.topic.rpartition("/coup/")
        if topic == "result" and payload["coup"] == SHOE_COUPS and payload["revision"] == 0:
            self._shoes[table] += 1
            topic = f"{table}/cmd/new_shoe"
            order = {"by": "Ann", "role": "inspector", "shoe": f"again-{self._shoes[table]}"}
            signed = self._inspector.sign(topic, order, now_ms())
            client.publish(topic, json.dumps(signed), 1)


def deal(
    folder: Path,
    number: int,
    every_s: float,
    size: tuple[int, int] = SIZE,
    fps: int = FPS,
) -> Path:
    """Deal the film of a table, if it is not there yet, and return its folder."""
    kind = "" if (size, fps) == (SIZE, FPS) else f"-{size[0]}x{size[1]}-{fps}"
    film = folder / f"table-{number}-{SHOE_COUPS}-every-{every_s:g}{kind}"
    if not (film / simulate.VIDEO).exists():
        film.mkdir(parents=True, exist_ok=True)
        seed = 100 + number
        scenario = with_changes(
            Scenario(), coups=SHOE_COUPS, seed=seed, pace=PACE if every_s else 1.0
        )
        look = look_for("test", seed, Camera(size, TILT, 0.0), fps=fps)
        show = simulate.rehearse(scenario, look)
        cycle = Cycle(show, every_s, BEFORE_S)
        partial = film / f"partial-{simulate.VIDEO}"
        write_video(partial, cycle.frames(), Progress(cycle.frame_count, quiet=True), Encoding(fps))
        write_text(film / "truth.json", json.dumps(show.truth()))
        write_text(film / "table.toml", show.table_file())
        partial.replace(film / simulate.VIDEO)
    return film


def repeated(film: Path, minutes: float) -> Path:
    """Return a film's video that goes on for so long, by dealing the same again and again."""
    longer = film / f"{minutes:g}-minutes.mp4"
    if longer.exists():
        return longer
    with av.open(film / simulate.VIDEO) as read, av.open(longer, "w") as written:
        stream = read.streams.video[0]
        copy = written.add_stream_from_template(stream)
        length = stream.duration or 0
        times = math.ceil(60 * minutes / float(length * stream.time_base))
        for begin in range(0, times * length, length):
            read.seek(0)
            for packet in read.demux(stream):
                if packet.dts is not None and packet.pts is not None:
                    packet.dts, packet.pts = packet.dts + begin, packet.pts + begin
                    packet.stream = copy
                    written.mux(packet)
    return longer


def table_file(film: Path, number: int, source: str, port: int, folder: Path) -> Path:
    """Write the file of a table that watches the film at that address; return its path."""
    text = (film / "table.toml").read_text("utf-8")
    text = re.sub(r"(?m)^table = .*", f'table = "{number}"', text)
    text = re.sub(r"(?m)^profile = .*", f'profile = "{HOUSE}"', text)
    text = re.sub(r"(?m)^source = .*", f'source = "{source}"', text)
    text = re.sub(r"(?ms)^\[(broker|log)\].*?(?=^\[|\Z)", "", text)
    text += f'\n[broker]\nkind = "external"\nport = {port}\n[log]\npath = "{number}.sqlite"\n'
    text += '[orders]\nusers = "users.json"\n'
    path = folder / f"{number}.toml"
    path.write_text(text, "utf-8")
    return path


@contextmanager
def process(*words: str, **how: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program while the block lasts."""
    running = subprocess.Popen(words, stdin=subprocess.PIPE, **how)
    try:
        yield running
    finally:
        running.send_signal(signal.SIGTERM)
        try:
            running.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            running.kill()
            running.communicate()


def watch_pages(port: int, tables: Sequence[int], over: threading.Event) -> None:
    """Be one page of each table: read its stream of changes."""
    chosen = selectors.DefaultSelector()
    for table in tables:
        link = socket.create_connection(("127.0.0.1", port))
        link.sendall(f"GET /events/{table} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        chosen.register(link, selectors.EVENT_READ)
    while not over.is_set():
        for key, _ in chosen.select(0.2):
            assert isinstance(key.fileobj, socket.socket)
            if not key.fileobj.recv(65536):
                chosen.unregister(key.fileobj)


def family(pid: int) -> list[int]:
    """Return a process and all below it."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8").split()
    except OSError:
        return []
    return [pid, *(below for child in children for below in family(int(child)))]


def memory_mb(pids: Sequence[int]) -> float:
    """Return the proportional set size of some processes."""
    text = "".join(Path(f"/proc/{pid}/smaps_rollup").read_text("utf-8") for pid in pids)
    return sum(map(int, re.findall(r"(?m)^Pss: +(\d+)", text))) / 1024


def cpu_s(pids: Sequence[int]) -> float:
    """Return the processor seconds of some processes, of all their threads."""
    stats = [Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2] for pid in pids]
    return sum(int(word) for stat in stats for word in stat.split()[11:13]) / TICKS


def row(table: str, listener: Listener, film: Path, weight: tuple[float, float]) -> str:
    """Return what a table came to; `weight` is its memory (MB) and processor (cores)."""
    of_it = [(ms, topic, p) for ms, topic, p in listener.came if f"/table/{table}/" in topic]
    delays = [
        ms - 1000 * np.datetime64(p["at"][:-1], "ms").astype(int) / 1000
        for ms, topic, p in of_it
        if topic.partition(f"/table/{table}/")[2] in EVENTS
    ]
    health = [p for _, topic, p in of_it if topic.endswith("/health")]
    last = health[-1] if health else defaultdict(dict)
    rates = [
        np.mean([p[name] for p in health]) if health else 0.0
        for name in ("fps_in", "fps_looked", "fps_skipped", "fps_damaged")
    ]
    p50, p99 = np.percentile(delays, (50, 99)) if delays else (0.0, 0.0)
    age = last["age_ms"]
    truth = json.loads((film / "truth.json").read_text("utf-8"))["coups"]
    reported = [p for _, topic, p in of_it if topic.endswith("coup/result")]
    newest = {(p["shoe"], p["coup"]): p for p in reported}
    outcomes = [as_dealt(truth[(coup - 1) % SHOE_COUPS], p) for (_, coup), p in newest.items()]
    overload = {p["overload"] for p in health} - {None}
    line = (
        f"{table:5}  {age.get('p50', 0):7.0f}  {age.get('p99', 0):6.0f}  {p50:17.0f}  {p99:6.0f}  "
        f"{rates[0]:8.1f}  {rates[1]:7.1f}  {rates[2]:9.1f}  {rates[3]:9.1f}  "
        f"{weight[0]:9.0f}  {weight[1]:4.2f}  "
        f"{outcomes.count('right')}, {outcomes.count('held')}, {outcomes.count('wrong')}, "
        f"{len(outcomes)}"
    )
    amiss = [
        f"coup {coup} of '{shoe}': {_words(p)}; dealt {_words(truth[(coup - 1) % SHOE_COUPS])}"
        for ((shoe, coup), p), outcome in zip(newest.items(), outcomes, strict=True)
        if outcome != "right"
    ]
    return "\n       ".join([line, *sorted(overload)[:1], *amiss])


def _words(coup: dict[str, Any]) -> str:
    """Return the hands of a coup, dealt or said, and who won or why it is held."""
    hands = [coup["punto"], coup["banco"]]
    cards = (hand if isinstance(hand, list) else hand["cards"] for hand in hands)
    ends = coup["winner"] or f"held ({coup['why']})"
    return f"{' / '.join(' '.join(map(str, each)) for each in cards)}, {ends}"


def as_dealt(coup: dict[str, Any], reported: dict[str, Any]) -> str:
    """Return whether a coup was said as it was dealt: right, held or wrong."""
    if reported["winner"] is None:
        return "held"
    hands = [reported["punto"]["cards"], reported["banco"]["cards"]]
    right = [reported["winner"], *hands] == [coup["winner"], coup["punto"], coup["banco"]]
    return "right" if right else "wrong"


def measure(films: Sequence[Path], minutes: float, every_s: float, keep: Path | None = None) -> str:
    """Run the readers over the films for so long; return the table of figures.

    They begin within `every_s`, one after the other, since a film begins with its reader. `keep`
    is a file for everything that a subscriber heard, a line each with when it came.
    """
    numbers = range(1, len(films) + 1)
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        broker = opened.enter_context(Mosquitto(folder))
        port, board = free_port(), free_port()
        server = [PYTHON, str(Path(__file__).parents[1] / "camera" / "film_server.py"), str(port)]
        cameras = opened.enter_context(
            process(*server, *(str(repeated(f, minutes + 3)) for f in films), stdout=PIPE)
        )
        assert cameras.stdout is not None
        assert cameras.stdout.readline() == b"ready\n"
        paths = [
            table_file(film, n, f"rtsp://127.0.0.1:{port}/{n - 1}", broker.port, folder)
            for n, film in zip(numbers, films, strict=True)
        ]
        rules = (files("vision.game") / "profiles" / "punto-banco.toml").read_text("utf-8")
        rules = re.sub(r"(?m)^burn = .*\nburn_ace.*", 'burn = "none"', rules)
        (folder / HOUSE).write_text(rules, "utf-8")
        inspector = Credential.new("Ann")
        ann = User(roles=("inspector",), key=inspector.public)
        save_users(folder / "users.json", Users(users={"Ann": ann}))
        listener = Listener(broker.port, inspector)
        opened.callback(listener.close)
        listener.await_up()
        words = [sys.executable, "-m", "vision.cli"]
        boards = ["board", *map(str, paths), "--http-port", str(board)]
        opened.enter_context(process(*words, *boards, stdout=subprocess.DEVNULL))
        # A session of its own is a share of the processor of its own, as a unit has.
        how = {"stdout": subprocess.DEVNULL, "start_new_session": True}
        readers: dict[str, int] = {}
        for path in paths:
            reader = opened.enter_context(process(*words, "run", str(path), **how))
            readers[path.stem] = reader.pid
            time.sleep(every_s / len(films))
        await_health(listener, len(films))
        over = threading.Event()
        pages = threading.Thread(target=watch_pages, args=(board, numbers, over))
        pages.start()
        began_s, before = time.monotonic(), {n: cpu_s(family(pid)) for n, pid in readers.items()}
        time.sleep(60 * minutes)
        seconds = time.monotonic() - began_s
        weights = {
            name: (memory_mb(family(pid)), (cpu_s(family(pid)) - before[name]) / seconds)
            for name, pid in readers.items()
        }
        over.set()
        pages.join()
    if keep is not None:
        keep.write_text("".join(json.dumps(each) + "\n" for each in listener.came), "utf-8")
    rows = [
        row(str(n), listener, film, weights[str(n)]) for n, film in zip(numbers, films, strict=True)
    ]
    refused = [p["why"] for _, topic, p in listener.came if "/cmd/reply" in topic and p["why"]]
    assert not refused, f"orders for a new shoe were refused: {refused[0]}"
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    return "\n".join([f"load average of {os.cpu_count()} cores: {load}", HEAD, *rows])


def await_health(listener: Listener, tables: int) -> None:
    """Wait until every table has reported its health."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        heard = {topic for _, topic, _ in list(listener.came) if topic.endswith("/health")}
        if len(heard) == tables:
            return
        time.sleep(0.2)
    raise AssertionError(f"only {sorted(heard)} began within {START_S:g} s")


def main() -> None:
    """Deal the films, measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=4, metavar="N", help="tables (4)")
    parser.add_argument("--minutes", type=float, default=30.0, metavar="M", help="minutes (30)")
    parser.add_argument(
        "--films", type=Path, default=Path("out/films"), metavar="DIR", help="kept (out/films)"
    )
    parser.add_argument(
        "--every", type=float, default=25.0, metavar="S", help="seconds from coup to coup (25)"
    )
    parser.add_argument(
        "--size", type=simulate.picture_size, default=SIZE, metavar="WxH", help="px (1920x1080)"
    )
    parser.add_argument("--fps", type=int, default=FPS, metavar="N", help="pictures a second (30)")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="keep all messages there")
    arguments = parser.parse_args()
    numbers = range(arguments.tables)
    stream = arguments.size, arguments.fps
    films = [deal(arguments.films, number % FILMS, arguments.every, *stream) for number in numbers]
    print(measure(films, arguments.minutes, arguments.every, arguments.keep))


if __name__ == "__main__":
    main()
