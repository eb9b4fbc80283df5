"""What goes bad slowly is told once and ends: the camera's place, and how cards are read."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest

from tests.sight.quality.test_camera_shift import VIEW, moved, table
from vision.app.pipeline import limits_of
from vision.config.table import WatchSection
from vision.game.cards import DECK
from vision.game.events import CardRead, Event, Noticed
from vision.sight.detection.classifier import Look
from vision.sight.geometry.frame import Image
from vision.sight.quality.drift import CARDS, LOOKS, Place, Trust

_, PLACE, TRUST = limits_of(WatchSection())
MM_PER_PX = 0.9
EVERY_MS = 10_000


def shown(place: Place, way_mm: float, start: int, looks: int) -> list[Event]:
    """Show the table moved by so much for some looks."""
    image = moved(table(), (way_mm / MM_PER_PX, 0.0))
    return [event for i in range(looks) for event in place.look(image, start + i * EVERY_MS)]


@pytest.mark.parametrize("layout", [table(), None], ids=["calibrated", "first picture"])
def test_camera_moved_by_5_mm_is_told_and_its_end(layout: Image | None) -> None:
    """A push is told in millimetres after two looks that agree, and its end when put right."""
    place = Place(VIEW, PLACE, layout)
    assert shown(place, 0.0, 0, 4) == []
    (event,) = shown(place, 5.0, 100_000, 4)
    assert isinstance(event, Noticed)
    assert event.code == "CAMERA_MOVED"
    assert event.detail.startswith(("By 5.", "By 4.")), event.detail
    assert place.blind is None
    (end,) = shown(place, 0.0, 200_000, 4)
    assert isinstance(end, Noticed)
    assert end.over


def test_camera_moved_too_far_makes_blind() -> None:
    """From 2 cm on nothing is read where the slots were."""
    place = Place(VIEW, PLACE, table())
    shown(place, 30.0, 0, 3)
    assert place.blind is not None
    assert "30 mm" in place.blind
    shown(place, 0.0, 100_000, 3)
    assert place.blind is None


def test_camera_place_is_not_watched_where_it_is_not_wanted() -> None:
    """With `moved_mm` 0 nothing is measured."""
    place = Place(VIEW, replace(PLACE, moved_mm=0.0), table())
    assert shown(place, 30.0, 0, 4) == []
    assert place.blind is None


def test_hand_over_the_layout_claims_nothing() -> None:
    """Where the layout cannot be compared, nothing is said of the camera."""
    place = Place(VIEW, PLACE, table())
    hidden = np.asarray(cv2.GaussianBlur(table(), (0, 0), 40), np.uint8)
    assert [place.look(hidden, i * EVERY_MS) for i in range(4)] == [()] * 4


def reads(trust: Trust, unread: list[bool], start: int = 0) -> list[Event]:
    """Read cards, or leave them unread."""
    told: list[Event] = []
    for i, declined in enumerate(unread, start=start):
        card = None if declined else DECK[i % 52]
        told += trust.take([CardRead(i, i, card, 1.0)], i)
    return told


def test_many_unread_cards_are_told_and_the_end() -> None:
    """Every third card unread is told once; a few are not."""
    trust = Trust(TRUST)
    assert reads(trust, [i % 6 == 0 for i in range(2 * CARDS)]) == []
    (event,) = reads(trust, [i % 3 == 0 for i in range(2 * CARDS)], start=1000)
    assert isinstance(event, Noticed)
    assert event.code == "READING_POOR"
    assert "cards unread" in event.detail
    (end,) = reads(trust, [False] * CARDS, start=2000)
    assert isinstance(end, Noticed)
    assert end.over


def look(sure: float) -> Look:
    """Return a look that is so sure of one face."""
    log_p = np.full(52, np.log((1 - sure) / 51))
    log_p[3] = np.log(sure)
    return Look(log_p.astype(np.float32), 0.9)


def test_looks_that_grow_unsure_are_told_and_the_end() -> None:
    """A fall from 95 to 60 per cent on average is told; what shows no face does not count."""
    trust = Trust(TRUST)
    trust.looks([look(0.95)] * LOOKS)
    trust.looks([Look(look(0.1).log_p, 0.2)] * LOOKS)
    assert trust.take([], 0) == ()
    trust.looks([look(0.6)] * LOOKS)
    (event,) = trust.take([], 1)
    assert isinstance(event, Noticed)
    assert event.code == "READING_POOR"
    assert "60%" in event.detail
    assert trust.take([], 2) == ()
    trust.looks([look(0.95)] * LOOKS)
    (end,) = trust.take([], 3)
    assert isinstance(end, Noticed)
    assert end.over
