"""Follow every card from the shoe's mouth to its slot to the discard, whatever covers it.

A sighting is nothing until it proves to be a card: it comes out of the mouth and moves on, or it
comes to rest on the layout. A card that is no longer seen is missing, not gone: it goes when it
is seen in the discard, or when its place shows the bare table. Knows no faces and no rules.
"""

from __future__ import annotations

from collections.abc import Sequence

from vision.sight.detection.detector import Detection, Kind
from vision.sight.geometry.frame import Image, Points
from vision.sight.geometry.plane import TableView, distance_inside, shared_area
from vision.sight.tracking.association import Sighting, match, sightings_of
from vision.sight.tracking.background import BackgroundModel, Sight
from vision.sight.tracking.track import Followed, Track

MOUTH_MARGIN_MM = 25.0
MAX_MOUTH_MARGIN_MM = 120.0
SPEED_MM_MS = 0.6
LEFT_MOUTH_MM = 40.0
FLIGHT_MM = 400.0
STACKED_MM = 60.0
PLACED_MS = 200
PLACED_NOWHERE_MS = 1000
FOUND_MS = 300
FOUND_DOUBTFUL_MS = 1200
TENTATIVE_MS = 400
AFTER_CLEARING_MS = 2000
SAME_FLIGHT_MS = 600
BARE_MS = 500
BARE_UNTURNED_MS = 4000
BLIND_ABSENCE_MS = 2500
COVER_STEADY_MS = 8000
LOST_IN_FLIGHT_MS = 5000
MOVED_MM = 20.0
PATCH_MS = 200
NEVER = -(10**15)


class Tracker:
    """Tracks on the table plane from the detections of each frame, at any frame rate."""

    def __init__(self, view: TableView) -> None:
        self._view = view
        self._ground = BackgroundModel(view)
        self._cards: list[Followed] = []
        self._number = 0
        self._cleared_at = NEVER
        self._sees_ground = False
        self._at = 0

    def update(
        self, detections: Sequence[Detection], at: int, image: Image | None = None
    ) -> tuple[Track, ...]:
        """Take the detections of a frame; return the cards that are out, in the order they left.

        With the `image` absence is seen (the bare table shows); without it a card is taken for
        gone after 2.5 s out of sight.
        """
        self._follow(sightings_of(self._view, detections), at)
        self._sees_ground = image is not None
        if image is not None and self._ground.observe(image, at):
            lying = [self._place(card) for card in self._cards if card.rest or card.placed]
            self._ground.learn(at, lying)
        for card in self._cards:
            if card.out_at is None:
                self._try_out(card, at)
        self._cards = [card for card in self._cards if card.out_at is not None or not card.gone]
        for card in self._cards:
            if card.out_at is not None:
                self._try_placed(card, at)
                self._try_gone(card, at)
        tracks = tuple(self._track(card, at) for card in self._out())
        self._cards = [card for card in self._cards if not card.gone]
        return tracks

    def _out(self) -> list[Followed]:
        out = [card for card in self._cards if card.out_at is not None]
        return sorted(out, key=lambda card: (card.out_at or 0, card.born_at, card.id))

    def _track(self, card: Followed, at: int) -> Track:
        pose = card.rest if card.rest is not None else card.pose
        return Track(
            id=card.id,
            pose=pose,
            quad=self._view.quad_px(pose),
            kind=Kind.CUT if card.is_cut else card.kind,
            seen=card.seen_at == at,
            resting=card.resting,
            out_at=card.out_at or at,
            placed_at=card.placed_at,
            slot=card.slot,
            gone=card.gone,
        )

    def _place(self, card: Followed) -> Points:
        return self._view.rectangle(card.rest or card.placed or card.pose)

    def _follow(self, found: Sequence[Sighting], at: int) -> None:
        margin = min(MOUTH_MARGIN_MM + SPEED_MM_MS * (at - self._at), MAX_MOUTH_MARGIN_MM)
        self._at = at
        for card in self._cards:
            card.frames += 1
        pairs = match(self._cards, found, at)
        for i, j in pairs.items():
            card = self._cards[i]
            card.see(found[j], at)
            card.face_seen |= card.kind is Kind.FACE
            card.gone = self._view.in_discard(card.pose)
        for j in sorted(set(range(len(found))) - set(pairs.values())):
            if not self._view.in_discard(found[j].pose):
                self._number += 1
                mouth = self._view.in_mouth(found[j].pose, margin)
                new = Followed.begin(self._number, found[j], at, from_mouth=mouth)
                self._cards.append(new)
        for card in self._cards:
            if card.out_at is None and at - card.seen_at > TENTATIVE_MS:
                card.gone = True

    # --- from a sighting to a card ---------------------------------------------------------------

    def _try_out(self, card: Followed, at: int) -> None:
        if card.gone or card.seen_at != at or card.sightings < 2 or self._has_forerunner(card):
            return
        if self._left_the_mouth(card) or self._flies_from_the_shoe(card, at):
            same = self._seen_twice(card, at) or self._lost_in_flight(card, at, SAME_FLIGHT_MS)
            if same or not self._touches_the_last(card, at):
                self._come_out(card, same, at)
        elif self._lies_on_the_layout(card, at):
            self._come_out(card, self._lost_in_flight(card, at) or self._carried(card), at)

    def _has_forerunner(self, card: Followed) -> bool:
        """Whether one that was seen before it lies in a slot and is yet to prove a card.

        A dealer can be so quick that the first card was never seen in flight; it is the first.
        """
        return any(
            other.id < card.id and other.out_at is None and not other.gone and self._in_slot(other)
            for other in self._cards
        )

    def _in_slot(self, card: Followed) -> bool:
        """Whether it lies in a slot, and not where a known card does."""
        lies = card.rest is not None and self._view.slot_of(card.rest) is not None
        return lies and not self._beside_another(card)

    def _left_the_mouth(self, card: Followed) -> bool:
        if not card.from_mouth or self._view.in_mouth(card.pose) or not card.moved(LEFT_MOUTH_MM):
            return False
        mouth = self._view.mouth
        return distance_inside(card.pose.centre, mouth) < distance_inside(card.first.centre, mouth)

    def _flies_from_the_shoe(self, card: Followed, at: int) -> bool:
        """Whether a card first seen beyond the mouth comes from there: no other can it be."""
        if card.sightings < 3 or not card.on_course or at - self._cleared_at < AFTER_CLEARING_MS:
            return False
        mouth = self._view.mouth
        start = -distance_inside(card.first.centre, mouth)
        away = -distance_inside(card.pose.centre, mouth) - start
        if start > FLIGHT_MM or away < LEFT_MOUTH_MM or self._view.in_discard(card.pose):
            return False
        return card.moved(LEFT_MOUTH_MM) and all(self._accounted(other) for other in self._out())

    def _accounted(self, card: Followed) -> bool:
        """Whether it is plain where a card is: in sight, or under one that is."""
        seen = [other for other in self._out() if self._at - other.seen_at <= FOUND_MS]
        return card.gone or any(card.pose.distance(other.pose) <= STACKED_MM for other in seen)

    def _lies_on_the_layout(self, card: Followed, at: int) -> bool:
        if card.rest is None or card.sightings < 3 or self._view.in_mouth(card.rest, 0.0):
            return False
        if self._view.in_discard(card.rest):
            return False
        if self._view.slot_of(card.rest) is None:
            # Outside the slots only a thing that came counts, not what the detector imagines.
            came = card.moved(3 * MOVED_MM) or self._ground.altered(self._place(card))
            return came and at - max(card.rest_since, self._cleared_at) >= FOUND_DOUBTFUL_MS
        doubtful = self._beside_another(card) or at - self._cleared_at < AFTER_CLEARING_MS
        return at - card.rest_since >= (FOUND_DOUBTFUL_MS if doubtful else FOUND_MS)

    def _beside_another(self, card: Followed) -> bool:
        """Whether a known card lies at the same place: then this may be that card, seen twice.

        Not one that was last seen there in flight and is out of sight: this is that card.
        """
        mine, area = self._place(card), self._view.card_mm[0] * self._view.card_mm[1]
        slot = self._view.slot_of(card.rest or card.pose)
        return any(
            (slot is not None and other.slot is slot and other.placed is not None)
            or shared_area(mine, self._place(other)) > 0.35 * area
            for other in self._cards
            if other is not card and other.out_at is not None and not other.gone
            if other.placed is not None or other.seen_at == self._at
        )

    def _seen_twice(self, card: Followed, at: int) -> Followed | None:
        """Return the card that this one covers: a blurred or half hidden one is easily seen double.

        It is still in flight, or was seen only after this one and not in the mouth.
        """
        area = self._view.card_mm[0] * self._view.card_mm[1]
        for other in self._out():
            flies = other.placed is None or (other.id > card.id and not other.from_mouth)
            recent = at - (other.out_at or 0) <= SAME_FLIGHT_MS and flies
            if recent and shared_area(self._place(card), self._place(other)) > 0.35 * area:
                return other
        return None

    def _touches_the_last(self, card: Followed, at: int) -> bool:
        """Whether it lies partly on a card that has just come out, as the hand on that one does.

        A card that is one flies on alone, and is told a moment later.
        """
        mine = self._place(card)
        return any(
            at - (other.out_at or 0) <= SAME_FLIGHT_MS and shared_area(mine, self._place(other)) > 0
            for other in self._out()
        )

    def _lost_in_flight(
        self, found: Followed, at: int, since_out_ms: int | None = None
    ) -> Followed | None:
        """Return the first card that left the shoe, was never laid down and is out of sight."""
        for card in self._out():
            recent = since_out_ms is None or at - (card.out_at or 0) <= since_out_ms
            if card.placed is None and card.seen_at < at and not card.gone and recent:
                return card if card.is_cut == found.is_cut else None
        return None

    def _carried(self, found: Followed) -> Followed | None:
        """Return a card taken from its place unseen: that is bare, or `found` lies on it."""
        slot = self._view.slot_of(found.rest or found.pose)
        for card in self._out():
            missing = card.placed is not None and self._at - card.seen_at >= FOUND_MS
            returned = slot is not None and card.slot is slot
            bare = card.absent_since is not None
            if missing and (bare or returned) and not card.gone and card.is_cut == found.is_cut:
                return card
        return None

    def _come_out(self, card: Followed, earlier: Followed | None, at: int) -> None:
        if earlier is not None:
            earlier.take_over(card)
            card.gone = True
            return
        if card.from_mouth:
            for other in self._cards:
                # The next card comes when the last hands are cleared: no need to wait longer.
                bare = other.absent_since is not None and other.absent_since < at
                other.gone |= bare and other.face_seen
        card.out_at = at

    # --- where it lies, and when it has gone -----------------------------------------------------

    def _try_placed(self, card: Followed, at: int) -> None:
        if card.rest is None or card.seen_at != at:
            return
        if card.placed is None or card.placed.distance(card.rest) > MOVED_MM:
            slot = self._view.slot_of(card.rest)
            patience = PLACED_NOWHERE_MS if slot is None else PLACED_MS
            if at - card.rest_since < patience or self._view.in_mouth(card.rest):
                return
            if card.placed is None or slot is not card.slot:
                card.placed_at, card.slot = at, slot
            card.placed, card.patch = card.rest, None
        if card.strays == 0 and (card.patch is None or at - card.patch_at >= PATCH_MS):
            place = self._view.rectangle(card.placed)
            card.patch, card.patch_at = self._ground.remember(place), at

    def _try_gone(self, card: Followed, at: int) -> None:
        if not card.gone and card.seen_at != at:
            card.gone = self._absent(card, at)
        if card.gone:
            self._cleared_at = at

    def _absent(self, card: Followed, at: int) -> bool:
        if card.placed is None:
            # Cards laid on one another are cleared as one: the lower ones go with the upper.
            alone = all(other.placed is None or other.is_cut for other in self._out())
            cleared = self._cleared_at > card.seen_at
            return alone and at - card.seen_at > (BARE_MS if cleared else LOST_IN_FLIGHT_MS)
        if not self._sees_ground:
            return at - card.seen_at > BLIND_ABSENCE_MS
        place = self._view.rectangle(card.placed)
        sight = self._ground.sight(place, card.patch)
        if sight is not Sight.FELT:
            card.absent_since = None
            unseen = min(at - card.seen_at, self._ground.steady_ms(place, at))
            return sight is Sight.COVERED and unseen > COVER_STEADY_MS
        card.absent_since = card.absent_since if card.absent_since is not None else at
        # A card whose face was never seen has been picked up to be turned, not cleared, unless
        # others have gone since.
        cleared = self._cleared_at > card.absent_since
        patience = BARE_MS if card.face_seen or cleared else BARE_UNTURNED_MS
        return at - max(card.absent_since, card.seen_at) >= patience
