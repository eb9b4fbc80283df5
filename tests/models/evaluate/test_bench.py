"""`bench` measures what it says: films in rhythm, lateness from the deciding card on, ratios."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from datasets.dealing.cycle import Cycle
from datasets.dealing.film_settings import look_for
from datasets.dealing.scenario import Scenario, with_changes
from datasets.dealing.simulate import rehearse
from datasets.dealing.table_places import Camera
from models.evaluate import bench
from models.evaluate.bench_tables import compared, tables

FPS = 10
EVERY_S = 20.0
LARGE = 300_000_000  # bytes held by the process that starts the measurement


@pytest.fixture(scope="module")
def film() -> Cycle:
    """Two coups in a small picture, one every 20 seconds."""
    look = look_for("test", 3, Camera((320, 180), 8.0, 0.0), fps=FPS)
    return Cycle(rehearse(with_changes(Scenario(), coups=2, seed=3), look), EVERY_S, 1.0)


def measured(ms: float) -> dict[str, Any]:
    """Return what a piece of work of a hundred frames reports that took so many ms a frame."""
    work = {"frames": 100, "processor_s": ms / 10}
    return {**work, "memory_mb": 90.0, "parts_s": {"gate": 0.05}, "looked": 20}


def found(reader_ms: float, decode_ms: float = 2.0) -> dict[str, Any]:
    """Return what a run of the command found."""
    film = {"decode": measured(decode_ms), "reader": measured(reader_ms)}
    return {
        "version": "1",
        "size": [1280, 720],
        "fps": 20,
        "load_before": 0.1,
        "films": dict.fromkeys(("still", "busy", "cycle"), film),
        "ultralytics": {"640": 100.0},
    }


def test_cycle_begins_a_coup_every_so_often_and_rests_between(film: Cycle) -> None:
    """The film lasts as long as its coups are apart, however quickly they are dealt."""
    assert film.starts_s == (1.0, 21.0, 41.0)
    assert film.frame_count == 41 * FPS
    second = film.show.acts[1]
    assert film.film_ms(1, round(1000 * second.start)) == 21_000


def test_cycle_shows_the_same_picture_while_it_rests(film: Cycle) -> None:
    """Between two coups nothing moves but the noise of the sensor."""
    frames = [frame for frame, _ in film.frames()]
    assert len(frames) == film.frame_count
    resting, dealt = frames[20 * FPS - 5], frames[3 * FPS]
    assert abs(frames[20 * FPS - 8].astype(int) - resting).mean() < 4
    assert abs(dealt.astype(int) - resting).max() > 60


def test_lateness_counts_from_the_deciding_card(film: Cycle) -> None:
    """A result is as late as it comes after the last card of its coup could be read."""
    began = 1000.0
    cards = film.show.truth()["cards"]
    last = max(card["face_ms"] for card in cards if card["coup"] == 1)
    heard = bench._Subscriber()
    heard.results[1] = began + film.film_ms(0, last) / 1000 + 0.25
    late = bench._lateness(film, heard, began)
    assert late["result"] == {
        "p50_ms": pytest.approx(250, abs=1), "p99_ms": pytest.approx(250, abs=1),
        "times": 1, "of": 2,
    }  # fmt: skip
    assert late["card"]["times"] == 0


def test_tables_give_frames_a_core_second_and_ratios() -> None:
    """Ten milliseconds a frame are a hundred frames, five times bare decoding at two."""
    text = tables(found(10.0))
    assert "| a still table | 2.00 | 10.00 | 100 | 5.00 |" in text
    assert "640 px: 100.0 ms; times the frames that this reader does: 10.0 on a still" in text


def test_compared_says_how_many_times_the_frames_and_takes_out_the_machine() -> None:
    """A machine of half the speed that reads as before is seen by the ratio to bare decoding."""
    text = compared(found(20.0, 4.0), found(10.0, 2.0))
    assert "10.00 -> 20.00 ms a frame, 0.50 times the frames" in text
    assert "5.00 -> 5.00 times bare decoding" in text


def test_memory_of_a_measurement_is_not_that_of_who_started_it() -> None:
    """A process started by a large one says what it held itself."""
    held = bytearray(LARGE)
    held[::4096] = b"x" * len(held[::4096])
    code = "from models.evaluate.bench_reading import most_memory_mb; print(most_memory_mb())"
    reported = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert 20 < float(reported.stdout) < LARGE / 1e6


@pytest.mark.nightly
def test_bench_in_its_short_form_measures_every_film(capsys: pytest.CaptureFixture[str]) -> None:
    """Films are dealt, decoded and read, and more than decoding is counted for reading."""
    words = ["--short", "--only-ours", "--no-latency", "--json", "--size", "640x360"]
    assert bench.main(words) == 0
    result = json.loads(capsys.readouterr().out)
    for name in ("still", "busy", "cycle"):
        film = result["films"][name]
        assert film["reader"]["frames"] == film["decode"]["frames"] > 0
        assert film["reader"]["processor_s"] > film["decode"]["processor_s"]
        assert film["reader"]["parts_s"]["gate"] > 0
