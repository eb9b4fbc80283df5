"""Open a picture file safely: one that lies about itself costs neither time nor memory.

OpenCV believes what a file says of itself. Measured with OpenCV 5.0: a PNG of 91 bytes with a chunk
that claims 4 GiB takes 28 s and 4.1 GB, a JPEG of 691 bytes that claims 32000 x 32000 px takes 39 s
and 5.9 GB. So the header is read here first, and only a known format of a possible size is decoded.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from pathlib import Path
from struct import error as StructError  # noqa: N812  # it is an exception
from struct import unpack_from

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.errors import ConfigurationError, OutsideError

Size = tuple[int, int]

log = logging.getLogger(__name__)

# Pixels. An 8K picture has 33 million, the largest industrial cameras about 60; a decoded picture
# takes 3 bytes a pixel, so one has at most 192 MB. Too low, and a camera's own stills are refused.
MOST_PIXELS = 64_000_000

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

# JPEG markers of a frame header, which holds the size (ITU T.81, table B.1: SOF0 to SOF15 but for
# DHT, JPG and DAC). A missing one would refuse pictures of that coding.
FRAME_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}

# TIFF 6.0: the tags of width and height, and the field type of a 16-bit number.
TIFF_WIDTH, TIFF_HEIGHT, TIFF_SHORT = 256, 257, 3


def open_picture(path: Path) -> NDArray[np.uint8] | None:
    """Return the picture in a file (H x W x 3, BGR); `None` where it cannot be read or is none."""
    try:
        return decode_picture(path.read_bytes())
    except OSError:
        return None


def decode_picture(data: bytes) -> NDArray[np.uint8] | None:
    """Return the picture in some bytes (H x W x 3, BGR).

    `None` where they are no PNG, JPEG, WebP, BMP or TIFF, are damaged, or have too many pixels.
    """
    size = _size(data)
    if size is None or not 0 < size[0] * size[1] <= MOST_PIXELS or not _is_whole(data):
        return None
    try:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    except cv2.error:
        return None
    return None if image is None else np.asarray(image, np.uint8)


def picture_in(path: Path) -> NDArray[np.uint8]:
    """Return the picture in a file (H x W x 3, BGR); OutsideError where none can be read."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise OutsideError(f"{path}: {error.strerror}; give the name of a picture") from error
    image = decode_picture(data)
    if image is None:
        raise OutsideError(f"{path}: {why_no_picture(data)}")
    return image


def checked_picture(image: object) -> NDArray[np.uint8]:
    """Return an array that is a picture (H x W x 3, BGR, 8 bits); ConfigurationError for others."""
    kind, shape = getattr(image, "dtype", type(image).__name__), getattr(image, "shape", ())
    if isinstance(image, np.ndarray) and kind == np.uint8 and shape[2:] == (3,) and image.size:
        return np.asarray(image, np.uint8)
    raise ConfigurationError(
        f"{kind} {shape} is no picture: height x width x 3 (blue, green, red) of uint8; "
        "give a file or what cv2.imread returns; cv2.cvtColor(picture, "
        "cv2.COLOR_GRAY2BGR) makes one of a grey one, (255 * picture).astype('uint8') of 0 to 1"
    )


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
    if _reader_of(data) is not None:
        return "is a picture that is damaged, cut off or too large; copy it again"
    return "is not a picture that can be read; give a JPEG, PNG, WebP, TIFF or BMP file"


class GreyPictures:
    """Says once that pictures have no colours, as those of a camera at night."""

    def __init__(self) -> None:
        self._warned = False

    def note(self, image: NDArray[np.uint8], what: object) -> None:
        """Look at a picture (H x W x 3, BGR) called `what`."""
        if self._warned or not is_grey(image):
            return
        self._warned = True
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


def _is_whole(data: bytes) -> bool:
    """Whether a JPEG or a WebP goes on to its end: OpenCV makes up what is missing, in grey."""
    if data.startswith(b"RIFF"):
        return int.from_bytes(data[4:8], "little") + 8 <= len(data)
    # A JPEG within it, as a small picture of it has, ends before the scan begins.
    return not data.startswith(b"\xff\xd8") or data.rfind(b"\xff\xd9") > data.rfind(b"\xff\xda")


def _size(data: bytes) -> Size | None:
    """Return width and height as the header has them; `None` for another format or a cut header."""
    read = _reader_of(data)
    try:
        return None if read is None else read(data)
    except (StructError, KeyError):
        return None


def _reader_of(data: bytes) -> Callable[[bytes], Size | None] | None:
    """Return what reads the size of a picture that begins so; `None`: it is of no known format."""
    return next((read for form, read in _FORMATS.items() if re.match(form, data, re.DOTALL)), None)


def _png(data: bytes) -> Size | None:
    """Walk all chunks: OpenCV allocates what a chunk claims, even beyond the end of the file."""
    at = 8
    while True:
        length, kind = unpack_from(">I4s", data, at)
        if kind == b"IEND":
            return unpack_from(">II", data, 16)
        at += 12 + length


def _jpeg(data: bytes) -> Size | None:
    at = 2
    while True:
        start, marker, length = unpack_from(">BBH", data, at)
        if start != 0xFF:
            return None
        if marker in FRAME_MARKERS:
            height, width = unpack_from(">HH", data, at + 5)
            return width, height
        at += 1 if marker == 0xFF else 2 + length


def _webp(data: bytes) -> Size | None:
    coding = data[8:16]
    if coding == b"WEBPVP8X":
        low = unpack_from("<HBHB", data, 24)
        return low[0] + (low[1] << 16) + 1, low[2] + (low[3] << 16) + 1
    if coding == b"WEBPVP8L":
        (sides,) = unpack_from("<I", data, 21)
        return (sides & 0x3FFF) + 1, (sides >> 14 & 0x3FFF) + 1
    if coding == b"WEBPVP8 ":
        width, height = unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    return None


def _bmp(data: bytes) -> Size | None:
    width, height = unpack_from("<ii", data, 18)
    return abs(width), abs(height)


def _tiff(data: bytes) -> Size | None:
    order = "<" if data.startswith(b"II") else ">"
    (at,) = unpack_from(f"{order}I", data, 4)
    (count,) = unpack_from(f"{order}H", data, at)
    values: dict[int, int] = {}
    for entry in range(at + 2, at + 2 + 12 * count, 12):
        tag, kind = unpack_from(f"{order}HH", data, entry)
        (values[tag],) = unpack_from(order + ("H" if kind == TIFF_SHORT else "I"), data, entry + 8)
    return values[TIFF_WIDTH], values[TIFF_HEIGHT]


# By how a file begins; RIFF holds sounds and films as well.
_FORMATS: dict[bytes, Callable[[bytes], Size | None]] = {
    rb"\x89PNG\r\n\x1a\n": _png,
    rb"\xff\xd8": _jpeg,
    rb"RIFF....WEBP": _webp,
    rb"BM": _bmp,
    rb"II\*\0": _tiff,
    rb"MM\0\*": _tiff,
}
