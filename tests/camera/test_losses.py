"""Pictures of a stream of which something is lost are never shown before a key frame."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from av.error import InvalidDataError
from av.video.frame import VideoFrame
from av.video.stream import VideoStream
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from vision.camera.whole_pictures import PictureNumbers, WholePictures

FRAMES, KEYS, SIZE, BALL = 90, 30, 96, 24
KEY_EVERY = f"keyint={KEYS}:min-keyint={KEYS}:scenecut=0"
OPTIONS = {"libx264": f"{KEY_EVERY}:slices=2", "libx265": f"{KEY_EVERY}:log-level=none"}
# Framed by lengths, and by start codes.
FILMS = [("libx264", "film.mkv"), ("libx264", "film.ts"), ("libx265", "film.ts")]


@pytest.fixture(scope="module", params=FILMS, ids="-".join)
def film(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a film of a ball that moves over a table, with a key frame every second."""
    codec, name = request.param
    return draw(tmp_path_factory.mktemp("film") / name, codec)


def draw(path: Path, codec: str, more: str = "bframes=3") -> Path:
    """Draw such a film and return its path."""
    options = {codec.removeprefix("lib") + "-params": f"{OPTIONS[codec]}:{more}"}
    table = np.random.default_rng(1).integers(60, 120, (SIZE, SIZE, 3), np.uint8)
    with av.open(path, "w") as out:
        stream = out.add_stream(codec, rate=30, options=options)
        assert isinstance(stream, VideoStream)
        stream.height, stream.width, stream.pix_fmt = SIZE, SIZE, "yuv420p"
        for index in range(FRAMES):
            image, at = table.copy(), index * 2 % (SIZE - BALL)
            image[at : at + BALL, SIZE // 3 : SIZE // 3 + BALL] = 250
            out.mux(stream.encode(VideoFrame.from_ndarray(image, "bgr24")))
        out.mux(stream.encode())
    return path


def grey(frame: VideoFrame) -> NDArray[np.uint8]:
    """Return the brightness of a picture."""
    return np.asarray(frame.to_ndarray(format="gray"), np.uint8)


def pictures(film: Path, lost: frozenset[int], *, whole: bool) -> Iterator[VideoFrame | None]:
    """Yield the pictures of a film without some of its packets."""
    with av.open(film) as opened:
        stream = opened.streams.video[0]
        watch = WholePictures(stream)
        for index, packet in enumerate(opened.demux(stream)):
            if index in lost:
                continue
            if whole:
                yield from watch.decode(packet)
                continue
            with contextlib.suppress(InvalidDataError):
                yield from packet.decode()


def differs(film: Path, lost: frozenset[int], *, whole: bool) -> list[bool]:
    """Return of each picture that is shown whether it is another than was filmed."""
    truth = filmed(film)
    shown = [f for f in pictures(film, lost, whole=whole) if f is not None]
    return [not np.array_equal(grey(f), truth[f.pts]) for f in shown]


@cache
def filmed(film: Path) -> dict[int | None, NDArray[np.uint8]]:
    """Return the brightness of each picture as it was filmed, under its time stamp."""
    shown = pictures(film, frozenset(), whole=False)
    return {f.pts: grey(f) for f in shown if f is not None}


def test_nothing_is_left_out_of_a_whole_stream(film: Path) -> None:
    """Every picture is shown, as it was filmed."""
    assert differs(film, frozenset(), whole=True) == [False] * FRAMES


# Fewer in a row than the numbers go up to (16) before they begin anew.
@settings(max_examples=20, deadline=None)
@given(begins=st.sets(st.integers(1, FRAMES - 1), min_size=1, max_size=3), run=st.integers(1, 8))
def test_no_picture_after_a_loss_is_another_than_was_filmed(
    film: Path, begins: set[int], run: int
) -> None:
    """Whatever packets are lost, what is shown is what was filmed."""
    lost = frozenset(begin + each for begin in begins for each in range(run))
    assert not any(differs(film, lost, whole=True))


def test_pictures_are_shown_again_from_the_next_key_frame(film: Path) -> None:
    """A loss in one second costs at most this second, and pictures on their way before it."""
    shown = differs(film, frozenset({KEYS + 4, KEYS + 5}), whole=True)
    assert 2 * KEYS - 8 <= len(shown) < FRAMES - 8


def test_decoder_alone_would_show_them(film: Path) -> None:
    """What is tested here is no promise of the library, but for H.265."""
    shown = differs(film, frozenset({4, 5, 6}), whole=False)
    with av.open(film) as opened:
        assert (sum(shown) > 10) == (opened.streams.video[0].codec_context.name == "h264")


@pytest.mark.parametrize("first", [True, False])
def test_half_a_picture_is_not_shown(tmp_path: Path, first: bool) -> None:
    """Of a picture of which a half is lost nothing is shown, nor of those told from it."""
    film = draw(tmp_path / "film.ts", "libx264", "bframes=0")
    with av.open(film) as opened:
        stream = opened.streams.video[0]
        watch, shown = WholePictures(stream), []
        for index, packet in enumerate(opened.demux(stream)):
            data = bytes(packet)
            part: Any = packet
            if index == KEYS + 5:
                at = data.rfind(b"\0\0\1")
                part = av.Packet(data[at:] if first else data[:at])
                part.pts, part.dts, part.time_base = packet.pts, packet.dts, packet.time_base
            shown += list(watch.decode(part))
    truth = filmed(film)
    whole = [f for f in shown if f is not None]
    assert all(np.array_equal(grey(f), truth[f.pts]) for f in whole)
    assert len(whole) == 2 * KEYS + 5


def test_stream_without_key_frames_is_shown_again_when_all_was_renewed(tmp_path: Path) -> None:
    """Every picture renews a stripe: after a loss two rounds pass, then all is as it was."""
    film = draw(tmp_path / "film.ts", "libx264", "bframes=0:intra-refresh=1:slices=1")
    lost = frozenset({8})
    assert not any(differs(film, lost, whole=True))
    assert sum(f is not None for f in pictures(film, lost, whole=True)) == 8 + KEYS


def with_more(film: Path, more: bytes, before: bytes) -> int:
    """Return how many pictures are shown where each key packet has more before a unit of it."""
    with av.open(film) as opened:
        stream = opened.streams.video[0]
        watch, shown = WholePictures(stream), 0
        for packet in opened.demux(stream):
            part: Any = packet
            if packet.is_keyframe:
                head, found, rest = bytes(packet).partition(before)
                part = av.Packet(head + more + found + rest)
                part.pts, part.dts, part.time_base = packet.pts, packet.dts, packet.time_base
                part.is_keyframe = True
            shown += sum(frame is not None for frame in watch.decode(part))
    return shown


# A message that says it is longer than it is; parameters, with longer numbers, that nobody uses.
MESSAGE = b"\0\0\0\1\x06\x05\xf0" + b"\x11" * 40 + b"\x80"
UNUSED = b"\0\0\0\1\x67\x42\xc0\x1f\x45\x31\x86\x64"


@pytest.mark.parametrize("more", [MESSAGE, UNUSED], ids=["message", "parameters"])
def test_flaw_that_harms_no_picture_costs_none(tmp_path: Path, more: bytes) -> None:
    """What the decoder bears, with all pictures whole, is borne."""
    film = draw(tmp_path / "film.ts", "libx264", "bframes=0")
    assert with_more(film, more, b"\0\0\0\1\x68") == FRAMES


# Parameters of zeros, as of a block that was lost, and ones with an order of 2^40 pictures.
ZEROS = b"\0\0\1\x67\x42\0\x1f\x80" + b"\0\xff" * 2 + b"\0" * 300 + b"\x80"
CYCLE = b"\0\0\1\x67\x42\0\x1f\xd3\x80" + b"\0\0\3" * 2 + b"\1\0\0\3\0\0\3\0"


@given(st.binary(max_size=400), st.binary(max_size=400))
@example(ZEROS, b"\0\0\1\x68\xce\x80\0\0\1\x41\x9a\x24\x6c")
@example(CYCLE, b"\0\0\1\x68\xce\x80\0\0\1\x41\x9a\x24\x6c")
def test_any_bytes_are_endured(parameters: bytes, data: bytes) -> None:
    """What a camera sends can be anything."""
    PictureNumbers(parameters).missing(data)
    PictureNumbers(b"\1\x64\0\x1f\xff\xe1\0\x10" + parameters).missing(data)
    PictureNumbers(b"\0\0\1\x67" + parameters).missing(b"\0\0\1\x41" + data)
