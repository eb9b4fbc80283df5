"""Check by what the cards do that the table file fits what the camera shows.

Cards leave the mouth and come to lie in the slots, in the order of the house, as large as cards
are, and their faces are not in mirror image. Where they do otherwise it is the view that is wrong,
not the dealer. So nothing is reported but a burn, and that cards of the first coup are out, before
three cards of the right size were seen to leave and to lie where they were due; and what goes
against the view later is held back. One coup may be a dealer's mistake, which is then reported a
coup late. Two are not: then the reader is blind, for a reason that names the cure, until the cards
do what they should, and what was held back is dropped.
"""

from __future__ import annotations

import cmath
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from statistics import fmean
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from vision.game.events import CoupSeen, Event, Life, SeenCard, Slot
from vision.sight.detection.classifier import LEAST_READABLE, Observation
from vision.sight.detection.detector import Detection, Kind
from vision.sight.following.places import (
    APART_MM,
    COVERED,
    STRONG,
    SURE,
    SlotObservation,
    is_outside,
    middle_of,
)
from vision.sight.geometry.plane import Homography, Image, Points, TableView, overlap

# How many times as large as the table file says cards may look before nothing is believed: no card
# is so far from another in size. What reading needs is narrower, and a warning.
LEAST_SIZE, MOST_SIZE = 0.65, 1.5
# Cards that two coups have at least: after so many a sign is no accident.
CARDS = 8
# Of that many cards laid last, so many or fewer were seen to leave: the mouth is elsewhere. From
# the second number on it is not. Closer, and one lucky passage changes the verdict.
FEW_DRAWN, ENOUGH_DRAWN = 2, 5
# So many cards in a row that nobody saw leave are held back, once the view was believed.
UNDRAWN = 4
# A card that is out was seen to leave where the mouth showed one so long before, ms, or within a
# look after. Shorter, and cards that are known only as they are laid count as not seen; longer, and
# a hand that passed counts as a draw.
DRAWN_MS = 6000
OUT = 0.6  # from this probability (0 to 1) on a card is out, down to as far below the even chance
# So many of the first four cards of one coup, seen to leave and laid where they were due, make the
# view believed, if half of those laid last were, and so many look as large as cards. Fewer, and
# hands that burn or clear make a coup where no mouth is; more delay the first coup of a run.
BELIEVED, SIZED = 3, 2
# Cards laid last over which it is judged whether faces are in mirror image, at least so many, and
# what one observation counts at most, in log odds. Without a limit, one face that is read wrongly
# outweighs the others; by observation instead of by card, one that is squeezed for long does.
MIRROR_CARDS, LEAST_MIRROR_CARDS, MOST_LOG_ODDS = 8, 4, 2.0
LEAST_DOUBT = 1e-7  # of a face (0 to 1): the step of single precision near 1
# Observations, so many ms apart, in which two faces or more lay outside the slots and none inside,
# beyond those with faces inside: ten seconds, as long as the layouts of two coups lie. Fewer, and a
# burn that is spread on the layout makes the reader blind.
OUTSIDE_PICTURES, LOOK_EVERY_MS = 20, 500
# The view is to be measured again where cards look by this share larger or smaller, or lie so many
# mm from the middle of their slots, all of them, or turned by so many degrees: films are read at
# 0.8 to 1.14 times the size and half a card (31 mm) beside the slots, elm no more at 1.3
# (`python -m models.evaluate.wrong_views`). Wider, and cards stay unread; narrower, and untidy
# dealers raise it.
DRIFT_SHARE, DRIFT_MM, DRIFT_DEGREES = 0.1, 25.0, 8.0
# Cards laid last whose place and size count, each of so many observations at least: more hide a
# push for longer, fewer let one untidy coup raise it. So many of them, in as many slots, tell the
# size; from CARDS on all is reported.
RESTS, LEAST_LOOKS, LEAST_RESTS = 40, 2, 4
MOST_OVERLAP = 0.4  # of what two slots cover (0 to 1); neighbours that touch share 0.1 at most

SIZE = "cards look {0:.2f} times as large as the table file says: measure the table again"
MIRROR = "the picture is in mirror image: switch that off at the camera"
ELSEWHERE = "is the picture upside down? Cards lie beside the slots: measure the table again"
MOUTH = "is the mouth where cards come out? They come to lie, and none was seen to leave the shoe"
HANDS = "are Punto and Banco exchanged? Each coup begins with the other hand"
UNREAD = "nothing is read of the cards that lie: look at light, lens and the size of cards"
OVERLAP = "{0} lies on {1}: move one of the two away on the set-up page"


class Drift(NamedTuple):
    """How cards lie against the table file.

    They look `size` times as large; slots lie where turned by `turn` degrees about the origin,
    `spread` times as far from it and moved by `x` and `y` mm.
    """

    size: float
    spread: float
    x: float
    y: float
    turn: float

    def moved(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return where points of the table (n x 2 mm) lie in the measure of the old plane."""
        place = np.asarray(points, np.float64) @ (1, 1j)
        there = place * cmath.rect(self.spread, math.radians(self.turn)) + complex(self.x, self.y)
        return np.stack([there.real, there.imag], axis=-1)

    def applied(self, view: TableView) -> TableView:
        """Return the view with its areas where cards were seen to lie, in their true size."""
        plane, shrink = view.homography, np.diag([1 / self.size, 1 / self.size, 1.0])

        def there(points: Points) -> Points:
            return (self.moved(points) / self.size).astype(np.float32)

        areas = {name: there(area) for name, area in view.areas.items()}
        return replace(
            view,
            homography=Homography(shrink @ plane.matrix, plane.lens),
            slots={slot: areas[slot.name] for slot in view.slots},
            mouth=areas["MOUTH"],
            discard=areas.get("DISCARD"),
            exit=None if view.exit is None else there(view.exit),
        )


@dataclass(slots=True, eq=False)
class _Rest:
    """A card that lies or lay in a slot, by observation.

    `places` has its middle (x, y mm) and size; `mirrored` by how much surer a face it is in mirror
    image, log odds.
    """

    slot: Slot
    places: list[tuple[float, float, float]] = field(default_factory=list)
    mirrored: list[float] = field(default_factory=list)


class TableFit:
    """Says why the view cannot be believed, and holds back what sight says meanwhile."""

    def __init__(
        self,
        view: TableView,
        deal_order: Sequence[Slot],
        classify: Callable[[Image, Sequence[Points]], Iterable[Observation]],
    ) -> None:
        """Watch a view of a house that deals the first four cards in that order."""
        self._view, self._deal_order, self._classify = view, deal_order, classify
        self._due = [{slot} for slot in deal_order[:2]]
        self._otherwise = [{Slot(slot ^ 1)} for slot in deal_order[:2]]  # with hands exchanged
        # The slots in which cards came to lie since all were empty, in that order; whether they
        # are; and whether hands were exchanged as the layout before began.
        self._first: list[set[Slot]] = []
        self._is_empty = self._was_exchanged = False
        # Why nothing can be believed, or `None`.
        self.reason = self._overlap = overlapping(view)
        self._middles = np.array([view.slots[slot].mean(axis=0) for slot in Slot])
        # The cards laid last; those that lie there now; and of all that were looked at often enough
        # slot and medians.
        self._rests: deque[_Rest] = deque(maxlen=RESTS)
        self._resting: dict[Slot, _Rest] = {}
        self._laid = np.zeros((0, 4))
        # How large the last ones look, and by card how much surer the last faces are in a mirror.
        self._times_as_large = 1.0
        self._mirrored: list[float] = []
        self._outside, self._next_look_at = 0, 0
        self._is_out = False  # whether the mouth shows a card wholly out
        self._draws: deque[int] = deque(maxlen=CARDS)  # when one came out, ms
        self._drawn: deque[bool] = deque(maxlen=CARDS)  # whether each card laid was seen to leave
        self._declined: set[tuple[int, int]] | None = set()  # `None` once a face was read
        self._is_as_due = self._believed = False
        self.begin_shoe()

    def begin_shoe(self, coup: int = 0) -> None:
        """Begin a run of coups; those up to that one were reported before and go on."""
        self._held: list[Event] = []
        self._out: tuple[SeenCard, ...] = ()  # what is reported of the first coup held back
        self._left: set[int] = set()  # orders of cards that were reported to be out
        self._known = coup
        self._reported = {number: number for number in range(1, coup + 1)}
        self._cards: dict[tuple[int, int], bool] = {}  # by coup and number: laid; seen to leave

    # --- what pictures show ----------------------------------------------------------------------

    def look(
        self, at: int, image: Image, shown: Sequence[SlotObservation], boxes: Sequence[Detection]
    ) -> None:
        """Take what the slots show and all boxes (px) of a picture, at a time in ms."""
        self._take_order(shown)
        if at < self._next_look_at:
            return
        self._next_look_at = at + LOOK_EVERY_MS
        lying = self._lying(shown, boxes)
        for slot, look in zip(Slot, shown, strict=False):
            if slot in lying:
                if slot not in self._resting:
                    self._rests.append(self._resting.setdefault(slot, _Rest(slot)))
                centre = self._view.locate(lying[slot].quad)[0].centre
                self._resting[slot].places.append((*centre, self._size(lying[slot])))
            elif look.box is None and look.covered <= COVERED:
                self._resting.pop(slot, None)
        rests = [
            (rest.slot, *np.median(rest.places, axis=0))
            for rest in self._rests
            if len(rest.places) >= LEAST_LOOKS
        ]
        self._laid = np.array(rests).reshape(-1, 4)
        if rests:
            self._times_as_large = float(np.median(self._laid[-CARDS:, 3]))
        faces = [slot for slot, box in lying.items() if box.kind is Kind.FACE]
        if faces:
            least = min(faces, key=lambda slot: len(self._resting[slot].mirrored))
            self._resting[least].mirrored += self._compare_mirrored(image, lying[least])
            seen = [fmean(rest.mirrored) for rest in self._rests if rest.mirrored]
            self._mirrored = seen[-MIRROR_CARDS:]
        sure = [box for box in boxes if box.kind is Kind.FACE and box.score >= SURE]
        beside = sum(is_outside(self._view, middle_of(self._view, box)) for box in sure)
        self._outside += 1 if beside > 1 and not lying else -1 if faces else 0
        self._outside = min(max(self._outside, 0), 2 * OUTSIDE_PICTURES)

    def _take_order(self, shown: Sequence[SlotObservation]) -> None:
        """Take in which slots cards lie at rest in clear sight, and which were there first."""
        lie = {
            slot
            for slot, look in zip(Slot, shown, strict=False)
            if look.box is not None and look.box.score >= STRONG and not look.moves
            if look.covered <= COVERED
        }
        if lie and self._is_empty:
            was = self._was_exchanged and not self._begins_as_due
            self._was_exchanged = self._begins_exchanged or was
            self._first, self._is_empty = [lie], False
        elif lie and self._first and (new := lie.difference(*self._first)):
            self._first.append(new)
        self._is_empty |= all(look.box is None and look.covered <= COVERED for look in shown)

    @property
    def _begins_as_due(self) -> bool:
        return self._first[:2] == self._due

    @property
    def _begins_exchanged(self) -> bool:
        return self._first[:2] == self._otherwise

    def _lying(
        self, shown: Sequence[SlotObservation], boxes: Sequence[Detection]
    ) -> dict[Slot, Detection]:
        """Return the surest card that lies in clear sight, at rest, in each slot or beside it."""
        found: dict[Slot, Detection] = {}
        for box in sorted(boxes, key=lambda box: box.score):
            away = np.hypot(*(self._middles - middle_of(self._view, box)).T)
            slot = Slot(int(away.argmin()))
            its = shown[slot] if slot < len(shown) else None
            if its is None or its.moves or its.covered > COVERED or away[slot] >= APART_MM:
                continue
            if box.kind in {Kind.FACE, Kind.BACK} and box.score >= STRONG:
                found[slot] = box
        return found

    def drift(self) -> str | None:
        """Return in words how far cards lie from where the table file has them, if too far."""
        slots = np.unique(self._laid[:, 0].astype(int))
        if len(self._laid) < CARDS or len(slots) < LEAST_RESTS:
            return None
        middles = self._middles[slots].astype(np.float64)
        there = [np.median(self._laid[self._laid[:, 0] == s, 1:3], axis=0) for s in slots]
        lie, size = np.array(there), float(np.median(self._laid[:, 3]))
        x, y = np.median(lie - middles, axis=0).tolist()
        factor, place = np.polyfit(middles @ (1, 1j), lie @ (1, 1j), 1)
        turn, spread = math.degrees(cmath.phase(factor)), abs(factor)
        off = abs(size - 1) / DRIFT_SHARE, abs(complex(x, y)) / DRIFT_MM, abs(turn) / DRIFT_DEGREES
        if max(off) < 1:
            return None
        drift = Drift(size, spread, place.real, place.imag, turn)
        numbers = " ".join(f"{value:.4g}" for value in drift)
        across, along = "left" if x < 0 else "right", "above" if y < 0 else "below"
        return (
            f"Cards look {size:.2f} times as large as the table file says, and lie {abs(x):.0f} mm "
            f"to the {across} of their slots and {abs(y):.0f} mm {along}: take over where they lie "
            f"on the set-up page, or by shoe-reader calibrate TABLE.toml --moved {numbers}"
        )

    def _size(self, box: Detection) -> float:
        width, height = self._view.card_mm
        area = abs(cv2.contourArea(self._view.homography.to_mm(box.quad)))
        return float(np.sqrt(area / (width * height)))

    def _compare_mirrored(self, image: Image, box: Detection) -> list[float]:
        # In the size that it has: what is cut off a card is in mirror image as well as not.
        pose, size = self._view.locate(box.quad)[0], self._size(box)
        centre = np.array(pose.centre)
        quad = self._view.homography.to_px(centre + size * (self._view.rectangle(pose) - centre))
        there, mirrored = self._classify(image, [quad, quad[[1, 0, 3, 2]]])
        if max(there.readable, mirrored.readable) < LEAST_READABLE:
            return []
        surer = _log_odds(mirrored) - _log_odds(there)
        return [min(max(surer, -MOST_LOG_ODDS), MOST_LOG_ODDS)]

    # --- what sight says -------------------------------------------------------------------------

    def take(self, at: int, out: float, events: Iterable[Event]) -> tuple[Event, ...]:
        """Return what is to be reported at a time, ms.

        `out` is how likely (0 to 1) the mouth shows a card wholly out, `events` are what sight
        says.
        """
        was_out, self._is_out = self._is_out, out > (1 - OUT if self._is_out else OUT)
        if self._is_out and not was_out:
            self._draws.append(at)
        news = tuple(events)
        for event in news:
            if isinstance(event, CoupSeen):
                self._note(event)
                self._held = [held for held in self._held if not _is_of(held, event.coup)]
            self._held.append(event)
        sized = len(self._laid) >= SIZED
        self._believed |= self._is_as_due and sized and not self._begins_exchanged
        before, self.reason = self.reason, self._why()
        if self.reason is not None:
            self._held, self._is_as_due, self._believed = [], False, False
        if self.reason is not None or before is not None:
            return tuple(self._report_out(at))
        ready = [e for e in self._held if not self._is_suspect() or self._is_known(e)]
        self._held = [event for event in self._held if event not in ready]
        burns = [burn for event in news for burn in self._report_burn(at, event)]
        return (*(self._report(at, event) for event in ready), *burns, *self._report_out(at))

    def _is_known(self, event: Event) -> bool:
        """Whether it is of a coup that was reported before this run of coups."""
        return isinstance(event, CoupSeen) and event.coup <= self._known

    def _report(self, at: int, event: Event) -> Event:
        """Return an event as it is reported: coups that were dropped are not counted."""
        if not isinstance(event, CoupSeen):
            return replace(event, at=at)
        if event.coup not in self._reported:
            self._out = ()  # it comes in the place of what was reported of the first held back
        number = self._reported.setdefault(event.coup, max(self._reported.values(), default=0) + 1)
        return replace(event, at=at, coup=number)

    def _report_burn(self, at: int, event: Event) -> Iterator[Event]:
        """Yield a burn that is held back, unsure: whatever is wrong, its cards left the shoe."""
        if not isinstance(event, CoupSeen) or event not in self._held:
            return
        if event.coup == self._known + 1 and _is_burn(event):
            self._left |= {card.order for card in event.cards}
            yield self._report(at, replace(event, sure=False))

    def _report_out(self, at: int) -> Iterator[CoupSeen]:
        """Yield which cards of the first coup held back are out, where that changed.

        They left the shoe, whatever else is right; where they lie, and what they are, waits.
        """
        coups = (event for event in self._held if isinstance(event, CoupSeen))
        first = next((event for event in coups if event.coup not in self._reported), None)
        out = tuple(
            SeenCard(card.order, card.out_at, Life.OUT)
            for card in (() if first is None else first.cards)
            if card.slot is None or card.order in self._left
        )
        if out != self._out:
            self._out = out
            self._left |= {card.order for card in out}
            yield CoupSeen(at, max(self._reported.values(), default=0) + 1, out, sure=False)

    def _note(self, event: CoupSeen) -> None:
        """Take where the cards of a coup lie, in which order they came and which are unread."""
        for number, card in enumerate(event.cards):
            new = card.slot is not None and (event.coup, number) not in self._cards
            if new and event.coup > self._known:
                drawn = self._cards[event.coup, number] = self._was_drawn(card.out_at)
                self._drawn.append(drawn)
            if card.card is not None:
                self._declined = None
            elif card.declined and self._declined is not None:
                self._declined.add((event.coup, number))
        hands = [
            card.slot.is_punto is due.is_punto
            for card, due in zip(event.cards, self._deal_order, strict=False)
            if card.slot is not None
        ]
        seen = sum(self._cards.get((event.coup, number), False) for number in range(len(hands)))
        # A shoe that goes on was believed before.
        enough = seen >= (1 if self._known else BELIEVED)
        enough &= 2 * sum(self._drawn) >= len(self._drawn)
        self._is_as_due = all(hands) and enough

    def _was_drawn(self, out_at: int) -> bool:
        """Whether a card that was out by then, ms, and none before it, was seen to leave."""
        while self._draws and self._draws[0] <= out_at + LOOK_EVERY_MS:
            if out_at - self._draws.popleft() <= DRAWN_MS:
                return True
        return False

    def _why(self) -> str | None:
        """Return why the view cannot be believed, or `None`."""
        outside = 1 if self.reason == ELSEWHERE else OUTSIDE_PICTURES
        drawn = ENOUGH_DRAWN if self.reason == MOUTH else FEW_DRAWN + 1
        goes_on = self.reason == HANDS and not self._begins_as_due
        signs = {
            SIZE.format(self._times_as_large): len(self._laid) >= LEAST_RESTS
            and not self._is_card_size,
            MIRROR: len(self._mirrored) >= LEAST_MIRROR_CARDS and self._seems_mirrored,
            ELSEWHERE: self._outside >= outside,
            MOUTH: len(self._drawn) == CARDS and sum(self._drawn) < drawn,
            HANDS: self._was_exchanged and (self._begins_exchanged or goes_on),
            UNREAD: len(self._declined or ()) >= CARDS,
        }
        why = next((words for words, holds in signs.items() if holds), None)
        return self._overlap or (self.drift() if why == UNREAD else None) or why

    @property
    def _seems_mirrored(self) -> bool:
        return sum(self._mirrored) > 0

    @property
    def _is_card_size(self) -> bool:
        return LEAST_SIZE <= self._times_as_large <= MOST_SIZE

    def _is_suspect(self) -> bool:
        """Whether what sight says is held back until more is known."""
        exchanged = self._was_exchanged and not self._begins_as_due
        undrawn = not any([*self._drawn][-UNDRAWN:]) and len(self._drawn) >= UNDRAWN
        fits = self._is_card_size and not self._seems_mirrored and not self._declined
        return not (self._believed and fits) or exchanged or undrawn


def _log_odds(look: Observation) -> float:
    """Return the log odds of the likeliest face: of two sure looks, one is still the surer."""
    sure = float(look.log_p.max())
    return sure - math.log(max(-math.expm1(sure), LEAST_DOUBT))


def _is_burn(event: CoupSeen) -> bool:
    """Whether it is a burn: no card lies in a slot, and the first one open beside them."""
    first = event.cards[0] if event.cards else None
    aside = first is not None and first.life is not Life.OUT and first.card is not None
    return aside and all(card.slot is None for card in event.cards)


def _is_of(event: Event, coup: int) -> bool:
    return isinstance(event, CoupSeen) and event.coup == coup


def overlapping(view: TableView) -> str | None:
    """Return in words which slots lie on one another, `None` where none do."""
    for (one, area), (other, its) in combinations(view.slots.items(), 2):
        if overlap(area, its) > MOST_OVERLAP:
            return OVERLAP.format(one.title, other.title)
    return None
