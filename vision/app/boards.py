"""The boards of some tables: what feeds them, the facts of the house they show, and the server.

Puts together what `shoe-reader board` and `demo` serve; it decides nothing of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route

from vision.access.users import load_credential
from vision.app.signing import trust_of_table
from vision.app.table_editor import TableEditor
from vision.audit.export import Sources, write_archive
from vision.audit.selection import Part
from vision.board.desk.commands import Order, Orders
from vision.board.desk.history import Backfill, History
from vision.board.desk.pages import DeskPages
from vision.board.desk.setup import SetupPages
from vision.board.feed import Feed
from vision.board.login.pages import LoginPages
from vision.board.login.passwords import Accounts
from vision.board.login.sessions import Sessions
from vision.board.rights import DESK_TOPICS, desk_part
from vision.board.server import BoardServer
from vision.board.web import TOPICS, SafeHeaders, TableFacts, public_part, public_routes
from vision.config.profiles import load_profile
from vision.config.table import BoardSection, DeskSection, TableConfig
from vision.errors import ConfigurationError, OutsideError
from vision.game.wagers import Offer
from vision.mqtt.endpoint import Endpoint, endpoint_of
from vision.record.chain import BrokenChainError
from vision.record.codec import rules_hash
from vision.storage.evidence import folder_of
from vision.wire.messages import PREFIX


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


def facts_of(configs: Sequence[TableConfig]) -> TableFacts:
    """Return what the boards say of each table: title, language, offers and limits."""
    return {config.table: _table(config) for config in configs}


def _table(config: TableConfig) -> dict[str, Any]:
    profile = load_profile(config.profile)
    chance = profile.betting.double_chance
    return {
        "title": config.board.title,
        "language": config.board.language,
        # As in the reader's `status`: limits of other rules are not shown.
        "profile": f"{profile.name} sha256:{rules_hash(profile)}",
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
    return _endpoint(config, config.board)


def _endpoint(config: TableConfig, own: BoardSection | DeskSection) -> Endpoint:
    if not own.username:
        return endpoint_of(config.broker)
    names = {"username": own.username, "password_env": own.password_env}
    return endpoint_of(config.broker.model_copy(update=names))


class Boards:
    """The running boards of some tables, and the desks if anybody can log in."""

    def __init__(
        self,
        configs: Sequence[TableConfig],
        address: BoardSection,
        files: Mapping[str, Path] | None = None,
    ) -> None:
        """Prepare the boards; nothing is served or asked before they are entered.

        `files` are the table files by table, for the engineer to change. ConfigurationError when
        the desk is set up by half.
        """
        prefixes, facts = prefixes_of(configs), facts_of(configs)
        first = configs[0]
        self.feed = Feed(public_endpoint(first), prefixes, TOPICS, reduce=public_part)
        self.desk = _DeskServer(configs, address, prefixes, files or {}) if first.desk.key else None
        routes = public_routes(self.feed, facts, lambda: self.server.stopping)
        if self.desk is not None:
            routes += self.desk.routes(facts, lambda: self.server.stopping)
        self.app = Starlette(routes=routes, middleware=[Middleware(SafeHeaders)])
        self.server = BoardServer(self.app, address)

    def __enter__(self) -> Self:
        self.server.start()
        self.feed.start()
        if self.desk is not None:
            self.desk.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.stop()
        self.feed.stop()
        if self.desk is not None:
            self.desk.stop()


class _DeskServer:
    """The part of a board server for people who log in, with its own link to the broker."""

    def __init__(
        self,
        configs: Sequence[TableConfig],
        address: BoardSection,
        prefixes: Mapping[str, str],
        files: Mapping[str, Path],
    ) -> None:
        config = configs[0]
        self._configs = {table_config.table: table_config for table_config in configs}
        _check_secrecy(address)
        credential = load_credential(Path(config.desk.key))
        self._history = History()
        self._feed = Feed(
            _endpoint(config, config.desk),
            prefixes,
            DESK_TOPICS,
            reduce=desk_part,
            recorder=self._history.record,
        )
        self._orders = Orders(self._feed, credential)
        self._backfill = Backfill(self._feed, self._history, credential)
        users, passwords = _people_files(config)
        accounts = Accounts(users, passwords)
        sessions = Sessions(
            idle_s=60 * config.desk.idle_min,
            length_s=3600 * config.desk.session_h,
            # Servers that run side by side each have their own.
            path=passwords.with_name(f"sessions-{address.port}.json") if address.port else None,
        )
        self._login = LoginPages(accounts, sessions, self._record, secure=bool(address.certificate))
        editors = {table: TableEditor(self._configs[table], path) for table, path in files.items()}
        self._set_up = SetupPages(self._login, editors)

    def routes(self, facts: TableFacts, stopping: Callable[[], bool]) -> list[Route]:
        """Return the routes of logging in and of the desks."""
        desk = DeskPages(self._login, self._feed, self._orders, self._history, self._export)
        return [*self._login.routes(), *desk.routes(facts, stopping), *self._set_up.routes()]

    def start(self) -> None:
        """Begin to listen."""
        self._feed.start()
        self._orders.start()
        self._backfill.start()

    def stop(self) -> None:
        """Leave the broker, and end what an engineer has running."""
        self._set_up.stop()
        self._backfill.stop()
        self._orders.stop()
        self._feed.stop()

    def _export(self, table: str, shoe: str, coup: int, out: Path) -> None:
        """Write a coup's part of the log with its evidence and receipt; ShoeReaderError."""
        config = self._configs.get(table)
        if config is None or not Path(config.log.path).is_file():
            raise OutsideError(
                f"the log of table {table} is not on this machine; where the reader runs, say "
                f"shoe-reader export LOG OUT.zip --shoe {shoe} --coup {coup}"
            )
        log_path, folder = Path(config.log.path), config.evidence.folder
        evidence = Path(folder) if folder else folder_of(log_path)
        sources = Sources(log_path, evidence, trust_of_table(config))
        try:
            write_archive(sources, out, Part(shoe, coup))
        except BrokenChainError as error:
            raise OutsideError(f"the log is broken at {error}; keep it as evidence") from error

    def _record(self, name: str, by: str, role: str, accepted: bool) -> None:
        """Write into the log of every table who logged in, and who tried to."""
        fields = {"by": by, "role": role}
        more = {"accepted": accepted} if name == "sign_in" else {}
        for table in self._feed.tables:
            self._orders.record(Order(table, name, {**fields, **more}))


def _people_files(config: TableConfig) -> tuple[Path, Path]:
    if not config.orders.users:
        raise ConfigurationError(
            "[desk] key is set, but [orders] users is not: name the file that shoe-reader users "
            "add has made, so that the board knows who may log in"
        )
    users = Path(config.orders.users)
    passwords = config.desk.passwords
    return users, Path(passwords) if passwords else users.with_name("passwords.json")


def _check_secrecy(address: BoardSection) -> None:
    here = address.host in ("localhost", "127.0.0.1", "::1")
    if not here and not address.certificate:
        raise ConfigurationError(
            f"[board] host is {address.host}, and passwords would cross the network in clear: set "
            "[board] certificate and key, or serve on 127.0.0.1 behind a proxy that speaks TLS"
        )


def address_of(
    config: TableConfig, *, host: str | None = None, port: int | None = None
) -> BoardSection:
    """Return where a table file has its boards served, unless `host` or `port` say otherwise."""
    given = {"host": host, "port": port}
    return config.board.model_copy(
        update={name: value for name, value in given.items() if value is not None}
    )
