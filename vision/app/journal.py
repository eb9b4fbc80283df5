"""A run's log, with its link to the broker: what is published, and the orders that come in.

Orders are the one input that reaches a run from the broker. Each is checked on a thread of its own
and taken by the loop of the pictures as one more event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from vision.access.command_gate import Gate, Ordered, check_vouched
from vision.app.evidence import EvidenceRecorder
from vision.app.machine import Burst, LinkWatch
from vision.app.order_intake import OrderIntake, Replays, staff_changes
from vision.app.restore import unsigned_facts
from vision.app.retention import TIME
from vision.app.run_log import Destinations, Input, RunLog, event_of
from vision.clock import now_ms
from vision.config.table import TableConfig
from vision.errors import OutsideError
from vision.game.commands import Command, SignIn
from vision.game.events import Event, Noticed, Started
from vision.game.fold.commands import needs_second
from vision.game.outputs import Replied
from vision.mqtt.endpoint import endpoint_of
from vision.mqtt.lanes import Fill
from vision.mqtt.publisher import Bulk, Publisher
from vision.record.chain import BrokenChainError
from vision.record.facts import Fact, Recorded
from vision.storage.anchors import key_in_log
from vision.storage.log import Store, changed_log
from vision.storage.log_reader import proven_messages, recent_orders
from vision.version import VERSION
from vision.wire.commands import UNANSWERED, Fields, RefusedError, ref_of
from vision.wire.messages import Message, MessageStream, answer, health, last_will, unix_ms
from vision.wire.session import Step, TableSession


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
        self._most_bytes = config.broker.max_message
        users = Path(config.orders.users) if config.orders.users else None
        fresh_ms = round(1000 * config.orders.fresh_s)
        prefix = session().stream.prefix
        self.gate = Gate(f"{prefix}cmd/", users, fresh_ms)
        self.remember()
        self._second_person = config.orders.second_person
        self._replays = Replays(store, prefix, self.proven)
        self._watch = LinkWatch()
        self._refused_before = 0
        self._refused = Burst("ORDERS", "orders refused")
        self._not_let_in = Burst("LOGINS", "failed log-ins")
        self._publisher: Publisher | None = None
        self._intake: OrderIntake | None = None

    def proven(self, asked: range) -> list[Message]:
        """Return messages as the log proves them; OutsideError where rows beside it are others."""
        path = self._store.database.path
        try:
            return proven_messages(path, asked, self._store.vouches, self._store.head[1])
        except BrokenChainError as error:
            raise changed_log(path, error) from error

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
            self._publisher.publish(message)

    def publish_lost(self, at: int, why: str) -> None:
        """Publish as the last message of the run that its log cannot be written."""
        if self._publisher is not None:
            self._publisher.publish_last(last_will(self._now().stream, at, why))

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


def changed_installation(before: MessageStream, started: Started) -> tuple[Event, ...]:
    """Return the report of a run in which another installation reads than in the run before it.

    Nothing is known of the run before a log, nor of one by a version that had no identity.
    """
    if before.identity in ("", started.identity):
        return ()
    models = {model.partition(" ")[0] for model in {*before.models} ^ {*started.models}}
    parts = [f"model {name}" for name in sorted(models)]
    if before.version != started.version:
        parts.insert(0, f"version {started.version} after {before.version}")
    words = (
        f"Identity {started.identity[:12]}, before {before.identity[:12]}; other than before: "
        f"{', '.join(parts) or 'settings, calibration, rules or program files'}. Compare it with "
        "what was approved: shoe-reader check --identify."
    )
    return (Noticed(started.at, "INSTALLATION", detail=words),)


class Journal(RunLog):
    """A run's log, and its link, over which nothing goes that is not in the log."""

    def __init__(
        self,
        config: TableConfig,
        destinations: Destinations,
        evidence: EvidenceRecorder | None = None,
    ) -> None:
        """Open the log and go on where it ended; nothing is published before `start`."""
        super().__init__(config, destinations, evidence)
        try:
            self.link = TableLink(
                config, self._store, lambda: self.session, publish=destinations.publish
            )
        except BaseException:
            super().close()
            raise

    def start(
        self, at: int, boot: str, models: tuple[str, ...], identity: str = ""
    ) -> tuple[Step, ...]:
        """Begin the run called `boot`, and connect; `identity` is as `identify` makes it.

        A reader that was one of two goes on with their term: a lower one would be ignored.
        """
        stream = self.session.stream
        after = self._store.last_seq if self._store.last_seq > stream.seq else 0
        if after:  # as another version made them, if records prove that
            self.link.proven(range(stream.seq + 1, after + 1))
        started = Started(at, boot, VERSION, models, identity, stream.term, after=after)
        changed = changed_installation(stream, started)
        return self.begin(started, more=(*changed, *unsigned_facts(self._unsigned, at)))

    def begin(
        self, started: Started, *, before: Sequence[Event] = (), more: Sequence[Event] = ()
    ) -> tuple[Step, ...]:
        """Begin that run between what is before and what more has happened, sign, and connect."""
        register = self.session.register
        staff = staff_changes(register, self.link.gate.users, started.at)
        key = key_in_log(self._signer, register, started.at)
        steps = self.take([*before, started, *staff, *key, *more], TIME)
        fill = self._evidence.store.filled if self._evidence else None
        self.link.connect(started.at, fill, self.may_send)
        return steps

    def may_send(self) -> bool:
        """Whether this reader may say anything at this moment."""
        return True

    def _written(self, folded: Sequence[tuple[Input, Step]]) -> None:
        super()._written(folded)
        self.link.pass_on(item for item, _ in folded)

    def reports(self, at: int) -> tuple[Event, ...]:
        """Return the reports on the disk, on bursts of refusals, and on the link to the broker."""
        writes_s, self._writes_s = self._writes_s, []
        return (*self._disk.reports(at, writes_s), *self.link.reports(at))

    def figures(self, at: int) -> dict[str, object]:
        """Return the figures of the link: what waits, since when, and what was refused."""
        since = self.unsent_since
        age_ms = at - unix_ms(since) if "T" in since else 0
        return {
            "outbox": self._store.depth(),
            "outbox_age_s": max(0.0, round(age_ms / 1000, 1)),
            "connected": self.link.is_connected,
            "orders_refused": self.link.orders_refused,
        }

    def stop(self, at: int) -> tuple[Step, ...]:
        """End the run in order; where the log cannot be written any more, publish a lost reader."""
        try:
            return self.end(at)
        except OutsideError as error:
            self.link.publish_lost(at, str(error))
            raise

    def close(self) -> None:
        """Send what is left for a few seconds, and close everything."""
        self.link.close()
        super().close()
