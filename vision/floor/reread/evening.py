"""The coups of an evening as they stood at the end, and how a second reading of its film differs.

They come from a log, an export of it or a messages file; a correction by a person is
part of the evening. Neither reading is taken for the truth: a person looks at each difference.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import zip_longest
from pathlib import Path
from typing import Any, Self

from vision.errors import OutsideError
from vision.record.chain import BrokenChainError
from vision.storage.log_reader import walked
from vision.wire.messages import message_line, unix_ms

Payload = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CoupThen:
    """A coup as it was published at last; cards as `As`, `?` where none was read."""

    shoe: str
    coup: int
    at: int
    punto: tuple[str, ...]
    banco: tuple[str, ...]
    winner: str
    faults: tuple[str, ...]
    state: str
    by: str

    @property
    def cards(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The hands; what two readings have to agree on."""
        return self.punto, self.banco

    @classmethod
    def of(cls, payload: Payload) -> Self:
        """Return the coup of a message on `coup/result`; KeyError or TypeError if it is none."""
        return cls(
            shoe=payload["shoe"],
            coup=payload["coup"],
            at=unix_ms(payload["at"]),
            punto=_hand(payload["punto"]),
            banco=_hand(payload["banco"]),
            winner=payload["winner"] or "",
            faults=tuple(sorted(payload["faults"])),
            state=payload["state"],
            by=payload.get("by") or "",
        )


def _hand(hand: Payload | None) -> tuple[str, ...]:
    return () if hand is None else tuple(card or "?" for card in hand["cards"])


@dataclass(frozen=True, slots=True)
class Evening:
    """The coups of a table in order, and the times of its first and last message (Unix ms)."""

    coups: tuple[CoupThen, ...]
    began_ms: int
    ended_ms: int


def evening_of(lines: Iterable[str]) -> Evening:
    """Return the evening of messages as a messages file has them; ValueError where one is none."""
    coups: dict[tuple[str, int], CoupThen] = {}
    times: list[int] = []
    for line in lines:
        message = json.loads(line)
        topic, payload = message["topic"], message["payload"]
        if payload and "at" in payload:
            times.append(unix_ms(payload["at"]))
        if topic.endswith("/coup/result") and payload:
            coup = CoupThen.of(payload)
            before = coups.get((coup.shoe, coup.coup), coup)
            # A correction does not move a coup to another time of the evening.
            coups[coup.shoe, coup.coup] = replace(coup, at=before.at)
    times = times or [0]
    return Evening(tuple(coups.values()), times[0], times[-1])


def load_evening(path: Path) -> Evening:
    """Read a messages file, a log or an export; OutsideError where it cannot be understood."""
    try:
        return evening_of(_lines(path))
    except BrokenChainError as error:
        raise OutsideError(
            f"{path}: the chain is broken at {error}; shoe-reader audit says more"
        ) from error
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise OutsideError(
            f"{path}: not a log, export or messages file that this version reads ({error}); "
            "give what run --messages wrote, or the table's .sqlite file"
        ) from error


def _lines(path: Path) -> Iterator[str]:
    with path.open("rb") as file:
        is_messages = file.readline().startswith(b'{"topic"')
    if is_messages:
        with path.open(encoding="utf-8") as text:
            yield from text
    else:
        for taken in walked(path):
            yield from map(message_line, taken.messages)


class DifferenceKind(StrEnum):
    """How two readings of a coup differ; the worst comes first."""

    ONLY_THEN = "only then"
    ONLY_NOW = "only now"
    WINNER = "another winner"
    CARDS = "other cards"
    FAULTS = "other faults"
    CORRECTED = "as a person corrected it"


@dataclass(frozen=True, slots=True)
class Difference:
    """A coup that differs: as it stood that evening, and as it is read now."""

    kind: DifferenceKind
    then: CoupThen | None
    now: CoupThen | None


Pair = tuple[CoupThen | None, CoupThen | None]


def differences(then: Sequence[CoupThen], now: Sequence[CoupThen]) -> list[Difference]:
    """Return what differs, in the order of the evening."""
    return [
        Difference(kind, old, new)
        for old, new in align(then, now)
        if (kind := _kind(old, new)) is not None
    ]


def _kind(then: CoupThen | None, now: CoupThen | None) -> DifferenceKind | None:
    if then is None or now is None:
        return DifferenceKind.ONLY_NOW if then is None else DifferenceKind.ONLY_THEN
    if then.winner != now.winner:
        return DifferenceKind.WINNER
    if then.cards != now.cards:
        return DifferenceKind.CARDS
    if then.faults != now.faults:
        return DifferenceKind.FAULTS
    return DifferenceKind.CORRECTED if then.by else None


def align(then: Sequence[CoupThen], now: Sequence[CoupThen]) -> list[Pair]:
    """Return the coups of both in pairs, `None` for the partner that one has not.

    Coups of the same cards are partners; between them the others, in their order.
    """
    hands = SequenceMatcher(None, [c.cards for c in then], [c.cards for c in now], autojunk=False)
    return [
        pair
        for _, old, old_end, new, new_end in hands.get_opcodes()
        for pair in zip_longest(then[old:old_end], now[new:new_end])
    ]
