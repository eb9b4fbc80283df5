"""A simulated shoe, dealt as events by what the table itself expects, with mis-deals in it."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from itertools import chain
from typing import Any

from tests.browser.voice import Reader
from tests.table_log import NOON, Play
from vision.game.cards import DECK, Card
from vision.game.commands import ResultStands
from vision.game.events import Role


class Shoe:
    """Deals coup after coup to a reader; every `fault_every`th gets a card that was not due."""

    def __init__(self, reader: Reader, *, seed: int, fault_every: int = 7, at: int = NOON) -> None:
        self._reader = reader
        self._fault_every = fault_every
        self._play = Play()
        self._play.at = at
        self._play.begin()
        cards = list(DECK) * 8
        random.Random(seed).shuffle(cards)
        self._cards = iter(cards)
        self._coup = 0
        self._tell()

    def deal(self, *, ruled: bool = True, cards: Iterable[Card] = ()) -> None:
        """Deal one coup, `cards` first; an inspector lets a faulty one stand if it is `ruled`."""
        self._cards = chain(cards, self._cards)
        self._coup += 1
        first = self._play.order + 1
        while (slot := self._due()) is not None:
            self._card(slot)
        faulty = self._coup % self._fault_every == 0
        if faulty:
            self._card("BANCO_3")
        if faulty and ruled:
            order = ResultStands(
                self._play.at, "Ann", Role.INSPECTOR, self._coup, reason="coup stands"
            )
            self._play.then(order)
        self._play.at += 3000
        for number in range(first, self._play.order + 1):
            self._play.then(*self._play.sight.take(self._play.at, number))
        self._tell()

    def _due(self) -> str | None:
        live = [one for one in self._reader.published if one.topic.endswith("coup/live")]
        begun: dict[str, Any] = {"expected": ["PUNTO_1"], "coup": 0}
        reported = json.loads(live[-1].payload) if live else begun
        if reported["coup"] < self._coup:
            return "PUNTO_1"
        return None if reported["complete"] else reported["expected"][0]

    def _card(self, slot: str) -> None:
        self._play.card(f"{slot[0]}{slot[-1]}:{next(self._cards)}")
        self._tell()

    def _tell(self) -> None:
        self._reader.take(*self._play.events)
        self._play.events = []
