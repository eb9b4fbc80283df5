"""Watch the mouth of the shoe: say when a card leaves it, goes back, or shows its face there.

How it works. Each picture is measured by itself (`MouthMeter`): is nothing out, a card partly out,
or wholly out, and how far. Pictures that follow one another say nearly the same, so a filter over
time (`Belief`) adds their evidence up and needs more than one bad picture to change its mind. What
it is sure of is one of the things `Seen`, and moves a state machine, which is the table `TURNS`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum

from vision.sight.geometry.frame import Image
from vision.sight.mouth.colours import Cells, KnownColours
from vision.sight.mouth.measurement import Measurement, MouthMeter, Phases, Shown
from vision.sight.mouth.signs import MouthEvent, MouthSign

# From this probability on a phase is believed (0 to 1). Chosen by trying on three films of another
# renderer and on plays drawn at random (`python -m models.evaluate.mouth`): lower says cards that
# are none, higher says them late or never.
SURE = 0.8
# Pictures within this time, ms, share one picture's worth of evidence: what misled the network is
# still there in the next one. Shorter trusts bursts of bad pictures, longer is late.
SAME_MS = 45
# Mean time in ms that a phase lasts, for the filter. Draws take 100 to 700 ms. Longer is steadier
# and misses quick cards: on twelve films of styles to tune on, 116 of 128 cards were told on time
# with 250 and 118 with 150.
LASTING_MS = 150
# Where a phase goes when it ends, by the ways that a card can go: rest, partly, wholly. A card that
# is seen wholly out at once was carried past, or was too quick for the camera.
ENDS = {
    "rest": Phases(0.0, 0.85, 0.15),
    "partly": Phases(0.4, 0.0, 0.6),
    "wholly": Phases(0.9, 0.1, 0.0),
}
# How far out, in depths of a card, a card that is partly out counts as a little and as nearly. The
# gap keeps a card that waits half out from being both by turns.
LITTLE, NEARLY = 0.4, 0.6
# A card has left when it has been believed wholly out for so long, ms: two or three pictures. The
# network sees a card clear when its edge is at the mouth's, a few mm early; told at once, half of
# the cards of the films at hand were told 10 to 60 ms before they were out. Longer is only later.
SETTLED_MS = 60
# A card partly out with no hand near for so long, ms, waits there: nobody draws it or pushes it
# back. From this probability (0 to 1) on a hand is near. Shorter, and a hand that is overlooked
# in a few pictures makes a returned card the next one; longer, and a quick next draw is lost.
WAITING_MS = 200
HAND_NEAR = 0.3
# Without a hand near for so long, ms, whatever was on its way has ended, and the story begins anew.
# Shorter, and a card that a hand has left half in is the next one; longer, and a quick dealer's
# next card is taken for the one that was going back.
ALONE_MS = 1000
# A card goes back by a hand: without a picture that shows one so surely (0 to 1), none did. Lower,
# and the next card that slides to rest is a returned one; higher, and a hand at the edge is missed.
PUSHED = 0.5
# And meanwhile it was believed, by the filter, to be partly out at least so much (0 to 1): at sixty
# pictures a second a card is pushed back before the filter is sure. Lower, and a shadow goes back.
LIKELY = 0.5
# A card is seen to come back if, still wholly out, it is so much nearer than it was, in depths of a
# card. Smaller, and a card that is turned over before the shoe comes back; larger, and a card
# pushed back quickly is seen in too few pictures.
NEARER = 0.25
# A card that seemed to be pushed back has left after all if it comes so far, in depths of a card.
# Nearer to 1, and a hand that draws back from a returned card is a departure.
CLEARLY = 1.05
# Where no picture showed a hand so surely, and none in which a card seemed to be wholly out had its
# edge so far out, in depths of a card, the departure is believed so much less (0 to 1): it was a
# shadow. Nearer, and shadows at a shoe that shows most of a card leave; farther, and a card whose
# hand is overlooked is missed where its way out is not seen.
OUT_FAR, NO_HAND = 0.9, 0.2
# After this time without a picture, ms, nobody knows what happened: the watcher begins again.
LOST_MS = 1000
# How long a face must show in the mouth, ms of pictures, and how surely (0 to 1), to be exposed.
# The corner of a face that is drawn and turned passes in less.
EXPOSED_MS = 300
EXPOSED_SURE = 0.8
# From this share on it is said as a face that another witness must see too (0 to 1): on twelve
# films of styles to tune on, five of 128 cards with their backs up came to it, none to the one
# above. Lower asks the other witness more often, higher needs the one above alone.
EXPOSED_LIKELY = 0.6
# From this mean probability over its way out on, what left was the cut card, or two cards (0 to 1).
# High, by judgement: a card told as the cut card is one too few. The network knows both poorly.
CUT_SURE = 0.8
TOGETHER_SURE = 0.7
# What a card shows is judged up to here, in depths of a card out: behind one that is farther out
# the next one comes to light, which may be the cut card.
EARLY = 0.66
# How much a share of new colours (0 to 1) says of the cut card, in logarithms of odds; the share
# that says nothing; and the least and most that it may say. On films of two simulators ordinary
# cards have 0.02 at most, one 0.08, the cut card 0.1 to 0.3 unless it is white. More weight, and a
# sleeve of a new colour is a cut card; less, and only a bright cut card is seen.
NOVEL_WEIGHT, NOVEL_EVEN = 60.0, 0.05
NOVEL_LEAST, NOVEL_MOST = -1.0, 3.0
# How much a departure is believed of which the end was not seen: nearly out, and then gone (0 to
# 1). As often right on plays drawn at random.
UNSEEN_END = 0.8
# From this probability (0 to 1) on a single picture in which a card is wholly out shows that one
# that came out has left, if nothing is there in the next. A quick card at ten pictures a second is
# wholly in sight in one. Lower tells hands as cards, higher misses quick draws.
FLASH = 0.5
# Slope and offset of the line that makes the odds said those found (logarithms): 1 and 0 is none.
# Between the fit to plays to tune on (0.8, 0.5: half of what happens there is a trap) and that to
# films to tune on (1.5, 0.9), as `models.evaluate.mouth` prints them. Steeper trusts traps.
CALIBRATION = (1.0, 0.4)


class Seen(Enum):
    """What is believed of the mouth."""

    REST = 0  # nothing is out
    LITTLE = 1  # a card is out a little
    HALF = 2  # a card is about half out
    NEARLY = 3  # a card is nearly out
    WHOLLY = 4  # a card is wholly out, or carried past
    SETTLED = 5  # and has been for a moment
    WAITING = 6  # a card is partly out, and for a moment no hand has been near
    LEFT_THERE = 7  # the same of one that came back before: it waits where the next one does
    ALONE = 8  # no hand has been near for long, and what is out is not clear


class Stage(Enum):
    """How far the story of the card at the mouth has come."""

    RESTING = 0  # all cards are in the shoe
    PASSING = 1  # a card before the mouth that was not seen to come out of it
    EMERGING = 2  # a card comes out
    NEARLY = 3  # it is nearly out
    DRAWN_BACK = 4  # it was nearly out and goes back
    OUT = 5  # it is just out
    AWAY = 6  # it is out and has been told
    AT_LIP = 7  # it is told and back at the edge of the mouth, or seems so
    PUSHED_BACK = 8  # it is told and goes back


# What is seen in a stage: the next stage, and what is said. What is not here changes nothing.
TURNS: dict[tuple[Stage, Seen], tuple[Stage, MouthSign | None]] = {
    # The first that is seen of a card depends on its speed and on the hand over it.
    (Stage.RESTING, Seen.LITTLE): (Stage.EMERGING, MouthSign.LEAVING),
    (Stage.RESTING, Seen.HALF): (Stage.EMERGING, MouthSign.LEAVING),
    (Stage.RESTING, Seen.NEARLY): (Stage.EMERGING, MouthSign.LEAVING),
    (Stage.RESTING, Seen.WHOLLY): (Stage.PASSING, None),
    # A card lies before the shoe or is carried past: the next one comes out behind it.
    (Stage.PASSING, Seen.REST): (Stage.RESTING, None),
    (Stage.PASSING, Seen.LITTLE): (Stage.EMERGING, MouthSign.LEAVING),
    (Stage.PASSING, Seen.HALF): (Stage.EMERGING, MouthSign.LEAVING),
    (Stage.PASSING, Seen.NEARLY): (Stage.EMERGING, MouthSign.LEAVING),
    # Nothing was out but an edge, or a finger was taken for one.
    (Stage.EMERGING, Seen.REST): (Stage.RESTING, None),
    (Stage.EMERGING, Seen.NEARLY): (Stage.NEARLY, None),
    (Stage.EMERGING, Seen.WHOLLY): (Stage.OUT, None),
    # Nearly out, and then nothing: it was too quick, or a hand hid its end.
    (Stage.NEARLY, Seen.REST): (Stage.RESTING, MouthSign.LEFT),
    (Stage.NEARLY, Seen.WHOLLY): (Stage.OUT, None),
    (Stage.NEARLY, Seen.LITTLE): (Stage.DRAWN_BACK, None),
    (Stage.DRAWN_BACK, Seen.REST): (Stage.RESTING, MouthSign.RETURNED),
    (Stage.DRAWN_BACK, Seen.NEARLY): (Stage.NEARLY, None),
    (Stage.DRAWN_BACK, Seen.WHOLLY): (Stage.OUT, None),
    # Just out: it has left if it stays so, or is gone.
    (Stage.OUT, Seen.SETTLED): (Stage.AWAY, MouthSign.LEFT),
    (Stage.OUT, Seen.REST): (Stage.RESTING, MouthSign.LEFT),
    (Stage.OUT, Seen.NEARLY): (Stage.NEARLY, None),
    # No card goes from wholly out to half in at once: this is the next one.
    (Stage.OUT, Seen.LITTLE): (Stage.EMERGING, MouthSign.LEFT),
    (Stage.OUT, Seen.HALF): (Stage.EMERGING, MouthSign.LEFT),
    # Out and told: it goes, the next one comes, or it is pushed back.
    (Stage.AWAY, Seen.REST): (Stage.RESTING, None),
    (Stage.AWAY, Seen.LITTLE): (Stage.EMERGING, MouthSign.LEAVING),
    (Stage.AWAY, Seen.HALF): (Stage.EMERGING, MouthSign.LEAVING),
    (Stage.AWAY, Seen.NEARLY): (Stage.AT_LIP, None),
    (Stage.AT_LIP, Seen.REST): (Stage.RESTING, None),
    (Stage.AT_LIP, Seen.WHOLLY): (Stage.AWAY, None),
    (Stage.AT_LIP, Seen.SETTLED): (Stage.AWAY, None),
    (Stage.AT_LIP, Seen.LITTLE): (Stage.PUSHED_BACK, None),
    (Stage.AT_LIP, Seen.HALF): (Stage.PUSHED_BACK, None),
    (Stage.PUSHED_BACK, Seen.REST): (Stage.RESTING, MouthSign.RETURNED),
    (Stage.PUSHED_BACK, Seen.SETTLED): (Stage.AWAY, MouthSign.LEFT),
    (Stage.PUSHED_BACK, Seen.LEFT_THERE): (Stage.EMERGING, MouthSign.RETURNED),
    # Nobody pushes it: the next one lies there, as it does in shoes that show half of it.
    (Stage.AWAY, Seen.WAITING): (Stage.EMERGING, MouthSign.LEAVING),
    (Stage.AT_LIP, Seen.WAITING): (Stage.EMERGING, MouthSign.LEAVING),
    (Stage.PUSHED_BACK, Seen.WAITING): (Stage.EMERGING, MouthSign.LEAVING),
    (Stage.PASSING, Seen.ALONE): (Stage.RESTING, None),
    (Stage.AWAY, Seen.ALONE): (Stage.RESTING, None),
    (Stage.AT_LIP, Seen.ALONE): (Stage.RESTING, None),
    (Stage.PUSHED_BACK, Seen.ALONE): (Stage.RESTING, None),
}


# The stages in which a card is on its way, or may be.
PASSING_STAGES = {
    Stage.EMERGING, Stage.NEARLY, Stage.DRAWN_BACK, Stage.OUT, Stage.PUSHED_BACK,
}  # fmt: skip
# A departure less probable than this (0 to 1) is not told. Lower, and a shadow on a card is one.
LEAST_TOLD = 0.3
# What is believed before the first picture.
AT_REST = Phases(1.0, 0.0, 0.0)


@dataclass(slots=True)
class Belief:
    """The probabilities of the phases, from all pictures so far."""

    phases: Phases = AT_REST

    def add(self, seen: Phases, elapsed: int) -> None:
        """Take in what a picture shows, so many ms after the one before."""
        change = 1 - math.exp(-min(elapsed, LASTING_MS) / LASTING_MS)
        weight = min(1.0, elapsed / SAME_MS)
        expected = [
            stays * (1 - change)
            + change * sum(p * ENDS[name][to] for name, p in self.phases._asdict().items())
            for to, stays in enumerate(self.phases)
        ]
        joint = [e * max(s, 1e-4) ** weight for e, s in zip(expected, seen, strict=True)]
        self.phases = Phases(*(value / sum(joint) for value in joint))


@dataclass(slots=True)
class Passage:
    """What was seen of one card on its way out: sums over pictures, for means, and the surest.

    Two sums of what it shows: from its beginning, and from the whole way.
    """

    weights: list[float] = field(default_factory=lambda: [0.0, 0.0])
    cut_sums: list[float] = field(default_factory=lambda: [0.0, 0.0])
    partly: float = 0.0
    together_sum: float = 0.0
    surest: float = 0.0
    flash: float = 0.0  # how surely any one picture showed it wholly out
    hand: float = 0.0  # how surely any one picture showed a hand at the mouth
    farthest: float = 0.0  # how far out its edge was where it seemed to be wholly out
    pictures: list[Cells] = field(default_factory=list)

    def add(self, found: Measurement, phases: Phases) -> None:
        """Take in one picture in which a card is out with some probability."""
        out = phases.partly + phases.wholly
        early = phases.partly if found.shift < EARLY else 0.0
        for which, weight in enumerate((early, out)):
            self.weights[which] += weight
            self.cut_sums[which] += weight * found.shown.cut
        self.partly += phases.partly
        self.together_sum += phases.partly * found.together
        self.surest = max(self.surest, phases.partly)
        self.flash = max(self.flash, found.phases.wholly)
        self.hand = max(self.hand, found.hand)
        if found.phases.wholly > 0.5:
            self.farthest = max(self.farthest, found.shift)
        if found.cells is not None and out > 0.5:
            self.pictures.append(found.cells)

    @property
    def cut(self) -> float:
        """How likely it is the cut card by its looks, 0 to 1."""
        which = 0 if self.weights[0] > 1 else 1
        return self.cut_sums[which] / self.weights[which] if self.weights[which] else 0.0

    @property
    def was_pushed(self) -> bool:
        """Whether a card was likely partly out meanwhile, and a hand there that can have moved it.

        Where the next card comes to rest, or a shadow goes by, it is neither.
        """
        return self.surest > LIKELY and self.hand > PUSHED

    @property
    def was_drawn(self) -> bool:
        """Whether a hand was there that can have drawn it, or it was surely out."""
        return self.hand > PUSHED or self.farthest > OUT_FAR

    @property
    def together(self) -> float:
        """How likely it is two cards, 0 to 1."""
        return self.together_sum / self.partly if self.partly else 0.0


@dataclass(slots=True)
class Face:
    """For how long the card in the mouth has shown its face."""

    shown_ms: float = 0.0
    share: float = 0.0
    told: float = 0.0  # the greatest share that was told

    def add(self, shown: Shown, elapsed: int) -> MouthSign | None:
        """Take in one picture of a card in the mouth; return what is to be said of it, once."""
        keep = math.exp(-elapsed / EXPOSED_MS)
        self.share = keep * self.share + (1 - keep) * shown.face
        self.shown_ms = self.shown_ms + elapsed if shown.face > 0.5 else 0.0
        if self.share < 1 - EXPOSED_SURE:
            self.told = 0.0
        likely = self.share >= EXPOSED_LIKELY and self.shown_ms >= EXPOSED_MS
        for least, sign in (
            (EXPOSED_SURE, MouthSign.EXPOSED),
            (EXPOSED_LIKELY, MouthSign.FACE),
        ):
            if likely and self.told < least <= self.share:
                self.told = self.share
                return sign
        return None


def calibrated(probability: float) -> float:
    """Return how often departures told so surely (0 to 1) were right on plays kept for that."""
    odds = math.log(max(probability, 1e-6) / max(1 - probability, 1e-6))
    slope, offset = CALIBRATION
    return 1 / (1 + math.exp(-slope * odds - offset))


def cut_probability(looks: float, novelty: float | None) -> float:
    """Return how likely it is the cut card that left (0 to 1): by its looks and new colours.

    Before the first cards are known nothing is new: some backs look like a cut card.
    """
    novelty = novelty or 0.0
    odds = math.log(max(looks, 1e-4) / max(1 - looks, 1e-4))
    odds += min(max(NOVEL_WEIGHT * (novelty - NOVEL_EVEN), NOVEL_LEAST), NOVEL_MOST)
    return 1 / (1 + math.exp(-odds))


def _departure(left: Passage, novelty: float | None, at: int, probability: float) -> MouthEvent:
    """Return the sign of a departure, by what the card was that left."""
    cut = cut_probability(left.cut, novelty)
    if cut > CUT_SURE:
        return MouthEvent(at, MouthSign.CUT, probability * cut)
    if left.together > TOGETHER_SURE:
        return MouthEvent(at, MouthSign.TOGETHER, probability * left.together)
    return MouthEvent(at, MouthSign.LEFT, probability)


@dataclass(slots=True)
class MouthWatcher:
    """Watches one shoe's mouth; to be shown every picture, in order of time.

    What leaves is told once: as LEFT, or as CUT or TOGETHER if it was that.
    """

    meter: MouthMeter
    stage: Stage = Stage.RESTING
    belief: Belief = field(default_factory=Belief)
    last: Measurement | None = None
    _passage: Passage = field(default_factory=Passage)
    _face: Face = field(default_factory=Face)
    _colours: KnownColours = field(default_factory=KnownColours)
    _wholly_ms: float = 0.0
    _farthest: float = 0.0
    _nearer: float = 0.0
    _free_ms: float = 0.0
    _alone_ms: float = 0.0
    _shift_before: float = 0.0
    _at: int | None = None

    def look(self, image: Image, at: int) -> tuple[MouthEvent, ...]:
        """Return what happened at the mouth up to this picture, taken at `at` (ms)."""
        elapsed = at - self._at if self._at is not None else 0
        self._at = at
        if elapsed > LOST_MS:
            self._begin_again()
            elapsed = 0
        self.last = found = self.meter(image, at)
        return self.step(found, at, elapsed)

    def step(self, found: Measurement, at: int, elapsed: int) -> tuple[MouthEvent, ...]:
        """Return what a measurement means, `elapsed` ms after the one before."""
        was_wholly = self.belief.phases.wholly > SURE
        self.belief.add(found.phases, max(elapsed, 1))
        wholly = was_wholly and self.belief.phases.wholly > SURE
        self._wholly_ms = self._wholly_ms + elapsed if wholly else 0.0
        self._farthest = max(self._farthest if wholly else 0.0, found.shift)
        if found.phases.wholly > SURE:
            self._nearer = self._farthest - found.shift
        free = self.belief.phases.partly > SURE and found.hand < HAND_NEAR
        self._free_ms = self._free_ms + elapsed if free else 0.0
        self._alone_ms = self._alone_ms + elapsed if found.hand < HAND_NEAR else 0.0
        events = []
        if self.stage in PASSING_STAGES:
            self._passage.add(found, self.belief.phases)
        face = self._face.add(found.shown, elapsed) if self._in_mouth(found) else None
        if face is not None:
            events.append(MouthEvent(at, face, self._face.share))
        seen = self._seen(found)
        self._shift_before = found.shift if found.phases.rest < 0.5 else math.inf
        turn = TURNS.get((self._stage_for(seen), seen)) if seen is not None else None
        if turn is not None:
            events += self._turn(turn, found, at)
        return tuple(events)

    def _stage_for(self, seen: Seen | None) -> Stage:
        """Return the stage, but that a card is gone of which a picture showed that it was out."""
        gone = self.stage is Stage.EMERGING and seen is Seen.REST
        return Stage.NEARLY if gone and self._passage.flash > FLASH else self.stage

    def _turn(
        self, turn: tuple[Stage, MouthSign | None], found: Measurement, at: int
    ) -> list[MouthEvent]:
        """Go to the next stage; return what is to be said."""
        before, (self.stage, sign) = self.stage, turn
        if self.stage in {Stage.EMERGING, Stage.PUSHED_BACK} and before is not self.stage:
            left, self._passage = self._passage, Passage()
            self._passage.add(found, self.belief.phases)
        else:
            left = self._passage
        if sign is None or (sign is MouthSign.RETURNED and not left.was_pushed):
            return []
        if sign is not MouthSign.LEFT:
            return [MouthEvent(at, sign, max(self.belief.phases))]
        self._face = Face()
        unseen = before is not Stage.OUT
        probability = max(self.belief.phases) * left.surest * (UNSEEN_END if unseen else 1)
        probability *= 1 if left.was_drawn else NO_HAND
        event = _departure(left, self._colours.novelty(left.pictures), at, calibrated(probability))
        if event.sign is not MouthSign.CUT:
            self._colours.learn(left.pictures)
        return [event] if event.probability >= LEAST_TOLD else []

    def _seen(self, found: Measurement) -> Seen | None:
        """Return what is believed of the mouth, None if nothing surely."""
        phases = self.belief.phases
        if phases.rest > SURE:
            return Seen.REST
        quick = self._seen_quickly(found)
        if quick is not None:
            return quick
        if phases.wholly > SURE:
            # A hand that leaves a card behind in the mouth looks like a card that is just out.
            far = self.stage is not Stage.PUSHED_BACK or self._farthest > CLEARLY
            return Seen.SETTLED if far and self._wholly_ms >= SETTLED_MS else Seen.WHOLLY
        if phases.partly > SURE:
            return self._seen_partly(found)
        return Seen.ALONE if self._alone_ms >= ALONE_MS else None

    def _seen_partly(self, found: Measurement) -> Seen:
        """Return how far a card is out that is surely partly out."""
        told = self.stage in {Stage.AWAY, Stage.AT_LIP, Stage.PUSHED_BACK}
        if told and self._free_ms >= WAITING_MS:
            came_back = self.stage is Stage.PUSHED_BACK and self._nearer > NEARER
            return Seen.LEFT_THERE if came_back else Seen.WAITING
        if found.shift < LITTLE:
            return Seen.LITTLE
        return Seen.NEARLY if found.shift > NEARLY else Seen.HALF

    def _seen_quickly(self, found: Measurement) -> Seen | None:
        """Return what one picture shows of a card that goes in or comes out behind another.

        Before the filter believes it, a card that is pushed back is in, and the next one half out.
        """
        if self.stage is Stage.AT_LIP:
            return Seen.HALF if found.phases.wholly < 0.5 and found.shift < NEARLY else None
        if self.stage not in {Stage.OUT, Stage.AWAY} or found.phases.partly <= 0.5:
            return None
        # The one that was out goes back by and by; the next one is in from one picture to another.
        by_and_by = self._shift_before < 1
        if found.shift < LITTLE and not by_and_by:
            return Seen.LITTLE
        going_back = self.stage is Stage.AWAY and (by_and_by or found.shift > NEARLY)
        return Seen.NEARLY if going_back else None

    def _in_mouth(self, found: Measurement) -> bool:
        """Whether the card that is measured is surely still in the mouth."""
        if self.stage is Stage.RESTING:
            return self.belief.phases.rest > SURE and found.hand < 0.5
        return self.stage is Stage.EMERGING and self.belief.phases.partly > SURE

    def _begin_again(self) -> None:
        self.stage, self.belief = Stage.RESTING, Belief()
        self._passage, self._face = Passage(), Face()
