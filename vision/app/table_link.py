"""The link of a run to its broker: what is published, and the orders that come in.

Orders are the one input that reaches a run from the broker. Each is checked on a thread of its own
and taken by the loop of the pictures as one more event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from vision.access.command_gate import Gate, Ordered, check_vouched
from vision.app.machine import Burst, LinkWatch
from vision.app.order_intake import OrderIntake, Replays, staff_changes
from vision.app.run_log import Input, event_of
from vision.clock import now_ms
from vision.config.table import TableConfig
from vision.game.commands import Command, SignIn
from vision.game.events import Event
from vision.game.fold.commands import needs_second
from vision.game.outputs import Replied
from vision.mqtt.endpoint import endpoint_of
from vision.mqtt.lanes import Fill
from vision.mqtt.publisher import Bulk, Publisher
from vision.record.facts import Fact, Recorded
from vision.storage.log import Store
from vision.storage.log_reader import recent_orders
from vision.wire.commands import UNANSWERED, Fields, RefusedError, ref_of
from vision.wire.discovery import discovery
from vision.wire.messages import Message, answer, health, last_will
from vision.wire.session import TableSession


class TableLink:
    """Publishes what the log's outbox holds, and takes the orders of people."""

    def __init__(
        self,
        config: TableConfig,
        store: Store,
        session: Callable[[], TableSession],
        *,
        publish: bool,
    ) -> None:
        """Publish from the outbox of `store`, from `connect` on, if it is to; shut until then.

        `session` is as the table stands when it is asked.
        """
        self._store = store
        self._now = session
        self._endpoint = endpoint_of(config.broker) if publish else None
        self._discovery = config.broker.discovery
        self._most_bytes = config.broker.max_message
        users = Path(config.orders.users) if config.orders.users else None
        fresh_ms = round(1000 * config.orders.fresh_s)
        prefix = session().stream.prefix
        self.gate = Gate(f"{prefix}cmd/", users, fresh_ms)
        self.remember()
        self._second_person = config.orders.second_person
        self._replays = Replays(store, prefix)
        self._watch = LinkWatch()
        self._refused_before = 0
        self._refused = Burst("ORDERS", "orders refused")
        self._not_let_in = Burst("LOGINS", "failed log-ins")
        self._publisher: Publisher | None = None
        self._intake: OrderIntake | None = None

    def remember(self) -> None:
        """Take no order again that stands in the log."""
        self.gate.remember(recent_orders(self._store.database.path), self._now().table.clock)

    def connect(self, at: int, fill: Fill | None, may_send: Callable[[], bool]) -> None:
        """Connect at `at` (Unix ms) if this run publishes; `fill` gives messages their pictures."""
        if self._endpoint is None:
            return
        stream = self._now().stream
        self._publisher = Publisher(
            self._endpoint,
            self._store,
            will=last_will(stream, at),
            bulk=Bulk(self._most_bytes, fill, self._replays),
            secret=str(self._store.header["id"]),
        )
        if self._discovery:
            self._publisher.greeting = (discovery(stream, self._discovery),)
        self.listen(self._publisher)
        self._publisher.ask_before_sending(may_send)
        self._publisher.start()

    def listen(self, publisher: Publisher) -> None:
        """Take the orders that come there."""
        self._publisher = publisher
        self._intake = OrderIntake(
            publisher,
            self.gate,
            refuse=lambda name, error: self._refuse(name, error, now_ms()),
            serve=self._serve_replay,
        )
        self._intake.start()

    @property
    def complaint(self) -> str:
        """Why the broker has no connection, for people; empty when it has one or none is wanted."""
        return self._publisher.complaint if self._publisher is not None else ""

    @property
    def orders_refused(self) -> int:
        """How many orders were refused at the gate, or dropped before it."""
        return self.gate.refused + (self._intake.dropped if self._intake is not None else 0)

    @property
    def is_connected(self) -> bool:
        """Whether the broker has taken the connection."""
        return self._publisher is not None and self._publisher.connected

    def orders(self, at: int) -> tuple[Input, ...]:
        """Return the orders of people since the last call; what cannot be an order is refused."""
        taken = self._intake.take() if self._intake is not None else ()
        if not taken:
            return ()
        found: list[Input] = [*staff_changes(self._now().register, self.gate.users, at)]
        for given in taken:
            event = replace(given.event, at=at)
            ordered = replace(given, event=event)
            try:
                if isinstance(event, Command) and needs_second(self._now().table, event):
                    check_vouched(ordered, self._second_person, self.gate.users)
                found.append(ordered)
            except RefusedError as error:
                self._refuse(ordered.name, error, at)
        self._not_let_in.note(sum(is_failed_log_in(event_of(item)) for item in found), at)
        return tuple(found)

    def reports(self, at: int) -> tuple[Event, ...]:
        """Return the reports on bursts of refusals, and on the link to the broker."""
        refused, before = self.orders_refused, self._refused_before
        self._refused_before = refused
        self._refused.note(refused - before, at)
        bursts = (*self._refused.reports(at), *self._not_let_in.reports(at))
        if self._publisher is None:
            return bursts
        fault, set_aside = self._publisher.fault(), self._publisher.set_aside()
        return (*bursts, *self._watch.reports(at, fault, set_aside))

    def pass_on(self, inputs: Iterable[Input]) -> None:
        """Send what is in the log now; answer the house's system and desks' reports.

        To those the rules give no reply.
        """
        if self._publisher is None:
            return
        self._publisher.wake()
        for item in inputs:
            if isinstance(item, Ordered) and isinstance(item.event, UNANSWERED):
                ref, who = ref_of(item.fields), item.fields["key"]
                self._answer(Replied(item.event.at, ref, item.name, who, accepted=True, why=""))

    def publish_health(self, at: int, values: dict[str, object]) -> None:
        """Publish the reader's figures, if there is a broker."""
        self._publish(health(self._now().stream, at, values))

    def _serve_replay(self, fields: Fields, sender: str) -> None:
        self._answer(self._replays.ask(fields, sender, self._now().stream.seq, now_ms()))
        if self._publisher is not None:
            self._publisher.wake()

    def _refuse(self, name: str, error: RefusedError, at: int) -> None:
        self._answer(Replied(at, error.ref, name, "", accepted=False, why=str(error)))

    def _answer(self, reply: Replied) -> None:
        self._publish(answer(self._now().stream, reply))

    def _publish(self, message: Message) -> None:
        if self._publisher is not None:
            self._publisher.say(message)

    def say_lost(self, at: int, why: str) -> None:
        """Publish as the last message of the run that its log cannot be written."""
        if self._publisher is not None:
            self._publisher.say_last(last_will(self._now().stream, at, why))

    def close(self) -> None:
        """Take no more orders, and send what is left for a few seconds."""
        if self._intake is not None:
            self._intake.stop()
        if self._publisher is not None:
            self._publisher.stop()


def is_failed_log_in(event: Event) -> bool:
    """Whether an event says that somebody was not let in at a desk."""
    if isinstance(event, SignIn):
        return not event.accepted
    return isinstance(event, Recorded) and event.kind is Fact.SIGN_IN_REFUSED
