"""What a run of sightings can be is weighed against all that is known of the table."""

from __future__ import annotations

from tests.sight.film import MOUTH, PLACES, table_view
from vision.game.events import Slot
from vision.sight.detection.detector import Kind
from vision.sight.geometry.plane import Pose
from vision.sight.tracking.association import Sighting
from vision.sight.tracking.background import Sight
from vision.sight.tracking.card import Life, TrackedCard
from vision.sight.tracking.explanations import Explanation, Scene, explain, weighed
from vision.sight.tracking.tracklet import Tracklet

SECOND_BOX = Pose(MOUTH.x - 400, MOUTH.y + 300, 60)
PLACE, STRAYED = PLACES[Slot.PUNTO_1], PLACES[Slot.PUNTO_2]


def run_of(number: int, poses: dict[int, Pose], *, from_mouth: bool) -> Tracklet:
    """Return the run of a back seen at these times (ms)."""
    (born, first), *later = poses.items()
    run = Tracklet.begin(number, Sighting(first, Kind.BACK, 0.9), born, from_mouth=from_mouth)
    for at, pose in later:
        run.see(Sighting(pose, Kind.BACK, 0.9), at, run.seen_at)
    return run


def scene(at: int, *cards: TrackedCard, sight: Sight = Sight.COVERED) -> Scene:
    """Return a watched table on which the places of cards look so."""
    return Scene(table_view(), cards, at, 0, lambda _: sight, lambda _: True, signs=True)


def likeliest(found: tuple[Explanation, ...] | list[Explanation]) -> Explanation:
    """Return the explanation of the largest weight."""
    return max(found, key=lambda each: each.weight)


def test_run_that_begins_where_another_broke_off_is_the_same_card() -> None:
    """The mouth gave one card to leave; a second box of it goes on when the first is lost."""
    card = TrackedCard(
        1, Tracklet.unseen(1, MOUTH, 900, Kind.BACK), 900, life=Life.LOST, signed=0.95
    )
    beside = Pose(MOUTH.x - 65, MOUTH.y + 10, 60)
    first = {
        700: MOUTH,
        770: Pose(MOUTH.x - 30, MOUTH.y + 20, 60),
        840: Pose(MOUTH.x - 60, MOUTH.y + 40, 60),
        910: Pose(MOUTH.x - 95, MOUTH.y + 60, 60),
    }
    second = {
        910: beside,
        980: Pose(MOUTH.x - 110, MOUTH.y + 40, 60),
        1260: Pose(MOUTH.x - 200, MOUTH.y + 90, 60),
    }
    runs = [run_of(2, first, from_mouth=True), run_of(3, second, from_mouth=True)]
    _, of_second = weighed(runs, scene(1260, card))
    assert likeliest(list(of_second)).card is card


def test_card_whose_supposed_place_is_bare_again_is_the_run_that_lies_elsewhere() -> None:
    """Its track strayed to a box on a sleeve, seen to lie for a moment."""
    strayed = run_of(1, dict.fromkeys(range(700, 1200, 70), STRAYED), from_mouth=True)
    card = TrackedCard(1, strayed, 500, life=Life.LIFTED, signed=0.95)
    card.placed, card.placed_at, card.slot = STRAYED, 900, Slot.PUNTO_2
    card.bare_since = 800
    lying = run_of(2, dict.fromkeys(range(910, 1400, 70), PLACE), from_mouth=False)
    (found,) = weighed([lying], scene(1330, card, sight=Sight.FELT))
    assert likeliest(list(found)).card is card
    (found,) = weighed([lying], scene(1330, card, sight=Sight.COVERED))
    assert likeliest(list(found)).card is None
    card.bare_since = 1200  # in a hand that turns it
    (found,) = weighed([lying], scene(1330, card, sight=Sight.FELT))
    heaviest, others = likeliest(list(found)), sum(each.weight for each in found)
    assert heaviest.weight < 0.9 * others


def test_box_that_leaves_the_mouth_right_after_a_card_is_rarely_another() -> None:
    """Its own sign may still come, but the sign that came is of the card beside it."""
    poses = {
        1000 + 70 * step: Pose(MOUTH.x - 35 * step, MOUTH.y + 25 * step, 60) for step in range(4)
    }
    run = run_of(2, poses, from_mouth=True)
    for signed, expected in ((0.97, False), (0.0, True)):
        beside = Tracklet.begin(1, Sighting(SECOND_BOX, Kind.BACK, 0.9), 900, from_mouth=True)
        card = TrackedCard(1, beside, 1050, life=Life.LOST, signed=signed)
        (found,) = weighed([run], scene(1210, card))
        assert likeliest(list(found)).new is expected


def test_card_that_waited_half_out_is_the_one_of_the_sign() -> None:
    """It has been in sight for half a minute when it is drawn."""
    waits = dict.fromkeys(range(0, 30_000, 70), MOUTH)
    drawn = {
        30_000 + 70 * step: Pose(MOUTH.x - 35 * step, MOUTH.y + 25 * step, 60)
        for step in range(1, 5)
    }
    run = run_of(2, waits | drawn, from_mouth=True)
    unseen = Tracklet.unseen(1, MOUTH, 30_100, Kind.BACK)
    card = TrackedCard(1, unseen, 30_100, life=Life.LOST, signed=0.95)
    (found,) = weighed([run], scene(30_280, card))
    assert likeliest(list(found)).card is card


def test_card_laid_down_short_of_its_place_is_the_one_that_lies_there_later() -> None:
    """A dealer stops to turn it; one that lay in another place is rarely brought over."""
    short = Pose(PLACE.x, PLACE.y - 85, PLACE.angle)
    lying = run_of(2, dict.fromkeys(range(2000, 2700, 70), PLACE), from_mouth=False)
    for slot in (None, Slot.BANCO_1):
        stopped = run_of(1, dict.fromkeys(range(500, 1800, 70), short), from_mouth=False)
        card = TrackedCard(1, stopped, 400, life=Life.LIFTED, signed=0.95, placed=short, slot=slot)
        card.placed_at, card.bare_since = 700, 1800
        (found,) = weighed([lying], scene(2690, card, sight=Sight.FELT))
        same = sum(each.weight for each in found if each.card is card)
        new = sum(each.weight for each in found if each.new)
        assert (same > 12 * new) is (slot is None), (slot, same, new)


def test_card_said_to_be_back_is_what_lies_there_if_nobody_saw_another_leave() -> None:
    """Its box strayed while it was laid, and a hand that drew back looked like a return."""
    beside = Pose(PLACE.x - 20, PLACE.y - 95, PLACE.angle)
    box = run_of(1, dict.fromkeys(range(5500, 5840, 70), beside), from_mouth=True)
    card = TrackedCard(1, box, 5500, life=Life.LOST, signed=0.99)
    card.return_at, card.went_back = 5900, 0.92
    lying = run_of(2, dict.fromkeys(range(5760, 7400, 70), PLACE), from_mouth=False)
    (believed,) = explain([lying], scene(7370, card, sight=Sight.FELT))
    assert believed is not None
    assert believed.card is card
