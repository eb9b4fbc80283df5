"""Movements at the mouth of a shoe: keys over time, and a card that moves along them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .shoes import Kind, Lying

Channel = list[tuple[float, float]]
# Keys of one movement: fewer, and a long one is seen to be made of straight pieces.
KEYS = 13


@dataclass(eq=False)
class Moving:
    """A card that is drawn or carried by: its channels over time, what it shows and until when."""

    kind: Kind
    number: int
    drawn: bool
    born: float
    gone: float = np.inf
    turned: float = np.inf  # from then on it shows its face
    follows: bool = False  # the second of two drawn as one
    under: bool = False  # and lies beneath the first
    channels: dict[str, Channel] = field(default_factory=dict)

    def at(self, time: float) -> Lying | None:
        """Return the card at an instant, None before it moves and after it is gone."""
        if not self.born <= time < self.gone:
            return None
        now = {name: value_at(keys, time) for name, keys in self.channels.items()}
        kind = Kind.FACE if time >= self.turned else self.kind
        return Lying(now["x"], now["y"], now["turn"], kind, self.number, now["lift"])


def value_at(keys: Channel, time: float) -> float:
    """Return a channel's value at a time, s."""
    times = [key[0] for key in keys]
    return float(np.interp(time, times, [key[1] for key in keys]))


def eased(start: float, end: float, begin: float, until: float) -> Channel:
    """Return keys of a movement that starts and ends gently."""
    share = np.linspace(0, 1, KEYS)
    smooth = share * share * (3 - 2 * share)
    return [
        (float(begin + (until - begin) * s), float(start + (end - start) * v))
        for s, v in zip(share, smooth, strict=True)
    ]
