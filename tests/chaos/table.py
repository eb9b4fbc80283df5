"""A table for chaos: its settings, its journal without a camera, and what it should have said."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.chaos.consumer import without_run
from tests.table_log import session_of
from vision.app.journal import Journal
from vision.app.run_log import Destinations, header_of
from vision.config.table import EvidenceSection, TableConfig
from vision.game.events import Event, Started
from vision.game.events import Slot as Places
from vision.wire.session import advance

PREFIX = "casino/chaos/table/1/"
SQUARE = [[0, 0], [640, 0], [640, 480], [0, 480]]


def config_of(port: int, **log: Any) -> TableConfig:
    """Return the settings of a table whose broker listens on that port."""
    view: dict[str, Any] = {"image_px": SQUARE, "table_mm": SQUARE, "mouth_mm": SQUARE}
    view["slots_mm"] = {place.name: SQUARE for place in Places}
    return TableConfig.model_validate(
        {
            "site": "chaos",
            "table": "1",
            "camera": {"source": "0"},
            "view": view,
            "broker": {"kind": "external", "port": port},
            "log": log,
        }
    )


def filmed(config: TableConfig, size: tuple[int, int], evidence: EvidenceSection) -> TableConfig:
    """Return the settings with a camera of pictures of that width and height, and that evidence."""
    camera = config.camera.model_copy(update={"width": size[0], "height": size[1]})
    return config.model_copy(update={"camera": camera, "evidence": evidence})


def journal_of(log: Path, port: int, *, publish: bool = True, **keys: Any) -> Journal:
    """Open the journal of the table."""
    return Journal(config_of(port, **keys), Destinations(log, publish=publish))


def undisturbed(events: Iterable[Event], topic: str = "coup/result") -> list[dict[str, Any]]:
    """Return what a table says on a topic of events that nothing disturbs."""
    desk = session_of(header_of(config_of(1)))
    found = []
    events = iter(events)
    first = next(events)
    for event in (Started(first.at, "b"), first, *events):
        step = advance(desk, event)
        desk = step.session
        found += [m.payload for m in step.messages if m.topic == PREFIX + topic]
    return [without_run(json.loads(payload)) for payload in found]
