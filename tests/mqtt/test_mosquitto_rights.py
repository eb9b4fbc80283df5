"""The mosquitto configuration in `deploy` as a real mosquitto reads it: rights by role."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.mqtt.endpoints import endpoint_at
from tests.mqtt.mosquitto_house import DEPLOY, EVERYONE, PUBLIC, ROLES, TABLE, TOPICS, House
from tests.mqtt.mqtt_tools import HAS_CLIENTS, MOSQUITTO, listening, wait_for
from vision.errors import OutsideError
from vision.mqtt.endpoint import probe
from vision.wire.commands import COMMANDS

ORDERS = {topic for topic in TOPICS if topic.startswith("cmd/")} - {"cmd/reply"}
GIVEN = ORDERS - {"cmd/bets_closed"}
SAID = set(TOPICS) - ORDERS - {"else"}
MAY_READ = {
    "reader": ORDERS | {"cmd/reply"},
    "board": {*PUBLIC, "health"},
    "surveillance": set(TOPICS),
    "supervisor": SAID - {"health"},
    "desk": set(TOPICS),
    "table-system": {"cmd/reply"},
    "engineer": {"status", "health"},
}
MAY_WRITE = {
    "reader": SAID,
    "board": set(),
    "surveillance": {"cmd/ack_alert", "cmd/hold_result", "cmd/replay"},
    "supervisor": GIVEN,
    "desk": GIVEN,
    "table-system": {"cmd/bets_closed"},
    "engineer": set(),
}

pytestmark = [
    pytest.mark.mosquitto,
    pytest.mark.skipif(not HAS_CLIENTS or MOSQUITTO is None, reason="needs mosquitto"),
]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Give a mosquitto with the configuration of `deploy`, its paths and ports moved here."""
    house = House(tmp_path_factory.mktemp("house"))
    with house.server:
        yield house


@pytest.mark.parametrize("role", ROLES)
def test_role_reads_what_it_may_and_nothing_else(house: House, role: str) -> None:
    """Whatever a client subscribes to, it hears only the topics of its role."""
    with listening(house.port, "casino/#", *house.access(role)) as listener:
        house.publish(EVERYONE[0], *TOPICS)
        wait_for(lambda: len(listener.heard) >= len(MAY_READ[role]))
        time.sleep(0.1)
        heard = {topic.removeprefix(TABLE) for topic, _, _ in listener.heard}
        assert heard == MAY_READ[role]


@pytest.mark.parametrize("role", ROLES)
def test_role_writes_what_it_may_and_nothing_else(house: House, role: str) -> None:
    """Whatever a client publishes, only the topics of its role reach anyone."""
    with listening(house.port, "casino/#", *house.access(EVERYONE[0])) as listener:
        house.publish(role, *TOPICS)
        house.publish(EVERYONE[1], "end")
        wait_for(lambda: any(topic.endswith("/end") for topic, _, _ in listener.heard))
        heard = {topic.removeprefix(TABLE) for topic, _, who in listener.heard if role in who}
        assert heard == MAY_WRITE[role]


def test_reader_of_a_table_speaks_and_hears_of_no_other(house: House) -> None:
    """A reader that is taken over forges nothing of its neighbours."""
    with listening(house.port, "casino/#", *house.access(EVERYONE[0])) as listener:
        command = ["mosquitto_pub", "-p", str(house.port), *house.access("reader"), "-q", "1"]
        topic = TABLE.replace("/1/", "/2/") + "status"
        subprocess.run([*command, "-t", topic, "-m", "1"], check=True, timeout=20)
        house.publish(EVERYONE[1], "end")
        wait_for(lambda: listener.heard)
        assert [topic for topic, _, _ in listener.heard] == [TABLE + "end"]


def test_client_certificate_is_as_good_as_a_password(house: House) -> None:
    """A program with a certificate needs no password; one without is turned away there."""
    certs = house.authority
    ca = str(house.ca)
    own = {"certificate": str(certs / "reader.crt"), "key": str(certs / "reader.key")}
    probe(endpoint_at(host="localhost", port=house.certificate_port, tls_ca=ca, **own))
    with pytest.raises(OutsideError):
        probe(endpoint_at(host="localhost", port=house.certificate_port, tls_ca=ca))


def test_certificate_that_is_revoked_opens_nothing(tmp_path: Path) -> None:
    """A machine that was stolen is shut out, and the others are not."""
    house = House(tmp_path)
    house.certify("--revoke", "board")
    ends = {name: house.authority / name for name in ("board", "reader")}
    with house.server:
        for name, end in ends.items():
            own = {"certificate": f"{end}.crt", "key": f"{end}.key", "tls_ca": str(house.ca)}
            endpoint = endpoint_at(host="localhost", port=house.certificate_port, **own)
            with pytest.raises(OutsideError) if name == "board" else nullcontext():
                probe(endpoint)


def test_broker_is_not_given_the_key_of_the_authority(house: House) -> None:
    """Who breaks into the broker cannot issue certificates."""
    given = {path.name for path in (house.folder / "certs").iterdir()}
    assert given == {"ca.crt", "server.crt", "server.key", "revoked.crl"}


def test_every_order_may_be_given_by_somebody() -> None:
    """No order of the contract was forgotten in the rights of the roles."""
    rights = "".join(path.read_text("utf-8") for path in (DEPLOY / "roles").iterdir())
    for name in COMMANDS:
        assert f"topic write casino/SITE/table/+/cmd/{name}\n" in rights


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (["a/b", "board:x"], "cannot stand in a topic"),
        (["house", "king:x"], "no role 'king'"),
        (["house", "board:a b"], "USER is no name"),
        (["house", "reader:x"], "name the table"),
    ],
)
def test_rights_that_make_no_sense_are_reported(words: list[str], reported: str) -> None:
    """A slip in the list of users gives no access list at all."""
    command = ["sh", str(Path(DEPLOY) / "make-acl.sh"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, reported in done.stderr) == (2, True), done.stderr
