"""Write the configuration of each node of a house's broker cluster from one file.

    python3 make_cluster.py FLOOR.toml OUT

FLOOR.toml says the site, the nodes and the users (floor.example.toml); rights come from the roles
in ../mosquitto/roles, so that a role means the same at either broker. OUT gets NODE.conf for each
node, users.conf, which is the same for all, and `passwords`, one NAME:PASSWORD a line, drawn at the
first run: give each client its own, and keep the file where nobody else reads it. A password may be
replaced by its bcrypt hash (`htpasswd -nB NAME`); users.conf has what the line has.
"""

from __future__ import annotations

import re
import secrets
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROLES = Path(__file__).resolve().parent.parent / "mosquitto" / "roles"
# Characters of a topic's level here. No dot: nats-server 2.9 ends the connection of a client that
# uses a topic with a dot in it.
LEVEL = re.compile(r"[A-Za-z0-9_-]{1,64}")
# Bytes of a password drawn here: 144 bits, which nobody tries out. Fewer could be guessed.
PASSWORD_BYTES = 18
# Ports of a node unless FLOOR.toml says otherwise: NATS clients (a pair of readers), MQTT, and the
# other nodes. MQTT's is that of mosquitto here, so a table file needs no other.
PORTS = {"client": 4222, "mqtt": 8883, "cluster": 6222}

NODE = """\
# Node {name} of the brokers of {site}. Written by make_cluster.py: change FLOOR.toml instead.
server_name: {name}
listen: "{listen}:{client}"
max_payload: {max_payload}
jetstream {{ store_dir: "{store}" }}
{tls}mqtt {{
  listen: "{listen}:{mqtt}"
{tls}  # A display that was sent a message and died gets it again so much later.
  ack_wait: "10s"
  # What a display may have received and not acknowledged.
  max_ack_pending: 1000
  stream_replicas: {replicas}
{anybody}}}
{cluster_block}include "users.conf"
"""
CLUSTER = """\
cluster {{
  name: "{site}"
  listen: "{listen}:{cluster}"
  no_advertise: true
  authorization {{ user: "route", password: "{password}" }}
  routes: [{routes}]
{tls}{advertise}}}
"""
TLS = """\
  tls {{
    cert_file: "{certs}/server.crt"
    key_file: "{certs}/server.key"
    ca_file: "{certs}/ca.crt"
  }}
"""

# Kilobytes of the largest message, unless FLOOR.toml says otherwise: [broker] max_message_kb of the
# tables by default, and room for the topic. Smaller, and clips of alerts are not taken.
PAYLOAD_KB = 4200


# Ends the name of the user as whom a pair of readers comes to its store, a client of NATS.
STORE = "-store"


class FloorError(Exception):
    """FLOOR.toml makes no sense; the words say what, and the cure."""


def main(arguments: list[str]) -> int:
    """Write the files; 2 where FLOOR.toml cannot be used."""
    if len(arguments) != 2:
        sys.stderr.write(__doc__ or "")
        return 2
    floor, out = Path(arguments[0]), Path(arguments[1])
    try:
        write(tomllib.loads(floor.read_text("utf-8")), out)
    except (FloorError, OSError, tomllib.TOMLDecodeError) as error:
        sys.stderr.write(f"{floor}: {error}\n")
        return 2
    return 0


def write(floor: Mapping[str, Any], out: Path) -> None:
    """Write the files of all nodes below `out`."""
    site = floor.get("site", "")
    if not LEVEL.fullmatch(site):
        raise FloorError(f"site: '{site}' cannot stand in a topic of a cluster: no dots, no spaces")
    if len(floor.get("nodes", {})) not in (1, 3, 5):
        raise FloorError("nodes: give three (or five), so that a majority is left when one dies")
    out.mkdir(parents=True, exist_ok=True)
    # Nothing is written of a floor that makes no sense.
    passwords = passwords_of(floor, out)
    users = users_conf(floor, passwords)
    nodes = {name: node_conf(floor, name, passwords["route"]) for name in floor["nodes"]}
    lines = "".join(f"{name}:{password}\n" for name, password in passwords.items())
    _write_secret(out / "passwords", lines)
    _write_secret(out / "users.conf", users)
    for name, text in nodes.items():
        _write_secret(out / f"{name}.conf", text)


def node_conf(floor: Mapping[str, Any], name: str, password: str) -> str:
    """Return the configuration of a node; `password` is that of the nodes among themselves."""
    node = {**PORTS, "listen": "0.0.0.0", **floor["nodes"][name]}  # noqa: S104  all of its networks
    tls = TLS.format(certs=floor["certs"]) if floor.get("certs") else ""
    anybody = floor.get("anybody", "")
    values = {
        **{key: node[key] for key in (*PORTS, "listen")},
        "name": name,
        "site": floor["site"],
        "store": node.get("store", f"/var/lib/nats/{name}"),
        "max_payload": floor.get("max_payload_kb", PAYLOAD_KB) * 1000,
        "replicas": min(3, len(floor["nodes"])),
        "tls": tls,
        "anybody": f'  no_auth_user: "{anybody}"\n' if anybody else "",
        "routes": ", ".join(f'"nats://route:{password}@{at}"' for at in routes(floor, name)),
        "password": password,
        "advertise": f'  advertise: "{node["advertise"]}"\n' if "advertise" in node else "",
    }
    block = CLUSTER.format(**values) if len(floor["nodes"]) > 1 else ""
    return NODE.format(**values, cluster_block=block)


def routes(floor: Mapping[str, Any], name: str) -> list[str]:
    """Return where a node finds the others."""
    given: list[str] = floor["nodes"][name].get("routes", [])
    return given or [
        f"{other['host']}:{ {**PORTS, **other}['cluster'] }"
        for key, other in floor["nodes"].items()
        if key != name
    ]


def users_conf(floor: Mapping[str, Any], passwords: Mapping[str, str]) -> str:
    """Return the accounts: one for the house with its users, one for whoever runs the brokers."""
    lines = ["accounts {", "  HOUSE {", "    jetstream: enabled", "    users: ["]
    for name, role in floor.get("users", {}).items():
        publish, subscribe = rights(floor["site"], name, role)
        lines += _user(name, passwords, "MQTT", publish, subscribe)
        kind, _, table = role.partition(":")
        if kind == "reader":
            pair, inbox = pair_rights(floor["site"], table)
            lines += _user(name + STORE, passwords, "STANDARD", pair, [inbox])
    if anybody := floor.get("anybody", ""):
        lines.append(f'      {{ user: "{anybody}", password: "{passwords[anybody]}" }}')
    lines += [
        "    ]",
        "  }",
        f'  SYS {{ users: [ {{ user: "sys", password: "{passwords["sys"]}" }} ] }}',
    ]
    return "\n".join([*lines, "}", "system_account: SYS", ""])


def _user(
    name: str, passwords: Mapping[str, str], kind: str, publish: list[str], subscribe: list[str]
) -> list[str]:
    """Return the lines of a user, who comes by that kind of connection only.

    A client of NATS could listen to what the server hands to every client of MQTT.
    """
    return [
        f'      {{ user: "{name}", password: "{passwords[name]}",',
        f'        allowed_connection_types: ["{kind}"], permissions {{',
        f"        publish {{ {_allowed(publish)} }}",
        f"        subscribe {{ {_allowed(subscribe)} }} }} }}",
    ]


def _allowed(subjects: list[str]) -> str:
    return f"allow: {_list(subjects)}" if subjects else 'deny: [">"]'


def _list(subjects: list[str]) -> str:
    return "[" + ", ".join(f'"{subject}"' for subject in subjects) + "]"


def rights(site: str, name: str, role: str) -> tuple[list[str], list[str]]:
    """Return the subjects on which a user may publish, and those to which it may subscribe.

    `role` is ROLE or ROLE:TABLE, as make-acl.sh has it.
    """
    kind, _, table = role.partition(":")
    file = ROLES / f"{kind}.acl"
    if not LEVEL.fullmatch(name) or not file.is_file():
        raise FloorError(f"users: {name} = '{role}': roles are {', '.join(role_names())}")
    text = file.read_text("utf-8")
    if "/TABLE/" in text and not LEVEL.fullmatch(table):
        raise FloorError(f'users: {name}: name the table, as "{kind}:7"; no dots in its name')
    publish: list[str] = []
    subscribe = ["$MQTT.sub.>"]  # over which the server hands QoS 1 messages to a client
    for may, topic in re.findall(r"^topic (read|write) (\S+)$", text, re.MULTILINE):
        topic = topic.replace("SITE", site).replace("TABLE", table)
        (publish if may == "write" else subscribe).extend(subjects_of(topic))
    return publish, subscribe


def subjects_of(topic: str) -> Iterator[str]:
    """Yield the NATS subjects of an MQTT topic filter; `a/#` is `a` and all below it."""
    subject = topic.replace("/", ".").replace("+", "*")
    if subject.endswith(".#"):
        yield subject.removesuffix(".#")
        subject = subject.removesuffix("#") + ">"
    yield subject


def pair_rights(site: str, table: str) -> tuple[list[str], str]:
    """Return what a pair of readers needs for its records and its lease, and its inbox."""
    key = f"{site}.{table}"
    streams = (f"shoe-reader-log-{site}-{table}", "KV_shoe-reader-lease")
    api = [f"$JS.API.STREAM.{what}.{stream}" for stream in streams for what in ("INFO", "CREATE")]
    api += [f"$JS.API.STREAM.MSG.GET.{stream}" for stream in streams]
    return [*api, f"shoe-reader.log.{key}", f"$KV.shoe-reader-lease.{key}"], f"_INBOX.{key}.>"


def role_names() -> list[str]:
    """Return the roles that there are."""
    return sorted(path.stem for path in ROLES.glob("*.acl"))


def passwords_of(floor: Mapping[str, Any], out: Path) -> dict[str, str]:
    """Return the password of each user; for those that have none yet one is drawn."""
    file = out / "passwords"
    kept = file.read_text("utf-8").splitlines() if file.exists() else []
    found = dict(line.split(":", 1) for line in kept if ":" in line)
    users = floor.get("users", {})
    stores = [name + STORE for name, role in users.items() if role.startswith("reader:")]
    names = [*users, *stores, "sys", "route", *filter(None, [floor.get("anybody", "")])]
    for name in names:
        found.setdefault(name, secrets.token_urlsafe(PASSWORD_BYTES))
    return found


def _write_secret(file: Path, text: str) -> None:
    file.touch(mode=0o600)
    file.write_text(text, "utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
