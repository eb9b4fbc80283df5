"""A condition that lasts, such as a slow disk: reported when it begins and once more when over."""

from __future__ import annotations

from vision.game.events import Noticed


class Condition:
    """One fault code, and the reason for which it holds now: `None` while it does not."""

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
