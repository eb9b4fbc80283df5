"""Write the figures of whole films into the pages that show them, from one file.

`python -m tests.figures`: `deploy/figures.toml` has a row for each run of a measuring command, as
it printed it; README, the buyer's page and "Following cards" show sums and rows of these, between a
pair of comments. So they cannot differ.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from vision.metrics.intervals import at_most, share

ROOT = Path(__file__).parent.parent
FIGURES = ROOT / "deploy" / "figures.toml"
OTHER, OURS = "other", "ours"


@dataclass(frozen=True, slots=True)
class Run:
    """What one run of a measuring command printed, or the sum of some; `of` is whose films."""

    of: str
    films: str
    command: str
    coups: int
    right: int
    held: int
    wrong: int
    clean: int
    accused: int
    falsely: int
    incidents: int
    reported: int
    out: str

    @classmethod
    def total(cls, runs: Sequence[Self]) -> Self:
        """Return the sum of some runs."""
        first = runs[0]
        names = ("coups", "right", "held", "wrong", "clean", "accused", "falsely", "incidents",
                 "reported")  # fmt: skip
        sums = {name: sum(getattr(run, name) for run in runs) for name in names}
        return cls(first.of, first.films, first.command, out="", **sums)

    @property
    def charge(self) -> str:
        """How many clean coups were accused, in words."""
        words = f"{self.accused} of {self.clean}"
        return f"{words}, **{self.falsely} falsely**" if self.falsely else words


def runs() -> list[Run]:
    """Return the runs; TypeError where a row lacks a figure."""
    return [Run(**row) for row in tomllib.loads(FIGURES.read_text("utf-8"))["run"]]


def of(kind: str) -> Run:
    """Return the sum of all runs on films of a kind."""
    return Run.total([run for run in runs() if run.of == kind])


@dataclass(frozen=True, slots=True)
class Beside:
    """What a pipeline made of films beside ours, as `models.evaluate.versus` printed it.

    `name`: how people are told of it, ours first; `films`: which; `out`: cards said out in 0.3 s.
    """

    name: str
    films: str
    coups: int
    right: int
    held: int
    wrong: int
    missing: int
    clean: int
    accused: int
    incidents: int
    reported: int
    out: str

    def __str__(self) -> str:
        found = share(self.right, self.coups)
        return (
            f"{self.right} of {self.coups} right ({found.low:.0%} to {found.high:.0%}), "
            f"{self.wrong} wrong, accused {self.accused} of {self.clean}, "
            f"{self.reported} of {self.incidents} incidents, `out` in time {self.out}"
        )


def beside() -> list[Beside]:
    """Return the pipelines beside one another; TypeError where a row lacks a figure."""
    return [Beside(**row) for row in tomllib.loads(FIGURES.read_text("utf-8"))["beside"]]


def front() -> str:
    """Return the table of the front page."""
    lines = ["| what | figure | command |", "|---|---|---|"]
    for kind, name in (
        (OTHER, "coups of [another renderer](deploy/following.md#measured)"),
        (OURS, "coups of [our own](deploy/following.md#measured), in 18 manners of dealing"),
    ):
        run, more = of(kind), sum(each.of == kind for each in runs()) - 1
        lines.append(
            f"| {run.coups} {name} | {run.right} right, {run.held} held, **{run.wrong} wrong**; "
            f"{run.reported} of {run.incidents} incidents; accused {run.charge} | "
            f"`{run.command.partition(' --')[0]}`{f', {more + 1} runs' if more else ''} |"
        )
    ours, usual, *_ = beside()
    lines.append(
        f"| {ours.coups} coups, [the usual way](deploy/bench.md#beside-ours) and ours | "
        f"right {usual.right} and {ours.right}, wrong **{usual.wrong}** and **{ours.wrong}**, "
        f"accused {usual.accused} and {ours.accused} of {ours.clean} | "
        "`python -m models.evaluate.versus` |"
    )
    rows = tomllib.loads(FIGURES.read_text("utf-8"))["row"]
    lines += [f"| {row['what']} | {row['figure']} | {row['command']} |" for row in rows]
    return "\n".join(lines)


def buyer() -> str:
    """Return the table of the buyer's page, and what it proves."""
    head = "| films | coups | right | held for a person | wrong | clean coups accused | incidents reported rightly |"  # noqa: E501
    lines = [head, "|---|---|---|---|---|---|---|"]
    for kind, name in ((OTHER, "another renderer"), (OURS, "our simulator")):
        run = of(kind)
        lines.append(
            f"| {name} | {run.coups} | {run.right} | {run.held} | **{run.wrong}** | {run.charge} | "
            f"{run.reported} of {run.incidents} |"
        )
    every = Run.total(runs())
    reported = every.right + every.wrong
    most = at_most(every.wrong, reported)
    words = (
        f"With {every.wrong or 'none'} wrong among {reported} published results the true rate may "
        f"still be up to {100 * most:.2g} % (95 % confidence)."
    )
    others = [f"- {row.name}, {row.films}: {row}." for row in beside()]
    head = "[The usual way](bench.md) beside ours, `python -m models.evaluate.versus FOLDER`:"
    return "\n".join((*lines, "", words, "", head, "", *others))


def following() -> str:
    """Return the table of "Following cards", a row for each run."""
    lines = ["| films | coups | right | held | wrong | accused | incidents | `out` within 0.3 s |",
             "|---|---|---|---|---|---|---|---|"]  # fmt: skip
    lines += [
        f"| {run.films} | {run.coups} | {run.right} | {run.held} | {run.wrong} | {run.charge} | "
        f"{run.reported} of {run.incidents} | {run.out} |"
        for run in runs()
    ]
    return "\n".join(lines)


PAGES: dict[str, Callable[[], str]] = {
    "README.md": front,
    "deploy/buyer.md": buyer,
    "deploy/following.md": following,
}
BEGIN, END = "<!-- figures: python -m tests.figures -->\n", "\n<!-- end of the figures -->"


def written(page: str) -> str:
    """Return the text of a page with the figures of now."""
    before, rest = (ROOT / page).read_text("utf-8").split(BEGIN, 1)
    return f"{before}{BEGIN}{PAGES[page]()}{END}{rest.split(END, 1)[1]}"


def main() -> None:
    """Write the pages."""
    for page in PAGES:
        (ROOT / page).write_text(written(page), "utf-8")


if __name__ == "__main__":
    main()
