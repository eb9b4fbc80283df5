"""Whose messages of a table count where two readers stand by at it: one rule for every consumer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

# Takeovers that may lie between two messages that a consumer hears; more, and the term is one that
# somebody made up until `STEADY` messages in a row say the same. Fewer makes a consumer that was
# away for a while drop the first messages, more lets one false message drop more true ones.
LEAP = 3
# Messages in a row, without one that the known term admits, that are believed against it. Fewer
# lets single false messages count, more has a false term drop as many true messages.
STEADY = 3
# Says whether the signature of a term (`term_proof`) is one that counts.
Proves = Callable[[int, str], bool]


def unproven(_term: int, _proof: str) -> bool:
    """Let every term count: of a table whose terms nobody signs."""
    return True


@dataclass(slots=True)
class Term:
    """The newest term seen of a table, on any topic, and the lowest number seen with it.

    A message of an older term counts only if it has a number of its own and that number is lower:
    it was said before the takeover, and is sent again by whoever speaks now. All else of an older
    term is of a reader that has been overtaken: its last will, or what its connection let out late.

    No reader that was overtaken says anything new with a number of its own, for the house's store
    refuses it. So `STEADY` such messages in a row show that the known term was a false one, and a
    term that somebody made up silences a table for so many messages at most.
    """

    number: int = 0
    since: int = 0
    _claimed: int = field(default=0, compare=False)
    _claims: int = field(default=0, compare=False)

    def admits(self, term: int, seq: int, *, counted: bool) -> bool:
        """Whether a message counts; take note of its term.

        `counted`: the number is its own, and not that of the last counted message.
        """
        is_first = not (self.number or self.since)
        is_leap = term > self.number + LEAP and not is_first
        is_late = term < self.number and not (counted and seq < self.since)
        if is_leap or is_late:
            return self._overrules(term, seq, counted=counted)
        if term >= self.number:
            self._claims = 0
            if term > self.number:
                self.number, self.since = term, seq + (not counted)
            elif counted:
                self.since = min(self.since, seq)
        return True

    def _overrules(self, term: int, seq: int, *, counted: bool) -> bool:
        if not counted:  # a will, or `health` of a reader that hung
            return False
        self._claims = self._claims + 1 if term == self._claimed else 1
        self._claimed = term
        if self._claims < STEADY:
            return False
        self.number, self.since, self._claims = term, seq, 0
        return True
