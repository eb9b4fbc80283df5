"""What a new run of sightings can be: a card new from the shoe, a known card, or no card at all.

Each explanation has a probability, up to a common factor, from the one table `Odds`. They are
weighed against one another at every frame in which the run is seen, and the likeliest is believed
once it is so much likelier than the next; until then nothing is said, and time tells: a hand goes
away, a place turns out bare, a false box vanishes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from vision.sight.geometry.plane import Pose, TableView, distance_inside, shared_area
from vision.sight.tracking.association import ACROSS_DEGREES
from vision.sight.tracking.background import Sight
from vision.sight.tracking.card import Life, TrackedCard
from vision.sight.tracking.tracklet import Tracklet


@dataclass(frozen=True, slots=True)
class Odds:
    """The probabilities by which explanations are weighed: orders of magnitude, set by hand.

    They were set on three dealing films of another renderer and on the drawn table of the tests
    (`deploy/reading.md`), and are not fitted to any film.
    """

    # --- a card new from the shoe
    unseen_leaving: float = 0.3  # the hand covers it all the way from the mouth to its slot
    laid_in_no_slot: float = 0.1  # dealt unseen, and not to a slot
    second_in_slot: float = 1e-3  # dealt into a slot where a card lies that is not seen elsewhere
    another_lost: float = 0.02  # dealt while one that left the shoe before is still to be laid
    another_lifted: float = 0.3  # dealt while one that lay is in somebody's hand
    # --- a known card
    lost_comes_down: float = 0.9  # one lost in flight comes down where a run of sightings begins
    lost_to_mouth: float = 0.01  # ... though that run began in the mouth
    lifted_returns: float = 0.6  # one lifted is laid again (others are cleared)
    covered_moves: float = 0.3  # one under a hand is shifted by it, a little
    covered_leaves: float = 0.1  # ... or carried off from under it, of those that move
    lying_seen: float = 0.9  # one that lies where it lay is found again by a box over it
    elsewhere: float = 0.02  # a known card is laid again far from where it lay
    near_mm: float = 25.0  # standard deviation of where a turned card is laid again
    # --- no card
    false_sighting: float = 0.15  # a box at rest in a slot that is neither
    false_outside: float = 0.9  # the same where no card is laid
    false_after_clearing: float = 1.0  # sleeves and swept cards, for a moment after the clearing
    false_beside: float = 0.5  # a second box that shares its place with a card in sight
    false_lasts_ms: float = 100.0  # such a box lasts so long (mean), and this if the place looks
    false_lasts_clearing_ms: float = 350.0  # ... disturbed by the clearing
    false_lasts_beside_ms: float = 700.0
    false_lasts_outside_ms: float = 300.0
    usual_score: float = 0.7  # of the detector; what is seen more surely is less often no card
    # --- when to believe
    times_likelier: float = 12.0  # the likeliest by this factor over the next best
    patience_ms: int = 2500  # after that the likeliest as it is


ODDS = Odds()
SHARED = 0.35  # of a card's area: two boxes that share more may be one card seen twice
AFTER_CLEARING_MS = 2000  # a hand that clears is still over the layout for this long
# A run that begins this near to where a card in flight was last seen, and this soon after, is that
# card going on, even if it seems to begin in the mouth.
BROKEN_MM, BROKEN_MS = 150.0, 600
BESIDE_MM = 60.0  # two boxes of one card lie nearer to each other than its width
REACH_MM_MS = 2.0  # no hand carries a card faster
STILL_MM = 6.0  # sightings of a thing that stands still jitter by less
LEFT_MOUTH_MM = 40.0  # a card that moved this far out of the mouth has left it


@dataclass(frozen=True, slots=True)
class Explanation:
    """One thing that a run of sightings can be; `card` for a known one, `new` for one new."""

    weight: float
    card: TrackedCard | None = None
    new: bool = False


@dataclass(frozen=True, slots=True)
class Scene:
    """What the explanations are weighed against: the table at time `at` (ms).

    `sight` looks at the place of a card that is not detected; `cleared_at` is when a card last left
    the layout; `altered` says whether something lies at a pose that was bare.
    """

    view: TableView
    cards: tuple[TrackedCard, ...]
    at: int
    cleared_at: int
    sight: Callable[[TrackedCard], Sight]
    altered: Callable[[Pose], bool]


def explain(run: Tracklet, scene: Scene, odds: Odds = ODDS) -> Explanation | None:
    """Return what a run of sightings is believed to be, None while that is open."""
    best, second, *_ = weighed([run], scene, odds)[0]
    if best.weight >= odds.times_likelier * second.weight:
        return best
    return best if run.rested_ms(scene.at) >= odds.patience_ms else None


def weighed(runs: Sequence[Tracklet], scene: Scene, odds: Odds = ODDS) -> list[list[Explanation]]:
    """Return all that each run of sightings can be, likeliest first."""
    return [sorted(_explanations(run, scene, odds), key=lambda e: -e.weight) for run in runs]


def left_the_mouth(run: Tracklet, view: TableView) -> bool:
    """Whether a run began in the mouth of the shoe and moved out of it, on and on."""
    if not run.from_mouth or view.in_mouth(run.pose) or not run.moved(LEFT_MOUTH_MM):
        return False
    # A box printed on the table, taken for the card that was seen in the mouth, stands still.
    if run.last_step_mm < STILL_MM and view.slot_of(run.pose) is None:
        return False
    return distance_inside(run.pose.centre, view.mouth) < distance_inside(
        run.first.centre, view.mouth
    )


def _explanations(run: Tracklet, scene: Scene, odds: Odds) -> Iterable[Explanation]:
    yield Explanation(_no_card(run, scene, odds))
    yield Explanation(_new_card(run, scene, odds), new=True)
    for card in scene.cards:
        yield Explanation(_known_card(run, card, scene, odds), card)


def _no_card(run: Tracklet, scene: Scene, odds: Odds) -> float:
    return (1.0 - run.score) / (1.0 - odds.usual_score) * _no_card_at_all(run, scene, odds)


def _no_card_at_all(run: Tracklet, scene: Scene, odds: Odds) -> float:
    if left_the_mouth(run, scene.view):
        beside = any(_shares(run, card, scene) for card in scene.cards if _in_sight(card, scene))
        return odds.false_beside if beside else odds.false_sighting ** (run.sightings - 1)
    rested = run.rested_ms(scene.at)
    if any(_shares(run, card, scene) for card in scene.cards if _lies_seen(card, scene)):
        return odds.false_beside * math.exp(-rested / odds.false_lasts_beside_ms)
    if scene.view.slot_of(run.lies_at) is None:
        if not scene.altered(run.lies_at):
            return 1.0  # the bare table shows: print, taken for a card
        return odds.false_outside * math.exp(-rested / odds.false_lasts_outside_ms)
    if scene.at - rested - scene.cleared_at < AFTER_CLEARING_MS:
        return odds.false_after_clearing * math.exp(-rested / odds.false_lasts_clearing_ms)
    return odds.false_sighting * math.exp(-rested / odds.false_lasts_ms)


def _new_card(run: Tracklet, scene: Scene, odds: Odds) -> float:
    weight = 1.0
    if not left_the_mouth(run, scene.view):
        slot = scene.view.slot_of(run.lies_at)
        weight *= odds.unseen_leaving
        weight *= odds.laid_in_no_slot if slot is None else 1.0
        lying = [card for card in scene.cards if slot is not None and card.slot is slot]
        weight *= odds.second_in_slot if lying else 1.0
        weight *= odds.another_lifted ** sum(card.life is Life.LIFTED for card in scene.cards)
    lost = sum(card.life is Life.LOST for card in scene.cards)
    return float(weight * odds.another_lost**lost)


def _known_card(run: Tracklet, card: TrackedCard, scene: Scene, odds: Odds) -> float:
    unseen = scene.at - card.tracklet.seen_at
    distance = card.lies_at.distance(run.first)
    if card.tracklet.is_cut != run.is_cut or distance > BROKEN_MM + REACH_MM_MS * unseen:
        return 0.0
    if _in_sight(card, scene):
        # It cannot be in two places; what is seen beside it is a second box of it, no other card.
        return 0.0
    began = run.born_at if run.rest is None else run.rest_since
    if began < card.tracklet.seen_at and card.lies_at.distance(run.lies_at) > BESIDE_MM:
        return 0.0  # both were seen at one time, in two places
    from_mouth = left_the_mouth(run, scene.view)
    if card.life in (Life.FLYING, Life.LOST):
        broken = distance < BROKEN_MM and run.born_at - card.tracklet.seen_at < BROKEN_MS
        return odds.lost_to_mouth if from_mouth and not broken else odds.lost_comes_down
    apart = card.lies_at.distance(run.lies_at)
    near = math.exp(-((apart / odds.near_mm) ** 2) / 2)
    moved = max(near, odds.elsewhere * (odds.lost_to_mouth if from_mouth else 1.0))
    sight = scene.sight(card)
    if sight is Sight.CARD:
        aligned = card.lies_at.turn(run.lies_at) < ACROSS_DEGREES
        return odds.lying_seen if aligned and _shares(run, card, scene) else 0.0
    if sight is Sight.COVERED and card.life is not Life.LIFTED:
        return odds.covered_moves * (near + odds.covered_leaves * moved)
    return odds.lifted_returns * moved


def _in_sight(card: TrackedCard, scene: Scene) -> bool:
    """Whether a card was detected in the very frames in which the run is seen."""
    return card.tracklet.seen_at == scene.at


def _lies_seen(card: TrackedCard, scene: Scene) -> bool:
    """Whether a card is in sight, or its place looks as it did with the card on it."""
    return _in_sight(card, scene) or (card.placed is not None and scene.sight(card) is Sight.CARD)


def _shares(run: Tracklet, card: TrackedCard, scene: Scene) -> bool:
    """Whether a run and a card cover the same part of the table."""
    area = scene.view.card_mm[0] * scene.view.card_mm[1]
    mine = scene.view.rectangle(run.lies_at)
    return shared_area(mine, scene.view.rectangle(card.lies_at)) > SHARED * area
