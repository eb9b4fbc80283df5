"""Coups of a film are aligned with those published, and judged one by one."""

from __future__ import annotations

from typing import Any

from datasets.dealing.score import aligned
from models.evaluate.dealing_films import Tally, compare


def dealt(number: int, punto: str, banco: str, **keys: Any) -> dict[str, Any]:
    """Return a coup as the truth of a film has it."""
    cards = {"punto": punto.split(), "banco": banco.split()}
    return {"coup": number, **cards, "winner": "PUNTO", "fault": None, **keys}


def result(number: int, punto: str, banco: str, winner: str | None = "punto") -> dict[str, Any]:
    """Return a message with the result of a coup."""
    hands = {"punto": {"cards": punto.split()}, "banco": {"cards": banco.split()}}
    return {"topic": "t/coup/result", "payload": {"coup": number, "winner": winner, **hands}}


def alert(number: int, code: str) -> dict[str, Any]:
    """Return a message with an alert of a coup."""
    return {
        "topic": "t/alert",
        "payload": {"coup": number, "code": code, "severity": "critical"},
    }


TRUTH: dict[str, Any] = {
    "coups": [
        dealt(1, "9c 2s", "5h 4d"),
        dealt(2, "Kd 8h", "3c Js"),
        dealt(3, "Ac 7d", "2h 6s", fault="OVER_B3"),
    ],
    "video": {"duration": 60.0},
}


def test_coup_that_was_never_published_is_missing_and_the_rest_stay_aligned() -> None:
    """The second coup is missing; the third is not taken for it."""
    published = [result(1, "9c 2s", "5h 4d"), result(2, "Ac 7d", "2h 6s")]
    pairs = aligned(TRUTH["coups"], [message["payload"] for message in published])
    assert [(t and t["coup"], p and p["coup"]) for t, p in pairs] == [(1, 1), (2, None), (3, 2)]


def test_counts_of_a_film() -> None:
    """Right, held, wrong; the incident under its code; a fault alleged in a clean coup."""
    tally = Tally()
    messages = [
        result(1, "9c 2s", "5h 4d"),
        result(2, "Kd 8h", "3c Js", None),
        alert(2, "OVER_4TH"),
        result(3, "Ac 7d", "2h 6c"),
        alert(3, "OVER_B3"),
    ]
    compare(TRUTH, messages, tally, "film")
    assert (tally.right, tally.held, tally.wrong, tally.missing) == (1, 1, 1, 0)
    assert (tally.raised, tally.incidents) == (1, 1)
    assert (tally.alleged, tally.clean) == (1, 2)


def test_reminder_for_the_dealer_alone_alleges_nothing() -> None:
    """A card that is due accuses nobody while the dealer pauses; once the hands go it does."""
    dealt_twice = [result(1, "9c 2s", "5h 4d"), result(2, "Kd 8h", "3c Js")]
    reminder = alert(1, "UNDER_B3")
    reminder["payload"] |= {"severity": "advisory", "audience": ["dealer"]}
    graver = {
        "topic": "t/alert/a1",
        "payload": {**alert(1, "UNDER_B3")["payload"], "id": "a1", "text": ""},
    }
    for reported, alleged in (([reminder], 0), ([reminder, graver], 1)):
        tally = Tally()
        compare(TRUTH, [*dealt_twice, *reported], tally, "film")
        assert tally.alleged == alleged


def test_cut_card_counts_where_the_shoe_says_that_it_came() -> None:
    """No alert goes with the cut card: the state of the shoe tells of it, in one coup only."""
    cut = {"coups": [dealt(1, "9c 2s", "5h 4d"), dealt(2, "Kd 8h", "3c Js", fault="CUT_CARD")],
           "video": {"duration": 60.0}}  # fmt: skip

    def shoe(coup: int, *, seen: bool) -> dict[str, Any]:
        return {"topic": "t/shoe", "payload": {"coups": coup, "cut_card_seen": seen}}

    results = [result(1, "9c 2s", "5h 4d"), result(2, "Kd 8h", "3c Js")]
    for reported, raised in (
        ([shoe(1, seen=False), shoe(2, seen=True)], 1),
        ([shoe(1, seen=True), shoe(2, seen=True)], 0),
        ([shoe(2, seen=False)], 0),
    ):
        tally = Tally()
        compare(cut, [*results, *reported], tally, "film")
        assert (tally.raised, tally.incidents) == (raised, 1)
