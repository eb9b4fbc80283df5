"""A film as a file: whole JPEGs one after another in an AVI, as any player shows it.

Motion JPEG: every picture stands for itself, none is predicted from another, and to write a film
costs no more than to copy it. Knows nothing of tables.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

HAS_INDEX = 0x10
KEY_FRAME = 0x10


def write_film(pictures: Sequence[bytes], size: tuple[int, int], fps: float) -> bytes:
    """Return the film of the JPEGs (one or more, all of that width and height) as an AVI file."""
    movie, index, offset = [b"movi"], [], 4
    for picture in pictures:
        chunk = _chunk(b"00dc", picture)
        index.append(struct.pack("<4sIII", b"00dc", KEY_FRAME, offset, len(picture)))
        movie.append(chunk)
        offset += len(chunk)
    body = (
        _chunk(b"LIST", b"hdrl" + _headers(pictures, size, fps))
        + _chunk(b"LIST", b"".join(movie))
        + _chunk(b"idx1", b"".join(index))
    )
    return _chunk(b"RIFF", b"AVI " + body)


def pictures_of(film: bytes) -> tuple[bytes, ...]:
    """Return the JPEGs of a film that `write_film` made; ValueError when it is none."""
    if film[:4] != b"RIFF" or film[8:12] != b"AVI ":
        raise ValueError("not an AVI file")
    found = []
    place, end = film.find(b"movi") + 4, len(film)
    while place + 8 <= end and film[place : place + 4] == b"00dc":
        length = struct.unpack_from("<I", film, place + 4)[0]
        found.append(film[place + 8 : place + 8 + length])
        place += 8 + length + length % 2
    return tuple(found)


def pace_of(film: bytes) -> float:
    """Return the pictures a second of a film that `write_film` made; ValueError when it is none."""
    place = film.find(b"strh")
    if place < 0 or len(film) < place + 36:
        raise ValueError("not an AVI file")
    scale, rate = struct.unpack_from("<II", film, place + 28)
    if not scale or not rate:
        raise ValueError("not a film")
    return float(rate / scale)


def _headers(pictures: Sequence[bytes], size: tuple[int, int], fps: float) -> bytes:
    width, height = size
    largest = max(map(len, pictures))
    rate = round(fps * 1000)
    main = struct.pack(
        "<14I", round(1e6 / fps), round(largest * fps), 0, HAS_INDEX, len(pictures), 0, 1, largest,
        width, height, 0, 0, 0, 0,
    )  # fmt: skip
    stream = struct.pack(
        "<4s4sIHHIIIIIIiI4H", b"vids", b"MJPG", 0, 0, 0, 0, 1000, rate, 0, len(pictures), largest,
        -1, 0, 0, 0, width, height,
    )  # fmt: skip
    form = struct.pack(
        "<IiiHH4sIiiII", 40, width, height, 1, 24, b"MJPG", width * height * 3, 0, 0, 0, 0
    )
    streams = b"strl" + _chunk(b"strh", stream) + _chunk(b"strf", form)
    return _chunk(b"avih", main) + _chunk(b"LIST", streams)


def _chunk(name: bytes, content: bytes) -> bytes:
    return name + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)
