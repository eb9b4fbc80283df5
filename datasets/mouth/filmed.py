"""Training samples for the watcher of the mouth cut from films of the simulator, drawn as needed.

Only pictures around a draw are made. What a watcher should say follows from the acts.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vision.errors import ConfigurationError
from vision.game.events import Slot
from vision.sight.detection.mouth import BACK_MM, CELL_MM, HEIGHT, WIDTH, MouthPatch
from vision.sight.geometry.plane import Homography, TableView, shared_area

from ..dealing.deal import CUT
from ..dealing.film import Shot
from ..dealing.film_settings import Look, look_for
from ..dealing.manners import BURNS, in_manner
from ..dealing.scenario import Dealing, Scenario, Slip
from ..dealing.simulate import Show, rehearse
from ..dealing.style import PLAIN, Manner, Style, styles
from ..dealing.table_places import CARD_MM, SLOTS, Camera, Layout
from ..dealing.timeline import Act, Carried, is_moving, on_table, pose_at
from ..render.paint import Image, Points, jpeg
from .answers import Answer, Mouth, Placed, answer
from .shoes import Kind, Rng

# Pictures are made from so long before a card begins to leave to so long after it is out, s.
BEFORE_S, AFTER_S = 0.9, 0.7
# The picture of before is at least so old, s, as the watcher takes it.
AGE_S = 0.045
# Share of the pictures made of a phase (none could say, nothing, partly, wholly out) that is kept.
KEPT = {-1: 0.35, 0: 0.13, 1: 1.0, 2: 1.0}
# A card that left so long ago, s, passes by and leaves no more.
LEFT_S = 0.5
# A card that is out and has lain still for so long, s, lies there and leaves no more; from the
# first of the two on nobody could say.
LAIN_S = (0.15, 0.5)
# A hand within this distance of the lip is at the mouth, mm.
HAND_MM = 110.0
# What a card shows that is turned over between these shares (0 back, 1 face) cannot be said.
EDGE_ON = (0.3, 0.7)
# Share of the films in which dealer or players have a manner beside the style.
MANNERED = 0.5
# Share of the films whose only mistake is two cards drawn as one: among seven they were one in
# ninety of the samples, and never learnt.
TWICE = 0.35
# Share of the films in which the cut card passes, and cards gone before one: it lies 402 deep.
CUTS, CUT_START = 0.3, 396
Sample = tuple[Image, NDArray[np.float32]]


def film_samples(seed: int, *, split: str = "train") -> Iterator[Sample]:
    """Yield samples for ever, as `samples.samples` does."""
    return itertools.chain.from_iterable(films(seed, split=split))


def films(seed: int, *, split: str, cuts: float = CUTS) -> Iterator[Iterator[Sample]]:
    """Yield the samples of films for ever, film by film; in a share `cuts` the cut card passes."""
    rng = np.random.default_rng([{"train": 1, "test": 2}[split], 9, seed])
    while True:
        try:
            show = rehearsed(rng, split, cuts=cuts)
        except ConfigurationError:
            continue  # what is left of the shoe does not hold the cards of the mistake
        yield _of_film(rng, show)


def rehearsed(rng: Rng, split: str, style: Style | None = None, *, cuts: float = CUTS) -> Show:
    """Rehearse two coups in a style, any of the split if none, with what can go wrong."""
    if style is None:
        known = styles(split)
        style = PLAIN if rng.random() < 0.25 else known[int(rng.integers(len(known)))]
    seed = int(rng.integers(2**31))
    if rng.random() < MANNERED:
        manners = list(Manner)
        style = in_manner(style, manners[int(rng.integers(len(manners)))], seed)
    scenario = Scenario(
        seed=seed,
        coups=2,
        dealing=list(Dealing)[int(rng.integers(3))],
        pace=float(rng.uniform(0.7, 1.9)),
        started_at=CUT_START if rng.random() < cuts else 0,
        slip_every=1,
        from_sight=True,
        slips=(Slip.TWO_AT_ONCE,) if rng.random() < TWICE else (),
        burn=style.manner in BURNS,
    )
    size = ((960, 540), (1280, 720))[int(rng.integers(2))]
    lens = float(rng.uniform(-0.04, 0.04))
    camera = Camera(size, float(rng.uniform(0, 18)), lens, style.optics.turned)
    look = look_for(split, seed, camera, style=style)
    rate = float(rng.choice([10, 12, 15, 20, 25, 30, 50]))
    return rehearse(scenario, replace(look, fps=rate, noise=float(rng.uniform(0.5, 6))))


def table_view(look: Look) -> TableView:
    """Return the view of a film as its table file gives it."""
    layout = look.style.layout
    slots = {Slot[name]: layout.slot_polygon(name).astype(np.float32) for name in SLOTS}
    plane = Homography.fit(*look.camera.calibration())
    mouth, exit_mm = layout.mouth_polygon(), layout.exit
    return TableView(plane, slots, mouth.astype(np.float32), exit=exit_mm.astype(np.float32))


def _of_film(rng: Rng, show: Show) -> Iterator[Sample]:
    look, shot = show.look, Shot(show.look)
    patch = MouthPatch(table_view(look))
    quality = int(rng.choice([40, 60, 80, 100]))
    past: deque[tuple[float, Image]] = deque(maxlen=16)
    quiet: Image | None = None
    waits = last = 0.0
    for number, act in enumerate(show.acts):
        for at in _times(act, look.fps):
            cards = on_table(show.acts, number)
            frame = patch(shot.frame(cards, act, at))
            now = jpeg(frame, quality) if quality < 100 else frame
            calm = answer_at(cards, act, at, look.style.layout)
            front = _front(cards, at, look.style.layout)
            # A next card that comes forth is no rest: nothing is learnt while anything moves.
            rests = calm.phase == 0 and not calm.hand and front in (0.0, last)
            last = front
            if quiet is None or (rests and rng.random() < 0.2):
                quiet, waits = now, front
            found = answer_at(cards, act, at, look.style.layout, waits)
            before = next((p for t, p in reversed(past) if AGE_S <= at - t < 0.2), None)
            past.append((at, now))
            if before is not None and rng.random() < KEPT[found.phase]:
                yield np.concatenate([quiet, before, now]), _label(found)


def _label(found: Answer) -> NDArray[np.float32]:
    return np.array([found.phase, found.shift, found.kind, found.hand, found.together], np.float32)


def _times(act: Act, fps: float) -> Iterator[float]:
    """Yield the instants of the pictures around every draw of an act."""
    windows = [
        (begin - BEFORE_S, end + AFTER_S)
        for card in act.cards
        if card.drawn.order or card.drawn.place == CUT
        for begin, end in [
            (card.began, card.out),
            *((out - 0.5, back) for out, back in card.returns),
        ]
    ]
    for index in range(int(act.start * fps), int(act.end * fps)):
        at = index / fps
        if at < act.start + 0.2 or any(begin <= at <= end for begin, end in windows):
            yield at


def answer_at(
    cards: Sequence[Carried], act: Act, at: float, layout: Layout, waits: float | None = None
) -> Answer:
    """Return what a watcher should say of an instant of an act.

    In its picture of the mouth at rest the next card `waits` so many mm out of the lip: `None`, as
    it does before it is drawn.
    """
    seconds = {m.order for m in act.coup.mistakes if m.code == "TWO_CARDS_OUT"}
    # A card that is held, or left lying, on its way to its place is out however long it lies still.
    under_way = [card for card in cards if _is_drawn(card) and card.out <= at < card.placed]
    moved = [
        card
        for card in cards
        if card in under_way
        or is_moving(card.legs, at - LAIN_S[1], at)
        or _in_shoe(card, at, layout)
    ]
    found = [_placed(card, at, layout, seconds) for card in moved]
    grips = [pose.centre for hand in act.hands if (pose := pose_at(hand.legs, at)) is not None]
    hand = any(np.hypot(*(grip - layout.mouth)) < HAND_MM for grip in grips)
    if waits is None:
        waits = max((_waits(card, layout) for card in cards), default=0.0)
    mouth = Mouth(CARD_MM[0], int(Kind.BACK), waits)
    reported = answer([card for card in found if card is not None], mouth, hand=hand)
    still = not under_way and not any(is_moving(card.legs, at - LAIN_S[0], at) for card in cards)
    if reported.phase == 2 and still:
        reported = replace(reported, phase=-1)
    cut = any(card.drawn.place == CUT for card in cards)
    return reported if cut else reported.without_cut()


def _in_shoe(card: Carried, at: float, layout: Layout) -> bool:
    """Whether a card has not come out of the shoe wholly."""
    pose = card.pose(at)
    return pose is not None and float(((pose.corners() - layout.mouth) @ layout.way).min()) < 0


def _front(cards: Sequence[Carried], at: float, layout: Layout) -> float:
    """Return how far out of the lip cards are that have not left the shoe wholly, mm."""
    poses = [card.pose(at) for card in cards if _is_drawn(card) and at < card.out]
    edges = [((p.corners() - layout.mouth) @ layout.way).max() for p in poses if p is not None]
    return max(0.0, *map(float, edges)) if edges else 0.0


def _is_drawn(card: Carried) -> bool:
    """Whether a card comes out of the shoe, and not from elsewhere."""
    return bool(card.drawn.order) or card.drawn.place == CUT


def _waits(card: Carried, layout: Layout) -> float:
    """Return how far out of the lip a card is before it begins to leave, mm."""
    pose = card.pose(card.began)
    if pose is None or not _is_drawn(card):
        return 0.0
    along = (pose.corners() - layout.mouth) @ layout.way
    return float(along.max()) if along.min() < 0 else 0.0


def _placed(card: Carried, at: float, layout: Layout, seconds: set[int | None]) -> Placed | None:
    pose = card.pose(at)
    if pose is None:
        return None
    corners = pose.corners()
    along = (corners - layout.mouth) @ layout.way
    beside = float((pose.centre - layout.mouth) @ layout.across)
    share = shared_area(corners.astype(np.float32), _extent(layout)) / (CARD_MM[0] * CARD_MM[1])
    if not share:
        return None
    kind = int(pose.flip > 0.5)
    if card.drawn.place == CUT:
        kind = int(Kind.CUT)
    elif EDGE_ON[0] < pose.flip < EDGE_ON[1]:
        kind = -1
    drawn = _is_drawn(card) and at < card.out + LEFT_S
    follows = card.drawn.order in seconds and drawn
    return Placed(float(along.max()), float(along.min()), beside, share, kind, drawn, follows)


def _extent(layout: Layout) -> Points:
    """Return the corners (4, 2) mm of the patch on the table."""
    middle = layout.mouth_polygon().mean(axis=0)
    half = HEIGHT * CELL_MM / 2
    sides = np.array([[-BACK_MM, -half], [WIDTH * CELL_MM - BACK_MM, -half],
                      [WIDTH * CELL_MM - BACK_MM, half], [-BACK_MM, half]])  # fmt: skip
    axes = np.array([layout.way, layout.across])
    return np.asarray(sides @ axes + middle, np.float32)
