"""The log of a service."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator

import pytest

from vision import logging_setup


@pytest.fixture
def as_before() -> Iterator[None]:
    """Put the log back as it was."""
    yield
    logging_setup.set_up()


@pytest.mark.usefixtures("as_before")
def test_service_logs_what_people_do_with_the_time(capsys: pytest.CaptureFixture[str]) -> None:
    """Not warnings only: who wrote a table file is in the log, and when."""
    logging_setup.set_up(service=True)
    logging.getLogger("vision.board").info("Di wrote the areas")
    line = capsys.readouterr().err
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]{12}Z info: Di wrote the areas\n", line)
