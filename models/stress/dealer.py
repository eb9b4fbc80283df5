"""A simulated dealer: moves the cards of a coup over the table in one of the styles."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from enum import StrEnum

from datasets.dealing.deal import Coup, Drawn
from models.stress.styles import Style
from models.stress.world import Piece, Prop, Reach, World
from vision.game.events import Slot
from vision.sight.detection.detector import Kind
from vision.sight.geometry.plane import Pose
from vision.sight.mouth.signs import MouthSign

LEAVING_MM = 95.0  # how far a card slides until it is wholly out of the mouth


class Trick(StrEnum):
    """What a dealer can do wrong with his hands, whatever the cards; the fault's code."""

    TWO_CARDS_OUT = "TWO_CARDS_OUT"
    RETURNED = "RETURNED_TO_SHOE"
    SWITCH = "SWITCH"
    TAKEN_OFF = "WRONG_REMOVED"
    EXPOSED = "EXPOSED_IN_SHOE"
    FACE_DOWN = "UNREAD"


@dataclass(slots=True)
class Dealt:
    """One coup on the table: when it began and ended, and what the mouth truly showed (s)."""

    coup: Coup
    trick: Trick | None
    began: float
    ended: float = 0.0
    signs: list[tuple[float, MouthSign]] = field(default_factory=list)

    def covers(self, at: int) -> bool:
        """Whether a time (ms) lies within the coup."""
        return self.began <= at / 1000 <= self.ended


@dataclass(slots=True)
class Dealer:
    """Deals coups into a world from the time `now` (s) on."""

    world: World
    style: Style
    rng: random.Random
    pace: float
    now: float = 2.0
    dealt: Dealt | None = None  # the coup that is being dealt
    at_place: dict[str, Prop] = field(default_factory=dict)

    def deal(self, coup: Coup, trick: Trick | None) -> Dealt:
        """Deal a coup, turn its cards, wait for the bets to be paid, and clear it."""
        self.dealt = Dealt(coup, trick, self.now)
        self.at_place = {}
        number = self.rng.randrange(1, 4)  # the card that a trick is done with
        index, last = 0, sum(card.card is not None for card in coup.drawn)
        for card in coup.drawn:
            if card.card is None:
                self._draw_cut_card()
                self._wait(0.15, 0.7)
                continue
            if index == 4:
                self._turn_first_four(trick)
                self._wait(0.6, 1.5)
            if trick is Trick.TAKEN_OFF and index == 3:
                self._take_off()
            self._draw(card, index, trick if index == number else None)
            self._wait(0.15, 0.7)
            index += 1
        if last <= 4:
            self._turn_first_four(trick)
        if trick is Trick.SWITCH:
            self._wait(1.5, 3.0)
            self._switch()
        self._wait(1.5, 5.0)
        self._clear()
        self.dealt.ended = self.now
        self._wait(1.0, 4.0)
        return self.dealt

    # --- drawing and laying ----------------------------------------------------------------------

    def _draw(self, drawn: Drawn, index: int, trick: Trick | None) -> None:
        if trick is Trick.RETURNED:
            self._draw_and_return(drawn)
        together = trick is Trick.TWO_CARDS_OUT
        if trick is Trick.EXPOSED:
            self._expose(drawn)
        card = self._leave(drawn, MouthSign.TOGETHER if together else MouthSign.LEFT)
        if trick is Trick.EXPOSED:
            card.pieces[0] = replace_kind(card.pieces[0], Kind.FACE)
        stays_down = self.dealt is not None and self.dealt.trick is Trick.FACE_DOWN and index == 3
        place = self._place(drawn)
        up = self._carry(card, place, turn_now=not self._turns_late(index) and not stays_down)
        self.at_place[drawn.place] = card
        if not up and not self._turns_late(index) and not stays_down:
            self._wait(0.1, 0.6)
            self._turn(card)
        if self.style.squares and self.rng.random() < 0.5:
            self._square_up(card)

    def _turns_late(self, index: int) -> bool:
        return self.style.four_down and index < 4

    def _place(self, drawn: Drawn) -> Pose:
        """Return where the dealer lays a card, as untidily as people do."""
        if drawn.slot is None:  # a fourth card: across the third
            home = self.world.layout.places[Slot.PUNTO_3 if "P" in drawn.place[0] else Slot.BANCO_3]
            home = Pose(home.x, home.y + 45, home.angle)
        else:
            home = self.world.layout.places[drawn.slot]
        gauss = self.rng.gauss
        over = self.rng.uniform(20, 32) if self.style.half_over else 0.0
        return Pose(
            home.x + gauss(0, 5), home.y + gauss(0, 5) + over, (home.angle + gauss(0, 4)) % 180
        )

    def _leave(self, drawn: Drawn, sign: MouthSign) -> Prop:
        """Slide a card out of the mouth under the fingers."""
        mouth = self.world.layout.mouth
        card = Prop(drawn.card, self.now, mouth, Kind.BACK)
        out = self._outside(LEAVING_MM)
        took = self.rng.uniform(0.18, 0.35) / self.pace
        card.move(self.now, self.now + took, out, Kind.BACK)
        self._hand(took, self._beside(mouth, 75), self._beside(out, 75))
        self._sign(self.now, MouthSign.LEAVING)
        card.out_at = self.now + took
        self._sign(card.out_at, sign)
        self._advance(took)
        self.world.cards.append(card)
        return card

    def _draw_and_return(self, drawn: Drawn) -> None:
        """Draw a card wholly, see the mistake and push it back."""
        card = self._leave(drawn, MouthSign.LEFT)
        self._wait(0.2, 0.6, hand=self._beside(card.last_pose(), 75))
        took = self.rng.uniform(0.4, 0.8)
        mouth = self.world.layout.mouth
        self._hand(took, self._beside(card.last_pose(), 75), self._beside(mouth, 75))
        card.move(self.now, self.now + took, mouth, Kind.BACK)
        self._advance(took)
        card.gone = self.now
        self._sign(self.now, MouthSign.RETURNED)
        self._wait(1.0, 2.0)

    def _draw_cut_card(self) -> None:
        mouth = self.world.layout.mouth
        card = Prop(None, self.now, mouth, Kind.CUT)
        took = 0.4
        card.move(self.now, self.now + took, self._outside(LEAVING_MM), Kind.CUT)
        self._hand(took, self._beside(mouth, 75), self._beside(card.last_pose(), 75))
        self._sign(self.now, MouthSign.LEAVING)
        self._sign(self.now + took, MouthSign.CUT)
        self._advance(took)
        card.out_at = self.now
        aside = Pose(self.world.layout.discard.x, self.world.layout.discard.y + 20, 10)
        self._travel(card, aside, Kind.CUT, grip=75, speed=900)
        card.gone = self.now
        self.world.cards.append(card)

    def _expose(self, drawn: Drawn) -> None:
        """Let the next card's face lie open in the mouth."""
        self._sign(self.now, MouthSign.EXPOSED)
        card = Prop(drawn.card, self.now, self.world.layout.mouth, Kind.FACE)
        self._wait(1.0, 2.0)
        card.gone = self.now
        self.world.cards.append(card)

    def _carry(self, card: Prop, place: Pose, *, turn_now: bool) -> bool:
        """Bring a card to its place; return whether it lies on its back."""
        style, rng = self.style, self.rng
        kind, up = Kind.BACK, False
        if turn_now and style.turning in ("drawn", "shoe"):
            near = self._outside(LEAVING_MM + (20 if style.turning == "drawn" else 60))
            self._edge(card, near, rng.uniform(0.08, 0.2))
            kind, up = Kind.FACE, True
        if turn_now and style.turning == "air":
            before = card.last_pose()
            half = Pose((before.x + place.x) / 2, (before.y + place.y) / 2, place.angle)
            self._travel(card, half, Kind.BACK, grip=60, speed=900)
            self._edge(card, half, rng.uniform(0.1, 0.2))
            kind, up = Kind.FACE, True
        if style.transfer == "slid":
            self._travel(card, place, kind, grip=5, speed=850)
        elif style.transfer == "pitched":
            self._travel(card, place, kind, grip=None, speed=1800)
        else:
            self._travel(card, place, kind, grip=68, speed=900)
        if style.stays_s:
            self._wait(0.3 * style.stays_s, style.stays_s, hand=self._beside(place, 30))
        return up

    def _travel(
        self, card: Prop, to: Pose, kind: Kind, *, grip: float | None, speed: float
    ) -> None:
        """Move a card, under a hand that holds it `grip` mm from its middle."""
        before = card.last_pose()
        took = max(0.15, before.distance(to) / (speed * self.pace * self.rng.uniform(0.8, 1.2)))
        card.move(self.now, self.now + took, to, kind)
        if grip is not None:
            self._hand(took, self._beside(before, grip), self._beside(to, grip))
        self._advance(took)
        if grip is not None:
            self._retreat(self._beside(to, grip))

    # --- turning ---------------------------------------------------------------------------------

    def _turn_first_four(self, trick: Trick | None) -> None:
        """Turn Punto's cards, then Banco's, where they were laid on their faces."""
        if not self.style.four_down:
            return
        for slot in (Slot.PUNTO_1, Slot.PUNTO_2, Slot.BANCO_1, Slot.BANCO_2):
            card = self.at_place.get(slot.name)
            if card is None or (trick is Trick.FACE_DOWN and slot is Slot.BANCO_2):
                continue
            self._turn(card)
            self._wait(0.1, 0.4)

    def _turn(self, card: Prop) -> None:
        """Turn a card that lies on its face, as the style has it."""
        rng, lies = self.rng, card.last_pose()
        gauss = rng.gauss
        if self.style.turning == "beside":
            beside = Pose(lies.x + gauss(0, 8), lies.y - rng.uniform(70, 95), lies.angle)
            self._travel(card, beside, Kind.BACK, grip=60, speed=500)
            self._edge(card, beside, rng.uniform(0.1, 0.2))
            back = Pose(lies.x + gauss(0, 8), lies.y + gauss(0, 8), lies.angle)
            self._travel(card, back, Kind.FACE, grip=60, speed=500)
            return
        lean = -self.style.slant if self.style.turning == "other-hand" else self.style.slant
        reach = self._beside(lies, 40)
        took = rng.uniform(0.15, 0.3) / self.pace
        self._hand(took, reach, reach, lean)
        self._advance(took)
        there = Pose(lies.x + gauss(0, 12), lies.y + gauss(0, 8), (lies.angle + gauss(0, 5)) % 180)
        self._edge(card, there, rng.uniform(0.1, 0.22), lean)
        self._retreat(self._beside(there, 40), lean)

    def _edge(self, card: Prop, to: Pose, took: float, lean: float | None = None) -> None:
        """Turn a card over: on its edge for a moment, then face up."""
        card.move(self.now, self.now + took, to, None)
        self._hand(took, self._beside(to, 50), self._beside(to, 50), lean)
        self._advance(took)
        card.move(self.now, self.now + 0.08, to, Kind.FACE)
        self._advance(0.08)

    def _square_up(self, card: Prop) -> None:
        lies, gauss = card.last_pose(), self.rng.gauss
        straight = Pose(
            lies.x + gauss(0, 7), lies.y + gauss(0, 7), (lies.angle + gauss(0, 3)) % 180
        )
        kind = card.kind
        self._hand(0.25, self._beside(lies, 25), self._beside(straight, 25))
        card.move(self.now, self.now + 0.25, straight, kind)
        self._advance(0.25)

    # --- clearing and faults ---------------------------------------------------------------------

    def _clear(self) -> None:
        """Take the hands off the layout, in the manner of the style."""
        punto = [card for place, card in self.at_place.items() if place.startswith("P")]
        banco = [card for place, card in self.at_place.items() if place.startswith("B")]
        if self.style.clearing == "one-by-one":
            groups = [[card] for card in (*banco, *punto)]
        elif self.style.clearing == "two-goes":
            groups = [banco, punto]
        else:
            groups = [[*banco, *punto]]
        for group in groups:
            self._sweep(group)

    def _sweep(self, group: list[Prop]) -> None:
        """Push cards together under a hand and carry them to the discard."""
        if not group:
            return
        discard = self.world.layout.discard
        poses = sorted((card.last_pose() for card in group), key=lambda p: -p.distance(discard))
        before = poses[0]
        took = self.rng.uniform(0.8, 1.3) / self.pace
        end = Pose(discard.x + self.rng.gauss(0, 8), discard.y + self.rng.gauss(0, 8), 20)
        far = before.distance(end)
        for card in group:
            lies = card.last_pose()
            # The hand reaches it on its way; from there it goes with the hand.
            late = self.now + took * max(0.0, (far - lies.distance(end)) / far)
            card.move(min(late, self.now + 0.8 * took), self.now + took, end, card.kind)
            card.gone = self.now + took
        self._hand(took, self._beside(before, 30), self._beside(end, 30))
        self._advance(took)
        self._retreat(self._beside(end, 30))

    def _take_off(self) -> None:
        """Take a card off the layout before the coup is over."""
        place = self.rng.choice(sorted(self.at_place))
        self._wait(0.5, 1.0)
        self._sweep([self.at_place.pop(place)])
        self._wait(4.0, 5.0)

    def _switch(self) -> None:
        """Change a card that lies open for another from the sleeve."""
        place = self.rng.choice(sorted(self.at_place))
        old = self.at_place[place]
        lies = old.last_pose()
        over = self._beside(lies, 5)
        self._hand(0.6, over, over)
        old.gone = self.now + 0.3
        others = [c.card for c in self.world.cards if c.card and old.card and c.card != old.card]
        new = Prop(self.rng.choice(others), self.now + 0.3, lies, Kind.FACE)
        new.gone = old.gone
        self.world.cards.append(new)
        self._advance(0.6)
        self.at_place[place] = new
        self._retreat(over)

    # --- hands and time --------------------------------------------------------------------------

    def _sign(self, at: float, sign: MouthSign) -> None:
        if self.dealt is not None:
            self.dealt.signs.append((at, sign))

    def _outside(self, far: float) -> Pose:
        """Return the pose of a card that was slid so far out of the mouth, mm."""
        mouth, layout = self.world.layout.mouth, self.world.layout
        middle = (layout.places[Slot.PUNTO_1].x + layout.places[Slot.BANCO_1].x) / 2
        side = 1 if middle > mouth.x else -1
        return Pose(mouth.x + 0.8 * far * side, mouth.y + 0.6 * far, mouth.angle)

    def _beside(self, pose: Pose, grip: float) -> tuple[float, float]:
        """Return where the palm is that holds a card `grip` mm from its middle."""
        return (pose.x + 0.3 * grip * self.style.slant, pose.y - grip)

    def _hand(
        self,
        took: float,
        before: tuple[float, float],
        after: tuple[float, float],
        lean: float | None = None,
    ) -> None:
        lean = self.style.slant if lean is None else lean
        self.world.hands.append(Reach(self.now, self.now + took, before, after, lean))

    def _retreat(self, palm: tuple[float, float], lean: float | None = None) -> None:
        """Take the hand away while time goes on for whatever comes next."""
        lean = self.style.slant if lean is None else lean
        away = (palm[0] + 200 * lean, palm[1] - 500)
        self.world.hands.append(Reach(self.now, self.now + 0.3 / self.pace, palm, away, lean))
        self.world.active.append((self.now, self.now + 0.3 / self.pace))

    def _advance(self, took: float) -> None:
        self.world.active.append((self.now, self.now + took))
        self.now += took

    def _wait(self, least: float, most: float, hand: tuple[float, float] | None = None) -> None:
        took = self.rng.uniform(least, most) / self.pace
        if hand is not None:
            self._hand(took, hand, hand)
            self._advance(took)
        else:
            self.now += took


def replace_kind(piece: Piece, kind: Kind) -> Piece:
    """Return a stretch of movement in which the card shows another side."""
    return Piece(piece.start, piece.end, piece.before, piece.after, kind)
