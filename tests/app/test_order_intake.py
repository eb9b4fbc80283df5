"""Nonsense on the topics of orders costs the picture loop nothing, and keeps no order waiting."""

from __future__ import annotations

import json
import time
from collections import deque
from pathlib import Path
from typing import cast

import pytest

from tests.mqtt.mqtt_tools import wait_for
from vision.access.command_gate import Gate
from vision.access.users import Credential, User, Users, save_users
from vision.app.order_intake import DEFECT, EACH_PICTURE, OrderIntake
from vision.clock import now_ms
from vision.mqtt.publisher import INBOX_SIZE, OrderRequest, Publisher
from vision.wire.commands import REPLAY, Fields, RefusedError

PREFIX = "casino/house/table/7/cmd/"


class Inbox:
    """What has come in from the broker."""

    def __init__(self) -> None:
        self.waiting: deque[OrderRequest] = deque()

    def next_request(self, wait_s: float) -> OrderRequest | None:
        """Return the next command."""
        if not self.waiting:
            time.sleep(min(wait_s, 0.01))
        return self.waiting.popleft() if self.waiting else None


class House:
    """A gate for two people, and an intake before it."""

    def __init__(self, folder: Path) -> None:
        self.keys = {name: Credential.new(name) for name in ("Ann", "Bo")}
        users = {
            name: User(roles=("inspector",), key=key.public) for name, key in self.keys.items()
        }
        save_users(folder / "users.json", Users(users=users))
        gate = Gate(PREFIX, folder / "users.json", 30_000, lambda: (now_ms(),))
        self.inbox = Inbox()
        self.refused: list[str] = []
        self.refs: list[str] = []
        self.served: list[tuple[Fields, str]] = []

        def refuse(_name: str, error: RefusedError) -> None:
            self.refused.append(str(error))
            self.refs.append(error.ref)

        link = cast(Publisher, self.inbox)
        serve = lambda fields, signer: self.served.append((fields, signer))  # noqa: E731
        self.intake = OrderIntake(link, gate, refuse=refuse, serve=serve)

    def order(self, name: str, *, forged: bool = False) -> OrderRequest:
        """Return an order of somebody, or one that only claims to be."""
        fields = {"by": name, "role": "inspector", "coup": 1, "ref": f"{name}'s order"}
        signed = self.keys[name].sign(PREFIX + "void_coup", fields, now_ms())
        if forged:
            signed["sig"] = "0" * 128
        return OrderRequest("void_coup", json.dumps(signed).encode())


@pytest.fixture
def house(tmp_path: Path) -> House:
    """Give a house whose intake runs."""
    found = House(tmp_path)
    found.intake.start()
    return found


def test_junk_costs_the_picture_loop_nothing(house: House) -> None:
    """Two hundred forged orders a frame, and the loop waits for none of them to be checked."""
    worst_s = 0.0
    for _ in range(30):
        house.inbox.waiting += [OrderRequest("void_coup", b"{" * 200)] * INBOX_SIZE
        began = time.thread_time()
        assert house.intake.take() == []
        worst_s = max(worst_s, time.thread_time() - began)
        time.sleep(0.01)
    house.intake.stop()
    assert worst_s < 0.002


@pytest.mark.parametrize("claimed", ["Bo", ""], ids=["another key", "no key"])
def test_flood_keeps_nobody_elses_order_waiting(house: House, claimed: str) -> None:
    """Keys take turns: an order is admitted at once behind hundreds that are forged."""
    flood = house.order("Bo", forged=True) if claimed else OrderRequest("void_coup", b"nonsense")
    house.inbox.waiting += [flood] * 150
    house.inbox.waiting.append(house.order("Ann"))
    wait_for(house.intake.take, 5)
    house.intake.stop()
    assert len(house.refused) < 100


def test_junk_that_names_a_key_costs_its_owner_no_order(house: House) -> None:
    """A thousand forged orders under Ann's name: each of hers is admitted, between any of them."""
    hers = 0
    for _ in range(10):
        house.inbox.waiting += [house.order("Ann", forged=True)] * 100
        house.inbox.waiting.append(house.order("Ann"))
    for _ in range(400):
        hers += len(house.intake.take())
        if hers == 10:
            break
        time.sleep(0.02)
    house.intake.stop()
    assert hers == 10


def test_order_of_a_signer_that_is_left_out_is_answered(house: House) -> None:
    """Of a signer's flood the newest count, and what is left out hears so."""
    house.inbox.waiting += [house.order("Ann") for _ in range(60)]
    wait_for(lambda: any("too many orders wait" in words for words in house.refused))
    house.intake.stop()
    assert house.intake.dropped


def test_refusal_gives_the_senders_number_back(house: House) -> None:
    """Who sent a bad order can tell which, whether its form or its signature is wrong."""
    for ref, coup in (("a1", 1), ("a2", -1)):
        fields = json.dumps({"ref": ref, "coup": coup}).encode()
        house.inbox.waiting.append(OrderRequest("void_coup", fields))
    wait_for(lambda: house.refs == ["a1", "a2"])
    house.intake.stop()


def test_signer_who_floods_gets_a_few_orders_with_each_picture(house: House) -> None:
    """What one picture brings to the rules is bounded."""
    house.inbox.waiting += [house.order("Ann") for _ in range(2 * EACH_PICTURE)]
    wait_for(lambda: len(house.intake._inbox) == 2 * EACH_PICTURE)
    assert len(house.intake.take()) == EACH_PICTURE
    house.intake.stop()


@pytest.mark.parametrize("step", ["verify", "admit"])
def test_defect_met_in_one_order_does_not_end_the_taking_of_orders(
    house: House, step: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What nobody foresaw is logged and answered, and the next order is admitted."""
    honest, defects = getattr(Gate, step), [ZeroDivisionError]

    def fail_once(*given: object) -> object:
        if defects:
            raise defects.pop()
        return honest(*given)

    monkeypatch.setattr(Gate, step, fail_once)
    house.inbox.waiting += [house.order("Bo"), house.order("Ann")]
    wait_for(lambda: [one.fields["by"] for one in house.intake.take()] == ["Ann"])
    house.intake.stop()
    assert "report this" in caplog.text
    assert (house.refused, house.refs) == ([DEFECT], ["Bo's order"])


def test_request_for_missed_messages_is_read_once_and_junk_is_refused(house: House) -> None:
    """What is no JSON or bears a wrong signature reaches no part that serves; else it does."""
    signed = house.keys["Ann"].sign(PREFIX + REPLAY, {"first": 1}, now_ms())
    forged = {**signed, "sig": "0" * 128}
    asked = [b"\xff{", b'{"first": 1}', *(json.dumps(one).encode() for one in (forged, signed))]
    house.inbox.waiting += [OrderRequest(REPLAY, payload) for payload in asked]
    wait_for(lambda: len(house.served) == 2 and len(house.refused) == 2)
    house.intake.stop()
    assert sorted(house.served, key=lambda one: one[1]) == [({"first": 1}, ""), (signed, "Ann")]
    assert house.refused[0] == "this is no order: it is no JSON in UTF-8"
    assert "signature" in house.refused[1]
