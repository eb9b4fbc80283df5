"""What a coup came to, and when it is published: running, held, final, corrected or void.

A result is published as soon as no card is due and every card that counts is at rest and read;
later facts and orders make a new revision. What is not known, in doubt or under a fault is held,
never guessed. `RESULT_LIFE` is the whole life of a coup as the house sees it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from vision.game.cards import Card
from vision.game.commands import Command
from vision.game.coup.alerts import OPEN
from vision.game.coup.fault_finding import is_contradicted
from vision.game.coup.fault_table import KINDS, Fault, words_of
from vision.game.coup.state import Alerts, Coup, DealtCard, HandLayout, Table
from vision.game.events import Winner
from vision.game.outcome import is_natural, is_pair, is_three_giving_eight, winner_of
from vision.game.outputs import CoupLive, CoupResult, Hand, ResultState

FINAL, CORRECTED = ResultState.FINAL, ResultState.CORRECTED
VOID, HELD = ResultState.VOID, ResultState.HELD
PUBLIC = (FINAL, CORRECTED, VOID)


class ResultEvent(StrEnum):
    """What a new revision of a coup's result means for it."""

    SETTLED = "settled"  # nothing is due, unread or in doubt
    CHANGED = "changed"  # settled with other hands than were published before
    WITHHELD = "withheld"  # something is due, unread, in doubt, or on hold by order
    VOIDED = "voided"  # by order


# Of a result of which a revision may say anything.
_ANY = {
    ResultEvent.SETTLED: FINAL,
    ResultEvent.CHANGED: CORRECTED,
    ResultEvent.WITHHELD: HELD,
    ResultEvent.VOIDED: VOID,
}
# {state: {event: state after it}}; None: the coup is running and has no result yet.
RESULT_LIFE: dict[ResultState | None, dict[ResultEvent, ResultState]] = {
    # Running: nothing is published but the cards as they lie.
    None: {ResultEvent.SETTLED: FINAL, ResultEvent.WITHHELD: HELD, ResultEvent.VOIDED: VOID},
    # Held: the house knows that there is a result, and not what it is.
    HELD: _ANY,
    # Final: a revision may add a fault or say that the hand was free.
    FINAL: _ANY,
    # Corrected: once it was, every later revision is.
    CORRECTED: {
        ResultEvent.CHANGED: CORRECTED,
        ResultEvent.WITHHELD: HELD,
        ResultEvent.VOIDED: VOID,
    },
    # Void: until the order is taken back.
    VOID: _ANY,
}


class Publishing(NamedTuple):
    """When a result is published, and by whose order, if any; `over`: its cards are gone.

    `sure`: the coup lies as sight says. Until it does, what was published stands.
    """

    shoe: str
    at: int
    over: bool
    actor: Command | None = None
    sure: bool = True


def published_results(table: Table) -> tuple[CoupResult, ...]:
    """Return the results of this shoe's coups that the public knows, void ones included."""
    results = (coup.result for coup in table.coups)
    return tuple([result for result in results if result is not None and result.state in PUBLIC])


def live(coup: Coup, layout: HandLayout, shoe: str, at: int) -> CoupLive:
    """Return what is published of a running coup."""
    punto, banco = layout.faces
    return CoupLive(
        at=at,
        shoe=shoe,
        coup=coup.number,
        punto=punto,
        banco=banco,
        punto_points=_points(punto),
        banco_points=_points(banco),
        expected=() if coup.void else layout.expected,
        complete=coup.void or layout.complete,
        free=coup.free,
    )


def shows_as(coup: Coup, layout: HandLayout, other: HandLayout) -> bool:
    """Whether `live` says the same of the coup in both layouts."""
    same = layout.expected == other.expected and layout.complete == other.complete
    return layout.faces == other.faces and (coup.void or same)


def _points(cards: tuple[Card | None, ...]) -> int | None:
    """Return the points of two or three cards, `None` where one of them is not exposed."""
    if len(cards) < 2:
        return None
    points = 0
    for card in cards:
        if card is None:
            return None
        points += card.points
    return points % 10


def publish(
    coup: Coup, layout: HandLayout, faults: tuple[Fault, ...], publishing: Publishing
) -> tuple[Coup, CoupResult | None]:
    """Return the coup with its result as it is now, and that result if it is a new revision."""
    why = _why_held(coup, layout, publishing)
    if why is None:
        return coup, None
    last = coup.result
    staying = {f.code for f in faults if not f.kind.of_reader and f.code != "HELD_OVER"}
    codes = tuple(sorted(staying))
    if last is not None and _is_same(last, why, coup, layout, codes):
        return coup, None
    result = _result(coup, layout, publishing)._replace(faults=codes, why=why)
    event = _event(coup, result)
    result = result._replace(state=RESULT_LIFE[last.state if last else None][event])
    if event in (ResultEvent.VOIDED, ResultEvent.WITHHELD):
        result = result._replace(winner=None, egalite_points=None, three_giving_eight=False)
        return coup._replace(result=result), result
    return coup._replace(result=result, shown=result), result


def _event(coup: Coup, result: CoupResult) -> ResultEvent:
    shown = coup.shown
    if coup.void:
        return ResultEvent.VOIDED
    if result.why:
        return ResultEvent.WITHHELD
    if shown is None:
        return ResultEvent.SETTLED
    same = (shown.punto, shown.banco) == (result.punto, result.banco)
    return ResultEvent.SETTLED if same and shown.state is FINAL else ResultEvent.CHANGED


def _is_same(
    last: CoupResult, why: str, coup: Coup, layout: HandLayout, codes: tuple[str, ...]
) -> bool:
    """Whether the last revision already says what is so now."""
    return (
        last.why == why
        and (last.state is VOID) == coup.void
        and last.faults == codes
        and last.free == coup.free
        and (last.punto.cards, last.banco.cards) == layout.faces
    )


def _why_held(coup: Coup, layout: HandLayout, publishing: Publishing) -> str | None:
    """Return why the result is held, "" if it is not, `None` if there is nothing to say of it."""
    ended = publishing.over
    if not coup.cards and coup.back:
        return None  # every card of it went back into the shoe: it has yet to be dealt
    finished = layout.opened and (layout.complete or coup.stands or coup.over_at is not None)
    if coup.void:
        return ""
    if not finished and not ended and coup.result is None:
        return None
    if coup.hold:
        return "hold"
    if not publishing.sure and not coup.doubt:
        return "review" if ended and coup.result is None else None
    unread = not layout.read
    if unread and not ended and coup.result is None:
        return None
    if coup.unseen and not layout.complete and not coup.stands:
        return "view"
    if is_holding(coup.alerts):
        return "review"
    # A card read as two different faces is as good as unread: no deadline makes it known.
    if unread or any(is_contradicted(card) for card in layout.cards):
        return "unread"
    if not finished:
        return "incomplete"
    if ended or coup.result is not None:
        return ""
    cards = layout.cards
    at_rest = all(card.placed_at is not None or card.marks.keyed is not None for card in cards)
    return "" if at_rest else None


def is_holding(alerts: Alerts) -> bool:
    """Whether an alert is open that holds a result."""
    alerts_open = (tracked.alert for tracked in alerts if tracked.alert.state in OPEN)
    return any(KINDS[alert.code].holds for alert in alerts_open)


def is_doubted(coup: Coup) -> bool:
    """Whether sight is in doubt about the coup, and no person has ruled on it."""
    ruled = (t for t in coup.alerts if t.alert.by and t.alert.state not in OPEN)
    return bool(coup.doubt) and all(tracked.key != coup.doubt_key for tracked in ruled)


def is_sure(coup: Coup) -> bool:
    """Whether the coup lies as sight says: sight is sure of it, or a person has ruled so."""
    return coup.stands or (not is_doubted(coup) if coup.doubt else coup.sure)


def _result(coup: Coup, layout: HandLayout, publishing: Publishing) -> CoupResult:
    """Return the next revision of the result as if it were final."""
    punto, banco = known(layout.punto), known(layout.banco)
    readable = len(punto) == len(layout.punto) > 1 and len(banco) == len(layout.banco) > 1
    winner = winner_of(punto, banco) if readable else None
    hand = _hand(layout.punto)
    actor = publishing.actor
    return CoupResult(
        at=publishing.at,
        shoe=publishing.shoe,
        coup=coup.number,
        revision=0 if coup.result is None else coup.result.revision + 1,
        state=FINAL,
        why="",
        winner=winner,
        punto=hand,
        banco=_hand(layout.banco),
        egalite_points=hand.points if winner is Winner.EGALITE else None,
        three_giving_eight=readable and is_three_giving_eight(punto, banco),
        faults=(),
        free=coup.free,
        by="" if actor is None else actor.by,
        reason="" if actor is None else actor.reason,
    )


def _hand(cards: tuple[DealtCard, ...]) -> Hand:
    faces = tuple(card.face for card in cards)
    read = known(cards)
    whole = len(read) == len(faces)
    return Hand(
        cards=faces,
        points=_points(faces),
        natural=whole and is_natural(read),
        pair=len(known(cards[:2])) == 2 and is_pair(read),
    )


def known(cards: tuple[DealtCard, ...]) -> tuple[Card, ...]:
    """Return the faces that are known."""
    return tuple(card.face for card in cards if card.face is not None)


def entered_faults(coup: Coup, layout: HandLayout) -> tuple[Fault, ...]:
    """Compare the result that the dealer keyed in with the cards, once they are all known."""
    entered = coup.entered
    if entered is None or coup.void or not layout.opened:
        return ()
    punto, banco = known(layout.punto), known(layout.banco)
    if len(punto) + len(banco) < len(layout.cards):
        return ()
    winner = winner_of(punto, banco)
    points = _hand(layout.punto).points
    found: list[Fault] = []
    if entered.winner is not winner:
        ours = f"{winner} {points}-{_hand(layout.banco).points}"
        text = words_of("WRONG_RESULT", ours=ours, theirs=entered.winner)
        found.append(Fault("entered", "WRONG_RESULT", text))
    sides = (
        ("Punto pair", is_pair(punto), entered.punto_pair),
        ("Banco pair", is_pair(banco), entered.banco_pair),
        ("three giving eight", is_three_giving_eight(punto, banco), entered.three_giving_eight),
        ("Egalite", points if winner is Winner.EGALITE else None, entered.egalite_points),
    )
    for name, ours_is, theirs_is in sides:
        if theirs_is is not None and theirs_is != ours_is:
            ours, theirs = f"{name} {_mark_text(ours_is)}", f"{name} {_mark_text(theirs_is)}"
            text = words_of("WRONG_SIDE", ours=ours, theirs=theirs)
            found.append(Fault(f"entered:{name}", "WRONG_SIDE", text))
    return tuple(found)


def _mark_text(mark: bool | int | None) -> str:
    if mark is None:
        return "none"
    if isinstance(mark, bool):
        return "yes" if mark else "no"
    return str(mark)
