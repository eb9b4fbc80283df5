"""Proof d: one of two readers is killed, frozen, parted; what consumers have is as if it never was.

python -m tests.floor.standby --kills 200 --freezes 50 --splits 50 --houses 20
"""

from __future__ import annotations

import argparse
import contextlib
import math
import random
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import takewhile
from pathlib import Path

from tests.chaos.outcome import LimitBrokenError, demand_same
from tests.chaos.shoe import play
from tests.chaos.table import undisturbed
from tests.floor.pair_house import ENDLESS, PairHouse, Reader, freeze, kill, split
from tests.mqtt.mqtt_tools import wait_for
from vision.record.chain import verified
from vision.storage.log_reader import read_log

Fault = Callable[[PairHouse, Reader, Reader], float]
BETWEEN_S = (0.1, 2.5)  # seconds of play between two faults, at random


def harm(house: PairHouse, fault: Fault, times: int, draw: random.Random) -> list[float]:
    """Do it so many times at random moments; return the seconds of each takeover."""
    took: list[float] = []
    for _ in range(times):
        speaker, other = house.speaker()
        time.sleep(draw.uniform(*BETWEEN_S))
        house.pass_shoe_change()
        speaker, other = house.speaker()
        took.append(max(0.0, fault(house, speaker, other)))
        house.relaunch(speaker)
    return took


def compared(house: PairHouse) -> str:
    """Hold what was heard against an undisturbed run, and one log against the other."""
    logs = [list(read_log(Path(reader.seat.log))) for reader in house.readers.values()]
    shorter, longer = sorted(logs, key=len)
    if [r.hash for r in shorter] != [r.hash for r in longer[: len(shorter)]]:
        raise LimitBrokenError("the two logs are not one history", lost=1)
    contents = [content for _, content in verified(longer)]
    events = [c["event"] for c in contents if "event" in c]
    clock = max(event["at"] for event in events if event["is"] == "CoupSeen")
    dealt = list(takewhile(lambda event: event.at <= clock, play(ENDLESS)))
    wanted = [_bare(result) for result in undisturbed(dealt)]
    consumer = house.consumer
    with contextlib.suppress(AssertionError):  # what never came is told below
        wait_for(lambda: len(consumer.results()) >= len(wanted) and not consumer.missing(), 30)
    heard = [_bare(result) for result in consumer.results()]
    demand_same(heard[: len(wanted)], wanted, "results")
    numbers = [(r["shoe"], r["coup"], r["revision"]) for r in heard]
    if len(set(numbers)) < len(numbers):
        raise LimitBrokenError("a result came twice", lost=0)
    if missing := consumer.missing():
        raise LimitBrokenError(f"messages {missing[:9]} never came", lost=len(missing))
    takeovers = sum(event["is"] == "Recorded" for event in events)
    return (
        f"{len(wanted)} coups: lost 0, doubled 0, contradicted 0; {len(consumer.seqs)} messages, "
        f"none missing, {consumer.repeats} repeats dropped by seq, {consumer.outdated} by term; "
        f"{house.unasked} takeovers by the load of this machine; two logs, one history of "
        f"{len(longer)} records with {takeovers} takeovers"
    )


def _bare(result: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in result.items() if key not in ("term", "at")}


def spread(took: Sequence[float]) -> str:
    """Return the spread of some times in words."""
    if not took:
        return "none"
    ordered = sorted(took)
    p99 = ordered[min(len(ordered) - 1, round(0.99 * len(ordered)))]
    return (
        f"{len(took)}: p50 {statistics.median(took):.2f} s, p99 {p99:.2f} s, "
        f"longest {ordered[-1]:.2f} s"
    )


def prove(
    kills: int, freezes: int, splits: int, *, slow: bool = False, seed: int = 1
) -> tuple[str, dict[str, list[float]]]:
    """Do all that to a pair of readers at play; LimitBrokenError, or words and the times."""
    draw = random.Random(seed)
    took: dict[str, list[float]] = {}
    with (
        tempfile.TemporaryDirectory(prefix="pair-") as name,
        PairHouse(Path(name), slow=slow) as house,
    ):
        for words, fault, times in (
            ("killed", kill, kills),
            ("frozen and woken", freeze, freezes),
            ("parted and joined", split, splits),
        ):
            took[words] = harm(house, fault, times, draw)
        time.sleep(3)
        house.stop()
        return compared(house), took


def main() -> None:
    """Prove it, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    for what, times in (("kills", 200), ("freezes", 50), ("splits", 50)):
        parser.add_argument(f"--{what}", type=int, default=times)
    parser.add_argument("--houses", type=int, default=1, help="share them among so many pairs")
    parser.add_argument("--slow-clock", action="store_true", help="one reader's clock runs at half")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no pair after these")
    args = parser.parse_args()
    all_took: dict[str, list[float]] = defaultdict(list)
    began_s = time.monotonic()
    for number in range(args.houses):
        if time.monotonic() - began_s > 60 * args.minutes:
            print(f"{number} of {args.houses} pairs, then the time was over")
            break
        share = [
            (number + 1) * times // args.houses - number * times // args.houses
            for times in (args.kills, args.freezes, args.splits)
        ]
        words, took = prove(*share, slow=args.slow_clock, seed=args.seed + number)
        print(words, flush=True)
        for what, seconds in took.items():
            all_took[what] += seconds
            print(f"{what} {spread(all_took[what])}", flush=True)


if __name__ == "__main__":
    main()
