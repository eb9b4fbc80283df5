"""The watcher of the shoe's mouth: measurements in, signs out."""

from __future__ import annotations

import numpy as np
import pytest

from vision.game.events import Slot
from vision.sight.geometry.plane import Homography, TableView
from vision.sight.mouth.measurement import (
    LABELS,
    Measurement,
    MouthMeter,
    Phases,
    Shown,
    measurement,
)
from vision.sight.mouth.patch import HEIGHT, WIDTH, MouthPatch, exit_way
from vision.sight.mouth.signs import MouthEvent, MouthSign
from vision.sight.mouth.watcher import TURNS, MouthWatcher, Seen, Stage

# Time between two pictures, ms.
STEP = 40
BACK, FACE = Shown(0.94, 0.02, 0.02, 0.02), Shown(0.02, 0.94, 0.02, 0.02)
CUT = Shown(0.01, 0.01, 0.97, 0.01)
REST, PARTLY, WHOLLY = Phases(0.96, 0.03, 0.01), Phases(0.03, 0.95, 0.02), Phases(0.02, 0.03, 0.95)


def seen(
    phases: Phases,
    shift: float = 0.0,
    *,
    shown: Shown = BACK,
    hand: float = 0.1,
    twice: float = 0.02,
) -> Measurement:
    """Return a measurement."""
    return Measurement(phases, shift, shown, hand, twice)


def rest(count: int = 10, **also: object) -> list[Measurement]:
    """Return so many pictures of nothing."""
    return [seen(REST, **also)] * count  # type: ignore[arg-type]


def pulled(*shifts: float, **also: object) -> list[Measurement]:
    """Return three pictures of a card at each shift: in depths of a card, 1 and more is out."""
    return [
        seen(PARTLY if shift < 1 else WHOLLY, shift, **also)  # type: ignore[arg-type]
        for shift in shifts
        for _ in range(3)
    ]


def said(*parts: list[Measurement]) -> list[MouthEvent]:
    """Return what the watcher says of pictures that follow one another."""
    watcher = MouthWatcher(MouthMeter(np.asarray, lambda tensor: tensor))
    measured = [found for part in parts for found in part]
    events = [watcher.step(found, n * STEP, STEP) for n, found in enumerate(measured)]
    return [event for some in events for event in some]


def signs(*parts: list[Measurement]) -> list[MouthSign]:
    """Return the signs alone."""
    return [event.sign for event in said(*parts)]


OUT = (0.2, 0.5, 0.8, 1.1, 1.4)


UNCLEAR = seen(Phases(0.31, 0.41, 0.28), 0.57, hand=0.01)
WAITING = (0.3, 0.5, *[0.5] * 60, 0.8, 1.2)
STORIES = {
    "drawn": ([pulled(*OUT)], ["leaving", "left"]),
    "one-after-the-other": ([pulled(*OUT), pulled(*OUT)], ["leaving", "left"] * 2),
    "waits-half-out": ([pulled(*WAITING)], ["leaving", "left"]),
    "goes-back": ([pulled(0.3, 0.7, 0.9, 0.7, 0.3, 0.1, hand=0.9)], ["leaving", "returned"]),
    "nobody-pushes-it-back": ([pulled(0.3, 0.7, 0.9, 0.7, 0.3, 0.1)], ["leaving"]),
    "the-next-one-slides-to-rest": (
        [pulled(*OUT, 0.9, 0.5, 0.2)],
        ["leaving", "left", "leaving"],
    ),
    "goes-back-late": (
        [pulled(*OUT, 1.2, 0.9, 0.5, 0.2, hand=0.9)],
        ["leaving", "left", "returned"],
    ),
    "seems-in-for-a-moment": ([pulled(*OUT, 0.95, 1.1)], ["leaving", "left"]),
    "an-edge-only": ([pulled(0.1, 0.2)], ["leaving"]),
    "too-quick-to-be-seen-out": ([pulled(0.4, 0.8, hand=0.9)], ["leaving", "left"]),
    # Its edge stays where it was, and nobody is there.
    "shadow-on-a-card-that-waits": (
        [pulled(0.6, *[0.65] * 9), [seen(Phases(0.07, 0.1, 0.83), 0.73, hand=0.3)] * 9],
        ["leaving"],
    ),
    "carried-past": ([pulled(1.6, 1.3, 1.6)], []),
    "drawn-behind-another": ([pulled(1.6, 1.3), pulled(*OUT)], ["leaving", "left"]),
    "next-waits-half-out": (
        [pulled(0.5, 0.8, 1.1, 1.4, 0.1, 0.3, 0.5, *[0.5] * 20, 0.8, 1.2, 0.1, 0.5, *[0.5] * 9)],
        ["leaving", "left"] * 2,
    ),
    "goes-back-to-wait-half-out": (
        [pulled(0.5, 0.8, 1.1, 1.6, 1.2, 0.8, 0.5, hand=0.9), pulled(*[0.5] * 6)],
        ["leaving", "left", "returned"],
    ),
    "next-waits-half-out-under-the-hand": (
        [pulled(0.5, 0.8, 1.1, 1.6, 0.8, 0.5, hand=0.9), pulled(*[0.5] * 6)],
        ["leaving", "left", "leaving"],
    ),
    "next-comes-by-and-by-and-waits": (
        [pulled(*OUT, 0.9, 0.5), pulled(*[0.5] * 4, 0.8, 1.2)],
        ["leaving", "left", "leaving", "left"],
    ),
    # At a shoe that shows half of the next card a picture of nothing may look like anything.
    "the-story-of-a-card-ends-when-the-hand-has-gone": (
        [pulled(*OUT, 0.9, 0.5, hand=0.9), [UNCLEAR] * 30, pulled(0.5, 0.8, 1.1, 1.4, hand=0.9)],
        ["leaving", "left", "leaving", "left"],
    ),
    "what-passed-is-over-when-the-hand-has-gone": (
        [pulled(1.6, 1.3), [UNCLEAR] * 30, pulled(0.8, 1.1, 1.4, hand=0.9)],
        ["leaving", "left"],
    ),
    "taken-hold-of-where-it-waits-behind-another": (
        [pulled(1.4), pulled(0.75, 1.1, 1.4, hand=0.9)],
        ["leaving", "left"],
    ),
    "goes-back-too-quickly-to-be-sure": (
        [
            pulled(*OUT, 1.2, hand=0.9),
            [seen(PARTLY, 0.8, hand=0.9), seen(Phases(0.3, 0.68, 0.02), 0.4, hand=0.9)],
        ],
        ["leaving", "left", "returned"],
    ),
    "cut-card-behind-another": (
        [pulled(0.2, 0.5), pulled(0.8, 1.1, 1.4, shown=CUT)],
        ["leaving", "left"],
    ),
    "goes-half-back-and-leaves-all-the-same": (
        [pulled(*OUT, 0.9, 0.5, 0.8, 1.2, 1.4, hand=0.9)],
        ["leaving", "left", "left"],
    ),
    "goes-back-and-the-hand-leaves": (
        [pulled(*OUT, 0.9, 0.5, hand=0.9), [seen(WHOLLY, 0.9)] * 3],
        ["leaving", "left", "returned"],
    ),
    "goes-back-quickly": (
        [
            pulled(*OUT, 1.2),
            [seen(WHOLLY, 0.8), seen(PARTLY, 0.5), *[seen(PARTLY, 0.2, hand=0.9)] * 3],
        ],
        ["leaving", "left", "returned"],
    ),
    "too-quick-for-ten-pictures-a-second": (
        [[seen(PARTLY, 0.4)] * 3, [seen(Phases(0.1, 0.1, 0.8), 1.2)]],
        ["leaving", "left"],
    ),
    "a-hand-rests-there": ([rest(hand=0.95, count=80)], []),
    "cut-card": ([pulled(*OUT, shown=CUT)], ["leaving", "cut"]),
    "two-as-one": ([pulled(*OUT, twice=0.95)], ["leaving", "together"]),
    "face-at-rest": (
        [rest(shown=FACE, count=20), pulled(*OUT, shown=FACE)],
        ["face", "exposed", "leaving", "left"],
    ),
    "face-under-a-hand": ([rest(shown=FACE, count=20, hand=0.9)], []),
    "turned-when-out": ([pulled(*OUT), pulled(1.3, 1.5, shown=FACE)], ["leaving", "left"]),
}


@pytest.mark.parametrize("story", STORIES)
def test_watcher_says_what_happens(story: str) -> None:
    """Each way that a card can go is told once, by its name."""
    parts, expected = STORIES[story]
    assert signs(rest(), *parts, rest()) == expected


@pytest.mark.parametrize("bad", [PARTLY, WHOLLY], ids=["partly", "wholly"])
def test_watcher_one_bad_picture_says_nothing(bad: Phases) -> None:
    """A single picture that the network gets wrong, not surely, is not believed."""
    doubtful = Phases(*(0.6 * p + 0.4 * q for p, q in zip(bad, REST, strict=True)))
    assert signs(rest(), [seen(doubtful, 0.5)], rest()) == []


def test_watcher_departure_seen_poorly_has_less_probability() -> None:
    """A departure of which the end was not seen is told as less probable."""
    (*_, well) = said(rest(), pulled(*OUT), rest())
    (*_, poorly) = said(rest(), pulled(0.4, 0.8, hand=0.9), rest())
    assert poorly.probability < 0.85 < well.probability <= 1


def test_watcher_after_a_gap_begins_again() -> None:
    """What happened while no picture came is not guessed."""
    watcher = MouthWatcher(MouthMeter(_dark, lambda _: _values(PARTLY, 0.8)))
    picture = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    for at in range(0, 600, STEP):
        watcher.look(picture, at)
    assert watcher.stage is Stage.NEARLY
    watcher.meter = MouthMeter(_dark, lambda _: _values(REST, 0.0))
    assert watcher.look(picture, 10_000) == ()
    assert watcher.stage is Stage.RESTING


def test_turns_lead_out_of_every_stage_to_rest() -> None:
    """A mouth at which nothing is out any more is at rest, whatever was thought of it."""
    for stage in set(Stage) - {Stage.RESTING}:
        assert TURNS[stage, Seen.REST][0] is Stage.RESTING


def test_turns_every_stage_is_reached() -> None:
    """There is no stage that the table never goes to."""
    assert {stage for stage, _ in TURNS.values()} == set(Stage)


def _dark(image: np.ndarray) -> np.ndarray:
    return image


def _values(phases: Phases, shift: float) -> np.ndarray:
    return np.array([[*np.log(phases), shift, 3, 0, 0, 0, -3, -3]], np.float32)


# --- what is measured ---


def test_measurement_of_values_is_probabilities() -> None:
    """The network's values become probabilities in the order of their labels."""
    values = np.zeros(len(LABELS), np.float32)
    values[[LABELS.index("wholly"), LABELS.index("cut"), LABELS.index("hand")]] = 5
    values[LABELS.index("shift")] = 1.2
    found = measurement(values)
    assert sum(found.phases) == pytest.approx(1)
    assert sum(found.shown) == pytest.approx(1)
    assert min(found.phases.wholly, found.shown.cut, found.hand) > 0.9
    assert (round(found.shift, 3), found.together) == (1.2, 0.5)


def test_meter_gives_the_network_rest_before_and_now() -> None:
    """Rest is what was still; before is a few frames old; now is now."""
    given: list[np.ndarray] = []

    def infer(tensor: np.ndarray) -> np.ndarray:
        given.append(tensor)
        return _values(REST, 0.0)

    meter = MouthMeter(np.asarray, infer)
    levels = [100] * 40 + [140, 180, 220]
    for number, level in enumerate(levels):
        meter(np.full((HEIGHT, WIDTH, 3), level, np.uint8), number * 30)
    patches = given[-1].reshape(3, 3, HEIGHT, WIDTH).mean(axis=(1, 2, 3)) * 255
    assert patches.round().tolist() == [100, 140, 220]


def test_meter_does_not_learn_a_card_that_waits_half_out() -> None:
    """A card half out for ten seconds is still compared with the mouth at rest."""
    given: list[np.ndarray] = []

    def infer(tensor: np.ndarray) -> np.ndarray:
        given.append(tensor)
        partly = tensor[0, 6:].mean() > 0.6
        return _values(PARTLY if partly else REST, 0.5)

    meter = MouthMeter(np.asarray, infer)
    for number in range(280):
        level = 100 if number < 30 else 200
        meter(np.full((HEIGHT, WIDTH, 3), level, np.uint8), number * 40)
    assert given[-1][0, :3].mean() * 255 == pytest.approx(100, abs=1)


def test_meter_learns_a_slow_change_of_light() -> None:
    """Rest follows the lamps."""
    given: list[np.ndarray] = []

    def infer(tensor: np.ndarray) -> np.ndarray:
        given.append(tensor)
        return _values(REST, 0.0)

    meter = MouthMeter(np.asarray, infer)
    for number in range(400):
        meter(np.full((HEIGHT, WIDTH, 3), 100 + number // 8, np.uint8), number * 40)
    assert given[-1][0, :3].mean() * 255 == pytest.approx(149, abs=4)


# --- where the patch lies ---


@pytest.mark.parametrize("turn", range(0, 360, 30))
def test_exit_way_faces_the_slots_whatever_the_order_of_corners(turn: int) -> None:
    """Cards leave towards the layout, on whichever side and at whatever angle the shoe stands."""
    cos, sin = np.cos(np.radians(turn)), np.sin(np.radians(turn))
    rotation = np.array([[cos, sin], [-sin, cos]])
    half = np.array([[-35, -60], [35, -60], [35, 60], [-35, 60]])
    slots = {Slot.PUNTO_1: _moved(half, (400.0, 90.0), rotation)}
    for order in (0, 1, 3):
        mouth = _moved(np.roll(half, order, axis=0), (0.0, 0.0), rotation)
        way = exit_way(TableView(Homography(np.eye(3)), slots, mouth))
        assert way == pytest.approx(np.array([cos, sin]), abs=1e-3)


def test_patch_shows_the_mouth_with_the_exit_to_the_right() -> None:
    """A mark before the mouth lies to the right of the patch's middle."""
    plane = Homography(np.array([[0.5, 0, 0], [0, 0.5, 0], [0, 0, 1.0]]))
    half = np.array([[-60, -35], [60, -35], [60, 35], [-60, 35]], np.float32)
    slots = {Slot.PUNTO_1: np.add(half, (500, 600)).astype(np.float32)}
    view = TableView(plane, slots, np.add(half, (500, 200)).astype(np.float32))
    image = np.zeros((1000, 1600, 3), np.uint8)
    image[2 * 270 - 8 : 2 * 270 + 8, 2 * 500 - 8 : 2 * 500 + 8] = 255  # 70 mm before the middle
    patch = MouthPatch(view)(image)
    y, x = np.argwhere(patch[:, :, 0] > 128).mean(axis=0)
    assert patch.shape == (HEIGHT, WIDTH, 3)
    assert (x, y) == (pytest.approx((60 + 70) / 2.5, abs=1), pytest.approx(HEIGHT / 2, abs=1))


def _moved(points: np.ndarray, by: tuple[float, float], rotation: np.ndarray) -> np.ndarray:
    return ((points + by) @ rotation).astype(np.float32)
