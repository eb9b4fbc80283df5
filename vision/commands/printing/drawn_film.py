"""What sight makes of pictures, drawn on the film of `run --draw`; what measures for set-up.

The film consists of fragments of two seconds, each whole: whatever ends the program, what was
written so far can be played.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import IO, Self

import av
from av.container import OutputContainer
from av.error import FFmpegError
from av.video.stream import VideoStream

from vision.board.desk.table_editor import Measure
from vision.config.table import TableConfig
from vision.errors import ConfigurationError, OutsideError
from vision.files import taken
from vision.game.outputs import Output
from vision.inference.load import for_pictures
from vision.pictures import jpeg
from vision.setup.calibration.cards import measure
from vision.sight.drawing import Drawing, SightView, output_words
from vision.sight.geometry.plane import Frame
from vision.wire.session import Step

CODEC = "libx264"
SUFFIX, PICTURE = ".mp4", ".jpg"
# Milliseconds between two pictures, and their quality (0 to 100): letters stay sharp.
PICTURE_EVERY_MS, QUALITY = 500, 85
# Milliseconds, the unit of the pictures' times: a camera may deliver them at any pace.
TICK = Fraction(1, 1000)
# Seconds from one whole picture to the next, and so of a fragment: what is lost when the program is
# killed. Shorter makes larger films.
FRAGMENT_S = 2.0
# Of x264: quality at which small letters stay sharp (0 to 51, lower is better; 23 is x264's own), a
# preset that takes little time on one thread, and no pictures that wait for later ones, which would
# shift all times.
OPTIONS = {"crf": "24", "preset": "veryfast", "threads": "1", "bf": "0"}
MUXER = {"movflags": "frag_keyframe+empty_moov+default_base_moof"}


class DrawnFilm:
    """The film of a run; made at once, and removed again where not one picture came.

    Named OUT.jpg, it is a picture, that is always the last: for a page that shows it.
    A film that cannot be written on does not end the run: `failure` says why it ended.
    """

    def __init__(self, path: Path, config: TableConfig) -> None:
        """Make the file; ConfigurationError or OutsideError where a film cannot be written."""
        self._path = path
        self._is_picture = path.suffix == PICTURE
        outline = config.view.outline_px() if self._is_picture else None
        self._drawing = Drawing(config.view.table_view(), outline)
        self._fps = config.camera.fps
        self._outputs: list[Output] = []
        self._began: int | None = None
        self._last = -1
        self._opened: tuple[OutputContainer, VideoStream] | None = None
        self.failure: str | None = None
        if CODEC not in av.codecs_available:
            raise OutsideError(
                f"--draw: this PyAV was built without {CODEC}; install the wheel that its project "
                "publishes: pip install --force-reinstall av"
            )
        self._file = BytesIO() if self._is_picture else _new_file(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self._opened is not None:
                container, stream = self._opened
                if self.failure is None:
                    container.mux(stream.encode(None))
                container.close()
            self._file.close()
        except (OSError, FFmpegError) as error:
            self.failure = self.failure or f"{self._path}: cannot be ended: {error}"
        if self._opened is None and not self._is_picture:
            self._path.unlink(missing_ok=True)

    def take(self, step: Step) -> None:
        """Take what a step came to; it is shown with the next picture."""
        self._outputs += step.outputs

    def show(self, frame: Frame, seen: SightView | None) -> None:
        """Draw a picture and add it; one that is not later than the last is left out."""
        self._began = frame.at if self._began is None else self._began
        late = PICTURE_EVERY_MS if self._is_picture and self._last >= 0 else 0
        if self.failure is not None or frame.at - self._began <= self._last + late:
            return
        self._last = frame.at - self._began
        outputs, self._outputs = self._outputs, []
        lines = [line for output in outputs for line in output_words(output)]
        picture = self._drawing(frame, seen, lines)
        try:
            if self._is_picture:
                new = self._path.with_suffix(".new")
                new.write_bytes(jpeg(picture, QUALITY))
                new.replace(self._path)
                return
            self._opened = self._opened or self._open(picture.shape[1], picture.shape[0])
            image = av.VideoFrame.from_ndarray(picture, format="bgr24")
            image.pts, image.time_base = self._last, TICK
            container, stream = self._opened
            container.mux(stream.encode(image))
        except (OSError, FFmpegError) as error:
            self.failure = (
                f"{self._path}: the film ends {self._last / 1000:.1f} s after its beginning, "
                f"because it cannot be written: {error.strerror or error}; see that the disk has "
                "room. The table was read on without it"
            )

    def _open(self, width: int, height: int) -> tuple[OutputContainer, VideoStream]:
        container = av.open(self._file, "w", format="mp4", options=MUXER)
        rate = Fraction(self._fps).limit_denominator(1000)
        stream = container.add_stream(CODEC, rate=rate, options=OPTIONS)
        assert isinstance(stream, VideoStream)  # noqa: S101  # the codec is one of video
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.codec_context.time_base = TICK
        stream.codec_context.gop_size = max(1, round(FRAGMENT_S * self._fps))
        return container, stream


def _new_file(path: Path) -> IO[bytes]:
    """Make the file of a film, which must not be there yet."""
    if path.suffix.lower() != SUFFIX:
        raise ConfigurationError(
            f"--draw: {path} is no film; give a name that ends in {SUFFIX} (or in {PICTURE}, for a "
            "picture that is always the last)"
        )
    try:
        return path.open("xb")
    except FileExistsError:
        raise taken(path) from None
    except OSError as error:
        raise ConfigurationError(
            f"--draw: {path} cannot be written: {error.strerror}; give a path in a folder that "
            "exists and is writable"
        ) from None


def live_measuring() -> Measure:
    """Return what measures a table by the cards in a picture; it opens the models at first."""
    models = cache(lambda: for_pictures(threads=2))
    return lambda image, without, size: measure(models(), [image], without=without, size=size)
