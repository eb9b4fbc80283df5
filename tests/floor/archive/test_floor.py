"""A floor at play: each part is killed in turn, and nothing is lost or doubled."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.floor.archive.floor import prove
from tests.floor.archive.house import Floor
from tests.floor.archive.postgres import FOLDERS
from tests.floor.cluster import NATS_SERVER


@pytest.mark.nightly
@pytest.mark.mosquitto
@pytest.mark.skipif(not (NATS_SERVER and FOLDERS), reason="needs nats-server, PostgreSQL")
def test_floor_loses_and_doubles_nothing_when_its_parts_are_killed(tmp_path: Path) -> None:
    """A broker and the archive die during play; the archive is as the logs say."""
    with Floor(tmp_path, tables=("1", "3"), pace_s=0.05) as floor:
        lines = prove(floor, 0.5, "node a,archive")
    assert lines[-1].endswith("lost 0, otherwise than in the logs 0")
    assert len(lines) == 3
