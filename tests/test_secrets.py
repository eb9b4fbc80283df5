"""No password is ever shown: not in what is printed or logged, in files, or in the process list."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.config.test_table import table_file
from tests.mqtt.mqtt_tools import free_port
from vision import logging_setup
from vision.config.table import load, with_source
from vision.errors import ConfigurationError
from vision.mqtt.endpoint import endpoint_of
from vision.secrets import filled, has_password, masked, shown

SESAME = "open-sesame"
ADDRESS = "rtsp://reader:${CAMERA_PASSWORD}@127.0.0.1:PORT/stream"


def guarded_table(folder: Path) -> Path:
    """Write a table file with a camera and a broker that want passwords; neither is there."""
    address = ADDRESS.replace("PORT", str(free_port()))
    path = table_file(folder, 'source = "0"', f'source = "{address}"')
    text = path.read_text().replace('password_env = ""', 'password_env = "BROKER_PASSWORD"')
    text = text.replace('username = ""', 'username = "reader-7"')
    path.write_text(text.replace("port = 1883", f"port = {free_port()}"))
    return path


def process_list() -> str:
    """Return the command lines of all processes."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return "\n".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize("words", [["check"], ["run"]])
def test_password_is_nowhere_to_be_seen(tmp_path: Path, words: list[str]) -> None:
    """Whatever the command does with it, it is not in its output, its files or `ps`."""
    command = [sys.executable, "-m", "vision.cli", words[0], str(guarded_table(tmp_path))]
    secrets = {"CAMERA_PASSWORD": SESAME, "BROKER_PASSWORD": SESAME}
    seen = ""
    with subprocess.Popen(
        [*command, *words[1:]], env={**os.environ, **secrets}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
    ) as process:  # fmt: skip
        while process.poll() is None:
            seen += process_list()
            time.sleep(0.1)
        assert process.stdout is not None
        printed = process.stdout.read()
    assert process.returncode == 3, printed
    assert "vision.cli" in seen
    assert SESAME not in seen
    assert "rtsp://127.0.0.1:" in printed
    files = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert SESAME not in printed
    assert SESAME.encode() not in files


def test_password_is_not_in_a_dump_of_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Settings hold the name of a variable; the endpoint, which has the password, hides it."""
    monkeypatch.setenv("BROKER_PASSWORD", SESAME)
    monkeypatch.setenv("CAMERA_PASSWORD", SESAME)
    config = load(guarded_table(tmp_path))
    endpoint = endpoint_of(config.broker)
    assert endpoint.password == SESAME
    assert SESAME not in repr(config) + config.model_dump_json() + repr(endpoint) + str(endpoint)


def test_address_is_filled_in_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A password with signs that mean something in an address still means itself."""
    monkeypatch.setenv("CAMERA_PASSWORD", "a/b@c")
    assert filled(ADDRESS) == "rtsp://reader:a%2Fb%40c@127.0.0.1:PORT/stream"
    monkeypatch.delenv("CAMERA_PASSWORD")
    with pytest.raises(ConfigurationError, match="CAMERA_PASSWORD is not set"):
        filled(ADDRESS)


def test_password_in_the_table_file_or_on_the_command_line_is_refused(tmp_path: Path) -> None:
    """Who may read the file or the process list would have it; the refusal does not repeat it."""
    address = f"rtsp://reader:{SESAME}@127.0.0.1/stream"
    with pytest.raises(ConfigurationError, match=r"camera: .*\$\{NAME\}") as caught:
        load(table_file(tmp_path, 'source = "0"', f'source = "{address}"'))
    assert SESAME not in str(caught.value)
    with pytest.raises(ConfigurationError, match=r"--source .*\$\{NAME\}") as caught:
        with_source(load(table_file(tmp_path)), address)
    assert SESAME not in str(caught.value)


def test_log_strikes_out_passwords_of_addresses(capsys: pytest.CaptureFixture[str]) -> None:
    """A text from elsewhere, as a library's error, may have one; the log does not."""
    try:
        logging_setup.set_up()
        logging.getLogger("vision.edge.x").warning("cannot open %s", f"rtsp://a:{SESAME}@h/s")
        logging_setup.fail(f"http://a:{SESAME}@h is not there")
    finally:
        logging.getLogger("vision").handlers = []
    printed = capsys.readouterr().err
    assert SESAME not in printed
    assert printed.count("://h") == 2
    assert printed.startswith("warning: cannot open")


WITH_PASSWORD = [
    "http://cam/snap.cgi?user=admin&password=open-sesame",
    "http://cam:8080/video?loginuse=admin&loginpas=open-sesame",
    "rtsp://cam/user=admin&password=open-sesame",
    "rtsp://cam:554/user=admin_password=open-sesame_channel=1",
    "rtsp://u:open/open-sesame@cam/1",
    "rtsp://u:open@open-sesame@cam/1",
    "rtsp://u:open?open-sesame@cam",
    "rtsp://u:open-sesame@[fe80::1]:554/1",
    "https://cam/1?token=open-sesame",
]


@pytest.mark.parametrize("address", WITH_PASSWORD)
def test_password_is_found_wherever_a_camera_takes_it(tmp_path: Path, address: str) -> None:
    """It is refused in a table file, and shown in no form."""
    assert has_password(address)
    for text in (masked(f"cannot open {address}, gone"), shown(address)):
        assert "sesame" not in text
        assert "open-" not in text
    with pytest.raises(ConfigurationError, match=r"\$\{NAME\}") as caught:
        load(table_file(tmp_path, 'source = "0"', f'source = "{address}"'))
    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        "rtsp://10.0.0.5:554/stream",
        "http://cam/x@y",
        ADDRESS.replace("PORT", "554"),
        "rtsp://a@h",
        "http://cam/snap.cgi?user=admin&password=${CAMERA_PASSWORD}",
        "0",
        "film.avi",
    ],
)
def test_address_without_a_password_is_taken(address: str) -> None:
    """Names of variables, users and ports are no passwords."""
    assert not has_password(address)


@pytest.mark.parametrize(
    ("address", "seen"),
    [
        ("rtsp://reader:${CAMERA_PASSWORD}@10.0.0.5:554/stream", "rtsp://10.0.0.5:554/***"),
        ("http://cam/video.mjpg", "http://cam/***"),
        ("rtsp://[fe80::1]:554", "rtsp://[fe80::1]:554"),
        ("rtsp://u:se/cret@cam", "rtsp://***"),
        ("0", "0"),
        ("films/a.avi", "films/a.avi"),
    ],
)
def test_of_an_address_only_scheme_host_and_port_are_shown(address: str, seen: str) -> None:
    """What a path or a query holds is nobody's business but the camera's."""
    assert shown(address) == seen


def test_mask_leaves_pages_as_they_are() -> None:
    """People are told where a page is served."""
    text = 'open http://127.0.0.1:8080/desk, or "https://board.house.example/setup/7"'
    assert masked(text) == text


@pytest.mark.parametrize(
    "words",
    [
        "an rtsp:// or http:// address",
        "begin with rtsp://, http://.",
        "(rtsp://)",
        "seen: rtsp://*** or http://***",
    ],
)
def test_mask_leaves_the_words_of_the_program(words: str) -> None:
    """What is no address of anybody's camera can be read."""
    assert masked(words) == words
