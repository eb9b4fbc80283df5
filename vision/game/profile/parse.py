"""House rules as data: how a shoe is dealt, what may be staked, under which name.

`parse_profile` takes the text of a profile; whoever calls it has read the file
(`vision.config.profiles`). It must not know a table, a camera or a player.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum, StrEnum
from fractions import Fraction
from hashlib import sha256

from vision.game.betting.bets import Betting
from vision.game.events import Slot
from vision.game.profile.betting import parse_betting
from vision.game.profile.toml import ProfileError, Section
from vision.game.rules import BurnKind, BurnRule, Dealing, Rules
from vision.game.tableau import Tableau, row_of


@dataclass(frozen=True, slots=True)
class Profile:
    """The rules of one house; `sheet` is the rule sheet (0 to 4) behind them, None for its own."""

    name: str
    title: str
    sheet: int | None
    rules: Rules
    betting: Betting

    @property
    def hash(self) -> str:
        """SHA-256 of what the profile says (hex), whatever its file is called or comments on."""
        content = {"rules": _plain(self.rules), "betting": _plain(self.betting)}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return sha256(text.encode()).hexdigest()


def _plain(value: object) -> object:
    """Reduce a value to what JSON can write, the same way every time."""
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return value


def parse_profile(text: str, name: str, *, source: str = "") -> Profile:
    """Read a profile from its TOML text; `source` (or else `name`) is told in messages.

    Raises ProfileError naming the file, the key, what is wrong and the cure.
    """
    try:
        data: Mapping[str, object] = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProfileError(f"{source or name}: is not TOML: {error}") from error
    top = Section(dict(data), f"{source or name}:")
    profile = Profile(
        name=name,
        title=top.text("title"),
        sheet=top.whole("sheet", 0, 4) if top.has("sheet") else None,
        rules=_rules(top),
        betting=parse_betting(top),
    )
    top.finish()
    return profile


def _rules(top: Section) -> Rules:
    shoe, deal = top.section("shoe"), top.section("deal")
    rules = Rules(
        decks=shoe.whole("decks", 1, 12),
        burn=_burn(shoe),
        cut_depth=shoe.whole("cut_depth", 6, 104),
        coups_after_cut=shoe.whole("coups_after_cut", 0, 2),
        deal_order=_deal_order(deal),
        dealing=deal.choice("mode", Dealing),
        tableau=_tableau(top.section("tableau")),
    )
    shoe.finish()
    deal.finish()
    return _watched(rules, top.section("watch")) if top.has("watch") else rules


def _watched(rules: Rules, watch: Section) -> Rules:
    """Return the rules with how patiently and how strictly this house is watched.

    What is left out stays as `Rules` has it; a time is 100 to 120,000 milliseconds.
    """
    gate = "confidence_gate"
    if watch.has(gate):
        # Below nine in ten nobody would be asked to look at a card that is likely misread.
        rules = replace(rules, confidence_gate=watch.share(gate, 0.9))

    def time(key: str, usual: int) -> int:
        return watch.whole(key, 100, 120_000) if watch.has(key) else usual

    rules = replace(
        rules,
        due_after_ms=time("due_after_ms", rules.due_after_ms),
        unaccounted_after_ms=time("unaccounted_after_ms", rules.unaccounted_after_ms),
        unread_after_ms=time("unread_after_ms", rules.unread_after_ms),
        removed_after_ms=time("removed_after_ms", rules.removed_after_ms),
    )
    watch.finish()
    if rules.unread_after_ms < rules.due_after_ms:
        shorter = f"{rules.unread_after_ms}, less than due_after_ms, {rules.due_after_ms}"
        watch.refuse("unread_after_ms", f"is {shorter}; an unread card may be the one that is due")
    return rules


def _burn(shoe: Section) -> BurnRule:
    kind = shoe.choice("burn", BurnKind)
    if kind is BurnKind.FIXED:
        return BurnRule(kind, cards=shoe.whole("burn_cards", 1, 12))
    if kind is BurnKind.NONE:
        return BurnRule(kind)
    ace = shoe.whole("burn_ace", 1, 11)
    if ace not in (1, 11):
        shoe.refuse("burn_ace", f"is {ace}; an ace burns 1 or 11 cards")
    return BurnRule(kind, ace=ace)


def _deal_order(deal: Section) -> tuple[Slot, ...]:
    words = deal.words("order")
    wanted = ["PUNTO_1", "BANCO_1", "PUNTO_2", "BANCO_2"]
    if sorted(words) != sorted(wanted):
        deal.refuse("order", f"is {list(words)}; name each of {', '.join(wanted)} once")
    return tuple(Slot[word] for word in words)


class _Stood(StrEnum):
    DRAWS = "draws"
    STANDS = "stands"


def _tableau(tableau: Section) -> Tableau:
    punto = tableau.section("punto")
    banco = tableau.section("banco")
    made = Tableau(
        punto=_punto_row(punto),
        banco=tuple(_banco_row(banco, str(total)) for total in range(8)),
    )
    for section in (punto, banco, tableau):
        section.finish()
    return made


def _punto_row(punto: Section) -> str:
    # A natural never draws: 8 and 9 stand whatever the house.
    stands = (*punto.numbers("stands"), 8, 9)
    return _row(punto, punto.numbers("draws"), stands)[:8]


def _banco_row(banco: Section, total: str) -> str:
    if not banco.has(total):
        banco.refuse(
            total,
            f"the row for Banco having {total} is missing; write [tableau.banco.{total}] with "
            "draws, stands and punto_stood",
        )
    row = banco.section(total)
    letters = _row(row, row.numbers("draws"), row.numbers("stands"))
    stood = row.choice("punto_stood", _Stood)
    row.finish()
    return letters + ("D" if stood is _Stood.DRAWS else "S")


def _row(section: Section, draws: tuple[int, ...], stands: tuple[int, ...]) -> str:
    try:
        return row_of("this row", draws, stands)
    except ValueError as error:
        raise ProfileError(f"{section.place}: {error}") from error
