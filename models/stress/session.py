"""One simulated session: coups dealt, sensed, followed, read and folded, and judged.

What is simulated ends at the sightings, the signs of the mouth and the look of a face; the tracker,
the card reader and the rules of the game are the product's own.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from datasets.dealing.deal import CUT, Coup, Drawn, Mistake
from datasets.dealing.dealer_mistakes import BY_CHANCE, MOST, lay_out
from datasets.dealing.scenario import Dealing, Slip
from models.stress.dealer import Dealer, Dealt, Trick
from models.stress.sensor import Noise, Sensor, TrueTable, mouth_signs
from models.stress.styles import HELD_OUT, TUNED, Style
from models.stress.world import Layout, World
from vision.game.cards import DECK, Card
from vision.game.coup.state import Table, new_table
from vision.game.events import CutCardOut, Event, Noticed, ShoeStarted, TimePassed
from vision.game.fold.step import step
from vision.game.outputs import AlertChanged, CardSeen, CoupResult, Output
from vision.game.rules import Dealing as RuleDealing
from vision.game.rules import Rules
from vision.sight.detection.classifier import Classify, Look
from vision.sight.detection.detector import Kind
from vision.sight.geometry.frame import Frame, Image, Points
from vision.sight.mouth.signs import MouthEvent
from vision.sight.reading.reader import CardReader
from vision.sight.tracking.tracker import Tracker, Uses

FPS = (5, 8, 10, 12, 15, 20, 25, 30, 60)  # frames a second of the cameras that take part
LOOKS_PER_S = 15.0  # the default of `models.looks_per_s`
# For how long, in s, frames are looked at after a movement: a face is read by then, and one that
# was hidden is checked again (`switching.SURE_MS` and the looks it takes). Set by judgement;
# shorter, and what the reader waits for is not seen.
STILL_S = 2.0
FAULT_AT = 5  # the first coup with a fault, where every tenth has one; any but the last will do
START_MS = 1_000_000  # time of the first frame; any will do
BLANK: Image = np.zeros((700, 1400, 3), np.uint8)  # the table, empty: only its size matters


@dataclass(frozen=True, slots=True)
class Bench:
    """What is tried: how strong the noise is, which dealers, and what the tracker may use.

    `style`, `fps` and `trick` (of each coup with a fault) are drawn by chance where they are None.
    """

    noise: Noise = field(default_factory=Noise)
    held_out: bool = True
    fault_every: int = 10
    uses: Uses = field(default_factory=Uses)
    coups: int = 10
    style: Style | None = None
    fps: int | None = None
    trick: Trick | None = None


@dataclass(slots=True)
class Verdict:
    """What became of one coup: `outcome` is right, doubt, wrong or missing."""

    dealt: Dealt
    outcome: str
    wanted: set[str]
    raised: set[str]
    shown: str = ""


@dataclass
class Session:
    """A table, one dealer, and a run of coups made from a seed."""

    seed: int
    bench: Bench
    dealt: list[Dealt] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        styles = HELD_OUT if self.bench.held_out else TUNED
        self.style = self.bench.style or styles[self.seed % len(styles)]
        self.fps = self.bench.fps or self.rng.choice(FPS)
        self.world = World(Layout.of(shoe_left=self.rng.random() < 0.5))
        shoe = list(DECK) * 8
        self.rng.shuffle(shoe)
        dealer = Dealer(self.world, self.style, self.rng, self.rng.uniform(0.8, 1.5))
        for number in range(1, self.bench.coups + 1):
            faulty = (
                self.bench.fault_every
                and number % self.bench.fault_every == FAULT_AT % self.bench.fault_every
            )
            self.dealt.append(dealer.deal(*self._coup(number, shoe, faulty=bool(faulty))))

    def _coup(self, number: int, shoe: list[Card], *, faulty: bool) -> tuple[Coup, Trick | None]:
        """Take the cards of a coup from the shoe, with a fault of either sort where wanted."""
        slips: tuple[Slip | None, ...] = (None,)
        trick: Trick | None = None
        if faulty:
            slips, tricks = BY_CHANCE, (*Trick, None, None, None, None, None, None)
            trick = self.bench.trick or self.rng.choice(tricks)
            slips = (None,) if trick else BY_CHANCE
        slip = self.rng.choice(slips)
        side = self.rng.random() < 0.5
        while True:
            cards = self.rng.sample(shoe, MOST)
            laid = lay_out(slip, cards, side)
            if laid is not None and len(laid[0]) <= MOST:
                break
        drawn = [Drawn(n, c, p) for n, (c, p) in enumerate(zip(cards, laid[0], strict=False))]
        for card in cards[: len(drawn)]:
            shoe.remove(card)
        if number == self.bench.coups and self.rng.random() < 0.3:
            drawn.insert(self.rng.randrange(len(drawn)), Drawn(0, None, CUT))
        mistakes = tuple(Mistake(code, None, moment) for code, _, moment in laid[1])
        return Coup(number, Dealing.FACE_UP, tuple(drawn), mistakes), trick

    # --- seeing ----------------------------------------------------------------------------------

    def frames(self) -> Iterator[float]:
        """Yield the times (s) of the frames that are looked at: while something moves."""
        spans: list[list[float]] = []
        for start, end in sorted(self.world.active):
            if spans and start <= spans[-1][1]:
                spans[-1][1] = max(spans[-1][1], end + STILL_S)
            else:
                spans.append([start - 0.1, end + STILL_S])
        every, due, at, index = 1 / LOOKS_PER_S, 0.0, 0.0, 0
        end = self.dealt[-1].ended + 6.0
        spans.append([end - 1.0, end])
        while index < len(spans):
            at += 1 / self.fps
            while index < len(spans) and at > spans[index][1]:
                index += 1
                if index < len(spans):
                    at = max(at, spans[index][0])
            if index < len(spans) and at >= due - 1e-9:
                due = max(due + every, at + every / 2)
                if self.rng.random() >= self.bench.noise.dropped:
                    yield at

    def run(self) -> list[Verdict]:
        """Play the session and judge each coup."""
        view = self.world.layout.view()
        sensor = Sensor(self.world, self.bench.noise, self.rng)
        tracker = Tracker(view, TrueTable(sensor), self.bench.uses)
        reader = CardReader(
            self._classify(sensor),
            error_bound=1e-5,
            decks=8,
            face_down=self.style.four_down,
        )
        signs = [s for dealt in self.dealt for s in dealt.signs]
        mouth = mouth_signs(signs, self.bench.noise, self.rng)
        dealing = RuleDealing.PUNTO_FIRST if self.style.four_down else RuleDealing.FACE_DOWN
        table = self._take(new_table(Rules(dealing=dealing)), [ShoeStarted(START_MS, "s")])
        for second in self.frames():
            at = round(1000 * second)
            now = [event for event in mouth if event.at <= at]
            del mouth[: len(now)]
            seen = self._look(sensor, tracker, reader, at, now)
            table = self._take(table, seen, at + START_MS)
        table = self._take(table, [], START_MS + round(1000 * self.dealt[-1].ended) + 60_000)
        return self._judge()

    def _look(
        self,
        sensor: Sensor,
        tracker: Tracker,
        reader: CardReader,
        at: int,
        mouth: Sequence[MouthEvent],
    ) -> list[Event]:
        found = sensor.sense(at / 1000)
        hands = sensor.hands()
        when = at + START_MS
        shifted = [replace(sign, at=sign.at + START_MS) for sign in mouth]
        tracks = tracker.follow(found, when, BLANK, mouth=shifted, hands=hands)
        events = list(reader.update(tracks, Frame(index=0, at=when, image=BLANK)).events)
        noticed = [Noticed(when, each.code, detail=each.detail) for each in tracker.findings()]
        exposed = [Noticed(when, "EXPOSED_IN_SHOE")] if tracker.newly_exposed() else []
        return [*exposed, *noticed, *events]

    def _classify(self, sensor: Sensor) -> Classify:
        def classify(_: Image, quads: Sequence[Points]) -> list[Look]:
            return [self._face(sensor, quad) for quad in quads]

        return classify

    def _face(self, sensor: Sensor, quad: Points) -> Look:
        """Return the look at whatever face truly lies in a quad."""
        x, y = quad.mean(axis=0).tolist()
        under = [
            (math.hypot(pose.x - x, pose.y - y), prop.card)
            for prop, pose, kind, _ in sensor.cards
            if kind is Kind.FACE and prop.card is not None
        ]
        far, card = min(under, key=lambda each: each[0], default=(99.0, None))
        log_p = np.full(52, math.log(1e-4 / 51), np.float32)
        if card is None or far > 25:
            return Look(np.full(52, -math.log(52), np.float32), 0.05)
        log_p[card.index] = math.log(1 - 1e-4)
        return Look(log_p, 0.95)

    def _take(self, table: Table, events: Sequence[Event], at: int | None = None) -> Table:
        for event in events:
            self.events.append(event)
            table, outputs = step(table, event)
            self.outputs += outputs
        while at is not None and table.waits_until is not None and table.waits_until <= at:
            due = table.waits_until
            table, outputs = step(table, TimePassed(max(due, START_MS)))
            self.outputs += outputs
            if table.waits_until == due:
                break
        return table

    # --- judging ---------------------------------------------------------------------------------

    def _judge(self) -> list[Verdict]:
        # A coup is of the time at which its first card lay: one told too early may become it.
        out: dict[int, int] = {}
        laid: dict[int, int] = {}
        results: dict[int, CoupResult] = {}
        raised: dict[int, set[str]] = {}
        seen = [output for output in self.outputs if isinstance(output, CardSeen)]
        none = {card.order for card in seen if card.event == "withdrawn"}
        for output in self.outputs:
            if isinstance(output, CardSeen) and output.event == "out" and output.order not in none:
                out.setdefault(output.coup, output.at)
            elif isinstance(output, CardSeen) and output.event == "placed":
                laid.setdefault(output.coup, output.at)
            elif isinstance(output, CoupResult):
                results[output.coup] = output
            elif isinstance(output, AlertChanged) and output.alert.severity != "info":
                raised.setdefault(output.alert.coup, set()).add(output.alert.code)
        began, verdicts = out | laid, []
        for index, dealt in enumerate(self.dealt):
            last = index + 1 == len(self.dealt)
            until = math.inf if last else self.dealt[index + 1].began
            mine = [c for c, at in began.items() if dealt.began <= (at - START_MS) / 1000 < until]
            verdicts.append(self._verdict(dealt, mine, results, raised))
        return verdicts

    def _verdict(
        self,
        dealt: Dealt,
        mine: Sequence[int],
        results: dict[int, CoupResult],
        raised: dict[int, set[str]],
    ) -> Verdict:
        codes = set().union(*(raised.get(coup, set()) for coup in mine)) if mine else set()
        wanted = {mistake.code for mistake in dealt.coup.mistakes} | (
            {dealt.trick.value} if dealt.trick else set()
        )
        if any(drawn.place == CUT for drawn in dealt.coup.drawn):
            wanted.add("CUT_CARD")
        if any(isinstance(e, CutCardOut) and dealt.covers(e.at - START_MS) for e in self.events):
            codes = codes | {"CUT_CARD"}
        shown = [results[coup] for coup in mine if coup in results]
        verdict = Verdict(dealt, "missing", wanted, codes)
        published = [result for result in shown if result.winner is not None]
        if any(not _agrees(result, dealt.coup) for result in published):
            verdict.outcome = "wrong"
        elif shown and (not published or codes & {"REVIEW"}):
            verdict.outcome = "doubt"
        elif published:
            verdict.outcome = "right"
        verdict.shown = " | ".join(
            f"{r.coup} {r.state} {r.why} {_names(r.punto.cards)} {_names(r.banco.cards)}"
            for r in shown
        )
        return verdict


def _names(cards: Sequence[Card | None]) -> str:
    return " ".join("?" if card is None else str(card) for card in cards)


def _agrees(result: CoupResult, coup: Coup) -> bool:
    hands = (coup.hand("PUNTO"), coup.hand("BANCO"))
    return (result.punto.cards, result.banco.cards) == hands and result.winner == coup.winner
