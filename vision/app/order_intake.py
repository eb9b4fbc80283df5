"""Read and check orders as they arrive, in a thread of its own: no picture waits for nonsense.

Orders wait by the key that signed them, and the keys take turns, so that a flood under one key, or
of what nobody signed, keeps nobody else's order waiting, whatever key it names.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import NamedTuple

from vision.access.command_gate import Gate, Ordered
from vision.access.users import Users
from vision.mqtt.publisher import Publisher
from vision.record.codec import canonical
from vision.record.facts import Fact, Recorded, Register
from vision.wire.commands import (
    REPLAY,
    TOO_MANY,
    Fields,
    RefusedError,
    order_fields,
    read_command,
    ref_of,
)

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

NOBODY = ""  # the key of what none signed

Refuse = Callable[[str, RefusedError], None]
Serve = Callable[[Fields], None]


class _Waiting(NamedTuple):
    """A command that waits for its turn: its name and fields, or why it has none."""

    name: str
    fields: Fields
    fault: RefusedError | None = None


class OrderIntake:
    """Takes commands from a link; the orders that the gate admits wait to be taken."""

    def __init__(
        self,
        link: Publisher,
        gate: Gate,
        inbox: deque[Ordered],
        *,
        refuse: Refuse,
        serve: Serve,
    ) -> None:
        """Prepare; the `inbox` is filled, by the thread, with what the gate admits.

        `refuse` is called with the name of what it refuses and the reason, `serve` with the fields
        of a replay request; both from the thread.
        """
        self._link = link
        self._gate = gate
        self._refuse = refuse
        self._serve = serve
        self._waiting: OrderedDict[str, deque[_Waiting]] = OrderedDict()
        self._inbox = inbox
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
            try:
                self._check_next()
            except Exception:  # a defect of ours must not end the taking of orders for good
                log.exception("an order could not be checked and was dropped; report this")
            self._stopping.wait(PAUSE_S)

    def _sort(self) -> None:
        """Put what has arrived under the keys that signed it."""
        wait_s = 0.0 if self._waiting else POLL_S
        for _ in range(SORTED_AT_ONCE):
            request = self._link.next_request(wait_s)
            if request is None:
                return
            wait_s = 0.0
            try:
                waiting = _Waiting(request.name, order_fields(request.payload))
                key = self._gate.signer(waiting.name, waiting.fields)
            except RefusedError as error:
                waiting, key = _Waiting(request.name, {}, error), NOBODY
            queue = self._waiting.setdefault(key, deque())
            queue.append(waiting)
            if len(queue) > WAITING_EACH:
                self._drop(key, queue.popleft())

    def _drop(self, key: str, oldest: _Waiting) -> None:
        """Leave out the oldest order of a key; who signed it hears of it."""
        self.dropped += 1
        if key != NOBODY:
            self._refuse(oldest.name, RefusedError(TOO_MANY, ref_of(oldest.fields)))

    def _check_next(self) -> None:
        """Check one command of the key whose turn it is."""
        key, queue = self._waiting.popitem(last=False)
        waiting = queue.popleft()
        if queue:
            self._waiting[key] = queue
        try:
            self._take(waiting)
        except RefusedError as error:
            error.ref = error.ref or ref_of(waiting.fields)
            self._refuse(waiting.name, error)

    def _take(self, waiting: _Waiting) -> None:
        name, fields, fault = waiting
        if fault is not None:
            self._gate.note_refusal(name, fault)
            raise fault
        if name == REPLAY:
            self._serve(fields)
            return
        if len(self._inbox) >= WAITING_EACH:
            raise RefusedError(TOO_MANY)
        self._gate.admit(name, fields)
        self._inbox.append(Ordered(read_command(name, fields, at=0), name, fields))


def staff_changes(register: Register, users: Users, at: int) -> tuple[Recorded, ...]:
    """Return the facts, at `at` (Unix ms), of users who are not as the log has them.

    The log has public keys and roles only, as the users file has.
    """
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
