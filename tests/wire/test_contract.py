"""The contract for others: its document is whole, AsyncAPI's own parser takes it, examples run."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from jsonschema import Draft202012Validator

from tests.contract import CHANNELS, DOCUMENT, text
from tests.examples_of_messages import PAGE, examples, page
from tests.mqtt.mqtt_tools import MOSQUITTO, Mosquitto
from tests.schemas import SCHEMAS, schema, schema_name
from tests.table_log import PLAYS, said
from tests.wire.examples import EXAMPLES, expected, installed, printed
from vision.record.codec import canonical
from vision.wire.messages import PREFIX, Message

ROOT = Path(__file__).parents[2]
NPM = shutil.which("npm")
needs_npm = pytest.mark.skipif(NPM is None, reason="needs npm")
EVERY = [message for play in PLAYS.values() for message in said(play().events)]


@cache
def document() -> dict[str, Any]:
    """Return the document of this version."""
    found: dict[str, Any] = json.loads(text())
    return found


def test_document_in_the_repository_is_that_of_the_program() -> None:
    """What integrators are given is what the program says."""
    assert DOCUMENT.read_text("utf-8") == text(), "python -m tests.contract"


def test_every_schema_has_its_topic() -> None:
    """A schema that no topic has would be missing in the document."""
    names = {path.name.removesuffix(".json") for path in SCHEMAS.iterdir()}
    assert {channel.schema for channel in CHANNELS} - {""} == names


def test_example_of_each_message_keeps_to_the_contract() -> None:
    """Every form has an example, as strict a check as a message gets, and none is made up here."""
    assert examples().keys() == {channel.schema for channel in CHANNELS} - {""}
    for name, content in examples().items():
        Draft202012Validator(schema(name)).validate(content)
        known = schema(name)["properties"] if name != "cmd" else content
        assert content.keys() <= known.keys()
    for channel in CHANNELS:
        message = document()["components"]["messages"][channel.name]
        shown = [one["payload"] for one in message.get("examples", ())]
        assert shown == ([examples()[channel.schema]] if channel.schema else [])
    published = {message.payload.decode() for message in said(PLAYS["overdraw"]().events)}
    for name in ("status", "shoe", "card", "coup_live", "coup_result", "roads", "alert"):
        assert canonical(examples()[name]) in published, name


def test_examples_of_the_page_are_those_of_the_program() -> None:
    """The page has each of them, in short."""
    assert PAGE.read_text("utf-8") == page(), "python -m tests.contract"


def test_topics_are_those_of_the_page() -> None:
    """The table of `deploy/mqtt.md` and the program's agree on topics, schemas and retention."""
    page = (ROOT / "deploy" / "mqtt.md").read_text("utf-8")
    row = r"^\| `([^`]+)` \| (yes|no|until)[^|]* \| (?:`(\w+)`|an? \w+) \|"
    rows = re.findall(row, page, re.MULTILINE)
    reported = {topic: (kept != "no", schema) for topic, kept, schema in rows}
    sent = {c.topic: (c.retained, c.schema) for c in CHANNELS if c.sent}
    assert reported == sent


@pytest.mark.parametrize("message", EVERY, ids=lambda m: f"{m.seq}-{m.topic.split('/', 4)[4]}")
def test_message_of_a_play_is_as_its_channel_says(message: Message) -> None:
    """Topic, retention and payload of everything that the plays say are in the document."""
    channel = next(c for c in CHANNELS if fits(c.topic, message.topic))
    assert channel.retained or not message.retain
    if message.payload and channel.schema:
        assert channel.schema == schema_name(message.topic)
        whole = {"$ref": f"#/components/schemas/{channel.schema}", **document()}
        jsonschema.Draft7Validator(whole).validate(json.loads(message.payload))


def fits(pattern: str, topic: str) -> bool:
    """Whether a topic is of a channel."""
    site = PREFIX.format(site="[^/]+", table="[^/]+")
    return re.fullmatch(site + re.sub(r"\{\w+\}", "[^/]+", pattern), topic) is not None


def test_payload_that_breaks_the_contract_fails_in_the_document() -> None:
    """The forms came over whole: a card that is none, a missing field, a wrong revision."""
    result = next(m for m in EVERY if m.topic.endswith("coup/result"))
    whole = {"$ref": "#/components/schemas/coup_result", **document()}
    good = json.loads(result.payload)
    no_winner = {key: value for key, value in good.items() if key != "winner"}
    for wrong in ({**good, "revision": -1}, {**good, "state": "maybe"}, no_winner,
                  {**good, "punto": {**good["punto"], "cards": ["1x"]}}):  # fmt: skip
        assert not jsonschema.Draft7Validator(whole).is_valid(wrong)


# --- with other people's programs ----------------------------------------------------------------


@pytest.fixture(scope="module")
def node_modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the pinned packages once into a folder of its own, with our scripts beside them."""
    folder = Path(os.environ.get("SHOE_READER_NPM", "") or tmp_path_factory.mktemp("npm"))
    installed(folder)
    return folder


def ran(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    return subprocess.run(
        command, check=False, cwd=folder, capture_output=True, text=True, timeout=500
    )


def validated(folder: Path, path: Path) -> subprocess.CompletedProcess[str]:
    """Have AsyncAPI's parser read a document."""
    return ran(["node", "validate.mjs", str(path)], folder)


@pytest.mark.nightly  # it fetches packages
@needs_npm
def test_asyncapi_parser_takes_the_document(node_modules: Path, tmp_path: Path) -> None:
    """Its own parser finds no error in ours, and an error in one that was spoilt."""
    good = validated(node_modules, ROOT / "deploy" / "asyncapi.json")
    assert good.returncode == 0, good.stdout + good.stderr
    assert f"{len(CHANNELS)} channels, {len(CHANNELS)} messages" in good.stdout
    spoilt = text().replace('"action": "send"', '"action": "shout"', 1)
    (tmp_path / "spoilt.json").write_text(spoilt, "utf-8")
    assert validated(node_modules, tmp_path / "spoilt.json").returncode == 1


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Mosquitto]:
    """Run a real mosquitto."""
    with Mosquitto(tmp_path) as running:
        yield running


@pytest.mark.mosquitto
@pytest.mark.skipif(MOSQUITTO is None, reason="needs mosquitto")
def test_python_example_prints_each_result_once(broker: Mosquitto) -> None:
    """A dozen lines of Python follow the results of a table, and print each once."""
    found = printed([sys.executable, "results.py"], broker.port, EXAMPLES)
    assert found == expected("None")


@pytest.mark.nightly
@needs_npm
@pytest.mark.mosquitto
@pytest.mark.skipif(MOSQUITTO is None, reason="needs mosquitto")
def test_javascript_example_prints_each_result_once(broker: Mosquitto, node_modules: Path) -> None:
    """So do a dozen lines of JavaScript."""
    found = printed(["node", "results.mjs"], broker.port, node_modules)
    assert found == expected("null")
