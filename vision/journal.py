"""A table's events made durable and told: fold, log, messages file, outbox; in that order.

It knows no pictures. Whatever it returns has been written to the disk, and the broker gets it as
soon as it can be reached.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from vision import __version__
from vision.config import Broker, TableConfig
from vision.edge.messages import MessagesFile
from vision.edge.mqtt import Publisher
from vision.edge.mqtt_link import Endpoint
from vision.edge.store import Entry, Store
from vision.errors import OutsideError
from vision.game.cards import Card
from vision.game.events import Event, Started, Stopped
from vision.game.happenings import Replied
from vision.game.table import Table
from vision.profiles import profile_text
from vision.wire import answer, health, last_will
from vision.wire_commands import RefusedError, read_command
from vision.wire_fold import Desk, Step, advance, new_desk, new_header


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
    """Return the header of this table's log."""
    return new_header(
        config.site,
        config.table,
        dealing=config.dealing,
        profile=Path(config.profile).name.removesuffix(".toml"),
        rules=profile_text(config.profile),
    )


class Journal:
    """The desk of one table, and everything it says, for one run."""

    def __init__(self, config: TableConfig, outputs: Outputs) -> None:
        """Open the log and go on where it ended; nothing is said before `start`."""
        header = header_of(config)
        self._closing = ExitStack()
        with ExitStack() as opening:
            self._store = opening.enter_context(
                Store(outputs.log, header, has_outbox=outputs.publish)
            )
            self._file = outputs.messages and opening.enter_context(MessagesFile(outputs.messages))
            self._desk = new_desk(header)
            for event in self._store.events():
                self._desk = advance(self._desk, event).desk
            self._endpoint = endpoint_of(config.broker) if outputs.publish else None
            self._closing = opening.pop_all()
        self._link: Publisher | None = None

    @property
    def desk(self) -> Desk:
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

    def start(self, at: int, boot: str, models: tuple[str, ...]) -> tuple[Step, ...]:
        """Begin the run called `boot`, and begin to connect."""
        steps = self.take([Started(at, boot, __version__, models)])
        if self._endpoint is not None:
            line = self._desk.line
            will = last_will(line, at)
            commands = line.prefix + "cmd/"
            self._link = Publisher(self._endpoint, self._store, will=will, commands=commands)
            self._link.start()
        return steps

    def take(self, events: Iterable[Event]) -> tuple[Step, ...]:
        """Fold the events, make what they come to durable, and have it sent."""
        desk, steps, entries = self._desk, [], []
        for event in events:
            step = advance(desk, event)
            desk = step.desk
            steps.append(step)
            entries.append(Entry(event, step.messages))
        self._store.append(entries)
        self._desk = desk
        if self._file:
            self._file.write(message for step in steps for message in step.messages)
        if self._link is not None and steps:
            self._link.wake()
        return tuple(steps)

    def orders(self, at: int) -> tuple[Event, ...]:
        """Return what supervisors have sent since the last call; what is no order is answered."""
        found: list[Event] = []
        for request in self._link.requests() if self._link is not None else ():
            try:
                found.append(read_command(request.name, request.payload, at)[0])
            except RefusedError as error:
                self._refuse(request.name, error, at)
        return tuple(found)

    def say_health(self, at: int, values: dict[str, object]) -> None:
        """Tell how the reader is doing, if the broker is there to hear it."""
        if self._link is not None:
            content = {**values, "outbox": self._store.depth()}
            self._link.say(health(self._desk.line, at, content))

    def _refuse(self, name: str, error: RefusedError, at: int) -> None:
        reply = Replied(at, error.ref, name, "", accepted=False, why=str(error))
        if self._link is not None:
            self._link.say(answer(self._desk.line, reply))

    def stop(self, at: int) -> tuple[Step, ...]:
        """End the run in order; a log that cannot be written any more is told as a lost reader."""
        try:
            return self.take([Stopped(at)])
        except OutsideError:
            if self._link is not None:
                self._link.say(last_will(self._desk.line, at))
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


def read_cards(table: Table) -> list[Card]:
    """Return the faces read in this shoe so far, one for each card."""
    counts = table.shoe.counts
    return [Card.of(index) for index, count in enumerate(counts) for _ in range(count)]
