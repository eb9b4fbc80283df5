"""The archive's database: opened again, and not one of another version."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import text

from vision.errors import ConfigurationError, OutsideError
from vision.floor.archive.database import open_archive, sql_address


def test_archive_is_opened_again_with_its_rows(tmp_path: Path) -> None:
    """Tables that are there stay as they are."""
    path = str(tmp_path / "archive.sqlite")
    with open_archive(path).begin() as connection:
        connection.execute(text("INSERT INTO run VALUES ('house', '7', 'b', 'p', 'd')"))
    with open_archive(path).begin() as connection:
        assert connection.execute(text("SELECT deck FROM run")).scalar() == "d"


@pytest.mark.parametrize("change", ["ADD COLUMN colour TEXT", "DROP COLUMN winner"])
def test_archive_of_another_version_is_refused(tmp_path: Path, change: str) -> None:
    """Nothing is written into tables that are not the program's."""
    path = str(tmp_path / "archive.sqlite")
    with open_archive(path).begin() as connection:
        connection.execute(text("DROP INDEX coup_outcome"))
        connection.execute(text(f"ALTER TABLE coup {change}"))
    with pytest.raises(ConfigurationError, match="another version of shoe-reader"):
        open_archive(path)


@pytest.mark.parametrize(
    ("address", "reported"),
    [
        ("postgresql://a:secret@h/d", "leave the password out of the address"),
        ("mysql://h/d", "an archive is kept in SQLite or PostgreSQL"),
        ("://", "not a valid database URL"),
    ],
)
def test_address_that_cannot_be_used_is_refused_with_the_cure(address: str, reported: str) -> None:
    """The words name the cure, and never the password."""
    with pytest.raises(ConfigurationError, match=reported) as caught:
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
