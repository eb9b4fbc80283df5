"""The tables of the archive: messages as they came, and rows by which questions are answered.

`message` is the record: the bytes that a table published, as its log says. Each table below it says
of which topic its rows are and what each column takes from a message, so that no question needs to
open a payload; both are made in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, MetaData, Table, Text

from vision.game.cards import RANK_LETTERS
from vision.wire.messages import unix_ms

metadata = MetaData()

Facts = Mapping[str, Any]  # a message's content, and its time in Unix ms as `at_ms`
Of = Callable[[Facts], Any]
KEYED = "keyed"  # the event of a card that a person named


def _key(name: str, kind: Any = Text, of: Of | None = None) -> Column[Any]:
    info = {"of": of} if of else {}
    return Column(name, kind, primary_key=True, autoincrement=False, info=info)


def _own_key() -> list[Column[Any]]:
    """Return the key of a message, for a row that no other message joins."""
    kinds = {"boot": Text, "seq": BigInteger}
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


# A message once, by run and number.
message = _table(
    "message",
    *_own_key(),
    Column("topic", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("payload", Text, nullable=False),
    Index("message_at", "site", "table_name", "at"),
)
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

# Of which topic each is, by which questions are answered.
DERIVED = {table.info["topic"]: table for table in (coup, alert, card, status)}


Content = Mapping[str, Any]
Row = dict[str, Any]

# Messages that are stored whole; the others repeat what these say: the cards on the table, the
# roads, the counts of the shoe.
STORED = ("status", "coup/result", "alert", "alert/", "evidence", "anchor", "cmd/reply")
DECK = "deck sha256:"


def is_stored(topic: str, content: Content) -> bool:
    """Whether a message on a topic below the prefix of a table is stored."""
    if topic == "card":
        declined = content["event"] == "read" and content["card"] is None
        return declined or content["event"] == KEYED
    return topic.startswith("alert/") or topic in STORED


def row_of(topic: str, content: Content, at: int) -> tuple[Table, Row] | None:
    """Return the row besides that of the message itself; `at` is its time in Unix ms."""
    table = DERIVED.get("alert" if topic.startswith("alert/") else topic)
    if table is None:
        return None
    facts = {**content, "at_ms": at}
    return table, {c.name: c.info["of"](facts) for c in table.columns if "of" in c.info}


def run_facts(content: Content) -> Row:
    """Return what a status says of its run: the rules, and the deck that it reads."""
    models = content.get("models") or ()
    deck = next((m.removeprefix(DECK) for m in models if m.startswith(DECK)), "")
    return {"profile": str(content.get("profile", "")), "deck": deck}
