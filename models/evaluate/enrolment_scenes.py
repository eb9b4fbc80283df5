"""House decks laid out on simulated tables: spreads to enrol from, other tables to be tested on.

One table is one seed: cloth, lamp, shine, tilt of the camera. Every picture comes with the card at
each place. Must not know how a deck is learnt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from datasets.dealing.actors import Pack, paint_card
from datasets.dealing.film import Shot
from datasets.dealing.film_settings import look_for
from datasets.dealing.motions import Pose
from datasets.dealing.table_places import Camera
from datasets.faces.registry import Deck, cut_card, load_back, load_deck
from datasets.faces.sprites import NAMES
from datasets.render.exposure import blurred, jpeg, noisy
from datasets.render.paint import Image
from vision.game.cards import Card
from vision.sight.geometry.plane import Homography, TableView

SIZE = (1920, 1080)
COLUMNS, STEP_MM, FIRST_MM = 7, (125.0, 150.0), (210.0, 240.0)
SPREAD = 13


@dataclass(frozen=True, slots=True, eq=False)
class Laid:
    """One picture of a table: where cards lie (mm) and which they are, `None` on their faces."""

    image: Image
    places: tuple[tuple[float, float], ...]
    cards: tuple[Card | None, ...]


class Table:
    """A simulated table with one deck; `tilt` in degrees, `noise` in grey levels."""

    def __init__(self, deck: Deck, back: str, seed: int, *, tilt: float, noise: float) -> None:
        camera = Camera(SIZE, tilt=tilt)
        self._shot = Shot(look_for("test", seed, camera, deck=deck.name, back=back))
        self._shot.pack = Pack(deck, load_back(back), cut_card(deck.back.shape[0]))
        self._rng = np.random.default_rng([seed, 11])
        self._noise = noise
        pixels, plane = camera.calibration()
        self.view = TableView(
            Homography.fit(pixels, plane), {}, np.zeros((4, 2), np.float32), card_mm=deck.size_mm
        )

    def spreads(self, *, pictures: int, count: int = 4, worn: bool = False) -> Iterator[Laid]:
        """Yield pictures of spreads of 13 cards, all 52 in four, in any order.

        `worn` changes exposure, focus and compression from one picture to the next.
        """
        order = self._rng.permutation(len(NAMES))
        for number in range(count):
            names = [NAMES[i] for i in order[number * SPREAD : (number + 1) * SPREAD]]
            yield from self._pictures(names, pictures, worn=worn)

    def backs(self, *, pictures: int, worn: bool = False) -> Iterator[Laid]:
        """Yield pictures of thirteen cards lying on their faces."""
        yield from self._pictures([None] * SPREAD, pictures, worn=worn)

    def _pictures(self, names: Sequence[str | None], count: int, *, worn: bool) -> Iterator[Laid]:
        rng = self._rng
        canvas = self._shot.stage.bare.copy()
        places = []
        for number, name in enumerate(names):
            x = FIRST_MM[0] + number % COLUMNS * STEP_MM[0] + rng.normal(0, 4)
            y = FIRST_MM[1] + number // COLUMNS * STEP_MM[1] + rng.normal(0, 4)
            pose = Pose(x, y, float(rng.normal(0, 6)), flip=0.0 if name is None else 1.0)
            paint_card(canvas, self._shot.stage, self._shot.pack, name or NAMES[0], pose)
            places.append((x, y))
        cards = tuple(None if name is None else Card.parse(name) for name in names)
        for _ in range(count):
            image = self._worn(canvas) if worn else canvas
            yield Laid(noisy(image, rng, sigma=self._noise), tuple(places), cards)

    def _worn(self, image: Image) -> Image:
        rng = self._rng
        image = cv2.convertScaleAbs(image, alpha=float(np.exp(rng.normal(0, 0.2))))
        if rng.random() < 0.5:
            image = blurred(image, float(rng.uniform(0.3, 1.3)))
        return jpeg(image, int(rng.integers(40, 95))) if rng.random() < 0.7 else image


def other_table(deck: Deck, back: str, seed: int) -> Table:
    """Return a table to be tested on: its tilt and noise follow from the seed."""
    rng = np.random.default_rng([seed, 12])
    return Table(deck, back, seed, tilt=rng.uniform(0, 18), noise=rng.uniform(1, 7))


def with_twin(name: str, card: str, twin: str, *, share: float = 0.94) -> Deck:
    """Return a deck in which one face is nearly a copy of another."""
    deck = load_deck(name)
    faces = dict(deck.faces)
    faces[twin] = _mixed(np.asarray(faces[card]), np.asarray(faces[twin]), share)
    return replace(deck, faces=faces)


def _mixed(one: NDArray[np.uint8], other: NDArray[np.uint8], share: float) -> NDArray[np.uint8]:
    return np.asarray(cv2.addWeighted(one, share, other, 1 - share, 0), np.uint8)
