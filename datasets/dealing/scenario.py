"""The scenario of a simulated shoe, from a TOML file or from arguments: what is to be dealt."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from vision.errors import ConfigurationError
from vision.game.cards import Card, parse_cards


class Dealing(StrEnum):
    """How the cards of a coup are shown; MIXED draws one of the others for each coup."""

    FACE_UP = "face-up"
    FACE_DOWN = "face-down"
    PUNTO_FIRST = "punto-first"
    MIXED = "mixed"


class Slip(StrEnum):
    """A dealer's mistake that can be put into a coup, by the word used in a scenario."""

    OVER_DRAW_PUNTO = "over-draw-punto"
    OVER_DRAW_BANCO = "over-draw-banco"
    OVER_DRAW_NATURAL = "over-draw-natural"
    UNDER_DRAW_PUNTO = "under-draw-punto"
    UNDER_DRAW_BANCO = "under-draw-banco"
    WRONG_HAND = "wrong-hand"
    FOURTH_CARD = "fourth-card"
    OUT_OF_TURN = "out-of-turn"
    PPBB = "ppbb"
    NINTH_COPY = "ninth-copy"
    EXPOSED_IN_SHOE = "exposed-in-shoe"
    RETURNED_TO_SHOE = "returned-to-shoe"
    TWO_AT_ONCE = "two-at-once"
    EXPOSED_EARLY = "exposed-early"
    SWITCHED = "switched"
    TAKEN_OFF = "taken-off"
    STAYS_COVERED = "stays-covered"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is laid down for one coup; anything left open is drawn by chance.

    `cards` are the first cards to leave the shoe in this coup, in that order.
    """

    slip: Slip | None = None
    cards: tuple[Card, ...] = ()
    dealing: Dealing | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """A run of coups. `plans` goes by coup number (from 1); `pace` 1 is a brisk dealer.

    `started_at` cards are gone from the shoe beforehand; the cut card lies `cut_from_back` cards
    from the end (0: none); every `slip_every`-th coup gets a slip drawn by chance (0: none), one
    against the tableau or, with `from_sight`, also one that only the motions show; `slips` leaves
    only these to chance.
    """

    seed: int = 1
    coups: int = 12
    dealing: Dealing = Dealing.FACE_UP
    decks: int = 8
    pace: float = 1.0
    burn: bool = False
    started_at: int = 0
    cut_from_back: int = 14
    slip_every: int = 0
    plans: dict[int, Plan] = field(default_factory=dict)
    from_sight: bool = False
    slips: tuple[Slip, ...] = ()


# What the numbers of a scenario may be, both ends allowed.
_LIMITS: dict[str, tuple[float, float]] = {
    "seed": (0, 2**63 - 1),
    "coups": (1, 200),
    "decks": (1, 8),
    "pace": (0.25, 4.0),
    "started_at": (0, 8 * 52 - 6),
    "cut_from_back": (0, 200),
    "slip_every": (0, 200),
}
_KEYS = {"from": "started_at", "fault_every": "slip_every"}
_WORDS = {name: key for key, name in _KEYS.items()}
_COUP_KEYS = ("number", "fault", "cards", "dealing")
Words = TypeVar("Words", bound=StrEnum)


def load(path: Path) -> Scenario:
    """Read a scenario file.

    ConfigurationError names the file, the key and the cure.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: cannot be read as a scenario: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path}: is not valid TOML: {error}; mend that line") from error
    try:
        return _scenario(data)
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from None


def with_changes(scenario: Scenario, **changes: Any) -> Scenario:
    """Return the scenario with the given fields replaced (None: left alone), checked.

    ConfigurationError names the field and its limits.
    """
    changed = replace(scenario, **{k: v for k, v in changes.items() if v is not None})
    for name, (low, high) in _LIMITS.items():
        value = getattr(changed, name)
        if not low <= value <= high:
            raise ConfigurationError(
                f"{_WORDS.get(name, name)}: {value} is out of range; choose {low:g} to {high:g}"
            )
    if changed.started_at + changed.cut_from_back + 6 > 52 * changed.decks:
        raise ConfigurationError(
            f"from: a shoe of {changed.decks} decks has no coup left after {changed.started_at} "
            f"cards before a cut card {changed.cut_from_back} from the end; lower one of them"
        )
    last = max(changed.plans, default=0)
    if last > changed.coups:
        raise ConfigurationError(
            f"coup: coup {last} is laid down but only {changed.coups} are dealt; raise coups"
        )
    return changed


def _scenario(data: dict[str, Any]) -> Scenario:
    known = {"dealing": str, "burn": bool, "coup": list}
    numbers = {_WORDS.get(name, name): name for name in _LIMITS}
    changes: dict[str, Any] = {}
    for key, value in data.items():
        if key in numbers:
            changes[numbers[key]] = _number(key, value)
        elif key not in known:
            allowed = ", ".join(sorted({*numbers, *known}))
            raise ConfigurationError(f"{key}: unknown key; use one of {allowed}")
        elif not isinstance(value, known[key]):
            raise ConfigurationError(f"{key}: must be a {known[key].__name__}, not {value!r}")
    if "dealing" in data:
        changes["dealing"] = _word("dealing", data["dealing"], Dealing)
    plans = _plans(data.get("coup", []))
    changes["plans"] = plans
    changes["burn"] = data.get("burn", False)
    if "coups" not in data and plans:
        changes["coups"] = max(plans)
    return with_changes(Scenario(), **changes)


def _number(key: str, value: object) -> float:
    whole = key != "pace"
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
        raise ConfigurationError(f"{key}: must be a {'whole ' * whole}number, not {value!r}")
    return value


def _plans(tables: list[Any]) -> dict[int, Plan]:
    plans: dict[int, Plan] = {}
    number = 0
    for table in tables:
        if not isinstance(table, dict):
            raise ConfigurationError("coup: write each coup as a table, [[coup]]")
        for key in table:
            if key not in _COUP_KEYS:
                raise ConfigurationError(
                    f"coup.{key}: unknown key; use one of {', '.join(_COUP_KEYS)}"
                )
        number = int(_number("coup.number", table.get("number", number + 1)))
        if number < 1 or number in plans:
            raise ConfigurationError(
                f"coup.number: {number} is below 1 or given twice; number coups from 1, each once"
            )
        plans[number] = Plan(
            slip=_given(table, "fault", Slip),
            cards=_cards(table.get("cards", "")),
            dealing=_given(table, "dealing", Dealing),
        )
    return plans


def _given(table: dict[str, Any], key: str, words: type[Words]) -> Words | None:
    return _word(f"coup.{key}", table[key], words) if key in table else None


def _word(key: str, value: object, words: type[Words]) -> Words:
    try:
        return words(str(value))
    except ValueError:
        raise ConfigurationError(
            f"{key}: '{value}' is not known; use one of {', '.join(words)}"
        ) from None


def _cards(text: object) -> tuple[Card, ...]:
    try:
        return parse_cards(str(text))
    except ValueError as error:
        raise ConfigurationError(f"coup.cards: {error}") from None
