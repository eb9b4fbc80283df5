"""Be a newcomer: start the demo in a terminal, rule on its mis-deal in the browser, and close it.

    python -m tests.browser.newcomer [OUT]

Prints after how many seconds the board was there, the mis-deal was at the desk, and it was ruled on
and closed; writes pictures to OUT where it is given. The demo is ended as people do, by Ctrl-C.
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any

from playwright.sync_api import sync_playwright

from tests.browser.conftest import CHROMIUM
from tests.browser.screens import ROOT
from vision.commands.demo import FAULT_EVERY

# In a session of its own, so that a Ctrl-C in its terminal reaches it and nothing else.
COMMAND = ["setsid", "--ctty", sys.executable, "-m", "vision.cli", "demo"]
WAIT_MS = 600_000  # a loaded machine reads the film slower than it was filmed


class Demo:
    """The demo in a terminal, and what it has printed."""

    def __init__(self) -> None:
        """Start it."""
        own, terminal = pty.openpty()
        self.process = subprocess.Popen(
            COMMAND, cwd=ROOT, stdin=terminal, stdout=terminal, stderr=terminal
        )
        os.close(terminal)
        self._terminal = own
        self.text = ""
        Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        with suppress(OSError):  # the terminal has gone with the program
            while data := os.read(self._terminal, 4096):
                self.text += data.decode("utf-8", "replace")

    def found(self, pattern: str) -> str:
        """Wait until a pattern has been printed; return its group."""
        due_s = time.monotonic() + WAIT_MS / 1000
        while time.monotonic() < due_s and self.process.poll() is None:
            match = re.search(pattern, self.text)
            if match:
                return match[1]
            time.sleep(0.2)
        raise AssertionError(f"the demo never printed {pattern}:\n{self.text}")

    def stop(self) -> int:
        """Press Ctrl-C in the terminal; return the exit status."""
        os.write(self._terminal, b"\x03")
        return self.process.wait(60)


@contextmanager
def demo() -> Iterator[Demo]:
    """Run a demo, and end it whatever happens."""
    running = Demo()
    try:
        yield running
    finally:
        running.process.kill()
        running.process.wait()


def rule_and_close(page: Any, shot: Any) -> None:
    """Do what the second of the three things asks for, by what the page shows."""
    # A machine that is too slow says so in an alert of its own.
    alert = page.locator("#queue .alert", has_text=f"Coup {FAULT_EVERY}").filter(
        has_not_text="overloaded"
    )
    alert.first.click(timeout=WAIT_MS)
    shot("mis-deal")
    page.locator("[data-order=ack_alert]").click()
    page.locator("#facts").filter(has_text="inspector").wait_for(timeout=WAIT_MS)
    page.select_option("#actions form:has([data-order=rectify_alert]) select", "R1")
    page.locator("[data-order=rectify_alert]").click()
    page.locator("#reply").filter(has_text=": done").wait_for(timeout=WAIT_MS)
    shot("ruled")
    # It held a result, and bets with it: closing it needs words too.
    page.fill("#actions > label input", "tried in the demo")
    closing = page.locator("#actions form:has([data-order=close_alert])")
    closing.locator("select").select_option("training")
    closing.locator("button").click()
    page.locator("#reply").filter(has_text="Close: done").wait_for(timeout=WAIT_MS)
    shot("closed")


def main() -> None:
    """Walk the way, and print the seconds."""
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    began_s = time.monotonic()

    def say(what: str) -> None:
        print(f"{what} after {time.monotonic() - began_s:.0f} s", flush=True)

    with demo() as running, sync_playwright() as play:
        board = running.found(r"1\. See the table: (http\S+)")
        password = running.found(r"password (\w+)")
        page = play.chromium.launch(executable_path="/usr/bin/chromium", args=CHROMIUM).new_page(
            viewport={"width": 1440, "height": 900}
        )

        def shot(name: str) -> None:
            if out is not None:
                page.screenshot(path=out / f"demo-{name}.png")

        page.goto(board)
        page.locator("body:not(.stale)").wait_for(timeout=WAIT_MS)
        shot("board")
        say("the board is live")
        page.goto(f"{board}desk")
        page.fill("#name", "inspector")
        page.fill("#password", password)
        page.click("#enter")
        page.wait_for_url("**/desk*", timeout=WAIT_MS)
        rule_and_close(page, shot)
        say("the mis-deal is ruled on and closed")
        running.found(r"(the next shoe begins)")
        say("the next shoe is dealt")
        page.goto(f"{board}reports")
        page.locator("#figures td", has_text="Under-draw by Banco").wait_for(timeout=WAIT_MS)
        say("the mis-deal is in the reports")
        shot("reports")
        began_s = time.monotonic()
        status = running.stop()
        print(f"Ctrl-C: exit status {status} after {time.monotonic() - began_s:.1f} s")
        assert "Traceback" not in running.text, running.text


if __name__ == "__main__":
    main()
