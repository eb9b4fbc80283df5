"""Evidence films as a browser plays them: the pictures of the AVI again, as WebM (VP8).

Made when somebody asks to see one, by whoever shows it; the evidence itself stays as it was kept.
"""

from __future__ import annotations

import io
from fractions import Fraction
from typing import cast

import av
import cv2
import numpy as np

from vision.sight.geometry.frame import Image
from vision.storage.avi import pace_of, pictures_of

BIT_RATE = 3_000_000


def as_webm(film: bytes) -> bytes:
    """Return a film of `write_film` as WebM; ValueError when it is none."""
    pictures = [_picture(one) for one in pictures_of(film)]
    if not pictures:
        raise ValueError("a film without pictures")
    out = io.BytesIO()
    rate = Fraction(pace_of(film)).limit_denominator(1000)
    with av.open(out, "w", format="webm") as container:
        options = {"deadline": "realtime", "cpu-used": "8"}
        stream = container.add_stream("libvpx", rate=rate, options=options)
        stream.height, stream.width = pictures[0].shape[:2]
        stream.bit_rate, stream.pix_fmt = BIT_RATE, "yuv420p"
        stream.thread_count = 1  # more threads wait for one another more than they help
        for picture in pictures:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="bgr24")))
        container.mux(stream.encode(None))
    return out.getvalue()


def _picture(content: bytes) -> Image:
    image = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)
    if image is None:
        raise ValueError("a picture of the film is none")
    return cast(Image, image)
