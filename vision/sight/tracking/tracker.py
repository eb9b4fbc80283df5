"""Follow every card from the shoe's mouth to its slot to the discard, whatever covers it.

Cards are conserved. A card is born at the mouth of the shoe and ends in the discard, and in between
it exists, seen or not. So a broken run of sightings is not a new card: each frame's detections are
linked to runs (`tracklet`), each new run is explained as a known card, a new one or none
(`explanations`), and each card lives by the table of `card`.
"""

from __future__ import annotations

from collections.abc import Sequence

from vision.sight.detection.detector import Detection, Kind
from vision.sight.geometry.frame import Image
from vision.sight.geometry.plane import Pose, TableView
from vision.sight.tracking.association import Sighting, match, sightings_of
from vision.sight.tracking.background import BackgroundModel, Sight
from vision.sight.tracking.card import Life, Observation, Track, TrackedCard
from vision.sight.tracking.explanations import Scene, explain, left_the_mouth, weighed
from vision.sight.tracking.snapshot import TrackerView, run_view, tracker_view
from vision.sight.tracking.tracklet import Tracklet

# A run counts as begun in the mouth within this distance of it, and further off the longer ago the
# table was last looked at: a card leaves at up to 0.6 m/s.
MOUTH_MARGIN_MM = 25.0
LEAVING_MM_MS = 0.6
MAX_MOUTH_MARGIN_MM = 120.0
FORGOTTEN_MS = 600  # a run that was not explained is forgotten after this long out of sight
LEAST_SIGHTINGS = 3  # of a run before it is explained: single boxes are often false
LEAST_REST_MS = 200  # a run that did not come from the mouth has to lie still for this long
PLACED_MS = 200  # a card that lies still in a slot for this long is laid there
PLACED_NOWHERE_MS = 1000  # and outside of the slots, where hands stop on their way
MOVED_MM = 20.0  # a card that lies this far from where it lay has been laid again
BARE_MS = 500  # a card whose face was seen is gone when its place has been bare for this long
BARE_UNTURNED_MS = 4000  # one lying on its face may be in a hand that turns it
UNSEEN_GONE_MS = 2500  # without pictures, a card out of sight for this long is gone
HIDDEN_LONG_MS = 8000  # no hand rests on a card without moving for this long
NEVER_LAID_MS = 5000  # a card lost in flight while no other lies on the table went off it
PATCH_MS = 200  # how often the look of a card's place is renewed
EXPOSED_MS = 400  # a card turned over as it is drawn shows its face in the mouth for less
EXPOSED_AGAIN_MS = 3000  # a face in the mouth that was out of sight for longer is another one
NEVER = -(10**15)


class Tracker:
    """Cards from the detections of each frame, at any frame rate."""

    def __init__(self, view: TableView) -> None:
        self._view = view
        self._ground = BackgroundModel(view)
        self._cards: list[TrackedCard] = []
        self._runs: list[Tracklet] = []  # not explained yet
        self._number = 0
        self._cleared_at = NEVER
        self._sees_ground = False
        self._at = 0
        self._exposed_at = NEVER

    def update(
        self, detections: Sequence[Detection], at: int, image: Image | None = None
    ) -> tuple[Track, ...]:
        """Take the detections of a frame; return the cards that are out, in the order they left.

        With the `image` absence is seen (the bare table shows); without it a card is taken for
        gone after 2.5 s out of sight.
        """
        self._link(sightings_of(self._view, detections), at)
        self._sees_ground = image is not None
        if image is not None and self._ground.observe(image, at):
            occupied = [self._view.rectangle(c.lies_at) for c in self._cards if c.placed]
            occupied += [self._view.rectangle(run.rest) for run in self._runs if run.rest]
            self._ground.learn(at, occupied)
        for run in list(self._runs):
            self._explain(run)
        for card in self._cards:
            self._live(card)
        tracks = tuple(self._track(card) for card in self._cards)
        self._cards = [card for card in self._cards if not card.gone]
        return tracks

    def newly_exposed(self) -> bool:
        """Whether this frame is the first to show that a card lies face up in the shoe's mouth."""
        for run in self._runs:
            if run.seen_at == self._at and run.kind is Kind.FACE and run.rest is not None:
                lies = self._view.in_mouth(run.rest) and run.rested_ms(self._at) >= EXPOSED_MS
                if lies:
                    before, self._exposed_at = self._exposed_at, self._at
                    return self._at - before > EXPOSED_AGAIN_MS
        return False

    def snapshot(self) -> TrackerView:
        """Return what is held true now, for people to look at."""
        ripe = [run for run in self._runs if self._is_ripe(run)]
        found = zip((run.number for run in ripe), weighed(ripe, self._scene()), strict=True)
        odds = dict(found)
        runs = [run_view(self._view, run, odds.get(run.number, ())) for run in self._runs]
        return tracker_view(self._view, self._cards, runs, self._at)

    # --- runs of sightings -----------------------------------------------------------------------

    def _link(self, found: Sequence[Sighting], at: int) -> None:
        margin = min(MOUTH_MARGIN_MM + LEAVING_MM_MS * (at - self._at), MAX_MOUTH_MARGIN_MM)
        self._at = at
        on_table = [sighting for sighting in found if not self._view.in_discard(sighting.pose)]
        discarded = [sighting for sighting in found if self._view.in_discard(sighting.pose)]
        runs = [*(card.tracklet for card in self._cards), *self._runs]
        pairs = match(runs, on_table, at)
        for i, j in pairs.items():
            runs[i].see(on_table[j], at)
        # Only a card that lay on the layout ends in the discard; one in flight passes over it.
        cleared = [c.tracklet for c in self._cards if c.placed and c.tracklet.seen_at != at]
        for i, j in match(cleared, discarded, at).items():
            cleared[i].see(discarded[j], at)
        for j in sorted(set(range(len(on_table))) - set(pairs.values())):
            self._number += 1
            mouth = self._view.in_mouth(on_table[j].pose, margin)
            self._runs.append(Tracklet.begin(self._number, on_table[j], at, from_mouth=mouth))
        self._runs = [run for run in self._runs if at - run.seen_at <= FORGOTTEN_MS]

    def _explain(self, run: Tracklet) -> None:
        if run not in self._runs or not self._is_ripe(run):
            return
        explanation = explain(run, self._scene())
        if explanation is None or not (explanation.new or explanation.card):
            return
        if explanation.new:
            self._begin_forerunners(run)
        self._runs.remove(run)
        if explanation.card is not None:
            explanation.card.go_on_as(run)
        else:
            self._begin(run)

    def _is_ripe(self, run: Tracklet) -> bool:
        """Whether enough is seen of a run to weigh what it is: it left the mouth, or it lies."""
        if run.seen_at != self._at or self._view.in_mouth(run.pose):
            return False
        if left_the_mouth(run, self._view):
            return True
        return run.rested_ms(self._at) >= LEAST_REST_MS and run.sightings >= LEAST_SIGHTINGS

    def _begin_forerunners(self, run: Tracklet) -> None:
        """Believe what lies in a slot, not yet sure, before a card that left the shoe after it.

        A dealer can be so quick that a card was never seen in flight; it is the first all the same.
        """
        for earlier in list(self._runs):
            if earlier.number >= run.number or earlier.rested_ms(self._at) < LEAST_REST_MS:
                continue
            lies = self._view.slot_of(earlier.lies_at)
            taken = any(card.slot is lies for card in self._cards)
            if lies is not None and not taken and earlier.sightings >= LEAST_SIGHTINGS:
                self._runs.remove(earlier)
                self._begin(earlier)

    def _scene(self) -> Scene:
        return Scene(
            self._view,
            tuple(self._cards),
            self._at,
            self._cleared_at,
            self._sight,
            lambda pose: self._ground.altered(self._view.rectangle(pose)),
        )

    def _begin(self, run: Tracklet) -> None:
        """Take a run for a card new from the shoe."""
        if left_the_mouth(run, self._view):
            for card in self._cards:
                # The next card comes when the last hands are cleared: no need to wait longer.
                if card.face_seen and card.bare_since is not None and card.bare_since < self._at:
                    card.life = Life.GONE
        self._cards.append(TrackedCard(run.number, run, self._at))

    # --- cards -----------------------------------------------------------------------------------

    def _live(self, card: TrackedCard) -> None:
        run = card.tracklet
        card.face_seen |= run.kind is Kind.FACE
        seen = run.seen_at == self._at
        if seen:
            card.bare_since = None
        card.take(self._observed_seen(card) if seen else self._observed_unseen(card))
        if card.gone:
            self._cleared_at = self._at
        elif card.life is Life.LYING and seen and run.rest is not None:
            self._lay(card, run.rest)

    def _observed_seen(self, card: TrackedCard) -> Observation:
        run = card.tracklet
        if self._view.in_discard(run.pose):
            return Observation.DISCARDED
        if run.rest is None or self._view.in_mouth(run.rest):
            return Observation.MOVES
        if card.placed is not None and card.placed.distance(run.rest) <= MOVED_MM:
            return Observation.RESTS
        nowhere = self._view.slot_of(run.rest) is None
        patience = PLACED_NOWHERE_MS if nowhere else PLACED_MS
        return Observation.RESTS if run.rested_ms(self._at) >= patience else Observation.MOVES

    def _observed_unseen(self, card: TrackedCard) -> Observation:
        unseen = self._at - card.tracklet.seen_at
        if card.placed is None:
            alone = all(c.placed is None or c.tracklet.is_cut for c in self._cards if not c.gone)
            cleared = self._cleared_at > card.tracklet.seen_at
            late = unseen > (BARE_MS if cleared else NEVER_LAID_MS)
            return Observation.NEVER_LAID if alone and late else Observation.UNSEEN
        sight = self._sight(card)
        if sight is Sight.FELT:
            return self._observed_bare(card)
        card.bare_since = None
        if sight is Sight.CARD:
            return Observation.SAME
        steady = self._ground.steady_ms(self._view.rectangle(card.placed), self._at)
        long = self._sees_ground and min(unseen, steady) > HIDDEN_LONG_MS
        return Observation.HIDDEN_LONG if long else Observation.HIDDEN

    def _observed_bare(self, card: TrackedCard) -> Observation:
        if card.bare_since is None:
            card.bare_since = self._at
        # A card whose face was never seen has been picked up to be turned, not cleared, unless
        # others have gone since.
        cleared = self._cleared_at > card.bare_since
        patience = BARE_MS if card.face_seen or cleared else BARE_UNTURNED_MS
        bare = self._at - max(card.bare_since, card.tracklet.seen_at)
        return Observation.BARE_LONG if bare >= patience else Observation.BARE

    def _sight(self, card: TrackedCard) -> Sight:
        """Look at the place of a card that is not detected."""
        if not self._sees_ground:
            gone = self._at - card.tracklet.seen_at > UNSEEN_GONE_MS
            if gone:
                card.bare_since = card.bare_since or self._at - BARE_UNTURNED_MS
            return Sight.FELT if gone else Sight.COVERED
        return self._ground.sight(self._view.rectangle(card.lies_at), card.patch)

    def _lay(self, card: TrackedCard, rest: Pose) -> None:
        if card.placed is None or card.placed.distance(rest) > MOVED_MM:
            slot = self._view.slot_of(rest)
            if card.placed is None or slot is not card.slot:
                card.placed_at, card.slot = self._at, slot
            card.placed, card.patch = rest, None
            card.tracklet.anchor = rest
        fresh = card.patch is None or self._at - card.patch_at >= PATCH_MS
        if card.tracklet.strays == 0 and fresh:
            card.patch = self._ground.remember(self._view.rectangle(card.placed))
            card.patch_at = self._at

    def _track(self, card: TrackedCard) -> Track:
        run = card.tracklet
        return Track(
            id=card.id,
            pose=run.lies_at,
            quad=self._view.quad_px(run.lies_at),
            kind=Kind.CUT if run.is_cut else run.kind,
            seen=run.seen_at == self._at,
            resting=run.rest is not None,
            out_at=card.out_at,
            placed_at=card.placed_at,
            slot=card.slot,
            gone=card.gone,
        )
