"""The logs of tables beside an archive: put into it, or held against it.

The messages of a log are made again from its events, as a replay makes them, so an export serves as
well as the table's own file; whether signatures cover it, whoever asks has to find out first. The
log is chained and signed, the archive is neither. So for a comparison all that a log says is put
into an empty archive by the same code, and the rows of both are compared: what is forged, missing,
doubled or changed.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Engine, Table, select

from vision.errors import OutsideError
from vision.floor.archive import tables
from vision.floor.archive.database import MEMORY, explained, open_archive
from vision.floor.archive.numbers import NumberSet
from vision.floor.archive.tables import Row
from vision.floor.archive.writer import Received, Where, Writer
from vision.record.chain import BrokenChainError
from vision.storage.log_reader import Taken, is_table, unsent_messages, walked
from vision.wire.session import TableSession

# Messages in one transaction: large ones are quicker, and a failed one costs a second at most.
AT_ONCE = 5000


Note = Callable[[TableSession, Taken], None]


def load_log(path: Path, writer: Writer, note: Note = lambda _session, _taken: None) -> int:
    """Write all that a log says into the archive; return how many messages. OutsideError.

    `note` is given each record that is an event or a checkpoint, and the session after it.
    """
    found, count = _received(path, note), 0
    try:
        while batch := list(islice(found, AT_ONCE)):
            writer.take(batch)
            count += len(batch)
    except BrokenChainError as error:
        raise OutsideError(
            f"{path}: the chain is broken at {error}; keep it as evidence"
        ) from error
    return count


def _received(path: Path, note: Note) -> Iterator[Received]:
    """Yield what the archive is given of each record: its order, then its messages."""
    for taken in walked(path):
        session, order = taken.after, taken.content.get("order")
        if session is None or (taken.step is None and "desk" not in taken.content):
            continue
        note(session, taken)
        where, at = (session.stream.site, session.stream.table), session.table.clock
        if order is not None:
            yield Received(*where, f"cmd/{order['name']}", json.dumps(order["fields"]).encode(), at)
        for message in taken.messages:
            yield Received(*where, message.topic.split("/", 4)[4], message.payload, at)


# Not compared: the order in which messages came, and the count of numberings before this log.
OF_THE_ARCHIVE = ("arrival", "numbering")


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

    `unproven` rows lie where the logs were pruned; `unnumbered` are last wills and refusals, of
    which a log has none. `lost` messages never came, and nobody could send them again. `proven` are
    the numbers of which the logs say something, all of them from the time `since` (Unix ms) on.
    """

    where: Where
    good: int = 0
    unproven: int = 0
    unnumbered: int = 0
    lost: int = 0
    refused_orders: int = 0
    faults: list[Mismatch] = field(default_factory=list)
    proven: NumberSet = field(default_factory=NumberSet)
    unsent: set[int] = field(default_factory=set)
    since: int = 0
    _seq: int = 0

    def __str__(self) -> str:
        site, table = self.where
        return (
            f"table {table} of {site}: {self.good} rows are as the logs say, {len(self.faults)} "
            f"are not; {self.unproven} could not be compared, {self.unnumbered} have no number of "
            f"their own, {self.refused_orders} orders are in no log, {self.lost} messages were lost"
        )

    def note(self, session: TableSession, taken: Taken) -> None:
        """Note which numbers a record proves, and where something before it is not proven."""
        seq = session.stream.seq
        begins = taken.messages[0].seq - 1 if taken.messages else seq
        if taken.messages:
            self.proven.add(begins + 1, seq)
        if begins != self._seq:
            self.since = max(self.since, session.table.clock)
        self._seq = seq

    def compare(self, archive: Engine, of_logs: Engine) -> None:
        """Compare what the archive has with what one has that was made of the logs."""
        pruned = self._compare_numbers(archive)
        for table in (tables.message, *tables.DERIVED):
            ours, theirs = (_rows(one, table, self.where, pruned) for one in (archive, of_logs))
            for key in ours.keys() | theirs.keys():
                self._compare_key(table, ours.get(key, []), theirs.get(key, []))
        self._compare_orders(
            *(_rows(one, tables.command, self.where, pruned) for one in (archive, of_logs))
        )
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
            seq, at = row["seq"], row[table.info["time"]]
            if row.get("mark"):
                self.unnumbered += 1
            elif at < self.since or (seq not in self.proven and seq <= self.proven.newest):
                self.unproven += 1
            elif same or gone:
                self._fault(table, row, "doubled" if same else "changed")
            else:
                self._fault(table, row, "forged")
        for row in gone:
            if not odd and row["seq"] not in self.unsent:
                self._fault(table, row, "missing")

    def _fault(self, table: Table, row: Row, what: str) -> None:
        names = [c.name for c in table.primary_key if c.name not in ("site", "table_name")]
        key = ", ".join(f"{name} {row[name]}" for name in names if row.get(name) not in (None, ""))
        extra = "" if "seq" in names else f", from message {row['seq']}"
        topic = f" on {row['topic']}" if table is tables.message else ""
        self.faults.append(Mismatch(table.name, f"{key}{extra}{topic}", what))

    def _compare_numbers(self, archive: Engine) -> int:
        """Hold the numbers that have come against the logs'; return the time of pruning."""
        source, (site, table) = tables.source, self.where
        of_table = (source.c.site == site) & (source.c.table_name == table)
        with explained(archive), archive.connect() as connection:
            rows = connection.execute(select(source).where(of_table)).all()
        come, lost = (
            NumberSet(pair for row in rows for pair in NumberSet.of_text(getattr(row, name)).ranges)
            for name in ("seen", "lost")
        )
        for first, last in self.proven.ranges:
            for number in range(first, last + 1):
                if number in come or number in self.unsent:
                    continue
                if number in lost:
                    self.lost += 1
                else:
                    self.faults.append(Mismatch("source", f"message {number}", "never came"))
        return max((row.pruned for row in rows), default=0)

    def _compare_orders(self, ours: Rows, theirs: Rows) -> None:
        """Every order of the log is in the archive; those that were refused are in no log."""
        self.refused_orders = len(ours.keys() - theirs.keys())
        for key, (row,) in theirs.items():
            words = f"mark {row['mark']}"
            if key not in ours:
                words += f", {row['name']} by {row['by']}"
                self.faults.append(Mismatch("command", words, "missing"))
                continue
            self.good += 1
            if ours[key][0]["payload"] != row["payload"]:
                self.faults.append(Mismatch("command", words, "changed"))


def verify(engine: Engine, logs: Sequence[Path]) -> Iterator[Compared]:
    """Yield what the comparison with the logs of each table came to; OutsideError.

    Several logs of one table are given in the order in which they were begun.
    """
    found: dict[Where, Compared] = {}
    of_logs = open_archive(MEMORY)
    writer = Writer(of_logs)
    for path in logs:
        unsent = unsent_messages(path) if is_table(path) else []

        def note(session: TableSession, taken: Taken, unsent: Sequence[int] = unsent) -> None:
            where = session.stream.site, session.stream.table
            compared = found.setdefault(where, Compared(where))
            compared.unsent.update(unsent)
            compared.note(session, taken)

        load_log(path, writer, note)
    for compared in found.values():
        compared.compare(engine, of_logs)
        yield compared
    of_logs.dispose()


def _rows(engine: Engine, table: Table, where: Where, since: int) -> Rows:
    """Return the rows of a table of the house by their key, from `since` (Unix ms) on."""
    names = [c.name for c in table.columns if c.name not in (*OF_THE_ARCHIVE, "site", "table_name")]
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
