"""The tracker keeps every card's identity and invents none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from tests.sight.film import DISCARD, MOUTH, PLACES, Faults, Prop, Stage, play, table_view
from vision.game.cards import Card
from vision.game.events import Slot
from vision.sight.detection.detector import Detection, Kind
from vision.sight.geometry.frame import Frame
from vision.sight.geometry.plane import Pose, box_around
from vision.sight.mouth.signs import MouthEvent, MouthSign
from vision.sight.tracking.association import sightings_of
from vision.sight.tracking.card import Track
from vision.sight.tracking.tracker import Tracker
from vision.sight.tracking.tracklet import mean_pose

ACE = Card.parse("As")


@dataclass
class Log:
    """Runs a tracker over a stage and keeps what it said.

    It is looked at every so manyth frame; `watched` says that the mouth is, which shows nothing.
    """

    stage: Stage
    with_image: bool = True
    every: int = 1
    watched: bool = False
    tracks: tuple[Track, ...] = ()
    history: list[tuple[Track, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tracker = Tracker(self.stage.view)

    def see(self, detections: tuple[Detection, ...], frame: Frame) -> None:
        """Give the tracker one frame."""
        if frame.index % self.every:
            return
        image = frame.image if self.with_image else None
        mouth = () if self.watched else None
        self.tracks = self.tracker.update(detections, frame.at, image, mouth=mouth)
        self.history.append(self.tracks)

    def play(self, script: Iterator[None]) -> None:
        """Play a script to its end."""
        play(self.stage, script, self.see)

    def show(self, seen: Iterable[Sequence[tuple[Pose, Kind]]]) -> None:
        """Give the tracker frames, 100 ms apart, of what is seen where."""
        at = self.stage.frame_number * 1000 // self.stage.fps
        for number, things in enumerate(seen, start=1):
            detections = [self.stage._detection(pose, kind) for pose, kind in things]
            self.tracks = self.tracker.update(detections, at + 100 * number)
            self.history.append(self.tracks)

    @property
    def ids(self) -> list[int]:
        """The ids of all cards that ever were out, in order."""
        return list(dict.fromkeys(track.id for tracks in self.history for track in tracks))

    @property
    def gone(self) -> list[int]:
        """The ids of the cards that went."""
        return [track.id for tracks in self.history for track in tracks if track.gone]


def quiet(seed: int = 1, **faults: float) -> Log:
    """Return a log of a stage that has been watched for two quiet seconds."""
    log = Log(Stage(seed=seed, faults=Faults(**faults)))
    log.play(log.stage.wait(2000))
    return log


def two_dealt() -> Log:
    """Return a log of a stage on which Punto's and Banco's first card lie open."""
    log = quiet()
    for slot in (Slot.PUNTO_1, Slot.BANCO_1):
        log.play(log.stage.deal(Prop(MOUTH, Kind.FACE, ACE), PLACES[slot]))
    log.play(log.stage.wait(500))
    return log


@pytest.mark.parametrize("slot", list(Slot), ids=lambda slot: slot.name)
def test_card_dealt_to_a_slot_is_out_and_then_placed_there(slot: Slot) -> None:
    """A card is out while it moves, once, and placed in its slot when it rests."""
    log = quiet(missed=0.1)
    log.play(log.stage.deal(Prop(MOUTH, Kind.BACK, ACE), PLACES[slot]))
    first = next(tracks for tracks in log.history if tracks)[0]
    assert first.placed_at is None
    assert len(log.ids) == 1
    assert log.tracks[0].slot is slot
    assert (log.tracks[0].placed_at or 0) > log.tracks[0].out_at
    assert log.tracks[0].pose.turn(PLACES[slot]) < 15


def test_card_missed_in_flight_is_found_at_rest() -> None:
    """A card under the hand all the way is out and placed once it lies in its slot."""
    log = quiet()
    log.stage.grip_mm = 30
    log.play(log.stage.deal(Prop(MOUTH, Kind.FACE, ACE), PLACES[Slot.BANCO_1]))
    log.play(log.stage.wait(600))
    assert [track.slot for track in log.tracks] == [Slot.BANCO_1]


@pytest.mark.parametrize("every", [6, 9, 12])
@pytest.mark.parametrize("slot", list(Slot), ids=lambda slot: slot.name)
def test_card_is_found_at_rest_by_a_machine_that_looks_seldom(slot: Slot, every: int) -> None:
    """Looks 200 to 400 ms apart follow a card that lies, though the mouth showed nothing."""
    log = Log(Stage(), every=every, watched=True)
    log.play(log.stage.wait(3000))
    log.play(log.stage.deal(Prop(MOUTH, Kind.FACE, ACE), PLACES[slot]))
    log.play(log.stage.wait(3000))
    assert [track.slot for track in log.tracks] == [slot]
    assert len(log.ids) == 1


def test_card_missed_in_flight_comes_before_one_seen_leaving_the_shoe_after_it() -> None:
    """Right after a clearing a card found lying takes long to prove; the next one waits for it."""
    log = two_dealt()
    log.play(log.stage.clear())
    log.stage.props.append(Prop(PLACES[Slot.PUNTO_1], Kind.FACE, ACE))
    log.play(log.stage.wait(300))
    log.play(log.stage.deal(Prop(MOUTH, Kind.FACE, ACE), PLACES[Slot.BANCO_1]))
    log.play(log.stage.wait(1500))
    assert [track.slot for track in log.tracks] == [Slot.PUNTO_1, Slot.BANCO_1]


def test_card_waiting_in_the_mouth_is_not_out() -> None:
    """The next card showing in the shoe is none that left it, nor does it hold up the others."""
    log = quiet()
    log.stage.props.append(Prop(MOUTH, Kind.BACK))
    log.play(log.stage.wait(3000))
    assert log.ids == []
    log.play(log.stage.deal(Prop(MOUTH, Kind.BACK, ACE), PLACES[Slot.PUNTO_1]))
    assert len(log.ids) == 1


def test_card_face_up_in_the_mouth_is_exposed_once() -> None:
    """A face that waits in the shoe is noticed when it has lain there, and not again."""
    log = quiet()
    log.stage.props.append(Prop(MOUTH, Kind.FACE, ACE))
    noticed = []
    for _ in log.stage.wait(3000):
        log.see(log.stage.detections(), log.stage.picture())
        noticed.append(log.tracker.newly_exposed())
    assert noticed.count(True) == 1
    assert log.ids == []


def test_static_print_is_not_a_card_lost_in_flight() -> None:
    """A box seen before the card left the shoe cannot be that card, however long it is lost."""
    log = quiet()
    stage = log.stage
    printed = box_around(stage.view.quad_px(Pose(600, 250, 45)))
    spurious = Detection(printed, Kind.BACK, 0.42)

    def play_on(script: Iterator[None]) -> None:
        for _ in script:
            log.see((*stage.detections(), spurious), stage.picture())

    play_on(stage.wait(1500))
    stage.grip_mm = 30
    play_on(stage.deal(Prop(MOUTH, Kind.BACK, ACE), PLACES[Slot.BANCO_1]))
    play_on(stage.wait(3000))
    assert [track.slot for track in log.tracks] == [Slot.BANCO_1]


def test_flying_card_does_not_become_the_pile_in_the_discard() -> None:
    """A card in flight passes the discard, where a back lies; it is not that back."""
    log = quiet()
    seen = [[Pose(1110, 200, 60), DISCARD], [Pose(900, 180, 70), DISCARD]]
    seen += [[Pose(300 + x, 160, 80), DISCARD] for x in (300, 100)]
    seen += [[DISCARD]] * 8
    log.show([[(pose, Kind.BACK) for pose in poses] for poses in seen])
    assert log.gone == []


def test_pile_in_the_discard_is_ignored() -> None:
    """Cards that lie in the discard were never out of the shoe."""
    log = quiet()
    log.stage.props.append(Prop(DISCARD, Kind.FACE))
    log.play(log.stage.wait(3000))
    assert log.ids == []


def test_spurious_sightings_are_no_cards() -> None:
    """One-frame detections all over the table never become a card, however many."""
    log = quiet(spurious=0.4)
    log.play(log.stage.wait(10_000))
    assert log.ids == []


def test_card_seen_twice_in_a_frame_is_one() -> None:
    """Double detections and dropouts of two cards leave two tracks."""
    log = quiet(doubled=0.5, missed=0.2, wrong_kind=0.1)
    for slot in (Slot.PUNTO_1, Slot.PUNTO_2):
        log.play(log.stage.deal(Prop(MOUTH, Kind.FACE, ACE), PLACES[slot]))
    log.play(log.stage.wait(2000))
    assert len(log.ids) == 2
    assert log.gone == []


def test_sightings_of_one_card_are_merged_and_odd_sizes_dropped() -> None:
    """Two boxes 8 mm apart are one card, 30 mm apart two; a chip is none."""
    view = Stage().view
    poses = [Pose(600, 300, 90), Pose(606, 305, 92), Pose(636, 300, 90)]
    found = [Detection(box_around(view.quad_px(pose)), Kind.FACE, 0.9) for pose in poses]
    centre = view.homography.to_px([600, 500])
    chip = np.asarray(np.array([[-6, -6], [6, -6], [6, 6], [-6, 6]]) + centre, np.float32)
    assert len(sightings_of(view, [*found, Detection(chip, Kind.FACE, 0.9)])) == 2


def test_card_under_a_hand_is_missing_not_gone() -> None:
    """A card covered for five seconds comes back as itself."""
    log = quiet()
    log.play(log.stage.deal(Prop(MOUTH, Kind.FACE, ACE), PLACES[Slot.PUNTO_1]))
    place = PLACES[Slot.PUNTO_1]

    def fidget() -> Iterator[None]:
        for _ in range(25):
            x, y = log.stage.rng.normal(0, 12, 2)
            yield from log.stage.reach(replace(place, x=place.x + x, y=place.y + 95 + y), 200)

    log.play(fidget())
    assert not log.tracks[0].seen
    log.play(log.stage.withdraw())
    log.play(log.stage.wait(500))
    assert log.tracks[0].seen
    assert len(log.ids) == 1
    assert log.gone == []


def test_cards_taken_away_unseen_are_gone_when_their_places_are_bare() -> None:
    """Removal is seen on the bare table, within a second of the hand leaving."""
    log = two_dealt()
    log.stage.props.clear()
    log.play(log.stage.wait(1000))
    assert len(log.gone) == 2
    assert log.tracks == ()


def test_cards_taken_away_are_gone_though_something_passes_over_their_places() -> None:
    """What hides a bare place for a moment lays no card there: the time before it counts."""
    log = two_dealt()
    place = log.stage.props[-1].pose
    log.stage.props.clear()
    log.play(log.stage.wait(300))
    log.stage.hand = replace(place, y=place.y + log.stage.grip_mm)
    log.play(log.stage.wait(400))
    assert log.gone == []
    log.stage.hand = None
    log.play(log.stage.wait(300))
    assert len(log.gone) == 2


def test_only_card_of_a_table_that_seems_taken_is_in_a_hand() -> None:
    """The first card of a coup is unseen for two seconds: no other was cleared, so it was not."""
    log = quiet()
    prop = Prop(MOUTH, Kind.FACE, ACE)
    log.play(log.stage.deal(prop, PLACES[Slot.PUNTO_1]))
    log.play(log.stage.wait(500))
    log.stage.props.remove(prop)
    log.play(log.stage.wait(2000))
    log.stage.props.append(prop)
    log.play(log.stage.wait(1000))
    assert log.gone == []
    assert len(log.ids) == 1


def test_card_taken_alone_is_in_a_hand() -> None:
    """One of two cards is away for two seconds, as to be switched: it comes back as itself."""
    log = two_dealt()
    away = log.stage.props.pop(0)
    log.play(log.stage.wait(2000))
    log.stage.props.append(away)
    log.play(log.stage.wait(1000))
    assert log.gone == []
    assert len(log.ids) == 2


@pytest.mark.parametrize(("side", "ids"), [(Kind.BACK, 2), (Kind.FACE, 3)])
def test_card_that_a_player_squeezes_comes_back_as_itself(side: Kind, ids: int) -> None:
    """One whose face nobody saw is away for as long as he likes; one that was read is taken off."""
    log = quiet()
    squeezed = Prop(MOUTH, side, ACE)
    log.play(log.stage.deal(squeezed, PLACES[Slot.PUNTO_1]))
    log.play(log.stage.deal(Prop(MOUTH, Kind.BACK, ACE), PLACES[Slot.BANCO_1]))
    log.stage.props.remove(squeezed)
    log.play(log.stage.wait(12_000))
    squeezed.kind = Kind.FACE
    log.stage.props.append(squeezed)
    log.play(log.stage.wait(3000))
    assert len(log.ids) == ids


@pytest.mark.parametrize(("away_ms", "gone"), [(1500, 0), (3000, 1)])
def test_card_that_lay_open_is_taken_off_when_the_next_one_leaves(away_ms: int, gone: int) -> None:
    """Nobody turns a card while the next is drawn; so it is told before that one."""
    log = two_dealt()
    log.stage.props.pop(0)
    log.play(log.stage.wait(away_ms))
    frame = log.stage.picture()
    left = [MouthEvent(frame.at, MouthSign.LEFT, 0.95)]
    tracks = log.tracker.update(log.stage.detections(), frame.at, frame.image, mouth=left)
    assert sum(track.gone for track in tracks) == gone


def test_next_card_does_not_end_one_whose_place_seemed_bare() -> None:
    """A hand like the felt passes over a card as the next one leaves: the coup goes on."""
    log = two_dealt()
    hidden = log.stage.props.pop(0)
    log.play(log.stage.wait(100))
    frame = log.stage.picture()
    left = [MouthEvent(frame.at, MouthSign.LEFT, 0.7)]
    tracks = log.tracker.update(log.stage.detections(), frame.at, frame.image, mouth=left)
    log.stage.props.append(hidden)
    log.play(log.stage.wait(500))
    assert [track.slot for track in tracks if not track.gone] == [Slot.PUNTO_1, Slot.BANCO_1]
    assert log.gone == []


def test_without_pictures_a_card_goes_by_the_clock() -> None:
    """Where no picture is given, 2.5 s out of sight mean gone."""
    log = Log(Stage(), with_image=False)
    prop = Prop(MOUTH, Kind.FACE, ACE)
    log.play(log.stage.deal(prop, PLACES[Slot.PUNTO_1]))
    log.stage.props.remove(prop)
    log.play(log.stage.wait(2000))
    assert log.gone == []
    log.play(log.stage.wait(1000))
    assert len(log.gone) == 1


def test_turned_card_stays_the_same() -> None:
    """A back turned face up in its slot keeps its identity."""
    log = quiet()
    prop = Prop(MOUTH, Kind.BACK, ACE)
    log.play(log.stage.deal(prop, PLACES[Slot.BANCO_2]))
    log.play(log.stage.turn(prop))
    log.play(log.stage.wait(500))
    kinds = [tracks[0].kind for tracks in log.history if tracks]
    assert (kinds[0], kinds[-1]) == (Kind.BACK, Kind.FACE)
    assert len(log.ids) == 1


def test_card_lying_is_not_taken_along_by_one_that_passes_over_it() -> None:
    """For a frame both are seen askew under and over each other; each goes on as itself."""
    log = quiet()
    lying, goal = PLACES[Slot.PUNTO_1], PLACES[Slot.PUNTO_3]
    log.play(log.stage.deal(Prop(MOUTH, Kind.FACE, ACE), lying))
    log.play(log.stage.wait(1000))
    first = log.ids
    lies = log.tracks[0].pose
    over = [replace(lies, x=lies.x - 1, y=lies.y + 16), replace(lies, x=lies.x + 9)]
    seen = [[(over[0], Kind.FACE), (over[1], Kind.BACK)]]
    seen += [[(lies, Kind.FACE), (goal, Kind.BACK)] for _ in range(8)]
    log.show(seen)
    assert log.tracks[0].id == first[0]
    assert [track.slot for track in log.tracks] == [Slot.PUNTO_1, Slot.PUNTO_3]


def test_card_seen_twice_as_it_is_laid_down_is_one() -> None:
    """Half under the hand it is seen askew too; the one out of the mouth and it are the same."""
    log = quiet()
    goal = PLACES[Slot.BANCO_3]
    askew = Pose(goal.x + 8, goal.y - 30, (goal.angle + 90) % 180)
    held = replace(goal, x=goal.x + 2, y=goal.y - 6)
    seen = [[Pose(1110, 240, 25)], [askew, held], *[[held]] * 3, [askew], *[[goal]] * 5]
    log.show([(pose, Kind.BACK) for pose in poses] for poses in seen)
    assert len(log.ids) == 1
    assert [track.slot for track in log.tracks] == [Slot.BANCO_3]


def test_hand_seen_as_a_card_beside_the_one_it_lays_down_is_none() -> None:
    """Palm and card together look like a card a few times: no second one flies with the first."""
    log = quiet()
    goal = PLACES[Slot.BANCO_3]
    ways = ((42, -39), (5, -8), (1, 0)), ((42, -110), (-8, -52), (-9, -50))
    card, palm = ([replace(goal, x=goal.x + x, y=goal.y + y) for x, y in way] for way in ways)
    palm = [replace(pose, angle=(goal.angle + 90) % 180) for pose in palm]
    seen = [*zip(card, palm, strict=True), *[(goal,)] * 4]
    log.show([(pose, Kind.FACE) for pose in poses] for poses in seen)
    assert len(log.ids) == 1
    assert [track.slot for track in log.tracks] == [Slot.BANCO_3]


def test_card_lost_in_flight_is_the_one_that_comes_to_rest_where_it_was_last_seen() -> None:
    """Its empty slot looked like a card for a frame: the next card is not taken for it."""
    log = quiet()
    goal, end = PLACES[Slot.BANCO_1], PLACES[Slot.PUNTO_2]

    def beside(x: float, y: float, turn: float = 0) -> Pose:
        return Pose(goal.x + x, goal.y + y, (goal.angle + turn) % 180)

    card = [[beside(153, -42, -10)], [beside(54, -12), beside(-10, 0)], [beside(6, -2)]]
    passing = [[goal, beside(155, -64, -12)], [beside(-4, 1), beside(0, 25, 87)]]
    on = [[goal, replace(end, x=end.x + x)] for x in (290, 120, 20, 0, 0, 0, 0)]
    seen = [*card, *[[goal]] * 6, *passing, *on]
    log.show([(pose, Kind.BACK) for pose in poses] for poses in seen)
    assert len(log.ids) == 2
    assert [track.slot for track in log.tracks] == [Slot.BANCO_1, Slot.PUNTO_2]


def test_card_moved_to_another_slot_is_placed_again() -> None:
    """A card slid to another slot is the same card with a new place."""
    log = quiet()
    prop = Prop(MOUTH, Kind.FACE, ACE)
    log.play(log.stage.deal(prop, PLACES[Slot.PUNTO_1]))
    first = log.tracks[0].placed_at
    log.stage.props.remove(prop)
    log.play(log.stage.deal(replace(prop), PLACES[Slot.BANCO_1], start=prop.pose))
    log.play(log.stage.wait(1000))
    assert len(log.ids) == 1
    assert log.tracks[0].slot is Slot.BANCO_1
    assert log.tracks[0].placed_at != first


def test_card_laid_aside_keeps_its_place() -> None:
    """Turned beside its place and left there for a moment, it comes back as itself."""
    log = quiet()
    prop = Prop(MOUTH, Kind.BACK, ACE)
    place = PLACES[Slot.BANCO_2]
    aside = Pose(place.x + 10, place.y - 130, place.angle)
    assert table_view().slot_of(aside) is None
    log.play(log.stage.deal(prop, place))
    for pose, kind in ((aside, Kind.FACE), (place, Kind.FACE)):
        log.stage.props.remove(prop)
        log.play(log.stage.wait(500))
        prop.pose, prop.kind = pose, kind
        log.stage.props.append(prop)
        log.play(log.stage.wait(4000))
        assert [track.slot for track in log.history[-1]] == [Slot.BANCO_2]
    assert len(log.ids) == 1


def test_card_held_over_another_slot_is_not_laid_there() -> None:
    """A hand that clears stops with its cards over others: they stay where they were laid."""
    log = quiet()
    prop = Prop(MOUTH, Kind.FACE, ACE)
    log.play(log.stage.deal(prop, PLACES[Slot.PUNTO_1]))
    log.play(log.stage.wait(500))
    log.stage.props.remove(prop)
    log.play(log.stage.deal(replace(prop), PLACES[Slot.BANCO_1], start=prop.pose))
    log.play(log.stage.wait(200))
    assert log.tracks[0].pose.distance(PLACES[Slot.BANCO_1]) < 20
    assert [track.slot for track in log.tracks] == [Slot.PUNTO_1]


def test_cards_swept_to_the_discard_are_gone() -> None:
    """Clearing ends with every card gone once, and nothing new."""
    log = quiet(missed=0.1, doubled=0.1)
    for slot in list(Slot)[:5]:
        log.play(log.stage.deal(Prop(MOUTH, Kind.FACE, ACE), PLACES[slot]))
    log.play(log.stage.clear())
    log.play(log.stage.wait(1500))
    assert sorted(log.gone) == sorted(log.ids)
    assert len(log.ids) == 5
    assert log.tracks == ()


def test_card_never_seen_turned_goes_with_the_others() -> None:
    """Its place is bare as theirs: the next card found in a slot is not taken for it."""
    log = quiet()
    stage = log.stage
    for slot, kind in ((Slot.PUNTO_1, Kind.FACE), (Slot.BANCO_1, Kind.BACK)):
        log.play(stage.deal(Prop(MOUTH, kind, ACE), PLACES[slot]))
    log.play(stage.wait(1500))
    stage.props.clear()
    log.play(stage.wait(1500))
    assert len(log.gone) == 2


def test_tracker_bears_pauses_between_frames() -> None:
    """While the motion gate sleeps no frames come; cards at rest are the same afterwards."""
    log = quiet()
    log.play(log.stage.deal(Prop(MOUTH, Kind.FACE, ACE), PLACES[Slot.PUNTO_1]))
    log.stage.frame_number += 600
    log.play(log.stage.wait(300))
    log.play(log.stage.deal(Prop(MOUTH, Kind.FACE, ACE), PLACES[Slot.BANCO_1]))
    assert len(log.ids) == 2
    assert log.gone == []
    assert [track.slot for track in log.tracks] == [Slot.PUNTO_1, Slot.BANCO_1]


def test_card_that_appears_outside_the_slots_is_out_when_the_picture_agrees() -> None:
    """Missed on its way, a card beside the slots is found; an imagined one is not."""
    log = quiet()
    aside = Pose(600, 250, 45)
    log.play(log.stage.reach(aside, 300))
    log.stage.props.append(Prop(aside, Kind.BACK))
    log.play(log.stage.withdraw())
    log.play(log.stage.wait(2500))
    assert [(track.pose.distance(aside) < 5, track.slot) for track in log.tracks] == [(True, None)]


def test_card_imagined_on_the_felt_is_none() -> None:
    """A detection that persists where the picture shows the bare table is no card."""
    log = quiet()
    quad = box_around(log.stage.view.quad_px(Pose(600, 250, 45)))
    for _ in range(120):
        log.see((Detection(quad, Kind.FACE, 0.9),), log.stage.picture())
    assert log.ids == []


def test_cut_card_is_tracked_as_one() -> None:
    """The cut card comes out like any other, but as its own kind."""
    log = quiet()
    log.play(log.stage.deal(Prop(MOUTH, Kind.CUT), Pose(1200, 420, 100)))
    assert [track.kind for track in log.tracks] == [Kind.CUT]


def test_mean_pose_goes_the_short_way_round() -> None:
    """The mean of axes at 2 and 178 degrees is 0, not 90."""
    mean = mean_pose([Pose(0, 0, 2), Pose(2, 4, 178)])
    assert mean.turn(Pose(0, 0, 0)) < 1e-6
    assert (mean.x, mean.y) == (1, 2)
