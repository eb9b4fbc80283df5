"""The marker sheet: what is printed on it, its PDF at true scale, and finding it in a picture.

The sheet is a ChArUco board that fits on A4 and on Letter paper alike; the PDF has a page for each.
Boxes and a few words need no PDF library on every table's machine.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.setup.calibration.solver import Thing
from vision.sight.geometry.frame import Image

# The board: the largest of whole squares on both papers; a marker needs a white rim in its square.
# A sheet printed with other values is not found.
COLUMNS, ROWS = 6, 8
SQUARE_MM, MARKER_MM = 30, 24
SIZE_MM = (COLUMNS * SQUARE_MM, ROWS * SQUARE_MM)
# Intended length of the printed line by which a person checks the print's scale.
LINE_MM = 100.0
# Corners that a picture needs: of 35, enough for a plane although a hand covers most of the sheet.
# Fewer, and a wrong corner weighs too much.
LEAST_CORNERS = 8
# A picture is called blurred where its steepest edge, over two pixels, is less than this share of
# its whole contrast. Chosen on blurred pictures of the sheet; it only chooses the words.
SHARP_SHARE = 0.3
# The page: PDF's unit, 1/72 inch, a millimetre; the papers; the white above the board, which no
# printer reaches; the size of the words below it.
POINTS_PER_MM = 72 / 25.4
PAPERS_MM = {"A4": (210.0, 297.0), "Letter": (215.9, 279.4)}
TOP_MM = 9.0
WORDS_PT = 8.5

Box = tuple[float, float, float, float]


class NotSeenError(ValueError):
    """The sheet cannot be used from this picture; the message says why and what to do."""


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
    unfinished: dict[tuple[float, float], Box] = {}
    for x, y, width, height in boxes:
        before = unfinished.get((x, width))
        if before is not None and before[1] + before[3] == y:
            unfinished[x, width] = (x, before[1], width, before[3] + height)
            continue
        whole += [before] if before is not None else []
        unfinished[x, width] = (x, y, width, height)
    return (*whole, *unfinished.values())


def sheet_pdf(boxes: Sequence[Box], size_mm: tuple[float, float], line_mm: float) -> bytes:
    """Return a PDF with the black boxes (x, y, width, height in mm, y down) on each paper.

    `size_mm` is the extent of the boxes; a line of `line_mm` below them checks the print.
    """
    contents = [_page(paper, boxes, size_mm, line_mm) for paper in PAPERS_MM]
    papers = list(PAPERS_MM.values())
    kids = " ".join(f"{4 + 2 * i} 0 R" for i in range(len(papers)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /ViewerPreferences << /PrintScaling /None >> >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(papers)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for i, (content, (width, height)) in enumerate(zip(contents, papers, strict=True)):
        frame = f"[0 0 {width * POINTS_PER_MM:.3f} {height * POINTS_PER_MM:.3f}]"
        page = f"<< /Type /Page /Parent 2 0 R /MediaBox {frame} /Contents {5 + 2 * i} 0 R"
        objects.append(f"{page} /Resources << /Font << /F1 3 0 R >> >> >>".encode())
        head = f"<< /Length {len(content)} >>\nstream\n".encode()
        objects.append(head + content + b"\nendstream")
    return _file(objects)


def _page(paper: str, boxes: Sequence[Box], size_mm: tuple[float, float], line_mm: float) -> bytes:
    width, height = PAPERS_MM[paper]
    left, top = (width - size_mm[0]) / 2, height - TOP_MM
    drawn = [
        f"{left + x:.3f} {top - y - tall:.3f} {wide:.3f} {tall:.3f} re"
        for x, y, wide, tall in boxes
    ]
    foot = top - size_mm[1] - 9.0
    line = f"0.3 w {left:.3f} {foot:.3f} m {left + line_mm:.3f} {foot:.3f} l"
    for end in (left, left + line_mm):
        line += f" {end:.3f} {foot - 2:.3f} m {end:.3f} {foot + 2:.3f} l"
    words = (
        f"Shoe Reader marker sheet, {paper}. Print at 100 % (actual size), not fitted to the page.",
        f"The line is {line_mm:g} mm long. If yours is not, give its length with --line.",
        "Lay the sheet flat, face up; take pictures of it at five or more places of the layout.",
    )
    scale = f"{POINTS_PER_MM:.6f}"
    text = [
        f"BT /F1 {WORDS_PT} Tf {left * POINTS_PER_MM:.2f} {(foot - 6 - 4 * i) * POINTS_PER_MM:.2f} "
        f"Td ({_escaped(sentence)}) Tj ET"
        for i, sentence in enumerate(words)
    ]
    shapes = [f"q {scale} 0 0 {scale} 0 0 cm", *drawn, "f", line, "S", "Q"]
    return "\n".join([*shapes, *text]).encode("ascii")


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def _file(objects: Sequence[bytes]) -> bytes:
    """Return the objects, numbered from 1, as a whole PDF file."""
    out = b"%PDF-1.4\n"
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    tail = f"trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n"
    return out + f"xref\n0 {size}\n0000000000 65535 f \n{table}{tail}".encode()


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
