"""Open the archive that a command names, and say what is missing where it cannot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from vision.config.table import load
from vision.errors import ConfigurationError

if TYPE_CHECKING:
    from sqlalchemy import Engine

DEFAULT = "archive.sqlite"
ARCHIVE_HELP = (
    "an SQL address (postgresql://USER@HOST/DATABASE), a file of SQLite, or a table file whose "
    f"[archive] address names one; without it {DEFAULT} in this folder"
)
NEEDED = "shoe-reader[floor]"


def opened(text: str, *, create: bool = False) -> tuple[Engine, str]:
    """Open an archive; return it and its address for people. ConfigurationError or OutsideError.

    A file that is not there is made with `create` only.
    """
    try:
        from vision.archive.database import open_archive, shown, sql_address  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise missing(error) from error
    address = address_in(text)
    if not create and "://" not in address and not Path(address).exists():
        raise ConfigurationError(
            f"--archive {address}: there is no such archive; make one with shoe-reader floor "
            "archive serve or load"
        )
    return open_archive(address), shown(sql_address(address))


def address_in(text: str) -> str:
    """Return the address that a word names: its own, or that of a table file."""
    if not text.endswith(".toml"):
        return text or DEFAULT
    address = load(Path(text)).archive.address
    if not address:
        raise ConfigurationError(f"{text}: archive.address: is not set; write where the archive is")
    return address


def missing(error: ModuleNotFoundError) -> ConfigurationError:
    """Return in words that the libraries of an archive are not installed."""
    return ConfigurationError(
        f"an archive needs '{error.name}', which is not installed; install what a floor needs: "
        f'pip install "{NEEDED}"'
    )
