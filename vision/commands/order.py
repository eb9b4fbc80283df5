"""`shoe-reader order`: give a signed order to a table and print the answer.

A client like any other: it goes through the broker, and the reader decides.
"""

from __future__ import annotations

import argparse
import json
import queue
import secrets
import threading
from pathlib import Path
from typing import Any

from vision.access.users import load_credential, load_users
from vision.clock import now_ms
from vision.config.table import TableConfig, load
from vision.errors import ConfigurationError, OutsideError
from vision.mqtt.endpoint import (
    Endpoint,
    endpoint_of,
    explain_error,
    new_client,
    reachable,
)
from vision.wire.commands import COMMANDS, HOUSE_INPUTS, Fields, RefusedError, order_fields
from vision.wire.messages import PREFIX

ANSWER_S = 10.0  # seconds until a table counts as silent; it looks for orders at every frame


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("table", type=Path, metavar="TABLE.toml", help="names the broker")
    parser.add_argument(
        "order", choices=sorted(COMMANDS), metavar="ORDER", help="such as void_coup"
    )
    parser.add_argument("fields", nargs="*", metavar="FIELD=VALUE", help="such as coup=12")
    parser.add_argument("--key", type=Path, required=True, metavar="F", help="the secret key")
    parser.add_argument("--role", help="in which of the user's roles")
    parser.add_argument(
        "--second", type=Path, metavar="F", help="the key of a second person who vouches for it"
    )
    parser.add_argument("--second-role", default="inspector", metavar="R", help="in which role")
    parser.add_argument("--by", metavar="NAME", help="who gives it, where the key is a desk's")


def run(args: argparse.Namespace) -> int:
    """Send the order and print the answer; 3 when it is refused or none comes."""
    credential, config = load_credential(args.key), load(args.table)
    # The answer is known by its `ref`.
    fields: Fields = {"ref": secrets.token_hex(8), **dict(_field(text) for text in args.fields)}
    if COMMANDS[args.order] not in HOUSE_INPUTS:
        by = args.by or credential.name
        role = args.role or _only_role(config, by)
        fields |= {"by": by, **({"role": role} if role else {})}
    prefix = PREFIX.format(site=config.site, table=config.table) + "cmd/"
    second = None if args.second is None else load_credential(args.second)
    if second is not None:
        named = {"second": second.name, "second_key": second.name, "second_role": args.second_role}
        fields |= named
    signed = credential.sign(prefix + args.order, fields, now_ms())
    if second is not None:
        signed["second_sig"] = second.vouch(prefix + args.order, signed)
    try:
        order_fields(json.dumps(signed).encode())
    except RefusedError as error:
        raise ConfigurationError(f"{args.order}: {error}; correct the field") from error
    answer = _ask(config, prefix, args.order, signed)
    if not answer["accepted"]:
        raise OutsideError(f"the order was refused: {answer['why']}")
    print(f"{args.order} by {answer['by']}: accepted")
    return 0


def _only_role(config: TableConfig, name: str) -> str:
    """Return the role of who has one only, "" where this machine does not know.

    ConfigurationError where there are several.
    """
    path = Path(config.orders.users) if config.orders.users else None
    user = load_users(path).users.get(name) if path is not None and path.exists() else None
    roles = () if user is None else user.roles
    if len(roles) > 1:
        raise ConfigurationError(f"--role: {name} has several; give one of {', '.join(roles)}")
    return next(iter(roles), "")


def _field(text: str) -> tuple[str, str | int | bool]:
    """Read `coup=12`; a whole number and true or false are taken as such."""
    key, equals, value = text.partition("=")
    if not equals:
        raise ConfigurationError(f"'{text}': write FIELD=VALUE, as coup=12")
    if value in ("true", "false"):
        return key, value == "true"
    # Not each number is one: shoes and references are texts.
    return key, int(value) if value.isdecimal() and key not in ("shoe", "ref", "reason") else value


def _endpoint(config: TableConfig) -> Endpoint:
    """Return how orders reach the broker: by the account of [orders], if it has one.

    The reader's own may not give orders where the broker has rights by role.
    """
    own = config.orders
    if not own.username:
        return endpoint_of(config.broker)
    names = {"username": own.username, "password_env": own.password_env}
    return endpoint_of(config.broker.model_copy(update=names))


def _ask(config: TableConfig, prefix: str, name: str, signed: Fields) -> dict[str, Any]:
    """Publish an order and wait for its answer, known by its `ref`."""
    endpoint = reachable(_endpoint(config))
    answers: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    listening = threading.Event()
    client = new_client(endpoint, f"shoe-reader-order-{signed['nonce']}")
    client.on_message = lambda _c, _d, message: answers.put(json.loads(message.payload))
    client.on_subscribe = lambda *_: listening.set()

    def on_connect(*_: object) -> None:
        client.subscribe(prefix + "reply", 1)

    client.on_connect = on_connect
    try:
        client.connect(endpoint.host, endpoint.port, endpoint.keepalive_s)
    except (OSError, ValueError) as error:
        raise OutsideError(explain_error(error, endpoint)) from error
    client.loop_start()
    try:
        if not listening.wait(ANSWER_S):
            raise OutsideError(
                f"the broker at {endpoint} sends no answers to this account; check its access list"
            )
        client.publish(prefix + name, json.dumps(signed), qos=1)
        return _answer(answers, str(signed.get("ref", "")), endpoint)
    finally:
        client.disconnect()
        client.loop_stop()


def _answer(
    answers: queue.SimpleQueue[dict[str, Any]], ref: str, endpoint: Endpoint
) -> dict[str, Any]:
    while True:
        try:
            answer = answers.get(timeout=ANSWER_S)
        except queue.Empty:
            raise OutsideError(
                f"no answer through {endpoint} within {ANSWER_S:.0f} s; is the reader running, and "
                "may this user publish orders there ([orders] username)?"
            ) from None
        if answer.get("ref") == ref:
            return answer
