"""The roads as they were last told, so that one more coup is added and not all of them drawn anew.

Pure. It knows neither topics nor how roads are laid out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vision.game.outcome import outcome_told
from vision.game.outputs import CoupResult
from vision.game.roads import RoadCoup, Roads, empty_roads, roads_of

Results = tuple[CoupResult, ...]


class Drawn(NamedTuple):
    """A shoe's results, and the roads drawn of them: of those that have a winner."""

    coups: Results
    roads: Roads

    def after(self, coups: Results) -> Drawn:
        """Return the roads of these results: drawn on where they go on from these, else anew."""
        if coups[:-1] != self.coups:
            return Drawn(coups, roads_of(_drawable(coups)))
        roads = self.roads
        for coup in _drawable(coups[-1:]):
            roads = roads.add(coup)
        return Drawn(coups, roads)


def _drawable(coups: Results) -> Iterator[RoadCoup]:
    for coup in coups:
        outcome = outcome_told(coup)
        if outcome is not None:
            yield RoadCoup.of(coup.coup, outcome)


NOTHING = Drawn((), empty_roads())
