"""The types of value in a table file: paths, names for topics, ports, points and areas.

Each refuses impossible values with a message for people.
"""

from __future__ import annotations

import re
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core.core_schema import ValidationInfo

from vision.config.errors import refusal
from vision.game.events import Slot

# Millimetres or pixels: further than any table or picture, and where single precision still counts.
Coordinate = Annotated[float, Field(ge=-1e6, le=1e6)]
Point = tuple[Coordinate, Coordinate]
Polygon = Annotated[tuple[Point, ...], Field(min_length=3)]
URL = re.compile(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def _from_folder(text: str, info: ValidationInfo) -> str:
    """Return a path relative to the table file's folder; "", URLs and camera numbers stay."""
    if text in {"", "system"} or text.isdigit() or URL.match(text):
        return text
    folder = (info.context or {}).get("folder", Path())
    return str(folder / Path(text).expanduser())


def is_here(host: str) -> bool:
    """Whether a host is this machine itself, so that nothing sent there crosses a network."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _needed(text: str) -> str:
    if not text.strip():
        raise refusal("is empty; give a value, or remove the key")
    return text


def _profile_name(text: str, info: ValidationInfo) -> str:
    """Return the name of a profile as it stands, its file relative to the table file's folder."""
    return _from_folder(text, info) if text.endswith(".toml") else text


def _topic_level(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,64}", text):
        raise refusal(
            f"'{text}' cannot stand in a topic: use 1 to 64 letters, digits, '-', '_' or '.'"
        )
    return text


def _ip(text: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError:
        raise refusal(f"'{text}' is no IP address: give one as 192.0.2.7 or 2001:db8::7") from None


def _slots_by_name(data: object) -> object:
    """Replace slot names by slots; the error names those that are missing or unknown."""
    if not isinstance(data, dict):
        return data
    names = [slot.name for slot in Slot]
    unknown = [str(name) for name in data if name not in names]
    missing = [name for name in names if name not in data]
    if unknown or missing:
        words = [f"unknown: {', '.join(unknown)}"] if unknown else []
        words += [f"missing: {', '.join(missing)}"] if missing else []
        raise refusal(f"must have exactly {', '.join(names)}; {'; '.join(words)}")
    return {Slot[name]: polygon for name, polygon in data.items()}


def _host(text: str) -> str:
    if not re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^\s:/@]+)(:[0-9]{1,5})?|[0-9A-Fa-f:.]+", text):
        raise refusal(
            f"'{text}' is no host: give a name or an address, with ':PORT' where it has a port of "
            "its own"
        )
    return text


Hosts = Annotated[
    tuple[Annotated[str, AfterValidator(_host)], ...],
    BeforeValidator(lambda data: (data,) if isinstance(data, str) else data),
    Field(min_length=1),
]
ProfileName = Annotated[str, AfterValidator(_needed), AfterValidator(_profile_name)]
IpText = Annotated[str, AfterValidator(_ip)]
PathText = Annotated[str, AfterValidator(_from_folder)]
NeededText = Annotated[str, AfterValidator(_needed)]
NeededPath = Annotated[str, AfterValidator(_needed), AfterValidator(_from_folder)]
TopicLevel = Annotated[str, AfterValidator(_topic_level)]
Slots = Annotated[dict[Slot, Polygon], BeforeValidator(_slots_by_name)]
Port = Annotated[int, Field(ge=0, le=65535)]


class Section(BaseModel):
    """A section of the table file: frozen, and unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
