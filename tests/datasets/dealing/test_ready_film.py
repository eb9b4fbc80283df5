"""The film in the package is what the simulator of this version deals."""

from __future__ import annotations

import argparse
import json

import av
import numpy as np

from datasets.dealing import ready_film, simulate


def test_ready_film_is_of_the_shoe_that_the_simulator_deals() -> None:
    """After a change of the simulator the film is drawn again: truth, table and a frame agree.

    Every byte is compared by `python -m datasets.dealing.ready_film --check`, which draws it all.
    """
    parser = argparse.ArgumentParser()
    simulate.add_arguments(parser)
    show = simulate._show(parser.parse_args(ready_film.words(ready_film.FOLDER)))
    stored = json.loads((ready_film.FOLDER / "truth.json").read_text("utf-8"))
    again = "draw it again: python -m datasets.dealing.ready_film"
    assert stored == json.loads(json.dumps(show.truth())), again
    assert (ready_film.FOLDER / "table.toml").read_text("utf-8") == show.table_file(), again
    with av.open(ready_film.FOLDER / simulate.VIDEO) as film:
        assert film.streams.video[0].frames == show.frame_count, again
        shown = next(film.decode(video=0)).to_ndarray(format="bgr24")
    drawn = next(show.frames())[0]
    assert np.abs(shown.astype(int) - drawn).mean() < 4, again


def test_ready_film_is_small_and_shows_a_coup_soon() -> None:
    """It fits into the package, and its first coup can be read within six seconds."""
    assert (ready_film.FOLDER / simulate.VIDEO).stat().st_size < 5e6
    truth = json.loads((ready_film.FOLDER / "truth.json").read_text("utf-8"))
    first = [card["face_ms"] for card in truth["cards"] if card["coup"] == 1]
    assert max(first) < 6_000
    assert truth["faults"], "a demo shows a mis-deal"
