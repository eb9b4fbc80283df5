"""Make table files for dealing films from one picture each, eight cards drawn into a frame.

`python -m models.evaluate.film_tables FOLDER TABLES`: FOLDER holds films with their truth, as for
`models.evaluate.dealing_films`, which then reads them with `--tables TABLES`. Cards of our own
decks are drawn where a person would lay them, seen through the film's own lens; the table is then
measured as `calibrate --cards` does, and compared with the truth.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import av
import cv2
import numpy as np
from numpy.typing import NDArray

from datasets.dealing.table_places import Layout
from datasets.faces.registry import deck_names
from datasets.render.paint import Image
from models.evaluate.dealing_films import SLOTS, Json, table_file
from models.evaluate.laid_cards import Style, laid_by_hand, laid_on
from vision.config.editor import TableFile
from vision.inference.load import for_pictures
from vision.setup.calibration.cards import LaidCards, measure

# How the films look against our drawings: their lamps are dimmer than our paper, their lenses
# softer (standard deviation, px).
LIGHT, SOFT_PX = 0.86, 0.6
# Middle of a card half out of the shoe, mm behind the front of the truth's mouth: the line from
# which a card is seen, in the tables of the same renderer on which eight cards lie.
LIP_MM = 24.0
UNDISTORT_ROUNDS = 30  # 0.001 px are left after ten

Vector = NDArray[np.float64]


class FilmCamera:
    """The camera of a film's truth: millimetres (x right, y down) to pixels and back."""

    def __init__(self, truth: Json) -> None:
        self._size = np.array(truth["video"]["size"], float)
        self._bend = float(truth["camera"]["k"])
        self._matrix = np.array(truth["camera"]["H_pinhole"]) @ np.diag([1.0, -1.0, 1.0])

    def _straight(self, px: Vector) -> Vector:
        arm = px - self._size / 2
        reach = (arm**2).sum(axis=1, keepdims=True) / (self._size[0] / 2) ** 2
        corner = 1 + (self._size[1] / self._size[0]) ** 2
        straight: Vector = self._size / 2 + arm * (1 + self._bend * reach) / (
            1 + self._bend * corner
        )
        return straight

    def to_px(self, mm: Vector) -> Vector:
        """Return where points (n x 2 mm) are seen, n x 2 px."""
        straight = _through(self._matrix, mm)
        px = straight.copy()
        for _ in range(UNDISTORT_ROUNDS):
            px += straight - self._straight(px)
        return px

    def to_mm(self, px: Vector) -> Vector:
        """Return the points (n x 2 mm) seen at pixels (n x 2)."""
        return _through(np.linalg.inv(self._matrix), self._straight(px))


def _through(matrix: Vector, points: Vector) -> Vector:
    lifted = np.column_stack([points, np.ones(len(points))]) @ matrix.T
    return np.asarray(lifted[:, :2] / lifted[:, 2:], np.float64)


def layout_of(truth: Json) -> Layout:
    """Return where slots, shoe and tray of a film lie."""
    places = {}
    for name, slot in truth["slots"].items():
        corners = np.array(slot["mm"]) * (1, -1)
        along, down = corners[1] - corners[0], corners[3] - corners[0]
        upright = np.hypot(*down) > np.hypot(*along)
        turn = 0.0 if upright else -90.0
        x, y = corners.mean(axis=0).tolist()
        places[SLOTS[name]] = (x, y, turn)
    mouth = np.array(truth["shoe_mouth"]["mm"])
    low = mouth[:, 2] < np.median(mouth[:, 2])
    front, rear = (mouth[part][:, :2].mean(axis=0) * (1, -1) for part in (low, ~low))
    way = (front - rear) / np.hypot(*(front - rear))
    lip, tray = front - LIP_MM * way, np.mean(truth["discard"]["mm"], axis=0) * (1, -1)
    angle = float(np.degrees(np.arctan2(way[1], way[0])))
    return Layout(places, (float(lip[0]), float(lip[1])), angle, (float(tray[0]), float(tray[1])))


def picture_of(film: Path, truth: Json, number: int) -> Image:
    """Return the first frame of a film with eight cards drawn on it, of one of our decks."""
    with av.open(str(film)) as opened:
        frame = next(opened.decode(video=0)).to_ndarray(format="bgr24")
    decks = deck_names("test")
    style = Style(deck=decks[number % len(decks)], card_mm=tuple(truth["card_mm"]))
    layout = layout_of(truth)
    cards = laid_by_hand(np.random.default_rng([1, number]), layout)
    image = laid_on(frame, FilmCamera(truth).to_px, layout, cards, style)
    drawn = (image != frame).any(axis=2)
    image[drawn] = cv2.GaussianBlur(cv2.convertScaleAbs(image, alpha=LIGHT), (0, 0), SOFT_PX)[drawn]
    return image


def off_mm(found: LaidCards, truth: Json) -> dict[str, float]:
    """Return how far the middle of each area is off the truth's, mm; of slots the worst."""
    assert found.view is not None  # noqa: S101  # asked of measured tables only
    own = {SLOTS[name]: slot for name, slot in truth["slots"].items()}
    own |= {"MOUTH": truth["shoe_mouth"], "DISCARD": truth["discard"]}
    plane, camera = found.view.homography, FilmCamera(truth)
    off = {
        name: float(np.hypot(*(there - np.array(own[name]["mm"])[:, :2].mean(axis=0) * (1, -1))))
        for name, area in found.view.areas.items()
        for there in camera.to_mm(plane.to_px([area.mean(axis=0)]).astype(np.float64))
    }
    others = {name: off.pop(name) for name in ("MOUTH", "DISCARD")}
    return {"SLOTS": max(off.values()), **others}


def main() -> int:
    """Draw, measure, compare and write each; 1 if a table was refused."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="films (.mp4), each with its truth (.json)")
    parser.add_argument("tables", type=Path, help="where table files and pictures are written")
    arguments = parser.parse_args()
    arguments.tables.mkdir(parents=True, exist_ok=True)
    models, refused = for_pictures(threads=1), 0
    for number, film in enumerate(sorted(arguments.folder.glob("*.mp4"))):
        truth = json.loads(film.with_suffix(".json").read_text("utf-8"))
        image = picture_of(film, truth, number)
        path = arguments.tables / f"{film.stem}.toml"
        cv2.imwrite(str(path.with_suffix(".png")), image)
        found = measure(models, [image])
        if found.faults or found.view is None:
            refused += 1
            print(f"{film.stem}: refused: {'; '.join(found.faults)}", flush=True)
            continue
        path.write_text(table_file(truth, film.resolve(), path.with_suffix(".sqlite")), "utf-8")
        file = TableFile(path)
        file.change_view(found.view, found.emptied(image))
        file.write()
        off = ", ".join(f"{name} {mm:.1f}" for name, mm in off_mm(found, truth).items())
        print(f"{film.stem}: edges fit to {found.misfit_mm:.2f} mm; off the truth, mm: {off}",
              flush=True)  # fmt: skip
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
