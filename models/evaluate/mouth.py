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
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np

from datasets.mouth.plays import Play
from datasets.mouth.shoes import Kind, Shoe
from models.evaluate.dealing_films import Json, table_file
from models.evaluate.mouth_profile import profile
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

# A departure is told on time up to so many ms after the card is wholly out; one told within these
# bounds of it is that of the card, others are false.
ON_TIME_MS = 300
EARLY_MS, LATE_MS = 200, 1000
# Other signs belong to a moment within so many ms.
NEAR_MS = 2500
# Longest exposure of the plays, s.
LONGEST_S = 0.012
# Frames a second of the plays drawn at random, and their seed: not those of training.
RATES = (15, 20, 25, 30, 60)
SEED = 90_001
DEPARTURES = {MouthSign.LEFT, MouthSign.CUT, MouthSign.TOGETHER}


@dataclass(slots=True)
class Truth:
    """What happens at a mouth, in ms: departures with their signs, and the other signs."""

    departures: list[tuple[float, MouthSign]] = field(default_factory=list)
    others: list[tuple[float, MouthSign]] = field(default_factory=list)


@dataclass(slots=True)
class Score:
    """Counts over films."""

    cards: int = 0
    on_time: int = 0
    early: int = 0
    late: int = 0
    missed: int = 0
    false: int = 0
    delays: list[float] = field(default_factory=list)
    signs: dict[MouthSign, list[int]] = field(default_factory=dict)
    sure: list[tuple[float, bool]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def of(self, sign: MouthSign) -> list[int]:
        """Return the counts of a sign: seen, there were, false."""
        return self.signs.setdefault(sign, [0, 0, 0])

    def __str__(self) -> str:
        """Return the counts in words."""
        middle = f"{np.median(self.delays):.0f} ms after it is out" if self.delays else "never"
        share = self.on_time / max(self.cards, 1)
        counts = (
            f"{self.cards} cards: told within {ON_TIME_MS} ms {self.on_time} ({share:.1%}), before "
            f"{self.early}, later {self.late}, missed {self.missed}, false {self.false}; median "
            f"{middle}"
        )
        lines = [counts]
        for sign, (seen, there, false) in sorted(self.signs.items()):
            lines.append(f"  {sign}: {seen} of {there}, false {false}")
        return "\n".join([*lines, f"  probabilities: {self._reliability()}"])

    def _reliability(self) -> str:
        """Return how often departures of a probability were right."""
        parts = []
        for low, high in ((0.0, 0.7), (0.7, 0.85), (0.85, 0.95), (0.95, 1.01)):
            right = [ok for p, ok in self.sure if low <= p < high]
            if right:
                parts.append(
                    f"{low:.2f} to {min(high, 1):.2f}: {np.mean(right):.1%} of {len(right)}"
                )
        return ", ".join(parts)


def judge(events: Iterable[MouthEvent], truth: Truth, score: Score, name: str) -> None:
    """Count the events of a film against its truth."""
    events = list(events)
    told = [e for e in events if e.sign in DEPARTURES]
    score.cards += len(truth.departures)
    for out, sign in truth.departures:
        near = [e for e in told if out - EARLY_MS <= e.at <= out + LATE_MS]
        if sign is not MouthSign.LEFT:
            score.of(sign)[1] += 1
        if not near:
            score.missed += 1
            score.notes.append(f"{name}: {sign} at {out / 1000:.2f} s missed")
            continue
        event = near[0]
        told.remove(event)
        _place(event.at - out, score)
        score.sure.append((event.probability, True))
        if event.sign is not MouthSign.LEFT:
            score.of(event.sign)[0 if event.sign is sign else 2] += 1
        if event.sign is not sign:
            score.notes.append(f"{name}: {sign} at {out / 1000:.2f} s told as {event.sign}")
    for event in told:
        score.false += 1
        score.sure.append((event.probability, False))
        score.notes.append(f"{name}: false {event.sign} at {event.at / 1000:.2f} s, "
                           f"p {event.probability:.2f}")  # fmt: skip
    _others(events, truth, score, name)


def _place(delay: float, score: Score) -> None:
    score.delays.append(delay)
    score.early += delay < 0
    score.on_time += 0 <= delay <= ON_TIME_MS
    score.late += delay > ON_TIME_MS


def _others(events: list[MouthEvent], truth: Truth, score: Score, name: str) -> None:
    """Count cards returned and exposed."""
    for sign in (MouthSign.RETURNED, MouthSign.EXPOSED):
        told = [e for e in events if e.sign is sign]
        for at, _ in (other for other in truth.others if other[1] is sign):
            score.of(sign)[1] += 1
            near = [e for e in told if abs(e.at - at) < NEAR_MS]
            if near:
                score.of(sign)[0] += 1
                told.remove(near[0])
            else:
                score.notes.append(f"{name}: {sign} at {at / 1000:.2f} s missed")
        for event in told:
            score.of(sign)[2] += 1
            score.notes.append(f"{name}: false {sign} at {event.at / 1000:.2f} s")


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
    found = Truth([(card["out_ms"], MouthSign.LEFT) for card in truth["cards"]])
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


def watch_plays(count: int, infer: Infer) -> Score:
    """Return the counts of so many plays of four actions, held-out decks, any frame rate."""
    score = Score()
    for number in range(count):
        rng = np.random.default_rng([SEED, number])
        play = Play(Shoe(rng, "test"), rng, actions=4)
        watcher = MouthWatcher(MouthMeter(np.asarray, infer))
        events = play_events(watcher, play, float(rng.choice(RATES)))
        judge(events, play_truth(play), score, f"play {number}")
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
    if not arguments.plays:
        return
    score = watch_plays(arguments.plays, infer)
    print(*score.notes, f"plays: {score}", sep="\n")
    if arguments.ship:
        card = {
            "name": "mouth",
            "task": "whether a card is out of the shoe's mouth, how far, and what it shows",
            "network": "MouthNet, 0.03 million parameters",
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
