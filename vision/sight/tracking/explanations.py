"""What new runs of sightings can be: a card new from the shoe, a known card, or no card at all.

Each explanation of one run has a probability, up to a common factor, from the table `Odds`.
Runs are explained together: no card is two of them, so every joint explanation gives each card to
one run at most, and what is believed of a run is what the joint explanations say that remain likely
(multiple hypotheses over a window, which is as long as the run is open). They are weighed anew at
every frame, until one thing is so much likelier than all others; until then nothing is said, and
time tells: a hand goes away, a place turns out bare, a false box vanishes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from vision.sight.geometry.frame import Points
from vision.sight.geometry.plane import Pose, TableView, distance_inside, shared_area
from vision.sight.tracking.association import ACROSS_DEGREES
from vision.sight.tracking.background import Sight
from vision.sight.tracking.card import Life, TrackedCard
from vision.sight.tracking.odds import ODDS, Odds
from vision.sight.tracking.tracklet import Tracklet

SHARED = 0.35  # of a card's area: two boxes that share more may be one card seen twice
AFTER_CLEARING_MS = 2000  # a hand that clears is still over the layout for this long
# A run that begins this near to where a card in flight was last seen, and this soon after, is that
# card going on, even if it seems to begin in the mouth.
BROKEN_MM, BROKEN_MS = 150.0, 600
BESIDE_MM = 60.0  # two boxes of one card lie nearer to each other than its width
REACH_MM_MS = 2.0  # no hand carries a card faster
THROWN_MM_MS = 3.0  # the mean speed of a pitched card from the mouth to its place stays below
STILL_MM = 6.0  # sightings of a thing that stands still jitter by less
LEFT_MOUTH_MM = 40.0  # a card that moved this far out of the mouth has left it
# Joint explanations kept for the next run; with fewer, the one that turns out right may be lost,
# but hardly ever are three runs open at a time.
MOST_JOINT = 40
# A card is seen in the mouth for so long, in ms, before the sign that it has left; longer, and a
# card that waited there is taken for the one that left.
BEFORE_SIGN_MS = 1500
# Two that leave within so long, in ms, left together; longer, and a quick dealer's next is one.
TOGETHER_MS = 300
SIGN_DUE_MS = 500  # from the first sight of a card in the mouth to its sign, for a slow dealer
WAITS_MM = 25.0  # a card within this distance of the mouth may be waiting there still
LATE_SIGN_MS = 200  # a sign seldom comes later; longer, and a box seen before is the card
LATEST_SIGN_MS = 600  # and never so late; longer costs nothing but time
DOUBLE_MM = 100.0  # two boxes of one card in flight begin nearer to each other than this
TURNED_MS = 500  # in a hand that turns it a card is not so long, where it was laid just before
# A card last seen so soon, in ms, after it was laid may have been a box on the hand that laid it.
HARDLY_LAID_MS = 1000


@dataclass(frozen=True, slots=True)
class Explanation:
    """One thing that a run of sightings can be; `card` for a known one, `new` for one new.

    `doubted`: it was believed because time was up, not because the others had become unlikely.
    """

    weight: float
    card: TrackedCard | None = None
    new: bool = False
    doubted: bool = False


@dataclass(frozen=True, slots=True)
class Scene:
    """What the explanations are weighed against: the table at time `at` (ms).

    `sight` looks at the place of a card that is not detected; `cleared_at` is when a card last left
    the layout; `altered` says whether something lies at a pose that was bare; `hands` are
    polygons (mm); `signs` says that somebody watches the mouth.
    """

    view: TableView
    cards: tuple[TrackedCard, ...]
    at: int
    cleared_at: int
    sight: Callable[[TrackedCard], Sight]
    altered: Callable[[Pose], bool]
    hands: Sequence[Points] = ()
    signs: bool = False


def explain(
    runs: Sequence[Tracklet], scene: Scene, odds: Odds = ODDS, *, joint: bool = True
) -> list[Explanation | None]:
    """Return what each run is believed to be, None for one that is still open.

    With `joint` off each run is weighed alone, as if a card could be two of them.
    """
    found = weighed(runs, scene, odds, joint=joint)
    return [_believed(run, of_run, scene, odds) for run, of_run in zip(runs, found, strict=True)]


def weighed(
    runs: Sequence[Tracklet], scene: Scene, odds: Odds = ODDS, *, joint: bool = True
) -> Sequence[Sequence[Explanation]]:
    """Return all that each run of sightings can be, with its weight."""
    twins = _twins(runs, scene)
    options = [
        tuple(e for e in _explanations(run, runs, scene, odds, twins) if e.weight) for run in runs
    ]
    return _marginals(runs, options, _Arrivals(runs, scene, odds, twins)) if joint else options


def _believed(
    run: Tracklet, found: Sequence[Explanation], scene: Scene, odds: Odds
) -> Explanation | None:
    best = max(found, key=_weight, default=None)
    if best is None:
        return None
    # Which of the cards on their way it is may not be known; that it is one of them is enough.
    same = [e for e in found if e is best or (_is_due(e) and _is_due(best))]
    returned = [e for e in found if e.card is not None and e.card.return_at is not None]
    if returned and (best.new or best in returned) and not left_the_mouth(run, scene.view):
        # Nobody saw another card leave: it is the one that was said to be back, or all the same.
        best = max(returned, key=_weight)
        same = [e for e in found if e.new or e in returned]
    likely, total = sum(map(_weight, same)), sum(map(_weight, found))
    if likely >= odds.times_likelier * (total - likely):
        return best
    late = run.rested_ms(scene.at) >= odds.patience_ms
    return replace(best, doubted=True) if late else None


def _is_due(explanation: Explanation) -> bool:
    """Whether it is a card that left the shoe and was not laid yet."""
    return explanation.card is not None and explanation.card.placed is None


def _weight(explanation: Explanation) -> float:
    return explanation.weight


class _Arrivals:
    """How likely the cards that left come down as, and in the order in which, they are said to.

    One dealer lays cards in the order in which they left, and does not wait with one for long.
    """

    def __init__(
        self, runs: Sequence[Tracklet], scene: Scene, odds: Odds, twins: frozenset[int]
    ) -> None:
        self._came = [run.rest_since if run.rest else math.inf for run in runs]
        flying = [c for c in scene.cards if c.life in (Life.FLYING, Life.LOST)]
        awaited = [
            card
            for card in flying
            if card.return_at is None and not card.is_cut and not stopped(card, scene)
        ]
        self._awaited = sorted(awaited, key=lambda card: -card.out_at)
        self._twins = [index for index, run in enumerate(runs) if run.number in twins]
        self._at, self._odds = scene.at, odds

    def weight(self, chosen: Sequence[Explanation]) -> float:
        """Return the probability that these cards have come down by now, and no others."""
        parts = zip(chosen, self._came, strict=True)
        came = {id(each.card): at for each, at in parts if each.card is not None}
        weight, first = 1.0, math.inf
        for card in self._awaited:
            at = came.get(id(card), math.inf)
            share = self._odds.overtaken if first < at else 1.0
            if id(card) not in came and not card.is_seen:
                share *= _not_yet(self._at - card.out_at - LATE_SIGN_MS, self._odds)
            there = 1.0 if card.is_seen else card.signed
            weight *= share if id(card) in came else there * share + 1.0 - there
            first = min(first, at)
        both = sum(chosen[index].new for index in self._twins)
        weight *= self._odds.two_at_once ** max(0, both - 1)
        return weight * self._another(chosen, came)

    def _another(self, chosen: Sequence[Explanation], came: Mapping[int, float]) -> float:
        """Return how likely cards are dealt while those seen before are still in a hand."""
        out = [card for card in self._awaited if card.is_seen and id(card) not in came]
        shares = (
            self._odds.another_lost if card.life is Life.LOST else self._odds.another_flying
            for card in out
        )
        return math.prod(shares) ** sum(each.new for each in chosen)


def _marginals(
    runs: Sequence[Tracklet], options: Sequence[Sequence[Explanation]], arrivals: _Arrivals
) -> list[tuple[Explanation, ...]]:
    """Weigh each run's explanations by all joint ones in which it has its part."""
    joints: list[tuple[float, tuple[Explanation, ...]]] = [(1.0, ())]
    for run, choices in zip(runs, options, strict=True):
        longer = [
            (weight * choice.weight, (*chosen, choice))
            for weight, chosen in joints
            for choice in choices
            if choice.card is None or _is_free(choice.card, run, runs, chosen)
        ]
        joints = sorted(longer, key=lambda joint: -joint[0])[:MOST_JOINT]
    joints = [(weight * arrivals.weight(chosen), chosen) for weight, chosen in joints]
    found = []
    for index, choices in enumerate(options):
        weights = (
            sum(weight for weight, chosen in joints if chosen[index] is choice)
            for choice in choices
        )
        found.append(tuple(replace(c, weight=w) for c, w in zip(choices, weights, strict=True)))
    return found


def _is_free(
    card: TrackedCard, run: Tracklet, runs: Sequence[Tracklet], chosen: Sequence[Explanation]
) -> bool:
    """Whether a run may be a card too: no other is, but for one that goes on as this one."""
    same = (other for other, each in zip(runs, chosen, strict=False) if each.card is card)
    return all(_goes_on(run, other) or _goes_on(other, run) for other in same)


def _goes_on(run: Tracklet, other: Tracklet) -> bool:
    """Whether a run from the mouth begins where another one broke off, then or shortly after."""
    gap = run.born_at - other.seen_at
    mouth = run is not other and run.from_mouth and other.from_mouth
    return mouth and 0 <= gap < BROKEN_MS and other.pose.distance(run.first) < BROKEN_MM


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


def _twins(runs: Sequence[Tracklet], scene: Scene) -> frozenset[int]:
    """Return the numbers of runs that left the mouth beside each other, at one time.

    Rarely do two cards; often a box goes astray, and the card goes on as another run.
    """
    left = [run for run in runs if left_the_mouth(run, scene.view)]
    return frozenset(run.number for run in left if any(_began_at_one(run, other) for other in left))


def _began_at_one(run: Tracklet, other: Tracklet) -> bool:
    """Whether two runs began beside each other, at one time."""
    together = other is not run and abs(other.born_at - run.born_at) < TOGETHER_MS
    return together and other.first.distance(run.first) < DOUBLE_MM


def _left_beside_card(run: Tracklet, scene: Scene) -> bool:
    """Whether a run left the mouth beside what was taken for a card already, at one time."""
    if not left_the_mouth(run, scene.view):
        return False
    flying = [card for card in scene.cards if card.life in (Life.FLYING, Life.LOST)]
    return any(_began_at_one(run, card.tracklet) for card in flying if card.is_seen)


def _explanations(
    run: Tracklet, runs: Sequence[Tracklet], scene: Scene, odds: Odds, twins: frozenset[int]
) -> Iterable[Explanation]:
    yield Explanation(_no_card(run, scene, odds, is_twin=run.number in twins))
    goes_on = any(_goes_on(run, other) for other in runs)
    yield Explanation(
        _new_card(run, scene, odds) * (odds.two_at_once if goes_on else 1.0), new=True
    )
    for card in scene.cards:
        weight = (1.0 - card.went_back) * _known_card(run, card, scene, odds)
        yield Explanation(weight * (odds.occupied if _is_taken(run, card, scene) else 1.0), card)


def _is_taken(run: Tracklet, card: TrackedCard, scene: Scene) -> bool:
    """Whether a run lies in a slot that is another card's, also of one that is being turned."""
    slot = scene.view.slot_of(run.lies_at)
    others = (other for other in scene.cards if other is not card)
    return slot not in (None, card.slot) and any(other.slot is slot for other in others)


def _no_card(run: Tracklet, scene: Scene, odds: Odds, *, is_twin: bool) -> float:
    unsure = ((1.0 - run.score) / (1.0 - odds.usual_score)) ** 2
    if run.rest is None and (is_twin or _left_beside_card(run, scene)):
        age = scene.at - run.born_at
        weight = unsure * odds.false_beside * math.exp(-age / odds.false_lasts_beside_ms)
    else:
        weight = unsure * _no_card_at_all(run, scene, odds)
    return weight * (odds.false_on_hand if on_hand(run.pose, scene.hands) else 1.0)


def _no_card_at_all(run: Tracklet, scene: Scene, odds: Odds) -> float:
    if left_the_mouth(run, scene.view):
        beside = any(_shares(run, card, scene) for card in scene.cards if _in_sight(card, scene))
        if beside:
            return odds.false_beside
        return odds.false_sighting * math.exp(-(scene.at - run.born_at) / odds.false_flies_ms)
    rested = run.rested_ms(scene.at)
    if any(_shares(run, card, scene) for card in scene.cards if _lies_seen(card, scene)):
        return odds.false_beside * math.exp(-rested / odds.false_lasts_beside_ms)
    if run.bare_at is not None and 2 * run.bare_looks > run.sightings:
        # Print, taken for a card; a mistaken look at the place, of either sort, lasts a moment.
        return math.exp(-(scene.at - run.bare_at) / odds.bare_lasts_ms)
    if scene.view.slot_of(run.lies_at) is None:
        if not scene.altered(run.lies_at):
            return 1.0  # the same, where a card would first have to be made out
        return odds.false_outside * math.exp(-rested / odds.false_lasts_outside_ms)
    if scene.at - rested - scene.cleared_at < AFTER_CLEARING_MS:
        return odds.false_after_clearing * math.exp(-rested / odds.false_lasts_clearing_ms)
    return odds.false_sighting * math.exp(-rested / odds.false_lasts_ms)


def _new_card(run: Tracklet, scene: Scene, odds: Odds) -> float:
    weight, left = 1.0, left_the_mouth(run, scene.view)
    if not left:
        slot = scene.view.slot_of(run.lies_at)
        weight *= odds.unseen_leaving
        weight *= odds.laid_in_no_slot if slot is None else 1.0
        lying = [card for card in scene.cards if slot is not None and card.slot is slot]
        weight *= odds.second_in_slot if lying else 1.0
        weight *= odds.another_lifted ** sum(card.life is Life.LIFTED for card in scene.cards)
    came = _left_at(run, scene.view) if left or run.rest is None else run.rest_since
    near = any(c.signed and abs(came - c.out_at) < TOGETHER_MS for c in scene.cards)
    if (scene.signs and near) or _left_beside_card(run, scene):
        weight *= odds.two_at_once
    if scene.signs:
        overdue = max(scene.at - came - SIGN_DUE_MS, 0) / odds.sign_late_ms
        missed = odds.sign_missed
        given = any(not c.is_seen and c.out_at >= run.born_at for c in scene.cards)
        waits = left and not given  # its own sign may be still to come
        weight *= missed + (1.0 - missed) * math.exp(-overdue) if waits else missed
    return weight


def _left_at(run: Tracklet, view: TableView) -> int:
    """Return when (ms) a run was last seen to wait in the mouth, as far back as is known."""
    waited = (at for at, pose in run.recent if view.in_mouth(pose, WAITS_MM))
    return max(waited, default=run.born_at)


def _known_card(run: Tracklet, card: TrackedCard, scene: Scene, odds: Odds) -> float:
    if not card.is_seen:
        return _signed_card(run, card, scene, odds)
    unseen = scene.at - card.tracklet.seen_at
    distance = card.lies_at.distance(run.first)
    if card.tracklet.is_cut != run.is_cut or distance > BROKEN_MM + REACH_MM_MS * unseen:
        return 0.0
    if _in_sight(card, scene):
        # It cannot be in two places; what is seen beside it is a second box of it, no other card.
        return odds.swapped if scene.signs and card.placed is None else 0.0
    began = run.born_at if run.rest is None else run.rest_since
    if began < card.tracklet.seen_at and card.lies_at.distance(run.lies_at) > BESIDE_MM:
        return _seen_at_one_time(run, card, scene, odds)
    from_mouth = left_the_mouth(run, scene.view)
    if card.life in (Life.FLYING, Life.LOST):
        broken = distance < BROKEN_MM and run.born_at - card.tracklet.seen_at < BROKEN_MS
        weight = odds.lost_to_mouth if from_mouth and not broken else odds.lost_comes_down
        elsewhere = card.lies_at.distance(run.lies_at) > BESIDE_MM
        return weight * (odds.carried_on if elsewhere and stopped(card, scene) else 1.0)
    apart = card.lies_at.distance(run.lies_at)
    near = math.exp(-((apart / odds.near_mm) ** 2) / 2)
    moved = max(near, odds.elsewhere * (odds.lost_to_mouth if from_mouth else 1.0))
    slot = scene.view.slot_of(run.lies_at)
    if _lay_for_a_moment(card) and not from_mouth and slot is card.slot:
        moved = max(moved, odds.same_slot)
    if card.slot is None and slot is not None and not from_mouth:
        moved = max(moved, odds.brought_on)
    sight = scene.sight(card)
    if sight is Sight.CARD:
        aligned = card.lies_at.turn(run.lies_at) < ACROSS_DEGREES
        return odds.lying_seen if aligned and _shares(run, card, scene) else 0.0
    if sight is Sight.COVERED and card.life is not Life.LIFTED:
        return odds.covered_moves * (near + odds.covered_leaves * moved)
    return odds.lifted_returns * moved


def _seen_at_one_time(run: Tracklet, card: TrackedCard, scene: Scene, odds: Odds) -> float:
    """Weigh that a card is what was seen beside it: of the two boxes one is false, or a double."""
    flying = card.life in (Life.FLYING, Life.LOST)
    if flying and _began_beside(run, card):
        return odds.double_goes_on
    if _lay_for_a_moment(card) and scene.sight(card) is Sight.FELT:
        long = card.bare_since is not None and scene.at - card.bare_since >= TURNED_MS
        return odds.laid_as_false if long else odds.swapped
    return odds.swapped if flying and scene.signs else 0.0


def _lay_for_a_moment(card: TrackedCard) -> bool:
    """Whether a card was seen to lie only so long that it may have been a false box."""
    return card.placed_at is not None and card.tracklet.seen_at - card.placed_at < HARDLY_LAID_MS


def stopped(card: TrackedCard, scene: Scene) -> bool:
    """Whether a card on its way was last seen at rest in an empty place, hidden ever since."""
    rest = card.tracklet.rest
    if rest is None or not card.is_seen or scene.view.in_mouth(rest):
        return False
    slot = scene.view.slot_of(rest)
    taken = any(other is not card and other.slot is slot for other in scene.cards)
    hidden = on_hand(rest, scene.hands) or scene.sight(card) is not Sight.FELT
    return slot is not None and not taken and hidden


def _signed_card(run: Tracklet, card: TrackedCard, scene: Scene, odds: Odds) -> float:
    """Weigh that a card which only the mouth showed to leave is this run."""
    if scene.view.in_mouth(run.pose):
        return 0.0  # what has left is no longer there
    weight = card.signed * odds.lost_comes_down
    # A card that waits half out of the shoe may have been in sight for long before it is drawn.
    began = _left_at(run, scene.view) if run.from_mouth else run.born_at
    since, far = began - card.out_at, card.lies_at.distance(run.first)
    slot = scene.view.slot_of(run.lies_at)
    if slot is not None:
        weight *= 1.0 - card.cut_signed  # the cut card is put aside
    elif card.is_cut != run.is_cut:
        weight *= odds.signed_as_other
    if run.from_mouth and since >= -BEFORE_SIGN_MS:
        reach = odds.begins_mm + REACH_MM_MS * max(since + LATE_SIGN_MS, 0)
        weight *= max(math.exp(-((far / reach) ** 2) / 2), odds.elsewhere)
        # Cards leave one by one: what begins at the mouth is the last that left, not one before it.
        later = any(card.out_at < c.out_at <= began + LATE_SIGN_MS for c in scene.cards)
        weight *= odds.lost_to_mouth if later else 1.0
    else:
        late = since - far / THROWN_MM_MS
        if late < -LATEST_SIGN_MS:
            # What lay there before is another thing, unless the card came to lie in its place.
            if run.rest is None or run.rest_since - card.out_at < 0:
                return 0.0
            late = run.rest_since - card.out_at - far / THROWN_MM_MS
            weight *= odds.begun_as_other
        weight *= math.exp(min(late, 0.0) / odds.sign_late_ms) * _comes(max(late, 0.0), odds)
        weight *= odds.laid_in_no_slot if slot is None else 1.0
    return weight


def _comes(late_ms: float, odds: Odds) -> float:
    """Return the probability density that a card comes in sight so late, 1 at once."""
    soon, slow = (
        (1 - odds.signed_late) / odds.signed_soon_ms,
        odds.signed_late / odds.signed_late_ms,
    )
    after = soon * math.exp(-late_ms / odds.signed_soon_ms)
    return (after + slow * math.exp(-late_ms / odds.signed_late_ms)) / (soon + slow)


def _not_yet(late_ms: float, odds: Odds) -> float:
    """Return the probability that a card is not in sight so late."""
    late_ms = max(late_ms, 0.0)
    soon = (1 - odds.signed_late) * math.exp(-late_ms / odds.signed_soon_ms)
    return soon + odds.signed_late * math.exp(-late_ms / odds.signed_late_ms)


def _began_beside(run: Tracklet, card: TrackedCard) -> bool:
    """Whether a run began as a second box of a card, beside it at the same time."""
    return any(
        abs(at - run.born_at) < LATE_SIGN_MS and pose.distance(run.first) < DOUBLE_MM
        for at, pose in card.tracklet.recent
    )


def on_hand(pose: Pose, hands: Sequence[Points]) -> bool:
    """Whether the middle of a pose lies under a hand (polygons in mm)."""
    return any(distance_inside(pose.centre, hand) >= 0 for hand in hands)


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
