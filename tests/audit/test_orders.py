"""Who gave an order can be shown: the log has the keys against which an audit holds it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Empty, Queue
from typing import Any, cast

import pytest

from tests.chaos.shoe import NOON, play
from tests.chaos.table import PREFIX, config_of, journal_of
from tests.mqtt.mqtt_tools import wait_for
from tests.table_log import session_of
from vision.access.command_gate import Ordered, order_fault
from vision.access.users import Credential, User, Users, save_users
from vision.app.journal import Journal
from vision.app.run_log import Destinations, header_of
from vision.cli import main
from vision.clock import now_ms
from vision.commands.printing.console import NOT_PROVEN
from vision.errors import OutsideError
from vision.game.coup.alerts import OPEN
from vision.mqtt.publisher import OrderRequest, Publisher
from vision.record.codec import (
    canonical,
    chain_hash,
    event_from_json,
    event_to_json,
    messages_digest,
)
from vision.record.facts import Fact, Recorded
from vision.storage.anchors import make_keys
from vision.storage.log import Entry, Store, write_record
from vision.storage.log_reader import folded
from vision.wire.commands import read_command
from vision.wire.messages import Message, message_line
from vision.wire.session import advance

ANN = Credential.new("Ann")


@dataclass
class Wire:
    """A link to the broker on which orders come that a test gives."""

    journal: Journal
    inbox: Queue[OrderRequest] = field(default_factory=Queue)
    answers: list[Message] = field(default_factory=list)
    connected: bool = False
    waiting: int = 0

    def __post_init__(self) -> None:
        """Have the journal take orders from here."""
        self.journal.link.listen(cast(Publisher, self))

    def next_request(self, wait_s: float) -> OrderRequest | None:
        """Return the next order, `None` when none comes within that time."""
        try:
            return self.inbox.get(timeout=wait_s) if wait_s else self.inbox.get_nowait()
        except Empty:
            return None

    def say(self, message: Message) -> None:
        """Take an answer."""
        self.answers.append(message)

    def wake(self) -> None:
        """Send nothing."""

    stop = wake

    def give(self, name: str, who: Credential, **fields: object) -> None:
        """Give an order, signed now."""
        whole = {"by": who.name, "role": "inspector", **fields}
        payload = canonical(who.sign(f"{PREFIX}cmd/{name}", whole, now_ms())).encode()
        self.inbox.put(OrderRequest(name, payload))
        self.waiting += 1

    def carry_out(self, at: int) -> tuple[int, int]:
        """Have the journal take what was given; return how many were taken and how many refused."""
        taken = 0
        self.answers.clear()

        def is_settled() -> bool:
            nonlocal taken
            orders = self.journal.link.orders(at)
            self.journal.take(orders)
            taken += sum(isinstance(order, Ordered) for order in orders)
            return taken + len(self.answers) == self.waiting

        wait_for(is_settled)
        self.waiting = 0
        return taken, len(self.answers)


@pytest.fixture(name="log")
def _log(tmp_path: Path) -> Path:
    """Give a log in which Ann voids a coup, gets another key, and calls the inspector with it."""
    users, path = tmp_path / "users.json", tmp_path / "t.sqlite"
    save_users(users, Users(users={"Ann": User(roles=("inspector",), key=ANN.public)}))
    config = config_of(1)
    config = config.model_copy(
        update={"orders": config.orders.model_copy(update={"users": str(users)})}
    )
    with Journal(config, Destinations(path, publish=False)) as journal:
        journal.start(NOON, "b1", ())
        journal.take(list(play(2)))
        wire = Wire(journal)
        at = journal.table.clock
        wire.give("void_coup", ANN, coup=2, reason="bet dispute")
        assert wire.carry_out(at) == (1, 0)
        other = Credential.new("Ann")
        save_users(users, Users(users={"Ann": User(roles=("inspector",), key=other.public)}))
        wire.give("call_inspector", other)
        assert wire.carry_out(at + 1) == (1, 0)
    return path


def contents(log: Path) -> list[dict[str, Any]]:
    """Return the content of every record."""
    with sqlite3.connect(log) as db:
        return [json.loads(body) for (body,) in db.execute("SELECT body FROM log ORDER BY n")]


def write(log: Path, changed: Mapping[int, dict[str, Any]]) -> None:
    """Change records as somebody does who makes the whole chain again, messages left out."""
    with sqlite3.connect(log) as db:
        previous = "0" * 64
        for n, body in db.execute("SELECT n, body FROM log ORDER BY n").fetchall():
            text = canonical(changed[n]) if n in changed else body
            previous = chain_hash(previous, text)
            db.execute("UPDATE log SET body = ?, hash = ? WHERE n = ?", (text, previous, n))


def test_orders_are_held_against_the_key_of_their_time(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both orders count, each by the key that Ann had then."""
    assert main(["audit", str(log)]) == 0
    assert "2 orders are signed by the key that their giver had then" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda order: order["fields"].update(sig="0" * 128), "does not bear the signature"),
        (lambda order: order["fields"].update(coup=1), "does not bear the signature"),
        (lambda order: order["fields"].update(key="Bob"), "who was no user then"),
        (lambda order: order.update(name="confirm"), "does not bear the signature"),
        (lambda order: order.clear(), "is not one that can be signed"),
    ],
    ids=["signature", "field", "signer", "order", "nothing"],
)
def test_order_that_was_not_signed_so_is_found(
    log: Path, change: Any, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A made-up order in a chain that was made again is found at its record."""
    record = next(content for content in contents(log) if "order" in content)
    change(record["order"])
    write(log, {record["n"]: record})
    assert main(["audit", str(log)]) == 3
    err = capsys.readouterr().err
    assert f"record {record['n']}: the order" in err
    assert words in err


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"by": "Bo", "role": "dealer"}, ""),
        ({"by": "Bo", "role": "inspector"}, "Bo may not speak as inspector"),
        ({"by": "Ann", "role": "inspector"}, "Bo may not speak for others"),
        (
            {"by": "Bo", "role": "dealer", "second": "Ann", "second_role": "inspector",
             "second_key": "Ann", "second_sig": "0" * 128},
            "second_sig: the signature is not that of second_key",
        ),
    ],
    ids=["own role", "another role", "another person", "a second who did not sign"],
)  # fmt: skip
def test_audit_holds_an_order_as_the_gate_does(fields: dict[str, str], words: str) -> None:
    """A true signature vouches for no role, person or second that its giver has not."""
    bo = Credential.new("Bo")
    session = session_of(header_of(config_of(1)))
    for who, role in ((bo, "dealer"), (ANN, "inspector")):
        entry = canonical({"roles": [role], "key": who.public})
        session = advance(session, Recorded(NOON, Fact.USER, who.name, entry)).session
    signed = bo.sign(f"{PREFIX}cmd/call_inspector", fields, NOON)
    event = read_command("call_inspector", signed, NOON)
    order = {"name": "call_inspector", "fields": signed}
    fault = order_fault(session, {"event": event_to_json(event), "order": order})
    assert words in fault
    assert bool(words) == bool(fault)


def test_order_beside_another_deed_is_found(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A true order of Ann's does not vouch for something that she did not order."""
    record = next(content for content in contents(log) if "order" in content)
    record["event"]["coup"] = 1
    write(log, {record["n"]: record})
    assert main(["audit", str(log)]) == 3
    assert "gives other messages than it says" in capsys.readouterr().err


def test_deed_without_an_order_is_found(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An order that nobody signed at all is a forgery."""
    record = next(content for content in contents(log) if "order" in content)
    del record["order"]
    write(log, {record["n"]: record})
    assert main(["audit", str(log)]) == 3
    assert "was signed by nobody" in capsys.readouterr().err


def test_order_that_is_given_again_is_found(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its signature is good, and whoever can write the file can copy it: each counts once."""
    record = next(content for content in reversed(contents(log)) if "order" in content)
    session = folded(log)
    event = replace(event_from_json(record["event"]), at=session.table.clock + 1)
    step = advance(session, event)
    with Store(log, contents(log)[0]["log"], has_outbox=False) as store:
        store.append([Entry(event, step.messages, None, record["order"])])
    assert main(["replay", str(log), "--check"]) == 0
    assert main(["audit", str(log)]) == 3
    assert "the order had been given already" in capsys.readouterr().err


def test_order_copied_behind_the_last_signature_is_not_gone_on_from(tmp_path: Path) -> None:
    """One of an earlier shoe, put behind the end of a run that was killed: it would be signed."""
    users, path = tmp_path / "users.json", tmp_path / "t.sqlite"
    make_keys(tmp_path / "key")
    save_users(users, Users(users={"Ann": User(roles=("inspector",), key=ANN.public)}))
    config = config_of(1, signing_key=str(tmp_path / "key"))
    orders = config.orders.model_copy(update={"users": str(users)})
    config = config.model_copy(update={"orders": orders})
    to = Destinations(path, publish=False)
    with Journal(config, to) as journal:
        journal.start(NOON, "b1", ())
        journal.take(list(play(2, a_shoe=1)))
        wire = Wire(journal)
        for again in range(2):  # given twice, each with a nonce of its own
            wire.give("call_inspector", ANN)
            assert wire.carry_out(journal.table.clock) == (1, 0)
            journal.take(list(play(2, a_shoe=1, seed=again, start=journal.table.clock)))
        wire.give("call_inspector", ANN)
        assert wire.carry_out(journal.table.clock) == (1, 0)
        at = journal.table.clock + 1
    with Journal(config, to):
        pass  # what the reader itself left is gone on from
    record = next(content for content in contents(path) if "order" in content)
    event = replace(event_from_json(record["event"]), at=at)
    published = messages_digest(map(message_line, advance(folded(path), event).messages))
    with sqlite3.connect(path) as db:
        n, head = db.execute("SELECT n, hash FROM log ORDER BY n DESC LIMIT 1").fetchone()
        copy = {"event": event_to_json(event), "said": published, "order": record["order"]}
        write_record(db, n + 1, head, copy)
    with pytest.raises(OutsideError, match=rf"record {n + 1}: .* given already"):
        Journal(config, to)


def keyed(log: Path) -> None:
    """Write that Ann has said what was dealt, as somebody does who can write the file."""
    with sqlite3.connect(log) as db:
        n, head = db.execute("SELECT n, hash FROM log ORDER BY n DESC LIMIT 1").fetchone()
        fact = Recorded(NOON, Fact.COUP_KEYED, "s1/1", "{}", "Ann", "inspector")
        write_record(db, n + 1, head, {"event": event_to_json(fact), "said": None})


def test_fact_of_a_desk_counts_with_its_order_only(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the log knows the keys of people it is a forgery, where it does not it is named."""
    keyed(log)
    assert main(["audit", str(log)]) == 3
    assert "was signed by nobody" in capsys.readouterr().err
    unsigned = tmp_path / "other.sqlite"
    with journal_of(unsigned, 1, publish=False) as journal:
        journal.start(NOON, "b1", ())
    keyed(unsigned)
    assert main(["audit", str(unsigned)]) == NOT_PROVEN
    assert "NOT PROVEN: no order stands behind" in capsys.readouterr().out


def test_second_call_is_refused_while_one_is_open(tmp_path: Path) -> None:
    """Each call is filmed: thirty calls in ten seconds make one film, not ninety files."""
    users = tmp_path / "users.json"
    save_users(users, Users(users={"Ann": User(roles=("inspector",), key=ANN.public)}))
    config = config_of(1)
    config = config.model_copy(
        update={"orders": config.orders.model_copy(update={"users": str(users)})}
    )
    with Journal(config, Destinations(tmp_path / "t.sqlite", publish=False)) as journal:
        journal.start(NOON, "b1", ())
        wire = Wire(journal)

        def called() -> list[str]:
            alerts = (kept.alert for kept in journal.table.alerts)
            return [a.id for a in alerts if a.code == "CALLED" and a.state in OPEN]

        for _ in range(3):
            for _ in range(10):
                wire.give("call_inspector", ANN)
            assert wire.carry_out(NOON) == (10, 0)  # the rules refuse them, in the log
        (first,) = called()
        wire.give("close_alert", ANN, alert=first, reason="told")
        assert wire.carry_out(NOON) == (1, 0)
        assert called() == []
        wire.give("call_inspector", ANN)
        assert wire.carry_out(NOON + 1) == (1, 0)
        assert called() not in ([], [first])
