"""Layers are trained in bfloat16 only where that is quicker."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs the train extra")

pytestmark = pytest.mark.train


@pytest.mark.parametrize(("able", "bits"), [(False, "float32"), (True, "bfloat16")])
def test_processor_without_bfloat16_trains_in_32_bits(
    monkeypatch: pytest.MonkeyPatch, able: bool, bits: str
) -> None:
    """Worked out, bfloat16 takes seven times as long."""
    from models.networks.precision import quick

    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": able, "avx2": True})
    layer = torch.nn.Linear(2, 2)
    with quick("cpu"):
        assert layer(torch.ones(1, 2)).dtype == getattr(torch, bits)
    with quick("cpu", enabled=False):
        assert layer(torch.ones(1, 2)).dtype == torch.float32
