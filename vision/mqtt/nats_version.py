"""Ask nats-servers for their versions, which they say before anybody has logged in."""

from __future__ import annotations

import json
import socket

from vision.errors import OutsideError

# The first nats-server without the holes that were known when this was written (CVE-2025-30215,
# CVE-2026-33222); an older one lets strangers into the store.
LEAST_SERVER = (2, 11, 15)
PORT = 4222  # of a nats-server's clients where an address names none
ANSWER_S = 3.0  # seconds; a server that is there greets at once, so longer only delays the fault
GREETING = b"INFO "
MOST_BYTES = 65_536  # of a greeting: one has some 500; more is no nats-server's

Version = tuple[int, ...]


def version_of(server: str) -> Version:
    """Return the version of the nats-server at HOST or HOST:PORT; OutsideError."""
    host, _, port = server.rpartition("://")[2].rpartition(":")
    address = (host, int(port)) if host and port.isdecimal() else (port, PORT)
    try:
        with socket.create_connection(address, ANSWER_S) as wire, wire.makefile("rb") as lines:
            line = lines.readline(MOST_BYTES)
    except OSError as error:
        raise OutsideError(
            f"the nats-server at {server} does not answer: {error}; start it, or correct [standby] "
            "servers"
        ) from error
    try:
        if not line.startswith(GREETING):
            raise ValueError(line)
        text = str(json.loads(line.removeprefix(GREETING))["version"])
        return tuple(int(part) for part in text.partition("-")[0].split("."))
    except (ValueError, KeyError, TypeError) as error:
        raise OutsideError(
            f"the server at {server} is not a nats-server; correct [standby] servers (the port of "
            "clients, not that of MQTT)"
        ) from error


def dotted(version: Version) -> str:
    """Write a version as people do."""
    return ".".join(map(str, version))
