"""Who may do and receive what at the desks: one table, by role.

The orders are those of the rules; asking them here keeps a page from offering what would be
refused, and turns away at the server what a page should not have asked.
"""

from __future__ import annotations

from vision.board.table_state import Update
from vision.game.commands import SignIn, SignOut, TakeArchive
from vision.game.fold.commands import ORDERS
from vision.record.facts import IN_A_ROLE, Fact
from vision.wire.form import Payload
from vision.wire.messages import snake

DEALER, INSPECTOR, SURVEILLANCE, ENGINEER = "dealer", "inspector", "surveillance", "engineer"

# The desk offers every order of the rules but these, which the server gives itself.
OF_THE_SERVER = (SignIn, SignOut, TakeArchive)
MAY_ORDER: dict[str, frozenset[str]] = {
    snake(kind.__name__): frozenset(role.value for role in order.roles)
    for kind, order in ORDERS.items()
    if kind not in OF_THE_SERVER
}
# What each page is for; whoever may not see it is turned away.
MAY_SEE: dict[str, frozenset[str]] = {
    "desk": frozenset((INSPECTOR, SURVEILLANCE)),
    "floor": frozenset((INSPECTOR, SURVEILLANCE)),
    "reports": frozenset((INSPECTOR, SURVEILLANCE)),
    "dealer": frozenset((DEALER, INSPECTOR)),
    "setup": frozenset((ENGINEER,)),
    "accept": IN_A_ROLE[Fact.COUP_KEYED],
}
MAY_ALLOW = IN_A_ROLE[Fact.BUNDLE_ALLOWED]  # that a bundle of an acceptance leaves the house
HOME = {DEALER: "dealer", INSPECTOR: "desk", SURVEILLANCE: "desk", ENGINEER: "setup"}
# Everything below a table's prefix but other people's orders.
DESK_TOPICS = (
    "status", "shoe", "card", "coup/live", "coup/result", "roads", "alert", "alert/+", "evidence",
    "evidence/+", "clip/+", "health", "cmd/reply", "replay/#",
)  # fmt: skip
# Update by itself, not in the stream of a page.
ASKED_FOR = ("card", "evidence", "alert")
RECEIVED = {
    DEALER: ("status", "shoe", "coup/live", "coup/result"),
    ENGINEER: ("status", "shoe", "health"),
}


def may_receive(role: str, reported: Update) -> bool:
    """Whether a page of somebody in that role receives it."""
    if reported.topic in ASKED_FOR or reported.topic == "cmd/reply":
        return False
    if reported.topic.startswith("alert/") and reported.payload is not None:
        audience = reported.payload.get("audience") or ()
        if role not in (INSPECTOR, SURVEILLANCE) or list(audience) == [DEALER]:
            return role in audience  # a reminder is for the dealer alone
    if role in (INSPECTOR, SURVEILLANCE) or reported.topic.startswith("alert/"):
        return True
    return reported.topic in RECEIVED.get(role, ())


def desk_part(topic: str, payload: Payload) -> Payload | None:
    """Return a message as the desks keep it; pictures and what is asked for are kept elsewhere."""
    return None if topic in ASKED_FOR or topic.startswith(("evidence/", "clip/")) else payload
