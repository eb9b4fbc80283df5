"""What a desk can look back on: cards, results, alerts and pictures of each table's last shoes.

`History` is fed with every message of the tables, new or repeated, and keeps a bounded number: the
record is the table's log. `Backfill` asks the tables to send again what the desk has missed.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from vision.board.orders import Order, Orders
from vision.board.table_state import MEDIA
from vision.wire.commands import RANGE_LIMIT, REPLAY
from vision.wire.form import Payload, json_object

# Shoes a table that are kept: about half a day of play, at an hour a shoe. Chosen, not measured;
# fewer and the desk cannot look back over a shift, more and memory grows.
STORED_SHOES = 12
# Cards and results below which a shoe is forgotten before others: no coup was seen of it, so it was
# looked at in passing, or somebody made it up.
SLIGHT = 5
# Bytes of pictures and clips of all tables, chosen for a server with little memory. The oldest go
# first; the evidence folder of the table has them all.
MEDIA_LIMIT = 256 * 1024 * 1024
# Findings of one search: as many as a person looks through; more only slow the page.
FOUND_LIMIT = 300
# Message numbers that are asked for after a start. 3000 hold at least the
# running shoe (80 coups of some 20 messages); fewer and the desk begins with half a shoe.
LOOK_BACK = 3000


@dataclass(slots=True)
class _Shoe:
    """One shoe: messages by their subject, each list in the order of their numbers."""

    cards: dict[int, list[Payload]] = field(default_factory=dict)
    results: dict[int, list[Payload]] = field(default_factory=dict)
    alerts: dict[str, list[Payload]] = field(default_factory=dict)
    pictures: dict[str, Payload] = field(default_factory=dict)


class History:
    """The shoes of some tables; safe to use from several threads."""

    def __init__(self) -> None:
        self._shoes: dict[str, dict[str, _Shoe]] = {}
        self._media: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._media_size = 0
        self._newest: dict[str, int] = {}
        self._mutex = threading.Lock()

    def record(self, table: str, topic: str, data: bytes) -> None:
        """Take a message of a table; FormError where it is none."""
        with self._mutex:
            if topic.startswith(MEDIA):
                self._keep_media(table, topic, data)
                return
            if data:
                self._note(table, topic, json_object(data))

    def newest(self, table: str) -> int:
        """Return the highest message number received from a table."""
        return self._newest.get(table, 0)

    def media(self, table: str, topic: str) -> bytes | None:
        """Return a picture or clip, None where it was not received or is no longer kept."""
        return self._media.get((table, topic))

    def shoes(self, table: str) -> list[dict[str, Any]]:
        """Return a summary of each shoe of a table, the newest first."""
        with self._mutex:
            found = self._shoes.get(table, {})
            return [_summary(name, shoe) for name, shoe in reversed(found.items())]

    def shoe(self, table: str, name: str) -> dict[str, Any] | None:
        """Return everything of a shoe by coup, None where the shoe is not known."""
        with self._mutex:
            shoe = self._shoes.get(table, {}).get(name)
            return None if shoe is None else _whole(name, shoe)

    def coup(self, table: str, shoe: str, coup: int) -> dict[str, Any]:
        """Return everything of a coup; nothing but its number where it is not known."""
        with self._mutex:
            return _coup(coup, self._shoes.get(table, {}).get(shoe) or _Shoe())

    def search(self, wanted: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the alerts and cards that fit `table`, `kind`, `code`, `card`, `since`, `until`.

        `kind` is alert or card; empty values fit everything; times are ISO 8601. The newest come
        first, at most FOUND_LIMIT.
        """
        with self._mutex:
            found = [entry for entry in self._everything() if _fits(entry, wanted)]
        return sorted(found, key=lambda entry: str(entry["at"]), reverse=True)[:FOUND_LIMIT]

    def _note(self, table: str, topic: str, payload: Payload) -> None:
        seq = payload.get("seq")
        if isinstance(seq, int) and topic == "health":
            self._newest[table] = seq  # the reader's own word: the next one mends a false one
        elif isinstance(seq, int) and topic != "status":
            self._newest[table] = max(seq, self._newest.get(table, 0))
        name = payload.get("shoe")
        if not isinstance(name, str) or topic in ("coup/live", "roads", "shoe"):
            return
        shoe = self._shoe(table, name)
        if topic == "card":
            _put(shoe.cards.setdefault(int(payload.get("order", 0)), []), payload)
        elif topic == "coup/result":
            _put(shoe.results.setdefault(int(payload.get("coup", 0)), []), payload)
        elif topic.startswith("alert"):
            _put(shoe.alerts.setdefault(str(payload.get("id")), []), payload)
        elif topic == "evidence":
            shoe.pictures[str(payload.get("topic"))] = payload

    def _shoe(self, table: str, name: str) -> _Shoe:
        """Return a shoe; a new one may take the place of one that says little, or the oldest."""
        shoes = self._shoes.setdefault(table, {})
        if name not in shoes:
            if len(shoes) >= STORED_SHOES:
                sizes = {key: len(one.cards) + len(one.results) for key, one in shoes.items()}
                slight = (key for key, size in sizes.items() if size < SLIGHT)
                del shoes[next(slight, next(iter(shoes)))]
            shoes[name] = _Shoe()
        return shoes[name]

    def _keep_media(self, table: str, topic: str, data: bytes) -> None:
        old = self._media.pop((table, topic), b"")
        if data:
            self._media[table, topic] = data
        self._media_size += len(data) - len(old)
        while self._media_size > MEDIA_LIMIT:
            self._media_size -= len(self._media.popitem(last=False)[1])

    def _everything(self) -> Iterator[dict[str, Any]]:
        for table, shoes in self._shoes.items():
            for name, shoe in shoes.items():
                where = {"table": table, "shoe": name}
                for alert in shoe.alerts.values():
                    at = alert[0].get("raised_at")
                    yield {**where, "kind": "alert", "at": at, **_last(alert)}
                for steps in shoe.cards.values():
                    yield {**where, "kind": "card", **_card(steps)}


def _put(messages: list[Payload], payload: Payload) -> None:
    """Add a message in the order of the numbers, each once."""
    if all(known.get("seq") != payload.get("seq") for known in messages):
        messages.append(payload)
        messages.sort(key=lambda message: message.get("seq") or 0)


def _last(messages: list[Payload]) -> dict[str, Any]:
    keys = ("id", "coup", "code", "severity", "state", "text", "by", "remedy", "reason", "card")
    return {key: messages[-1].get(key) for key in (*keys, "category", "evidence", "slot", "order")}


def _card(steps: list[Payload]) -> dict[str, Any]:
    keys = ("coup", "order", "slot", "card", "confidence", "second", "at", "event", "seq")
    return {key: steps[-1].get(key) for key in keys}


def _summary(name: str, shoe: _Shoe) -> dict[str, Any]:
    groups = (*shoe.results.values(), *shoe.cards.values())
    times = sorted(at for group in groups if isinstance(at := group[0].get("at"), str))
    return {
        "shoe": name,
        "coups": max(shoe.results, default=0),
        "cards": len(shoe.cards),
        "alerts": len(shoe.alerts),
        "first": times[0] if times else None,
        "last": times[-1] if times else None,
    }


def _whole(name: str, shoe: _Shoe) -> dict[str, Any]:
    groups = (*shoe.cards.values(), *shoe.alerts.values())
    reported = (group[-1].get("coup") for group in groups)
    numbers = sorted({*shoe.results, *(number for number in reported if isinstance(number, int))})
    return {"shoe": name, "coups": [_coup(number, shoe) for number in numbers]}


def _coup(number: int, shoe: _Shoe) -> dict[str, Any]:
    cards = [steps for _, steps in sorted(shoe.cards.items())]
    return {
        "coup": number,
        "results": shoe.results.get(number, []),
        "cards": [_card(steps) for steps in cards if steps[-1].get("coup") == number],
        "alerts": [
            {**_last(steps), "steps": steps}
            for steps in shoe.alerts.values()
            if steps[-1].get("coup") == number
        ],
        "pictures": [one for one in shoe.pictures.values() if one.get("coup") == number],
    }


def _fits(entry: Mapping[str, Any], wanted: Mapping[str, str]) -> bool:
    at = str(entry.get("at") or "")
    return (
        wanted.get("table", "") in ("", entry["table"])
        and wanted.get("kind", "") in ("", entry["kind"])
        and wanted.get("code", "").upper() in ("", str(entry.get("code", "")))
        and wanted.get("card", "") in ("", entry.get("card"))
        and at >= wanted.get("since", "")
        and (not wanted.get("until") or at <= wanted["until"])
    )


class Backfill:
    """Keeps the history whole: asks for what was missed before the start and during lost links.

    It asks for ranges of message numbers, the newest first; a table refuses what it no longer has.
    Requests are signed as orders are, because only then do pictures come too.
    """

    def __init__(self, history: History, orders: Orders) -> None:
        self._history = history
        self._orders = orders
        self._feed = orders.feed
        self._known = dict.fromkeys(self._feed.tables, 0)
        self._asked = dict.fromkeys(self._feed.tables, 0)

    def look(self) -> None:
        """Ask where the link was lost and came back; to be called every half second or so."""
        connection = self._feed.connections
        for table in self._feed.tables:
            newest = self._history.newest(table)
            if not self._feed.connected or not newest:
                continue
            # Numbers fall where a false one had come: what was asked for then, nobody has.
            if self._asked[table] != connection or newest < self._known[table]:
                self._asked[table] = connection
                self._ask(table, newest)
            self._known[table] = newest

    def _ask(self, table: str, newest: int) -> None:
        known = self._known[table] if self._known[table] <= newest else 0
        oldest = max(known, newest - LOOK_BACK) + 1
        for last in range(newest, oldest - 1, -RANGE_LIMIT):
            first = max(oldest, last - RANGE_LIMIT + 1)
            wanted = {"first": first, "last": last, "by": self._orders.name}
            self._orders.send(Order(table, REPLAY, wanted))
