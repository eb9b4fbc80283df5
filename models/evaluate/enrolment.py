"""Enrol held-out decks on one simulated table, and show them and other decks on others.

`python -m models.evaluate.enrolment` prints, for each deck, what enrolling it took and found, how
many cards and backs of its own and of other decks are called foreign on other tables, and what
becomes of a deck with two cards that look alike.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from datasets.dealing.actors import Pack, paint_card
from datasets.dealing.film import Shot
from datasets.dealing.film_settings import look_for
from datasets.dealing.table_places import Camera
from datasets.dealing.timeline import Pose
from datasets.faces.registry import Deck, back_names, cut_card, deck_names, load_back, load_deck
from datasets.faces.sprites import NAMES
from datasets.render.exposure import blurred, jpeg, noisy
from datasets.render.paint import Image
from vision.config.table import CameraSection
from vision.errors import OutsideError
from vision.game.cards import Card
from vision.inference.deck_file import open_deck
from vision.inference.load import ModelSet, open_models
from vision.setup.enrolment.enrol import (
    Enrolled,
    Watch,
    ask_all,
    enrol,
    progress,
    report,
)
from vision.setup.enrolment.gather import NEAR_MM, Showing
from vision.sight.detection.classifier import CROP_SIZE
from vision.sight.detection.detector import Kind
from vision.sight.geometry.plane import Frame, Homography, TableView, rectify
from vision.sight.reading.deck import DeckClassifier
from vision.sight.reading.faces import STRANGE_FOR_LONG

# The usual picture of a table camera, px.
SIZE = (1920, 1080)
# Spreads of thirteen cards, as a person lays them: seven in a row, so many mm from card to card,
# beginning so many mm from the table's corner.
COLUMNS, STEP_MM, FIRST_MM = 7, (125.0, 150.0), (210.0, 240.0)
SPREAD = 13
# The error bound of `[reader]` by default.
BOUND = 1e-5
# Pictures of each spread on other tables: as many looks as `ForeignCards` needs at least.
LOOKS = 5
# How cards are gathered and the threshold for foreign cards were changed after runs on these decks
# (deploy/enrolment.md).
DECKS = ("tideway", "gnome-plastic", "kde-standard")
# Seeds of the tables: everything about a table follows from its seed.
ENROLLED_ON, TESTED_ON = 501, (901, 902)


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
    """Return a table to test on: its tilt and noise follow from the seed."""
    rng = np.random.default_rng([seed, 12])
    return Table(deck, back, seed, tilt=rng.uniform(0, 18), noise=rng.uniform(1, 7))


def with_twin(name: str, card: str, twin: str, *, share: float = 0.94) -> Deck:
    """Return a deck in which one face is nearly a copy of another."""
    deck = load_deck(name)
    mixed = cv2.addWeighted(
        np.asarray(deck.faces[card]), share, np.asarray(deck.faces[twin]), 1 - share, 0
    )
    return replace(deck, faces={**deck.faces, twin: np.asarray(mixed, np.uint8)})


@dataclass(frozen=True, slots=True, eq=False)
class Looks:
    """Crops of cards on other tables, and which card each crop shows, numbered over all tables."""

    crops: list[Image]
    card: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class House:
    """A deck, its back, and the classifier that reads it as enrolled."""

    deck: Deck
    back: str
    classifier: DeckClassifier


def enrol_on_table(deck: Deck, back: str, models: ModelSet, out: Path) -> Enrolled:
    """Show a deck on the enrolment table and enrol it; print what that took and found."""
    table = Table(deck, back, ENROLLED_ON, tilt=8, noise=2.5)
    watch = Watch(
        models, table.view, CameraSection(source="0", width=SIZE[0], height=SIZE[1]), print
    )
    begun, used = time.monotonic(), time.process_time()
    shown = [*table.spreads(pictures=6), *table.backs(pictures=3)]
    for number, laid in enumerate(shown):
        watch.see(Frame(np.asarray(laid.image, np.uint8), 250 * number, number))
    alone = progress(watch.gatherer)
    asked: list[str] = []

    def ask(_: str, showing: Showing) -> Card | None:
        card = true_card(shown[showing.first - 1], showing.place)
        asked.append(str(card))
        return card

    ask_all(watch.gatherer, ask)
    if watch.gatherer.missing:
        raise OutsideError(f"{deck.name}: not whole: {progress(watch.gatherer)}")
    captured = watch.gatherer.captured()
    enrolled = enrol(captured, models, bound=BOUND, out=out)
    print(
        f"  {len(shown)} pictures, {len(captured.cards)} captured cards; {alone}; "
        f"asked: {' '.join(asked) or 'nothing'}; {(time.monotonic() - begun) / 60:.1f} min, of "
        f"which {(time.process_time() - used) / 60:.1f} min of one core"
    )
    print(f"  refused: {enrolled.why}" if enrolled.why else f"  accepted at {BOUND:g}")
    for line in report(enrolled.measured):
        print(f"  {line}")
    return enrolled


def true_card(laid: Laid, place: tuple[float, float]) -> Card | None:
    """Return the card that lies nearest to a place of a picture, if any is near."""
    away = [float(np.hypot(x - place[0], y - place[1])) for x, y in laid.places]
    nearest = int(np.argmin(away))
    return laid.cards[nearest] if away[nearest] <= NEAR_MM else None


def looks_at(tables: Sequence[Table], models: ModelSet, *, backs: bool = False) -> Looks:
    """Return the looks that detector and table view give at spreads on other tables."""
    crops: list[Image] = []
    cards: list[int] = []
    for number, table in enumerate(tables):
        pictures = (
            table.backs(pictures=LOOKS, worn=True)
            if backs
            else table.spreads(pictures=LOOKS, count=2, worn=True)
        )
        for laid in pictures:
            for found in models.detector(np.asarray(laid.image, np.uint8)):
                pose, _ = table.view.locate(found.quad)
                away = [np.hypot(x - pose.x, y - pose.y) for x, y in laid.places]
                nearest = int(np.argmin(away))
                if away[nearest] > NEAR_MM or (found.kind is Kind.BACK) != backs:
                    continue
                card = laid.cards[nearest]
                crops.append(rectify(laid.image, table.view.quad_px(pose), CROP_SIZE))
                cards.append(number * 100 + (nearest if card is None else card.index))
    return Looks(crops, np.array(cards))


def foreign(house: House, looks: Looks, *, backs: bool) -> str:
    """Return how many cards and single looks a house deck's classifier calls foreign."""
    if not looks.crops:
        return "no cards found"
    values = np.array(
        house.classifier.strange_back_crops(looks.crops)
        if backs
        else [look.strange for look in house.classifier.of_crops(looks.crops)]
    )
    cards = np.unique(looks.card)
    lasting = [np.median(values[looks.card == card]) >= STRANGE_FOR_LONG for card in cards]
    single = 100 * float((values >= STRANGE_FOR_LONG).mean())
    return (
        f"{len(cards):4} cards: {100 * float(np.mean(lasting)):.1f} % called foreign, "
        f"single looks {single:.1f} %"
    )


def compare(house: House, others: Iterable[House], models: ModelSet) -> None:
    """Print what is called foreign of the own deck and of others, on other tables."""
    print(f"\nenrolled: {house.deck.name}, back {house.back}")
    for shown in (house, *others):
        tables = [other_table(shown.deck, shown.back, seed) for seed in TESTED_ON]
        whose = "own" if shown is house else "foreign"
        faces = foreign(house, looks_at(tables, models), backs=False)
        print(f"  {whose} faces of {shown.deck.name:22}{faces}", flush=True)
        if shown is house or shown.back != house.back:
            found = foreign(house, looks_at(tables, models, backs=True), backs=True)
            print(f"  {whose} back {shown.back:26}{found}", flush=True)


def house_of(name: str, models: ModelSet, folder: Path) -> House:
    """Enrol one deck and open it as the reader does."""
    backs = back_names("test")
    back = backs[sum(name.encode()) % len(backs)]
    deck, out = load_deck(name), folder / f"{name}.deck"
    print(f"\n{name}, back {back}")
    enrolled = enrol_on_table(deck, back, models, out)
    found = enrolled.measured.deck
    if not enrolled.why:
        found, _ = open_deck(out, models.hashes["classifier"])
    return House(deck, back, DeckClassifier(models.classifier, found))


def main() -> None:
    """Enrol, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    held_out = deck_names("test")
    usual = [name for name in DECKS if name in held_out]
    parser.add_argument("--decks", nargs="+", default=usual, choices=held_out)
    parser.add_argument("--classifier", type=Path, help="another classifier")
    parser.add_argument("--out", type=Path, help="keep the deck files and pictures in this folder")
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    models = open_models({"classifier": arguments.classifier}, threads=2)
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.out or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        houses = [house_of(name, models, folder) for name in arguments.decks]
        for house in houses:
            compare(house, [other for other in houses if other is not house], models)
        name = arguments.decks[0]
        print(f"\n{name} with a 7h that is nearly a copy of its 7d")
        out = folder / "twins.deck"
        enrol_on_table(with_twin(name, "7d", "7h"), back_names("test")[0], models, out)


if __name__ == "__main__":
    main()
