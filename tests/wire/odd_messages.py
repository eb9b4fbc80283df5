"""Messages that no reader says, one of each kind that stopped a consumer once, and a true one."""

from __future__ import annotations

import json
from typing import Any

FRAME: dict[str, Any] = {
    "schema": 1, "table": "7", "boot": "b1", "seq": 5, "at": "2026-01-01T00:00:00.000Z",
}  # fmt: skip
STATUS = {"state": "online", "why": "", "version": "1", "models": [], "profile": "p"}
HAND = {"cards": ["As", "7d"], "points": 8, "natural": True, "pair": False}
RESULT = {
    "shoe": "s1", "coup": 1, "revision": 0, "state": "final", "why": "", "winner": "punto",
    "punto": HAND, "banco": {**HAND, "cards": ["2s", "3d"], "points": 5, "natural": False},
    "egalite_points": None, "three_giving_eight": False, "wagers": [], "faults": [], "free": False,
    "by": "", "reason": "",
}  # fmt: skip
REPLY = {"command": "void_coup", "ref": "r1", "by": "Ann", "accepted": True, "why": ""}
LONE = "\ud800"


def said(content: dict[str, Any], **fields: Any) -> bytes:
    """Return a message with the fields that all have, some of them changed."""
    return json.dumps({**FRAME, **content, **fields}).encode()


ODD: dict[str, tuple[str, bytes]] = {
    "seq beyond 64 bits": ("status", said(STATUS, seq=10**30)),
    "seq of 5000 digits": ("status", said(STATUS).replace(b'"seq": 5', b'"seq": ' + b"9" * 5000)),
    "seq beyond what JavaScript counts": ("status", said(STATUS, seq=2**53)),
    "seq below none": ("status", said(STATUS, seq=-1)),
    "seq true": ("status", said(STATUS, seq=True)),
    "term beyond 64 bits": ("status", said(STATUS, term=10**30)),
    "term on health": ("health", said({"fps": 1}, term=2**63)),
    "coup beyond 32 bits": ("coup/result", said(RESULT, coup=2**31)),
    "revision beyond 32 bits": ("coup/result", said(RESULT, revision=2**40)),
    "coup a list": ("coup/result", said(RESULT, coup=[1])),
    "coup half": ("coup/result", said(RESULT, coup=1.5)),
    "shoe an object": ("coup/result", said(RESULT, shoe={"a": 1})),
    "shoe NUL": ("coup/result", said(RESULT, shoe="s\0")),
    "shoe lone surrogate": ("coup/result", said(RESULT, shoe=LONE)),
    "why NUL": ("status", said(STATUS, why="a\0b")),
    "why lone surrogate": ("status", said(STATUS, why=LONE)),
    "boot NUL": ("status", said(STATUS, boot="\0")),
    "boot line feed": ("status", said(STATUS, boot="b\nx: y")),
    "boot a number": ("status", said(STATUS, boot=4)),
    "NaN": ("health", said({"fps": float("nan")})),
    "1e999": ("health", said({"fps": 0}).replace(b'"fps": 0', b'"fps": 1e999')),
    "other table": ("status", said(STATUS, table="8")),
    "table a number": ("status", said(STATUS, table=7)),
    "no time": ("status", said(STATUS, at="2026-13-01T00:00:00.000Z")),
    "state unknown": ("status", said(STATUS, state="dancing")),
    "field twice": ("status", said(STATUS).replace(b"{", b'{"seq": 6, ', 1)),
    "ref lone surrogate": ("cmd/reply", said(REPLY, ref=LONE)),
    "ref NUL": ("cmd/reply", said(REPLY, ref="\0")),
    "unknown field NUL": ("status", said(STATUS, new={"a": ["\0"]})),
    "name with a surrogate": ("status", said({**STATUS, LONE: 1})),
    "order with NUL": ("cmd/void_coup", b'{"by": "A\\u0000", "coup": 3}'),
    "order with a surrogate": ("cmd/void_coup", b'{"by": "\\ud800", "coup": 3}'),
    "order of 4 MB": ("cmd/void_coup", b'{"by": "' + b"x" * 4_000_000 + b'"}'),
    "order nested": ("cmd/void_coup", b'{"by": {"a": 1}}'),
    "order of no name": ("cmd/sing", b'{"by": "Ann"}'),
    "order of no bytes": ("cmd/void_coup", b"\xff\xfe"),
    "deep": ("status", b"[" * 100_000),
    "deep in a field": ("status", said(STATUS, new=json.loads("[" * 90 + "]" * 90))),
    "long": ("roads", said({"shoe": "s1"}, new="x" * 300_000)),
    "UTF-16": ("status", said(STATUS).decode().encode("utf-16")),
    "a list": ("coup/live", b"[]"),
}
