"""`shoe-reader floor reread`: read recordings again, on every core there is, and compare."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path

from vision.errors import OutsideError
from vision.floor.reread.cluster import Cluster, Pool, here, own_workers, scheduler_at
from vision.floor.reread.job import Progress, Rereading, recordings, summary, write_report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add = parser.add_argument
    add("recordings", nargs="+", metavar="RECORDING", help="a film, or its fsspec address")
    add("--out", type=Path, required=True, metavar="DIR", help="folder for what comes of it")
    add("--table", type=Path, metavar="F", help="table file of all of them, or a folder of such")
    add("--evening", type=Path, metavar="F", help="what was said then: a log, an export or a "
        "messages file, or a folder of such")  # fmt: skip
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--workers", type=int, default=0, metavar="N", help="so many processes here")
    where.add_argument("--scheduler", metavar="ADDRESS", help="the workers of a Dask scheduler")
    add("--tls", nargs=3, metavar=("CA", "CERTIFICATE", "KEY"),
        help="with what a scheduler on other machines is met: three PEM files")  # fmt: skip


def run(args: argparse.Namespace) -> None:
    """Read them; OutsideError where one could not be read, after all the others were."""
    progress = Progress()
    found_in = recordings(args.recordings, args.table, args.evening)
    with ExitStack() as closing:
        found = Rereading(args.out, _pool(args, closing), progress).run(found_in)
    write_report(args.out, found, progress.core_s)
    for each in found:
        print(summary(each))
    print(f"{progress.line()}; {args.out / 'report.html'}")
    unread = [each.recording.name for each in found if each.error]
    if unread:
        raise OutsideError(
            f"not read: {', '.join(unread)}; what was read is kept: remove the cause above and "
            "repeat the command"
        )


def _pool(args: argparse.Namespace, closing: ExitStack) -> Pool:
    if args.scheduler:
        return Cluster(scheduler_at(args.scheduler, args.tls))
    if args.workers > 0:
        return Cluster(own_workers(args.workers, closing))
    return here
