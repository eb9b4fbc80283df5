"""Follow every card from the shoe's mouth to its slot to the discard, whatever covers it.

Cards are conserved. A card is born at the mouth of the shoe and ends in the discard, and in between
it exists, seen or not. So a broken run of sightings is not a new card: each frame's detections are
linked to runs (`tracklet`), each new run is explained as a known card, a new one or none
(`explanations`), and each card lives by the table of `card`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vision.sight.detection.detector import Detection, Kind
from vision.sight.geometry.frame import Image, Points
from vision.sight.geometry.plane import Pose, TableView, overlap, shared_area
from vision.sight.mouth.signs import MouthEvent, MouthSign
from vision.sight.tracking.association import Sighting, match, sightings_of
from vision.sight.tracking.background import BackgroundModel, Ground, Sight
from vision.sight.tracking.card import Life, Observation, Track, TrackedCard
from vision.sight.tracking.explanations import (
    Explanation,
    Scene,
    explain,
    left_the_mouth,
    on_hand,
    stopped,
    weighed,
)
from vision.sight.tracking.leaving import Finding, Leaving, note_faces
from vision.sight.tracking.snapshot import TrackerView, run_view, tracker_view
from vision.sight.tracking.still_table import StillTable
from vision.sight.tracking.tracklet import Rhythm, Tracklet

# A run counts as begun in the mouth within this distance of it, and further off the longer ago the
# table was last looked at: a card leaves at up to 0.6 m/s.
MOUTH_MARGIN_MM, LEAVING_MM_MS = 25.0, 0.6
MAX_MOUTH_MARGIN_MM = 120.0
FORGOTTEN_MS = 600  # a run that was not explained is forgotten after this long out of sight
LEAST_SIGHTINGS = 3  # of a run before it is explained: single boxes are often false
LEAST_REST_MS = 200  # a run that did not come from the mouth has to lie still for this long
PLACED_MS = 200  # a card that lies still in a slot for this long is laid there
PLACED_DOUBTFUL_MS = 1000  # and in another slot, in none, or on a hand: hands stop on their way
MOVED_MM = 20.0  # a card that lies this far from where it lay has been laid again
BARE_MS = 500  # a card taken with others is gone when its place has been bare for this long
BARE_IN_HAND_MS = 4000  # one taken alone may be in a hand: looked at again, or switched
TAKEN_OFF_MS = 2000  # the same once the next card leaves: nobody turns one meanwhile
SQUEEZED_MS = 60_000  # one whose face nobody saw yet is with a player, who takes his time
UNSEEN_GONE_MS = 2500  # without pictures, a card out of sight for this long is gone
HIDDEN_LONG_MS = 8000  # no hand rests on a card without moving for this long
NEVER_LAID_MS = 5000  # a card lost in flight while no other lies on the table went off it
# One of which the mouth, being watched, said nothing was none after so long out of sight or waiting
# in the mouth: longer, and it is taken for the next card; shorter, and one under a hand is two.
UNSIGNED_LOST_MS = 2000
# Of the detector (0 to 1): below it a sighting is checked against the bare table, and in the mouth
# shows nothing. Lower, and print keeps a cleared card alive; higher costs a look for each card.
DUBIOUS_SCORE = 0.75
PATCH_MS = 200  # how often the look of a card's place is renewed
EXPOSED_MS = 400  # a card turned over as it is drawn shows its face in the mouth for less
EXPOSED_AGAIN_MS = 3000  # a face in the mouth that was out of sight for longer is another one
NEVER = -(10**15)


@dataclass(frozen=True, slots=True)
class Uses:
    """What the tracker goes by; each can be switched off, to measure what it is worth."""

    mouth: bool = True
    still_table: bool = True
    hands: bool = True
    joint: bool = True


class Tracker:
    """Cards from the detections of each frame, at any frame rate."""

    def __init__(self, view: TableView, ground: Ground | None = None, uses: Uses = Uses()) -> None:
        self._view = view
        self._ground = ground or BackgroundModel(view)
        self._uses = uses
        self._leaving = Leaving(view)
        self._still = StillTable(view)
        self._cards: list[TrackedCard] = []
        self._runs: list[Tracklet] = []  # not explained yet
        self._number = 0
        self._cleared_at = NEVER
        self._sees_ground = self._watched = False
        self._hands: Sequence[Points] = ()
        self._findings: list[Finding] = []
        self._before = self._at = 0
        self._rhythm = Rhythm()
        self._face_in_mouth, self._exposed_at = False, NEVER

    def update(
        self,
        detections: Sequence[Detection],
        at: int,
        image: Image | None = None,
        *,
        mouth: Sequence[MouthEvent] | None = None,
        hands: Sequence[Points] = (),
    ) -> tuple[Track, ...]:
        """Take the detections of a frame; return the cards that are out, in the order they left.

        With the `image` absence is seen (the bare table shows); without it a card is taken for
        gone after 2.5 s out of sight. `mouth` is what the shoe's mouth showed since the last frame
        (`None`: nobody watches it), `hands` are polygons (n x 2 mm) of the hands over the table.
        """
        return self.follow(
            sightings_of(self._view, detections), at, image, mouth=mouth, hands=hands
        )

    def follow(
        self,
        sightings: Sequence[Sighting],
        at: int,
        image: Image | None = None,
        *,
        mouth: Sequence[MouthEvent] | None = None,
        hands: Sequence[Points] = (),
    ) -> tuple[Track, ...]:
        """Do the same with detections that are laid on the table already, surest first."""
        self._hands = hands if self._uses.hands else ()
        self._sees_ground = image is not None
        learns = image is not None and self._ground.observe(image, at)
        self._link([s for s in sightings if not self._is_print(s)], at)
        self._watched = mouth is not None and self._uses.mouth
        self._face_in_mouth = False
        for event in (mouth or ()) if self._watched else ():
            self._take_sign(event)
        if learns:
            occupied = [self._view.rectangle(c.lies_at) for c in self._cards if c.placed]
            occupied += [self._view.rectangle(run.rest) for run in self._runs if run.rest]
            self._ground.learn(at, occupied)
        self._explain()
        for card in self._cards:
            self._live(card)
        note_faces(self._cards, self._runs, at)
        self._findings += self._leaving.settle(self._cards, at, self._open_since)
        if self._uses.still_table:
            self._still.compare(self._cards, self._hands, at)
        self._tell_together()
        self._leaving.tell(self._cards, at, self._open_since if self._watched else None)
        told = sorted((card for card in self._cards if card.told), key=lambda card: card.out_at)
        tracks = tuple(self._track(card) for card in told)
        self._cards = [card for card in self._cards if not card.gone]
        return tracks

    def findings(self) -> tuple[Finding, ...]:
        """Return what is to be told besides the tracks, since this was last asked."""
        found, self._findings = tuple(self._findings), []
        return found

    def newly_exposed(self) -> bool:
        """Whether this frame is the first to show that a card lies face up in the shoe's mouth."""
        if not (self._face_in_mouth or any(self._lies_exposed(run) for run in self._runs)):
            return False
        before, self._exposed_at = self._exposed_at, self._at
        return self._at - before > EXPOSED_AGAIN_MS

    def _lies_exposed(self, run: Tracklet) -> bool:
        if run.kind is not Kind.FACE or run.score < DUBIOUS_SCORE or run.rest is None:
            return False
        lies = self._view.in_mouth(run.rest) and run.shown_ms(self._at) >= EXPOSED_MS
        left = any(card.placed is None for card in self._cards)  # and is turned before the shoe
        return lies and not left and not on_hand(run.rest, self._hands)

    def _take_sign(self, event: MouthEvent) -> None:
        seen_too = any(r.kind is Kind.FACE and self._view.in_mouth(r.pose) for r in self._runs)
        two_see_it = event.sign is MouthSign.FACE and seen_too  # the detector, too, of late
        self._face_in_mouth |= event.sign is MouthSign.EXPOSED or two_see_it
        self._number += 1
        card = self._leaving.take(event, self._cards, self._number)
        if card is not None:
            self._clear_before(card)
            self._cards.append(card)

    def _tell_together(self) -> None:
        """Note of the cards told that another left with them: after them, so in their coup."""
        for card in self._cards:
            if card.told and card.together:
                card.together = False
                self._findings.append(Finding(self._at, "TWO_CARDS_OUT"))

    def snapshot(self) -> TrackerView:
        """Return what is held true now, for people to look at."""
        ripe = [run for run in self._runs if self._is_ripe(run)]
        found = weighed([*ripe, *self._unripe()], self._scene(), joint=self._uses.joint)
        odds = dict(zip((run.number for run in ripe), found, strict=False))
        runs = [run_view(self._view, run, odds.get(run.number, ())) for run in self._runs]
        return tracker_view(self._view, self._cards, runs, self._at)

    def _is_print(self, sighting: Sighting) -> bool:
        """Whether the bare table shows where a box is: its print, taken for a card."""
        dubious = sighting.score < DUBIOUS_SCORE and not self._view.in_mouth(sighting.pose)
        return dubious and self._is_bare(sighting.pose)

    # --- runs of sightings -----------------------------------------------------------------------

    def _link(self, found: Sequence[Sighting], at: int) -> None:
        margin = min(MOUTH_MARGIN_MM + LEAVING_MM_MS * (at - self._at), MAX_MOUTH_MARGIN_MM)
        since = self._rhythm.since(at)
        self._before, self._at = self._at, at
        discarded = [sighting for sighting in found if self._view.in_discard(sighting.pose)]
        on_table = [sighting for sighting in found if sighting not in discarded]
        runs = [*(card.tracklet for card in self._cards if card.is_seen), *self._runs]
        pairs = match(runs, on_table, at, since)
        for i, j in pairs.items():
            runs[i].see(on_table[j], at, since)
        # Only a card that lay on the layout ends in the discard; one in flight passes over it.
        cleared = [c.tracklet for c in self._cards if c.placed and c.tracklet.seen_at != at]
        for i, j in match(cleared, discarded, at, since).items():
            cleared[i].see(discarded[j], at, since)
        for j in sorted(set(range(len(on_table))) - set(pairs.values())):
            self._number += 1
            mouth = self._view.in_mouth(on_table[j].pose, margin)
            self._runs.append(Tracklet.begin(self._number, on_table[j], at, from_mouth=mouth))
        self._runs = [run for run in self._runs if self._is_remembered(run)]

    def _is_remembered(self, run: Tracklet) -> bool:
        """Whether a run may go on: it was seen lately, or a hand came over it where it lay."""
        unseen = self._at - run.seen_at
        hidden = run.rest is not None and on_hand(run.rest, self._hands)
        return unseen <= (HIDDEN_LONG_MS if hidden else FORGOTTEN_MS)

    def _explain(self) -> None:
        """Weigh the runs that are ripe against each other, and take what is believed of them."""
        ripe = [run for run in self._runs if self._is_ripe(run)]
        if not ripe:
            return
        for run in ripe:
            if run.rest is not None and self._is_bare(run.rest):
                run.show_bare(self._at)
        believed = explain([*ripe, *self._unripe()], self._scene(), joint=self._uses.joint)
        taken: list[TrackedCard] = []
        for run, explanation in zip(ripe, believed, strict=False):
            settled = self._is_settled(run, explanation)
            if explanation is None or not settled or run not in self._runs:
                continue
            if explanation.card is not None and explanation.card in taken:
                continue  # two cards came down, and which is which is not known
            self._take_for(run, explanation)
            taken += [] if explanation.card is None else [explanation.card]

    def _is_settled(self, run: Tracklet, explanation: Explanation | None) -> bool:
        """Whether it is a card, and of one at rest the same was believed at the look before."""
        before, run.believed = run.believed, None
        if explanation is not None and explanation.card is not None:
            run.believed = explanation.card.id
        elif explanation is not None and explanation.new:
            run.believed = 0
        same = before == run.believed or left_the_mouth(run, self._view)
        return run.believed is not None and same

    def _unripe(self) -> list[Tracklet]:
        """Return the runs weighed with the ripe ones: a card may be about to show as one."""
        return [run for run in self._runs if not self._is_ripe(run)]

    def _take_for(self, run: Tracklet, explanation: Explanation) -> None:
        """Let a run be the card that it is explained as."""
        if explanation.card is not None:
            self._runs.remove(run)
            self._note_arrival(explanation.card, run)
            explanation.card.go_on_as(run)
        elif not (explanation.doubted and self._is_second(run)):
            self._begin_forerunners(run)
            self._runs.remove(run)
            self._begin(run, doubted=explanation.doubted)

    def _note_arrival(self, card: TrackedCard, run: Tracklet) -> None:
        """Note when a card came down, and whether it may have been another that was on its way."""
        if card.came_at is not None or run.rest is None:
            return
        card.came_at = run.rest_since
        slot = self._view.slot_of(run.rest)
        elsewhere = (
            r
            for r in self._runs
            if r.rest is not None and self._view.slot_of(r.rest) not in (None, slot)
        )
        card.unordered = any(r.rest_since >= card.out_at for r in elsewhere) or any(
            other.out_at < card.came_at and (other.came_at or self._at) > card.out_at
            for other in self._cards
            if other is not card and not other.is_cut
        )

    def _open_since(self) -> int | None:
        """Return since when (ms) an empty place shows something unexplained or hides it."""
        taken = {card.slot for card in self._cards}
        empty = {slot: area for slot, area in self._view.slots.items() if slot not in taken}
        shown = [run.born_at for run in self._runs if self._view.slot_of(run.lies_at) in empty]
        if any(overlap(area, hand) > 0 for area in empty.values() for hand in self._hands):
            shown.append(self._at)
        return min(shown, default=None)

    def _is_ripe(self, run: Tracklet) -> bool:
        if run.seen_at != self._at or self._view.in_mouth(run.pose):
            return False
        if left_the_mouth(run, self._view):
            return True
        return run.rested_ms(self._at) >= LEAST_REST_MS and run.sightings >= LEAST_SIGHTINGS

    def _is_second(self, run: Tracklet) -> bool:
        """Whether a run lies where a card lies already."""
        slot = self._view.slot_of(run.lies_at)
        return slot is not None and any(card.slot is slot for card in self._cards)

    def _begin_forerunners(self, run: Tracklet) -> None:
        """Believe what lies in a slot, not yet sure, before a card that left the shoe after it.

        A dealer can be so quick that a card was never seen in flight; it is the first all the same.
        """
        if any(card.life is Life.LOST for card in self._cards):
            return  # what lies there is then more likely one that left before
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
            self._hands,
            self._watched,
        )

    def _is_bare(self, pose: Pose) -> bool:
        """Whether the bare table is known and shows where a card would lie."""
        if not self._sees_ground:
            return False
        return self._ground.sight(self._view.rectangle(pose), None) is Sight.FELT

    def _begin(self, run: Tracklet, *, doubted: bool = False) -> None:
        """Take a run for a card new from the shoe."""
        left = left_the_mouth(run, self._view)
        # One that was found lying left before it was first seen there.
        out_at = run.born_at if self._watched and not left else self._at
        card = TrackedCard(run.number, run, out_at, unseen_out=not left)
        card.doubt = "a card that was not clearly seen to come" if doubted else ""
        self._note_arrival(card, run)
        if left:
            self._clear_before(card)
        self._cards.append(card)

    def _clear_before(self, new: TrackedCard) -> None:
        """Take what was being cleared for gone: the next card comes when the last hands are."""
        goes_on = any(card.life is Life.LYING for card in self._cards if not card.is_cut)
        for card in self._cards:
            bare = 0 if card.bare_since is None else new.out_at - card.bare_since
            # While the coup goes on, what seems bare may be under the hand that deals.
            taken = bare >= TAKEN_OFF_MS if goes_on else bare > 0 and self._is_cleared(card)
            if card.face_seen and taken:
                card.life = Life.GONE

    # --- cards -----------------------------------------------------------------------------------

    def _live(self, card: TrackedCard) -> None:
        run = card.tracklet
        card.face_seen |= card.kind is Kind.FACE
        seen = run.seen_at == self._at
        if seen:
            card.not_bare()
        card.take(self._observed_seen(card) if seen else self._observed_unseen(card))
        if card.gone:
            self._cleared_at = self._at
        elif card.life is Life.LYING and run.rest is not None and (seen or card.placed is None):
            self._lay(card, run.rest, seen=seen)

    def _observed_seen(self, card: TrackedCard) -> Observation:
        run = card.tracklet
        if self._view.in_discard(run.pose):
            return Observation.DISCARDED
        if run.rest is None or self._view.in_mouth(run.rest):
            unsigned = self._watched and not card.signed and card.placed is None
            waits = unsigned and run.rested_ms(self._at) > UNSIGNED_LOST_MS
            return Observation.NEVER_WAS if waits else Observation.MOVES
        if card.placed is not None and card.placed.distance(run.rest) <= MOVED_MM:
            return Observation.RESTS
        patience = self._patience(card, run.rest)
        return Observation.RESTS if run.rested_ms(self._at) >= patience else Observation.MOVES

    def _patience(self, card: TrackedCard, rest: Pose) -> int:
        """Return how long (ms) a card has to lie still where it rests before it is laid there."""
        slot = self._view.slot_of(rest)
        # A hand that clears stops with its cards over others; what is on a hand may be the hand.
        elsewhere = slot is None or (card.placed is not None and slot is not card.slot)
        doubtful = elsewhere or on_hand(rest, self._hands)
        return PLACED_DOUBTFUL_MS if doubtful else PLACED_MS

    def _observed_unseen(self, card: TrackedCard) -> Observation:
        unseen = self._at - card.tracklet.seen_at  # 0 where print is seen in its place
        if not card.is_seen:
            return Observation.UNSEEN  # how long it is waited for is `Leaving`'s matter
        if card.placed is None:
            return self._observed_lost(card)
        sight = self._sight(card)
        if sight is not Sight.CARD and on_hand(card.placed, self._hands):
            return Observation.HIDDEN  # under a hand nothing is known
        if sight is Sight.FELT:
            return self._observed_bare(card)
        if sight is Sight.CARD:
            card.not_bare()
            return Observation.SAME
        card.hide_bare(self._before)
        steady = self._ground.steady_ms(self._view.rectangle(card.placed), self._at)
        long = self._sees_ground and min(unseen, steady) > HIDDEN_LONG_MS
        return Observation.HIDDEN_LONG if long else Observation.HIDDEN

    def _observed_lost(self, card: TrackedCard) -> Observation:
        """Look for a card that was seen on its way and never laid down."""
        if stopped(card, self._scene()):
            lain = card.tracklet.rested_ms(self._at) >= PLACED_DOUBTFUL_MS
            return Observation.RESTS if lain else Observation.UNSEEN
        if self._sight(card) is Sight.FELT and not on_hand(card.lies_at, self._hands):
            card.tracklet.rest = None  # it went on from where it had stopped
        unseen = self._at - card.tracklet.seen_at
        if self._watched and not card.signed and unseen > UNSIGNED_LOST_MS:
            return Observation.NEVER_WAS
        alone = all(c.placed is None or c.is_cut for c in self._cards if not c.gone)
        cleared = self._cleared_at > card.tracklet.seen_at
        late = unseen > (BARE_MS if cleared else NEVER_LAID_MS)
        return Observation.NEVER_LAID if alone and late else Observation.UNSEEN

    def _observed_bare(self, card: TrackedCard) -> Observation:
        if card.bare_since is None:
            card.bare_since = self._at
        in_hand = BARE_IN_HAND_MS if card.face_seen else SQUEEZED_MS
        patience = BARE_MS if self._is_cleared(card) else in_hand
        bare = card.bare_ms + self._at - card.bare_since
        return Observation.BARE_LONG if bare >= patience else Observation.BARE

    def _is_cleared(self, card: TrackedCard) -> bool:
        """Whether a card that is not where it lay was taken with the others, not into a hand.

        Hands are cleared together: one card alone is being turned, looked at or switched.
        """
        if self._cleared_at > (card.bare_since or self._at):
            return True
        others = [c for c in self._cards if c is not card and c.placed is not None and not c.gone]
        going = any(other.bare_since is not None for other in others)
        last = not others and self._cleared_at > (card.placed_at or self._at)
        return card.face_seen and (going or last)

    def _sight(self, card: TrackedCard) -> Sight:
        """Look at the place of a card that is not detected."""
        if not self._sees_ground:
            gone = self._at - card.tracklet.seen_at > UNSEEN_GONE_MS
            if gone:
                card.bare_since = card.bare_since or NEVER
            return Sight.FELT if gone else Sight.COVERED
        return self._ground.sight(self._view.rectangle(card.lies_at), card.patch)

    def _lay(self, card: TrackedCard, rest: Pose, *, seen: bool) -> None:
        if card.placed is None or card.placed.distance(rest) > MOVED_MM:
            lies = self._view.slot_of(rest)
            slot = card.slot if lies is None else lies  # laid aside, it keeps its place
            if card.placed is None or slot is not card.slot:
                card.placed_at, card.slot = self._at, slot
                card.came_at = card.came_at or card.tracklet.rest_since
            card.placed, card.patch = rest, None
            card.tracklet.anchor = rest
        fresh = card.patch is None or self._at - card.patch_at >= PATCH_MS
        if seen and card.tracklet.strays == 0 and fresh:
            card.patch = self._ground.remember(self._view.rectangle(card.placed))
            card.patch_at = self._at

    def _track(self, card: TrackedCard) -> Track:
        run = card.tracklet
        place = self._view.rectangle(run.lies_at)
        return Track(
            id=card.id,
            pose=run.lies_at,
            quad=self._view.quad_px(run.lies_at),
            kind=card.kind,
            seen=run.seen_at == self._at,
            resting=run.rest is not None,
            out_at=card.out_at,
            placed_at=card.placed_at,
            slot=card.slot,
            gone=card.gone,
            covered=any(shared_area(place, hand) > 0 for hand in self._hands),
            found=card.found,
            doubt=card.doubt,
            returned=card.returned,
            withdrawn=card.withdrawn,
            unordered=card.unordered,
            unseen=not card.is_seen,
            flashed=card.flashed,
        )
