"""`shoe-reader setup`: an empty folder is a start, and every refusal leads to the set-up page."""

from __future__ import annotations

import signal
import socket
import stat
from pathlib import Path

import cv2
import httpx
import numpy as np
import pytest

from vision.cli import main
from vision.commands import board
from vision.config.table import BrokerSection, load


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder that has nothing but a camera: a folder of pictures."""
    (tmp_path / "camera").mkdir()
    picture = np.full((480, 640, 3), 90, np.uint8)
    assert cv2.imwrite(str(tmp_path / "camera" / "1.png"), picture)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def set_up(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """Run the command until its page is served, then press Ctrl-C; return the exit code."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(signal, "pause", interrupt)
    return main(["setup", *words, "--http-port", "0"])


def test_empty_folder_becomes_a_table_file_with_a_page(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One command: a table file of the camera's size, and an engineer's log-in."""

    def log_in() -> None:
        words = capsys.readouterr().out.split()
        url = next(word for word in words if word.startswith("http"))
        with httpx.Client(base_url=url.partition("setup")[0], timeout=30) as client:
            who = {"name": "engineer", "password": words[words.index("password") + 1]}
            assert client.post("login", json=who).status_code == 200
            places = client.get("api/setup/kitchen/places").json()
            assert places["places"] == {}
            levels = {one["name"]: one for one in client.get("api/setup/kitchen/gauges").json()}
            assert levels["light"]["value"] == pytest.approx(90, abs=2)
        raise KeyboardInterrupt

    monkeypatch.setattr(signal, "pause", log_in)
    assert main(["setup", "kitchen.toml", "--source", "camera", "--http-port", "0"]) == 0
    config = load(Path("kitchen.toml"), unmeasured=True)
    assert (config.table, config.camera.width, config.camera.height) == ("kitchen", 640, 480)
    assert config.camera.source == "camera"
    assert Path(config.log.path) == Path("kitchen.sqlite")
    assert stat.S_IMODE(Path("people").stat().st_mode) == 0o700


def test_second_time_changes_nothing_and_shows_no_password(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page is for every later change too; a forgotten password has its command."""
    set_up(monkeypatch, "kitchen.toml", "--source", "camera")
    before, _ = Path("kitchen.toml").read_bytes(), capsys.readouterr()
    assert set_up(monkeypatch, "kitchen.toml") == 0
    assert Path("kitchen.toml").read_bytes() == before
    assert list(folder.glob("kitchen.toml.bak*")) == []
    assert "shoe-reader users password engineer --file people/users.json" in capsys.readouterr().out


def test_table_file_of_another_camera_is_not_changed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A source that the file contradicts is refused; nobody's camera is swapped by the way."""
    set_up(monkeypatch, "kitchen.toml", "--source", "camera")
    assert main(["setup", "kitchen.toml", "--source", "1"]) == 2
    assert "names another camera" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (["check", "new.toml"], "no such file; shoe-reader setup new.toml makes one"),
        (["run", "kitchen.toml"], "view: missing; the set-up page adds it: shoe-reader setup"),
        (["check", "kitchen.toml"], "shoe-reader setup kitchen.toml"),
        (["setup", "new.toml", "--source", "film.mp4"], "film.mp4: no such file"),
        (["setup", "camera/1.png"], "shoe-reader setup NAME.toml"),
        (["setup", "nowhere/new.toml", "--source", "camera"], "there is no folder nowhere"),
        (["calibrate", "kitchen.toml"], "the ace of spades is not seen"),
    ],
    ids=["no file", "run", "check", "no source", "a picture", "no folder", "no cards"],
)
def test_each_refusal_names_the_next_command(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    reported: str,
) -> None:
    """A new user who types the wrong thing reads what to type instead; nothing is read or made."""
    set_up(monkeypatch, "kitchen.toml", "--source", "camera")
    capsys.readouterr()
    assert main(words) in {2, 3}
    printed = capsys.readouterr()
    assert reported in printed.out + printed.err
    assert not Path("new.toml").exists()


def test_taken_port_of_the_broker_is_avoided_in_a_new_table_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second table, or a broker that runs here already, does not stop the first coup."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        usual = BrokerSection(port=taken.getsockname()[1])
        monkeypatch.setattr(board, "BrokerSection", lambda: usual)
        set_up(monkeypatch, "kitchen.toml", "--source", "camera")
    broker = load(Path("kitchen.toml"), unmeasured=True).broker
    assert broker.port not in {usual.port, 1883}
    assert f"port {usual.port} is taken; [broker] has another" in capsys.readouterr().out


def test_taken_port_of_the_board_is_avoided(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where another program has the usual port, the page is served on a free one."""
    set_up(monkeypatch, "kitchen.toml", "--source", "camera")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with Path("kitchen.toml").open("a", encoding="utf-8") as file:
            file.write(f"\n[board]\nport = {port}\n")
        capsys.readouterr()
        assert main(["setup", "kitchen.toml"]) == 0
    printed = capsys.readouterr().out
    assert "set-up page: http" in printed
    assert f":{port}/" not in printed


def test_source_that_was_typed_absolute_stays_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What somebody typed whole is found again whole; a file called table is of table 1."""
    set_up(monkeypatch, "table.toml", "--source", str(folder / "camera"))
    config = load(Path("table.toml"), unmeasured=True)
    assert config.camera.source == str(folder / "camera")
    assert config.table == "1"
