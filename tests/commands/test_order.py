"""Orders from end to end: a person, a broker, the reader, its log and its answer."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion

from tests.config.test_table import table_file
from tests.mqtt.mqtt_tools import wait_for
from tests.table_log import NOON, clean
from vision import cli
from vision.access.users import load_credential, load_users
from vision.app.journal import Journal
from vision.app.run_log import Destinations
from vision.clock import now_ms
from vision.config.table import TableConfig, load
from vision.game.events import Noticed
from vision.mqtt.embedded_broker import EmbeddedBroker
from vision.wire.commands import signed_text


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    """Give a running broker."""
    with EmbeddedBroker(0) as running:
        yield running


@pytest.fixture
def table(tmp_path: Path, broker: EmbeddedBroker) -> Path:
    """Give a table file with a users file: an inspector, a dealer, the table system."""
    for name, role in (("Ann", "inspector"), ("Bo", "dealer"), ("system", "house")):
        words = ["users", "add", name, "--role", role, "--file", str(tmp_path / "users.json")]
        assert cli.main(words) == 0
    path = table_file(tmp_path, "port = 1883", f"port = {broker.port}")
    text = path.read_text().replace('users = ""', 'users = "users.json"')
    path.write_text(text)
    return path


@contextmanager
def reading(config: TableConfig, log: Path) -> Iterator[Journal]:
    """Give a journal that takes orders as they come, as a run does; a coup has been dealt."""
    done = threading.Event()
    with Journal(config, Destinations(log)) as journal:
        journal.start(NOON, "b1", ())
        link = journal.link._publisher
        assert link is not None
        wait_for(lambda: link.connected)
        time.sleep(0.2)
        if not journal.table.done:
            journal.take(clean().events[1:])

        def serve() -> None:
            while not done.wait(0.02):
                journal.take(journal.link.orders(now_ms()))

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield journal
        finally:
            done.set()
            thread.join()


def give(table: Path, name: str, *words: str) -> int:
    """Give an order from the command line with somebody's key."""
    key = str(table.with_name(f"{name}.key"))
    return cli.main(["order", str(table), *words, "--key", key])


def logged(log: Path) -> list[dict[str, Any]]:
    """Return the records of the log that came of an order."""
    with sqlite3.connect(log) as db:
        bodies = [json.loads(body) for (body,) in db.execute("SELECT body FROM log ORDER BY n")]
    return [body for body in bodies if "order" in body]


def test_order_is_obeyed_answered_and_kept_as_it_was_signed(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log has the event with name and role, Ann's only one, and the order that proves it."""
    config, log = load(table), tmp_path / "t.sqlite"
    with reading(config, log):
        assert give(table, "Ann", "void_coup", "coup=1", "reason=spilt") == 0
        assert give(table, "system", "bets_closed") == 0
    assert "void_coup by Ann: accepted" in capsys.readouterr().out
    voided, closed = logged(log)
    assert voided["event"]["by"] == "Ann"
    assert voided["event"]["role"] == "inspector"
    fields = voided["order"]["fields"]
    user = load_users(table.with_name("users.json")).users["Ann"]
    topic = f"casino/{config.site}/table/{config.table}/cmd/void_coup"
    assert user.signed(signed_text(topic, fields), fields["sig"])
    assert closed["event"]["is"] == "BetsClosed"
    assert cli.main(["audit", str(log)]) == 0
    assert cli.main(["replay", str(log), "--check"]) == 0


@pytest.mark.parametrize(
    ("who", "words", "reported"),
    [
        ("Bo", ["void_coup", "coup=1", "--role", "dealer"], "this is for inspector"),
        ("Bo", ["void_coup", "coup=1", "--role", "inspector"], "Bo may not speak as inspector"),
        ("Bo", ["void_coup", "coup=1", "--by", "Ann", "--role", "inspector"], "for others"),
        ("Bo", ["confirm", "coup=1", "x=2", "--role", "dealer"], "x: no such field"),
        ("Ann", ["bets_closed"], "Ann may not speak as house"),
    ],
)
def test_order_of_who_may_not_is_answered_with_the_reason(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    who: str, words: list[str], reported: str,
) -> None:  # fmt: skip
    """A refusal says why, and changes nothing."""
    with reading(load(table), tmp_path / "t.sqlite") as journal:
        before = journal.table.done
        assert give(table, who, *words) == 3
        assert journal.table.done == before
    assert reported in capsys.readouterr().err


def test_order_recorded_by_another_client_is_not_taken_again(
    table: Path, tmp_path: Path, broker: EmbeddedBroker
) -> None:
    """Who listens in and plays an order again gets nowhere, before and after a restart."""
    config, log = load(table), tmp_path / "t.sqlite"
    prefix = f"casino/{config.site}/table/{config.table}/cmd/"
    order = load_credential(table.with_name("Ann.key")).sign(
        f"{prefix}hold_result", {"by": "Ann", "role": "inspector", "coup": 1, "ref": "a"}, now_ms()
    )
    answers: list[dict[str, Any]] = []
    with thief(broker.port, prefix, answers) as say:
        with reading(config, log):
            say(order)
            wait_for(lambda: len(answers) == 1)
            say(order)
            wait_for(lambda: len(answers) == 2)
        with reading(config, log):
            say(order)
            wait_for(lambda: len(answers) == 3)
    assert [one["accepted"] for one in answers] == [True, False, False], answers
    assert len(logged(log)) == 1


@contextmanager
def thief(
    port: int, prefix: str, answers: list[dict[str, Any]]
) -> Iterator[Callable[[dict[str, Any]], Any]]:
    """Give a way to publish a payload as it is, and listen to the answers."""
    client = paho.Client(CallbackAPIVersion.VERSION2, client_id="thief")
    client.on_message = lambda _c, _d, m: answers.append(json.loads(m.payload))
    client.connect("127.0.0.1", port)
    client.loop_start()
    wait_for(client.is_connected)
    client.subscribe(prefix + "reply", 1)
    time.sleep(0.3)
    yield lambda order: client.publish(prefix + "hold_result", json.dumps(order), 1)
    client.disconnect()
    client.loop_stop()


def test_reader_without_users_file_answers_how_to_make_one(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The default is shut, and the answer is the way to open."""
    config = load(table)
    shut = config.model_copy(update={"orders": config.orders.model_copy(update={"users": ""})})
    with reading(shut, tmp_path / "t.sqlite"):
        assert give(table, "Ann", "void_coup", "coup=1", "--role", "inspector") == 3
    assert "no users file is set up; make one with shoe-reader users add" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (["void_coup", "coup"], "write FIELD=VALUE"),
        (["void_coup", "Coup=3"], "a field's name"),
    ],
)
def test_order_that_is_none_is_reported_before_it_is_sent(
    table: Path, capsys: pytest.CaptureFixture[str], words: list[str], reported: str
) -> None:
    """A slip of the pen is told at once."""
    assert give(table, "Ann", *words, "--role", "inspector") == 2
    assert reported in capsys.readouterr().err


def test_what_cannot_be_undone_needs_a_second_signature(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With two inspectors in the users file it is taken from both only; the log has both."""
    users = ["--file", str(tmp_path / "users.json")]
    assert cli.main(["users", "add", "Eve", "--role", "inspector", *users]) == 0
    log = tmp_path / "t.sqlite"
    config, void = load(table), ("void_coup", "coup=1", "--role", "inspector")
    with reading(config, log) as journal:
        assert give(table, "Ann", *void) == 3
        assert "cannot be undone by one person" in capsys.readouterr().err
        assert give(table, "Ann", *void, "--second", str(tmp_path / "Ann.key")) == 3
        assert not journal.table.done[0].void
        assert give(table, "Ann", *void, "--second", str(tmp_path / "Eve.key")) == 0
        assert journal.table.done[0].void
    (record,) = [body for body in logged(log) if body["order"]["name"] == "void_coup"]
    fields = record["order"]["fields"]
    assert (fields["by"], fields["second"]) == ("Ann", "Eve")
    text = signed_text(f"casino/{config.site}/table/{config.table}/cmd/void_coup", fields)
    eve = load_users(tmp_path / "users.json").users["Eve"]
    assert eve.signed(text, fields["second_sig"])
    assert cli.main(["audit", str(log)]) == 0
    assert cli.main(["replay", str(log), "--check"]) == 0


def test_burst_of_refused_orders_is_an_alert(table: Path, tmp_path: Path) -> None:
    """Somebody who tries keys or topics is told of at the table; a second person missing is not."""
    with reading(load(table), tmp_path / "t.sqlite") as journal:
        link = Publisher(load(table), "void_coup")
        for _ in range(9):
            link.say(b"{}")
        wait_for(lambda: journal.link.gate.refused == 9)
        assert journal.reports(now_ms()) == ()
        link.say(b"{}")
        wait_for(lambda: journal.link.gate.refused == 10)
        (report,) = journal.reports(now_ms())
        link.stop()
    assert isinstance(report, Noticed)
    assert (report.code, report.over) == ("ORDERS", False)


class Publisher:
    """A client of the broker that publishes orders."""

    def __init__(self, config: TableConfig, name: str) -> None:
        self._topic = f"casino/{config.site}/table/{config.table}/cmd/{name}"
        self._client = paho.Client(CallbackAPIVersion.VERSION2)
        self._client.connect(config.broker.host[0], config.broker.port)
        self._client.loop_start()

    def say(self, data: bytes) -> None:
        """Publish an order."""
        self._client.publish(self._topic, data, 1).wait_for_publish(5)

    def stop(self) -> None:
        """Leave the broker."""
        self._client.disconnect()
        self._client.loop_stop()


def test_order_of_somebody_with_several_roles_asks_for_one(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which of two is meant is not guessed."""
    words = ["users", "add", "Cy", "--role", "inspector", "--role", "dealer"]
    assert cli.main([*words, "--file", str(table.with_name("users.json"))]) == 0
    assert give(table, "Cy", "void_coup", "coup=1") == 2
    assert "--role: Cy has several; give one of" in capsys.readouterr().err
