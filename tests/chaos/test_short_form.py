"""The short form of `make chaos`: all parts keep their limits, and the command reports truly."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import tests.chaos.__main__ as chaos
from tests.chaos.outcome import LimitBrokenError, demand_same
from tests.chaos.parts import PARTS, Part

ROOT = Path(__file__).parents[2]
SMALL = ("tampering of a record", "tampering with the key")  # parts of a second each


# Parts whose limits are seconds of a quiet machine: a busy one breaks them.
TIMED = frozenset({"camera", "board-speed"})


@pytest.mark.nightly
@pytest.mark.slow
def test_every_part_keeps_its_limits() -> None:
    """One command runs all but the timed ones and ends with a row for each, none of them broken."""
    names = [name for name in PARTS if name not in TIMED]
    words = ["--scale", "0.02", "--jobs", "2", "--minutes", "9"]
    command = [sys.executable, "-m", "tests.chaos", *names, *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    rows = done.stdout.rpartition("\n\n")[2]
    assert done.returncode == 0, rows
    assert [name for name in names if f"\n{name} " not in rows] == []


@pytest.mark.nightly
def test_part_that_fails_does_not_stop_the_next(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A part that crashes has its row, the next one runs, and the exit code tells."""
    monkeypatch.setattr(chaos, "scaled", lambda part, _: "?" if part is PARTS[SMALL[0]] else 5)
    assert chaos.main(list(SMALL)) == 1
    first, second = capsys.readouterr().out.splitlines()[-2:]
    assert "BROKEN: ended by itself" in first
    assert second.split("|")[1].strip() == "5"
    assert "BROKEN" not in second


@pytest.mark.nightly
def test_part_that_hangs_is_ended(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A part that is over its time is ended, and told."""
    monkeypatch.setattr(chaos, "SLACK_S", -1000.0)
    assert chaos.main(["clock"]) == 1
    assert "over its time" in capsys.readouterr().out.splitlines()[-1]


def test_part_without_time_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    """What was not tried because the hour was over counts as broken."""
    assert chaos.main([SMALL[0], "--minutes", "0"]) == 1
    assert "the time was over" in capsys.readouterr().out.splitlines()[-1]


@pytest.mark.nightly
def test_interrupt_prints_the_table_so_far() -> None:
    """Ctrl-C ends what is at work and prints what is known."""
    command = [sys.executable, "-m", "tests.chaos", SMALL[0], "clock", "--scale", "0.02"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"{SMALL[0]}:\n"
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    assert process.returncode == 130
    assert f"\n{SMALL[0]} " in rest
    assert "\nclock " not in rest


@pytest.mark.parametrize(
    ("heard", "counts"),
    [
        ([1, 3], (1, 0, 0)),
        ([1, 2, 2, 3], (0, 1, 0)),
        ([1, 2, 4], (0, 0, 1)),
        ([2, 1, 3], (0, 0, 1)),
    ],
    ids=["lost", "doubled", "wrong", "out of order"],
)
def test_what_differs_is_counted(heard: list[int], counts: tuple[int, int, int]) -> None:
    """A result that is lost, doubled, changed or moved is each counted as that."""
    wanted = [{"coup": number} for number in (1, 2, 3)]
    with pytest.raises(LimitBrokenError) as broken:
        demand_same([{"coup": number} for number in heard], wanted, "results")
    assert tuple(broken.value.counts[name] for name in ("lost", "doubled", "wrong")) == counts


def test_scale_leaves_the_least() -> None:
    """However small the scale, a part does something."""
    part = Part(lambda *_: None, 500, 5, 1, ())  # type: ignore[arg-type]
    assert [chaos.scaled(part, scale) for scale in (1.0, 0.02, 0.0)] == [500, 10, 5]
