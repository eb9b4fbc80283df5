"""What a command writes: nothing of the user's is overwritten, and what fails is said."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from tests.config.test_table import table_file
from vision import cli
from vision.files import free_name, in_order

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="no device here is always full")
WORDS = {
    "explain": ["explain", "9s 7d 4h Kc"],
    "table": ["explain", "--table"],
    "help": ["--help"],
    "version": ["--version"],
}


def shell(command: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the program in a shell, which redirects its output."""
    line = f'"{sys.executable}" -P -m vision.cli "$@" {command}'
    return subprocess.run(
        ["sh", "-c", line, "sh", *words],
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "PYTHONUNBUFFERED": "",
        },
    )


@needs_full
@pytest.mark.parametrize("name", WORDS)
@pytest.mark.parametrize("out", ["> /dev/full", ">&-"])
def test_result_that_cannot_be_reported_is_an_error(name: str, out: str) -> None:
    """A full disk, a closed output: one line, and exit code 3."""
    done = shell(out, *WORDS[name])
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert "cannot write the output" in done.stderr


def test_pipe_that_nobody_reads_is_an_error() -> None:
    """What reads along may end first: one line, and exit code 3."""
    reading, writing = os.pipe()
    os.close(reading)
    words = [sys.executable, "-m", "vision.cli", "explain", "9s 7d 4h Kc"]
    done = subprocess.run(words, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert done.returncode == 3
    assert "Broken pipe" in done.stderr
    assert "Traceback" not in done.stderr


@needs_full
@pytest.mark.parametrize("out", ["2> /dev/full", "2>&-", "> /dev/full 2>&1"])
def test_error_that_cannot_be_reported_is_an_exit_code(out: str) -> None:
    """Without a place for its words a command still ends with the code of its error."""
    assert shell(out, "explain", "nonsense").returncode == 2


def picture(path: Path) -> bytes:
    """Write a grey picture; return its bytes."""
    assert cv2.imwrite(str(path), np.full((200, 300, 3), 90, np.uint8))
    return path.read_bytes()


def test_annotating_into_the_folder_of_the_pictures_overwrites_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The original photograph stays, and the command says so before it reads anything."""
    path = tmp_path / "photo.jpg"
    before = picture(path)
    assert cli.main(["read", str(path), "--annotate", str(tmp_path)]) == 2
    assert path.read_bytes() == before
    assert "not overwritten" in capsys.readouterr().err


def test_two_pictures_of_one_name_are_not_drawn_over_one_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What would be lost is named."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        picture(tmp_path / name / "1.jpg")
    words = [str(tmp_path / name / "1.jpg") for name in ("a", "b")]
    assert cli.main(["read", *words, "--annotate", str(tmp_path / "out")]) == 2
    assert "several pictures would become" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["simulate", "enrol", "reread"])
def test_what_is_there_is_not_overwritten(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each command that writes refuses a name that is taken, with the name."""
    table, mine = table_file(tmp_path, "", ""), tmp_path / "mine"
    mine.write_text("mine", encoding="utf-8")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "table.toml").write_text("mine", encoding="utf-8")
    words = {
        "simulate": ["simulate", folder, "--coups", "1"],
        "enrol": ["enrol", table, "--out", mine],
        "reread": ["floor", "reread", tmp_path / "film.mp4", "--out", folder, "--table", table],
    }[name]
    assert cli.main([*map(str, words)]) == 2
    assert "overwritten" in capsys.readouterr().err
    assert mine.read_text("utf-8") == (folder / "table.toml").read_text("utf-8") == "mine"


def test_free_name_is_one_that_nothing_has(tmp_path: Path) -> None:
    """A file of the same name is kept, however many there are."""
    path = tmp_path / "table.toml.bak"
    for name in ("table.toml.bak", "table.toml-2.bak", "table.toml-3.bak"):
        assert free_name(path) == tmp_path / name
        free_name(path).touch()


def test_files_are_in_the_order_of_people() -> None:
    """Numbers count as numbers, in capitals and small letters, wherever they stand."""
    names = ["img1", "IMG2", "img10", "img10b", "img100", "x 2 a 9", "x 2 a 10", "x 10 a 1", "ä1"]
    found = [path.name for path in in_order(map(Path, reversed(names)))]
    assert found == names
