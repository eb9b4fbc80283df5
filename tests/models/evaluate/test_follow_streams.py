"""The gate of following: films of our own simulator, kept as what the follower takes of them.

They are of training styles, 960 x 540 at 15 pictures a second, and were dealt, seen and read by
`shoe-reader simulate` and `models.evaluate.streams`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from datasets.dealing.film_truth import read_truth
from models.evaluate.coups import Tally, compare, summary
from models.evaluate.dealing_films import Json
from models.evaluate.follow_streams import published
from models.evaluate.streams import keep, opened_stream
from vision.config.table import load
from vision.inference.load import open_symbols, packaged

STREAMS = Path(__file__).parent / "streams"
SYMBOLS = open_symbols(packaged("mouth").with_name("following.toml"))[0]


@pytest.mark.parametrize(
    ("name", "clean", "incidents"),
    [("train-01", 4, {"OVER_B3", "OVER_P3_STAND"}), ("train-07", 4, {"UNDER_B3"})],
)
def test_kept_films_are_followed_right_and_accuse_nobody(
    name: str, clean: int, incidents: set[str]
) -> None:
    """Every clean coup has its cards and its winner; no fault is alleged of it; incidents are."""
    truth: Json = json.loads((STREAMS / f"{name}.json").read_text("utf-8"))
    stream = opened_stream(STREAMS / f"{name}.npz", load(STREAMS / f"{name}.toml"), name)
    tally = Tally()
    compare(truth, published(stream, SYMBOLS), tally, name)
    words = "\n".join([*tally.notes, summary(tally)])
    assert (tally.wrong, tally.false_alerts) == (0, 0), words
    assert (tally.coups, tally.right) == (clean, clean), words
    assert incidents <= set(tally.raised), words


def test_stream_is_kept_as_it_is(tmp_path: Path) -> None:
    """What is read back and kept again is the same, byte for byte in what the follower takes."""
    config = load(STREAMS / "train-01.toml")
    stream = opened_stream(STREAMS / "train-01.npz", config, "film")
    keep(stream, tmp_path / "again.npz")
    again = opened_stream(tmp_path / "again.npz", config, "film")
    for one, other in zip(stream.sightings, again.sightings, strict=True):
        assert [look.symbol for look in one.places] == [look.symbol for look in other.places]
        assert [box.quad.tolist() for box in one.boxes] == [
            box.quad.tolist() for box in other.boxes
        ]
        assert [look.best for _, look in one.faces] == [look.best for _, look in other.faces]
    assert len(read_truth(STREAMS / "train-01.json").coups) == 6
