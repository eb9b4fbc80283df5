"""Where one coup ends and the next begins, and one shoe and the next.

The border is physical and never depends on a face: a card that leaves the shoe while the hands
still lie belongs to them, and is one too many if none is due; once they are cleared it is the first
of the next coup. Must not know events.
"""

from __future__ import annotations

from vision.game.coup.alerts import BEFORE_NEXT_COUP, LIVE
from vision.game.coup.fault_table import KINDS, Fault, words_of
from vision.game.coup.state import Coup, Seen, Shoe
from vision.game.coup.transition import Transition
from vision.game.fold.shoe import begin_faults, burn_due, end_burn, new_shoe
from vision.game.outputs import AlertState, CoupsChanged, Deadline
from vision.game.rules import BurnKind

ALL = (*BEFORE_NEXT_COUP, Deadline.SHOE_END)


def ensure_shoe(transition: Transition) -> Shoe:
    """Return the shoe in use; where none was announced, take one to be in use already."""
    if not transition.shoe.name:
        start_shoe(transition, "", watch_burn=False, partial=True)
    return transition.shoe


def start_shoe(
    transition: Transition, name: str, *, watch_burn: bool, partial: bool = False
) -> None:
    """End what is left of the shoe in use, keep its open alerts, and begin another."""
    table = transition.table
    if table.coup is not None:
        finish(transition, table.coup)
    transition.pass_table(ALL)
    for coup in (*transition.table.done, *filter(None, (transition.coup,))):
        _part(transition, transition.pass_coup(coup, (Deadline.SHOE_END,)))
    table = transition.table
    coups = (*table.done, *filter(None, (table.coup,)))
    told = [*table.told, *(one for coup in coups for one in coup.told)]
    lasting = tuple(fault for fault in table.noticed if fault.kind.machine)
    keys = {fault.key for fault in lasting}
    number = table.shoes + 1
    shoe = new_shoe(table.rules, name or f"shoe-{number}", watch_burn=watch_burn, partial=partial)
    transition.table = table._replace(
        shoe=shoe,
        shoes=number,
        coup=None,
        done=(),
        noticed=lasting,
        told=tuple(one for one in table.told if one.key in keys),
        kept=(
            *table.kept,
            *(one for one in told if one.key not in keys and _is_live(one.alert.state)),
        ),
        bets_closed=None if table.bets_closed is None else False,
        free_next=False,
        undo=(),
    )
    transition.say_shoe()
    transition.said.append(CoupsChanged(transition.at, transition.shoe.name, ()))


def _part(transition: Transition, coup: Coup) -> None:
    """Raise an alert for a coup that is left under a hold; who closes it ends the dispute."""
    if coup.hold and not coup.void:
        fault = Fault("held", "HELD_OVER", words_of("HELD_OVER", coup=coup.number))
        transition.weigh(coup._replace(noticed=(*coup.noticed, fault)), show=False)


def _is_live(state: AlertState) -> bool:
    return state in LIVE


def begin(transition: Transition, cards: tuple[Seen, ...], *noticed: Fault) -> Coup:
    """Begin the next coup with those cards; the one before is over, and its time limits pass.

    Without cards it is one that nobody saw: its result is held until its cards are keyed in.
    """
    old = transition.coup
    if old is not None:
        finish(transition, old)
    number = 1 if old is None else old.number + 1
    faults = (*noticed, *begin_faults(transition.table, number, cards[0])) if cards else noticed
    table = transition.table
    coup = Coup(
        number=number,
        started_at=cards[0].out_at if cards else transition.at,
        changed_at=transition.at,
        cards=cards,
        unseen=not cards,
        free=table.free_next,
        noticed=faults,
        first=cards[0].order if cards else transition.shoe.last + 1,
    )
    transition.table = table._replace(
        coup=coup,
        done=table.done if table.coup is None else (*table.done, table.coup),
        free_next=False,
        bets_closed=None if table.bets_closed is None else False,
    )
    return coup


def finish(transition: Transition, coup: Coup) -> None:
    """Take the coup as over: what was not put right by now lapses, and it stands as dealt.

    "if the error has not been rectified or brought to the attention of management prior to cards
    being drawn for the next coup, all coups thereafter will be deemed valid" (sheets 0 to 2)
    """
    coup = transition.weigh(coup._replace(over_at=transition.at), show=False, late=False)
    transition.pass_table(BEFORE_NEXT_COUP)
    before = {one.key for one in coup.told if one.alert.state is AlertState.LAPSED}
    after = transition.pass_coup(coup, BEFORE_NEXT_COUP)
    if after is coup:
        return
    coup = after
    lapsed = [
        one.alert.code
        for one in coup.told
        if one.alert.state is AlertState.LAPSED
        and one.key not in before
        and Deadline.NEXT_COUP in KINDS[one.alert.code].deadlines
    ]
    if not lapsed:
        transition.weigh(coup, show=False)
        return
    facts = {"coup": coup.number, "next": coup.number + 1}
    passed = tuple(
        Fault(f"passed:{code}", "DEADLINE_PASSED", words_of("DEADLINE_PASSED", code=code, **facts))
        for code in dict.fromkeys(lapsed)
    )
    transition.weigh(coup._replace(noticed=(*coup.noticed, *passed)), show=False)


def split(transition: Transition, coup: Coup, place: int) -> Coup:
    """Begin the next coup with the card at that place of the running one, and those after it.

    It was taken for one more card of a coup whose hands still lay; now it lies where a first card
    lies. Before the first coup, cards that never lay in a slot were burned.
    """
    before, after = coup.cards[:place], coup.cards[place:]
    shoe = transition.shoe
    if (
        coup.number == 1
        and coup.result is None
        and burns(transition)
        and all(seen.slot is None for seen in before)
    ):
        transition.coup = None
        end_burn(transition, shoe._replace(burned=(*shoe.burned, *before)))
        return begin(transition, after)
    cleared = max((seen.removed_at or 0 for seen in before), default=transition.at)
    transition.set_coup(coup._replace(cards=before, cleared_at=cleared))
    text = words_of("EARLY_DEAL", before="before the hands were cleared")
    early = Fault("early", "EARLY_DEAL", text, order=after[0].order)
    return begin(transition, after, *((early,) if after[0].out_at < cleared else ()))


def begin_burn(transition: Transition, coup: Coup) -> None:
    """Take the cards of what seemed the first coup as burn cards."""
    shoe = ensure_shoe(transition)
    transition.coup = None
    due = burn_due(transition.rules.burn, coup.cards[0].face)
    burned = (*shoe.burned, *coup.cards)
    transition.shoe = shoe._replace(burning=True, burned=burned, burn_due=due)


def burns(transition: Transition) -> bool:
    """Whether the house burns cards at all."""
    return transition.rules.burn.kind is not BurnKind.NONE
