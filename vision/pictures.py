"""Open a picture file safely: one that lies about itself costs neither time nor memory.

OpenCV believes what a file says of itself. Measured with OpenCV 5.0: a PNG of 91 bytes with a chunk
that claims 4 GiB takes 28 s and 4.1 GB, a JPEG of 691 bytes that claims 32000 x 32000 px takes 39 s
and 5.9 GB. So Pillow reads the header first, and only a known format of a possible size is decoded.
"""

from __future__ import annotations

import logging
import warnings
from io import BytesIO
from pathlib import Path
from struct import error as StructError  # noqa: N812  # it is an exception
from zlib import error as ZlibError  # noqa: N812  # as that

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL.BmpImagePlugin import BmpImageFile
from PIL.ImageFile import ImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.TiffImagePlugin import TiffImageFile
from PIL.WebPImagePlugin import WebPImageFile

from vision.errors import ConfigurationError, OutsideError

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

# The formats that are read, by how their files begin, but for WebP; and what Pillow raises of a
# header that is none of them. `Image.open` is not used: Ultralytics, where it was imported, has one
# of its own there, which installs a package when it meets a damaged file.
READERS: dict[bytes, type[ImageFile]] = {
    b"\x89PNG\r\n\x1a\n": PngImageFile,
    b"\xff\xd8": JpegImageFile,
    b"BM": BmpImageFile,
    b"II*\0": TiffImageFile,
    b"MM\0*": TiffImageFile,
}
NO_HEADER = (
    OSError, EOFError, SyntaxError, ValueError, ArithmeticError, LookupError, AttributeError,
    TypeError, RuntimeError, MemoryError, ZlibError, StructError,
)  # fmt: skip
warnings.filterwarnings("ignore", module="PIL")  # the words of `why_no_picture` are enough


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
    reader = _reader_of(data)
    if reader is None:
        return None
    try:
        with reader(BytesIO(data)) as header:
            width, height = header.size
            header.verify()  # of a PNG all chunks: OpenCV takes as much memory as one claims
    except NO_HEADER:
        return None
    if not 0 < width * height <= MOST_PIXELS or not _is_whole(data):
        return None
    try:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    except cv2.error:
        return None
    return None if image is None else np.asarray(image, np.uint8)


def _reader_of(data: bytes) -> type[ImageFile] | None:
    if data[8:12] == b"WEBP":
        return WebPImageFile
    return next((kind for begins, kind in READERS.items() if data.startswith(begins)), None)


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
    if _reader_of(data):
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
