"""Sign a table's log, and refuse to continue a log that is not the one that was signed."""

from __future__ import annotations

from pathlib import Path

from vision.config.table import TableConfig
from vision.errors import OutsideError
from vision.record.proofs import Anchored
from vision.storage.anchors import LogSigner
from vision.storage.log import Store
from vision.wire.messages import iso
from vision.wire.session import TableSession


def anchors_of(log: Path) -> Path:
    """Return the file of the anchors of a log unless the table file names another."""
    return log.with_suffix(".anchors.jsonl")


def open_signer(config: TableConfig, log: Path, store: Store) -> LogSigner | None:
    """Return the signer of the log, `None` where no key is set.

    ConfigurationError for a bad key; OutsideError when the log is not what was signed last.
    """
    settings = config.log
    if not settings.signing_key:
        return None
    file = Path(settings.anchors) if settings.anchors else anchors_of(log)
    key = Path(settings.signing_key)
    signer = LogSigner(key, file, config.site, config.table, settings.anchor_every_s)
    last = signer.last_noted(store.hash_of(0))
    if last is not None:
        _compare(last, store, log, file)
    return signer


def _compare(last: Anchored, store: Store, log: Path, file: Path) -> None:
    found = store.hash_of(last.number)
    was_pruned = not found and last.number <= store.head[0]
    if found == last.hash or was_pruned:
        return
    raise OutsideError(
        f"the log {log} is not the one that was signed {iso(last.at)}: record {last.number} is "
        f"{'another' if found else 'missing'}. It was changed, or an older copy was put back. Keep "
        f"it as evidence and run shoe-reader audit on it with --anchors {file}; if you restored a "
        "back-up yourself, move that file away and start again"
    )


def anchor_for(signer: LogSigner, store: Store, session: TableSession, why: str) -> Anchored | None:
    """Return a signature over the log as it stands, if it is due or there is a `why`."""
    at, shoe = session.table.clock, session.table.shoe.name
    reason = why or signer.due(at, shoe)
    if not reason:
        return None
    number, head = store.head
    return signer.sign(Anchored(at, store.hash_of(0), number, head, shoe, reason, ""))
