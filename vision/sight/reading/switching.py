"""Tell a switched card from a misread one: a sure face, hidden, then as surely another face.

A partly covered card is misread with full confidence, so another face by itself proves nothing. It
does where the card was read from several looks, was then hidden or lifted, and lies open, at rest
and uncovered for a second, all looks of which agree on another face. Meanwhile nothing is said.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vision.game.cards import DECK, Card
from vision.sight.detection.classifier import LEAST_READABLE, Look
from vision.sight.reading.fusion import LookFusion

# The values below were chosen by judgement; no film of a switched card was used to tune them.

# For how long, in ms, a card is out of clear sight before its face is checked again. Shorter checks
# cards that the detector missed once, which costs looks; longer overlooks a quick hand.
HIDDEN_MS = 200
# From how many looks a face must have been read, and from how many looks over how many ms the other
# face. Fewer or shorter, and a hand that stays on the card makes a misread a crime; more or longer,
# and a switched card that is soon cleared is told as READ_CONFLICT only.
SURE_LOOKS, SURE_MS = 4, 1000


class FaceLook(NamedTuple):
    """A readable look at a card: its log-probabilities, how readable, and whether pose changed."""

    log_p: NDArray[np.float32]
    readable: float
    changed: bool

    @property
    def face(self) -> Card:
        """The most probable face of this look alone."""
        return DECK[int(np.argmax(self.log_p))]


@dataclass(slots=True, eq=False)
class SwitchCheck:
    """The looks at a card that was read, hidden, and is open again; times in ms."""

    looks_before: int = 0
    hidden_since: int | None = None
    since: int | None = None  # since when the card has been open again; `None`: no check is on
    looks: list[FaceLook] = field(default_factory=list)

    @property
    def is_on(self) -> bool:
        """Whether the card's face is being checked."""
        return self.since is not None

    def note(self, at: int, looks: int, *, clear: bool) -> None:
        """Take whether a card that was read from so many looks lies in clear sight."""
        if not clear:
            if self.hidden_since is None:
                self.hidden_since = at
                # A card hidden during the check is not known by what was seen in it.
                self.looks_before = self.looks_before if self.is_on else looks
            if at - self.hidden_since >= HIDDEN_MS:
                self.since = None
            return
        if self.hidden_since is not None and at - self.hidden_since >= HIDDEN_MS:
            self.since, self.looks = at, []
        self.hidden_since = None

    def take(self, at: int, look: Look, *, changed: bool) -> bool:
        """Take a look during the check; return whether it was the last that is needed."""
        if look.readable >= LEAST_READABLE:
            self.looks.append(FaceLook(look.log_p, look.readable, changed or not self.looks))
        enough = len(self.looks) >= SURE_LOOKS
        return enough and self.since is not None and at - self.since >= SURE_MS

    def end(self) -> LookFusion | None:
        """End the check; return its looks fused, `None` if they or those before prove nothing."""
        self.since = None
        if self.looks_before < SURE_LOOKS or len({seen.face for seen in self.looks}) > 1:
            return None
        fusion = LookFusion()
        for seen in self.looks:
            fusion.add(seen.log_p, seen.readable, changed=seen.changed)
        return fusion
