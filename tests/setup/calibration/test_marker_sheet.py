"""The marker sheet is printed at true scale, found to part of a pixel, or refused in words."""

from __future__ import annotations

import cv2
import numpy as np
import pypdfium2
import pytest

from tests.setup.calibration.draw_sheet import PAPERS_MM, pdf
from tests.setup.calibration.sheets import lying, on_table
from vision.setup.calibration.from_sheet import (
    LINE_MM,
    SIZE_MM,
    NotSeenError,
    find,
    sheet_pdf,
)
from vision.setup.calibration.solver import rigid
from vision.sight.geometry.plane import Image

FLAT = on_table(lying(550, 330, 4))


def test_sheet_is_found_where_it_lies() -> None:
    """All inner corners, each within half a pixel of the plane that they share."""
    thing = find(FLAT)
    assert len(thing.form_mm) == 35
    plane = cv2.findHomography(thing.form_mm, thing.seen_px)[0]
    again = cv2.perspectiveTransform(thing.form_mm[None], plane)[0]
    off = np.linalg.norm(again - thing.seen_px, axis=1)
    assert np.sqrt((off**2).mean()) < 0.35
    assert off.max() < 0.7


def test_half_covered_sheet_still_serves() -> None:
    """A hand on the sheet takes only the corners under it."""
    image = FLAT.copy()
    image[330:, :] = (70, 100, 150)
    assert 8 <= len(find(image).form_mm) < 35


@pytest.mark.parametrize(
    ("image", "word"),
    [
        (np.full((720, 1280, 3), 90, np.uint8), "no marker is seen"),
        (cv2.GaussianBlur(FLAT, (0, 0), 9), "blurred"),
        (np.ascontiguousarray(FLAT[:290]), "only"),
    ],
    ids=["no sheet", "blurred", "partly in sight"],
)
def test_picture_without_use_is_refused_in_words(image: Image, word: str) -> None:
    """Why, and what to do."""
    with pytest.raises(NotSeenError, match=word):
        find(image)


def test_print_that_shrank_is_put_right() -> None:
    """The measured line scales the sheet."""
    assert np.allclose(find(FLAT, scale=0.97).form_mm, find(FLAT).form_mm * 0.97)


@pytest.mark.parametrize("page", [0, 1], ids=PAPERS_MM)
def test_pdf_is_at_true_scale_on_either_paper(page: int) -> None:
    """Rasterised at 150 dpi, the corners lie where they should within a tenth of a millimetre."""
    dpi = 150
    document, drawn = (pypdfium2.PdfDocument(data) for data in (sheet_pdf(), pdf()))
    sheet = document[page]
    shipped, now = (each[page].render(scale=1).to_numpy() for each in (document, drawn))
    assert np.array_equal(shipped, now), "python -m tests.setup.calibration.draw_sheet"
    paper = np.array(list(PAPERS_MM.values())[page])
    assert np.allclose(np.array(sheet.get_size()) / 72 * 25.4, paper, atol=0.1)
    image = np.ascontiguousarray(sheet.render(scale=dpi / 72).to_numpy()[:, :, :3])
    thing = find(image)
    there = thing.seen_px / dpi * 25.4
    assert len(there) == 35
    assert np.abs(rigid(there, thing.form_mm).apply(there) - thing.form_mm).max() < 0.1
    foot = image[round((9 + SIZE_MM[1] + 9) / 25.4 * dpi)].min(axis=1) < 128
    line = np.flatnonzero(foot)
    assert (line[-1] - line[0]) / dpi * 25.4 == pytest.approx(LINE_MM, abs=0.5)
