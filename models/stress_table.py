"""Deal simulated sightings to the tracker and print what becomes of the coups against the noise.

`python -m models.stress_table`: see `deploy/reading.md`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

import cv2

from models.evaluate.coups import OPENLY_UNSURE
from models.stress.fit import Measured, measure
from models.stress.sensor import MEAN_SCORE, Noise
from models.stress.session import Bench, Session
from vision.errors import ConfigurationError
from vision.sight.tracking.tracker import Uses

TIMES = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0)  # multiples of the measured noise in the curve
# Alerts that allege no fault of the dealer; raised on a clean coup, they put it in doubt at most.
NO_ALLEGATION = OPENLY_UNSURE | {
    "REVIEW",
    "CARD_UNACCOUNTED",
    "LAST_COUP",
    "CUT_MISSING",
    "CUT_CARD",
}


@dataclass(slots=True)
class Tally:
    """Counts over coups; `false` are clean coups with a dealer's fault alleged."""

    clean: Counter[str] = field(default_factory=Counter)
    faulty: Counter[str] = field(default_factory=Counter)
    false: int = 0
    faults: int = 0
    raised: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    cpu_s: float = 0.0
    film_s: float = 0.0
    notes: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take the counts of another."""
        for name in ("clean", "faulty", "codes", "missed"):
            getattr(self, name).update(getattr(other, name))
        self.false += other.false
        self.faults += other.faults
        self.raised += other.raised
        self.cpu_s += other.cpu_s
        self.film_s += other.film_s
        self.notes += other.notes


def judge(seed: int, bench: Bench) -> Tally:
    """Run one session and count its coups."""
    cv2.setNumThreads(1)
    began_s = time.process_time()
    session, tally = Session(seed, bench), Tally()
    for verdict in session.run():
        wanted, raised = verdict.wanted, verdict.raised
        tally.faults += len(wanted)
        tally.raised += len(wanted & raised)
        tally.missed.update(wanted - raised)
        alleged = raised - NO_ALLEGATION
        wanted = wanted - {"CUT_CARD"}  # no fault: its coup is clean
        (tally.faulty if wanted else tally.clean)[verdict.outcome] += 1
        if not wanted:
            tally.false += bool(alleged)
            tally.codes.update(alleged)
        if (not wanted and (alleged or verdict.outcome != "right")) or wanted - raised:
            number = verdict.dealt.coup.number
            tally.notes.append(
                f"seed {seed} coup {number} ({session.style.name}, {session.fps} fps, at "
                f"{verdict.dealt.began:.1f}): {verdict.outcome}, wanted {sorted(wanted)}, raised "
                f"{sorted(raised)}; {verdict.shown}; dealt "
                f"{[str(c) for c in verdict.dealt.coup.hand('PUNTO')]} "
                f"{[str(c) for c in verdict.dealt.coup.hand('BANCO')]}"
            )
    tally.cpu_s = time.process_time() - began_s
    tally.film_s = session.dealt[-1].ended
    return tally


def _judged(arguments: tuple[int, Bench]) -> Tally:
    return judge(*arguments)


def tally_of(bench: Bench, seeds: Sequence[int], jobs: int) -> Tally:
    """Run sessions, several at a time, and return their counts together."""
    total = Tally()
    work = [(seed, bench) for seed in seeds]
    if jobs == 1:
        for each in work:
            total.add(judge(*each))
        return total
    with ProcessPoolExecutor(jobs) as pool:
        for tally in pool.map(_judged, work, chunksize=8):
            total.add(tally)
    return total


def row(name: str, tally: Tally) -> str:
    """Return a row of the table."""
    count = tally.clean.total()
    shares = "  ".join(
        f"{100 * tally.clean[word] / max(count, 1):8.2f}" for word in ("right", "doubt", "missing")
    )
    wrong = tally.clean["wrong"]
    return (
        f"{name:>22}  {count:7d}  {shares}  {wrong:6d}  {tally.false:6d}  "
        f"{tally.faults:7d}  {tally.faults - tally.raised:7d}"
    )


HEAD = (
    f"{'noise':>22}  {'clean':>7}  {'right %':>8}  {'doubt %':>8}  {'absent %':>8}  "
    f"{'wrong':>6}  {'false':>6}  {'faults':>7}  {'missed':>7}"
)


def print_fit(folder: Path) -> int:
    """Print what the films of a folder give for the noise, beside what is used."""
    films = sorted(folder.glob("*.mp4"))
    if not films:
        raise ConfigurationError(f"{folder} holds no film (.mp4); give the folder of the films")
    measured = Measured()
    for film in films:
        measure(film, measured)
    used = {each.name: getattr(Noise(), each.name) for each in fields(Noise)}
    print(f"{measured.looks} looks at {len(films)} films, {measured.seen} cards at rest seen")
    for name, value in measured.noise().items():
        print(f"{name:>16}  {value:8.4f}  used {used.get(name, MEAN_SCORE):8.4f}")
    return 0


def main() -> int:
    """Print the curve, or what was asked for; exit status 1 if a result was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--coups", type=int, default=500, help="at each level of noise")
    parser.add_argument("--times", type=float, nargs="+", default=TIMES, help="of measured noise")
    parser.add_argument("--styles", choices=("held-out", "tuned"), default="held-out")
    parser.add_argument("--fps", type=int, help="looks a second (drawn by chance)")
    parser.add_argument("--seed", type=int, default=1, help="of the first session")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--notes", type=int, default=0, help="print so many coups gone amiss")
    parser.add_argument("--fit", type=Path, help="print the noise of the films in a folder instead")
    parser.add_argument("--without", choices=("mouth", "still_table", "hands", "joint"), nargs="*")
    arguments = parser.parse_args()
    if arguments.fit is not None:
        return print_fit(arguments.fit)
    uses = Uses(**dict.fromkeys(arguments.without or (), False))
    bench = Bench(held_out=arguments.styles == "held-out", uses=uses, fps=arguments.fps)
    seeds = range(arguments.seed, arguments.seed + max(1, arguments.coups // bench.coups))
    print(HEAD, flush=True)
    wrong = 0
    for times in arguments.times:
        tally = tally_of(replace(bench, noise=Noise().times(times)), seeds, arguments.jobs)
        wrong += tally.clean["wrong"]
        cost = f"{1000 * tally.cpu_s / (bench.coups * len(seeds)):.0f} ms a coup of one core"
        print(row(f"x{times:g}", tally), f" {cost}, {tally.film_s / tally.cpu_s:.0f} x film")
        print(*tally.notes[: arguments.notes], sep="\n", flush=True)
        print("   false:", dict(tally.codes), "missed:", dict(tally.missed), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
