"""A simulated month of a floor, loaded into an archive: `python -m tests.floor.archive.month`.

Coups are dealt from shuffled shoes by the tableau; results, alerts, reads and states are made by
the program's own message builders and written by the archive's own code. Prints the seconds of the
load and of each question. One table mis-deals more than the others, one deck wears out, one table's
shoes lack their nines: the questions should show it.
"""

from __future__ import annotations

import argparse
import random
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from sqlalchemy import Engine

from tests.chaos.shoe import deal
from vision.config.profiles import load_profile
from vision.floor.archive.database import open_archive
from vision.floor.archive.logs import Received, write
from vision.floor.archive.questions import QUESTIONS, Asked, ask
from vision.game.cards import DECK, Card, Rank
from vision.game.events import Slot, Winner
from vision.game.outputs import (
    Alert,
    AlertState,
    CardSeen,
    CoupResult,
    Deadline,
    Hand,
    ResultState,
    Severity,
)
from vision.record.codec import canonical, rules_hash
from vision.wire.messages import alert_payload, card_payload, iso, result_payload

FIRST = int(datetime(2026, 3, 1, 10, tzinfo=UTC).timestamp() * 1000)
DAY_MS = 86_400_000
OPEN_MS = 18 * 3_600_000  # open from ten in the morning to four at night
COUPS_A_SHOE = 70
AT_ONCE = 20_000
KINDS = ("OVER_P3_STAND", "OVER_B3", "UNDER_B3", "WRONG_HAND", "PREMATURE_CLEAR", "TWO_CARDS_OUT")
BAD_TABLE, WORN_TABLE, WRONG_TABLE = "3", "5", "6"


@dataclass
class PlayedTable:
    """One table of the month: its numbers, its deck, what goes wrong there."""

    name: str
    coups_a_day: int
    days: int
    draw: random.Random = field(default_factory=random.Random)
    seq: int = 0
    alerts: int = 0
    boot: str = "run0"

    def __post_init__(self) -> None:
        profile = load_profile("punto-banco")
        self.betting = profile.betting
        self.profile = f"{profile.name} sha256:{rules_hash(profile)}"
        self.draw.seed(self.name)

    def messages(self) -> Iterator[Received]:
        """Yield the month's messages in their order."""
        for day in range(self.days):
            begin = FIRST + day * DAY_MS
            self.boot = f"run{day}"
            yield self.status(begin, "online")
            pace = OPEN_MS // self.coups_a_day
            cards: list[Card] = []
            for number in range(self.coups_a_day):
                at = begin + number * pace
                place = number % COUPS_A_SHOE
                if place == 0:
                    cards, order = self.shoe(), 0
                    name = f"{self.name}-{day}-{number // COUPS_A_SHOE}"
                dealt = list(deal(cards))
                yield from self.reads(at, name, (place + 1, order), dealt)
                order += len(dealt)
                yield from self.result(at + 15_000, name, place + 1, dealt)
                if self.draw.random() < 0.0005:
                    yield self.status(at + 16_000, "blind")
                    yield self.status(at + 16_000 + self.draw.randrange(90_000), "online")
            yield self.status(begin + OPEN_MS, "stopped")

    def shoe(self) -> list[Card]:
        """Shuffle eight decks; at one table the nines of two decks are not in them."""
        cards = [*DECK] * 8
        if self.name == WRONG_TABLE:
            cards = [card for card in DECK * 2 if card.rank is not Rank.NINE] + [*DECK] * 6
        self.draw.shuffle(cards)
        return cards

    def say(self, topic: str, at: int, content: dict[str, Any]) -> Received:
        """Return a message with the next number."""
        self.seq += 1
        envelope = {"schema": 1, "table": self.name, "boot": self.boot, "seq": self.seq}
        text = canonical({**envelope, "at": iso(at), **content})
        return Received("house", self.name, topic, text.encode())

    def status(self, at: int, state: str) -> Received:
        """Say how the reader is."""
        deck = f"deck sha256:{self.name * 64}"[:76]
        content = {"state": state, "why": "", "version": "0.2.0", "models": [deck]}
        return self.say("status", at, {**content, "profile": self.profile})

    def reads(
        self, at: int, shoe: str, where: tuple[int, int], dealt: list[tuple[Slot, Card]]
    ) -> Iterator[Received]:
        """Say how each card was read; a worn deck's are declined more and more."""
        worn = (at - FIRST) / (30 * DAY_MS) if self.name == WORN_TABLE else 0.0
        for order, (slot, card) in enumerate(dealt, where[1] + 1):
            declined = self.draw.random() < 0.0005 + 0.01 * worn
            face = None if declined else card
            seen = CardSeen(at, "read", shoe, where[0], order, slot, face, 0.999999, None)
            yield self.say("card", at, card_payload(seen))
            if declined or self.draw.random() < 0.00005:
                keyed = CardSeen(at, "keyed", shoe, where[0], order, slot, card, 1.0, None)
                yield self.say("card", at + 9000, card_payload(keyed))

    def result(
        self, at: int, shoe: str, coup: int, dealt: list[tuple[Slot, Card]]
    ) -> Iterator[Received]:
        """Say what the coup came to; some were mis-dealt."""
        sides = (True, False)
        hands = [tuple(card for slot, card in dealt if slot.is_punto is side) for side in sides]
        points = [sum(card.points for card in hand) % 10 for hand in hands]
        level = points[0] == points[1]
        winner = (
            Winner.EGALITE if level else Winner.PUNTO if points[0] > points[1] else Winner.BANCO
        )
        punto, banco = (
            Hand(hand, sum_, len(hand) == 2 and sum_ > 7, hand[0].rank is hand[1].rank)
            for hand, sum_ in zip(hands, points, strict=True)
        )
        rate = 0.006 if self.name == BAD_TABLE else 0.002
        faults = (self.draw.choice(KINDS),) if self.draw.random() < rate else ()
        for code in faults:
            yield from self.alert(at, shoe, coup, code)
        result = CoupResult(at, shoe, coup, 0, ResultState.FINAL, "", winner, punto, banco,
                            points[0] if level else None, False, faults, False, "", "")  # fmt: skip
        yield self.say("coup/result", at, result_payload(result, self.betting))

    def alert(self, at: int, shoe: str, coup: int, code: str) -> Iterator[Received]:
        """Raise an alert, have it seen, put right and closed."""
        self.alerts += 1
        alert = Alert(f"a{self.alerts}", code, Severity.WARNING, AlertState.RAISED, "words", shoe,
                      coup, at, Deadline.NEXT_CARD, (), changed_at=at)  # fmt: skip
        yield self.say("alert", at, alert_payload(alert))
        own = f"alert/{alert.id}"
        seen_at = at + self.draw.randrange(2000, 30_000)
        content = alert_payload(alert) | {"acknowledged_by": "Bo", "acknowledged_at": iso(seen_at)}
        for state, later in (("acknowledged", 0), ("rectified", 20_000), ("closed", 60_000)):
            now = seen_at + self.draw.randrange(later + 1)
            changed = {"state": state, "changed_at": iso(now), "by": "Ann", "remedy": "R5"}
            if state == "closed":  # each third was the reader's error
                changed["category"] = "dealer" if self.alerts % 3 else "reader"
            yield self.say(own, now, content | changed)
        self.seq += 1  # the message that clears the topic


def load(engine: Engine, coups: int, tables: int = 8, days: int = 30) -> int:
    """Write a month of so many coups; return how many messages."""
    count = 0
    for number in range(1, tables + 1):
        table = PlayedTable(str(number), max(1, coups // tables // days), days)
        messages = table.messages()
        while batch := list(islice(messages, AT_ONCE)):
            write(engine, batch)
            count += len(batch)
    return count


def main() -> None:
    """Load, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--archive", default="sqlite://", help="an empty one (in memory)")
    parser.add_argument("--coups", type=int, default=300_000, help="of all tables (300000)")
    parser.add_argument("--ask-only", action="store_true", help="of an archive loaded before")
    args = parser.parse_args()
    engine = open_archive(args.archive)
    if not args.ask_only:
        began, used = time.perf_counter(), time.process_time()
        count = load(engine, args.coups)
        print(f"{engine.dialect.name}: {args.coups} coups, {count} messages in "
              f"{time.perf_counter() - began:.0f} s, {time.process_time() - used:.0f} s of this "
              f"process's processor")  # fmt: skip
    for kind, (_, groups) in QUESTIONS.items():
        for by in groups or ("",):
            began, used = time.perf_counter(), time.process_time()
            answer = ask(engine, kind, Asked(by))
            took, spent = time.perf_counter() - began, time.process_time() - used
            what = f"{kind:9} {by:6} {len(answer.rows):4} rows"
            print(f"{what}  {took:6.3f} s, processor {spent:6.3f} s")
    print(f"memory at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")


if __name__ == "__main__":
    main()
