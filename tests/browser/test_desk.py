"""The surveillance desk and the dealer strip in a real browser, at a table that obeys orders."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.conftest import Hall, Screen
from tests.browser.people import PASSWORD, PEOPLE, house_of_people, with_desk
from tests.browser.voice import Reader, Voice, table_config, wait_for
from tests.table_log import NOON, Play, overdraw
from vision.app.evidence import write_film
from vision.board.host.boards import Boards, address_of
from vision.clock import now_ms
from vision.game.cards import Card
from vision.game.commands import AckAlert, CloseAlert, Confirm, CorrectCard, RectifyAlert
from vision.game.coup.fault_table import KINDS
from vision.game.events import Category, Role, TimePassed
from vision.mqtt.embedded_broker import EmbeddedBroker
from vision.record.facts import EvidenceKept, Medium
from vision.wire.form import json_object
from vision.wire.messages import iso

pytestmark = pytest.mark.browser
Enter = Callable[..., Screen]


def faulty(words: str = "P1:2c B1:3s P2:Kd B2:4h P3:5h B3:9h", at: int = NOON) -> Play:
    """Deal a good coup and one with a card too many to Banco."""
    play = Play()
    play.at = at
    play.begin().coup("P1:9c B1:3s P2:Kd B2:4h")
    for word in words.split():
        play.card(word)
    return play


def continue_late(route: Any) -> None:
    """Let a request wait, so that a browser opens a stream that ended again, and is refused."""
    time.sleep(2.5)
    route.continue_()


def film() -> bytes:
    """Return five pictures as the reader keeps a clip."""
    shades = (np.full((120, 160, 3), 40 * number, np.uint8) for number in range(5))
    return write_film([cv2.imencode(".jpg", one)[1].tobytes() for one in shades], (160, 120), 8)


@pytest.fixture(scope="module")
def cookies(chromium: Any, hall: Hall) -> dict[str, Any]:
    """Log everybody in once, as people do, and keep what their browsers then know."""
    found = {}
    for name in PEOPLE:
        context = chromium.new_context()
        page = context.new_page()
        page.goto(f"{hall.url}login")
        page.fill("#name", name)
        page.fill("#password", PASSWORD)
        page.click("#enter")
        page.wait_for_url(lambda url: "login" not in url)
        found[name] = context.storage_state()
        context.close()
    return found


@pytest.fixture
def enter(chromium: Any, hall: Hall, cookies: dict[str, Any]) -> Iterator[Enter]:
    """Open a page as somebody who is logged in."""
    opened = []

    def go(name: str, path: str, **options: Any) -> Screen:
        context = chromium.new_context(storage_state=cookies[name], **options)
        opened.append(context)
        screen = Screen(context.new_page())
        screen.page.goto(hall.url + path)
        return screen

    yield go
    for context in opened:
        context.close()


def open_alert(screen: Screen, reader: Reader, text: str = "No card due to Banco") -> None:
    """Choose the alert of the reader's table in the queue."""
    name = f"Table {reader.table}"
    item = screen.page.locator("#queue .alert", has_text=f"{name} ").filter(has_text=text)
    item.wait_for()
    item.click()
    screen.says("facts", name)


def test_desk_alert_is_acknowledged_rectified_and_closed_by_name(
    enter: Enter, reader: Reader
) -> None:
    """Alert, acknowledge, remedy, close: each step is in the log with the inspector's name."""
    screen = enter("Ann", "desk")
    reader.play(faulty().events)
    open_alert(screen, reader)
    screen.says("facts", "Banco 3")
    screen.page.click("[data-order=ack_alert]")
    screen.says("reply", "done")
    screen.says("facts", "Ann")
    screen.page.fill("#actions input >> nth=0", "<b>told the pit</b>")
    screen.page.click("[data-order=rectify_alert]")  # a browser asks for the remedy first
    screen.page.select_option("#actions select >> nth=0", "R5")
    screen.page.click("[data-order=rectify_alert]")
    screen.says("facts", "R5")
    screen.says("facts", "<b>told the pit</b>")
    screen.page.click("[data-order=close_alert]")  # a browser asks for the category first
    screen.page.select_option("form:has([data-order=close_alert]) select", "dealer")
    screen.page.fill("#actions input >> nth=0", "told the pit")
    screen.page.click("[data-order=close_alert]")
    screen.says("reply", "Close: done")
    rectified = next(one for one in reader.events if isinstance(one, RectifyAlert))
    assert (rectified.by, rectified.role, rectified.remedy) == ("Ann", "inspector", "R5")
    (closed,) = (one for one in reader.events if isinstance(one, CloseAlert))
    assert (closed.category, closed.reason) == (Category.DEALER, "told the pit")
    wait_for(lambda: not screen.page.locator(f"#queue :text('Table {reader.table} ')").count())
    assert screen.complaints == []


def test_desk_keeps_what_is_typed_while_another_desk_acts(enter: Enter, reader: Reader) -> None:
    """Words, a remedy and the caret outlive a new state; words that were sent are gone."""
    screen, other = enter("Ann", "desk"), enter("Cy", "desk")
    reader.play(faulty().events)
    for one in (screen, other):
        open_alert(one, reader)
    words = screen.page.locator("#actions > label input >> nth=0")
    screen.page.select_option("form:has([data-order=rectify_alert]) select", "R5")
    words.fill("told  pit")
    for key in ("ArrowLeft",) * 4:
        words.press(key)
    other.page.click("[data-order=ack_alert]")
    screen.says("facts", "Cy")
    assert not screen.page.locator("[data-order=ack_alert]").count()
    screen.page.keyboard.type("the")
    assert words.input_value() == "told the pit"
    screen.page.click("[data-order=rectify_alert]")
    screen.says("facts", "R5")
    screen.says("reply", "done")
    rectified = next(one for one in reader.events if isinstance(one, RectifyAlert))
    assert (rectified.remedy, rectified.reason) == ("R5", "told the pit")
    assert words.input_value() == ""
    assert (screen.complaints, other.complaints) == ([], [])


def correct_first_of_banco(desk: Screen) -> None:
    """Correct Banco's first card from 3 to 5: it begins as read, and says what becomes of it."""
    chosen = [desk.page.locator("form.correct select >> visible=true").nth(n) for n in range(3)]
    chosen[0].select_option("BANCO_1")
    assert [one.input_value() for one in chosen] == ["BANCO_1", "3", "s"]
    button = desk.page.locator("form.correct button >> visible=true")
    assert button.is_disabled()
    chosen[1].select_option("5")
    preview = desk.page.text_content("form.correct output >> visible=true")
    words = "Banco 1: 3♠ becomes 5♠. Punto 9:7 becomes Egalite 9:9. The roads change."
    assert preview == words
    button.click()  # without a reason the browser asks for one, and nothing is ordered
    assert "done" not in (desk.page.text_content("#reply") or "")
    desk.page.fill("form.correct input >> visible=true", "glare")
    button.click()


def test_desk_corrects_an_earlier_coup_under_shoes(enter: Enter, reader: Reader) -> None:
    """Every coup of the running shoe has its panel, without an alert; one before has none."""
    play = Play().begin(shoe="s0").coup("P1:9c B1:3s P2:Kd B2:4h").begin()
    reader.play(play.coup("P1:9c B1:3s P2:Kd B2:4h").coup("P1:2c B1:4s P2:Kd B2:4h").events)
    desk = enter("Ann", f"desk#history/{reader.table}/s1/1")
    desk.page.click("details[open] .orders summary")
    correct_first_of_banco(desk)
    desk.page.wait_for_selector("summary:has-text('Coup 1: Egalite 9:9 (revision 1)')")
    desk.page.goto(f"{desk.page.url.split('#')[0]}#history/{reader.table}/s0/1")
    desk.page.click("details[open] .orders summary")
    desk.page.wait_for_selector(".orders:has-text('This shoe is over')")
    assert desk.page.locator("details[open] [data-order]").count() == 0


def test_desk_correction_changes_the_public_board(
    enter: Enter, screen: Screen, reader: Reader
) -> None:
    """A card corrected at the desk is a corrected result on the board, with other roads."""
    reader.play(Play().begin().coup("P1:9c B1:3s P2:Kd B2:4h").events)
    screen.live(reader)
    screen.says("verdict", "Punto wins")
    desk = enter("Ann", "desk")
    desk.page.locator(f".table:has-text('Table {reader.table}Not live')").or_(
        desk.page.locator(f".table:has-text('Table {reader.table}Live')")
    ).click()
    correct_first_of_banco(desk)
    desk.says("reply", "Correct card: done")
    screen.says("verdict", "Egalite 9")
    screen.says("detail", "Corrected result")
    assert screen.page.locator("#bead g text").text_content() == "E"
    order = next(one for one in reader.events if isinstance(one, CorrectCard))
    assert (order.by, str(order.card), order.slot.name) == ("Ann", "5s", "BANCO_1")


def test_desk_refusal_is_reported_with_its_reason(enter: Enter, reader: Reader) -> None:
    """What the table refuses is said in its words, and typing is not lost meanwhile."""
    screen = enter("Cy", "desk")
    reader.play(faulty().events)
    open_alert(screen, reader)
    assert screen.page.locator("[data-order=rectify_alert], [data-order=void_coup]").count() == 0
    screen.page.fill("#actions input >> nth=0", "half a sente")
    reader.play(Play().events)
    reader.alive()
    screen.page.select_option("form:has([data-order=close_alert]) select", "reader")
    screen.page.click("[data-order=close_alert]")
    screen.says("reply", "it holds a result")
    assert screen.page.input_value("#actions input >> nth=0") == "half a sente"


def test_desk_shows_the_evidence_and_the_shoe_card_by_card(enter: Enter, reader: Reader) -> None:
    """The still of an alert is shown, and a shoe's history has cards, results and answers."""
    picture = cv2.imencode(".jpg", np.full((120, 200, 3), 90, np.uint8))[1].tobytes()
    reader.play(faulty().events)
    topic = f"evidence/{reader.table}-a1"
    reader.show(topic, picture)
    alert = next(m for m in reversed(reader.published) if m.topic.endswith("/alert/a1"))
    with_picture = alert.payload.replace(b'"evidence":[]', f'"evidence":["{topic}"]'.encode())
    newer = with_picture.replace(f'"seq":{alert.seq}'.encode(), b'"seq":9999')
    screen = enter("Cy", "desk")
    reader.publish(alert.topic, newer)
    open_alert(screen, reader)
    screen.page.wait_for_function(
        "() => document.querySelector('#evidence img')?.naturalWidth === 200"
    )
    assert screen.page.locator("#facts .place.not_due").count() == 1
    screen.page.keyboard.press("v")
    screen.page.wait_for_selector("dialog.large[open] img")
    screen.page.keyboard.press("Escape")
    screen.page.wait_for_selector("#evidence img")
    screen.page.goto(f"{screen.page.url.split('#')[0]}#history/{reader.table}/s1")
    screen.page.click("summary:has-text('Coup 2')")
    rows = screen.page.locator("details[open] table").last.locator("tr")
    rows.nth(6).wait_for()
    assert rows.count() == 1 + 6
    assert "Banco 3" in rows.nth(6).inner_text()


def test_desk_marks_where_a_card_is_due_and_closes_all_of_a_kind(
    enter: Enter, reader: Reader
) -> None:
    """An under-draw has an empty place that says so; three of them are closed by one close."""
    screen = enter("Ann", "desk")
    play = Play().begin()
    for _ in range(3):  # Punto has 2 and Banco 4: a card is due to Punto, and none comes
        play.coup("P1:2h B1:4c P2:Kd B2:Kc")
    play.card("P1:9c").then(TimePassed(play.at + 60_000))
    reader.play(play.events)
    page = screen.page
    page.locator("#queue .alert", has_text=f"Table {reader.table} ").first.click()
    page.wait_for_selector("#facts .punto .place.due .nothing")
    assert "due here" in page.inner_text("#facts .punto")
    ends = [one.alert.id for coup in reader.desk.table.coups for one in coup.alerts]
    assert len(ends) == 3
    page.select_option("form:has([data-order=close_alert]) select", "training")
    page.check("form:has([data-order=close_alert]) input[type=checkbox]")
    page.fill("#actions input >> nth=0", "a trainee deals")
    page.click("[data-order=close_alert]")
    screen.says("reply", "Close: done")
    closed = [one for one in reader.events if isinstance(one, CloseAlert)]
    assert {(one.alert, one.category) for one in closed} == {(e, Category.TRAINING) for e in ends}


def test_desk_shows_a_changed_card_before_and_after(enter: Enter, reader: Reader) -> None:
    """The picture in which the card was read, that of the alert, and both faces.

    A picture that was not there yet when the page asked for it is shown once it has come.
    """
    screen = enter("Cy", "desk")
    play = Play().begin().card("P1:4h").card("B1:4c").card("P2:3d").card("B2:3c")
    play.then(*play.sight.switch(play.at, 1, Card.parse("9s")))
    reader.play(play.events)
    alert = reader.desk.table.coups[-1].alerts[0].alert
    facts = (alert.shoe, alert.coup, "0" * 64, 9)
    at = alert.raised_at
    shades = {
        "read": EvidenceKept(at - 9000, "read", Medium.STILL, *facts, order=1),
        "other": EvidenceKept(at - 8000, "other", Medium.STILL, *facts, order=2),
        "moment": EvidenceKept(at, "moment", Medium.STILL, *facts, alert=alert.id),
    }
    for width, (name, kept) in enumerate(shades.items(), start=100):
        reader.take(kept)
        picture = cv2.imencode(".jpg", np.full((90, width, 3), 90, np.uint8))[1].tobytes()
        if name == "moment":
            reader.take(AckAlert(play.at, "Cy", Role.SURVEILLANCE, alert.id))
            open_alert(screen, reader, "was 4")
            screen.page.wait_for_selector("#evidence .empty")
        reader.show(f"evidence/{name}", picture)
    screen.says("facts", "was")
    screen.page.wait_for_function(
        "() => JSON.stringify([...document.querySelectorAll('#evidence img')]"
        ".map(i => i.naturalWidth)) === '[100,102]'"
    )
    assert "Before" in screen.page.inner_text("#evidence figure >> nth=0")
    assert "After" in screen.page.inner_text("#evidence figure >> nth=1")


def test_desk_search_finds_by_fault_and_table(enter: Enter, reader: Reader) -> None:
    """The last mis-deal of a table is found by its name."""
    reader.play(overdraw().events[:-1])
    screen = enter("Cy", "desk#search")
    screen.page.select_option("[name=table]", reader.table)
    screen.page.select_option("[name=code]", label="Over-draw by Banco")
    screen.page.click("#search button")
    screen.page.wait_for_selector("#search td:has-text('No card due to Banco')")
    row = screen.page.locator("#search tr:has-text('Over-draw by Banco')").first.inner_text()
    assert "Ann" in row
    assert "Closed" in row


def test_desk_knows_of_the_shoe_after_its_own_restart(
    tmp_path: Path, chromium: Any, broker: EmbeddedBroker
) -> None:
    """A new desk asks the table to say again what it has missed."""
    users, key = house_of_people(tmp_path)
    config = with_desk(table_config(broker.port), users, key)
    reader = Reader(broker.port, "7", users)
    reader.play(overdraw().events[:-1])
    with Boards([config], address_of(config)) as boards:
        page = chromium.new_page()
        page.goto(f"{boards.server.url}login")
        page.fill("#name", "Cy")
        page.fill("#password", PASSWORD)
        page.click("#enter")
        page.wait_for_url("**/desk")
        wait_for(lambda: page.evaluate("fetch('/api/history/7').then(a => a.json())"))
        time.sleep(0.5)
        shoe = page.evaluate("fetch('/api/history/7/s1').then(a => a.json())")
        assert [coup["coup"] for coup in shoe["coups"]][:2] == [1, 2]
        assert len(shoe["coups"][1]["cards"]) == 6
        page.close()
    reader.hang_up()


def test_desk_asks_for_the_log_in_and_turns_away_a_wrong_role(
    chromium: Any, hall: Hall, enter: Enter
) -> None:
    """Nobody and no wrong role sees the desk; a wrong password is told as such."""
    page = chromium.new_page()
    page.goto(f"{hall.url}desk")
    assert page.url.endswith("/login?next=/desk")
    page.fill("#name", "Ann")
    page.fill("#password", "not the words")
    page.click("#enter")
    page.wait_for_selector("#why:has-text('wrong name')")
    page.close()
    screen = enter("Bo", "desk")
    assert "/login?why=role" in screen.page.url
    screen.says("why", "may not open that page")


def test_desk_leaves_when_the_session_has_ended(
    enter: Enter, chromium: Any, hall: Hall, reader: Reader
) -> None:
    """Whoever logs out is out; the page says that the session has ended."""
    context = chromium.new_context()
    page = context.new_page()
    page.goto(f"{hall.url}login?next=/desk")
    page.fill("#name", "Ann")
    page.fill("#password", PASSWORD)
    page.click("#enter")
    page.wait_for_url(lambda url: "login" not in url)
    other = context.new_page()
    other.goto(f"{hall.url}desk")
    other.wait_for_selector("#who:not(:empty)")
    other.click("#leave")
    other.wait_for_url("**/login")
    page.wait_for_url("**/login?why=ended**")
    context.close()


# --- the dealer strip ----------------------------------------------------------------------------


def strip(enter: Enter, reader: Reader) -> Screen:
    """Open the strip of the reader's table on a small touch screen."""
    size = {"width": 1024, "height": 600}
    return enter("Bo", f"dealer/{reader.table}", viewport=size, has_touch=True)


def test_strip_says_what_is_due(enter: Enter, reader: Reader) -> None:
    """The place of the next card, who draws, and that no card is due."""
    screen = strip(enter, reader)
    play = Play().begin()
    for words, card in (("Banco 1", "P1:2c"), ("Punto 2", "B1:3s"), ("Banco 2", "P2:Kd"),
                        ("Punto draws", "B2:4h"), ("Egalite 7", "P3:5h")):  # fmt: skip
        play.card(card)
        reader.take(*play.events)
        play.events = []
        reader.alive()
        screen.says("due", words)
    small = screen.page.evaluate(
        """[...document.querySelectorAll('button')].filter(n => n.offsetParent)
           .map(n => n.getBoundingClientRect().height)"""
    )
    assert min(small) >= 60
    assert screen.complaints == []


def test_strip_dealer_sees_confirms_keys_in_and_calls(enter: Enter, reader: Reader) -> None:
    """An unread card is keyed in with thumbs only; the inspector is called to the desk."""
    screen = strip(enter, reader)
    play = Play().begin().card("P1:9c").card("B1:?").card("P2:Kd").card("B2:4h")
    reader.take(*play.events)
    screen.page.tap("#key")
    screen.page.tap("#slots [data-value=BANCO_1]")
    screen.page.tap("#ranks [data-value='3']")
    screen.page.tap("#suits [data-value=s]")
    screen.says("send", "Banco 1 is 3♠")
    screen.page.tap("#send")
    screen.says("reply", "✓")
    keyed = next(one for one in reader.events if isinstance(one, CorrectCard))
    assert (keyed.by, keyed.role, str(keyed.card)) == ("Bo", "dealer", "3s")
    screen.page.tap("#confirm")
    wait_for(lambda: any(isinstance(one, Confirm) for one in reader.events))
    screen.page.tap("#call")
    desk = enter("Ann", "desk")
    open_alert(desk, reader, "Bo calls the inspector")
    screen.page.wait_for_selector("#alert :text('Bo calls the inspector.')")


# --- the readers' health -------------------------------------------------------------------------


def test_engineer_sees_how_the_reader_does(enter: Enter, hall: Hall, table: str) -> None:
    """The reader's figures are drawn over time, with the alerts about machines."""
    voice = Voice(hall.broker.port, table)
    voice.online()
    screen = enter("Di", "setup")
    title = f".reader:has(h2:text-matches('^Table {table}[^0-9]'))"
    for fps in (30, 29, 12):
        voice.say("health", {"fps": fps, "event_ms": {"p50": 50, "p99": 70}, "outbox": 3})
        screen.page.wait_for_selector(f"{title} figure:has-text('Frames per second{fps}')")
    points = screen.page.locator(f"{title} polyline").first.get_attribute("points") or ""
    assert len(points.split()) == 3
    machine = {"id": "a1", "code": "LINK", "text": "Messages cannot be sent.", "state": "raised"}
    voice.say("alert/a1", {**machine, "severity": "warning", "audience": ["engineer"]})
    screen.page.wait_for_selector(f"{title} li:has-text('Messages cannot be sent.')")
    voice.say("alert/a2", {**machine, "id": "a2", "text": "a card", "audience": ["dealer"]})
    voice.say("alert/a3", {**machine, "id": "a3", "text": "the last", "audience": ["engineer"]})
    screen.page.wait_for_selector(f"{title} li:has-text('the last')")
    assert screen.page.locator(f"{title} li:has-text('a card')").count() == 0
    voice.hang_up()


# --- whoever uses it -----------------------------------------------------------------------------

PAGES = {"board": "", "strip": "Bo", "desk": "Ann", "search": "Cy", "login": "", "setup": "Di"}


@pytest.mark.parametrize("name", PAGES)
def test_page_has_no_serious_accessibility_fault(
    name: str, enter: Enter, chromium: Any, hall: Hall, reader: Reader
) -> None:
    """axe-core finds nothing serious on any page, with an alert open."""
    paths = {"board": f"table/{reader.table}", "strip": f"dealer/{reader.table}"}
    paths["search"] = "desk#search"
    reader.play(faulty().events)
    if PAGES[name]:
        screen = enter(PAGES[name], paths.get(name, name))
    else:
        screen = Screen(chromium.new_page())
        screen.page.goto(hall.url + paths.get(name, name))
    if name == "desk":
        open_alert(screen, reader)
    with reader.beating():
        if name in ("board", "strip"):
            screen.live(reader)
        faults = Axe().run(screen.page).response["violations"]
    grave = [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in faults
             if one["impact"] in ("serious", "critical")]  # fmt: skip
    assert grave == []


def test_desk_shows_the_first_alert_as_it_grows_without_a_click(
    tmp_path: Path, chromium: Any, broker: EmbeddedBroker
) -> None:
    """The fault, its odds and what can be done, in Spanish; that it lapsed is no second alert."""
    users, key = house_of_people(tmp_path)
    config = with_desk(table_config(broker.port), users, key)
    reader = Reader(broker.port, "7", users)
    with Boards([config], address_of(config)) as boards:
        screen = Screen(chromium.new_page())
        page = screen.page
        page.goto(f"{boards.server.url}login")
        page.fill("#name", "Ann")
        page.fill("#password", PASSWORD)
        page.click("#enter")
        page.wait_for_url("**/desk")
        page.goto(f"{boards.server.url}desk?lang=es")
        page.wait_for_selector("#queue:has-text('No hay alertas abiertas.')")
        page.click("#clock")
        play = faulty(at=now_ms()).clear(5).coup("P1:9c B1:3s P2:Kd B2:4h")
        reader.play(play.events)
        alert = next(m for m in reversed(reader.published) if m.topic.endswith("/alert/a1"))
        number = f'"seq":{alert.seq}'.encode()
        reader.publish(alert.topic, alert.payload.replace(number, b'"odds":250.0,"seq":9999'))
        screen.says("facts", "No card due to Banco")
        screen.says("facts", "250 veces más probable")
        screen.says("actions", "Qué se puede hacer")
        screen.says("facts", "Not resolved before coup 3")
        page.wait_for_selector("#queue > li:only-child .severity.critical")
        assert page.text_content("#open-count") == "1"
        assert page.text_content("#tables .count") == "Alertas abiertas: 1"
        assert page.get_attribute("#sound", "data-played") == "1"
        page.focus("#sound")
        page.keyboard.press("Enter")
        assert page.get_attribute("#sound", "aria-pressed") == "false"
        found = Axe().run(page).response["violations"]
        assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
        assert screen.complaints == []
    reader.hang_up()


def test_pages_show_no_code_of_a_fault(enter: Enter, screen: Screen, reader: Reader) -> None:
    """With an alert that lapsed, every page names it in words."""
    reader.play(faulty().clear(5).coup("P1:9c B1:3s P2:Kd B2:4h").events)
    shown = [(screen, "")]
    for name, path in (
        ("Ann", "desk"), ("Ann", f"desk#history/{reader.table}/s1"), ("Cy", "desk#search"),
        ("Bo", f"dealer/{reader.table}"), ("Ann", "floor"), ("Di", "setup"),
    ):  # fmt: skip
        shown.append((enter(name, path), path))
    with reader.beating():
        screen.live(reader)
        screen.page.wait_for_timeout(1500)  # in which every page goes on
        for each, path in shown:
            if "history" in path:
                each.page.click("summary:has-text('Coup 2')")
                each.page.wait_for_selector("details[open] table")
            elif path == "desk":
                each.page.click(f"#queue li:has-text('Table {reader.table} ') .alert")
                each.says("facts", "Not resolved before coup")
            words = set(re.findall(r"\w+", each.page.inner_text("body")))
            assert not words & set(KINDS), path
            assert not [word for word in words if re.fullmatch(r"[A-Z0-9]+_[A-Z0-9_]+", word)]


def test_board_does_not_receive_what_the_desk_knows(screen: Screen, reader: Reader) -> None:
    """Everything that the public page receives is public, through a coup with a fault."""
    screen.page.evaluate(
        """async (path) => {
          window.received = "";
          const reader = (await fetch(path)).body.pipeThrough(new TextDecoderStream()).getReader();
          (async () => { for (;;) window.received += (await reader.read()).value ?? ""; })();
        }""",
        f"/events/{reader.table}",
    )
    events = overdraw().events[:-1]
    reader.play(events[:4])
    screen.live(reader)
    reader.play(events[4:])
    screen.says("verdict", "wins")
    screen.page.wait_for_function("window.received.includes('coup/result')")
    whole = screen.page.evaluate("window.received")
    for word in ("OVER_B3", "told the pit", "Ann", "confidence", "fps", "cards_out", iso(0)[:4]):
        assert word not in whole


def test_markup_in_messages_comes_out_as_text_on_every_page(
    enter: Enter, hall: Hall, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Markup is shown as it was written, also where the boards would let none of it through."""
    monkeypatch.setattr("vision.board.feed.message_of", lambda *reported: json_object(reported[-1]))
    words = "<img src=x onerror=alert(1)>"
    voice = Voice(hall.broker.port, table)
    voice.online()
    voice.say("shoe", {"shoe": words, "cards_out": words, "burned": words})
    hands = {"cards": [words, "As"], "points": words, "natural": words, "pair": words}
    coup = {"shoe": words, "coup": 3, "punto": hands, "banco": hands}
    voice.say("coup/live", {**coup, "expected": [words], "complete": False, "free": False})
    alert = {"id": "a1", "shoe": words, "coup": words, "code": words, "text": words, "card": words}
    reported = {"state": "raised", "severity": words, "deadline": words, "expected": [words]}
    people = {"by": words, "role": words, "reason": words, "acknowledged_by": words}
    more = {
        "audience": ["dealer", "surveillance"],
        "remedy": words,
        "second": words,
        "evidence": [words],
    }
    voice.say("alert/a1", {**alert, **reported, **people, **more, "observed": words})
    card = {"shoe": words, "coup": 3, "order": 1, "card": words, "slot": words, "second": words}
    voice.say("card", card, retain=False)
    voice.say("coup/result", {**coup, "revision": 0, "state": words, "why": words, "by": words})
    desk = enter("Ann", "desk")
    desk.page.locator("#queue .alert", has_text=f"Table {table} ").click()
    desk.says("facts", words)
    desk.page.goto(f"{hall.url}desk#history/{table}/{words.replace('/', '%2F')}")
    strip = enter("Bo", f"dealer/{table}")
    strip.says("alert", words)
    for page in (desk.page, strip.page):
        page.on("dialog", lambda _: pytest.fail("a script ran"))
        assert page.locator("img[src=x]").count() == 0
        assert words in page.inner_text("body")
    voice.hang_up()


def test_clip_of_an_alert_plays_at_the_desk(enter: Enter, reader: Reader) -> None:
    """A film as the reader keeps it is stepped through, picture by picture."""
    reader.play(faulty().events)
    topic = f"clip/{reader.table}-a1"
    reader.show(topic, film())
    alert = next(m for m in reversed(reader.published) if m.topic.endswith("/alert/a1"))
    with_clip = alert.payload.replace(b'"evidence":[]', f'"evidence":["{topic}"]'.encode())
    screen = enter("Cy", "desk")
    reader.publish(alert.topic, with_clip.replace(f'"seq":{alert.seq}'.encode(), b'"seq":9999'))
    open_alert(screen, reader)
    shown = "() => document.querySelector('.player img')?.naturalWidth === 160"
    screen.page.wait_for_function(shown)
    last = screen.page.locator(".player input")
    assert last.get_attribute("max") == "4"
    screen.page.click(".player button")
    screen.page.wait_for_function("() => document.querySelector('.player input').value === '4'")
    screen.page.wait_for_selector(".player button:has-text('Play')")
    assert screen.complaints == []


def test_desk_asks_for_a_second_person_who_vouches(enter: Enter, hall: Hall, table: str) -> None:
    """Nobody, a wrong password, then another person: the order is given once somebody vouched."""
    reader = Reader(hall.broker.port, table, hall.users, "auto")
    screen = enter("Ann", "desk")
    reader.play(faulty().events)
    open_alert(screen, reader)
    page = screen.page
    page.click("button[data-order=void_coup]")
    dialog = page.locator("dialog.second[open]")
    dialog.wait_for()
    assert "a second, an inspector or surveillance" in dialog.inner_text()
    page.click("dialog.second button[type=button]")
    screen.says("reply", "no second person confirmed the order")
    page.click("button[data-order=void_coup]")
    for password, words in (("no such words", "wrong name or password"), (PASSWORD, "")):
        dialog.wait_for()
        page.fill("dialog.second input >> nth=0", "Cy")
        page.fill("dialog.second input[type=password]", password)
        page.click("dialog.second button.first")
        if words:
            page.wait_for_function(
                "(words) => document.querySelector('dialog.second .why').textContent === words",
                arg=words,
                timeout=90_000,
            )
    screen.says("reply", "Void: done", 90)
    assert page.locator("dialog.second input[type=password]").input_value() == ""
    assert [type(one).__name__ for one in reader.events].count("VoidCoup") == 1
    reader.hang_up()


def tab_to(page: Any, selector: str) -> None:
    """Press Tab until the focus is on an element that fits; fail after a round of the page."""
    for _ in range(150):
        if page.evaluate("(sought) => document.activeElement.matches(sought)", selector):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"no number of tabs leads to {selector}")


def test_desk_is_used_by_keyboard_alone(enter: Enter, reader: Reader) -> None:
    """Sound, alert, comment, remedy, search and log-out, with Tab, Enter, Space and letters."""
    screen = enter("Ann", "desk")
    reader.play(faulty().events)
    page = screen.page
    page.wait_for_selector(f"#queue .alert:has-text('Table {reader.table} ')")
    tab_to(page, "#sound")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Space")
    assert page.get_attribute("#sound", "aria-pressed") == "false"
    tab_to(page, f"#queue [data-key^='{reader.table}/']")
    page.keyboard.press("Enter")
    screen.says("facts", f"Table {reader.table}")
    tab_to(page, "[data-order=ack_alert]")
    page.keyboard.press("Enter")
    screen.says("reply", "Acknowledge: done")
    # The actions of another state are drawn anew: what is typed before that is lost.
    page.wait_for_selector("[data-order=ack_alert]", state="detached")
    tab_to(page, "#actions input")
    page.keyboard.type("seen by key")
    tab_to(page, "#actions select")
    page.keyboard.type("R5")
    tab_to(page, "[data-order=rectify_alert]")
    page.keyboard.press("Space")
    screen.says("facts", "R5 – Extra card burned")
    screen.says("facts", "seen by key")
    tab_to(page, "#to-search")
    page.keyboard.press("Enter")
    page.wait_for_selector("#search td")
    unreached = page.evaluate(
        """() => [...document.querySelectorAll('button, a[href], input, select, summary')]
             .filter(n => n.offsetParent && (n.disabled || n.tabIndex < 0)).map(n => n.outerHTML)"""
    )
    assert unreached == []
    # The page of the log-in is late: meanwhile the server has ended the stream of events.
    page.route("**/login", continue_late)
    tab_to(page, "#leave")
    page.keyboard.press("Enter")
    page.wait_for_url("**/login")
    assert screen.complaints == []
