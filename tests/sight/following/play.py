"""A table as the witnesses would see it, without pictures: for tests of the decoder."""

from __future__ import annotations

import numpy as np

from vision.game.events import Slot
from vision.game.rules import Dealing, Rules
from vision.sight.following.cards import Lip
from vision.sight.following.decisions import Account, Accounts
from vision.sight.following.evidence import AtMouth
from vision.sight.following.hypotheses import Decoder, Hypothesis, TableObservation
from vision.sight.following.places import Elsewhere, Values
from vision.sight.following.procedure import Procedure

FRAME_MS = 50
# Log-likelihoods against what is shown: as sure as a good picture is.
SURE = 5.0


class Play:
    """Deals cards step by step; every method lets some frames go by.

    `points` of the cards that lie face up are read at once.
    """

    def __init__(self, dealing: Dealing = Dealing.FACE_UP, *, burn: float = 0.0) -> None:
        self.decoder = Decoder(Procedure(Rules(dealing=dealing)), burn=burn)
        self.accounts = Accounts(self.decoder)
        self.over: list[Account] = []
        self.at = 0
        self.lying: dict[int, tuple[int, int]] = {}  # slot: side (1 back, 2 face), points
        self.hidden: set[int] = set()
        self.aside = self.more_aside = False

    @property
    def best(self) -> Hypothesis:
        """The likeliest hypothesis."""
        return max(self.decoder.hypotheses, key=self.decoder.hypotheses.__getitem__)

    def wait(
        self,
        seconds: float,
        *shown: Lip,
        mouth: bool = True,
        hand: bool | None = None,
        still_at: int = 0,
    ) -> None:
        """Let time go by while the lip shows one of these states; a hand draws, or is there."""
        lips = shown or (Lip.REST,)
        there = bool(shown) or not mouth if hand is None else hand
        at_mouth = AtMouth(float(there), float(there))
        for _ in range(max(1, round(1000 * seconds / FRAME_MS))):
            self.at += FRAME_MS
            lip = np.array([0.0 if state in lips else -SURE for state in Lip])
            lip = lip if mouth else 0 * lip
            self.decoder.step(self.at, lip, self._shown(), mouth=at_mouth, still_at=still_at)
            self.over += self.accounts.take(self.at, looked=True)

    def _shown(self) -> TableObservation:
        slots: Values = np.full((3, len(Slot)), -SURE)
        for slot in range(len(Slot)):
            state = self.lying.get(slot, (0, 0))[0]
            slots[state, slot] = 0.0
            if slot in self.hidden:
                slots[:, slot] = 0.0
        reads = {slot: points for slot, (side, points) in self.lying.items() if side == 2}
        holds = (slots[1:].max(axis=0) > slots[0]).tolist()
        aside = (10.0 if self.aside else 0.5, 10.0 if self.more_aside else 0.5)
        return TableObservation.of(slots, holds, reads, Elsewhere(aside, 1.0))

    def draw(self, *, seen: bool = True) -> None:
        """Draw a card from the shoe into the hand; of one that is not seen the hand is."""
        if not seen:
            for seconds, hand in ((0.3, True), (1.0, False)):
                self.wait(seconds, Lip.REST, Lip.INSIDE, hand=hand)  # which look alike
            return
        self.wait(0.15, Lip.EMERGING, Lip.PARTLY)
        self.wait(0.15, Lip.WHOLLY, Lip.CLEAR)
        self.wait(0.3)

    def lay(self, slot: Slot, points: int, *, face_up: bool = True) -> None:
        """Lay the card that was drawn into a slot."""
        self.lying[int(slot)] = (2 if face_up else 1, points)
        self.wait(0.6)

    def deal(self, *cards: tuple[Slot, int], face_up: bool = True) -> None:
        """Draw and lay cards, each with its slot and points."""
        for slot, points in cards:
            self.draw()
            self.lay(slot, points, face_up=face_up)

    def sweep(self) -> None:
        """Take all cards off, under a hand."""
        self.hidden = set(range(len(Slot)))
        self.wait(0.4)
        self.lying, self.hidden, self.aside = {}, set(), False
        self.wait(1.0)

    def decided(self) -> Account:
        """Begin the next coup and wait until the one before is decided; return what is believed."""
        self.draw()
        self.lay(Slot.PUNTO_1, 1)
        self.wait(3.0)
        return self.over[-1]
