"""How right the places are that are proposed from play: `python -m models.evaluate.from_play`.

Simulated films of held-out dealers' styles, and films of another renderer where a folder is given.
Each place is right within 15 mm of where it is, or (mouth and discard, which are areas) if it
holds the true middle; or it is wrong; or it was said not to be known, or to be unsure. None may be
wrong that was not said to be unsure.
`--sightings` draws no film: the proposal gets what a detector would see that misses nothing but
what is under a hand or on edge.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from datasets.dealing.actors import card_quad
from datasets.dealing.film import Shot, frame_count
from datasets.dealing.film_settings import look_for
from datasets.dealing.scenario import Dealing, Scenario
from datasets.dealing.simulate import Show, rehearse
from datasets.dealing.style import styles
from datasets.dealing.table_places import SLOTS, Camera
from datasets.dealing.timeline import on_table
from datasets.dealing.video_writer import Encoding, Progress, write_video
from datasets.faces.registry import load_deck
from models.evaluate.coups import DEALING, SPLITS
from models.evaluate.dealing_films import SLOTS as OTHER_SLOTS
from vision.config.table import CameraSection
from vision.errors import OutsideError
from vision.setup.calibration.from_play import Play, Proposal, from_play, propose
from vision.setup.calibration.layout_template import NotEnoughError
from vision.sight.detection.detector import Detection, Kind
from vision.sight.geometry.plane import Homography

Pixels = NDArray[np.floating[Any]]
# A place is right within this, mm: a fifth of a card's width, so that its cards lie in it.
RIGHT_MM = 15.0
# Areas: right if the true middle lies in them.
AREAS = ("MOUTH", "DISCARD")
NAMES = (*SLOTS, *AREAS)
# A card is on edge, and not detected, between these shares of being turned.
ON_EDGE = (0.33, 0.67)
# The share of a card that a hand may cover before it is not detected, and before its edges are not
# clear; and how exactly corners are detected, px (1 sigma). By eye on films of the detector.
HIDDEN, TOUCHED, CORNER_PX = 0.45, 0.03, 0.7


class Tally:
    """Counts of places, and how far off the slots are that are not unsure, mm."""

    def __init__(self) -> None:
        self.counts: dict[str, Counter[str]] = {"slots": Counter(), "mouth and discard": Counter()}
        self.off: list[float] = []

    def count(self, name: str, outcome: str) -> None:
        """Count a place as right, wrong, unsure or unknown."""
        self.counts["mouth and discard" if name in AREAS else "slots"][outcome] += 1

    @property
    def wrong(self) -> int:
        """How many places were proposed where they are not."""
        return sum(counts["wrong"] for counts in self.counts.values())

    def __str__(self) -> str:
        """Return the counts in words."""
        parts = [
            f"{what}: right {counts['right']}, unsure {counts['unsure']}, "
            f"not known {counts['unknown']}, wrong {counts['wrong']}"
            for what, counts in self.counts.items()
        ]
        off = f"slots off by {np.mean(self.off):.1f} mm, {max(self.off):.1f} at most"
        return "; ".join([*parts, off if self.off else "no slot was proposed"])


def judge(proposal: Proposal, plane: Homography, truth: Mapping[str, Pixels], tally: Tally) -> str:
    """Count every place of a proposal against the truth (corners in px); return it in words."""
    notes = []
    for name in NAMES:
        area = proposal.known.get(name)
        if area is None:
            tally.count(name, "unknown")
            notes.append(f"{name} not known")
            continue
        true = plane.to_mm(truth[name]).mean(axis=0).astype(np.float64)
        off = float(np.linalg.norm(area.mean(axis=0) - true))
        inside = cv2.pointPolygonTest(area.astype(np.float32), (true[0], true[1]), False) >= 0
        right = inside if name in AREAS else off <= RIGHT_MM
        outcome = "unsure" if name in proposal.unsure else "right" if right else "wrong"
        tally.count(name, outcome)
        if outcome == "unsure":
            notes.append(f"{name} unsure ({proposal.unsure[name]:.0f} mm), off by {off:.0f} mm")
        elif not right:
            notes.append(f"{name} WRONG by {off:.0f} mm")
        elif name not in AREAS:
            tally.off.append(off)
    return ", ".join(notes) or "all known"


def refused(tally: Tally, error: Exception) -> str:
    """Count a film of which nothing was proposed."""
    for name in NAMES:
        tally.count(name, "unknown")
    return f"nothing proposed: {error}"


# --- films of the simulator ----------------------------------------------------------------------


def shown(number: int, arguments: argparse.Namespace) -> Show:
    """Return film `number` of a split: its styles, and three ways of dealing, come in turn."""
    rng = np.random.default_rng([arguments.seed, number])
    split = SPLITS[arguments.split]
    known = styles(split)
    style = known[number % len(known)]
    camera = Camera((1280, 720), float(rng.uniform(0, 18)), 0.0, style.optics.turned)
    seed = 1000 * arguments.seed + number
    look = look_for(split, seed, camera, noise=float(rng.uniform(1, 5)), style=style,
                    fps=arguments.fps or style.optics.fps)  # fmt: skip
    dealing = Dealing(DEALING[number % len(DEALING)])
    return rehearse(Scenario(seed=seed, coups=arguments.coups, dealing=dealing), look)


def truth_of(show: Show) -> dict[str, Pixels]:
    """Return the corners (4, 2) px of every place of a simulated film."""
    layout, camera = show.look.style.layout, show.look.camera
    areas = {name: layout.slot_polygon(name) for name in SLOTS}
    areas |= {"MOUTH": layout.mouth_polygon(), "DISCARD": layout.tray_polygon()}
    return {name: camera.project(area) for name, area in areas.items()}


def sighted(show: Show, seed: int) -> Play:
    """Return the play of a film as a detector sees it that misses only what is hidden."""
    clear: set[bytes] = set()
    play = Play(edges=lambda _, quad: quad if quad.astype(np.float32).tobytes() in clear else None)
    shot, rng, number = Shot(show.look), np.random.default_rng([seed, 6]), 0
    empty = np.zeros((1, 1, 3), np.uint8)
    for index in range(frame_count(show.acts, show.look.fps)):
        at = index / show.look.fps
        while number + 1 < len(show.acts) and at >= show.acts[number].end:
            number += 1
        hands = [quad.astype(np.float32) for quad in shot.hands(show.acts[number], at)]
        found = []
        for card in on_table(show.acts, number):
            pose = card.pose(at)
            if pose is None or at < card.out or ON_EDGE[0] < pose.flip < ON_EDGE[1]:
                continue
            quad = card_quad(pose, shot.pack.size_mm, shot.camera)
            quad = (quad + rng.normal(0, CORNER_PX, (4, 2))).astype(np.float32)
            size = float(cv2.contourArea(quad))
            shared = sum(cv2.intersectConvexConvex(quad, hand)[0] for hand in hands)
            covered = shared / size
            if covered > HIDDEN:
                continue
            if covered < TOUCHED:
                clear.add(quad.tobytes())
            kind = Kind.FACE if pose.flip > ON_EDGE[1] else Kind.BACK
            found.append(Detection(quad, kind, 0.9))
        play.see(empty, found, round(1000 * at))
    return play


def by_sightings(show: Show, seed: int, tally: Tally) -> str:
    """Propose from sightings, with the true plane, and judge."""
    pixels, table = show.look.camera.calibration()
    plane = Homography.fit(pixels, table)
    try:
        proposal = propose(sighted(show, seed), plane, load_deck(show.look.deck).size_mm)
    except NotEnoughError as error:
        return refused(tally, error)
    return judge(proposal, plane, truth_of(show), tally)


def by_film(show: Show, tally: Tally) -> str:
    """Draw the film, calibrate from it as a person would, and judge."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "play.mp4"
        progress = Progress(show.frame_count, quiet=True)
        write_video(path, show.frames(), progress, Encoding(show.look.fps))
        size = show.look.camera.size
        return calibrated(path, size, load_deck(show.look.deck).size_mm, truth_of(show), tally)


def calibrated(
    film: Path,
    size: tuple[int, int],
    card_mm: tuple[float, float],
    truth: Mapping[str, Pixels],
    tally: Tally,
) -> str:
    """Calibrate from a film and judge what is proposed."""
    camera = CameraSection(source=str(film), width=size[0], height=size[1])
    try:
        played = from_play(camera, card_mm, 60.0)
    except OutsideError as error:
        return refused(tally, error)
    return judge(played.proposal, played.found.plane, truth, tally)


def other_film(film: Path, tally: Tally) -> str:
    """Calibrate from a film of another renderer and judge."""
    told = json.loads(film.with_suffix(".json").read_text("utf-8"))
    truth = {OTHER_SLOTS[name]: np.array(slot["px"]) for name, slot in told["slots"].items()}
    truth |= {
        "MOUTH": np.array(told["shoe_mouth"]["px"]),
        "DISCARD": np.array(told["discard"]["px"]),
    }
    width, height = told["video"]["size"]
    card_mm = (float(told["card_mm"][0]), float(told["card_mm"][1]))
    return calibrated(film, (width, height), card_mm, truth, tally)


def main() -> int:
    """Propose, judge and print film by film; exit status 1 if any place was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "folder", nargs="?", type=Path, help="films (.mp4) with their truth (.json)"
    )
    parser.add_argument("--films", type=int, default=20, help="simulated ones, without a folder")
    parser.add_argument("--coups", type=int, default=8, help="coups in each simulated film")
    parser.add_argument("--fps", type=float, help="of every film (that of the style's camera)")
    parser.add_argument("--split", choices=list(SPLITS), default="held-out", help="(held-out)")
    parser.add_argument("--seed", type=int, default=81)
    parser.add_argument("--sightings", action="store_true", help="draw no films")
    arguments = parser.parse_args()
    tally = Tally()
    if arguments.folder is not None:
        for film in sorted(arguments.folder.glob("*.mp4")):
            print(f"{film.stem}: {other_film(film, tally)}", flush=True)
    for number in range(arguments.films if arguments.folder is None else 0):
        show = shown(number, arguments)
        if arguments.sightings:
            words = by_sightings(show, arguments.seed, tally)
        else:
            words = by_film(show, tally)
        print(f"film {number} ({show.look.style.name}): {words}", flush=True)
    print(tally)
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
