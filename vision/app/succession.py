"""Begin a log that goes on from another: everything is taken over, what was open is closed.

Needed where a log cannot be continued: other rules, an older copy put back, a log that was changed,
a state that this version cannot read. The new log names the last record of the old one, its message
numbers go on, and so do legal holds, users, the key, orders still fresh and the confirmed time. The
evidence of what was open is held until somebody releases it: to begin a log deletes nothing.
"""

from __future__ import annotations

import logging
import sqlite3
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from vision.app.evidence import protected
from vision.app.restore import believed
from vision.app.run_log import header_of, new_boot, open_signer
from vision.config.profiles import logged_profile
from vision.config.table import TableConfig
from vision.errors import ConfigurationError, OutsideError
from vision.game.commands import KeepEvidence
from vision.record.chain import ODD
from vision.record.facts import Hold, LogBegun, Nonce, Register
from vision.storage.anchors import LogSigner, sign_head
from vision.storage.log import MESSAGES, Entry, Store, messages_from
from vision.storage.log_reader import contents, recent_orders
from vision.storage.sqlite import CLOSED, lock, put_in_place, reading
from vision.wire.form import FormError, json_object
from vision.wire.messages import PREFIX, Message, message_sum
from vision.wire.session import TableSession, advance, new_session, session_to_json

# Orders taken over, the last ones: more than people give in the minute for which one is fresh.
# Fewer could let an order through a second time.
NONCES = 1000
# Numbers skipped for each day begun since the last event of a log that was restored: twelve a
# second, all day, of which a busy table publishes one. Fewer could use a number a second time.
SEQ_A_DAY = 1_000_000
# Numbers from here on no table reaches in thousands of years; consumers refuse those beyond 2^53.
MOST_SEQ = 10**12

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EndedLog:
    """What a new log needs to know of the old one."""

    log: str
    number: int
    hash: str
    seq: int
    unsent: int
    alerts: tuple[str, ...]


def ended_log(path: Path, prefix: str, session: TableSession | None) -> EndedLog:
    """Read how a log ended; `prefix` begins its topics. OutsideError.

    What `session`, that of its records, has not is no alert that stood, and numbers go on behind it
    by as many as there are rows. Where the records cannot be read, rows count as far as they can.
    """
    try:
        with reading(path) as db:
            (first,) = db.execute("SELECT hash FROM log WHERE n = 0").fetchone()
            number, digest = db.execute(
                "SELECT n, hash FROM log ORDER BY n DESC LIMIT 1"
            ).fetchone()
            base = session.stream.seq if session else 0
            query = "SELECT count(*), coalesce(max(seq), 0) FROM message WHERE seq > ? AND seq < ?"
            rows, newest = db.execute(query, (base, MOST_SEQ)).fetchone()
            (unsent,) = db.execute("SELECT count(*) FROM unsent").fetchone()
            query = f"{MESSAGES} JOIN standing USING (seq) WHERE m.topic LIKE ? ORDER BY seq"
            found = messages_from(db.execute(query, (f"{prefix}alert/%",)), path)
            alerts = tuple(each.payload.decode() for each in found if stood(each, session))
    except TypeError as error:
        raise OutsideError(f"the log {path} is empty: move it away to begin a new one") from error
    seq = base + rows if session else newest
    return EndedLog(first, number, digest, seq, unsent, alerts)


def stood(message: Message, session: TableSession | None) -> bool:
    """Whether a row is an alert that the records come to; that can be one, where there are none."""
    if session is not None:
        return session.standing.get(message.topic) == message_sum(message).hex()
    try:
        return bool(json_object(message.payload)["id"])
    except (FormError, KeyError):
        return False


@dataclass(frozen=True, slots=True)
class Beginning:
    """How a new log is begun: at `at` (Unix ms), its messages numbered on after `skip` more.

    `lose_unsent` leaves unsent messages in the old log. `holds` are the coups under legal hold that
    a person names, `None` where nobody did: needed only where the old log cannot be read.
    """

    at: int
    lose_unsent: bool = False
    skip: int = 0
    holds: tuple[Hold, ...] | None = None


def begin_log(config: TableConfig, how: Beginning) -> tuple[Path, EndedLog, Register]:
    """Begin a new log at [log] path; return where the old one lies, its end, and what went on.

    ConfigurationError where there is no log, one with unsent messages, or one whose legal holds
    cannot be read and nobody named; OutsideError while a reader writes it.
    """
    path = Path(config.log.path)
    if not path.exists():
        raise ConfigurationError(f"[log] path: there is no {path}; start the reader to begin a log")
    held = lock(path)
    try:
        prefix = PREFIX.format(site=config.site, table=config.table)
        unsent = ended_log(path, prefix, None).unsent
        if unsent and not how.lose_unsent:
            raise ConfigurationError(
                f"{unsent} messages of {path} are not sent: start the reader with its broker "
                "until they are, or give --lose-unsent to leave them in the old log"
            )
        moment = datetime.fromtimestamp(how.at / 1000, UTC).strftime("%Y%m%d-%H%M%S")
        stored = path.with_name(f"{path.stem}-until-{moment}{path.suffix}")
        new = path.with_name(f".{path.name}.begun")
        new.unlink(missing_ok=True)
        register, session = _taken_over(path, open_signer(config, path), how.holds)
        ended = ended_log(path, prefix, session)
        _write(config, new, ended, how, register)
        _fold_in(path)
        put_in_place(new, path, stored)
    except OSError as error:
        raise OutsideError(f"cannot begin a log at {path}: {error.strerror or error}") from error
    finally:
        held.close()
    return stored, ended, register


def _write(
    config: TableConfig, new: Path, ended: EndedLog, how: Beginning, register: Register
) -> None:
    """Write the new log, all of it in one transaction."""
    path = Path(config.log.path)
    signer = open_signer(config, path)
    nonces = tuple(
        Nonce(*(str(fields[name]) for name in Nonce._fields))
        for fields in recent_orders(path)[-NONCES:]
    )
    last = (ended.log, ended.number, ended.hash, ended.seq + how.skip, ended.alerts)
    begun = LogBegun(how.at, new_boot(), *last, register, nonces)
    header = header_of(config)
    step = advance(new_session(header, logged_profile(header)), begun)
    entries = [Entry(begun, step.messages, session_to_json(step.session))]
    with Store(new, header) as store:
        if signer is None:
            store.append(entries)
        else:
            head = store.head_after(entries)
            anchor, signed = sign_head(signer, store.hash_of(0), head, step.session, "time")
            store.append([*entries, Entry(anchor, signed.messages)])
            signer.note(anchor)
    new.with_name(new.name + ".lock").unlink(missing_ok=True)


def _taken_over(
    path: Path, signer: LogSigner | None, named: tuple[Hold, ...] | None
) -> tuple[Register, TableSession | None]:
    """Return what a new log takes over, with a hold on all evidence that was not to be deleted.

    With it the session that the old one comes to, as far as it is believed.
    ConfigurationError where it cannot be read and nobody has named the coups under hold.
    """
    try:
        session, last = believed(path, signer)
    except OutsideError as error:
        if named is None:
            raise ConfigurationError(
                f"what is under legal hold cannot be read from {path} ({error}); name each coup "
                "with --hold SHOE:COUP (coup 0: the whole shoe), or give --no-holds where there "
                "is none"
            ) from error
        log.warning("%s cannot be read; check that every coup under legal hold is named", path)
        return Register(holds=tuple(sorted({*named}))), None
    holds = {*protected(session), *(named or ())}
    for content in contents(path, last + 1):
        with suppress(*ODD):  # nobody signed it; one more does no harm
            if content["event"]["is"] == KeepEvidence.__name__:
                holds.add(Hold(str(content["event"]["shoe"]), int(content["event"]["coup"])))
    key = session.register.key if signer is not None else ""
    return session.register._replace(holds=tuple(sorted(holds)), key=key), session


def _fold_in(path: Path) -> None:
    """Bring what lies in the write-ahead file of a log into its file; a damaged one stays so."""
    db = sqlite3.connect(path, isolation_level=None)
    try:
        db.execute(f"PRAGMA user_version={CLOSED}")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error as error:
        raise OutsideError(
            f"the log {path} cannot be closed: {error}; keep a copy of it and of its -wal file, "
            "and put a backup back with shoe-reader log restore"
        ) from error
    finally:
        db.close()
