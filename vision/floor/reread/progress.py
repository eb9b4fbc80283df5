"""Say how far a run has come and what it has cost: a line that renews itself on a terminal."""

from __future__ import annotations

import sys
import time

from vision.floor.reread.pieces import PieceCost

BAR = 24  # characters of the bar
# Seconds between two lines where nobody sits at a terminal: a log stays short.
QUIET_EVERY_S = 30.0


class Progress:
    """Counts pieces and their costs; `price` is of an hour of a core, in any currency."""

    def __init__(self, *, price: float = 0.0) -> None:
        self.core_s = 0.0
        self.moved = 0
        self.read = 0
        self.kept = 0
        self.total = 0
        self._price = price
        self._terminal = sys.stderr.isatty()
        self._began_s = self._said_s = time.monotonic()

    def begin(self, total: int, kept: int) -> None:
        """Begin with so many pieces, of which so many are kept from before."""
        self.total, self.kept = total, kept
        self._began_s = time.monotonic()

    def add(self, cost: PieceCost) -> None:
        """Count a piece that was read."""
        self.read += 1
        self.core_s += cost.core_s
        self.moved += cost.moved
        self.show()

    def say(self, words: str) -> None:
        """Say something on a line of its own."""
        sys.stderr.write(f"\r\x1b[K{words}\n" if self._terminal else f"{words}\n")
        sys.stderr.flush()

    def show(self) -> None:
        """Renew the line."""
        now = time.monotonic()
        done = self.read + self.kept == self.total
        if self._terminal:
            sys.stderr.write(f"\r\x1b[K{self.line()}" + ("\n" if done else ""))
            sys.stderr.flush()
        elif done or now - self._said_s >= QUIET_EVERY_S:
            self._said_s = now
            self.say(self.line())

    def line(self) -> str:
        """Return how far it is, what it cost so far, and about how long it takes yet."""
        done = self.read + self.kept
        filled = BAR * done // max(1, self.total)
        left = ""
        if self.read > 0 and done < self.total:
            each = (time.monotonic() - self._began_s) / self.read
            left = f", about {each * (self.total - done) / 60:.0f} min left"
        bar = "#" * filled + "." * (BAR - filled)
        return f"[{bar}] {done}/{self.total} pieces, {self.cost()}{left}"

    def cost(self) -> str:
        """Return what was spent so far."""
        price = self._price * self.core_s / 3600
        money = f" = {price:.2f}" if self._price else ""
        return f"{self.core_s:.0f} core-seconds{money}, {self.moved / 1e6:.0f} MB moved"
