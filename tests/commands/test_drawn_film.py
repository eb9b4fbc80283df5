"""The film of `--draw` is whole whatever ends the run, and its errors name the cure."""

from __future__ import annotations

import io
from pathlib import Path
from unittest.mock import patch

import av
import numpy as np
import pytest

from tests.app.test_pipeline import STAGE
from tests.app.test_reader import table_file
from vision.commands.printing import drawn_film
from vision.commands.printing.drawn_film import DrawnFilm
from vision.config.table import TableConfig, load
from vision.errors import ConfigurationError, OutsideError
from vision.game.events import Winner
from vision.game.outputs import CoupResult, Hand, Output, ResultState, StatusChanged
from vision.sight.drawing import output_words
from vision.sight.geometry.plane import Frame

FPS = 15


@pytest.fixture
def config(tmp_path: Path) -> TableConfig:
    """Return the settings of the drawn table."""
    file = tmp_path / "table.toml"
    file.write_text(table_file(STAGE), "utf-8")
    return load(file)


def frame(at: int) -> Frame:
    """Return a picture of the stage that no other is quite like."""
    image = np.random.default_rng(at).integers(0, 40, (360, 640, 3), np.uint8)
    return Frame(image, 1_700_000_000_000 + at, at)


def times_of(film: Path | bytes) -> list[int]:
    """Return the times of the pictures of a film, ms, as far as it can be played."""
    found: list[int] = []
    source = io.BytesIO(film) if isinstance(film, bytes) else film
    with av.open(source, "r") as container:
        stream = container.streams.video[0]
        for packet in container.demux(stream):
            try:
                pictures = packet.decode()
            except av.error.InvalidDataError:
                break
            found += [
                round(1000 * picture.time) for picture in pictures if picture.time is not None
            ]
    return found


def test_film_keeps_the_times_of_its_pictures(config: TableConfig, tmp_path: Path) -> None:
    """A camera that stalls is seen to stall; a picture that is not later is left out."""
    with DrawnFilm(tmp_path / "out.mp4", config) as film:
        for at in (0, 66, 133, 133, 120, 5000, 5066):
            film.show(frame(at), None)
    assert film.failure is None
    assert times_of(tmp_path / "out.mp4") == [0, 66, 133, 5000, 5066]


def test_film_of_an_interrupted_run_can_be_played(config: TableConfig, tmp_path: Path) -> None:
    """Ctrl-C ends the film with its last picture."""

    def run() -> None:
        with DrawnFilm(tmp_path / "out.mp4", config) as film:
            for number in range(20):
                film.show(frame(number * 66), None)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run()
    assert len(times_of(tmp_path / "out.mp4")) == 20


def test_film_of_a_killed_run_can_be_played(config: TableConfig, tmp_path: Path) -> None:
    """A kill or a power cut costs the last few seconds, not the film."""
    out = tmp_path / "out.mp4"
    with DrawnFilm(out, config) as film:
        for number in range(10 * FPS):
            film.show(frame(number * 1000 // FPS), None)
        left_behind = out.read_bytes()
    assert 5000 < times_of(left_behind)[-1] < times_of(out)[-1]


def test_film_without_a_picture_is_no_file(config: TableConfig, tmp_path: Path) -> None:
    """A run that fails before its first picture does not block the name of the next film."""
    out = tmp_path / "out.mp4"
    with pytest.raises(OutsideError), DrawnFilm(out, config):
        raise OutsideError("no camera")
    assert not out.exists()


def test_film_on_a_full_disk_ends_and_says_so(config: TableConfig, tmp_path: Path) -> None:
    """The table is read on without its film: nothing is raised, and the reason is kept."""
    full = Path("/dev/full").open("wb", buffering=0)  # noqa: SIM115  # the film closes it
    with DrawnFilm(tmp_path / "out.mp4", config) as film:
        film._file.close()
        film._file = full
        for number in range(10 * FPS):
            film.show(frame(number * 1000 // FPS), None)
    assert film.failure is not None
    assert "No space left" in film.failure
    assert "see that the disk has room" in film.failure


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("there.mp4", "is not overwritten; give another name"),
        ("no/such/folder.mp4", "give a path in a folder that exists and is writable"),
        ("film.avi", r"ends in \.mp4"),
    ],
    ids=["exists", "no folder", "other kind"],
)
def test_film_that_cannot_be_made_is_refused(
    config: TableConfig, tmp_path: Path, name: str, words: str
) -> None:
    """The message names the file and the cure, before anything is begun."""
    (tmp_path / "there.mp4").write_bytes(b"")
    with pytest.raises(ConfigurationError, match=words):
        DrawnFilm(tmp_path / name, config)


def test_film_without_its_codec_names_the_cure(config: TableConfig, tmp_path: Path) -> None:
    """A PyAV of another build may lack x264: no file is left, and the message says what to do."""
    with (
        patch.object(drawn_film, "CODEC", "libx265000"),
        pytest.raises(OutsideError, match="pip install --force-reinstall av"),
    ):
        DrawnFilm(tmp_path / "out.mp4", config)
    assert not (tmp_path / "out.mp4").exists()


NOTHING = Hand((), 5, natural=False, pair=False)
HELD = CoupResult(
    0, "s", 2, 0, ResultState.HELD, "review", None, NOTHING, NOTHING, None, False, (), False, "", ""
)


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (HELD, "COUP 2 held review"),
        (HELD._replace(state=ResultState.VOID, why=""), "COUP 2 void"),
        (
            HELD._replace(state=ResultState.FINAL, why="", winner=Winner.BANCO),
            "COUP 2 final banco 5:5",
        ),
        (StatusChanged(0, "blind", "b", "too dark"), "reader blind too dark"),
        (StatusChanged(0, "online", "b", ""), "reader online"),
    ],
    ids=["held", "void", "final", "blind", "online"],
)
def test_words_of_an_output_are_few(output: Output, words: str) -> None:
    """A result says what became of it, and its points only where there is a winner."""
    assert [line for line, _ in output_words(output)] == [words]
