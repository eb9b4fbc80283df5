"""Restore weights from an exported ONNX file, so that training goes on from what is shipped.

Export folds each batch normalisation into the convolution before it. Here the convolutions get the
folded weights and each normalisation is set so that, on the pictures given, it changes nothing.
A wider network takes over the weights of a narrower one and gives the same answers until it learns
more. A normalisation that no convolution precedes is in the file as it is.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor, nn

WEIGHTED = {"Conv", "Gemm"}


@torch.no_grad()
def restore(net: nn.Module, exported: Path, pictures: Tensor) -> None:
    """Give `net` the weights of an ONNX file exported from one like it, or a narrower one.

    `pictures` (N x channels x H x W, 0 to 1) are typical input: the normalisations take their
    statistics from them. ValueError if the file's layers are not those of `net`.
    """
    net.eval()
    layers = _layers_in_order(net, pictures[:1])
    stored = _weights_in_order(exported)
    if not _alike([tuple(layer.weight.shape) for layer in layers], [w.shape for w, _ in stored]):
        raise ValueError(f"{exported}: its layers are not those of the network to be trained")
    norms = _norms_by_layer(net)
    for layer, (weight, bias) in zip(layers, stored, strict=True):
        _take(layer, torch.from_numpy(weight))
        norm = norms.get(id(layer))
        target = layer.bias if norm is None else norm.bias
        if norm is not None:
            norm.running_mean.zero_()  # type: ignore[union-attr]
            norm.running_var.fill_(1 - norm.eps)  # type: ignore[union-attr]
            norm.weight.fill_(1.0)
        if target is not None and bias is not None:
            target[: len(bias)] = torch.from_numpy(bias)
    _take_unfolded(net, exported)
    _settle(net, list(norms.values()), pictures)


def _alike(wanted: list[tuple[int, ...]], stored: list[tuple[int, ...]]) -> bool:
    """Whether the layers are the same ones, none of them narrower than what is stored."""
    return len(wanted) == len(stored) and all(
        len(wide) == len(narrow) and wide[2:] == narrow[2:] and min(np.subtract(wide, narrow)) >= 0
        for wide, narrow in zip(wanted, stored, strict=True)
    )


def _take(layer: nn.Conv2d | nn.Linear, weight: Tensor) -> None:
    """Set the weights stored for a layer; what is new of it adds nothing to what was there."""
    # A linear layer behind features that are pooled twice has the new ones behind each pooling.
    pools = 2 if isinstance(layer, nn.Linear) and layer.weight.shape != weight.shape else 1
    mine, given = (torch.unflatten(tensor, 1, (pools, -1)) for tensor in (layer.weight, weight))
    outputs, _, inputs = given.shape[:3]
    mine[:outputs] = 0
    mine[:outputs, :, :inputs] = given


def _take_unfolded(net: nn.Module, exported: Path) -> None:
    """Set the normalisations that the file has under their own names."""
    stored = {
        v.name: numpy_helper.to_array(v).copy() for v in onnx.load(exported).graph.initializer
    }
    for name, module in net.named_modules():
        if isinstance(module, nn.BatchNorm2d) and f"{name}.running_mean" in stored:
            own = [key for key in module.state_dict() if f"{name}.{key}" in stored]
            values = {key: torch.from_numpy(stored[f"{name}.{key}"]) for key in own}
            module.load_state_dict(values, strict=False)


def _layers_in_order(net: nn.Module, picture: Tensor) -> list[nn.Conv2d | nn.Linear]:
    """Return the layers with weights in the order in which they run, as in the exported graph."""
    order: list[nn.Conv2d | nn.Linear] = []
    hooks = [
        module.register_forward_hook(lambda module, *_: order.append(module))
        for module in net.modules()
        if isinstance(module, (nn.Conv2d, nn.Linear))
    ]
    net(picture)
    for hook in hooks:
        hook.remove()
    return order


def _weights_in_order(exported: Path) -> list[tuple[np.ndarray, np.ndarray | None]]:
    graph = onnx.load(str(exported)).graph
    stored = {entry.name: numpy_helper.to_array(entry) for entry in graph.initializer}
    found = []
    for node in graph.node:
        if node.op_type in WEIGHTED:
            parts = [np.array(stored[name]) for name in node.input[1:]]
            found.append((parts[0], parts[1] if len(parts) > 1 else None))
    return found


def _norms_by_layer(net: nn.Module) -> dict[int, nn.BatchNorm2d]:
    """Return each normalisation by the convolution that is registered just before it."""
    found: dict[int, nn.BatchNorm2d] = {}
    last: nn.Module | None = None
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d) and isinstance(last, nn.Conv2d):
            found[id(last)] = module
        if not list(module.children()):
            last = module
    return found


def _settle(net: nn.Module, norms: list[nn.BatchNorm2d], pictures: Tensor) -> None:
    """Set every normalisation to what it sees, its scale and shift undoing the change."""
    seen: dict[int, Tensor] = {}
    hooks = [
        norm.register_forward_pre_hook(lambda m, inputs: seen.update({id(m): inputs[0]}))
        for norm in norms
    ]
    # One pass is enough: nothing changes what the layers behind see.
    net(pictures)
    for hook in hooks:
        hook.remove()
    for norm in norms:
        values = seen[id(norm)]
        mean, variance = values.mean((0, 2, 3)), values.var((0, 2, 3), correction=0)
        norm.running_mean.copy_(mean)  # type: ignore[union-attr]
        norm.running_var.copy_(variance)  # type: ignore[union-attr]
        norm.weight.copy_((variance + norm.eps).sqrt())
        norm.bias.add_(mean)
