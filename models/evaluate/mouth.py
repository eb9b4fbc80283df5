"""Measure the watcher of the shoe's mouth: `python -m models.evaluate.mouth FOLDER [--plays N]`.

FOLDER holds films with their truth: `NAME.mp4` with `NAME.json` (format `dealsim-truth-1`), or
folders that `shoe-reader simulate` wrote. With `--plays`, plays at shoes drawn at random (held-out
decks) are watched too, as patches. Times are of the processor, one core.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import cv2
import numpy as np

from datasets.dealing.style import COUNT, PLAIN, styles
from datasets.mouth.filmed import rehearsed, table_view
from datasets.mouth.plays import Play
from datasets.mouth.shoes import Kind, Shoe
from models.evaluate.dealing_films import Json, table_file
from models.evaluate.mouth_profile import profile
from models.evaluate.mouth_score import Score, Truth, judge
from models.networks.classifier import onnx_runner
from models.networks.model_card import SHIPPED, print_or_ship
from models.train.mouth import INPUT
from vision.config.table import load
from vision.errors import ConfigurationError
from vision.sight.geometry.plane import TableView
from vision.sight.mouth.measurement import LABELS, Infer, MouthMeter
from vision.sight.mouth.patch import MouthPatch
from vision.sight.mouth.signs import MouthEvent, MouthSign
from vision.sight.mouth.watcher import MouthWatcher

# Longest exposure of the plays, s.
LONGEST_S = 0.012
# Frames a second of the plays drawn at random, and their seed: not those of training.
RATES = (10, 15, 20, 25, 30, 60)
SEED = 90_001


# --- films ---


def films(folder: Path) -> Iterator[tuple[str, Path, TableView, Truth]]:
    """Yield the name, video, view and truth of each film in a folder."""
    for film in sorted(folder.glob("*.mp4")):
        beside = film.with_suffix(".json")
        if beside.exists():
            truth = json.loads(beside.read_text("utf-8"))
            yield film.stem, film, _view(truth, film), other_truth(truth)
    for table in sorted([*folder.glob("table.toml"), *folder.glob("*/table.toml")]):
        truth = json.loads((table.parent / "truth.json").read_text("utf-8"))
        view = load(table).view.table_view()
        yield table.parent.name, table.parent / "deal.mp4", view, our_truth(truth)


def _view(truth: Json, film: Path) -> TableView:
    with tempfile.TemporaryDirectory() as name:
        table = Path(name) / "table.toml"
        table.write_text(table_file(truth, film, Path(name) / "log.sqlite"), "utf-8")
        return load(table).view.table_view()


def other_truth(truth: Json) -> Truth:
    """Return the truth of a film of the other renderer."""
    found = Truth()
    for card in truth["cards"]:
        if card.get("t_out") is not None:
            cut = card["kind"] == "cut"
            found.departures.append(
                (card["t_out"] * 1000, MouthSign.CUT if cut else MouthSign.LEFT)
            )
    for fault in truth["faults"]:
        at = fault["t"] * 1000
        if fault["code"] == "RETURNED_TO_SHOE":
            found.others.append((at, MouthSign.RETURNED))
            # The truth has a card that was drawn twice only once, by its second time.
            first = re.search(r"left the shoe at ([0-9.]+) s", fault["detail"])
            if first is not None:
                found.departures.append((float(first[1]) * 1000, MouthSign.LEFT))
        elif fault["code"] == "EXPOSED_IN_SHOE":
            found.others.append((at, MouthSign.EXPOSED))
    found.departures.sort()
    return found


def our_truth(truth: Json) -> Truth:
    """Return the truth of a film of our simulator."""
    found = Truth()
    second = {f["order"] for f in truth["faults"] if f["code"] == "TWO_CARDS_OUT"}
    for card in truth["cards"]:
        for out, back in card["returns_ms"]:
            found.departures.append((out, MouthSign.LEFT))
            found.others.append((back, MouthSign.RETURNED))
        if card["order"] not in second:
            twice = card["order"] + 1 in second
            sign = MouthSign.TOGETHER if twice else MouthSign.LEFT
            found.departures.append((card["out_ms"], sign))
    exposed = (f for f in truth["faults"] if f["code"] == "EXPOSED_IN_SHOE")
    found.others += [(fault["at_ms"], MouthSign.EXPOSED) for fault in exposed]
    if truth["cut_ms"] is not None:
        found.departures.append((truth["cut_ms"], MouthSign.CUT))
    found.departures.sort()
    return found


def watched(
    video: Path, watcher: MouthWatcher, times: list[float], lines: list[str]
) -> Iterator[MouthEvent]:
    """Yield what the watcher says of a film; add the ms of each look, and a line on it."""
    capture = cv2.VideoCapture(str(video))
    fps, number = capture.get(cv2.CAP_PROP_FPS), 0
    while True:
        read, image = capture.read()
        if not read:
            return
        at = round(1000 * number / fps)
        began = time.thread_time()
        events = watcher.look(np.asarray(image, np.uint8), at)
        times.append((time.thread_time() - began) * 1000)
        lines.append(line(watcher, at, events))
        yield from events
        number += 1


def line(watcher: MouthWatcher, at: int, events: Iterable[MouthEvent]) -> str:
    """Return what the watcher thinks, in a line."""
    found = watcher.last
    if found is None:
        return ""
    numbers = " ".join(f"{p:.2f}" for p in (*found.phases, *watcher.belief.phases, found.shift))
    shown = " ".join(f"{p:.2f}" for p in (*found.shown, found.hand, found.together))
    said = " ".join(f"{e.sign}({e.probability:.2f})" for e in events)
    return f"{at / 1000:8.2f} {numbers}  {shown}  {watcher.stage.name} {said}"


# --- plays drawn at random ---


def play_events(watcher: MouthWatcher, play: Play, fps: float) -> Iterator[MouthEvent]:
    """Yield what the watcher says of a play at so many frames a second."""
    for number in range(int(play.length * fps)):
        at = number / fps
        smear = play.speed(at) * min(0.5 / fps, LONGEST_S)
        patch = play.shoe.camera(play.shoe.draw(play.moment(at), smear=smear), play.rng)
        yield from watcher.look(patch, round(1000 * at))


def play_truth(play: Play) -> Truth:
    """Return the truth of a play."""
    found = Truth(others=[(1000 * at, MouthSign.RETURNED) for at in play.returns()])
    found.others += [(1000 * at, MouthSign.EXPOSED) for at in play.exposures()]
    for at, kind, twice in play.departures():
        sign = MouthSign.TOGETHER if twice else MouthSign.LEFT
        found.departures.append((1000 * at, MouthSign.CUT if kind is Kind.CUT else sign))
    return found


def watch_plays(count: int, infer: Infer, *, split: str = "test") -> Score:
    """Return the counts of so many plays of four actions, any frame rate."""
    score = Score()
    for number in range(count):
        rng = np.random.default_rng([SEED, number])
        play = Play(Shoe(rng, split), rng, actions=4)
        watcher = MouthWatcher(MouthMeter(np.asarray, infer))
        events = play_events(watcher, play, float(rng.choice(RATES)))
        judge(events, play_truth(play), score, f"play {number}")
    return score


# --- films of our simulator ---


def watch_shows(count: int, infer: Infer, *, split: str, plain: bool) -> Score:
    """Return the counts of so many films of two coups each, drawn and watched picture by picture.

    In each film something goes wrong with a card; in some the cut card comes. `plain`: the demo's
    dealer only, else all styles of the split in turn.
    """
    score = Score()
    for number in range(count):
        rng = np.random.default_rng([SEED, number, int(plain)])
        show = rehearsed(rng, split, PLAIN if plain else styles(split)[number % COUNT[split]])
        patch = MouthPatch(table_view(show.look))
        watcher = MouthWatcher(MouthMeter(patch, infer))
        events = [e for image, at in show.frames() for e in watcher.look(image, at)]
        name = f"film {number} ({show.look.style.name}, {show.look.fps:g} a second)"
        judge(events, our_truth(show.truth()), score, name)
    return score


def watch_films(folder: Path, infer: Infer, trace: Path | None) -> None:
    """Watch every film of a folder; print its counts, and all of them together."""
    total, times = Score(), list[float]()
    for name, video, view, truth in films(folder):
        score, lines = Score(), list[str]()
        watcher = MouthWatcher(MouthMeter(MouthPatch(view), infer))
        events = list(watched(video, watcher, times, lines))
        judge(events, truth, score, name)
        judge(events, truth, total, name)
        if trace is not None:
            (trace / f"{name}.txt").write_text("\n".join(lines), "utf-8")
        print(*score.notes, f"{name}: {score}", sep="\n", flush=True)
    if not total.cards:
        raise ConfigurationError(f"{folder}: holds no film with its truth")
    p50, p99 = np.percentile(times, [50, 99])
    print(f"all: {total}\nms a frame on one core: p50 {p50:.2f}, p99 {p99:.2f}")


def tables(score: Score) -> dict[str, dict[str, str | int | float]]:
    """Return the tables of a model card."""
    signs = {f"{sign} seen": f"{n[0]} of {n[1]}, false {n[2]}" for sign, n in score.signs.items()}
    return {
        "measured": {
            "cards": score.cards,
            "told_within_300_ms": score.on_time,
            "missed": score.missed,
            "false": score.false,
            **{name.replace(" ", "_"): said for name, said in sorted(signs.items())},
        }
    }


def main() -> None:
    """Watch every film and so many plays; print the counts, or ship the file with its card."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="films with their truth")
    parser.add_argument("--plays", type=int, default=0, help="plays drawn at random to watch")
    parser.add_argument("--shows", type=int, default=0, help="films of our simulator to watch")
    parser.add_argument("--plain", action="store_true", help="films of the demo's dealer alone")
    parser.add_argument("--split", choices=["train", "test"], default="test",
                        help="of the plays and films drawn (test: held out)")  # fmt: skip
    parser.add_argument("--onnx", type=Path, default=SHIPPED / "mouth.onnx")
    parser.add_argument("--edges", action="store_true", help="without the network, to compare")
    parser.add_argument("--trace", type=Path, help="folder for a line a frame of each film")
    parser.add_argument("--ship", action="store_true", help="put it into models/, with its card")
    parser.add_argument("--trained", default="", help="how this one was trained, for its card")
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    infer = profile if arguments.edges else onnx_runner(arguments.onnx, threads=1)[1]
    if arguments.folder is not None:
        watch_films(arguments.folder, infer, arguments.trace)
    if arguments.shows:
        shown = watch_shows(arguments.shows, infer, split=arguments.split, plain=arguments.plain)
        print(*shown.notes, f"films of our simulator: {shown}", sep="\n")
    if not arguments.plays:
        return
    score = watch_plays(arguments.plays, infer, split=arguments.split)
    print(*score.notes, f"plays: {score}", sep="\n")
    if arguments.ship:
        card = {
            "name": "mouth",
            "task": "whether a card is out of the shoe's mouth, how far, and what it shows",
            "network": "MouthNet, 0.04 million parameters",
            "licence": "Apache-2.0; trained without ultralytics",
            "recipe": "python -m models.train.mouth",
            "trained": arguments.trained,
            "input": INPUT,
            "labels": list(LABELS),
        }
        command = f"python -m models.evaluate.mouth --plays {arguments.plays}"
        print_or_ship(arguments, command, tables(score), card)


if __name__ == "__main__":
    main()
