"""Tell from logs how people have used the rights that they have, for a review of access."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from vision.game.commands import Command, SignIn
from vision.record.chain import of_record
from vision.record.codec import event_from_json
from vision.record.facts import Fact, Recorded


@dataclass(slots=True)
class Use:
    """What the logs say of one name; times are Unix ms, 0 where there is none.

    `since` is when a log first had the person as they are now in the users file of its table,
    `removed` when one last saw them go. `refused` counts log-ins refused since the last good one.
    """

    since: int = 0
    removed: int = 0
    logged_in: int = 0
    ordered: int = 0
    refused: int = 0

    @property
    def last(self) -> int:
        """When the person last used their rights."""
        return max(self.logged_in, self.ordered)


@dataclass(slots=True)
class AccessReview:
    """How each name was used, by the logs of a house's tables taken one after another."""

    uses: dict[str, Use] = field(default_factory=dict)
    begins: int = 0  # Unix ms of the earliest event seen: what was before, nobody here knows

    def take(self, contents: Iterable[Mapping[str, Any]]) -> None:
        """Take the contents of a log's records; BrokenChainError."""
        for content in contents:
            with of_record(content["n"]):
                if "event" in content:
                    self._take_event(content)

    def _take_event(self, content: Mapping[str, Any]) -> None:
        event = event_from_json(content["event"])
        self.begins = min(self.begins or event.at, event.at)
        match event:
            case Recorded(kind=Fact.USER, detail=""):
                use = self.of(event.subject)
                use.since, use.removed = 0, max(use.removed, event.at)
            case Recorded(kind=Fact.USER):
                use = self.of(event.subject)
                use.since, use.removed = min(use.since or event.at, event.at), 0
            case SignIn(accepted=True):
                use = self.of(event.by)
                if event.at >= use.logged_in:
                    use.logged_in, use.refused = event.at, 0
            case SignIn():
                use = self.of(event.by)
                use.refused += event.at > use.logged_in
            case Command():
                # The person, and the desk that vouched, or the same person.
                for name in filter(None, (event.by, _signer(content))):
                    use = self.of(name)
                    use.ordered = max(use.ordered, event.at)

    def of(self, name: str) -> Use:
        """Return what is known of a name."""
        return self.uses.setdefault(name, Use())


def _signer(content: Mapping[str, Any]) -> str:
    """Return whose key signed the order of a record, "" where none is named."""
    try:
        return str(content["order"]["fields"]["key"])
    except (KeyError, TypeError):
        return ""
