"""Sources: every frame of a file with its time, and plain words when a source fails."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, TypeVar

import av
import cv2
import numpy as np
import pytest

from tests.camera.video_servers import SIZE as SERVED
from tests.camera.video_servers import HttpCamera, RtspCamera, has_rtsp_server, picture
from tests.chaos.camera import held
from vision.camera import capture_process as capture_module
from vision.camera import decoding, source
from vision.camera.capture_process import Signal
from vision.camera.decoding import Outage, Pace, Shot, bgr, paced
from vision.camera.source import Capture, first_frame, is_live, open_source
from vision.config.table import CameraSection
from vision.errors import ConfigurationError, OutsideError
from vision.sight.geometry.plane import Image, Pixels

SIZE = (320, 240)
T = TypeVar("T", Shot, Outage)


def camera_at(source: Path | str, **changes: float) -> CameraSection:
    """Return the settings of a camera whose pictures have the size that the test servers send."""
    settings = {"width": SERVED[0], "height": SERVED[1], **changes}
    return CameraSection.model_validate({"source": str(source), **settings})


def numbered(number: int) -> Image:
    """Return a picture that shows its number as a grey level."""
    return np.full((SIZE[1], SIZE[0], 3), 5 * number % 250, np.uint8)


def video(path: Path, frames: int, fps: float = 25.0, code: str = "mp4v") -> Path:
    """Write a video of numbered frames."""
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*code), fps, SIZE)
    for number in range(frames):
        writer.write(numbered(number))
    writer.release()
    return path


def read(source: Path | str, speed: float = 0) -> list[Shot]:
    """Read a source that has no outages to its end."""
    return [s for s in open_source(camera_at(source), speed=speed, start_ms=1000)
            if isinstance(s, Shot)]  # fmt: skip


def test_video_every_frame_comes_once_with_its_time(tmp_path: Path) -> None:
    """A file is read frame by frame, none dropped, and frame i is at start + 1000 i / fps."""
    shots = read(video(tmp_path / "a.mp4", 40))
    assert [s.frame.index for s in shots] == list(range(40))
    assert [s.frame.at for s in shots] == [1000 + 40 * i for i in range(40)]
    levels = [float(s.frame.image.mean()) for s in shots]
    assert all(abs(level - 5 * i % 250) < 4 for i, level in enumerate(levels))


def decoded(*shown: Pixels | decoding.Lack) -> Iterator[decoding.Decoded]:
    """Return what a decoder gives of a file without stamps."""
    return map(decoding.Decoded, shown)


@pytest.mark.parametrize(("speed", "outages"), [(0.0, 0), (1.0, 1)])
def test_slow_decoder_makes_an_outage_only_where_frames_are_due(speed: float, outages: int) -> None:
    """A file that is read as fast as it goes gives the same however busy the machine is."""
    image = np.zeros((4, 4, 3), np.uint8)
    shots = list(paced(decoded(decoding.Lack.LATE, image), Path("a.mp4"), Pace(0, 1000.0, speed)))
    assert sum(isinstance(shot, Outage) for shot in shots) == outages
    assert [shot.frame.at for shot in shots if isinstance(shot, Shot)] == [0]


def test_damaged_frames_take_their_time_and_are_an_outage_when_there_are_many() -> None:
    """Frames that are left out move no later frame; a film that shows none for long is blind."""
    image, lack = np.zeros((4, 4, 3), np.uint8), decoding.Lack.DAMAGED
    shots = list(paced(decoded(image, *6 * [lack], image), Path("a.mp4"), Pace(0, 2.0, 0.0)))
    assert [shot.frame.at for shot in shots if isinstance(shot, Shot)] == [0, 3500]
    outages = [(shot.at, shot.since) for shot in shots if isinstance(shot, Outage)]
    assert outages == [(at, 0) for at in (1500, 2000, 2500, 3000)]


def test_first_frame_of_a_film_passes_what_is_damaged(monkeypatch: pytest.MonkeyPatch) -> None:
    """A film that begins with damaged pictures has a first one; a camera is not waited for."""
    image, lack = np.zeros((4, 4, 3), np.uint8), decoding.Lack.DAMAGED

    def opened(*_: object, **__: object) -> Iterator[Shot | Outage]:
        return paced(decoded(*8 * [lack], image), Path("a.mp4"), Pace(0, 2.0, 0.0))

    monkeypatch.setattr(source, "open_source", opened)
    assert first_frame(CameraSection(source="a.mp4")).at == 4000
    with pytest.raises(OutsideError, match="no picture comes"):
        first_frame(CameraSection(source="rtsp://camera/"))


def test_video_real_time_is_paced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without --fast a file takes as long as it lasts; at double speed half of that."""
    path, now = video(tmp_path / "a.mp4", 21), [100.0]
    monkeypatch.setattr("vision.camera.decoding.time.monotonic", lambda: now[0])
    monkeypatch.setattr("vision.camera.decoding.time.sleep", lambda s: now.append(now.pop() + s))
    read(path, speed=2.0)
    assert now[0] - 100.0 == pytest.approx(0.4, abs=0.05)


def test_folder_pictures_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    """A folder of frames is a source too; other files in it are left alone."""
    for number in (2, 0, 1):
        cv2.imwrite(str(tmp_path / f"{number:03}.png"), numbered(10 * number))
    (tmp_path / "notes.txt").write_text("x", encoding="utf-8")
    shots = read(tmp_path)
    assert [int(s.frame.image[0, 0, 0]) for s in shots] == [0, 50, 100]
    assert [s.frame.at for s in shots] == [1000, 1033, 1067]


def test_folder_broken_picture_is_named(tmp_path: Path) -> None:
    """A picture that cannot be read is named, not skipped."""
    (tmp_path / "000.png").write_bytes(b"not a picture")
    with pytest.raises(OutsideError, match=r"000\.png"):
        read(tmp_path)


def test_folder_without_pictures_is_reported(tmp_path: Path) -> None:
    """An empty folder is a mistake in the settings."""
    with pytest.raises(ConfigurationError, match="holds no pictures"):
        read(tmp_path)


def test_file_missing_is_reported(tmp_path: Path) -> None:
    """A wrong name is told before anything starts."""
    with pytest.raises(ConfigurationError, match="no such file"):
        read(tmp_path / "none.mp4")


def test_file_of_text_is_reported(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A text file given as video is told in our words, without chatter from the libraries."""
    path = tmp_path / "notes.mp4"
    path.write_text("this is not a video\n" * 100, encoding="utf-8")
    with pytest.raises(ConfigurationError, match="is not a video"):
        read(path)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("true", "false"),
    [(b"LOVE", "Süd!".encode("latin-1")), (b"MJPG", b"????")],
    ids=["text in another coding", "pictures in no known one"],
)
def test_video_with_strange_words_is_read_or_reported(
    tmp_path: Path, true: bytes, false: bytes
) -> None:
    """What a file says of itself never ends the program; pictures that can be decoded are."""
    path = tmp_path / "a.avi"
    with av.open(str(path), "w") as container:
        container.metadata["title"] = "LOVE"
        stream = container.add_stream("mjpeg", rate=10)
        stream.width, stream.height, stream.pix_fmt = *SIZE, "yuvj420p"
        container.mux(stream.encode(av.VideoFrame.from_ndarray(numbered(1), format="bgr24")))
        container.mux(stream.encode())
    data = path.read_bytes()
    assert true in data
    path.write_bytes(data.replace(true, false))
    if true == b"MJPG":
        with pytest.raises(ConfigurationError, match="is not a video"):
            read(path)
    else:
        assert len(read(path)) == 1


@pytest.mark.parametrize(("name", "code"), [("a.avi", "MJPG"), ("a.mkv", "mp4v")])
def test_video_cut_in_half_is_read_and_reported(tmp_path: Path, name: str, code: str) -> None:
    """What is there is read, then the cut is told with the number of frames."""
    whole = video(tmp_path / name, 60, code=code)
    data = whole.read_bytes()
    whole.write_bytes(data[: len(data) // 2])
    shots: list[Shot | Outage] = []
    with pytest.raises(OutsideError, match="cut off"):
        shots.extend(open_source(camera_at(whole), speed=0))
    assert 20 <= len(shots) <= 40


def test_video_mp4_cut_in_the_last_frame_is_reported(tmp_path: Path) -> None:
    """An MP4 whose last frame is half there says so, though the decoder may hide it."""
    path = video(tmp_path / "a.mp4", 30)
    data = path.read_bytes()
    boxes = dict(_boxes(data))
    # Put the index first, as streaming recorders do, so that the cut falls into the pictures.
    moov, mdat = boxes[b"moov"], boxes[b"mdat"]
    shifted = _shift_chunks(moov, len(moov))
    path.write_bytes(boxes[b"ftyp"] + shifted + boxes.get(b"free", b"") + mdat[:-40])
    shots: list[Shot | Outage] = []
    with pytest.raises(OutsideError, match="cut off: after"):
        shots.extend(open_source(camera_at(path), speed=0))
    assert 28 <= len(shots) <= 30


def _boxes(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    place = 0
    while place < len(data):
        length = int.from_bytes(data[place : place + 4])
        yield data[place + 4 : place + 8], data[place : place + length]
        place += length


def _shift_chunks(moov: bytes, by: int) -> bytes:
    """Return the index with its chunk offsets moved."""
    place = moov.index(b"stco") + 4
    count = int.from_bytes(moov[place + 4 : place + 8])
    out = bytearray(moov)
    for i in range(count):
        at = place + 8 + 4 * i
        out[at : at + 4] = (int.from_bytes(out[at : at + 4]) + by).to_bytes(4)
    return bytes(out)


def test_camera_unplugged_is_reported() -> None:
    """A camera that is not there or is busy ends with an outside error and the cure."""
    with pytest.raises(OutsideError, match="unplugged, or another program"):
        open_source(camera_at("9"))


def test_address_refused_is_reported() -> None:
    """An address where nothing answers is told within the opening time."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        with pytest.raises(OutsideError, match="no video comes from this address"):
            open_source(camera_at(f"http://127.0.0.1:{port}/video"))


@pytest.mark.parametrize(
    ("source", "live"),
    [("0", True), ("rtsp://a/b", True), ("http://a/b", True), ("a.mp4", False), ("dir", False)],
)
def test_is_live_knows_what_goes_on_by_itself(source: str, live: bool) -> None:
    """Only live sources are re-opened; a file ends."""
    assert is_live(source) is live


@pytest.fixture
def camera() -> Iterator[HttpCamera]:
    """Serve an MJPEG camera on loopback."""
    found = HttpCamera()
    yield found
    found.close()


def within(kind: type[T], shots: Iterator[Shot | Outage], seconds: float) -> T:
    """Return the next picture, or the next outage; it must come in time."""
    end = time.monotonic() + seconds
    for shot in shots:
        if isinstance(shot, kind):
            return shot
        assert time.monotonic() < end, f"no {kind.__name__} came"
    raise AssertionError("the source ended")


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("killed", "camera lost"),
        ("silent", "no picture for 1.5 s"),
        ("frozen", "frozen for 0.8 s"),
        ("resized", "has become 320 x 240 px"),
        ("garbled", "every picture is damaged for 1.5 s"),
    ],
)
def test_stream_that_fails_is_named_and_reopened(
    camera: HttpCamera, fault: str, words: str
) -> None:
    """Each fault has its words and the time of the last good picture; nothing bad is shown."""
    shots = open_source(camera_at(camera.url))
    first = within(Shot, shots, 10)
    camera.fail(fault)
    outage = within(Outage, shots, 10)
    assert words in outage.reason
    assert first.frame.at <= outage.since <= outage.at
    camera.mend()
    again = within(Shot, shots, 20)
    assert again.frame.image.shape == (SERVED[1], SERVED[0], 3)
    assert again.frame.index > 0
    assert again.frame.at > outage.since


def test_stream_that_may_repeat_itself_is_not_frozen(camera: HttpCamera) -> None:
    """With `frozen_s` 0 an encoder may send the same picture for as long as it likes."""
    shots = open_source(camera_at(camera.url, frozen_s=0.0, stall_s=1.0))
    within(Shot, shots, 10)
    camera.fail("frozen")
    end = time.monotonic() + 2.5
    while time.monotonic() < end:
        assert isinstance(next(shots), Shot)


def test_stream_that_never_answers_leaves_nothing_behind() -> None:
    """A hanging call is ended with its process: no thread, handle or child stays."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        before = held()
        url = f"http://127.0.0.1:{mute.getsockname()[1]}/video"
        captures = [Capture(camera_at(url)) for _ in range(4)]
        for capture in captures:
            end = time.monotonic() + 30
            while capture.signal is None and time.monotonic() < end:
                assert capture.newest(0.1) is None
            assert capture.signal is Signal.OPENING
        assert held().children == before.children + len(captures)
        for capture in captures:
            capture.close()
        left = held()
        # What an earlier test left may itself end meanwhile.
        assert left.children == before.children
        assert left.threads <= before.threads
        assert left.handles <= before.handles


def test_stream_pictures_are_reported_as_they_are(camera: HttpCamera) -> None:
    """What comes through the shared memory is what the camera sent."""
    known = [picture(number).mean() for number in range(60)]
    shots = open_source(camera_at(camera.url))
    for _ in range(10):
        shot = within(Shot, shots, 10)
        assert min(abs(shot.frame.image.mean() - level) for level in known) < 1.5


@pytest.mark.skipif(not has_rtsp_server(), reason="needs GStreamer's RTSP server")
@pytest.mark.slow
@pytest.mark.parametrize("fault", ["killed", "frozen"])
def test_rtsp_camera_that_fails_is_noticed_and_reopened(fault: str) -> None:
    """A real RTSP server that dies or stands still is noticed and read again when it is back."""
    camera = RtspCamera()
    try:
        shots = open_source(camera_at(camera.url))
        within(Shot, shots, 20)
        camera.fail(fault)
        assert within(Outage, shots, 20).reason
        camera.mend()
        assert within(Shot, shots, 30).frame.index > 0
    finally:
        camera.close()


def test_camera_number_goes_through_the_video_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugged camera is asked for size and rate, gives its pictures, and ends when it is lost."""

    class Plugged:
        asked: ClassVar[dict[int, float]] = {}

        def __init__(self, number: int) -> None:
            self.left = 3

        def set(self, key: int, value: float) -> None:
            self.asked[key] = value

        def isOpened(self) -> bool:  # noqa: N802  # OpenCV's name
            return True

        def read(self) -> tuple[bool, Image | None]:
            self.left -= 1
            return self.left >= 0, picture(self.left + 1)

        def release(self) -> None:
            self.asked.clear()

    monkeypatch.setattr(cv2, "VideoCapture", Plugged)
    shown = capture_module.pictures({"source": "0", "width": 640, "height": 360, "fps": 25.0})
    assert next(shown) is capture_module.Signal.OPENED
    assert Plugged.asked == {
        cv2.CAP_PROP_FRAME_WIDTH: 640, cv2.CAP_PROP_FRAME_HEIGHT: 360, cv2.CAP_PROP_FPS: 25.0
    }  # fmt: skip
    assert sum(image is not None for image in shown) == 3
    assert Plugged.asked == {}


def test_video_that_hangs_is_blindness_and_then_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file on a share that is gone makes the reader blind and ends the run in order."""
    monkeypatch.setattr(decoding, "STALL_S", 0.05)
    monkeypatch.setattr(decoding, "HANGS_S", 0.3)
    monkeypatch.setattr(decoding.Ahead, "_work", lambda *_: time.sleep(1))
    shots = open_source(camera_at(video(tmp_path / "a.mp4", 5)), speed=1)
    assert isinstance(next(shots), Outage)
    with pytest.raises(OutsideError, match="network share"):
        list(shots)


@pytest.mark.parametrize("size", [(1280, 720), (322, 182)], ids=["plain", "padded rows"])
def test_decoded_picture_is_taken_from_its_own_memory(size: tuple[int, int]) -> None:
    """The picture is that of the library's own copy, also where its rows are padded."""
    width, height = size
    colours = np.random.default_rng(1).integers(0, 255, (height, width, 3), np.uint8)
    frame = av.VideoFrame.from_ndarray(colours, format="bgr24").reformat(format="yuv420p")
    assert np.array_equal(bgr(frame), frame.to_ndarray(format="bgr24"))
