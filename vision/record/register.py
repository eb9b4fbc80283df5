"""What the records of a log come to: whose keys counted when, and what is under legal hold.

A part of the session, so a checkpoint carries it past what was pruned, and an audit holds each
order against the key that its giver had at that moment.
"""

from __future__ import annotations

from typing import NamedTuple

from vision.game.commands import KeepEvidence, ReleaseEvidence
from vision.game.events import Event, Started
from vision.game.outputs import Output, Replied
from vision.record.facts import Fact, Recorded
from vision.record.proofs import Anchored


class Hold(NamedTuple):
    """The evidence of a coup is kept beyond every limit; `coup` 0 is the whole shoe."""

    shoe: str
    coup: int


class Person(NamedTuple):
    """A user as the users file had them: `entry` is canonical JSON of roles and public key."""

    name: str
    entry: str


class Register(NamedTuple):
    """Users, holds and the key that signs, as they stand; the rest stands in the log alone.

    `identified`: a run of a version that signs each pruning at once has begun. `sealed`: the log
    has been signed since, so a pruning that is not signed is a forgery from there on.
    """

    users: tuple[Person, ...] = ()
    holds: tuple[Hold, ...] = ()
    key: str = ""
    identified: bool = False
    sealed: bool = False

    def after(self, event: Event, outputs: tuple[Output, ...] = ()) -> Register:
        """Return the register after an event; an order counts only where it was accepted."""
        held = self._after_hold(event, outputs)
        match event:
            case Started() if event.identity:
                return self._replace(identified=True)
            case Anchored() if self.identified:
                return self._replace(sealed=True)
            case Recorded(kind=Fact.USER):
                others = tuple(person for person in self.users if person.name != event.subject)
                entry = (Person(event.subject, event.detail),) if event.detail else ()
                return self._replace(users=tuple(sorted((*others, *entry))))
            case Recorded(kind=Fact.KEY):
                return self._replace(key=event.subject)
        return self if held == self.holds else self._replace(holds=held)

    def _after_hold(self, event: Event, outputs: tuple[Output, ...]) -> tuple[Hold, ...]:
        """Return the holds after an order that was accepted."""
        if not isinstance(event, KeepEvidence | ReleaseEvidence) or not _accepted(outputs):
            return self.holds
        hold = Hold(event.shoe, event.coup)
        others = {kept for kept in self.holds if kept != hold}
        return tuple(sorted(others | ({hold} if isinstance(event, KeepEvidence) else set())))

    def entry_of(self, name: str) -> str:
        """Return what the users file had of that person, "" where it had nothing."""
        return next((person.entry for person in self.users if person.name == name), "")


NOTHING = Register()


def _accepted(outputs: tuple[Output, ...]) -> bool:
    return any(isinstance(output, Replied) and output.accepted for output in outputs)
