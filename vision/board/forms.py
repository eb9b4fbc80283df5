"""The form of the messages that a display takes: that of the published schemas.

A field that is there has the form of the contract, else the message is dropped: one odd message of
one reader must not stop the displays of all. Fields may be missing, and ones that are not known yet
may be there, so that a display lives with readers that are older or newer.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

import fastjsonschema

from vision.board.table_state import Payload

Check = Callable[[Payload], object]
LEVELS = {"alert": "alert_id", "evidence": "", "clip": ""}


def fault_of(topic: str, payload: Payload) -> str:
    """Return in what a message departs from its form, "" where in nothing."""
    try:
        _check(topic)(payload)
    except fastjsonschema.JsonSchemaValueException as error:
        return str(error.message)
    except RecursionError:
        return "nested too deep"
    return ""


def _check(topic: str) -> Check:
    first, _, rest = topic.partition("/")
    return _compiled(LEVELS[first] if rest and first in LEVELS else topic.replace("/", "_"))


@cache
def _compiled(name: str) -> Check:
    """Return the check of a schema; of pictures and of what no schema is published for, none."""
    path = files("vision") / "schemas" / f"{name}.json"
    if not name or not path.is_file():
        return lambda _: None
    content: dict[str, Any] = json.loads(path.read_text("utf-8"))
    content.pop("required", None)
    content.pop("$id", None)  # an address that nothing is fetched from
    content["$schema"] = "http://json-schema.org/draft-07/schema#"
    check: Check = fastjsonschema.compile(content)
    return check
