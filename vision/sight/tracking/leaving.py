"""What the mouth of the shoe says of the cards: which left and when, which went back.

A card that the mouth gave to leave exists from then on, and is told of once a run of sightings was
explained as it: in the order in which the cards left, not in that in which they came into sight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vision.sight.detection.detector import Kind
from vision.sight.geometry.plane import Pose, TableView, distance_inside
from vision.sight.mouth.signs import MouthEvent, MouthSign
from vision.sight.tracking.card import SURE_SIGN, Life, TrackedCard
from vision.sight.tracking.explanations import TOGETHER_MS
from vision.sight.tracking.odds import ODDS
from vision.sight.tracking.tracklet import VOTES, Tracklet

# A card seen to leave and a sign of the mouth within this time, in ms, are the same leaving. Longer
# and two quick cards are one, shorter and one card is two.
SAME_LEAVING_MS = 450
# A card is drawn out in so long, in ms: what was seen to leave since it began is the one of which
# the sign comes at last. Longer, and a card that lies already, its sign missed, takes the next one.
DRAWN_MS = 1500
# Two signs are two cards, unless nobody could have drawn two so soon one after the other, in ms.
# Longer, and a sign that came late makes one card of two; shorter, and a stammer makes two of one.
TWICE_TOLD_MS = 200
# A card that left unseen is told of before those that left after it; they wait so long for it, in
# ms. Longer delays every card after a false sign, shorter gives the wrong order.
ORDER_PATIENCE_MS = 1200
OPEN_PATIENCE_MS = 3500  # the same while something lies in a place that may be the card
# From this probability on the mouth's word is enough: the card is under a hand. Lower, and false
# signs become cards; higher, and a card slid under a flat hand is late.
SIGN_ALONE = 0.75
# One that was seen on its way and of which the mouth said nothing is told when it lies, or has been
# in sight for so long, in ms: boxes that go astray last less. Longer delays cards whose sign was
# missed, shorter tells of cards that are none.
FLOWN_MS = 500
# A card given to leave that nobody saw for so long, in ms, was none. Shorter, and a card under a
# resting hand is lost; longer, and a false box may come to be taken for it.
NEVER_CAME_MS = 5000
# A card on its way shows its face if all sightings that are remembered say so, the last two no
# further apart, in mm, than a hand moves that shows it. Further, or fewer sightings, and a back in
# motion that is taken for a face is an exposed card: with three of five, in six of 900 coups.
SHOWN_MM = 25.0
# Signs that a card went back count for one last seen within so many mm of the mouth, and are
# believed after so many ms without sight of it elsewhere: one under a hand has been laid by then,
# or its place is still hidden.
RETURN_REACH_MM, RETURN_MS = 220.0, 1500
# ... and only so long, in ms, after it left: nobody carries a card about before he returns it.
RETURN_WITHIN_MS = 6000


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to be told besides the tracks: a code of the fault table.

    `REVIEW` is a doubt about the reader itself; `detail` says what it is about, for people.
    """

    at: int
    code: str
    detail: str = ""


class Leaving:
    """Keeps what the mouth said; the cards that it begins are the tracker's."""

    def __init__(self, view: TableView) -> None:
        self._view = view
        x, y = view.mouth.mean(axis=0).tolist()
        self._mouth = Pose(x, y, 0.0)
        self._begun_at: int | None = None  # since when a card is leaving, ms

    def take(
        self, event: MouthEvent, cards: Sequence[TrackedCard], number: int
    ) -> TrackedCard | None:
        """Take a sign; return the card that it begins, if it does."""
        if event.sign is MouthSign.LEAVING:
            self._begun_at = event.at
        if event.sign in (MouthSign.LEFT, MouthSign.TOGETHER, MouthSign.CUT):
            return self._left(event, cards, number)
        if event.sign is MouthSign.RETURNED:
            self._returned(event, cards)
        return None

    def _left(
        self, event: MouthEvent, cards: Sequence[TrackedCard], number: int
    ) -> TrackedCard | None:
        """Find the card that has left, or begin it."""
        cut = event.probability if event.sign is MouthSign.CUT else 0.0
        together = event.sign is MouthSign.TOGETHER and event.probability >= SURE_SIGN
        begun_at, self._begun_at = self._begun_at, None
        since = event.at if begun_at is None else max(begun_at, event.at - DRAWN_MS)
        same = [card for card in cards if _is_left(card, event.at, since)]
        if same:
            card = min(same, key=lambda card: abs(card.out_at - event.at))
            card.cut_signed = max(card.cut_signed, cut)
            if not card.signed and not card.told:
                card.out_at = event.at
            card.signed = max(card.signed, event.probability)
            card.together |= together
            return None
        run = Tracklet.unseen(number, self._mouth, event.at, Kind.BACK)
        signed = _alone_or_second(event, cards)
        new = TrackedCard(number, run, event.at, life=Life.LOST, signed=signed)
        new.together, new.cut_signed = together, cut
        return new

    def _returned(self, event: MouthEvent, cards: Sequence[TrackedCard]) -> None:
        """Note on the last card near the mouth that it may be back in the shoe."""
        near = [
            card
            for card in cards
            if card.placed is None and not (card.gone or card.is_cut) and card.return_at is None
            if event.at - card.out_at <= RETURN_WITHIN_MS
            if distance_inside(card.tracklet.pose.centre, self._view.mouth) >= -RETURN_REACH_MM
        ]
        if near:
            card = max(near, key=lambda card: card.out_at)
            card.return_at, card.went_back = event.at, event.probability

    def settle(
        self, cards: Sequence[TrackedCard], at: int, open_since: Callable[[], int | None]
    ) -> list[Finding]:
        """End the cards that went back and those that never came; `open_since` as in `tell`."""
        found: list[Finding] = []
        for card in cards:
            if card.gone:
                continue
            if card.return_at is not None and card.came_after_all(cards):
                card.life, card.withdrawn = Life.GONE, True
            elif card.return_at is not None:
                found += self._settle_return(card, at, open_since)
            elif not card.is_seen and at - card.out_at >= NEVER_CAME_MS:
                card.life, card.withdrawn = Life.GONE, True
                if card.signed >= SURE_SIGN and not card.is_cut:
                    detail = "a card that left the shoe and was seen nowhere"
                    found.append(Finding(at, "REVIEW", detail))
        return found

    def _settle_return(
        self, card: TrackedCard, at: int, open_since: Callable[[], int | None]
    ) -> list[Finding]:
        back = card.return_at or 0
        waited = at - back
        away = card.tracklet.seen_at > back and not self._view.in_mouth(card.tracklet.pose, 40)
        if away or card.placed is not None:
            card.return_at, card.went_back = None, 0.0  # it is on the table: the sign was false
        elif waited >= NEVER_CAME_MS or (waited >= RETURN_MS and open_since() is None):
            card.life, card.returned = Life.GONE, True
            # Where the card was told of, its track says so.
            return [] if card.told else [Finding(at, "RETURNED_TO_SHOE")]
        return []

    def tell(
        self, cards: Sequence[TrackedCard], at: int, open_since: Callable[[], int | None] | None
    ) -> None:
        """Mark the cards that are to be told of, in the order in which they left.

        `open_since`: since when an empty place may hold a card that is still missing; `None` where
        nobody watches the mouth, and the order is that in which the cards come into sight.
        """
        if open_since is None:
            for card in cards:
                card.told |= card.is_seen
            return
        waiting = sorted((card for card in cards if not card.told), key=lambda c: c.out_at)
        since = open_since() if waiting else None
        for card in waiting:
            waited = at - card.out_at
            if card.is_cut and not card.tracklet.is_cut and waited < OPEN_PATIENCE_MS:
                continue  # by the mouth alone: it is another if it comes to lie in a slot
            if since is not None and since < card.out_at and waited < OPEN_PATIENCE_MS:
                return  # what lies there and is not explained yet may have left before
            if card.is_cut or card.signed >= SIGN_ALONE or _is_surely_seen(card):
                # One that comes to light after a later card was told has lost its place.
                card.found |= any(c.told and c.out_at > card.out_at for c in cards)
                card.told = True
            elif waited < (ORDER_PATIENCE_MS if since is None else OPEN_PATIENCE_MS):
                return


def note_faces(cards: Sequence[TrackedCard], runs: Sequence[Tracklet], at: int) -> None:
    """Note on the cards on their way whether they show their faces.

    A face in nobody's place, while one card that left was not seen yet, is of that card.
    """
    on_their_way = [c for c in cards if c.placed is None and not (c.gone or c.is_cut)]
    for card in on_their_way:
        card.flashed |= card.is_seen and _shows_face(card.tracklet, at)
    unseen = [card for card in on_their_way if not card.is_seen]
    faces = [run for run in runs if _shows_face(run, at)]
    if len(unseen) == 1 and any(run.born_at > unseen[0].out_at for run in faces):
        unseen[0].flashed = True


def _shows_face(run: Tracklet, at: int) -> bool:
    shows = run.votes.count(Kind.FACE) == VOTES
    return shows and run.seen_at == at and run.last_step_mm < SHOWN_MM


def _is_left(card: TrackedCard, at: int, since: int) -> bool:
    """Whether the sign of `at` (ms), of a card that began to leave at `since`, may be of a card."""
    if card.gone or card.unseen_out:
        return False
    apart = abs(card.out_at - at)
    if card.signed:
        return apart <= TWICE_TOLD_MS
    return apart <= SAME_LEAVING_MS or since <= card.out_at <= at


def _alone_or_second(event: MouthEvent, cards: Sequence[TrackedCard]) -> float:
    """Return the probability that a sign is of a card of its own, and no echo of another sign.

    Rarely do two cards leave so soon one after the other; then it is asked which of the two signs
    was false.
    """
    second = event.probability
    before = [c.signed for c in cards if c.signed and abs(event.at - c.out_at) < TOGETHER_MS]
    if not before:
        return second
    first = max(before)
    both = ODDS.two_at_once * first * second
    return both / (both + first * (1.0 - second) + (1.0 - first) * second)


def _is_surely_seen(card: TrackedCard) -> bool:
    """Whether a card is in sight, and more than a box that went astray near the mouth."""
    run = card.tracklet
    sure = bool(card.signed) or card.placed is not None or run.seen_at - run.born_at >= FLOWN_MS
    return card.is_seen and sure
