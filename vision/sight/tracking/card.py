"""One card from the shoe to the discard: its life as a table, and what is known of it.

A card exists from the moment it left the shoe until it is gone, seen or not. Each frame gives one
piece of observation about it, and the table says what becomes of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from vision.game.events import Slot
from vision.sight.detection.detector import Kind
from vision.sight.geometry.frame import Points
from vision.sight.geometry.plane import Pose
from vision.sight.tracking.background import Patch
from vision.sight.tracking.tracklet import Tracklet

# From this probability on (0 to 1) the mouth's word is taken: that it was the cut card (until it
# lies in a slot), that two left together, that one left which was seen nowhere. Lower, and false
# signs delay cards and ask people for a look; higher, and a cut card is one more card.
SURE_SIGN = 0.9


class Life(StrEnum):
    """Where a card is in its life."""

    FLYING = "flying"  # it left the shoe, is seen, and was never laid down
    LOST = "lost"  # the same, and out of sight: it must come down somewhere
    LYING = "lying"  # it lies where it was laid
    COVERED = "covered"  # something hides the place where it lies
    LIFTED = "lifted"  # it left the place where it lay: turned, carried, or being cleared
    GONE = "gone"  # it is in the discard, or off the table


class Observation(StrEnum):
    """What one frame shows of a card."""

    MOVES = "moves"  # seen, and not at rest
    RESTS = "rests"  # seen at rest for long enough to be laid
    SAME = "same"  # not detected, but its place still looks as it did
    HIDDEN = "hidden"  # not detected, and its place shows neither card nor bare table
    BARE = "bare"  # its place shows the bare table
    BARE_LONG = "bare for long"  # so long that no hand is still turning it
    HIDDEN_LONG = "hidden for long"  # the same thing has covered its place, unmoved, for long
    UNSEEN = "unseen"  # never laid down, and not detected
    NEVER_LAID = "never laid"  # the table was cleared around it: it went with the others
    NEVER_WAS = "never was"  # what was taken for it was no card: it is withdrawn
    DISCARDED = "discarded"  # seen in the discard


_L, _O = Life, Observation
CARD_LIFE: dict[Life, dict[Observation, Life]] = {
    # It left the shoe, is in sight, and was never laid down.
    _L.FLYING: {
        _O.MOVES: _L.FLYING,
        _O.RESTS: _L.LYING,
        _O.UNSEEN: _L.LOST,
        _O.NEVER_WAS: _L.GONE,
    },
    # The same, out of sight, under the hand that deals it: it must come down somewhere.
    _L.LOST: {
        _O.MOVES: _L.FLYING,
        _O.RESTS: _L.LYING,
        _O.UNSEEN: _L.LOST,
        _O.NEVER_LAID: _L.GONE,
        _O.NEVER_WAS: _L.GONE,
    },
    # It lies where it was laid.
    _L.LYING: {
        _O.MOVES: _L.LIFTED,
        _O.RESTS: _L.LYING,
        _O.SAME: _L.LYING,
        _O.HIDDEN: _L.COVERED,
        _O.BARE: _L.LIFTED,
        _O.BARE_LONG: _L.GONE,
        _O.DISCARDED: _L.GONE,
    },
    # Something hides the place where it lies; a hand may rest there as long as it fidgets.
    _L.COVERED: {
        _O.MOVES: _L.LIFTED,
        _O.RESTS: _L.LYING,
        _O.SAME: _L.LYING,
        _O.HIDDEN: _L.COVERED,
        _O.HIDDEN_LONG: _L.GONE,
        _O.BARE: _L.LIFTED,
        _O.BARE_LONG: _L.GONE,
        _O.DISCARDED: _L.GONE,
    },
    # It left the place where it lay: turned, carried, or being cleared.
    _L.LIFTED: {
        _O.MOVES: _L.LIFTED,
        _O.RESTS: _L.LYING,
        _O.SAME: _L.LYING,
        _O.HIDDEN: _L.LIFTED,
        _O.HIDDEN_LONG: _L.GONE,
        _O.BARE: _L.LIFTED,
        _O.BARE_LONG: _L.GONE,
        _O.DISCARDED: _L.GONE,
    },
    # In the discard or off the table: whatever is seen later is another card.
    _L.GONE: {},
}


@dataclass(frozen=True, slots=True, eq=False)
class Track:
    """A card that left the shoe, as of one frame.

    `quad` is 4 x 2 pixels of the card's true rectangle, to rectify; `seen` says that it was
    detected in this frame, `resting` that it lies still. `placed_at` and `slot` tell where it was
    laid (`slot` is `None` outside the slots), `gone` that it has left the table for good: a
    track is returned once with `gone` set and then no more. `covered`: a hand lies over part of it.
    `found`: it came to light after cards that left later, or may have: nobody saw when it left.
    `doubt`: why sight is not sure of it, for people. `returned`: gone because it went back into
    the shoe. `withdrawn`: gone because there was none. `unordered`: which it is of several cards
    that were on their way at one time was not seen. `unseen`: only the mouth of the shoe has
    shown it so far. `flashed`: it showed its face before it was laid down.
    """

    id: int
    pose: Pose
    quad: Points
    kind: Kind
    seen: bool
    resting: bool
    out_at: int
    placed_at: int | None = None
    slot: Slot | None = None
    gone: bool = False
    covered: bool = False
    found: bool = False
    doubt: str = ""
    returned: bool = False
    withdrawn: bool = False
    unordered: bool = False
    unseen: bool = False
    flashed: bool = False


@dataclass(slots=True, eq=False)
class TrackedCard:
    """What the tracker knows of one card; times in ms, poses in mm.

    `patch` is how its place looked with the card on it; `bare_since` since when it has shown the
    bare table, `bare_ms` for how long it had before something hid it; `signed` is the probability
    that the mouth of the shoe gave it to leave, 0 where it gave none; `cut_signed` that it was the
    cut card; `went_back` the same of its going back, at `return_at`; `together`: another left with
    it, which is to be told as it is. `told`: it is among the tracks. `unseen_out`: it was found
    lying. `came_at`: since when it has lain where it was laid first. The others are as in `Track`.
    """

    id: int
    tracklet: Tracklet
    out_at: int
    life: Life = Life.FLYING
    placed: Pose | None = None
    placed_at: int | None = None
    slot: Slot | None = None
    patch: Patch | None = None
    patch_at: int = 0
    bare_since: int | None = None
    bare_ms: int = 0
    face_seen: bool = False
    signed: float = 0.0
    cut_signed: float = 0.0
    return_at: int | None = None
    went_back: float = 0.0
    together: bool = False
    told: bool = False
    unseen_out: bool = False
    found: bool = False
    doubt: str = ""
    returned: bool = False
    withdrawn: bool = False
    came_at: int | None = None
    unordered: bool = False
    flashed: bool = False

    @property
    def is_seen(self) -> bool:
        """Whether it was ever seen, and not only given to leave by the mouth."""
        return self.tracklet.sightings > 0

    @property
    def is_cut(self) -> bool:
        """Whether it is the cut card, which is put aside: a card laid in a slot is none."""
        by_looks = self.tracklet.is_cut or self.cut_signed >= SURE_SIGN
        return by_looks and self.slot is None

    @property
    def kind(self) -> Kind:
        """The side that shows, or that it is the cut card; one that lies in a slot is a face."""
        if self.is_cut:
            return Kind.CUT
        return Kind.FACE if self.tracklet.kind is Kind.CUT else self.tracklet.kind

    @property
    def gone(self) -> bool:
        """Whether its life has ended."""
        return self.life is Life.GONE

    @property
    def lies_at(self) -> Pose:
        """Where it was laid, or was last seen."""
        return self.placed or self.tracklet.lies_at

    def take(self, observation: Observation) -> None:
        """Go on in life by what a frame shows; observation that cannot be, changes nothing."""
        self.life = CARD_LIFE[self.life].get(observation, self.life)
        self.withdrawn |= observation is Observation.NEVER_WAS

    def came_after_all(self, cards: Iterable[TrackedCard]) -> bool:
        """Whether a card said to be back in the shoe lies on the table, taken for a new one.

        The mouth gave no other card to leave that could be that one.
        """
        laid = (card for card in cards if card is not self and not card.signed)
        return any(card.came_at is not None and card.came_at > self.out_at for card in laid)

    def hide_bare(self, at: int) -> None:
        """Note that its place, bare up to a time, is hidden: that lays no card there."""
        if self.bare_since is not None:
            self.bare_ms, self.bare_since = self.bare_ms + at - self.bare_since, None

    def not_bare(self) -> None:
        """Note that the card is seen, or its place as it was with it."""
        self.bare_ms, self.bare_since = 0, None

    def go_on_as(self, found: Tracklet) -> None:
        """Go on as a run of sightings that was explained as this card."""
        if self.is_seen:
            found.kinds += self.tracklet.kinds
        self.tracklet = found
        found.anchor = self.placed
        self.not_bare()
