"""Decide which pictures prove what happens at a table, and keep them on the disk.

A card that is read gets a still, an alert at warning or above a still and a clip, taken from a
buffer of the last seconds. Each is on the disk before the event whose outputs it proves is written
to the log. What lies beyond the layout is cut off and blacked out, so that no guest is filmed.
"""

from __future__ import annotations

import io
import logging
import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import cast

import av
import cv2
import numpy as np
from numpy.typing import ArrayLike

from vision.config.table import TableConfig
from vision.errors import OutsideError
from vision.files import WriteError
from vision.game.events import Condition, Event
from vision.game.outputs import (
    Alert,
    AlertChanged,
    AlertState,
    CardSeen,
    Output,
    ResultState,
    Severity,
)
from vision.record.facts import EvidenceKept, Hold, Medium
from vision.sight.geometry.plane import Frame, Image
from vision.storage.evidence import Doomed, EvidenceLimits, EvidenceStore, Why, file_name, folder_of
from vision.wire.messages import topic_level
from vision.wire.session import Shelf, TableSession

LOUD = (Severity.WARNING, Severity.CRITICAL)
NO_HASH = ""  # of a piece that is not written yet
# JPEG quality, 0 to 100, chosen by looking at stills and clips of simulated films. Lower saves disk
# and blurs the indices, which are the proof.
# A still that is larger than a message may be is tried again with the next.
STILL_QUALITIES = (88, 70, 50, 30)
CLIP_QUALITY = 80
CLIP_WIDTH_PX = 960  # at most; 1920 px halved, with which 7 s take 3.5 MB of memory
# While nothing moves, a clip shows the same picture again for so long, ms, and until sight asks for
# the colours of one: a second of a still table looks alike, and a picture costs as much as decoding
# two. Longer, and a slow change jumps.
SAME_MS = 1000
# Bytes of an AVI file beside its pictures: its headers, and what its index takes for each picture;
# some more than our writer's. Too small, and a clip could be larger than a message may be.
FILM_BYTES, INDEX_BYTES = 16_384, 32
LONGEST_PERIOD = 1000  # denominator of a film's rate: exact to a thousandth of a picture a second

log = logging.getLogger(__name__)


class EvidenceRecorder:
    """Keeps the evidence of a table during a run."""

    def __init__(self, config: TableConfig, log_path: Path) -> None:
        """Keep it beside the log unless a folder is named, nothing larger than the broker takes."""
        self._settings = settings = config.evidence
        self.store = EvidenceStore(folder_of(log_path, settings.folder))
        self._most_bytes = config.broker.max_message
        size = (config.camera.width, config.camera.height)
        self._crop = Crop(config.view.outline_px(), size)
        length_s = settings.before_s + settings.after_s + 1
        self._buffer = ClipBuffer(self._crop, length_s=length_s, fps=settings.clip_fps)
        self._frame: Frame | None = None
        self._still: tuple[Frame, bytes] | None = None
        self._rolling: list[EvidenceKept] = []  # clips whose end is still to come
        self._replaced: list[EvidenceKept] = []  # clips whose every picture the whole one has
        self._failing = Condition("EVIDENCE")
        self._failure: str | None = None
        self._at_risk = Condition("EVIDENCE_AT_RISK")
        self._deleted_early = ""
        alert_days = settings.keep_days if settings.alert_days is None else settings.alert_days
        self._limits = EvidenceLimits(settings.keep_days, settings.max_mb, alert_days)

    def look(self, frame: Frame) -> None:
        """Take the newest picture."""
        if self._settings.keep:
            self._frame = frame
            self._buffer.add(frame)

    def doomed(self, at: int, *, wanted: tuple[str, ...], before_day: str) -> tuple[Doomed, ...]:
        """Return the evidence that is too old or too much at `at`, and clips that were replaced.

        Nothing of `before_day` or later; of the first two, see `EvidenceStore.doomed`, never what
        lies under a name that begins with one of `wanted`.
        """
        if not self._settings.keep:
            return ()
        try:
            replaced = self.store.replaced(self._replaced, before_day)
            doomed = self.store.doomed(self._limits, at, before_day=before_day, wanted=wanted)
        except OSError as error:
            log.warning("old evidence cannot be looked through: %s", error)
            return ()
        early = sum(piece.why is Why.SIZE for piece in doomed)
        if early:
            self._deleted_early = (
                f"{early} pictures, from {doomed[0].name[:10]}, are deleted before their time: "
                f"there are more than [evidence] max_mb {self._settings.max_mb:g}."
            )
        elif not doomed:
            self._deleted_early = ""
        return doomed + replaced

    def delete(self, doomed: Sequence[Doomed]) -> None:
        """Delete what `doomed` named; what cannot be deleted is named again the next time."""
        try:
            self.store.delete(doomed)
        except OutsideError as error:
            log.warning("%s", error)
            return
        gone = {piece.name for piece in doomed}
        self._replaced = [stored for stored in self._replaced if file_name(stored) not in gone]

    def reports(self, at: int) -> tuple[Event, ...]:
        """Return the reports that evidence cannot be kept or is at risk, or is not any more."""
        at_risk = self._deleted_early or None
        return (*self._failing.take(self._failure, at), *self._at_risk.take(at_risk, at))

    # --- clips whose end is still to come ----------------------------------------------------

    def ended(self, at: int) -> list[EvidenceKept]:
        """Return the clips whose end has come by `at` (Unix ms), each whole and on the disk."""
        ended = [clip for clip in self._rolling if self._span(clip)[1] <= at]
        self._rolling = [clip for clip in self._rolling if self._span(clip)[1] > at]
        return self._complete(ended, at)

    def finish(self, at: int) -> list[EvidenceKept]:
        """Return the clips that end now because the run does; nothing is kept afterwards."""
        rolling, self._rolling = self._rolling, []
        self._frame = None
        return self._complete(rolling, at)

    def _complete(self, clips: Sequence[EvidenceKept], at: int) -> list[EvidenceKept]:
        stored: list[EvidenceKept] = []
        for clip in clips:
            first, last = self._span(clip)
            until = max(clip.at, min(at, last))
            whole = replace(clip, at=until, sha256=NO_HASH, size=0, complete=True)
            written = self._keep(whole, self._buffer.film(first, last, self._most_bytes))
            is_other = any(each.sha256 != clip.sha256 for each in written)
            if is_other and self._buffer.fits(first, last, self._most_bytes):
                self._replaced.append(clip)
            stored += written
        return stored

    def _span(self, clip: EvidenceKept) -> tuple[int, int]:
        """Return when (Unix ms) the clip of an alert begins and ends; `clip` is that up to it."""
        settings = self._settings
        return clip.at - round(1000 * settings.before_s), clip.at + round(1000 * settings.after_s)

    # --- what is kept ------------------------------------------------------------------------

    def evidence_of(self, shelf: Shelf, outputs: Sequence[Output]) -> list[EvidenceKept]:
        """Keep what proves an event's outputs; return it, cards first. `shelf`: as before it."""
        if self._frame is None:
            return []
        stored: list[EvidenceKept] = []
        for seen in outputs:
            if isinstance(seen, CardSeen) and seen.event == "read":
                stored += self._keep_card(shelf, seen, self._frame)
        for output in outputs:
            if isinstance(output, AlertChanged) and _needs_proof(output.alert, shelf):
                stored += self._keep_alert(output.alert, self._frame)
        return stored

    def _keep_card(self, shelf: Shelf, seen: CardSeen, frame: Frame) -> list[EvidenceKept]:
        times = len(shelf.of_card(seen.shoe, seen.order))
        name = f"{_group(seen.shoe, seen.coup)}c{seen.order}" + (f".{times + 1}" if times else "")
        stored = EvidenceKept(
            frame.at, name, Medium.STILL, seen.shoe, seen.coup, NO_HASH, 0, seen.order
        )
        return self._keep(stored, self._still_of(frame))

    def _keep_alert(self, alert: Alert, frame: Frame) -> list[EvidenceKept]:
        name = f"{_group(alert.shoe, alert.coup)}{topic_level(alert.id)}"
        facts = (alert.shoe, alert.coup, NO_HASH, 0, alert.order, alert.id)
        still = EvidenceKept(frame.at, name, Medium.STILL, *facts)
        stored = self._keep(still, self._still_of(frame))
        clip = EvidenceKept(frame.at, name, Medium.CLIP, *facts)
        first, last = self._span(clip)
        clip = replace(clip, complete=last == frame.at)
        film = self._keep(clip, self._buffer.film(first, frame.at, self._most_bytes))
        if last > frame.at:
            self._rolling += film
        return stored + film

    def _still_of(self, frame: Frame) -> bytes:
        if self._still is None or self._still[0] is not frame:
            self._still = (frame, self._crop.still(frame.image, self._most_bytes))
        return self._still[1]

    def _keep(self, stored: EvidenceKept, content: bytes) -> list[EvidenceKept]:
        """Return the piece once it is on the disk; nothing if it is empty or cannot be kept."""
        if not content:
            return []
        try:
            written = self.store.keep(stored, content)
        except WriteError as error:
            log.warning("evidence %s cannot be kept: %s", stored.id, error)
            self._failure = f"{error.reason}."
            return []
        self._failure = None
        return [written]


def protected(session: TableSession) -> tuple[Hold, ...]:
    """Return the coups with an open alert, a held result or a legal hold: their evidence stays."""
    holds = {Hold(proof.shoe, proof.coup) for proof in session.shelf.proofs}
    table = session.table
    for coup in (*table.done, *((table.coup,) if table.coup is not None else ())):
        result = coup.result
        if coup.hold or (result is not None and result.state is ResultState.HELD):
            holds.add(Hold(table.shoe.name, coup.number))
    return tuple(sorted(holds.union(session.register.holds)))


def wanted_names(session: TableSession) -> tuple[str, ...]:
    """Return how the names of evidence begin that is not to be deleted."""
    groups = {
        _group(hold.shoe, hold.coup) if hold.coup else f"{topic_level(hold.shoe)}-"
        for hold in protected(session)
    }
    return tuple(sorted(groups))


def _group(shoe: str, coup: int) -> str:
    return f"{topic_level(shoe)}-{coup}-"


def _needs_proof(alert: Alert, shelf: Shelf) -> bool:
    shown = alert.severity in LOUD or alert.code == "REVIEW"
    return shown and alert.state is AlertState.RAISED and not shelf.of_alert(alert.id)


class Crop:
    """The part of a picture in which the layout lies; `outline` is n x 2 pixels, convex."""

    def __init__(self, outline: ArrayLike, size: tuple[int, int]) -> None:
        """Lay out the crop of pictures of that width and height."""
        hull = cv2.convexHull(np.asarray(outline, np.float32)).reshape(-1, 2)
        low = np.clip(np.floor(hull.min(axis=0)), 0, np.array(size) - 2).astype(int)
        high = np.clip(np.ceil(hull.max(axis=0)), low + 2, size).astype(int)
        self._part = np.s_[low[1] : high[1], low[0] : high[0]]
        width, height = (int(length) for length in high - low)
        # By a whole number: that halves the cost, and thin strokes are averaged evenly.
        self._shrink = max(1, math.ceil(width / CLIP_WIDTH_PX))
        self.small = (width // self._shrink // 2 * 2, height // self._shrink // 2 * 2)
        self._mask = np.zeros((height, width), np.uint8)
        cv2.fillConvexPoly(self._mask, np.rint(hull - low).astype(np.int32), 255)
        small = cv2.resize(self._mask, self.small, interpolation=cv2.INTER_NEAREST)
        self._small_mask = cv2.merge([small] * 3)
        self.corner = (int(low[0]), int(low[1]))  # the left upper one of a still, in the picture

    def covered(self, image: Image) -> Image:
        """Return the whole picture with all black that lies beyond the layout."""
        covered = np.zeros_like(image)
        covered[self._part] = self.layout(image)
        return covered

    def layout(self, image: Image) -> Image:
        """Return the layout as it is, all beyond it black."""
        part = np.ascontiguousarray(image[self._part])
        return cast(Image, cv2.bitwise_and(part, part, mask=self._mask))

    def still(self, image: Image, most_bytes: int) -> bytes:
        """Return the layout as it is, as a JPEG; coarser where it would be larger than that."""
        masked = self.layout(image)
        found = (_jpeg(masked, quality) for quality in STILL_QUALITIES)
        return next((still for still in found if len(still) <= most_bytes), b"")

    def thumbnail(self, image: Image) -> bytes:
        """Return the layout at most 960 pixels wide, as a JPEG."""
        width, height = (length * self._shrink for length in self.small)
        part = image[self._part][:height, :width]
        small = cv2.resize(part, self.small, interpolation=cv2.INTER_AREA)
        return _jpeg(cast(Image, cv2.bitwise_and(small, self._small_mask)), CLIP_QUALITY)


def _jpeg(image: Image, quality: int) -> bytes:
    # Not that of `vision.pictures`: a frame enters a module less.
    return cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])[1].tobytes()


class ClipBuffer:
    """The pictures of the last `length_s` seconds, at most `fps` of them a second."""

    def __init__(self, crop: Crop, *, length_s: float, fps: float) -> None:
        self._crop = crop
        self._length_ms = round(1000 * length_s)
        self._every_ms = 1000 / fps
        self._pictures: deque[tuple[int, bytes]] = deque(maxlen=math.ceil(length_s * fps) + 2)
        self._next_at = 0.0
        self._drawn: tuple[int, bytes] = (0, b"")

    @property
    def size(self) -> int:
        """How many bytes it holds."""
        return sum(len(picture) for _, picture in self._pictures)

    def add(self, frame: Frame) -> None:
        """Take a frame, if it is time for one."""
        if frame.at < self._next_at:
            return
        self._next_at = max(self._next_at + self._every_ms, frame.at + self._every_ms / 2)
        same = frame.still and (frame.at < self._drawn[0] + SAME_MS or not frame.has_colours)
        if not (same and self._pictures):
            self._drawn = (frame.at, self._crop.thumbnail(frame.image))
        self._pictures.append((frame.at, self._drawn[1]))
        while self._pictures[0][0] < frame.at - self._length_ms:
            self._pictures.popleft()

    def film(self, first: int, last: int, most_bytes: int) -> bytes:
        """Return the film from one moment to another (Unix ms); empty where there is no picture.

        One that would be larger than `most_bytes` has only every second picture, or third.
        """
        found = every = self._between(first, last)
        for step in range(2, len(every) + 1):
            if _film_bytes(picture for _, picture in found) <= most_bytes:
                break
            found = every[::step]
        if not found:
            return b""
        lasted_s = (found[-1][0] - found[0][0]) / 1000
        fps = (len(found) - 1) / lasted_s if lasted_s > 0 else 1000 / self._every_ms
        return write_film([picture for _, picture in found], self._crop.small, fps)

    def fits(self, first: int, last: int, most_bytes: int) -> bool:
        """Whether the film from one moment to another has every picture that is held of it."""
        return _film_bytes(picture for _, picture in self._between(first, last)) <= most_bytes

    def _between(self, first: int, last: int) -> list[tuple[int, bytes]]:
        return [(at, picture) for at, picture in self._pictures if first <= at <= last]


def _film_bytes(pictures: Iterable[bytes]) -> int:
    return FILM_BYTES + sum(len(picture) + INDEX_BYTES for picture in pictures)


def write_film(pictures: Sequence[bytes], size: tuple[int, int], fps: float) -> bytes:
    """Return the film of the JPEGs (one or more, all of that width and height) as an AVI file."""
    out = io.BytesIO()
    with av.open(out, "w", format="avi") as film:
        stream = film.add_stream("mjpeg", rate=Fraction(fps).limit_denominator(LONGEST_PERIOD))
        stream.width, stream.height = size
        stream.pix_fmt = "yuvj420p"
        for number, picture in enumerate(pictures):
            packet = av.Packet(picture)
            packet.stream, packet.pts, packet.dts = stream, number, number
            packet.is_keyframe = True
            film.mux(packet)
    return out.getvalue()
