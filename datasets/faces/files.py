"""Pictures that the commands of this package write."""

from __future__ import annotations

import argparse
from pathlib import Path

import cv2

from vision.errors import ConfigurationError

from .glyphs import Image


def picture(text: str) -> Path:
    """Return the path of a picture to be written, for `argparse`: checked before anything is made.

    ArgumentTypeError if OpenCV writes no such files or the folder is not there.
    """
    path = Path(text)
    if not cv2.haveImageWriter(text):
        raise argparse.ArgumentTypeError(f"{text}: no picture's name; end it in .png or .jpg")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"{path.parent}: no folder; make it first")
    return path


def save(path: Path, image: Image) -> None:
    """Write a picture; ConfigurationError if it cannot be."""
    if not cv2.imwrite(str(path), image):
        raise ConfigurationError(f"{path}: cannot be written; is the folder yours, the disk full?")
