"""Enrolment put together: pictures in, cards gathered, the deck learnt, judged and written.

Asks and tells through callables, so that a terminal and an evaluation can both stand behind it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2

from vision.config.table import CameraSection
from vision.errors import OutsideError
from vision.game.cards import Card
from vision.inference.deck_file import write
from vision.inference.load import ModelSet, with_features
from vision.setup.enrolment.fit import FIT_VIEWS, Fitted, fit
from vision.setup.enrolment.gather import Gatherer, Showing, Sighting
from vision.setup.enrolment.margins import closest, sheet, too_alike
from vision.sight.deck.captured import Captured
from vision.sight.detection.classifier import CROP_SIZE
from vision.sight.detection.detector import Kind
from vision.sight.geometry.frame import Frame, Image
from vision.sight.geometry.plane import TableView, rectify

LOOK_EVERY_MS = 250
MISFIT_MM = 15.0
PAIRS_SHOWN = 9
NAMED_AT_MOST = 12

Tell = Callable[[str], None]
# Answers which card a showing is, `None` to leave it out; the text says what the reader thinks.
Ask = Callable[[str, Showing], Card | None]


@dataclass(frozen=True, slots=True, eq=False)
class Enrolled:
    """What became of an enrolment: the deck file's hash, and why it is not armed ("" if it is)."""

    fitted: Fitted
    sha256: str
    why: str


class Watch:
    """Looks at pictures for a gatherer, and says what is still missing whenever that changes."""

    def __init__(
        self, models: ModelSet, view: TableView, camera: CameraSection, tell: Tell
    ) -> None:
        self._detector = models.detector
        self._read = with_features(models.features)
        self._view = view
        self._camera = camera
        self._tell = tell
        self._told = ""
        self.gatherer = Gatherer()
        self.looked = 0

    @property
    def complete(self) -> bool:
        """Whether all 52 faces and the back have been seen."""
        return not self.gatherer.missing and self.gatherer.back_seen

    def see(self, frame: Frame) -> None:
        """Look at one picture; ConfigurationError where it is not of the calibrated size."""
        self._camera.check_size(frame)
        self.looked += 1
        faces: list[tuple[tuple[float, float], Image]] = []
        backs: list[Image] = []
        for found in self._detector(frame.image):
            pose, misfit = self._view.locate(found.quad)
            if found.kind is Kind.CUT or misfit > MISFIT_MM:
                continue
            crop = rectify(frame.image, self._view.quad_px(pose), CROP_SIZE)
            if found.kind is Kind.BACK:
                backs.append(crop)
            else:
                faces.append((pose.centre, crop))
        self.gatherer.see(self._sightings(faces), backs)
        self._say()

    def _sightings(self, faces: list[tuple[tuple[float, float], Image]]) -> list[Sighting]:
        if not faces:
            return []
        said = self._read([crop for _, crop in faces])
        return [
            Sighting(place, crop, row, float(readable))
            for (place, crop), row, readable in zip(faces, said.log_p, said.readable, strict=True)
        ]

    def _say(self) -> None:
        words = progress(self.gatherer)
        if words != self._told:
            self._told = words
            self._tell(words)


def progress(gatherer: Gatherer) -> str:
    """Return in words what has been seen and what has not."""
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
        gatherer.tell(showing, ask(words, showing))


def learn(
    captured: Captured,
    models: ModelSet,
    *,
    bound: float,
    out: Path,
    tell: Tell,
    views: int = FIT_VIEWS,
) -> Enrolled:
    """Learn a deck, write its file and the picture of its closest pairs, and say how it did."""
    fitted = fit(captured, with_features(models.features), tell=tell, views=views)
    why = verdict(fitted, bound)
    pairs = closest(fitted.margins, PAIRS_SHOWN)
    facts: dict[str, Any] = {
        "classifier": models.hashes["classifier"],
        "bound": bound,
        "armed": not why,
        "why": why,
        "frames": len(captured.cards),
        "kept_apart": int(captured.kept.sum()),
        "closest": [f"{pair}: {pair.margin:.1f}" for pair in pairs],
    }
    for score in fitted.scores:
        facts[f"measured_{score.name}"] = {
            "error_pct": round(score.error_pct, 2),
            "named_pct": round(score.named_pct, 2),
            "wrong_among_named_pct": round(score.wrong_among_named_pct, 3),
        }
    digest = write(out, fitted.deck, fitted.margins, captured, facts)
    picture = sheet(pairs, fitted.deck.faces, bound)
    if not cv2.imwrite(str(pairs_path(out)), picture):
        raise OutsideError(f"{pairs_path(out)}: the picture of the closest pairs is not written")
    return Enrolled(fitted, digest, why)


def verdict(fitted: Fitted, bound: float) -> str:
    """Return why a deck is not fit to be read with at a bound of error, "" where it is."""
    alike = too_alike(fitted.margins, bound)
    if not alike:
        return ""
    needed = -math.log(bound)
    named = "; ".join(
        f"{pair} are too alike under this lamp (margin {pair.margin:.1f}, needed {needed:.1f})"
        for pair in alike[:NAMED_AT_MOST]
    )
    return named + (f"; and {len(alike) - NAMED_AT_MOST} more" * (len(alike) > NAMED_AT_MOST))


def pairs_path(out: Path) -> Path:
    """Return where the picture of the closest pairs goes."""
    return out.with_name(f"{out.stem}-pairs.png")


def report(enrolled: Enrolled) -> Iterable[str]:
    """Yield what was measured on frames kept apart, a line each."""
    yield "on views of frames kept apart (hard ones: covered, blurred, in other light):"
    for score in enrolled.fitted.scores:
        mark = "*" if score.name == enrolled.fitted.chosen else " "
        yield (
            f" {mark} {score.name:11} {score.error_pct:5.1f} % wrong at a guess; at a 2 % bound "
            f"{score.named_pct:5.1f} % named, of those {score.wrong_among_named_pct:.2f} % wrong"
        )
    pairs = ", ".join(f"{pair} {pair.margin:.1f}" for pair in closest(enrolled.fitted.margins, 5))
    yield f"closest pairs (margin in log-odds of a still card): {pairs}"
    if enrolled.fitted.misread:
        yield f"misread at times, lying free: {' '.join(map(str, enrolled.fitted.misread))}"
