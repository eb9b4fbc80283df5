"""`shoe-reader log keys`: keys by which a log is signed, and the ring of those that count when."""

from __future__ import annotations

import argparse
from pathlib import Path

from vision.clock import now_ms
from vision.errors import ConfigurationError
from vision.storage.anchors import fingerprint, load_key, load_public, make_keys, public_pem
from vision.storage.keyring import RingKey, added, changed, load_ring, save_ring
from vision.wire.messages import iso, unix_ms


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "what",
        choices=("make", "show", "add", "rotate", "revoke", "list"),
        help="make a pair; show one; add FILE.pub to a ring; rotate: make the pair FILE, which "
        "counts from now on in the ring in the place of the last; revoke FILE.pub; list the ring",
    )
    parser.add_argument(
        "file",
        type=Path,
        nargs="?",
        metavar="FILE",
        help="the private key; FILE.pub beside. For add and revoke the public one",
    )
    parser.add_argument("--ring", type=Path, metavar="R", help="the ring of public keys, a file")
    parser.add_argument("--from", dest="since", metavar="T", help="when it begins to count")
    parser.add_argument("--until", metavar="T", help="when it ends to count (ISO 8601, with zone)")
    parser.add_argument("--why", default="", metavar="W", help="why it is revoked")


def run(args: argparse.Namespace) -> int:
    """Do what is asked; ConfigurationError or OutsideError."""
    if args.what == "list":
        return _list(_ring_path(args))
    if args.file is None:
        raise ConfigurationError(f"keys {args.what}: give the FILE of the key")
    work = {"make": _make, "show": _show, "add": _add, "rotate": _rotate, "revoke": _revoke}
    work[args.what](args)
    return 0


def _make(args: argparse.Namespace) -> None:
    key = make_keys(args.file)
    print(f"{args.file}: the private key, for this user only; [log] signing_key names it")
    print(f"{args.file}.pub: the public key {fingerprint(key)}; give it to whoever audits")


def _show(args: argparse.Namespace) -> None:
    public = args.file.suffix == ".pub"
    key = load_public(args.file) if public else load_key(args.file).public_key()
    print(f"key {fingerprint(key)}")
    print(public_pem(key).decode(), end="")


def _add(args: argparse.Namespace) -> None:
    path = _ring_path(args)
    ring = load_ring(path) if path.exists() else {}
    key = RingKey(load_public(args.file), _moment(args.since), _moment(args.until))
    save_ring(path, added(ring, key))
    print(f"{path}: key {fingerprint(key.key)} added")


def _rotate(args: argparse.Namespace) -> None:
    path, now = _ring_path(args), now_ms()
    ring = load_ring(path)
    public = make_keys(args.file)
    for name, key in ring.items():
        if key.counts(now):
            ring = changed(ring, name, until=now)
    save_ring(path, added(ring, RingKey(public, since=now)))
    print(f"{args.file}: the new key {fingerprint(public)}; stop the reader, name it in [log] "
          "signing_key, start the reader, and give the ring to whoever audits")  # fmt: skip


def _revoke(args: argparse.Namespace) -> None:
    path = _ring_path(args)
    name = fingerprint(load_public(args.file))
    if not args.why:
        raise ConfigurationError("keys revoke: give --why, the reason for the auditor")
    save_ring(path, changed(load_ring(path), name, revoked=now_ms(), why=args.why))
    print(f"{path}: key {name} is revoked; what it signed counts only under a later good key")


def _list(path: Path) -> int:
    for name, key in load_ring(path).items():
        since = "the beginning" if key.since is None else iso(key.since)
        until = "on" if key.until is None else f"to {iso(key.until)}"
        revoked = "" if key.revoked is None else f", REVOKED {iso(key.revoked)}: {key.why}"
        print(f"{name}  from {since} {until}{revoked}")
    return 0


def _ring_path(args: argparse.Namespace) -> Path:
    if args.ring is None:
        raise ConfigurationError(f"keys {args.what}: give --ring, the file of the ring")
    return Path(args.ring)


def _moment(text: str | None) -> int | None:
    try:
        return None if text is None else unix_ms(text)
    except ValueError as error:
        raise ConfigurationError(f"'{text}' is not a time; write 2026-11-21T00:00:00Z") from error
