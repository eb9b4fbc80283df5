"""Court figures of our own: double-ended jacks, queens and kings in several styles.

Draws the inside of a court card's frame, nothing outside it. One half is drawn in units of 100
across and 100 down to the middle of the card, then turned to make the other half.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np

from .glyphs import Image, Points, fill, outline, pip

Color = tuple[int, int, int]  # BGR
STYLES = ("classic", "ornate", "modern")
# Drawn this many times too large, then made smaller: smooth edges.
_OVER = 2
# BGR.
_SKIN: Color = (196, 218, 240)


@dataclass(frozen=True, slots=True)
class Court:
    """How court cards look: style of STYLES, paints in BGR, and numbers that vary the robes."""

    style: str = "classic"
    paints: tuple[Color, ...] = ((38, 30, 200), (40, 200, 245), (150, 70, 20))
    line: Color = (30, 25, 25)
    paper: Color = (252, 252, 252)
    skin: Color = _SKIN
    seed: int = 1


@dataclass(frozen=True, slots=True)
class _Half:
    """A canvas for one half: `scale` turns its 100 units into pixels, x and y apart."""

    image: Image
    scale: tuple[float, float]
    court: Court

    def shape(self, path: str | Points, color: Color, *, line: float = 1.0) -> None:
        """Fill a closed path with a colour and draw its edge, in units."""
        points = (outline(path) if isinstance(path, str) else path) * self.scale
        fill(self.image, points, color=color)
        self._edge(points, line, closed=True)

    def dress(self, path: str, pattern: int, colors: tuple[Color, Color]) -> None:
        """Fill a closed path with a two-coloured pattern, 0 to 6, and draw its edge."""
        points = outline(path) * self.scale
        mask = np.zeros(self.image.shape[:2], np.uint8)
        fill(mask, points)
        x0, y0 = np.maximum(points.min(axis=0).astype(int), 0)
        x1, y1 = points.max(axis=0).astype(int) + 1
        cut = np.s_[y0:y1, x0:x1]
        y, x = np.mgrid[y0:y1, x0:x1][:, : mask[cut].shape[0], : mask[cut].shape[1]]
        ink = _PATTERNS[pattern](x / self.scale[0], y / self.scale[1])
        cloth = np.where(ink[..., None], colors[0], colors[1]).astype(np.uint8)
        self.image[cut][mask[cut] > 0] = cloth[mask[cut] > 0]
        self._edge(points, 1.0, closed=True)

    def stroke(self, path: str, *, line: float = 1.0, color: Color | None = None) -> None:
        """Draw an open path in the line colour or another."""
        self._edge(outline(path) * self.scale, line, closed=False, color=color)

    def disc(self, x: float, y: float, radius: tuple[float, float], color: Color) -> None:
        """Fill an ellipse with a colour and draw its edge, in units."""
        turn = np.linspace(0, 2 * np.pi, 40)[:, None]
        self.shape(np.hstack([x + np.cos(turn) * radius[0], y + np.sin(turn) * radius[1]]), color)

    def _edge(
        self, points: Points, line: float, *, closed: bool, color: Color | None = None
    ) -> None:
        if self.court.style == "modern" and color is None:
            return
        width = max(1, round(line * self.scale[0]))
        fixed = np.round(points * 16).astype(np.int32)
        cv2.polylines(self.image, [fixed], closed, color or self.court.line, width, cv2.LINE_AA, 4)


# Where the first of two colours of a cloth goes, from units across and down.
_PATTERNS: tuple[Callable[[Points, Points], Points], ...] = (
    lambda x, y: np.sin(y * 0.9 + x * 0) > 0,
    lambda x, y: np.sin(x * 0.8 + y * 0) > 0,
    lambda x, y: np.sin((x + y) * 0.7) > 0.2,
    lambda x, y: np.sin(x * 0.7) * np.sin(y * 0.7) > 0,
    lambda x, y: np.hypot((x % 9) - 4.5, (y % 9) - 4.5) < 2.6,
    lambda x, y: np.abs((x % 12) - 6) + np.abs((y % 12) - 6) < 3.6,
    lambda x, y: (np.abs((x % 16) - 8) + y) % 8 < 4,
)


def court_figure(rank: str, suit: str, size: tuple[int, int], court: Court, *, ink: Color) -> Image:
    """Return the picture inside the frame of a court card, BGR.

    `rank` is J, Q or K; `size` is width and height in pixels; `ink` the suit's colour.
    """
    width, height = size[0] * _OVER, (size[1] + size[1] % 2) * _OVER
    half = np.full((height // 2 + 1, width, 3), court.paper, np.uint8)
    canvas = _Half(half, (width / 100, height / 200), court)
    rng = np.random.default_rng([court.seed, ord(rank), ord(suit)])
    _figure(canvas, rank, rng)
    turned = half[::-1, ::-1]
    whole = np.vstack([half[: height // 2], turned[-(height // 2) :]])
    _sash(whole, court, rng)
    small = cv2.resize(whole, size, interpolation=cv2.INTER_AREA)
    _corner_pips(small, suit, ink)
    return np.asarray(small)


def _figure(canvas: _Half, rank: str, rng: np.random.Generator) -> None:
    court = canvas.court
    paints = [court.paints[i] for i in rng.permutation(len(court.paints))]
    if court.style == "ornate":
        pale: Color = tuple(int(c + (255 - c) * 0.72) for c in paints[2])  # type: ignore[assignment]
        canvas.dress(
            "M0 0 L100 0 L100 101 L0 101 L0 0", int(rng.integers(3, 6)), (pale, court.paper)
        )
    side = 1 if rng.random() < 0.5 else -1
    _hair(canvas, rank, paints[1])
    _robe(canvas, paints, rng)
    _held(canvas, rank, paints)
    _head(canvas, rank, side, paints)
    if rank == "K":
        _crown(canvas, paints)
    elif rank == "Q":
        _tiara(canvas, side, paints)
    else:
        _cap(canvas, paints)


def _robe(canvas: _Half, paints: list[Color], rng: np.random.Generator) -> None:
    kinds = rng.integers(0, 7, 4)
    paper = canvas.court.paper
    ornate = canvas.court.style == "ornate"
    plain = canvas.court.style == "modern"
    robe = "M50 54 C30 56 10 68 3 101 L97 101 C90 68 70 56 50 54"
    if plain:
        canvas.shape(robe, paints[0])
        canvas.shape("M42 64 L58 64 L68 101 L32 101 L42 64", paints[2])
    else:
        canvas.dress(robe, int(kinds[0]), (paints[0], paints[1] if ornate else paints[0]))
        canvas.dress(
            "M8 90 C12 74 22 64 34 61 L30 101 L4 101 L8 90", int(kinds[1]), (paints[1], paints[2])
        )
        canvas.dress(
            "M92 90 C88 74 78 64 66 61 L70 101 L96 101 L92 90",
            int(kinds[1]),
            (paints[1], paints[2]),
        )
        canvas.dress("M42 62 L58 62 L65 101 L35 101 L42 62", int(kinds[2]), (paints[2], paper))
    if ornate:
        for x in (22, 78):
            canvas.dress(
                f"M{x - 7} 101 L{x - 3} 66 L{x + 3} 66 L{x + 7} 101 L{x - 7} 101",
                int(kinds[3]),
                (paints[0], paper),
            )
    canvas.shape("M34 58 L50 78 L66 58 L58 52 L42 52 L34 58", paper)
    if not plain:
        canvas.dress(
            "M37 59 L50 74 L63 59 L57 56 L50 65 L43 56 L37 59", 4, (canvas.court.line, paints[1])
        )


def _hair(canvas: _Half, rank: str, color: Color) -> None:
    if rank == "Q":
        canvas.shape("M50 16 C20 16 30 50 26 70 C36 74 64 74 74 70 C70 50 80 16 50 16", color)
    elif rank == "J":
        canvas.shape("M50 18 C26 18 32 44 28 54 C36 60 64 60 72 54 C68 44 74 18 50 18", color)
    else:
        for x in (35, 65):
            canvas.disc(x, 42, (6, 8), color)
            canvas.disc(x + (x - 50) / 7, 51, (5, 5), color)


def _head(canvas: _Half, rank: str, side: int, paints: list[Color]) -> None:
    court = canvas.court
    canvas.shape("M44 46 L56 46 L58 60 L50 68 L42 60 L44 46", court.skin)
    canvas.disc(50, 38, (13.5, 18), court.skin)
    if rank == "K":
        canvas.shape(
            "M36.5 39 C40 49 60 49 63.5 39 C66 60 58 70 50 71 C42 70 34 60 36.5 39",
            paints[1] if court.style != "modern" else (225, 225, 225),
        )
        canvas.disc(50, 51, (4, 2), (60, 60, 190))
    if court.style == "modern":
        for x in (45.0, 55.0):
            canvas.disc(x + side, 36.0, (1.3, 1.6), (40, 40, 40))
        return
    for x in (44.5, 55.5):
        canvas.stroke(f"M{x - 3.5} 33 C{x - 1} 31 {x + 2} 31 {x + 3.5} 33", line=0.9)
        canvas.disc(x + side, 36.5, (1.3, 1.1), court.line)
    canvas.stroke(f"M{50 + side} 34 L{50 + 2 * side} 43 L{50 - side} 44", line=0.8)
    if rank != "K":
        canvas.stroke("M46 49 C48 50.5 52 50.5 54 49", line=1.4, color=(60, 60, 190))
    if rank == "J":
        canvas.stroke("M45 46.5 C47 45 53 45 55 46.5", line=0.8)


def _crown(canvas: _Half, paints: list[Color]) -> None:
    canvas.shape("M32 26 L27 5 L39 14 L50 2 L61 14 L73 5 L68 26 L32 26", paints[1])
    canvas.shape("M32 21 L68 21 L68 27 L32 27 L32 21", paints[0])
    for x, y in ((27, 5), (50, 3), (73, 5)):
        canvas.disc(x, y, (2.4, 2.4), paints[2])
    for x in (39, 50, 61):
        canvas.disc(x, 24, (1.8, 1.8), canvas.court.paper)


def _tiara(canvas: _Half, side: int, paints: list[Color]) -> None:
    canvas.shape(
        "M35 25 C36 12 40 8 44 14 C46 4 54 4 56 14 C60 8 64 12 65 25 C56 20 44 20 35 25", paints[0]
    )
    for x, y in ((40, 10), (50, 6), (60, 10)):
        canvas.disc(x, y, (2.2, 2.2), paints[1])
    canvas.shape(
        f"M{50 - 16 * side} 24 C{50 - 26 * side} 34 {50 - 26 * side} 56 {50 - 22 * side} "
        f"70 L{50 - 17 * side} 68 C{50 - 20 * side} 50 {50 - 18 * side} 36 "
        f"{50 - 14 * side} 30 L{50 - 16 * side} 24",
        paints[2],
    )


def _cap(canvas: _Half, paints: list[Color]) -> None:
    canvas.shape("M31 24 C30 8 70 4 70 22 C58 18 42 20 31 24", paints[0])
    canvas.shape("M29 22 C42 16 58 16 71 21 L71 27 C58 22 42 22 29 28 L29 22", paints[2])
    canvas.shape("M68 18 C70 8 74 3 79 3 C79 10 76 16 68 20", paints[1])


def _held(canvas: _Half, rank: str, paints: list[Color]) -> None:
    x = 86  # on the right: the pip lies upper left
    if rank == "K":
        canvas.shape(f"M{x - 2.5} 70 L{x - 2.5} 14 L{x} 6 L{x + 2.5} 14 L{x + 2.5} 70", (225,) * 3)
        canvas.shape(f"M{x - 9} 68 L{x + 9} 68 L{x + 9} 73 L{x - 9} 73 L{x - 9} 68", paints[1])
        canvas.shape(f"M{x - 2} 73 L{x + 2} 73 L{x + 2} 92 L{x - 2} 92 L{x - 2} 73", paints[0])
    elif rank == "Q":
        canvas.stroke(f"M{x} 92 C{x} 70 {x + 4} 60 {x} 46", line=1.6, color=(60, 120, 40))
        for dx, dy in ((0, -6), (6, -1), (4, 6), (-4, 6), (-6, -1)):
            canvas.disc(x + dx, 40 + dy, (4, 4), paints[0])
        canvas.disc(x, 41, (3.2, 3.2), paints[1])
    else:
        canvas.shape(f"M{x - 1.4} 98 L{x - 1.4} 20 L{x + 1.4} 20 L{x + 1.4} 98", paints[1])
        canvas.shape(f"M{x + 1.4} 22 L{x + 11} 14 L{x + 10} 42 L{x + 1.4} 36", (215,) * 3)
        canvas.shape(f"M{x - 3} 22 L{x} 8 L{x + 3} 22", paints[2])
    canvas.disc(x, 80, (6, 6), canvas.court.skin)


def _sash(whole: Image, court: Court, rng: np.random.Generator) -> None:
    """Draw the band across the middle, which is the same upside down."""
    if court.style == "modern":
        return
    height, width = whole.shape[:2]
    rise = int(rng.choice([-10, 0, 10])) * width // 100
    thick = width * (9 if court.style == "ornate" else 6) // 100
    paints = court.paints
    for part, color in ((1.0, court.line), (0.85, paints[1]), (0.4, paints[int(rng.integers(3))])):
        t = thick * part
        corners = np.array(
            [
                [0, height / 2 + rise - t],
                [width, height / 2 - rise - t],
                [width, height / 2 - rise + t],
                [0, height / 2 + rise + t],
            ]
        )
        fill(whole, corners, color=color)
    for i in range(-4, 5):
        at = (round(width / 2 + i * width / 9), round(height / 2 - i * rise / 4.5))
        cv2.circle(whole, at, max(1, round(thick * 0.28)), court.paper, -1, cv2.LINE_AA)


def _corner_pips(figure: Image, suit: str, ink: Color) -> None:
    """Lay the suit in the upper left corner and, turned, in the lower right, in place."""
    width = figure.shape[1]
    mask = pip(suit, round(width * 0.26), round(width * 0.23))
    h, w = mask.shape
    at = round(width * 0.035)
    for view in (figure, figure[::-1, ::-1]):
        spot = view[at : at + h, at : at + w]
        alpha = mask[:, :, None] / 255.0
        halo = cv2.dilate(mask, np.ones((5, 5), np.uint8))[:, :, None] / 255.0
        spot[:] = spot * (1 - halo) + 255 * halo
        spot[:] = spot * (1 - alpha) + np.array(ink) * alpha
