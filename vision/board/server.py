"""An HTTP server in a thread of its own, with TLS where a certificate is given."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from typing import Self

import uvicorn
from starlette.types import ASGIApp

from vision.board.connections import Connections, Listener, protocol_of
from vision.config.table import BoardSection
from vision.errors import ConfigurationError, OutsideError

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
        self._app = app
        self._address = address
        self._port = address.port
        self._server: uvicorn.Server | None = None
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
        connections = Connections(frozenset(self._address.proxies))
        listener = _listen(self._address.host, self._address.port)
        listener.connections = connections
        self._port = listener.getsockname()[1]
        self._server = uvicorn.Server(self._config(connections))
        self._thread = threading.Thread(
            target=self._server.run, args=([listener],), name="board", daemon=True
        )
        self._thread.start()
        deadline = time.monotonic() + START_S
        while not self._server.started and time.monotonic() < deadline:
            time.sleep(0.01)

    def stop(self) -> None:
        """Stop serving; open pages show within seconds that the board is gone."""
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            self._thread.join(timeout=STOP_S)

    @property
    def stopping(self) -> bool:
        """Whether streams must end."""
        return self._server is not None and self._server.should_exit

    def _config(self, connections: Connections) -> uvicorn.Config:
        address = self._address
        return uvicorn.Config(
            self._app,
            # What the application fails at is logged by `answers.HANDLERS`, in the form of our log.
            log_level="critical",
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=SHUTDOWN_S,
            server_header=False,
            loop="asyncio",
            backlog=BACKLOG,
            http=protocol_of(connections),
            ws="none",
            proxy_headers=bool(address.proxies),
            forwarded_allow_ips=list(address.proxies),
            h11_max_incomplete_event_size=HEADER_LIMIT,
            ssl_certfile=address.certificate or None,
            ssl_keyfile=address.key or None,
        )

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

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


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
