"""Put what a table's log holds into an archive: every message that was published, every order.

The messages are made again from the events of the log, as a replay makes them, so an export serves
as well as the table's own file. A checkpoint is held against the events before it, as an audit
does; whether signatures cover the log, whoever loads it has to find out first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from vision.errors import OutsideError
from vision.floor.archive.writer import Received, Writer
from vision.record.chain import BrokenChainError
from vision.storage.log_walk import walked
from vision.wire.messages import Message

# Messages in one transaction: large ones are quicker, and a failed one costs a second at most.
AT_ONCE = 5000


@dataclass(frozen=True, slots=True)
class LogStep:
    """What a record of a log came to: its messages, the order that it holds, its time.

    `seq` is the number of the last message so far.
    """

    site: str
    table: str
    messages: tuple[Message, ...]
    command: tuple[str, str] | None
    at: int
    seq: int

    @property
    def where(self) -> tuple[str, str]:
        """The house and the table."""
        return self.site, self.table


def load_log(path: Path, writer: Writer) -> int:
    """Write all that a log says into the archive; return how many messages. OutsideError."""
    found = (one for step in steps_of(path) for one in received_of(step))
    count = 0
    while batch := list(islice(found, AT_ONCE)):
        writer.take(batch)
        count += len(batch)
    return count


def steps_of(path: Path) -> Iterator[LogStep]:
    """Yield what each record of a log came to, its chain verified on the way; OutsideError."""
    try:
        for taken in walked(path):
            session = taken.after
            if session is not None and (taken.step is not None or "desk" in taken.content):
                stream, messages = session.stream, taken.step.messages if taken.step else ()
                at = taken.content["event"]["at"] if taken.step else session.table.clock
                order = _order(taken.content)
                yield LogStep(stream.site, stream.table, messages, order, at, stream.seq)
    except BrokenChainError as error:
        raise OutsideError(
            f"{path}: the chain is broken at {error}; keep it as evidence"
        ) from error


def received_of(step: LogStep) -> Iterator[Received]:
    """Yield what the archive is given of a step: its order, then its messages."""
    if step.command is not None:
        name, text = step.command
        yield Received(step.site, step.table, f"cmd/{name}", text.encode(), step.at)
    for message in step.messages:
        topic = message.topic.split("/", 4)[4]
        yield Received(step.site, step.table, topic, message.payload, step.at)


def _order(content: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the name and the text of a signed order, None where the record holds none."""
    order = content.get("order")
    return None if order is None else (order["name"], json.dumps(order["fields"]))
