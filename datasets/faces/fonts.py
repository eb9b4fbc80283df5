"""System fonts as indices of cards: whatever the machine has, read with Pillow.

For training only: what a design looks like then depends on the machine.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import cv2
import numpy as np

from .glyphs import Image

_FONTS = Path("/usr/share/fonts")
_FAMILIES = (
    "DejaVu",
    "Free",
    "Lato-",
    "Liberation",
    "Roboto",
    "LinLibertine",
    "LinBiolinum",
    "Nimbus",
    "C059",
    "P052",
    "URW",
)


@cache
def index_fonts() -> tuple[Path, ...]:
    """Return the installed fonts fit for indices, in fixed order; none without Pillow."""
    try:
        import PIL  # noqa: F401
    except ImportError:
        return ()
    files = (p for p in _FONTS.rglob("*") if p.suffix in (".ttf", ".otf"))
    fit = (
        p
        for p in files
        if p.stem.startswith(_FAMILIES)
        and not any(
            w in p.stem for w in ("Hairline", "Thin", "Shadow", "Initials", "Math", "_K", "_I")
        )
    )
    return tuple(sorted(fit))


def font_mark(rank: str, font: str, height: int, width: int) -> Image:
    """Return the mask of an index in a font, `height` px high, squeezed to `width` px if wider."""
    from PIL import Image as Picture
    from PIL import ImageDraw, ImageFont

    text = "10" if rank == "T" else rank
    face = ImageFont.truetype(font, 4 * height)
    canvas = Picture.new("L", (16 * height, 8 * height), 0)
    ImageDraw.Draw(canvas).text((height, height), text, fill=255, font=face)
    ink = np.asarray(canvas.crop(canvas.getbbox()))
    natural = round(ink.shape[1] * height / ink.shape[0])
    most = round(width * 1.15) if rank in "TQ" else width
    size = (max(2, min(natural, most)), height)
    return np.asarray(cv2.resize(ink, size, interpolation=cv2.INTER_AREA))


def random_font(rng: np.random.Generator, *, share: float) -> str:
    """Return the path of a font drawn at random; "" where there is none, and for 1 - `share`."""
    fonts = index_fonts()
    return str(fonts[int(rng.integers(len(fonts)))]) if fonts and rng.random() < share else ""
