"""Make of an acceptance bundle what is measured with: `python -m models.evaluate.bundle DIR`.

Beside each film comes `truth.json` in the form of the simulator's, and into `photographs/` a still
of each coup with labels, as photographs have them. Times are the reader's, for people say what was
dealt and not when.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from vision.acceptance.answers import CUT_CARD, CUT_FIRST, Dealt
from vision.config.table import load
from vision.files import make_folder, write_json
from vision.game.cards import Card
from vision.game.events import Life, Slot
from vision.sight.geometry.plane import Pose

# Milliseconds from one card to the next, and from its leaving the shoe to its rest, where the
# reader did not see it and so has no times: what a dealer takes at an even pace.
NEXT_MS, REST_MS = 1500, 800
THIRD = 4  # from this slot on cards lie crosswise

Row = dict[str, Any]


def main(argv: Sequence[str] | None = None) -> None:
    """Write what a bundle comes to into its folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("bundle", type=Path, metavar="DIR", help="what `accept export` wrote")
    folder = parser.parse_args(argv).bundle
    bundle = json.loads((folder / "bundle.json").read_text("utf-8"))
    for film in bundle["films"]:
        coups = [c for c in bundle["coups"] if film["began"] <= c["shown"] <= film["ended"]]
        write_json(folder / "films" / film["name"] / "truth.json", truth(coups, film["began"]))
        print(f"{film['name']}: {len(coups)} coups")
    print(f"{write_photographs(folder, bundle)} photographs")


def truth(coups: Sequence[Row], began: int) -> Row:
    """Return the truth of a film as the simulator writes it; times in ms from its start."""
    cards: list[Row] = []
    spans: list[Row] = []
    faults: list[Row] = []
    cut: int | None = None
    for number, coup in enumerate(coups, start=1):
        rows = _cards(coup, began, number)
        cards += rows
        begin = rows[0]["began_ms"]
        hands = {side: coup[side] for side in ("punto", "banco")}
        punto, banco = (tuple(map(Card.parse, hand)) for hand in hands.values())
        winner = Dealt(punto, banco).winner
        span = {"coup": number, "start_ms": begin, "end_ms": coup["until"] - began}
        spans.append({**span, **hands, "winner": winner})
        faults += [{"coup": number, "code": code} for code in coup["incidents"]]
        cut = begin if {CUT_CARD, CUT_FIRST} & {*coup["incidents"]} else cut
    return {"cards": cards, "coups": spans, "faults": faults, "cut_ms": cut}


def _cards(coup: Row, began: int, number: int) -> list[Row]:
    """Return the cards of a coup in the order of leaving; of those the reader missed, the last."""
    seen = {card["slot"]: card for card in coup["cards"] if card["life"] != Life.RETURNED}
    after = max((card["out"] for card in coup["cards"]), default=coup["since"])
    rows = []
    for slot, name in _placed(coup):
        known = seen.get(slot.name)
        if known is None:
            after += NEXT_MS
            known = {"out": after, "placed": None, "face": None, "removed": None}
        placed = known["placed"] or known["out"] + REST_MS
        times = {
            "began_ms": known["out"],
            "out_ms": known["out"],
            "placed_ms": placed,
            "face_ms": known["face"] or placed,
            "removed_ms": known["removed"] or coup["until"],
        }
        reported = {"card": name, "slot": slot.name, "coup": number}
        rows.append({**reported, **{key: at - began for key, at in times.items()}})
    return sorted(rows, key=lambda row: int(row["out_ms"]))


def _placed(coup: Row) -> list[tuple[Slot, str]]:
    """Return the slots of a coup's cards, and the cards' names."""
    hands = ((coup["punto"], Slot.PUNTO_1), (coup["banco"], Slot.BANCO_1))
    return sorted((Slot(first + 2 * i), n) for hand, first in hands for i, n in enumerate(hand[:3]))


def write_photographs(folder: Path, bundle: Row) -> int:
    """Write a still of each coup, and its cards with the boxes of their slots; return how many.

    A box is that of a card which lies in the middle of its slot: good enough to tell which card is
    meant, not to learn outlines from.
    """
    view = load(folder / "table.toml").view.table_view()
    out, count = folder / "photographs" / "measure" / bundle["source"], 0
    for name in ("images", "labels"):
        make_folder(out / name)
    for coup in bundle["coups"]:
        name = coup["coup"].replace("/", "-")
        still = folder / "stills" / f"{name}.jpg"
        if not still.exists():
            continue
        image = cv2.imread(str(still))
        assert image is not None  # noqa: S101
        lines = []
        for slot, card in _placed(coup):
            x, y = view.slots[slot].mean(axis=0)
            pose = Pose(float(x), float(y), 90.0 if slot >= THIRD else 0.0)
            box = view.homography.to_px(view.rectangle(pose)) - np.array(bundle["corner"])
            lines.append(_label(Card.parse(card), box, image.shape))
        shutil.copy(still, out / "images")
        (out / "labels" / f"{name}.txt").write_text("\n".join(lines) + "\n", "utf-8")
        count += 1
    return count


def _label(card: Card, quad: np.ndarray, shape: tuple[int, ...]) -> str:
    """Return a line of YOLO: class, middle, width and height, as shares of the picture."""
    low, high = quad.min(axis=0) / shape[1::-1], quad.max(axis=0) / shape[1::-1]
    middle, size = (low + high) / 2, high - low
    return " ".join([str(card.index), *(f"{v:.5f}" for v in (*middle, *size))])


if __name__ == "__main__":
    main()
