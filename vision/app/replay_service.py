"""Send messages again to consumers that missed some: at a steady rate, and in a bounded queue."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from vision.game.outputs import Replied
from vision.storage.log import Store
from vision.wire.commands import REPLAY, RefusedError, again, order_fields, read_range
from vision.wire.messages import Message

# Messages a second, and at most at once. Chosen, not measured at the limit: higher serves consumers
# sooner, and makes live messages wait longer behind replayed ones.
RATE_PER_S = 500
AT_ONCE = 100
WAITING_LIMIT = 10  # requests in the queue; a further one is refused


class Replays:
    """The requests that wait, oldest first; at most WAITING_LIMIT of them."""

    def __init__(
        self,
        store: Store,
        prefix: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Serve from the store; `prefix` begins every topic, the clock (seconds) is monotonic."""
        self._store = store
        self._prefix = prefix
        self._clock = clock
        self._ranges: deque[tuple[int, int]] = deque()
        self._paid_until = clock()

    def ask(self, payload: bytes, newest: int, at: int) -> Replied:
        """Take a request, or refuse it with the reason; `newest` is the last `seq` published."""
        try:
            fields = order_fields(payload)
            first, last = read_range(fields, newest)
            ref, by = str(fields.get("ref", "")), str(fields.get("by", ""))
            if len(self._ranges) >= WAITING_LIMIT:
                raise RefusedError("others wait for messages too: ask again in a while", ref)
            if self._store.count_messages(first, last) <= last - first:
                raise RefusedError("not all of these messages are kept any more", ref)
        except RefusedError as error:
            return Replied(at, error.ref, REPLAY, "", accepted=False, why=str(error))
        self._ranges.append((first, last))
        return Replied(at, ref, REPLAY, by, accepted=True, why="")

    def due(self) -> list[Message]:
        """Return the messages that are due now, at most AT_ONCE and RATE_PER_S over time."""
        now = self._clock()
        self._paid_until = max(self._paid_until, now - AT_ONCE / RATE_PER_S)
        room = min(AT_ONCE, int((now - self._paid_until) * RATE_PER_S))
        if not self._ranges or room < 1:
            return []
        first, last = self._ranges.popleft()
        until = min(last, first + room - 1)
        if until < last:
            self._ranges.appendleft((until + 1, last))
        found = self._store.messages(first, until)
        self._paid_until += len(found) / RATE_PER_S
        return [again(message, self._prefix) for message in found]
