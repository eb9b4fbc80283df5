"""`shoe-reader read`: the cards in still pictures."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import cv2

from vision.camera.pictures import decode_picture
from vision.errors import ConfigurationError, OutsideError
from vision.inference.load import for_pictures
from vision.sight.geometry.frame import Image
from vision.sight.stills.reader import StillCard, annotate, read_still

# Characters of the progress bar.
BAR = 24


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("images", nargs="+", type=Path, metavar="IMAGE")
    parser.add_argument("--json", action="store_true", help="print one JSON list")
    parser.add_argument(
        "--annotate", type=Path, metavar="DIR", help="write each picture with its cards drawn on"
    )
    parser.add_argument(
        "--bound",
        type=float,
        default=0.02,
        help="name a card only if its probability of error is at most this (default: %(default)s)",
    )
    parser.add_argument(
        "--fast",
        action="store_true",
        help="use the networks in 8 bits, where there are such files and the processor can",
    )
    parser.add_argument("--detector", type=Path, metavar="ONNX", help="another detector")
    parser.add_argument("--classifier", type=Path, metavar="ONNX", help="another classifier")
    parser.add_argument("--corners", type=Path, metavar="ONNX", help="another corner finder")
    parser.add_argument("--threads", type=int, default=2, help="CPU threads (default: 2)")


def run(args: argparse.Namespace) -> int:
    """Read every picture; a bad one is named at the end and the others are still read."""
    if not 0 <= args.bound < 1:
        raise ConfigurationError(f"--bound {args.bound}: give a probability from 0 up to 1")
    if args.annotate:
        _make_folder(args.annotate)
    models = for_pictures(
        args.detector, args.classifier, args.corners, threads=args.threads, fast=args.fast
    )
    bad: list[str] = []
    found = []
    for path in counted(args.images):
        image = open_picture(path)
        if image is None:
            bad.append(str(path))
            continue
        cards = read_still(models, image, bound=args.bound)
        if args.annotate:
            _write(args.annotate / f"{path.stem}.jpg", annotate(image, cards))
        if args.json:
            height, width = image.shape[:2]
            found.append(
                {
                    "image": str(path),
                    "width": width,
                    "height": height,
                    "cards": [card.as_json() for card in cards],
                }
            )
        else:
            print(f"{path}: {_words(cards)}")
    if args.json:
        print(json.dumps(found, indent=1))
    if bad:
        raise ConfigurationError(
            f"not readable as pictures: {', '.join(bad)}; give JPEG, PNG, WebP or BMP files"
        )
    return 0


def counted(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield paths; where somebody sits at a terminal, a bar says how many of many are done."""
    shown = len(paths) > 1 and sys.stderr.isatty()
    for done, path in enumerate(paths, start=1):
        yield path
        if shown:
            bar = "#" * (BAR * done // len(paths))
            end = "\n" if done == len(paths) else ""
            print(f"\r[{bar:.<{BAR}}] {done}/{len(paths)} pictures", end=end, file=sys.stderr)


def _words(cards: tuple[StillCard, ...]) -> str:
    if not cards:
        return "no cards"
    return ", ".join(
        f"{card.card or ('back' if card.as_json()['face'] == 'down' else 'unread')} "
        f"({card.confidence:.2f})"
        for card in cards
    )


def open_picture(path: Path) -> Image | None:
    """Return the picture in a file, `None` where there is none that can be read."""
    try:
        return decode_picture(path.read_bytes())
    except OSError as error:
        print(f"{path}: {error.strerror}", file=sys.stderr)
        return None


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"--annotate {folder}: {error.strerror}") from None


def _write(path: Path, image: Image) -> None:
    done, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 90])
    if not done:
        raise OutsideError(f"{path}: the picture could not be encoded")
    try:
        path.write_bytes(data.tobytes())
    except OSError as error:
        raise OutsideError(f"{path}: {error.strerror}") from None
