"""The two kinds of error that are not ours: the words go to the person who can mend it.

Anything else that escapes is a defect of this program.
"""

from __future__ import annotations


class ShoeReaderError(Exception):
    """An error with a message meant for people; it names what is wrong, where, and the cure."""

    exit_code = 1


class ConfigurationError(ShoeReaderError):
    """What we were told to do makes no sense: bad usage, table file or model file (exit 2)."""

    exit_code = 2


class OutsideError(ShoeReaderError):
    """The outside world failed: camera, broker, disk (exit 3)."""

    exit_code = 3
