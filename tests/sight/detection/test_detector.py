"""The detector's arithmetic: letterbox and back, decoding, suppression."""

import math

import cv2
import numpy as np
import pytest

from vision.sight.detection.detector import (
    STRIDE,
    TILE_PX,
    Detection,
    Detector,
    Kind,
    Letterbox,
    Tensor,
    corners,
    decode,
    spans,
    suppress,
    surest,
)
from vision.sight.geometry.plane import overlap


def quad(cx: float, cy: float, w: float, h: float, angle: float = 0.0) -> np.ndarray:
    """Return the corners of one oriented box."""
    box = np.array([[cx, cy, w, h]], np.float32)
    return corners(box, np.array([angle], np.float32))[0]


@pytest.mark.parametrize(
    ("width", "height"), [(1920, 1080), (1080, 1920), (416, 416), (333, 777), (40, 30)]
)
def test_letterbox_back_undoes_the_scaling(width: int, height: int) -> None:
    """A point of the picture comes back to itself through the network's frame."""
    box = Letterbox.fit(width, height, 416)
    point = np.array([[width * 0.31, height * 0.77]], np.float32)
    inside = point * box.scale + (box.left, box.top)
    assert np.allclose(box.back(inside.astype(np.float32)), point, atol=1e-2)
    assert box.width % 32 == 0
    assert box.height % 32 == 0


def test_letterbox_apply_puts_the_picture_where_back_expects_it() -> None:
    """A white spot of the picture is found where it lies, through the tensor."""
    image = np.zeros((1080, 1920, 3), np.uint8)
    image[500:520, 1200:1220] = 255
    box = Letterbox.fit(1920, 1080, 416)
    tensor = box.apply(image)
    assert tensor.shape == (1, 3, box.height, box.width)
    inner = tensor[0, 0, box.top : box.top + 234]
    rows, columns = np.nonzero(inner > 0.5)
    middle = np.array([[columns.mean() + 0.5, rows.mean() + 0.5 + box.top]], np.float32)
    assert np.allclose(box.back(middle)[0], (1210, 510), atol=2)


@pytest.mark.parametrize("angle", [0.0, 0.4, 1.2, -0.7, math.pi / 2])
@pytest.mark.parametrize(("w", "h"), [(30, 42), (42, 30)])
def test_corners_start_with_the_short_side_and_go_clockwise(
    w: float, h: float, angle: float
) -> None:
    """Whichever way the network names a box, the quad is the same card."""
    points = quad(100, 80, w, h, angle)
    sides = [math.dist(points[i], points[(i + 1) % 4]) for i in range(4)]
    assert sides == pytest.approx([30, 42, 30, 42], abs=1e-3)
    assert np.allclose(points.mean(axis=0), (100, 80), atol=1e-3)
    (ax, ay), (bx, by) = points[1] - points[0], points[2] - points[1]
    assert ax * by - ay * bx > 0


def test_decode_drops_the_unsure_and_names_the_kind() -> None:
    """Only rows at the threshold or above become detections, with the best class."""
    output = np.zeros((1, 8, 3), np.float32)
    output[0, :4] = np.array([[100, 200, 300], [50, 50, 50], [30, 30, 30], [42, 42, 42]])
    output[0, 4:7] = np.array([[0.9, 0.1, 0.39], [0.05, 0.8, 0.1], [0.0, 0.0, 0.2]])
    found = decode(output, Letterbox.fit(416, 416, 416), 0.4).all()
    assert [(d.kind, round(d.score, 2)) for d in found] == [(Kind.FACE, 0.9), (Kind.BACK, 0.8)]


def test_suppress_keeps_the_surer_of_two_on_one_place_whatever_the_kind() -> None:
    """One card is one detection; a neighbour that overlaps a little stays."""
    first = Detection(quad(100, 100, 30, 42), Kind.FACE, 0.7)
    double = Detection(quad(101, 100, 30, 42), Kind.BACK, 0.9)
    neighbour = Detection(quad(120, 100, 30, 42), Kind.FACE, 0.6)
    kept = suppress([first, double, neighbour], 0.6)
    assert [d.score for d in kept] == [0.9, 0.6]
    assert suppress([], 0.6) == ()


@pytest.mark.parametrize("most", [0.3, 0.6, 0.85])
def test_suppress_drops_what_overlaps_a_surer_one_by_more_and_nothing_else(most: float) -> None:
    """The quick tests before a pair is measured are never wrong."""
    rng = np.random.default_rng(4)
    quads = [quad(*rng.uniform((100, 100, 30, 40, 0), (220, 220, 60, 90, 3))) for _ in range(60)]
    quads = [part for one in quads for part in (one, one + np.float32(rng.normal(0, 4, 2)))]
    scores = rng.random(len(quads))
    kept: list[int] = []
    for i in np.argsort(-scores).tolist():
        if all(overlap(quads[i], quads[j]) <= most for j in kept):
            kept.append(i)
    assert surest(quads, scores.tolist(), most) == kept


def test_suppress_keeps_a_card_that_lies_whole_in_a_surer_box_of_two() -> None:
    """What a box shares with a much larger one around it is little of that: both stay."""
    both = Detection(quad(115, 100, 64, 46), Kind.FACE, 0.9)
    card = Detection(quad(100, 100, 30, 42), Kind.FACE, 0.6)
    assert len(suppress([both, card], 0.6)) == 2


def test_detector_scales_the_picture_and_gives_pixels_of_it() -> None:
    """A card is found in a pass of each size, in pixels of the picture; or none is."""
    seen: list[tuple[int, ...]] = []

    def infer(tensor: Tensor) -> Tensor:
        seen.append(tensor.shape)
        scale = tensor.shape[3] / 1600
        output = np.zeros((1, 8, 1), np.float32)
        output[0, :4, 0] = np.array([800, 800, 120, 168]) * scale
        output[0, 4, 0] = 0.8
        return output

    image = np.zeros((1600, 1600, 3), np.uint8)
    assert len(Detector(lambda t: infer(t)[:, :, :0])(image)) == 0
    seen.clear()
    for size in (416, 832):
        (card,) = Detector(infer, size=size)(image)
        assert np.allclose(card.quad.mean(axis=0), (800, 800), atol=1)
    assert [shape[3] for shape in seen] == [416, 832]


@pytest.mark.parametrize("length", [1, 99, 100, 101, 180, 181, 260, 1000])
def test_spans_own_every_place_once_and_show_what_lies_about_it(length: int) -> None:
    """Half the shared part lies between a tile's own part and its edge, or the picture ends."""
    found = spans(length, 100, 20)
    for x in np.arange(0.5, length):
        (own,) = [span for span in found if span.own[0] <= x < span.own[1]]
        assert own.start == 0 or x - own.start >= 9.5
        assert own.end == length or own.end - x >= 9.5
    assert all(0 <= span.start < span.end <= length for span in found)


def test_detector_goes_over_a_large_picture_in_tiles() -> None:
    """Small cards are found once each, also where tiles meet and at the picture's edges."""
    image = np.zeros((1500, 2400, 3), np.uint8)
    middles = [(60, 60), (1152, 700), (1200, 750), (1248, 700), (2360, 1450), (1300, 60)]
    for x, y in middles:
        image[y - 14 : y + 14, x - 10 : x + 10] = 255
    sizes: list[tuple[int, ...]] = []

    def blobs(tensor: Tensor) -> Tensor:
        sizes.append(tensor.shape[2:])
        white = (tensor[0, 0] > 0.7).astype(np.uint8)
        _, _, stats, centres = cv2.connectedComponentsWithStats(white)
        rows = [
            [*centre, stat[cv2.CC_STAT_WIDTH], stat[cv2.CC_STAT_HEIGHT], 0.9, 0, 0, 0]
            for stat, centre in zip(stats[1:], centres[1:], strict=True)
        ]
        return np.array(rows or np.zeros((0, 8)), np.float32).T.reshape(1, 8, -1)

    found = Detector(blobs, size=2400)(image)
    assert sorted(tuple(np.round(d.quad.mean(axis=0), -1).astype(int)) for d in found) == sorted(
        (round(x, -1), round(y, -1)) for x, y in middles
    )
    assert len(sizes) > 1
    assert max(side for size in sizes for side in size) <= TILE_PX + STRIDE


def test_window_shows_the_points_in_whole_strides_of_the_network() -> None:
    """A part about the points, within the picture, that is given to the network unpadded."""
    detector = Detector(lambda _: np.zeros((1, 9, 0), np.float32))
    for width, height in ((1280, 720), (1920, 1080), (960, 540), (640, 360)):
        points = np.array([[0.2, 0.3], [0.9, 0.6]], np.float32) * (width, height)
        left, top, right, bottom = detector.window(points, width, height)
        assert 0 <= left < right <= width
        assert 0 <= top < bottom <= height
        scale = detector.scale(width, height)
        sides = np.array([right - left, bottom - top]) * scale / STRIDE
        assert np.abs(sides - np.rint(sides)).max() < 0.2
        more = np.rint(sides) - np.ptp(points, axis=0) * scale / STRIDE
        assert ((more >= 0) & (more < 1)).all()


def test_part_of_a_picture_leaves_out_the_cards_that_its_edge_cuts_and_keeps_hands() -> None:
    """Boxes come in pixels of the whole picture; a hand that reaches in from outside counts."""

    def infer(tensor: Tensor) -> Tensor:
        output = np.zeros((1, 9, 3), np.float32)
        output[0, :2] = [[100, 2, 60], [40, 40, tensor.shape[2] - 1]]
        output[0, 2:4] = [[20] * 3, [28] * 3]
        output[0, [4, 4, 7], [0, 1, 2]] = 0.9
        return output

    image = np.zeros((720, 1280, 3), np.uint8)
    detector = Detector(infer)
    points = np.array([[300, 200], [900, 500]], np.float32)
    left, top, *_ = window = detector.window(points, 1280, 720)
    found = detector.cards_and_hands(image, 0.1, window)
    assert [box.kind for box in found] == [Kind.FACE, Kind.HAND]
    expected = np.array([100, 40]) * 1280 / 416 + (left, top)
    assert np.allclose(found[0].quad.mean(axis=0), expected, atol=3)
