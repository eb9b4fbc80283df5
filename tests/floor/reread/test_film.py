"""Films are surveyed, sought to the frame, and read as far as they can be."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import av
import fsspec
import numpy as np
import pytest

from tests.sight.film import PLACES, Prop, Stage
from vision.errors import ConfigurationError, OutsideError
from vision.floor.reread.film import Moved, Still, Survey, digest_of, frames, jpeg_of, survey
from vision.floor.reread.job import Kept
from vision.floor.reread.pieces import Piece, PieceCost, PieceRead, RestFinder, plan
from vision.floor.reread.recordings import recordings
from vision.game.events import Slot
from vision.sight.detection.detector import Kind, Seen
from vision.sight.geometry.frame import Frame, Image

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


def pictures(film: Path, found: Survey, first: int = 0) -> dict[int, Image]:
    """Return the frames of a film from a key frame on that are not damaged, by number."""
    shown = frames(str(film), found, first, Moved())
    return {n: Frame(pixels, 0, n).image for n, pixels in shown if pixels is not None}


def test_survey_knows_length_rate_and_key_frames(film: Path) -> None:
    """A film's index says where decoding can begin, and the hash is that of its bytes."""
    found = survey(str(film))
    assert (found.rate, found.frames, found.size) == (Fraction(FPS), COUNT, film.stat().st_size)
    assert found.keys == tuple(range(0, COUNT, KEY_EVERY))


def test_sought_frames_are_those_of_the_whole_film(film: Path) -> None:
    """From whatever key frame a piece begins, its pictures are the same to the last bit."""
    found = survey(str(film))
    whole = pictures(film, found)
    assert sorted(whole) == list(range(COUNT))
    for key in found.keys:
        part = pictures(film, found, key)
        assert sorted(part) == list(range(key, COUNT))
        assert all(np.array_equal(image, whole[number]) for number, image in part.items())


def test_piece_in_an_object_store_moves_only_its_bytes(film: Path) -> None:
    """The last fifth of a film that is elsewhere costs about a fifth of its bytes."""
    url = "memory://films/noise.mp4"
    with fsspec.open(url, "wb") as file:
        file.write(film.read_bytes())
    moved = Moved()
    found = survey(url)
    assert found == survey(str(film))
    assert len(list(frames(url, found, found.keys[-1], moved))) == KEY_EVERY
    assert moved.count < found.size / 2
    assert jpeg_of(Still(url, found, COUNT - 1))[:2] == b"\xff\xd8"


def test_damaged_film_gives_what_can_be_decoded(film: Path, tmp_path: Path) -> None:
    """Bytes that were lost cost frames there, and shift none after them."""
    found, whole = survey(str(film)), pictures(film, survey(str(film)))
    data = bytearray(film.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 6000] = bytes(6000)
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(data)
    read = pictures(broken, found)
    last = range(COUNT - KEY_EVERY, COUNT)
    assert all(np.array_equal(read[number], whole[number]) for number in (*range(12), *last))
    assert any(
        number not in read or not np.array_equal(read[number], image)
        for number, image in whole.items()
    )


def test_film_without_its_end_is_refused_by_name(film: Path, tmp_path: Path) -> None:
    """An MP4 whose recorder was switched off has no index; the words say what to do."""
    cut = tmp_path / "cut.mp4"
    cut.write_bytes(film.read_bytes()[:-3000])
    with pytest.raises(OutsideError, match=r"cut\.mp4: is not a film"):
        survey(str(cut))
    with pytest.raises(ConfigurationError, match="no such recording"):
        survey(str(tmp_path / "none.mp4"))
    with pytest.raises(ConfigurationError, match="cannot be read"):
        survey("nonsense://x/y.mp4")


def test_plan_parts_at_key_frames_and_leaves_no_short_end(film: Path) -> None:
    """Each piece ends where the next begins; 0 minutes is the whole film."""
    found = survey(str(film))
    pieces = plan("x", found, "{}", "i", minutes=2.4 / 60)
    assert [(p.first, p.until) for p in pieces] == [(0, 24), (24, 48), (48, None)]
    assert [(p.first, p.until) for p in plan("x", found, "{}", "i", minutes=0)] == [(0, None)]


def test_finished_piece_is_kept_by_all_that_decides_it(film: Path, tmp_path: Path) -> None:
    """Another film, reader or part is another piece; a file cut short counts as none."""
    (piece,) = plan("x", survey(str(film)), "{}", "i", minutes=0)
    read = PieceRead(0, COUNT, (), ("", ""), ((3, 4),), 0, PieceCost(1.5, 10, COUNT))
    kept = Kept(tmp_path / "pieces")
    kept.keep_piece(piece, read)
    assert kept.piece(piece) == read
    others = (
        replace(piece, survey=replace(piece.survey, sha256="00")),
        replace(piece, identity="j"),
        replace(piece, first=12),
        replace(piece, until=24),
    )
    assert [kept.piece(other) for other in others] == [None] * 4
    assert kept.piece(replace(piece, url="elsewhere")) == read
    (path,) = (tmp_path / "pieces").iterdir()
    path.write_text(path.read_text("utf-8")[:-9], "utf-8")
    assert kept.piece(piece) is None
    kept.keep_survey("stamp", piece.survey)
    assert (kept.survey("stamp"), kept.survey("other")) == (piece.survey, None)


# --- rests ---------------------------------------------------------------------------------------


def rests(stage: Stage, pictures: list[Image], lying: list[bool], first: int = 0) -> list[int]:
    """Return the frames at which a piece may begin, sought from a frame on."""
    shown = iter(lying[first:])
    now = {"lies": False}

    def see(_: Image) -> Seen:
        return Seen(stage.detections() if now["lies"] else ())

    finder = RestFinder(stage.view, see, Fraction(10))
    found = []
    for number, image in list(enumerate(pictures))[first:]:
        now["lies"] = next(shown)
        if finder.is_rest(Frame(image, 0, number)):
            found.append(number)
    return found


def played() -> tuple[Stage, list[Image], list[bool]]:
    """Return a stage that is empty for 2 s, has a card for 2 s, and is empty again."""
    stage = Stage(fps=10)
    empty = stage.picture().image
    stage.props.append(Prop(PLACES[Slot.PUNTO_1], Kind.FACE))
    card = stage.picture().image
    return (
        stage,
        [empty] * 20 + [card] * 20 + [empty] * 20,
        [False] * 20 + [True] * 20 + [False] * 20,
    )


def test_rest_is_a_still_and_empty_table() -> None:
    """A still table with a card on it is none, nor one that was just cleared."""
    found = rests(*played())
    assert set(found) == {*range(6, 20), *range(46, 60)}


def test_rest_is_found_the_same_from_wherever_it_is_sought() -> None:
    """The end of one piece is the beginning of the next, which begins to seek later."""
    stage, pictures, lying = played()
    whole = rests(stage, pictures, lying)
    for first in range(40):
        late = rests(stage, pictures, lying, first)
        assert late == [number for number in whole if number >= first + 6]


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


def test_piece_knows_nothing_of_where_its_film_lies() -> None:
    """A film that was moved is the same work."""
    found = Survey("00", 1, "10", 7, (0,))
    one, other = (Piece(url, found, 0, None, "{}", "i") for url in ("a", "b"))
    assert one.key == other.key
    assert digest_of(np.zeros((2, 2, 3), np.uint8)) != digest_of(np.ones((2, 2, 3), np.uint8))
