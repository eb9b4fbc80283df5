"""The part of a house's rules that decides how a coup and a shoe are dealt and watched."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from vision.game.events import Slot
from vision.game.tableau import DEAL_ORDER, STANDARD, Tableau
from vision.game.wagers import Betting


class Dealing(StrEnum):
    """How faces come to lie open."""

    FACE_UP = "face-up"
    FACE_DOWN = "face-down"
    PUNTO_FIRST = "punto-first"


class BurnKind(StrEnum):
    """How many cards are burned at the start of a shoe."""

    NONE = "none"
    VALUE = "value"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True)
class BurnRule:
    """The burn: none, as many as the first card counts, or a fixed number.

    With `VALUE` the first card is shown and as many more are burned as it counts: an ace `ace` (1
    or 11), tens and court cards ten. With `FIXED`, `cards` in all.
    """

    kind: BurnKind = BurnKind.VALUE
    cards: int = 0
    ace: int = 1


@dataclass(frozen=True, slots=True)
class Rules:
    """How a coup and a shoe are dealt, and how long the reader waits before it raises a fault.

    `cut_depth`: cards behind the cut card. `coups_after_cut`: full coups still dealt after the coup
    in which the cut card appears; `cut_first_is_last`: one fewer where it appears as the first card
    of a coup. `confidence_gate`: below it (0 to 1) a read whose second-best
    reading would decide otherwise is reported. The waits are milliseconds, chosen from how fast
    people deal and tuned on simulated films: shorter ones raise faults that mend themselves, longer
    ones raise them when the dealer has gone on.
    """

    decks: int = 8
    deal_order: tuple[Slot, ...] = DEAL_ORDER
    dealing: Dealing = Dealing.FACE_UP
    tableau: Tableau = STANDARD
    burn: BurnRule = BurnRule()
    cut_depth: int = 14
    coups_after_cut: int = 1
    cut_first_is_last: bool = False
    confidence_gate: float = 0.99
    due_after_ms: int = 5_000
    unaccounted_after_ms: int = 8_000
    unread_after_ms: int = 10_000
    removed_after_ms: int = 3_000

    def __post_init__(self) -> None:
        if sorted(self.deal_order) != sorted(DEAL_ORDER):
            raise ValueError("a deal order names each of the first two places of both hands once")

    @property
    def cards(self) -> int:
        """How many cards the shoe holds."""
        return 52 * self.decks


@dataclass(frozen=True, slots=True)
class Profile:
    """The rules of one house; `sheet` is the rule sheet (0 to 4) behind them, None for its own."""

    name: str
    title: str
    sheet: int | None
    rules: Rules
    betting: Betting

    def dealt(self, dealing: Dealing) -> Profile:
        """Return the profile as a table plays it that deals in that way."""
        return replace(self, rules=replace(self.rules, dealing=dealing))
