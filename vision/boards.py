"""The boards of some tables: what feeds them, what they say of the house, and the server.

Puts together what `shoe-reader board` and `demo` serve; it decides nothing of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from types import TracebackType
from typing import Any, Self

from starlette.applications import Starlette
from starlette.middleware import Middleware

from vision.config import TableConfig
from vision.edge.board.feed import Feed
from vision.edge.board.public import TOPICS, public_part
from vision.edge.board.server import Address, BoardServer
from vision.edge.board.web import House, SafeHeaders, public_routes
from vision.edge.mqtt_link import Endpoint
from vision.errors import ConfigurationError
from vision.game.bets import Offer
from vision.journal import endpoint_of
from vision.profiles import load_profile
from vision.wire import PREFIX


def prefixes_of(configs: Sequence[TableConfig]) -> dict[str, str]:
    """Return the beginning of each table's topics by its name; ConfigurationError for doubles."""
    prefixes: dict[str, str] = {}
    for config in configs:
        if config.table in prefixes:
            raise ConfigurationError(
                f"table: two of the files given are of table '{config.table}'; give each table once"
            )
        prefixes[config.table] = PREFIX.format(site=config.site, table=config.table)
    return prefixes


def house_of(configs: Sequence[TableConfig]) -> House:
    """Return what the boards say of the house: titles, language, offers and limits."""
    return House({config.table: _table(config) for config in configs})


def _table(config: TableConfig) -> dict[str, Any]:
    profile = load_profile(config.profile)
    chance = profile.betting.double_chance
    return {
        "title": config.board.title,
        "language": config.board.language,
        # As the reader says it in `status`: limits of other rules are not shown.
        "profile": f"{profile.name} sha256:{profile.hash}",
        "offers": [_offer(offer) for offer in profile.betting.offers],
        "percent": None if chance is None else sorted({float(share * 100) for share in chance}),
    }


def _offer(offer: Offer) -> dict[str, Any]:
    return {
        "bet": offer.bet.value,
        "name": offer.name,
        "odds": offer.terms,
        "minimum": _amount(offer.minimum),
        "maximum": None if offer.maximum is None else _amount(offer.maximum),
    }


def _amount(value: Fraction) -> str:
    return f"{float(value):,.10g}"


def public_endpoint(config: TableConfig) -> Endpoint:
    """Return how the results board reaches the broker: by its own name, if it has one."""
    board = config.board
    if not board.username:
        return endpoint_of(config.broker)
    own = {"username": board.username, "password_env": board.password_env}
    return endpoint_of(config.broker.model_copy(update=own))


class Boards:
    """The running boards of some tables."""

    def __init__(self, configs: Sequence[TableConfig], address: Address) -> None:
        """Prepare the boards; nothing is served or asked before they are entered."""
        prefixes = prefixes_of(configs)
        endpoint = public_endpoint(configs[0])
        self.feed = Feed(endpoint, prefixes, TOPICS, reduce=public_part)
        routes = public_routes(self.feed, house_of(configs), lambda: self.server.stopping)
        app = Starlette(routes=routes, middleware=[Middleware(SafeHeaders)])
        self.server = BoardServer(app, address)

    def __enter__(self) -> Self:
        self.server.start()
        self.feed.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.server.stop()
        self.feed.stop()


def address_of(config: TableConfig, *, host: str | None = None, port: int | None = None) -> Address:
    """Return where a table file has its boards served, unless `host` or `port` say otherwise."""
    board = config.board
    return Address(
        board.host if host is None else host,
        board.port if port is None else port,
        board.certificate,
        board.key,
    )
