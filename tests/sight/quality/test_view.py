"""A view that is lost or poor is reported, and a good one never is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import cv2
import numpy as np
import pytest

from datasets.dealing import simulate
from tests.sight.film import Stage
from vision.app.pipeline import limits_of
from vision.config.table import WatchSection, load
from vision.game.events import Condition, Event, Noticed, Slot
from vision.sight.geometry.plane import Frame, Image, TableView
from vision.sight.quality.view import ViewCheck, blind_reason

STAGE = Stage()
TABLE = STAGE.picture().image
Change = Callable[[Image], Image]
LIMITS = limits_of(WatchSection())[0]


NOISE = np.random.default_rng(1).normal(0, 1.5, (*TABLE.shape[:2], 1)).round().astype(np.int16)


def noisy(image: Image, seed: int) -> Image:
    """Return a picture with a sensor's noise, another for each seed."""
    noise = np.roll(NOISE, (7 * seed, 13 * seed), axis=(0, 1))
    return np.clip(image + noise, 0, 255).astype(np.uint8)


def uniform(level: int) -> Image:
    """Return a picture of one level with a little noise."""
    return noisy(np.full_like(TABLE, level), 1)


def checked(
    images: Iterator[Image] | list[Image], view: TableView = STAGE.view
) -> tuple[list[str | None], list[Event]]:
    """Show pictures 100 ms apart; return each change of blindness, and the events."""
    check = ViewCheck(view, LIMITS)
    changes: list[str | None] = []
    events: list[Event] = []
    for i, image in enumerate(images):
        before = check.blind
        events += check.look(Frame(image, i * 100, i))
        if check.blind != before:
            changes.append(check.blind)
    return changes, events


@pytest.mark.parametrize(
    ("image", "word"),
    [(uniform(3), "dark"), (uniform(254), "dazzled"), (np.full_like(TABLE, 120), "empty")],
    ids=["dark", "dazzled", "empty"],
)
def test_blindness_is_named(image: Image, word: str) -> None:
    """Each way of seeing nothing has its word, without any memory."""
    assert word in (blind_reason(image) or "")
    assert blind_reason(TABLE) is None


def test_reason_has_to_last_either_way() -> None:
    """Half a second of darkness is nothing; two seconds count once, and the return once."""
    blind = Condition("VIEW_LOST", 1500)
    dark = [i in range(30, 45) or i in range(75, 135) for i in range(195)]
    changed = [i for i, d in enumerate(dark) if blind.take("dark" if d else None, i * 33)]
    assert len(changed) == 2
    assert 75 + 44 < changed[0] < 75 + 50
    assert 135 + 44 < changed[1] < 135 + 50


@pytest.fixture(scope="module", params=[31, 32])
def film(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[Image], TableView]:
    """Deal one coup on film at two tables; return every picture and the table's view."""
    folder = tmp_path_factory.mktemp("film")
    words = ["--coups", "1", "--fps", "3", "--quiet", "--seed", str(request.param)]
    words += ["--size", f"{TABLE.shape[1]}x{TABLE.shape[0]}"]
    assert simulate.main([str(folder), *words]) == 0
    config = load(folder / "table.toml")
    video = cv2.VideoCapture(config.camera.source)
    pictures = []
    while (shown := video.read())[0]:
        pictures.append(np.asarray(shown[1], np.uint8))
    return pictures, config.view.table_view()


def covered(image: Image) -> Image:
    """Lay a cloth near the lens over most of the picture: bright enough, but nothing to see."""
    out = image.copy()
    edge = round(0.85 * image.shape[1])
    out[:, :edge] = cv2.GaussianBlur(out, (0, 0), 60)[:, :edge]
    return out


def glare(view: TableView) -> Change:
    """Return a lamp's reflection on Banco's first slot."""

    def shine(image: Image) -> Image:
        out = image.astype(np.float32)
        x, y = view.homography.to_px(view.slots[Slot.BANCO_1]).mean(axis=0)
        rows, columns = np.mgrid[: image.shape[0], : image.shape[1]]
        radius = 0.09 * image.shape[1]
        spot = np.exp(-(((columns - x) ** 2 + (rows - y) ** 2) / radius**2))
        return np.clip(out + 900 * spot[:, :, None], 0, 255).astype(np.uint8)

    return shine


def slow(images: list[Image], change: Change | None = None) -> list[Image]:
    """Show each picture for half a second, as filmed, and then as many changed by a fault."""
    shown = [noisy(image, i) for i, image in enumerate(images) for _ in range(2)]
    faulty = [noisy(change(image), i) for i, image in enumerate(images[-12:])] if change else []
    return shown + [image for image in faulty for _ in range(3)]


@pytest.mark.slow
def test_clean_film_raises_nothing(film: tuple[list[Image], TableView]) -> None:
    """Cards, hands and the clearing of the table are no fault of the view, at any table."""
    pictures, view = film
    assert checked(slow(pictures), view) == ([], [])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "word"),
    [
        (covered, "covered"),
        (lambda image: cv2.GaussianBlur(image, (0, 0), 0.006 * image.shape[1]), "blurred or"),
        (np.zeros_like, "dark"),
        (lambda image: np.full_like(image, 255), "dazzled"),
    ],
    ids=["covered", "defocused", "dark", "dazzled"],
)
def test_lost_sight_is_reported(
    film: tuple[list[Image], TableView], change: Change, word: str
) -> None:
    """A covered lens, a lost focus, darkness and a blinding lamp make the reader blind, once."""
    pictures, view = film
    changes, _ = checked(slow(pictures, change), view)
    assert len(changes) == 1
    assert word in (changes[0] or "")


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["glare", "dim", "bright"])
def test_poor_light_is_reported(film: tuple[list[Image], TableView], fault: str) -> None:
    """A reflection on a slot and lamps that fail or flare up make the light poor."""
    pictures, view = film
    changes: dict[str, Change] = {
        "glare": glare(view),
        "dim": lambda image: (image * 0.3).astype(np.uint8),
        "bright": lambda image: np.clip(image * 2.6, 0, 255).astype(np.uint8),
    }
    blind, events = checked(slow(pictures, changes[fault]), view)
    assert blind == []
    (event,) = events
    assert isinstance(event, Noticed)
    assert event.code == "LIGHT"
    assert ("Glare on BANCO_1" if fault == "glare" else "Brightness") in event.detail


def test_light_that_is_good_again_is_reported() -> None:
    """The alert ends when its reason does."""
    dim = (TABLE * 0.3).astype(np.uint8)
    shown = [noisy(image, i) for i, image in enumerate([TABLE] * 40 + [dim] * 40 + [TABLE] * 40)]
    blind, events = checked(shown)
    assert blind == []
    assert [event.over for event in events if isinstance(event, Noticed)] == [False, True]


def test_limits_are_what_decides() -> None:
    """With other limits the same pictures are good."""
    dim = (TABLE * 0.3).astype(np.uint8)
    check = ViewCheck(STAGE.view, replace(LIMITS, dim_share=0.1))
    shown = [TABLE] * 40 + [dim] * 40
    assert not any(check.look(Frame(noisy(image, i), i * 100, i)) for i, image in enumerate(shown))
