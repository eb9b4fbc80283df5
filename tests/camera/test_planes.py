"""Pictures that are kept as planes have the colours that FFmpeg gives them, and give them late."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pytest
from av.video.frame import VideoFrame
from av.video.reformatter import ColorRange

from vision.camera import decoding
from vision.camera.capture_process import (
    HEADER,
    REPORT_FORM,
    CaptureLoop,
    CaptureReport,
    Signal,
    Slots,
    slot_offset,
)
from vision.camera.decoding import Planes, byte_count, pixels, unpacked
from vision.sight.geometry.plane import Frame, Image

SIZE = (322, 182)  # no multiples of 4: rows are padded, and nothing is as usual
BT709 = 1  # FFmpeg's number of that colour space; 2 is one that is not said
# Format of a film, the colour space and the range that it says.
CODINGS = [
    pytest.param("yuv420p", 2, ColorRange.UNSPECIFIED, id="says nothing"),
    pytest.param("yuv420p", BT709, ColorRange.MPEG, id="of television"),
    pytest.param("yuv420p", BT709, ColorRange.JPEG, id="full range"),
    pytest.param("yuvj420p", 2, ColorRange.JPEG, id="of a JPEG camera"),
]


def colours(seed: int, size: tuple[int, int] = SIZE) -> Image:
    """Return a picture of soft patches of every colour."""
    patches = np.random.default_rng(seed).integers(0, 255, (9, 16, 3), np.uint8)
    return np.asarray(cv2.resize(patches, size), np.uint8)


def film(
    path: Path, form: str, matrix: int, span: int, *, turned: float = 0, code: str = "libx264"
) -> Path:
    """Write a film of five pictures."""
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream(code, rate=10)
        stream.width, stream.height = SIZE
        stream.pix_fmt, stream.colorspace, stream.color_range = form, matrix, span
        if turned:
            stream.set_display_rotation(turned)
        for number in range(5):
            frame = VideoFrame.from_ndarray(colours(number), format="bgr24").reformat(format=form)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def decoded(path: Path) -> list[VideoFrame]:
    """Return a film's pictures as PyAV has them."""
    with av.open(str(path)) as container:
        return list(container.decode(video=0))


@pytest.mark.parametrize(("form", "matrix", "span"), CODINGS)
def test_film_has_the_colours_that_it_says(
    tmp_path: Path, form: str, matrix: int, span: int
) -> None:
    """What comes of the planes is what FFmpeg makes of the film's own frames, to the last bit."""
    path = film(tmp_path / "a.mp4", form, matrix, span)
    shown = [each.pixels for each in decoding.video(path, decoding.open_video(path))]
    known = decoded(path)
    assert len(shown) == len(known) == 5
    for seen, frame in zip(shown, known, strict=True):
        assert isinstance(seen, Planes)
        assert np.array_equal(seen.bgr(), frame.to_ndarray(format="bgr24"))
        assert np.array_equal(seen.luma, frame.to_ndarray()[: SIZE[1]])


@pytest.mark.parametrize("form", ["yuv422p", "yuv420p10le", "gray"])
def test_other_format_is_bgr_at_once(form: str) -> None:
    """What is no planes of 8 bits at half the size is made BGR where it is decoded."""
    frame = VideoFrame.from_ndarray(colours(1), format="bgr24").reformat(format=form)
    seen = pixels(frame)
    assert isinstance(seen, np.ndarray)
    assert np.array_equal(seen, frame.to_ndarray(format="bgr24"))
    assert np.array_equal(Frame(seen, 0, 0).luma, seen[:, :, 1])


def test_picture_of_odd_width_is_bgr_at_once() -> None:
    """The colours of its last column have no second one."""
    frame = VideoFrame.from_ndarray(colours(1, (321, 182)), format="bgr24")
    assert isinstance(pixels(frame.reformat(format="yuv420p")), np.ndarray)


@pytest.mark.parametrize("degrees", [90, 180, -90])
def test_film_is_shown_upright(tmp_path: Path, degrees: int) -> None:
    """A film that says it was taken with the camera turned is turned back."""
    path = film(tmp_path / "a.mp4", "yuv420p", 2, 0, turned=degrees)
    first: Any = next(decoding.video(path, decoding.open_video(path))).pixels
    lying = decoded(path)[0].to_ndarray(format="bgr24")
    assert np.array_equal(first, np.rot90(lying, degrees // 90))


def test_frame_is_converted_once_and_only_for_its_colours() -> None:
    """Size and brightness cost nothing; the BGR picture is kept."""
    made: list[Image] = []

    class Counted(Planes):
        def bgr(self) -> Image:
            made.append(super().bgr())
            return made[-1]

    coded = VideoFrame.from_ndarray(colours(1), format="bgr24").reformat(format="yuv420p")
    frame = Frame(Counted(coded), 0, 0)
    assert frame.size == SIZE
    assert frame.luma.shape == SIZE[::-1]
    assert made == []
    assert frame.image is frame.image
    assert len(made) == 1


@pytest.mark.parametrize(("form", "matrix", "span"), [("bgr24", 0, 0), *CODINGS])
def test_capture_hands_a_picture_on_and_knows_it_again(form: str, matrix: int, span: int) -> None:
    """What the parent makes of the shared memory is the picture; the same again is a repeat."""
    coded = VideoFrame.from_ndarray(colours(1), format="bgr24").reformat(format=form)
    coded.colorspace, coded.color_range = matrix, span
    memory = os.memfd_create("pictures")
    os.ftruncate(memory, HEADER)
    reports, theirs = os.pipe()
    loop = CaptureLoop({"frozen_s": 0.8}, theirs, Slots(memory))
    for _ in range(2):
        loop._take(pixels(coded))
    data = os.read(reports, 1000)
    first, again = map(CaptureReport._make, REPORT_FORM.iter_unpack(data))
    assert (first.signal, again.signal) == (Signal.PICTURE, Signal.REPEAT)
    size = (first.width, first.height)
    assert size == SIZE
    packed = os.pread(memory, byte_count(first.coding, *size), slot_offset(first.number, *size))
    seen = unpacked(np.frombuffer(packed, np.uint8), first.coding, *size)
    assert np.array_equal(Frame(seen, 0, 0).image, coded.to_ndarray(format="bgr24"))
    for handle in (memory, reports, theirs):
        os.close(handle)
