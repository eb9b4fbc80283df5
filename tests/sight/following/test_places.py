"""The symbols of the slots: box, hand, likeness to the empty slot, movement."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from vision.game.events import Slot
from vision.sight.detection.classifier import FACES, Classify, Observation
from vision.sight.detection.detector import Detection, Detector, Kind, Window
from vision.sight.following.places import (
    ABOUT_MM,
    APART_MM,
    COVERED,
    EDGES,
    FLASH_MS,
    FLASHED,
    FORGOTTEN_MS,
    FURNITURE_MS,
    LAIN_MS,
    LEARN_SHARE,
    LEAST_HAND,
    LEAST_SCORE,
    MOVED_SINCE_MS,
    MOVES,
    NEAR_MM,
    RELEARN_MS,
    RESTS_MM,
    STRONG,
    SURE,
    SYMBOLS,
    UNLIKE,
    WEAK,
    ElsewhereWatch,
    FlashWatch,
    SlotWatch,
    TableBoxes,
    card_length,
    has_hand_at,
    is_outside,
    slot_corners,
    watched,
)
from vision.sight.geometry.plane import Homography, Image, Points, TableView


def _area(x: float, y: float) -> Points:
    return np.array([[x, y], [x + 75, y], [x + 75, y + 100], [x, y + 100]], np.float32)


@pytest.fixture
def view() -> TableView:
    """Return a table seen from straight above, a pixel a mm, slots in a row."""
    corners = [[0, 0], [900, 0], [900, 400], [0, 400]]
    slots = {slot: _area(20 + 90 * int(slot), 50) for slot in Slot}
    return TableView(Homography.fit(corners, corners), slots, _area(700, 50), _area(700, 250))


def _picture(level: int = 60) -> Image:
    return np.full((400, 900, 3), level, np.uint8)


def _box(view: TableView, slot: Slot, kind: Kind, score: float = 0.9) -> Detection:
    return Detection(view.slots[slot] + np.float32(3), kind, score)


def symbol_name(symbol: int) -> str:
    """Return a symbol in words: `face, hand, unlike 2, moves`."""
    rest, moves = divmod(symbol, 2)
    rest, unlike = divmod(rest, EDGES)
    kind, hidden = divmod(rest, 2)
    words = [("nothing", "back?", "back", "face?", "face")[kind], f"unlike {unlike}"]
    return ", ".join([*words, *(["hand"] if hidden else []), *(["moves"] if moves else [])])


def test_box_belongs_to_the_slot_that_it_lies_in(view: TableView) -> None:
    """A face in one slot is seen there and nowhere else."""
    watch = SlotWatch(view)
    watch.look([], _picture(), 0)
    observations = watch.look([_box(view, Slot.BANCO_1, Kind.FACE)], _picture(), 100)
    names = [symbol_name(look.symbol) for look in observations]
    assert names == ["nothing, unlike 0", "face, unlike 0", *["nothing, unlike 0"] * 4]


def test_hand_over_a_slot_hides_it(view: TableView) -> None:
    """A hand's box over a slot is part of the symbol, a weak one is not."""
    watch = SlotWatch(view)
    observations = watch.look([_box(view, Slot.PUNTO_2, Kind.HAND)], _picture(), 0)
    assert symbol_name(observations[Slot.PUNTO_2].symbol) == "nothing, unlike 0, hand"
    observations = watch.look([_box(view, Slot.PUNTO_2, Kind.HAND, 0.1)], _picture(), 100)
    assert symbol_name(observations[Slot.PUNTO_2].symbol) == "nothing, unlike 0"


def test_what_is_unlike_the_empty_slot_is_seen_without_a_box(view: TableView) -> None:
    """A changed patch is unlike and moves, until the changed light is learnt."""
    watch = SlotWatch(view)
    for at in range(0, 1000, 100):
        watch.look([], _picture(), at)
    first = watch.look([], _picture(120), 1000)[0]
    assert symbol_name(first.symbol) == "nothing, unlike 2, moves"
    for at in range(1100, 12_000, 100):
        last = watch.look([], _picture(120), at)[0]
    assert symbol_name(last.symbol) == "nothing, unlike 0"


def test_symbols_are_all_named_differently() -> None:
    """No two symbols mean the same."""
    assert len({symbol_name(symbol) for symbol in range(SYMBOLS)}) == SYMBOLS


def _watch(view: TableView) -> ElsewhereWatch:
    """Return a watch that has seen an empty table for a while."""
    watch = ElsewhereWatch(view)
    watch.look([], -2 * LAIN_MS)
    return watch


@pytest.mark.parametrize(("after", "seen"), [(LAIN_MS, False), (LAIN_MS + 1, True)])
def test_what_lies_there_at_first_has_lain_there(
    view: TableView, after: int, *, seen: bool
) -> None:
    """A coaster is none that came to lie, whenever the reader begins."""
    watch, coaster = ElsewhereWatch(view), Detection(_area(300, 250), Kind.BACK, 0.9)
    watch.look([], 0)
    assert not any(watch.look([coaster], after + more) for more in (0, 100, 200, 300))
    assert bool(watch.look([coaster], after + LAIN_MS)) is seen


def test_card_at_rest_outside_the_slots_is_seen_elsewhere(view: TableView) -> None:
    """Once it has lain a moment, and not for ever; one in a slot or the mouth is not elsewhere."""
    watch = _watch(view)
    aside = Detection(_area(300, 250), Kind.BACK, 0.9)
    seen = [watch.look([aside], at) for at in range(0, 20_000, 200)]
    assert not seen[0]
    assert seen[2]
    assert not seen[-1]
    inside = [_box(view, Slot.PUNTO_1, Kind.FACE), Detection(_area(703, 53), Kind.BACK, 0.9)]
    assert not any(watch.look(inside, at) for at in range(20_000, 22_000, 200))


@pytest.mark.parametrize(
    ("x", "y", "kind", "score", "shows"),
    [
        (610, 140, Kind.FACE, 0.9, True),
        (610, 140, Kind.BACK, 0.9, False),
        (610, 140, Kind.FACE, 0.6, False),
        (703, 53, Kind.FACE, 0.9, False),
        (300, 250, Kind.FACE, 0.9, False),
    ],
    ids=["open", "a back", "unsure", "in the mouth", "far away"],
)
def test_card_that_lies_open_before_the_mouth_is_noticed(
    view: TableView, x: int, y: int, kind: Kind, score: float, *, shows: bool
) -> None:
    """The mouth's network may take it for one that shows its face in the shoe."""
    watch = ElsewhereWatch(view)
    watch.look([Detection(_area(x, y), kind, score)], 0)
    assert watch.before_mouth is shows
    watch.look([], 100)
    assert not watch.before_mouth


# --- boxes that are looked for where the picture changed -----------------------------------------


class Table(Detector):
    """A detector that sees what lies on a table: cards that are whole, of hands what shows."""

    def __init__(self, lying: list[Detection]) -> None:
        super().__init__(lambda tensor: tensor, size=900)
        self.lying, self.windows = lying, list[Window]()

    def cards_and_hands(
        self, image: Image, least: float, window: Window | None = None
    ) -> tuple[Detection, ...]:
        """Return what lies there and has the score."""
        assert window is not None
        self.windows.append(window)
        low, high = np.array(window[:2], np.float32), np.array(window[2:], np.float32)
        found = []
        for box in self.lying:
            cut = np.clip(box.quad, low, high)
            if box.score < least:
                continue
            if box.kind is not Kind.HAND and np.array_equal(cut, box.quad):
                found.append(box)
            elif box.kind is Kind.HAND and (np.ptp(cut, axis=0) > 0).all():
                found.append(Detection(cut, box.kind, box.score))
        return tuple(found)


def _seen(boxes: TableBoxes) -> set[tuple[Kind, tuple[float, ...]]]:
    return {(box.kind, tuple(box.quad.ravel().tolist())) for box in boxes.found}


def _change(*boxes: Detection) -> Points:
    quads = np.concatenate([box.quad for box in boxes])
    return np.stack([quads.min(axis=0), quads.max(axis=0)])


IMAGE = np.zeros((400, 900, 3), np.uint8)


def test_boxes_are_looked_for_where_the_picture_changed(view: TableView) -> None:
    """A card that is turned is seen as by a look at all, and little of the picture is looked at."""
    table = Table([_box(view, slot, Kind.BACK) for slot in Slot])
    boxes = TableBoxes(table, view, (900, 400))
    boxes.look(IMAGE)
    table.lying[0] = _box(view, Slot.PUNTO_1, Kind.FACE)
    boxes.renew(IMAGE, _change(table.lying[0]))
    renewed = _seen(boxes)
    boxes.look(IMAGE)
    assert renewed == _seen(boxes)
    part, whole = (right - left for left, _, right, _ in table.windows[1:])
    assert part < whole / 2


def test_hand_is_found_all_along_where_its_end_moved(view: TableView) -> None:
    """What rests of an arm covers the slots still."""
    arm = np.array([[100, 0], [560, 0], [560, 200], [100, 200]], np.float32)
    table = Table([Detection(arm, Kind.HAND, 0.9)])
    boxes = TableBoxes(table, view, (900, 400))
    boxes.look(IMAGE)
    longer = np.array([[100, 0], [580, 0], [580, 200], [100, 200]], np.float32)
    table.lying = [Detection(longer, Kind.HAND, 0.9)]
    boxes.renew(IMAGE, np.array([[560, 0], [580, 200]], np.float32))
    renewed = _seen(boxes)
    boxes.look(IMAGE)
    assert renewed == _seen(boxes)


@pytest.mark.parametrize("moved", [-4.0, 4.0])
def test_card_at_the_edge_of_a_change_is_found_once(view: TableView, moved: float) -> None:
    """Its box is a little another at each look, and now within what changed, now beside it."""
    card = _box(view, Slot.BANCO_2, Kind.FACE)
    table = Table([card])
    boxes = TableBoxes(table, view, (900, 400))
    boxes.look(IMAGE)
    left = float(card.quad[:, 0].min()) + (1 if moved > 0 else -1)
    table.lying = [Detection(card.quad + np.array([moved, 0], np.float32), Kind.FACE, 0.8)]
    boxes.renew(IMAGE, np.array([[left - 60, 60], [left, 90]], np.float32))
    assert len(boxes.found) == 1


def _reads(share: float) -> Classify:
    """Return a classifier that gives one face that probability."""
    shares = np.full(FACES, (1 - share) / (FACES - 1))
    shares[0] = share
    look = Observation(np.log(shares).astype(np.float32), readable=1.0)
    return lambda _, quads: [look] * len(quads)


@pytest.mark.parametrize(("faces", "share", "noticed"),
                         [(4, 0.9, True), (1, 0.9, False), (4, 0.05, False)])  # fmt: skip
def test_back_taken_for_a_face_is_not_exposed(
    view: TableView, faces: int, share: float, noticed: bool
) -> None:
    """A card is carried; its back shows in single pictures, or for 280 ms what cannot be read."""
    watch = FlashWatch(_reads(share), view)
    watch.look(IMAGE, [], 0, None)
    kinds = [Kind.BACK, Kind.FACE, Kind.BACK, *[Kind.FACE] * faces, Kind.BACK]
    reported = [
        watch.look(IMAGE, [Detection(_area(500, 270), kind, 0.9)], 70 * (number + 1), 0)
        for number, kind in enumerate(kinds)
    ]
    assert any(reported) is noticed


@pytest.mark.parametrize(("chip", "noticed"), [(0.48, False), (0.95, True)])
def test_surest_card_outside_the_slots_is_the_one_that_is_carried(
    view: TableView, chip: float, noticed: bool
) -> None:
    """A chip that passes for a face while a back is carried exposes no card."""
    watch = FlashWatch(_reads(0.9), view)
    watch.look(IMAGE, [], 0, None)
    back = Detection(_area(500, 270), Kind.BACK, 0.7)
    boxes = [back, Detection(_area(300, 300), Kind.FACE, chip)]
    assert any(watch.look(IMAGE, boxes, 70 * number, 0) for number in range(1, 5)) is noticed


# --- bounds, each at both of its sides ------------------------------------------------------------

LITTLE = 1e-4
ASIDE = (400.0, 300.0)


def _at(x: float, y: float, kind: Kind = Kind.BACK, score: float = 0.9) -> Detection:
    """Return a card, or what else, with its middle at a point of the table, mm."""
    square = np.array([[-20, -20], [20, -20], [20, 20], [-20, 20]], np.float32)
    return Detection(square + np.array([x, y], np.float32), kind, score)


@pytest.mark.parametrize(
    ("x", "y", "discard", "outside"),
    [
        (57.5, 100 + APART_MM, True, True),
        (57.5, 100 + APART_MM - 0.1, True, False),
        (507.5, 100 - APART_MM, True, True),
        (700 - NEAR_MM / 2 - 0.1, 100, True, True),
        (700 - NEAR_MM / 2 + 0.1, 100, True, False),
        (700 - NEAR_MM / 2 + 0.1, 300, True, False),
        (720, 300, True, False),
        (720, 300, False, True),
    ],
)
def test_card_is_outside_apart_from_slots_mouth_and_discard(
    view: TableView, x: float, y: float, *, discard: bool, outside: bool
) -> None:
    """By its middle: far enough from those of all slots, and out of mouth and discard."""
    if not discard:
        view = TableView(view.homography, view.slots, view.mouth, None)
    assert is_outside(view, np.array([x, y], np.float32)) is outside


@pytest.mark.parametrize(
    ("kind", "score", "moved", "at", "seen"),
    [
        (Kind.BACK, SURE, 0.0, LAIN_MS, True),
        (Kind.FACE, SURE, 0.0, LAIN_MS, True),
        (Kind.CUT, 0.9, 0.0, LAIN_MS, False),
        (Kind.HAND, 0.9, 0.0, LAIN_MS, False),
        (Kind.BACK, SURE - LITTLE, 0.0, LAIN_MS, False),
        (Kind.BACK, SURE, 0.0, LAIN_MS - 1, False),
        (Kind.BACK, SURE, RESTS_MM - 0.01, LAIN_MS, True),
        (Kind.BACK, SURE, RESTS_MM, LAIN_MS, False),
        (Kind.BACK, SURE, 0.0, FURNITURE_MS - 1, True),
        (Kind.BACK, SURE, 0.0, FURNITURE_MS, False),
    ],
)
def test_card_has_come_to_lie_outside_the_slots(
    view: TableView, kind: Kind, score: float, moved: float, at: int, *, seen: bool
) -> None:
    """A sure one that rests, for a while but not for ever."""
    watch = _watch(view)
    assert watch.look([_at(*ASIDE, kind, score)], 0) == ()
    again = _at(ASIDE[0] + moved, ASIDE[1], kind, score)
    assert watch.look([again], at) == ((again,) if seen else ())


@pytest.mark.parametrize(("gone", "known"), [(FORGOTTEN_MS, True), (FORGOTTEN_MS + 1, False)])
def test_chip_that_was_covered_is_no_new_card(view: TableView, gone: int, *, known: bool) -> None:
    """Until it has not been seen for long; other cards change nothing of that."""
    watch, chip, other = _watch(view), _at(*ASIDE), _at(300, 300)
    watch.look([chip], 0)
    watch.look([other], 1000)
    watch.look([chip], gone)
    assert watch.look([chip, other], gone + LAIN_MS) == (() if known else (chip,))


@pytest.mark.parametrize(("again", "seen"), [(LAIN_MS, True), (LAIN_MS + 1, False)])
def test_what_passes_twice_does_not_lie_there(view: TableView, again: int, *, seen: bool) -> None:
    """It is seen in between, but for a moment."""
    watch, card = _watch(view), _at(*ASIDE)
    watch.look([card], 0)
    watch.look([], again)
    assert watch.look([card], again + 100) == ((card,) if seen else ())


def _flashes(
    view: TableView,
    looks: list[tuple[int, int | None, list[Detection]]],
    share: float = FLASHED + 0.01,
) -> list[bool]:
    """Return of each look, at a time, ms, with the card that is carried, whether it flashed."""
    watch = FlashWatch(_reads(share), view)
    return [watch.look(IMAGE, boxes, at, carried) for at, carried, boxes in looks]


HELD = _at(500, 270, Kind.FACE, STRONG)
STEP_MS = FLASH_MS // 3


def test_face_in_the_hand_flashed_once_it_has_shown_for_so_long(view: TableView) -> None:
    """Looks that come late count as half of that; another card is another matter."""
    looks = [(STEP_MS * n, 0 if n else None, [HELD] if n else []) for n in range(5)]
    assert _flashes(view, looks) == [False, False, False, True, True]
    assert _flashes(view, looks, FLASHED - 0.01) == [False] * 5
    late = [(10_000 * n, 0 if n else None, [HELD] if n else []) for n in range(3)]
    assert _flashes(view, late) == [False, False, True]
    other = [(at, None if n is None else at // 100, boxes) for at, n, boxes in looks]
    assert not any(_flashes(view, other))


def test_back_in_the_hand_speaks_against_its_face_within_bounds(view: TableView) -> None:
    """However long it showed, it takes no more than twice as long."""
    back = _at(500, 270, Kind.BACK)
    for backs in (3, 20):
        looks: list[tuple[int, int | None, list[Detection]]] = [(0, None, [])]
        looks += [(STEP_MS * (n + 1), 0, [back if n < backs else HELD]) for n in range(backs + 7)]
        assert _flashes(view, looks).index(True) == backs + 6


@pytest.mark.parametrize(
    ("box", "before", "flashed"),
    [
        (_at(500, 270, Kind.FACE, STRONG - 0.01), [], False),
        (_at(500, 270, Kind.CUT), [], False),
        (_at(57.5, 110, Kind.FACE), [], False),  # it lies in a slot
        (HELD, [_at(500 + NEAR_MM - 1, 270, Kind.BACK)], False),  # something showed there
        (HELD, [_at(500 + NEAR_MM, 270, Kind.BACK)], True),
        (HELD, [_at(500, 270, Kind.BACK, STRONG - 0.01)], True),
    ],
)
def test_card_in_the_hand_is_new_outside_the_slots(
    view: TableView, box: Detection, before: list[Detection], *, flashed: bool
) -> None:
    """What was there before it was drawn is not it, nor what may be none."""
    looks = [(0, None, before), *((STEP_MS * n, 0, [box]) for n in range(1, 6))]
    assert any(_flashes(view, looks)) is flashed


# --- symbols --------------------------------------------------------------------------------------


def _shows(view: TableView, *boxes: Detection, slot: Slot = Slot.PUNTO_1) -> str:
    """Return what a slot of a bare table shows with those boxes."""
    watch = SlotWatch(view)
    watch.look([], _picture(), 0)
    return symbol_name(watch.look(boxes, _picture(), 1000)[slot].symbol)


@pytest.mark.parametrize(
    ("box", "word"),
    [
        (_at(57.5, 100, Kind.FACE, WEAK), "face?"),
        (_at(57.5, 100, Kind.FACE, WEAK - LITTLE), "nothing"),
        (_at(57.5, 100, Kind.BACK, STRONG - LITTLE), "back?"),
        (_at(57.5, 100, Kind.BACK, STRONG), "back"),
        (_at(57.5, 100, Kind.CUT), "nothing"),
        (_at(57.5 - NEAR_MM + 0.5, 100, Kind.BACK), "back"),  # half over the line
        (_at(57.5 - NEAR_MM, 100, Kind.BACK), "nothing"),
        (_at(57.5, 100 + NEAR_MM + 4, Kind.BACK), "back"),  # in the slot, if far from its middle
        (_at(57.5, 100 + NEAR_MM + 6, Kind.BACK), "nothing"),
    ],
)
def test_box_is_of_the_slot_that_is_near(view: TableView, box: Detection, word: str) -> None:
    """Of a card or what may be one, in the slot or near its middle."""
    assert _shows(view, box) == f"{word}, unlike 0"


def test_surest_box_of_a_slot_is_its_card(view: TableView) -> None:
    """Whichever comes first; each is of the nearest slot only."""
    back, face = _at(57.5, 100, Kind.BACK, 0.6), _at(60, 100, Kind.FACE, 0.7)
    for boxes in ((back, face), (face, back)):
        assert _shows(view, *boxes) == "face, unlike 0"
    between = _at(57.5 + NEAR_MM - 1, 100, Kind.FACE)  # 46 mm from the middle of the next
    assert _shows(view, between) == "face, unlike 0"
    assert _shows(view, between, slot=Slot.BANCO_1) == "nothing, unlike 0"


def _hand(left: float, right: float, score: float = LEAST_HAND) -> Detection:
    """Return a hand over a stripe of the table, mm."""
    stripe = np.array([[left, 0], [right, 0], [right, 200], [left, 200]], np.float32)
    return Detection(stripe, Kind.HAND, score)


@pytest.mark.parametrize(
    ("hands", "covered"),
    [
        ([_hand(20, 20 + 75 * (COVERED + 0.001))], True),
        ([_hand(20, 20 + 75 * (COVERED - 0.001))], False),
        ([_hand(20, 20 + 75 * (COVERED + 0.001), LEAST_HAND - LITTLE)], False),
        ([_hand(20, 25), _hand(60, 65)], False),  # the one that covers most of it counts
        ([_hand(-50, 95), _hand(60, 65)], True),
        ([_hand(95, 110)], False),
    ],
)
def test_hand_covers_a_slot_by_its_share(
    view: TableView, hands: list[Detection], *, covered: bool
) -> None:
    """From a share on it hides what lies there."""
    assert ("hand" in _shows(view, *hands)) is covered


@pytest.mark.parametrize(
    ("hands", "there"),
    [
        ([_hand(690, 701)], True),
        ([_hand(774, 900)], True),
        ([_hand(600, 699), _hand(776, 900)], False),
        ([_hand(690, 701, LEAST_HAND - LITTLE)], False),
        ([replace(_hand(690, 701), kind=Kind.BACK)], False),
    ],
)
def test_hand_is_at_the_mouth_where_it_meets_it(
    view: TableView, hands: list[Detection], *, there: bool
) -> None:
    """The mouth lies from 700 to 775 mm."""
    assert has_hand_at(view.mouth, view, hands) is there


def test_share_of_a_slot_that_a_hand_covers_is_told(view: TableView) -> None:
    """Between none and all of it."""
    watch = SlotWatch(view)
    looks = watch.look([_hand(20, 57.5), _hand(150, 900)], _picture(), 0)
    shares = [0.5, (185 - 150) / 75, 1.0, 1.0, 1.0, 1.0]
    assert [look.covered for look in looks] == pytest.approx(shares, abs=1e-3)


def _painted(view: TableView, level: float, slot: Slot = Slot.PUNTO_1) -> Image:
    """Return a picture in which one slot is lighter by so much (0 to 1) than it was."""
    picture = _picture()
    (left, top), (right, bottom) = (view.slots[slot][n].astype(int) for n in (0, 2))
    picture[top - 5 : bottom + 5, left - 5 : right + 5] += round(255 * level)
    return picture


@pytest.mark.parametrize(
    ("level", "bins"),
    [
        (UNLIKE[0] - 0.003, 0),
        (UNLIKE[0] + 0.003, 1),
        (UNLIKE[1] - 0.003, 1),
        (UNLIKE[1] + 0.003, 2),
    ],
)
def test_slot_is_unlike_the_empty_one_by_bins(view: TableView, level: float, bins: int) -> None:
    """By the mean of its patch; the others show that it is not the light."""
    watch = SlotWatch(view)
    watch.look([], _picture(), 0)
    for at in (1000, 1000 + MOVED_SINCE_MS, 1000 + 2 * MOVED_SINCE_MS):
        looks = watch.look([_box(view, Slot.PUNTO_1, Kind.BACK)], _painted(view, level), at)
    names = [symbol_name(look.symbol) for look in looks]
    assert names == [f"back, unlike {bins}", *["nothing, unlike 0"] * 5]


@pytest.mark.parametrize(("level", "moves"), [(MOVES - 0.003, False), (MOVES + 0.003, True)])
def test_slot_moves_by_the_change_since_a_moment_before(
    view: TableView, level: float, *, moves: bool
) -> None:
    """In the picture that is just so old, or in the one before; then it rests."""
    watch = SlotWatch(view)
    watch.look([], _picture(), 0)
    found = []
    for at in (50, MOVED_SINCE_MS, MOVED_SINCE_MS + 49, MOVED_SINCE_MS + 50):
        looks = watch.look([], _painted(view, level), at)
        found.append((looks[0].moves, any(look.moves for look in looks[1:])))
    assert found == [(moves, False)] * 3 + [(False, False)]


def test_light_that_changes_everywhere_is_no_card(view: TableView) -> None:
    """What all bare slots have in common is the light; what one has more is what lies there."""
    watch = SlotWatch(view)
    for at in range(0, 5000, 100):
        level = min(60 + at // 100, 90)  # by less in 100 ms than what moves
        looks = watch.look([], _picture(level), at)
    assert {symbol_name(look.symbol) for look in looks} == {"nothing, unlike 0"}
    lighter = _painted(view, 0.1)
    for at in (5000, 6000):
        looks = watch.look([_box(view, Slot.PUNTO_1, Kind.BACK)], lighter + np.uint8(30), at)
    assert symbol_name(looks[0].symbol).startswith("back, unlike 2")


@pytest.mark.parametrize(("ms", "learnt"), [(RELEARN_MS - 1, False), (RELEARN_MS, True)])
@pytest.mark.parametrize("covered", [False, True])
def test_slot_that_looks_otherwise_for_long_is_learnt_anew(
    view: TableView, ms: int, *, covered: bool, learnt: bool
) -> None:
    """With nothing found in it: what a card hid for a moment began anew."""
    watch, changed = SlotWatch(view), _painted(view, 0.1)
    watch.look([], _picture(), 0)
    watch.look([], changed, 1000)
    since = 2000  # it rests from here on
    watch.look([], changed, since)
    if covered:
        watch.look([_box(view, Slot.PUNTO_1, Kind.BACK)], changed, since + 500)
        since += 1000
        watch.look([], changed, since)
    watch.look([], changed, since + ms)
    look = watch.look([], changed, since + ms + 1)[0]
    assert (symbol_name(look.symbol) == "nothing, unlike 0") is learnt


def test_empty_slot_is_learnt_slowly_as_it_changes(view: TableView) -> None:
    """By a share a look: what it was is not forgotten at once."""
    watch, changed = SlotWatch(view), _painted(view, UNLIKE[0] - 0.005)
    watch.look([], _picture(), 0)
    watch.look([], changed, 1000)
    for look in range(3):
        watch.look([], changed, 2000 + 1000 * look)
    empty = watch._empty[0]
    assert empty is not None
    first, last = float(_picture()[0, 0, 0]), float(changed[100, 50, 0])
    expected = last - (last - first) * (1 - LEARN_SHARE) ** 3
    assert float(empty.mean()) == pytest.approx(expected / 255, abs=1e-5)


# --- where is looked ------------------------------------------------------------------------------


def test_slots_and_mouth_are_watched_with_what_lies_about_them(view: TableView) -> None:
    """So far each way; of the slots alone their corners count, and how long a card is there."""
    points = watched(view)
    low, high = points.min(axis=0), points.max(axis=0)
    assert low == pytest.approx([20 - ABOUT_MM, 50 - ABOUT_MM], abs=0.1)
    assert high == pytest.approx([775 + ABOUT_MM, 150 + ABOUT_MM], abs=0.1)
    assert len(points) == 4 * 4 * 7
    corners = slot_corners(view)
    assert len(corners) == 24
    assert corners.max(axis=0) == pytest.approx([545, 150], abs=0.1)
    wide = Homography.fit([[0, 0], [1800, 0], [1800, 400], [0, 400]],
                          [[0, 0], [900, 0], [900, 400], [0, 400]])  # fmt: skip
    twice = TableView(wide, view.slots, view.mouth, None)
    assert card_length(view) == pytest.approx(max(view.card_mm), abs=0.1)
    assert card_length(twice) == pytest.approx(2 * max(view.card_mm), abs=0.1)


def test_boxes_that_are_hardly_any_are_not_asked_for(view: TableView) -> None:
    """By the least score, in a look at all and in one at a part."""
    faint = Detection(view.slots[Slot.PUNTO_1] + np.float32(3), Kind.BACK, LEAST_SCORE - 0.01)
    table = Table([faint, _box(view, Slot.PUNTO_2, Kind.BACK, LEAST_SCORE)])
    boxes = TableBoxes(table, view, (900, 400))
    boxes.look(IMAGE)
    whole = _seen(boxes)
    boxes.renew(IMAGE, _change(*table.lying))
    assert len(whole) == 1
    assert _seen(boxes) == whole
