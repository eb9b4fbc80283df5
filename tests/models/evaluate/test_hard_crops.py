"""A name is wrong if no card that lies there has it; the one on top is read rightly."""

import numpy as np

from datasets.training.crops import NO_CARD, crops, taken
from datasets.training.signs import Sight
from models.evaluate.hard_crops import lines
from vision.game.cards import Card

OWN_DECKS = ("harbour", "orchard")


def cells(line: str) -> list[str]:
    """Return the cells of a row of a table."""
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_name_of_a_card_on_top_counts_apart_from_a_wrong_one() -> None:
    """Of four cards without a sign one is read as the card on it, one as one that is not there."""
    hidden, sure, unsure = (7, Sight.NONE, Sight.NONE, 0, 50), 1e-3, 0.5
    rows = np.array([
        (sure, 12, *hidden, 1),
        (sure, 13, *hidden, 0),
        (unsure, 13, *hidden, 0),
        (unsure, 7, *hidden, 1),
        (sure, 9, 9, Sight.CLEAR, Sight.CLEAR, 0, 20, 1),
        (sure, 9, NO_CARD, Sight.NONE, Sight.NONE, 0, 50, 0),
    ])  # fmt: skip
    table = [cells(line) for line in lines(rows)]
    assert table[2][:5] == ["0.02", "100.0%", "4", "1", "2 (50.0000%)"]
    (both,) = (row for row in table if row[0] == "both hidden")
    assert both[1] == "4"
    assert both[-1] == "1"
    by_focus = {row[0]: row[1] for row in table if row[0].startswith("any sign")}
    assert by_focus["any sign, in focus from 17 px"] == "1"
    assert sum(int(cards) for cards in by_focus.values()) == 1, "hidden ones say nothing of focus"


def test_clear_cards_are_counted_by_rank_and_the_ace_of_spades_apart() -> None:
    """Of two clear aces, one of spades, one is declined; a hidden card counts with no rank."""
    ace, other = Card.parse("As").index, Card.parse("Ah").index
    sharp = (Sight.CLEAR, Sight.CLEAR, 0, 50, 1)
    rows = np.array([
        (0.5, other, ace, *sharp),
        (1e-6, other, other, *sharp),
        (0.5, 7, 7, Sight.NONE, Sight.NONE, 0, 50, 1),
    ])  # fmt: skip
    table = {row[0]: row[1:3] for row in map(cells, lines(rows))}
    assert table["A, clear"] == ["2", "50.00%"]
    assert table["ace of spades, clear"] == ["1", "100.00%"]
    assert table["T, clear"][0] == "0"


def test_crops_taken_are_the_same_with_what_lies_on_them() -> None:
    """The snapshot of a crop names the faces that were laid on its card."""
    made = taken(5, decks=OWN_DECKS, hidden=1.0)
    several = [next(made) for _ in range(24)]
    plain = crops(5, decks=OWN_DECKS, hidden=1.0)
    for (image, truth), (same, so, _) in zip(plain, several, strict=False):
        assert truth == so
        assert np.array_equal(image, same)
    laid = [shot.laid for _, _, shot in several]
    assert any(laid)
    assert all(0 <= card < NO_CARD for cards in laid for card in cards)
    assert not all(laid)
