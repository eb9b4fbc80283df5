"""Write what the logs of tables say into the archive: all of a batch, or nothing of it.

A message may be given any number of times; its rows are the same, and there once.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import Connection, Engine, Table, select, update

from vision.errors import OutsideError
from vision.floor.archive import tables
from vision.floor.archive.database import explained, joining, once
from vision.floor.archive.tables import Published, Row, command_row, published, row_of, run_facts
from vision.wire.messages import PICTURES, unix_ms

log = logging.getLogger(__name__)

Where = tuple[str, str]


class Received(NamedTuple):
    """A message that a log says: its topic's parts, its bytes, and when, in Unix ms."""

    site: str
    table: str
    topic: str
    payload: bytes
    at: int


@dataclass(slots=True)
class Batch:
    """The rows of some messages, by table of the archive."""

    once: dict[Table, list[Row]] = field(default_factory=lambda: defaultdict(list))
    joined: dict[Table, list[Row]] = field(default_factory=lambda: defaultdict(list))
    answers: list[Row] = field(default_factory=list)  # to orders

    def add(self, received: Received) -> None:
        """Add the rows of a message; ValueError where it is none of the contract."""
        topic = received.topic
        if not received.payload or topic.startswith(PICTURES):
            return
        where = {"site": received.site, "table_name": received.table}
        if topic.startswith("cmd/") and topic != "cmd/reply":
            row = command_row(topic.removeprefix("cmd/"), received.payload, received.at)
            self.once[tables.command].append({**where, **row})
            return
        message = published(received.table, topic, received.payload)
        at = unix_ms(message.content["at"]) if message.counted else received.at
        self._add_message(where, message, at)
        made = row_of(message, at) if message.counted or topic == "status" else None
        if made is not None:
            table, row = made
            self.joined[table].append({**where, **row})

    def _add_message(self, where: Row, message: Published, at: int) -> None:
        key = {"boot": message.boot, "seq": message.seq, "mark": message.mark}
        if message.is_stored:
            own = {"topic": message.topic, "at": at, "payload": message.text}
            self.once[tables.message].append({**where, **key, **own})
        if message.topic == "cmd/reply" and message.content["ref"]:
            self.answers.append({**message.content, **where})
        if message.topic == "status" and message.counted:
            self.joined[tables.run].append(
                {**where, "boot": message.boot, **run_facts(message.content)}
            )

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
    """Writes to one archive; `counts` are the messages given since the start."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.counts = Counter[str]()

    def take(self, received: Iterable[Received]) -> None:
        """Write messages; when it returns all are durable. OutsideError: give them again.

        One that the contract or the database does not take costs itself only.
        """
        messages = list(received)
        try:
            self._write(messages)
        except (OutsideError, ValueError, OverflowError) as error:
            if len(messages) > 1:
                for one in messages:
                    self.take([one])
                return
            if isinstance(error, OutsideError) and not self._answers():
                raise  # no message is to blame
            self.counts["left out"] += 1
            (one,) = messages
            log.error(
                "table %s: a message on %s is left out: %s; its log has it",
                *one[1:3],
                ascii(str(error)),
            )

    def _write(self, messages: Sequence[Received]) -> None:
        batch = Batch()
        for one in messages:
            batch.add(one)
        with explained(self._engine), self._engine.begin() as connection:
            batch.write(connection)
        self.counts["written"] += len(messages)

    def _answers(self) -> bool:
        """Whether the database takes anything at all."""
        try:
            with explained(self._engine), self._engine.connect() as connection:
                return connection.execute(select(1)).scalar() == 1
        except OutsideError:
            return False
