"""Films are spoilt as said, and their truth follows them."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from models.evaluate.spoilt_films import SPOILINGS, Spoiling, moved, spoil

SIZE = (64, 48)
PLACE = [[10.0, 20.0], [12.0, 20.0], [12.0, 24.0], [10.0, 24.0]]
TRUTH: dict[str, Any] = {
    "video": {"size": list(SIZE)},
    "camera": {"H_fit": [[2.0, 0.0, 5.0], [0.0, -2.0, 7.0], [0.0, 0.0, 1.0]]},
    "slots": {"P1": {"px": PLACE}},
    "shoe_mouth": {"px": PLACE},
    "discard": {"px": PLACE},
}


@pytest.fixture
def film(tmp_path: Path) -> Path:
    """Give a film of ten pictures, grey below and white in the corner at the top left."""
    path = tmp_path / "film.mp4"
    image = np.full((SIZE[1], SIZE[0], 3), 100, np.uint8)
    image[:16, :16] = 255
    with av.open(str(path), "w") as target:
        stream = target.add_stream("libx264", 20, options={"crf": "10"})
        stream.width, stream.height, stream.pix_fmt = *SIZE, "yuv420p"
        for _ in range(10):
            target.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="bgr24")))
        target.mux(stream.encode())
    return path


def pictures(path: Path) -> list[np.ndarray]:
    """Return the pictures of a film."""
    with av.open(str(path)) as source:
        return [frame.to_ndarray(format="bgr24") for frame in source.decode(video=0)]


@pytest.mark.parametrize("name", SPOILINGS)
def test_each_spoiling_writes_a_film_that_can_be_read(
    name: str, film: Path, tmp_path: Path
) -> None:
    """As long as it was, of the size that its truth says."""
    out = tmp_path / "out.mp4"
    truth = spoil(film, TRUTH, SPOILINGS[name], out)
    found = pictures(out)
    assert len(found) == math.ceil(10 / SPOILINGS[name].every)
    assert list(found[0].shape[1::-1]) == truth["video"]["size"]
    with av.open(str(out)) as source:
        assert source.streams.video[0].average_rate == Fraction(20, SPOILINGS[name].every)


def test_turned_film_has_its_corner_at_the_other_end(film: Path, tmp_path: Path) -> None:
    """And dark is darker."""
    out = tmp_path / "out.mp4"
    spoil(film, TRUTH, SPOILINGS["turned"], out)
    assert pictures(out)[0][-8:, -8:].min() > 200
    assert pictures(out)[0][:8, :8].max() < 130
    spoil(film, TRUTH, SPOILINGS["dark"], out)
    assert pictures(out)[0][30, 40].max() < 70


def test_truth_follows_the_film() -> None:
    """A place has the same millimetres in the spoilt film as in the one that came."""
    turned = moved(TRUTH, Spoiling(is_turned=True), SIZE)
    assert turned["slots"]["P1"]["px"][0] == [SIZE[0] - 1 - 10.0, SIZE[1] - 1 - 20.0]
    for spoiling, size in ((Spoiling(is_turned=True), SIZE), (Spoiling(scale=0.5), (32, 24))):
        found = moved(TRUTH, spoiling, size)
        for before, after in zip(PLACE, found["shoe_mouth"]["px"], strict=True):
            was = np.linalg.inv(TRUTH["camera"]["H_fit"]) @ [*before, 1]
            now = np.linalg.inv(found["camera"]["H_fit"]) @ [*after, 1]
            assert np.allclose(was, now)
