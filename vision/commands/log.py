"""The commands of `shoe-reader log`: begin, restore and export the record of a table.

`log confirm-clock` is here too: by that clock records grow old.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from vision.app.retention import ALLOWANCE_MS, TIME, confirmed
from vision.app.run_log import Destinations, RunLog
from vision.app.succession import SEQ_A_DAY, Beginning, begin_log
from vision.audit.export import Part, Sources, write_archive
from vision.audit.verify import Trust, audit
from vision.clock import DAY_MS, now_ms
from vision.commands import Run, actions_of
from vision.commands.printing.console import add_trust, trust_of
from vision.config.table import load
from vision.errors import ConfigurationError, OutsideError
from vision.files import make_folder
from vision.record.facts import Hold, Register
from vision.storage.anchors import (
    RingKey,
    added,
    changed,
    fingerprint,
    load_public,
    load_ring,
    make_keys,
    save_ring,
)
from vision.storage.evidence import folder_of
from vision.storage.log_reader import folded, read_log, unbroken
from vision.storage.sqlite import copy_log
from vision.wire.messages import iso, unix_ms


def add_begin_arguments(parser: argparse.ArgumentParser) -> None:
    add_confirm_clock_arguments(parser)
    words = "leave messages that are not sent in the old log"
    parser.add_argument("--lose-unsent", action="store_true", help=words)
    _add_holds(parser)


def add_confirm_clock_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("table", type=Path, metavar="TABLE.toml", help="the table file")


def confirm_clock(args: argparse.Namespace) -> None:
    """Confirm the clock, with the reader stopped; ConfigurationError or OutsideError."""
    config, now = load(args.table), now_ms()
    path = Path(config.log.path)
    if not path.exists():
        raise ConfigurationError(f"[log] path: there is no {path}")
    with RunLog(config, Destinations(path)) as log:
        log.take([confirmed(now, now, ALLOWANCE_MS, "person")], TIME)
    print(f"{path}: it is {iso(now)}; what is old by that is deleted when the reader runs")


def begin(args: argparse.Namespace) -> None:
    """Do it, with the reader stopped; ConfigurationError or OutsideError."""
    config = load(args.table)
    how = Beginning(now_ms(), lose_unsent=args.lose_unsent, holds=_holds_of(args))
    stored, ended, register = begin_log(config, how)
    print(f"{stored}: the old log, up to record {ended.number}, hash {ended.hash}")
    print(f"{config.log.path}: the new log; messages go on after number {ended.seq}")
    if ended.alerts:
        print(f"{len(ended.alerts)} alerts that stood open are closed")
    print(_holds_line(register))


def _add_holds(parser: argparse.ArgumentParser) -> None:
    add = parser.add_mutually_exclusive_group().add_argument
    add("--hold", action="append", default=[], metavar="SHOE:COUP", help="a coup under legal hold "
        "(coup 0: the whole shoe); needed only where the old log cannot be read; may be given "
        "again")  # fmt: skip
    add("--no-holds", action="store_true", help="nothing is under legal hold, I have made sure")


def _holds_of(args: argparse.Namespace) -> tuple[Hold, ...] | None:
    """Return the coups named, `None` where none was named; ConfigurationError."""
    holds = []
    for text in args.hold:
        shoe, _, coup = text.rpartition(":")
        if not shoe or not coup.isdecimal():
            raise ConfigurationError(
                f"--hold {text}: not a coup; give SHOE:COUP, as in 20261121-180000:7"
            )
        holds.append(Hold(shoe, int(coup)))
    return tuple(holds) if holds or args.no_holds else None


def _holds_line(register: Register) -> str:
    names = ", ".join(f"shoe {hold.shoe} coup {hold.coup}" for hold in register.holds)
    return f"evidence under hold: {names or 'none'}"


def add_restore_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "backup", type=Path, metavar="BACKUP", help="a whole copy of a log, its evidence beside it"
    )
    add_confirm_clock_arguments(parser)
    words = "numbers of messages to leave out; by default a million for each day since the backup"
    parser.add_argument("--skip", type=int, metavar="N", help=words)
    _add_holds(parser)


def restore(args: argparse.Namespace) -> None:
    """Verify, put back and begin; ConfigurationError or OutsideError."""
    config = load(args.table)
    path = Path(config.log.path)
    if path.exists():
        raise ConfigurationError(f"{path} is there: move it away first and keep it as evidence")
    with unbroken(args.backup):
        found = audit(read_log(args.backup), Trust())
    if (found.site, found.table) != (config.site, config.table):
        raise ConfigurationError(
            f"{args.backup} is of table {found.table} of {found.site}, the table file of "
            f"{config.table} of {config.site}"
        )
    now, last = now_ms(), found.ended or folded(args.backup).table.clock
    days = max(0, now - last) // DAY_MS + 1
    skip = args.skip if args.skip is not None else days * SEQ_A_DAY
    copy_log(args.backup, path)
    how = Beginning(now, lose_unsent=True, skip=skip, holds=_holds_of(args))
    stored, ended, register = begin_log(config, how)
    print(f"{stored}: the backup, up to record {ended.number}")
    print(f"{path}: goes on from it; messages go on after number {ended.seq + skip}")
    print(_holds_line(register))
    source, folder = folder_of(args.backup), folder_of(path, config.evidence.folder)
    if not source.is_dir():
        return
    try:
        make_folder(folder)
        shutil.copytree(source, folder, dirs_exist_ok=True)
    except OSError as error:
        raise OutsideError(f"cannot put the evidence back to {folder}: {error}") from error
    print(f"evidence: put back to {folder}")


def add_export_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("log", type=Path, metavar="LOG", help="a .sqlite log, or its records")
    add("out", type=Path, metavar="OUT", help="a new folder, or a new .zip")
    add("--shoe", metavar="S", default="", help="only this shoe")
    add("--coup", type=int, metavar="N", help="only this coup (of the last shoe that has it)")
    words = "the folder of evidence, if not beside the log"
    add("--evidence", type=Path, metavar="DIR", help=words)
    add_trust(parser)


def export(args: argparse.Namespace) -> None:
    """Verify, select and write; ConfigurationError or OutsideError."""
    sources = Sources(args.log, args.evidence or folder_of(args.log), trust_of(args))
    chosen = args.shoe or args.coup is not None
    with unbroken(args.log):
        part = Part(args.shoe, args.coup) if chosen else None
        receipt = write_archive(sources, args.out, part)
    signed = receipt["signed_up_to"]
    print(f"{args.out}: records {receipt['first']} to {receipt['last']} of {args.log}")
    print("signed: " + ("not verified, no --public-key" if signed is None else f"up to {signed}"))
    print(receipt["evidence"])
    print(f"verify it anywhere with: shoe-reader audit {args.out} --public-key KEY.pub")


def add_keys_arguments(parser: argparse.ArgumentParser) -> None:
    declare_action = actions_of(parser)

    def declare(name: str, run: Run, words: str, file: str = "") -> argparse.ArgumentParser:
        declared = declare_action(name, run, words)
        if file:
            declared.add_argument("file", type=Path, metavar="FILE", help=file)
        if run is not _make:
            words = "the ring of public keys, a file"
            declared.add_argument("--ring", type=Path, metavar="R", required=True, help=words)
        return declared

    declare("make", _make, "make a pair", "the private key; FILE.pub beside")
    added = declare("add", _add, "add a public key to a ring", "the public key, FILE.pub")
    added.add_argument("--from", dest="since", metavar="T", help="when it begins to count")
    words = "when it ends to count (ISO 8601, with zone)"
    added.add_argument("--until", metavar="T", help=words)
    words = "make a pair that counts from now on in the place of the ring's last key"
    declare("rotate", _rotate, words, "the private key; FILE.pub beside")
    revoked = declare("revoke", _revoke, "revoke a public key", "the public key, FILE.pub")
    revoked.add_argument("--why", metavar="W", required=True, help="the reason, for the auditor")
    declare("list", _list, "list the keys of a ring")


def _make(args: argparse.Namespace) -> None:
    key = make_keys(args.file)
    print(f"{args.file}: the private key, for this user only; [log] signing_key names it")
    print(f"{args.file}.pub: the public key {fingerprint(key)}; give it to whoever audits")


def _add(args: argparse.Namespace) -> None:
    path = args.ring
    ring = load_ring(path) if path.exists() else {}
    key = RingKey(load_public(args.file), _moment(args.since), _moment(args.until))
    save_ring(path, added(ring, key))
    print(f"{path}: key {fingerprint(key.key)} added")


def _rotate(args: argparse.Namespace) -> None:
    path, now = args.ring, now_ms()
    ring = load_ring(path)
    public = make_keys(args.file)
    for name, key in ring.items():
        if key.counts(now):
            ring = changed(ring, name, until=now)
    save_ring(path, added(ring, RingKey(public, since=now)))
    print(f"{args.file}: the new key {fingerprint(public)}; stop the reader, name it in [log] "
          "signing_key, start the reader, and give the ring to whoever audits")  # fmt: skip


def _revoke(args: argparse.Namespace) -> None:
    path = args.ring
    name = fingerprint(load_public(args.file))
    save_ring(path, changed(load_ring(path), name, revoked=now_ms(), why=args.why))
    print(f"{path}: key {name} is revoked; what it signed counts only under a later good key")


def _list(args: argparse.Namespace) -> None:
    for name, key in load_ring(args.ring).items():
        since = "the beginning" if key.since is None else iso(key.since)
        until = "on" if key.until is None else f"to {iso(key.until)}"
        revoked = "" if key.revoked is None else f", REVOKED {iso(key.revoked)}: {key.why}"
        print(f"{name}  from {since} {until}{revoked}")


def _moment(text: str | None) -> int | None:
    try:
        return None if text is None else unix_ms(text)
    except ValueError as error:
        raise ConfigurationError(f"'{text}' is not a time; write 2026-11-21T00:00:00Z") from error
