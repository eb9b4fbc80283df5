"""Looks follow upon one another by their own rhythm."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from vision.sight.tracking.tracklet import Rhythm


def in_a_row(gaps: Sequence[int]) -> list[bool]:
    """Return of each look after the first whether it follows upon the one before."""
    rhythm, at, told = Rhythm(), 1000, []
    rhythm.since(at)
    for gap in gaps:
        before, at = at, at + gap
        told.append(rhythm.since(at) == before)
    return told


@pytest.mark.parametrize(
    ("gaps", "told"),
    [
        ([66, 66, 200, 66], [True] * 4),
        ([300, 350, 280, 400], [False, True, True, True]),
        ([66, 66, 900, 66], [True, True, False, True]),
        ([66, 400, 66, 66, 66, 66, 400], [True, False, True, True, True, True, False]),
        ([400, 66, 500, 66, 400], [False, True, True, True, True]),
        ([5000, 66, 1200], [False, True, False]),
    ],
    ids=["often", "seldom", "a pause", "pauses", "unevenly", "after long pauses"],
)
def test_looks_follow_upon_one_another_in_their_rhythm(gaps: list[int], told: list[bool]) -> None:
    """A slow machine's looks do; a pause among frequent ones does not, nor does a long one."""
    assert in_a_row(gaps) == told
