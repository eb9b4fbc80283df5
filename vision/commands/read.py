"""`shoe-reader read`: the cards in still pictures."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from vision.errors import ConfigurationError, OutsideError
from vision.files import make_folder, refuse_existing, write_new
from vision.inference.load import for_pictures
from vision.pictures import GreyPictures, jpeg, picture_in
from vision.sight.stills.reader import StillCard, annotate, read_still

THREADS = 2  # of the networks; more hardly help with pictures of a few cards
QUALITY = 90  # of JPEGs, 0 to 100: the outlines stay clear


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("images", nargs="+", type=Path, metavar="IMAGE")
    add("--json", action="store_true", help="print one JSON list")
    add("--annotate", type=Path, metavar="DIR", help="write each picture with its cards drawn on")
    words = "name a card only if its probability of error is at most this (default: %(default)s)"
    add("--bound", type=float, default=0.02, help=words)


def run(args: argparse.Namespace) -> None:
    """Read every picture; a bad one is named at the end and the others are still read."""
    if not 0 <= args.bound < 1:
        raise ConfigurationError(f"--bound {args.bound}: give a probability from 0 up to 1")
    drawn = _targets(args.annotate, args.images) if args.annotate else {}
    models = for_pictures(threads=THREADS)
    bad: list[str] = []
    greys = GreyPictures()
    found = []
    for path in args.images:
        try:
            image = picture_in(path)
        except OutsideError as error:
            bad.append(str(error))
            continue
        greys.note(image, path)
        cards = read_still(models, image, bound=args.bound)
        if args.annotate:
            write_new(drawn[path], jpeg(annotate(image, cards), QUALITY))
        if args.json:
            height, width = image.shape[:2]
            shown = [card.as_json() for card in cards]
            found.append({"image": str(path), "width": width, "height": height, "cards": shown})
        else:
            print(f"{path}: {', '.join(map(_words, cards)) or 'no cards'}")
    if args.json:
        print(json.dumps(found, indent=1))
    if bad:
        raise ConfigurationError("\n".join(bad))


def _words(card: StillCard) -> str:
    name = card.card or ("back" if card.as_json()["face"] == "down" else "unread")
    return f"{name} ({card.confidence:.2f})"


def _targets(folder: Path, images: Sequence[Path]) -> dict[Path, Path]:
    """Return where each picture goes with its cards drawn on; nothing there is overwritten."""
    targets = {path: folder / f"{path.stem}.jpg" for path in images}
    refuse_existing(*targets.values())
    twice = [str(name) for name, count in Counter(targets.values()).items() if count > 1]
    if twice:
        raise ConfigurationError(
            f"--annotate: several pictures would become {', '.join(twice)}; annotate them into "
            "folders of their own"
        )
    make_folder(folder)
    return targets
