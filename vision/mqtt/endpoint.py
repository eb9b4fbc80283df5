"""How a broker is reached: account, TLS and client, and the words for people when it is not."""

from __future__ import annotations

import hashlib
import secrets
import socket
import ssl
import threading
from dataclasses import dataclass, field
from pathlib import Path

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.reasoncodes import ReasonCode

from vision.config.table import BrokerSection
from vision.errors import ConfigurationError, OutsideError

# Seconds between two signs of life; the broker sends the last will after 1.5 times as long without
# one, so this decides how soon the boards learn that a reader has vanished. Shorter costs traffic.
KEEPALIVE_S = 10
# Seconds that a connection may take. On a house network it takes milliseconds; longer delays the
# next try, shorter gives up on a broker that is busy.
CONNECT_S = 5.0
# Hex digits of a private client id: 64 bits, which nobody guesses; MQTT promises room for 23
# characters, and every broker we know gives more.
ID_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A broker and the account there: the [broker] section with its password read.

    `vision.config.table.BrokerSection` says what each field means.
    """

    host: str
    port: int
    username: str
    password: str = field(repr=False)
    tls_ca: str
    certificate: str
    key: str

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def endpoint_of(broker: BrokerSection) -> Endpoint:
    """Return how to reach the configured broker; ConfigurationError if its password is not set."""
    return Endpoint(
        host=broker.host,
        port=broker.port,
        username=broker.username,
        password=broker.password(),
        tls_ca=broker.tls_ca,
        certificate=broker.certificate,
        key=broker.key,
    )


def new_client(endpoint: Endpoint, client_id: str, *, keeps: bool = False) -> paho.Client:
    """Return a client that is not yet connected and never reconnects by itself.

    With `keeps` the broker keeps what it misses while it is away, and every message until it is
    acknowledged by `ack`. ConfigurationError when a certificate file cannot be used.
    """
    client = paho.Client(
        CallbackAPIVersion.VERSION2,
        client_id=client_id,
        clean_session=not keeps,
        reconnect_on_failure=False,
        manual_ack=keeps,
    )
    client.connect_timeout = CONNECT_S
    if endpoint.username:
        client.username_pw_set(endpoint.username, endpoint.password or None)
    if endpoint.tls_ca:
        client.tls_set_context(_context(endpoint))
    return client


def probe(endpoint: Endpoint, client_id: str = "") -> None:
    """Connect once and disconnect; OutsideError with the cause and cure if that fails."""
    client = new_client(endpoint, client_id or f"shoe-reader-check-{secrets.token_hex(8)}")
    answered = threading.Event()
    answers: list[ReasonCode] = []

    def on_connect(
        _client: object, _data: object, _flags: object, code: ReasonCode, _: object
    ) -> None:
        answers.append(code)
        answered.set()

    client.on_connect = on_connect
    client.on_disconnect = lambda *_: answered.set()
    try:
        client.connect(endpoint.host, endpoint.port, KEEPALIVE_S)
    except (OSError, ValueError) as error:
        raise OutsideError(explain_error(error, endpoint)) from error
    client.loop_start()
    answered.wait(CONNECT_S)
    client.disconnect()
    client.loop_stop()
    if not answers:
        raise OutsideError(explain_silence(endpoint))
    if answers[0].is_failure:
        raise OutsideError(explain_refusal(answers[0], endpoint))


def private_id(endpoint: Endpoint, prefix: str, secret: str) -> str:
    """Return the client id of the reader of a table: always the same, and not to be guessed.

    The same, so that a broker drops the half-open connection of a reader that comes back; not to be
    guessed, because a broker throws out whoever is connected under an id that comes again.
    ConfigurationError when the key file cannot be read.
    """
    own, key = endpoint.password, endpoint.key or endpoint.certificate
    if not own and key:
        try:
            own = Path(key).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(
                f"[broker] key '{key}' is not readable: {error}; give a file in PEM form that this "
                "user may read"
            ) from error
    text = f"{prefix}\n{endpoint.username}\n{own}\n{secret}"
    return f"shoe-reader-{hashlib.sha256(text.encode()).hexdigest()[:ID_DIGITS]}"


def explain_silence(endpoint: Endpoint) -> str:
    """Return in words that something takes the connection and does not speak MQTT."""
    return (
        f"the broker at {endpoint} does not answer as an MQTT broker; check [broker] port, "
        "and whether it wants TLS ([broker] tls_ca) or a client certificate"
    )


def explain_error(error: OSError | ValueError, endpoint: Endpoint) -> str:
    """Return why there is no connection, and the cure."""
    cure = "check [broker] host and port, and the network between"
    if isinstance(error, ssl.SSLCertVerificationError):
        why = f"its certificate is not trusted ({error.verify_message})"
        cure = "give the certificate of its authority in [broker] tls_ca, and its name as host"
    elif isinstance(error, ssl.SSLError):
        why = f"TLS failed ({error.reason})"
        cure = "check that the port is the broker's TLS port, or remove [broker] tls_ca"
    elif isinstance(error, ConnectionRefusedError):
        why = "the connection was refused"
        cure = "start the broker, or check [broker] host and port"
    elif isinstance(error, socket.gaierror):
        why = "no machine of that name is known"
        cure = "check [broker] host and the name service"
    elif isinstance(error, TimeoutError):
        why = f"nothing answered within {CONNECT_S:.0f} s"
    else:
        why = getattr(error, "strerror", None) or str(error)
    return f"cannot reach the broker at {endpoint}: {why}; {cure}"


def explain_refusal(code: ReasonCode, endpoint: Endpoint) -> str:
    """Return why the broker refused the connection, and the cure."""
    cure = "look at the broker's log"
    if code.getName() in ("Bad user name or password", "Not authorized"):
        who = f"user '{endpoint.username}'" if endpoint.username else "no user name"
        cure = (
            f"we came as {who}: check [broker] username, the password in the variable that "
            "[broker] password_env names, and the broker's password file"
        )
    return f"the broker at {endpoint} refused us: {code.getName()}; {cure}"


def _context(endpoint: Endpoint) -> ssl.SSLContext:
    trusted = None if endpoint.tls_ca == "system" else endpoint.tls_ca
    try:
        context = ssl.create_default_context(cafile=trusted)
        if endpoint.certificate:
            context.load_cert_chain(endpoint.certificate, endpoint.key or None)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(
            f"[broker] tls_ca '{endpoint.tls_ca}' or the client certificate cannot be used: "
            f"{error}; give files in PEM form that this user may read"
        ) from error
    return context
