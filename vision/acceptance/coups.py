"""What a log knows of an acceptance: coups as the reader published them, and what people answered.

The log is read record by record, its chain verified on the way, and read on from where it ended
when it has grown. What counts of the reader is what it published by itself: of a coup that a person
has given an order about, nothing after that order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from vision.acceptance.answers import CUT_CARD, CUT_FIRST, REVISION, Keyed, read_answer
from vision.access.command_gate import order_fault
from vision.errors import ConfigurationError
from vision.game import events
from vision.game.cards import Card
from vision.game.commands import CoupCommand, SignIn, SignOut
from vision.game.coup.fault_table import KINDS
from vision.game.coup.state import Table
from vision.game.outputs import AlertChanged, CoupResult, Output, Severity
from vision.record.chain import verified
from vision.record.codec import GENESIS, Record, event_from_json
from vision.record.facts import IN_A_ROLE, EvidenceKept, Fact, Recorded, accepted
from vision.storage.log_reader import Taken, Walk, read_log, unbroken
from vision.wire.session import Step

END = "end"  # begins what stands for a coup's number where a run or shoe ends: was more dealt?
UNKNOWN = "not known"  # a dealer who has not logged in, a deck that is not enrolled
DECK = "deck sha256:"
DIGITS = 12  # of a hash, as it is shown


class Terms(NamedTuple):
    """What was set before anybody answered: how many coups, and the share for two people.

    `below` is the share of wrong results that is to be shown, 0 where none was planned.
    """

    coups: int
    share: float
    films: str = ""  # the beginning of the hash of each film, "" where stills are shown
    below: float = 0.0

    def text(self) -> str:
        """Return it as it stands in the log."""
        more = f"below={self.below:g} films={self.films}"
        return f"coups={self.coups} share={self.share:g} {more}"

    @classmethod
    def read(cls, text: str) -> Terms:
        """Read what `text` wrote."""
        fields = {"below": "0", **dict(word.split("=", 1) for word in text.split())}
        numbers = int(fields["coups"]), float(fields["share"])
        return cls(*numbers, fields["films"], float(fields["below"]))

    def grown(self, later: Terms) -> Terms:
        """Return what both ask: no fewer coups (0 is all), no smaller share, no easier bound."""
        coups = max(self.coups, later.coups) if self.coups and later.coups else 0
        below = min(self.below, later.below or self.below)  # none is set behind the first answer
        return Terms(coups, max(self.share, later.share), later.films or self.films, below)


@dataclass(slots=True)
class ReadCoup:
    """A coup as the reader published it by itself; times in Unix ms.

    `name` is its number, or END and the number of a run: what came after the last coup. `since` is
    when the one before was cleared, or its run or shoe began. `codes` are of alerts but mere
    information; `switched` has the other face of a card that changed. `helped`: an order was given
    about it. `finals` are results that were final. `times` and `faced` say of each card, by its
    order, when it was first seen in each state, and its face.
    """

    shoe: str
    name: str
    since: int
    until: int
    shown: int  # when the first of its cards was taken off
    facts: dict[str, str]  # dealer, deck, hour, light
    result: CoupResult | None = None
    codes: set[str] = field(default_factory=set)
    switched: dict[Card, Card] = field(default_factory=dict)
    helped: bool = False
    is_cleared: bool = False
    finals: set[tuple[Any, ...]] = field(default_factory=set)
    cards: tuple[events.SeenCard, ...] = ()
    times: dict[int, dict[events.Life, int]] = field(default_factory=dict)
    faced: dict[int, int] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """What it is called in answers."""
        return f"{self.shoe}/{self.name}"

    @property
    def is_end(self) -> bool:
        """Whether it stands for what came after the last coup."""
        return self.name.startswith(END)

    @property
    def is_retracted(self) -> bool:
        """Whether the reader itself took back a result that had been final."""
        now = {_reported(self.result)} if self.result and self.result.winner else set()
        return bool(self.finals - now)


@dataclass(slots=True)
class LogBook:
    """A log as it stands; `renew` takes what was written since."""

    path: Path
    header: Mapping[str, Any] = field(default_factory=dict)
    log_id: str = ""
    last: Record = field(default_factory=lambda: Record(-1, "", GENESIS))
    runs: list[events.Started] = field(default_factory=list)
    coups: dict[str, ReadCoup] = field(default_factory=dict)
    ends: dict[str, ReadCoup] = field(default_factory=dict)  # of runs and shoes
    pieces: dict[str, list[EvidenceKept]] = field(default_factory=dict)  # of coups
    keyed: list[Keyed] = field(default_factory=list)
    terms: list[tuple[int, Terms]] = field(default_factory=list)
    cuts: list[tuple[int, Terms]] = field(default_factory=list)  # terms that were not followed
    grown: list[tuple[int, Terms]] = field(default_factory=list)  # what stood before more was set
    # Records of what a desk is to report, which no signed order in a role that may vouches for.
    unproven: list[int] = field(default_factory=list)
    allowed: Recorded | None = None
    _set: Terms | None = None
    _seen: set[tuple[str, str]] = field(default_factory=set)  # by whom, what at a desk
    _walk: Walk = field(default_factory=Walk)
    # Under what circumstances the table is read from here on; a coup adds its hour and shoe.
    _facts: dict[str, str] = field(
        default_factory=lambda: {"dealer": UNKNOWN, "deck": UNKNOWN, "hour": "", "light": "good"}
    )
    _since: int = 0

    def renew(self) -> None:
        """Read on; OutsideError where the log is broken."""
        first = self.last.number + 1
        with unbroken(self.path):
            for record, content in verified(read_log(self.path, first), first, self.last.hash):
                self._take(self._walk.take(record, content))
                self.last = record

    @property
    def set(self) -> Terms:
        """What was set; after the first answer it only grows."""
        return self._set or Terms(0, 0.0)

    def answers(self) -> dict[str, list[Keyed]]:
        """Return all answers by coup, in the order of the log."""
        found: dict[str, list[Keyed]] = {}
        for each in self.keyed:
            found.setdefault(each.coup, []).append(each)
        return found

    def asked(self, terms: Terms) -> list[ReadCoup]:
        """Return the coups that are asked for, those after the last of each shoe included."""
        coups = list(self.coups.values())[: terms.coups or None]
        until = coups[-1].until if coups else 0
        whole = not terms.coups or len(self.coups) <= terms.coups
        ends = [end for end in self.ends.values() if terms.films and (whole or end.until <= until)]
        return sorted([*coups, *ends], key=lambda coup: coup.since)

    def _take(self, taken: Taken) -> None:
        if taken.record.number == 0:
            self.header, self.log_id = taken.content["log"], taken.record.hash
        if "event" not in taken.content:
            return
        event = event_from_json(taken.content["event"])
        match event:
            case Recorded():
                self._take_fact(event, taken)
            case EvidenceKept():
                self.pieces.setdefault(f"{event.shoe}/{event.coup}", []).append(event)
            case _:
                self._take_scene(event)
        # Runs without models only take answers: they have no camera.
        if taken.before and taken.step and self.runs and self.runs[-1].models:
            self._take_game(event, taken.before.table.shoe.name, taken.step)

    def _take_scene(self, event: events.Event) -> None:
        """Take what changes the circumstances, or begins a run."""
        match event:
            case events.Started():
                self._since = event.at
                self.runs.append(event)
                for name in event.models:
                    if name.startswith(DECK):
                        self._facts["deck"] = name.removeprefix(DECK)[:DIGITS]
            case SignIn(role=events.Role.DEALER, accepted=True):
                self._facts["dealer"] = event.by
            case SignOut(role=events.Role.DEALER) if event.by == self._facts["dealer"]:
                self._facts["dealer"] = UNKNOWN
            case events.Noticed(code="LIGHT"):
                self._facts["light"] = "good" if event.over else "poor"
                for coup in list(self.coups.values())[-1:]:
                    if not coup.is_cleared and not event.over:
                        coup.facts["light"] = "poor"  # from the middle of it on

    def _take_game(self, event: events.Event, before: str, step: Step) -> None:
        """Take what an event of a run with a camera came to; `before` is the shoe before it."""
        table = step.session.table
        shoe = table.shoe.name
        if isinstance(event, CoupCommand) and accepted(step.outputs):
            self._coup(shoe, event.coup, event.at).helped = True
        for output in step.outputs:
            self._take_output(output)
        match event:
            case events.CoupSeen():
                coups = (*table.done, *((table.coup,) if table.coup else ()))
                for coup in (each for each in coups if each.sight == event.coup):
                    self._take_seen(self._coup(shoe, coup.number, event.at), event)
            case events.CutCardOut() if not self._cut_came(shoe):
                number, code = _cut(table)
                self._coup(shoe, number, event.at).codes.add(code)
            case events.Stopped() | events.ShoeStarted() if before:
                end = self._begun(before, f"{END}{len(self.runs)}", event.at)
                if end.until > end.since:
                    self.ends[end.key] = end

    def _take_output(self, output: Output) -> None:
        if isinstance(output, CoupResult):
            self._take_result(output)
        elif isinstance(output, AlertChanged) and output.first:
            alert = output.alert
            if alert.severity is not Severity.INFO and alert.coup:
                coup = self._coup(alert.shoe, alert.coup, output.at)
                coup.codes.add(alert.code)
                if alert.code == "SWITCH" and alert.card and alert.second:
                    coup.switched |= {alert.card: alert.second, alert.second: alert.card}

    def _cut_came(self, shoe: str) -> bool:
        cut = {CUT_CARD, CUT_FIRST}
        return any(cut & c.codes for c in self.coups.values() if c.shoe == shoe)

    def _take_result(self, result: CoupResult) -> None:
        coup = self._coup(result.shoe, result.coup, result.at)
        coup.helped |= bool(result.by)
        # Of what is one alert for the whole shoe, the results say in which coups it came.
        coup.codes |= {code for code in result.faults if KINDS[code].of_shoe}
        if coup.helped:
            return
        if result.winner is not None:
            coup.finals.add(_reported(result))
        coup.result = result
        coup.until = max(coup.until, result.at)

    def _take_seen(self, coup: ReadCoup, seen: events.CoupSeen) -> None:
        taken_off = False
        for card in seen.cards:
            times = coup.times.setdefault(card.order, {})
            taken_off |= card.life is events.Life.REMOVED
            times.setdefault(card.life, seen.at)
            if card.face_up:
                coup.faced.setdefault(card.order, seen.at)
        coup.cards = seen.cards
        coup.until = max(coup.until, seen.at)
        if not coup.is_cleared:
            coup.shown, coup.is_cleared = seen.at, taken_off

    def _coup(self, shoe: str, number: int, at: int) -> ReadCoup:
        """Return a coup, begun where it is the first that is heard of it."""
        key = f"{shoe}/{number}"
        if key not in self.coups:
            self.coups[key] = self._begun(shoe, str(number), at)
        return self.coups[key]

    def _begun(self, shoe: str, name: str, at: int) -> ReadCoup:
        since = max(self._since, max((c.until for c in self.coups.values()), default=0))
        facts = {**self._facts, "hour": f"{at // 3_600_000 % 24:02d} h UTC", "shoe": shoe}
        return ReadCoup(shoe, name, min(since, at), at, at, facts)

    def _take_fact(self, fact: Recorded, taken: Taken) -> None:
        number = taken.record.number
        if fact.kind is Fact.PICTURE_SEEN:
            self._seen.add((fact.by, fact.subject.rpartition("/")[2]))
        elif fact.kind is Fact.RESULTS_SEEN:
            self._seen.add((fact.by, fact.subject))
        elif fact.kind in IN_A_ROLE and (
            taken.before is None or order_fault(taken.before, taken.content)
        ):
            self.unproven.append(number)
        elif fact.kind is Fact.ACCEPTANCE_SET:
            self._take_terms(number, Terms.read(fact.detail))
        elif fact.kind is Fact.BUNDLE_ALLOWED:
            self.allowed = fact
        elif fact.kind is Fact.COUP_KEYED and (
            found := keyed_of(fact.subject, fact.by, fact.role, fact.detail)
        ):
            draw = int(taken.record.hash[:DIGITS], 16) / 16**DIGITS
            pieces = [each.id for each in self.pieces.get(found.coup, ())]
            names = ("", found.coup.rpartition("/")[0], *pieces)
            seen = any((fact.by, name) in self._seen for name in names)
            self.keyed.append(replace(found, at=fact.at, record=number, draw=draw, seen=seen))

    def _take_terms(self, number: int, terms: Terms) -> None:
        self.terms.append((number, terms))
        before = self._set
        self._set = before.grown(terms) if before and self.keyed else terms
        if self._set != terms:
            self.cuts.append((number, terms))
        elif before and self.keyed and terms != before:
            self.grown.append((number, before))


def keyed_of(coup: str, by: str, role: str, detail: str) -> Keyed | None:
    """Return the answer that a desk reports, None where it is none."""
    found = REVISION.fullmatch(detail)
    try:
        return (
            by and found and Keyed(coup, by, role, int(found[1]), read_answer(found[2]))
        ) or None
    except ConfigurationError:
        return None


def _cut(table: Table) -> tuple[int, str]:
    """Return in which coup the cut card came, and whether before its first card."""
    coup = table.coup
    if coup is None or coup.cleared_at is not None:
        return (0 if coup is None else coup.number) + 1, CUT_FIRST
    return coup.number, CUT_CARD


def _reported(result: CoupResult) -> tuple[Any, ...]:
    return result.winner, result.punto.cards, result.banco.cards
