"""Read the betting part of a profile: the bets on offer, their terms, what an Egalite does.

It must not know how wagers are settled.
"""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction

from vision.game.betting.bets import EGALITES, Bet, Betting, Commission, Offer, Rounding, parse_odds
from vision.game.profile.toml import Section

INDIVIDUAL = "egalites"


class _OnEgalite(StrEnum):
    STAND_OFF = "stand-off"
    PERCENTAGE = "percentage"


def parse_betting(top: Section) -> Betting:
    """Return what the tables [main] and [[wager]] of a profile say; ProfileError otherwise."""
    main = top.section("main")
    both_hands = main.flag("both_hands")
    double_chance = _double_chance(main)
    main.finish()
    offers: list[Offer] = []
    for wager in top.sections("wager"):
        for offer in _offers(wager):
            if any(offer.bet is known.bet for known in offers):
                wager.refuse("bet", f"{offer.bet.value} is offered twice; keep one of the two")
            offers.append(offer)
        wager.finish()
    _check_needs(top, offers)
    return Betting(tuple(offers), both_hands, double_chance)


def _double_chance(main: Section) -> tuple[Fraction, Fraction] | None:
    if main.choice("on_egalite", _OnEgalite) is _OnEgalite.STAND_OFF:
        return None
    percent = main.numbers("percent")
    if len(percent) != 2 or not 0 < percent[0] <= percent[1] <= 100:
        main.refuse("percent", f"is {list(percent)}; write lowest and highest, as in [2, 10]")
    return Fraction(percent[0], 100), Fraction(percent[1], 100)


def _offers(wager: Section) -> tuple[Offer, ...]:
    kind = wager.text("bet")
    if kind == INDIVIDUAL:
        return _individual(wager)
    known = [bet.value for bet in Bet]
    if kind not in known:
        wager.refuse("bet", f"is '{kind}'; write one of {', '.join((INDIVIDUAL, *known))}")
    odds = _odds(wager, wager.text("odds"))
    return (_offer(wager, Bet(kind), wager.text("name"), odds),)


def _individual(wager: Section) -> tuple[Offer, ...]:
    odds = wager.words("odds")
    if len(odds) != len(EGALITES):
        wager.refuse("odds", f"has {len(odds)} entries; write ten, for the totals 0 to 9 in order")
    name = wager.text("name")
    return tuple(
        _offer(wager, bet, f"{name} {total}", _odds(wager, odds[total]))
        for total, bet in enumerate(EGALITES)
    )


def _odds(wager: Section, text: str) -> Fraction:
    try:
        return parse_odds(text)
    except ValueError as error:
        wager.refuse("odds", str(error))


def _offer(wager: Section, bet: Bet, name: str, odds: Fraction) -> Offer:
    minimum = wager.amount("minimum") if wager.has("minimum") else Fraction(1)
    maximum = wager.amount("maximum") if wager.has("maximum") else None
    if maximum is not None and maximum < minimum:
        wager.refuse("maximum", f"is {maximum}, under the minimum of {minimum}; raise it")
    return Offer(
        bet=bet,
        name=name,
        odds=odds,
        needs=_needs(wager),
        minimum=minimum,
        maximum=maximum,
        commission=_commission(wager),
    )


def _needs(wager: Section) -> tuple[Bet, ...]:
    words = wager.words("needs") if wager.has("needs") else ()
    known = [bet.value for bet in Bet]
    for word in words:
        if word not in known:
            wager.refuse("needs", f"names '{word}'; write names of {', '.join(known)}")
    return tuple(Bet(word) for word in words)


def _commission(wager: Section) -> Commission | None:
    if not wager.has("commission_percent"):
        return None
    share = wager.amount("commission_percent") / 100
    if share >= 1:
        wager.refuse("commission_percent", "takes the whole win; write less than 100")
    rounding = wager.choice("commission_rounding", Rounding)
    if rounding is Rounding.EXACT:
        return Commission(share)
    return Commission(share, rounding, wager.amount("commission_unit"))


def _check_needs(top: Section, offers: list[Offer]) -> None:
    """Refuse a qualifying bet that the house does not offer: nobody could ever make it."""
    offered = {offer.bet for offer in offers}
    for offer in offers:
        for bet in offer.needs:
            if bet not in offered:
                top.refuse(
                    "[[wager]] needs",
                    f"{offer.name} needs {bet.value}, which is not offered; offer it too",
                )
