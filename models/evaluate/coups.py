"""Deal simulated coups and compare what the reader publishes with the truth.

`python -m models.evaluate.coups`: renders films with `shoe-reader simulate` on held-out decks and
tables, runs `shoe-reader run` on each as a black box, and reads its message file. The film of a
shoe without anything to note is removed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from datasets.faces.registry import deck_names
from vision.game.coup.fault_table import KINDS

DEALING = ("face-up", "face-down", "punto-first")
# Faults by which a card could not be read or trusted, or that the machine ails (a disk that is
# slow while two films are read): they are no accusation of the dealer.
OPENLY_UNSURE = {"UNREAD", "MISREAD_RISK", "READ_CONFLICT", "REVIEW", "DEADLINE_PASSED"} | {
    code for code, kind in KINDS.items() if kind.machine
}


@dataclass(slots=True)
class Tally:
    """Counts over videos; `wrong` must stay 0."""

    coups: int = 0
    right: int = 0
    unread: int = 0
    wrong: int = 0
    missing: int = 0
    faults: int = 0
    raised: int = 0
    false_alerts: int = 0
    notes: list[str] = field(default_factory=list)


def options_of(number: int, arguments: argparse.Namespace) -> list[str]:
    """Return how film `number` is dealt and looks: all held-out decks and dealings come in turn."""
    rng = np.random.default_rng([arguments.seed, number])
    decks = deck_names("test")
    tilt, lens, noise = rng.uniform(0, 20), rng.uniform(-0.06, 0.06), rng.uniform(1, 5)
    pace = rng.uniform(1, arguments.pace)
    return [
        "--coups", str(arguments.coups), "--fault-every", str(arguments.fault_every),
        "--seed", str(1000 * arguments.seed + number),
        "--dealing", DEALING[number % len(DEALING)], "--deck", decks[number % len(decks)],
        "--size", arguments.size, "--fps", str(arguments.fps),
        "--pace", f"{pace:.2f}", "--noise", f"{noise:.1f}",
        "--tilt", f"{tilt:.1f}", "--lens", f"{lens:.3f}",
    ]  # fmt: skip


def run_film(folder: Path, options: list[str]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Render a film into a folder, read it, and return truth and messages."""
    program = [sys.executable, "-m", "vision.cli"]
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([*program, "simulate", str(folder), "--quiet", *options], check=True)  # noqa: S603
    messages = folder / "messages.jsonl"
    subprocess.run(  # noqa: S603
        [*program, "run", str(folder / "table.toml"), "--fast", "--no-broker",
         "--messages", str(messages)],
        check=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    truth = json.loads((folder / "truth.json").read_text("utf-8"))
    return truth, [json.loads(line) for line in messages.read_text("utf-8").splitlines()]


def compare(truth: dict[str, Any], messages: list[dict[str, Any]], tally: Tally, name: str) -> None:
    """Count every coup of the truth against the last result published for it."""
    results: dict[int, dict[str, Any]] = {}
    published: dict[int, list[dict[str, Any]]] = {}
    alerts: Counter[tuple[int, str]] = Counter()
    for message in messages:
        payload = message["payload"]
        if message["topic"].endswith("/coup/result"):
            results[payload["coup"]] = payload
            published.setdefault(payload["coup"], []).append(payload)
        elif message["topic"].endswith("/alert"):
            alerts[payload["coup"], payload["code"]] += 1
    for coup in truth["coups"]:
        number = coup["coup"]
        if not coup["faults"]:
            judge(coup, published.get(number, []), tally, name)
        wanted = {f["code"] for f in truth["faults"] if f["coup"] == number}
        tally.faults += len(wanted)
        raised = {code for (at, code) in alerts if at == number}
        tally.raised += len(wanted & raised)
        for code in wanted - raised:
            tally.notes.append(f"{name} coup {number}: {code} was not raised ({raised})")
        for code in raised - wanted - OPENLY_UNSURE:
            if not wanted:
                tally.false_alerts += 1
                tally.notes.append(f"{name} coup {number}: {code} raised on a clean coup")
    for number in set(results) - {coup["coup"] for coup in truth["coups"]}:
        tally.wrong += 1
        tally.notes.append(f"{name}: coup {number} was never dealt: {short(results[number])}")


def judge(coup: dict[str, Any], published: list[dict[str, Any]], tally: Tally, name: str) -> None:
    """Count one coup dealt without fault by all results that were published for it.

    What a coup with a fault comes to is the supervisor's to rule, so only its fault is judged.
    """
    tally.coups += 1
    wrong = [result for result in published if result["winner"] and not agrees(result, coup)]
    if wrong:
        tally.wrong += 1
    elif not published:
        tally.missing += 1
    elif published[-1]["winner"] is None:
        tally.unread += 1
    else:
        tally.right += 1
        return
    last = short((wrong or published)[-1]) if published else "nothing"
    tally.notes.append(f"{name} coup {coup['coup']}: published {last}, truth {coup}")


def agrees(result: dict[str, Any], coup: dict[str, Any]) -> bool:
    """Whether winner, points and cards of a published result are those dealt."""
    return bool(
        result["winner"] == coup["winner"]
        and result["punto"]["cards"] == coup["punto"]
        and result["banco"]["cards"] == coup["banco"]
        and result["punto"]["points"] == coup["punto_points"]
        and result["banco"]["points"] == coup["banco_points"]
    )


def short(result: dict[str, Any]) -> str:
    """Return a result in a few words."""
    hands = (result["punto"]["cards"], result["banco"]["cards"])
    return f"{result['state']} {result.get('why') or ''} {result['winner']} {hands}"


def summary(tally: Tally) -> str:
    """Return the counts in words."""
    return (
        f"clean coups {tally.coups}: right {tally.right}, openly unread {tally.unread}, "
        f"wrong {tally.wrong}, missing {tally.missing}; faults {tally.faults}, "
        f"raised {tally.raised}; false alerts {tally.false_alerts}"
    )


def main() -> int:
    """Deal, read, compare, print; exit status 1 if any result was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--films", type=int, default=3, help="each with its own look and shoe")
    parser.add_argument("--first", type=int, default=0, help="go on with this film")
    parser.add_argument("--coups", type=int, default=20, help="coups in each film")
    parser.add_argument("--fault-every", type=int, default=10, help="a fault in every n-th coup")
    parser.add_argument("--seed", type=int, default=4001)
    parser.add_argument("--out", type=Path, default=Path("runs/coups"))
    parser.add_argument("--size", default="1280x720")
    parser.add_argument("--fps", type=float, default=15)
    parser.add_argument("--pace", type=float, default=1.6, help="of the fastest dealer")
    parser.add_argument("--jobs", type=int, default=1, help="films read at the same time")
    arguments = parser.parse_args()
    tally = Tally()

    def deal(number: int) -> tuple[str, dict[str, Any], list[dict[str, Any]], Path]:
        options = options_of(number, arguments)
        folder = arguments.out / f"{arguments.seed}-{number:03d}"
        truth, messages = run_film(folder, options)
        return f"film {number} ({options[7]}, {options[9]})", truth, messages, folder

    numbers = range(arguments.first, arguments.first + arguments.films)
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for name, truth, messages, folder in pool.map(deal, numbers):
            known = len(tally.notes)
            compare(truth, messages, tally, name)
            print(*tally.notes[known:], f"{name}, so far: {summary(tally)}", sep="\n", flush=True)
            if len(tally.notes) == known:
                shutil.rmtree(folder)
    print(summary(tally))
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
