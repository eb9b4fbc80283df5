"""The simulator of sightings: what it deals is what happens, and the reader gets it right."""

from __future__ import annotations

import json
import random
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.stress.dealer import Trick
from models.stress.fit import Measured, measure
from models.stress.sensor import Noise, mouth_signs
from models.stress.session import Bench, Session
from models.stress.styles import HELD_OUT, TUNED, Style
from models.stress.world import Layout, covered_share
from models.stress_table import Tally, judge, row
from vision.game.events import CoupSeen, Slot
from vision.sight.geometry.plane import Pose
from vision.sight.mouth.signs import MouthSign

STYLES = (*TUNED, *HELD_OUT)
NONE = Noise().times(1e-6)


@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.name)
def test_coups_seen_without_noise_are_right(style: Style) -> None:
    """Whatever the dealer's manner, what is seen clearly is read in full and nothing is alleged."""
    bench = Bench(noise=NONE, style=style, fps=25, coups=2, fault_every=0)
    verdicts = Session(3, bench).run()
    assert [verdict.outcome for verdict in verdicts] == ["right", "right"], verdicts


@pytest.mark.parametrize("trick", list(Trick))
def test_fault_of_the_hands_is_raised(trick: Trick) -> None:
    """Each thing that a dealer can do wrong with his hands is raised under its code."""
    bench = Bench(noise=NONE, style=TUNED[1], fps=25, coups=2, fault_every=2, trick=trick)
    verdicts = Session(4, bench).run()
    assert trick.value in verdicts[0].raised, verdicts[0]
    assert verdicts[0].wanted == {trick.value}


@settings(max_examples=12, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**20), style=st.sampled_from(TUNED), fps=st.sampled_from((12, 15, 25)))
def test_no_card_is_made_of_nothing(seed: int, style: Style, fps: int) -> None:
    """Under measured noise a clean coup never ends with more cards than were dealt."""
    bench = Bench(style=style, fps=fps, coups=1, fault_every=0)
    session = Session(seed, bench)
    session.run()
    dealt = len(session.dealt[0].coup.drawn)
    last = {event.coup: event.cards for event in session.events if isinstance(event, CoupSeen)}
    assert sum(map(len, last.values())) <= dealt


def test_noise_times_scales_odds_and_rates() -> None:
    """Probabilities stay below one however strong the noise, and none falls as it rises."""
    for factor in (1.5, 4.0, 100.0):
        more = Noise().times(factor)
        for each in fields(Noise):
            before, after = getattr(Noise(), each.name), getattr(more, each.name)
            assert after > before
            assert after < 1 or each.name.endswith(("_per_s", "_mm", "_degrees", "_s"))


def test_hand_covers_what_is_under_it() -> None:
    """A card under the palm is covered, one an arm's width aside is not."""
    palm = [(300.0, 400.0, 0.0)]
    assert covered_share(Pose(300, 400, 90), palm) == 1.0
    assert covered_share(Pose(300, 250, 90), palm) > 0, "the forearm"
    assert covered_share(Pose(300, 520, 90), palm) == 0.0


def test_layout_is_mirrored_with_the_shoe() -> None:
    """With the shoe on the other side every place is; none leaves the table."""
    left, right = Layout.of(shoe_left=True), Layout.of(shoe_left=False)
    assert left.places[Slot.PUNTO_1].x == 1400 - right.places[Slot.PUNTO_1].x
    assert left.view().slot_of(left.places[Slot.BANCO_3]) is Slot.BANCO_3


def test_mouth_misses_and_invents_signs_at_its_rates() -> None:
    """Of many true signs the share that is missed is that of the noise."""
    signs = [(float(n), MouthSign.LEFT) for n in range(4000)]
    noise = Noise()
    seen = mouth_signs(signs, noise, random.Random(1))
    assert len(seen) == pytest.approx(4000 * (1 - noise.sign_missed), abs=60)


def test_table_counts_clean_coups_and_faults() -> None:
    """A row of the table adds up to the coups that were dealt."""
    tally = judge(1, Bench(noise=NONE, fps=25, coups=2, fault_every=2, style=TUNED[0]))
    assert tally.clean.total() + tally.faulty.total() == 2
    assert tally.faults >= 1
    assert "x1" in row("x1", tally)
    both = Tally()
    both.add(tally)
    assert both.faults == tally.faults


def test_noise_is_fitted_to_what_a_film_shows(tmp_path: Path) -> None:
    """A card seen in nine of ten looks at its place is missed in one of ten."""
    square = [[0, 0], [90, 0], [90, 90], [0, 90]]
    quad = [[300, 300], [388, 300], [388, 363], [300, 363]]
    slots = {name: {"px": square} for name in ("P1", "P2", "P3", "B1", "B2", "B3")}
    card = {
        "coup": 1, "slot": "P1", "kind": "card", "t_draw": 0.1, "t_out": 0.3, "t_placed": 0.6,
        "t_face": 0.7, "t_removed": 9.0, "rest_quad_px": quad,
    }  # fmt: skip
    truth = {
        "camera": {"H_fit": [[1, 0, 0], [0, -1, 0], [0, 0, 1]]}, "slots": slots, "mode": "C",
        "shoe_mouth": {"px": [[900, 900], [990, 900], [990, 990], [900, 990]]},
        "discard": {"px": [[1500, 900], [1590, 900], [1590, 990], [1500, 990]]},
        "video": {"size": [1920, 1080], "fps": 10}, "card_mm": [63, 88], "cards": [card],
    }  # fmt: skip
    film = tmp_path / "oak.mp4"
    film.with_suffix(".json").write_text(json.dumps(truth))
    rows = [[n / 10, [] if n % 10 == 5 else [["face", 0.9, quad]]] for n in range(80)]
    lines = "\n".join(json.dumps(each) for each in rows)
    film.with_suffix(".detections.jsonl").write_text(lines)
    measured = Measured()
    measure(film, measured)
    assert measured.noise()["missed"] == pytest.approx(0.1, abs=0.02)
    assert measured.noise()["false_per_s"] == 0
