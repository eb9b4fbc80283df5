"""What is counted of the names read in drawn stills."""

from collections import Counter

import numpy as np

from datasets.training.scene import Label, Still
from models.evaluate.stills import count, joined
from vision.game.cards import Card
from vision.sight.detection.detector import Kind
from vision.sight.stills.reader import StillCard


def box(left: float, top: float) -> np.ndarray:
    """Return an upright card of 50 x 70 pixels."""
    unit = np.array([[0, 0], [50, 0], [50, 70], [0, 70]], np.float32)
    return (unit + np.array((left, top), np.float32)).astype(np.float32)


def test_count_wants_the_name_where_the_card_lies() -> None:
    """A right name in the wrong place is false, and so is a wrong one; unread is neither."""
    labels = [
        Label("face", box(0, 0), 1.0, "As"),
        Label("face", box(100, 0), 0.6, "Kd"),
        Label("back", box(200, 0), 1.0, None),
    ]
    reported = tuple(
        StillCard(quad, Kind.FACE, Card.parse(name) if name else None, 0.99)
        for quad, name in (
            (box(3, 2), "As"), (box(300, 0), "Kd"), (box(100, 0), "Kh"), (box(200, 0), None)
        )
    )  # fmt: skip
    tally: Counter[str] = Counter()
    count(labels, reported, tally)
    assert (tally["all"], tally["all right"], tally["wrong names"]) == (2, 1, 2)
    assert (tally["all found"], tally["all wrong"]) == (2, 1)
    assert (tally["from 50% in sight"], tally["from 50% in sight right"]) == (1, 0)
    assert tally["from 35 px right"] == 1


def test_joined_stills_keep_their_labels_where_they_are() -> None:
    """Four stills in one: the last one's card lies a still to the right and one down."""
    stills = [
        Still(np.full((80, 120, 3), shade, np.uint8), (Label("face", box(10, 5), 1.0, "2c"),))
        for shade in (1, 2, 3, 4)
    ]
    one = joined(iter(stills), 2)
    assert one.image.shape == (160, 240, 3)
    assert [label.quad[0].tolist() for label in one.labels] == [
        [10, 5], [130, 5], [10, 85], [130, 85]
    ]  # fmt: skip
    assert [int(one.image[y, x, 0]) for x, y in ((0, 0), (239, 0), (0, 159), (239, 159))] == [
        1, 2, 3, 4
    ]  # fmt: skip
