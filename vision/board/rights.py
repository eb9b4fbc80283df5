"""Who may do and hear what at the desks: one table, by role.

The reader decides for itself who may order what; this table keeps a page from offering what would
be refused, and turns away at the server what a page should not have asked.
"""

from __future__ import annotations

from vision.board.table_state import Payload, Update

DEALER, INSPECTOR, SURVEILLANCE, ENGINEER = "dealer", "inspector", "surveillance", "engineer"

# As `vision.game.fold.commands` has it; log-ins and archives are for the server alone to tell.
MAY_ORDER: dict[str, frozenset[str]] = {
    "confirm": frozenset((DEALER, INSPECTOR)),
    "correct_card": frozenset((DEALER, INSPECTOR)),
    "void_coup": frozenset((INSPECTOR,)),
    "result_stands": frozenset((INSPECTOR,)),
    "hold_result": frozenset((INSPECTOR, SURVEILLANCE)),
    "move_card": frozenset((INSPECTOR,)),
    "burn_card": frozenset((INSPECTOR,)),
    "carry_card": frozenset((INSPECTOR,)),
    "free_hand": frozenset((INSPECTOR,)),
    "new_shoe": frozenset((INSPECTOR,)),
    "undo_last": frozenset((INSPECTOR,)),
    "ack_alert": frozenset((DEALER, INSPECTOR, SURVEILLANCE, ENGINEER)),
    "rectify_alert": frozenset((INSPECTOR,)),
    "close_alert": frozenset((INSPECTOR, SURVEILLANCE)),
    "comment_alert": frozenset((INSPECTOR, SURVEILLANCE)),
    "call_inspector": frozenset((DEALER, INSPECTOR)),
}
# What each page is for; whoever may not see it is turned away.
MAY_SEE: dict[str, frozenset[str]] = {
    "desk": frozenset((INSPECTOR, SURVEILLANCE)),
    "dealer": frozenset((DEALER, INSPECTOR)),
    "setup": frozenset((ENGINEER,)),
}
HOME = {DEALER: "dealer", INSPECTOR: "desk", SURVEILLANCE: "desk", ENGINEER: "setup"}
# Everything below a table's prefix but other people's orders.
DESK_TOPICS = (
    "status",
    "shoe",
    "card",
    "coup/live",
    "coup/result",
    "roads",
    "alert",
    "alert/+",
    "evidence",
    "evidence/+",
    "clip/+",
    "health",
    "cmd/reply",
    "replay/#",
)
# Update by itself, not in the stream of a page.
ASKED_FOR = ("card", "evidence", "alert")
HEARD = {
    DEALER: ("status", "shoe", "coup/live", "coup/result"),
    ENGINEER: ("status", "shoe", "health"),
}


def may_hear(role: str, told: Update) -> bool:
    """Whether a page of somebody in that role is told of it."""
    if told.topic in ASKED_FOR or told.topic == "cmd/reply":
        return False
    if role in (INSPECTOR, SURVEILLANCE):
        return True
    if told.topic.startswith("alert/"):
        return told.payload is None or role in (told.payload.get("audience") or ())
    return told.topic in HEARD.get(role, ())


def desk_part(topic: str, payload: Payload) -> Payload | None:
    """Return a message as the desks keep it; pictures and what is asked for are kept elsewhere."""
    return None if topic in ASKED_FOR or topic.startswith(("evidence/", "clip/")) else payload
