"""Messages: the topics and contents in which the outputs of the rules are published.

Outputs in, messages out, each with the next number: the same log gives the same bytes. The contract
is `deploy/mqtt.md`; `vision/schemas` has the same for readers in other languages.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from vision.game.events import Started
from vision.game.outcome import outcome_of_result
from vision.game.outputs import (
    Alert,
    AlertChanged,
    AlertState,
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
from vision.game.roads import Roads, empty_roads, roads_payload
from vision.game.wagers import Betting, winning_wagers
from vision.record.codec import canonical, fields_of, to_json
from vision.record.facts import Anchored, EvidenceKept, LogBegun, Medium, anchor_content

Content = dict[str, object]

# The roads drawn last, of a few tables, with their results: the next message has a coup more.
_DRAWN: deque[tuple[tuple[CoupResult, ...], Roads]] = deque(maxlen=8)
SCHEMA = 1  # the version of the contract, in every message
# What every message has of itself.
ENVELOPE = ("schema", "table", "boot", "seq", "at", "term", "term_proof")
SUM_BYTES = 16  # of SHA-256, as nobody finds another message with the same 128 bits
BEGUN = "a new log was begun"
# In messages that take no number of their own, where others of the same topic do.
UNCOUNTED = {"counted": False}
PREFIX = "casino/{site}/table/{table}/"
# The first level of the topics of evidence, and what the web calls their files.
LEVELS = {Medium.STILL: "evidence", Medium.CLIP: "clip"}
TYPES = {Medium.STILL: "image/jpeg", Medium.CLIP: "video/x-msvideo"}
PICTURES = tuple(f"{level}/" for level in LEVELS.values())  # how the topics of pictures begin


class Message(NamedTuple):
    """One MQTT message; an empty payload on a retained topic clears it.

    `seq` orders the messages of a table and is the key of the outbox.
    """

    topic: str
    payload: bytes
    qos: int
    retain: bool
    seq: int


class MessageStream(NamedTuple):
    """What the messages of a table have in common: whose they are, and the last number given.

    `profile` names the rules and their hash, as `punto-banco sha256:...`; `version`, `models`,
    `identity` and `term` are of the run called `boot`; `term_proof` is the signature of the term.
    """

    site: str
    table: str
    profile: str
    betting: Betting
    boot: str = ""
    version: str = ""
    models: tuple[str, ...] = ()
    seq: int = 0
    identity: str = ""
    term: int = 0
    term_proof: str = ""

    @property
    def prefix(self) -> str:
        """The beginning of every topic of this table."""
        return PREFIX.format(site=self.site, table=self.table)

    def of_run(self, event: Started) -> MessageStream:
        """Return the stream as the run goes on with it that begins with this event."""
        return self._replace(
            boot=event.boot,
            version=event.version,
            models=event.models,
            identity=event.identity,
            term=event.term,
            seq=max(self.seq, event.after),
        )


class _Draft(NamedTuple):
    """A message before it has its number; no content clears the topic."""

    topic: str
    content: Mapping[str, object] | None
    retain: bool = False


Sent = tuple[MessageStream, tuple[Message, ...]]


def messages_of(stream: MessageStream, output: Output, evidence: tuple[str, ...] = ()) -> Sent:
    """Return the messages that publish an output, and the stream after them.

    `evidence` are the topics of what proves an alert.
    """
    return _send(stream, _drafts(stream, output, evidence), output.at)


def proof_messages(stream: MessageStream, proof: EvidenceKept | Anchored) -> Sent:
    """Return the messages that publish evidence or an anchor, and the stream after them.

    A picture has the number before that of its announcement, which has its hash. Its own message
    here has the announcement's content: the sender puts the picture in its place.
    """
    if isinstance(proof, Anchored):
        return _send(stream, (_Draft("anchor", anchor_content(proof)),), proof.at)
    content = evidence_content(proof)
    return _send(
        stream, (_Draft(evidence_topic(proof), content), _Draft("evidence", content)), proof.at
    )


def begun_messages(stream: MessageStream, begun: LogBegun) -> Sent:
    """Return the messages of a log that goes on from another: open alerts are closed, and cleared.

    The numbers go on after those of the other log.
    """
    stream = stream._replace(boot=begun.boot, seq=begun.seq)
    drafts: list[_Draft] = []
    for text in begun.alerts:
        content = {key: value for key, value in json.loads(text).items() if key not in ENVELOPE}
        content |= {"state": "closed", "reason": BEGUN, "changed_at": iso(begun.at)}
        own = f"alert/{content['id']}"
        drafts += (_Draft(own, content), _Draft(own, None, retain=True))
    return _send(stream, tuple(drafts), begun.at)


def _send(stream: MessageStream, drafts: tuple[_Draft, ...], at: int) -> Sent:
    numbered = enumerate(drafts, stream.seq + 1)
    messages = tuple([_message(stream, draft, at, seq) for seq, draft in numbered])
    return stream._replace(seq=stream.seq + len(messages)), messages


def cleared_messages(stream: MessageStream, topics: tuple[str, ...], at: int) -> Sent:
    """Return the messages that take what stands on the topics from the broker."""
    levels = (topic.removeprefix(stream.prefix) for topic in topics)
    return _send(stream, tuple(_Draft(level, None, retain=True) for level in levels), at)


def last_will(stream: MessageStream, at: int, why: str = "connection lost") -> Message:
    """Return what the broker publishes when the reader vanishes; `at`: when it connected."""
    content = {**_status(stream, "offline", why), **UNCOUNTED}
    return _message(stream, _Draft("status", content, retain=True), at, stream.seq)


def health(stream: MessageStream, at: int, values: Mapping[str, object]) -> Message:
    """Return a health message; it is not logged and takes no number of its own."""
    return _message(stream, _Draft("health", values, retain=True), at, stream.seq)


def answer(stream: MessageStream, reply: Replied) -> Message:
    """Return the answer to an order that is not in the log; it takes no number."""
    content = {**reply_payload(reply), **UNCOUNTED}
    return _message(stream, _Draft("cmd/reply", content), reply.at, stream.seq)


def message_line(message: Message) -> str:
    """Return the message as one JSON object without a line end; an empty payload is null."""
    payload = message.payload.decode() or "null"
    retain = "true" if message.retain else "false"
    topic = message.topic  # its levels are restricted, so it needs no escapes
    return f'{{"topic":"{topic}","payload":{payload},"qos":{message.qos},"retain":{retain}}}'


def message_sum(message: Message) -> bytes:
    """Return what a message is known by: SHA-256 (16 bytes) over its number and its line."""
    text = f"{message.seq} {message_line(message)}"
    return hashlib.sha256(text.encode()).digest()[:SUM_BYTES]


def _drafts(stream: MessageStream, output: Output, evidence: tuple[str, ...]) -> tuple[_Draft, ...]:
    match output:
        case CardSeen():
            return (_Draft("card", card_payload(output)),)
        case CoupLive():
            content = {
                **_fields(output, "punto_points", "banco_points"),
                "punto": {"cards": to_json(output.punto), "points": output.punto_points},
                "banco": {"cards": to_json(output.banco), "points": output.banco_points},
            }
            return (_Draft("coup/live", content, retain=True),)
        case CoupResult():
            content = result_payload(output, stream.betting)
            return (_Draft("coup/result", content, retain=True),)
        case CoupsChanged():
            content = {"shoe": output.shoe, **roads_payload(_roads_of(output))}
            return (_Draft("roads", content, retain=True),)
        case AlertChanged():
            return _alert_drafts(output, evidence)
        case ShoeChanged():
            content = _fields(output, "out", "cut_seen")
            content |= {"cards_out": output.out, "cut_card_seen": output.cut_seen}
            return (_Draft("shoe", content, retain=True),)
        case StatusChanged():
            return (_Draft("status", _status(stream, output.state, output.why), retain=True),)
        case Replied():
            return (_Draft("cmd/reply", reply_payload(output)),)
        case Ignored():
            return ()
        case _:
            raise TypeError(f"no message is known for {type(output).__name__}")


def _alert_drafts(output: AlertChanged, evidence: tuple[str, ...]) -> tuple[_Draft, ...]:
    content = alert_payload(output.alert, evidence)
    own = f"alert/{topic_level(output.alert.id)}"
    if output.alert.state is AlertState.CLOSED:
        return (_Draft(own, content), _Draft(own, None, retain=True))
    standing = _Draft(own, content, retain=True)
    return (_Draft("alert", content), standing) if output.first else (standing,)


def _status(stream: MessageStream, state: str, why: str) -> dict[str, object]:
    content: dict[str, object] = {
        "state": state,
        "why": why,
        "version": stream.version,
        "models": list(stream.models),
        "profile": stream.profile,
    }
    return {**content, "identity": stream.identity} if stream.identity else content


def _message(stream: MessageStream, draft: _Draft, at: int, seq: int) -> Message:
    topic = stream.prefix + draft.topic
    if draft.content is None:
        return Message(topic, b"", 1, draft.retain, seq)
    own = {"schema": SCHEMA, "table": stream.table, "boot": stream.boot, "seq": seq, "at": iso(at)}
    if stream.term:
        own["term"] = stream.term
    if stream.term_proof:
        own["term_proof"] = stream.term_proof
    text = canonical({**own, **draft.content})
    return Message(topic, text.encode(), 1, draft.retain, seq)


# --- contents -------------------------------------------------------------------------------------

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@lru_cache(maxsize=8)  # the messages of an event, and those of the one before, have one time
def iso(at: int) -> str:
    """Return Unix milliseconds as UTC in ISO 8601 with milliseconds."""
    moment = EPOCH + timedelta(milliseconds=at)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def unix_ms(moment: str) -> int:
    """Return a time that `iso` wrote as Unix milliseconds; ValueError where it is none."""
    return round(datetime.fromisoformat(moment).timestamp() * 1000)


def topic_level(text: str) -> str:
    """Return the text as one level of a topic: what may not stand there becomes `_`."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", text) or "_"


def snake(name: str) -> str:
    """Return a class name as the contract writes it: `CorrectCard` is `correct_card`."""
    return re.sub(r"(?<=.)(?=[A-Z])", "_", name).lower()


def _fields(output: object, *without: str) -> Content:
    """Return the fields of an output under their own names, which are those of the contract."""
    names = (field.name for field in fields_of(type(output)) if field.name != "at")
    return {name: to_json(getattr(output, name)) for name in names if name not in without}


def card_payload(seen: CardSeen) -> Content:
    """Return the content of `card`."""
    return {**_fields(seen), "confidence": _share(seen.confidence)}


def result_payload(result: CoupResult, betting: Betting) -> Content:
    """Return the content of `coup/result`; wagers only where there is a winner and were bets."""
    return {**_fields(result), "wagers": _wagers(result, betting)}


def _roads_of(changed: CoupsChanged) -> Roads:
    """Return the roads of the coups that have a winner: free hands too, no void or held ones."""
    coups = changed.coups
    drawn = [past for past in tuple(_DRAWN) if past[0] == coups[: len(past[0])]]
    past, roads = max(drawn, key=lambda past: len(past[0]), default=((), empty_roads()))
    for result in coups[len(past) :]:
        outcome = outcome_of_result(result)
        if outcome is not None:
            roads = roads.add(result.coup, outcome)
    _DRAWN.append((coups, roads))
    return roads


def alert_payload(alert: Alert, evidence: tuple[str, ...] = ()) -> Content:
    """Return the content of `alert` and of `alert/{id}`; times in ISO 8601, null if not yet.

    `evidence` are the topics of what proves it.
    """
    return {
        **_fields(alert, "odds"),
        "id": topic_level(alert.id),
        "confidence": None if alert.confidence is None else _share(alert.confidence),
        "evidence": list(evidence),
        "raised_at": iso(alert.raised_at),
        "deadline_at": _moment(alert.deadline_at),
        "acknowledged_at": _moment(alert.acknowledged_at),
        "changed_at": iso(alert.changed_at),
        **({} if alert.odds is None else {"odds": float(f"{alert.odds:.3g}")}),
    }


def evidence_topic(stored: EvidenceKept) -> str:
    """Return where a piece of evidence is published, below the table's prefix."""
    return f"{LEVELS[stored.medium]}/{stored.id}"


def evidence_content(stored: EvidenceKept) -> Content:
    """Return the content of `evidence`, which also stands for the picture where none can."""
    return {
        **_fields(stored, "medium"),
        "topic": evidence_topic(stored),
        "kind": stored.medium.value,
        "type": TYPES[stored.medium],
        "alert": stored.alert or None,
    }


def reply_payload(reply: Replied) -> Content:
    """Return the content of `cmd/reply`."""
    return {**_fields(reply), "command": snake(reply.command)}


def _wagers(result: CoupResult, betting: Betting) -> list[Content]:
    outcome = outcome_of_result(result)
    if outcome is None or result.free:
        return []
    return [
        {"bet": wager.bet.value, "name": wager.name, "odds": wager.odds}
        for wager in winning_wagers(outcome, betting)
    ]


def _share(value: float) -> float:
    return round(float(value), 6)


def _moment(at: int | None) -> str | None:
    return None if at is None else iso(at)
