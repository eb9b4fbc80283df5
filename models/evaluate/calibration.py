"""How exact the calibration is: `python -m models.evaluate.calibration`.

Simulated cameras of every tilt, with and without a bent lens, over tables never trained on; the
error is that of the slots' middles. Also how exactly a moved camera is measured, and how often one
is reported that has not moved.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import cv2
import numpy as np
from numpy.typing import NDArray

from datasets.dealing.film import Shot
from datasets.dealing.film_settings import look_for
from datasets.dealing.scenario import Scenario
from datasets.dealing.simulate import rehearse
from datasets.dealing.stage import Stage, set_stage
from datasets.dealing.table_places import PLACES, SLOTS, Camera, Layout
from datasets.faces.registry import back_names, load_back
from datasets.render.paint import Image, lay, pyramid
from vision.game.events import Slot
from vision.setup.calibration.from_sheet import SIZE_MM, NotSeenError, board, find
from vision.setup.calibration.solver import Thing, fit, rigid
from vision.sight.geometry.plane import Homography, Lens, TableView
from vision.sight.quality.camera_position import ReferenceLayout

# A usual camera: picture size and focal length, px.
SIZE = (1920, 1080)
FOCAL_PX = 1.3 * SIZE[0]
TABLES = ("jade", "plum", "slate")
# Degrees from straight down, and first distortion factors of lenses.
TILTS = (0.0, 12.0, 24.0, 35.0)
K1 = (-0.25, 0.0, 0.1)
# Pictures of the sheet, and how exactly a person points (standard deviation).
SHEETS, CLICK_PX = 6, 1.0
# White about the printed board, and how finely the sheet is drawn.
MARGIN_MM, SHEET_PX_PER_MM = 15, 8
# How far the camera is pushed, and from where on a warning is false when it was not.
MOVES_MM = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0)
ALARM_MM = 3.0
# Middles of the slots and corners of the field's clicked points, mm.
MIDDLES = np.array([PLACES[name][:2] for name in SLOTS])
CORNERS = np.array([[60.0, 50.0], [1140.0, 50.0], [1140.0, 630.0], [60.0, 630.0]])

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """One camera over one table, its true plane, and how its lens bends a picture."""

    stage: Stage
    plane: Homography
    maps: tuple[NDArray[np.float32], NDArray[np.float32]] | None

    def seen(self, image: Image, rng: np.random.Generator) -> Image:
        """Return a picture as the camera gives it: bent, a little soft, noisy."""
        if self.maps is not None:
            image = cv2.remap(image, *self.maps, cv2.INTER_CUBIC)
        soft = cv2.GaussianBlur(image, (0, 0), 0.6).astype(np.float32)
        noisy = soft + rng.standard_normal(image.shape, np.float32) * 2.5
        return np.clip(noisy, 0, 255).astype(np.uint8)


def scene(table: str, tilt: float, k1: float) -> Scene:
    """Return a camera that leans back `tilt` degrees, its lens bent by `k1` (focal 1.3 widths)."""
    camera = Camera(SIZE, tilt)
    back = pyramid(load_back(back_names("test")[0]))
    stage = set_stage(np.random.default_rng(3), camera, table, back)
    straight = camera.project(CORNERS)
    if k1 == 0:
        return Scene(stage, Homography.fit(straight, CORNERS), None)
    lens = Lens(FOCAL_PX, (SIZE[0] / 2, SIZE[1] / 2), k1)
    plane = Homography.fit(lens.bend(straight), CORNERS, lens)
    x, y = np.meshgrid(np.arange(SIZE[0]) + 0.5, np.arange(SIZE[1]) + 0.5)
    there = lens.straighten(np.stack([x, y], axis=-1)) - np.float32(0.5)
    maps = np.ascontiguousarray(there[:, :, 0]), np.ascontiguousarray(there[:, :, 1])
    return Scene(stage, plane, maps)


def _ink(px_per_mm: int) -> NDArray[np.bool_]:
    """Return where the sheet is black, without its margin, at so many pixels a millimetre."""
    black = np.asarray(board().generateImage(SIZE_MM)) < 128
    return black.repeat(px_per_mm, axis=0).repeat(px_per_mm, axis=1)


def paper() -> tuple[Image, ...]:
    """Return the printed sheet with its margin as a pyramid."""
    scale, margin = SHEET_PX_PER_MM, MARGIN_MM
    width, height = ((side + 2 * margin) * scale for side in SIZE_MM)
    image = np.full((height, width, 4), 255, np.uint8)
    image[margin * scale : -margin * scale, margin * scale : -margin * scale, :3][_ink(scale)] = 20
    return pyramid(image, smallest=64)


def sheet_things(where: Scene, sheet: Sequence[Image], rng: np.random.Generator) -> list[Thing]:
    """Return the sheet as found at several places of the table."""
    half = np.array(SIZE_MM) / 2 + MARGIN_MM
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * half
    things = []
    for _ in range(SHEETS):
        turn = rng.uniform(0, 2 * np.pi)
        spin = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
        spots = corners @ spin + rng.uniform([220, 190], [980, 470])
        image = where.stage.bare.copy()
        lay(image, sheet, where.stage.camera.project(spots))
        try:
            things.append(find(where.seen(image, rng)))
        except NotSeenError as error:
            print(f"  a sheet was not found: {error}")
    return things


def off_mm(found: Homography, where: Scene, *, framed: bool = False) -> Vector:
    """Return how far off each slot is, mm; laid on the true frame unless it has it."""
    seen = found.to_mm(where.plane.to_px(MIDDLES)).astype(np.float64)
    placed = seen if framed else rigid(seen, MIDDLES).apply(seen)
    return np.asarray(np.linalg.norm(placed - MIDDLES, axis=1), np.float64)


def methods(where: Scene, rng: np.random.Generator) -> dict[str, Vector]:
    """Return the error of every method at the slots, without and with the lens modelled."""
    sheets = sheet_things(where, paper(), rng)
    clicks = where.plane.to_px(CORNERS) + rng.normal(0, CLICK_PX, (4, 2))
    best = fit(sheets, SIZE)
    return {
        "sheet, no lens": off_mm(fit(sheets, SIZE, lenses=0).plane, where),
        "sheet": off_mm(best.plane, where),
        "points, no lens": off_mm(Homography.fit(clicks, CORNERS), where, framed=True),
        "points": off_mm(Homography.fit(clicks, CORNERS, best.plane.lens), where, framed=True),
    }


def exactness() -> None:
    """Print the table of errors, a row for each camera and one for all."""
    rng = np.random.default_rng(7)
    total: dict[str, list[Vector]] = {}
    for i, (tilt, k1) in enumerate((tilt, k1) for k1 in K1 for tilt in TILTS):
        table = TABLES[i % len(TABLES)]
        found = methods(scene(table, tilt, k1), rng)
        if not total:
            print("| table | tilt | k1 |", " | ".join(found), "|")
            print("|---" * (3 + len(found)) + "|")
        print(f"| {table} | {tilt:.0f}° | {k1:g} |", " | ".join(map(_words, found.values())), "|",
              flush=True)  # fmt: skip
        for name, off in found.items():
            total.setdefault(name, []).append(off)
    print("| all | | |", " | ".join(_words(np.concatenate(off)) for off in total.values()), "|")


def _words(off: Vector) -> str:
    return f"{off.mean():.2f} / {off.max():.2f}"


def shifts() -> None:
    """Print how exactly a push of the camera is measured during play, and the false reports."""
    slots = {Slot[name]: Layout().slot_polygon(name).astype(np.float32) for name in SLOTS}
    rng = np.random.default_rng(11)
    errors: dict[float, list[float]] = {mm: [] for mm in MOVES_MM}
    silent = false = 0
    for seed, table in enumerate(TABLES, start=41):
        camera = Camera(SIZE, 12.0)
        plane = Homography.fit(camera.project(CORNERS), CORNERS)
        view = TableView(plane, slots, Layout().mouth_polygon().astype(np.float32))
        look = look_for("test", seed, camera, table=table)
        layout = ReferenceLayout(Shot(look).stage.bare, view)
        for image in _frames(seed, table):
            for mm in MOVES_MM:
                moved, way = _pushed(image, mm, plane, rng)
                found = layout.shift(moved)
                if found is None:
                    silent += 1
                    continue
                errors[mm].append(
                    max(float(np.hypot(*np.subtract(found.at[s], way[s]))) for s in slots)
                )
                false += mm == 0 and found.worst_mm > ALARM_MM
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
    middles = {Slot[name]: Layout().slot_polygon(name).mean(axis=0) for name in SLOTS}
    there = {
        slot: plane.to_mm(plane.to_px(at) @ turn[:, :2].T + turn[:, 2]) - at
        for slot, at in middles.items()
    }
    return cast(Image, cv2.convertScaleAbs(moved, alpha=light)), there


def main() -> None:
    """Print what is asked for: by default everything."""
    parts: dict[str, Callable[[], None]] = {"exactness": exactness, "shifts": shifts}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", choices=list(parts), help="only this (default: all)")
    wanted = parser.parse_args().part
    for name, part in parts.items():
        if wanted in {None, name}:
            part()


if __name__ == "__main__":
    main()
