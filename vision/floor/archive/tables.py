"""The tables of the archive: messages as they came, and rows by which questions are answered.

`message` is the record: the bytes that a table published, as its log says. Each table below it says
of which topic its rows are and what each column takes from a message, so that no question needs to
open a payload; both are made in one transaction. What is not of the contract is a ValueError.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from operator import itemgetter
from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, MetaData, Table, Text

from vision.game.cards import RANK_LETTERS
from vision.wire.commands import COMMANDS, order_fields
from vision.wire.form import message_of
from vision.wire.messages import unix_ms

metadata = MetaData()

Facts = Mapping[str, Any]  # a message's content, its `mark`, and its time in Unix ms as `at_ms`
Of = Callable[[Facts], Any]
KEYED = "keyed"  # the event of a card that a person named


def _key(name: str, kind: Any = Text, of: Of | None = None) -> Column[Any]:
    info = {"of": of} if of else {}
    return Column(name, kind, primary_key=True, autoincrement=False, info=info)


def _own_key() -> list[Column[Any]]:
    """Return the key of a message, for a row that no other message joins."""
    kinds = {"boot": Text, "seq": BigInteger, "mark": Text}
    return [_key(name, kind, itemgetter(name)) for name, kind in kinds.items()]


def _column(
    name: str, kind: Any = Text, of: Of | None = None, *, null: bool = False, first: bool = False
) -> Column[Any]:
    """Return a column of what a message says: its field of that name, else what `of` makes of it.

    Of several messages with one key the newest counts; `first`: the least that is known.
    """
    info = {"of": of or itemgetter(name), "first": first}
    return Column(name, kind, nullable=null, info=info)


def _table(name: str, *columns: Column[Any] | Index, topic: str = "", time: str = "at") -> Table:
    """Return a table whose rows belong to a table of the house, and are of that topic.

    `time` is the column by which a row is old, "" where none is.
    """
    info = {"topic": topic, "time": time}
    return Table(name, metadata, _key("site"), _key("table_name"), *columns, info=info)


# A message once: by run and number. Those without a number of their own (a last will, the refusal
# of an order) share it with another, so `mark` tells them apart: a hash of the bytes, else empty.
message = _table(
    "message",
    *_own_key(),
    Column("topic", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("payload", Text, nullable=False),
    Index("message_at", "site", "table_name", "at"),
)
# What people asked of a table, as it was signed; what the table answered to that `ref`, null where
# nobody did. Only the table knows whether a signature is good.
command = _table(
    "command",
    _key("mark"),
    Column("name", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("by", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("ref", Text, nullable=False),
    Column("accepted", Boolean),
    Column("why", Text, nullable=False),
    Column("payload", Text, nullable=False),
    Index("command_at", "site", "table_name", "at"),
)
# Before when (Unix ms) the archive has deleted what was old: one row.
pruned = Table("pruned", metadata, Column("before", BigInteger, nullable=False))
# A run of a reader: the rules and the deck that its `status` names.
run = _table(
    "run",
    _key("boot"),
    Column("profile", Text, nullable=False),
    Column("deck", Text, nullable=False),
    time="",
)

# Columns of a coup: how many of its cards are of each rank, unread ones apart.
RANKS = {letter: f"rank_{letter.lower()}" for letter in RANK_LETTERS}


def _cards(result: Facts) -> list[str | None]:
    return [*result["punto"]["cards"], *result["banco"]["cards"]]


def _ranks(result: Facts) -> list[str]:
    return [card[0] for card in _cards(result) if card is not None]


def _of_rank(letter: str) -> Of:
    return lambda result: _ranks(result).count(letter)


def _points(hand: str) -> Of:
    return lambda result: result[hand]["points"]


def _in_state(state: str) -> Of:
    """Return when an alert came into that state, None of another state."""
    return lambda alert: unix_ms(alert["changed_at"]) if alert["state"] == state else None


def _seen_at(alert: Facts) -> int | None:
    return None if alert["acknowledged_at"] is None else unix_ms(alert["acknowledged_at"])


_AT = itemgetter("at_ms")

coup = _table(
    "coup",
    _key("shoe", of=itemgetter("shoe")),
    _key("coup", Integer, itemgetter("coup")),
    _column("seq", BigInteger),
    _column("dealt_at", BigInteger, _AT, first=True),
    _column("revision", Integer),
    _column("state"),
    _column("winner", null=True),
    _column("punto_points", Integer, _points("punto"), null=True),
    _column("banco_points", Integer, _points("banco"), null=True),
    _column("cards", Integer, lambda result: len(_cards(result))),
    _column("named", Integer, lambda result: len(_ranks(result))),
    _column("free", Boolean, lambda result: bool(result["free"])),
    _column("boot"),
    *(_column(name, Integer, _of_rank(letter)) for letter, name in RANKS.items()),
    Index("coup_dealt", "dealt_at", "site", "table_name", "state"),
    Index("coup_outcome", "site", "table_name", "boot", "winner", "cards", "state", "dealt_at"),
    topic="coup/result",
    time="dealt_at",
)
alert = _table(
    "alert",
    _key("id", of=itemgetter("id")),
    _column("seq", BigInteger),
    _column("code"),
    _column("severity"),
    _column("state"),
    _column("shoe"),
    _column("coup", Integer),
    _column("raised_at", BigInteger, lambda alert: unix_ms(alert["raised_at"])),
    _column("acknowledged_at", BigInteger, _seen_at, null=True),
    _column("rectified_at", BigInteger, _in_state("rectified"), null=True, first=True),
    _column("closed_at", BigInteger, _in_state("closed"), null=True, first=True),
    _column("in_time", Boolean, null=True),
    _column("remedy"),
    _column("category", of=lambda alert: alert.get("category"), null=True),
    _column("by"),
    _column("text"),
    Index("alert_raised", "raised_at", "site", "table_name", "code"),
    topic="alert",
    time="raised_at",
)
# Readings that were declined, and cards that a person keyed in.
card = _table(
    "card",
    *_own_key(),
    _column("at", BigInteger, _AT),
    _column("shoe"),
    _column("position", Integer, itemgetter("order")),
    _column("declined", Integer, lambda card: int(card["event"] != KEYED)),
    _column("keyed", Integer, lambda card: int(card["event"] == KEYED)),
    topic="card",
)
status = _table(
    "status",
    *_own_key(),
    _column("at", BigInteger, _AT),
    _column("state"),
    _column("why"),
    Index("status_at", "site", "table_name", "at"),
    topic="status",
)
evidence = _table(
    "evidence",
    _key("topic", of=itemgetter("topic")),
    _column("seq", BigInteger),
    _column("kind"),
    _column("shoe"),
    _column("coup", Integer),
    _column("alert", null=True),
    _column("sha256"),
    _column("size", BigInteger),
    _column("at", BigInteger, _AT),
    topic="evidence",
)

# Made from messages: what a check makes anew from a log and compares.
DERIVED = (coup, alert, card, status, evidence)


# --- what a message says, as rows -----------------------------------------------------------------


Content = Mapping[str, Any]
Row = dict[str, Any]

# Messages that are kept whole; of the others only the number is noted, for they repeat what these
# say: the cards on the table, the roads, the counts of the shoe.
STORED = ("status", "coup/result", "alert", "alert/", "evidence", "anchor", "cmd/reply")
DECK = "deck sha256:"
# What a message needs to be archived, whatever else it lacks.
NEEDED = ("boot", "seq", "at")
# Hexadecimal digits of a mark, 64 bits: two messages of one number with the same mark do not occur.
MARK_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Published:
    """A message of a table: topic below the prefix, content, and its text.

    `boot` is the run of the reader, `seq` the number. `counted`: the number is its own; else `mark`
    tells it from the others of that number. `is_kept`: the archive keeps its text.
    """

    topic: str
    content: Content
    text: str
    boot: str
    seq: int
    counted: bool
    mark: str
    is_stored: bool


def published(table: str, topic: str, payload: bytes) -> Published:
    """Return the message on a topic below a table's prefix; ValueError where it is none."""
    if topic == "status" and b'"offline"' in payload:  # of a run that broke off: see `logs`
        text = payload.decode()
        content = {"why": "", **json.loads(text)}
        mark = digest(text)
        return Published(topic, content, text, content["boot"], content["seq"], False, mark, True)
    content, text = message_of(table, topic, payload), payload.decode()
    missing = [name for name in NEEDED if content.get(name) is None]
    if missing:
        raise ValueError(f"{missing[0]}: missing")
    counted = topic != "health" and content.get("counted") is not False
    is_stored = topic.startswith("alert/") or topic in STORED
    if topic == "card":
        event = content.get("event")
        is_stored = event == KEYED or (event == "read" and content.get("card") is None)
    mark = "" if counted else digest(text)
    return Published(
        topic, content, text, content["boot"], content["seq"], counted, mark, is_stored
    )


def row_of(message: Published, at: int) -> tuple[Table, Row] | None:
    """Return the row besides that of the message itself; `at` is its time in Unix ms."""
    table = TABLES.get("alert" if message.topic.startswith("alert/") else message.topic)
    if table is None or not message.is_stored:
        return None
    facts = {**message.content, "mark": message.mark, "at_ms": at}
    makers = {c.name: c.info["of"] for c in table.columns if "of" in c.info}
    try:
        return table, {name: make(facts) for name, make in makers.items()}
    except (KeyError, TypeError) as error:
        raise ValueError(f"{message.topic}: {error!r} is missing, or of another type") from error


TABLES = {table.info["topic"]: table for table in DERIVED}


def digest(text: str) -> str:
    """Return 64 bits of the SHA-256 of a text, in hexadecimal."""
    return sha256(text.encode()).hexdigest()[:MARK_DIGITS]


def command_row(name: str, payload: bytes, received: int) -> Row:
    """Return an order as a row: at its own time where it is signed, else when it came.

    ValueError where no reader would take it for an order.
    """
    if name not in COMMANDS:
        raise ValueError("there is no order of that name")
    content = order_fields(payload)
    signed = content.get("time")
    own = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return {
        "mark": digest(f"{name}\n{own}"),
        "name": name,
        "at": unix_ms(signed) if isinstance(signed, str) else received,
        **{key: str(content.get(key, "")) for key in ("by", "role", "ref")},
        "accepted": None,
        "why": "",
        "payload": own,
    }


def run_facts(content: Content) -> Row:
    """Return what a status says of its run: the rules, and the deck that it reads."""
    models = content.get("models") or ()
    deck = next((m.removeprefix(DECK) for m in models if m.startswith(DECK)), "")
    return {"profile": str(content.get("profile", "")), "deck": deck}
