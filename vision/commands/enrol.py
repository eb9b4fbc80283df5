"""`shoe-reader enrol`: show the house deck once, and the reader knows its cards from others."""

from __future__ import annotations

import argparse
import select
import sys
from pathlib import Path

import cv2

from vision.camera.source import Shot, is_live, open_source
from vision.config.table import TableConfig, load, with_source
from vision.errors import ConfigurationError, OutsideError
from vision.files import free_name, refuse_existing
from vision.game.cards import Card
from vision.inference.deck_file import load as load_deck
from vision.inference.load import ModelSet, Runtime, open_models
from vision.setup.enrolment.enrol import (
    LOOK_EVERY_MS,
    Watch,
    ask_all,
    enrol,
    lacks,
    pairs_path,
    report,
)
from vision.setup.enrolment.gather import Showing
from vision.sight.reading.deck import Captured

# How many times larger than its crop (96 x 136 px) a card is shown that a person is to name.
ENLARGED = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add = parser.add_argument
    add("table", type=Path, metavar="TABLE.toml", help="the table file")
    words = "instead of [camera] source: camera number, address, video file or folder of pictures"
    add("--source", metavar="S", help=words)
    add("--out", type=Path, metavar="F", help="the deck file (TABLE.deck beside the table file)")
    add("--ask", action="store_true", help="ask which card it is where the reader is not sure")
    add("--refit", type=Path, metavar="F", help="measure the cards captured in this file again")
    add("--threads", type=int, default=2, help="CPU threads (default: 2)")


def run(args: argparse.Namespace) -> None:
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
    enrolled = enrol(captured, models, bound=config.reader.error_bound, out=out)
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
    watch = Watch(models, config.view.table_view(), config.camera, _print)
    source = config.camera.source
    live = is_live(source)
    if live:
        _print("show all 52 faces and the back, singly or in spreads; Enter ends it")
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
    picture = free_name(out.with_name(f"{out.stem}-ask.png"))
    size = (showing.crops[0].shape[1] * ENLARGED, showing.crops[0].shape[0] * ENLARGED)
    cv2.imwrite(str(picture), cv2.resize(showing.crops[0], size, interpolation=cv2.INTER_CUBIC))
    try:
        return _answer(words, picture)
    finally:
        picture.unlink(missing_ok=True)


def _answer(words: str, picture: Path) -> Card | None:
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


def _key_pressed() -> bool:
    """Whether a line was entered at the terminal."""
    if not sys.stdin.isatty() or not select.select([sys.stdin], [], [], 0)[0]:
        return False
    sys.stdin.readline()
    return True


def _print(words: str) -> None:
    print(words, flush=True)
