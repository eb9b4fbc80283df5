"""A power cut at any moment loses nothing that was taken: the short form of the simulation."""

from __future__ import annotations

import shutil

import pytest

from tests.chaos import power_loss

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


def test_power_cut_loses_nothing_that_was_taken() -> None:
    """Log, messages, anchors and evidence, on disks as `fsync` allows them to be left."""
    assert "everything taken was there on each" in power_loss.run(8).words


def test_disk_that_lies_of_having_synced_is_found_out() -> None:
    """The simulation can fail: without syncs that hold, things are lost."""
    with pytest.raises(AssertionError):
        power_loss.run(8, lies=True)
