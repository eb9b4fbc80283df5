"""The short form of the camera's chaos: each fault once, and some hundreds of damaged files."""

from __future__ import annotations

import pytest

from tests.camera.video_servers import FAULTS, HttpCamera
from tests.chaos.camera import NOTICED_S, RECOVERED_S, endure
from tests.chaos.fuzz_media import fuzz


@pytest.mark.nightly
@pytest.mark.slow
def test_camera_faults_are_noticed_and_mended_in_time() -> None:
    """Each within 2 s, seen again within 5 s, nothing bad shown, nothing left behind."""
    camera = HttpCamera()
    try:
        rows, before, after = endure(camera, FAULTS, 1)
    finally:
        camera.close()
    for row in rows:
        assert max(row.noticed_s) <= NOTICED_S, row.text()
        assert max(row.recovered_s) <= RECOVERED_S, row.text()
        assert row.false_shots == 0, row.text()
    assert after.children == before.children
    assert after.threads <= before.threads


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "count"), [("images", 500), ("videos", 60), ("models", 6)])
def test_damaged_files_are_refused_or_read_never_worse(kind: str, count: int) -> None:
    """No crash, no hang, no accepted nonsense; the whole form is `make chaos`."""
    outcome = fuzz(kind, count)
    assert outcome.faults == []
    assert sum(outcome.counts.values()) == count
    assert outcome.counts["refused"] > 0
