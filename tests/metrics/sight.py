"""What sight counts, as a test sets it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class SightCounts:
    """Counts of a supervisor that nobody watches with."""

    looked: int = 0
    outages: int = 0
    blind: bool = False
    canary_failures: int = 0
    canary_complaint: str | None = None
