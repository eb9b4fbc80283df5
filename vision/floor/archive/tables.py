"""The tables of the archive: messages as they came, and rows by which questions are answered.

`message` is the record: the bytes that a table published. What else is here is made from it by
`vision.floor.archive.rows`, in the same transaction, so that no question needs to open a payload.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
)

from vision.game.cards import RANK_LETTERS

metadata = MetaData()

# How a row joins one of the same key that is there already, by column: the value of the message
# with the higher number counts (no entry), the sum, the least of those that are known, or either.
ADDED, FIRST, EITHER = {"join": "added"}, {"join": "first"}, {"join": "either"}


def _key(name: str, kind: Any = Text) -> Column[Any]:
    return Column(name, kind, primary_key=True, autoincrement=False)


def _table(name: str, *columns: Column[Any] | Index) -> Table:
    """Return a table whose rows belong to a table of the house."""
    return Table(name, metadata, _key("site"), _key("table_name"), *columns)


# A message once: by run and number. Those without a number of their own (a last will, the refusal
# of an order) share it with another, so `mark` tells them apart: a hash of the bytes, else empty.
MESSAGE_KEY = ("site", "table_name", "boot", "seq", "mark")

message = _table(
    "message",
    _key("boot"),
    _key("seq", BigInteger),
    _key("mark"),
    Column("arrival", BigInteger, nullable=False),
    Column("topic", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("payload", Text, nullable=False),
    Index("message_arrival", "arrival", unique=True),
    Index("message_at", "site", "table_name", "at"),
)
# Messages that are kept but are no record: of an older term of a standby pair, of no form, a second
# text of one number, what a web hook refused.
apart = _table(
    "apart",
    _key("boot"),
    _key("seq", BigInteger),
    _key("mark"),
    Column("why", Text, nullable=False),
    Column("topic", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("payload", Text, nullable=False),
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
# A numbering of messages: a table whose log was lost begins another one at 1.
source = _table(
    "source",
    _key("numbering", Integer),
    Column("seen", Text, nullable=False),
    Column("lost", Text, nullable=False),
    Column("newest", BigInteger, nullable=False),
    Column("term", BigInteger, nullable=False),
    Column("term_from", BigInteger, nullable=False),
    Column("pruned", BigInteger, nullable=False),
)
# A run of a reader: the rules and the deck that its `status` names.
run = _table(
    "run",
    _key("boot"),
    Column("numbering", Integer, nullable=False),
    Column("profile", Text, nullable=False),
    Column("deck", Text, nullable=False),
)

# Columns of a coup: how many of its cards are of each rank, unread ones apart.
RANKS = {letter: f"rank_{letter.lower()}" for letter in RANK_LETTERS}

coup = _table(
    "coup",
    _key("numbering", Integer),
    _key("shoe"),
    _key("coup", Integer),
    Column("seq", BigInteger, nullable=False),
    Column("dealt_at", BigInteger, nullable=False, info=FIRST),
    Column("revision", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("winner", Text),
    Column("punto_points", Integer),
    Column("banco_points", Integer),
    Column("cards", Integer, nullable=False),
    Column("free", Boolean, nullable=False),
    Column("boot", Text, nullable=False),
    *(Column(name, Integer, nullable=False) for name in RANKS.values()),
    Index("coup_dealt", "dealt_at", "site", "table_name", "state"),
    Index("coup_outcome", "site", "table_name", "boot", "winner", "cards", "state", "dealt_at"),
)
alert = _table(
    "alert",
    _key("numbering", Integer),
    _key("id"),
    Column("seq", BigInteger, nullable=False),
    Column("code", Text, nullable=False),
    Column("severity", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("shoe", Text, nullable=False),
    Column("coup", Integer, nullable=False),
    Column("raised_at", BigInteger, nullable=False, info=FIRST),
    Column("acknowledged_at", BigInteger, info=FIRST),
    Column("rectified_at", BigInteger, info=FIRST),
    Column("closed_at", BigInteger, info=FIRST),
    Column("in_time", Boolean),
    Column("remedy", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("text", Text, nullable=False),
    Index("alert_raised", "raised_at", "site", "table_name", "code"),
)
shoe = _table(
    "shoe",
    _key("numbering", Integer),
    _key("shoe"),
    Column("seq", BigInteger, nullable=False),
    Column("begun_at", BigInteger, nullable=False, info=FIRST),
    Column("boot", Text, nullable=False),
    Column("reads", Integer, nullable=False, info=ADDED),
    Index("shoe_begun", "begun_at", "site", "table_name"),
)
# Cards whose reading was declined, or that a person keyed in.
card = _table(
    "card",
    _key("numbering", Integer),
    _key("shoe"),
    _key("position", Integer),
    Column("seq", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False, info=FIRST),
    Column("declined", Boolean, nullable=False, info=EITHER),
    Column("keyed", Boolean, nullable=False, info=EITHER),
)
status = _table(
    "status",
    _key("boot"),
    _key("seq", BigInteger),
    _key("mark"),
    Column("at", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("why", Text, nullable=False),
    Index("status_at", "site", "table_name", "at"),
)
evidence = _table(
    "evidence",
    _key("numbering", Integer),
    _key("topic"),
    Column("seq", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("shoe", Text, nullable=False),
    Column("coup", Integer, nullable=False),
    Column("alert", Text),
    Column("sha256", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False),
)
# How far a web hook has been served.
hook = Table("hook", metadata, _key("url"), Column("arrival", BigInteger, nullable=False))

# Made from messages: what a check makes anew from a log and compares.
DERIVED = (coup, alert, shoe, card, status, evidence)
