"""Passwords: taken from the environment when they are used, and kept out of every text.

An address may name a variable where its password stands, `rtsp://reader:${CAMERA_PASSWORD}@host/`;
it is filled in at the last moment. What is shown or logged of an address is its scheme, host and
port: cameras take passwords in their paths and queries too, under any name.
"""

from __future__ import annotations

import os
import re
from urllib.parse import quote

from vision.errors import ConfigurationError

PLACE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
# Up to a blank or a quote; a backslash before a quote is one of JSON.
ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://((?:[^\s'\"<>\\]|\\(?!['\"]))*)")
HOST = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d+)?")
# Names under which cameras take a password in a path or a query.
NAMED = re.compile(
    r"(?i)(?:pass\w*|pwd|psw|pw|loginpas\w*|secret|token|auth\w*|\w*key|pin)=[^&;/\0]"
)
SIGNS = frozenset("@?=&;")  # what an address of a page of ours does not have

FILLED = "\0"  # stands for a variable, which no address contains


def has_password(address: str) -> bool:
    """Whether an address has a password in it, and not only the name of a variable."""
    _, scheme, rest = address.partition("://")
    if not scheme:
        return False
    rest = PLACE.sub(FILLED, rest)
    authority, path = _split(rest)
    _, colon, password = authority.rpartition("@")[0].partition(":")
    if colon and password.replace(FILLED, ""):
        return True
    # A `/` in a password ends what looks like host and port.
    port = authority.rpartition("@")[2].partition(":")[2]
    return ("@" in path and bool(port) and not port.isdigit()) or bool(NAMED.search(path))


def shown(source: str) -> str:
    """Return what may be shown of a camera's source: of an address its scheme, host and port."""
    return ADDRESS.sub(lambda found: _shown(found[1], found[2]), source)


def masked(text: str) -> str:
    """Return the text with every address but plain pages' cut to scheme, host and port."""

    def cut(found: re.Match[str]) -> str:
        if not found[2].strip(",.;:)]*"):  # a kind of address, or one that is masked already
            return found[0]
        is_page = found[1].lower() in ("http", "https") and not SIGNS & set(found[2])
        return found[0] if is_page else _shown(found[1], found[2])

    return ADDRESS.sub(cut, text)


def filled(address: str) -> str:
    """Return the address with its variables filled in; ConfigurationError when one is not set."""
    return PLACE.sub(lambda place: quote(_value(place[1], address), safe=""), address)


def _split(rest: str) -> tuple[str, str]:
    """Return user, password, host and port of an address, and what follows."""
    end = re.search(r"[/?#]", rest)
    return (rest, "") if end is None else (rest[: end.start()], rest[end.start() :])


def _shown(scheme: str, rest: str) -> str:
    authority, path = _split(rest)
    host = HOST.match(authority.rpartition("@")[2])
    # An `@` after the host: it may be none, but the middle of a password with a `/`.
    if host is None or "@" in path:
        return f"{scheme}://***"
    return f"{scheme}://{host[0]}" + ("/***" if path not in ("", "/") else "")


def _value(name: str, address: str) -> str:
    if name not in os.environ:
        raise ConfigurationError(
            f"camera.source: the environment variable {name} is not set; set it to the password "
            f"of {shown(address)}"
        )
    return os.environ[name]
