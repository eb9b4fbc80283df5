"""The whole of a table as a fold over its log: the rules and what has been said.

Pure. A run and a replay both go through `advance`, and that is why they say the same, byte for
byte. It knows neither where events come from nor where messages go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from vision.game.coup.state import Table, new_table
from vision.game.events import Event
from vision.game.fold.step import step
from vision.game.outputs import Output
from vision.game.profile.parse import Profile, parse_profile
from vision.game.rules import Dealing
from vision.record.proofs import Anchored, EvidenceKept
from vision.wire.messages import Line, Message, tell, tell_proof


@dataclass(frozen=True, slots=True)
class Desk:
    """A table and its line to the house, at one moment."""

    table: Table
    line: Line


@dataclass(frozen=True, slots=True)
class Step:
    """What one event came to: the desk after it, what happened, and what is said of it."""

    desk: Desk
    outputs: tuple[Output, ...]
    messages: tuple[Message, ...]


def new_header(site: str, table: str, *, dealing: str, profile: str, rules: str) -> dict[str, Any]:
    """Return the header of a new log; `rules` is the text of the profile called `profile`.

    The text travels in the log, so that it can be replayed when the profile has changed since.
    ProfileError when it is no profile.
    """
    return {
        "site": site,
        "table": table,
        "dealing": dealing,
        "profile": profile,
        "rules": rules,
        "rules_sha256": _profile(profile, rules, dealing).hash,
    }


def new_desk(header: Mapping[str, Any]) -> Desk:
    """Return the desk before the first event of the log with that header.

    KeyError, ValueError or ProfileError when the header is none of ours.
    """
    profile = _profile(header["profile"], header["rules"], header["dealing"])
    line = Line(
        site=header["site"],
        table=header["table"],
        profile=f"{profile.name} sha256:{profile.hash}",
        betting=profile.betting,
    )
    return Desk(new_table(profile.rules), line)


def advance(desk: Desk, event: Event) -> Step:
    """Return what the event comes to."""
    return with_messages(desk.line, event, *apply_event(desk.table, event))


def apply_event(table: Table, event: Event) -> tuple[Table, tuple[Output, ...]]:
    """Return the table after the event, and the outputs; evidence and anchors change no table."""
    return (table, ()) if isinstance(event, EvidenceKept | Anchored) else step(table, event)


def with_messages(line: Line, event: Event, table: Table, outputs: tuple[Output, ...]) -> Step:
    """Return the step of an event that `apply_event` was given, with the messages it comes to."""
    if isinstance(event, EvidenceKept | Anchored):
        line, messages = tell_proof(line, event)
    else:
        line, messages = tell(line, event, outputs)
    return Step(Desk(table, line), outputs, messages)


def _profile(name: str, rules: str, dealing: str) -> Profile:
    profile = parse_profile(rules, name)
    return replace(profile, rules=replace(profile.rules, dealing=Dealing(dealing)))
