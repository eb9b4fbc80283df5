"""Counts the modules an event enters: `python -m tests.game.walk` deals a shoe through `advance`.

A module counts when one of its functions runs; only those of `vision` do.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import median
from types import FrameType

from tests.game.speed import messages, shoe
from vision.game.events import Event

HOUSE = str(Path(__file__).parents[2] / "vision") + "/"


def entered(take: Callable[[Event], object], event: Event) -> set[str]:
    """Return the modules that are entered as the event is taken."""
    found: set[str] = set()

    def note(frame: FrameType, what: str, _: object) -> None:
        if what == "call" and frame.f_code.co_filename.startswith(HOUSE):
            found.add(frame.f_code.co_filename.removeprefix(HOUSE))

    sys.setprofile(note)
    try:
        take(event)
    finally:
        sys.setprofile(None)
    return found


def main() -> None:
    """Print, for each kind of event and for a coup, how many modules are entered."""
    counts: dict[str, list[int]] = defaultdict(list)
    take = messages()
    for coup in shoe(7):
        modules = set()
        for event in coup:
            found = entered(take, event)
            counts[type(event).__name__].append(len(found))
            modules |= found
        counts["a coup"].append(len(modules))
    for name, numbers in counts.items():
        print(f"{name}: {median(numbers):.0f} modules (median), {max(numbers)} at most")


if __name__ == "__main__":
    main()
