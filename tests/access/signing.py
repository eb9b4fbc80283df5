"""Signed logs of short plays, and what a forger does to them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import cast

from tests.table_log import header, session_of
from vision.audit.verify import Trust, audit, demand_signature
from vision.errors import OutsideError
from vision.game.events import Event, Stopped
from vision.record.chain import BrokenChainError
from vision.record.codec import GENESIS, Record, event_from_json, event_to_json, seal
from vision.record.facts import Anchored
from vision.storage.anchors import LogSigner, load_public, make_keys, read_anchors, sign_head
from vision.storage.log import Entry, Store
from vision.wire.session import advance


def sign_log(folder: Path, events: Iterable[Event]) -> Trust:
    """Write the events as a signed log `t.sqlite`, an anchor every 20 s; return what proves it."""
    key, anchors = folder / "key", folder / "anchors.jsonl"
    make_keys(key)
    signer = LogSigner(key, anchors, "house", "7", every_s=20)
    with Store(folder / "t.sqlite", {**header(), "id": folder.name}) as store:
        desk = session_of(store.header)
        for event in events:
            step = advance(desk, event)
            desk = step.session
            store.append([Entry(event, step.messages)])
            why = "stop" if isinstance(event, Stopped) else ""
            why = why or signer.due(desk.table.clock, desk.table.shoe.name)
            if why:
                anchor, step = sign_head(signer, store.hash_of(0), store.head, desk, why)
                desk = step.session
                store.append([Entry(anchor, step.messages)])
                signer.note(anchor)
    return Trust((load_public(folder / "key.pub"),), tuple(read_anchors(anchors)))


def is_found(records: list[Record], trust: Trust) -> str:
    """Return what the audit says is wrong with the records, or nothing."""
    try:
        demand_signature(audit(records, trust))
    except (BrokenChainError, OutsideError) as error:
        return str(error)
    return ""


def tampered(records: list[Record], draw: random.Random) -> tuple[list[Record], int]:
    """Change, remove, add or move one record; return the first number that is wrong then."""
    n = draw.randrange(len(records))
    record = records[n]
    kind = draw.choice(["character", "hash", "remove", "repeat", "swap"])
    if kind == "character":
        i = draw.randrange(len(record.body))
        other = draw.choice([c for c in "0123456789abcXYZ{}" if c != record.body[i]])
        body = record.body[:i] + other + record.body[i + 1 :]
        return [*records[:n], Record(n, body, record.hash), *records[n + 1 :]], n
    if kind == "hash":
        i = draw.randrange(64)
        other = "0" if record.hash[i] != "0" else "1"
        changed = record.hash[:i] + other + record.hash[i + 1 :]
        return [*records[:n], Record(n, record.body, changed), *records[n + 1 :]], n
    n = draw.randrange(len(records) - 1)
    if kind == "remove":
        return [*records[:n], *records[n + 1 :]], n
    if kind == "repeat":
        return [*records[: n + 1], records[n], *records[n + 1 :]], n + 1
    return [*records[:n], records[n + 1], records[n], *records[n + 2 :]], n


def forged(
    records: list[Record], draw: random.Random, signer: LogSigner | None = None
) -> tuple[list[Record], str]:
    """Do what a forger can: tamper with one record and make the chain anew.

    Without the key the anchors stay as they are, are made to fit the new hashes, or are taken out
    from there on; with it (`signer`) they are signed anew. Returns the log and what was done.
    A signature that was changed and is signed anew is what it was: that is no forgery, and another
    is made.
    """
    found, done = _forged_once(records, draw, signer)
    while found == records:
        found, done = _forged_once(records, draw, signer)
    return found, done


def _forged_once(
    records: list[Record], draw: random.Random, signer: LogSigner | None
) -> tuple[list[Record], str]:
    contents = [json.loads(record.body) for record in records]
    last = max(n for n, content in enumerate(contents) if _is_anchor(content))
    n = draw.randrange(1, last)
    kind = draw.choice(["change", "remove", "insert", "move"])
    if kind == "change":
        contents[n] = _changed(contents[n], draw)
    elif kind == "remove":
        del contents[n]
    elif kind == "insert":
        contents.insert(n, json.loads(json.dumps(draw.choice(contents[1:]))))
    else:
        others = [i for i in range(1, last) if contents[i] != contents[n] and i != n]
        contents.insert(draw.choice(others), contents.pop(n))
    habit = "signed anew" if signer else draw.choice(["kept", "fitted", "stripped"])
    if habit == "stripped":
        contents = [c for i, c in enumerate(contents) if i < n or not _is_anchor(c)]
    fit = habit in {"fitted", "signed anew"}
    return _chained(contents, fit=fit, signer=signer), f"{kind} at {n}, anchors {habit}"


def _changed(content: dict[str, object], draw: random.Random) -> dict[str, object]:
    event = content.get("event")
    if not isinstance(event, dict):
        return {**content, "more": 1}
    name = draw.choice([key for key in event if key != "is"])
    value = event[name]
    other = value + 1 if type(value) is int else ("9h" if value != "9h" else "8h")
    return {**content, "event": {**event, name: other}}


def _is_anchor(content: dict[str, object]) -> bool:
    event = content.get("event")
    return isinstance(event, dict) and event["is"] == "Anchored"


def _chained(
    contents: list[dict[str, object]], *, fit: bool, signer: LogSigner | None = None
) -> list[Record]:
    records: list[Record] = []
    previous = GENESIS
    for number, content in enumerate(contents):
        plain = {key: value for key, value in content.items() if key != "n"}
        if fit and _is_anchor(content):
            event = dict(plain["event"])  # type: ignore[call-overload]
            event.update(number=number - 1, hash=previous)
            if signer:
                event = event_to_json(signer.sign(cast(Anchored, event_from_json(event))))
            plain["event"] = event
        records.append(seal(number, previous, plain))
        previous = records[-1].hash
    return records


def without_anchors_elsewhere(trust: Trust) -> Trust:
    """Return what is trusted by somebody who has only the public key."""
    return replace(trust, anchors=())
