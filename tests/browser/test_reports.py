"""The floor page with a hundred tables, and the reports page, in a real browser."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import paho.mqtt.client as paho
import pytest
from axe_playwright_python.sync_playwright import Axe
from paho.mqtt.enums import CallbackAPIVersion

from tests.browser.conftest import Screen
from tests.browser.people import PASSWORD, house_of_people, with_desk
from tests.browser.voice import SITE, table_config, wait_for
from tests.floor.archive.month import PlayedTable
from tests.mqtt.mqtt_tools import MOSQUITTO, Mosquitto
from vision.board.host.boards import Boards, address_of
from vision.clock import now_ms
from vision.commands import reports_of
from vision.config.table import ArchiveSection, TableConfig
from vision.floor.archive.database import open_archive
from vision.floor.archive.logs import write
from vision.game.coup.fault_table import KINDS
from vision.game.outputs import Alert, AlertState, Deadline, Severity
from vision.wire.messages import alert_payload, iso

pytestmark = [
    pytest.mark.browser,
    pytest.mark.mosquitto,
    pytest.mark.skipif(MOSQUITTO is None, reason="needs mosquitto"),
]
TABLES = 100
CRITICAL, WARNING, BLIND, HELD, SILENT = "83", "7", "42", "15", "100"


class Tables:
    """What a hundred readers say, through one connection."""

    def __init__(self, port: int) -> None:
        self._client = paho.Client(CallbackAPIVersion.VERSION2, client_id="hundred")
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)
        for number in range(1, TABLES + 1):
            self._begin(str(number))
        self._thread.start()

    def say(self, table: str, topic: str, content: dict[str, Any]) -> None:
        """Publish a message of a table, retained."""
        envelope = {"schema": 1, "table": table, "boot": "b", "seq": now_ms() % 10**9}
        text = json.dumps({**envelope, "at": iso(now_ms()), **content})
        self._client.publish(f"casino/{SITE}/table/{table}/{topic}", text, 1, retain=True)

    def alert(self, table: str, severity: Severity, state: AlertState, text: str) -> None:
        """Raise or change the alert of a table."""
        at = now_ms() - 95_000
        alert = Alert("a1", "OVER_B3", severity, state, text, "s1", 4, at, Deadline.NEXT_CARD,
                      (), changed_at=at)  # fmt: skip
        self.say(table, "alert/a1", alert_payload(alert))

    def close(self) -> None:
        """Hang up."""
        self._over.set()
        self._thread.join(5)
        self._client.disconnect()
        self._client.loop_stop()

    def _begin(self, table: str) -> None:
        self.say(table, "status", {"state": "blind" if table == BLIND else "online", "why": ""})
        self.say(table, "shoe", {"shoe": f"s{table}", "decks": 8})
        result = {
            "shoe": f"s{table}",
            "coup": 4,
            "revision": 0,
            "state": "final",
            "winner": "banco",
        }
        if table == HELD:
            result |= {"state": "held", "winner": None, "why": "review"}
        self.say(table, "coup/result", result)

    def _beat(self) -> None:
        while not self._over.wait(1.2):
            for number in range(1, TABLES):
                self.say(str(number), "health", {"fps": 15})


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Boards, Tables]]:
    """Run a board server of a hundred tables, with an archive of some days of three others."""
    folder = tmp_path_factory.mktemp("floor")
    address = str(folder / "archive.sqlite")
    engine = open_archive(address)
    for name in ("3", "5", "9"):
        write(engine, PlayedTable(name, 200, 5).messages())
    users, key = house_of_people(folder)
    with Mosquitto(folder) as broker:
        configs = [configured(broker.port, str(n), users, key, address) for n in range(1, 101)]
        with Boards(
            configs, address_of(configs[0]), reports=reports_of(ArchiveSection(address=address))
        ) as boards:
            wait_for(lambda: boards.feed.connected)
            tables = Tables(broker.port)
            yield boards, tables
            tables.close()


def configured(port: int, table: str, users: Path, key: Path, address: str) -> TableConfig:
    """Return the settings of a table of the house."""
    config = with_desk(table_config(port, table), users, key)
    archive = config.archive.model_copy(update={"address": address})
    board = config.board.model_copy(update={"title": f"Table {table}"})
    return config.model_copy(update={"archive": archive, "board": board})


@pytest.fixture(scope="module")
def screen(chromium: Any, house: tuple[Boards, Tables]) -> Iterator[Screen]:
    """Log in as surveillance, on a screen of a surveillance room."""
    page = chromium.new_context(viewport={"width": 1920, "height": 1080}).new_page()
    found = Screen(page)
    page.goto(f"{house[0].server.url}login?next=/floor")
    page.fill("#name", "Cy")
    page.fill("#password", PASSWORD)
    page.click("#enter")
    page.wait_for_url(f"{house[0].server.url}floor")
    yield found
    page.context.close()


def grave(page: Any) -> list[str]:
    """Return what axe-core finds serious."""
    faults = Axe().run(page).response["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in faults
            if one["impact"] in ("serious", "critical")]  # fmt: skip


def values(page: Any, select: str) -> list[str]:
    """Return what can be chosen in a field."""
    found: list[str] = page.locator(f"{select} option").evaluate_all("all => all.map(o => o.value)")
    return found


def first(screen: Screen, count: int) -> list[str]:
    """Return the titles of the first tiles."""
    return list(screen.page.locator("#floor .tile b").all_text_contents()[:count])


def test_floor_shows_a_hundred_tables_worst_first(
    screen: Screen, house: tuple[Boards, Tables]
) -> None:
    """Open alerts, blind and silent tables come first; a closed alert goes back to its place."""
    boards, tables = house
    page = screen.page
    page.goto(f"{boards.server.url}floor")
    tables.alert(CRITICAL, Severity.CRITICAL, AlertState.RAISED, "No card due to Banco.")
    tables.alert(WARNING, Severity.WARNING, AlertState.RAISED, "Cards removed before the result.")
    page.wait_for_function("() => document.querySelectorAll('#floor .tile').length === 100")
    page.wait_for_selector("#counts :text('not seen 2')")
    page.wait_for_selector("#counts :text('in order 95')")
    wanted = [f"Table {table}" for table in (CRITICAL, WARNING, BLIND, SILENT, HELD, "1", "2")]
    assert first(screen, 7) == wanted
    assert "No card due to Banco." in page.locator("#floor .tile").first.text_content()
    assert page.locator("#counts").text_content().startswith("critical 1warning 1")
    assert grave(page) == []
    tables.alert(CRITICAL, Severity.CRITICAL, AlertState.CLOSED, "No card due to Banco.")
    page.wait_for_function("() => !document.querySelector('#floor .critical')")
    assert first(screen, 1) == [f"Table {WARNING}"]
    page.check("#only")
    page.wait_for_function("() => document.querySelectorAll('#floor .tile').length === 4")
    page.fill("#find", "removed")
    page.wait_for_function("() => document.querySelectorAll('#floor .tile').length === 1")
    page.click("#floor .tile a")
    page.wait_for_url(f"**/desk#table/{WARNING}")
    screen.says("facts", f"Table {WARNING}")
    assert screen.complaints == []


def test_floor_is_usable_on_a_telephone(screen: Screen, house: tuple[Boards, Tables]) -> None:
    """Nothing is wider than a narrow screen."""
    page = screen.page
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{house[0].server.url}floor")
    page.wait_for_function("() => document.querySelectorAll('#floor .tile').length === 100")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.set_viewport_size({"width": 1920, "height": 1080})


def test_reports_are_answered_with_figures_and_a_plot(
    screen: Screen, house: tuple[Boards, Tables]
) -> None:
    """Every question by every way has its table and notes; the usual one a plot, and a file."""
    page = screen.page
    page.goto(f"{house[0].server.url}reports")
    screen.says("title", "Mis-deals by kind", 60)
    kinds = values(page, "#kind")
    assert kinds == ["misdeals", "false_alerts", "remedies", "reads", "pace", "odds", "downtime"]
    for kind in kinds:
        page.select_option("#kind", kind)
        ways = values(page, "#by")
        for way in ways or [""]:
            if way:
                page.select_option("#by", way)
            page.wait_for_function("() => !document.querySelector('#answer.waits')")
            assert page.locator("#figures tr").count() > 1, (kind, way)
            assert page.locator("#why").text_content() == ""
            assert not set(re.findall(r"\w+", page.inner_text("main"))) & set(KINDS)
            assert page.locator("#notes li").count() >= 1
    page.select_option("#kind", "misdeals")
    page.select_option("#by", "table")
    screen.says("title", "Mis-deals by table")
    assert page.locator("svg.plot rect").count() == 3
    assert page.locator("svg.plot line.whisker").count() == 3
    assert grave(page) == []
    page.fill("#table", "5")
    page.click("#form button")
    page.wait_for_function("() => document.querySelectorAll('#figures tr').length === 2")
    with page.expect_download() as download:
        page.click("#csv")
    text = Path(download.value.path()).read_text()
    assert text.splitlines()[0] == "table,misdeals,coups,per_thousand,low,high"
    assert screen.complaints == []


def test_reports_are_for_the_desk_only(chromium: Any, house: tuple[Boards, Tables]) -> None:
    """A dealer sees neither page; without a log-in nothing is answered."""
    url = house[0].server.url
    page = chromium.new_context().new_page()
    assert page.request.get(f"{url}api/report/misdeals").status == 401
    page.goto(f"{url}login")
    page.fill("#name", "Bo")
    page.fill("#password", PASSWORD)
    page.click("#enter")
    page.wait_for_url(lambda address: "login" not in address)
    assert page.request.get(f"{url}api/report/misdeals").status == 403
    page.goto(f"{url}reports")
    assert "/login?why=role" in page.url
    page.context.close()
