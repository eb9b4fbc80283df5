"""Calibrate from the first hands dealt: fit the plane, and the layout's template, to their cards.

The usual way of dealing is assumed: the first card is Punto's. A person looks at what is proposed
before it is written, and is told which places are unsure, and by how much.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from vision.camera.source import Shot, open_source
from vision.config.table import CameraSection
from vision.errors import OutsideError
from vision.inference.load import open_models
from vision.setup.calibration.from_sheet import FoundPlane, empty, lens_words
from vision.setup.calibration.layout_template import NotEnoughError, RestingCard, fit_template
from vision.setup.calibration.places import with_room
from vision.setup.calibration.play import (
    Play,
    discard_area,
    discard_spot,
    mouth_area,
    mouth_spot,
    ways_of,
)
from vision.setup.calibration.solver import PlaneFit, Size, Thing, fit_most, upright
from vision.sight.geometry.frame import Image, Points
from vision.sight.geometry.plane import Homography, card_rectangle, fit_rectangle

# Frames are looked at this far apart, ms: each frame of a usual camera, so that flights are seen.
LOOK_EVERY_MS = 30
# Pictures from which the empty layout is made: one each so many ms, the emptiest so many of them.
# Closer together or fewer, a card that stays for a coup remains in the layout.
KEEP_EVERY_MS = 1500
MOST_PICTURES = 15
# Cards the plane is fitted to: fewer leave the plane unsure, more only cost time.
LEAST_CARDS = 6
MOST_CARDS = 60
# Corners of a resting card may be this far off a card's form, mm (root mean square); more, and the
# outline is not a whole card.
MOST_MISFIT_MM = 4.0
# A slot that is less sure than this (1 sigma, mm) is for a person to correct: at twice that, a card
# laid in the middle of its slot would lie on the slot's border.
MOST_UNSURE_MM = 7.0


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """Places by name (polygons in mm), those that are unsure (mm, 1 sigma), and words about all."""

    known: Mapping[str, Points]
    unsure: Mapping[str, float]
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Played:
    """The plane found from the play, and what is proposed in its millimetres."""

    found: FoundPlane
    proposal: Proposal


def from_play(
    camera: CameraSection,
    card_mm: tuple[float, float],
    minutes: float,
    *,
    plane: Homography | None = None,
) -> Played:
    """Watch for so long, or to the end, and propose; OutsideError where too little was seen.

    With a `plane` only the places are proposed, in its millimetres.
    """
    play, pictures = _watched(camera, minutes)
    if not pictures:
        raise OutsideError(f"{camera.source}: no picture comes; check that the camera sends one")
    height, width = pictures[-1].shape[:2]
    words: list[str] = []
    fitted, things = None, play.things(card_mm)[:MOST_CARDS]
    if plane is None:
        fitted, things = _fitted(things, (width, height), camera.source)
        plane = upright(fitted.plane, (width, height))
        typical = float(np.sqrt((fitted.misfit_mm**2).mean()))
        words = [
            lens_words(plane, (width, height)),
            f"plane: fitted to {len(things)} cards at rest, misfit {typical:.2f} mm",
        ]
    try:
        proposal = propose(play, plane, card_mm)
    except NotEnoughError as error:
        raise OutsideError(f"{camera.source}: {error}") from error
    found = FoundPlane(
        plane,
        pictures[len(pictures) // 2],
        (*words, *proposal.words),
        fitted,
        empty(pictures),
        tuple(thing.seen_px.astype(np.float32) for thing in things),
    )
    return Played(found, proposal)


def _watched(camera: CameraSection, minutes: float) -> tuple[Play, list[Image]]:
    models = open_models(threads=2)
    play = Play()
    pictures: list[tuple[int, Image]] = []
    began = due = kept = None
    for shot in open_source(camera, speed=0):
        if not isinstance(shot, Shot):
            continue
        at = shot.frame.at
        began = at if began is None else began
        if at - began > minutes * 60_000:
            break
        if due is None or at >= due:
            due, image = at + LOOK_EVERY_MS, shot.frame.image
            cards = models.detector(image)
            play.see(image, cards, at - began)
            if kept is None or at >= kept:
                kept = at + KEEP_EVERY_MS
                # The emptiest are kept: together they show the layout without cards.
                pictures.append((len(cards), image))
                pictures = sorted(pictures, key=lambda picture: picture[0])[:MOST_PICTURES]
    return play, [image for _, image in pictures]


def _fitted(things: list[Thing], size: Size, source: str) -> tuple[PlaneFit, list[Thing]]:
    """Fit the plane to cards, without those that fit much worse than most."""
    fitted, kept = fit_most(things, size, lenses=1) if things else (None, [])
    if fitted is None or len(kept) < LEAST_CARDS:
        raise OutsideError(
            f"{source}: only {len(kept)} cards were seen lying still with clear edges, "
            f"{LEAST_CARDS} are needed: watch longer (--minutes), add light, "
            "or use the marker sheet"
        )
    return fitted, kept


# --- the places ----------------------------------------------------------------------------------


def propose(play: Play, plane: Homography, card_mm: tuple[float, float]) -> Proposal:
    """Propose the places of a table; NotEnoughError where the two hands are not seen."""
    cards = []
    for rest in play.rests:
        pose, misfit = fit_rectangle(plane.to_mm(rest.quad()), card_mm)
        if misfit < MOST_MISFIT_MM:
            cards.append(RestingCard(pose, rest.since, rest.until))
    template = fit_template(cards, card_mm)
    size = with_room(card_mm)
    slots = {name: card_rectangle(pose, size) for name, pose in template.poses.items()}
    unsure = {name: mm for name, mm in template.unsure_mm.items() if mm > MOST_UNSURE_MM}
    words = [
        f"{name}: {template.cards[name]} cards lay there, sure to {mm:.0f} mm (1 sigma)"
        for name, mm in template.unsure_mm.items()
    ]
    ways = ways_of(play, plane, template)
    begin = mouth_spot(ways, template)
    end = discard_spot(ways, template, cards, begin)
    for name, spot in (("MOUTH", begin), ("DISCARD", end)):
        words.append(f"{name}: {spot or 'not known: most cards were not seen at one spot'}")
    mouth = {} if begin is None else {"MOUTH": mouth_area(begin, [*slots.values()])}
    discard = {} if end is None else {"DISCARD": discard_area(end)}
    return Proposal({**slots, **mouth, **discard}, unsure, tuple(words))
