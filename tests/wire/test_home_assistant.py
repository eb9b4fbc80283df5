"""The example for Home Assistant: what it reads is what a table publishes for everybody."""

from __future__ import annotations

import json
from pathlib import Path

from jinja2 import Environment

from tests.table_log import PLAYS, said

EXAMPLE = Path(__file__).parents[2] / "deploy" / "examples" / "homeassistant.json"
PUBLIC = ("status", "shoe", "coup/result")


def test_example_takes_values_from_what_a_table_publishes() -> None:
    """Each template gives the value of the message that came last on a public topic."""
    last = {m.topic: json.loads(m.payload) for m in said(PLAYS["clean"]().events) if m.payload}
    parts = json.loads(EXAMPLE.read_text("utf-8"))["components"]
    assert len({part["unique_id"] for part in parts.values()}) == len(parts)
    shown = {}
    for key, part in parts.items():
        assert part["state_topic"].split("/", 4)[4] in PUBLIC
        template = Environment(autoescape=True).from_string(part["value_template"])
        shown[key] = template.render(value_json=last[part["state_topic"]])
    result = last["casino/house/table/7/coup/result"]
    assert shown["result"] == result["winner"]
    assert shown["punto"] == str(result["punto"]["points"])
    assert shown["reader"] == "stopped"
