"""Deal simulated coups in many dealers' styles and compare what is published with the truth.

`python -m models.evaluate.coups`: renders films with `shoe-reader simulate`, one style after the
other of a split, runs `shoe-reader run` on each as a black box, and reads its message file. The
split `train` is there to tune on; `held-out` has decks, tables, hands and motions never trained on,
and measures. With `--manners`, each film has one of `datasets.dealing.style.Manner` beside its
style, in turn, and what was made of each is printed apart. The film of a shoe without anything to
note is removed, unless `--keep` is given: then a film that is there is only read.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from datasets.dealing.exits import Exits, compare_exits, cut_seen
from datasets.dealing.manners import BURNS, SQUEEZES
from datasets.dealing.style import COUNT, Manner
from datasets.faces.registry import deck_names
from models.evaluate.dealing_films import Alarms, raises
from vision.game.coup.fault_table import OPENLY_UNSURE
from vision.storage.log_reader import message_lines

DEALING = ("face-up", "face-down", "punto-first")
# The faults that `--cheats` deals: those that only sight tells, and the tableau never.
CHEATS = ("switched", "two-at-once", "returned-to-shoe", "exposed-in-shoe")
SPLITS = {"train": "train", "held-out": "test"}
Json = dict[str, Any]
# Every so many films begin late in the shoe, so that the cut card passes; and where it lies, in
# cards, of 8 decks, and how many cards a coup takes: fewer, and the film ends before it.
CUT_EVERY, CUT_AT, CARDS_A_COUP = 4, 402, 4.94


@dataclass(slots=True)
class Tally:
    """Counts over videos; `wrong` must stay 0."""

    coups: int = 0
    right: int = 0
    unread: int = 0
    wrong: int = 0
    missing: int = 0
    raised: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    false_alerts: int = 0
    cuts: int = 0
    cuts_seen: int = 0
    exits: Exits = field(default_factory=Exits)
    alarms: Alarms = field(default_factory=Alarms)
    notes: list[str] = field(default_factory=list)

    def __add__(self, other: Tally) -> Tally:
        """Return the counts of both together."""
        found: Tally = _together(self, other)
        return found


def _together(one: Any, two: Any) -> Any:
    """Return the sum of two counts, or of two data classes of counts, field by field."""
    if not is_dataclass(one):
        return one + two
    pairs = ((getattr(one, f.name), getattr(two, f.name)) for f in fields(one))
    kind: Any = type(one)
    return kind(*(_together(*pair) for pair in pairs))


def options_of(number: int, arguments: argparse.Namespace) -> list[str]:
    """Return how film `number` is dealt and looks: all styles, decks and dealings come in turn."""
    rng = np.random.default_rng([arguments.seed, number])
    split = SPLITS[arguments.split]
    decks = deck_names(split)
    tilt, lens, noise = rng.uniform(0, 20), rng.uniform(-0.06, 0.06), rng.uniform(1, 5)
    pace = rng.uniform(1, arguments.pace)
    manner = list(Manner)[number % len(Manner)] if arguments.manners else None
    ends = number % CUT_EVERY == CUT_EVERY - 1 or manner is Manner.CUT_CARDS
    start = CUT_AT - CARDS_A_COUP * arguments.coups if ends and manner not in BURNS else 0
    # Players squeeze what lies face down.
    dealing = DEALING[1 + number % 2] if manner in SQUEEZES else DEALING[number % len(DEALING)]
    style = ["--style", str((arguments.seed + number) % COUNT[split])]
    style = [] if arguments.plain else style
    rate = [] if arguments.fps is None else ["--fps", str(arguments.fps)]
    return [
        "--coups", str(arguments.coups), "--fault-every", str(arguments.fault_every),
        "--seed", str(1000 * arguments.seed + number),
        "--dealing", dealing, "--deck", decks[number % len(decks)],
        "--split", split, *style,
        *(["--manner", manner] if manner else []), *(["--burn"] if manner in BURNS else []),
        *(word for fault in CHEATS if arguments.cheats for word in ("--fault", fault)),
        "--from", str(max(0, int(start))),
        "--size", arguments.size, *rate,
        "--pace", f"{pace:.2f}", "--noise", f"{noise:.1f}",
        "--tilt", f"{tilt:.1f}", "--lens", f"{lens:.3f}",
    ]  # fmt: skip


def run_film(folder: Path, options: list[str], *, keep: bool = False) -> tuple[Json, list[Json]]:
    """Render a film into a folder unless it is kept there, read it, return truth and messages."""
    program = [sys.executable, "-m", "vision.cli"]
    # Written once a film is whole: one that was cut off, or is of other options, is not read.
    made, wanted = folder / "options.txt", " ".join(options)
    if not (keep and made.exists() and made.read_text("utf-8") == wanted):
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([*program, "simulate", str(folder), "--quiet", *options], check=True)  # noqa: S603
        made.write_text(wanted, "utf-8")
    log = folder / "run.sqlite"
    log.unlink(missing_ok=True)
    subprocess.run(  # noqa: S603
        [*program, "run", str(folder / "table.toml"), "--fast", "--no-broker",
         "--log", str(log)],
        check=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    truth = json.loads((folder / "truth.json").read_text("utf-8"))
    return truth, [json.loads(line) for line in message_lines(log)]


def compare(truth: Json, messages: list[Json], tally: Tally, name: str) -> None:
    """Count every coup of the truth against the results published for it, and its alerts."""
    published: dict[int, list[Json]] = {}
    alerts: dict[int, set[str]] = {}
    for message in messages:
        payload = message["payload"]
        if message["topic"].endswith("/coup/result"):
            published.setdefault(payload["coup"], []).append(payload)
        elif raises(message):
            alerts.setdefault(payload["coup"], set()).add(payload["code"])
    shown: defaultdict[int, set[str]] = defaultdict(set)
    for fault in truth["faults"]:
        shown[shown_in(fault, truth["coups"])].add(fault["code"])
    for coup in truth["coups"]:
        number = coup["coup"]
        if not coup["faults"] and not shown[number]:
            judge(coup, published.get(number, []), tally, name)
        if coup["faults"] and not shown[number]:
            continue  # its fault was to be seen before, and what follows from it is none
        compare_alerts(shown[number], alerts.get(number, set()), tally, f"{name} coup {number}")
    for number in set(published) - {coup["coup"] for coup in truth["coups"]}:
        tally.wrong += 1
        tally.notes.append(f"{name}: coup {number} was never dealt: {short(published[number][-1])}")
    if truth["cut_ms"] is not None:
        tally.cuts += 1
        tally.cuts_seen += cut_seen(messages)
    compare_exits(truth["cards"], messages, tally.exits)
    faulty = {fault["coup"] for fault in truth["faults"]}
    tally.alarms.count(messages, faulty, truth["frames"] / truth["fps"])


def shown_in(fault: Json, coups: list[Json]) -> int:
    """Return the coup that is on when a fault is to be seen.

    A face in the mouth may show while the coup before that card's own is on.
    """
    begun = [c["coup"] for c in coups if c.get("start_ms", 0) <= fault.get("at_ms", -1)]
    own: int = fault["coup"]
    return min(own, max(begun, default=own))


def compare_alerts(wanted: set[str], raised: set[str], tally: Tally, name: str) -> None:
    """Count what was raised in a coup of what there was, and what was raised in a clean one."""
    tally.raised.update(wanted & raised)
    tally.missed.update(wanted - raised)
    for code in wanted - raised:
        tally.notes.append(f"{name}: {code} was not raised ({raised})")
    for code in set() if wanted else raised - OPENLY_UNSURE:
        tally.false_alerts += 1
        tally.notes.append(f"{name}: {code} raised on a clean coup")


def judge(coup: Json, published: list[Json], tally: Tally, name: str) -> None:
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


def agrees(result: Json, coup: Json) -> bool:
    """Whether winner, points and cards of a published result are those dealt."""
    return bool(
        result["winner"] == coup["winner"]
        and result["punto"]["cards"] == coup["punto"]
        and result["banco"]["cards"] == coup["banco"]
        and result["punto"]["points"] == coup["punto_points"]
        and result["banco"]["points"] == coup["banco_points"]
    )


def short(result: Json) -> str:
    """Return a result in a few words."""
    hands = (result["punto"]["cards"], result["banco"]["cards"])
    return f"{result['state']} {result.get('why') or ''} {result['winner']} {hands}"


def summary(tally: Tally) -> str:
    """Return the counts in words."""
    codes = sorted({*tally.raised, *tally.missed})
    counts = {code: (tally.raised[code], tally.raised[code] + tally.missed[code]) for code in codes}
    incidents = ", ".join(f"{code} {raised} of {there}" for code, (raised, there) in counts.items())
    raised, missed = tally.raised.total(), tally.missed.total()
    return (
        f"clean coups {tally.coups}: right {tally.right}, openly unread {tally.unread}, "
        f"wrong {tally.wrong}, missing {tally.missing}; false alerts {tally.false_alerts}\n"
        f"incidents raised {raised} of {raised + missed}: {incidents or 'none'}\n"
        f"{tally.exits}; cut cards seen {tally.cuts_seen} of {tally.cuts}\n{tally.alarms}"
    )


def table(tallies: Mapping[str, Tally]) -> str:
    """Return the counts of each manner (or style) as rows, the weakest to be seen."""
    heads = ("manner", "clean", "right", "unread", "wrong", "accused", "incidents", "out in time")
    rows = [f"| {' | '.join(heads)} | cut cards |", "|---" * (len(heads) + 1) + "|"]
    for name, tally in sorted(tallies.items()):
        raised, missed, exits = tally.raised.total(), tally.missed.total(), tally.exits
        rows.append(
            f"| {name} | {tally.coups} | {tally.right} | {tally.unread + tally.missing} "
            f"| {tally.wrong} | {tally.false_alerts} | {raised} of {raised + missed} "
            f"| {exits.in_time} of {exits.cards} | {tally.cuts_seen} of {tally.cuts} |"
        )
    return "\n".join(rows)


def main() -> int:
    """Deal, read, compare, print; exit status 1 if any result was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--films", type=int, default=3, help="each with its own look and shoe")
    parser.add_argument("--first", type=int, default=0, help="go on with this film")
    parser.add_argument("--coups", type=int, default=20, help="coups in each film")
    parser.add_argument("--fault-every", type=int, default=10, help="a fault in every n-th coup")
    parser.add_argument("--seed", type=int, default=4001)
    parser.add_argument("--cheats", action="store_true", help=f"no faults but {', '.join(CHEATS)}")
    parser.add_argument("--manners", action="store_true", help="each film in another manner")
    parser.add_argument("--plain", action="store_true", help="one plain dealer, as in the demo")
    parser.add_argument("--out", type=Path, default=Path("runs/coups"))
    parser.add_argument("--keep", action="store_true", help="films, and render none that is there")
    parser.add_argument("--size", default="1280x720")
    parser.add_argument("--fps", type=float, help="of every film (that of the style's camera)")
    parser.add_argument("--split", choices=list(SPLITS), default="held-out", help="(held-out)")
    parser.add_argument("--pace", type=float, default=1.6, help="of the fastest dealer")
    parser.add_argument("--jobs", type=int, default=1, help="films read at the same time")
    arguments = parser.parse_args()
    tallies: defaultdict[str, Tally] = defaultdict(Tally)

    def deal(number: int) -> tuple[str, Json, list[Json], Path]:
        options = options_of(number, arguments)
        folder = arguments.out / f"{arguments.split}-{arguments.seed}-{number:03d}"
        truth, messages = run_film(folder, options, keep=arguments.keep)
        name = f"film {number} ({options[7]}, {options[9]}, style {truth['style']})"
        return name, truth, messages, folder

    numbers = range(arguments.first, arguments.first + arguments.films)
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for name, truth, messages, folder in pool.map(deal, numbers):
            film = Tally()
            compare(truth, messages, film, name)
            tallies[truth["style"].rpartition(", ")[2]] += film
            together = sum(tallies.values(), Tally())
            print(*film.notes, f"{name}, so far: {summary(together)}", sep="\n", flush=True)
            if not (film.notes or arguments.keep):
                shutil.rmtree(folder)
    print(*[table(tallies)] if arguments.manners else (), summary(together), sep="\n")
    return 1 if together.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
