"""Ask the kernel whether a time service keeps this machine's clock; needs no rights, no network."""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass

UNSYNCHRONISED = 0x0040  # STA_UNSYNC
NANOSECONDS = 0x2000  # STA_NANO
ERROR_STATE = 5  # TIME_ERROR


class _Timex(ctypes.Structure):
    """The kernel's `struct timex`: the first fields by name, the rest as room."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_char * 256),
    )


@dataclass(frozen=True, slots=True)
class TimeSync:
    """The state of the clock; `None` for what the kernel does not know.

    `offset_ms` is what the time service still has to correct; `error_ms` bounds how wrong the clock
    may be, and means something only while it is synchronised.
    """

    synchronised: bool | None = None
    offset_ms: float | None = None
    error_ms: float | None = None

    def values(self) -> dict[str, object]:
        """Return it as it stands in `health`."""
        return {
            "synchronised": self.synchronised,
            "offset_ms": self.offset_ms,
            "error_ms": self.error_ms,
        }


def time_sync() -> TimeSync:
    """Ask the kernel; nothing is known on other systems, or where asking is forbidden."""
    if not sys.platform.startswith("linux"):
        return TimeSync()
    state = _Timex()
    answer = ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(state))
    if answer < 0:
        return TimeSync()
    if answer == ERROR_STATE or state.status & UNSYNCHRONISED:
        return TimeSync(synchronised=False)
    per_ms = 1e6 if state.status & NANOSECONDS else 1e3
    offset, error = state.offset / per_ms, state.maxerror / 1e3
    return TimeSync(synchronised=True, offset_ms=round(offset, 3), error_ms=round(error, 3))
