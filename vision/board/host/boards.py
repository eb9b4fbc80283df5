"""The boards of some tables: what feeds them, the facts of the house they show, and the server.

Puts together what `shoe-reader board` and `demo` serve; it decides nothing of its own.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import Any, Self, get_args
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.routing import Route
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from vision.access.users import Credential, RoleName, User, Users, load_credential, save_users
from vision.audit.export import Part, Sources, write_archive
from vision.audit.verify import Trust
from vision.board.desk.history import Backfill, History
from vision.board.desk.pages import NO_REPORTS, DeskPages, Reports
from vision.board.desk.setup import SetupPages
from vision.board.desk.table_editor import TableEditor
from vision.board.feed import Feed, Recorder
from vision.board.login.identity import Identities
from vision.board.login.pages import LoginPages, believed_from
from vision.board.login.passwords import PasswordBook, save_password
from vision.board.login.sessions import Session, Sessions
from vision.board.orders import Orders, Records
from vision.board.rights import DESK_TOPICS, desk_part
from vision.board.server import BoardServer
from vision.board.table_state import Reduce
from vision.board.web import (
    HANDLERS,
    TOPICS,
    TableFacts,
    asset_routes,
    public_part,
    public_routes,
    with_safe_headers,
)
from vision.config.fields import is_here
from vision.config.profiles import WagersSection, load_profile
from vision.config.table import BoardSection, TableConfig
from vision.errors import ConfigurationError, OutsideError
from vision.game.wagers import Offer
from vision.mqtt.endpoint import Endpoint, endpoint_of
from vision.record.codec import rules_hash
from vision.record.facts import Fact
from vision.storage.anchors import anchors_of, load_public, read_anchors, term_check
from vision.storage.evidence import folder_of
from vision.storage.log_reader import unbroken
from vision.wire.messages import PREFIX

log = logging.getLogger(__name__)
# Gives the pages of a server that has no boards and desks: people log in for one thing only.
Only = Callable[[LoginPages, Records], list[Route]]


# What a table's boards receive of their settings.
SHOWN = {"language", "view", "names", "ground", "sound", "marks"}


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


def _feed_of(
    configs: Sequence[TableConfig],
    endpoint: Endpoint,
    topics: Sequence[str],
    reduce: Reduce,
    recorder: Recorder | None = None,
) -> Feed:
    """Return a feed of the tables, which checks the terms of those with two readers."""
    feed = Feed(endpoint, prefixes_of(configs), topics, reduce=reduce, recorder=recorder)
    feed.expect_pairs(
        {
            config.table: term_check(config.standby.ring, config.site, config.table)
            for config in configs
            if config.standby.servers
        }
    )
    return feed


def _table(config: TableConfig) -> dict[str, Any]:
    """Return what the boards say of a table: title, language, offers and limits."""
    profile = load_profile(config.profile)
    chance = profile.betting.double_chance
    return {
        "title": config.board.title,
        **config.board.model_dump(include=SHOWN),
        "logo": bool(config.board.logo),  # served as one; where it lies is nobody's business
        # As in the reader's `status`: limits of other rules are not shown.
        "profile": f"{profile.name} sha256:{rules_hash(profile)}",
        "offers": [_offer(offer, config.wagers) for offer in profile.betting.offers],
        "currency": config.wagers.currency,
        "percent": None if chance is None else sorted({float(share * 100) for share in chance}),
    }


def _offer(offer: Offer, wagers: WagersSection) -> dict[str, Any]:
    """Return a wager as boards show it; a limit that nobody set is `None`."""
    own = None if offer.minimum == 1 else offer.minimum  # as a profile has it that names none
    return {
        "bet": offer.bet.value,
        "name": offer.name,
        "odds": offer.terms,
        "minimum": _amount(wagers.least if own is None else own),
        "maximum": _amount(wagers.greatest if offer.maximum is None else offer.maximum),
    }


def _amount(value: Fraction | float | None) -> str | None:
    return None if value is None else f"{float(value):,.10g}"


class Boards:
    """The running boards of some tables, and the desks if anybody can log in."""

    def __init__(
        self,
        configs: Sequence[TableConfig],
        address: BoardSection,
        editors: Mapping[str, TableEditor] | None = None,
        reports: Reports = NO_REPORTS,
        *,
        only: Only | None = None,
    ) -> None:
        """Prepare the boards; nothing is served or asked before they are entered.

        `editors` are of the table files by table, for the engineer to change; `reports` are asked
        of the archive. With `only`, its pages are served instead of boards and desks.
        ConfigurationError when the desk is set up by half.
        """
        first, facts = configs[0], {config.table: _table(config) for config in configs}
        # By its own name, if the results board has one.
        endpoint = endpoint_of(first.broker, first.board)
        self.feed = _feed_of(configs, endpoint, TOPICS, public_part)
        self.desk = None
        if first.desk.key:
            self.desk = _DeskServer(configs, address, editors or {})
        elif only is not None:
            raise ConfigurationError(
                "[desk] key: is needed, because people log in; see deploy/boards.md, Logging in"
            )

        def stopping() -> bool:
            return self.server.stopping

        routes = [] if only else public_routes(self.feed, facts, stopping)
        if self.desk is not None:
            routes += self.desk.routes(facts, reports, stopping, only)
        self.app = Starlette(
            routes=[*routes, *asset_routes(first.board)], exception_handlers=HANDLERS
        )
        named = TrustedHostMiddleware(self.app, _names_of(address), www_redirect=False)
        app: Any = with_safe_headers(named, tls=address.is_private)
        if address.proxies:
            app = ProxyHeadersMiddleware(app, list(address.proxies))
        if first.desk.identity_header:  # by who is really at the other end
            app = believed_from(app, first.desk.identity_header, first.desk.identity_from)
        self.server = BoardServer(app, address)

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
        editors: Mapping[str, TableEditor],
    ) -> None:
        first = configs[0]
        desk = first.desk
        self._configs = {config.table: config for config in configs}
        _check_secrecy(address)
        credential = load_credential(Path(desk.key))
        users, passwords, folder = people_files(first)
        self._history = History()
        endpoint = endpoint_of(first.broker, desk)
        record = self._history.record
        self._feed = _feed_of(configs, endpoint, DESK_TOPICS, desk_part, record)
        orders = Orders(self._feed, credential)
        # Servers that run side by side each have their own.
        waiting = folder / f"records-{address.port}.sqlite" if address.port else None
        self._records = Records(orders, waiting)
        header = desk.identity_header
        self._accounts = PasswordBook(users, passwords, needed=not header)
        secret = bytes.fromhex(credential.sign_text(b"cookies of this desk"))
        identities = Identities(
            self._accounts,
            self._records,
            secret=secret,
            used_codes=folder / "used-steps.json",
            two_factors=desk.second_factor,
        )
        sessions = Sessions(
            idle_s=60 * desk.idle_min, length_s=3600 * desk.session_h, ended=self._note_ended
        )
        self._login = LoginPages(identities, sessions, address, header=header)
        self._set_up = SetupPages(self._login, editors)
        self._records.watched += (Backfill(self._history, orders).look, self._note_accounts)

    def routes(
        self, facts: TableFacts, reports: Reports, stopping: Callable[[], bool], only: Only | None
    ) -> list[Route]:
        routes = self._login.routes()
        if only is not None:
            return routes + only(self._login, self._records)
        desk = DeskPages(self._login, self._history, self._export, reports)
        return routes + desk.routes(facts, stopping) + self._set_up.routes()

    def start(self) -> None:
        self._feed.start()
        self._records.start()

    def stop(self) -> None:
        self._set_up.stop()
        self._feed.stop()
        self._records.stop()

    def _export(self, table: str, shoe: str, coup: int, out: Path) -> None:
        """Write a coup's part of the log with its evidence and receipt; ShoeReaderError."""
        config = self._configs.get(table)
        if config is None or not Path(config.log.path).is_file():
            raise OutsideError(
                f"the log of table {table} is not on this machine; on the reader's machine, run "
                f"shoe-reader log export LOG OUT.zip --shoe {shoe} --coup {coup}"
            )
        log_path = Path(config.log.path)
        evidence = folder_of(log_path, config.evidence.folder)
        sources = Sources(log_path, evidence, _trust_of(config))
        with unbroken(log_path):
            write_archive(sources, out, Part(shoe, coup))

    def _note_ended(self, session: Session, why: str) -> None:
        try:
            self._records.fact(Fact.SESSION_ENDED, detail=why, **session.who)
        except OutsideError as error:
            log.error("the end of the session of %s is not recorded: %s", session.name, error)

    def _note_accounts(self) -> None:
        """Record whose password or second factor is another than when it was last looked at."""
        for name in self._accounts.users.users:
            account = self._accounts.account(name)
            for what, part, kind in (
                ("password", account.hash, Fact.PASSWORD_CHANGED),
                ("second factor", account.secret, Fact.SECOND_FACTOR_CHANGED),
            ):
                digest = hashlib.sha256(part.encode()).hexdigest() if part else ""
                before = self._records.known(f"{what} of {name}", digest)
                if before is not None and before != digest:
                    how = "taken away" if not part else "changed" if before else "set up"
                    self._records.fact(kind, subject=name, detail=how)


def _trust_of(config: TableConfig) -> Trust:
    """Return what an export of a table's own log is held against: its public key, its anchors.

    Nothing where the log is not signed, or its public half does not lie beside the key.
    """
    key = Path(config.log.signing_key + ".pub")
    if not config.log.signing_key or not key.exists():
        return Trust()
    anchors = anchors_of(Path(config.log.path), config.log.anchors)
    stored = tuple(read_anchors(anchors)) if anchors.exists() else ()
    return Trust((load_public(key),), stored)


def people_files(config: TableConfig) -> tuple[Path, Path, Path]:
    """Return the users file, the passwords file, and the folder for what a desk server keeps."""
    if not config.orders.users:
        raise ConfigurationError(
            "[desk] key is set, but [orders] users is not: name the file that shoe-reader users "
            "add has made, so that the board knows who may log in"
        )
    users = Path(config.orders.users)
    passwords = config.desk.passwords
    stored = Path(passwords) if passwords else users.with_name("passwords.json")
    return users, stored, Path(config.desk.folder) if config.desk.folder else stored.parent


def make_people(folder: Path, roles: Iterable[RoleName]) -> str:
    """Let one person of each role log in, named after it, where nobody can yet; OutsideError.

    Makes the users file, the passwords file and the desk's key; returns the password of them all.
    """
    desk, password = Credential.new("desk"), secrets.token_hex(6)
    users = Users(users={"desk": User(roles=get_args(RoleName), key=desk.public, may_act_for=True)})
    for role in roles:
        users = users.with_user(role, User(roles=(role,)))
        save_password(folder / "passwords.json", role, password)
    save_users(folder / "users.json", users)
    desk.save(folder / "desk.key")
    return password


def _check_secrecy(address: BoardSection) -> None:
    if not is_here(address.host) and not address.certificate:
        raise ConfigurationError(
            f"[board] host is {address.host}, and passwords would cross the network unencrypted: "
            "set [board] certificate and key, or serve on 127.0.0.1 behind a proxy that speaks "
            "TLS, and name it with [board] public_url and proxies"
        )


def _names_of(address: BoardSection) -> list[str]:
    """Return by which names a server that only this machine reaches may be asked.

    Another one is that of a web site whose name service points here, to read what is served.
    """
    if not is_here(address.host):
        return ["*"]
    public = urlsplit(address.public_url).hostname
    return ["localhost", "127.0.0.1", "[::1]", "::1", address.host, *([public] if public else [])]


def address_of(config: TableConfig, *, port: int | None = None) -> BoardSection:
    """Return where a table file has its boards served, unless `port` says otherwise."""
    return config.board if port is None else config.board.model_copy(update={"port": port})


def with_broker(config: TableConfig, port: int) -> TableConfig:
    """Return the settings with an embedded broker at this port."""
    own = config.broker.model_copy(update={"kind": "embedded", "port": port})
    return config.model_copy(update={"broker": own})


def serve_boards(
    config: TableConfig,
    editor: TableEditor,
    opened: ExitStack,
    reports: Reports = NO_REPORTS,
    *,
    port: int | None = None,
) -> Boards:
    """Serve the boards of a table until `opened` closes, on a free port where the usual is taken.

    A `port` that somebody named is not exchanged: OutsideError where it is taken.
    """
    editors = {config.table: editor}
    try:
        return opened.enter_context(
            Boards([config], address_of(config, port=port), editors, reports)
        )
    except OutsideError:
        if port is not None:
            raise
        return opened.enter_context(Boards([config], address_of(config, port=0), editors, reports))
