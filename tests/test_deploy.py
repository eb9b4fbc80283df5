"""What is installed at a table is pinned, and runs with as little as it needs."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
LOCK = (DEPLOY / "requirements.lock").read_text("utf-8")
PINNED = set(re.findall(r"^([a-z0-9-]+)==\S+", LOCK, re.MULTILINE))


def test_lock_pins_every_dependency() -> None:
    """What the program asks for is in the lock file; `make lock` writes it anew."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = {re.split(r"[><=\[;]", line)[0].strip().lower() for line in project["dependencies"]}
    assert wanted - PINNED == set(), "run `make lock`"


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
    assert len(services) == 3
    for service in services[1:]:
        assert "read_only: true" in service
        assert "cap_drop: [ALL]" in service
        assert "no-new-privileges" in service
        assert "mem_limit" in service
    assert "PASSWORD:" not in compose


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_unit_is_tight() -> None:
    """The unit is valid, and systemd's own measure of its exposure is at most 2.5 of 10."""
    unit = DEPLOY / "shoe-reader.service"
    command = ["systemd-analyze", "security", "--offline=true", "--threshold=25", "--no-pager"]
    done = subprocess.run([*command, str(unit)], capture_output=True, text=True, check=False)
    if "exposure level" not in done.stdout:
        pytest.skip(f"systemd-analyze cannot judge a file here: {done.stderr.strip()[:80]}")
    assert done.returncode == 0, done.stdout[-200:]
