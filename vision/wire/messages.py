"""Messages: what the house is told, and on which topic.

Pure: events and happenings in, messages out, each with the next number. It knows the contract
(`deploy/mqtt.md`) and nothing of brokers, files or clocks: the same log gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from vision.game.betting.bets import Betting
from vision.game.events import Event, Started
from vision.game.outputs import (
    AlertState,
    AlertTold,
    CardSeen,
    CoupLive,
    CoupResult,
    CoupsChanged,
    Ignored,
    Output,
    Replied,
    ShoeChanged,
    StatusChanged,
)
from vision.record.chain import canonical
from vision.record.proofs import (
    EMPTY,
    Anchored,
    EvidenceKept,
    Shelf,
    anchor_content,
    evidence_content,
)
from vision.wire.payloads import (
    alert_payload,
    card_payload,
    iso,
    live_payload,
    reply_payload,
    result_payload,
    roads_content,
    shoe_payload,
    topic_level,
)
from vision.wire.roads import NOTHING, Drawn

SCHEMA = 1
PREFIX = "casino/{site}/table/{table}/"


@dataclass(frozen=True, slots=True)
class Message:
    """One MQTT message; an empty payload on a retained topic clears it.

    `seq` orders the messages of a table and is the key of the outbox.
    """

    topic: str
    payload: bytes
    qos: int
    retain: bool
    seq: int


@dataclass(frozen=True, slots=True)
class Line:
    """Who speaks, and how far: what a table's messages have in common, `seq` of the last one.

    `profile` names the rules and their hash, as `punto-banco sha256:...`; `shelf` is the evidence
    on hand, `drawn` the roads as last told.
    """

    site: str
    table: str
    profile: str
    betting: Betting
    boot: str = ""
    version: str = ""
    models: tuple[str, ...] = ()
    seq: int = 0
    shelf: Shelf = EMPTY
    drawn: Drawn = field(default=NOTHING, compare=False)

    @property
    def prefix(self) -> str:
        """The beginning of every topic of this table."""
        return PREFIX.format(site=self.site, table=self.table)


@dataclass(frozen=True, slots=True)
class _Draft:
    """A message before it has its number; no content clears the topic."""

    topic: str
    content: Mapping[str, object] | None
    retain: bool = False


def tell(line: Line, event: Event, outputs: Sequence[Output]) -> tuple[Line, tuple[Message, ...]]:
    """Return what the house is told because of an event, and the line after it."""
    if isinstance(event, Started):
        line = replace(line, boot=event.boot, version=event.version, models=event.models)
    messages: list[Message] = []
    seq = line.seq
    for happening in outputs:
        if isinstance(happening, CoupsChanged):
            line = replace(line, drawn=line.drawn.after(happening.coups))
        for draft in _drafts(line, happening):
            seq += 1
            messages.append(_message(line, draft, happening.at, seq))
    return replace(line, seq=seq, shelf=line.shelf.after(outputs)), tuple(messages)


def tell_proof(line: Line, proof: EvidenceKept | Anchored) -> tuple[Line, tuple[Message, ...]]:
    """Return what is told of evidence or an anchor, and the line after it.

    A picture has the number before that of its announcement, which tells its hash. Its own message
    here has the announcement's content: whoever sends it puts the picture in that place.
    """
    if isinstance(proof, EvidenceKept):
        line = replace(line, shelf=line.shelf.with_kept(proof))
        content = evidence_content(proof)
        drafts: tuple[_Draft, ...] = (_Draft(proof.topic, content), _Draft("evidence", content))
    else:
        drafts = (_Draft("anchor", anchor_content(proof)),)
    numbered = tuple(enumerate(drafts, line.seq + 1))
    messages = tuple(_message(line, draft, proof.at, seq) for seq, draft in numbered)
    return replace(line, seq=line.seq + len(drafts)), messages


def last_will(line: Line, at: int, why: str = "connection lost") -> Message:
    """Return what the broker is to say when the reader vanishes; `at` is when the line opened."""
    content = _status(line, "offline", why)
    return _message(line, _Draft("status", content, retain=True), at, line.seq)


def health(line: Line, at: int, values: Mapping[str, object]) -> Message:
    """Return a health message; it is not logged and takes no number of its own."""
    return _message(line, _Draft("health", values, retain=True), at, line.seq)


def answer(line: Line, reply: Replied) -> Message:
    """Return the answer to an order of which the log knows nothing; it takes no number."""
    return _message(line, _Draft("cmd/reply", reply_payload(reply)), reply.at, line.seq)


def message_line(message: Message) -> str:
    """Return the message as one JSON object without a line end; an empty payload is null."""
    payload = message.payload.decode() or "null"
    retain = "true" if message.retain else "false"
    topic = message.topic  # its levels are restricted, so it needs no escapes
    return f'{{"topic":"{topic}","payload":{payload},"qos":{message.qos},"retain":{retain}}}'


def _drafts(line: Line, happening: Output) -> tuple[_Draft, ...]:
    match happening:
        case CardSeen():
            return (_Draft("card", card_payload(happening)),)
        case CoupLive():
            return (_Draft("coup/live", live_payload(happening), retain=True),)
        case CoupResult():
            content = result_payload(happening, line.betting)
            return (_Draft("coup/result", content, retain=True),)
        case CoupsChanged():
            content = roads_content(happening.shoe, line.drawn.roads)
            return (_Draft("roads", content, retain=True),)
        case AlertTold():
            return _alert_drafts(line.shelf, happening)
        case ShoeChanged():
            return (_Draft("shoe", shoe_payload(happening), retain=True),)
        case StatusChanged():
            return (_Draft("status", _status(line, happening.state, happening.why), retain=True),)
        case Replied():
            return (_Draft("cmd/reply", reply_payload(happening)),)
        case Ignored():
            return ()
        case _:
            raise TypeError(f"no message is known for {type(happening).__name__}")


def _alert_drafts(shelf: Shelf, told: AlertTold) -> tuple[_Draft, ...]:
    content = alert_payload(told.alert, shelf.proof_of(told.alert))
    own = f"alert/{topic_level(told.alert.id)}"
    if told.alert.state is AlertState.CLOSED:
        return (_Draft(own, content), _Draft(own, None, retain=True))
    standing = _Draft(own, content, retain=True)
    return (_Draft("alert", content), standing) if told.first else (standing,)


def _status(line: Line, state: str, why: str) -> dict[str, object]:
    return {
        "state": state,
        "why": why,
        "version": line.version,
        "models": list(line.models),
        "profile": line.profile,
    }


def _message(line: Line, draft: _Draft, at: int, seq: int) -> Message:
    topic = line.prefix + draft.topic
    if draft.content is None:
        return Message(topic, b"", 1, draft.retain, seq)
    whole = {
        "schema": SCHEMA,
        "table": line.table,
        "boot": line.boot,
        "seq": seq,
        "at": iso(at),
        **draft.content,
    }
    return Message(topic, canonical(whole).encode(), 1, draft.retain, seq)
