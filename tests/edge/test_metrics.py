"""The figures of a run."""

from __future__ import annotations

from vision.edge.metrics import Durations, Metrics, Spread


def test_spread_is_by_nearest_rank() -> None:
    """p50 and p99 are durations that really happened."""
    durations = Durations()
    for ms in range(1, 101):
        durations.add(ms / 1000)
    assert durations.spread() == Spread(50.0, 99.0, 100)


def test_spread_of_nothing_is_zero() -> None:
    """A run without events has no latencies and says so."""
    assert Durations().spread() == Spread(0.0, 0.0, 0)


def test_durations_forget_the_oldest() -> None:
    """Memory stays bounded on a run of months."""
    durations = Durations(keep=3)
    for ms in (900, 1, 2, 3):
        durations.add(ms / 1000)
    assert durations.spread() == Spread(2.0, 3.0, 3)


def test_summary_tells_frames_cards_and_latencies() -> None:
    """The closing summary has the figures that an engineer asks for."""
    metrics = Metrics(frames=90, looked=30, cards_out=5, cards_read=4, cards_unread=1)
    metrics.event.add(0.012)
    told = metrics.summary()
    assert "90 frames" in told
    assert "12 ms (p50)" in told
    assert "5 cards out, 4 read, 1 declined" in told
