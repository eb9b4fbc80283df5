"""Check orders as they arrive, in a thread of its own: nonsense costs no picture its time.

Orders wait by the key that signed them, and the keys take turns, so that a flood under one key, or
of what nobody signed, keeps nobody else's order waiting, whatever key it names.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence

from vision.access.command_gate import Gate, Signed
from vision.access.users import Users
from vision.game.commands import CallInspector
from vision.game.coup.alerts import OPEN
from vision.game.coup.state import Table
from vision.game.events import Event
from vision.mqtt.publisher import OrderRequest, Publisher
from vision.record.codec import canonical
from vision.record.facts import Fact, Recorded, Register
from vision.wire.commands import REPLAY, TOO_MANY, RefusedError, order_fields

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

Refuse = Callable[[OrderRequest, RefusedError], None]
Serve = Callable[[bytes], None]


class OrderIntake:
    """Takes commands from a link; the orders that the gate admits wait to be taken."""

    def __init__(
        self,
        link: Publisher,
        gate: Gate,
        inbox: deque[Signed],
        *,
        refuse: Refuse,
        serve: Serve,
    ) -> None:
        """Prepare; the `inbox` is filled, by the thread, with what the gate admits.

        `refuse` is called for what it refuses, `serve` for replay requests; both from the thread.
        """
        self._link = link
        self._gate = gate
        self._refuse = refuse
        self._serve = serve
        self._waiting: OrderedDict[str, deque[OrderRequest]] = OrderedDict()
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

    def take(self) -> list[Signed]:
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
            key = self._gate.signer(request.name, request.payload)
            queue = self._waiting.setdefault(key, deque())
            queue.append(request)
            if len(queue) > WAITING_EACH:
                self._drop(key, queue.popleft())

    def _drop(self, key: str, request: OrderRequest) -> None:
        """Leave out the oldest order of a key; who signed it hears of it."""
        self.dropped += 1
        if key != NOBODY:
            self._refuse(request, RefusedError(TOO_MANY, _ref(request)))

    def _check_next(self) -> None:
        """Check one command of the key whose turn it is."""
        key, queue = self._waiting.popitem(last=False)
        request = queue.popleft()
        if queue:
            self._waiting[key] = queue
        if request.name == REPLAY:
            self._serve(request.payload)
            return
        try:
            self._admit(request)
        except RefusedError as error:
            self._refuse(request, error)

    def _admit(self, request: OrderRequest) -> None:
        if len(self._inbox) >= WAITING_EACH:
            raise RefusedError(TOO_MANY, _ref(request))
        self._inbox.append(self._gate.admit(request.name, request.payload))


def _ref(request: OrderRequest) -> str:
    """Return the reference of an order that is signed, by which its answer is known."""
    return str(order_fields(request.payload).get("ref", ""))


class StaffRecord:
    """The users as the log has them; public keys and roles only, as in the users file."""

    def __init__(self, register: Register) -> None:
        """Begin with what the log says."""
        self._entries = {person.name: person.entry for person in register.users}
        self._seen: Users | None = None

    def changes(self, users: Users, at: int) -> tuple[Recorded, ...]:
        """Return the facts of what is not as the log has it, at `at` (Unix ms)."""
        if users is self._seen:
            return ()
        self._seen = users
        now = {
            name: canonical(user.model_dump(mode="json", exclude_defaults=True))
            for name, user in users.users.items()
        }
        before, self._entries = self._entries, now
        return tuple(
            Recorded(at, Fact.USER, name, now.get(name, ""))
            for name in sorted({*before, *now})
            if before.get(name) != now.get(name)
        )


def refuse_second_call(table: Table, waiting: Sequence[object], event: Event) -> None:
    """Refuse a call for the inspector while one is open or `waiting`; RefusedError.

    Each call is filmed, so calls without end would push other evidence off the disk. Refused here,
    before the log, and not by the rules: logs that have two calls at once replay as they were.
    """
    if not isinstance(event, CallInspector):
        return
    alerts = (table.alerts, table.earlier_alerts, *(coup.alerts for coup in table.coups))
    kept = (tracked.alert for some in alerts for tracked in some)
    is_open = any(alert.code == "CALLED" and alert.state in OPEN for alert in kept)
    if is_open or any(isinstance(other, CallInspector) for other in waiting):
        raise RefusedError("the inspector is called already; close that alert first", event.ref)
