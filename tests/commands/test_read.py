"""Pictures that are none, and those that tell too little, are said with what is to be done."""

from __future__ import annotations

import logging
from pathlib import Path

import cv2
import numpy as np
import pytest

from vision.errors import ConfigurationError
from vision.files import picture_files
from vision.pictures import GreyPictures, decode_picture, is_grey, why_no_picture

NOISE = np.random.default_rng(1).integers(0, 255, (240, 320, 3), np.uint8)


def packed(image: np.ndarray, suffix: str = ".jpg") -> bytes:
    """Return a picture as a file has it."""
    return cv2.imencode(suffix, image)[1].tobytes()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\0\0\0\x18ftypheic" + bytes(40), "HEIC.*JPEG"),
        (b"\0\0\0\x18ftypmif1" + bytes(40), "HEIC.*JPEG"),
        (b"\0\0\0\x18ftypavif" + bytes(40), "AVIF.*JPEG"),
        (b"", "empty"),
        (b"GIF89a" + bytes(40), "JPEG, PNG"),
        (packed(NOISE)[:-500], "cut off"),
    ],
    ids=["heic", "heif", "avif", "empty", "gif", "cut"],
)
def test_file_that_is_no_picture_is_reported_with_the_cure(data: bytes, words: str) -> None:
    """What a telephone makes is named, and what helps."""
    assert decode_picture(data) is None
    with pytest.raises(AssertionError, match=words):
        raise AssertionError(why_no_picture(data))


@pytest.mark.parametrize("suffix", [".jpg", ".webp", ".png", ".bmp", ".tiff"])
@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
def test_picture_that_is_cut_off_is_none(suffix: str, share: float) -> None:
    """No part of a picture is made up."""
    data = packed(NOISE, suffix)
    assert decode_picture(data) is not None
    assert decode_picture(data[: round(share * len(data))]) is None


def test_grey_pictures_are_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    """A camera at night is told with what to switch."""
    grey, greys = cv2.cvtColor(NOISE[..., 0], cv2.COLOR_GRAY2BGR), GreyPictures()
    seen = decode_picture(packed(np.asarray(grey, np.uint8)))
    assert seen is not None
    assert is_grey(seen)
    assert not is_grey(NOISE)
    for name in ("colour", "first", "second"):
        greys.note(NOISE if name == "colour" else seen, name)
    assert caplog.text.count("red and black suits look alike") == 1
    assert "first has no colours" in caplog.text


def test_pictures_of_a_folder_come_in_natural_order(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The second frame is not the hundredth."""
    for number in (1, 2, 9, 10, 11, 100):
        (tmp_path / f"img{number}.jpg").write_bytes(packed(NOISE))
    found = [path.stem for path in picture_files(tmp_path)]
    assert found == ["img1", "img2", "img9", "img10", "img11", "img100"]
    assert caplog.text == ""


@pytest.mark.parametrize("names", [("b", "a"), ("img1", "photo2"), ("IMG_0001", "20260131")])
def test_order_that_is_a_guess_is_reported(
    names: tuple[str, ...], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Where names do not say the order, people hear which was taken."""
    for name in names:
        (tmp_path / f"{name}.jpg").write_bytes(packed(NOISE))
    with caplog.at_level(logging.WARNING):
        assert len(picture_files(tmp_path)) == 2
    assert "do not give their order" in caplog.text


def test_folder_of_pictures_that_are_not_read_names_them(tmp_path: Path) -> None:
    """A folder straight from a telephone is not empty."""
    (tmp_path / "IMG_0001.HEIC").write_bytes(b"\0\0\0\x18ftypheic")
    with pytest.raises(ConfigurationError, match=r"IMG_0001\.HEIC, which is not read"):
        picture_files(tmp_path)
