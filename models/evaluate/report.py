"""What the classifier can and cannot read, in tables and pictures.

`python -m models.evaluate.report`. Held-out designs, tables and seeds; each card is photographed
ten times as it lies, so that one look and ten fused ones are measured on the same cards. Writes
`report.md` and PNG files to a folder.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import matplotlib as mpl
import numpy as np
from numpy.typing import NDArray

from datasets.faces.sprites import hands_of, packs
from datasets.training.crops import cut, in_sight, truth_of
from datasets.training.snapshot import Snapshot, series
from models.evaluate.classifier import Outcome, calibration_error
from models.networks.model_card import SHIPPED
from vision.game.cards import DECK
from vision.inference.load import load_model
from vision.sight.detection.classifier import CROP_SIZE, FACES, Classifier, Fusion, Observation
from vision.sight.geometry.plane import Image

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

# Seed of the held-out cards: another one than any training's.
SEED = 90_001
# Error bounds at which naming is measured, the last one that of the reader.
BOUNDS = (0.02, 1e-3, 1e-4, 1e-5)
# Copies of each face left in a full shoe of eight decks.
COPIES = np.full(FACES, 8.0)
# How many of the worst crops are shown; and the share in sight from which a card is open.
WORST = 60
WHOLE = 0.99


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """One card: how it was photographed, the answers of single looks and of all together."""

    shot: Snapshot
    crop: Image
    look: Observation
    best: int
    error: float

    @property
    def right(self) -> bool:
        """Whether the first look alone reads it."""
        return int(self.look.log_p.argmax()) == self.shot.card

    @property
    def sure_of_name(self) -> float:
        """What the first look alone gives its reading if a face is readable at all, 0 to 1."""
        return float(np.exp(self.look.log_p.max()))

    @property
    def confidence(self) -> float:
        """What the first look alone gives its reading, 0 to 1."""
        return self.look.confidence


def samples(classifier: Classifier, count: int, looks: int, seed: int = SEED) -> list[Sample]:
    """Return `count` readable cards of held-out designs, each looked at `looks` times."""
    rng = np.random.default_rng(seed)
    found: list[Sample] = []
    for active in hands_of(rng, packs("test"), every=64):
        if len(found) == count:
            break
        shots = series(rng, active, split="test", count=looks)
        if not truth_of(shots[0]).readable:
            continue
        crops = [cut(rng, shot, CROP_SIZE) for shot in shots]
        seen = classifier.of_crops(crops)
        fusion = Fusion()
        for number, look in enumerate(seen):
            fusion.add(look, changed=number == 0)
        opinion = fusion.opinion(COPIES)
        best, error = (opinion.best.index, opinion.error) if opinion else (-1, 1.0)
        found.append(Sample(shots[0], crops[0], seen[0], best, error))
    return found


Measure = Callable[[Sample], float]
# What accuracy is plotted against: its name, how it is measured, where its classes begin.
AXES: tuple[tuple[str, str, Measure, tuple[float, ...]], ...] = (
    ("width", "px", lambda s: s.shot.wide_px, (20, 28, 40, 57, 80, 113, 160)),
    ("sharpness", "px of width as far as in focus", lambda s: s.shot.sharp_px,
     (17, 22, 28, 40, 57, 80, 113)),
    ("in sight", "% of the face", lambda s: 100 * in_sight(s.shot), (0, 25, 50, 75, 90, 99)),
    ("tilt", "degrees", lambda s: float(np.degrees(s.shot.tilt)), (0, 10, 20, 30, 40)),
)  # fmt: skip


def table(found: Sequence[Sample], axis: int) -> list[str]:
    """Return Markdown lines: accuracy of one look and of all, class by class of an axis."""
    name, unit, measure, edges = AXES[axis]
    lines = [
        f"| {name}, {unit} | cards | one look right | ten looks right | named at 1e-5 | of these wrong |",  # noqa: E501
        "|---|---|---|---|---|---|",
    ]
    values = np.array([measure(s) for s in found])
    for low, high in zip(edges, (*edges[1:], np.inf), strict=True):
        inside = [s for s, v in zip(found, values, strict=True) if low <= v < high]
        if inside:
            words = f"from {low:g}" if high == np.inf else f"{low:g} to {high:g}"
            lines.append(_row(words, inside))
    return [*lines, _row("all", found)]


def _row(words: str, inside: Sequence[Sample]) -> str:
    single = np.mean([s.right for s in inside])
    ten = np.mean([s.best == s.shot.card for s in inside])
    named = [s for s in inside if s.error <= BOUNDS[-1]]
    wrong = sum(s.best != s.shot.card for s in named)
    share = len(named) / len(inside)
    return f"| {words} | {len(inside)} | {single:.1%} | {ten:.1%} | {share:.1%} | {wrong} |"


def enough(found: Sequence[Sample], aim: float, *, fused: bool) -> str:
    """Return from which width (px) on at least `aim` of all wider cards are read, in words."""
    ordered = sorted(found, key=lambda s: -s.shot.wide_px)
    right = np.array([s.best == s.shot.card if fused else s.right for s in ordered])
    shares = np.cumsum(right) / np.arange(1, len(right) + 1)
    good = np.flatnonzero(shares[99:] >= aim)
    return f"{ordered[int(good[-1]) + 99].shot.wide_px:.0f} px" if len(good) else "not reached"


def error_of(found: Sequence[Sample], confidence: Measure) -> float:
    """Return the calibration error of a confidence in the first looks."""
    return calibration_error(
        Outcome(
            np.array([confidence(s) for s in found]),
            np.array([int(s.look.log_p.argmax()) for s in found]),
            np.array([s.shot.card for s in found]),
        )
    )


def risk_table(found: Sequence[Sample]) -> list[str]:
    """Return Markdown lines: how many are named at each bound and how many of these wrongly."""
    lines = ["| bound of one look | named | of these wrong |", "|---|---|---|"]
    for bound in BOUNDS:
        named = [s for s in found if s.confidence >= 1 - bound]
        wrong = sum(not s.right for s in named)
        share = len(named) / len(found)
        lines.append(f"| {bound:g} | {share:.1%} | {wrong} ({wrong / max(len(named), 1):.3%}) |")
    sure = sorted(found, key=lambda s: -s.confidence)[: round(0.95 * len(found))]
    lines.append(f"| the surest 95 % | 95.0% | {np.mean([not s.right for s in sure]):.3%} |")
    return lines


def draw(found: Sequence[Sample], folder: Path) -> None:
    """Write the pictures: accuracy along each axis, reliability, risk, and the worst crops."""
    figure, axes = plt.subplots(2, 2, figsize=(11, 8))
    for (name, unit, measure, edges), axis in zip(AXES, axes.flat, strict=True):
        values = np.array([measure(s) for s in found])
        which = np.digitize(values, edges)
        for words, right in (
            ("one look", np.array([s.right for s in found])),
            ("ten looks", np.array([s.best == s.shot.card for s in found])),
        ):
            shares = [right[which == i + 1].mean() if (which == i + 1).any() else np.nan
                      for i in range(len(edges))]  # fmt: skip
            axis.plot(range(len(edges)), shares, marker="o", label=words)
        axis.set_xticks(range(len(edges)), [f"{e:g}" for e in edges])
        axis.set_xlabel(f"{name}, {unit}, from")
        axis.set_ylabel("share right")
        axis.grid(visible=True, alpha=0.3)
        axis.legend()
    _save(figure, folder / "accuracy.png")
    _draw_confidence(found, folder)
    worst = sorted((s for s in found if not s.right), key=lambda s: -s.confidence)[:WORST]
    cv2.imwrite(str(folder / "worst.png"), sheet(worst))


def _draw_confidence(found: Sequence[Sample], folder: Path) -> None:
    confidence = np.array([s.confidence for s in found])
    right = np.array([s.right for s in found])
    order = np.argsort(confidence)
    parts = np.array_split(order, 15)
    figure, (left, other) = plt.subplots(1, 2, figsize=(11, 4.5))
    left.plot([0, 1], [0, 1], color="grey", linewidth=1)
    left.plot([confidence[p].mean() for p in parts], [right[p].mean() for p in parts], marker="o")
    left.set_xlabel("stated confidence")
    left.set_ylabel("share right")
    left.set_title("reliability")
    sure = order[::-1]
    risk = np.cumsum(~right[sure]) / np.arange(1, len(sure) + 1)
    other.plot(np.arange(1, len(sure) + 1) / len(sure), np.maximum(risk, 1e-5))
    other.set_yscale("log")
    other.set_xlabel("coverage: share of cards named")
    other.set_ylabel("risk: share of these wrong")
    other.set_title("risk against coverage")
    for axis in (left, other):
        axis.grid(visible=True, alpha=0.3)
    _save(figure, folder / "confidence.png")


def sheet(worst: Sequence[Sample]) -> Image:
    """Return the crops read wrongly with most confidence, each with truth and reading."""
    width, height = CROP_SIZE
    across = 12
    rows = max(1, -(-len(worst) // across))
    canvas: NDArray[np.uint8] = np.full((rows * (height + 18), across * width, 3), 40, np.uint8)
    for number, sample in enumerate(worst):
        y, x = number // across * (height + 18), number % across * width
        canvas[y : y + height, x : x + width] = sample.crop
        truth = DECK[sample.shot.card] if sample.shot.card is not None else "-"
        words = f"{truth}>{DECK[int(sample.look.log_p.argmax())]} {sample.confidence:.2f}"
        at = (x + 3, y + height + 13)
        cv2.putText(canvas, words, at, cv2.FONT_HERSHEY_SIMPLEX, 0.38, (255, 255, 255), 1)
    return canvas


def _save(figure: Figure, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    """Look at the cards, write the report, print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cards", type=int, default=2_000)
    parser.add_argument("--looks", type=int, default=10)
    parser.add_argument("--model", type=Path, default=SHIPPED / "classifier.onnx")
    parser.add_argument("--seed", type=int, default=SEED, help="of other cards")
    parser.add_argument("--out", type=Path, default=Path("runs/report"))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    model = load_model(arguments.model, threads=1)
    settings = model.settings
    classifier = Classifier(
        model,
        temperature=settings["temperature"],
        seen_temperature=settings["seen_temperature"],
        seen_shift=settings["seen_shift"],
    )
    found = samples(classifier, arguments.cards, arguments.looks, arguments.seed)
    seed = "" if arguments.seed == SEED else f" --seed {arguments.seed}"
    wanted = f"--cards {arguments.cards} --looks {arguments.looks}{seed}"
    lines = [
        f"`python -m models.evaluate.report {wanted}`",
        "",
    ]
    for axis in range(len(AXES)):
        lines += [*table(found, axis), ""]
    open_cards = [s for s in found if in_sight(s.shot) >= WHOLE]
    lines += [f"Of the {len(open_cards)} cards that nothing covers:", ""]
    for aim in (0.99, 0.999):
        single, ten = (enough(open_cards, aim, fused=fused) for fused in (False, True))
        lines.append(
            f"- {aim:.1%} right: one look from {single} of width on, ten looks from {ten}."
        )
    lines += [
        "",
        (
            f"Calibration error of one look: {error_of(found, lambda s: s.sure_of_name):.2%} of "
            f"the name, {error_of(found, lambda s: s.confidence):.2%} with the doubt whether "
            "anything is readable, which all of these cards are."
        ),
        "",
    ]
    lines += risk_table(found)
    text = "\n".join(lines) + "\n"
    (arguments.out / "report.md").write_text(text, "utf-8")
    draw(found, arguments.out)
    print(text)


if __name__ == "__main__":
    main()
