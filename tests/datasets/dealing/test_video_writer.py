"""A film's bytes depend on its pictures alone, not on what its memory held before."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np

from datasets.dealing.video_writer import Encoding, Progress, write_video

FRAMES = 8


def write(path: Path) -> None:
    """Write a picture that moves sideways, as large as the small cameras of the bench."""
    grain = np.random.default_rng(1).integers(0, 255, (540, 960, 3), np.uint8)
    scene = cv2.GaussianBlur(grain, (0, 0), 4)
    frames = ((np.ascontiguousarray(np.roll(scene, 3 * n, axis=1)), n) for n in range(FRAMES))
    write_video(path, frames, Progress(FRAMES, quiet=True), Encoding(15))


def test_a_film_has_the_same_bytes_whatever_its_memory_held(tmp_path: Path) -> None:
    """In three runs the allocator fills its memory with another byte before use."""
    films = [tmp_path / f"{fill}.mp4" for fill in (0, 85, 170)]
    for film in films:
        subprocess.run(
            [sys.executable, "-m", "tests.datasets.dealing.test_video_writer", str(film)],
            env=os.environ | {"MALLOC_PERTURB_": film.stem},
            check=True,
        )
    assert len({film.read_bytes() for film in films}) == 1


if __name__ == "__main__":
    write(Path(sys.argv[1]))
