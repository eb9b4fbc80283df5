"""One table with the mouth of a shoe, drawn at random from above: cloth, shoe, cards, light.

Millimetres are those of the shoe: x along the exit with 0 where the front edge of the next card
lies at rest, y across. No shoe, dealer or camera in particular is meant: everything is drawn by
chance within what a shoe can be.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache

import cv2
import numpy as np

from vision.sight.detection.mouth import BACK_MM, CELL_MM, HEIGHT, WIDTH

from ..faces.registry import back_names, cut_card, deck_names, load_back, load_deck
from ..render import clutter, hands, surfaces
from ..render.paint import (
    Image,
    Points,
    blurred,
    fill,
    glare,
    inks,
    jpeg,
    lay,
    motion_blurred,
    noisy,
    paste,
    pyramid,
    shadow,
)

Rng = np.random.Generator
Levels = tuple[Image, ...]
# A picture is drawn with this many pixels a cell of the patch and then averaged, as a camera would.
_FINE = 2
_SCALE = _FINE / CELL_MM  # px per mm
_SIZE = (HEIGHT * _FINE, WIDTH * _FINE)
# Share of the hands in a long white or pale sleeve, which looks most like a card before the shoe;
# how many such sleeves there are a split, and their seeds.
_PALE, _SLEEVES, _SLEEVE_SEED = 0.4, 8, {"train": 71, "test": 72}
# Height in px of the card pictures that are laid down: half as fine again as they are seen.
_CARD_PX = 112


class Kind(IntEnum):
    """What a card shows upwards."""

    BACK = 0
    FACE = 1
    CUT = 2


@dataclass(frozen=True, slots=True)
class Lying:
    """A card over or in the shoe: its middle in mm, its turn (radians), what it shows."""

    x: float
    y: float
    turn: float
    kind: Kind
    number: int
    lift: float = 0.0


@dataclass(frozen=True, slots=True)
class Held:
    """A hand: where its grip is in mm, the turn of its arm (radians), over or under the cards.

    `limb` is the number of the one of the shoe's that it is.
    """

    x: float
    y: float
    turn: float
    under: bool = False
    limb: int = 0


@dataclass(frozen=True, slots=True)
class Thing:
    """A thing that moves past at x, y mm: one of the shoe's, by its number; -1 is a shadow."""

    x: float
    y: float
    number: int


@dataclass(frozen=True, slots=True)
class Moment:
    """What there is at one instant: what the next card in the shoe shows, cards out, hands.

    `rest_x` is how far its front edge is beyond where it rests, mm; less than 0 while it is coming.
    """

    rest: Kind
    rest_number: int
    cards: tuple[Lying, ...] = ()
    hands: tuple[Held, ...] = ()
    rest_x: float = 0.0
    things: tuple[Thing, ...] = ()


@dataclass(eq=False)
class Shoe:
    """A table with a shoe; `draw` pictures it at a moment, as the patch of the watcher."""

    rng: Rng
    split: str = "train"
    size: tuple[float, float] = (63.0, 88.0)  # of a card: along the exit, across
    endwise: bool = False  # whether cards leave short side first
    extent: Points = field(init=False)

    def __post_init__(self) -> None:
        rng = self.rng
        long, short = rng.choice([88.0, 88.0, 88.9]), rng.choice([63.0, 63.0, 57.2])
        self.endwise = bool(rng.random() < 0.12)
        self.size = (long, short) if self.endwise else (short, long)
        self._see()
        self._choose_cards()
        self._moved = [clutter.sprite(rng, split=self.split, chips=True) for _ in range(2)]
        self._limbs = [_dressed(rng, self.split) for _ in range(2)]
        self._big = float(rng.uniform(0.85, 1.2))
        self._side = float(rng.choice([-1, 1]))
        self._set_shoe()
        self._base = self._table()
        self._cover, self._walls = self._hood(), self._cheeks()
        self._grade = _grading(rng)

    def px(self, points: Points) -> Points:
        """Return the pixels (n, 2) of points (n, 2) mm."""
        found: Points = np.asarray(points, np.float64) @ self._linear.T + self._offset
        return found

    def card_mm(self, card: Lying) -> Points:
        """Return the corners (4, 2) mm of a card, clockwise, point 0 that of the upright card."""
        short, long = min(self.size), max(self.size)
        half = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * np.array([short, long]) / 2
        turn = card.turn + (np.pi / 2 if self.endwise else 0) + (card.number % 2) * np.pi
        cos, sin = np.cos(turn), np.sin(turn)
        size = 1 + card.lift / 900
        corners: Points = (half * size) @ np.array([[cos, sin], [-sin, cos]]) + (card.x, card.y)
        return corners

    def draw(self, moment: Moment, *, smear: float = 0.0, light: float = 1.0) -> Image:
        """Return the patch (HEIGHT x WIDTH x 3) at a moment, without noise.

        `smear` mm is how far things go along the exit during the exposure; `light` is how
        bright the lamps are.
        """
        image = self._base.copy()
        self._next_card(image, moment)
        inside = [card for card in moment.cards if card.x - self.size[0] / 2 < 2]
        outside = [card for card in moment.cards if card not in inside]
        for card in inside:
            self._card(image, card)
        for patch in (self._cover, self._walls):
            paste(image, patch, 0, 0)
        self._pushed(image, moment.things)
        for hand in moment.hands:
            if hand.under:
                self._hand(image, hand)
        for card in outside:
            self._card(image, card)
        for hand in moment.hands:
            self._hand(image, hand)
        if smear > 1.5:
            image = self._smeared(image, moment, smear * _SCALE)
        return self._lit(image, light)

    def camera(self, patch: Image, rng: Rng) -> Image:
        """Return a patch as this table's camera gives it: noise and compression."""
        seen = noisy(patch, rng, sigma=self._grain, chroma=0.5, grain=1)
        return jpeg(seen, self._quality) if self._quality < 96 else seen

    def _see(self) -> None:
        """Choose how the patch lies over the shoe, and the camera."""
        rng = self.rng
        turn = rng.normal(0, np.radians(6))
        scale = _SCALE * rng.uniform(0.92, 1.08)
        cos, sin = np.cos(turn), np.sin(turn)
        shear = np.array([[1, rng.normal(0, 0.03)], [rng.normal(0, 0.03), rng.uniform(0.94, 1.06)]])
        self._linear = scale * np.array([[cos, -sin], [sin, cos]]) @ shear
        at = np.array([BACK_MM + rng.uniform(-45, 28), HEIGHT * CELL_MM / 2 + rng.normal(0, 8)])
        self._offset = at * _SCALE
        inverse = np.linalg.inv(self._linear)
        border = np.array([[0, 0], [_SIZE[1], 0], [_SIZE[1], _SIZE[0]], [0, _SIZE[0]]])
        self.extent = (border - self._offset) @ inverse.T
        self._grain = float(rng.uniform(0.3, 3.5))
        self._quality = int(rng.choice([45, 60, 75, 90, 97]))
        self._soft = float(rng.choice([0.0, rng.uniform(0, 1.6)]))

    def _choose_cards(self) -> None:
        rng = self.rng
        names = back_names(self.split)
        decks = deck_names(self.split)
        deck = decks[int(rng.integers(len(decks)))]
        self._tint = inks(surfaces.recolour(rng, 0.2))
        self._cards: dict[Kind, list[Levels]] = {
            Kind.BACK: [_back(names[int(rng.integers(len(names)))])],
            Kind.FACE: [_face(deck, int(number)) for number in rng.integers(0, 52, 4)],
            Kind.CUT: [pyramid(_cut_card(rng))],
        }
        self._back_tint = inks(surfaces.recolour(rng, 0.5)) if rng.random() < 0.6 else self._tint

    def _set_shoe(self) -> None:
        """Choose the shoe's shape: where its cover ends, how much of the next card is seen."""
        rng = self.rng
        self._half = self.size[1] / 2 + float(rng.uniform(2, 18))
        # The cover ends this far behind the edge of the next card: 0 hides all but the edge.
        kind = rng.random()
        self._open = float(rng.uniform(-4, 4) if kind < 0.45 else rng.uniform(4, 50))
        self._notch = (
            None
            if rng.random() < 0.3
            else (float(rng.uniform(8, 30)), float(rng.uniform(8, 52)), float(rng.normal(0, 4)))
        )
        self._ramp = float(rng.choice([0.0, rng.uniform(0, 30)]))
        self._colour = _shoe_colour(rng)
        self._opacity = 1.0 if rng.random() < 0.65 else float(rng.uniform(0.15, 0.7))
        hollow = self._notch is not None and min(self._notch[:2]) > 10
        self.shows_rest = self._open > 8 or hollow or self._opacity < 1
        # Where the next card waits a part out, the cover ends at the lip: it is seen to rest there.
        self.waits = float(rng.uniform(8, 40)) if rng.random() < 0.3 else 0.0
        if self.waits:
            self._open = self.waits + float(rng.normal(0, 1.5))
            self.shows_rest = True

    def _table(self) -> Image:
        """Return the cloth with what is printed and lies on it, and the floor of the shoe."""
        rng = self.rng
        if rng.random() < 0.8:
            image = surfaces.felt(rng, _SIZE, surfaces.felt_colour(rng))
        else:
            image = surfaces.background(rng, _SIZE, split=self.split)
        self._print(image)
        for _ in range(int(rng.choice([0, 0, 1, 2, 4]))):
            self._thing(image)
        body = self._rectangle(-400, self._ramp, self._half + 4)
        offset = tuple(rng.normal(0, 6, 2) * _SCALE)
        soft, strength = float(rng.uniform(2, 14)) * _SCALE, float(rng.uniform(0.1, 0.6))
        shadow(image, self.px(body), soft=soft, strength=strength, offset=offset)
        floor = np.clip(self._colour * rng.uniform(0.3, 1.3), 0, 255)
        fill(image, self.px(self._rectangle(-400, self._ramp, self._half)), tuple(floor))
        return image

    def _print(self, image: Image) -> None:
        rng = self.rng
        for _ in range(int(rng.choice([0, 1, 2, 4]))):
            ink = tuple(
                float(v) for v in rng.choice([[230, 235, 235], [60, 190, 230], [40, 40, 190]])
            )
            middle = np.array([rng.uniform(10, 140), rng.uniform(-80, 80)])
            angle = float(rng.choice([0.0, np.pi / 2, rng.uniform(0, np.pi)]))
            thick = max(1, round(float(rng.uniform(1, 3.5)) * _SCALE))
            if rng.random() < 0.7:
                box = cv2.boxPoints(((float(middle[0]), float(middle[1])),
                                     tuple(float(v) for v in rng.uniform(40, 160, 2)),
                                     float(np.degrees(angle))))  # fmt: skip
                corners = np.round(self.px(box)).astype(np.int32)
                cv2.polylines(image, [corners], True, ink, thick, cv2.LINE_AA)
            else:
                at = tuple(int(v) for v in np.round(self.px(middle[None])[0]))
                cv2.circle(
                    image, at, round(float(rng.uniform(8, 60)) * _SCALE), ink, thick, cv2.LINE_AA
                )

    def _thing(self, image: Image) -> None:
        """Lay a thing on the cloth beside or before the shoe: mostly chips."""
        rng = self.rng
        thing = clutter.sprite(rng, split=self.split, chips=bool(rng.random() < 0.8))
        middle = np.array([rng.uniform(-60, 150), rng.choice([-1, 1]) * rng.uniform(45, 100)])
        if rng.random() < 0.3:
            middle = np.array([rng.uniform(70, 150), rng.uniform(-70, 70)])
        self._lay_thing(image, thing, middle, rng.uniform(0, 6.3))

    def _lay_thing(self, image: Image, thing: clutter.Sprite, middle: Points, turn: float) -> None:
        half = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * np.array(thing.size_mm) / 2
        cos, sin = np.cos(turn), np.sin(turn)
        quad = self.px(half @ np.array([[cos, sin], [-sin, cos]]) + middle)
        shadow(image, quad, soft=3, strength=0.3)
        lay(image, thing.levels, quad)

    def _pushed(self, image: Image, things: tuple[Thing, ...]) -> None:
        """Draw what is pushed past, and what shadows fall."""
        for thing in things:
            middle = np.array([thing.x, thing.y])
            if thing.number < 0:
                spot = cv2.boxPoints(((thing.x, thing.y), (60.0, 110.0), 20.0))
                shadow(image, self.px(spot), soft=12 * _SCALE, strength=0.4)
            else:
                self._lay_thing(image, self._moved[thing.number], middle, 0.0)

    def _rectangle(self, x0: float, x1: float, half: float) -> Points:
        return np.array([[x0, -half], [x1, -half], [x1, half], [x0, half]])

    def _hood(self) -> Image:
        """Return what covers the cards (premultiplied BGRA): a plate with a notch, if any."""
        rng = self.rng
        mask = np.zeros(_SIZE, np.uint8)
        bulge = rng.normal(0, 4)
        y = np.linspace(-self._half, self._half, 15)
        edge = np.stack([-self._open + bulge * (1 - (y / self._half) ** 2), y], 1)
        plate = np.concatenate([[[-400.0, -self._half]], edge, [[-400.0, self._half]]])
        _put(mask, self.px(plate), 255)
        if self._notch is not None:
            wide, deep, off = self._notch
            around = np.linspace(-np.pi / 2, np.pi / 2, 25)
            square = rng.uniform(0.4, 1.0)
            hollow = np.stack([
                -np.abs(np.cos(around)) ** square * deep, wide * np.sin(around) + off
            ], 1)  # fmt: skip
            rim = np.array([[30.0, wide + off], [30.0, -wide + off]])
            _put(mask, self.px(np.concatenate([hollow - (max(self._open, 0), 0), rim])), 0)
        colour = np.full((*_SIZE, 3), np.clip(self._colour, 0, 255), np.uint8)
        self._grooves(colour)
        shade = surfaces.fractal(rng, _SIZE, coarse=_SIZE[0] / 2, fine=8) * rng.uniform(0, 0.06)
        first, last = (float(v) for v in rng.uniform(0.75, 1.25, 2))
        slope = np.linspace(first, last, _SIZE[1])[None, :] + shade
        colour = np.clip(colour * slope[:, :, None], 0, 255).astype(np.uint8)
        alpha = cv2.convertScaleAbs(cv2.GaussianBlur(mask, (0, 0), 0.6), alpha=self._opacity)
        return _premultiplied(colour, alpha)

    def _grooves(self, colour: Image) -> None:
        """Draw edges of the shoe's parts: lines across and along its body."""
        rng = self.rng
        for _ in range(int(rng.integers(0, 5))):
            x = -self._open - rng.exponential(25)
            tone = tuple(float(v) for v in np.clip(self._colour + rng.normal(0, 60), 0, 255))
            ends = self.px(np.array([[x, -self._half], [x + rng.normal(0, 4), self._half]]))
            first, last = (tuple(int(v) for v in np.round(end)) for end in ends)
            cv2.line(colour, first, last, tone, int(rng.integers(1, 5)), cv2.LINE_AA)

    def _cheeks(self) -> Image:
        """Return the side walls (premultiplied BGRA), which may reach beyond the mouth."""
        rng = self.rng
        mask = np.zeros(_SIZE, np.uint8)
        reach, thick = float(rng.uniform(-20, 30)), float(rng.uniform(2, 10))
        for side in (-1.0, 1.0):
            inner, outer = side * (self._half - 1), side * (self._half + thick)
            slant = float(rng.uniform(0, 12))
            _put(mask, self.px(np.array([[-400, inner], [reach - slant, inner], [reach, outer],
                                         [-400, outer]])), 255)  # fmt: skip
        tone = np.clip(self._colour * rng.uniform(0.6, 1.5), 0, 255)
        colour = np.full((*_SIZE, 3), tone, np.uint8)
        strength = max(self._opacity, float(rng.uniform(0.3, 1)))
        return _premultiplied(colour, cv2.convertScaleAbs(mask, alpha=strength))

    def _next_card(self, image: Image, moment: Moment) -> None:
        """Draw the card at rest, and what of the stack's front is seen before it."""
        x = moment.rest_x - self.size[0] / 2
        behind = self.waits + moment.rest_x + 1.0
        under = Lying(x - behind, 0.0, 0.0, Kind.BACK, moment.rest_number + 1)
        for card in (under, Lying(x, 0.0, 0.0, moment.rest, moment.rest_number)):
            self._card(image, card, soft=0.5)

    def _card(self, image: Image, card: Lying, *, soft: float = 3.0) -> None:
        corners = self.px(self.card_mm(card))
        shadow(image, corners, soft=(soft + card.lift / 8) * _SCALE, strength=0.3,
               offset=(self._side * (1 + card.lift / 10), 1 + card.lift / 10))  # fmt: skip
        pictures = self._cards[card.kind]
        tint = self._back_tint if card.kind is Kind.BACK else self._tint
        lay(image, pictures[card.number % len(pictures)], corners, tint=tint)

    def _hand(self, image: Image, hand: Held) -> None:
        limb = self._limbs[hand.limb]
        tip = np.array([hand.x, hand.y])
        quad = self.px(hands.frame_quad(tip, hand.turn, scale=self._big))
        box = self.px(hands.frame_quad(tip, hand.turn, scale=self._big * 0.8, box=limb.box_mm))
        shadow(image, box, soft=9 * _SCALE, strength=0.3, offset=(self._side * 4, 4))
        lay(image, limb.below, quad)
        lay(image, limb.above, quad)

    def _smeared(self, image: Image, moment: Moment, length: float) -> Image:
        """Smear what moves, about the cards that are out and the hands, and nothing else."""
        mask = np.zeros(_SIZE, np.uint8)
        for card in moment.cards:
            _put(mask, self.px(self.card_mm(card)), 255)
        if moment.hands:
            around = tuple(
                int(v) for v in self.px(np.array([[moment.hands[0].x, moment.hands[0].y]]))[0]
            )
            cv2.circle(mask, around, round(70 * _SCALE), 255, -1)
        soft = cv2.GaussianBlur(mask, (0, 0), 3)[:, :, None] / np.float32(255)
        way = float(np.arctan2(self._linear[1, 0], self._linear[0, 0]))
        moved = motion_blurred(image, length=min(length, 14), angle=way)
        return np.asarray(image * (1 - soft) + moved * soft, np.uint8)

    def _lit(self, image: Image, light: float) -> Image:
        grade = self._grade.copy()
        grade[:, :3] *= light
        image = cv2.transform(blurred(image, self._soft * _FINE / 2), grade)
        return cv2.resize(image, (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA)


@lru_cache(maxsize=64)
def _back(name: str) -> Levels:
    return pyramid(load_back(name, _CARD_PX))


@lru_cache(maxsize=4096)
def _face(deck: str, number: int) -> Levels:
    face = list(load_deck(deck).faces.values())[number]
    return pyramid(cv2.resize(face, (_CARD_PX * 63 // 88, _CARD_PX), interpolation=cv2.INTER_AREA))


def _dressed(rng: Rng, split: str) -> hands.Hand:
    """Return a hand dressed as it comes, or in a pale sleeve with a cuff of any colour."""
    if rng.random() > _PALE:
        return hands.hand(rng, split=split)
    cloth = np.random.default_rng([_SLEEVE_SEED[split], int(rng.integers(_SLEEVES))])
    blue, green, red = np.clip(cloth.uniform(195, 250) + cloth.normal(0, 9, 3), 0, 255).tolist()
    wear = hands.Wear(sleeve=True, cloth=((blue, green, red), hands.any_cloth(cloth)))
    return hands.hand(rng, split=split, wear=wear)


def _cut_card(rng: Rng) -> Image:
    """Return a cut card of any colour, white ones too, plain or with a word, a frame, a stripe."""
    kind, colour = rng.random(), _bright(rng)
    if kind < 0.15:
        colour = (30, 205, 240)
    elif kind < 0.5:
        # Mostly white: a white one that waits half out was taken for a face.
        grey = float(rng.choice([15, 60, 150, 215, 225, 232, 240, 248]))
        blue, green, red = (int(v) for v in np.clip(grey + rng.normal(0, 6, 3), 5, 255))
        colour = blue, green, red
    elif kind < 0.62:  # of any dull colour
        blue, green, red = (int(v) for v in rng.uniform(20, 240, 3))
        colour = blue, green, red
    card = np.ascontiguousarray(cut_card(_CARD_PX, color=colour))
    ink = (20, 20, 20, 255) if rng.random() < 0.5 else (240, 240, 240, 255)
    height, width = card.shape[:2]
    kind = rng.random()
    if kind < 0.25:
        size = float(rng.uniform(0.5, 1.1))
        cv2.putText(card, "CUT", (8, height // 2), cv2.FONT_HERSHEY_DUPLEX, size, ink, 2)
    elif kind < 0.35:
        cv2.rectangle(card, (6, 6), (width - 7, height - 7), ink, 2)
    elif kind < 0.45:
        cv2.line(card, (0, height // 2), (width, height // 2), ink, int(rng.integers(3, 14)))
    return card


def shine(rng: Rng, image: Image) -> None:
    """Lay a lamp's reflection somewhere on a patch, in place."""
    centre = (float(rng.uniform(0, WIDTH)), float(rng.uniform(0, HEIGHT)))
    radii = (float(rng.uniform(4, 25)), float(rng.uniform(4, 25)))
    glare(image, centre, radii, float(rng.uniform(0.1, 0.7)))


def _put(mask: Image, points: Points, value: int) -> None:
    corners = np.round(np.clip(points, -3000, 3000) * 16).astype(np.int32)
    cv2.fillPoly(mask, [corners], value, cv2.LINE_AA, 4)


def _premultiplied(colour: Image, alpha: Image) -> Image:
    ink = cv2.multiply(colour, cv2.merge([alpha] * 3), scale=1 / 255)
    return np.dstack([ink, alpha])


def _shoe_colour(rng: Rng) -> Points:
    """Return a BGR: mostly black or grey plastic, also wood, white, any colour."""
    kind = rng.random()
    if kind < 0.42:
        return np.full(3, rng.uniform(15, 90)) + rng.normal(0, 4, 3)
    if kind < 0.65:
        return np.full(3, rng.uniform(90, 235)) + rng.normal(0, 8, 3)
    if kind < 0.8:
        return np.array([30, 60, 110]) * rng.uniform(0.6, 1.7)
    return rng.uniform(15, 230, 3)


def _bright(rng: Rng) -> tuple[int, int, int]:
    pixel = np.array(
        [[[rng.integers(180), rng.integers(110, 255), rng.integers(90, 255)]]], np.uint8
    )
    blue, green, red = (int(v) for v in cv2.cvtColor(pixel, cv2.COLOR_HSV2BGR)[0, 0])
    return blue, green, red


def _grading(rng: Rng) -> Points:
    """Return the (3, 4) colour matrix of a camera under a lamp."""
    gain = rng.uniform(0.65, 1.25) * np.exp(rng.normal(0, 0.08, 3))
    grey = np.full((3, 3), 1 / 3)
    mix = rng.uniform(-0.15, 0.35)
    matrix = np.diag(gain) @ ((1 - mix) * np.eye(3) + mix * grey)
    return np.column_stack([matrix, np.full(3, rng.uniform(-8, 25))]).astype(np.float32)
