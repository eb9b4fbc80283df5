"""The only way into an archive: the logs of tables, verified record by record.

A log is chained and signed, an archive is neither. So nothing comes in that no log says: records
are audited in their order, their messages made again from the events, as a replay makes them, and
where keys are given only what a good signature covers is taken. How a log comes here is left to
what carries files best.
"""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Engine, Table

from vision.audit.verify import Auditor, Trust
from vision.errors import ShoeReaderError
from vision.files import stamp
from vision.floor.archive import tables
from vision.floor.archive.database import explained, joining, once
from vision.floor.archive.tables import Row, is_stored, row_of, run_facts
from vision.game.events import Started
from vision.record.chain import verified
from vision.record.codec import GENESIS
from vision.storage.log_reader import Taken, read_log, unbroken
from vision.wire.messages import PICTURES, iso, unix_ms

log = logging.getLogger(__name__)

# Messages in one transaction: large ones are quicker, and a failed one costs a second at most.
AT_ONCE = 5000
LOGS = (".sqlite", ".jsonl")  # endings of logs and of exports of their records, in a folder


class Received(NamedTuple):
    """A message that a log says: its topic's parts, and its bytes."""

    site: str
    table: str
    topic: str
    payload: bytes


def write(engine: Engine, received: Iterable[Received]) -> None:
    """Write messages to an archive; when it returns all are durable. OutsideError: give them again.

    All are written, or none. One may be given any number of times; its rows are the same, and there
    once.
    """
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
    with explained(engine), engine.begin() as connection:
        if messages:
            connection.execute(once(connection, tables.message), messages)
        for table, rows in joined.items():
            connection.execute(joining(connection, table), rows)


class Following:
    """One log that is taken in, and goes on to be as it grows; OutsideError where it is no more."""

    def __init__(self, path: Path, trust: Trust) -> None:
        """Begin before its first record."""
        self.path, self._trust = path, trust
        self._seen: tuple[int, ...] = ()
        self._restart()

    def _restart(self) -> None:
        self._auditor = Auditor(self._trust)
        self._next, self._last, self._state = 0, GENESIS, "stopped"
        self._waiting: list[tuple[int, Received]] = []  # with the record, until that is signed

    def take_in(self, engine: Engine) -> int:
        """Write what is new; return how many messages. OutsideError names a record that is bad."""
        # A log that is being written grows in the file beside it.
        now = (*stamp(self.path), *stamp(self.path.with_name(f"{self.path.name}-wal")))
        if now == self._seen:
            return 0
        if self._next and not self._continues():
            log.info("%s is another log than before; it is taken in from its beginning", self.path)
            self._restart()
        count = 0
        with unbroken(self.path):
            for record, content in verified(
                read_log(self.path, self._next), self._next, self._last
            ):
                taken = self._auditor.take(record, content)
                self._waiting += [(record.number, one) for one in self._received(taken)]
                self._next, self._last = record.number + 1, record.hash
                if len(self._waiting) >= AT_ONCE:
                    count += self._write(engine)
        count += self._write(engine)
        self._seen = now
        return count

    def _continues(self) -> bool:
        found = next(read_log(self.path, self._next - 1), None)
        return found is not None and found.hash == self._last

    def _write(self, engine: Engine) -> int:
        """Write what waits and may be believed."""
        last = self._auditor.signed_up_to if self._trust.keys else self._next
        good = [one for number, one in self._waiting if number <= last]
        for start in range(0, len(good), AT_ONCE):
            write(engine, good[start : start + AT_ONCE])
        self._waiting = [waits for waits in self._waiting if waits[0] > last]
        return len(good)

    def _received(self, taken: Taken) -> Iterator[Received]:
        """Yield what a record says: that a run had broken off, its messages."""
        session = taken.after
        if session is None:
            return
        where = session.stream.site, session.stream.table
        begins = taken.content.get("event", {}).get("is") == Started.__name__
        if begins and self._state != "stopped" and taken.before is not None:
            # No log has its last will: the run ended with its last record. The number after the
            # last is one that no message of that run has.
            ended = taken.before
            own = {"boot": ended.table.boot, "seq": ended.stream.seq + 1}
            lost = {"state": "offline", "why": "", "at": iso(ended.table.clock), **own}
            yield Received(*where, "status", json.dumps(lost).encode())
        for message in taken.messages:
            topic = message.topic.split("/", 4)[4]
            if topic == "status":
                self._state = json.loads(message.payload)["state"]
            yield Received(*where, topic, message.payload)


class Folder:
    """All logs of a house, as they come to lie in some folders or are named."""

    def __init__(self, places: Sequence[Path], trust: Trust) -> None:
        self._places, self._trust = places, trust
        self._logs: dict[Path, Following] = {}
        self._reported: dict[Path, str] = {}

    def take_in(self, engine: Engine) -> int:
        """Write what is new of each; a log that is bad is reported once, and costs itself only."""
        count = 0
        for path in self._paths():
            following = self._logs.setdefault(path, Following(path, self._trust))
            try:
                count += following.take_in(engine)
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
