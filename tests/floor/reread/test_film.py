"""Films are found wherever fsspec finds them, and know what belongs to them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import av
import fsspec
import numpy as np
import pytest

from vision.errors import ConfigurationError
from vision.files import write_json
from vision.floor.reread.film import FilmRead, Still, WantedFilm, jpeg_of, local, stamp
from vision.floor.reread.job import load_reading, recordings
from vision.record.codec import record_to_json

COUNT, FPS, KEY_EVERY = 60, 10, 12


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a film of noise: every frame differs, and takes bytes."""
    path = tmp_path_factory.mktemp("film") / "noise.mp4"
    dice = np.random.default_rng(1)
    with av.open(str(path), "w") as container:
        # Without the threshold each new picture of noise would be a key frame.
        options = {"g": str(KEY_EVERY), "sc_threshold": "1000000000"}
        stream = container.add_stream("mpeg4", rate=FPS, options=options)
        stream.width, stream.height, stream.pix_fmt = 256, 128, "yuv420p"
        for _ in range(COUNT):
            image = dice.integers(0, 255, (128, 256, 3), np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="bgr24")))
        container.mux(stream.encode())
    return path


def test_film_of_an_object_store_is_read_as_one_of_this_machine(film: Path) -> None:
    """It is copied for the time being; a film of this machine is read where it lies."""
    url = "memory://films/noise.mp4"
    with fsspec.open(url, "wb") as file:
        file.write(film.read_bytes())
    with local(url) as copied:
        assert copied.read_bytes() == film.read_bytes()
    assert not copied.exists()
    with local(str(film)) as own:
        assert own == film
    for where in (url, str(film)):
        assert jpeg_of(Still(where, (COUNT - 1) / FPS))[:2] == b"\xff\xd8"
        assert jpeg_of(Still(where, 2 * COUNT / FPS)) == b""


def test_film_that_is_replaced_has_another_stamp(film: Path, tmp_path: Path) -> None:
    """A finished reading is that of a film's bytes."""
    copy = tmp_path / "film.mp4"
    copy.write_bytes(film.read_bytes())
    before = stamp(str(copy))
    assert stamp(str(copy)) == before
    copy.write_bytes(film.read_bytes()[:-100])
    assert stamp(str(copy)) != before


def test_film_that_cannot_be_reached_is_refused_by_name(tmp_path: Path) -> None:
    """The words say what to do."""
    with pytest.raises(ConfigurationError, match="no such recording"):
        stamp(str(tmp_path / "none.mp4"))
    with pytest.raises(ConfigurationError, match="cannot be read"):
        stamp("nonsense://x/y.mp4")


def test_finished_reading_is_kept_by_all_that_decides_it(tmp_path: Path) -> None:
    """Another film, reader, time or shoe is another reading; a file cut short counts as none."""
    film = WantedFilm("a.mp4", "stamp", 0, ((0, "s1"),), "{}", "i")
    read = FilmRead(("{}",), 6.0, 0.5, "", 1.5)
    path = tmp_path / f"{film.key}.json"
    write_json(path, record_to_json(read))
    assert load_reading(path) == read
    others = (
        replace(film, stamp="other"),
        replace(film, identity="j"),
        replace(film, start_ms=1),
        replace(film, shoes=((0, "s2"),)),
    )
    assert len({film.key, *(other.key for other in others)}) == len(others) + 1
    path.write_text(path.read_text("utf-8")[:-9], "utf-8")
    assert load_reading(path) is None


# --- what belongs to a film ----------------------------------------------------------------------


def test_recording_knows_its_table_its_evening_and_its_time(film: Path, tmp_path: Path) -> None:
    """They lie beside the film under its name; the time stands in the name, in UTC."""
    example = Path(__file__).parents[3] / "deploy" / "table.example.toml"
    for stem in ("t1-20261122-201500", "t2"):
        (tmp_path / f"{stem}.mp4").symlink_to(film)
        (tmp_path / f"{stem}.toml").write_text(example.read_text("utf-8"), "utf-8")
    at = "2026-11-22T21:00:00.000Z"
    said = {"topic": "casino/h/table/1/shoe", "payload": {"shoe": "late", "at": at}}
    (tmp_path / "t2.jsonl").write_text(json.dumps(said) + "\n", "utf-8")
    first, second = recordings([str(tmp_path / f"{s}.mp4") for s in ("t1-20261122-201500", "t2")],
                               None, None)  # fmt: skip
    assert (first.start_ms, first.evening) == (1_795_378_500_000, None)
    assert first.shoes == ((1_795_378_500_000, "20261122-201500"),)
    assert second.shoes == ((second.start_ms, "late"),)
    assert second.start_ms == 1_795_381_200_000
    assert first.table.camera.source == "recording"


def test_recording_without_a_table_file_is_refused(film: Path) -> None:
    """The words name the file that is wanted."""
    with pytest.raises(ConfigurationError, match=r"put noise\.toml or table\.toml beside"):
        recordings([str(film)], None, None)
