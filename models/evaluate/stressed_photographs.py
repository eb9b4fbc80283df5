"""Read photographs again, changed as other people's photographs differ.

`python -m models.evaluate.stressed_photographs FOLDER`. Each photograph of a labelled source is
read as it is; the cards read right are the truth. Then it is turned, shrunk, enlarged, made grey,
dark, blurred, compressed, tilted, cut through a card by the picture's edge, or scanned cards of
another deck (`--faces`) are laid over one of its own in rows, fans and heaps; and it is read again.
A card with a whole index in sight is to be read; any other may be declined, never misnamed.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from models.evaluate.photographs import pictures
from models.train.real_photographs import APART, agreement, covered_share, labels_of
from vision.game.cards import Card
from vision.inference.load import ModelSet, for_pictures
from vision.pictures import open_picture
from vision.sight.detection.detector import Kind
from vision.sight.geometry.plane import Image, Points, overlap, rectify
from vision.sight.stills.reader import StillCard, annotate, read_still

# Error bound of `shoe-reader read` by default, 0 to 1.
BOUND = 0.02
# Intersection over union from which a reading and a card are the same: that of the labels' scorer.
SAME = 0.3
# Grid on which it is counted what of a card is in sight, columns and rows.
GRID = (60, 84)
# Where a French deck of two indices prints one, in shares of the card: x0, y0, x1, y1; the other is
# the same turned by half. Measured on the photographed decks; smaller asks for cards half hidden.
INDEX = (0.02, 0.02, 0.19, 0.29)
# Share of an index in sight from which a card is to be read. Lower asks for guesses.
WHOLE = 0.97
SMALL_PX = 45.0  # width of a small card
# A card's round corner and what is cut off its outline, where a scan of it is laid, in card
# widths: scans have worn edges.
ROUND, TRIMMED = 0.05, 0.01
# Share of a card's pixels, in percent, that are darker than its paper.
PAPER = 85
# Seed of all that is drawn.
SEED = 90_003

Rng = np.random.Generator


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """A card of a picture: its outline, and whether one of its indices is wholly in sight."""

    card: Card
    quad: Points
    clear: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Photograph:
    """A picture (BGR) and its cards, the lowest first; `apart` says that none covers another."""

    image: Image
    cards: tuple[Shown, ...]
    apart: bool = True


Change = Callable[[Rng, Photograph], Photograph]


def moved(shot: Photograph, matrix: NDArray[np.float64], size: tuple[int, int]) -> Photograph:
    """Return the photograph seen through a homography in (width, height) px; cards may be cut."""
    plain = tuple(float(v) for v in np.median(shot.image.reshape(-1, 3), axis=0))
    image = cv2.warpPerspective(
        shot.image, matrix, size, flags=cv2.INTER_AREA, borderValue=plain
    )  # fmt: skip
    cards = tuple(
        replace(card, quad=cv2.perspectiveTransform(card.quad[None], matrix)[0])
        for card in shot.cards
    )
    width, height = size
    frame = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    kept = [card for card in cards if overlap(card.quad, frame) > 0]
    inside = np.ones((height, width), np.uint8)
    return Photograph(
        np.asarray(image, np.uint8),
        tuple(replace(card, clear=card.clear and has_index(inside, card.quad)) for card in kept),
    )


def has_index(mask: NDArray[np.uint8], quad: Points) -> bool:
    """Whether a mask of what is in sight (1 where it is) holds a whole index of a card."""
    width, height = GRID
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    matrix = cv2.getPerspectiveTransform(quad.astype(np.float32), corners)
    seen = cv2.warpPerspective(mask, matrix, GRID, flags=cv2.INTER_NEAREST)
    x0, y0, x1, y1 = (round(share * side) for share, side in zip(INDEX, GRID * 2, strict=True))
    return any(float(end[y0:y1, x0:x1].mean()) >= WHOLE for end in (seen, seen[::-1, ::-1]))


def scaled(shot: Photograph, factor: float) -> Photograph:
    """Return the photograph smaller or larger."""
    height, width = shot.image.shape[:2]
    method = cv2.INTER_AREA if factor < 1 else cv2.INTER_CUBIC
    size = (round(width * factor), round(height * factor))
    image = np.asarray(cv2.resize(shot.image, size, interpolation=method), np.uint8)
    return Photograph(image, tuple(replace(c, quad=c.quad * factor) for c in shot.cards))


def turned(shot: Photograph, quarters: int) -> Photograph:
    """Return the photograph turned by quarters."""
    for _ in range(quarters):
        side = shot.image.shape[0]
        image = np.ascontiguousarray(np.rot90(shot.image, -1))
        cards = tuple(
            replace(c, quad=np.stack([side - c.quad[:, 1], c.quad[:, 0]], 1)) for c in shot.cards
        )
        shot = Photograph(image, cards)
    return shot


def tilted(rng: Rng, shot: Photograph, *, degrees: float) -> Photograph:
    """Return the photograph as if it had been taken so much more from the side."""
    height, width = shot.image.shape[:2]
    focal, angle, spin = 1.2 * max(width, height), np.radians(degrees), rng.uniform(0, 2 * np.pi)
    axis = np.array([np.cos(spin), np.sin(spin), 0.0]) * angle
    plane = cv2.Rodrigues(axis)[0]
    plane[:, 2] = (0, 0, focal)
    middle = (width / 2, height / 2)
    camera = np.array([[focal, 0, middle[0]], [0, focal, middle[1]], [0, 0, 1]])
    to_middle = np.array([[1, 0, -middle[0]], [0, 1, -middle[1]], [0, 0, 1]])
    return moved(shot, camera @ plane @ to_middle, (width, height))


def cut(rng: Rng, shot: Photograph, *, lost: tuple[float, float]) -> Photograph:
    """Return the photograph whose edge cuts off a share of one of its cards."""
    shot = turned(shot, int(rng.integers(4)))
    quad = shot.cards[int(rng.integers(len(shot.cards)))].quad
    height, width = shot.image.shape[:2]
    left = quad[:, 0].min() + rng.uniform(*lost) * np.ptp(quad[:, 0])
    begin = int(np.clip(left, 0, width - 2))
    matrix = np.array([[1.0, 0, -begin], [0, 1, 0], [0, 0, 1]])
    return moved(shot, matrix, (width - begin, height))


def smeared(shot: Photograph, *, share: float) -> Photograph:
    """Return the photograph out of focus, by a share of a card's width (standard deviation)."""
    return replace(
        shot, image=np.asarray(cv2.GaussianBlur(shot.image, (0, 0), share * width_of(shot)))
    )


def shaken(rng: Rng, shot: Photograph, *, share: float) -> Photograph:
    """Return the photograph taken with a moving hand, by a share of a card's width."""
    length = max(3, round(share * width_of(shot)))
    line = np.zeros((length, length), np.float32)
    way = rng.uniform(0, np.pi)
    reach = (length - 1) / 2 * np.array([np.cos(way), np.sin(way)])
    ends = np.round((length - 1) / 2 + np.array([-reach, reach])).astype(int)
    cv2.line(line, tuple(map(int, ends[0])), tuple(map(int, ends[1])), 1.0)
    return replace(shot, image=np.asarray(cv2.filter2D(shot.image, -1, line / line.sum())))


def width_of(shot: Photograph) -> float:
    """Return the width of the narrowest card, px."""
    return min(float(np.linalg.norm(card.quad[1] - card.quad[0])) for card in shot.cards)


def exposed(shot: Photograph, *, gain: float, lift: float) -> Photograph:
    """Return the photograph darker or brighter."""
    image = cv2.convertScaleAbs(shot.image, alpha=gain, beta=lift)
    return replace(shot, image=np.asarray(image, np.uint8))


def compressed(shot: Photograph, *, quality: int) -> Photograph:
    """Return the photograph after much JPEG compression."""
    packed = cv2.imencode(".jpg", shot.image, [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
    return replace(shot, image=np.asarray(cv2.imdecode(packed, cv2.IMREAD_COLOR), np.uint8))


def grey(shot: Photograph) -> Photograph:
    """Return the photograph without colours."""
    one = cv2.cvtColor(shot.image, cv2.COLOR_BGR2GRAY)
    return replace(shot, image=np.asarray(cv2.cvtColor(one, cv2.COLOR_GRAY2BGR), np.uint8))


@dataclass(slots=True)
class Heaps:
    """Lays scanned cards over a photograph's first card."""

    faces: list[tuple[Card, Image]]

    def __call__(
        self, rng: Rng, shot: Photograph, steps: Sequence[tuple[float, float, float]]
    ) -> Photograph:
        """Lay one card for each step: across and along in card widths, turn in radians."""
        below = shot.cards[0]
        image, cards, quad = shot.image.copy(), list(shot.cards), below.quad
        masks = [np.ones(image.shape[:2], np.uint8) for _ in cards]
        for step in steps:
            there = {shown.card for shown in cards}
            others = [pair for pair in self.faces if pair[0] not in there]
            card, face = others[int(rng.integers(len(others)))]
            quad = _stepped(quad, *step)
            top = _lay(image, _as_beside(face, shot.image, below.quad), quad)
            for mask in masks:
                mask[top > 0] = 0
            cards.append(Shown(card, quad))
            masks.append(np.ones(image.shape[:2], np.uint8))
        clear = [has_index(mask, c.quad) for mask, c in zip(masks, cards, strict=True)]
        return Photograph(
            image, tuple(replace(c, clear=c.clear and own) for c, own in
                         zip(cards, clear, strict=True))
        )  # fmt: skip


def _as_beside(face: Image, image: Image, quad: Points) -> Image:
    """Return a face as large as a card in a picture, with paper as bright and of its colour."""
    wide = round(float(np.linalg.norm(quad[1] - quad[0])))
    size = (wide, round(1.4 * wide))
    small = cv2.resize(face, size, interpolation=cv2.INTER_AREA)
    beside = rectify(image, quad, size)
    own, other = (np.percentile(card.reshape(-1, 3), PAPER, axis=0) for card in (small, beside))
    return np.asarray(np.clip(small * (other / np.maximum(own, 1)), 0, 255), np.uint8)


def _stepped(quad: Points, across: float, along: float, turn: float) -> Points:
    """Return where a card lies that is moved and turned against one at `quad`, on its plane."""
    unit = np.array([[0, 0], [1, 0], [1, 1.4], [0, 1.4]], np.float32)
    spin = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    middle = np.array([0.5, 0.7])
    there = ((unit - middle) @ spin + middle + (across, along)).astype(np.float32)
    matrix = cv2.getPerspectiveTransform(unit, quad.astype(np.float32))
    return np.asarray(cv2.perspectiveTransform(there[None], matrix)[0], np.float32)


def _lay(image: Image, face: Image, quad: Points) -> NDArray[np.uint8]:
    """Draw a face with round corners and a thin shadow into a picture; return where it lies."""
    height, width = face.shape[:2]
    rim, bend = round(TRIMMED * width), round(ROUND * width)
    shape = np.zeros((height, width), np.uint8)
    cv2.rectangle(shape, (rim + bend, rim), (width - 1 - rim - bend, height - 1 - rim), 255, -1)
    cv2.rectangle(shape, (rim, rim + bend), (width - 1 - rim, height - 1 - rim - bend), 255, -1)
    for x in (rim + bend, width - 1 - rim - bend):
        for y in (rim + bend, height - 1 - rim - bend):
            cv2.circle(shape, (x, y), bend, 255, -1, cv2.LINE_AA)
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    matrix = cv2.getPerspectiveTransform(corners, quad.astype(np.float32))
    size = (image.shape[1], image.shape[0])
    mask = cv2.warpPerspective(shape, matrix, size, flags=cv2.INTER_LINEAR)
    drawn = cv2.warpPerspective(face, matrix, size, flags=cv2.INTER_LINEAR)
    soft = cv2.GaussianBlur(mask, (0, 0), max(1.0, 0.02 * width)).astype(np.float32) / 255
    share = mask[:, :, None].astype(np.float32) / 255
    shaded = image * (1 - 0.35 * soft[:, :, None])
    image[:] = np.clip(shaded * (1 - share) + drawn * share, 0, 255).astype(np.uint8)
    return np.asarray(mask, np.uint8)


def faces_of(folder: Path) -> Iterator[tuple[Card, Image]]:
    """Yield the scanned faces of a folder with `crops/NAME/*`."""
    for path in sorted((folder / "crops").glob("*/*")):
        image = open_picture(path)
        if image is not None:
            yield Card.parse(path.parent.name), image


def changes(heaps: Heaps) -> dict[str, Change]:
    """Return what is done to the photographs, by the words of its row."""

    def heaped(steps: Callable[[Rng], list[tuple[float, float, float]]]) -> Change:
        return lambda rng, shot: heaps(rng, shot, steps(rng))

    alone: dict[str, Change] = {
        "as it is": lambda _, shot: shot,
        "turned by a quarter or a half": lambda rng, s: turned(s, int(rng.integers(1, 4))),
        "turned by any angle": _spun,
        f"cards {SMALL_PX:.0f} px wide": lambda _, s: scaled(s, SMALL_PX / width_of(s)),
        "twice as large": lambda _, s: scaled(s, 2.0),
        "grey": lambda _, s: grey(s),
        "dark": lambda _, s: exposed(s, gain=0.25, lift=0),
        "too bright": lambda _, s: exposed(s, gain=1.5, lift=40),
        "JPEG of quality 15": lambda _, s: compressed(s, quality=15),
        "out of focus by 2 % of the width": lambda _, s: smeared(s, share=0.02),
        "shaken by 6 % of the width": lambda rng, s: shaken(rng, s, share=0.06),
        "tilted by 35 degrees": lambda rng, s: tilted(rng, s, degrees=35),
        "tilted by 50 degrees": lambda rng, s: tilted(rng, s, degrees=50),
        "cut off up to a third": lambda rng, s: cut(rng, s, lost=(0.05, 0.33)),
        "cut off up to two thirds": lambda rng, s: cut(rng, s, lost=(0.33, 0.66)),
    }
    if not heaps.faces:
        return alone
    return alone | {
        "a row": heaped(lambda rng: [(rng.uniform(0.24, 0.6), 0.0, rng.normal(0, 0.02))] * 2),
        "a stair": heaped(lambda rng: [(0.0, rng.uniform(0.42, 0.8), rng.normal(0, 0.02))] * 2),
        "a fan": heaped(lambda rng: [(rng.uniform(0.22, 0.4), 0.06, rng.uniform(0.1, 0.3))] * 3),
        "a heap": heaped(
            lambda rng: [(*rng.uniform(-0.5, 0.5, 2), rng.uniform(-np.pi, np.pi)) for _ in "12"]
        ),
    }


def _spun(rng: Rng, shot: Photograph) -> Photograph:
    height, width = shot.image.shape[:2]
    side = round(np.hypot(width, height))
    turn = cv2.getRotationMatrix2D((width / 2, height / 2), float(rng.uniform(5, 85)), 1.0)
    turn[:, 2] += (side - width) / 2, (side - height) / 2
    return moved(shot, np.vstack([turn, [0, 0, 1]]), (side, side))


def taken(path: Path, source: Path, models: ModelSet) -> Photograph | None:
    """Return a photograph with those of its labelled cards that are read right as it is."""
    image = open_picture(path)
    if image is None:
        return None
    read = [card for card in read_still(models, image, bound=BOUND) if card.card]
    labels = labels_of(source / "labels" / f"{path.stem}.txt", image)
    found = [
        Shown(card.card, card.quad)
        for number, box in labels
        for card in read
        if card.card == Card.of(number) and agreement(card.quad, box) > SAME
    ]
    apart = all(covered_share(a, b) <= APART for (_, a), (_, b) in permutations(labels, 2))
    return Photograph(image, tuple(found), apart) if found else None


def score(shot: Photograph, read: Sequence[StillCard]) -> Counter[str]:
    """Return how many cards are right, wrong, declined and missed, and what is read beside."""
    pairs = sorted(
        (
            (overlap(shown.quad, card.quad) + 0.15 * (shown.card == card.card), i, j)
            for i, shown in enumerate(shot.cards)
            for j, card in enumerate(read)
            if overlap(shown.quad, card.quad) >= SAME
        ),
        reverse=True,
    )
    partner: dict[int, int] = {}
    for _, i, j in pairs:
        if i not in partner and j not in partner.values():
            partner[i] = j
    counts: Counter[str] = Counter()
    for i, shown in enumerate(shot.cards):
        card = read[partner[i]] if i in partner else None
        outcome = (
            "missed" if card is None
            else "right" if card.card == shown.card
            else "wrong" if card.card
            else "declined"
        )  # fmt: skip
        if outcome in ("right", "wrong") or shown.clear:
            counts[outcome if shown.clear or outcome == "wrong" else "right though hidden"] += 1
    for j, card in enumerate(read):
        if j not in partner.values():
            counts["false names" if card.card else "backs" if card.kind is Kind.BACK
                   else "unread"] += 1  # fmt: skip
    return counts


COLUMNS = ("right", "wrong", "declined", "missed", "right though hidden", "false names", "backs",
           "unread")  # fmt: skip


def main() -> None:
    """Change and read the photographs, print a row for each change."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path, help="a folder with images/ and labels/")
    parser.add_argument("--faces", type=Path, help="scans to lay on cards: crops/NAME/*.jpg")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each N-th picture")
    parser.add_argument("--first", type=int, default=0, help="the first picture")
    parser.add_argument("--only", nargs="*", default=[], help="words of the rows to print")
    parser.add_argument("--sheets", type=Path, help="keep pictures with mistakes in this folder")
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    models = for_pictures(threads=1)
    paths = pictures(arguments.source)[arguments.first :: arguments.every]
    heaps = Heaps(list(faces_of(arguments.faces)) if arguments.faces else [])
    shots = [s for path in paths if (s := taken(path, arguments.source, models)) is not None]
    print("| " + " | ".join(("photographs", "cards", *COLUMNS)) + " |")
    print("|---" * (len(COLUMNS) + 2) + "|")
    total: Counter[str] = Counter()
    for number, (words, change) in enumerate(changes(heaps).items()):
        if arguments.only and not any(only in words for only in arguments.only):
            continue
        rng = np.random.default_rng([SEED, number])
        counts: Counter[str] = Counter()
        for index, shot in enumerate(shots):
            if not shot.apart and number >= 13:
                continue
            changed = change(rng, shot)
            read = read_still(models, changed.image, bound=BOUND)
            found = score(changed, read)
            counts += found
            if arguments.sheets and any(found[bad] for bad in COLUMNS[1:4] + COLUMNS[5:7]):
                arguments.sheets.mkdir(parents=True, exist_ok=True)
                name = f"{words.replace(' ', '_')}-{index}.jpg"
                cv2.imwrite(str(arguments.sheets / name), annotate(changed.image, read))
        total += counts
        print(_row(words, counts), flush=True)
    print(_row("all", total))


def _row(words: str, counts: Counter[str]) -> str:
    asked = sum(counts[name] for name in COLUMNS[:4])
    return f"| {words} | {asked} | " + " | ".join(str(counts[name]) for name in COLUMNS) + " |"


if __name__ == "__main__":
    main()
