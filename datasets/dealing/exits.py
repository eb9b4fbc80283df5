"""When the reader said that a card left the shoe, against when it did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Json = dict[str, Any]
# An `out` is in time from the instant a card is wholly out until so long after it, ms: the figure
# that is promised.
IN_TIME_MS = 300
# An `out` belongs to a card if it comes from so long before the card began to leave to so long
# after it lay, ms. Wider, and it is taken for its neighbour's.
BEFORE_MS, AFTER_MS = 300, 1500


@dataclass(slots=True)
class Exits:
    """Counts of cards that left the shoe: their `out` came early, in time, late or never.

    `before_rest`: in time or late, but before the card lay. `placed`: its `out` is of the card that
    was then reported in the slot where it lay.
    """

    cards: int = 0
    early: int = 0
    in_time: int = 0
    late: int = 0
    never: int = 0
    before_rest: int = 0
    placed: int = 0

    def __str__(self) -> str:
        """Return the shares in words."""
        if not self.cards:
            return "no card left the shoe"
        percent = 100 / self.cards
        return (
            f"{self.cards} cards left the shoe: out said within {IN_TIME_MS / 1000:g} s "
            f"{self.in_time * percent:.1f} %, early {self.early * percent:.1f} %, late "
            f"{self.late * percent:.1f} %, never {self.never * percent:.1f} %; before it lay "
            f"{self.before_rest * percent:.1f} %; in the right place {self.placed * percent:.1f} %"
        )


def compare_exits(cards: Sequence[Json], messages: Sequence[Json], tally: Exits) -> None:
    """Count every card of the truth (in the order they left) by the `out` that belongs to it.

    One that is found where it lies is said to be out then: otherwise the `out` of the card behind
    it would be taken for its own, and all later ones be late.
    """
    events = list(_card_events(messages))
    outs = [(at, order) for at, kind, order, _ in events if kind in {"out", "found"}]
    slots = {order: slot for _, kind, order, slot in events if kind == "placed"}
    for card in cards:
        tally.cards += 1
        found = _belonging(card, outs)
        if found is None:
            tally.never += 1
            continue
        outs.remove(found)
        _judge(card, found[0], tally)
        tally.placed += slots.get(found[1]) == card["slot"]


def cut_seen(messages: Sequence[Json]) -> bool:
    """Whether a message says that the cut card is out."""
    return any(
        message["topic"].endswith("/shoe") and message["payload"].get("cut_card_seen")
        for message in messages
    )


def _card_events(messages: Sequence[Json]) -> Iterator[tuple[int, str, int, str | None]]:
    """Yield the time (ms from the first message), kind, order and slot of every card event."""
    first = None
    for message in messages:
        at = datetime.fromisoformat(message["payload"]["at"]).timestamp()
        first = at if first is None else first
        if message["topic"].endswith("/card"):
            seen = message["payload"]
            yield round(1000 * (at - first)), seen["event"], seen["order"], seen["slot"]


def _belonging(card: Json, outs: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    low, high = card["began_ms"] - BEFORE_MS, card["placed_ms"] + AFTER_MS
    return next((found for found in outs if low <= found[0] <= high), None)


def _judge(card: Json, at: int, tally: Exits) -> None:
    if at < card["out_ms"]:
        tally.early += 1
    elif at <= card["out_ms"] + IN_TIME_MS:
        tally.in_time += 1
    else:
        tally.late += 1
    tally.before_rest += card["out_ms"] <= at < card["placed_ms"]
