"""All rows of an archive, held against those of one that is made of the logs alone."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, Table, select

from vision.audit.verify import Trust
from vision.floor.archive.database import open_archive
from vision.floor.archive.logs import Following
from vision.floor.archive.tables import metadata

MEMORY = "sqlite://"  # an archive that lasts as long as its engine


def rows(engine: Engine, table: Table) -> list[dict[str, Any]]:
    """Return the rows of a table in the order of their key."""
    with engine.connect() as connection:
        found = connection.execute(select(table).order_by(*table.primary_key)).mappings()
        return [dict(row) for row in found]


def everything(engine: Engine) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of all tables, by name."""
    return {table.name: rows(engine, table) for table in metadata.sorted_tables}


def differences(engine: Engine, logs: Iterable[Path]) -> list[str]:
    """Return each row that an archive lacks, or has otherwise than logs say, in words."""
    fresh = open_archive(MEMORY)
    for log in logs:
        Following(log, Trust()).take_in(fresh)
    wanted, here = (_lines(everything(one)) for one in (fresh, engine))
    fresh.dispose()
    return [f"missing: {row}" for row in wanted - here] + [f"otherwise: {r}" for r in here - wanted]


def _lines(found: dict[str, list[dict[str, Any]]]) -> set[str]:
    return {f"{name} {row}" for name, some in found.items() for row in some}
