"""The log for machines: JSON lines with times, and syslog as RFC 5424 has it."""

from __future__ import annotations

import json
import logging
import re
import socket
from collections.abc import Iterator

import pytest

from vision import logging_setup
from vision.errors import ConfigurationError

LINE = re.compile(
    r"<(\d+)>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (\S+) shoe-reader \d+ (\S+) - \ufeff(.*)",
    re.DOTALL,
)


@pytest.fixture
def as_before() -> Iterator[None]:
    """Put the log back as it was."""
    yield
    logging_setup.set_up()


@pytest.mark.usefixtures("as_before")
def test_syslog_gets_what_rfc_5424_asks_for() -> None:
    """Priority, version, time, host, program, process and words; no password, one line."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(5)
        logging_setup.set_up(service=True, syslog=f"127.0.0.1:{server.getsockname()[1]}")
        log = logging.getLogger("vision.board.desk.setup")
        log.info("%s looked at rtsp://reader:sesame@camera/\nlive", "Ann")
        log.error("broken")
        found = [LINE.fullmatch(server.recv(65536).decode()) for _ in range(2)]
    assert found[0]
    assert found[1]
    daemon = 3 * 8
    assert [int(one[1]) for one in found if one] == [daemon + 6, daemon + 3]
    assert found[0][3] == "setup"
    assert found[0][4] == "Ann looked at rtsp://camera | live"


@pytest.mark.usefixtures("as_before")
def test_service_logs_what_people_do_with_the_time(capsys: pytest.CaptureFixture[str]) -> None:
    """Not warnings only: who wrote a table file is in the log, and when."""
    logging_setup.set_up(service=True)
    logging.getLogger("vision.board").info("Di wrote the areas")
    line = capsys.readouterr().err
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]{12}Z info: Di wrote the areas\n", line)
    logging_setup.set_up(json_lines=True)
    logging.getLogger("vision.board").info("Di wrote the areas")
    assert json.loads(capsys.readouterr().err)["message"] == "Di wrote the areas"


@pytest.mark.usefixtures("as_before")
@pytest.mark.parametrize("address", ["/no/such/socket", "host:x", "no host.invalid", ":99999"])
def test_address_of_syslog_that_is_none_is_told(address: str) -> None:
    """The message says what an address looks like."""
    with pytest.raises(ConfigurationError, match=r"--syslog .*/dev/log"):
        logging_setup.set_up(syslog=address)
