"""What was said on the evening itself: the coups of a log, an export of it, or a messages file.

Of each coup counts what stood at the end: a correction by a person is part of the evening.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from vision.config.profiles import logged_profile
from vision.errors import OutsideError
from vision.record.chain import BrokenChainError, header_of, verified
from vision.storage.log_reader import read_log
from vision.wire.log_fold import LogFold
from vision.wire.messages import Message, message_line, unix_ms
from vision.wire.session import new_session

Payload = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Coup:
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
    """The coups of a table in their order, its shoes with their first time, and the first time."""

    coups: tuple[Coup, ...]
    shoes: tuple[tuple[int, str], ...]
    began_ms: int

    def between(self, first_ms: int, last_ms: int) -> tuple[Coup, ...]:
        """Return the coups of a time: a log, or an archive, has those of other evenings too."""
        return tuple(coup for coup in self.coups if first_ms <= coup.at <= last_ms)


def evening_of(lines: Iterable[str]) -> Evening:
    """Return the evening of messages as a messages file has them; ValueError where one is none."""
    coups: dict[tuple[str, int], Coup] = {}
    shoes: dict[str, int] = {}
    began: int | None = None
    for line in lines:
        message = json.loads(line)
        topic, payload = message["topic"], message["payload"]
        if payload and "at" in payload:
            began = unix_ms(payload["at"]) if began is None else began
        if topic.endswith("/shoe") and payload and payload["shoe"]:
            shoes.setdefault(payload["shoe"], unix_ms(payload["at"]))
        elif topic.endswith("/coup/result") and payload:
            coup = Coup.of(payload)
            before = coups.get((coup.shoe, coup.coup), coup)
            # A correction does not move a coup to another time of the evening.
            coups[coup.shoe, coup.coup] = _at(coup, before.at)
    ordered = sorted((at, name) for name, at in shoes.items())
    return Evening(tuple(coups.values()), tuple(ordered), began or 0)


def _at(coup: Coup, at: int) -> Coup:
    return coup if coup.at == at else Coup(**{**_fields(coup), "at": at})


def _fields(coup: Coup) -> dict[str, Any]:
    return {name: getattr(coup, name) for name in Coup.__slots__}


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
        yield from map(message_line, _messages(path))


def _messages(path: Path) -> Iterator[Message]:
    """Yield the messages of a log, folded again."""
    header = header_of(read_log(path))
    fold = LogFold(new_session(header, logged_profile(header)))
    for _, content in verified(read_log(path)):
        step = fold.take(content)
        yield from step.messages if step else ()
