"""The detector's network and trainer, and the ones it is compared with: ultralytics' own, quicker.

Convolutions run in bfloat16 while training, where that is quicker; losses and evaluation stay in 32
bits. A module of its own, since checkpoints name it.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import onnx
import torch
from torch import Tensor
from ultralytics.models.yolo.detect import DetectionTrainer
from ultralytics.models.yolo.obb import OBBTrainer
from ultralytics.models.yolo.pose import PoseTrainer
from ultralytics.nn.tasks import BaseModel, DetectionModel, OBBModel, PoseModel

from models.networks.precision import quick
from models.networks.rate import schedule
from models.networks.restore import restore
from vision.inference.load import packaged

# Pictures from which the normalisations of a restored network take their statistics.
SAMPLE = 96
# Share of the running average of the weights that a step leaves, as in `Loop`: ultralytics' own
# takes thousands of steps to become one, and a processor takes no more.
AVERAGED = 0.998


class Quick(BaseModel):
    """A YOLO whose layers train in bfloat16."""

    def predict(self, x: Tensor, *args: Any, **kwargs: Any) -> Any:
        """Return what the parent returns, in 32 bits."""
        with quick(x.device.type, enabled=self.training):
            output = super().predict(x, *args, **kwargs)  # type: ignore[no-untyped-call]
        return _in_full(output) if self.training else output


class QuickOBB(Quick, OBBModel):
    """A YOLO with oriented boxes."""


class QuickBoxes(Quick, DetectionModel):
    """A YOLO with upright boxes."""


class QuickPose(Quick, PoseModel):
    """A YOLO with upright boxes and keypoints."""


def _in_full(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.float()
    if isinstance(value, dict):
        return {key: _in_full(part) for key, part in value.items()}
    return type(value)(_in_full(part) for part in value)


class InFormat(DetectionTrainer):
    """Trains in the memory format that is quickest."""

    def set_model_attributes(self) -> None:
        """Set what the parent sets, and the memory format."""
        super().set_model_attributes()  # type: ignore[no-untyped-call]
        assert isinstance(self.model, torch.nn.Module)  # noqa: S101
        self.model.to(memory_format=torch.channels_last)

    def optimizer_step(self) -> None:
        """Step at a rate that falls with the time, not by the pass: a short run has few of them."""
        assert self.ema is not None  # noqa: S101
        gone = min((time.time() - self.train_time_start) / (3600 * self.args.time), 1.0)
        for group in self.optimizer.param_groups:
            group["lr"] = self.args.lr0 * schedule(gone, self.ema.updates + 1)
        self.ema.decay = _kept
        super().optimizer_step()

    def preprocess_batch(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return the batch with its pictures in that format."""
        batch = super().preprocess_batch(batch)
        batch["img"] = batch["img"].contiguous(memory_format=torch.channels_last)
        return batch


class Trainer(InFormat, OBBTrainer):
    """Trains a `QuickOBB`; from `exported` if it is given.

    `exported` is an ONNX file of the shipped detector's network, with its classes or the first of
    them.
    """

    def __init__(self, *args: Any, exported: Path | None = None, **kwargs: Any) -> None:
        self._exported = exported
        super().__init__(*args, **kwargs)

    def get_model(self, cfg: Any = None, weights: Any = None, verbose: bool = True) -> OBBModel:
        """Return the network with the weights of a checkpoint, an exported file, or none."""
        net = QuickOBB(  # type: ignore[no-untyped-call]
            cfg, nc=self.data["nc"], ch=self.data["channels"], verbose=verbose
        )
        self.set_model_names_for_load(net)  # type: ignore[no-untyped-call]
        if weights:
            net.load(weights)  # type: ignore[no-untyped-call]
        if self._exported is not None:
            kinds = max(self.data["nc"], _kinds_in(self._exported))
            known = QuickOBB(cfg, nc=kinds, ch=self.data["channels"], verbose=False)  # type: ignore[no-untyped-call]
            restore(known, self._exported, _sample(Path(self.data["train"])))
            # All but the last layers of the classes, where these are others than the exported.
            net.load(known)  # type: ignore[no-untyped-call]
        return net


class BoxTrainer(InFormat, DetectionTrainer):
    """Trains a `QuickBoxes`; a nano begins with the first layers of the shipped detector."""

    def get_model(self, cfg: Any = None, weights: Any = None, verbose: bool = True) -> Any:
        """Return the network with the weights of a checkpoint, or with those of our detector."""
        net = QuickBoxes(cfg, nc=self.data["nc"], ch=self.data["channels"], verbose=verbose)  # type: ignore[no-untyped-call]
        if weights:
            net.load(weights)  # type: ignore[no-untyped-call]
        elif str(self.args.model).startswith("yolo11n"):
            ours = packaged("detector")
            known = QuickOBB("yolo11n-obb.yaml", nc=_kinds_in(ours), verbose=False)  # type: ignore[no-untyped-call]
            restore(known, ours, _sample(Path(self.data["train"])))
            net.load(known)  # type: ignore[no-untyped-call]
        return net


class CornersTrainer(InFormat, PoseTrainer):
    """Trains a `QuickPose`; there is no exported file to go on from."""

    def __init__(self, *args: Any, exported: Path | None = None, **kwargs: Any) -> None:
        if exported is not None:
            raise ValueError(f"{exported}: keypoints are trained from nothing")
        super().__init__(*args, **kwargs)

    def get_model(self, cfg: Any = None, weights: Any = None, verbose: bool = True) -> PoseModel:
        """Return the network with the weights of a checkpoint, or none."""
        shape = self.data["kpt_shape"]
        net = QuickPose(  # type: ignore[no-untyped-call]
            cfg, nc=self.data["nc"], ch=self.data["channels"], data_kpt_shape=shape, verbose=verbose
        )
        self.set_model_names_for_load(net)  # type: ignore[no-untyped-call]
        if weights:
            net.load(weights)  # type: ignore[no-untyped-call]
        return net


def _kept(steps: int) -> float:
    """Return the share of the running average that a step leaves: few, while there are few."""
    return min(AVERAGED, (1 + steps) / (10 + steps))


def _kinds_in(exported: Path) -> int:
    """Return how many kinds an exported detector knows."""
    notes = {note.key: note.value for note in onnx.load(str(exported)).metadata_props}
    return len(notes["labels"].split())


def _sample(folder: Path) -> Tensor:
    """Return some of the pictures to train on, N x 3 x H x W, RGB, 0 to 1."""
    files = sorted(folder.glob("*.jpg"))[:SAMPLE]
    pictures = [np.asarray(cv2.imread(str(path)))[..., ::-1] for path in files]
    return torch.from_numpy(np.stack(pictures).transpose(0, 3, 1, 2).astype(np.float32) / 255)
