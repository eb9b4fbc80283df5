"""The published JSON Schemas, and the check of a message against the one of its topic."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator

from vision.wire.messages import Message

SCHEMAS = files("vision") / "schemas"


def schema_name(topic: str) -> str:
    """Return the schema of a topic: `coup_live` for `.../coup/live`, `alert_id` for an alert's."""
    level = topic.split("/", 4)[4]
    if level.startswith(("evidence/", "clip/")):
        return "evidence"  # in the log and in a messages file, what is told stands for the picture
    return "alert_id" if level.startswith("alert/") else level.replace("/", "_")


@cache
def schema(name: str) -> dict[str, Any]:
    """Return a published schema."""
    found: dict[str, Any] = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def faults_of(topic: str, payload: bytes) -> list[str]:
    """Return everything in which a payload departs from its schema, an undocumented field too."""
    if not payload:
        return [] if "/alert/" in topic else [f"{topic}: empty"]
    content = json.loads(payload)
    contract = schema(schema_name(topic))
    faults = [error.message for error in Draft202012Validator(contract).iter_errors(content)]
    return faults + [f"{key}: undocumented" for key in content if key not in contract["properties"]]


def check(message: Message) -> None:
    """Assert that the message keeps to the contract."""
    assert not faults_of(message.topic, message.payload), message
