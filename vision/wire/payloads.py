"""The contents of messages: a happening's values under the names of the contract.

Pure, a function a topic; `vision/schemas` says the same for readers of other languages. Nothing
here knows topics, numbers or which run it is.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from vision.game.betting.bets import Betting
from vision.game.betting.settlement import winning_wagers
from vision.game.outcome import outcome_told
from vision.game.outputs import (
    Alert,
    CardSeen,
    CoupLive,
    CoupResult,
    Hand,
    Replied,
    ShoeChanged,
)
from vision.game.roads import Roads, roads_payload
from vision.record.codec import to_json

Content = dict[str, object]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def iso(at: int) -> str:
    """Return Unix milliseconds as UTC in ISO 8601 with milliseconds."""
    moment = EPOCH + timedelta(milliseconds=at)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def unix_ms(moment: str) -> int:
    """Return a moment as `iso` writes it as Unix milliseconds; ValueError when it is none."""
    return round(datetime.fromisoformat(moment).timestamp() * 1000)


def topic_level(text: str) -> str:
    """Return the text as one level of a topic: what may not stand there becomes `_`."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", text) or "_"


def snake(name: str) -> str:
    """Return a class name as the contract writes it: `CorrectCard` is `correct_card`."""
    return re.sub(r"(?<=.)(?=[A-Z])", "_", name).lower()


def card_payload(seen: CardSeen) -> Content:
    """Return the content of `card`."""
    return {
        "event": seen.event,
        "shoe": seen.shoe,
        "coup": seen.coup,
        "order": seen.order,
        "slot": to_json(seen.slot),
        "card": to_json(seen.card),
        "confidence": _share(seen.confidence),
        "second": to_json(seen.second),
    }


def live_payload(live: CoupLive) -> Content:
    """Return the content of `coup/live`."""
    return {
        "shoe": live.shoe,
        "coup": live.coup,
        "punto": {"cards": to_json(live.punto), "points": live.punto_points},
        "banco": {"cards": to_json(live.banco), "points": live.banco_points},
        "expected": to_json(live.expected),
        "complete": live.complete,
        "free": live.free,
    }


def result_payload(result: CoupResult, betting: Betting) -> Content:
    """Return the content of `coup/result`; wagers only where there is a winner and were bets."""
    return {
        "shoe": result.shoe,
        "coup": result.coup,
        "revision": result.revision,
        "state": result.state.value,
        "why": result.why,
        "winner": to_json(result.winner),
        "punto": _hand(result.punto),
        "banco": _hand(result.banco),
        "egalite_points": result.egalite_points,
        "three_giving_eight": result.three_giving_eight,
        "wagers": _wagers(result, betting),
        "faults": list(result.faults),
        "free": result.free,
        "by": result.by,
        "reason": result.reason,
    }


def roads_content(shoe: str, roads: Roads) -> Content:
    """Return the content of `roads`: of the coups that have a winner, free hands included."""
    return {"shoe": shoe, **roads_payload(roads)}


def alert_payload(alert: Alert, evidence: tuple[str, ...] = ()) -> Content:
    """Return the content of `alert` and of `alert/{id}`; moments in ISO 8601, null if not yet.

    `evidence` are the topics of what proves it.
    """
    return {
        "id": topic_level(alert.id),
        "code": alert.code,
        "severity": alert.severity.value,
        "state": alert.state.value,
        "text": alert.text,
        "shoe": alert.shoe,
        "coup": alert.coup,
        "order": alert.order,
        "slot": to_json(alert.slot),
        "expected": to_json(alert.expected),
        "observed": to_json(alert.observed),
        "exposed": alert.exposed,
        "card": to_json(alert.card),
        "second": to_json(alert.second),
        "confidence": None if alert.confidence is None else _share(alert.confidence),
        "check_card": alert.check_card,
        "audience": to_json(alert.audience),
        "evidence": list(evidence),
        "raised_at": iso(alert.raised_at),
        "deadline": alert.deadline.value,
        "deadline_at": _moment(alert.deadline_at),
        "in_time": alert.in_time,
        "acknowledged_by": alert.acknowledged_by,
        "acknowledged_at": _moment(alert.acknowledged_at),
        "by": alert.by,
        "role": to_json(alert.role),
        "remedy": alert.remedy,
        "reason": alert.reason,
        "changed_at": iso(alert.changed_at),
    }


def shoe_payload(shoe: ShoeChanged) -> Content:
    """Return the content of `shoe`."""
    return {
        "shoe": shoe.shoe,
        "decks": shoe.decks,
        "cards_out": shoe.out,
        "missed": shoe.missed,
        "coups": shoe.coups,
        "burned": shoe.burned,
        "burn_due": shoe.burn_due,
        "cut_card_seen": shoe.cut_seen,
        "last_hand": shoe.last_hand,
        "ended": shoe.ended,
        "left": shoe.left,
        "unseen": shoe.unseen,
    }


def reply_payload(reply: Replied) -> Content:
    """Return the content of `cmd/reply`."""
    return {
        "command": snake(reply.command),
        "ref": reply.ref,
        "by": reply.by,
        "accepted": reply.accepted,
        "why": reply.why,
    }


def _hand(hand: Hand) -> Content:
    return {
        "cards": to_json(hand.cards),
        "points": hand.points,
        "natural": hand.natural,
        "pair": hand.pair,
    }


def _wagers(result: CoupResult, betting: Betting) -> list[Content]:
    outcome = outcome_told(result)
    if outcome is None or result.free:
        return []
    return [
        {"bet": wager.bet.value, "name": wager.name, "odds": wager.odds}
        for wager in winning_wagers(outcome, betting)
    ]


def _share(value: float) -> float:
    return round(float(value), 6)


def _moment(at: int | None) -> str | None:
    return None if at is None else iso(at)
