"""A table's events made durable and told: fold, log, messages file, outbox; in that order.

It knows no pictures. Whatever it returns has been written to the disk, and the broker gets it as
soon as it can be reached.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from vision import __version__
from vision.access.command_gate import Gate, Signed
from vision.app.replay_service import Replays
from vision.app.restore import (
    CHECKPOINT_EVERY,
    checkpoint_of,
    moments_in_dispute,
    restored,
)
from vision.app.signing import anchor_for, open_notary
from vision.config.profiles import load_profile, profile_text
from vision.config.table import Broker, TableConfig
from vision.errors import OutsideError
from vision.game.coup.state import Table
from vision.game.events import Event, Started, Stopped
from vision.game.outputs import Replied
from vision.game.rules import Dealing
from vision.mqtt.endpoint import Endpoint
from vision.mqtt.publisher import Fill, Publisher, as_it_is
from vision.storage.disk_latency import SlowDisk
from vision.storage.log import Entry, Store
from vision.storage.messages_file import MessagesFile
from vision.storage.retention import Checkpoint, Limits
from vision.wire.commands import HOUSE_INPUTS, REPLAY, RefusedError, read_command
from vision.wire.messages import Message, answer, health, last_will, unix_ms
from vision.wire.session import Step, TableSession, advance, new_header


@dataclass(frozen=True, slots=True)
class Ordered:
    """An event that a person ordered, and the order as it was signed: the log keeps both."""

    event: Event
    signed: Signed


Input = Event | Ordered


def event_of(item: Input) -> Event:
    """Return the event itself."""
    return item.event if isinstance(item, Ordered) else item


def order_of(item: Input) -> Mapping[str, object] | None:
    """Return the order behind it as the log keeps it, if there was one."""
    return item.signed.record() if isinstance(item, Ordered) else None


SEGMENTS_AT_ONCE = 4  # pruned at a change of shoe, so that none takes long


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where a run writes: its log, a messages file if asked for, and whether to a broker."""

    log: Path
    messages: Path | None = None
    publish: bool = True


def endpoint_of(broker: Broker) -> Endpoint:
    """Return how to reach the configured broker; ConfigurationError if its password is not set."""
    return Endpoint(
        host=broker.host,
        port=broker.port,
        username=broker.username,
        password=broker.password(),
        tls_ca=broker.tls_ca,
        certificate=broker.certificate,
        key=broker.key,
    )


def header_of(config: TableConfig) -> dict[str, Any]:
    """Return the header of a new log of this table."""
    profile = load_profile(config.profile).dealt(Dealing(config.dealing))
    header = new_header(config.site, config.table, profile, rules=profile_text(config.profile))
    return {**header, "id": uuid.uuid4().hex}


class Journal:
    """The desk of one table, and everything it says, for one run."""

    def __init__(self, config: TableConfig, outputs: Outputs, fill: Fill = as_it_is) -> None:
        """Open the log and go on where it ended; nothing is said before `start`.

        `fill` makes of a message that stands for a picture the one that is sent.
        """
        self._fill = fill
        header = header_of(config)
        self._closing = ExitStack()
        with ExitStack() as opening:
            self._store = opening.enter_context(
                Store(outputs.log, header, has_outbox=outputs.publish)
            )
            self._file = outputs.messages and opening.enter_context(MessagesFile(outputs.messages))
            self._desk = restored(self._store, header)
            self._signer = open_notary(config, outputs.log, self._store)
            self._endpoint = endpoint_of(config.broker) if outputs.publish else None
            self.gate = _gate(config, self._desk.stream.prefix + "cmd/")
            self.gate.remember(self._store.orders())
            self._closing = opening.pop_all()
        log = config.log
        self._limits = Limits(log.keep_days, log.messages_days, log.max_mb)
        self._replays = Replays(self._store, self._desk.stream.prefix)
        self._disk = SlowDisk()
        self._link: Publisher | None = None

    @property
    def desk(self) -> TableSession:
        """The table and its line as they now stand."""
        return self._desk

    @property
    def table(self) -> Table:
        """The table as it now stands."""
        return self._desk.table

    @property
    def complaint(self) -> str:
        """Why the broker has no connection, for people; empty when it has one or none is wanted."""
        return self._link.complaint if self._link is not None else ""

    @property
    def unsent(self) -> int:
        """How many messages wait for the broker."""
        return self._store.depth()

    @property
    def unsent_since(self) -> str:
        """Return when the oldest message that waits was said: ISO 8601, "9999" where none does."""
        for message in self._store.pending(0, 1):
            return str(json.loads(message.payload)["at"]) if message.payload else ""
        return "9999"

    def start(self, at: int, boot: str, models: tuple[str, ...]) -> tuple[Step, ...]:
        """Begin the run called `boot`, and begin to connect."""
        steps = self.take([Started(at, boot, __version__, models)])
        if self._endpoint is not None:
            line = self._desk.stream
            will = last_will(line, at)
            commands = line.prefix + "cmd/"
            self._link = Publisher(
                self._endpoint, self._store, will=will, commands=commands, fill=self._fill
            )
            self._link.start()
        return steps

    def take(self, inputs: Iterable[Input]) -> tuple[Step, ...]:
        """Fold the inputs, make what they come to durable, and have it sent."""
        desk, steps, entries = self._desk, [], []
        inputs = tuple(inputs)
        for item in inputs:
            event = event_of(item)
            step = advance(desk, event)
            checkpoint = self._checkpoint(desk, step.session)
            desk = step.session
            steps.append(step)
            entries.append(Entry(event, step.messages, checkpoint, order=order_of(item)))
        with self._disk:
            self._store.append(entries)
        self._desk = desk
        if any(entry.checkpoint is not None for entry in entries):
            self.prune(desk.table.clock)
        if self._file:
            self._file.write(message for step in steps for message in step.messages)
        if self._link is not None and steps:
            self._link.wake()
            for item in inputs:
                self._acknowledge(item)
        return (*steps, *self._sign(""))

    def _sign(self, why: str) -> tuple[Step, ...]:
        """Sign the log as it stands, where there is a key and it is time or there is a `why`."""
        anchor = anchor_for(self._signer, self._store, self._desk, why)
        if anchor is None or self._signer is None:
            return ()
        steps = self.take([anchor])
        self._signer.note(anchor)
        return steps

    def prune(self, now: int) -> None:
        """Let go what is too old or too much, a little at a time; `now` in Unix ms."""
        marked = moments_in_dispute(self._desk.table)
        for _ in range(SEGMENTS_AT_ONCE):
            if not self._store.prune(self._limits, now, marked):
                return

    def troubles(self, at: int) -> tuple[Event, ...]:
        """Return what the log has to say of itself since the last call."""
        return self._disk.news(at)

    def orders(self, at: int) -> tuple[Ordered, ...]:
        """Return what people have ordered since the last call; what is no order is answered.

        Requests to say messages again are served on the way.
        """
        found: list[Ordered] = []
        for request in self._link.requests() if self._link is not None else ():
            if request.name == REPLAY:
                self._say(answer(self._desk.stream, self._ask_again(request.payload, at)))
                continue
            try:
                signed = self.gate.admit(request.name, request.payload)
                found.append(Ordered(read_command(signed.name, signed.fields, at)[0], signed))
            except RefusedError as error:
                self._refuse(request.name, error, at)
        if self._link is not None and self._link.connected:
            for message in self._replays.due():
                self._say(message)
        return tuple(found)

    def _ask_again(self, payload: bytes, at: int) -> Replied:
        return self._replays.ask(payload, self._desk.stream.seq, at)

    def _say(self, message: Message) -> None:
        if self._link is not None:
            self._link.say(message)

    def _checkpoint(self, before: TableSession, after: TableSession) -> Checkpoint | None:
        """Return the desk where a shoe begins, and after very many records without one."""
        is_due = self._store.since_checkpoint >= CHECKPOINT_EVERY
        return checkpoint_of(after) if after.table.shoes != before.table.shoes or is_due else None

    def figures(self, at: int) -> dict[str, object]:
        """Return how the link is doing: what waits, since when, and what was refused."""
        since = self.unsent_since
        age_ms = at - unix_ms(since) if "T" in since else 0
        return {
            "outbox": self._store.depth(),
            "outbox_age_s": max(0.0, round(age_ms / 1000, 1)),
            "connected": self._link is not None and self._link.connected,
            "orders_refused": self.gate.refused,
        }

    def say_health(self, at: int, values: dict[str, object]) -> None:
        """Tell how the reader is doing, if the broker is there to hear it."""
        if self._link is not None:
            self._link.say(health(self._desk.stream, at, values))

    def _acknowledge(self, item: Input) -> None:
        """Answer the house's own system, whose inputs the rules take without a word."""
        if isinstance(item, Ordered) and isinstance(item.event, HOUSE_INPUTS) and self._link:
            fields = item.signed.fields
            ref, who = fields.get("ref", ""), fields["key"]
            reply = Replied(item.event.at, ref, item.signed.name, who, accepted=True, why="")
            self._link.say(answer(self._desk.stream, reply))

    def _refuse(self, name: str, error: RefusedError, at: int) -> None:
        reply = Replied(at, error.ref, name, "", accepted=False, why=str(error))
        self._say(answer(self._desk.stream, reply))

    def stop(self, at: int) -> tuple[Step, ...]:
        """End the run in order; a log that cannot be written any more is told as a lost reader."""
        try:
            return (*self.take([Stopped(at)]), *self._sign("stop"))
        except OutsideError as error:
            if self._link is not None:
                self._link.say_last(last_will(self._desk.stream, at, str(error)))
            raise

    def close(self) -> None:
        """Send what is left for a few seconds, and close everything."""
        if self._link is not None:
            self._link.stop()
        self._closing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _gate(config: TableConfig, prefix: str) -> Gate:
    users = Path(config.orders.users) if config.orders.users else None
    return Gate(prefix, users, round(1000 * config.orders.fresh_s))
