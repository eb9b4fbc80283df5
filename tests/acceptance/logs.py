"""Logs of a shoe that nobody filmed: dealt by the rules, each card drawn on a still."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np

from tests.acceptance.people import house
from tests.browser.shoe import Shoe
from tests.table_log import NOON
from vision.acceptance.answers import Answer, Dealt
from vision.app.run_log import header_of
from vision.config.profiles import logged_profile
from vision.config.table import load
from vision.game.events import Event, Slot, Stopped
from vision.game.outputs import AlertChanged, CardSeen, CoupResult
from vision.record.facts import EvidenceKept, Medium
from vision.storage.evidence import EvidenceStore, folder_of
from vision.storage.log import Entry, Store
from vision.wire.messages import Message
from vision.wire.session import advance, new_session

WIDTH, HEIGHT = 1280, 720
TABLE = """site = "house"
table = "7"
[camera]
source = "film.mp4"
width = 1280
height = 720
[view]
image_px = [[100, 100], [1180, 100], [1180, 620], [100, 620]]
table_mm = [[0, 0], [540, 0], [540, 260], [0, 260]]
mouth_mm = [[0, 0], [60, 0], [60, 60], [0, 60]]
[view.slots_mm]
PUNTO_1 = [[180, 120], [250, 120], [250, 215], [180, 215]]
PUNTO_2 = [[105, 120], [175, 120], [175, 215], [105, 215]]
PUNTO_3 = [[5, 130], [100, 130], [100, 200], [5, 200]]
BANCO_1 = [[290, 120], [360, 120], [360, 215], [290, 215]]
BANCO_2 = [[365, 120], [435, 120], [435, 215], [365, 215]]
BANCO_3 = [[440, 130], [535, 130], [535, 200], [440, 200]]
[broker]
kind = "none"
[board]
port = 0
"""


class Recorder:
    """Takes the events of a shoe into a log, with a still of every card, as a reader does."""

    def __init__(self, table: Path, log: Path) -> None:
        config = load(table)
        header = header_of(config)
        self.session = new_session(header, logged_profile(header))
        self.store = Store(log, header, has_outbox=False)
        self.published: list[Message] = []
        self.results: dict[str, CoupResult] = {}
        self.faults: dict[str, set[str]] = {}
        self._evidence = EvidenceStore(folder_of(log))
        self._view = config.view.table_view()
        self._corner = config.view.outline_px().min(axis=0)
        self._lying: dict[Slot, str] = {}

    def take(self, *events: Event) -> None:
        """Take events, and keep a still of each card that is read."""
        for event in events:
            step = advance(self.session, event)
            self.session = step.session
            self.published += step.messages
            self.store.append([Entry(event, step.messages)])
            for output in step.outputs:
                if isinstance(output, CoupResult):
                    self.results[f"{output.shoe}/{output.coup}"] = output
                if isinstance(output, AlertChanged) and output.alert.code.startswith("OVER"):
                    alert = output.alert
                    self.faults.setdefault(f"{alert.shoe}/{alert.coup}", set()).add(alert.code)
                if isinstance(output, CardSeen):
                    self._see(output)

    def _see(self, seen: CardSeen) -> None:
        if seen.event == "removed":
            self._lying.clear()
        if seen.event != "read" or seen.slot is None:
            return
        self._lying[seen.slot] = str(seen.card)
        stored = EvidenceKept(seen.at, f"{seen.shoe}-{seen.coup}-c{seen.order}", Medium.STILL,
                            seen.shoe, seen.coup, "", 0, seen.order)  # fmt: skip
        self.take(self._evidence.keep(stored, self._still()))

    def _still(self) -> bytes:
        picture = np.full((HEIGHT, WIDTH, 3), (60, 90, 40), np.uint8)
        for slot, name in self._lying.items():
            area = self._view.homography.to_px(self._view.slots[slot]).astype(np.int32)
            cv2.fillConvexPoly(picture, area, (250, 250, 250))
            x, y = (int(v) for v in area.mean(axis=0))
            cv2.putText(picture, name, (x - 45, y), cv2.FONT_HERSHEY_SIMPLEX, 2, (0, 0, 0), 4)
        x, y = np.maximum(self._corner, 0).astype(int)
        part = np.ascontiguousarray(picture[y:, x:])
        return bytes(cv2.imencode(".jpg", part)[1].tobytes())


def recorder_of(folder: Path) -> Recorder:
    """Write table file and people into a folder; return who records the log there."""
    folder.mkdir(parents=True, exist_ok=True)
    users, key = house(folder / "house")
    more = f'[orders]\nusers = "{users}"\n[desk]\nkey = "{key}"\n'
    (folder / "table.toml").write_text(TABLE + more, "utf-8")
    return Recorder(folder / "table.toml", folder / "table.sqlite")


def write_log(
    folder: Path, coups: int, *, seed: int = 1, stopped: bool = True
) -> dict[str, Answer]:
    """Write table file, people and log of a shoe into a folder; return what was dealt, by coup.

    Every seventh coup has a card too many, and stays held.
    """
    recorder = recorder_of(folder)
    with recorder.store:
        shoe = Shoe(recorder, seed=seed)  # type: ignore[arg-type]
        for _ in range(coups):
            shoe.deal(ruled=False)
        if stopped:
            recorder.take(Stopped(recorder.session.table.clock + 5000))
    assert recorder.session.table.clock > NOON
    return {
        coup: (Dealt(reported.punto.cards, reported.banco.cards,
                     tuple(sorted(recorder.faults.get(coup, ())))),)
        for coup, reported in recorder.results.items()
    }  # fmt: skip
