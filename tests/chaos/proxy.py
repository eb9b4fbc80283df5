"""A wire between reader and broker that can be made slow, or dead without anybody being told."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from types import TracebackType
from typing import Self

PIECE = 4096


class Proxy:
    """Passes bytes on both ways between its own port and another.

    All connections share a wire, whose `bytes_per_s` each way (0: as fast as it goes) they get in
    turn; `frozen` connections stay open and pass nothing.
    """

    def __init__(self, target: int) -> None:
        self.bytes_per_s = 0
        self.frozen = threading.Event()
        self.accepted = 0
        self._target = target
        self._wires = (threading.Lock(), threading.Lock())
        self._open: list[socket.socket] = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Cut everything, and take no more."""
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self.cut()

    def cut(self) -> None:
        """End every connection that is open."""
        ended, self._open = self._open, []
        for one in ended:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._server.accept()
                self.accepted += 1
                try:
                    far = socket.create_connection(("127.0.0.1", self._target))
                except OSError:
                    near.close()
                    continue
                self._open += [near, far]
                for ends in ((near, far, self._wires[0]), (far, near, self._wires[1])):
                    threading.Thread(target=self._pass, args=ends, daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket, wire: threading.Lock) -> None:
        was_frozen = False
        with contextlib.suppress(OSError):
            while piece := source.recv(PIECE):
                was_frozen = was_frozen or self.frozen.is_set()
                if was_frozen:
                    continue
                if self.bytes_per_s:
                    with wire:
                        time.sleep(len(piece) / self.bytes_per_s)
                sink.sendall(piece)
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
