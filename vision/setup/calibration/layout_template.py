"""The layout's template: two hands of two cards side by side in one row, a third card of each.

One template is fitted to where cards came to rest. Its figures are the middle of the two hands, the
direction of their row, how far apart hands and cards lie, and where a third card lies beside or
below its hand, mirrored for the other one. Which hand is Punto's follows from the order in which
cards came. What few or untidy cards leave open is in `unsure_mm`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from vision.sight.geometry.plane import Pose

Vector = NDArray[np.float64]
Size = tuple[float, float]
Span = tuple[int, int]

# The slots in the order of this module: the hand first in the row, the other one, their thirds.
LEFT, RIGHT, THIRDS = (0, 1), (2, 3), (4, 5)
NAMES = ("PUNTO_1", "PUNTO_2", "BANCO_1", "BANCO_2", "PUNTO_3", "BANCO_3")
# A card belongs to a place or slot when its middle is this near, mm, and its long side turned by
# less than this, degrees: less than the width of a card with the gap to its neighbour. Larger,
# neighbours are one place; smaller, an untidy dealer's is two.
SAME_PLACE_MM, SAME_TURN = 38.0, 45.0
# Only so many places, those with most cards, may be the hands': more cost time.
MOST_PLACES = 14
# How far the four places of the hands may lie off a template, mm (root mean square). Larger, any
# four places are two hands; smaller, an untidy dealer's are none.
MOST_OFF_MM = 15.0
# Middles of the two cards of a hand lie so many card widths apart: they do not cover each other,
# and belong together.
APART = (0.9, 1.9)
# Coups in which cards came to all four places, at least: fewer may be chance.
LEAST_COUPS = 3
# Share of what the coups say of the order of dealing that must agree. Lower, sides are swapped.
AGREED = 0.75
# Other places explain the play as well if cards lay there for more than this share of the time.
RIVAL = 0.7
# Places without cards for this long, ms, end a coup.
CLEAR_MS = 700
# How far off a card typically lies (1 sigma), mm; cards much farther off hardly pull the fit.
SCATTER_MM = 5.0
# Third cards are expected crosswise beside their hand, this far from its outer card's middle, in
# card lengths, and known no better than this, mm, until they are seen.
THIRD_OUT, THIRD_UNSURE_MM = 1.0, 40.0
# A third card's middle lies no farther from its hand's than this, in card lengths; so many must
# have come there after the first four. A single one may lie anywhere.
THIRD_REACH, LEAST_THIRDS = 2.6, 2
# Rounds of giving cards to the nearest slot and fitting; nothing changes after the second.
FITS = 3
# No slot is surer than this, mm: dealers lay to one side of a slot.
LEAST_UNSURE_MM = 2.0


class NotEnoughError(ValueError):
    """Too little was seen to fit the template; the message says what was, and what to do."""


@dataclass(frozen=True, slots=True)
class RestingCard:
    """A card that lay at a place (mm) from `since` to `until` (ms)."""

    pose: Pose
    since: int
    until: int


@dataclass(frozen=True, slots=True, eq=False)
class Template:
    """The fitted layout: a pose for each slot by name, how unsure it is, and its cards.

    `unsure_mm` is 1 sigma by slot, `cards` how many cards lay there. `coups` are the spans (ms) in
    which all of the first four came, `arrivals` (coups x 4) when, Punto's before Banco's.
    """

    poses: dict[str, Pose]
    unsure_mm: dict[str, float]
    cards: dict[str, int]
    coups: tuple[Span, ...]
    arrivals: Vector


# --- figures -------------------------------------------------------------------------------------


def _axes(angle: float) -> Vector:
    """Return the unit vectors along and below a row of hands, as columns."""
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def _middles(figures: Vector) -> Vector:
    """Return the middles (6 x 2 mm) of the slots of a template."""
    x, y, angle, hands, cards, out, down = figures
    along = [-hands - cards, cards - hands, hands - cards, hands + cards, -hands - out, hands + out]
    below = [0.0, 0.0, 0.0, 0.0, down, down]
    return np.array([x, y]) + np.column_stack([along, below]) @ _axes(angle).T


def _of_four(four: Sequence[_Place], card_mm: Size) -> tuple[Vector, list[_Place]] | None:
    """Return the template of four places with the places in its order, `None` if there is none."""
    angles = np.exp(2j * np.radians([place.pose.angle for place in four]))
    angle = float(np.angle(angles.sum())) / 2 + np.pi / 2
    middles = np.array([place.pose.centre for place in four])
    for _ in range(2):  # the row's own slope is more exact than the cards' direction
        line = (middles - middles.mean(axis=0)) @ _axes(angle)
        angle += float(np.arctan(line[:, 0] @ line[:, 1] / (line[:, 0] @ line[:, 0])))
    along = middles @ _axes(angle)[:, 0]
    order = np.argsort(along)
    a, b, c, d = along[order].tolist()
    hands, cards = (c + d - a - b) / 4, (b - a + d - c) / 4
    figures = np.array([*middles.mean(axis=0), angle, hands, cards, 0.0, 0.0])
    off = np.sqrt(((_middles(figures)[:4] - middles[order]) ** 2).sum(axis=1).mean())
    upright = all(_turn(p.pose.angle, np.degrees(angle) + 90) < SAME_TURN / 2 for p in four)
    near = APART[0] <= 2 * cards / card_mm[0] <= APART[1] and hands >= 2 * cards
    return (figures, [four[i] for i in order]) if off < MOST_OFF_MM and upright and near else None


def _turn(one: float, two: float) -> float:
    return Pose(0, 0, one).turn(Pose(0, 0, two % 180))


# --- the hands -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """Where cards lie again and again: typical pose, and the cards."""

    pose: Pose
    cards: list[RestingCard]


def _places(cards: Sequence[RestingCard]) -> list[_Place]:
    """Put cards together that lie at one place; those that lay longest found the places."""
    groups: list[list[RestingCard]] = []
    for card in sorted(cards, key=lambda card: card.since - card.until):
        near = [group for group in groups if _is_at(card, group[0].pose)]
        best = min(near, key=lambda group: card.pose.distance(group[0].pose), default=None)
        if best is None:
            groups.append([card])
        else:
            best.append(card)
    groups.sort(key=lambda group: -len(group))
    return [_Place(_typical(group), group) for group in groups]


def _is_at(card: RestingCard, pose: Pose) -> bool:
    return card.pose.distance(pose) <= SAME_PLACE_MM and card.pose.turn(pose) < SAME_TURN


def _typical(cards: Sequence[RestingCard]) -> Pose:
    x, y = np.median([card.pose.centre for card in cards], axis=0).tolist()
    angle = np.angle(np.exp(2j * np.radians([card.pose.angle for card in cards])).sum()) / 2
    return Pose(x, y, float(np.degrees(angle)) % 180)


@dataclass(frozen=True, slots=True, eq=False)
class _Hands:
    """Two hands that explain some coups: the template, the slots as dealt, and the coups.

    `order` has the numbers of Punto's two slots and Banco's; `agreed` is the share of the coups
    that say so; `arrivals` (coups x 4, ms) are in that order. `dwell_ms` is how long cards lay in
    the place that they lay in least: on their way they rest too, but not for long.
    """

    figures: Vector
    order: tuple[int, int, int, int]
    agreed: float
    coups: tuple[Span, ...]
    arrivals: Vector
    dwell_ms: int

    @property
    def explained(self) -> float:
        """How long cards lay in each of the places, ms, as far as the coups agree."""
        return self.agreed * self.dwell_ms


def find_hands(cards: Sequence[RestingCard], card_mm: Size) -> _Hands:
    """Return the two hands; NotEnoughError where there are none, or more than one pair."""
    used = [p for p in _places(cards) if len(p.cards) >= LEAST_COUPS][:MOST_PLACES]
    found = sorted(_candidates(used, card_mm), key=lambda hands: -hands.explained)
    if not found:
        raise NotEnoughError(
            f"cards rested again and again at {len(used)} places, but no four are two hands side "
            f"by side that were filled in {LEAST_COUPS} coups or more: watch longer "
            "(--minutes), from the first card to the clearing, or mark all places with --place"
        )
    best = found[0]
    for other in found[1:]:
        away = np.linalg.norm(
            _middles(best.figures)[:4, None] - _middles(other.figures)[:4], axis=2
        )
        if (
            away.min(axis=0) > SAME_PLACE_MM
        ).sum() >= 2 and other.explained > RIVAL * best.explained:
            spots = " and ".join(f"({h.figures[0]:.0f}, {h.figures[1]:.0f})" for h in (best, other))
            raise NotEnoughError(
                f"two sets of places could be the hands, about {spots} mm: mark all places with "
                "--place"
            )
    if best.agreed < AGREED:
        raise NotEnoughError(
            "the places of the hands are known, but not in which order they are dealt: only "
            f"{best.agreed:.0%} of {len(best.coups)} coups agree; watch longer (--minutes), "
            "or mark all places with --place"
        )
    return best


def _candidates(places: Sequence[_Place], card_mm: Size) -> Iterator[_Hands]:
    for four in combinations(places, 4):
        template = _of_four(four, card_mm)
        hands = None if template is None else _dealt(*template)
        if hands is not None:
            yield hands


def _dealt(figures: Vector, four: Sequence[_Place]) -> _Hands | None:
    """Return the hands if cards came to all four places again and again, in the usual order."""
    spans = _spans([card for place in four for card in place.cards])
    came = np.array([[_first(place.cards, span) for place in four] for span in spans])
    whole = np.isfinite(came).all(axis=1)
    if whole.sum() < LEAST_COUPS:
        return None
    came, coups = came[whole], tuple(s for s, full in zip(spans, whole, strict=True) if full)
    orders = [
        (*one, *other)
        for hands in ((LEFT, RIGHT), (RIGHT, LEFT))
        for one, other in product(*((hand, hand[::-1]) for hand in hands))
    ]
    shares = [_agreed(came[:, order]) for order in orders]
    best = int(np.argmax(shares))
    dwell_ms = min(sum(card.until - card.since for card in place.cards) for place in four)
    return _Hands(figures, orders[best], shares[best], coups, came[:, orders[best]], dwell_ms)


def _agreed(came: Vector) -> float:
    """Return the least share of coups in which Punto, or the first card of a hand, is first."""
    punto, banco = came[:, :2], came[:, 2:]
    earlier = [punto.min(axis=1) < banco.min(axis=1), *(h[:, 0] < h[:, 1] for h in (punto, banco))]
    return float(np.mean(earlier, axis=1).min())


def _spans(cards: Sequence[RestingCard]) -> list[Span]:
    """Return the times in which cards lay, apart where none did for a while."""
    found: list[Span] = []
    for card in sorted(cards, key=lambda c: c.since):
        if found and card.since <= found[-1][1] + CLEAR_MS:
            found[-1] = (found[-1][0], max(found[-1][1], card.until + 1))
        else:
            found.append((card.since, card.until + 1))
    return found


def _first(cards: Sequence[RestingCard], span: Span) -> float:
    """Return when the first of some cards came within a span, ms; infinite where none did."""
    return min((c.since for c in cards if span[0] <= c.since < span[1]), default=np.inf)


# --- third cards ---------------------------------------------------------------------------------


def _third(
    cards: Sequence[RestingCard], hands: _Hands, card_mm: Size
) -> tuple[float, float, bool] | None:
    """Return how far out of its hand and below it a third card lies, and whether crosswise.

    `None` where cards lay nowhere after the four, and not at other times, for the longest time.
    """
    seen = [_beside(card, hands.figures) for card in cards]
    places, crosswise = np.array([s[:2] for s in seen]), np.array([s[2] for s in seen])
    free = (np.abs(places) - (hands.figures[4], 0) > SAME_PLACE_MM).any(axis=1)
    free &= np.hypot(*places.T) < THIRD_REACH * card_mm[1]
    near = np.linalg.norm(places[:, None] - places, axis=2) < SAME_PLACE_MM
    near &= (crosswise[:, None] == crosswise) & free
    after = np.array([_comes_after(card, hands) for card in cards])
    dwell_ms = np.array([card.until - card.since for card in cards])
    votes = np.where(free, near @ np.where(after, dwell_ms, -dwell_ms), 0)
    best = int(votes.argmax())
    rival = votes[~near[best]].max(initial=0)
    if (near[best] & after).sum() < LEAST_THIRDS or rival > RIVAL * votes[best]:
        return None
    out, down = np.median(places[near[best]], axis=0).tolist()
    return out, down, bool(crosswise[best])


def _beside(card: RestingCard, figures: Vector) -> tuple[float, float, bool]:
    """Return how far out of its hand's middle and below it a card lies, and whether crosswise."""
    along, below = (np.array(card.pose.centre) - figures[:2]) @ _axes(figures[2])
    crosswise = _turn(card.pose.angle, np.degrees(figures[2])) < SAME_TURN
    return abs(float(along)) - figures[3], float(below), crosswise


def _comes_after(card: RestingCard, hands: _Hands) -> bool:
    """Whether a card came when the four lay there, before the coup ended."""
    return any(
        came.max() < card.since < end
        for came, (_, end) in zip(hands.arrivals, hands.coups, strict=True)
    )


# --- the fit -------------------------------------------------------------------------------------


def fit_template(cards: Sequence[RestingCard], card_mm: Size) -> Template:
    """Fit the template to the cards; NotEnoughError where two hands are not seen."""
    hands = find_hands(cards, card_mm)
    third = _third(cards, hands, card_mm)
    usual = np.array([hands.figures[4] + THIRD_OUT * card_mm[1], 0.0])
    figures = np.append(hands.figures[:5], usual if third is None else third[:2])
    crosswise = third is None or third[2]
    for _ in range(FITS):
        slots = _poses(figures, crosswise=crosswise)
        at = [(card.pose.centre, n) for card in cards for n in range(6) if _is_at(card, slots[n])]
        spots, which = np.array([spot for spot, _ in at]), np.array([n for _, n in at])
        figures, spread = _fitted(figures, spots, which, usual)
    off = np.median(np.linalg.norm(_middles(figures)[which] - spots, axis=1))
    unsure = _unsure(figures, spread * max(1.0, off / SCATTER_MM) ** 2)
    left = hands.order[0] in LEFT
    order = dict(zip(NAMES, (*hands.order, *(THIRDS if left else THIRDS[::-1])), strict=True))
    lying = {name: spots[which == n] for name, n in order.items()}
    slots = _poses(figures, crosswise=crosswise)
    for name, n in order.items():
        own = np.median(lying[name], axis=0) - slots[n].centre if len(lying[name]) > 1 else 0.0
        unsure[n] = np.hypot(unsure[n], np.linalg.norm(own))
    return Template(
        {name: slots[n] for name, n in order.items()},
        {name: float(unsure[n]) for name, n in order.items()},
        {name: len(spots) for name, spots in lying.items()},
        hands.coups,
        hands.arrivals,
    )


def _fitted(start: Vector, spots: Vector, which: Vector, usual: Vector) -> tuple[Vector, Vector]:
    """Return the figures that fit best, and their covariance; cards astray pull little."""

    def off(figures: Vector) -> Vector:
        cards = (_middles(figures)[which] - spots).ravel() / SCATTER_MM
        return np.append(cards, (figures[5:] - usual) / THIRD_UNSURE_MM)

    found = least_squares(off, start, x_scale=(10, 10, 0.01, 10, 10, 10, 10), loss="soft_l1")
    return found.x, np.linalg.inv(found.jac.T @ found.jac)


def _poses(figures: Vector, *, crosswise: bool) -> list[Pose]:
    row = float(np.degrees(figures[2]))
    angles = [row + 90] * 4 + [row if crosswise else row + 90] * 2
    middles = _middles(figures).tolist()
    return [Pose(x, y, angle % 180) for (x, y), angle in zip(middles, angles, strict=True)]


def _unsure(figures: Vector, spread: Vector) -> Vector:
    """Return how unsure the middle of each slot is (1 sigma), mm."""
    steps = 1e-4 * np.eye(len(figures))
    pull = np.stack([(_middles(figures + step) - _middles(figures)) / 1e-4 for step in steps], -1)
    square = np.einsum("spi,ij,spj->s", pull, spread, pull)
    return np.asarray(np.sqrt(square + LEAST_UNSURE_MM**2), np.float64)
