"""What is installed at a table is pinned, and runs with as little as it needs."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from vision.config.table import BrokerSection
from vision.errors import ConfigurationError
from vision.storage.anchors import load_key, make_keys
from vision.version import VERSION

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
LOCK = (DEPLOY / "requirements.lock").read_text("utf-8")
PINNED = set(re.findall(r"^([a-z0-9-]+)==\S+", LOCK, re.MULTILINE))


def test_lock_pins_every_dependency() -> None:
    """What the program asks for is in the lock file; `make lock` writes it anew."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = {re.split(r"[><=\[;]", line)[0].strip().lower() for line in project["dependencies"]}
    floor = project["optional-dependencies"]["floor"]
    wanted |= {re.split(r"[><=\[;]", line)[0].strip().lower() for line in floor}
    assert wanted - PINNED == set(), "run `make lock`"


def test_citation_and_changes_name_this_version() -> None:
    """The version stands in one module; what repeats it says the same."""
    for path, pattern in (
        (ROOT / "CITATION.cff", r"^version: (\S+)$"),
        (DEPLOY / "CHANGES.md", r"^## (\S+)$"),
    ):
        first = re.findall(pattern, path.read_text("utf-8"), re.MULTILINE)[0]
        assert first == VERSION, path.name


def test_lock_has_a_hash_for_each_and_names_no_place() -> None:
    """Whatever an index serves, only the files that were looked at are installed."""
    for entry in re.split(r"\n(?=[a-z])", LOCK.strip()):
        assert re.match(
            r"[a-z0-9-]+==\S+( ; .*)? \\\n( +--hash=sha256:[0-9a-f]{64}( \\)?\n?)+$", entry
        )
    assert "://" not in LOCK
    assert "index" not in LOCK.replace("importlib", "")


def test_container_installs_by_hash_and_runs_as_nobody_special() -> None:
    """No root, nothing to write to but its data, and a check of its health."""
    container = (DEPLOY / "Containerfile").read_text("utf-8")
    assert "--require-hashes -r requirements.lock" in container
    assert re.search(r"^USER [1-9]\d*:[1-9]\d*$", container, re.MULTILINE)
    assert "HEALTHCHECK" in container
    compose = (DEPLOY / "compose.yaml").read_text("utf-8")
    services = re.split(r"\n  (?=[a-z]+:\n)", compose.split("services:")[1].split("\nvolumes:")[0])
    assert len(services) == 4
    for service in services[1:]:
        assert "read_only: true" in service
        assert "cap_drop: [ALL]" in service
        assert "no-new-privileges" in service
        assert "mem_limit" in service
    assert "PASSWORD:" not in compose


ROOM_FOR_TOPIC = 100_000  # bytes, far more than a topic has
UNITS = tuple(f"shoe-reader{part}.service" for part in ("@", "-board", "-archive"))
ENDS = ("@.service", ".target")
needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="needs systemd-analyze"
)


@needs_systemd
@pytest.mark.parametrize("name", UNITS)
def test_unit_is_tight(name: str) -> None:
    """The unit is valid, and systemd's own measure of its exposure is at most 2.5 of 10."""
    command = ["systemd-analyze", "security", "--offline=true", "--threshold=25", "--no-pager"]
    done = subprocess.run(
        [*command, str(DEPLOY / name)], capture_output=True, text=True, check=False
    )
    if "exposure level" not in done.stdout:
        pytest.skip(f"systemd-analyze cannot judge a file here: {done.stderr.strip()[:80]}")
    assert done.returncode == 0, done.stdout[-200:]


@needs_systemd
@pytest.mark.parametrize("name", UNITS)
def test_unit_is_what_systemd_understands(name: str, tmp_path: Path) -> None:
    """No line is unknown, wrong or ignored, as the table's unit and as that of the boards."""
    text = (DEPLOY / name).read_text("utf-8")
    installed = tmp_path / name
    shutil.copy(DEPLOY / "shoe-reader.target", tmp_path)
    installed.write_text(text.replace("/opt/shoe-reader/bin/shoe-reader", "/bin/true"))
    command = ["systemd-analyze", "verify", "--man=no", str(installed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_units_of_several_tables_share_no_folder() -> None:
    """Each table's log is its own user's: systemd gives a shared folder to the last that starts."""
    reader, board, archive = ((DEPLOY / name).read_text("utf-8") for name in UNITS)
    assert "StateDirectory=shoe-reader/%i\n" in reader
    assert "StateDirectory=shoe-reader-board\n" in board
    assert "StateDirectory=shoe-reader-archive\n" in archive
    assert "WatchdogSec=" in reader
    assert "Type=notify" in reader


def test_units_of_several_tables_start_and_stop_together() -> None:
    """The target of the machine has every table; one that ends is started again, alone."""
    reader, target = ((DEPLOY / f"shoe-reader{part}").read_text("utf-8") for part in ENDS)
    assert "PartOf=shoe-reader.target\n" in reader
    assert "WantedBy=shoe-reader.target\n" in reader
    assert "WantedBy=multi-user.target\n" in target
    assert "Restart=always\n" in reader


def test_units_let_cards_go_before_pages() -> None:
    """Where the processor is short, readers have several times the share of the boards."""
    units = [(DEPLOY / name).read_text("utf-8") for name in UNITS]
    reader, board, archive = (int(re.findall(r"CPUWeight=(\d+)", unit)[0]) for unit in units)
    assert reader >= 4 * max(board, archive)


def test_key_that_systemd_hands_over_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LoadCredential gives it by an access list, which shows as rights of the group."""
    key = tmp_path / "signing.key"
    make_keys(key)
    key.chmod(0o440)
    with pytest.raises(ConfigurationError, match="read by others"):
        load_key(key)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    load_key(key)
    key.chmod(0o444)
    with pytest.raises(ConfigurationError, match="read by others"):
        load_key(key)


def test_broker_as_shipped_takes_the_largest_message_of_a_table() -> None:
    """The default of the table file and the limit of mosquitto.conf are set for one another."""
    text = (DEPLOY / "mosquitto" / "mosquitto.conf").read_text("utf-8")
    limit = re.search(r"^max_packet_size (\d+)$", text, re.MULTILINE)
    assert limit is not None
    assert BrokerSection().max_message + ROOM_FOR_TOPIC <= int(limit[1])
    # What is above message_size_limit is acknowledged and thrown away.
    assert not re.search(r"^message_size_limit", text, re.MULTILINE)
