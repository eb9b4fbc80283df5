"""How many coups until the frequencies show a wrong shoe.

    python -m tests.floor.archive.wrong_shoe

Tables deal from eight decks of which two lack their nines, and from whole ones; after each shoe the
counts are tested as `report odds` does, with the alarm bound of an archive that was looked at once,
or each day of a month.
"""

from __future__ import annotations

import random
import statistics
from collections import Counter
from collections.abc import Iterator

from tests.chaos.shoe import deal
from tests.floor.archive.month import COUPS_A_SHOE
from vision.floor.archive.questions import ALARM, TESTS, fit
from vision.game.cards import DECK, Rank

TABLES = 8  # of the house
LOOKS = {"first look": 1, "daily look, after a month": 30}
MOST_COUPS = 10_000
RANKS = tuple(Rank)


def ranks_dealt(seed: str, *, wrong: bool) -> Iterator[Counter[Rank]]:
    """Yield the ranks dealt of shoe after shoe."""
    draw = random.Random(seed)
    two = [card for card in DECK * 2 if not (wrong and card.rank is Rank.NINE)]
    while True:
        cards = [*two, *DECK * 6]
        draw.shuffle(cards)
        coups = (deal(cards) for _ in range(COUPS_A_SHOE))
        yield Counter(card.rank for coup in coups for _, card in coup)


def coups_until_alarm(seed: str, looks: int, *, wrong: bool) -> int:
    """Return after how many coups a table is suspected, MOST_COUPS where it never is."""
    found: Counter[Rank] = Counter()
    bound = ALARM / (looks * TESTS * TABLES)
    dealt = ranks_dealt(seed, wrong=wrong)
    for coups in range(COUPS_A_SHOE, MOST_COUPS, COUPS_A_SHOE):
        found += next(dealt)
        if fit([found[rank] for rank in RANKS], [1 / len(RANKS)] * len(RANKS)).p < bound:
            return coups
    return MOST_COUPS


def told(words: str, looks: int, tables: int, *, wrong: bool) -> str:
    """Return in words how many of some tables were suspected, and after how many coups."""
    ends = [coups_until_alarm(f"{words}{n}", looks, wrong=wrong) for n in range(tables)]
    found = sorted(end for end in ends if end < MOST_COUPS)
    after = f", after {statistics.median(found):.0f} coups, at most {found[-1]}" if found else ""
    return f"{words}: {len(found)} of {tables} tables suspected{after}"


def main() -> None:
    """Print it for wrong shoes and for right ones."""
    for name, observations in LOOKS.items():
        print(told(f"eight nines missing, {name}", observations, 20, wrong=True))
        print(told(f"whole shoes, {name}", observations, 20, wrong=False))


if __name__ == "__main__":
    main()
