"""An HTTP server in a thread of its own, with TLS where a certificate is given.

Connections are limited, so that a browser that does nothing keeps no other from the boards. A
connection that has asked for nothing gives way to a newcomer: the oldest of its address where that
address has many, else the oldest of all. One that is slow with its request, or does not take its
answer, is closed.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
import time
from contextlib import suppress
from ipaddress import ip_address, ip_network
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from vision.config.table import BoardSection
from vision.errors import ConfigurationError, OutsideError

# Connections in all: with the board's own files below the 1,024 descriptors that a process has by
# default. Lower, and a large house's screens are refused; higher, and descriptors run out.
IN_ALL = 800
# Connections from one address that does not belong to a trusted proxy: a browser opens six, a wall
# of displays some dozens. Lower refuses such a wall, higher lets one machine take more.
FROM_ONE = 100
# Seconds for the head of a request, and for the rest of an answer that the browser does not take.
# A page's request is one packet. Shorter cuts off poor wireless links.
HEAD_S = 10.0
STALL_S = 30.0
# A house that is given IPv6 has a /64 or more of it: such a network counts as one address.
IPV6_NETWORK = 64

Peer = tuple[Any, ...]


def network_of(address: str) -> str:
    """Return what counts as one address: an IPv4 address, or the /64 of an IPv6 one."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if found.version == 4:
        return str(found)
    mapped = found.ipv4_mapped
    return str(mapped or ip_network((int(found), IPV6_NETWORK), strict=False))


class Connections:
    """The open connections of a server, the oldest first; used from the server's thread only."""

    def __init__(self, proxies: frozenset[str] = frozenset()) -> None:
        """Prepare; addresses in `proxies` may have as many as there are in all."""
        self._proxies = proxies
        self._open: dict[Peer, tuple[socket.socket, str]] = {}  # with the network
        self._busy: set[Peer] = set()

    def take(self, connection: socket.socket, peer: Peer) -> None:
        """Take a new connection; an idle one, or this one where all are busy, gives way."""
        self._open = {one: entry for one, entry in self._open.items() if entry[0].fileno() >= 0}
        self._busy &= self._open.keys()
        network = network_of(str(peer[0])) if peer else ""
        own = [other for other, (_, of) in self._open.items() if of == network]
        if peer[0] not in self._proxies and len(own) >= FROM_ONE:
            self._make_room(own, connection)
        elif len(self._open) >= IN_ALL:
            self._make_room(list(self._open), connection)
        self._open[peer] = connection, network

    def set_busy(self, peer: Peer, *, busy: bool) -> None:
        """Note whether a request of that connection is being answered."""
        if busy:
            self._busy.add(peer)
        else:
            self._busy.discard(peer)

    def _make_room(self, peers: list[Peer], newcomer: socket.socket) -> None:
        idle = next((peer for peer in peers if peer not in self._busy), None)
        gives_way = newcomer if idle is None else self._open.pop(idle)[0]
        with suppress(OSError):  # it may have gone by itself
            gives_way.shutdown(socket.SHUT_RDWR)  # the loop sees its end, and closes it


class Listener(socket.socket):
    """A listening socket that counts what it accepts, before TLS has begun."""

    connections: Connections

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection, where need be instead of an idle one."""
        connection, peer = super().accept()
        self.connections.take(connection, peer)
        return connection, peer


class _GuardedProtocol(H11Protocol):
    """The HTTP protocol that keeps to the limits; a subclass says of which connections."""

    known: Connections
    _head: asyncio.TimerHandle | None = None
    _stall: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._peer: Peer = transport.get_extra_info("peername") or ()
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for timer in (self._head, self._stall):
            if timer is not None:
                timer.cancel()
        self.known.set_busy(self._peer, busy=False)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stall = self._stall or self.loop.call_later(STALL_S, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def _watch(self) -> None:
        """Give a head so many seconds from its first byte on; what is being answered is busy."""
        busy = self.cycle is not None and not self.cycle.response_complete
        self.known.set_busy(self._peer, busy=busy)
        if busy and self._head is not None:
            self._head.cancel()
            self._head = None
        elif not busy and self._head is None:
            self._head = self.loop.call_later(HEAD_S, self.transport.abort)


# --- the server -----------------------------------------------------------------------------------


# Seconds that the server may take to start; it takes milliseconds, and a slow machine some seconds.
START_S = 10.0
# Seconds that the end of the server is waited for, and within it that of open requests.
STOP_S = 5.0
SHUTDOWN_S = 2
# Connections that may wait to be accepted, and that are accepted in one go: those that give way are
# closed in between, so descriptors do not run out. Fewer, and a crowd tries to connect twice.
BACKLOG = 64
# Bytes of a request's line and headers. Those of the board's own pages are short; a longer request
# is refused before it is read in full.
HEADER_LIMIT = 16 * 1024


class BoardServer:
    """Serves an application until it is stopped; `address` says where ([board] of a table file)."""

    def __init__(self, app: ASGIApp, address: BoardSection) -> None:
        self._address = address
        self._port = address.port
        self._connections = Connections(frozenset(address.proxies))
        self._server = uvicorn.Server(_config(app, address, self._connections))
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The address of the first page."""
        host = self._address.host
        shown = f"[{host}]" if ":" in host else host
        return f"{'https' if self._address.certificate else 'http'}://{shown}:{self._port}/"

    def start(self) -> None:
        """Start serving; OutsideError when the port is taken or the address is not ours.

        ConfigurationError when the certificate cannot be used.
        """
        self._check_certificate()
        listener = _listen(self._address.host, self._address.port)
        listener.connections = self._connections
        self._port = listener.getsockname()[1]
        self._thread = threading.Thread(
            target=self._server.run, args=([listener],), name="board", daemon=True
        )
        self._thread.start()
        deadline = time.monotonic() + START_S
        while not self._server.started and time.monotonic() < deadline:
            time.sleep(0.01)

    def stop(self) -> None:
        """Stop serving; open pages show within seconds that the board is gone."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(timeout=STOP_S)

    @property
    def stopping(self) -> bool:
        """Whether streams must end."""
        return self._server.should_exit

    def _check_certificate(self) -> None:
        address = self._address
        if not address.certificate:
            return
        try:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(address.certificate, address.key or None)
        except (OSError, ssl.SSLError) as error:
            raise ConfigurationError(
                f"[board] certificate '{address.certificate}' and key '{address.key}' cannot be "
                f"used: {error}; give files in PEM form that this user may read"
            ) from error


def _config(app: ASGIApp, address: BoardSection, connections: Connections) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        # What the application fails at is logged by `web.HANDLERS`, in the form of our log.
        log_level="critical",
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=SHUTDOWN_S,
        server_header=False,
        loop="asyncio",
        backlog=BACKLOG,
        http=type("Guarded", (_GuardedProtocol,), {"known": connections}),
        ws="none",
        proxy_headers=False,
        h11_max_incomplete_event_size=HEADER_LIMIT,
        ssl_certfile=address.certificate or None,
        ssl_keyfile=address.key or None,
    )


def _listen(host: str, port: int) -> Listener:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named TCP outright: asyncio sends small parts at once on such sockets only.
    listener = Listener(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise OutsideError(
            f"the board cannot use port {port} of {host}: {reason}; stop the program that holds it "
            f"(ss -ltnp 'sport = :{port}' names it), or choose another with [board] port or "
            "--http-port"
        ) from error
    return listener
