"""What people type: each command with its line of help, in the order in which they are shown.

A command is a module of this package, with `add_arguments` and `run`, that is named after its last
word; only the module of the command that is asked for is imported, for others may be slow to, and
those of `vision.floor` need the libraries of an extra.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from vision.errors import ConfigurationError

COMMANDS = {
    "demo": "the whole product on this machine: deal a shoe on film, read it, show it on a board",
    "run": "watch a table, publish what is dealt: camera, stream, video file, folder of pictures",
    "read": "name the cards in pictures",
    "check": "is this table ready: settings, models and their speed, camera, log, broker, clock",
    "calibrate": "find where the table lies in the picture, and write it into the table file",
    "enrol": "show the reader all faces of the deck that the house plays with",
    "board": "serve the results board, the surveillance desk and the set-up page to browsers",
    "accept": "have people say what was dealt, and measure the reader at this table by it",
    "replay": "read the log of a table again, and print the messages that it led to",
    "audit": "prove that nobody has changed a log or an export, and that its evidence is whole",
    "odds": "the exact odds and house edges of a house's rules, or a guide for players",
    "explain": "say of some cards, one by one, what the drawing rules ask, and which clause does",
    "simulate": "deal a shoe on film, with what was dealt and a table file to read it",
    "order": "give a table an order as its staff do (void a coup, new shoe), signed with one's key",
    "log begin": "keep a table's log, and begin a new one that goes on from it",
    "log backup": "copy a log while it is written, and verify the copy",
    "log restore": "put a backup in the place of a lost log, and go on from it",
    "log export": "write a coup, a shoe or a whole log with its evidence, as proof for others",
    "log keys": "make the key that signs a log, and keep the list of keys that count",
    "log confirm-clock": "say that this machine's clock is right, so that what is old is deleted",
    "users": "who may give orders and log in: add, list and remove people, end their sessions",
    "floor archive": "keep what all tables publish in a database; load, verify or prune it",
    "floor report": "ask the archive: mis-deals, remedies, reads, pace, frequencies, downtime",
    "floor reread": "read recordings again with today's models, and compare with what was said",
    "floor contract": "print all MQTT messages and topics (AsyncAPI 3), for other programs",
}
GROUPS = {
    "log": "the record of a table: back up, restore, export, begin a new one, keys that sign it",
    "floor": "many tables together: archive, reports, recordings read again, the MQTT contract",
}
# The module of a command, where it is not named after its last word.
MODULES = {"log begin": "log", "log confirm-clock": "log"}


def module_of(name: str) -> str:
    """Return the full name of the module of a command."""
    return f"{__name__}.{MODULES.get(name, name.rpartition(' ')[2])}"


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
