"""What a display hears, keeps and lets out, without a browser."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.browser.voice import Reader, Voice, table_config, wait_for
from tests.mqtt.endpoints import endpoint_at
from tests.table_log import overdraw
from vision.board.desk.history import STORED_SHOES, History
from vision.board.feed import Feed
from vision.board.host.boards import Boards, address_of, prefixes_of
from vision.board.server import BoardServer
from vision.board.table_state import TableState, Update
from vision.board.web import FIELDS, TOPICS, public_part
from vision.config.table import BoardSection
from vision.errors import ConfigurationError, OutsideError
from vision.mqtt.embedded_broker import EmbeddedBroker

DESK = (*TOPICS, "card", "alert", "alert/+")


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    """Run a broker on free ports."""
    with EmbeddedBroker(0) as running:
        yield running


@pytest.fixture
def feed(broker: EmbeddedBroker, voice: Voice) -> Iterator[Feed]:
    """Run a connected feed of everything."""
    found = Feed(endpoint_at(port=broker.port), {voice.table: voice.prefix}, DESK)
    found.start()
    wait_for(lambda: found.connected)
    yield found
    found.stop()


@pytest.fixture
def voice(broker: EmbeddedBroker, request: pytest.FixtureRequest) -> Iterator[Voice]:
    """Give the voice of a table of the test's own that is on line."""
    found = Voice(broker.port, f"t{abs(hash(request.node.name))}")
    found.online()
    yield found
    found.hang_up()


def state_of(feed: Feed) -> dict[str, Any]:
    """Return what a new browser would be told, by place."""
    return {reported.key: reported.payload for reported in feed._states[feed.tables[0]]}


def _shows(feed: Feed, places: set[str]) -> bool:
    """Whether a new browser would be told of these places."""
    return places <= set(state_of(feed))


def message(seq: int, at: str = "2026-01-01T00:00:00.000Z", boot: str = "b") -> dict[str, Any]:
    """Return a payload with a number, a time and a run."""
    return {"boot": boot, "seq": seq, "at": at}


def test_feed_drops_repeats_and_older_messages(feed: Feed, voice: Voice) -> None:
    """A message that comes twice, or late, changes nothing."""
    reported: list[str] = []
    feed.subscribe(lambda one: reported.append(one.topic), feed.tables)
    voice.live(3, "As 2c", "Kd 9h")
    wait_for(lambda: "coup/live" in reported)
    voice.seq -= 1
    voice.live(9, "As", "")
    voice.say("roads", {"coups": []})
    wait_for(lambda: "roads" in reported)
    assert reported.count("coup/live") == 1
    assert state_of(feed)["coup/live"]["coup"] == 3


def test_feed_forgets_what_the_broker_clears(feed: Feed, voice: Voice) -> None:
    """A closed alert leaves the display."""
    voice.say("alert/a1", {"id": "a1", "state": "raised"})
    wait_for(lambda: "alert/a1" in state_of(feed))
    voice.say("alert/a1", None)
    wait_for(lambda: "alert/a1" not in state_of(feed))


def test_feed_ignores_payloads_that_are_none_of_ours(feed: Feed, voice: Voice) -> None:
    """Broken, huge or strange payloads change nothing and end nothing."""
    deep = b"[" * 100_000
    for data in (b"{", b"[1]", b'"x"', b"\xff\xfe", deep, b'{"a":"' + b"x" * 300_000 + b'"}'):
        voice.publish(voice.prefix + "coup/live", data, retain=False)
    voice.live(2, "As 2c", "Kd 9h")
    wait_for(lambda: state_of(feed).get("coup/live", {}).get("coup") == 2)


def test_feed_is_right_again_after_its_own_restart(broker: EmbeddedBroker, voice: Voice) -> None:
    """A new board server knows from what is retained how the table stands."""
    voice.live(5, "As 2c", "Kd 9h")
    voice.result(4, "As 7c", "Kd 9h")
    for _ in range(2):
        found = Feed(endpoint_at(port=broker.port), {voice.table: voice.prefix}, TOPICS)
        found.start()
        wait_for(partial(_shows, found, {"coup/live", "coup/result#4"}))
        found.stop()


def test_odd_message_costs_no_other_one(
    feed: Feed, voice: Voice, caplog: pytest.LogCaptureFixture
) -> None:
    """A message that is not of the contract is dropped and counted, and the feed goes on."""
    for topic, content in (
        ("card", {"shoe": "s1", "order": None, "event": "out"}),
        ("card", {"shoe": "s1", "order": float("nan"), "event": "out"}),
        ("coup/result", {"shoe": "s1", "coup": [1]}),
        ("coup/live", {"shoe": "s1", "coup": 1, "punto": None}),
        ("alert/a1", {"id": {"a": 1}}),
    ):
        voice.say(topic, content, retain=False)
    voice.live(3, "As 2c", "Kd 9h")
    wait_for(lambda: state_of(feed).get("coup/live", {}).get("coup") == 3)
    assert feed.dropped == 5
    assert "dropped, 1 so far" in caplog.text
    assert feed.connected


def test_desk_outlives_a_message_that_it_cannot_take(
    broker: EmbeddedBroker, voice: Voice, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever the history of a desk fails at, its feed goes on, and the log says so."""

    def failing(_table: str, topic: str, _data: bytes) -> None:
        if topic == "shoe":
            raise TypeError("a defect")

    found = Feed(endpoint_at(port=broker.port), {voice.table: voice.prefix}, DESK, recorder=failing)
    found.start()
    wait_for(lambda: found.connected)
    voice.say("shoe", {"shoe": "s1"})
    voice.live(4, "As 2c", "Kd 9h")
    wait_for(lambda: state_of(found).get("coup/live", {}).get("coup") == 4)
    assert "a defect" in caplog.text
    found.stop()


def test_memory_of_a_new_shoe_forgets_the_old_results() -> None:
    """Results of the last shoe do not stand among those of the new one."""
    memory = TableState("7")
    for seq, (shoe, coup) in enumerate([("s1", 70), ("s1", 71), ("s2", 1)]):
        memory.take("coup/result", {**message(seq), "shoe": shoe, "coup": coup})
    assert [reported.key for reported in memory] == ["coup/result#1"]


def test_memory_takes_a_new_run_by_its_time_and_an_old_one_not() -> None:
    """A late message of an earlier run never replaces one of the run after it."""
    memory = TableState("7")
    assert memory.take("shoe", {**message(9, "2026-01-01T10:00:00.000Z", "b1"), "n": 1})
    assert memory.take("shoe", {**message(1, "2026-01-01T11:00:00.000Z", "b2"), "n": 2})
    assert not memory.take("shoe", {**message(10, "2026-01-01T10:30:00.000Z", "b1"), "n": 3})
    assert next(reported.payload for reported in memory if reported.payload)["n"] == 2


def test_memory_stays_bounded_and_keeps_what_stands() -> None:
    """However much a table tells of, a display keeps so much; an old open alert stays in it."""
    memory = TableState("7")
    memory.take("alert/a0", {**message(0), "id": "a0"})
    for number in range(1, 4000):
        memory.take("cmd/reply", {**message(number), "ref": f"r{number}"})
    assert [health.key for health in memory] == ["alert/a0"]
    assert not memory.take("cmd/reply", {**message(3999), "ref": "r3999"})
    for number in range(1, 3000):
        memory.take(f"alert/b{number}", {**message(number), "id": f"b{number}"})
    assert len(list(memory)) == 2000
    assert list(memory)[-1].key == "alert/b2999"
    memory.take("alert/b1", None)
    health = memory.take("health", message(3000))
    assert health is not None
    assert health.payload is not None
    assert health.payload["alerts_hidden"] == 999, "a desk says how many it does not show"


def test_memory_full_of_alerts_takes_the_next_message_as_fast() -> None:
    """Forgetting the oldest looks for it in no list: a flood makes the true result no later."""
    memory, spent = TableState("7"), []
    for first in (1, 40_000):
        began = time.process_time()
        for number in range(first, first + 2000):
            memory.take(f"alert/b{number}", {**message(number), "id": f"b{number}"})
        spent.append(time.process_time() - began)
    assert spent[1] < 5 * spent[0], "of the processor, so that a busy machine does not matter"


def test_term_at_a_table_of_one_reader_counts_for_nothing() -> None:
    """One false `health` with a term silences no board."""
    memory = TableState("7")
    memory.take("health", {**message(9), "term": 99})
    assert memory.take("coup/live", {**message(10), "coup": 1})
    assert memory.outdated == 0


@pytest.mark.parametrize(
    "false",
    [
        message(10**9),
        message(10**9, "9999-01-01T00:00:00.000Z"),
        message(10**9, "9999-01-01T00:00:00.000Z", boot="x"),
    ],
    ids=["number", "number and time", "another run"],
)
def test_false_message_stands_until_the_reader_speaks_of_itself(false: dict[str, Any]) -> None:
    """A number or a time that the reader has not come to holds up nothing after its `health`."""
    memory = TableState("7")
    memory.take("coup/live", {**message(10), "coup": 1})
    assert memory.take("coup/live", {**false, "coup": 66})
    memory.take("health", message(11, "2026-01-01T00:00:02.000Z"))
    assert memory.take("coup/live", {**message(12, "2026-01-01T00:00:03.000Z"), "coup": 2})
    assert not memory.take("coup/live", {**message(11, "2026-01-01T00:00:02.000Z"), "coup": 1})


def test_false_names_and_numbers_take_nothing_from_a_desk() -> None:
    """Names of shoes that somebody made up push no shoe out; the reader's word gives the number."""
    history = History()

    def record(topic: str, content: dict[str, Any]) -> None:
        history.record("7", topic, json.dumps(content).encode())

    for number in range(1, 30):
        card = {"shoe": "true", "order": number, "event": "out", "coup": 1}
        record("card", {**message(number), **card})
    for number in range(50):
        record("coup/result", {**message(10**9), "shoe": f"f{number}", "coup": 1})
    assert "true" in {shoe["shoe"] for shoe in history.shoes("7")}
    assert len(history.shoes("7")) == STORED_SHOES
    record("health", message(31))
    assert history.newest("7") == 31


@pytest.mark.parametrize(
    "topic", ["alert", "alert/a1", "card", "health", "cmd/reply", "evidence/a"]
)
def test_public_part_of_what_is_not_public_is_nothing(topic: str) -> None:
    """What the public may not know is not even held."""
    assert public_part(topic, {"text": "secret", "state": "online"}) is None


def test_public_part_leaves_out_people_reasons_and_faults() -> None:
    """A result goes out without who corrected it, why, and what went wrong."""
    secret = {"by": "Ann", "reason": "told", "faults": ["OVER_B3"], "cards_out": 40, "new": 1}
    for topic in FIELDS:
        assert not set(secret) & set(public_part(topic, {**secret, "shoe": "s1"}) or {})
    hands = {"punto": {"cards": ["As", None], "confidence": 0.5}}
    assert public_part("coup/live", hands) == {"punto": {"cards": ["As", None]}}


def test_public_feed_never_holds_what_is_not_public(broker: EmbeddedBroker) -> None:
    """Through a whole coup with a fault, nothing but the public part is anywhere in the feed."""
    reader = Reader(broker.port, "public")
    found = Feed(
        endpoint_at(port=broker.port), {"public": reader.prefix}, TOPICS, reduce=public_part
    )
    heard: list[Update] = []
    found.subscribe(heard.append, found.tables)
    found.start()
    wait_for(lambda: found.connected)
    reader.play(overdraw().events[:-1])
    wait_for(lambda: any(place == "coup/result#2" for place in state_of(found)))
    whole = "".join(reported.text for reported in heard) + json.dumps(state_of(found))
    for word in ("OVER_B3", "told the pit", "Ann", "confidence", "burn_due", "alert"):
        assert word not in whole
    found.stop()
    reader.hang_up()


def test_server_answers_nothing_but_its_pages(broker: EmbeddedBroker) -> None:
    """Other paths, methods and tables are turned away, and every answer keeps pages to itself."""
    config = table_config(broker.port)
    with Boards([config], address_of(config)) as boards, httpx.Client() as client:
        tries = {
            ("GET", ""): 200, ("GET", "table/7"): 200, ("GET", "tables"): 200,
            ("GET", "words/fr.json"): 200, ("GET", "table/8"): 404, ("GET", "events/8"): 404,
            ("GET", "words/../server.py"): 404, ("GET", "server.py"): 404,
            ("GET", "pages/board.js"): 404, ("GET", "%2e%2e/feed.py"): 404, ("POST", ""): 405,
            ("GET", "events/7%2f..%2f8"): 404, ("PUT", "tables"): 405, ("DELETE", "board.js"): 405,
        }  # fmt: skip
        for (method, path), wanted in tries.items():
            answer = client.request(method, boards.server.url + path)
            assert answer.status_code == wanted, path
            assert "default-src 'none'" in answer.headers["content-security-policy"]
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert "server" not in answer.headers


def test_server_of_this_machine_answers_to_its_own_names_only(broker: EmbeddedBroker) -> None:
    """A web site whose name service points here is refused, by every name but our own."""
    config = table_config(broker.port)
    with Boards([config], address_of(config)) as boards, httpx.Client() as client:
        port = boards.server.url.rstrip("/").rpartition(":")[2]
        for host, status in (
            (f"localhost:{port}", 200), (f"127.0.0.1:{port}", 200), (f"[::1]:{port}", 200),
            ("evil.example", 400), (f"evil.example:{port}", 400),
        ):  # fmt: skip
            answer = client.get(boards.server.url, headers={"Host": host})
            assert (host, answer.status_code) == (host, status)


def test_server_port_in_use_is_reported() -> None:
    """A taken port is told with its number and the cure."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        with pytest.raises(OutsideError, match=f"port {port} .*--http-port"):
            BoardServer(_nothing, BoardSection(port=port)).start()


def test_server_with_a_certificate_speaks_tls(tmp_path: Path, broker: EmbeddedBroker) -> None:
    """Pages go out over TLS where a certificate is given."""
    key, certificate = tmp_path / "board.key", tmp_path / "board.crt"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    options = ["-nodes", "-days", "2", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command, *options, *names, *files], check=True, capture_output=True)
    config = table_config(broker.port, certificate=str(certificate), key=str(key))
    trust = ssl.create_default_context(cafile=str(certificate))
    with Boards([config], address_of(config)) as boards:
        assert boards.server.url.startswith("https://")
        assert httpx.get(boards.server.url, verify=trust).status_code == 200


def test_server_with_a_faulty_certificate_says_so(tmp_path: Path) -> None:
    """A certificate that cannot be used is named, before anything is served."""
    bad = tmp_path / "board.crt"
    bad.write_text("no certificate", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"\[board\] certificate .*board\.crt"):
        BoardServer(_nothing, BoardSection(port=0, certificate=str(bad))).start()


def test_prefixes_of_one_table_twice_are_refused() -> None:
    """Two files of one table are told apart by nobody, and so refused."""
    with pytest.raises(ConfigurationError, match="table '7'; give each table once"):
        prefixes_of([table_config(1), table_config(1)])


async def _nothing(*_: object) -> None:
    """Serve nothing."""
