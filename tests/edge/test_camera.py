"""Sources: every frame of a file with its time, and plain words when a source fails."""

from __future__ import annotations

import http.server
import itertools
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

from vision.edge.camera import Wanted, is_live, open_source
from vision.edge.shots import Outage, Shot
from vision.errors import ConfigurationError, OutsideError
from vision.sight.frame import Image

SIZE = (320, 240)


def picture(number: int) -> Image:
    """Return a picture that shows its number as a grey level."""
    return np.full((SIZE[1], SIZE[0], 3), 5 * number % 250, np.uint8)


def video(path: Path, frames: int, fps: float = 25.0, code: str = "mp4v") -> Path:
    """Write a video of numbered frames."""
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*code), fps, SIZE)
    for number in range(frames):
        writer.write(picture(number))
    writer.release()
    return path


def read(source: Path | str, speed: float = 0) -> list[Shot]:
    """Read a source that has no outages to its end."""
    return [s for s in open_source(str(source), Wanted(), speed=speed, start_ms=1000)
            if isinstance(s, Shot)]  # fmt: skip


def test_video_every_frame_comes_once_with_its_time(tmp_path: Path) -> None:
    """A file is read frame by frame, none dropped, and frame i is at start + 1000 i / fps."""
    shots = read(video(tmp_path / "a.mp4", 40))
    assert [s.frame.index for s in shots] == list(range(40))
    assert [s.frame.at for s in shots] == [1000 + 40 * i for i in range(40)]
    levels = [float(s.frame.image.mean()) for s in shots]
    assert all(abs(level - 5 * i % 250) < 4 for i, level in enumerate(levels))


def test_video_real_time_is_paced(tmp_path: Path) -> None:
    """Without --fast a file takes as long as it lasts; at double speed half of that."""
    path = video(tmp_path / "a.mp4", 21)
    began = time.monotonic()
    read(path, speed=2.0)
    assert 0.35 < time.monotonic() - began < 0.8


def test_folder_pictures_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    """A folder of frames is a source too; other files in it are left alone."""
    for number in (2, 0, 1):
        cv2.imwrite(str(tmp_path / f"{number:03}.png"), picture(10 * number))
    (tmp_path / "notes.txt").write_text("x", encoding="utf-8")
    shots = read(tmp_path)
    assert [int(s.frame.image[0, 0, 0]) for s in shots] == [0, 50, 100]
    assert [s.frame.at for s in shots] == [1000, 1033, 1067]


def test_folder_broken_picture_is_named(tmp_path: Path) -> None:
    """A picture that cannot be read is named, not skipped."""
    (tmp_path / "000.png").write_bytes(b"not a picture")
    with pytest.raises(OutsideError, match=r"000\.png"):
        read(tmp_path)


def test_folder_without_pictures_is_told(tmp_path: Path) -> None:
    """An empty folder is a mistake in the settings."""
    with pytest.raises(ConfigurationError, match="holds no pictures"):
        read(tmp_path)


def test_file_missing_is_told(tmp_path: Path) -> None:
    """A wrong name is told before anything starts."""
    with pytest.raises(ConfigurationError, match="no such file"):
        read(tmp_path / "none.mp4")


def test_file_of_text_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A text file given as video is told in our words, without chatter from the libraries."""
    path = tmp_path / "notes.mp4"
    path.write_text("this is not a video\n" * 100, encoding="utf-8")
    with pytest.raises(ConfigurationError, match="is not a video"):
        read(path)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(("name", "code"), [("a.avi", "MJPG"), ("a.mkv", "mp4v")])
def test_video_cut_in_half_is_read_and_told(tmp_path: Path, name: str, code: str) -> None:
    """What is there is read, then the cut is told with the number of frames."""
    whole = video(tmp_path / name, 60, code=code)
    data = whole.read_bytes()
    whole.write_bytes(data[: len(data) // 2])
    shots: list[Shot | Outage] = []
    with pytest.raises(OutsideError, match="cut off"):
        shots.extend(open_source(str(whole), Wanted(), speed=0))
    assert 20 <= len(shots) <= 40


def test_video_mp4_cut_in_the_last_frame_is_told(tmp_path: Path) -> None:
    """An MP4 whose last frame is half there says so, though the decoder may hide it."""
    path = video(tmp_path / "a.mp4", 30)
    data = path.read_bytes()
    boxes = dict(_boxes(data))
    # Put the index first, as streaming recorders do, so that the cut falls into the pictures.
    moov, mdat = boxes[b"moov"], boxes[b"mdat"]
    shifted = _shift_chunks(moov, len(moov))
    path.write_bytes(boxes[b"ftyp"] + shifted + boxes.get(b"free", b"") + mdat[:-40])
    shots: list[Shot | Outage] = []
    with pytest.raises(OutsideError, match=r"cut off.* of 30 frames"):
        shots.extend(open_source(str(path), Wanted(), speed=0))
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


def test_camera_unplugged_is_told() -> None:
    """A camera that is not there or is busy ends with an outside error and the cure."""
    with pytest.raises(OutsideError, match="unplugged, or another program"):
        open_source("9", Wanted())


def test_address_refused_is_told() -> None:
    """An address where nothing answers is told within the opening time."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        with pytest.raises(OutsideError, match="no video comes from this address"):
            open_source(f"http://127.0.0.1:{port}/video", Wanted())


@pytest.mark.parametrize(
    ("source", "live"),
    [("0", True), ("rtsp://a/b", True), ("http://a/b", True), ("a.mp4", False), ("dir", False)],
)
def test_is_live_knows_what_goes_on_by_itself(source: str, live: bool) -> None:
    """Only live sources are re-opened; a file ends."""
    assert is_live(source) is live


class _Stream(http.server.BaseHTTPRequestHandler):
    """An MJPEG camera that can be told to freeze or to hang up."""

    frozen = threading.Event()
    hang_up = threading.Event()

    def do_GET(self) -> None:
        """Send pictures until told otherwise."""
        self.send_response(200)
        self.send_header("Content-Type", "multipart/x-mixed-replace; boundary=frame")
        self.end_headers()
        for number in itertools.count():
            if self.hang_up.is_set():
                return
            while self.frozen.is_set() and not self.hang_up.is_set():
                time.sleep(0.02)
            data = cv2.imencode(".jpg", picture(number))[1].tobytes()
            head = b"--frame\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n" % len(data)
            try:
                self.wfile.write(head + data + b"\r\n")
            except OSError:
                return
            time.sleep(0.02)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def stream() -> Iterator[str]:
    """Serve an MJPEG camera on loopback."""
    _Stream.frozen.clear()
    _Stream.hang_up.clear()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Stream)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/video.mjpg"
    _Stream.hang_up.set()
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("fault", ["frozen", "hang_up"])
def test_stream_that_fails_is_noticed_and_reopened(stream: str, fault: str) -> None:
    """A stall or a lost stream is noticed within the stall time, told once, and mended."""
    shots = open_source(stream, Wanted(stall_s=1.0))
    assert isinstance(next(shots), Shot)
    getattr(_Stream, fault).set()
    began = time.monotonic()
    outage = next(s for s in shots if isinstance(s, Outage))
    assert time.monotonic() - began < 2.0
    assert outage.reason
    _Stream.frozen.clear()
    _Stream.hang_up.clear()
    again = next(shots)
    assert isinstance(again, Shot)
    assert again.frame.index > 0
    assert time.monotonic() - began < 7.0
