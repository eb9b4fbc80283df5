"""What was dealt on a film, in one form for both kinds of truth that there are.

`dealsim-truth-1` is that of the other renderer's films (`NAME.json`, times in seconds); the other
is our simulator's (`truth.json`, times in ms).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vision.game.cards import Card
from vision.game.events import Slot

NEVER = 1 << 40  # ms: after the end of every film
DEALING = {"A": "face-down", "B": "punto-first", "C": "face-up"}
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Dealt:
    """A card; times in ms, `NEVER` where it does not happen. `slot` is `None` outside the slots."""

    coup: int
    card: Card
    slot: Slot | None
    began: int
    out: int
    placed: int
    face: int
    removed: int
    readable: bool = True


@dataclass(frozen=True, slots=True)
class Coup:
    """A coup: its cards in the order of leaving, its fault codes, when it was cleared (ms).

    `punto` and `banco` are the hands as they lay, by the text of their cards; `winner` is in the
    contract's words.
    """

    number: int
    cards: tuple[Dealt, ...]
    faults: tuple[str, ...]
    start: int
    end: int
    punto: tuple[str, ...] = ()
    banco: tuple[str, ...] = ()
    winner: str = ""

    @property
    def is_clean(self) -> bool:
        """Whether nobody departed from procedure."""
        return not set(self.faults) - {"UNREAD", "CUT_CARD"}

    @property
    def layout(self) -> tuple[int | None, ...]:
        """The slots of its cards in the order of leaving."""
        return tuple(None if c.slot is None else int(c.slot) for c in self.cards)


@dataclass(frozen=True, slots=True)
class FilmTruth:
    """The coups of a film, the cards burned before them, and when the cut card came, if it did."""

    coups: tuple[Coup, ...]
    burned: tuple[Dealt, ...]
    cut: int | None

    @property
    def cards(self) -> tuple[Dealt, ...]:
        """All cards, in the order of leaving."""
        return (*self.burned, *(card for coup in self.coups for card in coup.cards))


def read_truth(path: Path) -> FilmTruth:
    """Read a film's truth, of either form."""
    data: Json = json.loads(path.read_text("utf-8"))
    return _other(data) if data.get("format") == "dealsim-truth-1" else _ours(data)


def _ours(data: Json) -> FilmTruth:
    cards = [_our_card(row) for row in data["cards"]]
    faults = [(f["coup"], f["code"]) for f in data["faults"]]
    coups = tuple(
        Coup(
            row["coup"],
            tuple(card for card in cards if card.coup == row["coup"]),
            tuple(code for number, code in faults if number == row["coup"]),
            row["start_ms"],
            row["end_ms"],
            *_hands(row),
        )
        for row in data["coups"]
    )
    return FilmTruth(coups, tuple(card for card in cards if card.coup < 1), data["cut_ms"])


def _hands(row: Json) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """Return the hands and the winner; truths that people gave have no winner of their own."""
    winner = str(row.get("winner") or "").lower().replace("tie", "egalite")
    return tuple(row.get("punto", ())), tuple(row.get("banco", ())), winner


def _our_card(row: Json) -> Dealt:
    name = row["slot"]
    return Dealt(
        row["coup"],
        Card.parse(row["card"]),
        Slot[name] if name in Slot.__members__ else None,
        row["began_ms"],
        row["out_ms"],
        row["placed_ms"],
        NEVER if row["face_ms"] is None else row["face_ms"],
        NEVER if row["removed_ms"] is None else row["removed_ms"],
        readable=row["face_ms"] is not None,
    )


def _other(data: Json) -> FilmTruth:
    slots = {f"{slot.name[0]}{slot // 2 + 1}": slot for slot in Slot}
    rows = [row for row in data["cards"] if row["kind"] == "card"]
    rows.sort(key=lambda row: row["t_out"])
    cards = [
        Dealt(
            row["coup"],
            Card.parse(row["card"]),
            slots.get(row["slot"] or ""),
            _ms(row["t_draw"]),
            _ms(row["t_out"]),
            _ms(row["t_placed"]),
            _ms(row["t_face"]),
            _ms(row["t_removed"]),
            readable=row["t_face"] is not None and not row.get("noread"),
        )
        for row in rows
    ]
    coups = tuple(
        Coup(
            row["coup"],
            # A card drawn anew is one card: it is dealt, at its last exit, where it then lies.
            tuple(card for card in cards if card.coup == row["coup"] and card.slot is not None),
            (_code(row["fault"]),) if row["fault"] else (),
            _ms(row["t_start"]),
            _ms(row["t_cleared"]),
            *_hands(row),
        )
        for row in data["coups"]
    )
    cuts = [row["t_out"] for row in data["cards"] if row["kind"] == "cut" and row.get("t_out")]
    return FilmTruth(coups, (), _ms(cuts[0]) if cuts else None)


def _code(fault: Any) -> str:
    return str(fault["code"] if isinstance(fault, dict) else fault)


def _ms(seconds: float | None) -> int:
    return NEVER if seconds is None else round(1000 * seconds)
