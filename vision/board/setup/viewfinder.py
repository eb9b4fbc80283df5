"""The live picture for setting a table up: the newest of its camera, while somebody looks.

The source is opened when a picture is asked for and let go soon after the last. Knows nothing of
who asks, nor of what the pictures show.
"""

from __future__ import annotations

import threading
import time

import cv2

from vision.camera.shots import Shot
from vision.camera.source import Wanted, open_source
from vision.errors import OutsideError, ShoeReaderError
from vision.secrets import masked
from vision.sight.geometry.frame import Image

LOOKED_AT_S = 8.0
NEW_S = 3.0
QUALITY = 80


class Viewfinder:
    """One table's camera, looked through; safe to use from several threads."""

    def __init__(self, source: str, wanted: Wanted) -> None:
        self._source = source
        self._wanted = wanted
        self._news = threading.Condition()
        self._image: Image | None = None
        self._taken_s = self._asked_s = float("-inf")
        self._complaint = ""
        self._thread: threading.Thread | None = None

    def picture(self, seconds: float = 6.0) -> bytes:
        """Return the newest picture as JPEG; OutsideError where none comes in so many seconds."""
        with self._news:
            self._asked_s = time.monotonic()
            if self._thread is None:
                self._complaint = ""
                self._thread = threading.Thread(target=self._look, name="viewfinder", daemon=True)
                self._thread.start()
            self._news.wait_for(lambda: self._is_new or self._complaint, seconds)
            image = self._image if self._is_new else None
            complaint = self._complaint or "no picture comes"
        if image is None:
            raise OutsideError(
                f"{masked(self._source)}: {complaint}; a camera on a cable can be seen by one "
                "program at a time: stop the reader, or take the kept picture"
            )
        return cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])[1].tobytes()

    @property
    def _is_new(self) -> bool:
        return time.monotonic() - self._taken_s < NEW_S

    def _look(self) -> None:
        complaint = ""
        try:
            for seen in open_source(self._source, self._wanted):
                with self._news:
                    if isinstance(seen, Shot):
                        self._image, self._taken_s = seen.frame.image, time.monotonic()
                    else:
                        self._complaint = seen.reason
                    self._news.notify_all()
                    if time.monotonic() - self._asked_s > LOOKED_AT_S:
                        break
        except ShoeReaderError as error:
            complaint = masked(str(error))
        with self._news:
            self._thread = None
            self._complaint = complaint
            self._news.notify_all()
