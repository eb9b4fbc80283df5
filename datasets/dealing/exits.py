"""When the reader said that a card left the shoe, against when it did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from vision.sight.quality.table_fit import BELIEVED

Json = dict[str, Any]
# An `out` is in time from the instant a card is wholly out until so long after it, ms: the figure
# that is promised. And from so long before, ms, half a picture of a quick camera: within the last
# millimetres nobody could say (`CLEAR_MM` of `datasets.mouth.answers`).
IN_TIME_MS, ALMOST_MS = 300, 20
# An `out` belongs to a card if it comes from so long before the card began to leave to so long
# after it lay, ms. Wider, and it is taken for its neighbour's.
BEFORE_MS, AFTER_MS = 300, 1500


@dataclass(slots=True)
class Exits:
    """Counts of cards that left the shoe: their `out` came early, in time, late or never.

    `withheld` are those, of all four, that were said together once the view was believed.
    `before_rest`: in time or late, but before the card lay. `placed`: its `out` is of the card that
    was then reported in the slot where it lay.
    """

    cards: int = 0
    early: int = 0
    in_time: int = 0
    late: int = 0
    never: int = 0
    withheld: int = 0
    before_rest: int = 0
    placed: int = 0

    def __str__(self) -> str:
        """Return the shares in words."""
        if not self.cards:
            return "no card left the shoe"
        percent, believed = 100 / self.cards, self.cards - self.withheld
        return (
            f"{self.cards} cards left the shoe: out said within {IN_TIME_MS / 1000:g} s "
            f"{self.in_time * percent:.1f} %, early {self.early * percent:.1f} %, late "
            f"{self.late * percent:.1f} %, never {self.never * percent:.1f} %; before it lay "
            f"{self.before_rest * percent:.1f} %; in the right place {self.placed * percent:.1f} %"
            f"; once the view was believed, in time {self.in_time} of {believed} "
            f"({100 * self.in_time / max(believed, 1):.1f} %)"
        )


def compare_exits(cards: Sequence[Json], messages: Sequence[Json], tally: Exits) -> None:
    """Count every card of the truth (in the order they left) by the `out` that belongs to it.

    One that is found where it lies is said to be out then. What is in time for a card belongs to
    it: otherwise, after one that was missed, each `out` would be taken for that of the card before.
    """
    events = list(_card_events(messages))
    outs = [(at, order) for at, kind, order, _ in events if kind in {"out", "found"}]
    slots = {order: slot for _, kind, order, slot in events if kind == "placed"}
    withheld, tally.cards = _withheld(outs), tally.cards + len(cards)
    belongs: dict[int, tuple[int, int]] = {}
    for window in (_in_time, _near):
        for number, card in enumerate(cards):
            low, high = window(card)
            own = next((found for found in outs if low <= found[0] <= high), None)
            if number not in belongs and own is not None:
                belongs[number] = own
                outs.remove(own)
    for number, card in enumerate(cards):
        if number not in belongs:
            tally.never += 1
        else:
            at, order = belongs[number]
            _judge(card, at, tally)
            tally.placed += slots.get(order) == card["slot"]
        in_time = number in belongs and belongs[number][0] <= _in_time(card)[1]
        tally.withheld += number < withheld and not in_time


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


def _withheld(outs: Sequence[tuple[int, int]]) -> int:
    """Return how many cards were said together, first of all: once a run the view is believed."""
    together = sum(at == outs[0][0] for at, _ in outs)
    return together if together >= BELIEVED else 0


def _in_time(card: Json) -> tuple[int, int]:
    """Return from when to when an `out` is in time, ms."""
    return card["out_ms"] - ALMOST_MS, card["out_ms"] + IN_TIME_MS


def _near(card: Json) -> tuple[int, int]:
    """Return from when to when an `out` may be that of a card, ms."""
    return card["began_ms"] - BEFORE_MS, card["placed_ms"] + AFTER_MS


def _judge(card: Json, at: int, tally: Exits) -> None:
    first, last = _in_time(card)
    if at < first:
        tally.early += 1
    elif at <= last:
        tally.in_time += 1
    else:
        tally.late += 1
    tally.before_rest += first <= at < card["placed_ms"]
