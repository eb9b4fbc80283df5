"""A card's life is the table: every state is reachable, only the end has no way on."""

from __future__ import annotations

from vision.sight.tracking.card import CARD_LIFE, Life


def test_every_state_has_a_row_and_can_be_reached_from_the_shoe() -> None:
    """From FLYING each other state is reached by some observation."""
    assert set(CARD_LIFE) == set(Life)
    reached, new = set(), {Life.FLYING}
    while new:
        reached |= new
        new = {after for state in new for after in CARD_LIFE[state].values()} - reached
    assert reached == set(Life)


def test_only_a_card_that_is_gone_has_ended() -> None:
    """Every other state goes on: a card out of sight still exists."""
    assert [state for state, row in CARD_LIFE.items() if not row] == [Life.GONE]


def test_a_card_never_laid_is_not_gone_for_being_out_of_sight() -> None:
    """The clearing of the table around it ends it, or that it never was a card."""
    ways = {
        observation
        for state in (Life.FLYING, Life.LOST)
        for observation, after in CARD_LIFE[state].items()
        if after is Life.GONE
    }
    assert {observation.name for observation in ways} == {"NEVER_LAID", "NEVER_WAS"}
