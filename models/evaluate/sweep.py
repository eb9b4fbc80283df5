"""Halve and double each hand-set number of following, and print which matter.

`python -m models.evaluate.sweep FILM... [--only WORD]`: the decoder alone, on streams kept on disk,
as `models.evaluate.following` runs it. A number matters where another value makes another count of
coups right, held or wrong, of clean ones accused, of incidents or of cards told in time. What only
pictures use, and what was worked out of a number as its module was read, is not swept by it.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType

from models.evaluate.following import Tally, decode, judge, merge
from models.evaluate.streams import Film, films_of
from vision.inference.load import packaged
from vision.sight.following import actions, decisions, evidence, hypotheses, places, procedure
from vision.sight.following.evidence import SymbolTable

MODULES = (actions, evidence, hypotheses, procedure, decisions, places)
# What of the looks at slots is no matter of pictures, which a stream does not have.
OF_LOOKS = {"PLACE_MS", "BURST_MS", "ASIDE_SEEN", "ASIDE_UNSEEN"}
# A number is tried at so many times its value: what a factor of four does not show, nobody could
# have set by hand.
TIMES = (0.5, 2.0)
# What is no number set by hand: a name or a count of the game, a speed of which rates are made,
# what was measured.
FIXED = {
    "FIRST_CARDS", "COMPLETE", "HAND_OF", "EDGE_SYMBOLS", "SYMBOLS", "MOST_SHOWN", "SURE_ODDS",
    "MOVING", "NEXT", "AT_TIMES", "DEPARTURE", "LEARNT",
}  # fmt: skip
HEADS = ("number", "value", "times", "right", "held", "wrong", "accused", "incidents", "in time")
Counts = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Number:
    """A hand-set number: what it is called, what it is, and what puts another in its place."""

    name: str
    value: float
    put: Callable[[float], None]


def numbers() -> Iterator[Number]:
    """Yield every number of the modules, and every rate of an action."""
    for name, action in list(actions.ACTIONS.items()):
        parts = ("due", "undue") if action.due != action.undue else ("due and undue",)
        for part in parts:
            rate = getattr(action, part.split()[0])
            yield Number(f"{name}, {part}", rate, partial(_put_rate, name, part.split(" and ")))
    for module in MODULES:
        for name, value in list(vars(module).items()):
            swept = name in OF_LOOKS if module is places else name not in FIXED
            if name.isupper() and swept and _home(name) is module:
                yield from _of(name, value)


def _of(name: str, value: object) -> Iterator[Number]:
    put = partial(_put, name)
    if isinstance(value, int | float) and type(value) in {int, float}:
        kind = type(value)
        yield Number(name, value, lambda new: put(kind(new)))
    elif isinstance(value, tuple) and all(type(each) in {int, float} for each in value):
        for index, each in enumerate(value):
            yield Number(f"{name} {index + 1}", each, partial(_put_part, name, value, index))


def _home(name: str) -> ModuleType:
    """Return the module that a number is first of: others have it from there."""
    return next(module for module in MODULES if name in vars(module))


def _put(name: str, value: object) -> None:
    """Put a number where its module has it, and where others have it from there."""
    old = vars(_home(name))[name]
    for module in MODULES:
        if vars(module).get(name) is old:  # `GONE` is a place to another module
            setattr(module, name, value)


def _put_part(name: str, whole: tuple[float, ...], index: int, value: float) -> None:
    _put(name, (*whole[:index], type(whole[index])(value), *whole[index + 1 :]))


def _put_rate(name: str, parts: Sequence[str], value: float) -> None:
    actions.ACTIONS[name] = actions.ACTIONS[name]._replace(**dict.fromkeys(parts, value))


def counts(films: Sequence[Film], table: SymbolTable) -> Counts:
    """Return right, held, wrong, accused, incidents under their code and cards told in time."""
    everything = Tally()
    for film in films:
        tally = Tally()
        judge(film, decode(film, table, tally=tally, broken="not"), 50.0, tally, verbose=False)
        merge(everything, tally)
    found = everything
    return (
        found.right, found.held, found.wrong, found.accused, found.under_code, found.in_time,
    )  # fmt: skip


def row(name: str, value: float, times: float, found: Counts) -> str:
    """Return a row of the table."""
    return f"| {name} | {value:g} | {times:g} | " + " | ".join(map(str, found)) + " |"


def main() -> int:
    """Sweep; print a row for each value that makes a difference, and the names of the others."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("films", nargs="+", type=Path, help="films, or folders of films")
    parser.add_argument("--cache", type=Path, default=Path("runs/streams"))
    parser.add_argument("--only", default="", help="the numbers whose names hold this")
    arguments = parser.parse_args()
    path = packaged("mouth").with_name("following.toml")
    table = SymbolTable.of(tomllib.loads(path.read_text("utf-8")))
    films = films_of(arguments.films, arguments.cache)
    usual, alike = counts(films, table), []
    print(f"| {' | '.join(HEADS)} |", "|---" * len(HEADS) + "|", sep="\n")
    print(row("as it is", 1, 1, usual), flush=True)
    for number in numbers():
        if arguments.only not in number.name or not number.value:
            continue
        found = {}
        for times in TIMES:
            number.put(number.value * times)
            found[times] = counts(films, table)
        number.put(number.value)
        for times, each in found.items():
            if each != usual:
                print(row(number.name, number.value, times, each), flush=True)
        if all(each == usual for each in found.values()):
            alike.append(number.name)
    print(f"{len(alike)} that make no difference: {', '.join(alike)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
