"""The parts of the fault injection: what each runs, how much of it is the whole, what it counts.

    python -m tests.chaos.parts NAME COUNT SECONDS RESULT

is how `tests.chaos` runs one, in a process of its own; the outcome goes to the file RESULT.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.camera.video_servers import has_rtsp_server
from tests.chaos import (
    boards,
    boards_speed,
    boards_tries,
    camera,
    catch_up,
    clocks,
    disks,
    fuzz_media,
    kills,
    outages,
    power_loss,
    proofs,
    soak,
    tampering,
    test_security_board_role,
    test_security_fuzz,
)
from tests.chaos.outcome import Done, LimitBrokenError
from tests.mqtt.mqtt_tools import MOSQUITTO

COLUMNS = ("lost", "doubled", "wrong", "late")
RECORD = ("lost", "doubled", "wrong")
DISKS_A_CUT = 3  # tests.chaos.power_loss leaves so many disks at each moment

# What a part needs on this machine, and whether it is there.
TOOLS = {
    "mosquitto": MOSQUITTO is not None,
    "chromium": Path("/usr/bin/chromium").exists(),
    "GStreamer's RTSP server": has_rtsp_server(),
    "cc": shutil.which("cc") is not None,
}


@dataclass(frozen=True, slots=True)
class Part:
    """A fault: `run` takes a count and the seconds after which it begins no further try.

    `whole` is the count at scale 1, `least` that of the shortest form; `seconds` is its share of
    the hour; `checks` are the columns of the table whose limit it holds at zero.
    """

    run: Callable[[int, float], Done]
    whole: int
    least: int
    seconds: float
    checks: tuple[str, ...]
    needs: tuple[str, ...] = ()


def told(run: Callable[[int], str]) -> Callable[[int, float], Done]:
    """Return as a part's `run` what takes a count alone; it is that many tries."""
    return lambda count, _seconds: Done(count, run(count))


def once(run: Callable[[], str | Done]) -> Callable[[int, float], Done]:
    """Return as a part's `run` what has one size."""

    def run_once(_count: int, _seconds: float) -> Done:
        done = run()
        return done if isinstance(done, Done) else Done(1, done)

    return run_once


class Tally:
    """Counts what came of the tests, for `suite`; a plug-in of pytest."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take in the report of a test's phase."""
        if report.failed:
            self.failed.append(report.nodeid)
        elif report.when == "call" and report.passed:
            self.passed += 1


def suite(path: str, short: str) -> Part:
    """Return the part of tests that attack already: each is a try, and a failed one is wrong.

    The whole, at a count of 2, is all of the file; at 1 it is those that `short` selects.
    """

    def run_tests(count: int, _seconds: float) -> Done:
        tally = Tally()
        words = [path, "-p", "no:cacheprovider", *(["-k", short] if count == 1 else [])]
        pytest.main(words, plugins=[tally])
        if tally.failed:
            raise LimitBrokenError("failed: " + ", ".join(tally.failed), wrong=len(tally.failed))
        assert tally.passed, f"no test ran of {path}"
        return Done(tally.passed, f"{tally.passed} tests passed of {path}")

    return Part(run_tests, 2, 1, 60, ("wrong",))


def cut_power(count: int, seconds: float) -> Done:
    """Leave so many disks by cutting the power."""
    return power_loss.run(-(-count // DISKS_A_CUT), seconds)


def tamper(deed: tampering.Deed) -> Part:
    """Return the part of one way to tamper with a signed log."""
    return Part(lambda n, s: tampering.run(deed, n, s), 1000, 20, 45, ("wrong",))


def outage(run: Callable[[int], str]) -> Part:
    """Return the part of one outage of the broker; its count is the coups played through it."""
    return Part(told(run), 120, 12, 60, RECORD, ("mosquitto",))


def media(kind: str, whole: int, least: int, seconds: float) -> Part:
    """Return the part of one kind of damaged file."""
    return Part(lambda n, s: fuzz_media.run_one(kind, n, s), whole, least, seconds, ("wrong",))


def videos(kind: str, whole: int, seconds: float, *needs: str) -> Part:
    """Return the part of one kind of camera; each round has every fault once."""
    return Part(lambda n, s: camera.run(kind, n, s), whole, 1, seconds, ("wrong", "late"), needs)


def spoiled(count: int, seconds: float) -> Done:
    """Try orders and files; the time is shared by the five kinds of input."""
    return test_security_fuzz.run(count, seconds / 5)


def at_speed(messages: int, _seconds: float) -> Done:
    """Measure the boards with so many messages, and ten times as many coups."""
    return Done(messages, boards_speed.run(messages, 10 * messages))


BROWSER = ("mosquitto", "chromium")
PARTS: dict[str, Part] = {
    "kills": Part(kills.run, 500, 5, 420, RECORD),
    "power-loss": Part(cut_power, 1000, 6, 240, ("lost",), ("cc",)),
    "evidence": Part(proofs.run, 100, 4, 180, ("lost", "wrong")),
    "tampering of a record": tamper(tampering.one_record),
    "tampering with the chain made anew": tamper(tampering.chain_anew),
    "tampering with the key": tamper(tampering.with_the_key),
    "broker away": outage(outages.away),
    "broker restarted, lasting": outage(lambda n: outages.restarted(n, lasting=True)),
    "broker restarted, forgetful": outage(lambda n: outages.restarted(n, lasting=False)),
    "broker refuses": outage(outages.refused),
    "broker slow": outage(outages.slow),
    "broker half-open": outage(outages.half_open),
    "broker mute or small": suite("tests/mqtt/test_link_faults.py", "limit or says_nothing"),
    "catch-up": Part(told(catch_up.run), 70, 12, 120, ("late",), ("mosquitto",)),
    "disk full": Part(once(disks.full), 1, 1, 30, RECORD),
    "disk read-only": Part(once(disks.read_only), 1, 1, 10, ("lost",)),
    "disk slow": Part(once(disks.slow), 1, 1, 10, ("wrong",)),
    "disk turns bytes over": Part(disks.flipped, 300, 6, 90, ("wrong",)),
    "clock": Part(lambda n, _: clocks.run(n), 120, 4, 90, ("wrong", "late")),
    "camera http": videos("http", 20, 400),
    "camera rtsp": videos("rtsp", 10, 200, "GStreamer's RTSP server"),
    "media images": media("images", 90_000, 200, 150),
    "media videos": media("videos", 8_000, 30, 90),
    "media models": media("models", 2_000, 4, 90),
    "orders": Part(spoiled, 100_000, 300, 200, ("wrong", "late")),
    "exports": suite("tests/audit/test_export.py", "touched or zip"),
    "board": Part(once(test_security_board_role.run), 1, 1, 60, ("wrong",), ("mosquitto",)),
    "boards": Part(told(boards.run), 30, 4, 120, ("late",), BROWSER),
    "board-speed": Part(at_speed, 300, 14, 300, (), BROWSER),
    "board-tries": Part(once(boards_tries.run), 1, 1, 60, ("wrong",)),
    "connections": suite("tests/board/test_connections.py", "idle or head"),
    "log-ins": suite("tests/board/test_identity.py", "elsewhere or one_at_a_time"),
    "soak": Part(told(soak.run), 3010, 140, 180, RECORD),
    "opening": Part(told(soak.opening), 1_000_000, 20_000, 60, ("late",)),
}  # fmt: skip


def main(name: str, count: int, seconds: float, result: Path) -> None:
    """Run one part; write what came of it."""
    part, began_s = PARTS[name], time.monotonic()
    counts: dict[str, int | None] = dict.fromkeys(part.checks)
    done, kept = None, False
    try:
        done = part.run(count, seconds)
        words, kept, counts = done.words, True, dict.fromkeys(part.checks, 0)
    except LimitBrokenError as error:
        words, counts = (
            str(error),
            counts | {k: n for k, n in error.counts.items() if n is not None},
        )
    except Exception as error:  # noqa: BLE001 - whatever it is, it is this part's failure
        traceback.print_exc()
        words = f"{type(error).__name__}: {error}"
    outcome = {"kept": kept, "tries": done and done.tries, "counts": counts, "words": words,
               "took_s": time.monotonic() - began_s}  # fmt: skip
    result.write_text(json.dumps(outcome), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4]))
