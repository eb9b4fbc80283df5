"""What is kept as evidence, and when: looks ahead in the fold, and keeps pictures first.

The fold is pure, so what an input will come to can be seen before it is taken: where it reads a
card or raises a loud alert, the picture is written to the disk and its hash put into the log before
that input. It knows the game's happenings and the layout's outline; nothing of the log's file.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vision.app.journal import Input, Journal, event_of
from vision.config.table import Evidence, View
from vision.game.events import Event, Noticed
from vision.game.outputs import AlertChanged, AlertState, CardSeen, Output, ResultState, Severity
from vision.record.proofs import EvidenceKept, Medium, Shelf
from vision.sight.geometry.frame import Frame, Image, Points
from vision.storage.clip_buffer import Crop, Ring
from vision.storage.evidence import EvidenceStore, Limits, folder_of
from vision.wire.messages import topic_level
from vision.wire.session import TableSession, advance

LOUD = (Severity.WARNING, Severity.CRITICAL)
MARGIN_MM = 60.0
TIDY_EVERY_MS = 60_000
NO_HASH = ""

log = logging.getLogger(__name__)


def outline_px(view: View) -> Points:
    """Return points (n x 2 pixels) whose hull holds the layout and every place on it."""
    places = [*view.slots_mm.values(), view.mouth_mm, view.discard_mm or ()]
    points = np.array([*view.table_mm, *(point for place in places for point in place)], np.float32)
    away = points - points.mean(axis=0)
    length = np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1.0)
    return view.plane().to_px(points + away / length * MARGIN_MM)


@dataclass(frozen=True, slots=True)
class _Rolling:
    """A clip whose end is still to come: from one moment to another, Unix ms."""

    kept: EvidenceKept
    first: int
    last: int


class EvidenceRecorder:
    """Keeps the evidence of one table during one run."""

    def __init__(self, settings: Evidence, view: View, size: tuple[int, int], log_path: Path):
        """Keep it beside the log unless the settings name a folder; `size` is the picture's."""
        self._settings = settings
        self.evidence_store = EvidenceStore(
            Path(settings.folder) if settings.folder else folder_of(log_path)
        )
        self._crop = Crop(outline_px(view), size)
        length_s = settings.before_s + settings.after_s + 1
        self._ring = Ring(self._crop, length_s=length_s, fps=settings.clip_fps)
        self._frame: Frame | None = None
        self._still: tuple[Image, bytes] | None = None
        self._rolling: list[_Rolling] = []
        self._failing = False
        self._tidied_at = 0

    def look(self, frame: Frame) -> None:
        """Take the newest picture."""
        if self._settings.keep:
            self._frame = frame
            self._ring.add(frame)

    def testify(self, desk: TableSession, inputs: Sequence[Input], at: int) -> list[Input]:
        """Return the inputs with the evidence that they call for, now on the disk, before each.

        Clips whose end has come by `at` (Unix ms) come first.
        """
        told: list[Input] = [*self._ended(at)]
        desk = _after(desk, told)
        for item in inputs:
            step = advance(desk, event_of(item))
            kept = self._evidence(desk.shelf, step.outputs)
            told += [*kept, item]
            desk = _after(desk, [*kept, item]) if kept else step.session
        return told

    def finish(self, at: int) -> list[Input]:
        """Return the clips that end now because the run does."""
        rolling, self._rolling = self._rolling, []
        return [*self._complete(rolling, at)]

    def tidy(self, journal: Journal, at: int) -> None:
        """Once a minute, delete evidence that is too old or too much; see `EvidenceStore.prune`."""
        if not self._settings.keep or 0 <= at - self._tidied_at < TIDY_EVERY_MS:
            return
        self._tidied_at = at
        wanted, before = wanted_names(journal.desk), journal.unsent_since[:10]
        limits = Limits(self._settings.keep_days, self._settings.max_mb)
        try:
            self.evidence_store.prune(
                limits, at, before_day=before, is_wanted=lambda name: name.startswith(wanted)
            )
        except OSError as error:
            log.warning("old evidence cannot be deleted: %s", error)

    # --- what is kept ------------------------------------------------------------------------

    def _evidence(self, shelf: Shelf, outputs: Sequence[Output]) -> list[Event]:
        """Return what is now kept of what is about to happen: cards first, alerts then."""
        if self._frame is None:
            return []
        kept: list[Event] = []
        for seen in outputs:
            if isinstance(seen, CardSeen) and seen.event == "read":
                kept += self._keep_card(shelf, seen, self._frame)
        for told in outputs:
            if isinstance(told, AlertChanged) and _is_to_be_proved(told, shelf):
                kept += self._keep_alert(told, self._frame)
        return kept

    def _keep_card(self, shelf: Shelf, seen: CardSeen, frame: Frame) -> Iterator[Event]:
        times = len(shelf.of_card(seen.shoe, seen.order))
        name = f"{_group(seen.shoe, seen.coup)}c{seen.order}" + (f".{times + 1}" if times else "")
        kept = EvidenceKept(
            frame.at, name, Medium.STILL, seen.shoe, seen.coup, NO_HASH, 0, seen.order
        )
        yield from self._keep(kept, self._still_of(frame))

    def _keep_alert(self, told: AlertChanged, frame: Frame) -> Iterator[Event]:
        alert = told.alert
        name = f"{_group(alert.shoe, alert.coup)}{topic_level(alert.id)}"
        facts = (alert.shoe, alert.coup, NO_HASH, 0, alert.order, alert.id)
        still = EvidenceKept(frame.at, name, Medium.STILL, *facts)
        yield from self._keep(still, self._still_of(frame))
        first = frame.at - round(1000 * self._settings.before_s)
        last = frame.at + round(1000 * self._settings.after_s)
        clip = EvidenceKept(frame.at, name, Medium.CLIP, *facts, complete=last == frame.at)
        for kept in self._keep(clip, self._ring.film(first, frame.at)):
            if isinstance(kept, EvidenceKept) and last > frame.at:
                self._rolling.append(_Rolling(kept, first, last))
            yield kept

    def _still_of(self, frame: Frame) -> bytes:
        if self._still is None or self._still[0] is not frame.image:
            self._still = (frame.image, self._crop.still(frame.image))
        return self._still[1]

    def _ended(self, at: int) -> list[Event]:
        ended = [clip for clip in self._rolling if clip.last <= at]
        self._rolling = [clip for clip in self._rolling if clip.last > at]
        return [*self._complete(ended, at)]

    def _complete(self, clips: Sequence[_Rolling], at: int) -> Iterator[Event]:
        for clip in clips:
            whole = EvidenceKept(
                max(clip.kept.at, min(at, clip.last)), clip.kept.id, Medium.CLIP, clip.kept.shoe,
                clip.kept.coup, NO_HASH, 0, clip.kept.order, clip.kept.alert,
            )  # fmt: skip
            yield from self._keep(whole, self._ring.film(clip.first, clip.last))

    def _keep(self, kept: EvidenceKept, content: bytes) -> Iterator[Event]:
        """Yield the piece once it is on the disk, or say that it cannot be kept; nothing if empty.

        Said once, and once more when it is over.
        """
        if not content:
            return
        try:
            written = self.evidence_store.keep(kept, content)
        except OSError as error:
            log.warning("evidence %s cannot be kept: %s", kept.id, error)
            if not self._failing:
                self._failing = True
                yield Noticed(kept.at, "EVIDENCE", detail=f"{error.strerror}.")
            return
        if self._failing:
            self._failing = False
            yield Noticed(kept.at, "EVIDENCE", over=True)
        yield written


def wanted_names(desk: TableSession) -> tuple[str, ...]:
    """Return how the names of evidence begin that is not to be deleted.

    It is that of coups with an alert that is not closed, or with a result that is held.
    """
    groups = {_group(proof.shoe, proof.coup) for proof in desk.shelf.proofs}
    table = desk.table
    for coup in (*table.done, *((table.coup,) if table.coup is not None else ())):
        result = coup.result
        if coup.hold or (result is not None and result.state is ResultState.HELD):
            groups.add(_group(table.shoe.name, coup.number))
    return tuple(sorted(groups))


def _group(shoe: str, coup: int) -> str:
    return f"{topic_level(shoe)}-{coup}-"


def _is_to_be_proved(told: AlertChanged, shelf: Shelf) -> bool:
    alert = told.alert
    loud = alert.severity in LOUD and alert.state is AlertState.RAISED
    return loud and not shelf.of_alert(alert.id)


def _after(desk: TableSession, inputs: Sequence[Input]) -> TableSession:
    for item in inputs:
        desk = advance(desk, event_of(item)).session
    return desk
