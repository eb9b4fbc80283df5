"""Measures the demo as a newcomer sees it: `python -m tests.chaos.demo`.

It starts `shoe-reader demo`, opens three pages of the board, and prints when the first card and the
first result of a coup were on them, in seconds from the start of the command, and the lines with
which the demo ends: its latencies, and how the reading compares with what was dealt. The film plays
in real time, so that it takes a minute and a half; beside it stands how loaded the machine was.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

PAGES = 3
TOPICS = (b'"coup/live"', b'"coup/result"')


def follow(port: int, began_s: float, seen: dict[bytes, float]) -> None:
    """Be a page of the board: note when each kind of message came first."""
    link = socket.create_connection(("127.0.0.1", port))
    link.sendall(b"GET /events/1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    rest = b""
    with suppress(OSError):
        while data := link.recv(65536):
            *lines, rest = (rest + data).split(b"\n")
            for topic in TOPICS:
                if any(topic in line for line in lines):
                    seen.setdefault(topic, time.monotonic() - began_s)


def lines_of(demo: subprocess.Popen[str]) -> Iterator[str]:
    """Yield what the demo prints."""
    assert demo.stdout is not None
    yield from demo.stdout


def main() -> None:
    """Run the demo once, and print."""
    began_s, seen = time.monotonic(), dict[bytes, float]()
    words = [sys.executable, "-m", "vision.cli", "demo"]
    with subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as demo:
        for line in lines_of(demo):
            found = re.match(r"board: +http://127\.0\.0\.1:(\d+)/", line)
            if found:
                for _ in range(PAGES):
                    arguments = (int(found[1]), began_s, seen)
                    threading.Thread(target=follow, args=arguments, daemon=True).start()
            if re.match("film:|.* frames in|a frame|from frame|of .* dealt", line):
                print(line.strip())
    print("on a page after, s: " + ", ".join(f"{k.decode()} {s:.1f}" for k, s in seen.items()))
    print(f"load average of {os.cpu_count()} cores: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
