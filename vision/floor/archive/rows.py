"""What a message says, as rows of the archive's tables; pure.

Rows carry the keys of `tables` but for the table's own, which the writer adds. What is not of the
contract is a ValueError.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from sqlalchemy import Table

from vision.floor.archive import tables
from vision.wire.commands import COMMANDS, REPLAY, order_fields
from vision.wire.form import message_of
from vision.wire.messages import unix_ms

Content = Mapping[str, Any]
Row = dict[str, Any]

# Messages that are kept whole; of the others only the number is noted, for they repeat what these
# say: the cards on the table, the roads, the counts of the shoe.
KEPT = ("status", "coup/result", "alert", "alert/", "evidence", "anchor", "cmd/reply")
REPLAYED = tuple(f"{REPLAY}/{side}/" for side in ("public", "restricted"))
DECK = "deck sha256:"
# What a message needs to be archived, whatever else it lacks.
NEEDED = ("boot", "seq", "at")
# Hexadecimal digits of a mark, 64 bits: two messages of one number with the same mark do not occur.
MARK_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Published:
    """A numbered message of a table as it came: topic below the prefix, content, and its text.

    `again`: a table sent it again because somebody had asked. `counted`: the number is its own.
    """

    site: str
    table: str
    topic: str
    content: Content
    text: str
    again: bool = False

    @property
    def boot(self) -> str:
        """The run of the reader."""
        name: str = self.content["boot"]
        return name

    @property
    def seq(self) -> int:
        """The number of the message."""
        number: int = self.content["seq"]
        return number

    @property
    def term(self) -> int:
        """The term of the reader that may speak, 0 for a table with one reader."""
        number: int = self.content.get("term", 0)
        return number

    @property
    def counted(self) -> bool:
        """Whether the number is its own."""
        return self.topic != "health" and self.content.get("counted") is not False

    @property
    def is_kept(self) -> bool:
        """Whether the archive keeps its text."""
        if self.topic == "card":
            event, card = self.content.get("event"), self.content.get("card")
            return event == tables.KEYED or (event == "read" and card is None)
        return self.topic.startswith("alert/") or self.topic in KEPT


def own_topic(topic: str) -> tuple[str, bool]:
    """Return the topic that a message had at first, and whether it was sent again."""
    start = next((start for start in REPLAYED if topic.startswith(start)), "")
    return topic.removeprefix(start), bool(start)


def said_of(site: str, table: str, topic: str, payload: bytes) -> Published:
    """Return the message on a topic below a table's prefix; ValueError where it is none."""
    own, again = own_topic(topic)
    content = message_of(table, own, payload)
    missing = [name for name in NEEDED if content.get(name) is None]
    if missing:
        raise ValueError(f"{missing[0]}: missing")
    unix_ms(content["at"])
    return Published(site, table, own, content, payload.decode(), again)


def numbers_of(said: Published) -> tuple[int, int]:
    """Return the first and last number that the message stands for.

    A picture has the number before the message that announces it; the message that clears an
    alert's topic has the number after the one that closes it.
    """
    seq = said.seq
    if said.topic == "evidence":
        return seq - 1, seq
    closes = said.topic.startswith("alert/") and said.content.get("state") == "closed"
    return (seq, seq + 1) if closes else (seq, seq)


def row_of(said: Published, at: int) -> tuple[Table, Row] | None:
    """Return the row besides that of the message itself; `at` is its time in Unix ms."""
    table = TABLES.get("alert" if said.topic.startswith("alert/") else said.topic)
    if table is None or not said.is_kept:
        return None
    facts = {**said.content, "mark": mark_of(said), "at_ms": at}
    makers = {c.name: c.info["of"] for c in table.columns if "of" in c.info}
    try:
        return table, {name: make(facts) for name, make in makers.items()}
    except (KeyError, TypeError) as error:
        raise ValueError(f"{said.topic}: {error!r} is missing, or of another type") from error


TABLES = {table.info["topic"]: table for table in tables.DERIVED}


def mark_of(said: Published) -> str:
    """Return what tells messages of one number apart: empty where the number is its own."""
    return "" if said.counted else digest(said.text)


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
    texts = {key: str(content.get(key, "")) for key in ("by", "role", "ref")}
    at = unix_ms(signed) if isinstance(signed, str) else received
    own = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    answer = {"accepted": None, "why": ""}
    return {
        "mark": digest(f"{name}\n{own}"),
        "name": name,
        "at": at,
        **texts,
        **answer,
        "payload": own,
    }


def answer_of(reply: Content) -> Row:
    """Return what a table answered to an order, with the order's name and number."""
    answer = {name: reply[name] for name in ("ref", "accepted", "why")}
    return {"name": reply["command"], **answer}


def run_facts(content: Content) -> Row:
    """Return what a status says of its run: the rules, and the deck that it reads."""
    models = content.get("models") or ()
    deck = next((m.removeprefix(DECK) for m in models if m.startswith(DECK)), "")
    return {"profile": str(content.get("profile", "")), "deck": deck}
