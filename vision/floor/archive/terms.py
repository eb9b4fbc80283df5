"""Forget the terms of a table's readers, where a false one was taken for true.

A consumer finds a false term out by itself after a message or two (`wire.term`); this is for a
table that begins again, such as one whose pair was dissolved, or whose store was made anew.
"""

from __future__ import annotations

from sqlalchemy import Engine, update

from vision.floor.archive import tables
from vision.floor.archive.database import explained
from vision.floor.archive.writer import Where


def forget_term(engine: Engine, where: Where) -> int:
    """Let the next term that a table's readers name count, whatever it is; OutsideError.

    Return how many numberings of the table the archive has: 0 where it has nothing of it. What was
    kept apart for its term is asked for again, as all that is missing. Not while the archive is
    being written: its writer remembers the term.
    """
    source = tables.source
    of_table = (source.c.site == where[0]) & (source.c.table_name == where[1])
    with explained(engine), engine.begin() as connection:
        done = connection.execute(update(source).where(of_table).values(term=0, term_from=0))
    return done.rowcount
