"""The archive's tables: as the migrations make them, and not those of a newer version."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text

from vision.errors import ConfigurationError, OutsideError
from vision.floor.archive.database import open_archive, sql_address
from vision.floor.archive.tables import metadata


def test_migrations_make_the_tables_of_the_program(tmp_path: Path) -> None:
    """Nobody changes a table without a migration that changes it in the archives that exist."""
    engine = open_archive(str(tmp_path / "archive.sqlite"))
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_archive_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    """An older program writes nothing into tables that it does not know."""
    path = str(tmp_path / "archive.sqlite")
    with open_archive(path).begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '999'"))
    with pytest.raises(ConfigurationError, match="was written by a newer shoe-reader"):
        open_archive(path)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("postgresql://a:secret@h/d", "leave the password out of the address"),
        ("mysql://h/d", "an archive is kept in SQLite or PostgreSQL"),
        ("://", "not a valid database URL"),
    ],
)
def test_address_that_cannot_be_used_is_refused_with_the_cure(address: str, said: str) -> None:
    """The words name the cure, and never the password."""
    with pytest.raises(ConfigurationError, match=said) as caught:
        open_archive(address)
    assert "secret" not in str(caught.value)


def test_address_without_a_scheme_is_a_file() -> None:
    """Most archives of a small house are one file."""
    assert sql_address("a.sqlite") == "sqlite:///a.sqlite"
    assert sql_address("postgresql://u@h/d") == "postgresql+psycopg://u@h/d"


def test_database_that_is_away_is_an_outside_fault(tmp_path: Path) -> None:
    """No traceback, but where it should be and what to see to."""
    with pytest.raises(OutsideError, match="check that it runs"):
        open_archive("postgresql://u@127.0.0.1:1/d")
    with pytest.raises(OutsideError, match="unable to open database file"):
        open_archive(str(tmp_path / "no" / "archive.sqlite"))
