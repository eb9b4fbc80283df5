"""How a broker is reached: account, TLS and client, and the words for people when it is not."""

from __future__ import annotations

import hashlib
import secrets
import socket
import ssl
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import NamedTuple, Self

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.reasoncodes import ReasonCode

from vision.config.fields import is_here
from vision.config.table import AccountSection, BrokerSection
from vision.errors import ConfigurationError, OutsideError

# Seconds between two signs of life; the broker sends the last will after 1.5 times as long without
# one, so this decides how soon the boards learn that a reader has vanished. Shorter costs traffic.
KEEPALIVE_S = 10
# The same where there are other addresses to go to: a node that is frozen is left within twice as
# long. Shorter, and one that is only busy is left; longer, and boards of a dead node stand still.
KEEPALIVE_CLUSTER_S = 2
# Seconds that a connection may take. On a house network it takes milliseconds; longer delays the
# next try, shorter gives up on a broker that is busy.
CONNECT_S = 5.0
# The same where there are other addresses: what is lost by giving up early is one try.
CONNECT_CLUSTER_S = 2.0
# Hex digits of a private client id: 64 bits, which nobody guesses; MQTT promises room for 23
# characters, and every broker we know gives more.
ID_DIGITS = 16


class Address(NamedTuple):
    """Where a broker listens."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A broker and the account there: the [broker] section with its password read.

    `vision.config.table.BrokerSection` says what each field means; `others` are the further nodes
    of a cluster, in the order in which they are tried.
    """

    host: str
    port: int
    username: str
    password: str = field(repr=False)
    tls_ca: str
    certificate: str
    key: str
    others: tuple[Address, ...] = ()

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    def turned(self) -> Self:
        """Return the same broker by its next address; the present one comes last."""
        if not self.others:
            return self
        (host, port), *rest = self.others
        return replace(self, host=host, port=port, others=(*rest, Address(self.host, self.port)))

    def each(self) -> Iterator[Self]:
        """Yield the broker by each of its addresses."""
        found = self
        for _ in range(1 + len(self.others)):
            yield found
            found = found.turned()

    @property
    def keepalive_s(self) -> int:
        """Seconds between two signs of life."""
        return KEEPALIVE_CLUSTER_S if self.others else KEEPALIVE_S

    @property
    def connect_s(self) -> float:
        """Seconds that a connection may take."""
        return CONNECT_CLUSTER_S if self.others else CONNECT_S


def endpoint_of(broker: BrokerSection, own: AccountSection | None = None) -> Endpoint:
    """Return how to reach the configured broker, by an `own` account where that has a name.

    ConfigurationError if the password is not set, or would cross the network in clear.
    """
    account = own if own is not None and own.username else broker
    first, *others = [address_of(host, broker.port) for host in broker.host]
    refuse_in_clear([each.host for each in (first, *others)], account, broker)
    return Endpoint(
        host=first.host,
        port=first.port,
        others=tuple(others),
        username=account.username,
        password=account.password(),
        tls_ca=broker.tls_ca,
        certificate=broker.certificate,
        key=broker.key,
    )


def refuse_in_clear(hosts: Iterable[str], account: AccountSection, broker: BrokerSection) -> None:
    """Refuse an account whose password would cross the network without TLS: ConfigurationError."""
    far = [host for host in hosts if not is_here(host)]
    if far and account.password() and not broker.tls_ca and not broker.insecure:
        raise ConfigurationError(
            f"[broker] tls_ca: is empty, so a password would go to {', '.join(far)} in clear; "
            "name the certificate of the broker's authority, or set insecure = true"
        )


def address_of(text: str, port: int) -> Address:
    """Return the address that a host of the table file names; `port` where it has none of its own.

    An IPv6 address with a port stands in brackets.
    """
    host, colon, own = text.rpartition(":")
    if not colon or (":" in host and not host.startswith("[")) or text.endswith("]"):
        return Address(text.strip("[]"), port)
    return Address(host.strip("[]"), int(own))


def new_client(endpoint: Endpoint, client_id: str, *, keeps: bool = False) -> paho.Client:
    """Return a client that is not yet connected and never reconnects by itself.

    With `keeps` the broker keeps what it misses while it is away. ConfigurationError when a
    certificate file cannot be used.
    """
    client = paho.Client(
        CallbackAPIVersion.VERSION2,
        client_id=client_id,
        clean_session=not keeps,
        reconnect_on_failure=False,
    )
    client.connect_timeout = endpoint.connect_s
    if endpoint.username:
        client.username_pw_set(endpoint.username, endpoint.password or None)
    if endpoint.tls_ca:
        client.tls_set_context(_context(endpoint))
    return client


def probe(endpoint: Endpoint) -> None:
    """Connect once and disconnect; OutsideError with the cause and cure if that fails."""
    client = new_client(endpoint, f"shoe-reader-check-{secrets.token_hex(8)}")
    answers: SimpleQueue[ReasonCode | None] = SimpleQueue()
    client.on_connect = lambda _client, _data, _flags, code, _more: answers.put(code)
    client.on_disconnect = lambda *_: answers.put(None)
    try:
        client.connect(endpoint.host, endpoint.port, endpoint.keepalive_s)
    except (OSError, ValueError) as error:
        raise OutsideError(explain_error(error, endpoint)) from error
    client.loop_start()
    answer = None
    with suppress(Empty):
        answer = answers.get(timeout=endpoint.connect_s)
    client.disconnect()
    client.loop_stop()
    if answer is None:
        raise OutsideError(explain_silence(endpoint))
    if answer.is_failure:
        raise OutsideError(explain_refusal(answer, endpoint))


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
        why = f"nothing answered within {endpoint.connect_s:.0f} s"
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
