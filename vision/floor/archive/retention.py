"""Delete what an archive has kept for long enough: messages and the rows made of them."""

from __future__ import annotations

from sqlalchemy import Engine, update

from vision.floor.archive import tables
from vision.floor.archive.database import explained

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
