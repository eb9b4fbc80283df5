"""A bank of training pictures on disk that grows while it is used.

Memory-mapped arrays of pictures, of their labels and of the slots that are filled; makers fill
their own share in order.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import DTypeLike, NDArray
from torch import Tensor


class Bank:
    """`capacity` pictures (BGR, `size` is width and height) with labels in the folder `path`.

    A bank that is there is opened, its pictures kept: it grows if it held less, and only a part is
    seen of one that holds more. A label is one number of type `kind`, or an array of `shape`.
    """

    def __init__(
        self,
        path: Path,
        capacity: int,
        *,
        size: tuple[int, int],
        shape: tuple[int, ...] = (),
        kind: DTypeLike = np.uint8,
    ) -> None:
        path = path / f"{size[0]}x{size[1]}"
        path.mkdir(parents=True, exist_ok=True)
        self.capacity = capacity
        self._pictures = _map(path / "pictures", (capacity, size[1], size[0], 3), np.uint8)
        self._labels = _map(path / "labels", (capacity, *shape), kind)
        self._filled = _map(path / "filled", (capacity,), np.uint8)

    def put(self, place: int, picture: NDArray[np.uint8], label: object) -> None:
        """Store a picture; its place is marked last, which makes it visible to readers."""
        self._pictures[place] = picture
        self._labels[place] = label
        self._filled[place] = 1

    def filled(self, place: int) -> bool:
        """Whether a place holds a picture."""
        return bool(self._filled[place])

    def ready(self) -> int:
        """Return how many pictures are stored."""
        return len(self._places())

    def sample(self, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Return `count` random stored pictures (N x 3 x H x W, RGB, 0 to 1) and labels.

        They are on the generator's device.
        """
        stored, device = self._places(), generator.device
        chosen = torch.randint(len(stored), (count,), generator=generator, device=device)
        return self._tensors(stored[chosen.cpu().numpy()], device)

    def slice(self, start: int, stop: int) -> tuple[Tensor, Tensor]:
        """Return the stored pictures of a range of places, as `sample` does, in main memory."""
        places = np.arange(start, min(stop, self.capacity))
        return self._tensors(places[self._filled[places] > 0], torch.device("cpu"))

    def _places(self) -> NDArray[np.intp]:
        # A copy first: makers fill places while they are counted.
        return np.flatnonzero(np.array(self._filled))

    def _tensors(self, places: NDArray[np.intp], device: torch.device) -> tuple[Tensor, Tensor]:
        # Bytes travel to the device and become numbers there: a fourth as much to send.
        pictures = torch.from_numpy(np.array(self._pictures[places])).to(device)
        labels = torch.from_numpy(np.array(self._labels[places])).to(device)
        if not labels.is_floating_point():
            labels = labels.long()
        return pictures.flip(3).permute(0, 3, 1, 2).contiguous().float() / 255, labels


def fill(
    bank: Bank, made: Iterable[tuple[NDArray[np.uint8], object]], *, maker: int = 0, makers: int = 1
) -> None:
    """Fill every free place of maker number `maker` of `makers` with what is `made`."""
    places = range(maker, bank.capacity, makers)
    free = [place for place in places if not bank.filled(place)]
    for place, (picture, label) in zip(free, made, strict=False):
        bank.put(place, picture, label)


def _map(path: Path, shape: tuple[int, ...], kind: DTypeLike) -> NDArray[Any]:
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    if not path.exists():
        return np.memmap(path, kind, "w+", shape=shape)
    if path.stat().st_size < size:
        os.truncate(path, size)
    return np.memmap(path, kind, "r+", shape=shape)
