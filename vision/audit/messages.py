"""Hold the table of messages against the log: what would be published again must be what was said.

The messages beside the log are not chained; the log has a digest of them at each event. So the log
is folded again, and each row is compared with what comes of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from vision.audit.walk import OURS, is_what_was_said
from vision.config.profiles import logged_profile
from vision.errors import OutsideError
from vision.wire.log_fold import LogFold
from vision.wire.messages import Message
from vision.wire.session import TableSession, new_session


class Rows:
    """Rows in the order of their numbers, taken off as the records come that said them.

    `unproven` counts those that cannot be compared: their records were pruned, or another version
    said them.
    """

    def __init__(self, rows: Iterable[Message], standing: Mapping[str, int]) -> None:
        """`standing` is the number of the retained message of each topic."""
        self.good = self.unproven = 0
        self._waiting = iter(rows)
        self._row = next(self._waiting, None)
        self._standing = standing
        self._retained: dict[str, int] = {}
        self._last = -1

    def take(
        self, content: Mapping[str, Any], session: TableSession, messages: tuple[Message, ...]
    ) -> None:
        """Take the next record, the session after it and its messages; OutsideError.

        Those of another version, which are not what the record says, prove nothing.
        """
        last, self._last = self._last, content["n"]
        if "desk" in content and content["n"] != last + 1:
            # What was said before a gap cannot be known.
            self._retained = {}
            self._skip(session.stream.seq)
        self._skip(content.get("event", {}).get("after", 0))
        is_known = is_what_was_said(messages, content)
        for message in messages:
            self._hold(message, is_known=is_known)

    def end(self, *, ours: bool) -> None:
        """Hold what is left against the end of the log; `ours`: this version wrote it."""
        if self._row is not None and ours:
            raise _forged(self._row)
        while self._row is not None:
            self._pass(is_known=False)
        for topic, seq in self._retained.items():
            if self._standing.get(topic, 0) != seq:
                raise OutsideError(
                    f"on {topic} message {self._standing.get(topic, 0)} stands, but the log says "
                    f"{seq}: the table of messages was changed; keep the file as evidence, and go "
                    "on from it with shoe-reader log begin"
                )

    def _hold(self, message: Message, *, is_known: bool) -> None:
        if message.retain and is_known:
            self._retained[message.topic] = message.seq if message.payload else 0
        row = self._row
        if row is None or row.seq > message.seq:
            return
        if row.seq < message.seq or (is_known and row != message):
            raise _forged(row)
        self._pass(is_known=is_known)

    def _skip(self, seq: int) -> None:
        while self._row is not None and self._row.seq <= seq:
            self._pass(is_known=False)

    def _pass(self, *, is_known: bool) -> None:
        self.good += is_known
        self.unproven += not is_known
        self._row = next(self._waiting, None)


def compare(header: Mapping[str, Any], contents: Iterable[Mapping[str, Any]], rows: Rows) -> None:
    """Compare rows with the messages of records of the log, which come segment by segment.

    Segments without rows may be left out. OutsideError at the first row that was not said.
    """
    fold = LogFold(new_session(header, logged_profile(header)))
    for content in contents:
        step = fold.take(content)
        rows.take(content, fold.session, step.messages if step else ())
    rows.end(ours=fold.session.stream.version in OURS)


def _forged(row: Message) -> OutsideError:
    return OutsideError(
        f"message {row.seq} on {row.topic} is not what the log says was said: the table of "
        "messages was changed; keep the file as evidence, and go on from it with shoe-reader log "
        "begin"
    )
