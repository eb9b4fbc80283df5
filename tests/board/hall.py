"""A board server with desks, a table that obeys, and browsers, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.browser.people import PASSWORD, house_of_people, with_desk
from tests.browser.voice import Reader, table_config, wait_for
from vision.access.command_gate import Policy
from vision.board.host.boards import Boards, address_of
from vision.config.table import TableConfig
from vision.game.events import Event
from vision.mqtt.embedded_broker import EmbeddedBroker


@dataclass
class Hall:
    """A house of people, its broker, its table and its board server."""

    folder: Path
    broker: EmbeddedBroker
    config: TableConfig
    boards: Boards
    reader: Reader

    @property
    def passwords(self) -> Path:
        """The passwords file."""
        return self.folder / "passwords.json"

    @property
    def url(self) -> str:
        """Where the boards are served."""
        return self.boards.server.url

    def log_in(self, client: httpx.Client, name: str, **more: str) -> httpx.Response:
        """Log somebody in with the right password, unless told otherwise."""
        return client.post("login", json={"name": name, "password": PASSWORD, **more})

    @contextmanager
    def client(self, name: str = "", **options: Any) -> Iterator[httpx.Client]:
        """Give a browser, logged in if a name is given."""
        with httpx.Client(base_url=self.url, timeout=30, **options) as client:
            client.headers.setdefault("Origin", self.url.rstrip("/"))  # as of a page of ours
            if name:
                answer = self.log_in(client, name)
                assert answer.status_code == 200, answer.text
            yield client

    def recorded(self, kind: str) -> list[Any]:
        """Return the inputs of a kind in the log of the table: a type's name, or a fact's."""
        events: list[Event] = list(self.reader.events)
        named = [one for one in events if type(one).__name__ == kind]
        return named or [one for one in events if getattr(one, "kind", "") == kind]


@contextmanager
def opened(
    folder: Path,
    *,
    board: dict[str, Any] | None = None,
    desk: dict[str, Any] | None = None,
    second_person: Policy = "never",
) -> Iterator[Hall]:
    """Open a house in a folder; `board` and `desk` are settings of those sections."""
    users, key = house_of_people(folder)
    with EmbeddedBroker(0) as broker:
        config = with_desk(table_config(broker.port), users, key, **(desk or {}))
        config = with_board(config, **(board or {}))
        reader = Reader(broker.port, "7", users, second_person)
        with reader.beating(), Boards([config], address_of(config)) as boards:
            server = boards.desk
            assert server is not None
            # The desk is connected before it has subscribed: what came in between would be lost.
            wait_for(lambda: boards.feed.connected and [*server._feed._states["7"]])
            yield Hall(folder, broker, config, boards, reader)
        reader.hang_up()


def with_board(config: TableConfig, **board: object) -> TableConfig:
    """Return the settings with others for [board]."""
    return config.model_copy(update={"board": config.board.model_copy(update=board)})
