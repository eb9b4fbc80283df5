"""The text of the roads: written coup by coup, it says what the roads say."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from vision.game.events import Winner
from vision.game.outputs import CoupResult, CoupsChanged, Hand, ResultState
from vision.game.roads import RoadCoup, roads_of, roads_payload
from vision.record.codec import canonical
from vision.wire.road_texts import DEEPEST, road_texts

NOON = 1_700_000_000_000
WINNERS = st.sampled_from((*Winner, None))


def coup(number: int, winner: Winner | None) -> CoupResult:
    """Give the result of a coup; its pairs and naturals follow from its number."""
    punto, banco = (Hand((), 8, natural=number % n == 0, pair=number % n == 1) for n in (3, 5))
    final = (winner, punto, banco, None, False, (), False, "", "")
    return CoupResult(NOON, "s1", number, 0, ResultState.FINAL, "", *final)


def said(coups: tuple[CoupResult, ...]) -> dict[str, object]:
    """Return what the text says."""
    texts = road_texts(CoupsChanged(NOON, "s1", coups))
    content = {name: json.loads(text) for name, text in texts.items()}
    assert all(canonical(content[name]) == text for name, text in texts.items())
    return content


def drawn(coups: tuple[CoupResult, ...]) -> dict[str, object]:
    """Return what the roads of these coups are, drawn anew."""
    return roads_payload(
        roads_of(
            RoadCoup(
                one.coup,
                one.winner,
                punto_pair=one.punto.pair,
                banco_pair=one.banco.pair,
                natural=one.punto.natural or one.banco.natural,
            )
            for one in coups
            if one.winner is not None
        )
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(WINNERS, max_size=60), st.integers(0, 59), WINNERS)
def test_text_says_what_the_roads_say(
    winners: list[Winner | None], wrong: int, other: Winner | None
) -> None:
    """After every coup, void ones left out, and after a correction in the middle of the shoe."""
    coups = tuple(coup(number, winner) for number, winner in enumerate(winners, 1))
    for end in range(len(coups) + 1):
        assert said(coups[:end]) == drawn(coups[:end])
    corrected = tuple(coup(one.coup, other) if one.coup == wrong else one for one in coups)
    assert said(corrected) == drawn(corrected)


def test_text_of_many_coups_is_written_in_one_go() -> None:
    """A shoe that nobody heard of before has its text however long it is."""
    coups = tuple(coup(number, Winner.BANCO) for number in range(1, 3 * DEEPEST))
    assert said(coups) == drawn(coups)
