"""The marker sheet as a PDF at true scale, a page for A4 and one for Letter.

Boxes and a few words need no library on every table's machine. Knows nothing of what the boxes
mean.
"""

from __future__ import annotations

from collections.abc import Sequence

POINTS_PER_MM = 72 / 25.4
PAPERS_MM = {"A4": (210.0, 297.0), "Letter": (215.9, 279.4)}
TOP_MM = 9.0
WORDS_PT = 8.5

Box = tuple[float, float, float, float]


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
        f"The line is {line_mm:g} mm long. If yours is not, tell the program its length: --line.",
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
    places = []
    for number, body in enumerate(objects, start=1):
        places.append(len(out))
        out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    size = len(objects) + 1
    tail = f"trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n"
    return out + f"xref\n0 {size}\n0000000000 65535 f \n{table}{tail}".encode()
