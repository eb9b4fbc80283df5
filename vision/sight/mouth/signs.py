"""What the mouth of the shoe shows: a card that leaves it, goes back, or shows its face."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class MouthSign(StrEnum):
    """One thing seen at the mouth of the shoe."""

    LEAVING = "leaving"  # the edge of a card has come out
    LEFT = "left"  # a card is wholly out
    RETURNED = "returned"  # a card that was out, or nearly, went back in
    EXPOSED = "exposed"  # a face shows in the mouth before its card is drawn
    FACE = "face"  # the same, but not so surely that nothing else need show it
    CUT = "cut"  # what left was the cut card
    TOGETHER = "together"  # two cards left as one


@dataclass(frozen=True, slots=True)
class MouthEvent:
    """A sign with its time (ms) and its probability (0 to 1)."""

    at: int
    sign: MouthSign
    probability: float
