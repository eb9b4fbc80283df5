"""`shoe-reader calibrate` and `enrol`, once per table: where it lies in the picture, and its deck.

Both show what is found, and ask before a table file is written over, or what a card is.
"""

from __future__ import annotations

import argparse
import re
import select
import sys
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from vision.camera.source import Shot, is_live, open_source
from vision.config.editor import TableFile, areas_section
from vision.config.table import TableConfig, ViewSection, load, with_source
from vision.errors import ConfigurationError, OutsideError
from vision.files import free_name, refuse_existing, write_new
from vision.game.cards import Card
from vision.inference.deck_file import load as load_deck
from vision.inference.load import ModelSet, Runtime, open_models
from vision.setup.calibration.from_sheet import LINE_MM, sheet_pdf
from vision.setup.calibration.job import Calibration
from vision.setup.enrolment.enrol import LOOK_EVERY_MS, Watch, ask_all, lacks, pairs_path, report
from vision.setup.enrolment.enrol import enrol as enrol_deck
from vision.setup.enrolment.gather import Showing
from vision.sight.quality.table_fit import Drift
from vision.sight.reading.deck import Captured

# How many times larger than its crop (96 x 136 px) a card is shown that a person is to name.
ENLARGED = 4

say = partial(print, flush=True)


def pair(text: str) -> tuple[float, float, float, float]:
    """Read a point in the picture and on the table, x,y=x,y."""
    number = r"\s*(-?\d+(?:\.\d+)?)\s*"
    match = re.fullmatch(f"{number},{number}={number},{number}", text)
    if not match:
        raise argparse.ArgumentTypeError(
            f"'{text}' is no pair; write pixels=mm as 812,400=350,262.5"
        )
    x, y, table_x, table_y = map(float, match.groups())
    return x, y, table_x, table_y


def place(text: str) -> tuple[str, tuple[float, ...]]:
    """Read a place: its name, its middle in the picture and, at will, a direction."""
    name, _, numbers = text.partition("=")
    try:
        values = tuple(float(part) for part in numbers.split(","))
    except ValueError:
        values = ()
    if len(values) not in {2, 3}:
        raise argparse.ArgumentTypeError(
            f"'{text}' is no place; write PUNTO_1=812,400 or =812,400,90"
        )
    return name.strip().upper(), values


def length(text: str) -> float:
    """Read the length of the printed line, mm."""
    value = float(text)
    if not 50 <= value <= 1000:
        raise argparse.ArgumentTypeError(f"{text} is out of range; 50 to 1000")
    return value


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `calibrate`."""
    add = parser.add_argument
    add("table", type=Path, nargs="?", metavar="TABLE.toml", help="the table file, old or new")
    add("pictures", type=Path, nargs="*", metavar="PICTURE", help="pictures of the marker sheet")
    add("--sheet", type=Path, metavar="F.pdf", help="write the marker sheet to print, and end")
    add("--source", metavar="S", nargs="?", const="", help="watch this source (none named: the "
        "table's camera) while the sheet is moved about")  # fmt: skip
    add("--points", nargs="+", type=pair, metavar="X,Y=X,Y",
        help="four or more points instead of the sheet: pixels = millimetres")  # fmt: skip
    add("--place", action="append", default=[], type=place, metavar="NAME=X,Y[,DEG]",
        help="the pixel of an area's centre: a slot's name, MOUTH or DISCARD")  # fmt: skip
    add("--line", type=length, default=LINE_MM, metavar="MM",
        help="true length of the printed line (100)")  # fmt: skip
    add("--no-lens", action="store_true", help="assume a lens without distortion")
    add("--empty", type=Path, metavar="PICTURE", help="a picture of the empty layout, to be kept")
    add("--moved", type=float, nargs=len(Drift._fields), metavar="N",
        help="move the areas to where cards lie: the numbers of CAMERA_MOVED")  # fmt: skip
    add("--out", type=Path, metavar="F.toml", help="write here instead of over TABLE.toml")
    add("--yes", action="store_true", help="write over the table file without asking")


def run(args: argparse.Namespace) -> None:
    """Find, show, ask, write."""
    if args.sheet:
        refuse_existing(args.sheet)
        write_new(args.sheet, sheet_pdf())
        print(
            f"wrote {args.sheet}: print page 1 on A4 or page 2 on Letter, at 100 %, and check its "
            "line"
        )
        return
    if args.table is None:
        raise ConfigurationError(
            "calibrate: give the table file and what to calibrate from (pictures of the sheet, "
            "--source or --points), or --sheet F.pdf to print the sheet first"
        )
    if args.moved:
        file = TableFile(args.table)
        file.change("view", _moved(load(args.table).view, Drift(*args.moved)))
        print(f"{args.table}: areas moved; the old file is kept as {file.write()}")
        return
    calibration = Calibration(
        args.table,
        say,
        pictures=args.pictures,
        source=args.source,
        points=args.points or (),
        marks=dict(args.place),
        no_lens=args.no_lens,
        line_mm=args.line,
        empty=args.empty,
        out=args.out,
    )
    view, found = calibration.find()
    target = _target(calibration.target, over=args.yes)
    if target is None:
        print("nothing written")
    else:
        calibration.write(view, found, target)


def _moved(view: ViewSection, drift: Drift) -> dict[str, Any]:
    """Return the keys of [view] for areas where cards were seen to lie, in their true size."""
    table = view.table_view()
    areas = {name: drift.moved(area) / drift.size for name, area in table.areas.items()}
    plane = (np.array(view.table_mm) / drift.size).round(2).tolist()
    return {"table_mm": plane, **areas_section(areas)}


def _target(path: Path, *, over: bool) -> Path | None:
    """Return where to write: beside a file where nobody can be asked, `None` after a no."""
    if not path.exists() or over:
        return path
    if not sys.stdin.isatty():
        print(f"{path} is there already: the proposal goes beside it (--yes: over it)")
        return free_name(path.with_suffix(".proposed.toml"))
    answer = input(f"write over {path}? The old one is kept as {path.name}.bak [y/N] ")
    return path if answer.strip().lower() in {"y", "yes"} else None


# --- enrol ----------------------------------------------------------------------------------------


def add_enrol_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `enrol`."""
    add = parser.add_argument
    add("table", type=Path, metavar="TABLE.toml", help="the table file")
    words = "instead of [camera] source: camera number, address, video file or folder of pictures"
    add("--source", metavar="S", help=words)
    add("--out", type=Path, metavar="F", help="the deck file (TABLE.deck beside the table file)")
    add("--ask", action="store_true", help="ask which card it is where the reader is not sure")
    add("--refit", type=Path, metavar="F", help="measure the cards captured in this file again")
    add("--threads", type=int, default=2, help="CPU threads (default: 2)")


def enrol(args: argparse.Namespace) -> None:
    """Gather the deck, measure it and write its file; exit code 3 where cards are too alike."""
    config = load(args.table)
    if args.source is not None:
        config = with_source(config, args.source)
    out: Path = args.out or args.table.with_suffix(".deck")
    if not out.parent.is_dir():
        raise ConfigurationError(f"--out {out}: there is no folder {out.parent}; make it first")
    refuse_existing(out, pairs_path(out))
    runtime = Runtime(config.models.provider)
    models = open_models(**config.models.paths(), threads=args.threads, runtime=runtime)
    captured = (
        load_deck(args.refit).captured
        if args.refit
        else _gathered(config, models, out, ask=args.ask)
    )
    enrolled = enrol_deck(captured, models, bound=config.reader.error_bound, out=out)
    for line in report(enrolled.measured):
        print(line)
    print(f"{len(captured.cards)} captured cards")
    print(f"deck: {out} (sha256 {enrolled.sha256[:16]}); closest pairs: {pairs_path(out)}")
    if enrolled.why:
        raise OutsideError(
            f"the deck is refused at an error of {config.reader.error_bound:g}: {enrolled.why}. "
            "Improve the lamp, the focus or the deck and enrol again"
        )
    print(f"the deck is accepted at an error of {config.reader.error_bound:g}")
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
