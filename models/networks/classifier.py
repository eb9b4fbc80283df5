"""Our own networks (small, residual, trained without ultralytics), their export and ONNX runs.

The classifier maps N x 3 x 136 x 96 (RGB, 0 to 1) to N x 20 logits: 13 ranks, 4 suits, and whether
the rank, the suit, or else the back of a card can be seen. Rank and suit have heads of their own,
so that every heart teaches hearts whatever its rank. The corner finder maps N x 3 x 96 x 72 to
N x 8 shifts of corners.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

# Ranks, suits, and whether rank, suit and back can be seen.
OUTPUTS = 13 + 4 + 3
# Channels of the classifier's stages: wider reads better and takes longer (deploy/reading.md has
# both). A file of other widths is not restored.
WIDTHS = (24, 48, 96, 192)
# The ONNX operator set of exported files; ONNX Runtime 1.18, the oldest allowed, reads it.
OPSET = 17


class Residual(nn.Module):
    """Two 3 x 3 convolutions with a shortcut; `stride` 2 halves the picture."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
            nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        self.shortcut = (
            nn.Identity()
            if stride == 1 and inputs == outputs
            else nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output."""
        return torch.relu(self.body(x) + self.shortcut(x))


class CardNet(nn.Module):
    """The classifier; 1.5 million parameters with the usual widths of its stages."""

    def __init__(self, widths: tuple[int, ...] = WIDTHS) -> None:
        super().__init__()
        stem, *stages = widths
        layers: list[nn.Module] = [
            nn.Conv2d(3, stem, 3, 2, 1, bias=False),
            nn.BatchNorm2d(stem),
            nn.ReLU(inplace=True),
        ]
        inputs = stem
        for number, width in enumerate(stages):
            layers.append(Residual(inputs, width, 2 if number < 3 else 1))
            if number in (1, 2):
                layers.append(Residual(width, width))
            inputs = width
        self.features = nn.Sequential(*layers)
        # The mean measures how much of a thing there is (pips), the maximum whether it is there (an
        # index).
        self.head = nn.Sequential(nn.Dropout(0.1), nn.Linear(2 * inputs, OUTPUTS))

    def forward(self, x: Tensor) -> Tensor:
        """Return N x 20 logits."""
        # Normalisation is part of the network, so that a run needs none before it.
        features = self.features((x - 0.5) * 4.0)
        pooled = torch.cat([features.mean((2, 3)), features.amax((2, 3))], 1)
        logits: Tensor = self.head(pooled)
        return logits


class CornerNet(nn.Module):
    """The corner finder; 0.4 million parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(inplace=True),
            Residual(16, 32, 2),
            Residual(32, 64, 2),
            Residual(64, 64),
            Residual(64, 96, 2),
            nn.Conv2d(96, 32, 1, bias=False),
            nn.BatchNorm2d(32),
            nn.ReLU(inplace=True),
        )
        # Where things are is what is asked: nothing is pooled.
        self.head = nn.Sequential(
            nn.Flatten(), nn.Linear(32 * 6 * 5, 128), nn.ReLU(inplace=True), nn.Linear(128, 8)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return N x 8 shifts: x and y of four corners, in shares of what is seen."""
        shifts: Tensor = self.head(self.features((x - 0.5) * 4.0))
        return shifts * 0.1


def export_onnx(
    net: nn.Module,
    example: Tensor,
    target: Path,
    names: tuple[str, str],
    facts: Mapping[str, str],
) -> Path:
    """Write a network as ONNX with a free number of cards; return the path.

    `example` is an input (N x 3 x H x W), `names` are those of input and output, `facts` go into
    the metadata.
    """
    net.eval()
    torch.onnx.export(
        net,
        (example,),
        str(target),
        input_names=[names[0]],
        output_names=[names[1]],
        dynamic_axes={name: {0: "cards"} for name in names},
        opset_version=OPSET,
        dynamo=False,
    )
    model = onnx.load(str(target))
    for key, value in facts.items():
        model.metadata_props.add(key=key, value=value)
    onnx.save(model, str(target))
    return target


def onnx_runner(
    path: Path, *, threads: int
) -> tuple[ort.InferenceSession, Callable[[NDArray[np.float32]], NDArray[np.float32]]]:
    """Open an ONNX file on the CPU; return the session and a function from input to output."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name

    def run(tensor: NDArray[np.float32]) -> NDArray[np.float32]:
        output: NDArray[np.float32] = session.run(None, {name: tensor})[0]
        return output

    return session, run
