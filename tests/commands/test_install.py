"""`shoe-reader install`: what systemd finds below a root, what `check` says, and the way back."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from tests.browser.people import house_of_people
from vision.app import service
from vision.app.service import not_active
from vision.cli import main
from vision.config.table import load
from vision.errors import OutsideError

pytestmark = pytest.mark.skipif(shutil.which("systemctl") is None, reason="needs systemctl")
EXAMPLE = Path(__file__).parents[2] / "deploy" / "table.example.toml"


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a measured table with people who may log in; a checkout may lie in a home."""
    monkeypatch.setattr(service, "HIDDEN", ())
    folder = tmp_path / "house"
    folder.mkdir()
    house_of_people(folder)
    text = EXAMPLE.read_text("utf-8").replace('users = ""', 'users = "users.json"')
    text = text.replace('key = ""  ', 'key = "desk.key"  ').replace(
        'signing_key = "/etc', 'x = "/etc'
    )
    path = folder / "table.toml"
    path.write_text(text, "utf-8")
    return path


def installed(table: Path, root: Path, *words: str) -> int:
    """Install below a root without asking."""
    return main(["install", str(table), "--root", str(root), "--yes", *words])


def test_services_are_whole_below_a_root(table: Path, tmp_path: Path) -> None:
    """Units are enabled, keys are root's own, the log and its key are where the unit has them."""
    root = tmp_path / "image"
    assert installed(table, root) == 0
    units = root / "etc/systemd/system"
    assert os.path.lexists(units / "shoe-reader.target.wants/shoe-reader@7.service")
    for unit in ("shoe-reader.target", "shoe-reader-board.service"):
        assert os.path.lexists(units / "multi-user.target.wants" / unit)
    etc = root / "etc/shoe-reader"
    config = load(etc / "7.toml")
    assert config.log.path == "/var/lib/shoe-reader/7/log.sqlite"
    assert config.log.signing_key == "/run/credentials/shoe-reader@7.service/signing.key"
    assert config.desk.key == "/run/credentials/shoe-reader-board.service/desk.key"
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in etc.iterdir()}
    assert modes["7.key"] == modes["desk.key"] == modes["board.env"] == 0o600
    assert modes["7.toml"] == modes["users.json"] == 0o644
    assert (etc / "board.env").read_text("utf-8") == "TABLES=/etc/shoe-reader/7.toml\n"
    unit = (root / "etc/systemd/system/shoe-reader@.service").read_text("utf-8")
    assert "/opt/shoe-reader" not in unit


def test_program_that_services_cannot_see_is_refused(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says where the program has to be."""
    monkeypatch.setattr(service, "HIDDEN", ("/",))
    assert installed(table, tmp_path / "image") == 2
    assert "install the program in /opt/shoe-reader" in capsys.readouterr().err


def test_installed_again_keeps_the_key_of_the_log(table: Path, tmp_path: Path) -> None:
    """A log goes on with its key, whatever else is written again."""
    root = tmp_path / "image"
    installed(table, root)
    key = root / "etc/shoe-reader/7.key"
    before = key.read_bytes()
    assert installed(root / "etc/shoe-reader/7.toml", root) == 0
    assert key.read_bytes() == before


def test_second_table_joins_the_boards(table: Path, tmp_path: Path) -> None:
    """The first one is served as before, by the same people."""
    root = tmp_path / "image"
    installed(table, root)
    other = table.with_name("other.toml")
    other.write_text(table.read_text("utf-8").replace('table = "7"', 'table = "8"'), "utf-8")
    assert installed(other, root) == 0
    served = (root / "etc/shoe-reader/board.env").read_text("utf-8")
    assert served == "TABLES=/etc/shoe-reader/7.toml /etc/shoe-reader/8.toml\n"
    wanted = root / "etc/systemd/system/shoe-reader.target.wants"
    assert {path.name for path in wanted.iterdir()} == {
        "shoe-reader@7.service", "shoe-reader@8.service"
    }  # fmt: skip


def test_nothing_is_done_before_it_was_shown(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a terminal and --yes the plan is all there is."""
    root = tmp_path / "image"
    assert main(["install", str(table), "--root", str(root)]) == 0
    out = capsys.readouterr().out
    assert "- write " in out
    assert "enable shoe-reader.target shoe-reader@7.service shoe-reader-board.service" in out
    assert not root.exists()


def test_unit_that_does_not_run_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`check` asks systemd, so a unit that is enabled and has failed is no good one."""
    systemctl = tmp_path / "systemctl"
    systemctl.write_text(
        '#!/bin/sh\n[ "$2" = a.service ] && echo active || ! echo failed\n', "utf-8"
    )
    systemctl.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert [*not_active(["a.service"])] == []
    (failed,) = not_active(["a.service", "b.service"])
    assert failed == "b.service is failed: journalctl -u b.service says why"
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    with pytest.raises(OutsideError, match="systemctl"):
        list(not_active(["a.service"]))


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('kind = "external"', 'kind = "none"', "boards need a broker"),
        (
            'password_env = "" ',
            'password_env = "NOT_SET_ANYWHERE" ',
            "no such environment variable",
        ),
    ],
    ids=["no broker", "no password"],
)
def test_table_that_cannot_be_a_service_is_refused(
    table: Path, tmp_path: Path, old: str, new: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is written, and the cure is said."""
    table.write_text(table.read_text("utf-8").replace(old, new), "utf-8")
    assert installed(table, tmp_path / "image") == 2
    assert why in capsys.readouterr().err
    assert not (tmp_path / "image").exists()
