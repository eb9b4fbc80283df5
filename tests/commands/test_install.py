"""`shoe-reader install`: what systemd finds below a root, what `check` says, and the way back."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path

import pytest

from tests.browser.people import house_of_people
from vision.app.service import lacking
from vision.cli import main
from vision.config.table import load

pytestmark = pytest.mark.skipif(shutil.which("systemctl") is None, reason="needs systemctl")
EXAMPLE = Path(__file__).parents[2] / "deploy" / "table.example.toml"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Write a measured table with people who may log in."""
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
    assert [*lacking("7", root, has_desk=True)] == []
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
    assert [*lacking("7", root, has_desk=True), *lacking("8", root, has_desk=True)] == []
    assert installed(table, root, "--remove") == 0
    assert [*lacking("8", root, has_desk=True)] == []
    served = (root / "etc/shoe-reader/board.env").read_text("utf-8")
    assert served == "TABLES=/etc/shoe-reader/8.toml\n"


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


def test_removal_leaves_tables_keys_and_people(table: Path, tmp_path: Path) -> None:
    """Services are gone; what is a record or a secret stays."""
    root = tmp_path / "image"
    installed(table, root)
    assert installed(table, root, "--remove") == 0
    units = root / "etc/systemd/system"
    assert [path for path in units.rglob("*") if not path.is_dir()] == []
    assert (root / "etc/shoe-reader/7.key").exists()


def test_what_is_taken_from_an_installation_is_named(table: Path, tmp_path: Path) -> None:
    """`check` says which file is missing or open to others, and what mends it."""
    root = tmp_path / "image"
    installed(table, root)
    etc = root / "etc/shoe-reader"
    (etc / "7.key").chmod(0o644)
    (etc / "board.env").write_text("TABLES=/etc/shoe-reader/8.toml\n", "utf-8")
    (root / "etc/systemd/system/shoe-reader.target.wants/shoe-reader@7.service").unlink()
    said = " ".join(lacking("7", root, has_desk=True))
    assert "7.key can be read by others: chmod 600" in said
    assert "does not name the table" in said
    assert "shoe-reader@7.service is missing: shoe-reader install" in said


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
