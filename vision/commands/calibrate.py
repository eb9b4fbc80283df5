"""`shoe-reader calibrate`: where the table lies in the picture, and the places on it.

Shows what is found, and asks before it writes over a table file.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path

from vision.errors import ConfigurationError
from vision.files import free_name, refuse_existing, write_new
from vision.setup.calibration.from_sheet import LINE_MM, sheet_pdf
from vision.setup.calibration.job import Calibration, CalibrationRequest, LensFrom


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


def number(least: float) -> Callable[[str], float]:
    """Return the reading of a number from `least` to 1000."""

    def read(text: str) -> float:
        value = float(text)
        if not least <= value <= 1000:
            raise argparse.ArgumentTypeError(f"{text} is out of range; {least:g} to 1000")
        return value

    return read


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
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
    add("--line", type=number(50), default=LINE_MM, metavar="MM",
        help="true length of the printed line (100)")  # fmt: skip
    lens = parser.add_mutually_exclusive_group()
    lens.add_argument("--no-lens", action="store_true", help="assume a lens without distortion")
    lens.add_argument("--keep-lens", action="store_true", help="keep the lens of the table file")
    add("--empty", type=Path, metavar="PICTURE", help="a picture of the empty layout, to be kept")
    add("--out", type=Path, metavar="F.toml", help="write here instead of over TABLE.toml")
    add("--yes", action="store_true", help="write over the table file without asking")


def run(args: argparse.Namespace) -> None:
    """Find, show, ask, write."""
    if args.sheet:
        _print_sheet(args.sheet)
        return
    if args.table is None:
        raise ConfigurationError(
            "calibrate: give the table file and what to calibrate from (pictures of the sheet, "
            "--source or --points), or --sheet F.pdf to print the sheet first"
        )
    calibration = Calibration(_request(args), _print)
    calibrated = calibration.find()
    calibration.draw(calibrated)
    target = _target(calibration.target, over=args.yes)
    if target is None:
        print("nothing written")
    else:
        calibration.write(calibrated, target)


def _request(args: argparse.Namespace) -> CalibrationRequest:
    lens: LensFrom = "none" if args.no_lens else "file" if args.keep_lens else "pictures"
    return CalibrationRequest(
        args.table,
        pictures=args.pictures,
        source=args.source,
        points=args.points or (),
        marks=dict(args.place),
        lens=lens,
        line_mm=args.line,
        empty=args.empty,
        out=args.out,
    )


def _target(path: Path, *, over: bool) -> Path | None:
    """Return where to write: beside a file where nobody can be asked, `None` after a no."""
    if not path.exists() or over:
        return path
    if not sys.stdin.isatty():
        print(f"{path} is there already: the proposal goes beside it (--yes: over it)")
        return free_name(path.with_suffix(".proposed.toml"))
    answer = input(f"write over {path}? The old one is kept as {path.name}.bak [y/N] ")
    return path if answer.strip().lower() in {"y", "yes"} else None


def _print_sheet(path: Path) -> None:
    refuse_existing(path)
    write_new(path, sheet_pdf())
    print(f"wrote {path}: print page 1 on A4 or page 2 on Letter, at 100 %, and check its line")


def _print(line: str) -> None:
    print(line, flush=True)
