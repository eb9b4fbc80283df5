"""The contract as an AsyncAPI 3 document: topics, who publishes them, and the form of each payload.

`python -m tests.contract` writes `deploy/asyncapi.json`, and the examples of `deploy/mqtt.md`. The
forms are the JSON Schemas of `vision/schemas`. AsyncAPI reads them as JSON Schema draft 7, in one
document: names are made one's own, and what draft 7 writes otherwise is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.examples_of_messages import PAGE, examples, page
from tests.schemas import schema
from vision.version import VERSION as PROGRAM
from vision.wire.messages import PREFIX

DOCUMENT = Path(__file__).parents[1] / "deploy" / "asyncapi.json"

VERSION = "3.0.0"  # of AsyncAPI
BINDING = "0.2.0"  # of its MQTT bindings
JSON = "application/json"
Schemas = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Channel:
    """A topic below a table's prefix: its schema or the type of its bytes, and how it is sent.

    `sent` is false for what a table receives. `readers` are for whom it is.
    """

    topic: str
    readers: str
    schema: str = ""
    content: str = JSON
    retained: bool = False
    sent: bool = True

    @property
    def name(self) -> str:
        """A name for programs: `coupResult` for `coup/result`, `alertId` for `alert/{id}`."""
        first, *more = self.topic.replace("{", "").replace("}", "").split("/")
        return first + "".join(word.capitalize() for word in more)


CHANNELS = (
    Channel("status", "all; also the last will", "status", retained=True),
    Channel("shoe", "all", "shoe", retained=True),
    Channel("card", "surveillance", "card"),
    Channel("coup/live", "all", "coup_live", retained=True),
    Channel("coup/result", "all", "coup_result", retained=True),
    Channel("roads", "all", "roads", retained=True),
    Channel("alert", "surveillance, inspectors", "alert"),
    Channel("alert/{id}", "surveillance, inspectors; retained until closed, then cleared by an "
            "empty payload", "alert_id", retained=True),
    Channel("evidence", "surveillance", "evidence"),
    Channel("evidence/{id}", "surveillance", content="image/jpeg"),
    Channel("clip/{id}", "surveillance", content="video/x-msvideo"),
    Channel("anchor", "surveillance", "anchor"),
    Channel("health", "engineers", "health", retained=True),
    Channel("cmd/reply", "who gave the order", "cmd_reply"),
    Channel("cmd/replay", "any consumer that has missed messages", "cmd_replay", sent=False),
    Channel("cmd/{name}", "who may give orders", "cmd", sent=False),
)  # fmt: skip
# What stands in braces in a topic.
PARAMETERS = {
    "site": "The house, as [site] of the table file.",
    "table": "The table, as [table] of the table file.",
    "id": "Of the alert, the picture or the film.",
    "name": "Of the order: one of the forms of its payload.",
}


def text() -> str:
    """Return the document as JSON, which is YAML too."""
    names = {channel.schema for channel in CHANNELS if channel.schema}
    schemas = {name: schema(name) for name in names}
    return json.dumps(_document(schemas), indent=1, ensure_ascii=False) + "\n"


def _document(schemas: Schemas) -> dict[str, Any]:
    return {
        "asyncapi": VERSION,
        "info": {
            "title": "Shoe Reader",
            "version": PROGRAM,
            "description": "What a Punto Banco table publishes over MQTT 3.1.1, and the orders it "
            "takes. Payloads are JSON in UTF-8, QoS 1; drop repeats by `seq`, ignore fields you do "
            "not know. The words to it: deploy/mqtt.md.",
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": JSON,
        "channels": {channel.name: _channel(channel) for channel in CHANNELS},
        "operations": {_operation_name(channel): _operation(channel) for channel in CHANNELS},
        "components": {
            "messages": {channel.name: _message(channel, schemas) for channel in CHANNELS},
            "schemas": dict(_definitions(schemas)),
        },
    }


def _channel(channel: Channel) -> dict[str, Any]:
    address = PREFIX + channel.topic
    named = {name: words for name, words in PARAMETERS.items() if f"{{{name}}}" in address}
    return {
        "address": address,
        "description": f"For {channel.readers}.",
        "parameters": {name: {"description": words} for name, words in named.items()},
        "messages": {channel.name: {"$ref": f"#/components/messages/{channel.name}"}},
    }


def _operation_name(channel: Channel) -> str:
    verb = "publish" if channel.sent else "take"
    return verb + channel.name[0].upper() + channel.name[1:]


def _operation(channel: Channel) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "action": "send" if channel.sent else "receive",
        "channel": {"$ref": f"#/channels/{channel.name}"},
        "bindings": {"mqtt": {"qos": 1, "retain": channel.retained, "bindingVersion": BINDING}},
    }
    if not channel.sent:
        operation["reply"] = {"channel": {"$ref": "#/channels/cmdReply"}}
    return operation


def _message(channel: Channel, schemas: Schemas) -> dict[str, Any]:
    message: dict[str, Any] = {"name": channel.name, "contentType": channel.content}
    if not channel.schema:
        return {**message, "payload": {"type": "string", "format": "binary"}}
    title = schemas[channel.schema]["title"].split(": ", 1)[-1]
    example = {"name": channel.name, "payload": examples()[channel.schema]}
    form = {"$ref": _place(channel.schema)}
    return {**message, "title": title, "payload": form, "examples": [example]}


def _place(name: str) -> str:
    return f"#/components/schemas/{name}"


def _definitions(schemas: Schemas) -> list[tuple[str, Any]]:
    """Return every schema, and what it defines for itself, under a name of its own."""
    found = []
    for channel in CHANNELS:
        if not channel.schema:
            continue
        whole = dict(schemas[channel.schema])
        own = whole.pop("$defs", {})
        del whole["$schema"], whole["$id"]
        found.append((channel.schema, _as_draft_7(whole, channel.schema)))
        for name, part in own.items():
            found.append((f"{channel.schema}.{name}", _as_draft_7(part, channel.schema)))
    return found


def _as_draft_7(part: Any, schema: str) -> Any:
    if isinstance(part, list):
        return [_as_draft_7(each, schema) for each in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        name = part["$ref"].removeprefix("#/$defs/")
        # Draft 7 reads nothing beside a reference.
        beside = {key: value for key, value in part.items() if key != "$ref"}
        reference = {"$ref": _place(f"{schema}.{name}")}
        return {**_as_draft_7(beside, schema), "allOf": [reference]} if beside else reference
    renamed = {"dependentRequired": "dependencies"}
    return {renamed.get(key, key): _as_draft_7(value, schema) for key, value in part.items()}


if __name__ == "__main__":
    DOCUMENT.write_text(text(), "utf-8")
    PAGE.write_text(page(), "utf-8")
