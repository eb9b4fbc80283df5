"""The orders of a house's people: inputs of the rules, like what the camera saw.

Each is checked (`vision.game.fold.commands`), logged and answered. Plain values; `at` is Unix time
in milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from vision.game.cards import Card
from vision.game.events import Category, Event, Role, Slot


@dataclass(frozen=True, slots=True)
class Command(Event):
    """An order by a named person; `ref` is their own number for it, given back in the reply."""

    by: str
    role: Role
    reason: str = field(default="", kw_only=True)
    ref: str = field(default="", kw_only=True)


@dataclass(frozen=True, slots=True)
class CoupCommand(Command):
    """An order about one coup of this shoe."""

    coup: int


@dataclass(frozen=True, slots=True)
class Confirm(CoupCommand):
    """The cards of the coup are as they were read: doubts about reading end."""


@dataclass(frozen=True, slots=True)
class CorrectCard(CoupCommand):
    """The card in that slot is `card`; a dealer may say so only of a card that is not read.

    For an empty slot it enters a card that the camera never saw.
    """

    slot: Slot
    card: Card


@dataclass(frozen=True, slots=True)
class VoidCoup(CoupCommand):
    """The coup does not count; the next card out begins the next one."""


@dataclass(frozen=True, slots=True)
class ResultStands(CoupCommand):
    """The coup stands as it was dealt: its open alerts are rectified, its result is released."""


@dataclass(frozen=True, slots=True)
class HoldResult(CoupCommand):
    """The result is not to be published until `ResultStands`."""


@dataclass(frozen=True, slots=True)
class MoveCard(CoupCommand):
    """The card in `source` belongs in `target`, a slot of the other hand."""

    source: Slot
    target: Slot


@dataclass(frozen=True, slots=True)
class BurnCard(CoupCommand):
    """The last card of the coup, given where none was due, is burned."""


@dataclass(frozen=True, slots=True)
class CarryCard(CoupCommand):
    """The last card of the coup, given where none was due, becomes the first of the next coup."""


@dataclass(frozen=True, slots=True)
class FreeHand(CoupCommand):
    """The coup is dealt without bets; it may be the coming one."""


@dataclass(frozen=True, slots=True)
class NewShoe(Command):
    """A new shoe is in use (as `ShoeStarted`, by order)."""

    shoe: str
    watch_burn: bool = False


@dataclass(frozen=True, slots=True)
class UndoLast(Command):
    """The last order about a coup of this shoe is taken back."""


@dataclass(frozen=True, slots=True)
class AlertCommand(Command):
    """An order about one alert."""

    alert: str


@dataclass(frozen=True, slots=True)
class AckAlert(AlertCommand):
    """The alert has been seen."""


@dataclass(frozen=True, slots=True)
class RectifyAlert(AlertCommand):
    """What the alert tells of has been put right by the remedy `R1` to `R12`."""

    remedy: str


@dataclass(frozen=True, slots=True)
class CloseAlert(AlertCommand):
    """The alert is done with and may leave the desk; what it was, and in words why."""

    category: Category | None = None


@dataclass(frozen=True, slots=True)
class CommentAlert(AlertCommand):
    """Somebody has something to say of the alert: the `reason`; nothing else changes."""


@dataclass(frozen=True, slots=True)
class CallInspector(Command):
    """The dealer asks for the inspector."""


@dataclass(frozen=True, slots=True)
class SignIn(Command):
    """Somebody logged in at a desk; `accepted` is false where the password was not right."""

    accepted: bool = True


@dataclass(frozen=True, slots=True)
class SignOut(Command):
    """Somebody logged out of a desk, or was logged out."""


@dataclass(frozen=True, slots=True)
class TakeArchive(Command):
    """Somebody took a coup's part of the log and its evidence from a desk."""

    shoe: str
    coup: int


@dataclass(frozen=True, slots=True)
class KeepEvidence(Command):
    """The evidence of a coup (0: of the whole shoe) is kept beyond every limit (a legal hold)."""

    shoe: str
    coup: int


@dataclass(frozen=True, slots=True)
class ReleaseEvidence(Command):
    """Evidence that `KeepEvidence` kept may be deleted again when its time has come."""

    shoe: str
    coup: int
