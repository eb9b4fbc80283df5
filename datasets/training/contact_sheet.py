"""Contact sheets of what training sees, with its labels drawn on.

`python -m datasets.training.contact_sheet stills|crops OUT.png`
"""

from __future__ import annotations

import argparse
from itertools import islice

import cv2
import numpy as np

from vision.game.cards import Card

from ..faces.registry import picture, save
from ..render.paint import Image
from .crops import NO_CARD, Truth, crops
from .scene import Still, stills

# BGR.
_INKS = {"face": (60, 220, 60), "back": (240, 120, 40), "cut": (40, 200, 240)}


def drawn(still: Still) -> Image:
    """Return a copy of the still with its quads (first edge thick), names and visible shares."""
    image = cv2.resize(still.image, None, fx=1.5, fy=1.5, interpolation=cv2.INTER_LINEAR)
    for label in still.labels:
        corners = np.round(label.quad * 1.5).astype(np.int32)
        ink = _INKS[label.kind]
        cv2.polylines(image, [corners], True, ink, 1, cv2.LINE_AA)
        cv2.line(image, corners[0].tolist(), corners[1].tolist(), (0, 0, 255), 2)
        text = f"{label.card or ''} {label.visible:.1f}"
        cv2.putText(image, text, corners.mean(axis=0).astype(int).tolist(), 0, 0.35, ink, 1)
    return image


def named(crop: Image, truth: Truth) -> Image:
    """Return a copy of the crop with its truth below; `?` in doubt, `-` where nothing is seen."""
    name = str(Card.of(truth.card)) if truth.card != NO_CARD else "back" if truth.back else "--"
    marks = ("-", "?", "+")
    text = f"{name} {marks[truth.rank]}{marks[truth.suit]}"
    framed = cv2.copyMakeBorder(crop, 0, 16, 2, 2, cv2.BORDER_CONSTANT)
    cv2.putText(framed, text, (20, crop.shape[0] + 13), 0, 0.5, (90, 255, 90), 1, cv2.LINE_AA)
    return framed


def montage(tiles: list[Image], columns: int) -> Image:
    """Return tiles of one size in rows of `columns`, the last row filled with black."""
    tiles = tiles + [np.zeros_like(tiles[0])] * (-len(tiles) % columns)
    rows = [np.hstack(tiles[i : i + columns]) for i in range(0, len(tiles), columns)]
    return np.vstack(rows)


def main() -> None:
    """Write the sheet the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m datasets.training.contact_sheet", description=__doc__
    )
    parser.add_argument("what", choices=("stills", "crops"))
    parser.add_argument("out", type=picture, metavar="OUT.png")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=12, help="of pictures, 1 or more")
    parser.add_argument("--split", choices=("train", "test"), default="train")
    parser.add_argument("--plain", action="store_true", help="draw no labels")
    args = parser.parse_args()
    if args.count < 1:
        parser.error(f"--count {args.count}: at least one")
    tiles: list[Image]
    if args.what == "crops":
        tiles = [named(*pair) for pair in islice(crops(args.seed, split=args.split), args.count)]
    else:
        chosen = islice(stills(args.seed, split=args.split), args.count)
        tiles = [still.image if args.plain else drawn(still) for still in chosen]
    save(args.out, montage(tiles, 16 if args.what == "crops" else 4))


if __name__ == "__main__":
    main()
