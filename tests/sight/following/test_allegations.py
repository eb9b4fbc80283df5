"""What sight itself alleges of a coup."""

import numpy as np
import pytest

from vision.sight.following.cards import CARDS, FACE, GONE
from vision.sight.following.decisions import Account, Allegations

EMPTY, LIES = -3.0, 3.0


def early(said: list[float]) -> bool:
    """Whether an early deal is alleged, by how much a slot looks like a card look by look."""
    allegations = Allegations(50)
    before = Account(1, 1, Allegations(50), [CARDS[GONE[1], FACE, None]], [0])
    for each in said:
        values = np.zeros((3, 6))
        values[2, 1] = each
        allegations.take_before(before, values, {0})
    return any(told.code == "EARLY_DEAL" for told in allegations.told(1))


@pytest.mark.parametrize(
    ("said", "alleged"),
    [
        ([LIES, LIES, LIES], True),
        ([LIES], False),
        ([EMPTY, LIES, LIES, LIES, LIES], False),  # the next coup's card passes over an empty slot
    ],
)
def test_early_deal_is_alleged_of_cards_that_lay_there_all_the_time(
    said: list[float], *, alleged: bool
) -> None:
    """A card of the coup before still lies when the next one begins; one that comes does not."""
    assert early(said) is alleged
