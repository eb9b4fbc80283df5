"""What a desk remembers of each table's shoes: every card, result, alert and picture it heard of.

Fed with every message, new or said again; bounded. It is a memory, not the record: that is the
table's log. Knows nothing of browsers.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from vision.board.table_state import Payload, parsed

KEPT_SHOES = 12
KEPT_REPLIES = 500
MEDIA_LIMIT = 256 * 1024 * 1024
MEDIA = ("evidence/", "clip/")
PAYLOAD_LIMIT = 256 * 1024
FOUND_LIMIT = 300


@dataclass(slots=True)
class _Shoe:
    """One shoe: messages by what they are about, each list in the order of their numbers."""

    cards: dict[int, list[Payload]] = field(default_factory=dict)
    results: dict[int, list[Payload]] = field(default_factory=dict)
    alerts: dict[str, list[Payload]] = field(default_factory=dict)
    pictures: dict[str, Payload] = field(default_factory=dict)


class History:
    """The shoes of some tables; safe to use from several threads."""

    def __init__(self) -> None:
        self._shoes: dict[str, OrderedDict[str, _Shoe]] = {}
        self._replies: dict[str, OrderedDict[str, Payload]] = {}
        self._media: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._media_size = 0
        self._newest: dict[str, int] = {}
        self._mutex = threading.Lock()

    def record(self, table: str, topic: str, data: bytes) -> None:
        """Take a message of a table."""
        with self._mutex:
            if topic.startswith(MEDIA):
                self._keep_media(table, topic, data)
                return
            payload = parsed(data, PAYLOAD_LIMIT)
            if payload is not None:
                self._note(table, topic, payload)

    def newest(self, table: str) -> int:
        """Return the highest number of a message heard from a table."""
        with self._mutex:
            return self._newest.get(table, 0)

    def media(self, table: str, topic: str) -> bytes | None:
        """Return a picture or clip, None where it was not heard or is kept no more."""
        with self._mutex:
            return self._media.get((table, topic))

    def shoes(self, table: str) -> list[dict[str, Any]]:
        """Return the shoes of a table, the newest first, with what stands in them."""
        with self._mutex:
            found = self._shoes.get(table, OrderedDict())
            return [_summary(name, shoe) for name, shoe in reversed(found.items())]

    def shoe(self, table: str, name: str) -> dict[str, Any] | None:
        """Return everything of a shoe by coup, None where nothing is known of it."""
        with self._mutex:
            shoe = self._shoes.get(table, OrderedDict()).get(name)
            return None if shoe is None else _whole(name, shoe)

    def replies(self, table: str) -> list[Payload]:
        """Return the answers to orders, the newest first."""
        with self._mutex:
            return list(reversed(self._replies.get(table, {}).values()))

    def search(self, wanted: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return what fits all of `table`, `kind` (alert, card), `code`, `card`, `since`, `until`.

        Empty values fit everything; moments are ISO 8601. The newest first, at most FOUND_LIMIT.
        """
        with self._mutex:
            found = [one for one in self._everything() if _fits(one, wanted)]
        return sorted(found, key=lambda one: str(one["at"]), reverse=True)[:FOUND_LIMIT]

    # --- taking ------------------------------------------------------------------------------

    def _note(self, table: str, topic: str, payload: Payload) -> None:
        seq = payload.get("seq")
        if isinstance(seq, int) and topic not in ("status", "health"):
            self._newest[table] = max(seq, self._newest.get(table, 0))
        if topic == "cmd/reply":
            replies = self._replies.setdefault(table, OrderedDict())
            replies[f"{seq} {payload.get('ref')}"] = payload
            while len(replies) > KEPT_REPLIES:
                replies.popitem(last=False)
            return
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
        shoes = self._shoes.setdefault(table, OrderedDict())
        if name not in shoes:
            shoes[name] = _Shoe()
            while len(shoes) > KEPT_SHOES:
                shoes.popitem(last=False)
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
                place = {"table": table, "shoe": name}
                for told in shoe.alerts.values():
                    yield {**place, "kind": "alert", "at": told[0].get("raised_at"), **_last(told)}
                for steps in shoe.cards.values():
                    yield {**place, "kind": "card", **_card(steps)}


def _put(told: list[Payload], payload: Payload) -> None:
    """Add a message in the order of the numbers, each once."""
    if all(one.get("seq") != payload.get("seq") for one in told):
        told.append(payload)
        told.sort(key=lambda one: one.get("seq") or 0)


def _last(told: list[Payload]) -> dict[str, Any]:
    keys = ("id", "coup", "code", "severity", "state", "text", "by", "remedy", "reason", "card")
    return {key: told[-1].get(key) for key in (*keys, "evidence", "slot", "order")}


def _card(steps: list[Payload]) -> dict[str, Any]:
    keys = ("coup", "order", "slot", "card", "confidence", "second", "at", "event", "seq")
    return {key: steps[-1].get(key) for key in keys}


def _summary(name: str, shoe: _Shoe) -> dict[str, Any]:
    moments = [one[0].get("at") for one in (*shoe.results.values(), *shoe.cards.values())]
    said = sorted(moment for moment in moments if isinstance(moment, str))
    return {
        "shoe": name,
        "coups": max(shoe.results, default=0),
        "cards": len(shoe.cards),
        "alerts": len(shoe.alerts),
        "first": said[0] if said else None,
        "last": said[-1] if said else None,
    }


def _whole(name: str, shoe: _Shoe) -> dict[str, Any]:
    cards = [_card(steps) for _, steps in sorted(shoe.cards.items())]
    pictures = list(shoe.pictures.values())
    alerts = [{**_last(told), "told": told} for told in shoe.alerts.values()]
    numbers = sorted(
        {*shoe.results, *(c["coup"] for c in cards), *(a["coup"] for a in alerts)} - {None}
    )
    return {
        "shoe": name,
        "coups": [
            {
                "coup": number,
                "results": shoe.results.get(number, []),
                "cards": [card for card in cards if card["coup"] == number],
                "alerts": [alert for alert in alerts if alert["coup"] == number],
                "pictures": [one for one in pictures if one.get("coup") == number],
            }
            for number in numbers
        ],
    }


def _fits(one: Mapping[str, Any], wanted: Mapping[str, str]) -> bool:
    at = str(one.get("at") or "")
    return (
        wanted.get("table", "") in ("", one["table"])
        and wanted.get("kind", "") in ("", one["kind"])
        and wanted.get("code", "").upper() in ("", str(one.get("code", "")))
        and wanted.get("card", "") in ("", one.get("card"))
        and at >= wanted.get("since", "")
        and (not wanted.get("until") or at <= wanted["until"])
    )
