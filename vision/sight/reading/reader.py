"""Turn the tracks of each frame into card events: out, placed, read, removed.

Cards are counted from 1 in the order they leave the shoe. A face is looked at until the fused
looks leave no more than the stated probability of error; then it is read. One that lies open for
`UNREAD_MS` without is given as unread. What card would make sense in the game is never asked, only
how many copies of it the shoe still holds. With an enrolled deck, a card whose looks are on the
whole unlike the deck's is noticed as foreign, and is not read. A card that is covered is not looked
at; one that was hidden and then shows another face is checked by `switching`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.game.cards import Card
from vision.game.events import (
    CardFound,
    CardOut,
    CardPlaced,
    CardRead,
    CardRemoved,
    CardWithdrawn,
    CutCardOut,
    Event,
    Noticed,
    Slot,
)
from vision.sight.detection.classifier import Classify, Look
from vision.sight.detection.detector import Kind
from vision.sight.geometry.frame import Frame, Image, Points
from vision.sight.geometry.plane import Pose, rectify
from vision.sight.reading.fusion import FACES, LookFusion, Opinion
from vision.sight.reading.resume import ExpectedCard, ResumeState
from vision.sight.reading.switching import SwitchCheck
from vision.sight.tracking.card import Track

StrangeBacks = Callable[[Image, Sequence[Points]], Sequence[float]]

# The values below were set by judgement with the first reader and confirmed on simulated films:
# with them the 900 clean coups of `deploy/reading.md` were read, none wrong and none unread.

# From one look at a card that is read to the next, in ms. Shorter costs time only; longer, and a
# wrong first reading is corrected later.
AGAIN_MS = 400
# For how long, in ms, a face lies open before it is given as unread, and after how many looks at
# least. Shorter or fewer, and a card under the dealer's hand is unread; longer, and the desk learns
# of an unreadable card after the coup has gone on.
UNREAD_MS, LEAST_TRIES = 3000, 5
# Looks differ, and count apart, if the card moved by so many mm, turned by so many degrees, or its
# reduced picture changed by so many grey levels (0 to 255) on average. Lower, and noise makes
# copies of one picture count as independent; higher, and real changes are not used.
SHIFT_MM, TURN_DEGREES, CHANGED_LEVELS = 3.0, 3.0, 10.0
# Width and height in pixels of that reduced picture. Larger compares noise, smaller misses fingers.
PATCH = (16, 22)
# A card that came to rest further off than this, in mm, is read afresh: it may be another card that
# the tracker took for it. Lower forgets looks when a card is squared up; higher mixes two cards.
ANOTHER_PLACE_MM = 20.0
# A card whose median strangeness (`Look.strange`) is at least this is foreign; lowered from 4 after
# a first run of `models.evaluate.enrolment` (`deploy/enrolment.md`). Lower, and the deck's own
# worn or half-covered cards are noticed; higher, and similar decks pass.
STRANGE_FOR_LONG = 3.0
# How many looks that median needs at least, and over how many of the last it is taken. Fewer let
# single poor looks decide; more notice a foreign card later.
LEAST_LOOKS, RECENT_LOOKS = 5, 15


class ForeignCards:
    """Finds the cards that are not of the enrolled deck, from how strange the looks at each are.

    One look may be poor; the median of several decides. Face and back are judged apart.
    """

    def __init__(self) -> None:
        self._looks: dict[tuple[int, bool], list[float]] = {}
        self._noticed: set[int] = set()

    def look(
        self, at: int, order: int, slot: Slot | None, strange: float, *, back: bool = False
    ) -> Noticed | None:
        """Take how strange one look at a card is; return a notice once for each foreign card."""
        looks = self._looks.setdefault((order, back), [])
        looks.append(strange)
        del looks[:-RECENT_LOOKS]
        few = len(looks) < LEAST_LOOKS
        if order in self._noticed or few or median(looks) < STRANGE_FOR_LONG:
            return None
        self._noticed.add(order)
        side = "back" if back else "face"
        detail = f"Its {side} is none of the enrolled deck."
        return Noticed(at, "FOREIGN_CARD", order, slot, detail)

    def suspected(self, order: int) -> bool:
        """Whether a card's face is foreign, or looks so until enough looks decide."""
        looks = self._looks.get((order, False), [0.0])
        undecided = len(looks) < LEAST_LOOKS and median(looks) >= STRANGE_FOR_LONG
        return undecided or order in self._noticed

    def noticed(self, order: int) -> bool:
        """Whether a card has been found to be foreign."""
        return order in self._noticed

    def forget(self, order: int) -> None:
        """Forget a card that has left the table."""
        for back in (False, True):
            self._looks.pop((order, back), None)
        self._noticed.discard(order)


class CardName(NamedTuple):
    """A card as it is told of: its order, its face if read, and whether it was given as unread."""

    order: int
    card: Card | None
    unread: bool


class ReaderUpdate(NamedTuple):
    """The events of a frame, and the looks at faces that were taken for them."""

    events: tuple[Event, ...]
    looks: tuple[Look, ...]


@dataclass(slots=True, eq=False)
class _OpenCard:
    """What the reader knows of one card that is out."""

    order: int
    fusion: LookFusion = field(default_factory=LookFusion)
    placed_at: int | None = None
    read: Card | None = None
    given_unread: bool = False
    tries: int = 0  # looks since the face was turned up
    open_since: int | None = None  # ms; since when the face lies open
    looked_at: int | None = None  # ms; the last look at the face
    pose: Pose | None = None  # of the last look that differed from the one before it
    patch: NDArray[np.float32] | None = None  # reduced picture of the same look, grey levels
    doubted: bool = False  # sight has told of a doubt about it
    flashed: bool = False  # it was told that it showed its face on its way
    check: SwitchCheck = field(default_factory=SwitchCheck)


class CardReader:
    """Gives card events from the tracks of each frame.

    `classify` looks at quads (4 x 2 pixels) of a picture; a read is given only when the
    probability of error is at most `error_bound` (0 to 1). `decks` sets the copies of a face in
    the shoe. `strange_backs` says how far the backs of cards are from the enrolled deck's, in
    spreads; `None` without one. `face_down`: cards come to lie on their faces, so that a face seen
    on its way is told (`EXPOSED_EARLY`; whether it was too early is the game's matter).
    """

    def __init__(
        self,
        classify: Classify,
        *,
        error_bound: float,
        decks: int,
        strange_backs: StrangeBacks | None = None,
        face_down: bool = False,
    ) -> None:
        self._face_down = face_down
        self._classify = classify
        self._strange_backs = strange_backs
        self._foreign = ForeignCards()
        self._error_bound = error_bound
        self._decks = decks
        self._open: dict[int, _OpenCard] = {}
        self._cut: set[int] = set()
        self._resume: ResumeState | None = None
        self._past: set[int] = set()  # tracks of cards of the shoe before
        self.begin_shoe()

    def begin_shoe(
        self, *, order: int = 1, read: Iterable[Card] = (), past: Container[int] = ()
    ) -> None:
        """Begin a run of cards; after a restart, with the next `order` and the cards read.

        Nothing more is told of cards with the orders in `past`: they lie there of the shoe before.
        """
        self._order = order
        ended = [number for number, card in self._open.items() if card.order in past]
        for number in ended:
            del self._open[number]
        self._past.update(ended)
        self._left = np.full(FACES, float(self._decks))
        for card in read:
            self._left[card.index] -= 1
        self._cut_given = False
        self._resume = None

    def restore(self, resume: ResumeState) -> None:
        """Take cards that are found at rest for those that lay there before a restart."""
        self._resume = resume

    @property
    def waiting(self) -> bool:
        """Whether an open face is to be looked at even while nothing moves.

        It is while it is neither read nor unread yet, and while it is checked again.
        """
        return self._resume is not None or any(
            card.check.is_on
            or (card.open_since is not None and card.read is None and not card.given_unread)
            for card in self._open.values()
        )

    def names(self) -> dict[int, CardName]:
        """Return how each card on the table is told of, by the id of its track."""
        return {
            number: CardName(card.order, card.read, card.given_unread)
            for number, card in self._open.items()
        }

    def update(self, tracks: Sequence[Track], frame: Frame) -> ReaderUpdate:
        """Take the tracks of a frame, in the order they left the shoe."""
        self._past.intersection_update(track.id for track in tracks)
        tracks = [track for track in tracks if track.id not in self._past]
        events: list[Event] = []
        # What was cleared goes before the next card comes, or that would be one more of its coup.
        for track in sorted(tracks, key=lambda track: not track.gone):
            events += self._out(track, frame.at)
            events += self._placed(track, frame.at)
            events += self._settle(track, frame.at) if track.gone else []
            events += self._flashed(track, frame.at)
        wanted, looks = self._look(tracks, frame)
        for track, look in zip(wanted, looks, strict=True):
            events += self._take_look(track, look, frame)
        events += self._look_at_backs(tracks, frame)
        for track in tracks:
            events += self._doubt(track, frame.at)
            events += self._settle(track, frame.at)
        if self._resume is not None:
            events += self._resume.settle(frame.at)
            self._resume = self._resume if self._resume.active else None
        return ReaderUpdate(tuple(events), looks)

    def _out(self, track: Track, at: int) -> list[Event]:
        known_as = self._open.get(track.id)
        if track.kind is Kind.CUT and (known_as is None or known_as.read is None):
            return self._cut_out(track, at)
        if track.id in self._cut and track.slot is not None:
            self._cut.discard(track.id)  # the cut card is put aside: this is another
        if known_as is not None or track.id in self._cut:
            return []
        known = self._known(track)
        if known is not None:
            placed_at = track.placed_at if known.slot is track.slot else None
            self._open[track.id] = _OpenCard(known.order, placed_at=placed_at, read=known.card)
            return []
        card = self._open[track.id] = _OpenCard(self._order)
        self._order += 1
        out = CardOut(at, card.order, unseen=track.unseen)
        return [CardFound(at, card.order) if track.found else out]

    def _cut_out(self, track: Track, at: int) -> list[Event]:
        """Give the cut card once; it was no card of the game if it was given as one before."""
        if track.id in self._cut:
            return []
        self._cut.add(track.id)
        card = self._open.pop(track.id, None)
        events: list[Event] = [] if card is None else [CardWithdrawn(at, card.order)]
        given, self._cut_given = self._cut_given, True
        return events if given else [*events, CutCardOut(at)]

    def _known(self, track: Track) -> ExpectedCard | None:
        """Return the card from before a restart that a card found at rest is, if any."""
        if self._resume is None or track.placed_at is None:
            return None
        return self._resume.claim(track.slot)

    def _placed(self, track: Track, at: int) -> list[Event]:
        card = self._open.get(track.id)
        if card is None or track.placed_at is None or track.placed_at == card.placed_at:
            return []
        card.placed_at = track.placed_at
        return [CardPlaced(at, card.order, track.slot, track.unordered)]

    def _flashed(self, track: Track, at: int) -> list[Event]:
        """Tell once of a card that showed its face before it was laid down."""
        card = self._open.get(track.id)
        if not self._face_down or card is None or card.flashed or not track.flashed:
            return []
        card.flashed = True
        return [Noticed(at, "EXPOSED_EARLY", card.order)]

    # --- looking at faces ------------------------------------------------------------------------

    def _look(self, tracks: Sequence[Track], frame: Frame) -> tuple[list[Track], tuple[Look, ...]]:
        """Return the cards that are to be looked at in this frame, and a look at each."""
        for track in tracks:
            self._note_open(track, frame)
        wanted = [track for track in tracks if self._wants_look(track, frame.at)]
        if not wanted:
            return [], ()
        return wanted, tuple(self._classify(frame.image, [self._end(track) for track in wanted]))

    def _take_look(self, track: Track, look: Look, frame: Frame) -> list[Event]:
        """Add a look to what is known of a card; return what follows from it."""
        card = self._open[track.id]
        card.looked_at = frame.at
        card.tries += 1
        changed = self._differs(card, track, frame.image)
        ended = card.check.is_on and card.check.take(frame.at, look, changed=changed)
        if not card.check.is_on:
            card.fusion.add(look.log_p, look.readable, changed=changed)
        notice = self._foreign.look(frame.at, card.order, track.slot, look.strange)
        if notice is not None:
            return [notice, *self._make_unread(card, frame.at)]
        if self._foreign.suspected(card.order) or (card.check.is_on and not ended):
            return []
        return self._end_check(card, track, frame.at) if ended else self._conclude(card, frame.at)

    def _end_check(self, card: _OpenCard, track: Track, at: int) -> list[Event]:
        """Tell whether a card that was hidden is another one now."""
        fresh = card.check.end()
        opinion = None if fresh is None else fresh.opinion(self._copies_for(card))
        if fresh is None or opinion is None or opinion.error > self._error_bound:
            for seen in card.check.looks:
                card.fusion.add(seen.log_p, seen.readable, changed=seen.changed)
            return self._conclude(card, at)
        card.fusion, before = fresh, card.read
        if opinion.best == before:
            return []
        detail = f"Read {before}, hidden, then {opinion.best} in {fresh.looks} clear looks."
        return [Noticed(at, "SWITCH", card.order, track.slot, detail), *self._conclude(card, at)]

    def _end(self, track: Track) -> Points:
        """Return the card's quad, begun at either end in turn.

        A card looks the same from both; a shadow or a finger that misleads from one end may not
        from the other.
        """
        return np.asarray(np.roll(track.quad, 2 * (self._open[track.id].tries % 2), axis=0))

    def _look_at_backs(self, tracks: Sequence[Track], frame: Frame) -> list[Event]:
        """Look at cards that rest on their faces, where a deck is enrolled."""
        if self._strange_backs is None:
            return []
        wanted = [
            track
            for track in tracks
            if track.id in self._open and track.kind is Kind.BACK
            if track.seen and track.resting and not track.gone and not track.covered
        ]
        found = self._strange_backs(frame.image, [track.quad for track in wanted])
        notices = [
            self._foreign.look(frame.at, self._open[track.id].order, track.slot, strange, back=True)
            for track, strange in zip(wanted, found, strict=True)
        ]
        return [notice for notice in notices if notice is not None]

    def _make_unread(self, card: _OpenCard, at: int) -> list[Event]:
        """Give a foreign card as unread, whether it had been read or not."""
        known, card.given_unread = card.given_unread, True
        if card.read is None:
            return [] if known else [self._unread(card, at)]
        self._left[card.read.index] += 1
        second, card.read = card.read, None
        return [CardRead(at, card.order, None, 0.0, second)]

    def _note_open(self, track: Track, frame: Frame) -> None:
        """Keep since when a face lies open; a card turned face down again begins from nothing."""
        card, at = self._open.get(track.id), frame.at
        if card is not None and card.read is not None:
            clear = _is_open(track) and _is_whole(track.quad, frame.image)
            card.check.note(at, card.fusion.looks, clear=clear)
        if card is None or not track.seen or not track.resting:
            return
        if track.kind is not Kind.FACE:
            card.open_since, card.tries = None, 0
        elif card.open_since is None:
            card.open_since = at

    def _wants_look(self, track: Track, at: int) -> bool:
        card = self._open.get(track.id)
        if card is None or not _is_open(track):
            return False
        settled = card.read is not None
        return not settled or card.looked_at is None or at - card.looked_at >= AGAIN_MS

    def _differs(self, card: _OpenCard, track: Track, image: Image) -> bool:
        """Whether pose or light changed; forgets the looks so far if the card lies elsewhere."""
        small = cv2.cvtColor(rectify(image, track.quad, PATCH), cv2.COLOR_BGR2GRAY)
        patch = small.astype(np.float32)
        before, pose = card.patch, card.pose
        if before is None or pose is None:
            card.patch, card.pose = patch, track.pose
            return True
        if pose.distance(track.pose) > ANOTHER_PLACE_MM and track.resting:
            card.fusion = LookFusion()
        changed = (
            pose.distance(track.pose) > SHIFT_MM
            or pose.turn(track.pose) > TURN_DEGREES
            or float(np.abs(patch - before).mean()) > CHANGED_LEVELS
        )
        if changed:
            card.patch, card.pose = patch, track.pose
        return changed

    def _conclude(self, card: _OpenCard, at: int) -> list[Event]:
        """Read the card if its looks leave no more error than the bound, or read it differently."""
        opinion = self._opinion(card)
        if opinion is None or opinion.error > self._error_bound or opinion.best == card.read:
            return []
        if card.read is not None:
            self._left[card.read.index] += 1
        card.read = opinion.best
        self._left[card.read.index] -= 1
        return [CardRead(at, card.order, card.read, opinion.confidence, opinion.second)]

    def _opinion(self, card: _OpenCard) -> Opinion | None:
        """Return the opinion on a card from all looks at it that count."""
        return card.fusion.opinion(self._copies_for(card))

    def _copies_for(self, card: _OpenCard) -> NDArray[np.float64]:
        """Return the copies of each face that a card may be: the one it is read as is one."""
        left = self._left.copy()
        if card.read is not None:
            left[card.read.index] += 1
        return left

    def _settle(self, track: Track, at: int) -> list[Event]:
        """Give as unread a face that was open too long, and as removed a card that has gone."""
        if track.gone:
            self._cut.discard(track.id)
        card = self._open.get(track.id)
        if card is None:
            return []
        events: list[Event] = []
        shown = card.open_since is not None and card.tries >= LEAST_TRIES
        late = card.open_since is not None and at - card.open_since >= UNREAD_MS
        if card.read is None and shown and (late or track.gone) and not card.given_unread:
            card.given_unread = True
            events.append(self._unread(card, at))
        if track.gone:
            del self._open[track.id]
            self._foreign.forget(card.order)
            if card.read is not None and (track.returned or track.withdrawn):
                self._left[card.read.index] += 1  # it can be drawn again
            events.append(_end_of(track, at, card.order))
        return events

    def _doubt(self, track: Track, at: int) -> list[Event]:
        """Tell that sight is in doubt about a card, and when it is no longer."""
        card = self._open.get(track.id)
        if card is None or card.doubted == bool(track.doubt):
            return []
        card.doubted = bool(track.doubt)
        over = not card.doubted
        return [Noticed(at, "REVIEW", card.order, track.slot, track.doubt, over=over)]

    def _unread(self, card: _OpenCard, at: int) -> CardRead:
        opinion = self._opinion(card)
        if opinion is None:
            return CardRead(at, card.order, None, 0.0)
        return CardRead(at, card.order, None, opinion.confidence, opinion.best)


def _end_of(track: Track, at: int, order: int) -> Event:
    """Return how a card ended: back in the shoe, never there, or taken from the layout."""
    if track.returned:
        return Noticed(at, "RETURNED_TO_SHOE", order)
    return (CardWithdrawn if track.withdrawn else CardRemoved)(at, order)


def _is_open(track: Track) -> bool:
    """Whether a face lies open at rest, and nothing covers it."""
    lies = track.seen and track.resting and not track.gone
    return lies and track.kind is Kind.FACE and not track.covered


def _is_whole(quad: Points, image: Image) -> bool:
    """Whether a card lies in the picture with all its corners."""
    height, width = image.shape[:2]
    return bool((quad >= 0).all() and (quad <= (width - 1, height - 1)).all())
