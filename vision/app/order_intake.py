"""Take what others ask of a reader: orders, and messages again that a consumer missed.

They are read and checked as they arrive, in a thread of its own: no picture waits for nonsense.
They wait by the key that signed them, and the keys take turns, so that a flood under one key, or of
what nobody signed, keeps nobody else's order waiting, whatever key it names.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from vision.access.command_gate import Gate, Ordered, Signed
from vision.access.users import Users
from vision.errors import OutsideError
from vision.game.outputs import Replied
from vision.mqtt.publisher import OrderRequest, Publisher
from vision.record.codec import canonical
from vision.record.facts import Fact, Recorded, Register
from vision.storage.log import Store
from vision.wire.commands import (
    NOT_STORED,
    REPLAY,
    TOO_MANY,
    Fields,
    RefusedError,
    again,
    order_fields,
    read_command,
    read_range,
    ref_of,
)
from vision.wire.messages import PICTURES, Message

# Orders admitted at most with each picture; a house gives a few a minute. More lets a signer who
# floods hold up the pictures, fewer delays honest orders.
EACH_PICTURE = 10
# Seconds between two checks: at most a hundred a second, which cost under a tenth of a core. Longer
# keeps orders waiting in a flood, shorter gives a flood more of the processor.
PAUSE_S = 0.01
# Orders that wait under one key; a person gives one at a time. More only delays what is refused.
WAITING_EACH = 20
# Requests sorted by key before the next check; sorting costs some 0.2 ms each, the signature most.
SORTED_AT_ONCE = 20
# Seconds of one wait for an order while none waits; bounds how long stopping takes.
POLL_S = 0.2
log = logging.getLogger(__name__)

DEFECT = "a defect of the reader: it could not be checked; see its log, and report it"
NOBODY = ""  # the key of what none signed


class _Waiting(NamedTuple):
    """A command that waits for its turn: what was signed, or what was not and why."""

    name: str
    fields: Fields
    signed: Signed | RefusedError | None = None  # None where nothing needs a signature


class OrderIntake:
    """Takes commands from a link; the orders that the gate admits wait to be taken."""

    def __init__(
        self,
        link: Publisher,
        gate: Gate,
        *,
        refuse: Callable[[str, RefusedError], None],
        serve: Callable[[Fields, str], None],
    ) -> None:
        """Prepare; `refuse` is called with the name of what is refused and the reason.

        `serve` is called with the fields of a replay request and the key that signed it, "" where
        none did; both from the thread.
        """
        self._link = link
        self._gate = gate
        self._refuse = refuse
        self._serve = serve
        self._waiting: OrderedDict[str, deque[_Waiting]] = OrderedDict()
        self._inbox: deque[Ordered] = deque()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="orders", daemon=True)
        self.dropped = 0

    def start(self) -> None:
        """Begin to take commands."""
        self._thread.start()

    def stop(self) -> None:
        """Take no more."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def take(self) -> list[Ordered]:
        """Return the orders admitted since the last call, at most EACH_PICTURE, oldest first."""
        count = min(EACH_PICTURE, len(self._inbox))
        return [self._inbox.popleft() for _ in range(count)]

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._sort()
            if not self._waiting:
                continue
            self._check_next()
            self._stopping.wait(PAUSE_S)

    def _sort(self) -> None:
        """Put what has arrived under the keys that signed it."""
        wait_s = 0.0 if self._waiting else POLL_S
        for _ in range(SORTED_AT_ONCE):
            request = self._link.next_request(wait_s)
            if request is None:
                return
            wait_s = 0.0
            waiting, key = self._sorted(request)
            queue = self._waiting.setdefault(key, deque())
            queue.append(waiting)
            if len(queue) > WAITING_EACH:
                self._drop(key, queue.popleft())

    def _sorted(self, request: OrderRequest) -> tuple[_Waiting, str]:
        """Return a request as it waits, and under whose key."""
        name, fields = request.name, Fields()
        try:
            fields = order_fields(request.payload)
            if name == REPLAY and "sig" not in fields:
                return _Waiting(name, fields), NOBODY
            signed = self._gate.verify(name, fields)
        except Exception as error:  # noqa: BLE001  see `_refusal`
            return _Waiting(name, fields, _refusal(error, fields)), NOBODY
        return _Waiting(name, fields, signed), signed.key

    def _drop(self, key: str, oldest: _Waiting) -> None:
        """Leave out the oldest order of a key; who signed it hears of it."""
        self.dropped += 1
        if key != NOBODY:
            self._refuse(oldest.name, RefusedError(TOO_MANY, ref_of(oldest.fields)))

    def _check_next(self) -> None:
        key, queue = self._waiting.popitem(last=False)
        waiting = queue.popleft()
        if queue:
            self._waiting[key] = queue
        try:
            self._take(waiting)
        except Exception as error:  # noqa: BLE001  see `_refusal`
            self._refuse(waiting.name, _refusal(error, waiting.fields))

    def _take(self, waiting: _Waiting) -> None:
        name, fields, signed = waiting
        if isinstance(signed, RefusedError):
            self._gate.note_refusal(name, signed)
            raise signed
        if signed is None:
            self._serve(fields, NOBODY)
            return
        if name == REPLAY:
            self._gate.take(signed)
            self._serve(fields, signed.key)
            return
        if len(self._inbox) >= WAITING_EACH:
            raise RefusedError(TOO_MANY)
        self._gate.admit(signed)
        self._inbox.append(Ordered(read_command(name, fields, at=0), name, fields))


def _refusal(error: Exception, fields: Fields) -> RefusedError:
    """Return what the sender hears of an order that was not taken.

    A defect of ours must not end the taking of orders for good, nor leave its sender waiting.
    """
    if not isinstance(error, RefusedError):
        log.error("an order could not be checked; report this", exc_info=error)
        error = RefusedError(DEFECT)
    error.ref = error.ref or ref_of(fields)
    return error


def staff_changes(register: Register, users: Users, at: int) -> tuple[Recorded, ...]:
    """Return the facts, at `at` (Unix ms), of users whose key or roles the log has otherwise."""
    before = {person.name: person.entry for person in register.users}
    now = {
        name: canonical(user.model_dump(mode="json", exclude_defaults=True))
        for name, user in users.users.items()
    }
    return tuple(
        Recorded(at, Fact.USER, name, now.get(name, ""))
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
    )


# --- messages again -------------------------------------------------------------------------------
# To consumers that missed some: bounded, and after everything else. The publisher takes them one by
# one when nothing else is to be sent. A request that is signed with a key of the users file gets
# pictures too; any other only messages, because anybody who may publish there could have sent it.

# Messages a second, and at most at once. Chosen, not measured at the limit: higher serves consumers
# sooner, and keeps the processor from the pictures of the table.
RATE_PER_S = 500
AT_ONCE = 100
RANGES_LIMIT = 10  # requests in the queue; a further one is refused
# Requests of one sender in the queue: what a desk asks for after a start. All that are not signed
# count as one sender. More lets one sender keep the others waiting.
RANGES_EACH = 4


# What a request counts for besides: its messages are held against the records of their shoe, which
# takes some 0.1 s. More delays who asks for little, less lets a flood of them take the processor.
PROOF = 250


class _Range(NamedTuple):
    """The messages still to be sent to a sender, "" where nobody signed."""

    messages: deque[Message]
    sender: str


class Replays:
    """The requests that wait, oldest first; safe to use from several threads."""

    def __init__(
        self,
        store: Store,
        prefix: str,
        proven: Callable[[range], list[Message]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Serve what `proven` finds in the store; `prefix` begins topics, clock is monotonic."""
        self._store = store
        self._proven = proven
        self._prefix = prefix
        self._clock = clock
        self._mutex = threading.Lock()
        self._ranges: deque[_Range] = deque()
        self._ready: deque[Message] = deque()
        self._paid_until = clock()

    def ask(self, fields: Fields, sender: str, newest: int, at: int) -> Replied:
        """Take a request, or refuse it with the reason; `newest` is the last `seq` published.

        `sender` is whose key signed it, "" where none did.
        """
        ref = ref_of(fields)
        try:
            first, last = read_range(fields, newest)
            if self._store.count_messages(first, last) <= last - first:
                raise RefusedError(NOT_STORED)
            senders = [waiting.sender for waiting in tuple(self._ranges)]
            if len(senders) >= RANGES_LIMIT or senders.count(sender) >= RANGES_EACH:
                raise RefusedError("others wait for messages too: ask again in a while")
            messages = deque(self._proven(range(first, last + 1)))
            with self._mutex:
                self._ranges.append(_Range(messages, sender))
                self._paid_until = PROOF / RATE_PER_S + max(self._paid_until, self._clock())
        except RefusedError as error:
            return Replied(at, ref, REPLAY, "", accepted=False, why=str(error))
        except OutsideError as error:
            log.error("messages are not given out again: %s; mend that, and ask again", error)
            return Replied(at, ref, REPLAY, "", accepted=False, why=NOT_STORED)
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

    def _read(self) -> None:
        now = self._clock()
        self._paid_until = max(self._paid_until, now - AT_ONCE / RATE_PER_S)
        room = min(AT_ONCE, int((now - self._paid_until) * RATE_PER_S))
        if not self._ranges or room < 1:
            return
        wanted = self._ranges[0]
        found = [wanted.messages.popleft() for _ in range(min(room, len(wanted.messages)))]
        if not wanted.messages:
            self._ranges.popleft()
        self._paid_until += len(found) / RATE_PER_S
        self._ready += [
            again(message, self._prefix)
            for message in found
            if wanted.sender or not message.topic.removeprefix(self._prefix).startswith(PICTURES)
        ]
