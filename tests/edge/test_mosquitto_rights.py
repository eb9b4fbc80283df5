"""The mosquitto configuration in `deploy` as a real mosquitto reads it: rights by role."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.edge.mqtt_tools import HAS_CLIENTS, MOSQUITTO, Mosquitto, free_port, listening, wait_for
from vision.wire_commands import COMMANDS

DEPLOY = Path(__file__).parents[2] / "deploy" / "mosquitto"
TABLE = "casino/house/table/1/"
ROLES = ("reader-1", "board", "surveillance", "inspector", "engineer")
TOPICS = (
    "status", "shoe", "card", "coup/live", "coup/result", "roads", "alert", "alert/a1",
    "evidence/a1", "health", "cmd/reply", "cmd/void_coup", "cmd/ack_alert", "cmd/hold_result",
)  # fmt: skip
PUBLIC = {"status", "shoe", "coup/live", "coup/result", "roads"}
MAY_READ = {
    "reader-1": {"cmd/reply", "cmd/void_coup", "cmd/ack_alert", "cmd/hold_result"},
    "board": PUBLIC,
    "surveillance": set(TOPICS),
    "inspector": PUBLIC | {"card", "alert", "alert/a1", "cmd/reply"},
    "engineer": {"status", "health"},
}
MAY_WRITE = {
    "reader-1": set(TOPICS) - {"cmd/void_coup", "cmd/ack_alert", "cmd/hold_result"},
    "board": set(),
    "surveillance": {"cmd/ack_alert", "cmd/hold_result"},
    "inspector": {"cmd/void_coup", "cmd/ack_alert", "cmd/hold_result"},
    "engineer": set(),
}

pytestmark = [
    pytest.mark.mosquitto,
    pytest.mark.skipif(not HAS_CLIENTS or MOSQUITTO is None, reason="needs mosquitto"),
]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Mosquitto, Path]]:
    """Give a mosquitto with the configuration of `deploy`, its paths and ports moved here."""
    folder = tmp_path_factory.mktemp("house")
    certs = folder / "certs"
    make = ["sh", str(DEPLOY / "certificates.sh"), str(certs), "localhost", "127.0.0.1"]
    subprocess.run(make, check=True, capture_output=True)
    passwords = folder / "passwords"
    passwords.touch()
    for name in (*ROLES, "everyone"):
        command = ["mosquitto_passwd", "-b", str(passwords), name, "pw"]
        subprocess.run(command, check=True, capture_output=True)
    # One more name, that may write and read all, to try the reading of the others.
    rights = (DEPLOY / "acl").read_text("utf-8") + "\nuser everyone\ntopic readwrite #\n"
    (folder / "acl").write_text(rights, encoding="utf-8")
    text = (DEPLOY / "mosquitto.conf").read_text("utf-8")
    port, web = free_port(), free_port()
    for old, new in (
        ("/etc/mosquitto", str(folder)), ("/var/lib/mosquitto/", f"{folder}/"),
        ("listener 8883", f"listener {port} 127.0.0.1"), ("listener 9443", f"listener {web}"),
    ):  # fmt: skip
        assert old in text
        text = text.replace(old, new)
    with Mosquitto(folder, "user root", text, port=port) as server:
        yield server, certs / "ca.crt"
    shutil.rmtree(folder, ignore_errors=True)


def access(name: str, ca: Path) -> list[str]:
    """Give the options by which a client comes as that user."""
    return ["-h", "localhost", "--cafile", str(ca), "-u", name, "-P", "pw"]


def publish(server: Mosquitto, ca: Path, name: str, topic: str) -> None:
    """Publish the user's name on a topic of the table."""
    command = ["mosquitto_pub", "-p", str(server.port), *access(name, ca), "-q", "1"]
    words = [*command, "-t", TABLE + topic, "-m", f'"{name}"']
    subprocess.run(words, check=True, timeout=10, capture_output=True)


@pytest.mark.parametrize("role", ROLES)
def test_role_reads_what_it_may_and_nothing_else(house: tuple[Mosquitto, Path], role: str) -> None:
    """Whatever a client subscribes to, it hears only the topics of its role."""
    server, ca = house
    with listening(server.port, "casino/#", *access(role, ca)) as listener:
        for topic in TOPICS:
            publish(server, ca, "everyone", topic)
        wait_for(lambda: len(listener.heard) >= len(MAY_READ[role]))
        time.sleep(0.1)
        heard = {topic.removeprefix(TABLE) for topic, _, _ in listener.heard}
        assert heard == MAY_READ[role]


@pytest.mark.parametrize("role", ROLES)
def test_role_writes_what_it_may_and_nothing_else(house: tuple[Mosquitto, Path], role: str) -> None:
    """Whatever a client publishes, only the topics of its role reach anyone."""
    server, ca = house
    with listening(server.port, "casino/#", *access("everyone", ca)) as listener:
        for topic in (*TOPICS, "else"):
            publish(server, ca, role, topic)
        publish(server, ca, "everyone", "end")
        wait_for(lambda: any(topic.endswith("/end") for topic, _, _ in listener.heard))
        heard = {topic.removeprefix(TABLE) for topic, _, who in listener.heard if role in who}
        assert heard == MAY_WRITE[role]


def test_every_order_may_be_given_by_somebody() -> None:
    """No order of the contract was forgotten in the access list."""
    rights = (DEPLOY / "acl").read_text("utf-8")
    for name in COMMANDS:
        assert f"topic write casino/house/table/+/cmd/{name}\n" in rights
