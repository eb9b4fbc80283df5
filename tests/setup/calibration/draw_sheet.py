"""Draw the marker sheet that the program ships: `python -m tests.setup.calibration.draw_sheet`."""

from __future__ import annotations

import zlib
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.setup.calibration import from_sheet
from vision.setup.calibration.from_sheet import LINE_MM, SIZE_MM, board

# The page: pixels a millimetre (254 dpi: every edge of the board on a whole one, and clear words),
# PDF's unit, 1/72 inch, a millimetre; the papers; the white above the board, which no printer
# reaches; where the line lies below the board.
PX_PER_MM = 10
POINTS_PER_MM = 72 / 25.4
PAPERS_MM = {"A4": (210.0, 297.0), "Letter": (215.9, 279.4)}
TOP_MM, LINE_BELOW_MM = 9.0, 9.0


def ink(px_per_mm: int) -> NDArray[np.bool_]:
    """Return where the sheet is black, without its margin, at so many pixels a millimetre."""
    # Every edge of the board lies on a whole millimetre, so one pixel a millimetre is exact.
    black = np.asarray(board().generateImage(SIZE_MM)) < 128
    return black.repeat(px_per_mm, axis=0).repeat(px_per_mm, axis=1)


def pdf() -> bytes:
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


if __name__ == "__main__":
    Path(from_sheet.__file__).with_name("sheet.pdf").write_bytes(pdf())
