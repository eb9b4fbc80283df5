"""Hold the table of messages against the log: what would be told again must be what was said.

The messages beside the log are not chained; the log has a digest of them at each event. So the log
is folded again, and each row is compared with what comes of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vision.config.profiles import logged_profile
from vision.errors import OutsideError
from vision.record.chain import said_digest
from vision.record.codec import event_from_json
from vision.wire.messages import Message, message_line
from vision.wire.session import advance, new_session, session_from_json


@dataclass(slots=True)
class Compared:
    """How many rows are what was said, and how many cannot be compared.

    Their records were pruned, or another version of this program said them.
    """

    good: int = 0
    unproven: int = 0


@dataclass(frozen=True, slots=True)
class _Said:
    """A message of the log; `known` is false where this version says another than was said.

    A `message` of `None` is a checkpoint: what has a number up to `seq` was said before it.
    """

    seq: int
    message: Message | None = None
    known: bool = True


def compare(
    header: Mapping[str, Any],
    contents: Iterable[Mapping[str, Any]],
    rows: Iterable[Message],
    standing: Mapping[str, int],
) -> Compared:
    """Compare rows, in the order of their numbers, with the messages of records of the log.

    The records come segment by segment, each from its checkpoint; segments without rows may be
    left out. `standing` is the number of the retained message of each topic. OutsideError at the
    first row that was not said.
    """
    found = Compared()
    retained: dict[str, int] = {}
    waiting = iter(rows)
    row = next(waiting, None)
    for said in _said(header, contents):
        if said.message is not None and said.known and said.message.retain:
            retained[said.message.topic] = said.seq if said.message.payload else 0
        while row is not None and row.seq < said.seq + (said.message is None):
            if said.message is not None:
                raise _forged(row)
            found.unproven += 1
            row = next(waiting, None)
        if row is not None and row.seq == said.seq:
            if said.known and row != said.message:
                raise _forged(row)
            found.good += said.known
            found.unproven += not said.known
            row = next(waiting, None)
    if row is not None:
        raise _forged(row)
    for topic, seq in retained.items():
        if standing.get(topic, 0) != seq:
            raise OutsideError(
                f"on {topic} message {standing.get(topic, 0)} stands, but the log says {seq}: the "
                "table of messages was changed; keep the file as evidence, and go on from it with "
                "shoe-reader log begin"
            )
    return found


def _forged(row: Message) -> OutsideError:
    return OutsideError(
        f"message {row.seq} on {row.topic} is not what the log says was said: the table of "
        "messages was changed; keep the file as evidence, and go on from it with shoe-reader log "
        "begin"
    )


def _said(header: Mapping[str, Any], contents: Iterable[Mapping[str, Any]]) -> Iterator[_Said]:
    start = session = new_session(header, logged_profile(header))
    for content in contents:
        if "desk" in content:
            session = session_from_json(content["desk"], start)
            yield _Said(session.stream.seq)
        elif "event" in content:
            step = advance(session, event_from_json(content["event"]))
            session = step.session
            digest = said_digest(map(message_line, step.messages)) if step.messages else None
            known = digest == content.get("said")
            for message in step.messages:
                yield _Said(message.seq, message, known)
