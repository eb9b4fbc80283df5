"""Short plays at a table, as the events of a log, and logs made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.seen import SURE, Sight
from vision.config.profiles import load_profile, logged_profile, profile_text
from vision.game.cards import Card
from vision.game.commands import (
    AckAlert,
    CloseAlert,
    Confirm,
    CorrectCard,
    FreeHand,
    ResultStands,
    UndoLast,
    VoidCoup,
)
from vision.game.events import (
    Category,
    CutCardOut,
    Event,
    Noticed,
    Role,
    ShoeStarted,
    Slot,
    Started,
    Stopped,
    TimePassed,
    ViewBack,
    ViewLost,
)
from vision.record.chain import record_line, verified
from vision.record.codec import Record, event_from_json
from vision.storage.log import Entry, Store
from vision.storage.log_reader import read_log
from vision.wire.messages import Message, message_line
from vision.wire.session import TableSession, advance, new_header, new_session

NOON = 1_700_000_000_000
SHORT = {"P": "PUNTO_", "B": "BANCO_"}


class Play:
    """Writes down what happens at a table, a second between cards."""

    def __init__(self) -> None:
        self.at = NOON
        self.order = 0
        self.sight = Sight()
        self.events: list[Event] = []

    def begin(self, boot: str = "b1", shoe: str = "s1", version: str = "1.0") -> Play:
        """Start a run of that version of the program, and a shoe."""
        self.events += [Started(self.at, boot, version, ("detector sha256:00",))]
        self.order = 0
        self.sight.begin_shoe()
        return self.then(ShoeStarted(self.at, shoe))

    def then(self, *events: Event) -> Play:
        """Let something happen now."""
        self.events += events
        self.at += 1000
        return self

    def card(self, text: str) -> Play:
        """Deal one card: `P1:9c`, or `P1:?` for one that is declined, `P1:-` for one face down."""
        place, face = text.split(":")
        slot = Slot[SHORT[place[0]] + place[1]]
        self.order += 1
        self.events += self.sight.out(self.at, self.order)
        self.events += self.sight.place(self.at + 400, self.order, slot)
        if face != "-":
            card = None if face == "?" else Card.parse(face)
            self.events += self.sight.read(self.at + 500, self.order, card, SURE)
        self.at += 1000
        return self

    def coup(self, text: str) -> Play:
        """Deal cards and clear them."""
        first = self.order + 1
        for word in text.split():
            self.card(word)
        return self.clear(first)

    def clear(self, first: int) -> Play:
        """Clear the cards from that order on."""
        self.at += 3000
        for order in range(first, self.order + 1):
            self.events += self.sight.take(self.at, order)
            self.at += 50
        self.at += 2000
        return self


def clean() -> Play:
    """Deal five coups without a fault: naturals, an Egalite, third cards, the cut card."""
    return (
        Play()
        .begin()
        .coup("P1:9c B1:3s P2:Kd B2:4h")
        .coup("P1:2c B1:3s P2:Kd B2:4h P3:5h")
        .coup("P1:Ah B1:As P2:4h B2:2s P3:8d")
        .coup("P1:6c B1:Kh P2:Kd B2:2h B3:4d")
        .then(CutCardOut(NOON + 60_000))
        .coup("P1:Qc B1:Kh P2:Kd B2:2h P3:Ts B3:4d")
        .then(Stopped(NOON + 90_000))
    )


def overdraw() -> Play:
    """Give Banco a card that was not due; an inspector lets the result stand."""
    play = Play().begin().coup("P1:9c B1:3s P2:Kd B2:4h")
    play.card("P1:2c").card("B1:3s").card("P2:Kd").card("B2:4h").card("P3:5h").card("B3:9h")
    at = play.at
    play.then(AckAlert(at, "Bo", Role.DEALER, "a1"))
    play.then(ResultStands(at + 500, "Ann", Role.INSPECTOR, 2, reason="told the pit", ref="r1"))
    closed = CloseAlert(at + 1000, "Ann", Role.INSPECTOR, "a1", Category.DEALER, reason="told Bo")
    play.then(closed)
    return play.coup("").then(Stopped(play.at))


def ruled() -> Play:
    """Leave a card unread, key it in, correct another, void a coup, deal a free hand."""
    play = Play().begin().coup("P1:9c B1:? P2:Kd B2:4h")
    at = play.at
    ann = ("Ann", Role.INSPECTOR)
    play.then(CorrectCard(at, "Bo", Role.DEALER, 1, Slot.BANCO_1, Card.parse("3s"), ref="r1"))
    play.then(CorrectCard(at + 1, *ann, 1, Slot.PUNTO_2, Card.parse("Qd"), reason="glare"))
    play.then(CorrectCard(at + 2, "Eve", Role.ENGINEER, 1, Slot.PUNTO_2, Card.parse("2d")))
    play.coup("P1:6c B1:Kh P2:Kd B2:2h B3:4d")
    play.then(VoidCoup(play.at, *ann, 2, reason="bet dispute"))
    play.then(FreeHand(play.at, *ann, 3))
    return play.coup("P1:9d B1:3h P2:Kc B2:4s").then(Stopped(play.at))


def interrupted() -> Play:
    """Cover the lens, cut the power in the middle of a coup, and go on."""
    play = Play().begin().coup("P1:9c B1:3s P2:Kd B2:4h").card("P1:2c").card("B1:3s")
    play.then(ViewLost(play.at, "covered"), TimePassed(play.at + 800)).then(ViewBack(play.at))
    play.then(Started(play.at, "b2", "1.0", ()))
    return play.card("P2:Kd").card("B2:4h").card("P3:5h").coup("").then(Stopped(play.at))


def doubted() -> Play:
    """Read a card in doubt, another as two faces, one otherwise after the result; restart, undo."""
    play = Play().begin()
    sight, ann = play.sight, ("Ann", Role.INSPECTOR)
    play.card("P1:-").then(*sight.read(play.at, 1, Card.parse("4h"), 0.8, Card.parse("9h")))
    play.card("B1:4c").card("P2:3d").card("B2:3c").clear(1)
    play.then(Noticed(play.at, "EXPOSED_IN_SHOE")).coup("P1:4h P2:3d B1:4c B2:3c")
    play.card("P1:4h").card("B1:4c").card("P2:3d").card("B2:3c")
    play.then(*sight.read(play.at, 9, Card.parse("9s"))).clear(9)
    play.card("P1:4h").then(*sight.read(play.at, 13, Card.parse("5h")))
    play.then(*sight.allege(play.at, "RESTART_CONFIRM"))
    play.card("B1:4c").card("P2:3d").card("B2:3c")
    play.then(Confirm(play.at, *ann, 4), UndoLast(play.at, *ann)).clear(13)
    return play.coup("P1:9c B1:3s P2:Kd B2:4h").then(Stopped(play.at))


def reviewed() -> Play:
    """Doubt a coup for a card that was none; return a card to the shoe, switch one."""
    play = Play().begin().coup("P1:9c B1:3s P2:Kd B2:4h")
    sight = play.sight
    play.card("P1:4h").card("B1:4c").card("P2:3d").card("B2:3c").card("P3:-")
    play.then(*sight.trust(play.at, sure=False))
    play.then(*sight.doubt(play.at, "5 cards are 3 times likelier than 4."))
    play.clear(5).coup("P1:9c B1:3s P2:Kd B2:4h")
    play.then(*sight.withdraw(play.at, 9)).then(*sight.trust(play.at, sure=True, coup=2))
    play.then(*sight.doubt(play.at, "", coup=2))
    play.card("P1:9s").card("B1:4d").card("P2:-").then(*sight.give_back(play.at, 16))
    play.card("P2:2h").card("B2:Qc").card("P3:Js").clear(17)
    play.then(*sight.take(play.at, 14), *sight.take(play.at, 15))
    play.card("P1:As").card("B1:9c").card("P2:8d").card("B2:2d")
    play.then(*sight.switch(play.at, 20, Card.parse("Kh"))).clear(20)
    play.then(ResultStands(play.at, "Ann", Role.INSPECTOR, 5, ref="r1"))
    return play.coup("P1:9c B1:3s P2:Kd B2:4h").then(Stopped(play.at))


PLAYS = {
    "clean": clean,
    "overdraw": overdraw,
    "ruled": ruled,
    "interrupted": interrupted,
    "doubted": doubted,
    "reviewed": reviewed,
}


def header() -> dict[str, Any]:
    """Give the header of a log of table 7."""
    profile = load_profile("punto-banco")
    return new_header("house", "7", profile, rules=profile_text("punto-banco"))


def session_of(header: Mapping[str, Any]) -> TableSession:
    """Return the session before the first event of a log with that header."""
    return new_session(header, logged_profile(header))


def said(events: Iterable[Event]) -> tuple[Message, ...]:
    """Return everything that is said of the events."""
    desk = session_of(header())
    found: list[Message] = []
    for event in events:
        step = advance(desk, event)
        desk = step.session
        found += step.messages
    return tuple(found)


def events_of(store: Store) -> list[Event]:
    """Return every input event of a log, its chain verified."""
    contents = (content for _, content in verified(read_log(store.database.path)))
    return [event_from_json(content["event"]) for content in contents if "event" in content]


def write_log(path: Path, events: Iterable[Event], messages: Path | None = None) -> TableSession:
    """Run the events as the program does: restore, step, log; return the desk.

    The messages they come to are written too, a line each, where a file is named.
    """
    lines: list[str] = []
    with Store(path, header()) as store:
        desk = session_of(store.header)
        for event in events_of(store):
            desk = advance(desk, event).session
        for event in events:
            step = advance(desk, event)
            desk = step.session
            store.append([Entry(event, step.messages)])
            lines += map(message_line, step.messages)
    if messages is not None:
        messages.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return desk


def write_export(path: Path, records: Iterable[Record]) -> None:
    """Write the records of a log as JSON lines, as they stand in an export."""
    path.write_text("".join(f"{record_line(record)}\n" for record in records), "utf-8")
