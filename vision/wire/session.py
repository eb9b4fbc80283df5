"""A table as a fold over its log: the rules, the message stream and the evidence, event by event.

A run and a replay both go through `advance`, so that they publish the same, byte for byte. A
checkpoint is the whole of a session as JSON.

A checkpoint is a cache and never a source: where the records before it are there, it must be what
they come to, byte for byte. It is taken at its word only where they are not: where the fold begins,
or after what was pruned; whether that part is signed, the caller knows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from vision.game.commands import Command
from vision.game.coup.state import Table, new_table
from vision.game.events import Event, Started
from vision.game.fold.step import step
from vision.game.outputs import Alert, AlertChanged, AlertState, Output
from vision.game.rules import Profile
from vision.record.chain import BrokenChainError, of_record
from vision.record.codec import (
    canonical,
    event_from_json,
    messages_digest,
    record_from_json,
    record_to_json,
    rules_hash,
)
from vision.record.facts import (
    NOTHING,
    Anchored,
    EvidenceKept,
    Fact,
    LogBegun,
    Medium,
    Recorded,
    Register,
)
from vision.wire.messages import (
    Message,
    MessageStream,
    begun_messages,
    cleared_messages,
    evidence_topic,
    message_line,
    message_sum,
    messages_of,
    proof_messages,
)

PROOFS = (EvidenceKept, Anchored)
UNSEEN = (*PROOFS, LogBegun, Recorded)  # what proves or records, and is no event of the rules


# Cards whose stills can prove an alert raised later; some 16 coups, more than any alert looks back.
# A smaller number leaves late alerts without a picture, a larger one makes checkpoints longer.
STILLS_REMEMBERED = 100


@dataclass(frozen=True, slots=True)
class Shown:
    """The stills of one card, a topic each, in the order in which they were taken."""

    shoe: str
    order: int
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Proof:
    """What proves one alert that is not closed; `order` is the card that gave rise to it."""

    alert: str
    shoe: str
    coup: int
    order: int | None
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shelf:
    """The evidence on hand: of the last cards read, and of every alert that is not closed."""

    shown: tuple[Shown, ...] = ()
    proofs: tuple[Proof, ...] = ()

    def of_card(self, shoe: str, order: int | None) -> tuple[str, ...]:
        """Return the topics of that card's stills."""
        found = (still.topics for still in self.shown if (still.shoe, still.order) == (shoe, order))
        return next(found, ())

    def of_alert(self, alert: str) -> tuple[str, ...]:
        """Return the topics of what was stored when that alert was raised."""
        return next((proof.topics for proof in self.proofs if proof.alert == alert), ())

    def proof_of(self, alert: Alert) -> tuple[str, ...]:
        """Return the topics of all that proves an alert: of its moment, and of its card."""
        return self.of_alert(alert.id) or self.of_card(alert.shoe, alert.order)

    def with_stored(self, stored: EvidenceKept) -> Shelf:
        """Put a piece of evidence on the shelf."""
        if stored.alert:
            return self._with_proof(stored)
        if stored.order is None:
            return self
        card = (stored.shoe, stored.order)
        topics = (*self.of_card(*card), evidence_topic(stored))
        others = (still for still in self.shown if (still.shoe, still.order) != card)
        shown = (*others, Shown(stored.shoe, stored.order, topics))[-STILLS_REMEMBERED:]
        proofs = tuple(
            replace(proof, topics=(*proof.topics, evidence_topic(stored)))
            if (proof.shoe, proof.order) == card
            else proof
            for proof in self.proofs
        )
        return Shelf(shown, proofs)

    def _with_proof(self, stored: EvidenceKept) -> Shelf:
        before = self.of_alert(stored.alert)
        closed_since = stored.medium is Medium.CLIP and stored.complete and not before
        if evidence_topic(stored) in before or closed_since:
            return self
        others = tuple(proof for proof in self.proofs if proof.alert != stored.alert)
        topics = (*(before or self.of_card(stored.shoe, stored.order)), evidence_topic(stored))
        proof = Proof(stored.alert, stored.shoe, stored.coup, stored.order, topics)
        return replace(self, proofs=(*others, proof))

    def after(self, outputs: Iterable[Output]) -> Shelf:
        """Return the shelf without the proof of alerts that were closed just now."""
        closed = {
            output.alert.id
            for output in outputs
            if isinstance(output, AlertChanged) and output.alert.state is AlertState.CLOSED
        }
        left = tuple(proof for proof in self.proofs if proof.alert not in closed)
        return replace(self, proofs=left)


EMPTY = Shelf()


Standing = Mapping[str, str]  # by topic: the sum (hex) of the retained message that stands on it


class TableSession(NamedTuple):
    """A table and what is published of it: the stream, the evidence at hand.

    `register` is what the records come to. `standing` is what the broker is to have retained: rows
    beside the log are held against it, without folding what is long past.
    """

    table: Table
    stream: MessageStream
    shelf: Shelf = EMPTY
    register: Register = NOTHING
    standing: Standing = MappingProxyType({})


class Step(NamedTuple):
    """What one event gave: the session after it, the outputs of the rules, the messages."""

    session: TableSession
    outputs: tuple[Output, ...]
    messages: tuple[Message, ...]


def new_header(site: str, table: str, profile: Profile, *, rules: str) -> dict[str, Any]:
    """Return the header of a new log; `rules` is the text that the profile was read from.

    The text travels in the log, so that it can be replayed when the profile has changed since.
    """
    return {
        "site": site,
        "table": table,
        "dealing": profile.rules.dealing.value,
        "profile": profile.name,
        "rules": rules,
        "rules_sha256": rules_hash(profile),
    }


def new_session(header: Mapping[str, Any], profile: Profile) -> TableSession:
    """Return the session before the first event of the log with that header and profile.

    KeyError where the header is not one of `new_header`.
    """
    stream = MessageStream(
        site=header["site"],
        table=header["table"],
        profile=f"{profile.name} sha256:{rules_hash(profile)}",
        betting=profile.betting,
    )
    return TableSession(new_table(profile.rules), stream)


def advance(session: TableSession, event: Event) -> Step:
    """Return what the event gives."""
    return with_messages(session, event, *apply_event(session.table, event))


def apply_event(table: Table, event: Event) -> tuple[Table, tuple[Output, ...]]:
    """Return the table after the event, and the outputs; what proves or records changes none."""
    return (table, ()) if isinstance(event, UNSEEN) else step(table, event)


def with_messages(
    session: TableSession, event: Event, table: Table, outputs: tuple[Output, ...]
) -> Step:
    """Return the step of an event that `apply_event` was given, with the messages it gives.

    `session` is the one before the event, but with the evidence that was stored of the event.
    """
    given = _step_of(session, event, table, outputs)
    if table.shoes != session.table.shoes:
        given = _cleared(session, given, event.at)
    retained = [message for message in given.messages if message.retain]
    if not retained:
        return given
    standing = dict(session.standing)
    for message in retained:
        standing.pop(message.topic, None)
        if message.payload:
            standing[message.topic] = message_sum(message).hex()
    return given._replace(session=given.session._replace(standing=standing))


def _cleared(session: TableSession, given: Step, at: int) -> Step:
    """Take the alerts of an ended shoe from the broker that nobody can close any more.

    They were rectified, so the table does not know them; log and archive do.
    """
    stream, table = given.session.stream, given.session.table
    alerts = f"{stream.prefix}alert/"
    open_still = {f"{alerts}{each.alert.id}" for each in (*table.alerts, *table.earlier_alerts)}
    # One that this event closes is cleared by it already.
    published = {message.topic for message in given.messages if not message.payload}
    over = tuple(
        topic
        for topic in sorted(session.standing)
        if topic.startswith(alerts) and topic not in open_still and topic not in published
    )
    stream, more = cleared_messages(stream, over, at)
    after = given.session._replace(stream=stream)
    return given._replace(session=after, messages=(*given.messages, *more))


def _step_of(
    session: TableSession, event: Event, table: Table, outputs: tuple[Output, ...]
) -> Step:
    if isinstance(event, PROOFS):
        stream, published = proof_messages(session.stream, event)
        shelf = (
            session.shelf.with_stored(event) if isinstance(event, EvidenceKept) else session.shelf
        )
        return Step(session._replace(stream=stream, shelf=shelf), (), published)
    if isinstance(event, LogBegun):
        stream, closing = begun_messages(session.stream, event)
        return Step(session._replace(stream=stream, register=event.register), (), closing)
    if isinstance(event, Recorded):
        if event.kind is Fact.TAKEN_OVER:  # a run is about to begin under a signed term
            proof = json.loads(event.detail).get("proof", "")
            session = session._replace(stream=session.stream._replace(term_proof=proof))
        return Step(session._replace(register=session.register.after(event)), (), ())
    stream = session.stream
    if isinstance(event, Started):
        stream = stream.of_run(event)
    messages: list[Message] = []
    for output in outputs:
        evidence = session.shelf.proof_of(output.alert) if isinstance(output, AlertChanged) else ()
        stream, more = messages_of(stream, output, evidence)
        messages += more
    shelf = session.shelf
    if any(isinstance(output, AlertChanged) for output in outputs):
        shelf = shelf.after(outputs)
    register = session.register
    if isinstance(event, Command):
        register = register.after(event, outputs)
    after = session._replace(table=table, stream=stream, shelf=shelf, register=register)
    return Step(after, outputs, tuple(messages))


# --- checkpoints ----------------------------------------------------------------------------------

_OF_STREAM = ("site", "table", "profile", "betting")  # in the header of the log


def session_to_json(session: TableSession) -> dict[str, object]:
    """Return the session as a JSON object, without what the log's header has already."""
    line = record_to_json(session.stream, without=_OF_STREAM)
    if session.shelf != EMPTY:
        line["shelf"] = record_to_json(session.shelf)
    if session.register != NOTHING:
        line["register"] = record_to_json(session.register)
    line["standing"] = dict(session.standing)
    return {"line": line, "table": record_to_json(session.table, without=("rules",))}


def session_from_json(data: Mapping[str, Any], start: TableSession) -> TableSession:
    """Return the session that the object describes; `start`: before the log's first event.

    A field added since takes its default; ValueError where anything else does not fit the types of
    this version.
    """
    known = {name: getattr(start.stream, name) for name in _OF_STREAM}
    try:
        line = dict(data["line"])
        standing = dict(line.pop("standing"))
        shelf = record_from_json(Shelf, line.pop("shelf", {}))
        register = record_from_json(Register, line.pop("register", {}))
        stream = record_from_json(MessageStream, line, **known)
        table = record_from_json(Table, data["table"], rules=start.table.rules)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"is not a checkpoint of this version: {error!r}") from error
    return TableSession(table, stream, shelf, register, standing)


END = "stop"  # why the signature was made with which a run ends
BEHIND_THE_END = (Fact.TAKEN_OVER, Fact.CLOCK_CONFIRMED)  # facts, besides the next run's beginning


class LogFold:
    """The session as the records taken so far leave it."""

    def __init__(self, start: TableSession) -> None:
        """Begin before the first event; `start` is as the header has it."""
        self.session = self._start = start
        self._last = 0
        self._ended = False

    def take(self, content: Mapping[str, Any]) -> Step | None:
        """Take the content of the next record; return what its event came to, if it has one.

        BrokenChainError where it cannot stand there, or is not understood.
        """
        number = content["n"]
        with of_record(number):
            return None if number == 0 else self._take(number, content)

    def _take(self, number: int, content: Mapping[str, Any]) -> Step | None:
        step, follows = None, number == self._last + 1
        if "desk" not in content:
            if not follows:
                raise BrokenChainError(number, "follows a gap, but is no checkpoint")
        elif not follows:
            self.session = session_from_json(content["desk"], self._start)
        elif canonical(session_to_json(self.session)) != canonical(content["desk"]):
            raise BrokenChainError(number, "is a checkpoint, but not what the records before say")
        event = event_from_json(content["event"]) if "event" in content else None
        may = isinstance(event, Recorded) and event.kind in BEHIND_THE_END
        if self._ended and not (isinstance(event, Started) or may):
            raise BrokenChainError(number, "stands behind the signature with which a run ended")
        if isinstance(event, LogBegun) and number != 1:
            raise BrokenChainError(number, "begins a log, and does not stand at its beginning")
        if event is not None:
            step = advance(self.session, event)
            self.session = step.session
            lines = [message_line(message) for message in step.messages]
            if content["said"] != (messages_digest(lines) if lines else None):
                raise BrokenChainError(number, "gives other messages than it says")
        self._ended = isinstance(event, Anchored) and event.why == END
        self._last = number
        return step
