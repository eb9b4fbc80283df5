"""The network that watches the mouth of the shoe: three small patches to what is out of it."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from vision.sight.detection.mouth import HEIGHT, WIDTH

# Channels after each stage: chosen so that a run takes about a third of a ms of one core.
STAGES = (24, 40, 64, 64)
# Values kept of each place along the exit, and hidden values of the last layers.
ALONG, HIDDEN = 16, 64
# Places of the patch, out of 7 x 20, that are looked at to say what a card shows; and how many
# cells of the patch, down and along, one such place is.
LOOKS, CELLS = 2, (8, 4)
# Phases, shift, kinds, hand, together.
OUTPUTS = 3 + 1 + 4 + 1 + 1
# Where among them the kinds are.
SHOWN = range(4, 8)


class MouthNet(nn.Module):
    """Rest, before and now (N x 9 x 56 x 80, RGB, 0 to 1) to N x 10 values; 96,000 parameters."""

    def __init__(self) -> None:
        super().__init__()
        # Now, and how it differs from before and from rest: a still table is zeros.
        first, second, third, fourth = STAGES
        self.features = nn.Sequential(
            _stage(9, first, (2, 2)),
            _stage(first, second, (2, 2)),
            _stage(second, third, (2, 1)),
            _stage(third, fourth, (1, 1), groups=4),
        )
        self.along = nn.Sequential(nn.Conv2d(fourth, ALONG, 1), nn.ReLU(inplace=True))
        # What counts is how far along the exit something is: the place across is pooled away.
        self.head = nn.Sequential(
            nn.Flatten(),
            nn.Dropout(0.1),
            nn.Linear(2 * ALONG * WIDTH // 4, HIDDEN),
            nn.ReLU(inplace=True),
            nn.Linear(HIDDEN, OUTPUTS),
        )
        # What a card shows is a matter of colours and pattern where the card is.
        self.places = nn.Conv2d(fourth, LOOKS, 1)
        self.shown = nn.Sequential(
            nn.Linear(LOOKS * (fourth + 9), HIDDEN),
            nn.ReLU(inplace=True),
            nn.Linear(HIDDEN, len(SHOWN)),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return N x 10: logits of phases, shift in card depths, logits of kinds and flags."""
        return self.values_and_features(x)[0]

    def values_and_features(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the N x 10 values and what they are of, N x 64 x 7 x 20."""
        x = evenly_lit(x)
        rest, now = x[:, :3], x[:, 6:]
        features = self.features(_differences(x))
        along = self.along(features)
        values: Tensor = self.head(torch.cat([along.mean(2), along.amax(2)], 1))
        shown = self.shown(self._looked_at(features, now, rest))
        first, last = SHOWN.start, SHOWN.stop
        kinds = values[:, first:last] + shown
        return torch.cat([values[:, :first], kinds, values[:, last:]], 1), features

    def _looked_at(self, features: Tensor, now: Tensor, rest: Tensor) -> Tensor:
        """Return features, colours, their spread and the colours at rest where it looks, N x n."""
        pool = nn.functional.avg_pool2d
        colour = pool(now, CELLS)
        spread = pool((now - nn.functional.interpolate(colour, scale_factor=CELLS)).abs(), CELLS)
        seen = torch.cat([features, colour, spread * 4, pool(rest, CELLS)], 1).flatten(2)
        weights = self.places(features).flatten(2).softmax(2)
        return torch.bmm(weights.to(seen.dtype), seen.transpose(1, 2)).flatten(1)


def example() -> Tensor:
    """Return an input of zeros."""
    return torch.zeros(1, 9, HEIGHT, WIDTH)


def evenly_lit(x: Tensor) -> Tensor:
    """Return patches of one lightness: a dim room and a bright one look the same."""
    return x * (0.4 / (x[:, :3].mean((1, 2, 3), keepdim=True) + 0.08))


def _differences(x: Tensor) -> Tensor:
    rest, before, now = x[:, :3], x[:, 3:6], x[:, 6:]
    return torch.cat([now - 0.5, (now - before) * 2, (now - rest) * 2], 1) * 2


def _stage(inputs: int, outputs: int, stride: tuple[int, int], *, groups: int = 1) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False, groups=groups),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
    )
