"""The rules of one house as a value: how it deals, what may be staked, under which name."""

from __future__ import annotations

from dataclasses import dataclass, replace

from vision.game.rules import Dealing, Rules
from vision.game.wagers import Betting


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
