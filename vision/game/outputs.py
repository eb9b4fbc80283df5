"""The outputs of the rules: what `step` answers.

Plain snapshot values, each with the whole content of the message that it becomes, so that the
sender needs no memory of the game. Most are named tuples rather than dataclasses, because several
are made at every event.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from vision.game.cards import Card
from vision.game.events import Category, Role, Slot, Winner


class Severity(StrEnum):
    """How grave an alert is, and so who sees it."""

    INFO = "info"
    ADVISORY = "advisory"
    WARNING = "warning"
    CRITICAL = "critical"


class Deadline(StrEnum):
    """By when a fault is to be put right."""

    NONE = "none"
    NEXT_CARD = "next-card"
    SETTLEMENT = "settlement"
    NEXT_COUP = "next-coup"
    SHOE_END = "shoe-end"


class AlertState(StrEnum):
    """The life of an alert."""

    RAISED = "raised"
    ACKNOWLEDGED = "acknowledged"
    RECTIFIED = "rectified"
    LAPSED = "lapsed"
    CLOSED = "closed"


class ResultState(StrEnum):
    """The life of a result; `HELD` says that the coup has one but it is not to be shown yet."""

    FINAL = "final"
    CORRECTED = "corrected"
    VOID = "void"
    HELD = "held"


class CardSeen(NamedTuple):
    """One card did something: `event` is `out`, `placed`, `read`, `removed` or `keyed`.

    `found`: it lies on the table and nobody saw it leave the shoe. `withdrawn`: it counts no
    longer, being in the shoe again, or none.
    For surveillance only. `coup` is 0 for a burn card; `slot` is `None` where it lies in none.
    """

    at: int
    event: str
    shoe: str
    coup: int
    order: int
    slot: Slot | None
    card: Card | None
    confidence: float
    second: Card | None


class CoupLive(NamedTuple):
    """The running coup as the table shows it: exposed cards only, `None` for one not exposed.

    `points` of a hand are `None` while a card of it is not exposed or it has fewer than two.
    `expected` are the slots where the next card may go; `complete`: no card is due.
    """

    at: int
    shoe: str
    coup: int
    punto: tuple[Card | None, ...]
    banco: tuple[Card | None, ...]
    punto_points: int | None
    banco_points: int | None
    expected: tuple[Slot, ...]
    complete: bool
    free: bool


class Hand(NamedTuple):
    """A hand of a result; `points` is `None` where a card of it is unread."""

    cards: tuple[Card | None, ...]
    points: int | None
    natural: bool
    pair: bool


class CoupResult(NamedTuple):
    """The result of a coup; a later one of the same coup has a higher `revision` and replaces it.

    `winner` is `None` unless `state` is final or corrected. `why` is, for a held result, `unread`,
    `review`, `view`, `hold` or `incomplete`, else empty. `faults` are the codes raised in the coup.
    `by` and `reason` are those of the order that made this revision, if one did.
    """

    at: int
    shoe: str
    coup: int
    revision: int
    state: ResultState
    why: str
    winner: Winner | None
    punto: Hand
    banco: Hand
    egalite_points: int | None
    three_giving_eight: bool
    faults: tuple[str, ...]
    free: bool
    by: str
    reason: str


class CoupsChanged(NamedTuple):
    """The list of this shoe's coups changed: the latest revision of each, held ones left out.

    Void coups are in it (for the roads to leave out), free hands too.
    """

    at: int
    shoe: str
    coups: tuple[CoupResult, ...]


@dataclass(frozen=True, slots=True)
class Alert:
    """A fault as it is shown to people; its `id` stays the same all its life.

    `expected` and `observed` are slots; `order`, `card`, `second` and `confidence` are of the card
    that gave rise to it; `exposed` says whether its face lies open. `check_card`: the fault would
    not be one under the second-best reading of a card. `deadline` is the next one to pass, and
    `deadline_at` when the last has passed; `in_time` is then whether it had been rectified, or
    brought to management, before. `odds`: how many times likelier it was, as it was raised, than
    all explanations without it. `count`: how often it has come, as coups dealt behind the cut card.
    `category`: what it was, of a closed one.
    """

    id: str
    code: str
    severity: Severity
    state: AlertState
    text: str
    shoe: str
    coup: int
    raised_at: int
    deadline: Deadline
    audience: tuple[Role, ...]
    order: int | None = None
    slot: Slot | None = None
    expected: tuple[Slot, ...] = ()
    observed: Slot | None = None
    exposed: bool | None = None
    card: Card | None = None
    second: Card | None = None
    confidence: float | None = None
    check_card: bool = False
    deadline_at: int | None = None
    in_time: bool | None = None
    acknowledged_by: str = ""
    acknowledged_at: int | None = None
    by: str = ""
    role: Role | None = None
    remedy: str = ""
    reason: str = ""
    changed_at: int = 0
    odds: float | None = None
    count: int = 1
    category: Category | None = None


class AlertChanged(NamedTuple):
    """An alert was raised (`first`) or changed."""

    at: int
    alert: Alert
    first: bool


class ShoeChanged(NamedTuple):
    """The shoe as it stands; `left` and `unseen` are `None` until it has ended and been counted.

    `out` counts cards seen to leave, `missed` those whose number was skipped, `burned` the burn
    cards; `burn_due` is what the burn rule asks, the first card included, once known.
    """

    at: int
    shoe: str
    decks: int
    out: int
    missed: int
    coups: int
    burned: int
    burn_due: int | None
    cut_seen: bool
    last_hand: bool
    ended: bool
    left: int | None
    unseen: int | None


class StatusChanged(NamedTuple):
    """The reader is `online`, `blind` or `stopped`."""

    at: int
    state: str
    boot: str
    why: str


class Replied(NamedTuple):
    """An order was accepted or refused; `command` is its name, as in `CorrectCard`."""

    at: int
    ref: str
    command: str
    by: str
    accepted: bool
    why: str


class Ignored(NamedTuple):
    """An event made no sense and changed nothing."""

    at: int
    event: str
    why: str


Output: TypeAlias = (
    CardSeen
    | CoupLive
    | CoupResult
    | CoupsChanged
    | AlertChanged
    | ShoeChanged
    | StatusChanged
    | Replied
    | Ignored
)
