"""What people look at to say what was dealt: the film of the table, else the stills of the log.

A film shows all that was dealt, also what the reader did not see. The stills of the evidence were
taken when the reader read a card, so that they show at most what it saw happen. Of both only the
layout is shown: guests and staff beyond it are black.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Literal, cast

import av
import cv2
import numpy as np
from av.error import FFmpegError
from av.video.frame import VideoFrame

from vision.acceptance.coups import LogBook, ReadCoup
from vision.app.evidence import Crop, write_film
from vision.config.table import TableConfig
from vision.errors import ConfigurationError, OutsideError
from vision.files import time_in_name
from vision.pictures import jpeg, open_picture
from vision.record.facts import Medium
from vision.sight.geometry.plane import Image, Points
from vision.storage.evidence import file_name, folder_of

# Milliseconds before the cards are taken off at which a film is shown: at the first both hands lie
# whole in most coups; the others are for where a hand was in the way, or the last card came late.
BEFORE_MS = (1300, 600, 2300)
# Pictures a second of a clip, and the most it has: a card in motion is seen, and a clip of a long
# rest before a coup is not too large to be sent.
CLIP_FPS, CLIP_MOST = 4.0, 160
QUALITY = 88  # of JPEGs, 0 to 100, as the stills of the evidence
DIGIT_PX = 40.0  # height of a digit of OpenCV's font at scale 1, with some room
ROOM = 0.25  # of the size of a hand's slots, shown around them: cards do not lie exactly
CRF = "18"  # of the film of a bundle: networks are to read it as they read the camera
Side = Literal["punto", "banco", ""]


@dataclass(frozen=True, slots=True)
class Film:
    """A film of the table; `began` and `ended` are Unix ms."""

    path: Path
    began: int
    ended: int
    sha256: str

    @classmethod
    def open(cls, path: Path, begun: int) -> Film:
        """Open a film that began as its name says, else at `begun`; OutsideError."""
        try:
            with av.open(str(path)) as opened:
                length_ms = round(1000 * (opened.duration or 0) / av.time_base)
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except (OSError, FFmpegError) as error:
            raise OutsideError(
                f"{path}: cannot be read as a film: {error}; give a recording"
            ) from error
        named = time_in_name(path)
        begun = begun if named is None else named
        return cls(path, begun, begun + length_ms, digest)

    def frames(self, first: int, last: int) -> Iterator[tuple[int, Image]]:
        """Yield the frames from one moment to another (Unix ms), each with its own."""
        with av.open(str(self.path)) as film:
            stream = film.streams.video[0]
            stream.thread_type = "AUTO"
            base, start = stream.time_base or Fraction(1, 1000), stream.start_time or 0
            film.seek(start + max(0, int((first - self.began) / 1000 / base)), stream=stream)
            for frame in film.decode(stream):
                at = self.began + round(1000 * float(((frame.pts or 0) - start) * base))
                if at > last:
                    return
                if at >= first:
                    yield at, cast(Image, frame.to_ndarray(format="bgr24"))


class Pictures:
    """The pictures of the coups of one log; safe to use from several threads."""

    def __init__(self, config: TableConfig, book: LogBook, films: Sequence[Path]) -> None:
        """Open the films, if there are any; OutsideError, ConfigurationError where two overlap."""
        size = (config.camera.width, config.camera.height)
        view = config.view.table_view()
        self.crop = Crop(config.view.outline_px(), size)
        corner = np.array(self.crop.corner, np.float32)
        slots = {s: view.homography.to_px(area) - corner for s, area in view.slots.items()}
        # The slots of each hand in the order of dealing, as polygons in a still.
        self._hands = {
            side: [slots[slot] for slot in sorted(slots) if slot % 2 == n]
            for n, side in enumerate(("punto", "banco"))
        }
        self.folder = folder_of(book.path, config.evidence.folder)
        self._book = book
        begun = book.runs[0].at if book.runs else 0
        self.films = sorted((Film.open(path, begun) for path in films), key=lambda f: f.began)
        for one, other in pairwise(self.films):
            if one.ended > other.began:
                raise ConfigurationError(
                    f"{other.path}: begins before {one.path} ends; name films of one camera after "
                    "the moment at which they began (UTC), as table-7-20261125-210000.mp4"
                )
        self._mutex = threading.Lock()

    def count(self, coup: ReadCoup) -> int:
        """Return how many pictures there are of a coup."""
        return len(BEFORE_MS) if self._film(coup) else len(self._stills(coup))

    def picture(self, coup: ReadCoup, number: int, side: Side = "") -> bytes:
        """Return a picture of a coup, from 0 on, whole or of one hand, as JPEG; OutsideError."""
        image = self._image(coup, number)
        return jpeg(_hand(image, self._hands[side]) if side else image, QUALITY)

    def clip(self, coup: ReadCoup) -> bytes:
        """Return a coup from the end of the one before, as AVI of JPEGs; empty without a film."""
        film = self._film(coup)
        if film is None:
            clips = [p for p in self._book.pieces.get(coup.key, ()) if p.medium is Medium.CLIP]
            path = self.folder / file_name(clips[-1]) if clips else None
            return path.read_bytes() if path is not None and path.exists() else b""
        every = max(1000 / CLIP_FPS, (coup.until - coup.since) / CLIP_MOST)
        due, shown = float(coup.since), []
        with self._mutex:
            for at, image in film.frames(coup.since, coup.until):
                if at >= due:
                    due = max(due + every, at + every / 2)
                    shown.append(self.crop.thumbnail(image))
        return write_film(shown, self.crop.small, 1000 / every) if shown else b""

    def mp4(self, coup: ReadCoup) -> bytes:
        """Return that clip as a browser plays it (H.264); empty, or OutsideError."""
        out, clip = BytesIO(), self.clip(coup)
        if not clip:
            return b""
        try:
            with av.open(BytesIO(clip), "r") as source:
                encode(out, source.decode(video=0), source.streams.video[0].average_rate or 1)
        except FFmpegError as error:
            raise OutsideError(f"the clip of coup {coup.key} cannot be read: {error}") from error
        return out.getvalue()

    def _image(self, coup: ReadCoup, number: int) -> Image:
        """Return the layout; its left upper corner in the camera's picture is that of the crop."""
        film = self._film(coup)
        if film is not None:
            wanted = max(coup.since, coup.shown - BEFORE_MS[number])
            with self._mutex:
                found = next(film.frames(wanted, film.ended), None)
            if found is not None:
                return self.crop.layout(found[1])
        elif 0 <= number < len(stills := self._stills(coup)):
            image = open_picture(stills[number])
            if image is not None:
                return image
        raise OutsideError(
            "this picture is no longer kept; answer from the others, or that it cannot be seen"
        )

    def _film(self, coup: ReadCoup) -> Film | None:
        return next((f for f in self.films if f.began <= coup.shown <= f.ended), None)

    def _stills(self, coup: ReadCoup) -> list[Path]:
        """Return the stills of a coup: of its cards, the newest first, which shows most of them.

        Then those of its alerts, which may have been taken when the next coup had begun.
        """
        pieces = self._book.pieces.get(coup.key, ())
        stills = [piece for piece in pieces if piece.medium is Medium.STILL]
        stills.sort(key=lambda piece: (bool(piece.alert), -piece.at))
        return [path for p in stills if (path := self.folder / file_name(p)).exists()]


def encode(out: str | BytesIO, frames: Iterable[VideoFrame], rate: Fraction | int) -> bool:
    """Write frames as MP4 that browsers play; whether there was one."""
    count = 0
    with av.open(out, "w", format="mp4") as film:
        stream = film.add_stream("libx264", rate, options={"crf": CRF, "preset": "veryfast"})
        for count, frame in enumerate(frames, start=1):
            if count == 1:
                stream.width, stream.height = frame.width // 2 * 2, frame.height // 2 * 2
                stream.pix_fmt = "yuv420p"
            film.mux(stream.encode(frame.reformat(stream.width, stream.height, "yuv420p")))
        if count:
            film.mux(stream.encode())
    return count > 0


def _hand(image: Image, slots: Sequence[Points]) -> Image:
    """Return the part of a still in which a hand lies, its slots numbered as they are dealt to.

    Which end of a hand comes first differs from table to table.
    """
    points = np.concatenate(slots)
    low, high = points.min(axis=0), points.max(axis=0)
    room = ROOM * float((high - low).min())
    shown = np.ascontiguousarray(image)
    for number, slot in enumerate(slots, start=1):
        place = (int(slot[:, 0].mean() - room / 4), int(slot[:, 1].min() - room / 3))
        for thickness, colour in ((4, (0, 0, 0)), (1, (255, 255, 255))):
            cv2.putText(
                shown, str(number), place, cv2.FONT_HERSHEY_SIMPLEX, room / DIGIT_PX, colour,
                thickness, cv2.LINE_AA,
            )  # fmt: skip
    (left, top), (right, bottom) = np.maximum([low - room, high + room], 0).astype(int)
    return shown[top:bottom, left:right]
