"""The times of a film are those of its container, and where they fail nobody is blamed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from vision.camera import decoding
from vision.camera.decoding import Outage, Pace, Shot, paced
from vision.camera.source import open_source
from vision.config.table import CameraSection
from vision.errors import OutsideError

FPS = 25
SIZE = (160, 120)  # noise does not compress, so that a larger picture only takes longer
LARGE = (320, 240)
IMAGE = np.zeros((4, 4, 3), np.uint8)


def film(
    path: Path,
    stamps_ms: Sequence[int],
    codec: str = "libx264",
    *,
    bf: int = 0,
    size: tuple[int, int] = SIZE,
    form: str = "yuv420p",
) -> Path:
    """Write a film whose frames have these time stamps."""
    with av.open(path, "w") as out:
        stream = out.add_stream(codec, rate=FPS)
        assert isinstance(stream, av.video.stream.VideoStream)
        stream.width, stream.height = size
        stream.pix_fmt = "yuvj420p" if (codec, form) == ("mjpeg", "yuv420p") else form
        stream.codec_context.time_base = Fraction(1, 1000)
        stream.codec_context.max_b_frames = bf
        noise = np.random.default_rng(1)
        for stamp in stamps_ms:
            frame = av.VideoFrame.from_ndarray(
                noise.integers(0, 255, (*size[::-1], 3), np.uint8), "bgr24"
            )
            frame.pts, frame.time_base = stamp, Fraction(1, 1000)
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return path


def read(path: Path, size: tuple[int, int] = SIZE) -> list[Shot | Outage]:
    """Read a film to its end."""
    camera = CameraSection(source=str(path), width=size[0], height=size[1])
    return list(open_source(camera, speed=0, start_ms=1000))


def times(shown: Sequence[Shot | Outage]) -> list[int]:
    """Return the times of the frames."""
    return [each.frame.at for each in shown if isinstance(each, Shot)]


def shots_of(stamps_s: Sequence[float | None]) -> list[Shot | Outage]:
    """Return what comes of frames with these stamps, of a film with 10 frames a second."""
    frames: Iterator[decoding.Decoded] = (decoding.Decoded(IMAGE, stamp) for stamp in stamps_s)
    return list(paced(frames, Path("a.mkv"), Pace(0, 10.0, 0.0)))


UNEVEN = [0, 40, 90, 100, 300, 310, 600, 640, 1000, 1040, 1080, 1500]


@pytest.mark.parametrize("name", ["a.mkv", "a.mp4", "a.mov", "a.ts", "a.flv"])
@pytest.mark.parametrize("first", [0, 3000])
@pytest.mark.parametrize("bf", [0, 2])
def test_film_of_any_rate_has_the_times_of_its_stamps(
    tmp_path: Path, name: str, first: int, bf: int
) -> None:
    """A variable rate is read as it was recorded, whatever the stamps begin with."""
    shown = read(film(tmp_path / name, [first + each for each in UNEVEN], bf=bf))
    assert times(shown) == [1000 + each for each in UNEVEN]
    assert len(shown) == len(UNEVEN)


@pytest.mark.parametrize("name", ["a.mkv", "a.mp4", "a.ts"])
def test_gap_in_the_stamps_is_an_outage(tmp_path: Path, name: str) -> None:
    """What was not recorded was not seen, and the film is whole all the same."""
    stamps = [*range(0, 1000, 40), *range(2400, 3000, 40)]
    shown = read(film(tmp_path / name, stamps))
    assert times(shown) == [1000 + each for each in stamps]
    outages = [each for each in shown if isinstance(each, Outage)]
    assert [(each.at, each.since) for each in outages] == [(3000, 1960)]
    assert "gap in its time stamps" in outages[0].reason


def test_long_gap_lets_the_clock_of_the_table_go_on() -> None:
    """Outages come all through a gap, so that what is waited for is due in its time."""
    outages = [each for each in shots_of([0, 0.1, 10.1]) if isinstance(each, Outage)]
    assert [each.at for each in outages] == list(range(1200, 10_100, 500))
    assert {each.since for each in outages} == {100}


@pytest.mark.parametrize(
    ("stamps", "expected", "blind"),
    [
        ([-0.3, -0.2, -0.1, 0.0], [0, 100, 200, 300], []),
        ([5.0, 5.1, 0.0, 0.1], [0, 100, 200, 300], ["-5.1"]),
        ([0.0, 0.1, 200_000.0, 200_000.1], [0, 100, 200, 300], ["+199999.9"]),
        ([0.0, 0.2, 0.1, 0.3], [0, 200, 201, 300], []),
        ([0.0, 0.0, 0.0, 0.1], [0, 1, 2, 100], []),
        ([None, None, None], [0, 100, 200], []),
        ([0.0, None, None, 0.45], [0, 100, 200, 450], []),
        ([None, 7.0, 7.1], [0, 100, 200], []),
        ([3.0] * 6, [0, 1, 2, 102, 202, 302], []),
        ([0.0] * 5 + [1.0] * 5, [0, 1, 2, 102, 202, 1000, 1001, 1002, 1102, 1202], []),
        ([0.5, 0.4, 0.3, 0.2, 0.1, 0.0], [0, 1, 2, 102, 202, 302], []),
        ([90.0, 60.0, 30.0, 0.0, -30.0], [0, 100, 200, 300, 400], ["-30.0"] * 3),
        ([0.0] * 5 + [0.1, 0.2, 0.3], [0, 1, 2, 102, 202, 302, 402, 502], []),
    ],
    ids=[
        "negative",
        "back",
        "a-day-on",
        "mixed-up",
        "same",
        "none",
        "missing",
        "late",
        "all-equal",
        "coarse",
        "running-back",
        "leaping-back",
        "stuck-and-going-on",
    ],
)
def test_stamps_that_fail_do_not_stop_the_clock(
    stamps: Sequence[float | None], expected: Sequence[int], blind: Sequence[str]
) -> None:
    """Times rise whatever the stamps do; where they leap, the view counts as lost."""
    shown = shots_of(stamps)
    assert times(shown) == expected
    reasons = [each.reason for each in shown if isinstance(each, Outage)]
    assert reasons == [f"the time stamps of a.mkv leap by {by} s" for by in blind]


H264, EACH = "libx264", ("a.mkv", "a.mov", "a.ts")
FORMS = [
    *(
        (name, H264, form)
        for name in EACH
        for form in ("yuv420p", "yuv420p10le", "yuv422p", "yuv422p10le", "yuv444p", "gray")
    ),
    *((name, "libx265", "yuv420p10le") for name in EACH),
    *((name, "mjpeg", form) for name in ("a.mkv", "a.avi") for form in ("yuvj422p", "yuvj444p")),
    *(("a.mkv", "ffv1", form) for form in ("bgr0", "gbrp10le", "yuv444p16le", "gray16le")),
    *(("a.mov", "png", form) for form in ("rgb24", "rgba", "gray")),
    ("a.mkv", "libx264rgb", "rgb24"),
    ("a.mov", "rawvideo", "yuyv422"),
]


@pytest.mark.parametrize(("name", "codec", "form"), FORMS)
def test_film_of_any_pixel_format_is_read_to_its_end(
    tmp_path: Path, name: str, codec: str, form: str
) -> None:
    """Bits, colours at full or half width, and grey: every frame comes, in its colours."""
    stamps = [*range(0, 400, 40)]
    shown = read(film(tmp_path / name, stamps, codec, form=form))
    assert times(shown) == [1000 + each for each in stamps]
    first = next(each.frame for each in shown if isinstance(each, Shot))
    assert first.image.shape == (*SIZE[::-1], 3)
    assert 100 < first.image.mean() < 155  # even noise


@pytest.mark.parametrize("begin", [-6.0, 0.0, 95_437.7 - 0.5, 95_443.0])
def test_transport_stream_whose_stamps_begin_again_is_whole(tmp_path: Path, begin: float) -> None:
    """Its clock of 33 bits and 90 kHz is full after 26.5 hours, before, in or after the film."""
    path, whole = tmp_path / "a.ts", film(tmp_path / "b.ts", range(0, 1000, 40))
    with av.open(str(whole)) as source, av.open(str(path), "w") as out:
        ours = source.streams.video[0]
        stream = out.add_stream_from_template(ours)
        for packet in source.demux(ours):
            if packet.pts is not None and packet.dts is not None:
                moved = round(begin / (packet.time_base or 1))
                packet.pts, packet.dts = packet.pts + moved, packet.dts + moved
                packet.stream = stream
                out.mux(packet)
    assert times(read(path)) == [1000 + each for each in range(0, 1000, 40)]


def test_recordings_joined_in_one_file_are_read_whole(tmp_path: Path) -> None:
    """The stamps of the second begin again: a loss of view, and no end that is missing.

    Of the last pictures of the first nobody can say whether they are whole.
    """
    late = film(tmp_path / "a.ts", range(5000, 5400, 40)).read_bytes()
    early = film(tmp_path / "b.ts", range(0, 400, 40)).read_bytes()
    (tmp_path / "c.ts").write_bytes(late + early)
    shown = read(tmp_path / "c.ts")
    assert 18 <= len(times(shown)) <= 20
    assert any(isinstance(each, Outage) and "leap" in each.reason for each in shown)


def test_film_whose_stamps_do_not_rise_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its frame rate gives the times, and a person is warned."""
    list(paced(iter([decoding.Decoded(IMAGE, 0.0)] * 9), tmp_path / "a.mkv", Pace(0, 10.0, 0.0)))
    assert [record.message for record in caplog.records] == [
        f"{tmp_path / 'a.mkv'}: its time stamps do not rise; its frame rate gives the times"
    ]


def test_cover_picture_and_preview_are_not_the_film(tmp_path: Path) -> None:
    """Of several streams that is read which a player shows, to its last frame."""
    path = tmp_path / "a.mp4"
    with av.open(str(path), "w") as out:
        small = out.add_stream("mjpeg", rate=FPS)
        large = out.add_stream("libx264", rate=FPS)
        for stream, (width, height) in ((small, (80, 60)), (large, SIZE)):
            stream.width, stream.height = width, height
            stream.pix_fmt = "yuvj420p" if stream is small else "yuv420p"
        for number in range(10):
            for stream in (small, large) if number == 0 else (large,):
                image = np.full((stream.height, stream.width, 3), 20 * number, np.uint8)
                frame = av.VideoFrame.from_ndarray(image, "bgr24")
                frame.pts, frame.time_base = number, Fraction(1, FPS)
                out.mux(stream.encode(frame))
        for stream in (small, large):
            out.mux(stream.encode(None))
    assert len(times(read(path))) == 10


@pytest.mark.parametrize("name", ["a.mkv", "a.ts", "a.flv", "a.avi", "a.h264"])
@pytest.mark.parametrize("share", [0.3, 0.8, 0.9])
def test_film_that_is_cut_is_never_whole(tmp_path: Path, name: str, share: float) -> None:
    """What is there of a cut film is read, and that more than two frames are missing is said."""
    path = film(tmp_path / name, range(0, 1000, 40), size=LARGE)
    assert len(times(read(path, LARGE))) == 25
    data = path.read_bytes()
    path.write_bytes(data[: round(share * len(data))])
    shown: list[Shot | Outage] = []
    with pytest.raises(OutsideError, match="cut off"):
        shown.extend(open_source(CameraSection(source=str(path)), speed=0))
    assert shown


def test_film_of_which_nothing_can_be_decoded_is_not_read(tmp_path: Path) -> None:
    """A film without one whole frame is no film without cards."""
    path = film(tmp_path / "a.avi", range(0, 1000, 40), codec="mjpeg")
    data = path.read_bytes()
    path.write_bytes(data.replace(b"\xff\xc0\0\x11", bytes(4)).replace(b"\xff\xda\0", bytes(3)))
    with pytest.raises(OutsideError, match="after 0 whole frames"):
        read(path)
