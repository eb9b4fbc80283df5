"""How exact the measuring by laid cards is: `python -m models.evaluate.calibration`.

Simulated cameras that see 600 to 2,000 mm of a table, of every tilt, with four lenses, over tables
never trained on. Also cards laid badly, and how exactly a moved camera is measured.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import cast

import cv2
import numpy as np
from numpy.typing import NDArray

from datasets.dealing.film import Shot
from datasets.dealing.film_settings import look_for
from datasets.dealing.scenario import Scenario
from datasets.dealing.simulate import rehearse
from datasets.dealing.table_places import CARD_MM, PLACES, SLOTS, Camera, Layout
from datasets.faces.registry import deck_names
from datasets.render.paint import Image
from models.evaluate.laid_cards import (
    Pose,
    Style,
    camera_over,
    laid_by_hand,
    layout_for,
    places_of,
    seen,
    table,
)
from vision.config.errors import implausible
from vision.game.events import Slot
from vision.inference.load import for_pictures
from vision.setup.calibration.areas import LAID
from vision.setup.calibration.cards import SIZES, LaidCards, measure
from vision.sight.detection.mouth import exit_way
from vision.sight.geometry.plane import Homography, TableView
from vision.sight.quality.camera_position import ReferenceLayout

# A usual camera.
SIZE = (1920, 1080)
TABLES = ("jade", "plum", "slate")
# Millimetres of table in sight; degrees from straight down; focal lengths in widths, and their k1.
WIDE_MM = (600.0, 800.0, 1000.0, 1300.0, 1600.0, 2000.0)
TILTS = (0.0, 15.0, 28.0, 40.0)
LENSES = ((1.3, 0.0), (1.3, -0.25), (0.8, -0.15), (1.3, 0.1))
# Saved areas are wrong where one lies farther off than this, mm, or the scale by this share: a card
# laid in its slot would count to another, and beyond such a scale nothing is read.
WRONG_MM, WRONG_SCALE = 25.0, 0.1
# Cards that are refused are laid anew so often at most.
MOST_PICTURES = 5
# So far before the shoe a card lies free, mm: half of its length and a finger's width.
FREE_MM = 65.0
# How far the camera is pushed, and from where on a warning is false when it was not.
MOVES_MM = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0)
ALARM_MM = 3.0
CORNERS = np.array([[60.0, 50.0], [1140.0, 50.0], [1140.0, 630.0], [60.0, 630.0]])

Vector = NDArray[np.float64]
Laid = dict[str, Pose]
Spoil = Callable[[Laid], tuple[Laid, Laid]]


def off_of(found: LaidCards, plane: Homography, layout: Layout) -> dict[str, float]:
    """Return how far off each kind of area is, mm, and the scale, per cent, from the truth."""
    assert found.view is not None  # noqa: S101
    to_mm, true = found.view.homography, places_of(layout)
    middles = {
        name: plane.to_mm(to_mm.to_px(area.mean(axis=0))) for name, area in found.view.areas.items()
    }
    away = {name: float(np.hypot(*(at - true[name][:2]))) for name, at in middles.items()}
    ends = np.array([true["PUNTO_2"][:2], true["BANCO_2"][:2]])
    here = to_mm.to_mm(plane.to_px(ends))
    scale = np.hypot(*(here[1] - here[0])) / np.hypot(*(ends[1] - ends[0]))
    slots = max(off for name, off in away.items() if name in SLOTS)
    return {
        "scale, %": abs(float(scale) - 1) * 100,
        "slots, mm": slots,
        "mouth, mm": away["MOUTH"],
        "discard, mm": away.get("DISCARD", 0.0),
        "way out, degrees": _turn(found.view, plane, layout),
    }


def _turn(view: TableView, plane: Homography, layout: Layout) -> float:
    """Return by how much the way out of the mouth is off, degrees."""
    middle = view.mouth.mean(axis=0)
    ends = np.array([middle, middle + CARD_MM[0] * exit_way(view)])
    start, end = plane.to_mm(view.homography.to_px(ends))
    cosine = (end - start) @ layout.way / np.hypot(*(end - start))
    return float(np.degrees(np.arccos(np.clip(cosine, -1, 1))))


def cards(rounds: int) -> None:
    """Print how exact cards laid well are, and what becomes of cards laid badly."""
    models, rng = for_pictures(threads=1), np.random.default_rng(7)
    off: dict[str, list[float]] = defaultdict(list)
    refused: Counter[str] = Counter()
    for number, (wide, tilt) in enumerate(rounds * list(product(WIDE_MM, TILTS))):
        lens = LENSES[(number + number // len(TILTS)) % len(LENSES)]
        layout = layout_for(rng, wide)
        style, plane = _style(rng, number), _camera(rng, wide, tilt, lens)
        shown = seen(table(rng, style, layout, laid_by_hand(rng, layout)).image, plane, SIZE, rng)
        found = measure(models, [shown])
        name = f"{wide:.0f} mm, {tilt:.0f} degrees, lens {lens}, {style.deck}"
        if found.faults:
            refused[found.faults[0].partition(":")[0]] += 1
            print(f"  refused: {name}: {found.faults[0]}", flush=True)
            continue
        result = off_of(found, plane, layout)
        _warn(name, result, found)
        for key, value in result.items():
            off[key].append(value)
    measured = len(off["scale, %"])
    print(f"\n{measured} of {measured + refused.total()} tables measured from one picture")
    print("\n| off the truth | median | 95 % | worst |\n|---|---|---|---|")
    for key, values in off.items():
        middle, most = np.percentile(values, (50, 95))
        print(f"| {key} | {middle:.1f} | {most:.1f} | {max(values):.1f} |")


def _style(rng: np.random.Generator, number: int) -> Style:
    decks = deck_names("test")
    sizes = list(SIZES.values())
    deck = decks[int(rng.integers(len(decks)))]
    return Style(TABLES[number % len(TABLES)], deck, sizes[int(rng.random() < 0.25)])


def _camera(
    rng: np.random.Generator, wide: float, tilt: float, lens: tuple[float, float]
) -> Homography:
    """Return a camera that may hang from either side, and askew."""
    # What leans back sees the near side smaller: it hangs so far that all is in sight.
    room = 1.04 + 0.5 * np.sin(np.radians(tilt))
    turn = float(rng.choice([0.0, 180.0]) + rng.normal(0, 3))
    return camera_over(SIZE, wide * room, tilt, turn, lens)


def _warn(name: str, result: dict[str, float], found: LaidCards) -> bool:
    """Say it where what would be saved is wrong; return whether it is."""
    wrong = result["scale, %"] > 100 * WRONG_SCALE or any(
        value > WRONG_MM for key, value in result.items() if key.endswith("mm")
    )
    if wrong:
        print(f"  WRONG: {name}: {result}", flush=True)
    for area, words in implausible(found.view) if found.view else ():
        print(f"  implausible: {name}: {area} {words}", flush=True)
    return wrong


# --- cards laid badly -----------------------------------------------------------------------------


def _turned(laid: Laid) -> tuple[Laid, Laid]:
    x, y, turn = laid["PUNTO_2"]
    return {**laid, "PUNTO_2": (x, y, turn + 20.0)}, {}


def _overlapping(laid: Laid) -> tuple[Laid, Laid]:
    (x, y, _), (x2, y2, turn) = laid["BANCO_1"], laid["BANCO_2"]
    return {**laid, "BANCO_2": (x + 0.45 * (x2 - x), y + 0.45 * (y2 - y), turn)}, {}


def _missing(laid: Laid) -> tuple[Laid, Laid]:
    return {name: pose for name, pose in laid.items() if name != "BANCO_1"}, {}


def _stray(laid: Laid) -> tuple[Laid, Laid]:
    x, y, turn = laid["BANCO_1"]
    return laid, {"9d": (x, y + 115.0, turn + 30.0)}


def _double(laid: Laid) -> tuple[Laid, Laid]:
    x, y, turn = laid["BANCO_1"]
    return laid, {"2s": (x, y + 115.0, turn + 30.0)}


def _as_it_is(laid: Laid) -> tuple[Laid, Laid]:
    return laid, {}


def _free(laid: Laid) -> tuple[Laid, Laid]:
    """Lay the king whose half should be in the shoe before it, on the way to the places."""
    x, y, turn = laid["MOUTH"]
    (px, py, _), (bx, by, _) = laid["PUNTO_1"], laid["BANCO_1"]
    way = np.array([(px + bx) / 2 - x, (py + by) / 2 - y])
    way *= FREE_MM / np.hypot(*way)
    return {**laid, "MOUTH": (x + float(way[0]), y + float(way[1]), turn)}, {}


def _swapped(one: str, two: str) -> Spoil:
    return lambda laid: ({**laid, one: laid[two], two: laid[one]}, {})


BAD: dict[str, Spoil] = {
    "turned by 20 degrees": _turned,
    "overlapping": _overlapping,
    "one missing": _missing,
    "a stray card": _stray,
    "one twice": _double,
    "hands exchanged in part": _swapped("PUNTO_1", "BANCO_1"),
    "second and third exchanged": _swapped("BANCO_2", "BANCO_3"),
    "kings exchanged": _swapped("MOUTH", "DISCARD"),
    "king free before the shoe": _free,
    "a frame printed on two": _as_it_is,
    "a frame printed on all": _as_it_is,
}
FRAMED = {
    "a frame printed on two": frozenset({"2s", "3h"}),
    "a frame printed on all": frozenset(map(str, LAID.values())),
}


def bad(rounds: int, kinds: Sequence[str]) -> None:
    """Print what becomes of cards laid badly: refused, saved rightly all the same, saved wrong.

    Those refused are laid anew, well, until they are accepted: so many pictures a table takes.
    """
    models, rng = for_pictures(threads=1), np.random.default_rng(8)
    print("\n| laid badly | tables | refused | saved right | saved wrong | pictures a table, mean, "
          "most | says first |\n|---|---|---|---|---|---|---|")  # fmt: skip
    for name in kinds:
        came: Counter[str] = Counter()
        reported: Counter[str] = Counter()
        pictures = []
        for number in range(6 * rounds):
            wide = WIDE_MM[number % len(WIDE_MM)]
            layout = layout_for(rng, wide)
            style = _style(rng, number)
            plane = _camera(rng, wide, TILTS[number % 3], LENSES[number % len(LENSES)])
            laid, others = BAD[name](laid_by_hand(rng, layout))
            framed = replace(style, framed=FRAMED.get(name, frozenset()))
            shown = seen(table(rng, framed, layout, laid, others).image, plane, SIZE, rng)
            found = again = measure(models, [shown])
            pictures.append(1)
            while again.faults and pictures[-1] < MOST_PICTURES:
                laid = laid_by_hand(rng, layout)
                shown = seen(table(rng, style, layout, laid).image, plane, SIZE, rng)
                again = measure(models, [shown])
                pictures[-1] += 1
            if found.faults:
                came["refused"] += 1
                reported[found.faults[0]] += 1
                continue
            came["wrong" if _warn(name, off_of(found, plane, layout), found) else "right"] += 1
        first = reported.most_common(1)[0][0] if reported else "-"
        took = f"{np.mean(pictures):.1f}, {max(pictures)}"
        print(f"| {name} | {came.total()} | {came['refused']} | {came['right']} | "
              f"{came['wrong']} | {took} | {first} |", flush=True)  # fmt: skip


def shifts() -> None:
    """Print how exactly a push of the camera is measured during play, and the false reports."""
    slots = {Slot[name]: Layout().slot_polygon(name).astype(np.float32) for name in SLOTS}
    rng = np.random.default_rng(11)
    errors: dict[float, list[float]] = {mm: [] for mm in MOVES_MM}
    silent = false = 0
    for seed, cloth in enumerate(TABLES, start=41):
        camera = Camera(SIZE, 12.0)
        plane = Homography.fit(camera.project(CORNERS), CORNERS)
        view = TableView(plane, slots, Layout().mouth_polygon().astype(np.float32))
        look = look_for("test", seed, camera, table=cloth)
        layout = ReferenceLayout(Shot(look).stage.bare, view)
        for image in _frames(seed, cloth):
            for mm in MOVES_MM:
                moved, way = _pushed(image, mm, plane, rng)
                found = layout.shift(moved)
                if found is None:
                    silent += 1
                    continue
                missed = found - [way[slot] for slot in slots]
                errors[mm].append(float(np.hypot(*missed.T).max()))
                false += mm == 0 and np.hypot(*found.T).max() > ALARM_MM
    print("\n| moved by | measured | error mean / max, mm |\n|---|---|---|")
    for mm, off in errors.items():
        print(f"| {mm:g} mm | {len(off)} | {np.mean(off):.2f} / {np.max(off):.2f} |")
    print(f"\n{silent} pictures gave no answer; {false} of {len(errors[0.0])} that had not moved "
          f"were reported to have by more than {ALARM_MM:g} mm")  # fmt: skip


def _frames(seed: int, table: str) -> Iterator[Image]:
    """Yield pictures of dealing, hands and bets included, some seconds apart."""
    camera = Camera(SIZE, 12.0)
    look = look_for("test", seed, camera, table=table)
    show = rehearse(Scenario(coups=3, seed=seed), look)
    shot = Shot(look)
    for act in show.acts:
        for at in np.arange(act.start + 0.7, act.end, 2.3):
            yield shot.frame(act.cards, act, float(at))


def _pushed(
    image: Image, mm: float, plane: Homography, rng: np.random.Generator
) -> tuple[Image, dict[Slot, Vector]]:
    """Return the picture after a push and a turn of the camera, in other light, and the truth."""
    way = rng.uniform(0, 2 * np.pi)
    turn = cv2.getRotationMatrix2D((960, 540), float(rng.normal(0, 0.03 * min(mm, 5.0))), 1.0)
    turn[0, 2] += np.cos(way) * mm * SIZE[0] / 1200
    turn[1, 2] += np.sin(way) * mm * SIZE[0] / 1200
    moved = cv2.warpAffine(image, turn, SIZE, borderMode=cv2.BORDER_REPLICATE)
    light = rng.uniform(0.6, 1.15)
    middles = {Slot[name]: np.array(PLACES[name][:2]) for name in SLOTS}
    there = {
        slot: plane.to_mm(plane.to_px(at) @ turn[:, :2].T + turn[:, 2]) - at
        for slot, at in middles.items()
    }
    return cast(Image, cv2.convertScaleAbs(moved, alpha=light)), there


def main() -> None:
    """Print what is asked for: by default everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parts = ("cards", "bad", "shifts")
    parser.add_argument("part", nargs="?", choices=parts, help="only this (default: all)")
    words = "tables of each kind (%(default)s)"
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help=words)
    parser.add_argument("--only", choices=BAD, metavar="KIND", help="of those laid badly")
    args = parser.parse_args()
    if args.part in {None, "cards"}:
        cards(args.rounds)
    if args.part in {None, "bad"}:
        bad(args.rounds, [args.only] if args.only else list(BAD))
    if args.part in {None, "shifts"}:
        shifts()


if __name__ == "__main__":
    main()
