"""Serve the embedded broker and the boards of a table from a process of their own.

So no page that is drawn and no message that is passed on takes the reader's time: it has another
interpreter, and goes first where the processor is short.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Self

from vision.board.desk.table_editor import Draw, TableEditor
from vision.board.host.boards import Boards, address_of
from vision.config.table import TableConfig
from vision.errors import OutsideError
from vision.mqtt.embedded_broker import EmbeddedBroker

# By how much broker and boards stand behind the reader where the processor is short (Unix nice): a
# step is a tenth of a share, so five leave them a third. Less lets pages delay cards, more delays
# what the pages show.
NICE = 5
# Seconds that the process may take to serve, and to end: an interpreter starts in one or two, on a
# loaded machine in ten. Less takes a slow start for a failure.
START_S = 60.0
STOP_S = 15.0


@dataclass(frozen=True, slots=True)
class Served:
    """Where broker and boards answer; `notes` say which usual ports were taken."""

    port: int
    websocket_port: int
    url: str
    notes: tuple[str, ...]


class BoardProcess:
    """Broker and boards of one table while the block lasts; `served` says where."""

    served: Served

    def __init__(self, config: TableConfig, file: Path, draw: Draw) -> None:
        """Prepare; `file` is the table file, for the engineer to change on the set-up page.

        `draw` is a function of a module, which the process imports.
        """
        # A new interpreter: this one has threads, which a fork would break.
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._theirs = theirs
        self._process = context.Process(
            target=_serve, args=(config, file, draw, theirs), name="boards", daemon=True
        )

    def __enter__(self) -> Self:
        self._process.start()
        self._theirs.close()
        answer: Served | OutsideError | None = None
        with suppress(EOFError):
            answer = self._pipe.recv() if self._pipe.poll(START_S) else None
        if not isinstance(answer, Served):
            self._end()
            raise answer or OutsideError(
                f"broker and boards did not start within {START_S:g} s; see the messages above"
            )
        self.served = answer
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _end(self) -> None:
        self._pipe.close()
        self._process.join(STOP_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _serve(config: TableConfig, file: Path, draw: Draw, pipe: Connection) -> None:
    """Serve until the other end of the pipe is closed, by will or by the end of its process."""
    # Ctrl-C is for the reader, whose last messages are still to be passed on.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):  # a service may be forbidden to
        os.nice(NICE)
    try:
        with ExitStack() as opened:
            pipe.send(_opened(opened, config, file, draw))
            with suppress(EOFError):
                pipe.recv()
    except OutsideError as error:
        pipe.send(error)


def _opened(opened: ExitStack, config: TableConfig, file: Path, draw: Draw) -> Served:
    """Start both, on free ports where the usual ones are taken."""
    notes: list[str] = []
    broker = EmbeddedBroker(config.broker.port, config.broker.websocket_port)
    try:
        opened.enter_context(broker)
    except OutsideError:
        notes.append(
            f"ports {broker.port} and {broker.websocket_port} are not both free; taking others"
        )
        broker = opened.enter_context(EmbeddedBroker(0, 0))
    config = with_broker(config, broker.port, broker.websocket_port)
    editors = {config.table: TableEditor(config, file, draw)}
    try:
        boards = opened.enter_context(Boards([config], address_of(config), editors))
    except OutsideError:
        notes.append(f"port {config.board.port} is taken; the board takes another")
        address = address_of(config, port=0)
        boards = opened.enter_context(Boards([config], address, editors))
    return Served(broker.port, broker.websocket_port, boards.server.url, tuple(notes))


def with_broker(config: TableConfig, port: int, websocket_port: int) -> TableConfig:
    """Return the settings with an embedded broker at these ports."""
    ports = {"kind": "embedded", "port": port, "websocket_port": websocket_port}
    return config.model_copy(update={"broker": config.broker.model_copy(update=ports)})
