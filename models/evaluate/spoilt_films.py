"""Read dealing films of another renderer as other cameras would have taken them.

`python -m models.evaluate.spoilt_films FOLDER [SPOILING ...]`: each film is written anew, darker,
turned, smaller, at half the pictures a second and so on, and read and compared as by
`models.evaluate.dealing_films`. Nobody tuned anything on the films spoilt: what is right on a film
only as it came was learnt by heart.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import av
import cv2
import numpy as np
from numpy.typing import NDArray

from models.evaluate.dealing_films import Json, Tally, compare, read_film
from vision.errors import ConfigurationError
from vision.sight.geometry.plane import Image

CRF = 20  # x264's quality of a film that is not spoilt by it: hardly worse than what it is made of
CRF_POOR = 36  # x264's quality of a camera that saves on its line: blocks are seen in the faces
NOISE = 12.0  # grey levels (standard deviation) of noise: a small sensor in evening light
# Seconds for which the light is gone, and from one loss to the next: coups take 12 to 15 s, so that
# it is gone at every moment of one.
LOST_S, LOST_EVERY_S = 2.0, 17.0
BLUR_PX = 1.3  # pixels (standard deviation): a lens a little out of focus

Change = Callable[[Image, np.random.Generator], Image]


@dataclass(frozen=True, slots=True)
class Spoiling:
    """What is done to a film: pictures changed, scaled, turned by half a turn, every nth kept.

    `light` (0 to 1) is what is left of it for a while, again and again.
    """

    change: Change = lambda image, _: image
    scale: float = 1.0
    is_turned: bool = False
    every: int = 1
    crf: int = CRF
    light: float = 1.0


def _by_gamma(gamma: float, tint: tuple[float, float, float] = (1.0, 1.0, 1.0)) -> Change:
    """Return a change of brightness by a power, and of colour by a factor for blue, green, red."""
    levels = 255 * (np.arange(256) / 255) ** gamma
    table = np.clip(levels[:, None] * np.array(tint), 0, 255).astype(np.uint8)
    return lambda image, _: cast(Image, cv2.LUT(image, table[None]))


def _noisy(image: Image, rng: np.random.Generator) -> Image:
    noise = rng.normal(0, NOISE, image.shape).astype(np.float32)
    return cast(Image, np.clip(image + noise, 0, 255).astype(np.uint8))


SPOILINGS: dict[str, Spoiling] = {
    "as-it-came": Spoiling(),
    "dark": Spoiling(_by_gamma(1.7)),
    "bright": Spoiling(_by_gamma(0.6)),
    "warm": Spoiling(_by_gamma(1.0, (0.7, 0.95, 1.0))),
    "noisy": Spoiling(_noisy),
    "blurred": Spoiling(lambda image, _: cast(Image, cv2.GaussianBlur(image, (0, 0), BLUR_PX))),
    "compressed": Spoiling(crf=CRF_POOR),
    "turned": Spoiling(is_turned=True),
    "smaller": Spoiling(scale=0.75),
    "larger": Spoiling(scale=1.25),
    "half-rate": Spoiling(every=2),
    "four-a-second": Spoiling(every=6),
    "lost": Spoiling(light=0.0),
    "lamp-off": Spoiling(light=0.5),
}


def spoil(film: Path, truth: Json, spoiling: Spoiling, out: Path) -> Json:
    """Write a film anew to `out`; return its truth, with places where they are then."""
    width, height = (2 * round(side * spoiling.scale / 2) for side in truth["video"]["size"])
    rng = np.random.default_rng(0)
    with av.open(str(film)) as source, av.open(str(out), "w") as target:
        rate = Fraction(source.streams.video[0].average_rate or 1) / spoiling.every
        stream = target.add_stream("libx264", rate, options={"crf": str(spoiling.crf)})
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for number, frame in enumerate(source.decode(video=0)):
            if number % spoiling.every:
                continue
            image = cast(Image, frame.to_ndarray(format="bgr24"))
            image = spoiling.change(image, rng)
            if (frame.time or 0.0) % LOST_EVERY_S > LOST_EVERY_S - LOST_S:
                image = cast(Image, cv2.convertScaleAbs(image, alpha=spoiling.light))
            if spoiling.scale != 1.0:
                image = cast(
                    Image, cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)
                )
            if spoiling.is_turned:
                image = np.ascontiguousarray(image[::-1, ::-1])
            target.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="bgr24")))
        target.mux(stream.encode())
    return moved(truth, spoiling, (width, height))


def moved(truth: Json, spoiling: Spoiling, size: tuple[int, int]) -> Json:
    """Return the truth of a film with its places in pixels where they are in the spoilt one."""
    width, height = truth["video"]["size"]
    matrix = np.diag([size[0] / width, size[1] / height, 1.0])
    if spoiling.is_turned:
        matrix = np.array([[-1.0, 0, size[0] - 1], [0, -1, size[1] - 1], [0, 0, 1]]) @ matrix
    found = copy.deepcopy(truth)
    found["video"]["size"] = list(size)
    found["camera"]["H_fit"] = (matrix @ np.array(truth["camera"]["H_fit"])).tolist()
    for place in (*found["slots"].values(), found["shoe_mouth"], found["discard"]):
        place["px"] = _mapped(place["px"], matrix)
    return found


def _mapped(points: Any, matrix: NDArray[np.float64]) -> list[list[float]]:
    return [[float(x), float(y)] for x, y in np.asarray(points) @ matrix[:2, :2].T + matrix[:2, 2]]


def main() -> int:
    """Read every film in every way; print its coups and the counts; 1 if a result was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="films (.mp4), each with its truth (.json)")
    parser.add_argument("spoilings", nargs="*", metavar="SPOILING", help=", ".join(SPOILINGS))
    args = parser.parse_args()
    films = sorted(args.folder.glob("*.mp4"))
    if not films:
        raise ConfigurationError("the folder holds no film (.mp4); give the one of the films")
    if unknown := set(args.spoilings) - set(SPOILINGS):
        parser.error(f"there is no {min(unknown)}; there are {', '.join(SPOILINGS)}")
    is_wrong = False
    for name in args.spoilings or SPOILINGS:
        tally = Tally()
        with tempfile.TemporaryDirectory() as folder:
            for film in films:
                truth = json.loads(film.with_suffix(".json").read_text("utf-8"))
                out = Path(folder) / film.name
                found = spoil(film, truth, SPOILINGS[name], out)
                compare(found, read_film(out, found), tally, film.stem)
                out.unlink()
        print(*tally.notes, f"{name}: {tally}", sep="\n", flush=True)
        is_wrong |= bool(tally.wrong)
    return int(is_wrong)


if __name__ == "__main__":
    sys.exit(main())
