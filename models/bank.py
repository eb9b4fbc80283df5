"""A bank of classifier crops on disk that grows while it is used.

One memory-mapped array of pictures and one of labels; makers fill their own share in order.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from datasets.crops import crops
from vision.sight.classifier import CROP_SIZE

EMPTY = 255


class CropBank:
    """`capacity` crops of 136 x 96 x 3 bytes (BGR) with labels 0 to 52 in the folder `path`."""

    def __init__(self, path: Path, capacity: int) -> None:
        path.mkdir(parents=True, exist_ok=True)
        width, height = CROP_SIZE
        self.capacity = capacity
        self._crops = _map(path / "crops.u8", (capacity, height, width, 3), 0)
        self._labels = _map(path / "labels.u8", (capacity,), EMPTY)

    def put(self, place: int, crop: NDArray[np.uint8], label: int) -> None:
        """Store one crop; its label is written last, which makes it visible to readers."""
        self._crops[place] = crop
        self._labels[place] = label

    def filled(self, place: int) -> bool:
        """Whether a place holds a crop."""
        return bool(self._labels[place] != EMPTY)

    def ready(self) -> int:
        """Return how many crops are stored."""
        return int(np.count_nonzero(self._labels != EMPTY))

    def sample(self, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Return `count` random stored crops (N x 3 x H x W, RGB, 0 to 1) and labels."""
        stored = np.flatnonzero(self._labels != EMPTY)
        chosen = torch.randint(len(stored), (count,), generator=generator).numpy()
        return self._tensors(stored[chosen])

    def slice(self, start: int, stop: int) -> tuple[Tensor, Tensor]:
        """Return the stored crops of a range of places, as `sample` does."""
        places = np.arange(start, min(stop, self.capacity))
        return self._tensors(places[self._labels[places] != EMPTY])

    def _tensors(self, places: NDArray[np.intp]) -> tuple[Tensor, Tensor]:
        pictures = np.ascontiguousarray(self._crops[places][..., ::-1].transpose(0, 3, 1, 2))
        labels = self._labels[places].astype(np.int64)
        return torch.from_numpy(pictures).float() / 255, torch.from_numpy(labels)


def fill(bank: CropBank, seed: int, makers: int, split: str) -> None:
    """Fill every `makers`-th free place with new crops; the seed says which."""
    places = range((seed - 1) % makers, bank.capacity, makers)
    free = [place for place in places if not bank.filled(place)]
    for place, (crop, label) in zip(free, crops(seed, split=split), strict=False):
        bank.put(place, crop, label)


def _map(path: Path, shape: tuple[int, ...], empty: int) -> NDArray[np.uint8]:
    size = int(np.prod(shape))
    if not path.exists() or path.stat().st_size != size:
        fresh = np.memmap(path, np.uint8, "w+", shape=shape)
        if empty:
            fresh[:] = empty
        return fresh
    return np.memmap(path, np.uint8, "r+", shape=shape)
