"""How fast training pictures are made."""

import pytest

from datasets.training.throughput import KINDS, rate


@pytest.mark.parametrize("kind", KINDS)
def test_rate_counts_what_is_made(kind: str) -> None:
    """Every kind is made, at some rate."""
    assert rate(kind, 0.05, 1) > 0
