"""`shoe-reader accept`: people say what was dealt at a table, and the reader is measured by it."""

from __future__ import annotations

import argparse
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from starlette.routing import Route

from vision import logging_setup
from vision.acceptance.bundle import write_bundle
from vision.acceptance.coups import LogBook, Terms
from vision.acceptance.pictures import Pictures
from vision.acceptance.report import Report, write_report
from vision.acceptance.tasks import Keying
from vision.app.journal import Journal
from vision.app.run_log import Destinations, new_boot
from vision.audit.continuity import audit_from
from vision.audit.verify import demand_signature
from vision.board.desk.acceptance import KeyingPages
from vision.board.host.boards import Boards, address_of, people_files, with_broker
from vision.board.login.pages import LoginPages
from vision.board.login.passwords import PasswordBook
from vision.board.orders import Records
from vision.board.rights import MAY_SEE
from vision.clock import CLOCK, now_ms
from vision.commands import actions_of
from vision.commands.printing.console import NOT_PROVEN, add_trust, trust_of
from vision.config.table import TableConfig, load
from vision.errors import ConfigurationError, ShoeReaderError
from vision.game.events import Started
from vision.mqtt.embedded_broker import EmbeddedBroker
from vision.record.facts import Fact
from vision.storage.log_reader import unbroken, unsent_messages

BELOW = 0.001  # share of wrong results to be shown to be less: what laboratories ask for
# Of coups that two people answer unless another is given: slips of one are then measured.
SHARE = 0.2
DELIVER_S = 15.0  # at the end, for what was just answered: a reader takes it within a frame
LOOK_S = 0.02  # from one look at what has come to the next: nobody notices so short a wait
ALIVE_S = 1.0  # between signs of life, as a reader gives them: without them no desk sends anything

log = logging.getLogger(__name__)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    declare = actions_of(parser)
    opened = _of_a_log(declare("open", _open, "serve the page on which people answer"))
    opened.add_argument("--coups", type=int, metavar="N", help="how many, from the first (all)")
    opened.add_argument("--share", type=float, help=f"answered by two people ({SHARE})")
    opened.add_argument("--below", type=float, help=f"share of wrong results to show ({BELOW})")
    opened.add_argument("--http-port", type=int, metavar="P", help="(the one after [board] port)")
    words = "write films, stills and answers for developers, if an inspector allowed it"
    for written in (
        _of_a_log(declare("report", _report, "write the report, as a page and as JSON")),
        _of_a_log(declare("export", _export, words)),
    ):
        written.add_argument("--out", type=Path, metavar="DIR", required=True, help="a new folder")
        add_trust(written)


def _of_a_log(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    add = parser.add_argument
    add("table", type=Path, metavar="TABLE.toml", help="the table file")
    add("--log", type=Path, metavar="LOG", help="the log of a recording, instead of [log] path")
    add("--film", type=Path, action="append", default=[], metavar="F",
        help="a film, which shows what the reader did not see; may be repeated")  # fmt: skip
    return parser


def _opened(args: argparse.Namespace) -> tuple[TableConfig, LogBook, Pictures]:
    config = load(args.table)
    book = LogBook(args.log or Path(config.log.path))
    book.renew()
    return config, book, Pictures(config, book, args.film)


def _open(args: argparse.Namespace) -> None:
    logging_setup.set_up(service=True)
    if args.log is None and load(args.table).broker.kind == "none":
        raise ConfigurationError(
            f"{args.table}: broker.kind: is 'none', so answers cannot get to the reader; give the "
            "log of a recording with --log"
        )
    config, book, pictures = _opened(args)
    terms = _terms(args, book, pictures)
    _warn_where_nobody_may_answer(config)
    with ExitStack() as closing:
        if args.log is not None:
            broker = closing.enter_context(EmbeddedBroker(0))
            config = with_broker(config, broker.port)
            closing.enter_context(clerk(config, args.log, book.runs[-1] if book.runs else None))
        port = config.board.port and config.board.port + 1
        port = port if args.http_port is None else args.http_port
        address = address_of(config, port=port)
        book_of, opened = Keying(book, pictures, terms), list[Records]()

        def only(login: LoginPages, records: Records) -> list[Route]:
            if not book.terms or terms != book.set:
                records.fact(Fact.ACCEPTANCE_SET, table=config.table, detail=terms.text())
            opened.append(records)
            return KeyingPages(login, records, book_of, config.table).routes()

        boards = closing.enter_context(Boards([config], address, only=only))
        closing.callback(_deliver, opened)
        print(f"accept: {boards.server.url}accept", flush=True)
        while True:
            time.sleep(1)


def _deliver(opened: list[Records]) -> None:
    """Wait a moment for answers that the table does not have yet; what waits longer is kept."""
    until_s = time.monotonic() + DELIVER_S
    while any(records.waiting for records in opened) and time.monotonic() < until_s:
        time.sleep(0.1)


def _warn_where_nobody_may_answer(config: TableConfig) -> None:
    users, passwords, _ = people_files(config)
    book = PasswordBook(users, passwords)
    if not any(MAY_SEE["accept"] & {*book.roles(name)} for name in book.users.users):
        words = "nobody may answer: no inspector or surveillance of %s has a password; %s"
        log.warning(words, users, "shoe-reader users add makes one")


def _terms(args: argparse.Namespace, book: LogBook, pictures: Pictures) -> Terms:
    films = ",".join(film.sha256[:12] for film in pictures.films)
    before = book.set if book.terms else Terms(0, SHARE, "", BELOW)
    coups = before.coups if args.coups is None else args.coups
    share = before.share if args.share is None else args.share
    below = before.below if args.below is None else args.below
    if not 0 <= share <= 1 or coups < 0 or not 0 <= below < 1:
        raise ConfigurationError(
            "--share: from 0 to 1; --coups: a number, or 0 for all; --below: from 0 to 1"
        )
    terms = Terms(coups, share, films, below)
    if book.keyed and before.grown(terms) != terms:
        raise ConfigurationError(
            f"{book.path}: people have answered, so what was set may grow, not shrink; set are "
            f"{before.text()}: give no fewer --coups, no smaller --share, no easier --below, and "
            "--film where there was one"
        )
    return terms


def _report(args: argparse.Namespace) -> int:
    """Write the report; the exit code is NOT_PROVEN where the log does not prove its figures."""
    _, book, pictures = _opened(args)
    trust = trust_of(args)
    with unbroken(book.path):
        found, _ = audit_from(book.path, None, trust)
    if trust.keys:
        demand_signature(found)
    report = Report(book, found, trust, pictures.films)
    write_report(args.out, report, pictures)
    print(*report.headline(), f"{args.out / 'report.html'}, report.json", sep="\n")
    return NOT_PROVEN if report.doubts() else 0


def _export(args: argparse.Namespace) -> None:
    config, book, pictures = _opened(args)
    for line in write_bundle(args.out, config, book, pictures):
        print(line)


@contextmanager
def clerk(config: TableConfig, path: Path, last: Started | None) -> Iterator[None]:
    """Take answers into a log that no reader writes any more, as at a table that runs.

    It is a reader without a camera: its run has no models, and nothing of the game happens in it.
    ConfigurationError where the log waits for its reader.
    `last` is its last run: what a run of this kind that was killed has not sent waits for us.
    OutsideError where the log cannot be written.
    """
    if unsent_messages(path) and (last is None or last.models):
        raise ConfigurationError(
            f"{path}: messages of it are not sent yet; start its reader, and leave out --log"
        )
    journal, over = Journal(config, Destinations(path)), threading.Event()
    CLOCK.not_before(journal.table.clock)
    journal.start(_at(journal), new_boot(), ())
    thread = threading.Thread(target=_take, args=(journal, over), name="clerk", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        with journal:
            journal.stop(_at(journal))


def _at(journal: Journal) -> int:
    return max(now_ms(), journal.table.clock)


def _take(journal: Journal, over: threading.Event) -> None:
    alive_s = 0.0
    try:
        while not over.wait(LOOK_S):
            journal.take(journal.link.orders(_at(journal)))
            if time.monotonic() - alive_s > ALIVE_S:
                alive_s = time.monotonic()
                journal.link.publish_health(now_ms(), {})
    except ShoeReaderError as error:
        log.error("answers not in the log: %s; they are kept and written the next time", error)
