"""House rules from a file: one of the packaged profiles by name, or a file of the house's own.

The models below are the form of the file, checked in full; `Profile` is what the rules play by.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    model_validator,
)

from vision.config.errors import explain, refusal
from vision.config.fields import Section
from vision.errors import ConfigurationError
from vision.files import text_of
from vision.game.events import Slot
from vision.game.rules import BurnKind, BurnRule, Dealing, Profile, Rules
from vision.game.tableau import DEAL_ORDER, Tableau, row_of
from vision.game.wagers import EGALITES, Bet, Betting, Commission, Offer, Rounding, parse_odds

DEFAULT = "punto-banco"  # the profile of a table file that names none
SUFFIX = ".toml"
INDIVIDUAL = "egalites"  # a wager of that name offers the ten individual Egalites together
EXAMPLE = "vision/game/profiles/house.toml"
USUAL = Rules()
DEALINGS = tuple(each.value for each in Dealing)


class ProfileError(ConfigurationError, ValueError):
    """A profile that cannot be played by; the message names the file, the key and the cure."""


def profile_names() -> tuple[str, ...]:
    """Return the names of the packaged profiles, sorted."""
    found = (files("vision.game") / "profiles").iterdir()
    return tuple(sorted(f.name[: -len(SUFFIX)] for f in found if f.name.endswith(SUFFIX)))


def in_a_line(profile: Profile) -> str:
    """Return what tells a profile from the others: title, decks, and what it pays on what."""
    egalites = sum(offer.bet in EGALITES for offer in profile.betting.offers)
    paid = [
        f"{offer.name} {offer.terms}"
        for offer in profile.betting.offers
        if offer.bet is not Bet.PUNTO and offer.bet not in EGALITES
    ]
    paid += ["individual Egalites"] if egalites else []
    paid += ["Double Chance"] if profile.betting.double_chance else []
    return f"{profile.title}: {profile.rules.decks} decks; {', '.join(paid)}"


class WagersSection(Section):
    """The least and the greatest wager that boards show to guests, and their currency.

    They stand for each wager for which the profile has no limits; what nobody set is not shown.
    """

    least: float | None = Field(default=None, gt=0, le=1e9)
    greatest: float | None = Field(default=None, gt=0, le=1e9)
    currency: str = Field(default="", max_length=8)

    @model_validator(mode="after")
    def _limits_are_in_order(self) -> WagersSection:
        if self.least and self.greatest and self.greatest < self.least:
            raise refusal(f"greatest: is {self.greatest:g}, less than least; exchange them")
        return self


def sheet_findings(number: int) -> tuple[str, ...]:
    """Return what a rule sheet (0 to 4) gets wrong or leaves open, and what was decided of it."""
    text = (files("vision.game") / "profiles" / "sheets.json").read_text(encoding="utf-8")
    return tuple(json.loads(text)[number])


@lru_cache(maxsize=16)
def load_profile(name: str) -> Profile:
    """Return a packaged profile by name, or that of a file whose path ends in `.toml`.

    Raises ConfigurationError naming the file, what is wrong and the cure.
    """
    return parse_profile(profile_text(name), Path(name).name.removesuffix(SUFFIX), source=name)


def profile_text(name: str) -> str:
    """Return the text of a profile, as `load_profile` finds it; ConfigurationError likewise."""
    if name in profile_names():
        return (files("vision.game") / "profiles" / (name + SUFFIX)).read_text(encoding="utf-8")
    if not name.endswith(SUFFIX):
        known = ", ".join(profile_names())
        raise ConfigurationError(
            f"there is no profile '{name}': choose one of {known}, or give the path of a file "
            f"that ends in {SUFFIX}"
        )
    try:
        return text_of(Path(name))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{name}: cannot be read as a profile: {error}") from error


def parse_profile(text: str, name: str, *, source: str = "") -> Profile:
    """Return the profile of a TOML text; messages call it by its `source`, or else by its name.

    Raises ProfileError with a line for each faulty key: the file, the key, the fault and the cure.
    """
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProfileError(f"{source or name}: is not TOML: {error}") from error
    try:
        return _ProfileFile.model_validate(data).profile(name)
    except ValidationError as error:
        words = explain(Path(source or name), error, _ProfileFile, page=EXAMPLE)
        raise ProfileError(words) from error


def logged_profile(header: Mapping[str, Any]) -> Profile:
    """Return the profile that a log was written by, from the log's header.

    KeyError or ProfileError (a ValueError) where the header is not one of ours.
    """
    profile = parse_profile(header["rules"], header["profile"])
    return profile.dealt(Dealing(header["dealing"]))


# --- the form of the file -------------------------------------------------------------------------


def _not_empty(text: str) -> str:
    if not text.strip():
        raise refusal("is empty; write a text in quotes")
    return text


def _amount(value: object) -> Fraction:
    """Read an exact number above 0, such as 5 or "0.25"."""
    if isinstance(value, int | str) and not isinstance(value, bool):
        try:
            amount = Fraction(value)
        except (ValueError, ZeroDivisionError):
            amount = Fraction(0)
        if amount > 0:
            return amount
    raise refusal(f'is {value!r}; write an amount above 0, decimals in quotes: "0.25"')


def _bet_name(text: str) -> str:
    known = [INDIVIDUAL, *(bet.value for bet in Bet)]
    if text not in known:
        raise refusal(f"is '{text}'; write one of {', '.join(known)}")
    return text


def _odds(value: object) -> tuple[Fraction, ...]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise refusal(f"is {value!r}; write odds in quotes, as in '19-20'")
    try:
        return tuple(parse_odds(text) for text in texts)
    except ValueError as error:
        raise refusal(str(error)) from error


def _deal_order(value: object) -> tuple[Slot, ...]:
    names = [slot.name for slot in DEAL_ORDER]
    if not isinstance(value, list) or sorted(map(str, value)) != sorted(names):
        raise refusal(f"is {value!r}; name each of {', '.join(names)} once")
    return tuple(Slot[name] for name in value)


Text = Annotated[str, AfterValidator(_not_empty)]
Amount = Annotated[Fraction, PlainValidator(_amount)]
Numbers = Annotated[tuple[int, ...], Field(strict=False)]
Milliseconds = Annotated[int, Field(ge=100, le=120_000)]


class _Part(BaseModel):
    """One table of the file: frozen, no key that it does not know, no value of another type."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)


class _Shoe(_Part):
    decks: int = Field(ge=1, le=12)
    burn: BurnKind = Field(strict=False)
    burn_cards: int | None = Field(default=None, ge=1, le=12)
    burn_ace: Literal[1, 11] | None = None
    cut_depth: int = Field(ge=6, le=104)
    coups_after_cut: int = Field(ge=0, le=2)
    cut_first_is_last: bool = USUAL.cut_first_is_last

    @model_validator(mode="after")
    def _burn_is_whole(self) -> _Shoe:
        needed = {BurnKind.FIXED: "burn_cards", BurnKind.VALUE: "burn_ace"}.get(self.burn)
        for key in ("burn_cards", "burn_ace"):
            given = getattr(self, key) is not None
            if key == needed and not given:
                raise refusal(f'{key} is missing; a burn of "{self.burn}" needs it')
            if key != needed and given:
                raise refusal(f'{key} has no meaning for a burn of "{self.burn}"; take it out')
        return self


class _Deal(_Part):
    order: Annotated[tuple[Slot, ...], PlainValidator(_deal_order)]
    mode: Dealing = Field(strict=False)


class _PuntoRow(_Part):
    draws: Numbers
    stands: Numbers

    def row(self) -> str:
        # A natural never draws: 8 and 9 stand whatever the house.
        return row_of("this row", self.draws, (*self.stands, 8, 9))

    @model_validator(mode="after")
    def _is_whole(self) -> _PuntoRow:
        try:
            self.row()
        except ValueError as error:
            raise refusal(str(error)) from error
        return self


class _BancoRow(_PuntoRow):
    punto_stood: Literal["draws", "stands"]

    def row(self) -> str:
        stood = "D" if self.punto_stood == "draws" else "S"
        return row_of("this row", self.draws, self.stands) + stood


class _Tableau(_Part):
    punto: _PuntoRow
    banco: dict[Literal["0", "1", "2", "3", "4", "5", "6", "7"], _BancoRow]

    @model_validator(mode="after")
    def _has_every_row(self) -> _Tableau:
        for total in map(str, range(8)):
            if total not in self.banco:
                raise refusal(
                    f"the row for Banco having {total} is missing; write [tableau.banco.{total}] "
                    "with draws, stands and punto_stood"
                )
        return self

    def tableau(self) -> Tableau:
        rows = {total: row.row() for total, row in self.banco.items()}
        return Tableau(self.punto.row()[:8], tuple(rows[total] for total in sorted(rows)))


class _Watch(_Part):
    """How patiently and how strictly the house is watched; what is left out is as usual."""

    # Below nine in ten nobody would be asked to look at a card that is likely misread.
    confidence_gate: float = Field(default=USUAL.confidence_gate, ge=0.9, le=1)
    due_after_ms: Milliseconds = USUAL.due_after_ms
    unaccounted_after_ms: Milliseconds = USUAL.unaccounted_after_ms
    unread_after_ms: Milliseconds = USUAL.unread_after_ms
    removed_after_ms: Milliseconds = USUAL.removed_after_ms

    @model_validator(mode="after")
    def _unread_comes_last(self) -> _Watch:
        if self.unread_after_ms < self.due_after_ms:
            raise refusal(
                f"unread_after_ms is {self.unread_after_ms}, less than due_after_ms, "
                f"{self.due_after_ms}; an unread card may be the card that is due: raise it"
            )
        return self


class _Main(_Part):
    both_hands: bool
    on_egalite: Literal["stand-off", "percentage"]
    percent: Numbers | None = None

    @model_validator(mode="after")
    def _percent_is_a_range(self) -> _Main:
        if (self.percent is not None) != (self.on_egalite == "percentage"):
            raise refusal('percent goes with on_egalite = "percentage": write both or neither')
        if self.percent is not None and (
            len(self.percent) != 2 or not 0 < self.percent[0] <= self.percent[1] <= 100
        ):
            given = list(self.percent)
            raise refusal(f"percent is {given}; write lowest and highest, as in [2, 10]")
        return self

    def double_chance(self) -> tuple[Fraction, Fraction] | None:
        if self.percent is None:
            return None
        low, high = self.percent
        return Fraction(low, 100), Fraction(high, 100)


class _Wager(_Part):
    bet: Annotated[str, AfterValidator(_bet_name)]
    name: Text
    odds: Annotated[tuple[Fraction, ...], PlainValidator(_odds)]
    needs: Annotated[tuple[Annotated[Bet, Field(strict=False)], ...], Field(strict=False)] = ()
    minimum: Amount = Fraction(1)
    maximum: Amount | None = None
    commission_percent: Amount | None = None
    commission_rounding: Annotated[Rounding, Field(strict=False)] | None = None
    commission_unit: Amount | None = None

    @model_validator(mode="after")
    def _is_possible(self) -> _Wager:
        given, lowest, highest = len(self.odds), self.minimum, self.maximum
        if self.bet == INDIVIDUAL and given != len(EGALITES):
            raise refusal(f"odds has {given} entries; write ten, for the totals 0 to 9 in order")
        if self.bet != INDIVIDUAL and given != 1:
            raise refusal("odds is a list; write one text, as in '19-20'")
        if highest is not None and highest < lowest:
            raise refusal(f"maximum is {highest}, under the minimum of {lowest}; raise it")
        if self.commission_percent is not None and self.commission_percent >= 100:
            raise refusal("commission_percent takes the whole win; write less than 100")
        rounding, unit = self.commission_rounding, self.commission_unit
        if (rounding is None) != (self.commission_percent is None):
            raise refusal(
                "commission_percent and commission_rounding go together: write both or neither"
            )
        if (unit is None) != (rounding in (None, Rounding.EXACT)):
            raise refusal("commission_unit goes with a commission_rounding other than exact")
        return self

    def offers(self) -> tuple[Offer, ...]:
        if self.bet != INDIVIDUAL:
            return (self._offer(Bet(self.bet), self.name, self.odds[0]),)
        return tuple(
            self._offer(bet, f"{self.name} {total}", self.odds[total])
            for total, bet in enumerate(EGALITES)
        )

    def _offer(self, bet: Bet, name: str, odds: Fraction) -> Offer:
        limits = (self.minimum, self.maximum)
        return Offer(bet, name, odds, self.needs, *limits, self._commission())

    def _commission(self) -> Commission | None:
        if self.commission_percent is None or self.commission_rounding is None:
            return None
        share = self.commission_percent / 100
        return Commission(share, self.commission_rounding, self.commission_unit or Fraction(1))


class _ProfileFile(_Part):
    title: Text
    sheet: int | None = Field(default=None, ge=0, le=4)
    shoe: _Shoe
    deal: _Deal
    tableau: _Tableau
    watch: _Watch = _Watch()
    main: _Main
    wager: Annotated[tuple[_Wager, ...], Field(strict=False, min_length=1)]

    @model_validator(mode="after")
    def _offers_fit_together(self) -> _ProfileFile:
        offered: set[Bet] = set()
        for offer in self._offers():
            if offer.bet in offered:
                raise refusal(f"[[wager]] {offer.bet.value} is offered twice; keep one of the two")
            offered.add(offer.bet)
        for offer in self._offers():
            # Nobody could ever make a wager that needs one which is not offered.
            for bet in set(offer.needs) - offered:
                raise refusal(
                    f"[[wager]] needs: {offer.name} needs {bet.value}, which is not offered; "
                    "offer it too"
                )
        return self

    def _offers(self) -> tuple[Offer, ...]:
        return tuple(offer for wager in self.wager for offer in wager.offers())

    def profile(self, name: str) -> Profile:
        betting = Betting(self._offers(), self.main.both_hands, self.main.double_chance())
        shoe = self.shoe
        rules = Rules(
            deal_order=self.deal.order,
            dealing=self.deal.mode,
            tableau=self.tableau.tableau(),
            burn=BurnRule(shoe.burn, cards=shoe.burn_cards or 0, ace=shoe.burn_ace or 1),
            **shoe.model_dump(exclude={"burn", "burn_cards", "burn_ace"}),
            **self.watch.model_dump(),
        )
        return Profile(name, self.title, self.sheet, rules, betting)
