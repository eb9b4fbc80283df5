"""The two kinds of error that are not this program's: their words tell a person what to do.

Any other exception that escapes is a defect of the program.
"""

from __future__ import annotations


class ShoeReaderError(Exception):
    """An error with a message meant for people; it names what is wrong, where, and the cure."""

    exit_code = 1


class ConfigurationError(ShoeReaderError):
    """The program was given something wrong: bad usage, table file or model file (exit 2)."""

    exit_code = 2


class OutsideError(ShoeReaderError):
    """The outside world failed: camera, broker, disk (exit 3)."""

    exit_code = 3
