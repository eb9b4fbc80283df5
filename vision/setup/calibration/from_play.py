"""Calibrate from the first hands dealt: fit the plane, and the layout's template, to their cards.

The usual way of dealing is assumed: the first card is Punto's. No card is followed: what came to
rest gives plane and slots; the mouth is where something is first seen before most cards come to
their slots, the discard where something is last seen when most coups are cleared. A person looks at
what is proposed before it is written, and is told which places are unsure, and by how much.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from vision.camera.source import frames
from vision.config.table import CameraSection
from vision.errors import OutsideError
from vision.inference.load import open_models
from vision.setup.calibration.card_edges import true_corners
from vision.setup.calibration.from_sheet import FoundPlane, empty, lens_words
from vision.setup.calibration.layout_template import (
    NotEnoughError,
    RestingCard,
    Template,
    Vector,
    fit_template,
)
from vision.setup.calibration.places import with_room
from vision.setup.calibration.solver import PlaneFit, Size, Thing, fit_most, upright
from vision.sight.detection.detector import Detection, Kind, short_side
from vision.sight.geometry.plane import (
    Homography,
    Image,
    Points,
    Pose,
    card_rectangle,
    fit_rectangle,
    shared_area,
)

Edges = Callable[[Image, Vector], Vector | None]

# The constants below were chosen on simulated films of 15 to 30 frames a second.
# A card lies still when its middle stays within this share of its short side for so many ms. Larger
# or shorter, cards sliding to their place count as resting.
STILL_SHARE = 0.08
STILL_MS = 300
# A rest missed for this long, ms, is over; shorter, a hand that passes ends it.
LOST_MS = 700
# Looks at the edges of a resting card, and the ms between them: their median steadies the corners.
SAMPLES = 5
SAMPLE_EVERY_MS = 250


@dataclass(slots=True, eq=False)
class Rest:
    """A card lying still from `since` to `until` (ms) about `middle` (px).

    `corners` holds looks (4 x 2 px) at its true edges, `boxes` at the detector's outline.
    """

    since: int
    until: int
    middle: Vector
    corners: list[Vector] = field(default_factory=list)
    boxes: list[Vector] = field(default_factory=list)
    sample_due: int = 0

    def quad(self) -> Vector:
        """Return its corners (4 x 2 px), those of its edges where they were clear."""
        return np.median(np.stack(self.corners or self.boxes), axis=0)


class Play:
    """The rests seen so far; `edges` makes a detection's corners exact.

    `on_the_way` holds each other sighting of a card: when (ms), and the middle of its outline (px).
    """

    def __init__(self, edges: Edges = true_corners) -> None:
        self.on_the_way: list[tuple[int, Vector]] = []
        self._found: list[Rest] = []
        self._live: list[Rest] = []
        self._edges = edges

    @property
    def rests(self) -> list[Rest]:
        """The cards that lay still, in the order in which they began to."""
        return sorted(self._found, key=lambda rest: rest.since)

    def see(self, image: Image, detections: Sequence[Detection], at: int) -> None:
        """Take a picture with what the detector found in it."""
        self._live = [rest for rest in self._live if at - rest.until <= LOST_MS]
        for detection in detections:
            if detection.kind is not Kind.CUT:
                self._take(image, detection.quad.astype(np.float64), at)

    def things(self, card_mm: tuple[float, float]) -> list[Thing]:
        """Return the cards that lay still, as things of known form, those with most looks first."""
        width, height = card_mm
        form = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float64)
        clear = [rest for rest in self._found if len(rest.corners) >= 2]
        clear.sort(key=lambda rest: -len(rest.corners))
        return [Thing(form, rest.quad(), f"card at {rest.since} ms") for rest in clear]

    def _take(self, image: Image, quad: Vector, at: int) -> None:
        """Let a sighting go on with the rest at its place, or perhaps begin one."""
        middle, limit = quad.mean(axis=0), STILL_SHARE * short_side(quad.astype(np.float32))
        near = [r for r in self._live if r.until < at and math.dist(r.middle, middle) <= limit]
        rest = min(near, key=lambda r: math.dist(r.middle, middle), default=None)
        if rest is None:
            rest = Rest(at, at, middle)
            self._live.append(rest)
        rest.until = at
        if at - rest.since < STILL_MS:
            self.on_the_way.append((at, middle))
            return
        if not rest.boxes:
            self._found.append(rest)
        if len(rest.corners) < SAMPLES and at >= rest.sample_due:
            self._sample(rest, image, quad, at)

    def _sample(self, rest: Rest, image: Image, quad: Vector, at: int) -> None:
        rest.sample_due = at + SAMPLE_EVERY_MS
        rest.boxes = [*rest.boxes[-SAMPLES:], quad]
        corners = self._edges(image, quad)
        if corners is not None:
            rest.corners.append(corners)


# A sighting this near the middle of a slot is of a card in it, mm: less than a card's length.
IN_SLOT_MM = 75.0
# A card out of the shoe lies in its place within this, ms: dealers turn or show it on its way.
# Longer, the hand that moves between two cards counts; shorter, slow dealers have no mouth.
FLIGHT_MS = 3000
# A coup's last card is on its way to the discard from so many ms before its slot is empty to so
# many after; a card hidden by a hand counts as lying for a while.
BEFORE_EMPTY_MS, AFTER_EMPTY_MS = 1500, 2500
# Sightings within this of one another are at one spot, mm; this share of the cards dealt (or of the
# coups cleared) must begin (or end) there. Lower, a spot that hands only pass is a mouth.
ONE_SPOT_MM, SHARE = 60.0, 0.6
# The way of a card is taken over this length, mm: shorter, it is the detector's jitter.
WAY_MM = 40.0
# The mouth reaches this far back from where cards come into sight, ahead of it, and to each side,
# mm: cards are first seen when they are half out. Too large ahead, it reaches into slots.
MOUTH_BACK_MM, MOUTH_AHEAD_MM, MOUTH_HALF_MM = 170, 40, 65
# The discard lies at least this far from the mouth, mm: what is seen nearer is the next coup's.
FROM_MOUTH_MM = 150.0
# How far a pile's middle may be from that of the card seen on it (1 sigma), mm.
LYING_MM = 15.0
# Side of the proposed discard, mm: a pile of cards as they are thrown.
DISCARD_MM = 150.0


@dataclass(frozen=True, slots=True, eq=False)
class Spot:
    """Where `seen` of `of` cards begin or end.

    The middle and its uncertainty (1 sigma) are in mm; `along` is the unit vector of their way.
    """

    middle: Vector
    unsure_mm: float
    seen: int
    of: int
    along: Vector

    def __str__(self) -> str:
        return (
            f"{self.seen} of {self.of} cards seen there, sure to {self.unsure_mm:.0f} mm (1 sigma)"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Ways:
    """What was on the way outside the slots: when (ms), and where (n x 2 mm)."""

    at: Vector
    where: Vector

    def between(self, since: float, until: float) -> Vector:
        """Return where things were from one time to another."""
        return self.where[(self.at > since) & (self.at <= until)]


def ways_of(play: Play, plane: Homography, template: Template) -> Ways:
    """Return what was on the way between the slots of a template."""
    at = np.array([when for when, _ in play.on_the_way], np.float64)
    middles = np.array([where for _, where in play.on_the_way]).reshape(-1, 2)
    where = plane.to_mm(middles).astype(np.float64)
    slots = np.array([pose.centre for pose in template.poses.values()])
    out = (np.linalg.norm(where[:, None] - slots, axis=2) > IN_SLOT_MM).all(axis=1)
    return Ways(at[out], where[out])


def mouth_spot(ways: Ways, template: Template) -> Spot | None:
    """Return where most cards are first seen on their way to a slot."""
    paths = []
    for came in np.sort(template.arrivals, axis=1):
        for before, at in zip((came[0] - FLIGHT_MS, *came[:-1]), came, strict=True):
            paths.append(ways.between(max(before, at - FLIGHT_MS), at))
    return _spot(paths)


def discard_spot(
    ways: Ways, template: Template, cards: Sequence[RestingCard], mouth: Spot | None
) -> Spot | None:
    """Return where a card lay on from the end of a coup, or where those of most were last seen."""
    pile = np.array([card.pose.centre for card in cards if _lies_on(card, template)])
    if len(pile) and float(np.ptp(pile, axis=0).max()) < ONE_SPOT_MM:
        return Spot(np.median(pile, axis=0), LYING_MM, len(pile), len(pile), np.zeros(2))
    paths = []
    for _, end in template.coups:
        path = ways.between(end - BEFORE_EMPTY_MS, end + AFTER_EMPTY_MS)
        if mouth is not None:
            path = path[np.linalg.norm(path - mouth.middle, axis=1) > FROM_MOUTH_MM]
        paths.append(path[::-1])
    return _spot(paths)


def _lies_on(card: RestingCard, template: Template) -> bool:
    """Whether a card came when a coup was cleared, and lay there for a whole later one."""
    return any(
        -BEFORE_EMPTY_MS < card.since - end < AFTER_EMPTY_MS for _, end in template.coups
    ) and any(card.since <= start and end <= card.until for start, end in template.coups)


def _leaving(path: Vector) -> Vector:
    """Return the unit vector of the first stretch of a way that is longer than jitter."""
    far = np.linalg.norm(path - path[0], axis=1)
    gone = int((far >= WAY_MM).argmax()) if (far >= WAY_MM).any() else -1
    way: Vector = (path[gone] - path[0]) / max(1e-6, float(far[gone]))
    return way


def _spot(paths: Sequence[Vector]) -> Spot | None:
    """Return the spot at which most paths (n x 2 mm each, some empty) begin, if enough do."""
    found = [path for path in paths if len(path)]
    at = np.array([path[0] for path in found]).reshape(-1, 2)
    near = np.linalg.norm(at[:, None] - at, axis=2) < ONE_SPOT_MM
    chosen = np.flatnonzero(near[int(near.sum(axis=1).argmax())]) if found else np.zeros(0, int)
    if len(chosen) < SHARE * len(paths):
        return None
    middle = np.median(at[chosen], axis=0)
    spread = float(np.sqrt(((at[chosen] - middle) ** 2).sum(axis=1).mean()))
    along = np.mean([_leaving(found[i]) for i in chosen], axis=0)
    along /= max(1e-6, float(np.linalg.norm(along)))
    return Spot(middle, spread / np.sqrt(len(chosen)), len(chosen), len(paths), along)


def mouth_area(spot: Spot, slots: Sequence[Points]) -> Points:
    """Return the mouth's rectangle about a spot, its far end drawn back from the slots."""
    along = spot.along
    side = np.array([-along[1], along[0]]) * MOUTH_HALF_MM
    for ahead in range(MOUTH_AHEAD_MM, -MOUTH_BACK_MM + 60, -10):
        back, front = spot.middle - along * MOUTH_BACK_MM, spot.middle + along * ahead
        mouth = np.array([back + side, back - side, front - side, front + side], np.float32)
        if not any(shared_area(mouth, area) > 0 for area in slots):
            break
    return mouth


def discard_area(spot: Spot) -> Points:
    """Return the discard's square about its middle."""
    x, y = spot.middle.tolist()
    return card_rectangle(Pose(x, y, 0.0), (DISCARD_MM, DISCARD_MM))


# --- the calibration ------------------------------------------------------------------------------


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
    began, keep_at = None, 0
    for frame in frames(camera, every_ms=LOOK_EVERY_MS):
        began = frame.at if began is None else began
        if frame.at - began > minutes * 60_000:
            break
        cards = models.detector(frame.image)
        play.see(frame.image, cards, frame.at - began)
        if frame.at >= keep_at:
            keep_at = frame.at + KEEP_EVERY_MS
            # The emptiest are kept: together they show the layout without cards.
            pictures.append((len(cards), frame.image))
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
