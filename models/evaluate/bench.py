"""Measures what reading a table costs here, and how late it is: `python -m models.evaluate.bench`.

Deals three films with the simulator: a still table, a busy one, and the rhythm of a real table, a
coup every 25 s of which about ten are still. Each is decoded, read by the whole reader in a process
of its own, and where Ultralytics is installed given to its `track`, all on one core. What counts is
processor time, of a process and all it starts: other work on the machine does not change it much.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import paho.mqtt.client as paho

from datasets.dealing.cycle import Cycle
from datasets.dealing.film_settings import look_for
from datasets.dealing.scenario import Scenario, with_changes
from datasets.dealing.simulate import picture_size, rehearse
from datasets.dealing.table_places import Camera
from datasets.dealing.video_writer import Encoding, Progress, write_text, write_video
from models.evaluate.bench_tables import compared, tables
from vision.config.table import BrokerSection
from vision.errors import OutsideError
from vision.inference.load import packaged
from vision.metrics.counters import spread
from vision.mqtt.embedded_broker import EmbeddedBroker
from vision.mqtt.endpoint import KEEPALIVE_S, endpoint_of, new_client
from vision.sight.detection.detector import KINDS
from vision.version import VERSION

# Frames a second of the films: what table cameras give, and the rate of the figures in README.md.
FPS = 20
# Lean of the camera in degrees, as of the simulator's own films, and the shoe dealt (no unit).
# Others give other films: figures are compared only between equal ones.
TILT, SEED = 8.0, 7
# The rhythm of a real table: seconds from coup to coup, and the dealer's speed (1: brisk) at which
# a coup takes about 15 of them, so that ten are still. A shorter one is a busier table.
EVERY_S, PACE = 25.0, 0.7
# Seconds of the film of a still table: as long as the test picture takes to come round, and long
# against the second for which the gate stays open.
STILL_S = 60.0
# Coups of the busy film, and of the film in rhythm. More take longer and say the same.
BUSY_COUPS, CYCLES = 3, 2
# Seconds of each film that `--short` leaves: one core reads them in a few seconds.
SHORT_S = 3.0
# Frames of the film in rhythm that are given to Ultralytics, whose cost does not depend on what it
# sees. Fewer leave more of its start in the figure than is taken off.
OTHERS_FRAMES = 100
# Sizes (px) at which Ultralytics is given pictures: its own default, and that of our detector.
OTHERS_SIZES = (640, 416)
# Seconds for a child process to end; twenty times what the slowest takes on a slow machine.
PATIENCE_S = 1800.0


def main(words: list[str] | None = None) -> int:
    """Measure, print, compare."""
    parser = argparse.ArgumentParser("python -m models.evaluate.bench", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--compare", type=Path, metavar="EARLIER.json", help="say what changed since an earlier run"
    )
    parser.add_argument(
        "--size", type=picture_size, default=(1280, 720), metavar="WxH", help="picture (1280x720)"
    )
    parser.add_argument(
        "--short", action="store_true", help="the first seconds of each film: shows that it works"
    )
    parser.add_argument("--only-ours", action="store_true", help="leave Ultralytics out")
    parser.add_argument(
        "--no-latency", action="store_true", help="leave out the reading in real time (50 s)"
    )
    args = parser.parse_args(words)
    earlier = _earlier(args.compare) if args.compare else None
    with tempfile.TemporaryDirectory(prefix="shoe-reader-bench-") as folder:
        found = _measured(args, Path(folder))
    if args.json:
        print(json.dumps(found, indent=1))
    else:
        print(tables(found))
    if earlier is not None:
        print(compared(found, earlier), file=sys.stderr if args.json else sys.stdout)
    return 0


def _earlier(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def _measured(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    films = _films(folder, args.size, SHORT_S if args.short else None)
    found: dict[str, Any] = {
        "version": VERSION,
        "short": args.short,
        "size": list(args.size),
        "fps": FPS,
        "load_before": round(os.getloadavg()[0], 2),
        "films": {},
    }
    if not args.no_latency:
        found["latency"] = _latency(folder / "cycle", films["cycle"])
    with _one_core():
        for name in films:
            found["films"][name] = {
                "decode": _child("decode", folder / name),
                "reader": _child("read", folder / name),
            }
        found["ultralytics"] = (
            "left out" if args.only_ours else _ultralytics(folder, films["cycle"])
        )
    return found


@contextmanager
def _one_core() -> Iterator[None]:
    """Keep this process, and all it starts, on one core meanwhile."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


# --- films ---------------------------------------------------------------------------------------


def _films(folder: Path, size: tuple[int, int], most_s: float | None) -> dict[str, Cycle]:
    """Deal the films into folders of their names, at most so many seconds of each."""
    look = look_for("test", SEED, Camera(size, TILT, 0.0), fps=FPS)
    brisk = rehearse(with_changes(Scenario(), coups=BUSY_COUPS, seed=SEED), look)
    real = rehearse(with_changes(Scenario(), coups=CYCLES, seed=SEED, pace=PACE), look)
    films = {
        "still": Cycle(rehearse(with_changes(Scenario(), coups=1, seed=SEED), look), 0.0, STILL_S),
        "busy": Cycle(brisk, 0.0),
        "cycle": Cycle(real, EVERY_S),
    }
    for name, film in films.items():
        out = folder / name
        out.mkdir()
        count = int(STILL_S * FPS) if name == "still" else film.frame_count
        count = count if most_s is None else min(count, int(most_s * FPS))
        frames = (frame for frame, _ in zip(film.frames(), range(count), strict=False))
        write_video(out / "deal.mp4", frames, Progress(count, quiet=True), Encoding(FPS))
        write_text(out / "table.toml", film.show.table_file())
    return films


# --- this reader ---------------------------------------------------------------------------------


def _child(work: str, folder: Path, *options: str) -> dict[str, Any]:
    """Do a piece of work in a process of its own; return what it printed."""
    command = [
        sys.executable, "-m", "models.evaluate.bench_reading", work, str(folder / "table.toml"),
        "--log", str(folder / "bench.sqlite"), "--began-s", str(time.monotonic()), *options,
    ]  # fmt: skip
    try:
        done = subprocess.run(  # noqa: S603  # our own module
            command, capture_output=True, text=True, timeout=PATIENCE_S, check=True
        )
    except subprocess.CalledProcessError as error:
        raise OutsideError(
            f"bench: {work} of {folder.name} failed; correct what it says, or report it: "
            f"{error.stderr[-500:]}"
        ) from None
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {key: round(v, 4) if isinstance(v, float) else v for key, v in result.items()}


class _Subscriber:
    """Keeps when each coup's first result with a winner, and each card's first reading, arrived."""

    def __init__(self) -> None:
        self.results: dict[int, float] = {}
        self.cards: dict[int, float] = {}

    def begin(self, client: paho.Client, *_: object) -> None:
        """Subscribe once there is a connection."""
        client.subscribe("casino/#", 1)

    def take(self, _client: paho.Client, _data: object, message: paho.MQTTMessage) -> None:
        """Take a message, at the wall-clock time at which it comes."""
        now = time.time()
        payload = json.loads(message.payload) if message.payload.startswith(b"{") else {}
        if message.topic.endswith("/coup/result") and payload.get("winner"):
            self.results.setdefault(payload["coup"], now)
        elif message.topic.endswith("/card") and payload.get("event") == "read":
            self.cards.setdefault(payload["order"], now)


def _latency(folder: Path, film: Cycle) -> dict[str, Any]:
    """Read a film in real time, with a broker and a subscriber; return how late messages were."""
    heard = _Subscriber()
    with EmbeddedBroker(0) as broker:
        client = new_client(endpoint_of(BrokerSection(port=broker.port)), "shoe-reader-bench")
        client.on_message = heard.take
        client.on_connect = heard.begin
        client.connect("127.0.0.1", broker.port, KEEPALIVE_S)
        client.loop_start()
        read = _child("read", folder, "--speed", "1", "--port", str(broker.port))
        client.disconnect()
        client.loop_stop()
    late = _lateness(film, heard, read["film_began"])
    return {
        "start_s": read["start_s"],
        "processor_share": round(read["processor_s"] / (read["frames"] / FPS), 3),
        **late,
    }


def _lateness(film: Cycle, heard: _Subscriber, began: float) -> dict[str, Any]:
    """Return how late results and cards came after the frame from which they could be known."""
    truth = film.show.truth()
    shown_at: dict[int, float] = {}
    deciding: dict[int, float] = {}
    for card in truth["cards"]:
        if card["face_ms"] is not None and card["coup"] > 0:
            at = began + film.film_ms(card["coup"] - 1, card["face_ms"]) / 1000
            shown_at[card["order"]] = at
            deciding[card["coup"]] = max(at, deciding.get(card["coup"], 0.0))
    found = {}
    for name, came, due in (("card", heard.cards, shown_at), ("result", heard.results, deciding)):
        took = spread([came[number] - due[number] for number in due.keys() & came.keys()])
        found[name] = {
            "p50_ms": took.p50_ms, "p99_ms": took.p99_ms, "times": took.count, "of": len(due),
        }  # fmt: skip
    return found


# --- Ultralytics, where it is installed -----------------------------------------------------------


def _ultralytics(folder: Path, film: Cycle) -> dict[str, float] | str:
    """Return the ms of processor a frame of Ultralytics' `track` by the size of its input."""
    program = shutil.which("yolo", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if program is None:
        return "not installed"
    names = "".join(f"  {i}: {kind}\n" for i, kind in enumerate(KINDS))
    write_text(folder / "names.yaml", f"path: .\ntrain: .\nval: .\nnames:\n{names}")
    for count in (1, OTHERS_FRAMES):
        frames = (frame for frame, _ in zip(film.frames(), range(count), strict=False))
        write_video(folder / f"{count}.mp4", frames, Progress(count, quiet=True), Encoding(FPS))
    return {str(size): round(_tracked_ms(program, folder, size), 2) for size in OTHERS_SIZES}


def _tracked_ms(program: str, folder: Path, size: int) -> float:
    """Return the ms a frame: of a film of many frames less one of one, which is the start."""
    one, many = (_track_s(program, folder, count, size) for count in (1, OTHERS_FRAMES))
    return 1000 * (many - one) / (OTHERS_FRAMES - 1)


def _track_s(program: str, folder: Path, count: int, size: int) -> float:
    """Run `yolo track` on the film of so many frames; return its processor seconds."""
    command = [
        program, "track", f"model={packaged('detector')}", "task=obb", f"source={count}.mp4",
        f"imgsz={size}", f"data={folder / 'names.yaml'}", "save=False", "verbose=False",
    ]  # fmt: skip
    settings = {"YOLO_OFFLINE": "true", "YOLO_AUTOINSTALL": "false", "OMP_NUM_THREADS": "1"}
    environment = {**os.environ, **settings, "YOLO_CONFIG_DIR": str(folder)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(  # noqa: S603  # the user's own program
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_S,
        check=False,
    )  # fmt: skip
    if done.returncode:
        raise OutsideError(
            f"bench: `yolo track` failed; leave it out with --only-ours:\n{done.stderr[-500:]}"
        )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
