"""What commands print with: the lines of a run, tables, and what a log is held against."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from vision.audit.verify import Trust
from vision.errors import OutsideError
from vision.game.coup.fault_table import KINDS
from vision.game.outputs import (
    AlertChanged,
    AlertState,
    CoupResult,
    Ignored,
    Output,
    Replied,
    ResultState,
    StatusChanged,
)
from vision.storage.anchors import load_public, load_ring, read_anchors
from vision.wire.session import Step

NOT_PROVEN = 4  # exit code: nothing is wrong, but not all that should prove a log was verified


class Console:
    """Prints a run as it happens; `results` keeps the latest result of each coup."""

    def __init__(self) -> None:
        self.results: dict[int, CoupResult] = {}

    def take(self, step: Step) -> None:
        """Print what a step came to."""
        for happening in step.outputs:
            if isinstance(happening, CoupResult):
                self.results[happening.coup] = happening
            for line in lines(happening):
                say(line)


def say(line: str) -> None:
    """Print a line; a table is read on where that fails, and the end of the run says so."""
    with suppress(OSError):
        print(line, flush=True)


def lines(happening: Output) -> Iterator[str]:
    """Yield what people at a terminal want to know of a happening."""
    match happening:
        case CoupResult():
            yield coup_line(happening)
        case AlertChanged(alert=alert, first=True):
            yield f"  ALERT {alert.severity.value}, coup {alert.coup}: {alert.text}"
        case AlertChanged(alert=alert) if alert.state is not AlertState.RAISED:
            name = KINDS[alert.code].title
            yield f"  alert {alert.id} ({name}, coup {alert.coup}) is {alert.state.value}"
        case StatusChanged():
            yield f"reader {happening.state}" + (f": {happening.why}" if happening.why else "")
        case Replied():
            answer = "accepted" if happening.accepted else f"refused: {happening.why}"
            yield f"  order {happening.command} by {happening.by} {answer}"
        case Ignored():
            yield f"  ignored {happening.event}: {happening.why}"


def coup_line(result: CoupResult) -> str:
    """Return a coup in one line: result, points, cards."""
    if result.state is ResultState.VOID:
        verdict = "void"
    elif result.winner is None:
        verdict = f"held ({result.why})"
    else:
        verdict = result.winner.value.capitalize()
    both = (result.punto, result.banco)
    points = ":".join("-" if hand.points is None else str(hand.points) for hand in both)
    punto, banco = (" ".join(str(card or "??") for card in hand.cards) for hand in both)
    marks = [] if result.state is not ResultState.CORRECTED else [f"revision {result.revision}"]
    marks += ["natural"] if result.punto.natural or result.banco.natural else []
    marks += result.faults
    hands = f"Punto {punto:<9}  Banco {banco:<9}"
    return f"coup {result.coup:>3}  {verdict:<14} {points}  {hands}  {', '.join(marks)}".rstrip()


@dataclass(frozen=True, slots=True)
class TextTable:
    """A heading and rows of words, the first column left, the others right."""

    heading: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def text(self) -> str:
        """Return the table in columns, for a terminal."""
        lines = (self.heading, *self.rows)
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        signs = ["<", *">" * (len(widths) - 1)]
        form = "  ".join(f"{{:{sign}{width}}}" for sign, width in zip(signs, widths, strict=True))
        return "\n".join(form.format(*line).rstrip() for line in lines)

    def markdown(self) -> str:
        """Return the table in Markdown."""
        rule = (":--", *("--:" for _ in self.heading[1:]))
        return "\n".join(f"| {' | '.join(line)} |" for line in (self.heading, rule, *self.rows))


def add_trust(parser: argparse.ArgumentParser) -> None:
    """Declare what a log is held against."""
    add = parser.add_argument
    words = "whose signatures count (.pub of shoe-reader log keys make); may be given again"
    add("--public-key", type=Path, metavar="F", action="append", default=[], help=words)
    add("--ring", type=Path, metavar="R", help="the ring of keys (shoe-reader log keys add)")
    add("--anchors", type=Path, metavar="F", help="anchors kept elsewhere than in the log")


def trust_of(args: argparse.Namespace) -> Trust:
    """Return what the log is held against; ConfigurationError or OutsideError."""
    anchors = () if args.anchors is None else tuple(read_anchors(args.anchors))
    if args.anchors is not None and not anchors:
        raise OutsideError(f"{args.anchors} contains no anchor: it is another file, or was emptied")
    ring = {} if args.ring is None else load_ring(args.ring)
    keys = (*map(load_public, args.public_key), *(key.key for key in ring.values()))
    return Trust(keys, anchors, ring)
