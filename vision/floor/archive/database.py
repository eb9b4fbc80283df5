"""Open the archive's database, SQLite or PostgreSQL, and create its tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.sql.dml import Insert

from vision.clock import DAY_MS
from vision.config.table import load
from vision.errors import ConfigurationError, OutsideError
from vision.floor.archive.tables import metadata

# Seconds that a database may take to answer a connection or to give up a lock. A house's answers in
# milliseconds; longer delays the next try, shorter gives up on one that is busy.
PATIENCE_S = 10
DEFAULT = "archive.sqlite"
ARCHIVE_HELP = (
    "an SQL address (postgresql://USER@HOST/DATABASE), a file of SQLite, or a table file whose "
    f"[archive] address names one; without it {DEFAULT} in this folder"
)


def open_named(text: str, *, create: bool = False) -> tuple[sa.Engine, str]:
    """Open the archive that a command names; return it and its address for people.

    A file that is not there is made with `create` only. ConfigurationError or OutsideError.
    """
    address = text or DEFAULT
    if text.endswith(".toml"):
        address = load(Path(text)).archive.address
        if not address:
            raise ConfigurationError(
                f"{text}: archive.address: is not set; write where the archive is"
            )
    if not create and "://" not in address and not Path(address).exists():
        raise ConfigurationError(
            f"--archive {address}: there is no such archive; make one with shoe-reader floor "
            "archive serve or load"
        )
    return open_archive(address), shown(sql_address(address))


def open_archive(address: str) -> sa.Engine:
    """Open or create the archive at an SQL address or in a file.

    ConfigurationError where the address is none, or another version wrote the archive;
    OutsideError where the database does not answer.
    """
    url = sql_address(address)
    kind = sa.make_url(url).get_backend_name()
    if kind not in ("sqlite", "postgresql"):
        raise ConfigurationError(
            f"archive '{shown(url)}': an archive is kept in SQLite or PostgreSQL; write "
            "sqlite:///FILE or postgresql://USER@HOST/DATABASE"
        )
    patience = "timeout" if kind == "sqlite" else "connect_timeout"
    try:
        engine = sa.create_engine(url, pool_pre_ping=True, connect_args={patience: PATIENCE_S})
    except (ModuleNotFoundError, NoSuchModuleError) as error:
        raise ConfigurationError(
            f"archive '{shown(url)}': {error}; install what a floor needs: "
            'pip install "shoe-reader[floor]"'
        ) from error
    if kind == "sqlite":
        sa.event.listen(engine, "connect", _set_up_sqlite)
    with explained(engine):
        _make_tables(engine)
    return engine


def sql_address(text: str) -> str:
    """Return the address of a database: a word without `://` is a file of SQLite.

    ConfigurationError for one with a password, which everybody on the machine could read.
    """
    if "://" not in text:
        return f"sqlite:///{text}"
    try:
        url = sa.make_url(text)
    except ArgumentError as error:
        raise ConfigurationError(
            f"archive '{shown(text)}': not a valid database URL; write sqlite:///FILE or "
            "postgresql://USER@HOST/DATABASE"
        ) from error
    if url.password:
        raise ConfigurationError(
            f"archive '{shown(text)}': leave the password out of the address; put it into the file "
            "~/.pgpass, or into the environment variable PGPASSWORD"
        )
    if url.drivername == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    return url.render_as_string()


def shown(address: str) -> str:
    """Return an address as it may be printed: no password."""
    head, _, tail = address.rpartition("@")
    return f"{head.partition('://')[0]}://…@{tail}" if head else address


@contextmanager
def explained(engine: sa.Engine) -> Iterator[None]:
    """Turn the faults of a database into an OutsideError with the cure."""
    try:
        yield
    except DBAPIError as error:
        first = str(error.orig).strip().splitlines() or ["no reason given"]
        raise OutsideError(
            f"the archive's database {engine.url.render_as_string()}: {first[0]}; check that it "
            "runs, that this user may write to it, and that its disk has space"
        ) from error
    except SQLAlchemyError as error:
        raise OutsideError(
            f"the archive's database {engine.url.render_as_string()}: {error}; check that it is an "
            "archive of shoe-reader"
        ) from error


def joining(connection: sa.Connection, table: sa.Table) -> Insert:
    """Return an insert that joins a row of the same key as the columns of the table say.

    Of a table without `seq` the row that comes last counts.
    """
    insert = _insert(connection, table)
    is_newer = insert.excluded.seq >= table.c.seq if "seq" in table.c else sa.true()
    values: dict[str, Any] = {}
    for old in table.columns:
        new = insert.excluded[old.name]
        if old.info.get("first"):
            values[old.name] = sa.case((new < sa.func.coalesce(old, new + 1), new), else_=old)
        elif not old.primary_key:
            values[old.name] = sa.case((is_newer, new), else_=old)
    return insert.on_conflict_do_update(index_elements=list(table.primary_key), set_=values)


def once(connection: sa.Connection, table: sa.Table) -> Insert:
    """Return an insert that leaves a row of the same key as it is."""
    keys = list(table.primary_key)
    return _insert(connection, table).on_conflict_do_nothing(index_elements=keys)


def _insert(connection: sa.Connection, table: sa.Table) -> sqlite.Insert:
    """Return an insert of the database's dialect; that of PostgreSQL has the same methods."""
    if connection.dialect.name == "sqlite":
        return sqlite.insert(table)
    return postgresql.insert(table)  # type: ignore[return-value]


def _set_up_sqlite(connection: Any, _record: object) -> None:
    """Readers do not wait for the writer; what is committed survives a power cut."""
    for words in ("journal_mode = WAL", "synchronous = FULL"):
        connection.execute(f"PRAGMA {words}")


def _make_tables(engine: sa.Engine) -> None:
    """Create the tables that are missing; refuse an archive whose tables are not those below."""
    with engine.begin() as connection:
        metadata.create_all(connection)
        there = sa.inspect(connection)
        for table in metadata.sorted_tables:
            columns = {column["name"] for column in there.get_columns(table.name)}
            if columns != set(table.columns.keys()):
                raise ConfigurationError(
                    f"the archive {engine.url.render_as_string()} was written by another version "
                    f"of shoe-reader (its table {table.name} has other columns); use that "
                    "version, or load the logs of the tables into a new archive"
                )


def prune(engine: sa.Engine, days: int, now: int) -> dict[str, int]:
    """Delete what is older than so many days before `now` (Unix ms); return rows by table.

    OutsideError.
    """
    before = now - days * DAY_MS
    with explained(engine), engine.begin() as connection:
        return {
            table.name: connection.execute(table.delete().where(table.c[time] < before)).rowcount
            for table in metadata.sorted_tables
            if (time := table.info.get("time"))
        }
