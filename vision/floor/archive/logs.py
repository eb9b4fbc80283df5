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
from collections.abc import Iterable, Iterator, Sequence
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


def load_log(path: Path, writer: Writer) -> int:
    """Write all that a log says into the archive; return how many messages. OutsideError."""
    found = (one for session, taken in _said_in(path) for one in _received(session, taken))
    count = 0
    while batch := list(islice(found, AT_ONCE)):
        writer.take(batch)
        count += len(batch)
    return count


def _said_in(path: Path) -> Iterator[tuple[TableSession, Taken]]:
    """Yield each record that is an event or a checkpoint, its chain verified; OutsideError."""
    try:
        for taken in walked(path):
            if taken.after is not None and (taken.step is not None or "desk" in taken.content):
                yield taken.after, taken
    except BrokenChainError as error:
        raise OutsideError(
            f"{path}: the chain is broken at {error}; keep it as evidence"
        ) from error


def _received(session: TableSession, taken: Taken) -> Iterator[Received]:
    """Yield what the archive is given of a record: its order, then its messages."""
    where, at = (session.stream.site, session.stream.table), session.table.clock
    order = taken.content.get("order")
    if order is not None:
        yield Received(*where, f"cmd/{order['name']}", json.dumps(order["fields"]).encode(), at)
    for message in taken.messages:
        yield Received(*where, message.topic.split("/", 4)[4], message.payload, at)


# Not compared: the order in which messages came, and the count of numberings before this log.
OF_THE_ARCHIVE = ("arrival", "numbering")


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

    `unproven` rows lie where the logs were pruned; `unnumbered`
    are last wills and refusals, of which a log has none. `lost` messages never came, and nobody
    could send them again.
    """

    where: Where
    good: int = 0
    unproven: int = 0
    unnumbered: int = 0
    lost: int = 0
    refused_orders: int = 0
    faults: list[Mismatch] = field(default_factory=list)

    def __str__(self) -> str:
        site, table = self.where
        return (
            f"table {table} of {site}: {self.good} rows are as the logs say, {len(self.faults)} "
            f"are not; {self.unproven} could not be compared, {self.unnumbered} have no number of "
            f"their own, {self.refused_orders} orders are in no log, {self.lost} messages were lost"
        )


@dataclass(slots=True)
class _Said:
    """What the logs of one table say: an archive of it, and which numbers they prove.

    `since` is the time from which on all is proven.
    """

    engine: Engine
    writer: Writer
    proven: NumberSet = field(default_factory=NumberSet)
    unsent: set[int] = field(default_factory=set)
    since: int = 0
    _seq: int = 0

    def note(self, session: TableSession, taken: Taken) -> None:
        """Note which numbers a record proves, and where something before it is not proven."""
        seq = session.stream.seq
        begins = taken.messages[0].seq - 1 if taken.messages else seq
        if taken.messages:
            self.proven.add(begins + 1, seq)
        if begins != self._seq:
            self.since = max(self.since, session.table.clock)
        self._seq = seq

    def is_unproven(self, seq: int, at: int) -> bool:
        """Whether the logs say nothing of a message of that number and time (Unix ms)."""
        return (seq not in self.proven and seq <= self.proven.newest) or at < self.since


def verify(engine: Engine, logs: Sequence[Path]) -> Iterator[Compared]:
    """Yield what the comparison with the logs of each table came to; OutsideError.

    Several logs of one table are given in the order in which they were begun.
    """
    for where, said in _said(logs).items():
        yield _compare(engine, where, said)
        said.engine.dispose()


def _said(logs: Iterable[Path]) -> dict[Where, _Said]:
    found: dict[Where, _Said] = {}
    for path in logs:
        unsent = set(unsent_messages(path)) if is_table(path) else set()
        batch: list[Received] = []
        said: _Said | None = None
        for session, taken in _said_in(path):
            if said is None:
                where = session.stream.site, session.stream.table
                said = found.setdefault(where, _new_said())
                said.unsent |= unsent
            said.note(session, taken)
            batch += _received(session, taken)
            if len(batch) >= AT_ONCE:
                said.writer.take(batch)
                batch = []
        if said is not None:
            said.writer.take(batch)
    return found


def _new_said() -> _Said:
    engine = open_archive(MEMORY)
    return _Said(engine, Writer(engine))


def _compare(engine: Engine, where: Where, said: _Said) -> Compared:
    found = Compared(where)
    pruned = _compare_numbers(engine, found, said)
    for table in (tables.message, *tables.DERIVED):
        ours, theirs = (_rows(one, table, where, pruned) for one in (engine, said.engine))
        for key in ours.keys() | theirs.keys():
            _compare_key(found, said, table, ours.get(key, []), theirs.get(key, []))
    ours, theirs = (_rows(one, tables.command, where, pruned) for one in (engine, said.engine))
    _compare_orders(found, ours, theirs)
    found.faults.sort()
    return found


def _compare_key(
    found: Compared, said: _Said, table: Table, here: list[Row], there: list[Row]
) -> None:
    """Compare the rows of one key, of which there should be one in each or none."""
    same = [row for row in here if row in there]
    odd = [row for row in here if row not in there]
    gone = [row for row in there if row not in here]
    found.good += min(len(same), 1)
    for row in same[1:]:
        _fault(found, table, row, "doubled")
    for row in odd:
        if row.get("mark"):
            found.unnumbered += 1
        elif said.is_unproven(row["seq"], row[table.info["time"]]):
            found.unproven += 1
        elif same or gone:
            _fault(found, table, row, "doubled" if same else "changed")
        else:
            _fault(found, table, row, "forged")
    for row in gone:
        if not odd and row["seq"] not in said.unsent:
            _fault(found, table, row, "missing")


def _fault(found: Compared, table: Table, row: Row, what: str) -> None:
    names = [c.name for c in table.primary_key if c.name not in ("site", "table_name")]
    key = ", ".join(f"{name} {row[name]}" for name in names if row.get(name) not in (None, ""))
    extra = "" if "seq" in names else f", from message {row['seq']}"
    topic = f" on {row['topic']}" if table is tables.message else ""
    found.faults.append(Mismatch(table.name, f"{key}{extra}{topic}", what))


def _compare_numbers(engine: Engine, found: Compared, said: _Said) -> int:
    """Hold the numbers that have come against those of the logs; return the time of pruning."""
    site, table = found.where
    source = tables.source
    of_table = (source.c.site == site) & (source.c.table_name == table)
    with explained(engine), engine.connect() as connection:
        rows = connection.execute(select(source).where(of_table)).all()
    come, lost = (
        NumberSet(pair for row in rows for pair in NumberSet.of_text(getattr(row, name)))
        for name in ("seen", "lost")
    )
    for first, last in said.proven:
        for number in range(first, last + 1):
            if number in come or number in said.unsent:
                continue
            if number in lost:
                found.lost += 1
            else:
                found.faults.append(Mismatch("source", f"message {number}", "never came"))
    return max((row.pruned for row in rows), default=0)


Rows = dict[tuple[Any, ...], list[Row]]  # by the key that they have in a log too


def _compare_orders(found: Compared, ours: Rows, theirs: Rows) -> None:
    """Every order of the log is in the archive; those that were refused are in no log."""
    found.refused_orders = len(ours.keys() - theirs.keys())
    for key, (row,) in theirs.items():
        words = f"mark {row['mark']}"
        if key not in ours:
            words += f", {row['name']} by {row['by']}"
            found.faults.append(Mismatch("command", words, "missing"))
            continue
        found.good += 1
        if ours[key][0]["payload"] != row["payload"]:
            found.faults.append(Mismatch("command", words, "changed"))


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
