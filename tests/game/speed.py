"""Measures the rules: `python -m tests.game.speed` deals shoes and prints coups a second.

Eight decks dealt face up, four events a card (out, at rest, read, gone); processor time of one
core, the best of several runs. The events are made before the clock starts.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from random import Random
from time import process_time

from tests.game.test_legal import House
from tests.table_log import session_of
from vision.config.profiles import load_profile, profile_text
from vision.game.cards import Card
from vision.game.coup.state import new_table
from vision.game.events import Event
from vision.game.fold.step import step
from vision.game.rules import Dealing, Rules
from vision.wire.session import advance, new_header

Coups = list[list[Event]]
PROFILE = "punto-banco"
FEWEST = 6


def shoe(seed: int) -> Coups:
    """Deal a shoe to its cut, and return the events of each coup."""
    house = House(load_profile(PROFILE).rules).shuffled(Random(seed))
    house.shuffle()
    coups: Coups = []
    while len(house.shoe) >= FEWEST + house.rules.cut_depth:
        house.events = []
        faces: list[Card] = []
        for slot, face in zip(house.slots(faces), faces, strict=True):
            house.deal(slot, face)
        house.clear()
        house.tick(2_000)
        coups.append(house.events)
    return coups


def steps(rules: Rules) -> Callable[[Event], object]:
    """Return what takes the events of a shoe through `step` alone."""
    table = new_table(rules)

    def take(event: Event) -> None:
        nonlocal table
        table, _ = step(table, event)

    return take


def messages() -> Callable[[Event], object]:
    """Return what takes the events of a shoe through `step`, roads and messages."""
    profile = load_profile(PROFILE).dealt(Dealing.FACE_UP)
    header = new_header("s", "t", profile, rules=profile_text(PROFILE))
    desk = session_of(header)

    def take(event: Event) -> None:
        nonlocal desk
        desk = advance(desk, event).session

    return take


def seconds(coups: Coups, start: Callable[[], Callable[[Event], object]], runs: int) -> list[float]:
    """Return the processor seconds of each coup, the least of so many runs."""
    best = [float("inf")] * len(coups)
    for _ in range(runs):
        take = start()
        for number, events in enumerate(coups):
            began = process_time()
            for event in events:
                take(event)
            best[number] = min(best[number], process_time() - began)
    return best


def main() -> None:
    """Print coups a second, and what a coup costs at the beginning and the end of a shoe."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=30, metavar="N", help="runs of each (30)")
    runs = parser.parse_args().runs
    rules, coups = load_profile(PROFILE).rules, shoe(7)
    events = sum(map(len, coups))
    print(f"{len(coups)} coups, {events} events, the best of {runs} runs, one core")
    for name, start in (("step", lambda: steps(rules)), ("step, roads and messages", messages)):
        costs = seconds(coups, start, runs)
        first, last = sum(costs[1:21]) / 20, sum(costs[-20:]) / 20
        print(
            f"{name}: {len(coups) / sum(costs):.0f} coups/s, {sum(costs) / events * 1e6:.1f} us an "
            f"event; a coup costs {first * 1e6:.0f} us at the beginning of the shoe, "
            f"{last * 1e6:.0f} us at its end"
        )


if __name__ == "__main__":
    main()
