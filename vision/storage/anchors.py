"""Sign a log with an Ed25519 key, keep its signatures (anchors) in a file, refuse another log.

The key never enters the log's file, so write access to the log is not enough to sign it.

The ring of public keys of a house says which key was good from when to when, and which is revoked.
Whoever audits keeps it, as they keep a .pub file; it holds no secret.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from vision.errors import ConfigurationError, OutsideError
from vision.files import PRIVATE, opener, secret_in, write_json, write_new
from vision.record.chain import ODD, signed_text
from vision.record.codec import canonical, record_from_json
from vision.record.facts import Anchored, Fact, Recorded, Register, anchor_content
from vision.storage.log_reader import gaps, hash_of, signatures
from vision.wire.form import Proves
from vision.wire.messages import iso, unix_ms
from vision.wire.session import Step, TableSession, advance

KEY_DIGITS = 16  # hex digits (64 bits) of a key's SHA-256: a name to find it by, not a proof

log = logging.getLogger(__name__)


def make_keys(path: Path) -> Ed25519PublicKey:
    """Make a key in `path`, for its owner only, and its public half in `path`.pub.

    ConfigurationError when either is there already, WriteError when the disk refuses.
    """
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = path.with_name(path.name + ".pub")
    write_new(path, private, mode=0o600)
    write_new(public, public_pem(key.public_key()), mode=0o644)
    return key.public_key()


def load_key(path: Path) -> Ed25519PrivateKey:
    """Read a private key; ConfigurationError when it is not a key, or others may read it."""
    named = "[log] signing_key"
    cure = f"make one with shoe-reader log keys make {path}, or remove the line"
    content = secret_in(path, named, cure)
    with suppress(ValueError, TypeError):
        key = serialization.load_pem_private_key(content, password=None)
        if isinstance(key, Ed25519PrivateKey):
            return key
    raise ConfigurationError(f"{named}: {_no_key(path, 'private')}")


def load_public(path: Path) -> Ed25519PublicKey:
    """Read a public key; ConfigurationError when it is not a key."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"cannot read the public key {path}: {error.strerror}; give the .pub file that "
            "shoe-reader log keys make wrote"
        ) from error
    with suppress(ValueError):
        key = serialization.load_pem_public_key(content)
        if isinstance(key, Ed25519PublicKey):
            return key
    raise ConfigurationError(_no_key(path, "public"))


def _no_key(path: Path, half: str) -> str:
    return f"{path} is no {half} Ed25519 key in PEM; make a pair with shoe-reader log keys make"


def public_pem(key: Ed25519PublicKey) -> bytes:
    """Return the public key as the text of a .pub file."""
    return key.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def fingerprint(key: Ed25519PublicKey) -> str:
    """Return how anchors name the key: the beginning of its SHA-256, 16 hex digits."""
    return hashlib.sha256(key.public_bytes_raw()).hexdigest()[:KEY_DIGITS]


def is_signed(anchor: Anchored, site: str, table: str, key: Ed25519PublicKey) -> bool:
    """Whether the signature of the anchor is that key's."""
    try:
        text = signed_text(site, table, anchor)
    except UnicodeError:  # half a character, which no reader writes
        return False
    return _verifies(key, anchor.signature, text)


def _verifies(key: Ed25519PublicKey, signature: str, text: bytes) -> bool:
    try:
        key.verify(bytes.fromhex(signature), text)
    except (InvalidSignature, ValueError):
        return False
    return True


def _term_text(site: str, table: str, term: int) -> bytes:
    return canonical({"site": site, "table": table, "term": term}).encode()


class LogSigner:
    """Signs the log of a table: at a change of shoe, each day (UTC), and every `every_s`."""

    def __init__(self, key: Path, file: Path, site: str, table: str, every_s: float) -> None:
        """Load the key; ConfigurationError. Anchors are also added to `file`."""
        self._key = load_key(key)
        self.public = self._key.public_key()
        self.trusted = [self.public]  # whose signatures count when it begins
        self._name = fingerprint(self.public)
        self.file = file
        self._site, self._table = site, table
        self._every_ms = round(1000 * every_s)
        self._last: tuple[int, str] | None = None
        self._unwritten: list[str] = []

    def due(self, at: int, shoe: str) -> str:
        """Return why the log is to be signed now (Unix ms), or nothing."""
        last_at, last_shoe = self._last = self._last or (at, shoe)
        if shoe != last_shoe:
            return "shoe"
        if iso(at)[:10] != iso(last_at)[:10]:
            return "day"
        return "time" if at - last_at >= self._every_ms else ""

    def sign(self, anchor: Anchored) -> Anchored:
        """Return the anchor with key and signature; the next is due `every_s` after it."""
        self._last = (anchor.at, anchor.shoe)
        named = replace(anchor, key=self._name)
        signature = self._key.sign(signed_text(self._site, self._table, named)).hex()
        return replace(named, signature=signature)

    def term_proof(self, term: int) -> str:
        """Return the signature of a term, as the messages of its reader carry it."""
        return f"{self._name}:{self._key.sign(_term_text(self._site, self._table, term)).hex()}"

    def note(self, anchor: Anchored) -> None:
        """Add an anchor to the file; an anchor that cannot be written waits for the next."""
        self._unwritten.append(anchor_line(self._site, self._table, anchor))
        try:
            with open(self.file, "ab+", opener=opener(PRIVATE)) as file:
                # A line torn by a power cut stays alone.
                torn = os.pread(file.fileno(), 1, max(file.tell() - 1, 0)) not in (b"\n", b"")
                file.write(("\n" * torn + "".join(self._unwritten)).encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            log.warning(
                "cannot write the anchors to %s: %s; they are in the log and will be written there "
                "with the next one: free space or correct [log] anchors",
                self.file,
                error.strerror,
            )
            return
        self._unwritten = []

    def last_noted(self, log_id: str) -> Anchored | None:
        """Return the highest anchor in the file that is of that log and signed by a trusted key.

        A line that is not proves nothing: anybody may have put it in.
        """
        if not self.file.exists():
            return None
        lines = (anchor for _, _, anchor in read_anchors(self.file) if anchor.log == log_id)
        newest_first = sorted(lines, key=lambda anchor: -anchor.number)
        return next(filter(self.signed, newest_first), None)

    def signed(self, anchor: Anchored) -> bool:
        """Whether the signature of the anchor is by a key that is trusted."""
        return any(is_signed(anchor, self._site, self._table, key) for key in self.trusted)


def anchor_line(site: str, table: str, anchor: Anchored) -> str:
    """Return an anchor as a line of the file: all that its signature covers, and it."""
    content = {"site": site, "table": table, "at": anchor.at, **anchor_content(anchor)}
    return canonical(content) + "\n"


def read_anchors(path: Path) -> Iterator[tuple[str, str, Anchored]]:
    """Yield site, table and anchor of each line, and warn of a line that holds none.

    OutsideError when the file cannot be read.
    """
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError as error:
        raise OutsideError(f"cannot read the anchors {path}: {error.strerror}") from error
    for number, line in enumerate(lines, start=1):
        try:
            yield anchor_from(json.loads(line))
        except ODD:
            log.warning(
                "%s: line %d is not an anchor: torn by a power cut, or changed", path, number
            )


def anchor_from(data: Mapping[str, Any]) -> tuple[str, str, Anchored]:
    """Return site, table and anchor of an object; an error of ODD where it holds none."""
    fields = dict(data)
    iso(fields["at"])
    site, table, number = (fields.pop(name) for name in ("site", "table", "record"))
    if not isinstance(site, str) or not isinstance(table, str):
        raise TypeError("not text")
    return site, table, record_from_json(Anchored, {**fields, "number": number})


def anchors_of(log: Path, named: str = "") -> Path:
    """Return the file of the anchors of a log: the one that a table file has `named`, if any."""
    return Path(named) if named else log.with_suffix(".anchors.jsonl")


# --- the log of a table ---------------------------------------------------------------------------


def newest_signature(log: Path, signer: LogSigner) -> Anchored | None:
    """Return the newest signature in a log that counts, `None` where it has none.

    OutsideError where the log is not the one that was signed last.
    """
    found = newest_in_log(log, signer)
    noted = signer.last_noted(hash_of(log, 0))
    if noted is None:
        return found
    held = hash_of(log, noted.number)
    is_pruned = not held and any(first <= noted.number <= last for first, last in gaps(log))
    is_held = held == noted.hash or is_pruned
    if found is None or found.number < noted.number or not is_held:
        raise _other_log(noted, held, log, signer.file)
    return found


def newest_in_log(log: Path, signer: LogSigner) -> Anchored | None:
    """Return the newest signature in a log by a key that counts, whatever others are elsewhere."""
    log_id = hash_of(log, 0)
    for digest, anchor in signatures(log):
        if (anchor.log, anchor.hash) == (log_id, digest) and signer.signed(anchor):
            return anchor
    return None


def _other_log(last: Anchored, held: str, log: Path, file: Path) -> OutsideError:
    fault = "another" if held not in ("", last.hash) else "missing"
    which = f"record {last.number} is" if held != last.hash else "the signature itself is"
    return OutsideError(
        f"the log {log} is not the one that was signed {iso(last.at)}: {which} {fault}. It was "
        "changed, or an older copy was put back. Keep it as evidence and run shoe-reader audit on "
        f"it with --anchors {file}; if you restored a backup yourself, continue from it with "
        "shoe-reader log begin"
    )


def sign_head(
    signer: LogSigner, log_id: str, head: tuple[int, str], session: TableSession, why: str
) -> tuple[Anchored, Step]:
    """Sign the log up to the record of that number and hash; return that and what it comes to.

    `session` is the table as it stands then, `log_id` the hash of record 0.
    """
    table = session.table
    anchor = signer.sign(Anchored(table.clock, log_id, *head, table.shoe.name, why, ""))
    return anchor, advance(session, anchor)


def key_in_log(signer: LogSigner | None, register: Register, at: int) -> tuple[Recorded, ...]:
    """Return the fact that another key signs from `at` (Unix ms) on, if it does."""
    if signer is None or fingerprint(signer.public) == register.key:
        return ()
    key = signer.public
    return (Recorded(at, Fact.KEY, fingerprint(key), key.public_bytes_raw().hex()),)


def refuse_unsigned(log: Path, signer: LogSigner | None, register: Register) -> None:
    """Refuse to go on unsigned with a log that is signed; ConfigurationError."""
    if signer is None and register.key:
        raise ConfigurationError(
            f"[log] signing_key: {log} is signed by key {register.key}, but no key is given; "
            "name the file of the key, or continue in a new log with shoe-reader log begin"
        )


@dataclass(frozen=True, slots=True)
class RingKey:
    """A key and when its signatures count, in Unix ms; `None`: no limit.

    One that is `revoked` vouches for nothing by itself, whatever time a signature claims: whoever
    has it can write any. Signatures by a good key behind them cover what it signed.
    """

    key: Ed25519PublicKey
    since: int | None = None
    until: int | None = None
    revoked: int | None = None
    why: str = ""

    def counts(self, at: int) -> bool:
        """Whether a signature of that moment counts."""
        after = self.since is None or self.since <= at
        before = self.until is None or at <= self.until
        return self.revoked is None and after and before


Ring = dict[str, RingKey]  # by fingerprint


def load_ring(path: Path) -> Ring:
    """Read a ring; ConfigurationError when it is none."""
    cure = "give a file that shoe-reader log keys add has made"
    try:
        content = json.loads(path.read_bytes())
        return {name: _key(entry) for name, entry in content["keys"].items()}
    except OSError as error:
        raise ConfigurationError(
            f"cannot read the ring {path}: {error.strerror}; {cure}"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigurationError(f"{path} is not a ring of keys ({error}); {cure}") from error


def _key(entry: dict[str, Any]) -> RingKey:
    public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(entry["public"]))
    since, until, revoked = (
        unix_ms(entry[name]) if entry.get(name) else None for name in ("from", "until", "revoked")
    )
    return RingKey(public, since, until, revoked, str(entry.get("why", "")))


def save_ring(path: Path, ring: Ring) -> None:
    """Replace the ring in one step; WriteError."""
    write_json(path, {"keys": {name: _entry(key) for name, key in ring.items()}}, mode=0o644)


def _entry(key: RingKey) -> dict[str, str]:
    moments = {"from": key.since, "until": key.until, "revoked": key.revoked}
    known = {name: iso(at) for name, at in moments.items() if at is not None}
    why = {"why": key.why} if key.why else {}
    return {"public": key.key.public_bytes_raw().hex(), **known, **why}


def term_check(ring: str, site: str, table: str) -> Proves:
    """Return what says whether a term of a table is signed by a key of the ring in that file.

    ConfigurationError where none is named: who may publish could silence the table by a term.
    """
    if not ring:
        raise ConfigurationError(
            f"[standby] ring: is empty, and anybody who publishes could make up a term of table "
            f"{table}; name a ring with the keys of both readers (shoe-reader log keys add)"
        )
    keys = load_ring(Path(ring))

    @lru_cache(maxsize=64)  # the proof is the same on all messages of a term
    def is_proven(term: int, proof: str) -> bool:
        name, _, signature = proof.partition(":")
        named = keys.get(name)
        if named is None or named.revoked is not None:
            return not term
        return _verifies(named.key, signature, _term_text(site, table, term))

    return is_proven


def added(ring: Ring, key: RingKey) -> Ring:
    """Return the ring with a key more; ConfigurationError when it is there already."""
    name = fingerprint(key.key)
    if name in ring:
        raise ConfigurationError(f"key {name} is already in the ring")
    return {**ring, name: key}


def changed(ring: Ring, name: str, **values: object) -> Ring:
    """Return the ring with a key's limits changed; ConfigurationError when it is not there."""
    if name not in ring:
        raise ConfigurationError(
            f"key {name} is not in the ring; it has {', '.join(ring) or 'none'}"
        )
    return {**ring, name: replace(ring[name], **values)}  # type: ignore[arg-type]
