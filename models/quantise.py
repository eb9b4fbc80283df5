"""Make 8-bit files of the networks, show what each loses and saves: `python -m models.quantise`.

Static quantisation in ONNX Runtime's QDQ form: weights in 8 bits with a scale for each output
channel, values between the layers in 8 bits with ranges found by calibration, from drawn stills of
the training split and from photographs (`--photographs FOLDER`, with `images/`; only such whose
licence allows weights that ship). Ranges are found in three ways: the extremes (`minmax`), the
percentile that leaves out the rarest values, and the cut that loses least information (`entropy`).

The table compares each file with the one in 32 bits on held-out stills, and says whether it passes:
no figure worse by more than `ALLOWED`. `--ship detector=percentile corners=minmax` puts those files
into `models/int8/`, with cards that name the files that they were made from: a model that is
trained again needs this command again, and until then is used in 32 bits.
"""

from __future__ import annotations

import argparse
import itertools
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnxruntime.quantization import (
    CalibrationDataReader,
    CalibrationMethod,
    QuantFormat,
    QuantType,
    quantize_static,
)
from onnxruntime.quantization.shape_inference import quant_pre_process

from datasets.training.scene import stills
from models.evaluate import classifier as classifier_score
from models.evaluate import corners as corners_score
from models.evaluate import detector as detector_score
from models.networks.classifier import onnx_runner
from models.networks.model_card import SHIPPED, write_card
from vision.sight.detection.classifier import Classifier
from vision.sight.detection.detector import CornerFinder, Detector, Kind, Tensor
from vision.sight.geometry.plane import Image

# Seed of the drawn stills that calibrate (no unit): another one than any measurement's.
SEED = 90_001
# Their size in pixels: that of a table's picture, as the detector sees it in a run.
SIZE = (1280, 720)
# Inputs of one network that are kept, at most: with more, entropy needs gigabytes and finds the
# same ranges; fewer miss rare values.
MOST_INPUTS = 48
# The score (0 to 1) from which a box is looked at by the other networks while calibrating: low, so
# that they meet poor boxes too, as they do in single pictures.
LEAST_SCORE = 0.2
METHODS = {
    "minmax": CalibrationMethod.MinMax,
    "percentile": CalibrationMethod.Percentile,
    "entropy": CalibrationMethod.Entropy,
}
# The networks that are quantised. The mouth's takes 0.2 ms: nothing is to be gained there.
NETWORKS = ("detector", "corners", "classifier")
# How many layers of convolutions at the end stay in 32 bits, with all that follows: what comes out
# of a detector's last one are boxes to a fraction of a pixel, and scores. More is slower; fewer
# moves corners.
WHOLE_LAYERS = {"detector": 1}
# The operations that are done in 8 bits; the others (attention, softmax) stay whole.
OPERATIONS = ["Add", "Concat", "Conv", "MaxPool", "Mul", "Relu", "Resize", "Sigmoid", "Split"]
# How much worse each figure may be than in 32 bits, in its own unit; more than the noise of the
# held-out stills, and below what moves a figure of the README. A figure that is not here is not
# judged. Positive: it may rise by so much; negative: it may fall.
ALLOWED = {
    "found_pct": -0.5,
    "wrong_kind_pct": 0.3,
    "false_per_still": 0.05,
    "median_corner_error_pct_of_width": 0.3,
    "outline_error_pct": 0.2,
    "right_pct": -0.3,
    "named_at_2pct_bound_pct": -0.7,
    "wrong_among_named_pct": 0.1,
}
# Runs of which the quickest counts, in processor time, so that other work on the machine matters
# little. More take longer.
TIMED_RUNS = 15

Figures = dict[str, float]


@dataclass(slots=True)
class Inputs:
    """What each network was given while pictures were read: a bounded, even choice of it."""

    given: dict[str, list[Tensor]] = field(default_factory=dict)

    def kept(self, name: str, run: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
        """Return the network, with its inputs kept."""

        def kept(tensor: Tensor) -> Tensor:
            # One by one: ONNX Runtime counts values of inputs of one shape only.
            known = self.given.setdefault(name, [])
            known += [one[None] for one in tensor[: MOST_INPUTS - len(known)]]
            return run(tensor)

        return kept


class Reader(CalibrationDataReader):  # type: ignore[misc]  # onnxruntime ships without types
    """Gives ONNX Runtime the inputs one after the other."""

    def __init__(self, name: str, tensors: Sequence[Tensor]) -> None:
        self._rest = iter([{name: tensor} for tensor in tensors])

    def get_next(self) -> dict[str, Tensor] | None:
        """Return the next input, None after the last."""
        return next(self._rest, None)


def pictures(count: int, folders: Sequence[Path]) -> Iterator[Image]:
    """Yield so many drawn stills, and evenly chosen as many photographs of each folder."""
    for still in itertools.islice(stills(SEED, split="train", size=SIZE), count):
        yield still.image
    for folder in folders:
        files = sorted((folder / "images").iterdir())
        for path in files[:: max(1, len(files) // count)][:count]:
            image = cv2.imread(str(path))
            if image is not None:
                yield of_size(np.asarray(image, np.uint8))


def of_size(image: Image) -> Image:
    """Return the middle of a picture in the size and shape of a table's."""
    scale = max(SIZE[0] / image.shape[1], SIZE[1] / image.shape[0])
    method = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    scaled = cv2.resize(image, None, fx=scale, fy=scale, interpolation=method)
    left, top = (scaled.shape[1] - SIZE[0]) // 2, (scaled.shape[0] - SIZE[1]) // 2
    part = scaled[max(top, 0) : max(top, 0) + SIZE[1], max(left, 0) : max(left, 0) + SIZE[0]]
    return np.asarray(cv2.resize(part, SIZE), np.uint8)


def calibration(shown: Iterator[Image]) -> Inputs:
    """Read pictures with the networks in 32 bits; return what these were given."""
    inputs = Inputs()
    runs = {name: onnx_runner(SHIPPED / f"{name}.onnx", threads=1)[1] for name in NETWORKS}
    corners = CornerFinder(inputs.kept("corners", runs["corners"]))
    finder = Detector(
        inputs.kept("detector", runs["detector"]), threshold=LEAST_SCORE, corners=corners
    )
    classify = Classifier(inputs.kept("classifier", runs["classifier"]))
    for image in shown:
        classify(image, [card.quad for card in finder(image) if card.kind is not Kind.CUT])
    return inputs


def made(name: str, method: str, inputs: Inputs, out: Path) -> Path:
    """Make the 8-bit file of a network; return its path."""
    prepared, target = out / f"{name}.prepared.onnx", out / f"{name}.{method}.onnx"
    quant_pre_process(str(SHIPPED / f"{name}.onnx"), str(prepared), skip_symbolic_shape=True)
    model = onnx.load(str(prepared))
    quantize_static(
        str(prepared),
        str(target),
        Reader(model.graph.input[0].name, inputs.given[name]),
        quant_format=QuantFormat.QDQ,
        per_channel=True,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        calibrate_method=METHODS[method],
        op_types_to_quantize=OPERATIONS,
        nodes_to_exclude=last_layers(model, WHOLE_LAYERS.get(name, 0)),
    )
    onnx.save(with_sums(onnx.load(str(target))), str(target))
    return target


def with_sums(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model with each mean by a softmax over channels as a quotient of two sums.

    A detector's edges are means over 16 bins. ONNX Runtime turns all values round for a softmax
    over channels, a tenth of its time; e to the power of each, summed twice by one convolution, is
    the same: the values are far below 88, where a power has no number.
    """
    nodes = list(model.graph.node)
    known = {weight.name: weight for weight in model.graph.initializer}
    for mean, softmax in [(n, m) for n in nodes for m in nodes if _is_mean(n, m)]:
        name, (weights, *_) = softmax.name, mean.input[1:]
        factors = numpy_helper.to_array(known[weights])
        both = np.concatenate([factors, np.ones_like(factors)])
        model.graph.initializer.remove(known[weights])
        model.graph.initializer.append(numpy_helper.from_array(both, f"{name}.both"))
        parts = [f"{name}.weighted", f"{name}.all"]
        made = [
            helper.make_node("Exp", softmax.input, [f"{name}.powers"]),
            helper.make_node("Conv", [f"{name}.powers", f"{name}.both"], [f"{name}.sums"]),
            helper.make_node("Split", [f"{name}.sums"], parts, axis=1),
            helper.make_node("Div", parts, mean.output),
        ]
        nodes[nodes.index(softmax) : nodes.index(softmax) + 1] = made
        nodes.remove(mean)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


def _is_mean(node: onnx.NodeProto, behind: onnx.NodeProto) -> bool:
    """Whether a node weighs and adds what a softmax over channels gives."""
    axes = [attribute.i for attribute in behind.attribute if attribute.name == "axis"]
    of_channels = behind.op_type == "Softmax" and axes == [1]
    return of_channels and node.op_type == "Conv" and node.input[0] == behind.output[0]


def last_layers(model: onnx.ModelProto, layers: int) -> list[str]:
    """Return the names of the nodes from which at most so many convolutions lead to the output.

    Convolutions to a single channel do not count: they are arithmetic of the detector's decoding.
    """
    channels = {w.name: w.dims[0] for w in model.graph.initializer if w.dims}
    readers: dict[str, list[onnx.NodeProto]] = {}
    for node in model.graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    layer: dict[str, int] = {}
    for node in reversed(model.graph.node):  # sorted: what reads a value comes after what makes it
        behind = [layer[later.name] for name in node.output for later in readers.get(name, ())]
        counts = node.op_type == "Conv" and channels.get(node.input[1], 2) > 1
        layer[node.name] = max(behind, default=0) + counts
    return [node.name for node in model.graph.node if layer[node.name] <= layers]


# --- the table -----------------------------------------------------------------------------------


def figures(name: str, model: Path, count: int) -> Figures:
    """Return what a file is measured to do on held-out stills."""
    if name == "detector":
        settings = detector_score.SETTINGS
        _, run = onnx_runner(model, threads=1)
        detector = Detector(run, threshold=settings["threshold"], overlap=settings["overlap"])
        score = detector_score.score(detector, detector_score.held_out(count))
        return {
            "found_pct": 100 * score.found / score.cards,
            "wrong_kind_pct": 100 * score.wrong_kind / max(score.found, 1),
            "false_per_still": score.false / count,
            "median_corner_error_pct_of_width": 100 * score.corner_error,
        }
    if name == "corners":
        _, run = onnx_runner(model, threads=1)
        found = corners_score.errors(CornerFinder(run), count)
        errors = np.concatenate([after for _, after in found.values()])
        return {"outline_error_pct": 100 * float(np.median(errors))}
    measured = classifier_score.measure(model, 10 * count)["measured"]
    return {key: float(measured[key]) for key in ALLOWED if key in measured}


def milliseconds(model: Path, tensor: Tensor) -> float:
    """Return the processor time of the quickest of some runs, in ms."""
    _, run = onnx_runner(model, threads=1)
    took = []
    for _ in range(TIMED_RUNS):
        began = time.process_time()
        run(tensor)
        took.append(time.process_time() - began)
    return 1000 * min(took)


def worse(before: Figures, after: Figures) -> list[str]:
    """Return the figures that are worse by more than is allowed."""
    return [
        key
        for key, value in after.items()
        if key in ALLOWED and (value - before[key]) * np.sign(ALLOWED[key]) > abs(ALLOWED[key])
    ]


def row(name: str, method: str, values: Figures, *, ms: float, verdict: str) -> str:
    """Return a row of the table."""
    words = ", ".join(f"{key} {value:.2f}" for key, value in values.items())
    return f"| {name} | {method} | {ms:.2f} | {words} | {verdict} |"


# --- the command ---------------------------------------------------------------------------------


def shipped(name: str, method: str, model: Path, *, command: str, measured: Figures) -> Path:
    """Put an 8-bit file into `models/int8/` with its card; return the card's path."""
    target = SHIPPED / "int8" / f"{name}.onnx"
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(model.read_bytes())
    of: dict[str, Any] = tomllib.loads((SHIPPED / f"{name}.toml").read_text("utf-8"))
    before = of.pop("measured", {})
    card = {
        **{key: value for key, value in of.items() if not isinstance(value, dict)},
        "made_from": of["sha256"],
        "quantised": f"8 bits, QDQ, per channel, ranges by {method}",
        "recipe": command,
        "settings": of.get("settings", {}),
        "measured": {
            "command": command,
            "stills": before.get("stills", 0),
            **{k: round(v, 3) for k, v in measured.items()},
        },
    }
    del card["sha256"], card["measured"]["stills"]
    return write_card(target, card)


def chosen(words: Sequence[str]) -> dict[str, str]:
    """Return the method by network of words such as `detector=percentile`."""
    pairs = dict(word.partition("=")[::2] for word in words)
    wrong = [f"{n}={m}" for n, m in pairs.items() if n not in NETWORKS or m not in METHODS]
    if wrong:
        raise SystemExit(
            f"--ship {wrong[0]}: write NETWORK=METHOD, for example detector=percentile"
        )
    return pairs


def main() -> int:
    """Calibrate, make, measure, print; ship what is asked for if it passes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photographs", type=Path, nargs="*", default=[], metavar="FOLDER")
    parser.add_argument("--pictures", type=int, default=24, help="that calibrate, of each kind")
    parser.add_argument("--stills", type=int, default=200, help="held-out stills to measure on")
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--ship", nargs="*", default=[], metavar="NETWORK=METHOD")
    parser.add_argument("--out", type=Path, default=Path("runs/quantised"))
    arguments = parser.parse_args()
    wanted = chosen(arguments.ship)
    arguments.out.mkdir(parents=True, exist_ok=True)
    inputs = calibration(pictures(arguments.pictures, arguments.photographs))
    command = (
        f"python -m models.quantise --pictures {arguments.pictures} --stills {arguments.stills}"
    )
    command += " --photographs FOLDER" if arguments.photographs else ""
    print(
        "| network | ranges | ms | measured on held-out stills | verdict |\n|---|---|---|---|---|"
    )
    for name in arguments.networks:
        whole, example = SHIPPED / f"{name}.onnx", inputs.given[name][0]
        before = figures(name, whole, arguments.stills)
        ms = milliseconds(whole, example)
        print(row(name, "32 bits", before, ms=ms, verdict="-"), flush=True)
        for method in arguments.methods:
            model = made(name, method, inputs, arguments.out)
            after = figures(name, model, arguments.stills)
            lost = worse(before, after)
            verdict = f"loses {', '.join(lost)}" if lost else "passes"
            ms = milliseconds(model, example)
            print(row(name, method, after, ms=ms, verdict=verdict), flush=True)
            if wanted.get(name) == method and not lost:
                print(f"shipped: {shipped(name, method, model, command=command, measured=after)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
