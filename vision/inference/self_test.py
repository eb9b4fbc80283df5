"""The self-test: a picture of known cards that goes through the models, to see that they still see.

It travels with the program and is made by `python -m datasets.training.self_test_picture`. It must
not know the table: whether the camera sees is another matter.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vision.errors import ConfigurationError
from vision.pictures import open_picture
from vision.sight.geometry.frame import Image

PICTURE = Path(__file__).with_name("self_test.jpg")
NEAR_PX = 40.0
CURE = "install the program and its models anew; `shoe-reader check` tries them"

# Reads a picture: each card's name, "" where it declines, with the middle of the card in pixels.
Read = Callable[[Image], Sequence[tuple[str, float, float]]]


@dataclass(frozen=True, slots=True, eq=False)
class SelfTest:
    """The picture, what lies in it (name, x, y in pixels), and who is to read it."""

    image: Image
    cards: tuple[tuple[str, float, float], ...]
    read: Read

    def complaint(self) -> str | None:
        """Read the picture; say what is wrong with what was read, or `None`."""
        found = self.read(self.image)
        if not np.isfinite([[x, y] for _, x, y in found]).all():
            return f"the models give no numbers on the test picture; {CURE}"
        right = sum(self._names_near(found, x, y) == [name] for name, x, y in self.cards)
        if right == len(self.cards) == len(found):
            return None
        return (
            f"the models read {right} of {len(self.cards)} cards of the test picture, and see "
            f"{len(found)}; {CURE}"
        )

    def _names_near(
        self, found: Sequence[tuple[str, float, float]], x: float, y: float
    ) -> list[str]:
        return [name for name, a, b in found if np.hypot(a - x, b - y) < NEAR_PX]


def load(read: Read, picture: Path = PICTURE) -> SelfTest:
    """Open the self_test that travels with the program; ConfigurationError if it is damaged."""
    try:
        answer = tomllib.loads(picture.with_suffix(".toml").read_text("utf-8"))
        image = open_picture(picture)
        cards = tuple((str(name), float(x), float(y)) for name, x, y in answer["cards"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(
            f"{picture}: the test picture is damaged ({error}); {CURE}"
        ) from None
    if image is None or not cards:
        raise ConfigurationError(f"{picture}: the test picture is damaged; {CURE}")
    return SelfTest(image, cards, read)
