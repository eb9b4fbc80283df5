"""Passwords: taken from the environment when they are used, and kept out of every text.

An address may name a variable where its password stands, `rtsp://reader:${CAMERA_PASSWORD}@host/`;
it is filled in at the last moment, so that what is shown or logged never has it.
"""

from __future__ import annotations

import os
import re
from urllib.parse import quote

from vision.errors import ConfigurationError

PLACE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
PASSWORD = re.compile(r"(://[^/@:\s]*):(?!\$\{)[^/@\s]*@")


def has_password(address: str) -> bool:
    """Whether an address has a password in it, and not only the name of a variable."""
    return PASSWORD.search(address) is not None


def masked(text: str) -> str:
    """Return the text with the password of every address in it struck out."""
    return PASSWORD.sub(r"\1:***@", text)


def filled(address: str) -> str:
    """Return the address with its variables filled in; ConfigurationError when one is not set."""
    return PLACE.sub(lambda place: quote(_value(place[1], address), safe=""), address)


def _value(name: str, address: str) -> str:
    if name not in os.environ:
        raise ConfigurationError(
            f"camera.source: the environment variable {name} is not set; set it to the password "
            f"of {masked(address)}"
        )
    return os.environ[name]
