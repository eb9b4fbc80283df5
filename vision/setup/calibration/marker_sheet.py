"""The marker sheet: what is printed on it, its PDF at true scale, and finding it in a picture.

The sheet is a ChArUco board that fits on A4 and on Letter paper alike; the PDF has a page for each.
A page is one black and white picture: that needs no PDF library on every table's machine.
"""

from __future__ import annotations

import zlib

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
# The page: pixels a millimetre (254 dpi: every edge of the board on a whole one, and clear words),
# PDF's unit, 1/72 inch, a millimetre; the papers; the white above the board, which no printer
# reaches; where the line lies below the board.
PX_PER_MM = 10
POINTS_PER_MM = 72 / 25.4
PAPERS_MM = {"A4": (210.0, 297.0), "Letter": (215.9, 279.4)}
TOP_MM, LINE_BELOW_MM = 9.0, 9.0


class NotSeenError(ValueError):
    """The sheet cannot be used from this picture; the message says why and what to do."""


def board() -> cv2.aruco.CharucoBoard:
    """Return the board as OpenCV has it, in millimetres."""
    words = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_4X4_50)
    return cv2.aruco.CharucoBoard((COLUMNS, ROWS), SQUARE_MM, MARKER_MM, words)


def ink(px_per_mm: int) -> NDArray[np.bool_]:
    """Return where the sheet is black, without its margin, at so many pixels a millimetre."""
    # Every edge of the board lies on a whole millimetre, so one pixel a millimetre is exact.
    black = np.asarray(board().generateImage(SIZE_MM)) < 128
    return black.repeat(px_per_mm, axis=0).repeat(px_per_mm, axis=1)


def sheet_pdf() -> bytes:
    """Return a PDF with the sheet on each paper, and a line of LINE_MM that checks the print."""
    kids = " ".join(f"{3 + 3 * i} 0 R" for i in range(len(PAPERS_MM)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /ViewerPreferences << /PrintScaling /None >> >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(PAPERS_MM)} >>".encode(),
    ]
    for number, (paper, size) in enumerate(PAPERS_MM.items()):
        page, first = _page(paper), 3 + 3 * number
        width, height = (f"{side * POINTS_PER_MM:.3f}" for side in size)
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width} {height}] /Contents {first + 1} "
            f"0 R /Resources << /XObject << /Sheet {first + 2} 0 R >> >> >>".encode(),
            _stream("", f"{width} 0 0 {height} 0 0 cm /Sheet Do".encode()),
            _stream(
                f"/Type /XObject /Subtype /Image /Width {page.shape[1]} /Height {page.shape[0]} "
                "/ColorSpace /DeviceGray /BitsPerComponent 1 /Filter /FlateDecode ",
                zlib.compress(np.packbits(page > 0, axis=1).tobytes(), 9),
            ),
        ]
    return _file(objects)


def _page(paper: str) -> NDArray[np.uint8]:
    """Return a page as a picture, 0 black and 255 white."""
    width, height = (round(side * PX_PER_MM) for side in PAPERS_MM[paper])
    page = np.full((height, width), 255, np.uint8)
    black = ink(PX_PER_MM)
    left, top = (width - black.shape[1]) // 2, round(TOP_MM * PX_PER_MM)
    page[top : top + len(black), left : left + black.shape[1]][black] = 0
    foot = top + len(black) + round(LINE_BELOW_MM * PX_PER_MM)
    right, tick = left + round(LINE_MM * PX_PER_MM), 2 * PX_PER_MM
    page[foot - 1 : foot + 2, left : right + 1] = 0
    page[foot - tick : foot + tick, [left, right]] = 0
    words = (
        f"Shoe Reader marker sheet, {paper}. Print at 100 % (actual size), not fitted to the page.",
        f"The line is {LINE_MM:g} mm long. If yours is not, give its length with --line.",
        "Lay the sheet flat, face up; take pictures of it at five or more places of the layout.",
    )
    for line, sentence in enumerate(words):
        spot = (left, foot + (6 + 4 * line) * PX_PER_MM)
        cv2.putText(page, sentence, spot, cv2.FONT_HERSHEY_SIMPLEX, 0.9, 0, 2, cv2.LINE_8)
    return page


def _stream(keys: str, body: bytes) -> bytes:
    head = f"<< {keys}/Length {len(body)} >>\nstream\n".encode()
    return head + body + b"\nendstream"


def _file(objects: list[bytes]) -> bytes:
    """Return the objects, numbered from 1, as a whole PDF file."""
    out, table = b"%PDF-1.4\n", ""
    for number, body in enumerate(objects, start=1):
        table += f"{len(out):010d} 00000 n \n"
        out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
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
