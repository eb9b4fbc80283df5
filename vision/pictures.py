"""Open a picture file safely: one that lies about itself costs neither time nor memory.

Pillow opens it: it knows the size before it decodes, and refuses what is cut off. OpenCV believes
what a file says of itself (5.0): a PNG of 91 bytes with a chunk that claims 4 GiB takes it 28 s and
4.1 GB, a JPEG of 691 bytes that claims 32000 x 32000 px 39 s and 5.9 GB.
"""

from __future__ import annotations

import logging
from io import BytesIO
from pathlib import Path
from struct import error as CutError  # noqa: N812  # it is an exception

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

log = logging.getLogger(__name__)

# Pixels. An 8K picture has 33 million, the largest industrial cameras about 60; a decoded picture
# takes 3 bytes a pixel, so one has at most 192 MB. Too low, and a camera's own stills are refused.
MOST_PIXELS = 64_000_000

# The kinds of picture that are read: each more is one more decoder that a file can attack.
FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "TIFF")
# What Pillow raises of a file that is damaged, cut off, of another kind or impossibly large.
UNREADABLE = (OSError, ValueError, SyntaxError, CutError, Image.DecompressionBombError)

# The kinds of picture that telephones make and OpenCV does not read, by their brand (ISO 23008-12).
NEW_KINDS = {
    **dict.fromkeys(
        (b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1"), "HEIC"
    ),
    **dict.fromkeys((b"avif", b"avis"), "AVIF"),
}

# A picture is grey where the channels of nearly all pixels (each so many looked at) differ by no
# more than these levels, which is what coding does. More takes a pale cloth for none.
GREY_LEVELS, GREY_STEP = 8, 4


def open_picture(path: Path) -> NDArray[np.uint8] | None:
    """Return the picture in a file (H x W x 3, BGR); `None` where it cannot be read or is none."""
    try:
        return decode_picture(path.read_bytes())
    except OSError:
        return None


def decode_picture(data: bytes) -> NDArray[np.uint8] | None:
    """Return the picture in some bytes (H x W x 3, BGR), turned as its camera says.

    `None` where they are no PNG, JPEG, WebP, BMP or TIFF, are damaged, or have too many pixels.
    """
    try:
        with Image.open(BytesIO(data), formats=FORMATS) as image:
            if image.width * image.height > MOST_PIXELS:
                return None
            if image.mode.startswith("I"):  # grey of 16 bits a pixel
                return np.repeat((np.asarray(image)[:, :, None] >> 8).astype(np.uint8), 3, axis=2)
            upright = ImageOps.exif_transpose(image).convert("RGB")
    except UNREADABLE:
        return None
    return np.ascontiguousarray(np.asarray(upright)[:, :, ::-1])


def jpeg(image: NDArray[np.uint8], quality: int) -> bytes:
    """Return a picture (H x W x 3, BGR) as a JPEG of a quality from 0 to 100."""
    return cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])[1].tobytes()


def why_no_picture(data: bytes) -> str:
    """Return in words why some bytes are no picture that is read, and what is to be done."""
    if data[4:8] == b"ftyp" and data[8:12] in NEW_KINDS:
        return (
            f"is a picture in {NEW_KINDS[data[8:12]]}, which is not read; save it as JPEG (an "
            "iPhone takes JPEG with Settings, Camera, Formats, Most Compatible)"
        )
    if not data:
        return "is empty; copy it again"
    try:
        Image.open(BytesIO(data), formats=FORMATS).close()
    except UnidentifiedImageError:
        return "is not a picture that can be read; give a JPEG, PNG, WebP, TIFF or BMP file"
    except UNREADABLE:
        pass
    return "is a picture that is damaged, cut off or too large; copy it again"


class GreyPictures:
    """Says once that pictures have no colours, as those of a camera at night."""

    def __init__(self) -> None:
        self._said = False

    def note(self, image: NDArray[np.uint8], what: object) -> None:
        """Look at a picture (H x W x 3, BGR) called `what`."""
        if self._said or not is_grey(image):
            return
        self._said = True
        log.warning(
            "%s has no colours: red and black suits look alike; switch the camera's night mode "
            "(infrared) and its black and white off, and give the table light",
            what,
        )


def is_grey(image: NDArray[np.uint8]) -> bool:
    """Whether a picture (H x W x 3, BGR) has no colours."""
    some = image[::GREY_STEP, ::GREY_STEP].astype(np.int16)
    spread = some.max(axis=2) - some.min(axis=2)
    return bool(np.percentile(spread, 99.5) <= GREY_LEVELS)
