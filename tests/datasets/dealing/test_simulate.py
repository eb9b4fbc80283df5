"""The simulator as a whole: films that hold what the truth says, files that others can read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path

import cv2
import numpy as np
import pytest

from datasets.dealing.actors import paint_card
from datasets.dealing.film import Shot, film, frame_ms
from datasets.dealing.film_settings import look_for
from datasets.dealing.scenario import Dealing, Plan, Scenario, Slip
from datasets.dealing.simulate import Show, main, rehearse
from datasets.dealing.table_places import Camera, Layout
from datasets.dealing.timeline import Leg, Pose, pose_at
from vision.config.table import load
from vision.errors import ConfigurationError, OutsideError
from vision.game.cards import parse_cards
from vision.sight.geometry.plane import Homography, rectify

SMALL = Camera((480, 270))


def show(camera: Camera = SMALL, **scenario: object) -> Show:
    """Return a show of a scenario, noiseless."""
    return rehearse(Scenario(**scenario), look_for("test", 1, camera, noise=0.0))  # type: ignore[arg-type]


@pytest.mark.parametrize("dealing", list(Dealing), ids=str)
def test_truth_keeps_the_order_of_a_card_s_life(dealing: Dealing) -> None:
    """Out, placed, face and removed follow each other; the next card is out after the last."""
    cards = show(coups=6, dealing=dealing, slip_every=3).truth()["cards"]
    for card in cards:
        assert card["out_ms"] < card["placed_ms"] < card["face_ms"] < card["removed_ms"]
    assert all(one["out_ms"] < two["out_ms"] for one, two in pairwise(cards))


def test_face_up_cards_are_read_before_the_next_and_face_down_ones_after_all_four() -> None:
    """The way of dealing decides when faces are seen."""
    laid = {1: Plan(cards=parse_cards("9s 8d Kh Qc"))}
    up = show(coups=1, plans=laid, dealing=Dealing.FACE_UP).truth()["cards"]
    down = show(coups=1, plans=laid, dealing=Dealing.PUNTO_FIRST).truth()["cards"]
    assert up[0]["face_ms"] < up[1]["placed_ms"]
    assert down[0]["face_ms"] > down[3]["placed_ms"]
    assert max(down[0]["face_ms"], down[2]["face_ms"]) < down[1]["face_ms"]


@pytest.mark.parametrize(
    ("slip", "moment"),
    [
        pytest.param(Slip.OVER_DRAW_BANCO, "out_ms", id="over-draw"),
        pytest.param(Slip.WRONG_HAND, "placed_ms", id="wrong-hand"),
        pytest.param(Slip.UNDER_DRAW_PUNTO, "removed_ms", id="under-draw"),
    ],
)
def test_fault_is_at_the_instant_that_decides_it(slip: Slip, moment: str) -> None:
    """Over-draw: the card is out; wrong hand: it lies; under-draw: the hands are cleared."""
    truth = show(coups=1, plans={1: Plan(slip)}).truth()
    (fault,) = truth["faults"]
    deciding = [c[moment] for c in truth["cards"] if fault["order"] in (None, c["order"])]
    assert fault["at_ms"] == min(deciding)


def test_film_shows_each_face_where_and_when_the_truth_says() -> None:
    """At `face_ms` the slot, rectified by the calibration, shows the card: its ink, its paper."""
    shown = show(Camera((1280, 720)), coups=1, plans={1: Plan(cards=parse_cards("9s 8d Kh Qc"))})
    truth = shown.truth()
    plane = Homography.fit(truth["calibration"]["image_px"], truth["calibration"]["table_mm"])
    due = {card["face_ms"]: card for card in truth["cards"]}
    last = max(due)
    found = 0
    for image, at in shown.frames():
        if at in due:
            quad = plane.to_px(truth["slots_mm"][due[at]["slot"]])
            crop = rectify(image, quad, (79, 104))[20:84, 18:61]
            assert np.percentile(crop, 80) > 150
            assert np.percentile(crop, 2) < 130
            found += 1
        if at >= last:
            break
    assert found == 4


def test_film_is_empty_table_before_the_first_card_and_after_the_clearing() -> None:
    """What was put away leaves no trace: above the bets, first and last frame are the same."""
    frames = [image[:160] for image, _ in show(coups=1, pace=4.0).frames()]
    assert np.abs(frames[0].astype(int) - frames[-1].astype(int)).max() <= 8


def test_film_goes_on_until_the_table_can_be_seen_to_be_empty() -> None:
    """A card due and not drawn is told when the hands are cleared, in the last coup too."""
    truth = show(coups=1, pace=1.6).truth()
    last = max(card["removed_ms"] for card in truth["cards"])
    assert 1000 * truth["frames"] / truth["fps"] > last + 1500


def test_card_looks_the_same_lying_and_moving() -> None:
    """Nothing jumps when a card comes to rest: painted on a part or on the whole, it is one."""
    shown = show(coups=1)
    shot = Shot(shown.look)
    pose = Pose(352.0, 262.0, 3.0, 1.0)
    whole = shot.stage.bare.copy()
    paint_card(whole, shot.stage, shot.pack, "9s", pose)
    part = shot.stage.bare[60:180, 90:220].copy()
    paint_card(part, shot.stage, shot.pack, "9s", pose, at=(90, 60))
    assert np.abs(whole[60:180, 90:220].astype(int) - part.astype(int)).max() <= 2


def test_cards_are_laid_inside_their_slots() -> None:
    """Every card with a slot comes to rest with its middle well inside it."""
    for act in show(coups=20, slip_every=3).acts:
        for card in act.cards:
            if card.drawn.slot is not None:
                outline = Layout().slot_polygon(card.drawn.place).astype(np.float32)
                lying = pose_at(card.legs, card.placed)
                assert lying is not None
                assert cv2.pointPolygonTest(outline, (lying.x, lying.y), True) > 20


def test_motion_stops_at_both_ends() -> None:
    """Before its start and after its end a motion stands still."""
    leg = Leg(1.0, 2.0, Pose(0, 0), Pose(100, 50, 90, 1.0))
    assert leg.pose(0.5) == leg.pose(1.0) == Pose(0, 0)
    assert leg.pose(2.0) == leg.pose(9.0) == Pose(100, 50, 90, 1.0)


def test_frames_of_one_seed_are_the_same() -> None:
    """A film can be made again, noise and all."""
    shown = rehearse(Scenario(coups=1), look_for("test", 1, SMALL))
    one, two = ([image for image, _ in islice(film(shown.acts, shown.look), 30)] for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def test_simulate_writes_a_video_truth_and_table_file_that_fit(tmp_path: Path) -> None:
    """The video has the frames the truth counts, and the table file passes the reader's check."""
    out = tmp_path / "shoe"
    words = [str(out), "--coups", "1", "--size", "480x270", "--pace", "4", "--quiet"]
    assert main([*words, "--dealing", "face-down", "--seed", "5"]) == 0
    assert sorted(p.name for p in out.iterdir()) == ["deal.mp4", "table.toml", "truth.json"]
    truth = json.loads((out / "truth.json").read_text())
    video = cv2.VideoCapture(str(out / "deal.mp4"))
    assert int(video.get(cv2.CAP_PROP_FRAME_COUNT)) == truth["frames"]
    table = load(out / "table.toml")
    assert table.dealing == "face-down"
    assert Path(table.camera.source) == out / "deal.mp4"
    assert (table.camera.width, table.camera.height) == (480, 270)


def test_simulate_writes_a_folder_of_frames(tmp_path: Path) -> None:
    """`--frames` gives numbered pictures, as many as the truth counts."""
    words = ["--coups", "1", "--size", "320x180", "--pace", "4", "--fps", "5", "--quiet"]
    assert main([str(tmp_path), *words, "--frames"]) == 0
    truth = json.loads((tmp_path / "truth.json").read_text())
    pictures = sorted((tmp_path / "frames").iterdir())
    assert len(pictures) == truth["frames"]
    over = truth["coups"][-1]["end_ms"]
    assert over + 1500 < frame_ms(len(pictures) - 1, truth["fps"]) <= over + 2000


@pytest.mark.parametrize("lens", [-0.08, 0.0, 0.08])
@pytest.mark.parametrize("tilt", [0.0, 20.0, 35.0])
def test_calibration_points_are_in_the_picture(tilt: float, lens: float) -> None:
    """The table file can be used whatever the camera's lean and lens."""
    camera = Camera((1280, 720), tilt, lens)
    pixels, plane = camera.calibration()
    assert (pixels >= 0).all()
    assert (pixels <= (1279, 719)).all()
    assert np.allclose(camera.project(plane), pixels)


def test_interrupted_simulate_leaves_no_half_written_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the middle of a film leaves the folder without a piece of it."""

    def interrupted(*_: object) -> Iterator[object]:
        yield np.zeros((270, 480, 3), np.uint8), 0
        raise KeyboardInterrupt

    monkeypatch.setattr("datasets.dealing.simulate.film", interrupted)
    with pytest.raises(KeyboardInterrupt):
        main([str(tmp_path), "--coups", "1", "--size", "480x270", "--quiet"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(["--deck", "none"], "meridian", id="deck"),
        pytest.param(["--back", "none"], "--back: no back 'none'", id="back"),
        pytest.param(["--table", "none"], "jade", id="table"),
        pytest.param(["--profile", "none"], "punto-banco", id="profile"),
        pytest.param(["--coups", "0"], "coups: 0 is out of range", id="coups"),
        pytest.param(["--from", "400"], "from: a shoe of 8 decks", id="from"),
    ],
)
def test_simulate_with_a_wrong_choice_says_what_there_is(
    tmp_path: Path, words: list[str], message: str
) -> None:
    """The message names the argument and the choices, and nothing is written."""
    with pytest.raises(ConfigurationError) as caught:
        main([str(tmp_path), *words, "--quiet"])
    assert message in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", ["100", "641x360", "10x10", "axb"])
def test_simulate_refuses_a_size_that_is_none(size: str) -> None:
    """A size that cannot be filmed is bad usage: exit code 2."""
    with pytest.raises(SystemExit) as caught:
        main(["out", "--size", size])
    assert caught.value.code == 2


def test_simulate_into_a_file_is_an_outside_error(tmp_path: Path) -> None:
    """A folder that cannot be made is named."""
    path = tmp_path / "taken"
    path.write_text("")
    with pytest.raises(OutsideError, match="taken"):
        main([str(path), "--coups", "1", "--quiet"])
