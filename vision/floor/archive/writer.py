"""Write what tables publish into the archive: each message once, all of a batch or nothing.

A message may come any number of times and in any order. Its rows and the set of the numbers that
have come are written in one transaction, so that a crash between two leaves neither a row without
its number nor a number without its row.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

from sqlalchemy import Connection, Engine, Table, func, select, update

from vision.floor.archive import tables
from vision.floor.archive.database import explained, joining, once
from vision.floor.archive.numbers import NumberSet
from vision.floor.archive.tables import (
    Published,
    Row,
    command_row,
    digest,
    numbers_of,
    own_topic,
    row_of,
    run_facts,
    said_of,
)
from vision.wire.commands import REPLAY, TOPIC_LEVEL
from vision.wire.form import Proves, Term, json_object
from vision.wire.messages import PICTURES, topic_level, unix_ms

log = logging.getLogger(__name__)

OLD_TERM = "of an older term"  # why a message is kept apart
NO_TERM = "of a term that no reader's key has signed"
CONFLICT = "another text came with this number before"
# Characters that are kept of what is no message: enough to see what it was meant to be.
APART_LIMIT = 4096
LEVEL_LIMIT = 64  # characters of a table's name, as the contract has it
NOTHING_SAID = {"profile": "", "deck": ""}  # of a run whose `status` has not come

Where = tuple[str, str]
RUN_KEY = ("site", "table_name", "boot")


class Received(NamedTuple):
    """A message as the broker gave it: its topic's parts, its bytes, and when, in Unix ms."""

    site: str
    table: str
    topic: str
    payload: bytes
    at: int
    retained: bool = False


@dataclass(slots=True)
class Numbering:
    """One numbering of a table's messages: which have come, and which nobody has any more.

    `newest` is the last number that the table has named; what lies below `pruned` was deleted by
    age.
    """

    numbering: int
    seen: NumberSet = field(default_factory=NumberSet)
    lost: NumberSet = field(default_factory=NumberSet)
    newest: int = 0
    term: Term = field(default_factory=Term)
    pruned: int = 0

    @classmethod
    def of(cls, row: Any) -> Self:
        """Return the numbering of a row of `source`."""
        seen, lost = NumberSet.of_text(row.seen), NumberSet.of_text(row.lost)
        term = Term(row.term, row.term_from)
        return cls(row.numbering, seen, lost, row.newest, term, row.pruned)

    def row(self) -> Row:
        """Return it as a row, without the table's key."""
        return {
            "numbering": self.numbering,
            "seen": self.seen.text(),
            "lost": self.lost.text(),
            "newest": self.newest,
            "term": self.term.number,
            "term_from": self.term.since,
            "pruned": self.pruned,
        }

    def missing(self) -> list[tuple[int, int]]:
        """Return the ranges of numbers that have neither come nor been lost, lowest first."""
        return NumberSet((*self.seen.ranges, *self.lost.ranges)).missing(self.newest)


@dataclass(slots=True)
class Batch:
    """The rows of some messages, by table of the archive, and what the messages count as."""

    once: dict[Table, list[Row]] = field(default_factory=lambda: defaultdict(list))
    joined: dict[Table, list[Row]] = field(default_factory=lambda: defaultdict(list))
    answers: list[Row] = field(default_factory=list)  # to orders
    # Of kept messages, by numbering and number.
    texts: dict[tuple[object, ...], str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def write(self, connection: Connection) -> None:
        """Write all rows."""
        for table, values in self.once.items():
            connection.execute(once(connection, table), values)
        for table, rows in self.joined.items():
            connection.execute(joining(connection, table), rows)
        for reply in self.answers:
            order = tables.command.c
            given = [order[name] == reply[name] for name in ("site", "table_name", "ref")]
            of_order = (*given, order.name == reply["command"], order.accepted.is_(None))
            answer = {name: reply[name] for name in ("accepted", "why")}
            connection.execute(update(tables.command).where(*of_order), answer)


class Writer:
    """Writes to one archive; one thread at a time."""

    def __init__(self, engine: Engine, pairs: Mapping[str, Proves] | None = None) -> None:
        """Go on where the archive ends; OutsideError when it does not answer.

        `pairs` are the tables with two readers, each with what checks their terms: of others no
        term counts.
        """
        self._engine = engine
        self._pairs = pairs or {}
        # Since the start, messages: `written`, come again (`repeats`), kept `apart`, of no form
        # (`unread`), and `conflicts`, which are second texts of one number.
        self.counts = Counter[str]()
        self._sources: dict[Where, list[Numbering]] = {}
        self._present: dict[Where, int] = {}  # the numbering of the run that last spoke of itself
        self._runs: dict[tuple[str, str, str], Row] = {}
        self._arrival = 0
        self._is_ahead = False
        self._changed: set[Where] = set()
        self._changed_runs: set[tuple[str, str, str]] = set()
        self._load()

    def take(self, batch: Iterable[Received]) -> None:
        """Write a batch; when it returns all of it is durable. OutsideError: give it again.

        A message that the database does not take costs itself only, and is kept apart.
        """
        messages = list(batch)
        try:
            self._take_whole(messages)
        except Exception:  # noqa: BLE001  # whatever one message does, the others count
            self._load()  # where the database is away, no message is to blame
        else:
            return
        for received in messages:
            try:
                self._take_whole([received])
            except Exception as error:  # noqa: BLE001  # as above
                self._load()
                with self._transaction() as rows:
                    self._keep_unread(rows, received, str(error.__cause__ or error))

    def _take_whole(self, batch: Iterable[Received]) -> None:
        with self._transaction() as rows:
            for received in batch:
                self._take_one(rows, received)

    def give_up(self, where: Where, last: int) -> None:
        """Note that nobody has messages up to that number any more; OutsideError."""
        with self._transaction():
            self.sources[where].lost.add(1, last)
            self._changed.add(where)

    @contextmanager
    def _transaction(self) -> Iterator[Batch]:
        """Write all that the block adds to the batch and changes in memory, or nothing of it.

        Where the last try failed memory is ahead of the archive, which is then read again first.
        """
        if self._is_ahead:
            self._load()
        self._is_ahead = True
        rows = Batch()
        yield rows
        for site, table in self._changed:
            key = {"site": site, "table_name": table}
            rows.joined[tables.source] += [
                {**key, **one.row()} for one in self._sources[site, table]
            ]
        for run in self._changed_runs:
            rows.joined[tables.run].append(
                {**dict(zip(RUN_KEY, run, strict=True)), **self._runs[run]}
            )
        with explained(self._engine), self._engine.begin() as connection:
            rows.write(connection)
        self._changed.clear()
        self._changed_runs.clear()
        self.counts += rows.counts
        self._is_ahead = False

    @property
    def sources(self) -> dict[Where, Numbering]:
        """The present numbering of each table."""
        return {where: self._present_of(where) for where in self._sources}

    # --- one message -------------------------------------------------------------------------

    def _take_one(self, rows: Batch, received: Received) -> None:
        topic = received.topic
        if not received.payload or own_topic(topic)[0].startswith(PICTURES):
            return
        try:
            if not TOPIC_LEVEL.fullmatch(received.table):
                raise ValueError("no table has that name")
            if topic.startswith("cmd/") and topic != "cmd/reply":
                name = topic.removeprefix("cmd/")
                if not received.retained and name != REPLAY:
                    where = {"site": received.site, "table_name": received.table}
                    row = command_row(name, received.payload, received.at)
                    rows.once[tables.command].append({**where, **row})
                return
            said = said_of(received.site, received.table, topic, received.payload)
            proves = self._pairs.get(said.table)
            if proves and not proves(said.term, str(said.content.get("term_proof", ""))):
                rows.counts["apart"] += 1
                if said.topic != "health":  # which comes each second, and is never kept
                    self._keep_apart(rows, said, received.at, NO_TERM)
                return
            if said.topic == "health":
                self._note_newest(said)
                return
            rows.counts[self._take_said(rows, said, received)] += 1
        except (ValueError, RecursionError) as error:
            self._keep_unread(rows, received, str(error))

    def _note_newest(self, said: Published) -> None:
        """Take the reader's word for its last number: the next word mends a false one."""
        source = self._source(said)
        if not self._admits(source, said):
            return
        where = (said.site, said.table)
        if (*where, said.boot) in self._runs:
            self._present[where] = source.numbering
        if said.seq != source.newest:
            source.newest = said.seq
            self._changed.add(where)

    def _admits(self, source: Numbering, said: Published) -> bool:
        """Whether the message is of the reader that may speak."""
        is_pair = said.table in self._pairs
        return not is_pair or source.term.admits(said.term, said.seq, counted=said.counted)

    def _take_said(self, rows: Batch, said: Published, received: Received) -> str:
        """Add the rows of a message, and return as what it counts."""
        at = unix_ms(said.content["at"]) if said.counted else received.at
        source = self._source(said)
        if not self._admits(source, said):
            self._keep_apart(rows, said, at, OLD_TERM)
            return "apart"
        is_new = not said.counted or said.seq not in source.seen
        if not is_new and said.is_kept:
            before = self._kept_texts(rows, said, source.numbering)
            if before - {said.text}:
                log.error(
                    "two different messages have the number %d of table %s; find out who "
                    "else publishes for this table, and run archive verify",
                    said.seq,
                    said.table,
                )
                self._keep_apart(rows, said, at, CONFLICT)
                return "conflicts"
            is_new = not before  # what came first may have been of no form
        if said.counted and is_new:
            first, last = numbers_of(said)
            source.seen.add(max(1, first), last)
            source.newest = max(source.newest, last)
            self._changed.add((said.site, said.table))
        try:
            made = row_of(said, at) if said.counted or said.topic == "status" else None
        except ValueError as error:
            self._keep_apart(rows, said, at, str(error))
            return "unread"
        if not is_new:
            return "repeats"
        self._add_rows(rows, said, at, made)
        return "written"

    def _kept_texts(self, rows: Batch, said: Published, numbering: int) -> set[str]:
        """Return what was kept under a message's number: nothing, or one text."""
        where = (said.site, said.table)
        waiting = rows.texts.get((*where, numbering, said.seq))
        if waiting is not None:
            return {waiting}
        runs = [
            run[2]
            for run, row in self._runs.items()
            if run[:2] == where and row["numbering"] == numbering
        ]
        kept = tables.message.c
        query = select(kept.payload).where(
            kept.site == said.site, kept.table_name == said.table, kept.boot.in_(runs),
            kept.seq == said.seq, kept.mark == "",
        )  # fmt: skip
        with explained(self._engine), self._engine.connect() as connection:
            return set(connection.execute(query).scalars())

    def _add_rows(
        self, rows: Batch, said: Published, at: int, made: tuple[Table, Row] | None
    ) -> None:
        where = {"site": said.site, "table_name": said.table}
        numbering = self._source(said).numbering
        if said.is_kept:
            self._arrival += 1
            own = {"arrival": self._arrival, "topic": said.topic, "at": at, "payload": said.text}
            key = {"boot": said.boot, "seq": said.seq, "mark": said.mark}
            rows.once[tables.message].append({**where, **key, **own})
            if said.counted:
                rows.texts[said.site, said.table, numbering, said.seq] = said.text
        if said.topic == "cmd/reply" and said.content["ref"]:
            rows.answers.append({**said.content, **where})
        if made is not None:
            table, row = made
            own = {"numbering": numbering} if "numbering" in table.c else {}
            rows.joined[table].append({**where, **own, **row})
        if said.topic == "status" and said.counted:
            run = (said.site, said.table, said.boot)
            self._set_run(run, numbering, run_facts(said.content))

    @staticmethod
    def _keep_apart(rows: Batch, said: Published, at: int, why: str) -> None:
        where = {"site": said.site, "table_name": said.table}
        key = {"boot": said.boot, "seq": said.seq, "mark": digest(said.text)}
        what = {"why": _plain(why), "topic": said.topic, "at": at, "payload": said.text}
        rows.once[tables.apart].append({**where, **key, **what})

    def _keep_unread(self, rows: Batch, received: Received, why: str) -> None:
        rows.counts["unread"] += 1
        log.warning(
            "message on %s violates the contract: %s; it is kept apart",
            ascii(received.topic),
            ascii(why),
        )
        topic, is_again = own_topic(received.topic)
        where = (received.site, topic_level(received.table)[:LEVEL_LIMIT])
        payload = received.payload.decode("utf-8", "backslashreplace")
        row = {"site": where[0], "table_name": where[1], "boot": "", "seq": 0}
        row |= {"mark": digest(f"{topic}\n{payload}"), "at": received.at, "why": _plain(why)}
        rows.once[tables.apart].append({**row, "topic": _plain(topic), "payload": _plain(payload)})
        if is_again and where in self._sources:  # a table that sends this has nothing better
            with suppress(ValueError):
                number = json_object(received.payload).get("seq")
                if isinstance(number, int) and 0 < number <= self._present_of(where).newest:
                    self._present_of(where).lost.add(number, number)
                    self._changed.add(where)

    # --- whose number it is ------------------------------------------------------------------

    def _source(self, said: Published) -> Numbering:
        """Return the numbering of the message's run; a new run may begin another one."""
        where = (said.site, said.table)
        found = self._sources.setdefault(where, [Numbering(0)])
        known = self._runs.get((*where, said.boot))
        if known is not None:
            return found[known["numbering"]]
        newest = self._present_of(where)
        is_old = said.table in self._pairs and said.term < newest.term.number
        if not said.counted or is_old:
            return newest
        if said.seq in newest.seen and not said.again:
            newest = Numbering(len(found), term=replace(newest.term))
            found.append(newest)
            self._present[where] = newest.numbering
            log.warning(
                "table %s numbers its messages from %d again; if its log was not lost, "
                "find out who else publishes for it",
                said.table,
                said.seq,
            )
        self._set_run((*where, said.boot), newest.numbering, NOTHING_SAID)
        return newest

    def _present_of(self, where: Where) -> Numbering:
        found = self._sources[where]
        return found[self._present.get(where, -1)]

    def _set_run(self, key: tuple[str, str, str], numbering: int, facts: Row) -> None:
        row = {"numbering": numbering, **facts}
        if self._runs.get(key) != row:
            self._runs[key] = row
            self._changed_runs.add(key)

    # --- the database ------------------------------------------------------------------------

    def _load(self) -> None:
        """Read what the archive holds of each table's numbers; OutsideError."""
        self._changed.clear()
        self._changed_runs.clear()
        with explained(self._engine), self._engine.connect() as connection:
            newest = connection.execute(select(func.max(tables.message.c.arrival))).scalar()
            sources = connection.execute(
                select(tables.source).order_by(tables.source.c.numbering)
            ).all()
            runs = connection.execute(select(tables.run)).mappings().all()
        self._arrival = newest or 0
        self._sources, self._present = {}, {}
        for row in sources:
            self._sources.setdefault((row.site, row.table_name), []).append(Numbering.of(row))
        self._runs = {
            (row["site"], row["table_name"], row["boot"]): {
                name: row[name] for name in row if name not in RUN_KEY
            }
            for row in runs
        }
        self._is_ahead = False


def _plain(text: str) -> str:
    """Return the beginning of a text that every database keeps."""
    printable = text[:APART_LIMIT].encode("utf-8", "backslashreplace").decode()
    return printable.replace("\0", "\\0")
