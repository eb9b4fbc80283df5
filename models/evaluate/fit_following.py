"""Fit the figures of following: `python -m models.evaluate.fit_following FILM...` (with truth).

Counts how often each symbol of a slot is shown over an empty slot, a back and a face. A run of one
symbol in one state is one observation, so that bursts of failures weigh as bursts. What hides a
slot is made neutral, and every symbol keeps a share: a film more would have shown it. Writes
`models/following.toml` with the hash of its table and the log-likelihood of films held out.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.evaluate.film_truth import NEVER, FilmTruth
from models.evaluate.streams import Film, Stream, films_of
from vision.game.events import Slot
from vision.sight.following.places import BOXES, COVERED, EDGES, SYMBOLS, PlaceWatch

STATES = ("empty", "back", "face")
UNKNOWN = -1  # the state of a slot in which a card lands or turns, or from which one is taken
# Times (ms) in which a state is not known: before a card comes to rest, before its face is seen to
# lie open, and after it is taken.
LANDING, TURNING, TAKING = 150, 900, 350
# The share of a flat table that is mixed in: a symbol that was seen a few times says little, one
# that was never seen says nothing.
FLAT = 0.05
OUT = Path(__file__).parents[1] / "following.toml"
Counts = NDArray[np.float64]


def states(truth: FilmTruth, looks: Sequence[int]) -> NDArray[np.intp]:
    """Return the state (index of STATES, UNKNOWN) of each slot at each look (N x 6)."""
    at = np.asarray(looks)
    found = np.zeros((len(at), len(Slot)), np.intp)
    for card in truth.cards:
        if card.slot is None:
            continue
        column = found[:, card.slot]
        lies = (at >= card.placed) & (at < card.removed)
        column[lies] = 1
        column[(at >= card.face) & lies] = 2
        column[(at >= card.face - TURNING) & (at < card.face) & lies] = UNKNOWN
        column[(at >= card.placed - LANDING) & (at < card.placed)] = UNKNOWN
        if card.removed < NEVER:
            column[(at >= card.removed - LANDING) & (at < card.removed + TAKING)] = UNKNOWN
    return found


def symbols(stream: Stream) -> NDArray[np.intp]:
    """Return the symbol of each slot at each look, N x 6."""
    watch = PlaceWatch(stream.view)
    rows = [
        [look.symbol for look in watch.look(boxes, patches, at)]
        for boxes, patches, at in zip(stream.boxes, stream.patches, stream.looks, strict=True)
    ]
    return np.array(rows, np.intp)


def counted(films: Iterable[Film]) -> Counts:
    """Return the runs (3 x SYMBOLS) of each symbol in each state."""
    counts = np.zeros((len(STATES), SYMBOLS))
    for film in films:
        shown, truth = symbols(film.stream), states(film.truth, film.stream.looks)
        for place in range(len(Slot)):
            pairs = np.column_stack([truth[:, place], shown[:, place]])
            begins = np.ones(len(pairs), bool)
            begins[1:] = (pairs[1:] != pairs[:-1]).any(axis=1)
            for state, symbol in pairs[begins]:
                if state != UNKNOWN:
                    counts[state, symbol] += 1
    return counts


def table_of(counts: Counts) -> Counts:
    """Return the likelihoods (3 x SYMBOLS, rows sum to 1) from counts of runs."""
    seen = counts.sum(axis=1, keepdims=True)
    shares = np.where(seen > 0, counts / np.maximum(seen, 1), 1 / SYMBOLS)
    hides = hidden_symbols()
    hidden = shares[:, hides].mean(axis=0)
    shares[:, ~hides] *= (1 - hidden.sum()) / shares[:, ~hides].sum(axis=1, keepdims=True)
    shares[:, hides] = hidden
    return np.asarray((1 - FLAT) * shares + FLAT / SYMBOLS, np.float64)


def hidden_symbols() -> NDArray[np.bool_]:
    """Return which symbols show a hand and no card: they say nothing of what lies below."""
    numbers = np.arange(SYMBOLS).reshape(BOXES, 2, EDGES, 2)
    return np.asarray(np.isin(np.arange(SYMBOLS), numbers[0, 1]), bool)


def log_likelihood(table: Counts, counts: Counts) -> float:
    """Return the mean log-likelihood of runs of a film, given its states."""
    return float((counts * np.log(table)).sum() / max(counts.sum(), 1))


def write(path: Path, table: Counts, fitted: Sequence[str], held: dict[str, float]) -> None:
    """Write the fitted file."""
    rows = {name: [float(f"{p:.3g}") for p in row] for name, row in zip(STATES, table, strict=True)}
    digest = hashlib.sha256(str(rows).encode()).hexdigest()
    lines = [
        "# Likelihoods of the symbols of a slot (vision/sight/following/places.py), fitted by",
        "# `python -m models.evaluate.fit_following`; one number a symbol, in their order.",
        f'sha256 = "{digest}"  # of the table',
        f"covered = {COVERED}  # share of a slot from which on a hand hides it",
        f"films = {len(fitted)}",
        f"held_out_log_likelihood = {held['table']:.3f}  # a run; a flat table: {held['flat']:.3f}",
        "",
        "[symbols]",
        *(f"{name} = {row}" for name, row in rows.items()),
        "",
    ]
    path.write_text("\n".join(lines), "utf-8")


def main() -> int:
    """Fit, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("films", nargs="+", type=Path, help="folders of films with truth")
    parser.add_argument(
        "--held", nargs="*", type=Path, default=[], help="not fitted, only measured"
    )
    parser.add_argument("--cache", type=Path, default=Path("runs/streams"))
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    films = films_of(arguments.films, arguments.cache)
    table = table_of(counted(films))
    held = counted(films_of(arguments.held, arguments.cache))
    flat = np.full_like(table, 1 / SYMBOLS)
    figures = {"table": log_likelihood(table, held), "flat": log_likelihood(flat, held)}
    write(arguments.out, table, [film.stream.name for film in films], figures)
    print(f"{len(films)} films; held out, a run: {figures}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
