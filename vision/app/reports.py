"""The reports of a board server: questions to the archive that its table file names."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vision.board.desk.reports import Ask, Kinds
from vision.errors import ConfigurationError

if TYPE_CHECKING:
    from sqlalchemy import Engine


def reports_of(address: str) -> tuple[Kinds, Ask]:
    """Return what can be asked of the archive at an address, and what asks it; nothing without one.

    The archive is opened by the first question, so that a board starts without it.
    ConfigurationError when the libraries of an archive are not installed.
    """
    if not address:
        return {}, _nothing
    try:
        from vision.archive.database import open_archive  # noqa: PLC0415
        from vision.archive.questions import QUESTIONS, ask, asked_of  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"[archive] address is set, but '{error.name}' is not installed; install what a floor "
            'needs: pip install "shoe-reader[floor]"'
        ) from error
    opened: list[Engine] = []
    mutex = threading.Lock()

    def answer(kind: str, asked: Mapping[str, str]) -> Mapping[str, Any]:
        with mutex:
            if not opened:
                opened.append(open_archive(address))
        return ask(opened[0], kind, asked_of(asked)).json()

    return {kind: groups for kind, (_, groups) in QUESTIONS.items()}, answer


def _nothing(_kind: str, _asked: Mapping[str, str]) -> Mapping[str, Any]:
    return {}
