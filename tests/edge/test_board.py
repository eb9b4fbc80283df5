"""The board: what the broker says, in a real browser; and plain words when it cannot be trusted."""

from __future__ import annotations

import json
import random
import socket
import time
from collections.abc import Iterator
from typing import Any, cast

import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion

from vision.edge.board.feed import Feed
from vision.edge.board.server import BoardServer
from vision.edge.broker import EmbeddedBroker
from vision.edge.mqtt_link import Endpoint
from vision.errors import OutsideError
from vision.game.cards import parse_cards, points_of
from vision.game.events import Winner
from vision.game.roads import RoadCoup, roads_of, roads_payload

PREFIX = "casino/test/table/7/"
CHROMIUM = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-component-update",
    "--disable-sync",
]


class Table:
    """A reader's voice: publishes the messages of a table to a broker."""

    def __init__(self, port: int) -> None:
        self._client = paho.Client(
            CallbackAPIVersion.VERSION2, client_id="reader", reconnect_on_failure=False
        )
        gone = json.dumps({"state": "offline", "boot": "b", "seq": 0})
        self._client.will_set(PREFIX + "status", gone, 1, retain=True)
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()
        self._seq = 0

    def say(self, topic: str, content: dict[str, Any] | None, *, retain: bool = True) -> None:
        """Publish one message and wait until the broker has it."""
        self._seq += 1
        frame = {"schema": 1, "table": "7", "boot": "b", "seq": self._seq}
        data = json.dumps({**frame, **content}) if content is not None else ""
        self._client.publish(PREFIX + topic, data, 1, retain).wait_for_publish(3)

    def live(self, coup: int, punto: str, banco: str, *, expected: tuple[str, ...] = ()) -> None:
        """Publish the running coup."""
        hands = {"punto": hand(punto), "banco": hand(banco)}
        self.say("coup/live", {"shoe": "s1", "coup": coup, **hands, "expected": expected,
                               "complete": not expected, "free": False})  # fmt: skip

    def result(self, coup: int, punto: str, banco: str, **changes: object) -> None:
        """Publish a finished coup."""
        hands = {"punto": hand(punto), "banco": hand(banco)}
        result = {"revision": 0, "state": "final", "why": "", "winner": winner(punto, banco)}
        self.say("coup/result", {"shoe": "s1", "coup": coup, **hands, **result, **changes})

    def hang_up(self, *, in_order: bool) -> None:
        """Leave the broker, in order or as a crash does."""
        if in_order:
            self._client.disconnect()
        else:
            cast(socket.socket, self._client.socket()).shutdown(socket.SHUT_RDWR)
        self._client.loop_stop()


def hand(cards: str) -> dict[str, Any]:
    """Return a hand as the messages have it; `?` is a card that is not shown."""
    faces = [None if word == "?" else word for word in cards.split()]
    known = parse_cards(" ".join(face for face in faces if face))
    points = points_of(known) if len(known) == len(faces) > 1 else None
    natural = points is not None and points >= 8 and len(faces) == 2
    pair = len(known) >= 2 and known[0].rank == known[1].rank
    return {"cards": faces, "points": points, "natural": natural, "pair": pair}


def winner(punto: str, banco: str) -> str:
    """Return who wins with these hands."""
    ours, theirs = points_of(parse_cards(punto)), points_of(parse_cards(banco))
    return "egalite" if ours == theirs else "punto" if ours > theirs else "banco"


def played(coups: int, seed: int = 5) -> tuple[RoadCoup, ...]:
    """Return random coups for the roads."""
    dice = random.Random(seed)
    return tuple(
        RoadCoup(number, dice.choice(list(Winner)), dice.random() < 0.1, dice.random() < 0.1)
        for number in range(1, coups + 1)
    )


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    """Run a broker on free ports."""
    with EmbeddedBroker(0, 0) as running:
        yield running


@pytest.fixture
def feed(broker: EmbeddedBroker) -> Iterator[Feed]:
    """Run a connected feed with alerts."""
    found = Feed(Endpoint(port=broker.port), PREFIX, alerts=True)
    found.start()
    wait_for(lambda: found.connected)
    yield found
    found.stop()


@pytest.fixture
def table(broker: EmbeddedBroker) -> Iterator[Table]:
    """Run a reader's voice that is on line."""
    voice = Table(broker.port)
    voice.say("status", {"state": "online"})
    voice.say("shoe", {"shoe": "s1", "decks": 8, "cut_card_seen": False, "last_hand": False})
    yield voice
    voice.hang_up(in_order=True)


def wait_for(true: Any, seconds: float = 5.0) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def state_of(feed: Feed) -> dict[str, Any]:
    """Return what a new browser would be told."""
    listener = lambda *_: None  # noqa: E731
    state = feed.subscribe(listener)
    feed.unsubscribe(listener)
    return state


def test_feed_drops_repeats_and_older_messages(feed: Feed, table: Table) -> None:
    """A message that comes twice, or late, changes nothing."""
    told: list[str] = []
    feed.subscribe(lambda topic, _: told.append(topic))
    table.live(3, "As 2c", "Kd 9h")
    wait_for(lambda: "coup/live" in told)
    table._seq -= 1
    table.live(9, "As", "")
    table.say("roads", {"coups": []})
    wait_for(lambda: "roads" in told)
    assert told.count("coup/live") == 1
    assert state_of(feed)["coup/live"]["coup"] == 3


def test_feed_forgets_what_the_broker_clears(feed: Feed, table: Table) -> None:
    """A closed alert leaves the display."""
    table.say("alert/a1", {"id": "a1", "state": "raised"})
    wait_for(lambda: "alert/a1" in state_of(feed))
    table.say("alert/a1", None)
    wait_for(lambda: "alert/a1" not in state_of(feed))


def test_feed_without_alerts_never_hears_of_them(broker: EmbeddedBroker, table: Table) -> None:
    """A public board does not even subscribe to alerts or cards."""
    public = Feed(Endpoint(port=broker.port), PREFIX)
    public.start()
    wait_for(lambda: public.connected)
    table.say("alert", {"id": "a1", "text": "secret"}, retain=False)
    table.say("alert/a1", {"id": "a1", "text": "secret"})
    table.say("card", {"card": "As"}, retain=False)
    table.live(1, "As 2c", "Kd 9h")
    wait_for(lambda: "coup/live" in state_of(public))
    assert "secret" not in json.dumps(state_of(public))
    assert not any(topic.startswith(("alert", "card")) for topic in state_of(public))
    public.stop()


def test_feed_ignores_payloads_that_are_none_of_ours(feed: Feed, table: Table) -> None:
    """Broken, huge or strange payloads change nothing and end nothing."""
    for data in (b"{", b"[1]", b'"x"', b"\xff\xfe", b'{"a":"' + b"x" * 300_000 + b'"}'):
        table._client.publish(PREFIX + "coup/live", data, 1, retain=False).wait_for_publish(3)
    table.live(2, "As 2c", "Kd 9h")
    wait_for(lambda: state_of(feed).get("coup/live", {}).get("coup") == 2)


def test_feed_of_a_new_shoe_forgets_the_old_results(feed: Feed, table: Table) -> None:
    """Results of the last shoe do not stand among those of the new one."""
    table.result(70, "As 7c", "Kd 9h")
    table.result(71, "As 7c", "Kd 9h")
    table.result(1, "As 7c", "Kd 9h", shoe="s2")
    wait_for(lambda: "coup/result#1" in state_of(feed))
    assert [key for key in state_of(feed) if key.startswith("coup/result")] == ["coup/result#1"]


def test_server_port_in_use_is_told(feed: Feed) -> None:
    """A taken port is told with its number and the cure."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        with pytest.raises(OutsideError, match=f"port {port} .*--http-port"):
            BoardServer(feed, title="x", port=port).start()


# --- in a browser --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Run Debian's Chromium."""
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as play:
        yield play.chromium.launch(executable_path="/usr/bin/chromium", args=CHROMIUM)


@pytest.fixture
def page(chromium: Any, feed: Feed) -> Iterator[Any]:
    """Open the board in Full HD and collect what the page complains of and asks for."""
    with BoardServer(feed, title="Table 7", port=0) as server:
        found = chromium.new_page(viewport={"width": 1920, "height": 1080})
        found.complaints, found.asked = [], []
        found.on("pageerror", lambda error: found.complaints.append(str(error)))
        found.on("console", lambda note: found.complaints.append(note.text))
        found.on("request", lambda request: found.asked.append(request.url))
        found.address = server.url
        found.goto(server.url)
        yield found
        found.close()


def text(page: Any, name: str, wanted: str, seconds: float = 15.0) -> None:
    """Wait until an element says something; what must be quick says how quick."""
    page.wait_for_function(
        "([id, words]) => document.getElementById(id).textContent.includes(words)",
        arg=[name, wanted],
        timeout=1000 * seconds,
    )


def live(table: Table, page: Any) -> None:
    """Let the table show signs of life until the page calls itself live."""
    table.say("health", {"fps": 30})
    page.wait_for_selector("body:not(.stale)", timeout=15000)


@pytest.mark.browser
def test_board_shows_the_coup_card_by_card_and_its_result(page: Any, table: Table) -> None:
    """Cards appear as they are exposed; then who draws, the winner, the roads and the counts."""
    live(table, page)
    table.live(12, "As ?", "Td", expected=("BANCO_2",))
    page.wait_for_selector("#punto-cards svg:nth-child(2)")
    assert page.locator("#punto-cards title").all_text_contents() == [
        "ace of spades", "card not shown"]  # fmt: skip
    assert page.text_content("#punto-points") == ""
    table.live(12, "As 4h", "Td 5c", expected=("PUNTO_3",))
    text(page, "verdict", "Punto draws")
    text(page, "punto-points", "5")
    table.live(12, "As 4h 3d", "Td 5c 9s")
    table.result(12, "As 4h 3d", "Td 5c 9s")
    text(page, "verdict", "Punto wins")
    coups = played(30)
    table.say("roads", {"shoe": "s1", **roads_payload(roads_of(coups))})
    page.wait_for_selector("#bead g:nth-of-type(30)", state="attached")
    table.say("health", {"fps": 30})
    shown = dict(zip(page.locator("dt").all_text_contents(),
                     page.locator("dd").all_text_contents(), strict=True))  # fmt: skip
    for side in Winner:
        assert shown[side.value.capitalize()] == str(sum(c.winner is side for c in coups))
    text(page, "results", "Punto 8:4")
    assert page.complaints == []
    assert all(address.startswith(page.address) for address in page.asked)


@pytest.mark.browser
def test_board_next_coup_clears_the_last_one(page: Any, table: Table) -> None:
    """The result stands until the next coup has a card, then the new coup is shown."""
    live(table, page)
    table.result(3, "As 7c", "Kd 9h")
    table.live(4, "", "", expected=("PUNTO_1",))
    text(page, "verdict", "Banco wins")
    table.live(4, "2h", "", expected=("BANCO_1",))
    text(page, "verdict", "Dealing")
    assert page.locator("#punto-cards svg").count() == 1
    assert page.locator(".wins").count() == 0


@pytest.mark.browser
@pytest.mark.parametrize(
    ("changes", "words", "detail"),
    [
        ({"state": "held", "why": "review", "winner": None}, "Result held", "Under review"),
        ({"state": "corrected", "revision": 1}, "Banco wins", "Corrected result"),
        ({"state": "void", "winner": None}, "Coup void", ""),
    ],
    ids=["held", "corrected", "void"],
)
def test_board_says_what_kind_of_result_it_is(
    page: Any, table: Table, changes: dict[str, object], words: str, detail: str
) -> None:
    """A held, corrected or void coup is not shown as if it were plain."""
    live(table, page)
    table.result(3, "As 7c", "Kd 9h", **changes)
    text(page, "verdict", words)
    text(page, "detail", detail)


@pytest.mark.browser
def test_board_alerts_are_behind_a_switch(page: Any, table: Table) -> None:
    """The number of open alerts is seen; their words only when asked for, and as plain text."""
    live(table, page)
    words = "<img src=x onerror=alert(1)> No card due to Punto"
    alert = {"id": "a1", "code": "OVER_P3_STAND", "severity": "warning", "coup": 3, "text": words}
    table.say("alert", {**alert, "state": "raised"}, retain=False)
    table.say("alert/a1", {**alert, "state": "raised"})
    text(page, "alerts-count", "1")
    assert not page.is_visible("#alerts")
    page.click("#alerts-switch")
    assert words in page.text_content("#alert-list")
    assert page.locator("#alert-list img").count() == 0
    table.say("alert/a1", {**alert, "state": "closed"})
    table.say("alert/a1", None)
    text(page, "alerts-count", "0")


@pytest.mark.browser
@pytest.mark.parametrize(
    ("state", "words"),
    [("blind", "cannot see"), ("offline", "offline"), ("stopped", "stopped")],
)
def test_board_says_within_3_s_that_the_reader_does_not_see(
    page: Any, table: Table, state: str, words: str
) -> None:
    """A board that may be stale says so and greys what it shows."""
    live(table, page)
    table.say("status", {"state": state})
    text(page, "notice", words, 3.0)
    assert page.locator("body.stale").count() == 1
    assert "grayscale" in page.evaluate("getComputedStyle(document.querySelector('main')).filter")


@pytest.mark.browser
def test_board_says_within_3_s_that_the_reader_crashed(page: Any, table: Table) -> None:
    """A reader that vanishes is told by its last will."""
    live(table, page)
    table.hang_up(in_order=False)
    text(page, "notice", "offline", 3.0)


@pytest.mark.browser
def test_board_says_within_3_s_that_the_reader_is_silent(page: Any, table: Table) -> None:
    """A reader that hangs without leaving is noticed by its silence; words bring it back."""
    live(table, page)
    page.wait_for_selector("body.stale", timeout=4000)
    text(page, "notice", "silent")
    live(table, page)


@pytest.mark.browser
def test_board_says_within_3_s_that_the_broker_is_gone(
    page: Any, table: Table, broker: EmbeddedBroker
) -> None:
    """Without a broker the board says so, and is right again without a reload."""
    live(table, page)
    port = broker.port
    broker.stop()
    text(page, "notice", "lost its link to the broker", 3.0)
    with EmbeddedBroker(port, 0):
        again = Table(port)
        again.say("status", {"state": "online"})
        wait_for(lambda: "broker" not in page.text_content("#notice"), 5.0)
        live(again, page)
        again.hang_up(in_order=True)


@pytest.mark.browser
def test_board_says_within_3_s_that_its_server_is_gone(chromium: Any, feed: Feed) -> None:
    """A page without its server does not look live; it recovers when the server is back."""
    server = BoardServer(feed, title="Table 7", port=0)
    server.start()
    page = chromium.new_page()
    page.goto(server.url)
    text(page, "notice", "Waiting for the reader")
    server.stop()
    text(page, "notice", "lost its link to the board", 3.5)
    port = int(server.url.rsplit(":", 1)[1].strip("/"))
    with BoardServer(feed, title="Table 7", port=port):
        text(page, "notice", "Waiting for the reader", 5.0)
    page.close()


@pytest.mark.browser
def test_board_fits_a_phone_without_sideways_scrolling(page: Any, table: Table) -> None:
    """On a phone everything is within the width, and letters stay readable."""
    page.set_viewport_size({"width": 390, "height": 844})
    live(table, page)
    table.result(12, "As 4h 3d", "Td 5c 9s")
    text(page, "verdict", "Punto wins")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    size = page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)")
    assert size >= 11
