"""Sign a table's log, and refuse one that is not the one that was signed."""

from __future__ import annotations

from pathlib import Path

from vision.config.table import TableConfig
from vision.errors import ConfigurationError, OutsideError
from vision.record.facts import Anchored, Fact, Recorded, Register
from vision.storage.anchors import (
    LogSigner,
    anchors_of,
    fingerprint,
    load_ring,
)
from vision.storage.log_reader import gaps, hash_of, signatures
from vision.wire.messages import iso
from vision.wire.session import Step, TableSession, advance


def open_signer(config: TableConfig, log: Path) -> LogSigner | None:
    """Return the signer of a log, `None` where no key is set; ConfigurationError for a bad key."""
    settings = config.log
    if not settings.signing_key:
        return None
    key, file = Path(settings.signing_key), anchors_of(log, settings.anchors)
    signer = LogSigner(key, file, config.site, config.table, settings.anchor_every_s)
    if settings.ring:
        signer.trusted += [key.key for key in load_ring(Path(settings.ring)).values()]
    return signer


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
