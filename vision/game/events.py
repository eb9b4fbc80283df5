"""The inputs of the rules: what can happen at a table.

`step` folds them into a `Table` and answers with outputs (`vision.game.outputs`). All are plain
values. `at` is Unix time in milliseconds, set by the maker of the event. `order` counts the cards
that left this shoe (1 = first card out, the burn card included): it is the card's identity before
its face is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum

from vision.game.cards import Card


class Slot(IntEnum):
    """The six slots of a coup, in the order in which a legal coup fills them."""

    PUNTO_1 = 0
    BANCO_1 = 1
    PUNTO_2 = 2
    BANCO_2 = 3
    PUNTO_3 = 4
    BANCO_3 = 5

    __hash__ = int.__hash__  # as quick as that of a number: every layout asks it of every card

    def __init__(self, place: int) -> None:
        self.is_punto = place % 2 == 0  # whether the slot belongs to the Punto hand

    @property
    def title(self) -> str:
        """Its name for people: `Punto 1`."""
        return self.name.replace("_", " ").capitalize()


class Winner(StrEnum):
    """How a coup ended."""

    PUNTO = "punto"
    BANCO = "banco"
    EGALITE = "egalite"

    __hash__ = str.__hash__  # as quick as that of a word: the roads of a shoe ask it of every coup


class Category(StrEnum):
    """What an alert was, by who closes it; `READER`: a false one. `OTHER` needs words."""

    DEALER = "dealer"
    PROCEDURE = "procedure"
    READER = "reader"
    TRAINING = "training"
    OTHER = "other"


class Role(StrEnum):
    """Who gives an order.

    The dealer acknowledges and keys in what was not read, the inspector rules, surveillance reads,
    acknowledges and holds, the engineer never touches a result.
    """

    DEALER = "dealer"
    INSPECTOR = "inspector"
    SURVEILLANCE = "surveillance"
    ENGINEER = "engineer"


@dataclass(frozen=True, slots=True)
class Event:
    """An input: something that the camera saw or a person entered."""

    at: int


# --- what the camera saw -------------------------------------------------------------------------


class Life(StrEnum):
    """What has become of a card that left the shoe."""

    OUT = "out"  # not at rest yet
    LYING = "lying"
    REMOVED = "removed"  # taken from the layout
    RETURNED = "returned"  # went back into the shoe; drawn again, it is the next number


@dataclass(frozen=True, slots=True)
class SeenCard:
    """A card of a coup as sight now believes it.

    `order` is its place among the cards that left this shoe, `out_at` when it left (Unix ms).
    `slot` is where it lies or lay; `None`: nowhere yet, or outside every slot. `face_up`: whether
    its face shows or showed. `card` is that face as read, with the probability (0 to 1) that it is
    right and the next best one; `declined`: it lies open and the reader declines to name it.
    `switched` is another face that lies in its place now.
    """

    order: int
    out_at: int
    life: Life
    slot: Slot | None = None
    face_up: bool = False
    card: Card | None = None
    declined: bool = False
    confidence: float = 0.0
    second: Card | None = None
    switched: Card | None = None


@dataclass(frozen=True, slots=True)
class Allegation:
    """A fault that only sight can know, of that card or of the coup: a code that is `alleged`.

    `odds`: how many times likelier it is than all explanations without it.
    """

    code: str
    order: int | None
    odds: float


@dataclass(frozen=True, slots=True)
class CoupSeen(Event):
    """A coup, whole, as sight now believes it; a later one of the same coup replaces it.

    `coup` counts the coups that sight has begun in this shoe, from 1, the burn among them where it
    saw one. `cards` are all that left the shoe in it, in the order of leaving, those that are gone
    or went back included. `sure`: no other layout is likely; else the result waits and no fault
    that rests on the layout is alleged yet. `doubt`: words for people when sight stays unsure
    (REVIEW): then nothing is alleged of the dealer but what holds however the coup lies. `odds`:
    how many times likelier a departure from procedure is than all explanations without it; where
    sight is not sure, a card that was not due.
    """

    coup: int
    cards: tuple[SeenCard, ...]
    alleged: tuple[Allegation, ...] = ()
    sure: bool = True
    doubt: str = ""
    odds: float | None = None


@dataclass(frozen=True, slots=True)
class CutCardOut(Event):
    """The cut card left the shoe."""


@dataclass(frozen=True, slots=True)
class Noticed(Event):
    """Something about the machine or the shoe: `code` is a code of `fault_table` that is `noticed`.

    `detail` is a short phrase for people; `over`: what was noticed has ended (the light is back,
    the link is up). A face in the mouth of the shoe goes to the coup that gets the card.
    """

    code: str
    detail: str = ""
    over: bool = False


class Condition:
    """What lasts, such as a slow disk: `Noticed` when it begins and once more when it is over.

    `reason` is why it holds now, `None` while it does not.
    """

    def __init__(self, code: str, patience_ms: int = 0) -> None:
        """Let a reason count when it has lasted for `patience_ms`, and end when gone as long."""
        self.reason: str | None = None
        self._code = code
        self._patience_ms = patience_ms
        self._differs_since: int | None = None

    def take(self, reason: str | None, at: int) -> tuple[Noticed, ...]:
        """Take the reason of the moment (Unix ms); return the report where it began or ended."""
        if (reason is None) == (self.reason is None):
            self._differs_since = None
            return ()
        self._differs_since = at if self._differs_since is None else self._differs_since
        if at - self._differs_since < self._patience_ms:
            return ()
        return self.report(reason, at)

    def report(self, reason: str | None, at: int) -> tuple[Noticed, ...]:
        """Return the report of a reason that counts at once, and again if it was reported."""
        self.reason, self._differs_since = reason, None
        return (Noticed(at, self._code, detail=reason or "", over=reason is None),)


@dataclass(frozen=True, slots=True)
class ViewLost(Event):
    """The reader cannot see the table from here on; `reason` is a short phrase."""

    reason: str


@dataclass(frozen=True, slots=True)
class ViewBack(Event):
    """The reader sees the table again."""


@dataclass(frozen=True, slots=True)
class TimePassed(Event):
    """Nothing happened, but a time that the table waits for has come (see `Table.waits_until`)."""


# --- what the house reports ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Started(Event):
    """The reader began a run; `boot` names it in every message.

    `version` is the program's; `models` are what reads, each as name and hash; `identity` is the
    one signature of program, models, rules, settings and calibration (`check --identify`).
    `term` counts the takeovers of a pair of readers, 0 where there is no pair; `unbroken`: this
    reader has watched the table until now, so nothing of the running coup was missed. Messages go
    on after number `after`, where that is above the last: another version may have made more.
    """

    boot: str
    version: str = ""
    models: tuple[str, ...] = ()
    identity: str = ""
    term: int = 0
    unbroken: bool = False
    after: int = 0


@dataclass(frozen=True, slots=True)
class Stopped(Event):
    """The reader ended its run in order."""


@dataclass(frozen=True, slots=True)
class ShoeStarted(Event):
    """A new shoe is in use; the run of cards begins again at order 1.

    `watch_burn`: the camera sees this shoe from its first card, so the burn is to be checked.
    """

    shoe: str
    watch_burn: bool = False


@dataclass(frozen=True, slots=True)
class ShoeEnded(Event):
    """The shoe is finished; `left` cards were counted in it (0: it ran empty)."""

    left: int = 0


@dataclass(frozen=True, slots=True)
class BetsClosed(Event):
    """The bets are closed; a table that ever says so has its early deals reported."""


@dataclass(frozen=True, slots=True)
class ResultEntered(Event):
    """The dealer keyed a result into the house's own system; `None` marks were not keyed."""

    winner: Winner
    punto_pair: bool | None = None
    banco_pair: bool | None = None
    three_giving_eight: bool | None = None
    egalite_points: int | None = None
