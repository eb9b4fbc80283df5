"""What the archive holds of a table's shoes and results in a time, as lines of a messages file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Engine, Select, and_, func, select

from vision.floor.archive import tables
from vision.floor.archive.database import explained
from vision.wire.messages import PREFIX, iso

# Milliseconds before the time asked for in which its first shoe began: longer than any shoe lasts.
# Shorter, and the shoe that was in use then has no name.
SHOE_BEFORE_MS = 86_400_000


def said_in(engine: Engine, where: tuple[str, str], since: int, until: int) -> Iterator[str]:
    """Yield a line for each shoe and result of a table (site, table), results in their order.

    The times are Unix ms. The archive knows of a shoe by its first card, so a shoe is said to begin
    half-way between that and the last result of the one before. OutsideError.
    """
    site, table = where
    prefix = PREFIX.format(site=site, table=table)
    message = tables.message.c
    results = select(message.payload).where(
        message.site == site, message.table_name == table, message.topic == "coup/result",
        message.at >= since, message.at <= until,
    ).order_by(message.seq)  # fmt: skip
    with explained(engine), engine.connect() as connection:
        ended = None
        for name, begun_at, last in connection.execute(_shoes(where, since, until)):
            payload = {
                "shoe": name,
                "at": iso(begun_at if ended is None else (ended + begun_at) // 2),
            }
            ended = last or begun_at
            yield json.dumps({"topic": f"{prefix}shoe", "payload": payload})
        for (text,) in connection.execute(results):
            yield json.dumps({"topic": f"{prefix}coup/result", "payload": json.loads(text)})


def _shoes(where: tuple[str, str], since: int, until: int) -> Select[Any]:
    """Return the question for shoes: name, first card or result, last result."""
    shoe, coup = tables.shoe, tables.coup
    same = [shoe.c[name] == coup.c[name] for name in ("site", "table_name", "numbering", "shoe")]
    return (
        select(shoe.c.shoe, shoe.c.begun_at, func.max(coup.c.dealt_at))
        .select_from(shoe.outerjoin(coup, and_(*same)))
        .where(
            shoe.c.site == where[0], shoe.c.table_name == where[1],
            shoe.c.begun_at >= since - SHOE_BEFORE_MS, shoe.c.begun_at <= until,
        )
        .group_by(shoe.c.shoe, shoe.c.begun_at)
        .order_by(shoe.c.begun_at)
    )  # fmt: skip
