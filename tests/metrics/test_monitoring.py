"""The files for Prometheus and Grafana: valid, and of figures that a reader serves."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.chaos.table import journal_of
from vision.clock import TimeSync, now_ms
from vision.metrics import counters
from vision.metrics.counters import Metrics, SightCounts, serve_figures

FOLDER = Path(__file__).parents[2] / "deploy" / "monitoring"
NAME = re.compile(r"\bshoe_reader_\w+")
needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool")


class Running:
    """What a running reader gives its metrics page: its counts, and its journal's figures."""

    def __init__(self, folder: Path) -> None:
        self.health_at_s = 0.0
        with journal_of(folder / "t.sqlite", 1, publish=False) as journal:
            self.health = {**Metrics(SightCounts).health(), **journal.figures(now_ms())}


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return the names on the page of a reader whose machine's clock is kept."""
    monkeypatch.setattr(counters, "time_sync", lambda: TimeSync(True, 0.1, 2.0))
    labels = {"site": "s", "table": "1"}
    with serve_figures(Running(tmp_path), "127.0.0.1", 0, labels) as port:
        text = urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
    return {line.partition("{")[0] for line in text.splitlines() if line.startswith("shoe_reader")}


@pytest.mark.parametrize("name", ["shoe-reader.rules.yaml", "grafana-shoe-reader.json"])
def test_every_figure_of_the_files_is_on_a_readers_page(name: str, served: set[str]) -> None:
    """No rule and no panel waits for a figure that nobody serves."""
    text = "".join(re.findall(r"expr: .*(?:\n {10,}.*)*", (FOLDER / name).read_text("utf-8")))
    if name.endswith(".json"):
        panels = json.loads((FOLDER / name).read_text("utf-8"))["panels"]
        text = "\n".join(target["expr"] for panel in panels for target in panel["targets"])
    named = set(NAME.findall(text))
    assert len(named) >= 10
    assert named - served == set()


def test_dashboard_is_one_that_grafana_imports() -> None:
    """Panels have places, sources and queries, and none lies on another."""
    board = json.loads((FOLDER / "grafana-shoe-reader.json").read_text("utf-8"))
    assert board["schemaVersion"] >= 36
    assert board["uid"] == "shoe-reader"
    panels = board["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not taken & cells
        assert max(x for x, _ in cells) < 24
        taken |= cells
        assert all(target["expr"] for target in panel["targets"])


@needs_promtool
def test_rules_are_valid_and_say_what_they_should() -> None:
    """Prometheus' own tools check the rules and run their tests."""
    for words in (["check", "rules", "shoe-reader.rules.yaml"],
                  ["test", "rules", "shoe-reader.rules.test.yaml"]):  # fmt: skip
        done = subprocess.run(
            ["promtool", *words], cwd=FOLDER, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
