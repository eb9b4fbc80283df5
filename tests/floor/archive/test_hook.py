"""The web hook: every message, in order, signed, however often the address is away."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select, update

from tests.floor.archive.test_writer import received
from tests.mqtt.mqtt_tools import wait_for
from tests.table_log import PLAYS, said
from vision.errors import ConfigurationError
from vision.floor.archive import hook as hooks
from vision.floor.archive import tables
from vision.floor.archive.database import open_archive
from vision.floor.archive.hook import Hook, hook_target
from vision.floor.archive.writer import Writer

SECRET = "whsec_" + base64.b64encode(b"s" * 32).decode()


class Address(ThreadingHTTPServer):
    """What somebody else runs: takes messages, and fails when it is told to."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Taking)
        self.taken: list[tuple[dict[str, str], bytes]] = []
        self.failures, self.failure = 0, 503

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}/in?house=1"


class Taking(BaseHTTPRequestHandler):
    """Takes one message."""

    server: Address

    def do_POST(self) -> None:
        """Take it, or fail."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.server.failures:
            self.server.failures -= 1
            self.send_response(self.server.failure)
        else:
            self.server.taken.append((dict(self.headers), body))
            self.send_response(204)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[Address]:
    """Run an address that takes messages."""
    monkeypatch.setattr(hooks, "FIRST_RETRY_S", 0.02)
    monkeypatch.setattr(hooks, "LAST_RETRY_S", 0.05)
    server = Address()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    """Open an archive."""
    return open_archive(str(tmp_path / "archive.sqlite"))


@pytest.mark.parametrize("as_cloudevents", [False, True])
def test_hook_gets_every_message_once_signed_in_order(
    engine: Engine, address: Address, *, as_cloudevents: bool
) -> None:
    """A failing address and a restarted archive lose nothing and change no order."""
    target = hook_target(address.url, SECRET, as_cloudevents=as_cloudevents)
    first = Hook(engine, target)
    messages = said(PLAYS["overdraw"]().events)
    Writer(engine).take(received(messages))
    address.failures = 3
    first.start()
    wait_for(lambda: len(address.taken) >= 5)
    first.stop()
    second = Hook(engine, target)
    second.start()
    kept = [m for m in messages if m.payload and is_kept(m.topic)]
    wait_for(lambda: len(address.taken) >= len(kept))
    second.stop()
    contents = [json.loads(body) for _, body in address.taken]
    payloads = [c["data" if as_cloudevents else "payload"] for c in contents]
    assert [p["seq"] for p in payloads] == [m.seq for m in kept]
    headers, body = address.taken[0]
    text = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    signed = base64.b64encode(hmac.digest(b"s" * 32, text, hashlib.sha256)).decode()
    assert headers["webhook-signature"] == f"v1,{signed}"
    if as_cloudevents:
        assert headers["Content-Type"].startswith("application/cloudevents+json")
        assert {"specversion", "id", "source", "type", "time", "data"} <= set(contents[0])
        assert contents[0]["source"] == "/casino/house/table/7"
        assert len({(c["source"], c["id"]) for c in contents}) == len(contents)


def is_kept(topic: str) -> bool:
    """Whether the archive keeps the message whole, cards that were read well apart."""
    own = topic.split("/", 4)[4]
    return own in ("status", "coup/result", "alert", "cmd/reply") or own.startswith("alert/")


@pytest.mark.parametrize(
    ("url", "secret", "said_of_it"),
    [
        ("ftp://h/", SECRET, "not a valid URL"),
        ("https://a:b@h/", SECRET, "contains a password"),
        ("https://h/", "short", "bytes, and 24 are needed"),
        ("https://h/", "whsec_?", "is not base64"),
    ],
)
def test_hook_that_cannot_be_used_is_refused(url: str, secret: str, said_of_it: str) -> None:
    """The words say what to write."""
    with pytest.raises(ConfigurationError, match=said_of_it):
        hook_target(url, secret, as_cloudevents=False)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("payload", '{"schema": 1, "why": "\\ud800"}'),
        ("payload", '{"fps": NaN}'),
        ("payload", "no JSON"),
        ("boot", "b\nx: y"),
        ("table_name", "казино"),
    ],
)
def test_message_that_cannot_be_sent_is_set_aside_and_the_others_come(
    engine: Engine, address: Address, column: str, value: str
) -> None:
    """A row that somebody else wrote ends no thread; it stands apart, with the reason."""
    hook = Hook(engine, hook_target(address.url, SECRET, as_cloudevents=False))
    messages = said(PLAYS["clean"]().events)
    Writer(engine).take(received(messages))
    first = select(tables.message.c.arrival).order_by(tables.message.c.arrival).limit(1)
    with engine.begin() as connection:
        odd = tables.message.c.arrival == connection.execute(first).scalar()
        connection.execute(update(tables.message).where(odd).values({column: value}))
    hook.start()
    kept = [m for m in messages if m.payload and is_kept(m.topic)]
    wait_for(lambda: len(address.taken) == len(kept) - 1)
    hook.stop()
    with engine.connect() as connection:
        assert len(connection.execute(select(tables.apart)).all()) == 1


@pytest.mark.parametrize(("status", "is_set_aside"), [(400, True), (422, True), (404, False)])
def test_message_that_the_address_refuses_holds_up_none_behind_it(
    engine: Engine, address: Address, status: int, *, is_set_aside: bool
) -> None:
    """An answer about the message sets it aside after some tries, one on the address does not."""
    hook = Hook(engine, hook_target(address.url, SECRET, as_cloudevents=False))
    messages = said(PLAYS["clean"]().events)
    address.failures, address.failure = hooks.TRIES, status
    Writer(engine).take(received(messages))
    hook.start()
    kept = [m for m in messages if m.payload and is_kept(m.topic)]
    wait_for(lambda: len(address.taken) == len(kept) - is_set_aside)
    hook.stop()
    assert len(address.taken) == len(kept) - is_set_aside
