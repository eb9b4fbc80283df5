"""What a source yields: pictures with their times, and outages.

Knows nothing of where they come from.
"""

from __future__ import annotations

from dataclasses import dataclass

from vision.sight.geometry.frame import Frame


@dataclass(frozen=True, slots=True, eq=False)
class Shot:
    """A frame and the monotonic instant (seconds) at which it was there to be looked at."""

    frame: Frame
    taken_s: float


@dataclass(frozen=True, slots=True)
class Outage:
    """There is no picture at Unix time `at` (ms), for `reason`, a short phrase; said repeatedly.

    `since` is the Unix time (ms) of the last picture that was good.
    """

    at: int
    reason: str
    since: int = 0
