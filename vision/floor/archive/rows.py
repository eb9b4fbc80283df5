"""What a message says, as rows of the archive's tables; pure.

Rows carry the keys of `tables` but for the table's own, which the writer adds. What is not of the
contract is a ValueError.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
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
Rows = list[tuple[Table, Row]]

# Messages that are kept whole; of the others only the number is noted, for they repeat what these
# say: the cards on the table, the roads, the counts of the shoe.
KEPT = ("status", "coup/result", "alert", "alert/", "evidence", "anchor", "cmd/reply")
REPLAYED = tuple(f"{REPLAY}/{side}/" for side in ("public", "restricted"))
KEYED = "keyed"
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
            return _is_unusual(self.content)
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


def rows_of(said: Published, at: int) -> Rows:
    """Return the rows besides that of the message itself; `at` is its time in Unix ms."""
    make = MAKERS.get("alert" if said.topic.startswith("alert/") else said.topic)
    try:
        return make(said, at) if make is not None else []
    except (KeyError, TypeError) as error:
        raise ValueError(f"{said.topic}: {error!r} is missing, or of another type") from error


def _result(said: Published, at: int) -> Rows:
    content = said.content
    hands = (content["punto"], content["banco"])
    result = {
        "shoe": content["shoe"],
        "coup": content["coup"],
        "seq": said.seq,
        "dealt_at": at,
        "revision": content["revision"],
        "state": content["state"],
        "winner": content["winner"],
        "punto_points": hands[0]["points"],
        "banco_points": hands[1]["points"],
        "cards": sum(len(hand["cards"]) for hand in hands),
        "free": bool(content["free"]),
        "boot": said.boot,
        **ranks_of(content),
    }
    return [(tables.coup, result), _shoe(said, at, reads=0)]


def ranks_of(result: Content) -> Row:
    """Return how many cards of a result are of each rank, by the columns of the coup."""
    cards = (*result["punto"]["cards"], *result["banco"]["cards"])
    read = [card[0] for card in cards if card is not None]
    return {name: read.count(letter) for letter, name in tables.RANKS.items()}


def _shoe(said: Published, at: int, *, reads: int) -> tuple[Table, Row]:
    name = str(said.content["shoe"])
    row = {"shoe": name, "seq": said.seq, "begun_at": at, "boot": said.boot, "reads": reads}
    return tables.shoe, row


def _alert(said: Published, _at: int) -> Rows:
    content = said.content
    state, changed = content["state"], unix_ms(content["changed_at"])
    row = {
        "id": content["id"],
        "seq": said.seq,
        "code": content["code"],
        "severity": content["severity"],
        "state": state,
        "shoe": content["shoe"],
        "coup": content["coup"],
        "raised_at": unix_ms(content["raised_at"]),
        "acknowledged_at": _moment(content["acknowledged_at"]),
        "rectified_at": changed if state == "rectified" else None,
        "closed_at": changed if state == "closed" else None,
        "in_time": content["in_time"],
        "remedy": content["remedy"],
        "by": content["by"],
        "text": content["text"],
    }
    return [(tables.alert, row)]


def _card(said: Published, at: int) -> Rows:
    content = said.content
    if content["event"] not in ("read", KEYED):
        return []
    keyed, declined = content["event"] == KEYED, content["card"] is None
    rows: Rows = [_shoe(said, at, reads=int(not keyed and not declined))]
    if keyed or declined:
        row = {
            "shoe": content["shoe"],
            "position": content["order"],
            "seq": said.seq,
            "at": at,
            "declined": declined,
            "keyed": keyed,
        }
        rows.append((tables.card, row))
    return rows


def _is_unusual(content: Content) -> bool:
    event = content.get("event")
    return event == KEYED or (event == "read" and content.get("card") is None)


def _status(said: Published, at: int) -> Rows:
    content = said.content
    key = {"boot": said.boot, "seq": said.seq, "mark": mark_of(said)}
    return [(tables.status, {**key, "at": at, "state": content["state"], "why": content["why"]})]


def _evidence(said: Published, at: int) -> Rows:
    content = said.content
    names = ("topic", "kind", "shoe", "coup", "alert", "sha256", "size")
    return [
        (tables.evidence, {**{name: content[name] for name in names}, "seq": said.seq, "at": at})
    ]


MAKERS: Mapping[str, Callable[[Published, int], Rows]] = {
    "status": _status,
    "coup/result": _result,
    "alert": _alert,
    "card": _card,
    "evidence": _evidence,
}


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


def _moment(text: str | None) -> int | None:
    return None if text is None else unix_ms(text)
