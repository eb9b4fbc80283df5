"""Average exported networks: `python -m models.train.average A.onnx B.onnx [...]`.

Two ends of one training, the file it went on from and the one it came to, err in different places;
the mean of their weights reads held-out designs better than either. Averaged is what is exported,
where each convolution has its normalisation folded in: before that, the same layer may be written
in many scales. The mean of classifiers is written as a checkpoint and exported; with `--out
NAME.onnx` that of any networks, detectors among them, is the file itself.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor

from models.networks.classifier import CardNet
from models.networks.restore import restore
from models.train.classifier import RUNS, bank_of, export, make

# Held-out crops from which the normalisations take their statistics.
PICTURES = 512


def mean_of(exported: Sequence[Path]) -> onnx.ModelProto:
    """Return the first of ONNX files with the mean of the weights of all of them.

    ValueError if the files are not of one network.
    """
    models = [onnx.load(str(path)) for path in exported]
    for weights in zip(*(model.graph.initializer for model in models), strict=True):
        arrays = [numpy_helper.to_array(weight) for weight in weights]
        if len({array.shape for array in arrays}) > 1:
            raise ValueError(f"{', '.join(map(str, exported))}: not of one network, or one width")
        if np.issubdtype(arrays[0].dtype, np.floating):
            mean = np.mean(arrays, axis=0, dtype=arrays[0].dtype)
            weights[0].CopyFrom(numpy_helper.from_array(mean, weights[0].name))
    return models[0]


def average(exported: Sequence[Path], net: CardNet, pictures: Tensor) -> None:
    """Give `net` the mean of the weights of ONNX files exported from networks like it.

    `pictures` (N x 3 x H x W, 0 to 1) are typical input, as for `restore`. ValueError if the files
    are not of one network.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mean.onnx"
        onnx.save(mean_of(exported), str(path))
        restore(net, path, pictures)


def main() -> None:
    """Parse the arguments, average, and print the path of the exported file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("exported", type=Path, nargs="+", help="exported networks")
    parser.add_argument(
        "--out", type=Path, default=RUNS / "classifier.pt", help="a checkpoint, or .onnx"
    )
    arguments = parser.parse_args()
    try:
        _write(arguments.exported, arguments.out)
    except (OSError, ValueError) as error:
        parser.error(str(error))


def _write(exported: Sequence[Path], out: Path) -> None:
    """Write the mean, of classifiers as a checkpoint that is exported, and print its path."""
    if out.suffix == ".onnx":
        onnx.save(mean_of(exported), str(out))
        print(out)
        return
    net = CardNet()
    bank = bank_of("held_out", PICTURES)
    make("test", bank, 0, 1)
    average(exported, net, bank.slice(0, PICTURES)[0])
    torch.save(net.state_dict(), out)
    print(export(out, out.with_suffix(".onnx")))


if __name__ == "__main__":
    main()
