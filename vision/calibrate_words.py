"""What can be written after `shoe-reader calibrate`: pairs of points, places, numbers.

Knows how they are written, not what is done with them.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable


def pair(text: str) -> tuple[float, float, float, float]:
    """Read a point in the picture and on the table, x,y=x,y."""
    number = r"\s*(-?\d+(?:\.\d+)?)\s*"
    match = re.fullmatch(f"{number},{number}={number},{number}", text)
    if not match:
        raise argparse.ArgumentTypeError(
            f"'{text}' is no pair; write pixels=mm as 812,400=350,262.5"
        )
    x, y, table_x, table_y = map(float, match.groups())
    return x, y, table_x, table_y


def place(text: str) -> tuple[str, tuple[float, ...]]:
    """Read a place: its name, its middle in the picture and, at will, a direction."""
    name, _, numbers = text.partition("=")
    try:
        values = tuple(float(part) for part in numbers.split(","))
    except ValueError:
        values = ()
    if len(values) not in {2, 3}:
        raise argparse.ArgumentTypeError(
            f"'{text}' is no place; write PUNTO_1=812,400 or =812,400,90"
        )
    return name.strip().upper(), values


def number(least: float) -> Callable[[str], float]:
    """Return the reading of a number from `least` to 1000."""

    def read(text: str) -> float:
        value = float(text)
        if not least <= value <= 1000:
            raise argparse.ArgumentTypeError(f"{text} is out of range; {least:g} to 1000")
        return value

    return read
