"""Picture files that lie about themselves are refused at once, wherever the program opens one."""

from __future__ import annotations

import struct
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from vision import pictures
from vision.app.pipeline import layout_of
from vision.board.desk.table_editor import TableEditor
from vision.camera.source import open_source
from vision.commands.printing.drawn_film import live_measuring
from vision.config.table import CameraSection, TableConfig, load
from vision.errors import ShoeReaderError
from vision.inference.load import load_self_test
from vision.pictures import decode_picture, open_picture, picture_in

EXAMPLE = Path(__file__).parents[2] / "deploy" / "table.example.toml"
PICTURE = np.random.default_rng(1).integers(0, 255, (40, 60, 3), np.uint8)
SUFFIXES = (".png", ".jpg", ".webp", ".bmp", ".tif")
# Seconds in which a file of a few kilobytes is refused; without the guard it takes 10 to 40.
AT_ONCE_S = 2.0


def packed(suffix: str) -> bytes:
    """Return a good picture in a format."""
    return cv2.imencode(suffix, PICTURE)[1].tobytes()


def chunk(kind: bytes, content: bytes, length: int | None = None) -> bytes:
    """Return a chunk of a PNG, at will with a length that is not its own."""
    size = len(content) if length is None else length
    return struct.pack(">I4s", size, kind) + content + struct.pack(">I", zlib.crc32(kind + content))


def png(width: int, height: int, length: int | None = None) -> bytes:
    """Return a PNG of about 5 kB that claims a size, at will with a data chunk of that length."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = zlib.compress(bytes(5_000_000), 9)
    parts = (chunk(b"IHDR", header), chunk(b"IDAT", data, length), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def enlarged(suffix: str, form: str, at: int, *sides: int) -> bytes:
    """Return a good picture with another size written into its header."""
    data = bytearray(packed(suffix))
    struct.pack_into(form, data, at, *sides)
    return bytes(data)


JPEG_SIZE_AT = packed(".jpg").index(b"\xff\xc0") + 5
BOMBS = {
    "chunk.png": png(64, 64, 0xFFFFFF00),
    "sides.png": png(20_000, 20_000),
    "sides.jpg": enlarged(".jpg", ">HH", JPEG_SIZE_AT, 32_000, 32_000),
    "sides.bmp": enlarged(".bmp", "<ii", 18, 30_000, 30_000),
}


@pytest.fixture(params=BOMBS)
def bomb(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a small file that would cost gigabytes or half a minute to decode."""
    path = tmp_path / request.param
    path.write_bytes(BOMBS[request.param])
    return path


def config_with(layout: Path) -> TableConfig:
    """Return the example's settings with that picture of the empty layout."""
    config = load(EXAMPLE)
    return config.model_copy(
        update={"view": config.view.model_copy(update={"layout": str(layout)})}
    )


def in_folder(path: Path) -> object:
    """Read a folder of pictures as a source."""
    return list(open_source(CameraSection(source=str(path.parent)), speed=0))


def on_page(path: Path) -> object:
    """Ask for the kept picture of the layout, as the set-up page does."""
    table = path.parent / "table.toml"
    text = EXAMPLE.read_text("utf-8")
    table.write_text(text.replace("[view]", f'[view]\nlayout = "{path}"', 1), encoding="utf-8")
    return TableEditor(load(table), table, live_measuring()).stored()


def as_self_test(path: Path) -> object:
    """Open a self-test with that picture."""
    path.with_suffix(".toml").write_text('cards = [["As", 10, 10]]', encoding="utf-8")
    return load_self_test(lambda _: (), path)


ENTRIES: dict[str, Callable[[Path], object]] = {
    "open_picture": open_picture,
    "read": picture_in,
    "source": in_folder,
    "run": lambda path: layout_of(config_with(path)),
    "set-up page": on_page,
    "self-test": as_self_test,
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_bomb_is_refused_at_once(entry: str, bomb: Path) -> None:
    """Every way to a picture file goes through the guard: no memory is taken, no time spent."""
    assert bomb.stat().st_size < 10_000
    began, words = time.process_time(), bomb.name
    try:
        found = ENTRIES[entry](bomb)
    except ShoeReaderError as error:
        found, words = None, str(error)
    assert found is None
    assert bomb.name in words or "no picture of the layout" in words
    assert time.process_time() - began < AT_ONCE_S


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_good_picture_is_opened(suffix: str, tmp_path: Path) -> None:
    """Every format that the messages name is decoded, and to the last bit where it is lossless."""
    path = tmp_path / f"a{suffix}"
    path.write_bytes(packed(suffix))
    found = open_picture(path)
    assert found is not None
    assert found.shape == PICTURE.shape
    assert suffix in {".jpg", ".webp"} or np.array_equal(found, PICTURE)


@pytest.mark.parametrize(
    ("quality", "alpha", "coding"), [(80, 0, b"VP8 "), (101, 0, b"VP8L"), (80, 1, b"VP8X")]
)
def test_webp_of_every_coding_is_opened(quality: int, alpha: int, coding: bytes) -> None:
    """WebP keeps its size in another place for each coding."""
    image = np.pad(PICTURE, ((0, 0), (0, 0), (0, alpha)), constant_values=100)
    data = cv2.imencode(".webp", image, [cv2.IMWRITE_WEBP_QUALITY, quality])[1].tobytes()
    assert data[12:16] == coding
    found = decode_picture(data)
    assert found is not None
    assert found.shape == PICTURE.shape


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_cut_picture_never_raises(suffix: str) -> None:
    """A file that was cut off anywhere is none, or what could be decoded of it."""
    data = packed(suffix)
    for length in (0, 1, 3, 8, 20, 40, len(data) // 2, len(data) - 1):
        found = decode_picture(data[:length])
        assert found is None or found.shape == PICTURE.shape


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_half_picture_is_called_cut_off(suffix: str) -> None:
    """Who copied half of a picture, of any format, is not told that it is none."""
    half = packed(suffix)[: len(packed(suffix)) // 2]
    assert "damaged, cut off or too large" in pictures.why_no_picture(half)
    assert "is not a picture" in pictures.why_no_picture(b"RIFF\0\0\0\0WAVEfmt ")


def test_other_formats_and_missing_files_are_no_pictures(tmp_path: Path) -> None:
    """Only formats whose size is read first are decoded at all."""
    assert decode_picture(b"P6 2 2 255 " + bytes(12)) is None
    assert open_picture(tmp_path / "none.png") is None
    assert open_picture(tmp_path) is None


def test_size_limit_is_in_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture of as many pixels as the limit passes the guard; one pixel more does not."""
    height, width = PICTURE.shape[:2]
    monkeypatch.setattr(pictures, "MOST_PIXELS", height * width)
    assert decode_picture(packed(".png")) is not None
    monkeypatch.setattr(pictures, "MOST_PIXELS", height * width - 1)
    assert decode_picture(packed(".png")) is None


def test_photograph_is_turned_as_its_camera_says() -> None:
    """A JPEG of a phone held upright is stored lying, with a note (EXIF) how to turn it."""
    data = packed(".jpg")
    entry = struct.pack(">HHIHH", 0x0112, 3, 1, 6, 0)
    note = b"Exif\0\0MM\0*" + struct.pack(">IH", 8, 1) + entry + bytes(4)
    upright = decode_picture(data[:2] + struct.pack(">HH", 0xFFE1, len(note) + 2) + note + data[2:])
    assert upright is not None
    assert upright.shape == (60, 40, 3)
    lying = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    assert lying is not None
    assert np.array_equal(np.rot90(lying, -1), upright)


@pytest.mark.parametrize("kind", ["grey", "deep", "clear"])
def test_picture_of_other_channels_is_given_as_colours(kind: str) -> None:
    """Grey pictures, such of 16 bits a pixel and such with transparency have three channels."""
    grey = cv2.cvtColor(PICTURE, cv2.COLOR_BGR2GRAY)
    given = {
        "grey": grey,
        "deep": grey.astype(np.uint16) * 257,
        "clear": cv2.merge([grey, grey, grey, np.full_like(grey, 128)]),
    }[kind]
    found = decode_picture(cv2.imencode(".png", given)[1].tobytes())
    assert found is not None
    assert found.dtype == np.uint8
    assert (found == grey[:, :, None]).all()


@pytest.mark.parametrize("data", [b"no picture", packed(".png")[:60], packed(".jpg")[:60]])
def test_a_damaged_picture_installs_nothing(data: bytes) -> None:
    """Ultralytics opens pictures by a function of its own, and installs what it lacks for them."""
    pytest.importorskip("ultralytics")
    assert decode_picture(data) is None
    assert decode_picture(packed(".png")) is not None
