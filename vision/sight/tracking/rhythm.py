"""How often a table is looked at, and which looks follow upon one another.

A machine that is too slow looks every 0.3 s, and what lies then where it lay at the look before is
the same thing. But where looks are as frequent as ever and one pause is as long (no picture came,
or nothing moved), a card may have been taken from a place and another laid there meanwhile.
"""

from __future__ import annotations

from collections import deque

OFTEN_MS = 200  # looks this near to each other always follow upon one another
LONGEST_MS = 1000  # and those further apart never do: a dealer turns and lays a card in that time
# A pause longer than the longest of the last few looks by this factor is out of rhythm: a machine
# that shares its time does not take the same for each look.
UNEVEN, REMEMBERED = 2.0, 4


class Rhythm:
    """The time between looks; times in ms."""

    def __init__(self) -> None:
        self._looked_at: int | None = None
        self._gaps: deque[int] = deque(maxlen=REMEMBERED)

    def since(self, at: int) -> int:
        """Take in a look; what was seen since the moment returned was seen at the look before.

        That is the look before, or now where it does not count.
        """
        before, self._looked_at = self._looked_at, at
        if before is None or not 0 < at - before <= LONGEST_MS:
            return at
        gap = at - before
        usual = gap <= max(OFTEN_MS, UNEVEN * max(self._gaps, default=0))
        self._gaps.append(gap)
        return before if usual else at
