"""What people type: each command with its line of help, in the order in which they are shown.

A command is a module of this package, with `add_arguments` and `run`, that is named after its first
word, or, in a module that has several, functions of its last. One with actions declares for each
what runs it. Only the module of the command that is asked for is imported, for others may be slow
to, and those of `vision.floor` need the libraries of an extra.
"""

from __future__ import annotations

import threading
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from vision.errors import ConfigurationError

if TYPE_CHECKING:
    from vision.board.desk.pages import Reports
    from vision.config.table import ArchiveSection

AddArguments = Callable[[ArgumentParser], None]
Run = Callable[[Namespace], int | None]  # the exit code; 0 where it returns none

COMMANDS = {
    "demo": "run everything on this machine: the film of a shoe, the reader, a broker and a board",
    "setup": "set a table up in the browser: camera, light, areas, check, first coup",
    "run": "watch a table and publish results: camera, stream, video file or folder of pictures",
    "read": "read the cards in photographs",
    "check": "check that a table is ready: settings, models, camera, log, broker, clock",
    "install": "make services of tables and their boards under systemd",
    "calibrate": "measure table plane, lens and slots, and write them into the table file",
    "enrol": "enrol the house deck: show all faces and the back once",
    "board": "serve the results board, the surveillance desk and the set-up page to browsers",
    "accept": "measure the reader at this table by what people say was dealt",
    "replay": "replay the log of a table and print its messages",
    "audit": "verify that a log or an export and its evidence are unchanged",
    "odds": "print exact odds and house edges of a profile",
    "explain": "explain card by card what the third-card rules require, and by which clause",
    "simulate": "deal a shoe on film, with ground truth and a table file",
    "score": "score any pipeline's output on films with truth, such as those of `simulate bench`",
    "order": "give a table a signed order, such as void a coup or new shoe",
    "log begin": "keep a table's log and begin a new one that continues it",
    "log restore": "replace a lost log by a backup, and continue from it",
    "log export": "export a coup, a shoe or a whole log with its evidence, as proof",
    "log keys": "make the key that signs a log, and manage the ring of trusted keys",
    "log confirm-clock": "confirm that the clock of this machine is right; old records are deleted",
    "users": "manage people: who may give orders and log in; end their sessions",
    "floor archive": "archive the messages of all tables in a database; load or prune it",
    "floor report": "report from the archive: mis-deals, remedies, reads, pace, odds, downtime",
    "floor reread": "read recordings again with today's models, and compare the results",
}
GROUPS = {
    "log": "the record of a table: restore, export, begin a new one, keys that sign it",
    "floor": "many tables together: archive, reports, recordings read again",
}
# The module of a command, where it is not one of this package named after its first word.
MODULES = {
    "setup": f"{__name__}.board",
    "install": f"{__name__}.check",
    "enrol": f"{__name__}.calibrate",
    "explain": f"{__name__}.odds",
    "replay": f"{__name__}.audit",
    "simulate": "vision.simulator.dealing.simulate",
    "score": "vision.simulator.dealing.score",
}


def module_of(name: str) -> str:
    """Return the full name of the module of a command."""
    return MODULES.get(name, f"{__name__}.{name.partition(' ')[0]}")


def functions_of(name: str) -> tuple[AddArguments, Run | None]:
    """Import a command; return what declares its arguments, and what runs it or else its actions.

    What runs an action is declared with it: see `actions_of`.
    """
    module, own = import_module(module_of(name)), name.rpartition(" ")[2].replace("-", "_")
    if hasattr(module, f"add_{own}_arguments"):
        return getattr(module, f"add_{own}_arguments"), getattr(module, own, None)
    return module.add_arguments, getattr(module, "run", None)


def actions_of(parser: ArgumentParser) -> Callable[[str, Run, str], ArgumentParser]:
    """Return what declares an action of a command: its name, what runs it, its line of help."""
    actions = parser.add_subparsers(metavar="ACTION", required=True)

    def declare(name: str, run: Run, words: str) -> ArgumentParser:
        declared = actions.add_parser(name, help=words, description=words)
        declared.set_defaults(run=run)
        return declared

    return declare


@contextmanager
def needs_floor(what: str) -> Iterator[None]:
    """Turn the import of a library of the extra `floor` that is missing into a cure."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"{what} needs '{error.name}', which is not installed; install what a floor needs: "
            'pip install "shoe-reader[floor]"'
        ) from error


def reports_of(archive: ArchiveSection) -> Reports:
    """Return what can be asked of the house's archive, and what asks it; nothing without one.

    The archive is opened by the first question, so that a board starts without it.
    ConfigurationError when the libraries of an archive are not installed.
    """
    from vision.board.desk.pages import NO_REPORTS  # noqa: PLC0415

    if not archive.address:
        return NO_REPORTS
    with needs_floor("[archive] address"):
        from vision.floor.archive.database import open_archive  # noqa: PLC0415
        from vision.floor.archive.questions import QUESTIONS, ask, asked_of  # noqa: PLC0415
    opened: list[Any] = []
    mutex = threading.Lock()

    def answer(kind: str, asked: Mapping[str, str]) -> Mapping[str, Any]:
        with mutex:
            if not opened:
                opened.append(open_archive(archive.address))
        return ask(opened[0], kind, asked_of(asked, archive.rota)).json()

    return {
        kind: tuple(way for way in ways if way != "shift" or archive.rota)
        for kind, (_, ways) in QUESTIONS.items()
    }, answer
