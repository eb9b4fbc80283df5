"""Shoe Reader: cards in front of a camera become coups on a board."""

import os

# Read by the picture library as it is loaded: no file may ask for more memory than any camera does.
os.environ.setdefault("OPENCV_IO_MAX_IMAGE_PIXELS", str(1 << 27))

__version__ = "0.1.0"
