"""The only way into an archive: the logs of tables, verified record by record.

A log is chained and signed, an archive is neither. So nothing comes in that no log says: records
are audited in their order, their messages made again from the events, as a replay makes them, and
where keys are given only what a good signature covers is taken. How a log comes here is left to
what carries files best. For a comparison all that a log says is put into an empty archive by the
same code, and the rows of both are compared: what is forged, missing, doubled or changed.
"""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Engine, Table, select

from vision.audit.verify import Auditor, Trust
from vision.errors import OutsideError, ShoeReaderError
from vision.files import stamp
from vision.floor.archive import tables
from vision.floor.archive.database import MEMORY, explained, open_archive
from vision.floor.archive.tables import Row
from vision.floor.archive.writer import Received, Where, Writer
from vision.game.events import Started
from vision.record.chain import BrokenChainError, verified
from vision.record.codec import GENESIS
from vision.storage.log_reader import Taken, read_log
from vision.wire.session import TableSession

log = logging.getLogger(__name__)

# Messages in one transaction: large ones are quicker, and a failed one costs a second at most.
AT_ONCE = 5000
LOGS = (".sqlite", ".jsonl")  # endings of logs and of exports of their records, in a folder

Note = Callable[[TableSession, Taken], None]


class Following:
    """One log that is taken in, and goes on to be as it grows; OutsideError where it is no more."""

    def __init__(
        self, path: Path, trust: Trust, note: Note = lambda _session, _taken: None
    ) -> None:
        """Begin before its first record; `note` is given each record, and the session after it."""
        self.path = path
        self._trust, self._note = trust, note
        self._seen: tuple[int, ...] = ()
        self._restart()

    def _restart(self) -> None:
        self._auditor = Auditor(self._trust)
        self._next, self._last, self._state = 0, GENESIS, "stopped"
        self._waiting: list[tuple[int, Received]] = []  # with the record, until that is signed

    def take_in(self, writer: Writer) -> int:
        """Write what is new; return how many messages. OutsideError names a record that is bad."""
        # A log that is being written grows in the file beside it.
        now = (*stamp(self.path), *stamp(self.path.with_name(f"{self.path.name}-wal")))
        if now == self._seen:
            return 0
        if self._next and not self._continues():
            log.info("%s is another log than before; it is taken in from its beginning", self.path)
            self._restart()
        count = 0
        try:
            for record, content in verified(
                read_log(self.path, self._next), self._next, self._last
            ):
                taken = self._auditor.take(record, content)
                self._waiting += [(record.number, one) for one in self._received(taken)]
                self._next, self._last = record.number + 1, record.hash
                if len(self._waiting) >= AT_ONCE:
                    count += self._write(writer)
        except BrokenChainError as error:
            raise OutsideError(
                f"{self.path}: the chain is broken at {error}; keep it as evidence"
            ) from error
        count += self._write(writer)
        self._seen = now
        return count

    def _continues(self) -> bool:
        """Whether the record taken last still stands there."""
        found = next(read_log(self.path, self._next - 1), None)
        return found is not None and found.hash == self._last

    def _write(self, writer: Writer) -> int:
        """Write what waits and may be believed."""
        last = self._auditor.signed_up_to if self._trust.keys else self._next
        good = [one for number, one in self._waiting if number <= last]
        for start in range(0, len(good), AT_ONCE):
            writer.take(good[start : start + AT_ONCE])
        self._waiting = [waits for waits in self._waiting if waits[0] > last]
        return len(good)

    def _received(self, taken: Taken) -> Iterator[Received]:
        """Yield what a record says: its order, that a run had broken off, its messages."""
        session, order = taken.after, taken.content.get("order")
        if session is None or (taken.step is None and "desk" not in taken.content):
            return
        self._note(session, taken)
        where, at = (session.stream.site, session.stream.table), session.table.clock
        if order is not None:
            yield Received(*where, f"cmd/{order['name']}", json.dumps(order["fields"]).encode(), at)
        begins = taken.content.get("event", {}).get("is") == Started.__name__
        if begins and self._state != "stopped" and taken.before is not None:
            # No log has its last will: the run ended with its last record.
            ended = taken.before
            lost = {"state": "offline", "boot": ended.table.boot, "seq": ended.stream.seq}
            yield Received(*where, "status", json.dumps(lost).encode(), ended.table.clock)
        for message in taken.messages:
            topic = message.topic.split("/", 4)[4]
            if topic == "status":
                self._state = json.loads(message.payload)["state"]
            yield Received(*where, topic, message.payload, at)


class Folder:
    """All logs of a house, as they come to lie in some folders or are named."""

    def __init__(self, places: Sequence[Path], trust: Trust) -> None:
        self._places, self._trust = places, trust
        self._logs: dict[Path, Following] = {}
        self._reported: dict[Path, str] = {}

    def take_in(self, writer: Writer) -> int:
        """Write what is new of each; a log that is bad is reported once, and costs itself only."""
        count = 0
        for path in self._paths():
            following = self._logs.setdefault(path, Following(path, self._trust))
            try:
                count += following.take_in(writer)
            except ShoeReaderError as error:
                words = str(error) if str(path) in str(error) else f"{path}: {error}"
                if self._reported.get(path) != words:
                    log.error("%s", words)
                self._reported[path] = words
                del self._logs[path]
            else:
                self._reported.pop(path, None)
        return count

    def _paths(self) -> list[Path]:
        found = [
            [place] if not place.is_dir()
            else sorted(path for path in place.iterdir() if path.suffix in LOGS)
            for place in self._places
        ]  # fmt: skip
        return [path for some in found for path in some]


# --- an archive beside the logs -------------------------------------------------------------------


Rows = dict[tuple[Any, ...], list[Row]]  # by the key that they have in a log too


class Mismatch(NamedTuple):
    """A row that is not what the logs say: the archive's table, the row, and what is wrong."""

    table: str
    row: str
    what: str

    def __str__(self) -> str:
        return f"{self.what}: {self.table} {self.row}"


@dataclass(slots=True)
class Compared:
    """What a comparison of one table of the house came to.

    `unproven` rows lie where the logs were pruned: before `since` (Unix ms) they do not say all.
    """

    where: Where
    good: int = 0
    unproven: int = 0
    faults: list[Mismatch] = field(default_factory=list)
    since: int = 0
    _seq: int = 0

    def __str__(self) -> str:
        site, table = self.where
        return (
            f"table {table} of {site}: {self.good} rows are as the logs say, {len(self.faults)} "
            f"are not; {self.unproven} could not be compared"
        )

    def note(self, session: TableSession, taken: Taken) -> None:
        """Note where something before a record is not proven."""
        seq = session.stream.seq
        begins = taken.messages[0].seq - 1 if taken.messages else seq
        if begins != self._seq:
            self.since = max(self.since, session.table.clock)
        self._seq = seq

    def compare(self, archive: Engine, of_logs: Engine) -> None:
        """Compare what the archive has with what one has that was made of the logs."""
        pruned = self._pruned(archive)
        for table in (tables.message, tables.command, *tables.DERIVED):
            ours, theirs = (_rows(one, table, self.where, pruned) for one in (archive, of_logs))
            for key in ours.keys() | theirs.keys():
                self._compare_key(table, ours.get(key, []), theirs.get(key, []))
        self.faults.sort()

    def _compare_key(self, table: Table, here: list[Row], there: list[Row]) -> None:
        """Compare the rows of one key, of which there should be one in each or none."""
        same = [row for row in here if row in there]
        odd = [row for row in here if row not in there]
        gone = [row for row in there if row not in here]
        self.good += min(len(same), 1)
        for row in same[1:]:
            self._fault(table, row, "doubled")
        for row in odd:
            if row[table.info["time"]] < self.since:
                self.unproven += 1
            elif same or gone:
                self._fault(table, row, "doubled" if same else "changed")
            else:
                self._fault(table, row, "forged")
        for row in gone:
            if not odd:
                self._fault(table, row, "missing")

    def _fault(self, table: Table, row: Row, what: str) -> None:
        names = [c.name for c in table.primary_key if c.name not in ("site", "table_name")]
        key = ", ".join(f"{name} {row[name]}" for name in names if row.get(name) not in (None, ""))
        extra = "" if "seq" in names or "seq" not in row else f", from message {row['seq']}"
        topic = f" on {row['topic']}" if table is tables.message else ""
        order = f", {row['name']} by {row['by']}" if table is tables.command else ""
        self.faults.append(Mismatch(table.name, f"{key}{extra}{topic}{order}", what))

    def _pruned(self, archive: Engine) -> int:
        """Return the time (Unix ms) before which the archive deletes what is old, 0 for none."""
        query = select(tables.pruned.c.before)
        with explained(archive), archive.connect() as connection:
            return connection.execute(query).scalar() or 0


def verify(engine: Engine, logs: Sequence[Path], trust: Trust) -> Iterator[Compared]:
    """Yield what the comparison with the logs of each table came to; OutsideError.

    Several logs of one table are given in the order in which they were begun. What no signature of
    a given key covers yet is not in an archive, and not compared.
    """
    found: dict[Where, Compared] = {}
    of_logs = open_archive(MEMORY)
    writer = Writer(of_logs)

    def note(session: TableSession, taken: Taken) -> None:
        where = session.stream.site, session.stream.table
        found.setdefault(where, Compared(where)).note(session, taken)

    for path in logs:
        Following(path, trust, note).take_in(writer)
    for compared in found.values():
        compared.compare(engine, of_logs)
        yield compared
    of_logs.dispose()


def _rows(engine: Engine, table: Table, where: Where, since: int) -> Rows:
    """Return the rows of a table of the house by their key, from `since` (Unix ms) on."""
    names = [c.name for c in table.columns if c.name not in ("site", "table_name")]
    key = [c.name for c in table.primary_key if c.name in names]
    query = select(*(table.c[name] for name in names)).where(
        table.c.site == where[0],
        table.c.table_name == where[1],
        table.c[table.info["time"]] >= since,
    )
    found: Rows = defaultdict(list)
    with explained(engine), engine.connect() as connection:
        for row in connection.execute(query).mappings():
            found[tuple(row[name] for name in key)].append(dict(row))
    return found
