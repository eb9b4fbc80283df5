"""What the mouth of the shoe says makes, orders and ends cards; doubts are told, not guessed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.sight.film import MOUTH, PLACES, table_view
from vision.game.events import Slot
from vision.sight.detection.detector import Kind
from vision.sight.geometry.frame import Points
from vision.sight.geometry.plane import Pose
from vision.sight.mouth.signs import MouthEvent, MouthSign
from vision.sight.tracking.association import Sighting
from vision.sight.tracking.card import Track
from vision.sight.tracking.tracker import Tracker, Uses

STEP_MS = 70
FIRST, SECOND = PLACES[Slot.PUNTO_1], PLACES[Slot.BANCO_1]


class Watch:
    """Gives a tracker a frame every 70 ms, with what the mouth showed, and keeps what it said."""

    def __init__(self, uses: Uses | None = None) -> None:
        self.tracker = Tracker(table_view(), uses=uses or Uses())
        self.at = 0
        self.tracks: tuple[Track, ...] = ()
        self.told: list[Track] = []
        self.codes: list[str] = []
        self.returned = 0

    def see(
        self,
        *poses: Pose,
        doubtful: Sequence[Pose] = (),
        faces: Sequence[Pose] = (),
        signs: Sequence[tuple[MouthSign, float]] = (),
        hands: Sequence[Points] = (),
        frames: int = 1,
    ) -> None:
        """Give so many frames of cards lying at these poses; the signs come with the first.

        Of the `doubtful` the detector is hardly sure.
        """
        mouth = [MouthEvent(self.at + STEP_MS, sign, sure) for sign, sure in signs]
        for _ in range(frames):
            self.at += STEP_MS
            found = [Sighting(pose, Kind.BACK, 0.9) for pose in poses]
            found += [Sighting(pose, Kind.BACK, 0.5) for pose in doubtful]
            found += [Sighting(pose, Kind.FACE, 0.9) for pose in faces]
            self.tracks = self.tracker.follow(found, self.at, mouth=mouth, hands=hands)
            self.returned += sum(track.returned for track in self.tracks)
            new = {track.id for track in self.tracks} - {track.id for track in self.told}
            self.told += [track for track in self.tracks if track.id in new]
            self.codes += [each.code for each in self.tracker.findings()]
            mouth = []

    def leave(self, sure: float = 0.8) -> None:
        """Let the mouth give a card to leave that nobody sees."""
        self.see(*(t.pose for t in self.tracks), signs=[(MouthSign.LEFT, sure)])


def test_card_given_to_leave_is_out_since_then_however_late_it_is_seen() -> None:
    """A card slid under a hand left the shoe when the mouth said so, not when it was laid."""
    watch = Watch()
    watch.leave(0.7)
    left_at = watch.at
    watch.see(frames=8)
    assert watch.told == []
    watch.see(FIRST, frames=8)
    assert [track.slot for track in watch.tracks] == [Slot.PUNTO_1]
    assert watch.told[0].out_at == left_at


def test_cards_are_told_in_the_order_in_which_they_left() -> None:
    """The second card comes into sight first; the first is told before it all the same."""
    watch = Watch()
    watch.leave()
    watch.see(frames=4)
    watch.leave()
    watch.see(SECOND, frames=9)
    watch.see(FIRST, SECOND, frames=20)
    assert len(watch.told) == 2
    assert watch.told[0].out_at < watch.told[1].out_at
    assert not any(track.found for track in watch.told)


def test_cards_on_their_way_at_one_time_are_told_without_an_order() -> None:
    """Two left before either lay: which is which was not seen, so no order is built on it."""
    watch = Watch()
    watch.leave()
    watch.see(frames=4)
    watch.leave()
    watch.see(FIRST, SECOND, frames=20)
    assert [track.unordered for track in watch.tracks] == [True, True]


def test_cards_one_after_the_other_have_their_order() -> None:
    """The first lies before the second leaves: each can only be the one it is."""
    watch = Watch()
    watch.leave()
    watch.see(FIRST, frames=8)
    watch.leave()
    watch.see(FIRST, SECOND, frames=8)
    assert [track.unordered for track in watch.tracks] == [False, False]
    assert [track.slot for track in watch.tracks] == [Slot.PUNTO_1, Slot.BANCO_1]


def test_sign_that_nothing_confirms_makes_no_card_and_a_doubt_if_it_was_sure() -> None:
    """A false sign leaves no card in the coup; a sure one is told as a doubt about the reader."""
    for sure, told, codes in ((0.99, 1, ["REVIEW"]), (0.87, 1, []), (0.7, 0, [])):
        watch = Watch()
        watch.leave(sure)
        assert len(watch.told) == told, "at once"
        watch.see(frames=90)
        assert not any(not track.gone for track in watch.tracks)
        assert len(watch.told) == told
        assert watch.codes == codes


def test_second_sign_right_after_the_first_is_rarely_a_second_card() -> None:
    """Two signs in a fifth of a second: of the second a card is told only where one is seen."""
    for seen in ([Slot.PUNTO_1], [Slot.PUNTO_1, Slot.BANCO_1]):
        watch = Watch()
        watch.leave(0.97)
        watch.see(frames=2)
        watch.leave(0.97)
        watch.see(frames=2)
        assert len(watch.told) == 1
        watch.see(*(PLACES[slot] for slot in seen), frames=90)
        assert [track.slot for track in watch.tracks] == seen
        assert watch.codes == [], "no doubt about an echo"


def test_card_said_to_be_back_is_waited_for_while_its_place_is_hidden() -> None:
    """A false sign of a card going back, while a hand stays over the place where it lies."""
    for hands, returned in (((), 1), ((hand_over(FIRST),), 0)):
        watch = Watch()
        watch.leave(0.97)
        watch.see(signs=[(MouthSign.RETURNED, 0.7)])
        watch.see(hands=hands, frames=25)
        watch.see(FIRST, frames=60)
        assert watch.returned == returned


def test_card_that_goes_back_into_the_shoe_is_returned() -> None:
    """A card that was out and slid back is no card of the coup, and is told of."""
    watch = Watch()
    out = Pose(MOUTH.x - 80, MOUTH.y + 60, 60)
    watch.see(Pose(MOUTH.x, MOUTH.y, 60), frames=3)
    watch.see(Pose(MOUTH.x - 40, MOUTH.y + 30, 60))
    watch.see(out, signs=[(MouthSign.LEFT, 0.95)])
    watch.see(out, frames=3)
    watch.see(Pose(MOUTH.x, MOUTH.y, 60), signs=[(MouthSign.RETURNED, 0.9)])
    watch.see(Pose(MOUTH.x, MOUTH.y, 60), frames=24)
    assert len(watch.told) == 1
    assert watch.tracks == ()
    assert "RETURNED_TO_SHOE" not in watch.codes, "its track says so, with its number"


def test_card_that_lies_on_the_table_was_not_returned() -> None:
    """The mouth says that the card is back, and it is laid all the same: none else left."""
    watch = Watch()
    shares = np.linspace(0, 1, 12)
    way = [
        Pose(MOUTH.x + share * (FIRST.x - MOUTH.x), MOUTH.y + share * (FIRST.y - MOUTH.y), 60)
        for share in shares
    ]
    watch.see(Pose(MOUTH.x, MOUTH.y, 60), frames=3)
    watch.see(signs=[(MouthSign.LEFT, 0.95)], frames=2)
    for number, pose in enumerate(way):
        watch.see(pose, signs=[(MouthSign.RETURNED, 0.97)] if number == 1 else [])
    watch.see(FIRST, frames=60)
    assert [track.slot for track in watch.tracks] == [Slot.PUNTO_1]
    assert watch.codes == []
    assert not any(track.returned for track in watch.told)


def test_box_that_goes_astray_beside_a_card_is_no_second_card() -> None:
    """Two runs begin in the mouth at one time: one is the card, the other a false box."""
    watch = Watch()
    watch.see(Pose(MOUTH.x, MOUTH.y, 60), frames=2)
    for step in range(1, 9):
        card = Pose(MOUTH.x - 45 * step, MOUTH.y + 25 * step, 60)
        astray = Pose(MOUTH.x - 15 * step, MOUTH.y - 40 * step, 60)
        signs = [(MouthSign.LEFT, 0.9)] if step == 4 else []
        watch.see(card, doubtful=[astray] if step < 6 else [], signs=signs)
    watch.see(FIRST, frames=40)
    assert [track.slot for track in watch.tracks] == [Slot.PUNTO_1]
    assert len(watch.told) == 1


def test_sign_of_a_card_slowly_drawn_is_of_the_card_that_was_seen_meanwhile() -> None:
    """It stood out half a second before the mouth said that it had left: no second card."""
    watch = Watch()
    watch.see(Pose(MOUTH.x, MOUTH.y, 60), signs=[(MouthSign.LEAVING, 0.95)])
    for share in np.linspace(0.1, 1, 11):
        x, y = MOUTH.x + share * (FIRST.x - MOUTH.x), MOUTH.y + share * (FIRST.y - MOUTH.y)
        watch.see(Pose(x, y, 90))
    watch.see(FIRST, frames=3, signs=[(MouthSign.LEFT, 0.96)])
    watch.see(FIRST, frames=90)
    assert len(watch.told) == 1
    assert watch.codes == []


def test_box_near_the_mouth_of_which_the_mouth_says_nothing_is_not_told() -> None:
    """It comes out like a card, is seen for a moment and nowhere again: it was none."""
    watch = Watch()
    for step in range(8):
        watch.see(Pose(MOUTH.x - 30 * step, MOUTH.y + 20 * step, 60))
    assert watch.told == []
    watch.leave()
    watch.see(FIRST, frames=50)
    assert [track.slot for track in watch.tracks] == [Slot.PUNTO_1]
    assert len(watch.told) == 1
    assert watch.codes == []


def test_card_that_waits_in_the_mouth_was_none() -> None:
    """A box astray carried its run out and back: the mouth said nothing, and it waits there."""
    watch, waits = Watch(), Pose(MOUTH.x, MOUTH.y, 60)
    watch.see(waits, frames=3)
    for far in (30, 60, 90, 120, 90, 60, 30):
        watch.see(Pose(MOUTH.x - far, MOUTH.y + 0.7 * far, 60))
    watch.see(waits, frames=60)
    assert watch.tracks == ()


def test_card_whose_sign_was_missed_is_told_when_it_lies() -> None:
    """A card that was seen all the way is one, though the mouth said nothing of it."""
    watch = Watch()
    for share in np.linspace(0, 1, 12):
        x, y = MOUTH.x + share * (FIRST.x - MOUTH.x), MOUTH.y + share * (FIRST.y - MOUTH.y)
        watch.see(Pose(x, y, 90))
    watch.see(FIRST, frames=20)
    assert [track.slot for track in watch.told] == [None]
    assert [track.slot for track in watch.tracks] == [Slot.PUNTO_1]


def test_face_in_the_mouth_that_the_watcher_is_not_sure_of_needs_the_detector() -> None:
    """Either witness may be mistaken; one that is unsure is believed where the other agrees."""
    for boxes, exposed in (([], False), ([Pose(MOUTH.x, MOUTH.y, 60)], True)):
        tracker = Tracker(table_view())
        seen = [Sighting(pose, Kind.FACE, 0.5) for pose in boxes]
        tracker.follow(seen, STEP_MS, mouth=[])
        tracker.follow([], 2 * STEP_MS, mouth=[MouthEvent(2 * STEP_MS, MouthSign.FACE, 0.7)])
        assert tracker.newly_exposed() is exposed


def test_face_in_the_mouth_by_the_detector_alone_is_sure_and_always_in_sight() -> None:
    """A false box comes and goes, and the detector is not sure of it."""
    lies = Pose(MOUTH.x, MOUTH.y, 60)
    for score, every, exposed in ((0.9, 1, True), (0.5, 1, False), (0.9, 2, False)):
        tracker, shown = Tracker(table_view()), False
        for look in range(1, 15):
            seen = [] if look % every else [Sighting(lies, Kind.FACE, score)]
            tracker.follow(seen, look * STEP_MS, mouth=[])
            shown |= tracker.newly_exposed()
        assert shown is exposed, (score, every)


def test_card_that_is_turned_before_the_shoe_is_not_exposed_in_it() -> None:
    """It has left, by the mouth's word: the face there is its own, until the next one shows."""
    lies = Pose(MOUTH.x, MOUTH.y, 60)
    for signs, exposed in (([], True), ([MouthEvent(STEP_MS, MouthSign.LEFT, 0.95)], False)):
        tracker, shown = Tracker(table_view()), False
        for look in range(1, 15):
            seen = [Sighting(lies, Kind.FACE, 0.9)] if look > 2 else []
            tracker.follow(seen, look * STEP_MS, mouth=signs if look == 1 else [])
            shown |= tracker.newly_exposed()
        assert shown is exposed


@pytest.mark.parametrize(("looks", "flashed"), [(4, False), (5, True)])
def test_card_that_shows_its_face_on_its_way_is_noted(looks: int, flashed: bool) -> None:
    """Where only the mouth has shown the card so far, the face in nobody's place is its own."""
    watch = Watch()
    watch.leave(0.95)
    watch.see(frames=2)
    shown = Pose((MOUTH.x + FIRST.x) / 2, (MOUTH.y + FIRST.y) / 2, 20.0)
    watch.see(frames=looks, faces=[shown])
    assert [track.flashed for track in watch.tracks] == [flashed]
    watch.see(FIRST, frames=10)
    assert [(track.slot, track.flashed) for track in watch.tracks] == [(Slot.PUNTO_1, flashed)]


def test_face_that_is_turned_where_it_lies_was_not_shown_on_its_way() -> None:
    """A card is turned when it has been laid."""
    watch = Watch()
    watch.leave(0.95)
    watch.see(FIRST, frames=10)
    watch.see(faces=[FIRST], frames=10)
    assert [(track.kind, track.flashed) for track in watch.tracks] == [(Kind.FACE, False)]


def test_two_that_leave_together_are_told() -> None:
    """Two cards that leave as one are a fault of their own, told once one of them is."""
    watch = Watch()
    watch.see(signs=[(MouthSign.TOGETHER, 0.95)])
    assert watch.codes == [], "it would go to the coup before"
    watch.see(FIRST, frames=8)
    assert len(watch.told) == 1
    assert watch.codes == ["TWO_CARDS_OUT"]


def test_one_card_is_not_two_runs() -> None:
    """Two boxes come to rest after one card left: weighed together, only one of them is it."""
    for joint in (True, False):
        watch = Watch(Uses(joint=joint))
        watch.leave()
        watch.see(FIRST, SECOND, frames=7)
        assert len(watch.told) <= 1, joint


def test_box_where_nobody_saw_a_card_leave_waits_for_proof() -> None:
    """With somebody at the mouth, a box in a slot that no card left for takes longer to believe."""
    watched, unwatched = Watch(), Watch(Uses(mouth=False))
    for watch in (watched, unwatched):
        watch.see(frames=3)
        watch.see(FIRST, frames=9)
    assert len(unwatched.told) == 1
    first = unwatched.told[0].placed_at
    assert first is not None
    assert all((track.placed_at or 0) >= first for track in watched.told)


def hand_over(pose: Pose) -> Points:
    """Return a hand that hides what lies at a pose."""
    sides = [[-60, -90], [60, -90], [60, 60], [-60, 60]]
    return np.array(pose.centre, np.float32) + np.array(sides, np.float32)


def test_card_that_the_mouth_took_for_the_cut_card_is_one_where_it_lies_in_a_slot() -> None:
    """The cut card is put aside: what comes to lie in a slot, and nothing else, is told."""
    watch = Watch()
    watch.see(Pose(MOUTH.x, MOUTH.y, 60), frames=2)
    watch.see(Pose(MOUTH.x - 60, MOUTH.y + 45, 60), signs=[(MouthSign.CUT, 0.95)])
    watch.see(Pose(MOUTH.x - 200, MOUTH.y + 200, 80))
    watch.see(FIRST, frames=60)
    assert [(track.slot, track.kind) for track in watch.told] == [(Slot.PUNTO_1, Kind.BACK)]
    assert len(watch.tracks) == 1


def test_card_covered_where_it_stopped_lies_there() -> None:
    """An arm comes to lie over the first card before it counts as laid: the next is another."""
    watch = Watch()
    arm = (hand_over(FIRST),)
    watch.see(MOUTH, frames=3)
    watch.leave()
    for share in (0.85, 0.7, 0.5, 0.3, 0.1):
        x, y = FIRST.x + share * (MOUTH.x - FIRST.x), FIRST.y + share * (MOUTH.y - FIRST.y)
        watch.see(Pose(x, y, FIRST.angle))
    watch.see(FIRST, hands=arm, frames=5)
    assert [track.slot for track in watch.tracks] == [None], "not laid yet"
    watch.see(hands=arm, frames=30)
    watch.see(hands=arm, signs=[(MouthSign.LEFT, 0.95)])
    watch.see(hands=arm, frames=5)
    watch.see(SECOND, hands=arm, frames=12)
    assert [track.slot for track in watch.tracks] == [Slot.PUNTO_1, Slot.BANCO_1]


def test_card_under_a_hand_is_not_gone() -> None:
    """Without a picture a card out of sight is taken for gone, unless a hand lies over it."""
    for hands, lies in (((hand_over(FIRST),), 1), ((), 0)):
        watch = Watch()
        watch.leave()
        watch.see(FIRST, frames=12)
        watch.see(hands=hands, frames=110)
        assert len(watch.tracks) == lies


def test_card_that_follows_the_cut_card_is_not_taken_for_it() -> None:
    """The cut card left unseen: the card that comes next is the next one to leave."""
    watch = Watch()
    watch.see(signs=[(MouthSign.CUT, 0.95)])
    watch.see(frames=15)
    watch.see(Pose(MOUTH.x, MOUTH.y, 60), frames=2)
    watch.see(Pose(MOUTH.x - 60, MOUTH.y + 45, 60))
    watch.see(Pose(MOUTH.x - 130, MOUTH.y + 100, 60), signs=[(MouthSign.LEFT, 0.95)])
    left_at = watch.at
    watch.see(Pose(MOUTH.x - 200, MOUTH.y + 200, 80))
    watch.see(SECOND, frames=8)
    lying = [track for track in watch.tracks if track.slot is Slot.BANCO_1]
    assert [(track.out_at, track.kind) for track in lying] == [(left_at, Kind.BACK)]
