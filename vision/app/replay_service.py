"""Send messages again to consumers that missed some: bounded, and after everything else.

The publisher takes them one by one when nothing else is to be sent. A request that is signed with a
key of the users file gets pictures too; any other only messages, because anybody who may publish
there could have sent it.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vision.game.outputs import Replied
from vision.storage.log import Store
from vision.wire.commands import (
    NOT_KEPT,
    REPLAY,
    Fields,
    RefusedError,
    again,
    read_range,
    ref_of,
)
from vision.wire.messages import PICTURES, Message

# Messages a second, and at most at once. Chosen, not measured at the limit: higher serves consumers
# sooner, and keeps the processor from the pictures of the table.
RATE_PER_S = 500
AT_ONCE = 100
WAITING_LIMIT = 10  # requests in the queue; a further one is refused
# Requests of one sender in the queue: what a desk asks for after a start. All that are not signed
# count as one sender. More lets one sender keep the others waiting.
WAITING_EACH = 4

# Returns whose key signed a request; RefusedError where the signature is not good.
Vouch = Callable[[Fields], str]


@dataclass(frozen=True, slots=True)
class _Range:
    """The messages still to be sent to a sender, "" where nobody signed."""

    first: int
    last: int
    sender: str


class Replays:
    """The requests that wait, oldest first; safe to use from several threads."""

    def __init__(
        self,
        store: Store,
        prefix: str,
        vouch: Vouch,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Serve from the store; `prefix` begins every topic, the clock (seconds) is monotonic."""
        self._store = store
        self._prefix = prefix
        self._vouch = vouch
        self._clock = clock
        self._mutex = threading.Lock()
        self._ranges: deque[_Range] = deque()
        self._ready: deque[Message] = deque()
        self._paid_until = clock()

    def ask(self, fields: Fields, newest: int, at: int) -> Replied:
        """Take a request, or refuse it with the reason; `newest` is the last `seq` published."""
        ref = ref_of(fields)
        try:
            first, last = read_range(fields, newest)
            sender = self._vouch(fields) if "sig" in fields else ""
            if self._store.count_messages(first, last) <= last - first:
                raise RefusedError(NOT_KEPT)
            self._put(_Range(first, last, sender))
        except RefusedError as error:
            return Replied(at, ref, REPLAY, "", accepted=False, why=str(error))
        return Replied(at, ref, REPLAY, str(fields.get("by", "")), accepted=True, why="")

    def next(self) -> Message | None:
        """Return the next message, at most AT_ONCE together and RATE_PER_S over time."""
        with self._mutex:
            if not self._ready:
                self._read()
            return self._ready.popleft() if self._ready else None

    def put_back(self, messages: Sequence[Message]) -> None:
        """Take messages back that did not reach the broker, oldest first."""
        with self._mutex:
            self._ready.extendleft(reversed(messages))

    def _put(self, wanted: _Range) -> None:
        with self._mutex:
            same = sum(waiting.sender == wanted.sender for waiting in self._ranges)
            if len(self._ranges) >= WAITING_LIMIT or same >= WAITING_EACH:
                raise RefusedError("others wait for messages too: ask again in a while")
            self._ranges.append(wanted)

    def _read(self) -> None:
        """Read the messages that are due now; OutsideError where the store fails."""
        now = self._clock()
        self._paid_until = max(self._paid_until, now - AT_ONCE / RATE_PER_S)
        room = min(AT_ONCE, int((now - self._paid_until) * RATE_PER_S))
        if not self._ranges or room < 1:
            return
        wanted = self._ranges.popleft()
        until = min(wanted.last, wanted.first + room - 1)
        if until < wanted.last:
            self._ranges.appendleft(_Range(until + 1, wanted.last, wanted.sender))
        found = self._store.messages(wanted.first, until)
        self._paid_until += len(found) / RATE_PER_S
        self._ready += [
            again(message, self._prefix)
            for message in found
            if wanted.sender or not self._is_picture(message)
        ]

    def _is_picture(self, message: Message) -> bool:
        return message.topic.removeprefix(self._prefix).startswith(PICTURES)
