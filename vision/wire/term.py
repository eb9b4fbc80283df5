"""Whose messages of a table count where two readers stand by at it: one rule for every consumer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Term:
    """The newest term seen of a table, on any topic, and the lowest number seen with it.

    A message of an older term counts only if it has a number of its own and that number is lower:
    it was said before the takeover, and is sent again by whoever speaks now. All else of an older
    term is of a reader that has been overtaken: its last will, or what its connection let out late.
    """

    number: int = 0
    since: int = 0

    def admits(self, term: int, seq: int, *, counted: bool) -> bool:
        """Whether a message counts; take note of its term.

        `counted`: the number is its own, and not that of the last counted message.
        """
        if term < self.number:
            return counted and seq < self.since
        if term > self.number:
            self.number, self.since = term, seq + (not counted)
        elif counted:
            self.since = min(self.since, seq)
        return True
