"""The ways in which simulated dealers handle cards; half of them are held out from tuning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Transfer = Literal["slid", "pitched", "carried"]
Turning = Literal["drawn", "air", "place", "beside", "shoe", "other-hand"]
Clearing = Literal["one-sweep", "one-by-one", "two-goes"]


@dataclass(frozen=True, slots=True)
class Style:
    """One dealer: how a card travels, is turned, is left lying and is cleared.

    `four_down` lays the first four on their faces and turns Punto's, then Banco's. `slant` is how
    far the forearm leans to a side (0: straight from the dealer). `half_over` lays cards over the
    line of their place, `squares` nudges them, `stays_s` is how long a hand rests on the card.
    """

    name: str
    transfer: Transfer
    turning: Turning
    clearing: Clearing
    four_down: bool = False
    slant: float = 0.4
    half_over: bool = False
    squares: bool = False
    stays_s: float = 0.0


HELD_OUT = (
    Style("slid, turned in place", "slid", "place", "one-sweep"),
    Style("carried, turned in the air", "carried", "air", "one-by-one", slant=-0.4, squares=True),
    Style("pitched, turned in place", "pitched", "place", "two-goes"),
    Style("carried face up", "carried", "drawn", "one-sweep", slant=0.8),
    Style("slid, four down", "slid", "place", "one-by-one", four_down=True, stays_s=0.8),
    Style("turned by the other hand", "carried", "other-hand", "one-sweep", four_down=True),
)
TUNED = (
    Style("turned beside, pushed back", "carried", "beside", "two-goes", slant=-0.8),
    Style("turned against the shoe", "carried", "shoe", "one-by-one", stays_s=0.5),
    Style("pitched, turned beside", "pitched", "beside", "one-sweep", four_down=True),
    Style("slid face up, half over the line", "slid", "drawn", "one-by-one", half_over=True),
    Style("pitched, squared up", "pitched", "other-hand", "one-sweep", squares=True, stays_s=1.5),
    Style("slid, turned in the air", "slid", "air", "two-goes", slant=0.8, half_over=True),
)
