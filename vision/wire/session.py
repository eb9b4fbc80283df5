"""A table as a fold over its log: the rules, the message stream and the evidence, event by event.

A run and a replay both go through `advance`, so that they publish the same, byte for byte. A
checkpoint is the whole of a session as JSON.

A checkpoint is a cache and never a source: where the records before it are there, it must be what
they come to, byte for byte. It is taken at its word only where they are not: where the fold begins,
or after what was pruned; whether that part is signed, the caller knows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from vision.game.commands import Command
from vision.game.coup.state import Table, new_table
from vision.game.events import Event, Started
from vision.game.fold.step import step
from vision.game.outputs import AlertChanged, Output
from vision.game.rules import Profile
from vision.record.chain import BrokenChainError
from vision.record.codec import (
    canonical,
    event_from_json,
    record_from_json,
    record_to_json,
    rules_hash,
)
from vision.record.facts import (
    EMPTY,
    NOTHING,
    Anchored,
    EvidenceKept,
    Fact,
    LogBegun,
    Recorded,
    Register,
    Shelf,
)
from vision.wire.messages import (
    Message,
    MessageStream,
    begun_messages,
    messages_of,
    proof_messages,
)

PROOFS = (EvidenceKept, Anchored)
UNSEEN = (*PROOFS, LogBegun, Recorded)  # what proves or records, and is no event of the rules


@dataclass(frozen=True, slots=True)
class TableSession:
    """A table and what is published of it: the stream, the evidence at hand.

    `register` is what the records come to.
    """

    table: Table
    stream: MessageStream
    shelf: Shelf = EMPTY
    register: Register = NOTHING


@dataclass(frozen=True, slots=True)
class Step:
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

    `session` is the one before the event, but with the evidence that was kept of the event.
    """
    if isinstance(event, PROOFS):
        return _advance_proof(session, event)
    if isinstance(event, LogBegun):
        stream, closing = begun_messages(session.stream, event)
        return Step(replace(session, stream=stream, register=event.register), (), closing)
    if isinstance(event, Recorded):
        stream = _with_proof(session.stream, event)
        return Step(replace(session, stream=stream, register=session.register.after(event)), (), ())
    stream = session.stream
    if isinstance(event, Started):
        stream = stream.of_run(event)
    messages: list[Message] = []
    for output in outputs:
        stream, more = messages_of(stream, output, session.shelf)
        messages += more
    shelf = session.shelf
    if any(isinstance(output, AlertChanged) for output in outputs):
        shelf = shelf.after(outputs)
    register = session.register
    if isinstance(event, Command):
        register = register.after(event, outputs)
    return Step(TableSession(table, stream, shelf, register), outputs, tuple(messages))


def _with_proof(stream: MessageStream, fact: Recorded) -> MessageStream:
    """Return the stream with the signature of the term under which a run is about to begin."""
    if fact.kind is not Fact.TAKEN_OVER:
        return stream
    return stream._replace(term_proof=json.loads(fact.detail).get("proof", ""))


def _advance_proof(session: TableSession, proof: EvidenceKept | Anchored) -> Step:
    stream, messages = proof_messages(session.stream, proof)
    shelf = session.shelf.with_kept(proof) if isinstance(proof, EvidenceKept) else session.shelf
    return Step(replace(session, stream=stream, shelf=shelf), (), messages)


# --- checkpoints ----------------------------------------------------------------------------------

_OF_STREAM = ("site", "table", "profile", "betting")  # in the header of the log


def session_to_json(session: TableSession) -> dict[str, object]:
    """Return the session as a JSON object, without what the log's header has already."""
    line = record_to_json(session.stream, without=_OF_STREAM)
    if session.shelf != EMPTY:
        line["shelf"] = record_to_json(session.shelf)
    if session.register != NOTHING:
        line["register"] = record_to_json(session.register)
    return {"line": line, "table": record_to_json(session.table, without=("rules",))}


def session_from_json(data: Mapping[str, Any], start: TableSession) -> TableSession:
    """Return the session that the object describes; `start`: before the log's first event.

    A field added since takes its default; ValueError where anything else does not fit the types of
    this version.
    """
    known = {name: getattr(start.stream, name) for name in _OF_STREAM}
    try:
        line = dict(data["line"])
        shelf = record_from_json(Shelf, line.pop("shelf", {}))
        register = record_from_json(Register, line.pop("register", {}))
        stream = record_from_json(MessageStream, line, **known)
        table = record_from_json(Table, data["table"], rules=start.table.rules)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"is not a checkpoint of this version: {error!r}") from error
    return TableSession(table, stream, shelf, register)


END = "stop"  # why the signature was made with which a run ends


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
        try:
            return None if "log" in content else self._take(number, content)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise BrokenChainError(number, f"is not understood ({error})") from error

    def _take(self, number: int, content: Mapping[str, Any]) -> Step | None:
        last, step = self._last, None
        if "desk" in content:
            self._hold_against(number, content["desk"], follows=number == last + 1)
        elif number != last + 1:
            raise BrokenChainError(number, "follows a gap, but is no checkpoint")
        event = event_from_json(content["event"]) if "event" in content else None
        if self._ended and not _begins(event):
            raise BrokenChainError(number, "stands behind the signature with which a run ended")
        if event is not None:
            step = advance(self.session, event)
            self.session = step.session
        self._ended = isinstance(event, Anchored) and event.why == END
        self._last = number
        return step

    def _hold_against(self, number: int, desk: Mapping[str, Any], *, follows: bool) -> None:
        if not follows:
            self.session = session_from_json(desk, self._start)
        elif canonical(session_to_json(self.session)) != canonical(desk):
            raise BrokenChainError(number, "is a checkpoint, but not what the records before say")


def _begins(event: Event | None) -> bool:
    """Whether a run begins with the event."""
    taken_over = isinstance(event, Recorded) and event.kind is Fact.TAKEN_OVER
    return isinstance(event, Started) or taken_over
