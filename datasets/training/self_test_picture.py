"""Make the self-test picture: known cards that the models must read at start and on a timer.

    python -m datasets.training.self_test_picture vision/inference/self_test.jpg

deals a coup on film with our own drawn deck, takes the picture in which all its cards lie open,
cuts out the cards, and writes beside it what they are (`self_test.toml`).
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from vision.sight.geometry.plane import Image, Points

from ..dealing import simulate

# The coup that was chosen.
SEED = 602
# Frames a second of the film: enough to find the picture.
FPS = 10
# Cloth about the cards, px; JPEG quality: the file travels with the program.
MARGIN_PX = 60
QUALITY = 88


def main() -> None:
    """Deal, take the picture and write it with its answer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("picture", type=Path)
    path = parser.parse_args().picture
    with tempfile.TemporaryDirectory() as folder:
        film = Path(folder)
        simulate.main([str(film), "--coups", "1", "--fps", str(FPS), "--seed", str(SEED)])
        truth = json.loads((film / "truth.json").read_text("utf-8"))
        image = _frame(film / "deal.mp4", _moment(truth))
    left, top, right, bottom = _around(truth)
    cut = image[top:bottom, left:right]
    path.write_bytes(cv2.imencode(".jpg", cut, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])[1].tobytes())
    cards = [[card["card"], *_centre(truth, card["slot"], left, top)] for card in truth["cards"]]
    lines = [f'  ["{card}", {x}, {y}],' for card, x, y in cards]
    head = (
        "# Made by `python -m datasets.training.self_test_picture`:\n"
        "# each card, and its middle in the picture, pixels.\n"
    )
    path.with_suffix(".toml").write_text(head + "\n".join(["cards = [", *lines, "]", ""]), "utf-8")


def _moment(truth: dict[str, Any]) -> int:
    """Return the frame halfway between the last card's opening and the first one's removal."""
    shown = max(int(card["face_ms"]) for card in truth["cards"])
    gone = min(int(card["removed_ms"]) for card in truth["cards"])
    return round((shown + gone) * FPS / 2000)


def _frame(path: Path, number: int) -> Image:
    film = cv2.VideoCapture(str(path))
    for _ in range(number):
        film.grab()
    return np.asarray(film.read()[1], np.uint8)


def _to_px(truth: dict[str, Any], points: list[list[float]]) -> Points:
    calibration = truth["calibration"]
    plane = cv2.findHomography(
        np.array(calibration["table_mm"]), np.array(calibration["image_px"])
    )[0]
    return np.asarray(cv2.perspectiveTransform(np.array([points]), plane)[0], np.float32)


def _around(truth: dict[str, Any]) -> tuple[int, int, int, int]:
    slots = [truth["slots_mm"][card["slot"]] for card in truth["cards"]]
    points = _to_px(truth, [point for slot in slots for point in slot])
    (x0, y0), (x1, y1) = points.min(axis=0) - MARGIN_PX, points.max(axis=0) + MARGIN_PX
    return max(0, int(x0)), max(0, int(y0)), int(x1), int(y1)


def _centre(truth: dict[str, Any], slot: str, left: int, top: int) -> tuple[int, int]:
    x, y = _to_px(truth, truth["slots_mm"][slot]).mean(axis=0)
    return round(x - left), round(y - top)


if __name__ == "__main__":
    main()
