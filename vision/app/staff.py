"""Have the log say who may give orders, and with which key, from the moment it counts."""

from __future__ import annotations

from vision.access.users import Users
from vision.record.codec import canonical
from vision.record.facts import Fact, Recorded
from vision.record.register import Register


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
