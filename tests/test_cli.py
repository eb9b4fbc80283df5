"""The command line: help, version, and an exit code for each kind of end."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import pytest

from vision import __version__, cli
from vision.commands import COMMANDS, module_of
from vision.errors import ConfigurationError, OutsideError

FIRST = (
    "demo", "setup", "run", "read", "check", "install", "calibrate", "enrol", "board",
    "accept", "replay", "audit", "odds", "explain", "simulate", "score", "order",
)  # fmt: skip


def test_main_without_arguments_shows_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """No arguments is a request for help, not a mistake."""
    assert cli.main([]) == 0
    shown = capsys.readouterr().out
    assert {name.split()[0] for name in COMMANDS} <= {*shown.split()}


def test_main_version_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    """`--version` prints the version and ends well."""
    with pytest.raises(SystemExit) as caught:
        cli.main(["--version"])
    assert caught.value.code == 0
    assert __version__ in capsys.readouterr().out


def test_main_unknown_command_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """A command that does not exist ends with 2 and names those that do."""
    with pytest.raises(SystemExit) as caught:
        cli.main(["rnu"])
    assert caught.value.code == 2
    assert "run" in capsys.readouterr().err


def raise_(error: BaseException) -> int:
    """Stand in for a command that fails."""
    raise error


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (ConfigurationError("table.toml: site: missing"), 2, "table.toml: site: missing"),
        (OutsideError("camera 0 is busy"), 3, "camera 0 is busy"),
        (KeyboardInterrupt(), 130, ""),
    ],
    ids=["configuration", "outside", "ctrl-c"],
)
def test_main_error_becomes_exit_code_and_words(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
    words: str,
) -> None:
    """Errors end in one line for people and the code for scripts; never in a traceback."""
    monkeypatch.setattr(cli, "_dispatch", lambda _: raise_(error))
    assert cli.main(["run"]) == code
    printed = capfd.readouterr().err
    assert words in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize("name", COMMANDS)
def test_command_has_help_and_arguments(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command explains itself."""
    with pytest.raises(SystemExit) as caught:
        cli.main([*name.split(), "--help"])
    assert caught.value.code == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"shoe-reader {name}" in shown
    assert COMMANDS[name] in shown


def test_commands_of_the_first_level_are_few() -> None:
    """Whoever looks for a command finds it: those for a table first, the others in groups."""
    first = list(dict.fromkeys(name.split()[0] for name in COMMANDS))
    assert first == [*FIRST, "log", "users", "floor"]


def test_every_module_of_a_command_is_reached() -> None:
    """No module is left that nobody can call."""
    folder = Path(cli.__file__).with_name("commands")
    own = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    simulator = {f"vision.simulator.dealing.{name}" for name in ("simulate", "score")}
    assert {module_of(name) for name in COMMANDS} == simulator | {
        f"vision.commands.{stem}" for stem in own
    }


def test_group_without_an_action_names_them(capsys: pytest.CaptureFixture[str]) -> None:
    """A group by itself shows what is in it, as the program itself does."""
    with pytest.raises(SystemExit) as caught:
        cli.main(["log"])
    assert caught.value.code == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("begin", "restore", "export", "keys"))


def test_start_up_without_command_imports_no_slow_library() -> None:
    """The help answers at once: nothing heavy is imported until a command needs it."""
    code = (
        "import sys, vision.cli; vision.cli.main([]);"
        "print([m for m in ('cv2', 'numpy', 'onnxruntime') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_parser_is_named_as_the_command() -> None:
    """Usage lines show the command as people type it."""
    parser = cli._parser("")
    assert isinstance(parser, argparse.ArgumentParser)
    assert parser.prog == "shoe-reader"
