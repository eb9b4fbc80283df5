"""Compare how the table looks at a face with how `read` looks at the same picture.

`python -m models.evaluate.table_looks FOLDER [--only NAME] [--every 0.8]`: FOLDER holds films of
the other renderer with their truth (`models.evaluate.dealing_films`). At the table a face is cut
out by the pose and size of its card, begun at either end in turn; `read` cuts it out by its
corners, corrected twice, and takes the mean of both ends. For each way: looks in which the true
card has less than 0.99, the mean log-loss, and of how many cards all looks together leave an error
of at most 1e-5. The last column has `read`'s own figures in the same pictures: faces named, named
wrongly. Measured on films that are looked at in development, to find what differs.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import av
import numpy as np

from datasets.dealing.film_truth import Dealt, read_truth
from models.evaluate.dealing_films import table_file
from vision.config.table import load
from vision.inference.load import for_pictures, open_models
from vision.sight.detection.classifier import FACES, CardModels, Fusion, Observation
from vision.sight.detection.detector import Detection, Kind
from vision.sight.geometry.plane import Image, TableView
from vision.sight.stills.reader import read_still

LEAST_SCORE = 0.4  # of a box, as at the table
SURE = 0.99  # probability of the true card below which a look is counted as poor
BOUND, STILL_BOUND = 1e-5, 0.02  # errors to which a card is named at the table, and by `read`
REST_MS = 200  # after a face is turned up, and before it goes: the hand has left the card
DECKS = 8.0
WAYS = ("pose, one end", "pose, both ends", "corners, one end", "corners, both ends")


def both_ends(first: Observation, second: Observation) -> Observation:
    """Return the mean of looks from both ends, as `read` takes it."""
    log_p = (first.log_p + second.log_p) / 2
    normed = np.asarray(log_p - np.log(np.exp(log_p).sum()), np.float32)
    return replace(first, log_p=normed, readable=(first.readable + second.readable) / 2)


def looks_at(
    models: CardModels, view: TableView, image: Image, box: Detection
) -> list[Observation]:
    """Return one look for each of the `WAYS`."""
    once = models.detector.outlined(image, [box])
    twice = models.detector.outlined(image, once)
    quads = [view.quad_px(view.locate(once[0].quad)[0]), twice[0].quad]
    found = []
    for quad in quads:
        first, second = models.classifier(image, [quad, np.roll(quad, 2, axis=0)])
        found += [first, both_ends(first, second)]
    return found


def pictures(
    film: Path, cards: tuple[Dealt, ...], every_s: float
) -> Iterator[tuple[Image, list[Dealt]]]:
    """Yield pictures of a film, so many seconds apart at least, with the faces that lie open."""
    due = 0.0
    with av.open(str(film)) as container:
        for frame in container.decode(video=0):
            at_ms = 1000 * float(frame.time or 0)
            open_now = [c for c in cards if c.face + REST_MS < at_ms < c.removed - REST_MS]
            if open_now and at_ms >= due:
                due = at_ms + 1000 * every_s
                yield np.asarray(frame.to_ndarray(format="bgr24"), np.uint8), open_now


def compare(film: Path, every_s: float) -> str:
    """Return a row for each way of looking at the faces of one film."""
    models, still_models = open_models(threads=1), for_pictures(threads=1)
    truth_file = film.with_suffix(".json")
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "table.toml"
        truth = json.loads(truth_file.read_text("utf-8"))
        table.write_text(table_file(truth, film, Path(folder) / "log.sqlite"), "utf-8")
        view = load(table).view.table_view()
    cards = tuple(c for c in read_truth(truth_file).cards if c.slot is not None)
    observations: dict[str, dict[Dealt, list[Observation]]] = {
        way: defaultdict(list) for way in WAYS
    }
    named = wrong = 0
    for image, lying in pictures(film, cards, every_s):
        boxes = [
            b for b in models.detector.cards_and_hands(image, LEAST_SCORE) if b.kind is Kind.FACE
        ]
        by_slot = {view.slot_of(view.locate(box.quad)[0]): box for box in boxes}
        stills = read_still(still_models, image, bound=STILL_BOUND)
        read = {view.slot_of(view.locate(s.quad)[0]): s.card for s in stills if s.card is not None}
        for card in lying:
            if card.slot not in by_slot:
                continue
            for way, look in zip(
                WAYS, looks_at(models, view, image, by_slot[card.slot]), strict=True
            ):
                observations[way][card].append(look)
            named += card.slot in read
            wrong += read.get(card.slot, card.card) != card.card
    rows = [_row(film.stem, way, observations[way]) for way in WAYS]
    return "\n".join((*rows[:-1], f"{rows[-1][:-1]}| {named}, {wrong} wrong |"))


def _row(film: str, way: str, looks: dict[Dealt, list[Observation]]) -> str:
    log_p = np.array([look.log_p[c.card.index] for c, each in looks.items() for look in each])
    sure = wrong = 0
    for card, each in looks.items():
        fusion = Fusion()
        for number, look in enumerate(each):
            fusion.add(look, changed=number == 0)
        opinion = fusion.opinion(np.full(FACES, DECKS))
        if opinion is not None and opinion.error <= BOUND:
            sure += opinion.best == card.card
            wrong += opinion.best != card.card
    poor, loss = int((np.exp(log_p) < SURE).sum()), float(-log_p.mean()) if len(log_p) else 0.0
    cards = f"{sure} of {len(looks)}, {wrong} wrong"
    return f"| {film} | {way} | {len(log_p)} | {poor} | {loss:.4f} | {cards} | |"


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", metavar="NAME")
    parser.add_argument("--every", type=float, default=0.8, metavar="S")
    args = parser.parse_args()
    print(
        "| film | cut out by | looks | poor | log-loss | cards named | `read` names, of the looks |"
    )
    print("|---|---|---|---|---|---|---|")
    for truth in sorted(args.folder.glob("*.json")):
        if args.only in ("", truth.stem):
            print(compare(truth.with_suffix(".mp4"), args.every), flush=True)


if __name__ == "__main__":
    main()
