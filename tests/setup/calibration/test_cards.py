"""A table is measured by eight laid cards, or refused in words that name card and cure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import cv2
import numpy as np
import pytest

from models.evaluate.laid_cards import Pose, camera_over, laid_by_hand, places_of
from tests.setup.calibration.laid import (
    CARDS,
    LAYOUT,
    PLANE,
    SIZE,
    WIDE_MM,
    good,
    moved,
    picture,
    without,
)
from vision.config.errors import implausible
from vision.inference.load import for_pictures
from vision.setup.calibration.cards import LaidCards, measure
from vision.sight.detection.classifier import CardModels
from vision.sight.detection.mouth import exit_way
from vision.sight.geometry.plane import Homography, Image


@pytest.fixture(scope="module")
def models() -> CardModels:
    """Open the models."""
    return for_pictures(threads=1)


def off_mm(found: LaidCards, plane: Homography) -> dict[str, float]:
    """Return how far the middle of each area is from where its card lies on the table, mm."""
    assert found.view is not None
    middles = {
        name: plane.to_mm(found.view.homography.to_px(area.mean(axis=0)))
        for name, area in found.view.areas.items()
    }
    return {name: float(np.hypot(*(middles[name] - CARDS[name][:2]))) for name in middles}


def test_one_picture_gives_the_table(models: CardModels) -> None:
    """Slots and discard lie where the cards do, to two millimetres; the mouth before the lip."""
    found = measure(models, [good()])
    assert found.faults == ()
    off = off_mm(found, PLANE)
    assert off.pop("MOUTH") < 10
    assert max(off.values()) < 2
    assert found.view is not None
    assert found.view.card_mm == (63.0, 88.0)
    assert list(implausible(found.view)) == []
    true = np.array([CARDS["PUNTO_2"][:2], CARDS["BANCO_2"][:2]])
    seen = found.view.homography.to_mm(PLANE.to_px(true))
    scale = np.hypot(*(seen[1] - seen[0])) / np.hypot(*(true[1] - true[0]))
    assert scale == pytest.approx(1, abs=0.01)


def test_shoe_may_stand_so_that_cards_leave_across(models: CardModels) -> None:
    """The half-drawn card shows the way out, which need not be towards the places."""
    leaving = 110.0 if LAYOUT.lip[0] > LAYOUT.tray[0] else 70.0
    layout = replace(LAYOUT, leaving=leaving)
    cards = laid_by_hand(np.random.default_rng(6), layout)
    found = measure(models, [picture(cards, layout=layout)])
    assert found.faults == ()
    assert found.view is not None
    mouth = found.view.mouth.mean(axis=0)
    ends = PLANE.to_mm(found.view.homography.to_px([mouth, mouth + 50 * exit_way(found.view)]))
    assert (ends[1] - ends[0]) @ layout.way == pytest.approx(50, abs=1)


@pytest.mark.parametrize("turn", [90.0, 180.0])
def test_camera_may_hang_any_way_round(models: CardModels, turn: float) -> None:
    """A camera mounted sideways or from the other side measures as well."""
    plane = camera_over(SIZE, 2.0 * WIDE_MM if turn == 90 else WIDE_MM + 60, 5.0, turn, (1.3, 0.0))
    found = measure(models, [picture(plane=plane)])
    assert found.faults == ()
    off = off_mm(found, plane)
    off.pop("MOUTH")
    assert max(off.values()) < 3


def test_bridge_cards_are_distinguished_from_poker_cards(models: CardModels) -> None:
    """Their proportions say it; a wrong size named by a person does not fit."""
    found = measure(models, [picture(card_mm=(57.0, 88.0))])
    assert found.faults == ()
    assert found.view is not None
    assert found.view.card_mm == (57.0, 88.0)


BACK = places_of(LAYOUT)
x, y, turn = BACK["PUNTO_2"]


@pytest.mark.parametrize(
    ("cards", "others", "words"),
    [
        (without("BANCO_2"), {}, "the two of hearts is not seen: lay it on Banco's second place"),
        (without("MOUTH"), {}, "the king of diamonds is not seen: draw it half out"),
        (CARDS, {"As": (600.0, 560.0, 10.0)}, "the ace of spades is seen 2 times"),
        (CARDS, {"7h": (600.0, 560.0, 10.0)}, "the seven of hearts does not belong here"),
        (moved(PUNTO_2=CARDS["BANCO_2"], BANCO_2=CARDS["PUNTO_2"]), {}, "changed places"),
        (moved(PUNTO_2=CARDS["PUNTO_3"], PUNTO_3=CARDS["PUNTO_2"]), {}, "changed places"),
        (moved(PUNTO_2=(x, y, turn + 20)), {}, "lies turned by"),
        (moved(PUNTO_2=(x, y, turn), PUNTO_1=(x + 40, y, turn)), {}, "of spades disagrees"),
        (moved(MOUTH=CARDS["DISCARD"], DISCARD=CARDS["MOUTH"]), {}, "changed places"),
    ],
    ids=[
        "missing",
        "no mouth",
        "doubled",
        "foreign",
        "hands",
        "in a hand",
        "turned",
        "overlapping",
        "kings",
    ],
)
def test_cards_laid_badly_are_named_with_the_cure(
    models: CardModels, cards: Mapping[str, Pose], others: Mapping[str, Pose], words: str
) -> None:
    """Nothing that is saved is wrong: each picture is refused, and says what to do."""
    found = measure(models, [picture(cards, others=others)])
    assert any(words in fault for fault in found.faults), found.faults


@pytest.mark.parametrize(
    ("image", "words"),
    [
        (good()[:, ::-1].copy(), "mirror writing"),
        (cv2.GaussianBlur(good(), (0, 0), 5), "blurred"),
        (np.full((720, 1280, 3), 90, np.uint8), "is not seen"),
    ],
    ids=["mirrored", "blurred", "bare"],
)
def test_picture_that_shows_no_table_right_is_refused(
    models: CardModels, image: Image, words: str
) -> None:
    """Mirror writing is found although the names of the cards are read; blur and bareness too."""
    found = measure(models, [image])
    assert any(words in fault for fault in found.faults), found.faults


def test_third_places_without_a_card_are_put_from_the_others(models: CardModels) -> None:
    """The other hand's third place is the pattern; it is said."""
    found = measure(models, [picture(without("PUNTO_3"))], without=["PUNTO_3"])
    assert found.faults == ()
    assert off_mm(found, PLANE)["PUNTO_3"] < 25
    assert any("Punto's third place had no card" in note for note in found.notes)


def test_several_pictures_are_measured_together(models: CardModels) -> None:
    """A picture with a fault is left out, and that is said; the others give one table."""
    bad = picture(without("PUNTO_1"))
    found = measure(models, [good(), bad, good()])
    assert found.faults == ()
    assert any("picture 2 is left out: the ace of spades" in note for note in found.notes)


def test_picture_of_the_layout_shows_no_card(models: CardModels) -> None:
    """The cards are painted over, so that a camera's shift is measured by the print alone."""
    found = measure(models, [good()])
    bare = found.emptied(good())
    middle = PLANE.to_px(CARDS["PUNTO_1"][:2]).astype(int)
    assert good()[middle[1] + 25, middle[0] + 12].min() > 150
    assert bare[middle[1] + 25, middle[0] + 12].min() < 120
