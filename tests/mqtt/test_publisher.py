"""The link to a broker: nothing lost, order kept, and clear words when it cannot be reached."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.mqtt.endpoints import endpoint_at
from tests.mqtt.mqtt_tools import (
    HAS_CLIENTS,
    MOSQUITTO,
    Mosquitto,
    free_port,
    listening,
    wait_for,
)
from tests.seen import out
from tests.storage.test_log import HEADER, entry, message
from vision.errors import ConfigurationError, OutsideError
from vision.mqtt.embedded_broker import EmbeddedBroker
from vision.mqtt.endpoint import explain_error, probe
from vision.mqtt.lanes import IN_FLIGHT
from vision.mqtt.publisher import INBOX_SIZE, Bulk, Publisher
from vision.storage.log import Store
from vision.wire.commands import PAYLOAD_LIMIT
from vision.wire.messages import Message

PREFIX = "casino/house/table/7/"
WILL = Message(PREFIX + "status", b'{"state":"offline"}', 1, True, 0)
PASSWORD = "open sesame"
MOST_BYTES = 4_000_000

mosquitto = pytest.mark.mosquitto
pytestmark = pytest.mark.skipif(not HAS_CLIENTS, reason="needs mosquitto-clients")
real = pytest.mark.skipif(MOSQUITTO is None, reason="needs mosquitto")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Give an empty log."""
    with Store(tmp_path / "t.sqlite", HEADER) as opened:
        yield opened


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    """Give a running embedded broker."""
    with EmbeddedBroker(0) as running:
        yield running


def say(store: Store, seqs: range, *, retain: bool = False) -> None:
    """Write one step for each number, with a message that tells it."""
    for seq in seqs:
        store.append([entry(out(seq, seq), message(seq, "card", f"{seq}", retain=retain))])


def link(port: int, store: Store, **access: str) -> Publisher:
    """Return a link to that port, not yet started."""
    endpoint = endpoint_at(port=port, **access)
    return Publisher(endpoint, store, will=WILL, bulk=Bulk(MOST_BYTES))


def test_messages_arrive_in_order_and_leave_the_outbox(
    store: Store, broker: EmbeddedBroker
) -> None:
    """What was written before and after connecting arrives once, in order."""
    with listening(broker.port, PREFIX + "card") as listener:
        say(store, range(1, 4 * IN_FLIGHT))
        publisher = link(broker.port, store)
        publisher.start()
        wait_for(lambda: publisher.connected)
        for seq in range(4 * IN_FLIGHT, 6 * IN_FLIGHT):
            say(store, range(seq, seq + 1))
            publisher.wake()
        wait_for(lambda: store.depth() == 0)
        publisher.stop()
        wait_for(lambda: len(listener.heard) >= 6 * IN_FLIGHT - 1)
        assert listener.payloads("card") == list(range(1, 6 * IN_FLIGHT))


def test_stop_sends_the_rest_and_leaves_no_will(store: Store, broker: EmbeddedBroker) -> None:
    """A run that ends in order says everything and is not reported as lost."""
    with listening(broker.port, PREFIX + "#") as listener:
        publisher = link(broker.port, store)
        publisher.start()
        wait_for(lambda: publisher.connected)
        say(store, range(1, 200))
        publisher.stop(drain_s=20)
        assert store.depth() == 0
        wait_for(lambda: len(listener.heard) >= 199)
        assert listener.payloads("status") == []


@mosquitto
@real
def test_broker_away_for_a_while_loses_nothing(
    store: Store, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Messages said while the broker is dead arrive after; what stands is told again."""
    server = Mosquitto(tmp_path)
    request.addfinalizer(server.stop)
    publisher = link(server.port, store)
    publisher.start()
    say(store, range(1, 50), retain=True)
    wait_for(lambda: publisher.complaint)
    assert "refused" in publisher.complaint
    server.start()
    wait_for(lambda: store.depth() == 0)
    for seq in range(50, 90):
        say(store, range(seq, seq + 1))
        publisher.wake()
        if seq == 60:
            server.stop()
    wait_for(lambda: not publisher.connected)
    assert store.depth() >= 20
    server.start()  # without its memory
    with listening(server.port, PREFIX + "#") as listener:
        wait_for(lambda: store.depth() == 0)
        wait_for(lambda: 49 in listener.payloads("card"))
    publisher.stop()


@mosquitto
@real
def test_consumer_sees_every_number_in_order_across_broker_deaths(
    store: Store, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Whatever the broker does, a consumer with a session gets each number, in order."""
    tmp_path.chmod(0o755)
    keep = (
        "user root",
        "listener PORT 127.0.0.1",
        "allow_anonymous true",
        "persistence true",
        f"persistence_location {tmp_path}/",
        "max_queued_messages 0",
    )
    server = Mosquitto(tmp_path, *keep)
    request.addfinalizer(server.stop)
    server.start()
    with listening(server.port, PREFIX + "card", "-i", "consumer", "-c") as listener:
        publisher = link(server.port, store)
        publisher.start()
        for seq in range(1, 301):
            say(store, range(seq, seq + 1))
            publisher.wake()
            if seq in (100, 200):
                server.stop(in_order=True)
                wait_for(lambda: not publisher.connected)
                server.start()
        wait_for(lambda: store.depth() == 0, 20)
        wait_for(lambda: 300 in listener.payloads("card"), 20)
        publisher.stop()
        heard = listener.payloads("card")
    assert list(dict.fromkeys(heard)) == list(range(1, 301))


@mosquitto
@real
def test_real_broker_reports_a_reader_that_dies(tmp_path: Path) -> None:
    """After kill -9 the broker says offline, retained; commands are heard before."""
    script = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from tests.mqtt.test_publisher import HEADER, link\n"
        "from vision.storage.log import Store\n"
        "store = Store(Path(sys.argv[1]), HEADER)\n"
        "publisher = link(int(sys.argv[2]), store)\n"
        "publisher.start()\n"
        "while not publisher.connected: time.sleep(0.01)\n"
        "print('up', flush=True)\n"
        "time.sleep(60)\n"
    )
    with Mosquitto(tmp_path) as server, listening(server.port, PREFIX + "status") as listener:
        command = ["python3", "-c", script, str(tmp_path / "t.sqlite"), str(server.port)]
        command[0] = __import__("sys").executable
        with subprocess.Popen(command, stdout=subprocess.PIPE) as reader:
            assert reader.stdout is not None
            assert reader.stdout.readline() == b"up\n"
            reader.kill()
        wait_for(lambda: listener.payloads("status") == [{"state": "offline"}])


def test_commands_come_in_and_stale_ones_do_not(store: Store, broker: EmbeddedBroker) -> None:
    """An order is handed over as it came; retained (old) ones, answers and a flood are not."""

    def order(name: str, payload: str, *options: str) -> None:
        topic = f"{PREFIX}cmd/{name}"
        command = ["mosquitto_pub", "-p", str(broker.port), "-t", topic, *options]
        subprocess.run([*command, "-s"], input=payload.encode(), check=True, timeout=10)

    order("void_coup", "old", "-r")
    publisher = link(broker.port, store)
    publisher.start()
    wait_for(lambda: publisher.connected)
    order("reply", "{}")
    order("confirm", "x" * (PAYLOAD_LIMIT + 100), "-q", "1")
    order("new_shoe", '{"shoe":"12"}', "-q", "1")
    got = [each for _ in range(2) if (each := publisher.next_request(10)) is not None]
    assert [request.name for request in got] == ["confirm", "new_shoe"]
    assert len(got[0].payload) == PAYLOAD_LIMIT + 1  # cut, and so refused later
    assert json.loads(got[1].payload) == {"shoe": "12"}
    many = "\n".join("{}" for _ in range(INBOX_SIZE + 50))
    subprocess.run(
        ["mosquitto_pub", "-p", str(broker.port), "-t", PREFIX + "cmd/confirm", "-l", "-q", "1"],
        input=many.encode(), check=True, timeout=10,
    )  # fmt: skip
    wait_for(publisher._inbox.full)
    assert publisher._inbox.qsize() == INBOX_SIZE
    publisher.stop()


def test_messages_past_the_outbox_are_sent_only_when_connected(
    store: Store, broker: EmbeddedBroker
) -> None:
    """Health goes out at once and is not kept for later."""
    publisher = link(broker.port, store)
    publisher.publish(Message(PREFIX + "health", b"1", 1, True, 0))
    publisher.start()
    wait_for(lambda: publisher.connected)
    with listening(broker.port, PREFIX + "health") as listener:
        publisher.publish(Message(PREFIX + "health", b"2", 1, True, 0))
        wait_for(lambda: listener.heard)
        assert listener.payloads("health") == [2]
    publisher.stop()


def test_probe_of_a_good_broker_says_nothing(broker: EmbeddedBroker) -> None:
    """A broker that can be used passes."""
    probe(endpoint_at(port=broker.port))


@pytest.mark.parametrize(
    ("host", "words"),
    [("127.0.0.1", "refused; start the broker"), ("no.such.host.invalid", "no machine of that")],
    ids=["refused", "unknown"],
)
def test_probe_of_an_unreachable_broker_says_why(host: str, words: str) -> None:
    """The address, what happened and the cure are said."""
    with pytest.raises(OutsideError, match=words):
        probe(endpoint_at(host=host, port=free_port()))


def test_probe_of_another_kind_of_server_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A port where something else answers is not taken for a broker."""
    monkeypatch.setattr("vision.mqtt.endpoint.CONNECT_S", 2.0)
    with (
        socket.create_server(("127.0.0.1", 0)) as other,
        pytest.raises(OutsideError, match="does not answer as an MQTT broker"),
    ):
        probe(endpoint_at(port=other.getsockname()[1]))


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an authority and a server certificate for localhost."""
    folder = tmp_path_factory.mktemp("tls")
    make = Path(__file__).parents[2] / "deploy" / "mosquitto" / "certificates.sh"
    words = ["sh", str(make), str(folder / "authority"), str(folder), "localhost"]
    subprocess.run(words, check=True, capture_output=True)
    return folder


@pytest.fixture
def guarded(tmp_path: Path, certificates: Path) -> Iterator[Mosquitto]:
    """Give a mosquitto with TLS and a password file."""
    passwords = tmp_path / "passwords"
    passwords.touch(mode=0o600)
    subprocess.run(
        ["mosquitto_passwd", "-b", str(passwords), "reader", PASSWORD],
        check=True, capture_output=True,
    )  # fmt: skip
    passwords.chmod(0o644)
    tmp_path.chmod(0o755)
    server = Mosquitto(
        tmp_path, "user root", "listener PORT 127.0.0.1", "allow_anonymous false",
        f"password_file {passwords}", f"certfile {certificates}/server.crt",
        f"keyfile {certificates}/server.key",
    )  # fmt: skip
    with server:
        yield server


@mosquitto
@real
@pytest.mark.parametrize(
    ("access", "words"),
    [
        ({}, "TLS"),
        ({"tls_ca": "system"}, r"not trusted.*tls_ca"),
        ({"tls_ca": "CA"}, "refused us.*no user name"),
        ({"tls_ca": "CA", "username": "reader", "password": "wrong"}, "refused us.*'reader'"),
        ({"tls_ca": "CA", "username": "reader", "password": PASSWORD}, ""),
    ],
    ids=["plain", "untrusted", "anonymous", "wrong-password", "right"],
)
def test_guarded_broker_admits_only_who_may(
    guarded: Mosquitto, certificates: Path, access: dict[str, str], words: str
) -> None:
    """TLS and passwords: each wrong way in is told apart, and no secret is said."""
    if access.get("tls_ca") == "CA":
        access = {**access, "tls_ca": str(certificates / "ca.crt")}
    endpoint = endpoint_at(host="localhost", port=guarded.port, **access)
    assert PASSWORD not in repr(endpoint)
    if not words:
        probe(endpoint)
        return
    with pytest.raises(OutsideError, match=words) as failure:
        probe(endpoint)
    assert "wrong" not in str(failure.value)


@mosquitto
@real
def test_link_with_a_wrong_password_keeps_trying_and_says_why(
    guarded: Mosquitto, certificates: Path, store: Store
) -> None:
    """At run time a refusal is told and messages wait."""
    say(store, range(1, 3))
    publisher = link(
        guarded.port, store, host="localhost", tls_ca=str(certificates / "ca.crt"),
        username="reader", password="wrong",
    )  # fmt: skip
    publisher.start()
    wait_for(lambda: "refused us" in publisher.complaint)
    assert store.depth() == 2
    publisher.stop()


def test_certificate_file_that_is_missing_is_a_configuration_error(tmp_path: Path) -> None:
    """A wrong path is told before any connection is tried."""
    with pytest.raises(ConfigurationError, match="tls_ca"):
        probe(endpoint_at(tls_ca=str(tmp_path / "none.crt")))


class FailingOutbox:
    """A store whose disk has failed."""

    def __init__(self) -> None:
        self.asked = 0

    def pending(self, after: int, limit: int) -> list[Message]:
        """Fail."""
        self.asked += 1
        raise OutsideError("the disk fails")

    def retained(self) -> list[Message]:
        """Return nothing."""
        return []

    def acknowledge(self, seqs: Iterable[int]) -> None:
        """Do nothing."""


def test_link_survives_a_failing_store_and_says_so(broker: EmbeddedBroker) -> None:
    """A disk that fails is told by the link too, and tried again."""
    outbox = FailingOutbox()
    endpoint = endpoint_at(port=broker.port)
    publisher = Publisher(endpoint, outbox, will=WILL, bulk=Bulk(MOST_BYTES))
    publisher.start()
    wait_for(lambda: outbox.asked > 1)
    wait_for(lambda: publisher.complaint == "the disk fails")
    publisher.stop()


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (TimeoutError(), "nothing answered within"),
        (OSError(113, "No route to host"), "No route to host; check"),
        (ValueError("Invalid port number."), "Invalid port number"),
    ],
)
def test_other_failures_to_connect_are_explained(error: OSError | ValueError, words: str) -> None:
    """The address is named with what the system says."""
    reported = explain_error(error, endpoint_at(host="10.9.8.7"))
    assert "10.9.8.7:1883" in reported
    assert words in reported


@mosquitto
@real
def test_client_certificate_lets_in_who_has_one(tmp_path: Path, certificates: Path) -> None:
    """A broker that wants a certificate takes ours, and one without is told."""
    server = Mosquitto(
        tmp_path, "user root", "listener PORT 127.0.0.1", f"cafile {certificates}/ca.crt",
        f"certfile {certificates}/server.crt", f"keyfile {certificates}/server.key",
        "require_certificate true", "use_identity_as_username true",
    )  # fmt: skip
    (tmp_path / "ext").write_text("extendedKeyUsage=clientAuth\n")
    request = (
        "openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=reader "
        "-keyout c.key -out c.csr && openssl x509 -req -in c.csr -CA CERTS/ca.crt "
        "-CAkey CERTS/authority/ca.key -CAcreateserial -extfile ext -out c.crt"
    ).replace("CERTS", str(certificates))
    subprocess.run(["sh", "-c", request], cwd=tmp_path, check=True, capture_output=True)
    ca = str(certificates / "ca.crt")
    with server:
        own = {"certificate": str(tmp_path / "c.crt"), "key": str(tmp_path / "c.key")}
        probe(endpoint_at(host="localhost", port=server.port, tls_ca=ca, **own))
        with pytest.raises(OutsideError):
            probe(endpoint_at(host="localhost", port=server.port, tls_ca=ca))
