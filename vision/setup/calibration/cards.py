"""Measure a table by eight cards laid on it: what is seen of them, what is wrong, the view.

Each place of the table has its card. Where all lie as they should, one picture gives the plane, the
lens as far as it can be known, and every area; otherwise words say which card, and what to do.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import cv2
import numpy as np

from vision.config.errors import implausible
from vision.game.events import Slot
from vision.setup.calibration import areas, plane_fit
from vision.setup.calibration.areas import DISCARD, LAID, MOUTH, called, name_of, where
from vision.setup.calibration.plane_fit import EDGE_POINTS, Seen, Vector, fit
from vision.sight.detection.classifier import CROP_SIZE, CardModels
from vision.sight.detection.detector import Detection, Kind
from vision.sight.geometry import plane
from vision.sight.geometry.plane import POKER_MM, Image, Points, TableView
from vision.sight.quality.view import SHARP_SHARE, focus
from vision.sight.stills.reader import StillCard, read_still

# Sizes of playing cards by name, mm. They are distinguished by their proportions.
SIZES = {"poker": POKER_MM, "bridge": (57.0, 88.0)}
# The other size must fit so many times worse, or the size is asked for.
SURE_OF_SIZE = 1.5
# The risk (0 to 1) at which a card is named: it need only be distinguished from seven. A card that
# does not belong is given only if it is surer than FOREIGN, as print can look a little like a card.
BOUND, FOREIGN = 0.2, 0.98
# An outline that shares so much with a card's (intersection over union) is of that card.
SAME_PLACE = 0.15
# Two pictures show the table at rest where they differ by less than this, in levels (0 to 255), on
# average over the cards: noise leaves 2, a card that is pushed 20.
AT_REST = 6.0
# Round each card so many of its sizes are painted out of the picture of the layout: its shadow.
ROUND_CARD = 0.15
# A hand is in the way if the detector is so sure of it (0 to 1).
HAND = 0.5
# Of a card's edge so much must be seen where the fit has it (share of all points, within EDGE_MM):
# less, and something lies on it, or the outline is not the card's. Cards whose sides touch have
# 0.9 and more, half a card under a hand has 0.5.
WHOLE, EDGE_MM = 0.65, 1.5
# Cards that decide the plane less than those of the hands: one in a tray lies a little higher, and
# in the shade of its walls, but tells most of the lens; half a card in a shoe is bent.
WEIGHT = {DISCARD: 0.5, MOUTH: 0.1}
# As WHOLE, of the front of the half-drawn card; and so much of its other half's edge is seen where
# it lies free: half drawn it has less than 0.5.
FRONT, FREE = 0.5, 0.8
# What a point of an edge that is not seen counts in the cost of a fit: as one that is three usual
# errors off. Less, and a wrong size wins by the points that it cannot find.
MISSED = 2.2
# Edges may deviate from one plane by so much, mm (root mean square): cards that lie flat have 0.3.
MOST_MISFIT_MM = 1.0
# A card may lie askew by so much, degrees: its place is straightened. More leaves that unknown.
ASKEW = 12.0
# Ink in the corners that bear an index over ink in the others. Below the first the picture is
# mirror writing; up to the second, as with four indices, the reader decides.
MIRRORED, PLAIN = 0.7, 1.4
# Corner of a crop that holds an index: shares of its width and height.
INDEX = (0.24, 0.32)
# Mirror images are more like the cards if the sum of their log-probabilities is greater by this.
LIKELIER = 0.5
# Pixels of a crop's rim that are left out: cloth that shows there is no ink.
RIM = 3
# A crop as the classifier takes it: all of it is the card.
WHOLE_CROP = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32) * np.array(CROP_SIZE)


@dataclass(frozen=True, slots=True, eq=False)
class LaidCards:
    """What pictures of the laid cards give.

    `seen` has the outline (4 x 2 px) of each card of a place, `faults` what keeps the table from
    being measured, each with its cure, `notes` what else to know. `view` is `None` with faults
    that leave none; `misfit_mm` is the root mean square distance of the cards' edges from the fit.
    """

    seen: Mapping[str, Points]
    faults: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    view: TableView | None = None
    misfit_mm: float = 0.0

    def emptied(self, image: Image) -> Image:
        """Return the picture with the cards painted over by what is round them: the bare layout."""
        covered = self._covered(image, ROUND_CARD)
        return cast(Image, cv2.inpaint(image, covered, 3, cv2.INPAINT_TELEA))

    def at_rest(self, before: Image, now: Image) -> bool:
        """Whether nothing moved on the cards from one picture to the next."""
        return cv2.mean(cv2.absdiff(before, now), self._covered(now, 0.0))[1] < AT_REST

    def _covered(self, image: Image, more: float) -> Image:
        mask = np.zeros(image.shape[:2], np.uint8)
        for quad in self.seen.values():
            middle = quad.mean(axis=0)
            grown = middle + (1 + 2 * more) * (quad - middle)
            cv2.fillConvexPoly(mask, np.rint(grown).astype(np.int32), 255)
        return mask


# --- one picture: which cards are seen ------------------------------------------------------------


def look(models: CardModels, image: Image, without: Collection[str] = ()) -> LaidCards:
    """Find the laid cards in a picture (H x W x 3, BGR), and say what is wrong with what is seen.

    `without` names places whose card is left out.
    """
    found = read_still(models, image, bound=BOUND)
    faults: list[str] = []
    seen: dict[str, Points] = {}
    for place, card in LAID.items():
        these = sorted((one for one in found if one.card == card), key=lambda one: -one.confidence)
        sure = [one for one in these if one.confidence >= FOREIGN]
        if len(sure) > 1:
            faults.append(f"the {called(place)} is seen {len(sure)} times: take the others away")
        elif these:
            seen[place] = these[0].quad
    faults += [_missing(place, found) for place in LAID if place not in {*seen, *without}
               and not any(called(place) in fault for fault in faults)]  # fmt: skip
    faults += _foreign(found, seen)
    hands = [one for one in models.detector.cards_and_hands(image, HAND) if one.kind is Kind.HAND]
    spread = np.concatenate([*seen.values(), np.zeros((0, 2), np.float32)])
    if seen and any(plane.shared_area(one.quad, spread) > 0 for one in hands):
        faults.append("a hand or an arm is over the table: take it away")
    if focus(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)) < SHARP_SHARE:
        faults.append("the picture is blurred: focus the lens, and keep the camera still")
    return LaidCards(seen, tuple(faults))


def _missing(place: str, found: Sequence[StillCard]) -> str:
    how = f"lay it on {where(place)}, face up"
    if place == MOUTH:
        how = f"draw it half out of {where(place)}, face up"
    unread = sum(one.card is None and one.kind is Kind.FACE for one in found)
    also = "; a card lies there that cannot be read: more light, no reflection" if unread else ""
    return f"the {called(place)} is not seen: {how}, and let nothing cover it{also}"


def _foreign(found: Sequence[StillCard], seen: Mapping[str, Points]) -> list[str]:
    """Name cards that do not belong here; one that shares its place with a laid one is print."""
    return [
        f"the {name_of(one.card)} does not belong here: take it away, or cover it if it is print"
        for one in found
        if one.card and one.card not in LAID.values() and one.confidence >= FOREIGN
        and all(plane.overlap(one.quad, quad) < SAME_PLACE for quad in seen.values())
    ]  # fmt: skip


# --- all pictures: plane and areas ----------------------------------------------------------------


def measure(
    models: CardModels,
    images: Sequence[Image],
    *,
    without: Collection[str] = (),
    size: str | None = None,
) -> LaidCards:
    """Measure a table from pictures (H x W x 3, BGR) of one camera, one or more, all of one size.

    `size` is a name of `SIZES` where the person has chosen it. Pictures with faults are left out;
    where all have some, those of the last are given.
    """
    looks = [look(models, image, without) for image in images]
    good = [(image, one) for image, one in zip(images, looks, strict=True) if not one.faults]
    if not good:
        return looks[-1]
    shots = [LaidPicture(image, plane_fit.paper_of(image), one.seen) for image, one in good]
    names = [size] if size else list(SIZES)
    fits = sorted(
        (LaidFit(models, shots, SIZES[name], name) for name in names), key=LaidFit.badness
    )
    best, *others = fits
    notes = [f"picture {n} is left out: {'; '.join(one.faults)}"
             for n, one in enumerate(looks, 1) if one.faults]  # fmt: skip
    faults = [*best.faults(), *mirrored(models, best)]
    if others and others[0].badness() < SURE_OF_SIZE * best.badness():
        faults.append(f"the cards may be {best.name} or {others[0].name} size: say which")
    notes.append(f"the cards are of {best.name} size, {best.card_mm[0]:g} x {best.card_mm[1]:g} mm")
    notes += [f"{where(place)} had no card: it is put from the others"
              for place in without if place != DISCARD]  # fmt: skip
    return LaidCards(looks[-1].seen, tuple(faults), tuple(notes), best.view(), best.misfit_mm())


class LaidPicture(NamedTuple):
    """A picture, the same with paper bright, and the outline of the card of each place in it."""

    image: Image
    paper: Image
    seen: Mapping[str, Points]


class LaidFit:
    """The fit of cards of one size to all pictures, and what it says of each card."""

    def __init__(
        self,
        models: CardModels,
        shots: Sequence[LaidPicture],
        card_mm: tuple[float, float],
        name: str,
    ) -> None:
        self.card_mm, self.name = card_mm, name
        self.places = [place for shot in shots for place in shot.seen]
        self._light = [WEIGHT.get(place, 1.0) for place in self.places]
        outlines = [quad for shot in shots for quad in shot.seen.values()]
        height, width = shots[0].image.shape[:2]
        size = self._size = (width, height)
        numbers = iter(range(len(self.places)))
        # Each picture with the numbers of its cards.
        self.pictures = [(shot, [next(numbers) for _ in shot.seen]) for shot in shots]
        self.fit = fit(self._corners(outlines), card_mm, size, outlines)
        # A box of the size of a card shows the corner finder the whole of it.
        self.fit = fit(self._corners(self._outlined(models)), card_mm, size, self.fit)
        for reach in plane_fit.REACH_MM:
            self._edges = self._seen(reach)
            self.fit = fit(self._edges, card_mm, size, self.fit)
        self._edges = self._seen(plane_fit.REACH_MM[-1])
        self._off = np.abs(self.fit.off_mm(self._edges))
        self.poses = areas.poses_of(self.fit, self.places)

    def _outlined(self, models: CardModels) -> list[Points]:
        quads, found = self.fit.outlines_px(), list[Points]()
        for picture, these in self.pictures:
            boxes = [Detection(quads[number], Kind.FACE, 1.0) for number in these]
            found += [one.quad for one in models.detector.outlined(picture.image, boxes)]
        return found

    def _corners(self, outlines: Sequence[Points]) -> Seen:
        """Return the corners of all outlines; of a card in the mouth those of its front side.

        That is the long side which is nearer to the hands.
        """
        seen = plane_fit.of_corners(outlines, self._light)
        flat = [place not in {MOUTH, DISCARD} for place in self.places]
        hands = np.mean(outlines, axis=1)[flat].mean(axis=0)
        free = np.ones(len(seen.card), bool)
        for card in (n for n, place in enumerate(self.places) if place == MOUTH):
            sides = [(seen.card == card) & (seen.form[:, 0] * side > 0) for side in (-1, 1)]
            free &= ~max(sides, key=lambda one: math.dist(seen.px[one].mean(axis=0), hands))
        return seen.only(free)

    def _seen(self, reach_mm: float) -> Seen:
        """Return the edges that all pictures show; of a card in the mouth only the free part."""
        parts = [plane_fit.of_edges(p.paper, self.fit, n, reach_mm) for p, n in self.pictures]
        seen = plane_fit.together(parts)
        seen = seen._replace(weight=seen.weight * np.array(self._light)[seen.card])
        way = areas.leaving(areas.poses_of(self.fit, self.places))
        at = self.fit.points(seen.card, seen.form * self.card_mm)
        ahead = (at - self.fit.centres[seen.card]) @ way
        free = np.array([place != MOUTH for place in self.places])[seen.card] | (ahead > 0)
        self._behind = seen.only(~free)
        return seen.only(free)

    def misfit_mm(self) -> float:
        """Return how far the edges of the cards of both hands are off the fit (rms, mm)."""
        flat = np.array([place not in {MOUTH, DISCARD} for place in self.places])
        off = self._off[flat[self._edges.card]]
        return float(np.sqrt((off**2).mean())) if len(off) else plane_fit.REACH_MM[0]

    def _expected(self) -> Vector:
        """Return how many points of each card could be seen."""
        return np.array([EDGE_POINTS / (2 if place == MOUTH else 1) for place in self.places])

    def badness(self) -> float:
        """Return how badly cards of this size explain the pictures; less is better."""
        missed = self._expected().sum() - len(self._edges.card)
        return self.fit.cost + MISSED * float(missed)

    def view(self) -> TableView:
        """Return the view of the table that follows."""
        seen_by, size = self.fit.plane, self._size
        found = {
            name: areas.clipped(area, seen_by, size)
            for name, area in areas.areas_of(self.poses, self.card_mm).items()
        }
        slots = {slot: found[slot.name] for slot in Slot}
        ahead = self.card_mm[1] * areas.leaving(self.poses)
        exit_mm = (found[MOUTH].mean(axis=0) + ahead).astype(np.float32)
        return TableView(seen_by, slots, found[MOUTH], found.get(DISCARD), self.card_mm, exit_mm)

    def faults(self) -> list[str]:
        """Return what is wrong with how the cards lie, each with its cure."""
        lying = areas.exchanged(self.poses) or [*self._outlines(), *self._askew()]
        return lying or [*self._areas()]

    def _areas(self) -> Iterator[str]:
        view = self.view()
        yield from (f"{name} {words}" for name, words in implausible(view))
        for name, area in view.areas.items():
            seen = view.homography.to_px(area)
            if (seen < 0).any() or (seen > self._size).any():
                yield f"{where(name)} lies outside the picture: turn the camera there"

    def _outlines(self) -> list[str]:
        agree = np.bincount(self._edges.card[self._off < EDGE_MM], minlength=len(self.places))
        faults = []
        shares = dict(zip(self.places, (agree / self._expected()).tolist(), strict=True))
        for place, share in shares.items():
            if share < (FRONT if place == MOUTH else WHOLE):
                faults.append(
                    f"the outline of the {called(place)} disagrees with the other cards "
                    f"({100 * share:.0f} % of its edge is where it should be): something covers "
                    "or touches it, or a printed line was taken for its edge. Lay it flat, a "
                    "finger's width from its neighbours; against print cover the line of its "
                    "place, or measure with cards of the same size that have no printed frame"
                    + (f"; or have it and the {called(MOUTH)} changed places?"
                       if place == DISCARD else "")
                )  # fmt: skip
        behind = (np.abs(self.fit.off_mm(self._behind)) < EDGE_MM).sum() / (EDGE_POINTS / 2)
        if behind > self.places.count(MOUTH) * FREE:
            faults.append(
                f"the {called(MOUTH)} lies free: only its front half may be out of the shoe's mouth"
            )
        if not faults and self.misfit_mm() > MOST_MISFIT_MM:
            faults.append(
                f"the cards are {self.misfit_mm():.1f} mm off one flat table: lay them flat, and "
                "let nothing move while the picture is taken"
            )
        return faults

    def _askew(self) -> list[str]:
        faults = []
        for place, pose in self.poses.items():
            hand = [one for name, one in self.poses.items() if name[:5] == place[:5]]
            turn = pose.turn(areas.straightened(pose, hand))
            if place not in {MOUTH, DISCARD} and turn > ASKEW:
                faults.append(f"the {called(place)} lies turned by {turn:.0f} degrees to its hand: "
                              f"lay it straight on {where(place)}")  # fmt: skip
        return faults


def mirrored(models: CardModels, fitted: LaidFit) -> list[str]:
    """Say so where the picture is mirror writing.

    Cards bear their index, or the larger one, at the left of both ends. Where all four corners
    have the same, the classifier compares the cards with their mirror images.
    """
    logs, gains = [], []
    outlines = fitted.fit.outlines_px()
    for shot, these in fitted.pictures:
        for number in these:
            if fitted.places[number] == MOUTH:
                continue  # half of it is hidden
            quad = outlines[number]
            crop = plane.rectify(shot.image, quad, CROP_SIZE)
            logs.append(np.log(_ink(crop)))
            looks = [
                models.classifier(one, [WHOLE_CROP])[0] for one in (crop, crop[:, ::-1].copy())
            ]
            index = LAID[fitted.places[number]].index
            gains.append(float(looks[1].log_p[index] - looks[0].log_p[index]))
    ratio = float(np.exp(np.mean(logs)))
    if ratio > PLAIN or (ratio > MIRRORED and sum(gains) < LIKELIER):
        return []
    return [
        "the picture is mirror writing: switch mirroring (flip) off in the camera's own settings"
    ]


def _ink(crop: Image) -> float:
    """Return the ink in the corners of an upright card that bear an index, over the others'."""
    paper = crop.min(axis=2).astype(np.float64)
    height, width = paper.shape
    w, h = round(INDEX[0] * width), round(INDEX[1] * height)
    ink = np.clip(np.percentile(paper, 80) - paper, 0, None)[RIM:-RIM, RIM:-RIM]
    own = ink[:h, :w].mean() + ink[-h:, -w:].mean()
    return float((own + 1) / (ink[:h, -w:].mean() + ink[-h:, :w].mean() + 1))
