"""What is named of the hardest crops, and how often wrongly.

`python -m models.evaluate.hard_crops`. Of held-out decks, most of the cards with covers laid on
their signs on purpose: the crops at which a reader invents. For each bound, what is named and how
much of it is wrong, with exact intervals (Clopper and Pearson, 95 %); for each way in which signs
are hidden, each class of focus, and each rank in clear sight, how much is declined. A name is wrong
if no card that lies there has it, neither the one that was looked for nor one laid on it: nearly
all that is named where no sign of a card is in sight is the card on top, in full view. With
`--keep` a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from datasets.training.crops import NO_CARD, taken
from datasets.training.signs import Sight
from models.networks.model_card import SHIPPED
from vision.game.cards import RANK_LETTERS, SUIT_LETTERS, Card
from vision.inference.load import load_model
from vision.metrics.intervals import share
from vision.sight.detection.classifier import Classifier

# Seed of these crops: another one than any training's or other evaluation's.
SEED = 90_001
# Share of the cards whose signs are covered on purpose.
HIDDEN = 0.7
# Crops that one process makes and reads at a time, and how many of them at once.
CHUNK, AT_ONCE = 2_000, 100
# Probabilities of error up to which a card is named: that of `read`, and stricter ones.
BOUNDS = (0.02, 1e-3, 1e-4, 1e-5)
# Widths of a card, px, as far as in focus: from the first on its pips may be counted, from the
# third on they are told by their shape (`signs`).
SHARP_PX = (10, 17, 22, 30, 45, 400)
# What can be seen of a card, in words, by the sight of its rank and its suit.
WAYS: dict[str, Callable[[int, int], bool]] = {
    "rank and suit clear": lambda rank, suit: min(rank, suit) == Sight.CLEAR,
    "in doubt, nothing hidden": lambda rank, suit: min(rank, suit) == Sight.DOUBT,
    "suit hidden, rank clear": lambda rank, suit: (rank, suit) == (Sight.CLEAR, Sight.NONE),
    "suit hidden, rank in doubt": lambda rank, suit: (rank, suit) == (Sight.DOUBT, Sight.NONE),
    "rank hidden, suit not": lambda rank, suit: rank == Sight.NONE < suit,
    "both hidden": lambda rank, suit: rank == Sight.NONE == suit,
}


def opened(path: Path) -> Classifier:
    """Return the classifier of a model file, calibrated as its card says."""
    model = load_model(path, threads=1)
    return Classifier(
        model,
        temperature=model.settings["temperature"],
        seen_temperature=model.settings["seen_temperature"],
        seen_shift=model.settings["seen_shift"],
    )


def read(seed: int, path: Path, keep: Path | None) -> NDArray[np.float64]:
    """Return a row for each of CHUNK crops: error stated, card read, truth, whether it lies there.

    The truth is card, sights of rank, suit and back, width in px as far as in focus. Rows that were
    kept come from their file.
    """
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    kept = keep / f"{digest[:12]}-{seed}-sharp.npy" if keep else None
    if kept is not None and kept.exists():
        return np.asarray(np.load(kept))
    rows = read_anew(seed, path)
    if kept is not None:
        np.save(kept, rows)
    return rows


def read_anew(seed: int, path: Path) -> NDArray[np.float64]:
    """Return the rows of CHUNK crops, made and read."""
    cv2.setNumThreads(1)
    classifier, made = opened(path), taken(SEED + seed, split="test", hidden=HIDDEN)
    rows: list[tuple[float, ...]] = []
    while len(rows) < CHUNK:
        some = list(islice(made, AT_ONCE))
        observations = classifier.of_crops([crop for crop, _, _ in some])
        for look, (_, truth, shot) in zip(observations, some, strict=True):
            best = int(look.log_p.argmax())
            there = best in (shot.card, *shot.laid)
            rows.append((1 - look.confidence, best, *truth, shot.sharp_px, there))
    return np.array(rows)


def lines(rows: NDArray[np.float64]) -> list[str]:
    """Return the tables in Markdown."""
    error, best, card, rank, suit = rows[:, :5].T
    wrong, on_it = rows[:, -1] == 0, (rows[:, -1] > 0) & (best != card)
    faces = card < NO_CARD
    clear = np.minimum(rank, suit) == Sight.CLEAR
    found = ["| bound | clear cards named | named in all | a card on it | wrong | 95 % interval |",
             "|---|---|---|---|---|---|"]  # fmt: skip
    for bound in BOUNDS:
        named = error <= bound
        false = int((named & wrong).sum())
        low, high = share(false, int(named.sum()))[2:]
        found.append(
            f"| {bound:g} | {named[clear].mean():.1%} | {int(named.sum())} "
            f"| {int((named & on_it).sum())} | {false} ({false / max(named.sum(), 1):.4%}) "
            f"| {low:.4%} to {high:.4%} |"
        )
    found += ["", "| to be seen | cards | declined at 0.02 | at 1e-3 | at 1e-5 | wrong at 0.02 |",
              "|---|---|---|---|---|---|"]  # fmt: skip
    for words, is_so in WAYS.items():
        chosen = faces & np.array([is_so(int(r), int(s)) for r, s in zip(rank, suit, strict=True)])
        found.append(_row(words, chosen, error=error, wrong=wrong))
    for low, high in pairwise(SHARP_PX):
        chosen = faces & (rank + suit > Sight.NONE) & (low <= rows[:, 6]) & (rows[:, 6] < high)
        found.append(_row(f"any sign, in focus from {low} px", chosen, error=error, wrong=wrong))
    for number, letter in enumerate(RANK_LETTERS):
        chosen = clear & (card // len(SUIT_LETTERS) == number)
        found.append(_row(f"{letter}, clear", chosen, error=error, wrong=wrong))
    # Engraved, with another drawing in each deck.
    chosen = clear & (card == Card.parse("As").index)
    found.append(_row("ace of spades, clear", chosen, error=error, wrong=wrong))
    return [*found, _row("no card of the 52", ~faces, error=error, wrong=wrong)]


def _row(
    words: str, chosen: NDArray[np.bool_], *, error: NDArray[Any], wrong: NDArray[np.bool_]
) -> str:
    shares = (
        f"{(error[chosen] > bound).sum() / max(chosen.sum(), 1):.2%}"
        for bound in (0.02, 1e-3, 1e-5)
    )
    named = int((chosen & wrong & (error <= BOUNDS[0])).sum())
    return f"| {words} | {int(chosen.sum())} | {' | '.join(shares)} | {named} |"


def main() -> None:
    """Make and read the crops, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("onnx", type=Path, nargs="?", default=SHIPPED / "classifier.onnx")
    parser.add_argument("--crops", type=int, default=20_000)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="a folder for what has been read")
    arguments = parser.parse_args()
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
    chunks = range(-(-arguments.crops // CHUNK))
    with ProcessPoolExecutor(arguments.processes) as pool:
        rows = np.concatenate(
            list(pool.map(partial(read, path=arguments.onnx, keep=arguments.keep), chunks))
        )
    print("\n".join(lines(rows[: arguments.crops])))


if __name__ == "__main__":
    main()
