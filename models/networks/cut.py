"""The network that tells the cut card: what leaves the mouth, beside a card that left before it."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from models.networks.mouth import OUTPUTS, STAGES, MouthNet, evenly_lit
from vision.sight.detection.mouth import HEIGHT, WIDTH

# Channels of what is seen of colours; values that say what one place of a patch (of 14 x 20) shows;
# looks at such places; hidden values.
COLOURS, SHOWN, LOOKS, HIDDEN = 32, 16, 3, 64
# Of each look: what it shows, what the same look showed before and by how much they differ; how new
# that is, and how gone what it showed before.
COMPARED = LOOKS * (3 * SHOWN + 2) + 2 * OUTPUTS


class CutNet(nn.Module):
    """Two times rest, before and now (N x 18 x 56 x 80, RGB, 0 to 1) to N x 1 log odds.

    The second is a card that left the same shoe before. What shows now is looked up in it place by
    place: a hand is there too, the cut card is not. 0.13 million parameters.
    """

    def __init__(self) -> None:
        super().__init__()
        self.mouth = MouthNet()
        self.colours = nn.Sequential(_stage(6, 24), _stage(24, COLOURS))
        seen = COLOURS + STAGES[-1]
        self.show = nn.Sequential(
            nn.BatchNorm2d(seen),
            nn.Conv2d(seen, 48, 1),
            nn.ReLU(inplace=True),
            nn.Conv2d(48, SHOWN + LOOKS, 1),
        )
        self.compare = nn.Sequential(
            nn.Linear(COMPARED, HIDDEN),
            nn.ReLU(inplace=True),
            nn.Dropout(0.1),
            nn.Linear(HIDDEN, 1),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return N x 1: how much likelier what leaves now is the cut card, ln."""
        now_and_before = [each.chunk(2) for each in self._shown(torch.cat([x[:, :9], x[:, 9:]]))]
        (shows, earlier), (looks, glances), values = now_and_before
        # The square of the distance of each place now to each one before, N x 280 x 280.
        far = (
            shows.square().sum(1)[:, :, None]
            + earlier.square().sum(1)[:, None]
            - 2 * torch.bmm(shows.transpose(1, 2), earlier)
        )
        new, gone = (
            torch.bmm(looks, far.amin(2)[:, :, None]),
            torch.bmm(glances, far.amin(1)[:, :, None]),
        )
        shown = torch.bmm(looks, shows.transpose(1, 2))
        was = torch.bmm(glances, earlier.transpose(1, 2))
        looked = torch.cat([shown, was, (shown - was).abs(), new, gone], 2).flatten(1)
        compared: Tensor = self.compare(torch.cat([looked, *values], 1))
        return compared

    def _shown(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return what each place shows (N x SHOWN x 280), how much it is looked at, the values."""
        values, features = self.mouth.values_and_features(x)
        lit = evenly_lit(x)
        rest, now = lit[:, :3], lit[:, 6:]
        colours = self.colours(torch.cat([now - 0.5, (now - rest) * 2], 1) * 2)
        seen = torch.cat([colours, nn.functional.interpolate(features, scale_factor=(2, 1))], 1)
        shown = self.show(seen).flatten(2).float()
        return shown[:, :SHOWN], shown[:, SHOWN:].softmax(2), values


def example() -> Tensor:
    """Return an input of zeros."""
    return torch.zeros(1, 18, HEIGHT, WIDTH)


def _stage(inputs: int, outputs: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, 2, 1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
    )
