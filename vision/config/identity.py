"""One signature of all that decides how a table is read: what a laboratory approved is what runs.

It is the SHA-256 of the parts, each a SHA-256 of its own: the program's files, the model files, the
rules of the house, the settings and the calibration. Passwords are in none of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from vision.config.profiles import load_profile
from vision.config.table import TableConfig
from vision.game.rules import Dealing
from vision.record.codec import canonical, rules_hash

# The program's own files: their folder, and how their names end.
PROGRAM = Path(__file__).parents[1]
SUFFIXES = (".py", ".sql", ".html", ".js", ".css", ".json", ".toml", ".svg")


@dataclass(frozen=True, slots=True)
class Identity:
    """The signature, and the parts it is made of: each name with its SHA-256 (64 hex digits)."""

    signature: str
    parts: tuple[tuple[str, str], ...]


def identify(config: TableConfig, models: Mapping[str, str]) -> Identity:
    """Return the identity of an installation; `models` are the SHA-256 of what reads, by name."""
    settings = config.model_dump(mode="json", exclude={"view"})
    rules = load_profile(config.profile).dealt(Dealing(config.dealing))
    parts = {
        "program": _digest(_program()),
        "rules": rules_hash(rules),
        "settings": _digest([canonical(settings).encode()]),
        "calibration": _digest([canonical(config.view.model_dump(mode="json")).encode()]),
        **{f"model {name}": digest for name, digest in models.items()},
    }
    ordered = tuple(sorted(parts.items()))
    return Identity(_digest([canonical(list(map(list, ordered))).encode()]), ordered)


def _program() -> Iterator[bytes]:
    """Yield the program's files, each after its name, in one order on every machine."""
    found = {path.relative_to(PROGRAM).as_posix(): path for path in PROGRAM.rglob("*")}
    for name in sorted(name for name in found if name.endswith(SUFFIXES)):
        yield f"{name}\n".encode()
        yield hashlib.sha256(found[name].read_bytes()).digest()


def _digest(chunks: Iterable[bytes]) -> str:
    return hashlib.sha256(b"".join(chunks)).hexdigest()
