"""Sign a table's log, and refuse to continue a log that is not the one that was signed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vision.config.table import TableConfig
from vision.errors import OutsideError
from vision.record.codec import event_from_json
from vision.record.facts import Fact, Recorded
from vision.record.proofs import Anchored
from vision.record.register import Register
from vision.storage.anchors import LogSigner, anchors_of, fingerprint
from vision.storage.keyring import load_ring
from vision.storage.log import Entry, Store
from vision.wire.messages import iso
from vision.wire.session import Step, TableSession, advance


def open_signer(
    config: TableConfig, log: Path, store: Store, session: TableSession
) -> LogSigner | None:
    """Return the signer of the log, `None` where no key is set; `session` is as the log leaves it.

    ConfigurationError for a bad key; OutsideError when the log is not what was signed last, or
    records were taken out since that nobody signed for.
    """
    settings = config.log
    if not settings.signing_key:
        return None
    file = Path(settings.anchors) if settings.anchors else anchors_of(log)
    key = Path(settings.signing_key)
    signer = LogSigner(key, file, config.site, config.table, settings.anchor_every_s)
    if settings.ring:
        signer.trusted += [key.key for key in load_ring(Path(settings.ring)).values()]
    last = signer.last_noted(store.hash_of(0))
    if last is None:
        return signer
    pruned = _pruned_since(last.number, signer, store, sealed=session.register.sealed)
    found = store.hash_of(last.number)
    if found != last.hash and (found or last.number not in pruned):
        raise _other_log(last, found, log, file)
    return signer


def _other_log(last: Anchored, found: str, log: Path, file: Path) -> OutsideError:
    return OutsideError(
        f"the log {log} is not the one that was signed {iso(last.at)}: record {last.number} is "
        f"{'another' if found else 'missing'}. It was changed, or an older copy was put back. Keep "
        f"it as evidence and run shoe-reader audit on it with --anchors {file}; if you restored a "
        "back-up yourself, go on from it with shoe-reader log begin"
    )


def _pruned_since(number: int, signer: LogSigner, store: Store, *, sealed: bool) -> set[int]:
    """Return the records up to `number` that prunings after it took out, each signed at once.

    OutsideError where one is not signed, though this log signs them (`sealed`).
    """
    gone: set[int] = set()
    contents = list(store.after(number))
    for content, follower in zip(contents, [*contents[1:], {}], strict=False):
        if "pruned" not in content:
            continue
        if sealed and not _is_seal(follower.get("event", {}), content["n"], signer):
            raise OutsideError(
                f"the log {store.path} was changed: record {content['n']} says that records were "
                "taken out, and nobody signed that. Keep it as evidence and run shoe-reader audit "
                "on it; go on with a new log (shoe-reader log begin)"
            )
        for first, last, _ in content["pruned"]:
            gone |= {number} & set(range(first, last + 1))
    return gone


def _is_seal(event: Mapping[str, Any], number: int, signer: LogSigner) -> bool:
    if event.get("is") != Anchored.__name__:
        return False
    anchor = event_from_json(event)
    return (
        isinstance(anchor, Anchored)
        and (anchor.why, anchor.number) == ("prune", number)
        and signer.signed(anchor)
    )


def anchor_for(signer: LogSigner, store: Store, session: TableSession, why: str) -> Anchored | None:
    """Return a signature over the log as it stands, if it is due or there is a `why`."""
    at, shoe = session.table.clock, session.table.shoe.name
    reason = why or signer.due(at, shoe)
    if not reason:
        return None
    number, head = store.head
    return signer.sign(Anchored(at, store.hash_of(0), number, head, shoe, reason, ""))


def key_in_log(signer: LogSigner | None, register: Register, at: int) -> tuple[Recorded, ...]:
    """Return the fact that another key signs from `at` (Unix ms) on, if it does."""
    name = "" if signer is None else fingerprint(signer.public)
    if name == register.key:
        return ()
    return (Recorded(at, Fact.KEY, name, signer.public.public_bytes_raw().hex() if signer else ""),)


class PruningSeal:
    """Signs the record of a pruning; `step` is what that came to, once it has been asked."""

    def __init__(self, signer: LogSigner, log_id: str, session: TableSession) -> None:
        """Sign as the table stands in `session`; `log_id` is the hash of record 0."""
        self._signer = signer
        self._log_id = log_id
        self._session = session
        self.anchor: Anchored | None = None
        self.step: Step | None = None

    def __call__(self, number: int, head: str) -> Entry:
        """Return the entry that signs the record of that number and hash."""
        table = self._session.table
        anchor = Anchored(table.clock, self._log_id, number, head, table.shoe.name, "prune", "")
        self.anchor = self._signer.sign(anchor)
        self.step = advance(self._session, self.anchor)
        return Entry(self.anchor, self.step.messages)
