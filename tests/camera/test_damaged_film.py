"""A film that is damaged can be closed before its end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import av
import numpy as np

# Frames of noise, so that several threads decode at once when the film is closed.
FRAMES, HEIGHT, WIDTH, DAMAGED = 60, 360, 640, 1500
PATIENCE_S = 40.0  # ten times what it takes on a loaded machine
CLOSE = """
import sys
from pathlib import Path
from vision.camera import decoding
path = Path(sys.argv[1])
for frames in range(3, 15):
    film = decoding.video(path, decoding.open_video(path))
    for _ in range(frames):
        next(film)
    film.close()
"""


def test_damaged_film_can_be_closed(tmp_path: Path) -> None:
    """Threads that find the damage while the film is closed hold nobody up."""
    path, draw = tmp_path / "film.mp4", np.random.default_rng(1)
    with av.open(path, "w") as film:
        stream = film.add_stream("libx264", rate=25)
        stream.height, stream.width, stream.pix_fmt = HEIGHT, WIDTH, "yuv420p"
        for _ in range(FRAMES):
            noise = draw.integers(0, 255, (HEIGHT, WIDTH, 3), np.uint8)
            film.mux(stream.encode(av.VideoFrame.from_ndarray(noise, "bgr24")))
        film.mux(stream.encode())
    content = bytearray(path.read_bytes())
    for place in draw.integers(4000, len(content) * 9 // 10, DAMAGED):
        content[place] = int(draw.integers(256))
    path.write_bytes(content)
    subprocess.run([sys.executable, "-c", CLOSE, str(path)], timeout=PATIENCE_S, check=True)
