"""The engineer's set-up pages in a real browser: places dragged, check, enrolment."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import httpx
import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.conftest import Screen
from tests.browser.people import PASSWORD, house_of_people, with_desk
from tests.browser.test_languages import foreign
from tests.browser.voice import EXAMPLE, table_config
from tests.setup.calibration.laid import good, measuring
from vision.board.desk.table_editor import TableEditor
from vision.board.host.boards import Boards, address_of
from vision.config.editor import TableFile
from vision.config.table import load
from vision.mqtt.embedded_broker import EmbeddedBroker

pytestmark = pytest.mark.browser
API = "api/setup/7/"


@dataclass
class Workshop:
    """A board server on the machine of its table file, and the engineer's browser."""

    file: Path
    url: str
    context: Any

    @property
    def view(self) -> dict[str, Any]:
        """The view as it stands in the file."""
        view: dict[str, Any] = tomllib.loads(self.file.read_text("utf-8"))["view"]
        return view


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory, chromium: Any) -> Iterator[Workshop]:
    """Serve a table whose camera is a folder of pictures, and log the engineer in."""
    folder = tmp_path_factory.mktemp("table")
    users, key = house_of_people(folder)
    pictures = folder / "pictures"
    pictures.mkdir()
    rows = np.linspace(40, 160, 1080, dtype=np.uint8)[:, None, None]
    cv2.imwrite(str(pictures / "1.jpg"), np.broadcast_to(rows, (1080, 1920, 3)))
    file = folder / "table.toml"
    text = EXAMPLE.read_text("utf-8").replace('source = "0"', 'source = "pictures"')
    with EmbeddedBroker(0) as broker:
        file.write_text(text.replace("port = 1883", f"port = {broker.port}"), "utf-8")
        config = load(file)
        served = table_config(broker.port).model_copy(
            update={"camera": config.camera, "view": config.view}
        )
        served = with_desk(served, users, key)
        with Boards(
            [served],
            address_of(served),
            {"7": TableEditor(served, file, measuring())},
        ) as boards:
            context = chromium.new_context(viewport={"width": 1600, "height": 900})
            page = context.new_page()
            page.goto(f"{boards.server.url}login?next=/setup/7")
            page.fill("#name", "Di")
            page.fill("#password", PASSWORD)
            page.click("#enter")
            page.wait_for_url(lambda url: "login" not in url)
            page.close()
            yield Workshop(file, boards.server.url, context)
            context.close()


@pytest.fixture
def screen(workshop: Workshop) -> Iterator[Screen]:
    """Open the table's set-up page."""
    found = Screen(workshop.context.new_page())
    found.page.goto(f"{workshop.url}setup/7")
    found.page.wait_for_selector(".PUNTO_1 polygon")
    yield found
    found.page.close()


def test_house_rules_are_saved_and_reported(screen: Screen, workshop: Workshop) -> None:
    """What is chosen stands in the table file, and the page says so."""
    screen.page.select_option("#dealing", "face-down")
    screen.page.click("#house button")
    screen.says("house-saved", "Saved")
    assert load(workshop.file).dealing == "face-down"


def test_places_are_dragged_on_the_live_picture_and_written(
    screen: Screen, workshop: Workshop
) -> None:
    """What is dragged stands in the table file, in mm; all else stays, and the old file is kept."""
    page, before = screen.page, workshop.view
    text = workshop.file.read_text("utf-8")
    kept_before = {*workshop.file.parent.glob("*.bak")}  # the house rules saved earlier keep one
    screen.says("seen", "Live picture")
    page.wait_for_function("() => document.getElementById('picture').naturalWidth === 1920")
    box = page.locator(".PUNTO_1 polygon").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 12, y + 20, steps=4)
    page.mouse.up()
    page.locator(".MOUTH polygon").press("Shift+ArrowLeft")
    screen.says("saved", "Not saved yet: Punto 1, Mouth")
    page.click("#save")
    screen.says("saved", "the old file is kept as")
    (newest,) = {*workshop.file.parent.glob("*.bak")} - kept_before
    screen.says("saved", str(newest))
    after = workshop.view
    moved = np.subtract(after["slots_mm"]["PUNTO_1"], before["slots_mm"]["PUNTO_1"])
    assert (moved > 5).all()
    assert (np.subtract(after["mouth_mm"], before["mouth_mm"])[:, 0] < -3).all()
    kept = {name: area for name, area in before["slots_mm"].items() if name != "PUNTO_1"}
    assert {name: after["slots_mm"][name] for name in kept} == kept
    plane = load(workshop.file).view.plane()
    assert np.allclose(plane.to_mm(before["image_px"]), before["table_mm"], atol=0.1)
    assert "# One file a table." in workshop.file.read_text("utf-8")
    assert newest.read_text("utf-8") == text
    assert page.locator("#save").is_disabled()
    assert screen.complaints == []


def test_area_that_was_dragged_is_taken_back(screen: Screen, workshop: Workshop) -> None:
    """Back to the file undoes it, and nothing is written."""
    text = workshop.file.read_text("utf-8")
    page = screen.page
    area = page.locator(".BANCO_3 polygon")
    before = area.bounding_box()
    area.press("ArrowRight")
    area.press("Shift+ArrowDown")
    assert page.get_attribute(".BANCO_3", "transform") == "translate(1,10)"
    page.click("#undo")
    page.wait_for_selector(".moved", state="detached")
    assert page.locator(".BANCO_3 polygon").bounding_box() == before
    assert workshop.file.read_text("utf-8") == text


def test_what_the_reader_sees_is_shown_while_it_reads(screen: Screen) -> None:
    """Before and after there is the live picture: nothing else looks at the table."""
    page = screen.page
    assert page.is_disabled("#drawn")
    page.click("[data-job=run]")
    page.wait_for_selector("#drawn[aria-pressed=true]:enabled")
    assert not page.is_visible("#places")
    page.wait_for_selector("#live[aria-pressed=true]", timeout=60_000)
    assert page.is_disabled("#drawn")
    page.wait_for_function("() => document.getElementById('picture').naturalWidth === 1920")
    assert page.is_visible("#places")


def test_live_picture_that_cannot_be_had_is_reported(screen: Screen, workshop: Workshop) -> None:
    """Without a kept picture the page says so, with the cure; the places stay on the screen."""
    text = workshop.file.read_text("utf-8")  # a save before this test may have kept one
    workshop.file.write_text(re.sub(r"^layout = .*$", "", text, flags=re.MULTILINE), "utf-8")
    screen.page.reload()
    screen.page.click("#stored")
    screen.says("seen", "no picture of the layout is kept; measuring")
    areas = screen.page.locator("polygon")
    areas.nth(8).wait_for()  # they are asked for apart from the picture
    assert areas.count() == 9  # the eight areas and the exit


def test_check_is_a_page(screen: Screen, workshop: Workshop) -> None:
    """Every part of the check has its line, faults with their cure."""
    screen.page.click("[data-job=check]")
    screen.page.wait_for_selector("#check li.ok:has-text('config:')")
    screen.page.wait_for_selector("#check li.FAULT, #check li.ok >> nth=5")
    screen.page.wait_for_selector("[data-job=check]:enabled")
    assert "health:" in screen.page.inner_text("#check")
    faults = Axe().run(screen.page).response["violations"]
    assert [one["id"] for one in faults if one["impact"] in ("serious", "critical")] == []


def test_enrolment_shows_what_is_missing(screen: Screen, workshop: Workshop) -> None:
    """Enrolling from a page says how far it is and why it ended, and leaves no deck behind."""
    screen.page.click("[data-job=enrol]")
    screen.says("progress", "the back was not seen", 60)
    screen.says("enrol", "the deck is not whole", 60)
    screen.says("enrol", "exit code 3")
    assert not workshop.file.with_suffix(".deck").exists()


def test_setting_up_is_for_the_engineer_alone(workshop: Workshop) -> None:
    """Nobody else sees a picture, a place or a job; nothing changes without the page's token."""
    gets = [
        ("GET", path)
        for path in ("picture/live", "picture/drawn", "picture/stored", "places", "cards", "job")
    ]
    changes = ("places", "job/check", "job/enrol", "job/stop")
    asks = gets + [("POST", path) for path in changes]
    for name, status in (("", 401), ("Bo", 403), ("Ann", 403), ("Cy", 403), ("Di", None)):
        with httpx.Client(base_url=workshop.url, timeout=20) as client:
            if name:
                client.post("login", json={"name": name, "password": PASSWORD})
            for method, path in asks:
                if status or method == "POST":
                    assert client.request(method, API + path).status_code == (status or 403), path


def test_places_that_are_none_are_refused(workshop: Workshop) -> None:
    """Strange places get a reason, and the file stays as it was."""
    text = workshop.file.read_bytes()
    with httpx.Client(base_url=workshop.url, timeout=20) as client:
        client.headers["Origin"] = workshop.url.rstrip("/")
        client.post("login", json={"name": "Di", "password": PASSWORD})
        version = client.get(f"{API}places").json()["version"]
        for body in (
            {"ways": {"PUNTO_1": [4, 4]}, "version": "old"},
            {"ways": {}, "version": version},
            {"ways": {"../x": [4, 4]}, "version": version},
            {"ways": {"PUNTO_1": [4, 4, 4]}, "version": version},
            {"ways": {"PUNTO_1": [9e9, 0]}, "version": version},
            {"ways": {"PUNTO_1": ["x", 0]}, "version": version},
            {"ways": {"PUNTO_1": [float("inf"), 9]}, "version": version},
        ):
            content = json.dumps(body)
            answer = client.post(f"{API}places", content=content)
            assert (answer.status_code, bool(answer.json()["why"])) == (400, True), body
        assert client.post(f"{API}job/rm").status_code == 404
        assert client.get("api/setup/8/places").status_code == 404
    assert workshop.file.read_bytes() == text


def test_page_leads_from_the_cards_to_the_check_by_keyboard(workshop: Workshop) -> None:
    """The next step stands above; what is missing is named; what is right is saved."""
    text, picture = workshop.file.read_bytes(), workshop.file.parent / "pictures" / "1.jpg"
    bare = picture.read_bytes()
    file = TableFile(workshop.file)
    del file._text["view"]
    file.write()
    screen = Screen(workshop.context.new_page())
    page = screen.page
    try:
        page.goto(f"{workshop.url}setup/7")
        screen.says("next", "Next: Adjust camera, light and lens")
        page.wait_for_selector("#gauges meter[aria-label=focus]")
        page.focus("#lay")
        page.keyboard.press("Enter")
        screen.says("measured", "the ace of spades is not seen: lay it on", 300)
        assert page.locator("#keep").is_disabled()
        found = Axe().run(page).response["violations"]
        assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
        cv2.imwrite(str(picture), cv2.resize(good(), (1920, 1080), interpolation=cv2.INTER_CUBIC))
        page.wait_for_selector("#keep:enabled", timeout=600_000)
        assert page.locator(".seen").count() == 8
        assert page.locator(".proposed").count() == 9  # the eight areas and the exit
        assert page.locator("#laid .lies").count() == 8
        page.focus("#keep")
        page.keyboard.press("Enter")
        screen.says("saved", "Saved")
        page.wait_for_selector(".PUNTO_1 text")
        assert workshop.view["card_mm"] == [63.0, 88.0]
        screen.says("next", "Next: Check the table")
        assert screen.complaints == []
    finally:
        page.close()
        workshop.file.write_bytes(text)
        picture.write_bytes(bare)


def test_set_up_speaks_the_language_that_is_asked_for(screen: Screen, workshop: Workshop) -> None:
    """In Chinese nothing on the page is in Latin letters but keys, commands and people's names."""
    page = screen.page
    page.goto(f"{workshop.url}setup/7?lang=zh")
    page.wait_for_selector("#gauges dd")
    page.wait_for_selector(".PUNTO_1 polygon")
    keys_and_commands = {"Tab", "Shift"}
    assert foreign(page) <= keys_and_commands
    assert page.get_attribute("html", "lang") == "zh"
    assert screen.complaints == []
