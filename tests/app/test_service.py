"""Several tables as one service: each started again alone, all ended together in order."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.app.test_reader import Stage, table_file
from tests.camera.video_servers import HttpCamera
from vision.app import service
from vision.app.house import brokers_of, conflicts, table_files
from vision.app.service import TableJob, TableProcess, TableService
from vision.cli import main
from vision.config.table import load
from vision.errors import ConfigurationError

STATE = "import json, sys; state = json.loads(sys.stdin.readline());"
READY = (
    "import os, socket;"
    "wire = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM);"
    "wire.connect(os.environ['NOTIFY_SOCKET']); wire.send(b'READY=1');"
)
PATIENCE_S = 60.0


def job(name: str, code: str, *, again: bool = False, check: str = "") -> TableJob:
    """Return a job whose program is that code."""
    return TableJob(name, (STATE + code,), again, lambda: check)


def small(*jobs: TableJob, alive_s: float = 30.0) -> TableService:
    """Return a service of programs that are a line of Python."""
    return TableService(jobs, program=(sys.executable, "-c"), alive_s=alive_s)


def until(service: TableService, happened: Callable[[list[TableProcess]], object]) -> None:
    """Go round until that has happened."""
    deadline = time.monotonic() + PATIENCE_S
    while not happened(service.tables):
        assert time.monotonic() < deadline
        service._look()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a table that ended be started again soon."""
    monkeypatch.setattr(service, "RESTART_PAUSES_S", (0.05, 0.3))


def test_service_of_recordings_ends_with_the_worst_of_their_codes(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Each line says of which table it is; all are read to their ends though one fails."""
    fails = "print('no film', file=sys.stderr); sys.exit(3)"
    assert small(job("7", fails), job("8", "print('coup 1'); print('coup 2')")).run() == 3
    told = capfd.readouterr()
    assert told.out.splitlines() == ["8: coup 1", "8: coup 2"]
    assert "7: no film" in told.err.splitlines()


def test_service_lines_of_json_stay_json_and_name_their_table(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Machines that read along learn of which table a line is."""
    assert small(job("7", "print(json.dumps({'level': 'info'}))")).run() == 0
    assert json.loads(capfd.readouterr().out) == {"table": "7", "level": "info"}


def test_service_table_that_dies_is_started_again_alone_and_learns_why() -> None:
    """Its pause grows, its next process is told how often and why; the other never notices."""
    dies = "print('shoe-reader: lens broken', file=sys.stderr);"
    dies += "sys.exit(3) if state['restarts'] < 2 else print(json.dumps(state)) or sys.stdin.read()"
    running = small(job("7", dies, again=True), job("8", READY + "sys.stdin.read()", again=True))
    try:
        until(running, lambda tables: tables[0].restarts == 2 and tables[1].ready)
        other = running.tables[1].process
        assert running.tables[0].why == "ended with code 3: lens broken"
        assert running.tables[0].due_s - time.monotonic() > 0.1
        until(running, lambda tables: tables[0].process is not None)
        assert running.tables[1].process is other
    finally:
        running._stop()
    assert running.tables[0].restarts == 2


def test_service_table_that_hangs_is_killed_and_started_again() -> None:
    """A process that lives but reports nothing is none: the table gets another one."""
    hangs = READY + "sys.stdin.read()"
    running = small(job("7", hangs, again=True), alive_s=0.5)
    try:
        until(running, lambda tables: tables[0].restarts)
        assert running.tables[0].why == "ended with signal SIGKILL: it hung: no report for 0.5 s"
        until(running, lambda tables: tables[0].ready and tables[0].process)
    finally:
        running._stop()


def test_service_table_that_may_not_start_waits_and_the_other_runs() -> None:
    """A faulty table file is reported and tried again; it takes no other table with it."""
    running = small(
        job("7", "pass", again=True, check="7.toml: camera: missing"),
        job("8", READY + "sys.stdin.read()", again=True),
    )
    try:
        until(running, lambda tables: tables[1].ready and tables[0].restarts)
        assert running.tables[0].why == "7.toml: camera: missing"
        assert running.tables[0].process is None
    finally:
        running._stop()


def test_service_process_that_ignores_the_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service ends within its time whatever a table's process does."""
    monkeypatch.setattr(service, "STOP_S", 0.3)
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    running = small(job("7", deaf + READY + "time.sleep(600)", again=True))
    until(running, lambda tables: tables[0].ready)
    process = running.tables[0].process
    running._stop()
    assert process is not None
    assert process.returncode == -signal.SIGKILL


# --- table files ---------------------------------------------------------------------------------


def written(folder: Path, table: str, source: str = "0", more: str = "") -> Path:
    """Write the file of a table, with a log of its own, and return its path."""
    text = table_file(Stage()).replace('table = "7"', f'table = "{table}"')
    text = re.sub(r'source = ".*"', f'source = "{source}"', text)
    text = text.replace('"table.sqlite"', f'"{table}.sqlite"')
    path = folder / f"{table}.toml"
    path.write_text(text + more, "utf-8")
    return path


@pytest.mark.parametrize(
    ("shared", "words"),
    [
        pytest.param(["table"], "site, table: both are table 'test/7'", id="table"),
        pytest.param(["log"], "log.path: both write the log", id="log"),
        pytest.param(["evidence"], "evidence.folder: both keep pictures in", id="evidence"),
        pytest.param(["metrics"], "metrics.port: both serve on port 9464", id="metrics"),
    ],
)
def test_tables_that_share_what_each_needs_are_refused_by_name(
    tmp_path: Path, shared: list[str], words: str
) -> None:
    """Both files, the key and the cure are named."""
    metrics = '[metrics]\nport = 9464\n[evidence]\nfolder = "pictures"\n'
    first, other = load(written(tmp_path, "7", more=metrics)), load(written(tmp_path, "8"))
    assert conflicts({Path("a"): first, Path("b"): other}) == []
    second = other.model_copy(update={key: getattr(first, key) for key in shared})
    (found,) = conflicts({Path("a"): first, Path("b"): second})
    assert found.startswith(f"a, b: {words}")
    assert "give each table file its own" in found


def test_table_files_of_a_folder_are_all_in_it(tmp_path: Path) -> None:
    """A folder stands for its table files; one without any, or a file given twice, is refused."""
    paths = [written(tmp_path, table) for table in ("8", "7")]
    assert table_files([tmp_path]) == sorted(paths)
    with pytest.raises(ConfigurationError, match="given twice"):
        table_files([tmp_path, paths[0]])
    (tmp_path / "none").mkdir()
    with pytest.raises(ConfigurationError, match="holds no table file"):
        table_files([tmp_path / "none"])


def test_tables_of_one_embedded_broker_get_one(tmp_path: Path) -> None:
    """The service has a broker for those that ask for it at the same ports."""
    configs = [load(written(tmp_path, table)) for table in ("7", "8")]
    assert brokers_of(configs) == set()
    embedded = [
        config.model_copy(update={"broker": config.broker.model_copy(update={"kind": "embedded"})})
        for config in configs
    ]
    assert brokers_of(embedded) == {(1883, 9001)}


def test_run_of_several_refuses_options_of_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two tables cannot write one messages file; the message says what to do."""
    words = [str(written(tmp_path, table)) for table in ("7", "8")]
    assert main(["run", *words, "--messages", "out.jsonl"]) == 2
    assert "--messages: of one table only" in capsys.readouterr().err


def test_run_of_faulty_files_only_names_every_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where no table can be run, the command ends as with one faulty file: exit code 2."""
    for name in ("7", "8"):
        (tmp_path / f"{name}.toml").write_text("site = ", "utf-8")
    assert main(["run", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert "7.toml: is not valid TOML" in told
    assert "8.toml: is not valid TOML" in told


# --- the whole of it -----------------------------------------------------------------------------


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    """Give the socket on which systemd would listen."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as wire:
        wire.bind(str(tmp_path / "notify"))
        wire.settimeout(PATIENCE_S)
        yield wire


def hear(wire: socket.socket, words: str) -> str:
    """Wait for a report with these words, and return it."""
    while True:
        report = wire.recv(1000).decode()
        if re.search(words, report):
            return report


def readers(parent: int) -> dict[str, int]:
    """Return the process of each table file that the service runs."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text("utf-8").split()
    words = {int(pid): Path(f"/proc/{pid}/cmdline").read_bytes().decode() for pid in children}
    return {
        Path(word).stem: pid
        for pid, line in words.items()
        for word in line.split("\0")
        if word.endswith(".toml")
    }


@pytest.mark.slow
def test_service_of_live_tables_restarts_the_killed_one_and_ends_in_order(
    manager: socket.socket, tmp_path: Path
) -> None:
    """With a faulty file among them two tables run; one killed comes back alone; SIGTERM ends all.

    systemd hears how each table stands, the log of each ends with a reader that stopped in order.
    """
    folder = tmp_path / "tables"
    folder.mkdir()
    cameras = [HttpCamera(), HttpCamera()]
    for table, camera in zip(("7", "8"), cameras, strict=True):
        written(folder, table, camera.url)
    (folder / "9.toml").write_text("site = ", "utf-8")
    running = subprocess.Popen(
        [sys.executable, "-m", "vision.cli", "run", str(folder), "--json-log"],
        env={**os.environ, "NOTIFY_SOCKET": manager.getsockname()},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        told = hear(manager, "7 runs; table 8 runs")
        assert "table 9 has NO reader" in told
        assert "is not valid TOML" in told
        before = readers(running.pid)
        os.kill(before["7"], signal.SIGKILL)
        hear(manager, "table 7 has NO reader: ended with signal SIGKILL")
        hear(manager, "7 runs; table 8 runs")
        after = readers(running.pid)
        assert after["8"] == before["8"]
        assert after["7"] != before["7"]
        running.terminate()
        printed = running.communicate(timeout=PATIENCE_S)[1]
        assert running.returncode == 0
    finally:
        running.kill()
        running.communicate()
        for camera in cameras:
            camera.close()
    lines = [json.loads(line) for line in printed.splitlines()]
    stopped = {line.get("table") for line in lines if line["message"] == "reader stopped"}
    assert stopped == {"7", "8"}
    assert not any(Path(f"/proc/{pid}").exists() for pid in after.values())
