"""A table in Home Assistant: one message of its discovery, of public topics that there are."""

from __future__ import annotations

import json
from typing import Any

from jinja2 import Environment

from tests.table_log import PLAYS, header, said, session_of
from vision.wire.discovery import discovery
from vision.wire.messages import Message

PUBLIC = ("status", "shoe", "coup/result")


def made() -> tuple[Message, dict[str, Any]]:
    """Return the message of a table, and its content."""
    message = discovery(session_of(header()).stream, "homeassistant")
    return message, json.loads(message.payload)


def test_discovery_message_has_what_a_device_needs() -> None:
    """Device, origin and components, each with a kind and a name of its own; retained."""
    message, content = made()
    assert message.topic == "homeassistant/device/shoe_reader_house_7/config"
    assert (message.qos, message.retain) == (1, True)
    assert content["device"]["identifiers"] == ["shoe_reader_house_7"]
    assert content["origin"]["name"] == "Shoe Reader"
    parts = content["components"].values()
    assert len({part["unique_id"] for part in parts}) == len(parts)
    assert all({"platform", "name", "state_topic"} <= part.keys() for part in parts)


def test_discovery_takes_values_from_what_a_table_publishes() -> None:
    """Each template gives the value of the message that came last on a public topic."""
    last = {m.topic: json.loads(m.payload) for m in said(PLAYS["clean"]().events) if m.payload}
    _, content = made()
    shown = {}
    for key, part in content["components"].items():
        assert part["state_topic"].split("/", 4)[4] in PUBLIC
        template = Environment(autoescape=True).from_string(part["value_template"])
        shown[key] = template.render(value_json=last[part["state_topic"]])
    result = last["casino/house/table/7/coup/result"]
    assert shown["result"] == result["winner"]
    assert shown["punto"] == str(result["punto"]["points"])
    assert shown["reader"] == "stopped"
