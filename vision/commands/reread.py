"""`shoe-reader floor reread`: read recordings again, on every core there is, and compare."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from vision.errors import ConfigurationError, OutsideError
from vision.floor.archive.database import ARCHIVE_HELP, open_named
from vision.floor.reread.cluster import Cluster, Here, Pool, own_workers, scheduler_at
from vision.floor.reread.evening import evening_of, said_in
from vision.floor.reread.job import Progress, Rereading
from vision.floor.reread.recordings import Recording, recordings
from vision.floor.reread.report import summary, write_report
from vision.secrets import shown

# Milliseconds of the longest recording, a week: so much of an archive is looked at. Shorter, and
# the end of a longer one has nothing to be compared with.
LONGEST_MS = 7 * 86_400_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add = parser.add_argument
    add("recordings", nargs="+", metavar="RECORDING", help="a film, or its fsspec address")
    add("--out", type=Path, required=True, metavar="DIR", help="folder for what comes of it")
    add("--table", type=Path, metavar="F", help="table file of all of them, or a folder of such")
    then = parser.add_mutually_exclusive_group()
    then.add_argument("--evening", type=Path, metavar="F", help="what was said then: a log, an "
                      "export or a messages file, or a folder of such")  # fmt: skip
    then.add_argument("--archive", metavar="A", help=f"what was said then, of the films' times: "
                      f"{ARCHIVE_HELP}")  # fmt: skip
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--workers", type=int, default=0, metavar="N", help="so many processes here")
    where.add_argument("--scheduler", metavar="ADDRESS", help="the workers of a Dask scheduler")
    add("--tls", nargs=3, metavar=("CA", "CERTIFICATE", "KEY"),
        help="with what a scheduler on other machines is met: three PEM files")  # fmt: skip
    add("--patience", type=float, default=600.0, metavar="S", help="seconds that a scheduler which "
        "went away is waited for (600)")  # fmt: skip
    add("--core-hour", type=float, default=0.0, metavar="PRICE", help="of a core, for the cost")


def run(args: argparse.Namespace) -> int:
    """Read them; OutsideError where one could not be read, after all the others were."""
    progress = Progress(price=args.core_hour)
    found_in = recordings(args.recordings, args.table, args.evening)
    if args.archive is not None:
        found_in = _with_archive(found_in, args.archive)
    with ExitStack() as closing:
        found = Rereading(args.out, _pool(args, progress, closing), progress).run(found_in)
    write_report(args.out, found, progress.cost())
    for each in found:
        print(summary(each))
    print(f"{progress.cost()}; {args.out / 'report.html'}")
    unread = [each.recording.name for each in found if each.error]
    if unread:
        raise OutsideError(
            f"not read: {', '.join(unread)}; what was read is kept: remove the cause above and "
            "repeat the command"
        )
    return 0


def _with_archive(found_in: Sequence[Recording], archive: str) -> tuple[Recording, ...]:
    """Return the recordings with what the archive has of their times."""
    engine, _ = open_named(archive)
    found = []
    for each in found_in:
        if not each.is_dated:
            raise ConfigurationError(
                f"{shown(each.url)}: its name does not say when it began, so nothing can be found "
                "in an archive; name it as table-7-20260131-201500.mp4 (UTC)"
            )
        where = (each.table.site, each.table.table)
        lines = said_in(engine, where, each.start_ms, each.start_ms + LONGEST_MS)
        found.append(replace(each, evening=evening_of(lines)))
    return tuple(found)


def _pool(args: argparse.Namespace, progress: Progress, closing: ExitStack) -> Pool:
    if args.scheduler:
        at = scheduler_at(args.scheduler, args.tls)
        return Cluster(at, patience_s=args.patience, say=progress.say)
    if args.workers > 0:
        return Cluster(
            own_workers(args.workers, closing), patience_s=args.patience, say=progress.say
        )
    return Here()
