"""Report to systemd that a service is ready and alive (sd_notify), where it asks for that."""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Callable, Mapping

# How many times the reader reports within the time that systemd allows: with three, one that was
# late by a slow write is not ended. Fewer risks that, more only costs system calls.
REPORTS_A_LIMIT = 3

log = logging.getLogger(__name__)


class Watchdog:
    """Reports to the socket that the environment names; without one, nothing is sent."""

    def __init__(
        self,
        environment: Mapping[str, str] = os.environ,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Read where to report, and how often; the clock is monotonic, in seconds."""
        self._address = environment.get("NOTIFY_SOCKET", "")
        limit_us = environment.get("WATCHDOG_USEC", "")
        self._every_s = int(limit_us) / 1e6 / REPORTS_A_LIMIT if limit_us.isdigit() else 0.0
        self._clock = clock
        self._due_s = 0.0

    def ready(self) -> None:
        """Report that the service works."""
        self._send("READY=1")

    def alive(self) -> None:
        """Report that the loop goes round, as often as systemd wants to hear it."""
        now_s = self._clock()
        if self._every_s and now_s >= self._due_s:
            self._due_s = now_s + self._every_s
            self._send("WATCHDOG=1")

    def say(self, words: str) -> None:
        """Report in one line how the service stands, which `systemctl status` shows."""
        self._send(f"STATUS={words}")

    def stopping(self) -> None:
        """Report that the service ends in order."""
        self._send("STOPPING=1")

    def _send(self, words: str) -> None:
        if not self._address:
            return
        # A name that begins with @ is of Linux's abstract sockets.
        address = "\0" + self._address[1:] if self._address[0] == "@" else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as wire:
                wire.sendto(words.encode(), address)
        except OSError as error:
            log.warning("systemd does not hear us: %s; see NotifyAccess= in the unit", error)
