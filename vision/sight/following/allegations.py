"""What sight alone can allege of a coup, each code with the odds at which it was first alleged.

Faults of the layout are found by the rules. Here is what a layout does not show: a card that went
back into the shoe, two that left as one, a switched, foreign or early exposed card, a card drawn
over lying hands, and cards that moved while the reader was off.
"""

from __future__ import annotations

import math
from collections.abc import Container
from dataclasses import dataclass, field

from vision.game.events import Allegation
from vision.sight.following.decisions import Account, lies
from vision.sight.following.evidence import Values
from vision.sight.following.procedure import FIRST_CARDS, RETURNED, TWO_OUT
from vision.sight.following.world import HAND, SHOE, is_gone
from vision.sight.reading.faces import Face

# The odds that are stated of what is read off a face or a side of which sight is sure (`PLACED`).
SURE_ODDS = 100.0


@dataclass(frozen=True, slots=True)
class Restart:
    """What lay on the table when the log ended: the slots that were taken.

    It is compared with what lies there at `until` (ms); `over`: it may have been cleared meanwhile.
    """

    until: int
    lay: frozenset[int]
    over: bool


@dataclass(slots=True)
class Allegations:
    """The allegations of one coup, by code and by the card's number in the coup, from 0.

    `least` are the odds from which on a departure from procedure is alleged.
    """

    least: float
    restart: Restart | None = None
    _found: dict[tuple[str, int | None], float] = field(default_factory=dict)
    _early: dict[int, float] = field(default_factory=dict)  # ln, by slot of the coup before

    def told(self, first: int) -> tuple[Allegation, ...]:
        """Return them as they are told, of a coup whose first card has that order."""
        return tuple(
            Allegation(code, None if number is None else first + number, odds)
            for (code, number), odds in self._found.items()
        )

    def take_cards(self, account: Account) -> None:
        """Take which cards went back, and whether two left as one."""
        for number, card in enumerate(account.cards):
            odds = account.odds.get(RETURNED, 0.0) if card.place == SHOE else 0.0
            self._set(RETURNED, number, odds, holds=odds >= self.least)
        odds = account.odds.get(TWO_OUT, 0.0)
        self._set(TWO_OUT, None, odds, holds=odds >= self.least)

    def take_face(self, number: int, face: Face) -> None:
        """Take what is read of a card."""
        self._set("SWITCH", number, SURE_ODDS, holds=face.switched is not None)
        self._set("FOREIGN_CARD", number, SURE_ODDS, holds=bool(face.foreign))

    def take_exposed(self, account: Account) -> None:
        """Take which cards lie open before all four do, where they are dealt face down."""
        laid = sum(slot is not None for slot in account.layout)
        if not account.is_laid or laid >= FIRST_CARDS:
            return
        for number, card in enumerate(account.cards):
            if card.face_up and lies(card.place) and card.slot is not None:
                self._found.setdefault(("EXPOSED_EARLY", number), SURE_ODDS)

    def take_flashed(self, number: int) -> None:
        """Take that a card showed its face in the hand."""
        self._found.setdefault(("EXPOSED_EARLY", number), SURE_ODDS)

    def take_before(self, before: Account, values: Values, taken: Container[int | None]) -> None:
        """Add up whether cards of the coup before still lie, but in slots that this one has.

        A slot that once looked rather empty stays so: what shows there later passes over it.
        `values` are the log-likelihoods (3 x 6) of empty, back and face.
        """
        for card in before.cards:
            if card.slot is None or card.slot in taken or not is_gone(card.place):
                continue
            known = self._early.get(card.slot, 0.0)
            if known >= 0:
                said = float(values[2, card.slot] - values[0, card.slot])
                self._early[card.slot] = known + said
        odds = math.exp(min(20.0, max(self._early.values(), default=0.0)))
        if odds >= self.least:
            self._found.setdefault(("EARLY_DEAL", 0), rounded(odds))

    def check_restart(self, at: int, account: Account) -> None:
        """Ask for a confirmation where other cards lie than before the reader was off."""
        restart = self.restart
        if restart is None or at < restart.until:
            return
        self.restart = None
        # Cards that were seen to leave the shoe meanwhile are no other cards.
        known = (card for card in account.cards if card.found or card.place in restart.lay)
        lying = frozenset(card.place for card in known if card.place < HAND)
        if lying != restart.lay and not (restart.over and not lying - restart.lay):
            self._found["RESTART_CONFIRM", None] = SURE_ODDS

    def _set(self, code: str, number: int | None, odds: float, *, holds: bool) -> None:
        """Keep an allegation, with the odds at which it was made, for as long as it holds."""
        if holds:
            self._found.setdefault((code, number), rounded(odds))
        else:
            self._found.pop((code, number), None)


def rounded(odds: float) -> float:
    """Return odds with one digit: more are not known."""
    return float(f"{odds:.0e}")
