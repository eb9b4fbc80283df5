"""A client with the results board's role tries everything in the contract against a real mosquitto.

`python -m tests.chaos.test_security_board_role` prints the table of tries and answers.
"""

from __future__ import annotations

import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.chaos.outcome import Done, LimitBrokenError
from tests.mqtt.mosquitto_house import EVERYONE, PUBLIC, TABLE, TOPICS, House
from tests.mqtt.mqtt_tools import HAS_CLIENTS, MOSQUITTO, wait_for
from vision.errors import OutsideError
from vision.mqtt.endpoint import Endpoint, new_client, private_id, probe
from vision.wire.commands import COMMANDS

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.slow,
    pytest.mark.mosquitto,
    pytest.mark.skipif(not HAS_CLIENTS or MOSQUITTO is None, reason="needs mosquitto"),
]

# `health` is how a display knows that a reader hangs; nothing of it is shown.
MAY_HEAR = {*PUBLIC, "health"}
EVERYTHING = (*TOPICS, *(f"cmd/{name}" for name in COMMANDS if f"cmd/{name}" not in TOPICS))
WILDCARDS = (
    "#", "casino/#", "casino/+/table/+/card", "casino/house/table/1/cmd/+", f"{TABLE}evidence/+",
    f"$share/g/{TABLE}card", f"$share/g/{TABLE}#", "$SYS/#",
)  # fmt: skip

LAST = b'"last"'
END = f"{TABLE}coup/live"


class Try(NamedTuple):
    """What was tried, what came of it, and whether it may work."""

    what: str
    answer: str
    worked: bool
    may: bool


class Client:
    """One connection as somebody, and the topics it has heard on."""

    def __init__(self, endpoint: Endpoint, name: str, will: str = "") -> None:
        self.heard: list[tuple[str, bytes]] = []
        self.up, self.answered = threading.Event(), threading.Event()
        self.paho = new_client(endpoint, name)
        if will:
            self.paho.will_set(will, b'"forged"', 1, retain=True)
        self.paho.on_connect = lambda *_: self.up.set()
        self.paho.on_subscribe = lambda *_: self.answered.set()
        self.paho.on_message = lambda _c, _d, m: self.heard.append((m.topic, bytes(m.payload)))
        self.paho.connect(endpoint.host, endpoint.port)
        self.paho.loop_start()
        assert self.up.wait(20)

    def subscribe(self, topic: str) -> None:
        """Subscribe, and wait for the broker's answer."""
        self.answered.clear()
        self.paho.subscribe(topic, 1)
        assert self.answered.wait(20)

    def publish(self, topic: str, payload: bytes, *, retain: bool = False) -> None:
        """Publish, and wait until the broker says that it has it."""
        self.paho.publish(topic, payload, 1, retain).wait_for_publish(20)

    def say_all(self, topics: tuple[str, ...], *, retain: bool = False) -> None:
        """Publish on topics of the table, and wait until the broker has it all."""
        for topic in topics:
            reported = self.paho.publish(TABLE + topic, b'"x"', 1, retain)
        reported.wait_for_publish(20)

    def payloads(self) -> list[bytes]:
        """Return what was heard."""
        return [payload for _, payload in self.heard]

    def vanish(self) -> None:
        """Break off without a word, so that the will is told."""
        line = self.paho.socket()
        assert isinstance(line, socket.socket)
        line.shutdown(socket.SHUT_RDWR)

    def leave(self) -> None:
        """Hang up."""
        self.paho.disconnect()
        self.paho.loop_stop()


@contextmanager
def connected(house: House, name: str, as_client: str = "", will: str = "") -> Iterator[Client]:
    """Give a connection as that user."""
    client = Client(house.endpoint(name), as_client or f"{name}-tries", will)
    try:
        yield client
    finally:
        client.leave()


def tries_to_connect(house: House) -> Iterator[Try]:
    """Come without what a client needs."""
    right = house.endpoint("board")
    ways = {
        "without TLS": replace(right, tls_ca=""),
        "trusting no such authority": replace(right, tls_ca="system"),
        "without a name": replace(right, username="", password=""),
        "with a wrong password": replace(right, password="guess"),
        "as nobody known": replace(right, username="board-2"),
        "to the certificate port, without one": replace(right, port=house.certificate_port),
    }
    for what, endpoint in ways.items():
        try:
            probe(endpoint)
            yield Try(f"connect {what}", "connected", worked=True, may=False)
        except OutsideError:
            yield Try(f"connect {what}", "turned away", worked=False, may=False)
    probe(right)
    yield Try("connect as it should", "connected", worked=True, may=True)


def tries_to_hear(house: House) -> Iterator[Try]:
    """Subscribe to every topic and to wildcards, while everything is said, retained and not."""
    with connected(house, EVERYONE[0]) as speaker:
        speaker.say_all(EVERYTHING, retain=True)
        for filter_ in (*(TABLE + topic for topic in EVERYTHING), *WILDCARDS):
            with connected(house, "board") as board:
                board.subscribe(filter_)
                speaker.say_all(EVERYTHING)
                # The public topic that comes last shows that all before has been passed on.
                board.subscribe(END)
                speaker.publish(END, LAST)
                wait_for(lambda board=board: LAST in board.payloads(), 20)  # type: ignore[misc]
            heard = {
                topic.removeprefix(TABLE) for topic, reported in board.heard if reported == b'"x"'
            }
            if filter_ != END:
                heard -= {END.removeprefix(TABLE)}
            answer = f"heard {', '.join(sorted(heard)) or 'nothing'}"
            asked_public = filter_.removeprefix(TABLE) in MAY_HEAR
            may = heard <= MAY_HEAR and (asked_public or "#" in filter_ or not heard)
            yield Try(f"subscribe {filter_}", answer, worked=bool(heard), may=may and bool(heard))


def tries_to_say(
    house: House, who: str = "board", topics: tuple[str, ...] = EVERYTHING
) -> Iterator[Try]:
    """Publish on every topic: at once, retained, as a clearing, and as a last will."""
    with connected(house, EVERYONE[0]) as everyone, connected(house, EVERYONE[1]) as last:
        everyone.subscribe("casino/#")
        _said(everyone, last, "what is retained comes first")
        for topic in topics:
            with connected(house, who) as client:
                for way, payload, retain in (
                    ("publish", b'"forged"', False),
                    ("publish retained", b'"forged"', True),
                    ("clear", b"", True),
                ):
                    client.publish(TABLE + topic, payload, retain=retain)
                    yield _said(everyone, last, f"{way} {topic}")
            Client(house.endpoint(who), f"{who}-dies", will=TABLE + topic).vanish()
            time.sleep(0.02)
            yield _said(everyone, last, f"last will on {topic}")


def _said(everyone: Client, last: Client, what: str) -> Try:
    """Say whether anything was passed on; the table's true last message comes after it."""
    last.publish(f"{TABLE}end", LAST)
    wait_for(lambda: LAST in everyone.payloads(), 20)
    worked = any(payload != LAST for payload in everyone.payloads())
    everyone.heard.clear()
    answer = "told to all" if worked else "accepted and thrown away"
    return Try(what, answer, worked=worked, may=False)


def tries_to_push_out(house: House) -> Iterator[Try]:
    """Come under the ids that a reader could be guessed to have, which would throw it out."""
    own = private_id(house.endpoint("reader"), TABLE, "id of the log")
    known = private_id(replace(house.endpoint("reader"), password=""), TABLE, "")
    gone = threading.Event()
    with connected(house, "reader", as_client=own) as reader:
        reader.paho.on_disconnect = lambda *_: gone.set()
        for name in ("reader", "shoe-reader-casino-house-table-1", known):
            with connected(house, "board", as_client=name):
                gone.wait(1.0)
        pushed = gone.is_set()
        with suppress(RuntimeError):
            reader.publish(f"{TABLE}cmd/reply", b"1")
    answer = "the reader was thrown out" if pushed else "the reader stays"
    yield Try("connect under the reader's client id", answer, worked=pushed, may=False)


def tries_to_flood(house: House) -> Iterator[Try]:
    """Send more than the broker lets anybody send at once."""
    with connected(house, "board") as board:
        gone = threading.Event()
        board.paho.on_disconnect = lambda *_: gone.set()
        board.paho.publish(f"{TABLE}status", b"x" * (8 * 1024 * 1024), 1)
        out = gone.wait(20)
    yield Try("publish 8 MiB", "thrown out" if out else "taken", worked=not out, may=False)


def all_tries(folder: Path) -> list[Try]:
    """Try everything against a house of its own."""
    house = House(folder)
    parts = (tries_to_connect, tries_to_hear, tries_to_say, tries_to_push_out, tries_to_flood)
    with house.server:
        return [one for part in parts for one in part(house)]


def table_of(tries: list[Try]) -> str:
    """Return the tries and their answers, a line each, and how many worked."""
    width = max(len(one.what) for one in tries)
    lines = [
        f"{'ok   ' if one.worked == one.may else 'WRONG'} {one.what:<{width}}  {one.answer}"
        for one in tries
    ]
    worked = sum(one.worked for one in tries)
    wrong = sum(one.worked != one.may for one in tries)
    return "\n".join([*lines, f"{len(tries)} tries, {worked} worked, {wrong} wrongly"])


def test_tries_are_seen_to_work_for_who_may(tmp_path: Path) -> None:
    """The tries are no dud: a supervisor's order is told, and so is a last will on it."""
    house = House(tmp_path)
    with house.server:
        tries = list(tries_to_say(house, "supervisor", ("cmd/void_coup", "status")))
    assert [one.worked for one in tries] == [True, True, True, True, False, False, False, False]


def test_board_role_can_do_only_what_a_board_may(tmp_path: Path) -> None:
    """Of everything in the contract, only hearing the public topics works."""
    tries = all_tries(tmp_path)
    print(table_of(tries))
    assert [one for one in tries if one.worked != one.may] == []
    assert {one.what for one in tries if one.worked} >= {f"subscribe {TABLE}{t}" for t in MAY_HEAR}


def run() -> Done:
    """Try everything against a house of its own; LimitBrokenError where one try worked wrongly."""
    with tempfile.TemporaryDirectory() as folder:
        tries = all_tries(Path(folder))
    if wrong := sum(one.worked != one.may for one in tries):
        raise LimitBrokenError(table_of(tries), wrong=wrong)
    return Done(len(tries), table_of(tries))


if __name__ == "__main__":
    print(run().words)
