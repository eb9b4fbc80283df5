"""`shoe-reader calibrate` and `enrol`, once per table: where it lies in the picture, and its deck.

Both show what is found; a table file that is written over is kept beside.
"""

from __future__ import annotations

import argparse
import os
import select
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import cv2

from vision.camera.decoding import Shot
from vision.camera.source import first_frame, frames, is_live, open_source
from vision.config.editor import TableFile
from vision.config.table import CameraSection, TableConfig, load, with_source
from vision.errors import ConfigurationError, OutsideError
from vision.files import free_name, refuse_existing, write_whole
from vision.game.cards import Card
from vision.inference.deck_file import load as load_deck
from vision.inference.load import ModelSet, for_pictures, open_models
from vision.pictures import jpeg, picture_in
from vision.setup.calibration.areas import OPTIONAL
from vision.setup.calibration.cards import SIZES, LaidCards, measure
from vision.setup.enrolment.enrol import LOOK_EVERY_MS, Watch, ask_all, lacks, report
from vision.setup.enrolment.enrol import enrol as enrol_deck
from vision.setup.enrolment.gather import Showing
from vision.sight.drawing import Drawing
from vision.sight.geometry.plane import Frame, Image
from vision.sight.quality.table_fit import Drift
from vision.sight.reading.deck import Captured

# A source is looked at this often, ms, while cards are laid; a live one ends after so long, ms.
CARDS_EVERY_MS, LIVE_LIMIT_MS = 1_000, 180_000
THREADS = 2  # of the networks, here where no table is read meanwhile; more hardly help
QUALITY = 92  # of the picture that shows what was found, 0 to 100
# How many times larger than its crop (96 x 136 px) a card is shown that a person is to name.
ENLARGED = 4

say = partial(print, flush=True)
Laid = Callable[[Sequence[Image]], LaidCards]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("table", type=Path, metavar="TABLE.toml", help="the table file, old or new")
    words = "pictures of the laid cards; without any the camera is watched until all lie right"
    add("--cards", type=Path, nargs="*", default=[], metavar="PICTURE", help=words)
    add("--source", metavar="S", help="instead of the table's camera: camera number, address, film")
    add("--without", nargs="+", default=[], choices=OPTIONAL, metavar="PLACE",
        help=f"places without a card: {', '.join(OPTIONAL)}")  # fmt: skip
    add("--size", choices=list(SIZES), help="the size of the cards, where it is in doubt")
    add("--moved", type=float, nargs=len(Drift._fields), metavar="N",
        help="move the areas to where cards lie: the numbers of CAMERA_MOVED")  # fmt: skip


def run(args: argparse.Namespace) -> None:
    """Find, show, write."""
    file, pictures = TableFile(args.table), args.cards
    if args.moved:
        config = load(args.table)
        view = Drift(*args.moved).applied(config.view.table_view())
        file.change_view(view, first_frame(config.camera).image)
        print(f"{args.table}: areas moved; the old file is kept as {file.write()}")
        return
    if pictures and args.source is not None:
        raise ConfigurationError("calibrate: give pictures of the laid cards or --source, not both")
    if not (pictures or args.source or file.section("camera")):
        raise ConfigurationError(
            f"{args.table}: names no camera; give --source, or pictures of the eight cards laid as "
            "deploy/calibration.md shows"
        )
    laid = partial(measure, for_pictures(threads=THREADS), without=args.without, size=args.size)
    camera = file.camera(source=args.source or "0")
    if args.source is not None:
        camera = camera.model_copy(update={"source": args.source})
    found, image = _from_pictures(laid, pictures) if pictures else _from_source(laid, camera)
    assert found.view is not None  # noqa: S101  # without faults there is one
    drawing = free_name(args.table.with_name(f"{args.table.stem}-calibration.jpg"))
    write_whole(drawing, jpeg(Drawing(found.view)(Frame(image, 0, 0), None, ()), QUALITY))
    for line in found.notes:
        print(line)
    print(f"the cards' edges fit to {found.misfit_mm:.2f} mm")
    print(f"picture: {drawing} shows the areas: look at it")
    if unnamed := "source" not in file.section("camera"):
        file.change("camera", {"source": camera.source})
    file.change_view(found.view, found.emptied(image))
    stored = file.write()
    print(f"wrote {args.table}" + (f"; the one before is {stored}" if stored else ""))
    if unnamed and pictures:
        first = f'[camera] source = "{camera.source}", the first camera of this machine'
        print(f"pictures do not say which camera it is: {args.table} has {first}; name yours there")


def _from_pictures(laid: Laid, paths: Sequence[Path]) -> tuple[LaidCards, Image]:
    """Measure from pictures of the laid cards; OutsideError where they do not give the table."""
    images = [picture_in(path) for path in paths]
    if len({image.shape for image in images}) > 1:
        raise ConfigurationError(
            "calibrate: the pictures are of several sizes; give those of one camera, as the reader "
            "receives them"
        )
    return _accepted(laid(images), str(paths[-1])), images[-1]


def _from_source(laid: Laid, camera: CameraSection) -> tuple[LaidCards, Image]:
    """Measure from a camera or a film, as soon as all cards lie still as they should.

    What is wrong is printed whenever it changes. A live source ends after three minutes;
    OutsideError says what was wrong last.
    """
    say("lay the eight cards; what is wrong is printed here, and it ends when all is right")
    began: int | None = None
    printed: tuple[str, ...] | None = None
    last: tuple[LaidCards, Image] | None = None
    for frame in frames(camera, every_ms=0 if Path(camera.source).is_dir() else CARDS_EVERY_MS):
        began = frame.at if began is None else began
        if is_live(camera.source) and frame.at - began > LIVE_LIMIT_MS:
            break
        before, found = last, laid([frame.image])
        last = found, frame.image
        if found.faults and found.faults != printed:
            say("\n".join(f"  {line}" for line in found.faults))
        printed = found.faults
        if not found.faults and before is not None and found.at_rest(before[1], frame.image):
            break
    if last is None:
        raise OutsideError(f"{camera.source}: no picture comes; check that the camera sends one")
    return _accepted(last[0], camera.source), last[1]


def _accepted(found: LaidCards, name: str) -> LaidCards:
    if found.faults:
        raise OutsideError("\n".join(f"{name}: {fault}" for fault in found.faults))
    return found


def _agreed(words: str) -> bool:
    return input(f"{words} [y/N] ").strip().lower() in {"y", "yes"}


def add_enrol_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("table", type=Path, metavar="TABLE.toml", help="the table file")
    words = "instead of [camera] source: camera number, address, video file or folder of pictures"
    add("--source", metavar="S", help=words)
    add("--out", type=Path, metavar="F", help="the deck file (TABLE.deck beside the table file)")
    add("--ask", action="store_true", help="ask which card it is where the reader is not sure")
    add("--refit", type=Path, metavar="F", help="measure the cards captured in this file again")


def enrol(args: argparse.Namespace) -> None:
    """Gather the deck, measure it and write its file; exit code 3 where cards are too alike."""
    config = load(args.table)
    if args.source is not None:
        config = with_source(config, args.source)
    out: Path = args.out or args.table.with_suffix(".deck")
    if not out.parent.is_dir():
        raise ConfigurationError(f"--out {out}: there is no folder {out.parent}; make it first")
    refuse_existing(out)
    models = open_models(config.models.paths(), threads=THREADS)
    captured = (
        load_deck(args.refit).captured
        if args.refit
        else _gathered(config, models, out, ask=args.ask)
    )
    enrolled = enrol_deck(captured, models, bound=config.reader.error_bound, out=out)
    for line in report(enrolled.measured):
        print(line)
    print(f"{len(captured.cards)} captured cards")
    print(f"deck: {out} (sha256 {enrolled.sha256[:16]})")
    if enrolled.why:
        raise OutsideError(
            f"the deck is refused at an error of {config.reader.error_bound:g}: {enrolled.why}. "
            "Improve the lamp, the focus or the deck and enrol again"
        )
    print(f"the deck is accepted at an error of {config.reader.error_bound:g}")
    file = TableFile(args.table)
    if sys.stdin.isatty() and _agreed(f"read with it? [deck] path is then set in {args.table}"):
        file.change("deck", {"path": os.path.relpath(out, args.table.parent)})
        print(f"wrote {args.table}; the one before is {file.write()}")
    else:
        print(f'to read with it, set in {args.table}: [deck] path = "{out}"')


def _gathered(config: TableConfig, models: ModelSet, out: Path, *, ask: bool) -> Captured:
    """Watch the source until all is seen, a key is pressed or it ends; OutsideError if not all."""
    watch = Watch(models, config.view.table_view(), config.camera, say)
    source = config.camera.source
    live = is_live(source)
    if live:
        say("show all 52 faces and the back, singly or in spreads; Enter ends it")
    every_ms = 0 if Path(source).is_dir() else LOOK_EVERY_MS
    due = 0.0
    for shot in open_source(config.camera, speed=0.0):
        if isinstance(shot, Shot) and shot.frame.at >= due:
            due = shot.frame.at + every_ms
            watch.see(shot.frame)
        if live and (watch.complete or _key_pressed()):
            break
    gatherer = watch.gatherer
    if ask or (live and sys.stdin.isatty()):
        ask_all(gatherer, lambda words, showing: _ask(words, showing, out))
    if lacking := lacks(gatherer):
        raise OutsideError(
            f"{source}: the deck is not whole: {'; '.join(lacking)}. Show what is missing, free of "
            "other cards and sharp, or say with --ask which card it is; nothing was written"
        )
    return gatherer.captured()


def _ask(words: str, showing: Showing, out: Path) -> Card | None:
    """Show a card as a picture and take a person's word for it; an empty answer leaves it out."""
    picture, crop = free_name(out.with_name(f"{out.stem}-ask.png")), showing.crops[0]
    size = (crop.shape[1] * ENLARGED, crop.shape[0] * ENLARGED)
    cv2.imwrite(str(picture), cv2.resize(crop, size, interpolation=cv2.INTER_CUBIC))
    try:
        while True:
            print(f"Which card is in {picture}? {words}.")
            print("Rank and suit, as 7h; empty to leave it out: ", end="", flush=True)
            answer = sys.stdin.readline().strip()
            if not answer:
                return None
            try:
                return Card.parse(answer)
            except ValueError as error:
                print(error)
    finally:
        picture.unlink(missing_ok=True)


def _key_pressed() -> bool:
    """Whether a line was entered at the terminal."""
    if not sys.stdin.isatty() or not select.select([sys.stdin], [], [], 0)[0]:
        return False
    sys.stdin.readline()
    return True
