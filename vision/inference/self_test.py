"""The self-test: a picture of known cards is run through the models, and the result compared.

It finds models that are damaged or run wrong on this machine; whether the camera sees is checked
elsewhere. The picture is part of the program, made by
`python -m datasets.training.self_test_picture`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vision.errors import ConfigurationError
from vision.pictures import open_picture
from vision.sight.geometry.plane import Image

PICTURE = Path(__file__).with_name("self_test.jpg")
# Pixels that a card may be found away from where it lies: less than half a card of the picture,
# so that no neighbour is taken for it. Chosen by hand; working models are well within.
NEAR_PX = 40.0
CURE = "install the program and its models again; `shoe-reader check` tests them"

# Reads a picture: the name of each card, "" where it is unread, and its middle in pixels.
Read = Callable[[Image], Sequence[tuple[str, float, float]]]


@dataclass(frozen=True, slots=True, eq=False)
class SelfTest:
    """The picture, its cards (name, x, y in pixels), and the function that reads it."""

    image: Image
    cards: tuple[tuple[str, float, float], ...]
    read: Read

    def complaint(self) -> str | None:
        """Read the picture; return what is wrong with the result, `None` where nothing is."""
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
    """Open the self-test that comes with the program; ConfigurationError if it is damaged."""
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
