"""Where the pages have recorded what people do, before they answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from vision.record.facts import Fact


class Recorder(Protocol):
    """Keeps orders and facts for the logs of the tables, on the disk when a method returns.

    Without a `table` they are for all. OutsideError where they cannot be kept.
    """

    def order(self, name: str, fields: Mapping[str, Any], table: str = "") -> None:
        """Keep an order that the server gives for a person, such as a log-in."""

    def fact(self, kind: Fact, *, table: str = "", **fields: str) -> None:
        """Keep a fact: `subject`, `detail`, `by` and `role`, of which each may be left out."""
