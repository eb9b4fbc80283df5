"""Draw what sight makes of a frame onto it, for the engineer who sets up a table or seeks a fault.

Over the picture: what the detector found, each card of the running coup with its order, name and
state, and hands. Under it: the time, the likeliest layouts of the coup with their probabilities,
what was reported lately, and what the colours mean.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from vision.game.coup.fault_table import KINDS
from vision.game.events import CoupSeen, CutCardOut, Event, Life, Noticed, SeenCard
from vision.game.outputs import AlertChanged, AlertState, CoupResult, Output, StatusChanged
from vision.sight.detection.detector import Detection
from vision.sight.following.follower import CardView
from vision.sight.geometry.plane import Frame, Image, Points, TableView, covered

Colour = tuple[int, int, int]
Box = tuple[int, int, int, int]  # left, top, width, height, in pixels

# Width of a drawing in pixels: the film is to be read where it stands beside other windows. Wider
# makes larger films, narrower and the words over neighbouring cards run into one another.
WIDTH_PX = 960
# Height of the strip under the picture, and of a line of words in it, in pixels: eight lines.
STRIP_PX, LINE_PX = 148, 17
# Where the columns of that strip begin, in pixels: counts, what was reported, the legend.
COUNTS_PX, REPORTED_PX, LEGEND_PX = 10, 236, 712
# Letters that fit into the column of what was reported, and that of layouts: about 7 pixels each.
REPORTED_LETTERS, COUNTS_LETTERS = 64, 30
# Scale of OpenCV's letters: about 10 pixels high, the smallest that survives a film's compression.
LETTERS = 0.42
# Length of a dash and of the gap after it, in pixels: short enough for the short side of a card.
DASH_PX = 5
# The share (0 to 1) of a hand's area that its colour covers: what lies under it stays to be seen.
TINT = 0.3
# Layouts that are written, and the least probability (0 to 1) of one: more is clutter.
MOST_LAYOUTS, LEAST_P = 4, 0.001

# Colours are BGR, far from one another and from felt, also for those who see red and green alike.
WHITE, GREY, PAPER = (245, 245, 245), (150, 150, 150), (28, 26, 24)
FOUND, OPEN, HAND = (215, 215, 215), (0, 225, 255), (220, 110, 200)
GOOD, BAD = (130, 225, 130), (80, 110, 255)
# From this probability on a layout is drawn as one that is known.
SURE = 0.99
READ, UNREAD = (110, 235, 110), (60, 80, 255)


@dataclass(frozen=True, slots=True, eq=False)
class SightView:
    """What sight made of one frame, at `at` (ms): boxes of cards and hands, cards of the coup.

    `layouts` are the likeliest ones of the running coup in words, each with its probability;
    `events` is what was reported.
    """

    at: int
    found: tuple[Detection, ...]
    hands: tuple[Detection, ...]
    cards: tuple[CardView, ...]
    layouts: tuple[tuple[str, float], ...]
    events: tuple[Event, ...]


class Drawing:
    """Draws the frames of one table, in order of time; times are counted from the first.

    With an `outline` (n x 2 px) all beyond its hull is black.
    """

    def __init__(self, view: TableView, outline: Points | None = None) -> None:
        self._view, self._outline = view, outline
        self._began: int | None = None
        self._seen: SightView | None = None
        self._reported: deque[tuple[str, Colour]] = deque(maxlen=STRIP_PX // LINE_PX)

    def __call__(
        self, frame: Frame, seen: SightView | None, reported: Sequence[tuple[str, Colour]] = ()
    ) -> Image:
        """Return the frame, 960 px wide, with what sight last made of the table.

        `seen` is of this frame or an earlier one, `None` before the first look; `reported` are
        further lines, with their colours, that were reported since the last frame.
        """
        self._began = frame.at if self._began is None else self._began
        if seen is not None and seen is not self._seen:
            self._seen = seen
            for event in seen.events:
                self._note(event.at, words_of(event), WHITE)
        for words, colour in reported:
            self._note(frame.at, words, colour)
        full = frame.size
        height = 2 * round(full[1] * WIDTH_PX / full[0] / 2)
        scale = (WIDTH_PX / full[0], height / full[1])
        method = cv2.INTER_AREA if scale[0] < 1 else cv2.INTER_LINEAR
        shrunk = cv2.resize(frame.image, (WIDTH_PX, height), interpolation=method)
        small, unit = np.asarray(shrunk, np.uint8), np.array(scale, np.float32)
        pen = _Pen(small if self._outline is None else covered(small, self._outline * unit), unit)
        for name, area in self._view.areas.items():
            short = name.lower() if name in {"MOUTH", "DISCARD"} else f"{name[0]}{name[-1]}"
            pen.area(self._view.homography.to_px(area), short)
        if seen is not None:
            _sight(pen, seen, now=frame.at)
        return np.vstack([pen.picture, self._strip(frame.at, seen)])

    # --- the strip under the picture -------------------------------------------------------------

    def _strip(self, at: int, seen: SightView | None) -> Image:
        paper = np.full((STRIP_PX, WIDTH_PX, 3), PAPER, np.uint8)
        pen = _Pen(paper, np.ones(2, np.float32))
        pen.lines(COUNTS_PX, self._counts(at, seen))
        pen.lines(REPORTED_PX, list(self._reported))
        _legend(pen)
        return pen.picture

    def _note(self, at: int, words: str, colour: Colour) -> None:
        self._reported.append((shortened(f"{self._clock(at)}  {words}", REPORTED_LETTERS), colour))

    def _counts(self, at: int, seen: SightView | None) -> list[tuple[str, Colour]]:
        if seen is None:
            return [(self._clock(at), WHITE), ("not looked yet", GREY)]
        looked = "looked at" if seen.at == at else f"as seen {self._clock(seen.at)}"
        lines = [(f"{self._clock(at)}  {looked}", WHITE)]
        for name, p in [pair for pair in seen.layouts if pair[1] >= LEAST_P][:MOST_LAYOUTS]:
            words = shortened(f"{p:6.1%} {name or 'no card'}", COUNTS_LETTERS)
            lines.append((words, GOOD if p > SURE else OPEN))
        return lines

    def _clock(self, at: int) -> str:
        """Return a time as minutes, seconds and tenths since the first frame."""
        tenths = max(0, at - (self._began or 0)) // 100
        return f"{tenths // 600}:{tenths // 10 % 60:02}.{tenths % 10}"


def words_of(event: Event) -> str:
    """Return what sight says, in a few words."""
    match event:
        case CoupSeen(coup=coup, cards=cards):
            alleged = [KINDS[each.code].title for each in event.alleged]
            open_still = [] if event.sure else ["not sure"]
            words = [*(_named(card) for card in cards), *alleged, *open_still, event.doubt]
            return f"coup {coup}: {' '.join(filter(None, words))}"
        case CutCardOut():
            return "cut card out"
        case Noticed(code=code, detail=detail):
            return f"{code} {detail}".strip()
    return type(event).__name__


def _named(card: SeenCard) -> str:
    """Return a card in a few letters: `P1:9c`, `B3`, `out`."""
    where = "" if card.slot is None else f"{card.slot.name[0]}{card.slot // 2 + 1}"
    face = str(card.card) if card.card is not None else "?" * card.declined
    state = "" if card.life is Life.LYING and where else str(card.life)
    return " ".join(filter(None, (":".join(filter(None, (where, face))), state)))


def shortened(words: str, letters: int) -> str:
    """Return words that fit into so many letters."""
    return words if len(words) <= letters else f"{words[: letters - 3]}..."


# --- on the picture ------------------------------------------------------------------------------


def _sight(pen: _Pen, seen: SightView, *, now: int) -> None:
    """Draw what was found, under what is made of it; boxes and hands only if they are of now."""
    if seen.at == now:
        for hand in seen.hands:
            pen.tint(hand.quad, HAND)
        for box in seen.found:
            pen.outline(box.quad, FOUND, 1)
    for card in seen.cards:
        reported = card.reported
        wrong = reported.declined or reported.switched is not None
        colour = UNREAD if wrong else OPEN if reported.card is None else READ
        name = reported.card or ("unread" if reported.declined else "")
        name = name if reported.switched is None else f"{name} now {reported.switched}"
        pen.outline(card.quad, colour, 2, dashed=not card.seen)
        pen.label(card.quad, f"{reported.order} {name}".strip(), colour)


def _legend(pen: _Pen) -> None:
    """Say what the colours mean."""
    rows = [
        ("read", READ), ("lies", OPEN), ("unread, changed", UNREAD), ("detected", FOUND),
        ("hand", HAND),
    ]  # fmt: skip
    for row, (words, colour) in enumerate(rows):
        left, top = LEGEND_PX, 8 + LINE_PX * row
        box = [[left, top], [left + 16, top], [left + 16, top + 9], [left, top + 9]]
        if colour == HAND:
            pen.tint(np.array(box, np.float32), colour)
        pen.outline(np.array(box, np.float32), colour, 1 if colour == FOUND else 2)
        pen.words(words, (left + 24, top + 9), WHITE)
    pen.words("dashed: out of sight", (LEGEND_PX, 8 + LINE_PX * 6), GREY)


class _Pen:
    """Draws on a picture; outlines are given in pixels of a frame that is `scale` times smaller."""

    def __init__(self, picture: Image, scale: Points) -> None:
        self.picture = picture
        self._scale = scale
        self._labels: list[Box] = []

    def area(self, outline: Points, name: str) -> None:
        """Draw a place of the table, thin, with its name at its lower left corner."""
        self.outline(outline, GREY, 1)
        points = self._scaled(outline)
        x, y = points[np.argmin(points[:, 0] - points[:, 1])]
        self.words(name, (round(x) + 3, round(y) - 4), GREY)

    def outline(self, quad: Points, colour: Colour, width: int, *, dashed: bool = False) -> None:
        """Draw a closed outline (n x 2 px)."""
        corners = self._scaled(quad)
        if not dashed:
            whole = np.round(corners * 8).astype(np.int32)
            cv2.polylines(self.picture, [whole], True, colour, width, cv2.LINE_AA, 3)
            return
        for start, end in zip(corners, np.roll(corners, -1, axis=0), strict=True):
            count = max(1, int(np.hypot(*(end - start)) // (2 * DASH_PX)))
            for number in range(count):
                ends = (start + (end - start) * (number + s) / count for s in (0.0, 0.5))
                a, b = ((round(8 * float(x)), round(8 * float(y))) for x, y in ends)
                cv2.line(self.picture, a, b, colour, width, cv2.LINE_AA, 3)

    def tint(self, quad: Points, colour: Colour) -> None:
        """Tint what an outline (4 x 2 px) encloses, and draw the outline."""
        corners = np.round(self._scaled(quad)).astype(np.int32)
        layer = self.picture.copy()
        cv2.fillConvexPoly(layer, corners, colour, cv2.LINE_AA)
        cv2.addWeighted(layer, TINT, self.picture, 1 - TINT, 0, dst=self.picture)
        self.outline(quad, colour, 1)

    def label(self, quad: Points, line: str, colour: Colour) -> None:
        """Write a line on dark ground above an outline (4 x 2 px).

        Inside the picture, and clear of the labels before.
        """
        corners = self._scaled(quad)
        (letters, _), _ = cv2.getTextSize(line, cv2.FONT_HERSHEY_SIMPLEX, LETTERS, 1)
        width, height = letters + 4, LINE_PX - 2
        top, left = corners[:, 1].min() - height - 2, corners[:, 0].mean() - width / 2
        limits = (self.picture.shape[1] - width, self.picture.shape[0] - height)
        x, y = (round(float(np.clip(a, 0, b))) for a, b in zip((left, top), limits, strict=True))
        while any(_meet((x, y, width, height), other) for other in self._labels) and y > 0:
            y = max(0, y - LINE_PX + 2)
        self._labels.append((x, y, width, height))
        cv2.rectangle(self.picture, (x, y), (x + width, y + height), PAPER, cv2.FILLED)
        self.words(line, (x + 2, y + 11), colour)

    def lines(self, left: int, lines: Sequence[tuple[str, Colour]]) -> None:
        """Write coloured lines under one another, as many as fit, from the top."""
        for number, (line, colour) in enumerate(lines[: STRIP_PX // LINE_PX]):
            self.words(line, (left, LINE_PX * (number + 1)), colour)

    def words(self, text: str, corner: tuple[int, int], colour: Colour) -> None:
        """Write words with their lower left corner there; what OpenCV has no letter for is `?`."""
        plain = text.encode("ascii", "replace").decode()
        cv2.putText(
            self.picture, plain, corner, cv2.FONT_HERSHEY_SIMPLEX, LETTERS, colour, 1, cv2.LINE_AA
        )

    def _scaled(self, points: Points) -> Points:
        """Return points of the frame in the drawing, kept where OpenCV can count."""
        return np.asarray(np.clip(points * self._scale, -8000, 8000), np.float32)


def _meet(one: Box, other: Box) -> bool:
    """Whether two boxes have anything in common."""
    return all(
        one[side] < other[side] + other[side + 2] and other[side] < one[side] + one[side + 2]
        for side in (0, 1)
    )


def output_words(output: Output) -> list[tuple[str, Colour]]:
    """Return what an output says, in a few words, with its colour; nothing for most."""
    match output:
        case CoupResult():
            if output.winner is None:
                return [(f"COUP {output.coup} {output.state} {output.why or ''}".rstrip(), OPEN)]
            points = f"{output.punto.points}:{output.banco.points}"
            return [(f"COUP {output.coup} {output.state} {output.winner} {points}", GOOD)]
        case AlertChanged(alert=alert, first=True):
            return [(f"ALERT {alert.severity} {KINDS[alert.code].title}", BAD)]
        case AlertChanged(alert=alert) if alert.state is not AlertState.RAISED:
            return [(f"alert {KINDS[alert.code].title} is {alert.state}", WHITE)]
        case StatusChanged():
            return [(f"reader {output.state} {output.why or ''}".strip(), WHITE)]
    return []
