"""The second person: what one person alone cannot order, and who may vouch for it.

The second signs the very order that the first gives: the same topic and fields, which name both.
The reader verifies both signatures, so no page and no desk program can leave the second one out. A
desk signs for whoever gave their password there; people with keys of their own sign themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from vision.access.users import Users
from vision.game.commands import (
    BurnCard,
    CarryCard,
    CorrectCard,
    MoveCard,
    ResultStands,
    UndoLast,
    VoidCoup,
)
from vision.game.events import Event

# "always" and "never" speak for themselves; "auto" is where two people could.
Policy = Literal["auto", "always", "never"]
VOUCHERS = frozenset(("inspector", "surveillance"))
FINAL = (VoidCoup, ResultStands, UndoLast)
CORRECTIONS = (CorrectCard, MoveCard, BurnCard, CarryCard)
NEEDED = (
    "this cannot be undone by one person: a second, an inspector or surveillance, must vouch for it"
)


def is_wanted(policy: Policy, users: Users) -> bool:
    """Whether the house asks for second persons: where it says so, or has two who may vouch."""
    able = [user for user in users.users.values() if _is_person(user.roles, user.may_act_for)]
    return policy == "always" or (policy == "auto" and len(able) > 1)


def needs_second(event: Event, is_settled: Callable[[int], bool]) -> bool:
    """Whether one person alone cannot order it; `is_settled`: the coup's wagers have been paid."""
    if isinstance(event, CORRECTIONS):
        return is_settled(event.coup)
    return isinstance(event, FINAL)


def _is_person(roles: tuple[str, ...], may_act_for: bool) -> bool:  # noqa: FBT001
    return not may_act_for and not VOUCHERS.isdisjoint(roles)
