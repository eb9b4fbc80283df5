"""Write what the logs of tables say into the archive: all of a batch, or nothing of it.

A message may be given any number of times; its rows are the same, and there once.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import Engine, Table

from vision.floor.archive import tables
from vision.floor.archive.database import explained, joining, once
from vision.floor.archive.tables import Row, is_stored, row_of, run_facts
from vision.wire.messages import PICTURES, unix_ms


class Received(NamedTuple):
    """A message that a log says: its topic's parts, and its bytes."""

    site: str
    table: str
    topic: str
    payload: bytes


class Writer:
    """Writes to one archive."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def take(self, received: Iterable[Received]) -> None:
        """Write messages; when it returns all are durable. OutsideError: give them again."""
        messages: list[Row] = []
        joined: dict[Table, list[Row]] = defaultdict(list)
        for site, table_name, topic, payload in received:
            content = {} if not payload or topic.startswith(PICTURES) else json.loads(payload)
            if not content or not is_stored(topic, content):
                continue
            at = unix_ms(content["at"])
            where = {"site": site, "table_name": table_name}
            key = {**where, "boot": content["boot"], "seq": content["seq"]}
            messages.append({**key, "topic": topic, "at": at, "payload": payload.decode()})
            if topic == "status" and "profile" in content:
                joined[tables.run].append({**where, "boot": key["boot"], **run_facts(content)})
            made = row_of(topic, content, at)
            if made is not None:
                table, row = made
                joined[table].append({**where, **row})
        with explained(self._engine), self._engine.begin() as connection:
            if messages:
                connection.execute(once(connection, tables.message), messages)
            for table, rows in joined.items():
                connection.execute(joining(connection, table), rows)
