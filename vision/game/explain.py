"""Explain a coup card by card: what the tableau asks, and by which clause.

The words come from the profile's own tableau, so they are right for a house that plays another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vision.game.cards import Card, points_of
from vision.game.events import Slot
from vision.game.outcome import Outcome, outcome_of
from vision.game.rules import Rules
from vision.game.tableau import Tableau, next_slot

Hand = tuple[Card, ...]
Rows = tuple[tuple[str, ...], ...]  # a table; the first row is its heading
NATURAL = "if either hand has an 8 or 9 a natural is declared and no more cards are drawn"
MOST = "the minimum number of cards to each hand is two and the maximum is three"


@dataclass(frozen=True, slots=True)
class LaidCard:
    """A card in the order of dealing; without a `slot` it goes to where it is due."""

    card: Card
    slot: Slot | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """The lines to show; `wrong` is the number of the first illegal card, 0 if there is none.

    `outcome` is None unless the coup is legal and complete.
    """

    lines: tuple[str, ...]
    wrong: int
    outcome: Outcome | None


def explain(dealt: Sequence[LaidCard], rules: Rules) -> Explanation:
    """Deal the cards by the rules and explain each step, up to the first card that is illegal."""
    hands: dict[bool, Hand] = {True: (), False: ()}
    lines: list[str] = []
    for number, given in enumerate(dealt, start=1):
        due, why = _asked(hands[True], hands[False], rules)
        lines += why
        slot = due if given.slot is None else given.slot
        if slot is None or slot is not due:
            lines.append(f"{number:2}  {given.card}  WRONG: {_mistake(due, slot)}")
            if number < len(dealt):
                lines.append("The cards after it are not looked at.")
            return Explanation(tuple(lines), number, None)
        hand = (*hands[slot.is_punto], given.card)
        hands[slot.is_punto] = hand
        side = "Punto" if slot.is_punto else "Banco"
        lines.append(f"{number:2}  {given.card}  to {slot.title}: {side} has {points_of(hand)}")
    due, why = _asked(hands[True], hands[False], rules)
    lines += why
    if due is not None:
        lines.append(f"Not complete: the next card is due to {due.title}.")
        return Explanation(tuple(lines), 0, None)
    outcome = outcome_of(hands[True], hands[False])
    lines.append(_ending(hands[True], hands[False], outcome))
    return Explanation(tuple(lines), 0, outcome)


def _mistake(due: Slot | None, slot: Slot | None) -> str:
    asked = "no card is due" if due is None else f"the card is due to {due.title}"
    return asked + ("." if slot is None else f"; this one lies at {slot.title}.")


def _ending(punto: Hand, banco: Hand, outcome: Outcome) -> str:
    ours, theirs = points_of(punto), points_of(banco)
    if outcome.egalite_points is not None:
        return f"Complete: Egalite at {ours}."
    winner, high, low = ("Punto", ours, theirs) if ours > theirs else ("Banco", theirs, ours)
    return f"Complete: {winner} wins, {high} to {low}."


def _asked(punto: Hand, banco: Hand, rules: Rules) -> tuple[Slot | None, tuple[str, ...]]:
    """Return the slot of the next card, and why; no words while the first four are dealt."""
    tableau = rules.tableau
    due = next_slot(
        tuple(card.points for card in punto),
        tuple(card.points for card in banco),
        tableau,
        rules.deal_order,
    )
    if len(punto) < 2 or len(banco) < 2:
        return due, ()
    ours, theirs = points_of(punto[:2]), points_of(banco[:2])
    if ours >= 8 or theirs >= 8:
        holder = "both hands" if min(ours, theirs) >= 8 else "Punto" if ours >= 8 else "Banco"
        return due, (f"    A natural in {holder}; clause: {NATURAL}.",)
    if len(banco) > 2:
        return due, (f"    No more cards; clause: {MOST}.",)
    if due is Slot.PUNTO_3:
        return due, (f"    Punto has {ours} and draws; clause: {punto_clause(tableau)}.",)
    return due, _asked_of_banco(punto, theirs, tableau)


def _asked_of_banco(punto: Hand, banco: int, tableau: Tableau) -> tuple[str, ...]:
    third = punto[2].points if len(punto) > 2 else None
    does = "draws" if tableau.banco_draws(banco, third) else "stands"
    if third is None:
        return (
            f"    Punto has {points_of(punto)} and stands; clause: {punto_clause(tableau)}.",
            f"    Banco has {banco} and {does}; clause: {stood_clause(tableau)}.",
        )
    clause = banco_clause(tableau, banco)
    return (f"    Banco has {banco}, giving {third}, and {does}; clause: {clause}.",)


def punto_clause(tableau: Tableau) -> str:
    """Return Punto's rule in words."""
    draws, stands = _listed(tableau.punto, "D"), _listed(tableau.punto, "S")
    return f"Punto having {draws} draws, having {stands} stands"


def stood_clause(tableau: Tableau) -> str:
    """Return in words what Banco does when Punto has stood."""
    column = "".join(row[10] for row in tableau.banco)
    draws, stands = _listed(column, "D"), _listed(column, "S")
    return f"Punto having stood, Banco draws on {draws}, stands on {stands}"


def banco_clause(tableau: Tableau, total: int) -> str:
    """Return Banco's row for a total of 0 to 7 in words, Punto having drawn."""
    row = tableau.banco[total][:10]
    if len(set(row)) == 1:
        does = "draws" if row[0] == "D" else "stands"
        return f"Banco having {total} {does} whatever Punto was given"
    return (
        f"Banco having {total} draws when giving {_listed(row, 'D')}, "
        f"stands when giving {_listed(row, 'S')}"
    )


def _listed(letters: str, letter: str) -> str:
    return "-".join(str(n) for n, each in enumerate(letters) if each == letter) or "nothing"


def tableau_rows(tableau: Tableau) -> tuple[Rows, Rows]:
    """Return the whole tableau, Punto's and Banco's; the first row of each is its heading."""
    punto = (
        ("Punto having", ""),
        (_listed(tableau.punto, "D"), "draws"),
        (_listed(tableau.punto, "S"), "stands"),
        ("8-9", "a natural"),
    )
    rows = tuple(
        (
            str(total),
            _listed(row[:10], "D"),
            _listed(row[:10], "S"),
            "draws" if row[10] == "D" else "stands",
        )
        for total, row in enumerate(tableau.banco)
    )
    natural = ("8-9", "a natural", "a natural", "a natural")
    heading = ("Banco having", "draws when giving", "stands when giving", "Punto having stood")
    return punto, (heading, *rows, natural)


def dealt_in_order(cards: Sequence[Card]) -> tuple[LaidCard, ...]:
    """Return cards as they left the shoe, each to go where it is due."""
    return tuple(LaidCard(card) for card in cards)


def dealt_to_hands(punto: Hand, banco: Hand, order: tuple[Slot, ...]) -> tuple[LaidCard, ...]:
    """Return two hands as they lie, each card with its slot, in the order of dealing.

    ValueError if a hand has more than three cards: no slot holds a fourth.
    """
    lying: dict[Slot, Card] = {}
    for name, hand in (("PUNTO", punto), ("BANCO", banco)):
        if len(hand) > 3:
            raise ValueError(f"{name.capitalize()} has {len(hand)} cards; {MOST}")
        lying |= {Slot[f"{name}_{number}"]: card for number, card in enumerate(hand, start=1)}
    slots = (*order, Slot.PUNTO_3, Slot.BANCO_3)
    return tuple(LaidCard(lying[slot], slot) for slot in slots if slot in lying)
