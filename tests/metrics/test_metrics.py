"""The figures of a run."""

from __future__ import annotations

import socket
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.mqtt.mqtt_tools import free_port
from vision.clock import TimeSync, time_sync
from vision.errors import OutsideError
from vision.metrics.counters import (
    Metrics,
    SightCounts,
    Spread,
    ask,
    durations,
    serve_figures,
    spread,
)

LABELS = {"site": "lisboa", "table": "7"}


class Reader:
    """Somebody whose figures are asked for."""

    def __init__(self, **health: object) -> None:
        self.health = health
        self.health_at_s = 0.0


def test_spread_is_by_nearest_rank() -> None:
    """p50 and p99 are durations that really happened."""
    assert spread([ms / 1000 for ms in range(1, 101)]) == Spread(50.0, 99.0, 100)


def test_spread_of_nothing_is_zero() -> None:
    """A run without events has no latencies and says so."""
    assert spread([]) == Spread(0.0, 0.0, 0)


def test_durations_forget_the_oldest() -> None:
    """Memory stays bounded on a run of months."""
    recent = durations(keep=3)
    recent.extend((0.9, 0.001, 0.002, 0.003))
    assert spread(recent) == Spread(2.0, 3.0, 3)


def test_summary_tells_frames_cards_and_latencies() -> None:
    """The closing summary has the figures that an engineer asks for."""
    metrics = Metrics(
        lambda: SightCounts(looked=30), frames=90, cards_out=5, cards_read=4, cards_unread=1
    )
    metrics.event.append(0.012)
    reported = metrics.summary()
    assert "90 frames" in reported
    assert "12 ms (p50)" in reported
    assert "5 cards out, 4 read, 1 declined" in reported


def test_health_tells_frames_in_looked_at_and_gated() -> None:
    """The rates are those of the last seconds and add up; what was declined is a share."""
    metrics = Metrics(lambda: SightCounts(looked=30), frames=90, cards_read=3, cards_unread=1)
    reported = metrics.health()
    rates = [float(str(reported[name])) for name in ("fps_in", "fps_looked", "fps_gated")]
    assert rates[0] == pytest.approx(rates[1] + rates[2], rel=0.01)
    assert rates[1] > 0
    assert reported["abstained"] == 0.25
    metrics._marks.append((metrics._marks[-1][0] - 10, 80, 29, 0, 0))
    metrics._marks.popleft()
    assert float(str(metrics.health()["fps_in"])) == pytest.approx(1.0, abs=0.2)


def test_health_rates_hold_while_sight_is_ahead_of_the_log() -> None:
    """No rate is negative, which a desk would refuse; what a live source skipped is said."""
    metrics = Metrics(lambda: SightCounts(looked=5), frames=1, skipped=3, damaged=2)
    metrics.age.append(0.05)
    reported = metrics.health()
    assert reported["fps_gated"] == 0
    assert float(str(reported["fps_damaged"])) == pytest.approx(
        2 * float(str(reported["fps_in"])), rel=0.1
    )
    assert float(str(reported["fps_skipped"])) == pytest.approx(
        3 * float(str(reported["fps_in"])), rel=0.1
    )
    assert reported["age_ms"] == {"p50": 50.0, "p99": 50.0}


def test_time_sync_is_what_the_kernel_says() -> None:
    """The clock is synchronised, or not, or nothing is known; figures come only with the first."""
    state = time_sync()
    assert isinstance(state, TimeSync)
    assert (state.offset_ms is None) == (state.synchronised is not True)


def test_figures_are_served_as_prometheus_reads_them() -> None:
    """Numbers and yes or no are there, by site and table; texts and what is unknown are not."""
    reader = Reader(
        frames=9, blind=True, fps=29.5, clock={"offset_ms": None, "error_ms": 4.0},
        canary={"complaint": "dark", "failures": 2},
    )  # fmt: skip
    with serve_figures(reader, "127.0.0.1", 0, LABELS) as port:
        assert port
        text = urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
        figures = ask("127.0.0.1", port)
    where = '{site="lisboa",table="7"}'
    assert f"shoe_reader_frames_total{where} 9.0" in text
    assert f"shoe_reader_blind{where} 1.0" in text
    assert "dark" not in text
    assert figures["canary_failures"] == 2
    assert figures["clock_error_ms"] == 4
    assert "clock_offset_ms" not in figures
    assert figures["health_age_s"] > 0


def test_figures_take_no_orders() -> None:
    """There is nothing to post to."""
    with serve_figures(Reader(frames=1), "127.0.0.1", 0, LABELS) as port:
        request = Request(f"http://127.0.0.1:{port}/metrics", data=b"x" * 100_000)
        with pytest.raises((HTTPError, ConnectionError)):
            urlopen(request)
        assert port
        assert ask("127.0.0.1", port)["frames"] == 1


def test_taken_port_is_reported_and_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """A reader reads whether or not somebody can ask how it is."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        with serve_figures(Reader(), "127.0.0.1", port, LABELS):
            assert "choose another [metrics] port" in caplog.text


def test_no_port_is_no_server_and_no_answer_is_reported() -> None:
    """Without a port nothing listens; who asks a reader that does not run is told."""
    with serve_figures(Reader(), "127.0.0.1", None, LABELS) as port:
        assert port is None
    with pytest.raises(OutsideError, match="is the reader running"):
        ask("127.0.0.1", free_port())
