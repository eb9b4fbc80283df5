"""What the measuring commands are given."""

import argparse
from pathlib import Path

import pytest

from models.networks.model_card import checkpoint_file


def test_checkpoint_file_must_be_there(tmp_path: Path) -> None:
    """A clone has no checkpoints: that is said, with the path, before anything is made."""
    path = tmp_path / "net.pt"
    with pytest.raises(argparse.ArgumentTypeError, match=r"net\.pt: no checkpoint; train first"):
        checkpoint_file(str(path))
    path.touch()
    assert checkpoint_file(str(path)) == path
