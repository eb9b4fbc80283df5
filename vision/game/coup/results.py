"""What a coup came to, and when it may be said.

A result is told as soon as no card is due and every card that counts is at rest and read; later
facts and orders make a new revision. What is not known, in doubt or under a fault is held, never
guessed. Must not know how faults are found or who may give orders.
"""

from __future__ import annotations

from typing import NamedTuple

from vision.game.cards import Card
from vision.game.commands import Command
from vision.game.coup.alerts import is_holding
from vision.game.coup.fault_finding import is_contradicted
from vision.game.coup.fault_table import KINDS, Fault, words_of
from vision.game.coup.layout import Laid
from vision.game.coup.state import Coup, Seen
from vision.game.events import Winner
from vision.game.outcome import is_natural, is_pair, is_three_giving_eight, winner_of
from vision.game.outputs import CoupLive, CoupResult, Hand, ResultState

PUBLIC = (ResultState.FINAL, ResultState.CORRECTED, ResultState.VOID)


class Telling(NamedTuple):
    """When a result is told, and whose order brought it about; `over`: its cards are gone."""

    shoe: str
    at: int
    over: bool
    actor: Command | None = None


def live(coup: Coup, laid: Laid, shoe: str, at: int) -> CoupLive:
    """Return what the table shows of a running coup."""
    punto = tuple([seen.face for seen in laid.punto])
    banco = tuple([seen.face for seen in laid.banco])
    void = coup.void
    return CoupLive(
        at,
        shoe,
        coup.number,
        punto,
        banco,
        _points(punto),
        _points(banco),
        () if void else laid.expected,
        void or laid.complete,
        coup.free,
    )


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
    coup: Coup, laid: Laid, faults: tuple[Fault, ...], telling: Telling
) -> tuple[Coup, CoupResult | None]:
    """Return the coup with the result that is now due to be told, and that result, if it is new."""
    why = _held(coup, laid, ended=telling.over)
    if why is None:
        return coup, None
    last = coup.result
    codes = tuple(sorted({fault.code for fault in faults if _stays(fault)})) if faults else ()
    if last is not None and _says(last, why, coup, laid, codes):
        return coup, None
    result = _result(coup, laid, telling, 0 if last is None else last.revision + 1)
    if coup.void or why:
        state = ResultState.VOID if coup.void else ResultState.HELD
        result = result._replace(
            state=state,
            why=why,
            faults=codes,
            winner=None,
            egalite_points=None,
            three_giving_eight=False,
        )
        return coup._replace(result=result), result
    state = ResultState.FINAL
    if coup.shown is not None and _is_correction(coup.shown, result):
        state = ResultState.CORRECTED
    result = result._replace(state=state, faults=codes)
    return coup._replace(result=result, shown=result), result


def _says(last: CoupResult, why: str, coup: Coup, laid: Laid, codes: tuple[str, ...]) -> bool:
    """Whether the last result says already what is now so."""
    return (
        last.why == why
        and (last.state is ResultState.VOID) == coup.void
        and last.faults == codes
        and last.free == coup.free
        and last.punto.cards == tuple([seen.face for seen in laid.punto])
        and last.banco.cards == tuple([seen.face for seen in laid.banco])
    )


def _held(coup: Coup, laid: Laid, *, ended: bool) -> str | None:
    """Say why the result is held, "" if it is not, `None` if there is none to speak of."""
    finished = laid.opened and (laid.complete or coup.stands or coup.over_at is not None)
    if coup.void:
        return ""
    if not finished and not ended and coup.result is None:
        return None
    if coup.hold:
        return "hold"
    unread = [seen for seen in laid.cards if seen.face is None]
    if unread and not ended and coup.result is None:
        return None
    if coup.unseen and not laid.complete and not coup.stands:
        return "view"
    if is_holding(coup.told):
        return "review"
    # A card read as two different faces is as good as unread: no deadline makes it known.
    if unread or any(is_contradicted(seen) for seen in laid.cards):
        return "unread"
    if not finished:
        return "incomplete"
    at_rest = ended or all(_is_at_rest(seen) for seen in laid.cards)
    return "" if at_rest or coup.result is not None else None


def _is_at_rest(seen: Seen) -> bool:
    return seen.placed_at is not None or seen.marks.keyed is not None


def _result(coup: Coup, laid: Laid, telling: Telling, revision: int) -> CoupResult:
    """Reckon the result as if it were final."""
    punto, banco = known(laid.punto), known(laid.banco)
    readable = len(punto) == len(laid.punto) > 1 and len(banco) == len(laid.banco) > 1
    winner = winner_of(punto, banco) if readable else None
    hand = _hand(laid.punto)
    actor = telling.actor
    return CoupResult(
        at=telling.at,
        shoe=telling.shoe,
        coup=coup.number,
        revision=revision,
        state=ResultState.FINAL,
        why="",
        winner=winner,
        punto=hand,
        banco=_hand(laid.banco),
        egalite_points=hand.points if winner is Winner.EGALITE else None,
        three_giving_eight=readable and is_three_giving_eight(punto, banco),
        faults=(),
        free=coup.free,
        by="" if actor is None else actor.by,
        reason="" if actor is None else actor.reason,
    )


def _stays(fault: Fault) -> bool:
    return not KINDS[fault.code].of_reader and fault.code not in ("DEADLINE_PASSED", "HELD_OVER")


def _hand(cards: tuple[Seen, ...]) -> Hand:
    faces = tuple(seen.face for seen in cards)
    read = known(cards)
    whole = len(read) == len(faces)
    return Hand(
        cards=faces,
        points=_points(faces),
        natural=whole and is_natural(read),
        pair=len(known(cards[:2])) == 2 and is_pair(read),
    )


def known(cards: tuple[Seen, ...]) -> tuple[Card, ...]:
    """Return the faces that are known."""
    return tuple(seen.face for seen in cards if seen.face is not None)


def _is_correction(shown: CoupResult, result: CoupResult) -> bool:
    same = (shown.punto, shown.banco) == (result.punto, result.banco)
    return shown.state is ResultState.CORRECTED or not same


def entered_faults(coup: Coup, laid: Laid) -> tuple[Fault, ...]:
    """Put the result that the dealer keyed in against the cards, once they are all known."""
    entered = coup.entered
    if entered is None or coup.void or not laid.opened:
        return ()
    punto, banco = known(laid.punto), known(laid.banco)
    if len(punto) + len(banco) < len(laid.cards):
        return ()
    winner = winner_of(punto, banco)
    points = _hand(laid.punto).points
    found: list[Fault] = []
    if entered.winner is not winner:
        ours = f"{winner} {points}-{_hand(laid.banco).points}"
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
            ours, theirs = f"{name} {_said(ours_is)}", f"{name} {_said(theirs_is)}"
            text = words_of("WRONG_SIDE", ours=ours, theirs=theirs)
            found.append(Fault(f"entered:{name}", "WRONG_SIDE", text))
    return tuple(found)


def _said(mark: bool | int | None) -> str:
    if mark is None:
        return "none"
    if isinstance(mark, bool):
        return "yes" if mark else "no"
    return str(mark)
