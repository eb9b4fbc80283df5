"""The marker sheet: what is printed on it, and finding it in a picture.

The sheet is a ChArUco board that fits on A4 and on Letter paper alike. Knows nothing of files, and
of the table only that the sheet lies flat on it.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.setup.calibration.solver import Thing
from vision.sight.geometry.frame import Image

COLUMNS, ROWS = 6, 8
SQUARE_MM, MARKER_MM = 30, 24
SIZE_MM = (COLUMNS * SQUARE_MM, ROWS * SQUARE_MM)
LINE_MM = 100.0
LEAST_CORNERS = 8
SHARP_SHARE = 0.3

Box = tuple[float, float, float, float]


class NotSeenError(ValueError):
    """The sheet is not to be used from this picture; the words say why and what to do."""


def board() -> cv2.aruco.CharucoBoard:
    """Return the board as OpenCV has it, in millimetres."""
    words = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_4X4_50)
    return cv2.aruco.CharucoBoard((COLUMNS, ROWS), SQUARE_MM, MARKER_MM, words)


def black_boxes() -> tuple[Box, ...]:
    """Return what is black on the sheet as boxes x, y, width, height in mm, y down."""
    # Every edge of the board lies on a whole millimetre, so one pixel a millimetre is exact.
    ink = np.asarray(board().generateImage(SIZE_MM)) < 128
    boxes: list[Box] = []
    for y, row in enumerate(ink):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], row.astype(np.int8), [0]])))
        boxes += [(float(a), float(y), float(b - a), 1.0) for a, b in edges.reshape(-1, 2)]
    return _stacked(boxes)


def _stacked(boxes: list[Box]) -> tuple[Box, ...]:
    """Join boxes of the same columns that follow one another downwards."""
    whole: list[Box] = []
    open_: dict[tuple[float, float], Box] = {}
    for x, y, width, height in boxes:
        before = open_.get((x, width))
        if before is not None and before[1] + before[3] == y:
            open_[x, width] = (x, before[1], width, before[3] + height)
            continue
        whole += [before] if before is not None else []
        open_[x, width] = (x, y, width, height)
    return (*whole, *open_.values())


def find(image: Image, *, name: str = "", scale: float = 1.0) -> Thing:
    """Find the sheet in a picture (H x W x 3, BGR).

    `scale` is the sheet's true size over the intended one. NotSeenError says why it cannot be used.
    """
    grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    corners, numbers, _, markers = cv2.aruco.CharucoDetector(board()).detectBoard(grey)
    seen = 0 if markers is None else len(markers)
    if corners is None or numbers is None or len(corners) < LEAST_CORNERS:
        raise NotSeenError(_why(grey, seen, 0 if corners is None else len(corners)))
    grid = np.asarray(board().getChessboardCorners(), np.float64)[numbers.ravel(), :2] * scale
    if np.linalg.svd(grid - grid.mean(axis=0), compute_uv=False)[1] < SQUARE_MM:
        raise NotSeenError("too little of the sheet is in sight: a single row; uncover it")
    # OpenCV counts from the middle of the first pixel, this program from its corner.
    return Thing(grid, corners.reshape(-1, 2).astype(np.float64) + 0.5, name)


def _why(grey: NDArray[np.integer | np.floating], markers: int, corners: int) -> str:
    total = COLUMNS * ROWS // 2
    if markers:
        return (
            f"only {markers} of the sheet's {total} markers and {corners} of its corners are seen "
            f"({LEAST_CORNERS} corners are needed): bring the whole sheet into the picture, take "
            "away what covers it, and see that no lamp shines on it"
        )
    if _is_blurred(grey):
        return "no marker is seen, and the picture is blurred: focus the lens, keep the sheet still"
    return (
        "no marker is seen: lay the printed sheet flat on the table, face up and wholly in the "
        "picture; a square of it should be 25 pixels or wider"
    )


def _is_blurred(grey: NDArray[np.integer | np.floating]) -> bool:
    """Whether even the steepest edges of a picture take many pixels from dark to bright."""
    rows = grey.astype(np.int16)
    steepest = np.percentile(np.abs(rows[:, 2:] - rows[:, :-2]), 99.9)
    low, high = np.percentile(grey, (0.5, 99.5))
    return bool(steepest < SHARP_SHARE * (high - low))
