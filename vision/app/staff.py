"""Have the log say who may give orders, from the moment that counts, and bound what they cost."""

from __future__ import annotations

from collections.abc import Sequence

from vision.access.users import Users
from vision.game.commands import CallInspector
from vision.game.coup.alerts import OPEN
from vision.game.coup.state import Table
from vision.game.events import Event
from vision.record.codec import canonical
from vision.record.facts import Fact, Recorded
from vision.record.register import Register
from vision.wire.commands import RefusedError


class StaffRecord:
    """The users as the log has them; public keys and roles only, as in the users file."""

    def __init__(self, register: Register) -> None:
        """Begin with what the log says."""
        self._entries = {person.name: person.entry for person in register.users}
        self._seen: Users | None = None

    def changes(self, users: Users, at: int) -> tuple[Recorded, ...]:
        """Return the facts of what is not as the log has it, at `at` (Unix ms)."""
        if users is self._seen:
            return ()
        self._seen = users
        now = {
            name: canonical(user.model_dump(mode="json", exclude_defaults=True))
            for name, user in users.users.items()
        }
        before, self._entries = self._entries, now
        return tuple(
            Recorded(at, Fact.USER, name, now.get(name, ""))
            for name in sorted({*before, *now})
            if before.get(name) != now.get(name)
        )


def refuse_second_call(table: Table, waiting: Sequence[object], event: Event) -> None:
    """Refuse a call for the inspector while one is open or `waiting`; RefusedError.

    Each call is filmed, so calls without end would push other evidence off the disk. Refused here,
    before the log, and not by the rules: logs that have two calls at once replay as they were.
    """
    if not isinstance(event, CallInspector):
        return
    alerts = (table.alerts, table.earlier_alerts, *(coup.alerts for coup in table.coups))
    kept = (tracked.alert for some in alerts for tracked in some)
    is_open = any(alert.code == "CALLED" and alert.state in OPEN for alert in kept)
    if is_open or any(isinstance(other, CallInspector) for other in waiting):
        raise RefusedError("the inspector is called already; close that alert first", event.ref)
