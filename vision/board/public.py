"""What the public may know: of each message only what lies open on the table.

Pure. A list of what is let through, so that a field added to the contract stays inside until
somebody has decided that it may go out. Names of staff, reasons, faults and counts of the cards
left never do.
"""

from __future__ import annotations

from vision.board.table_state import Payload

TOPICS = (
    "status", "shoe", "coup/live", "coup/result", "roads", "health", "replay/public/coup/result"
)  # fmt: skip

HAND = ("cards", "points", "natural", "pair")
FIELDS: dict[str, tuple[str, ...]] = {
    "status": ("state", "profile"),
    "shoe": ("shoe", "decks", "coups", "cut_card_seen", "last_hand", "ended"),
    "coup/live": ("shoe", "coup", "punto", "banco", "expected", "complete", "free"),
    "coup/result": (
        "at",
        "shoe",
        "coup",
        "revision",
        "state",
        "why",
        "winner",
        "punto",
        "banco",
        "egalite_points",
        "three_giving_eight",
        "wagers",
        "free",
    ),
    "roads": (
        "shoe",
        "rows",
        "bead_plate",
        "big_road",
        "leading_ties",
        "big_eye_boy",
        "small_road",
        "cockroach_pig",
        "ask",
        "counts",
    ),
}


def public_part(topic: str, payload: Payload) -> Payload | None:
    """Return what the public may know of a message; None where that is nothing."""
    fields = FIELDS.get(topic)
    if fields is None:
        return None
    part = {name: payload[name] for name in fields if name in payload}
    for side in ("punto", "banco"):
        if isinstance(part.get(side), dict):
            part[side] = {name: part[side][name] for name in HAND if name in part[side]}
    return part
