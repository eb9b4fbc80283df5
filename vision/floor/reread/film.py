"""Recordings wherever fsspec finds them: a file to be read from, and single pictures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import av
import cv2
import fsspec
from av.error import FFmpegError

from vision.camera.decoding import upright
from vision.errors import ConfigurationError, OutsideError
from vision.secrets import masked, shown
from vision.sight.geometry.frame import Frame, Image

# Width in px and quality (0 to 100) of the pictures of a report: a card's index stays legible.
# Smaller is not legible, larger makes a report of a bad evening hundreds of megabytes.
JPEG_WIDTH, JPEG_QUALITY = 1280, 80


def stamp(url: str) -> str:
    """Return what changes when a film is replaced, without reading it; OutsideError."""
    with _reachable(url):
        system, path = fsspec.url_to_fs(url)
        return str(system.ukey(path))


@contextmanager
def local(url: str) -> Iterator[Path]:
    """Give a film as a file of this machine: its own, or a copy for the time being; OutsideError.

    A film is copied whole, so that it is read as `shoe-reader run` reads it: a machine that reads
    films of an object store needs room for one a worker.
    """
    with TemporaryDirectory(prefix="shoe-reader-") as folder:
        with _reachable(url):
            system, path = fsspec.url_to_fs(url)
            if "file" in (system.protocol if isinstance(system.protocol, tuple) else ()):
                found = Path(path)
            else:
                found = Path(folder) / Path(path).name
                system.get_file(path, str(found))
        yield found


class Still(NamedTuple):
    """A picture that is wanted of a film: `at_s` is the time from its beginning, in seconds."""

    url: str
    at_s: float


def jpeg_of(still: Still) -> bytes:
    """Return a frame of a film as JPEG, b"" where it has none then; OutsideError.

    Only the bytes about it are moved.
    """
    with (
        _reachable(still.url),
        fsspec.open(still.url, "rb") as file,
        av.open(file, "r", metadata_errors="ignore") as film,
    ):
        stream = film.streams.video[0]
        wanted = (stream.start_time or 0) + int(still.at_s / (stream.time_base or 1))
        film.seek(wanted, stream=stream)
        for frame in film.decode(stream):
            if frame.pts is not None and frame.pts >= wanted and not frame.is_corrupt:
                return _jpeg(Frame(upright(frame), 0, 0).image)
    return b""


def _jpeg(image: Image) -> bytes:
    scale = min(1.0, JPEG_WIDTH / image.shape[1])
    small = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    return cv2.imencode(".jpg", small, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])[1].tobytes()


@contextmanager
def _reachable(url: str) -> Iterator[None]:
    """Turn what fsspec says into words for people."""
    try:
        yield
    except FileNotFoundError as error:
        raise ConfigurationError(f"{shown(url)}: no such recording; check the address") from error
    except (ImportError, ValueError) as error:
        raise ConfigurationError(
            f"{shown(url)}: this kind of address cannot be read ({masked(str(error))}); install "
            "what fsspec names for it, on the workers too"
        ) from error
    except FFmpegError as error:
        raise OutsideError(
            f"{shown(url)}: stops in the middle ({error.strerror}); copy the film again, or check "
            "the disk"
        ) from error
    except OSError as error:
        raise OutsideError(
            f"{shown(url)}: cannot be read ({masked(str(error.strerror or error))}); check the "
            "disk, the network or the object store and its keys"
        ) from error
