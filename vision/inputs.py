"""What a table's journal takes: events that were seen, and events that a person ordered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vision.edge.gate import Signed
from vision.game.events import Event


@dataclass(frozen=True, slots=True)
class Ordered:
    """An event that a person ordered, and the order as it was signed: the log keeps both."""

    event: Event
    signed: Signed


Input = Event | Ordered


def event_of(item: Input) -> Event:
    """Return the event itself."""
    return item.event if isinstance(item, Ordered) else item


def order_of(item: Input) -> Mapping[str, object] | None:
    """Return the order behind it as the log keeps it, if there was one."""
    return item.signed.record() if isinstance(item, Ordered) else None
