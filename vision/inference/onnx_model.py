"""ONNX models and their cards: opened only if the file is the one that the card describes.

A model is two files of one name: `NAME.onnx` and `NAME.toml`, the card with the file's SHA-256.
Knows nothing of what the numbers mean.
"""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from vision.errors import ConfigurationError

Tensor = NDArray[np.float32]

# ONNX Runtime's own errors have no common base short of `Exception`.
_ONNX_ERRORS: tuple[type[Exception], ...] = (
    RuntimeError,
    ValueError,
    *(
        error
        for error in vars(ort.capi.onnxruntime_pybind11_state).values()
        if isinstance(error, type) and issubclass(error, Exception)
    ),
)


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A loaded network: `model(tensor)` runs it; `settings` is the card's `[settings]` table."""

    name: str
    sha256: str
    settings: dict[str, float]
    labels: tuple[str, ...]
    session: ort.InferenceSession

    def __call__(self, tensor: Tensor) -> Tensor:
        """Run the network on one input tensor and return its first output."""
        return self.run(tensor, self.outputs[0])[0]

    def run(self, tensor: Tensor, *names: str) -> tuple[Tensor, ...]:
        """Run the network on one input tensor and return the outputs named."""
        return tuple(self.session.run(list(names), {self.session.get_inputs()[0].name: tensor}))

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the network's outputs."""
        return tuple(output.name for output in self.session.get_outputs())


def packaged(name: str) -> Path:
    """Return the path of a model of the program's own: `detector`, `corners`, `classifier`."""
    inside = Path(str(files("vision"))) / "models" / f"{name}.onnx"
    return inside if inside.exists() else Path(__file__).parents[2] / "models" / f"{name}.onnx"


def load(path: Path, *, threads: int = 1) -> Model:
    """Open a model and check it against its card.

    ConfigurationError names the file and the cure if either file is missing, unreadable, not an
    ONNX model, or if the SHA-256 differs from the card's.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"{path}: cannot read the model ({error.strerror}); give the path of an .onnx file "
            "or leave the key empty to use the packaged one"
        ) from None
    card = _read_card(path.with_suffix(".toml"))
    digest = hashlib.sha256(data).hexdigest()
    if card.get("sha256") != digest:
        raise ConfigurationError(
            f"{path}: SHA-256 is {digest[:16]}…, but its card {path.with_suffix('.toml').name} "
            f"says {str(card.get('sha256'))[:16]}…; the file is damaged or not the one that was "
            "measured. Copy both files again from the release"
        )
    settings = {k: float(v) for k, v in card.get("settings", {}).items()}
    labels = tuple(str(label) for label in card.get("labels", ()))
    return Model(path.stem, digest, settings, labels, _open(path, data, threads))


def _read_card(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise ConfigurationError(
            f"{path}: the model card is missing; every model needs its card beside it"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path}: cannot read the model card: {error}") from None


def _open(path: Path, data: bytes, threads: int) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Idle threads that spin would burn the core that decodes the video.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    try:
        session = ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except _ONNX_ERRORS as error:
        raise ConfigurationError(f"{path}: not a usable ONNX model: {_first_line(error)}") from None
    return session


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:200]
