"""An example of every message, from a replay: in `deploy/asyncapi.json` and `deploy/mqtt.md`.

What no log holds, `health` and the request for missed messages, is made as the program makes it,
for the table that the replay leaves; the order is the signed one of the page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tests.schemas import schema_name
from vision.metrics.counters import Metrics, SightCounts
from vision.record.facts import Anchored, EvidenceKept, Medium
from vision.storage.log_reader import walked
from vision.wire.messages import ENVELOPE, Message, health
from vision.wire.session import advance

ROOT = Path(__file__).parents[1]
REPLAY = ROOT / "tests" / "replays" / "overdraw.jsonl"
PAGE = ROOT / "deploy" / "mqtt.md"
BEGIN, END = "```text examples\n", "```\n"  # of the block of the page that is written here
LONG = re.compile(r"([0-9a-f]{8})[0-9a-f]{8,}")  # digests and signatures, on the page
# The field that an example has, where the first message of its kind has nothing to show yet.
TOLD = {
    "card": "card",
    "coup_live": "complete",
    "coup_result": "winner",
    "roads": "big_road",
    "shoe": "coups",
}
SHA = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


@cache
def examples() -> dict[str, dict[str, Any]]:
    """Return a payload of each schema, by the schema's name."""
    found: dict[str, dict[str, Any]] = {}
    for message in _said():
        name = schema_name(message.topic)
        content = json.loads(message.payload) if message.payload else {}
        if name not in found and content.get(TOLD.get(name, "at")):
            found[name] = content
    order = re.search(r'^ "payload": (".*")$', PAGE.read_text("utf-8"), re.MULTILINE)
    assert order is not None, "the page has a signed order"
    found["cmd"] = json.loads(json.loads(order[1]))
    found["cmd_replay"] = {"first": 27, "last": 31, "ref": "r1"}
    return found


def _said() -> Iterator[Message]:
    """Yield what a replay publishes, and then a picture, a signature of the log and the health."""
    session = None
    for taken in walked(REPLAY):
        session = taken.after
        yield from taken.step.messages if taken.step else ()
    assert session is not None
    at = session.table.clock
    picture = EvidenceKept(at, "s1-12", Medium.STILL, "s1", 3, SHA, 48211, order=12)
    anchor = Anchored(at, SHA, 57, SHA[::-1], "s1", "shoe", SHA[:16], 2 * SHA)
    for event in (picture, anchor):
        step = advance(session, event)
        session = step.session
        yield from step.messages
    link = {"outbox": 0, "outbox_age_s": 0.0, "connected": True, "orders_refused": 0}
    counted = Metrics(lambda: SightCounts(looked=5), frames=10).health()
    # What a clock of this machine measures is no example.
    rates = {"fps": 29.9, "fps_in": 30.0, "fps_gated": 16.4, "fps_looked": 13.6, "cpu_share": 0.81}
    yield health(session.stream, at, {**counted, **rates, **link})


def lines() -> str:
    """Return the examples as the page has them: without what is in every payload, null or empty.

    An alert under its own topic is as `alert`, and the signed order stands on the page already.
    """
    found = []
    for name in sorted(examples().keys() - {"alert_id", "cmd"}):
        own = {key: value for key, value in examples()[name].items() if key not in ENVELOPE}
        text = LONG.sub("\\1…", json.dumps(_without_nothing(own), separators=(",", ":")))
        found.append(f"{name.replace('_', '/')} {text}\n")
    return "".join(found)


def _without_nothing(content: Any) -> Any:
    """Return a content without what is null, false, nought or empty."""
    if isinstance(content, dict):
        inner = {key: _without_nothing(value) for key, value in content.items()}
        return {key: value for key, value in inner.items() if value}
    if isinstance(content, list):
        return [_without_nothing(value) for value in content]
    return content


def page() -> str:
    """Return the page with these examples."""
    head, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    return head + BEGIN + lines() + END + rest.partition(END)[2]
