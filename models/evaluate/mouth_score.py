"""What the watcher of the shoe's mouth said, counted against what happened there."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from vision.sight.mouth.signs import MouthEvent, MouthSign

# A departure is told on time up to so many ms after the card is wholly out; one told within these
# bounds of it is that of the card, others are false.
ON_TIME_MS = 300
EARLY_MS, LATE_MS = 200, 1000
# Other signs belong to a moment within so many ms.
NEAR_MS = 2500
# Bounds of the probabilities (0 to 1) that are counted together in a reliability table.
BINS = (0.0, 0.5, 0.7, 0.85, 0.95, 0.985, 1.01)
# Weight of "the odds said are right" in a fit, in cards: fewer, and ten cards bend the line.
PRIOR = 2.0
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
    disordered: int = 0
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
            f"{self.early}, later {self.late}, missed {self.missed}, false {self.false}, out of "
            f"order {self.disordered}; median {middle}"
        )
        lines = [counts]
        for sign, (seen, there, false) in sorted(self.signs.items()):
            lines.append(f"  {sign}: {seen} of {there}, false {false}")
        return "\n".join([*lines, f"  probabilities: {self._reliability()}"])

    def _reliability(self) -> str:
        """Return how often departures of a probability were right."""
        parts = []
        for low, high in itertools.pairwise(BINS):
            some = [(p, ok) for p, ok in self.sure if low <= p < high]
            if some:
                said, right = np.mean(some, axis=0)
                parts.append(f"said {said:.3f}, right {right:.3f} of {len(some)}")
        slope, offset = line_of(self.sure)
        return f"{'; '.join(parts)}; their odds fit with slope {slope:.2f}, offset {offset:.2f}"


def line_of(sure: Sequence[tuple[float, bool]]) -> tuple[float, float]:
    """Return slope and offset that make the odds said those found, in logarithms.

    By logistic regression; a weight of a few cards keeps it near 1 and 0 where there are few.
    """
    said = np.clip([p for p, _ in sure], 1e-4, 1 - 1e-4)
    x = np.column_stack([np.log(said / (1 - said)), np.ones(len(said))])
    right = np.array([ok for _, ok in sure], float)
    line, prior = np.zeros(2), np.array([1.0, 0.0])
    for _ in range(30):
        p = 1 / (1 + np.exp(-x @ line))
        slope = x.T @ (right - p) - PRIOR * (line - prior)
        bend = (x * (p * (1 - p))[:, None]).T @ x + PRIOR * np.eye(2)
        line = line + np.linalg.solve(bend, slope)
    return float(line[0]), float(line[1])


def judge(events: Iterable[MouthEvent], truth: Truth, score: Score, name: str) -> None:
    """Count the events of a film against its truth."""
    events = list(events)
    told = [e for e in events if e.sign in DEPARTURES]
    score.cards += len(truth.departures)
    last = -math.inf
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
        if sign is MouthSign.TOGETHER and event.sign is MouthSign.LEFT and len(near) > 1:
            told.remove(near[1])  # told one by one: each of them did leave
        score.disordered += event.at < last
        last = max(last, event.at)
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
