"""Begin a log that goes on from another: the numbers go on, what was open is closed.

Needed where a log cannot be continued: other rules, an older copy put back, a log that was changed,
a state that this version cannot read. The new log names the last record of the old one.
"""

from __future__ import annotations

import sqlite3
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from vision.app.journal import header_of
from vision.app.restore import checkpoint_of
from vision.app.signing import anchor_for
from vision.config.profiles import logged_profile
from vision.config.table import TableConfig
from vision.errors import ConfigurationError, OutsideError
from vision.record.proofs import LogBegun
from vision.storage.anchors import LogSigner, anchors_of
from vision.storage.copies import put_in_place
from vision.storage.log import Entry, Store
from vision.storage.sqlite import CLOSED, explained, lock, open_for_reading
from vision.wire.messages import PREFIX
from vision.wire.session import TableSession, advance, new_session

BOOT_DIGITS = 12  # hex digits of a run's id, as a reader's run has
# Numbers skipped for each day begun since the last event of a log that was restored: twelve a
# second, all day, of which a busy table publishes one. Fewer could use a number a second time.
SEQ_A_DAY = 1_000_000
DAY_MS = 86_400_000  # milliseconds of a day


@dataclass(frozen=True, slots=True)
class Ended:
    """What a new log needs to know of the old one; `at` is when its last checkpoint was written."""

    log: str
    number: int
    hash: str
    seq: int
    unsent: int
    at: int
    alerts: tuple[str, ...]


def ended_log(path: Path, prefix: str) -> Ended:
    """Read how a log ended; `prefix` begins its topics. OutsideError."""
    db = open_for_reading(path)
    try:
        with explained("read", path):
            (first,) = db.execute("SELECT hash FROM log WHERE n = 0").fetchone()
            number, digest = db.execute(
                "SELECT n, hash FROM log ORDER BY n DESC LIMIT 1"
            ).fetchone()
            return Ended(first, number, digest, *_messages_of(db, prefix))
    except TypeError as error:
        raise OutsideError(f"the log {path} is empty: move it away to begin a new one") from error
    finally:
        db.close()


def _messages_of(db: sqlite3.Connection, prefix: str) -> tuple[int, int, int, tuple[str, ...]]:
    """Return the last number, how many are unsent, the last checkpoint's time, open alerts."""
    (seq,) = db.execute("SELECT coalesce(max(seq), 0) FROM message").fetchone()
    (unsent,) = db.execute("SELECT count(*) FROM unsent").fetchone()
    (at,) = db.execute("SELECT coalesce(max(at), 0) FROM segment").fetchone()
    rows = db.execute(
        "SELECT m.payload FROM message m JOIN standing USING (seq) WHERE m.topic LIKE ? "
        "ORDER BY seq",
        (f"{prefix}alert/%",),
    ).fetchall()
    return seq, unsent, at, tuple(bytes(payload).decode() for (payload,) in rows)


def begin_log(
    config: TableConfig, at: int, *, lose_unsent: bool = False, skip: int = 0
) -> tuple[Path, Ended]:
    """Begin a new log at [log] path at `at` (Unix ms); return where the old one lies, and its end.

    The numbers of messages go on after `skip` more. ConfigurationError where there is no log, or
    one with unsent messages; OutsideError while a reader writes it.
    """
    path = Path(config.log.path)
    if not path.exists():
        raise ConfigurationError(f"[log] path: there is no {path}; start the reader to begin a log")
    held = lock(path)
    try:
        ended = ended_log(path, PREFIX.format(site=config.site, table=config.table))
        if ended.unsent and not lose_unsent:
            raise ConfigurationError(
                f"{ended.unsent} messages of {path} are not sent: start the reader with its broker "
                "until they are, or give --lose-unsent to leave them in the old log"
            )
        moment = datetime.fromtimestamp(at / 1000, UTC).strftime("%Y%m%d-%H%M%S")
        kept = path.with_name(f"{path.stem}-until-{moment}{path.suffix}")
        new = path.with_name(f".{path.name}.begun")
        new.unlink(missing_ok=True)
        _write(config, new, ended, at, skip)
        _fold_in(path)
        put_in_place(new, path, kept)
    except OSError as error:
        raise OutsideError(f"cannot begin a log at {path}: {error.strerror or error}") from error
    finally:
        held.close()
    return kept, ended


def _write(config: TableConfig, new: Path, ended: Ended, at: int, skip: int) -> None:
    header = header_of(config)
    boot = uuid.uuid4().hex[:BOOT_DIGITS]
    begun = LogBegun(at, boot, ended.log, ended.number, ended.hash, ended.seq + skip, ended.alerts)
    step = advance(new_session(header, logged_profile(header)), begun)
    with Store(new, header) as store:
        store.append([Entry(begun, step.messages, checkpoint_of(step.session))])
        if config.log.signing_key:
            _sign(config, store, step.session)
    new.with_name(new.name + ".lock").unlink(missing_ok=True)


def _sign(config: TableConfig, store: Store, session: TableSession) -> None:
    path = Path(config.log.path)
    file = Path(config.log.anchors) if config.log.anchors else anchors_of(path)
    every_s = config.log.anchor_every_s
    signer = LogSigner(Path(config.log.signing_key), file, config.site, config.table, every_s)
    anchor = anchor_for(signer, store, session, "time")
    if anchor is not None:
        store.append([Entry(anchor, advance(session, anchor).messages)])
        signer.note(anchor)


def _fold_in(path: Path) -> None:
    """Bring what lies in the write-ahead file of a log into its file; a damaged one stays so."""
    db = sqlite3.connect(path, isolation_level=None)
    try:
        db.execute(f"PRAGMA user_version={CLOSED}")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error as error:
        raise OutsideError(
            f"the log {path} cannot be closed: {error}; keep a copy of it and of its -wal file, "
            "move both away, and start the reader"
        ) from error
    finally:
        db.close()
