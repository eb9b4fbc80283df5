"""The symbols of the slots: box, hand, likeness to the empty slot, movement."""

from __future__ import annotations

import numpy as np
import pytest

from vision.game.events import Slot
from vision.sight.detection.classifier import FACES, Classify, Observation
from vision.sight.detection.detector import Detection, Detector, Kind, Window
from vision.sight.following.places import (
    EDGES,
    SYMBOLS,
    ElsewhereWatch,
    FlashWatch,
    SlotWatch,
    TableBoxes,
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


def test_card_at_rest_outside_the_slots_is_seen_elsewhere(view: TableView) -> None:
    """Once it has lain a moment, and not for ever; one in a slot or the mouth is not elsewhere."""
    watch = ElsewhereWatch(view)
    aside = Detection(_area(300, 250), Kind.BACK, 0.9)
    seen = [watch.look([aside], at) for at in range(0, 20_000, 200)]
    assert not seen[0]
    assert seen[2]
    assert not seen[-1]
    inside = [_box(view, Slot.PUNTO_1, Kind.FACE), Detection(_area(703, 53), Kind.BACK, 0.9)]
    assert not any(watch.look(inside, at) for at in range(20_000, 22_000, 200))


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
