"""The roads as text: each cell is written once, when its coup is drawn, and not with every message.

Late in a shoe a message of the roads has some 300 cells, all but a few of them those of the message
before. What the text says is `roads_payload`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from vision.game.outputs import CoupsChanged
from vision.game.roads import Derived, RoadCoup, Roads, empty_roads
from vision.record.codec import canonical

DEEPEST = 200  # coups drawn in one go: each asks for those before it, and Python limits how deep


class RoadTexts(NamedTuple):
    """Roads, and the canonical text of each of their cells."""

    roads: Roads
    beads: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    marks: tuple[tuple[str, ...], ...] = ((),) * len(Derived)

    def add(self, coup: RoadCoup) -> RoadTexts:
        """Return the texts with one more coup; it may change the newest entry of the big road."""
        roads = self.roads.add(coup)
        standing = max(0, len(roads.big) - 1)
        newest = [canonical(roads.entry(n)) for n in range(standing, len(roads.big))]
        return RoadTexts(
            roads,
            (*self.beads, canonical(roads.bead(len(self.beads)))),
            (*self.entries[:standing], *newest),
            tuple(
                (*texts, *[canonical(road.cell(n)) for n in range(len(texts), len(road.marks))])
                for texts, road in zip(self.marks, roads.derived, strict=True)
            ),
        )


def road_texts(changed: CoupsChanged) -> dict[str, str]:
    """Return the canonical text of each field of `roads`: of the coups that have a winner.

    Free hands are among them, void and held coups are not.
    """
    coups = tuple(
        [
            RoadCoup(
                result.coup,
                result.winner,
                punto_pair=result.punto.pair,
                banco_pair=result.banco.pair,
                natural=result.punto.natural or result.banco.natural,
            )
            for result in changed.coups
            if result.winner is not None
        ]
    )
    for end in range(DEEPEST, len(coups), DEEPEST):
        _written(coups[:end])
    drawn = _written(coups)
    cells = (drawn.beads, drawn.entries, *drawn.marks)
    names = ("bead_plate", "big_road", *Derived)
    lists = {name: f"[{','.join(texts)}]" for name, texts in zip(names, cells, strict=True)}
    return {name: canonical(part) for name, part in drawn.roads.summary().items()} | lists


@lru_cache(maxsize=8)  # a few tables, each with the shoe so far, some 60 kB
def _written(coups: tuple[RoadCoup, ...]) -> RoadTexts:
    return _written(coups[:-1]).add(coups[-1]) if coups else RoadTexts(empty_roads())
