"""The motion gate wakes on a card's corner and sleeps on noise and slow light."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from vision.sight.geometry.plane import Frame, Image
from vision.sight.motion_gate import MotionGate, thumbnail

STEP_MS = 33
rng = np.random.default_rng(3)
NOISE = [rng.normal(0, 4, (270, 480, 3)).astype(np.float32) for _ in range(12)]


def felt(level: float = 90.0) -> Image:
    """Return a noisy plain table, 480 x 270."""
    noise = NOISE[rng.integers(len(NOISE))]
    return np.clip(noise + level, 0, 255).astype(np.uint8)


def run(gate: MotionGate, pictures: Callable[[int], Image], first: int, count: int) -> list[bool]:
    """Show the gate frames `first` to `first + count` and return its answers."""
    return [gate.moving(Frame(pictures(i), i * STEP_MS, i)) for i in range(first, first + count)]


def settled() -> MotionGate:
    """Return a gate that has seen three quiet seconds."""
    gate = MotionGate()
    run(gate, lambda _: felt(), 0, 90)
    return gate


def test_gate_sleeps_on_noise() -> None:
    """A still, noisy table opens the gate for no more than the heartbeat."""
    assert sum(run(settled(), lambda _: felt(), 90, 180)) <= 4


def test_gate_says_when_a_picture_was_last_still() -> None:
    """A heartbeat is no motion; the picture before one that changes was the last still one."""
    gate = settled()
    run(gate, lambda _: felt(), 90, 180)
    assert gate.still_at == 269 * STEP_MS

    def with_hand(number: int) -> Image:
        image = felt()
        image[100:130, 5 * number % 400 :][:, :30] = 220
        return image

    run(gate, with_hand, 270, 10)
    assert gate.still_at == 269 * STEP_MS


def test_gate_sleeps_while_the_light_drifts() -> None:
    """Light that fades by a third in ten seconds is no motion."""
    answers = run(settled(), lambda i: felt(90 - 0.1 * (i - 90)), 90, 300)
    assert sum(answers) <= 8


@pytest.mark.parametrize("side", [9, 30], ids=["corner of a card", "card"])
def test_gate_wakes_on_a_small_change_and_stays_awake(side: int) -> None:
    """A bright patch the size of a card's corner opens the gate at once, for a second."""

    def with_patch(_: int) -> Image:
        image = felt()
        image[100 : 100 + side, 150 : 150 + side] = 220
        return image

    answers = run(settled(), with_patch, 90, 90)
    assert all(answers[:25])
    assert sum(answers[60:]) <= 2


def test_gate_wakes_on_slow_motion() -> None:
    """A patch that creeps four pixels a second opens the gate within two seconds."""

    def creeping(i: int) -> Image:
        image = felt()
        left = 150 + (i - 90) // 8
        image[100:140, left : left + 30] = 150
        return image

    gate = settled()
    run(gate, creeping, 90, 90)
    assert any(run(gate, creeping, 180, 60))


def test_gate_follows_a_change_of_picture_size() -> None:
    """A camera that changes its size wakes the gate instead of failing."""
    gate = settled()
    assert gate.moving(Frame(np.zeros((480, 640, 3), np.uint8), 3000, 90))


def test_thumbnail_keeps_the_proportions() -> None:
    """1080p becomes 160 x 90 cells, a tiny picture grows to the same width."""
    assert thumbnail(np.zeros((1080, 1920), np.uint8)).shape == (90, 160)
    assert thumbnail(np.zeros((45, 80), np.uint8)).shape == (90, 160)
