"""`shoe-reader log restore`: go on from a backup, with numbers that were never used before."""

from __future__ import annotations

import argparse
from pathlib import Path

from vision.app.succession import DAY_MS, SEQ_A_DAY, Beginning, begin_log, ended_log
from vision.audit.verify import Trust, audit
from vision.clock import now_ms
from vision.commands.printing.console import broken
from vision.commands.printing.holds import add_holds, holds_line, holds_of
from vision.config.table import load
from vision.errors import ConfigurationError, OutsideError
from vision.files import make_folder
from vision.record.chain import BrokenChainError
from vision.storage.backup import copy_log, copy_missing
from vision.storage.evidence import folder_of
from vision.storage.log_reader import read_log


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("backup", type=Path, metavar="BACKUP", help="what log backup wrote")
    parser.add_argument("table", type=Path, metavar="TABLE.toml", help="the table file")
    parser.add_argument(
        "--skip",
        type=int,
        metavar="N",
        help="numbers of messages to leave out; by default a million for each day since the backup",
    )
    add_holds(parser)


def run(args: argparse.Namespace) -> int:
    """Verify, put back and begin; ConfigurationError or OutsideError."""
    config = load(args.table)
    path = Path(config.log.path)
    if path.exists():
        raise ConfigurationError(f"{path} is there: move it away first and keep it as evidence")
    try:
        found = audit(read_log(args.backup), Trust())
    except BrokenChainError as error:
        raise broken(args.backup, error) from error
    if (found.site, found.table) != (config.site, config.table):
        raise ConfigurationError(
            f"{args.backup} is of table {found.table} of {found.site}, the table file of "
            f"{config.table} of {config.site}"
        )
    now, last = now_ms(), found.ended or ended_log(args.backup, "").at
    days = max(0, now - last) // DAY_MS + 1
    skip = args.skip if args.skip is not None else days * SEQ_A_DAY
    copy_log(args.backup, path)
    how = Beginning(now, lose_unsent=True, skip=skip, holds=holds_of(args))
    kept, ended, register = begin_log(config, how)
    print(f"{kept}: the backup, up to record {ended.number}")
    print(f"{path}: goes on from it; messages go on after number {ended.seq + skip}")
    print(holds_line(register))
    _evidence(args.backup, Path(config.evidence.folder or folder_of(path)))
    return 0


def _evidence(backup: Path, folder: Path) -> None:
    source = folder_of(backup)
    if not source.is_dir():
        return
    try:
        make_folder(folder)
        count = copy_missing(source, folder)
    except OSError as error:
        raise OutsideError(f"cannot put the evidence back to {folder}: {error}") from error
    print(f"evidence: {count} files put back to {folder}")
