"""Enrol a deck: watch it being shown, ask about unclear cards, measure it and write its file.

Progress and questions go through callables, so that a terminal and an evaluation can both use it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.config.table import CameraSection
from vision.errors import OutsideError
from vision.game.cards import Card
from vision.inference.deck_file import write
from vision.inference.load import ModelSet
from vision.setup.enrolment.gather import Gatherer, Showing, Sighting
from vision.setup.enrolment.measure import Measured, closest, measure, sheet, too_alike
from vision.sight.deck.classifier import Captured
from vision.sight.detection.classifier import CROP_SIZE
from vision.sight.detection.detector import Kind
from vision.sight.geometry.frame import Frame, Image
from vision.sight.geometry.plane import TableView, rectify

# Pictures of a film or camera are looked at this far apart, ms: eight looks at a card that is left
# for the two seconds that deploy/enrolment.md asks for. Longer, and a card is captured too seldom.
LOOK_EVERY_MS = 250
# An outline whose corners are further than this from a card on the table, mm, is a card in a hand
# or no whole card. Chosen on simulated films; larger, bent crops are captured.
MISFIT_MM = 15.0
# How many of the closest pairs the picture shows (three rows of three), and the report names.
PAIRS_SHOWN, PAIRS_NAMED = 9, 5
# A message lists at most this many cards or pairs: about one line of a terminal.
NAMED_AT_MOST = 12

Report = Callable[[str], None]
# Answers which card a showing is, `None` to leave it out; the text gives the reader's guess.
Ask = Callable[[str, Showing], Card | None]


@dataclass(frozen=True, slots=True, eq=False)
class Enrolled:
    """What became of an enrolment: the deck file's hash, and why it is not armed ("" if it is)."""

    measured: Measured
    sha256: str
    why: str


class Watch:
    """Looks at pictures for a gatherer, and reports what is still missing whenever that changes."""

    def __init__(
        self, models: ModelSet, view: TableView, camera: CameraSection, report: Report
    ) -> None:
        self._models = models
        self._view = view
        self._camera = camera
        self._report = report
        self._reported = ""
        self.gatherer = Gatherer()

    @property
    def complete(self) -> bool:
        """Whether all 52 faces and the back have been seen."""
        return not self.gatherer.missing and self.gatherer.back_seen

    def see(self, frame: Frame) -> None:
        """Look at one picture; ConfigurationError where it is not of the calibrated size."""
        self._camera.check_size(frame)
        faces: list[tuple[tuple[float, float], Image]] = []
        backs: list[Image] = []
        for found in self._models.detector(frame.image):
            pose, misfit = self._view.locate(found.quad)
            if found.kind is Kind.CUT or misfit > MISFIT_MM:
                continue
            crop = rectify(frame.image, self._view.quad_px(pose), CROP_SIZE)
            if found.kind is Kind.BACK:
                backs.append(crop)
            else:
                faces.append((pose.centre, crop))
        self.gatherer.see(self._sightings(faces), backs)
        words = progress(self.gatherer)
        if words != self._reported:
            self._reported = words
            self._report(words)

    def _sightings(self, faces: list[tuple[tuple[float, float], Image]]) -> list[Sighting]:
        if not faces:
            return []
        looks = self._models.classifier.of_crops([crop for _, crop in faces])
        return [
            Sighting(place, crop, look.log_p, look.readable)
            for (place, crop), look in zip(faces, looks, strict=True)
        ]


def progress(gatherer: Gatherer) -> str:
    """Return in words which cards have been seen and which have not."""
    missing = gatherer.missing
    words = f"seen {52 - len(missing)} of 52 faces"
    words += ", the back" if gatherer.back_seen else "; the back is missing"
    if 0 < len(missing) <= NAMED_AT_MOST:
        words += f"; missing: {' '.join(map(str, missing))}"
    twice = gatherer.conflicts()
    again = gatherer.shown_twice() if missing else ()
    if again and len(missing) <= NAMED_AT_MOST:
        words += f"; shown twice, or taken for one another: {' '.join(map(str, again))}"
    if twice:
        words += f"; two cards at once look like {', '.join(map(str, twice))}"
    return words


def ask_all(gatherer: Gatherer, ask: Ask) -> None:
    """Ask about every card that is not clear, until none is left that could be missing."""
    while (showing := gatherer.unclear()) is not None:
        guess = showing.guess()
        words = "" if guess is None else f"it looks like {guess[0]}, or else {guess[2]}"
        gatherer.name(showing, ask(words, showing))


def enrol(captured: Captured, models: ModelSet, *, bound: float, out: Path) -> Enrolled:
    """Measure a deck, write its file and the picture of its closest pairs."""
    measured = measure(captured, models.classifier)
    why = not_armed_because(measured.margins, bound)
    pairs = closest(measured.margins, PAIRS_SHOWN)
    facts = {
        "classifier": models.hashes["classifier"],
        "bound": bound,
        "armed": not why,
        "why": why,
        "frames": len(captured.cards),
        "closest": [f"{pair}: {pair.margin:.1f}" for pair in pairs],
    }
    digest = write(out, measured.deck, measured.margins, captured, facts)
    picture = sheet(pairs, measured.deck.faces, bound)
    if not cv2.imwrite(str(pairs_path(out)), picture):
        raise OutsideError(f"{pairs_path(out)}: the picture of the closest pairs is not written")
    return Enrolled(measured, digest, why)


def not_armed_because(margins: NDArray[np.float64], bound: float) -> str:
    """Return which pairs are too alike to be read at a bound of error, "" where none is."""
    alike = too_alike(margins, bound)
    needed = -math.log(bound)
    named = "; ".join(
        f"{pair} are too alike under this lamp (margin {pair.margin:.1f}, needed {needed:.1f})"
        for pair in alike[:NAMED_AT_MOST]
    )
    left = len(alike) - NAMED_AT_MOST
    return f"{named}; and {left} more" if left > 0 else named


def pairs_path(out: Path) -> Path:
    """Return where the picture of the closest pairs goes."""
    return out.with_name(f"{out.stem}-pairs.png")


def report(measured: Measured) -> Iterable[str]:
    """Yield the closest pairs, and the cards misread at times, a line each."""
    pairs = closest(measured.margins, PAIRS_NAMED)
    named = ", ".join(f"{pair} {pair.margin:.1f}" for pair in pairs)
    yield f"closest pairs (margin in log-odds of a still card): {named}"
    if measured.misread:
        yield f"misread at times, lying free: {' '.join(map(str, measured.misread))}"
