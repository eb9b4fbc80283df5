"""In how many bits networks are trained."""

from __future__ import annotations

import torch

# A processor multiplies bfloat16 with one of these. One that has none works it out in 32 bits, and
# takes seven times as long (a step of the mouth's network on an EPYC without AVX-512).
_BFLOAT16 = ("avx512_bf16", "amx_bf16")


def quick(device: str, *, enabled: bool = True) -> torch.autocast:
    """Return the context in which layers run in bfloat16, where that is quicker than 32 bits."""
    known = {} if device != "cpu" else torch.cpu.get_capabilities()
    able = device != "cpu" or any(known.get(name) for name in _BFLOAT16)
    return torch.autocast(device, torch.bfloat16, enabled=enabled and able)
