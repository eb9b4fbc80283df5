"""Make services of tables and their boards under systemd: what is written where.

Readers and boards run as users that systemd makes for them (DynamicUser), each with a folder of its
own below /var/lib. Their keys belong to root; systemd hands them over as credentials.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from vision.config.editor import TableFile
from vision.config.table import TableConfig
from vision.errors import ConfigurationError, OutsideError
from vision.files import write_whole
from vision.storage.anchors import make_keys

READER, TARGET, BOARD = "shoe-reader@.service", "shoe-reader.target", "shoe-reader-board.service"
ETC, STATE, UNITS = "etc/shoe-reader", "var/lib/shoe-reader-board", "etc/systemd/system"
PROGRAM = "/opt/shoe-reader/bin/shoe-reader"  # as the units have it
HIDDEN = ("/home", "/root", "/run/user", "/tmp", "/var/tmp")  # noqa: S108  # services see none of it
# Files that a table file names and that travel with it, by section and key.
TRAVEL = (("view", "layout"), ("deck", "path"), ("broker", "tls_ca"), ("camera", "tls_ca"))
DESK_KEY = "LoadCredential=desk.key"


class InstallStep(NamedTuple):
    """A step of an installation: in words, and what does it."""

    words: str
    do: Callable[[], object]


def unit_text(name: str) -> str:
    """Return the text of a unit, from the wheel or from the checkout, for this program."""
    packaged = files("vision") / "units" / name
    found = packaged if packaged.is_file() else Path(__file__).parents[2] / "deploy" / name
    return found.read_text("utf-8").replace(PROGRAM, program())


def program() -> str:
    """Return the path of this program; ConfigurationError where services could not see it."""
    path = Path(sys.prefix) / "bin" / "shoe-reader"
    if any(path.is_relative_to(folder) for folder in HIDDEN):
        raise ConfigurationError(
            f"{path}: services see nothing below {', '.join(HIDDEN)}; install the program in "
            "/opt/shoe-reader (deploy/install.md, step 2)"
        )
    return str(path)


def installation(tables: dict[Path, TableConfig], root: Path) -> Iterator[InstallStep]:
    """Yield what makes services of tables below a root; ConfigurationError where it cannot be."""
    _refuse(tables)
    etc, units = root / ETC, root / UNITS
    named = [config.table for config in tables.values()]
    first = next(iter(tables.values()))
    has_desk = bool(first.orders.users and first.desk.key)
    for name in (READER, TARGET, BOARD):
        text = unit_text(name)
        if not has_desk:  # a house without desks has no key of theirs
            text = "".join(t for t in text.splitlines(keepends=True) if not t.startswith(DESK_KEY))
        yield _written(units / name, text, 0o644)
    for (path, config), name in zip(tables.items(), named, strict=True):
        target = etc / f"{name}.toml"
        yield InstallStep(f"copy {path} and the files it names to {target}; its log goes to "
                   f"/var/lib/shoe-reader/{name}/log.sqlite",
                   _copying(path, config, target, has_desk=has_desk))  # fmt: skip
        key = etc / f"{name}.key"
        if not key.exists():
            yield InstallStep(f"make {key}, which signs the table's log", partial(make_keys, key))
        yield from _environment(etc / f"{name}.env", [config])
    if has_desk:
        users = Path(first.orders.users)
        passwords = Path(first.desk.passwords or users.with_name("passwords.json"))
        yield from _copied(users, etc / "users.json", 0o644)
        yield from _copied(Path(first.desk.key), etc / "desk.key", 0o600)
        yield from _copied(passwords, root / STATE / "passwords.json", 0o600)
    board = etc / "board.env"
    files_of = [*_served(board), *(f"/{ETC}/{name}.toml" for name in named)]
    line = f"TABLES={' '.join(dict.fromkeys(files_of))}\n"
    yield from _environment(board, tables.values(), line)
    yield _enabled(root, TARGET, *(instance(name) for name in named), BOARD)


def instance(name: str) -> str:
    """Return the unit of a table."""
    return READER.replace("@", f"@{name}")


def as_root_sees(config: TableConfig) -> TableConfig:
    """Return the settings of a service that runs: its key where root has it, its own broker up."""
    log = config.log.model_copy(update={"signing_key": f"/{ETC}/{config.table}.key"})
    kind = "external" if config.broker.kind == "embedded" else config.broker.kind
    broker = config.broker.model_copy(update={"kind": kind})
    return config.model_copy(update={"log": log, "broker": broker})


def not_active(units: Iterable[str]) -> Iterator[str]:
    """Yield which units systemd does not run now, each with what tells why."""
    for unit in units:
        words = ("systemctl", "is-active", unit)
        try:
            found = subprocess.run(words, check=False, capture_output=True, text=True)  # noqa: S603
        except OSError as error:
            raise OutsideError(f"systemctl: {error.strerror}") from error
        if found.returncode:
            yield f"{unit} is {found.stdout.strip()}: journalctl -u {unit} says why"


def _refuse(tables: dict[Path, TableConfig]) -> None:
    brokers = {(config.broker.host, config.broker.port) for config in tables.values()}
    embedded = [path for path, config in tables.items() if config.broker.kind == "embedded"]
    for path, config in tables.items():
        if config.broker.kind == "none" or (len(tables) > 1 and (embedded or len(brokers) > 1)):
            raise ConfigurationError(
                f"{path}: broker.kind: boards need a broker, tables of one board server the same "
                'one; set up mosquitto (deploy/mqtt.md), and [broker] kind = "external"'
            )


def _written(path: Path, text: str, mode: int) -> InstallStep:
    return InstallStep(f"write {path}", lambda: _write(path, text.encode(), mode))


def _copied(source: Path, target: Path, mode: int) -> Iterator[InstallStep]:
    """Yield the copying of a file of people; one that is there already stays as it is."""
    if source.exists() and not target.exists():
        words = f"copy {source} to {target}"
        yield InstallStep(words, lambda: _write(target, source.read_bytes(), mode))


def _served(board: Path) -> list[str]:
    lines = board.read_text("utf-8").splitlines() if board.exists() else []
    return [name for line in lines if line.startswith("TABLES=") for name in line[7:].split()]


def _write(path: Path, content: bytes, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, content, mode=mode)


def _copying(
    path: Path, config: TableConfig, target: Path, *, has_desk: bool
) -> Callable[[], None]:
    def copy() -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        table, name = TableFile(path), config.table
        for section, key in TRAVEL:
            named = getattr(getattr(config, section), key)
            if named and Path(named).is_file():
                own = target.with_name(f"{name}-{Path(named).name.removeprefix(f'{name}-')}")
                if Path(named).resolve() != own.resolve():
                    shutil.copyfile(named, own)
                table.change(section, {key: own.name})
        if Path(config.camera.source).exists():
            table.change("camera", {"source": str(Path(config.camera.source).resolve())})
        credentials = f"/run/credentials/{instance(name)}"
        table.change("log", {"path": f"/var/lib/shoe-reader/{name}/log.sqlite",
                             "signing_key": f"{credentials}/signing.key"})  # fmt: skip
        if has_desk:
            table.change("orders", {"users": f"/{ETC}/users.json"})
            table.change("desk", {"key": f"/run/credentials/{BOARD}/desk.key",
                                  "passwords": f"/{STATE}/passwords.json"})  # fmt: skip
        if target.resolve() != path.resolve() or table.is_changed:
            table.write(target)
        target.chmod(0o644)

    return copy


def _environment(
    path: Path, tables: Iterable[TableConfig], line: str = ""
) -> Iterator[InstallStep]:
    """Yield the writing of an environment file: `line` first, then the passwords that are named."""
    sections = [section for config in tables for section in (config.broker, config.board)]
    names = dict.fromkeys(section.password_env for section in sections if section.password_env)
    known = path.read_text("utf-8").splitlines(keepends=True) if path.exists() else []
    there = [text.partition("=")[0] for text in known]
    if missing := [name for name in names if name not in (*os.environ, *there)]:
        raise ConfigurationError(
            f"{', '.join(missing)}: no such environment variable; give the password to this "
            f"command in it, for {path}"
        )
    others = [t for t in known if not (line and t.startswith("TABLES="))]
    new = [name for name in names if name not in there]
    others += [f'{name}="{os.environ[name]}"\n' for name in new]
    text = line + "".join(others)
    if text and text != "".join(known):
        yield _written(path, text, 0o600)


def _enabled(root: Path, *units: str) -> InstallStep:
    words: Sequence[Sequence[str]] = [(f"--root={root}", "enable", *units)]
    if root == Path("/"):
        words = [("daemon-reload",), ("enable", "--now", *units), ("restart", *units)]
    shown = "; ".join(f"systemctl {' '.join(each)}" for each in words)
    return InstallStep(shown, partial(_run, words))


def _run(commands: Iterable[Sequence[str]]) -> None:
    for words in commands:
        try:
            subprocess.run(("systemctl", *words), check=True, capture_output=True, text=True)  # noqa: S603, S607
        except (OSError, subprocess.CalledProcessError) as error:
            reason = getattr(error, "stderr", "") or str(error)
            raise OutsideError(f"systemctl {' '.join(words)}: {reason.strip()}") from error
