"""Keep an archive: delete what is old enough, and forget the terms of a table's readers."""

from __future__ import annotations

from sqlalchemy import Engine, update

from vision.floor.archive import tables
from vision.floor.archive.database import explained
from vision.floor.archive.writer import Where

DAY_MS = 86_400_000  # milliseconds of a day
# The time of a row, by which it is old; alerts go with the messages that raised them.
TIMES = {
    tables.message: "at",
    tables.apart: "at",
    tables.command: "at",
    tables.status: "at",
    tables.evidence: "at",
    tables.card: "at",
    tables.coup: "dealt_at",
    tables.shoe: "begun_at",
    tables.alert: "raised_at",
}


def prune(engine: Engine, days: int, now: int) -> dict[str, int]:
    """Delete what is older than so many days before `now` (Unix ms); return rows by table.

    What was deleted is noted, so that a check against the logs does not miss it. OutsideError.
    """
    before = now - days * DAY_MS
    with explained(engine), engine.begin() as connection:
        source = tables.source
        connection.execute(update(source).where(source.c.pruned < before).values(pruned=before))
        return {
            table.name: connection.execute(table.delete().where(table.c[time] < before)).rowcount
            for table, time in TIMES.items()
        }


def forget_term(engine: Engine, where: Where) -> int:
    """Let the next term that a table's readers name count, whatever it is; OutsideError.

    A consumer finds a false term out by itself after a message or two (`wire.term`); this is for a
    table that begins again, such as one whose pair was dissolved, or whose store was made anew.
    Return how many numberings of the table the archive has: 0 where it has nothing of it. What was
    kept apart for its term is asked for again, as all that is missing. Not while the archive is
    being written: its writer remembers the term.
    """
    source = tables.source
    of_table = (source.c.site == where[0]) & (source.c.table_name == where[1])
    with explained(engine), engine.begin() as connection:
        done = connection.execute(update(source).where(of_table).values(term=0, term_from=0))
    return done.rowcount
