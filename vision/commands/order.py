"""`shoe-reader order`: give a signed order to a table and print the answer.

A client like any other: it goes through the broker, and the reader decides.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from vision.access.users import load_credential, load_users
from vision.board.feed import Feed
from vision.board.orders import Order, Orders, Second
from vision.config.table import TableConfig, load
from vision.errors import ConfigurationError, OutsideError
from vision.mqtt.endpoint import Endpoint, endpoint_of, explain_silence
from vision.wire.commands import COMMANDS, HOUSE_INPUTS, Fields, RefusedError
from vision.wire.messages import PREFIX

ANSWER_S = 10.0  # seconds until a table counts as silent; it looks for orders at every frame
LOOK_S = 0.01  # seconds between two looks whether the broker has accepted us


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("table", type=Path, metavar="TABLE.toml", help="names the broker")
    add("order", choices=sorted(COMMANDS), metavar="ORDER", help="such as void_coup")
    add("fields", nargs="*", metavar="FIELD=VALUE", help="such as coup=12")
    add("--key", type=Path, required=True, metavar="F", help="the secret key")
    add("--role", help="in which of the user's roles")
    add("--second", type=Path, metavar="F", help="the key of a second person who vouches for it")
    add("--second-role", default="inspector", metavar="R", help="in which role")
    add("--by", metavar="NAME", help="who gives it, where the key is a desk's")


def run(args: argparse.Namespace) -> None:
    """Send the order and print the answer; 3 when it is refused or none comes."""
    credential, config = load_credential(args.key), load(args.table)
    fields: Fields = dict(_field(text) for text in args.fields)
    if COMMANDS[args.order] not in HOUSE_INPUTS:
        by = args.by or credential.name
        role = args.role or _only_role(config, by)
        fields |= {"by": by, **({"role": role} if role else {})}
    second = None
    if args.second is not None:
        key = load_credential(args.second)
        second = Second(key.name, args.second_role, key)
    endpoint = endpoint_of(config.broker, config.orders)
    prefix = PREFIX.format(site=config.site, table=config.table)
    feed = Feed(endpoint, {config.table: prefix}, ("cmd/reply",))
    orders, order = Orders(feed, credential), Order(config.table, args.order, fields, second=second)
    try:
        orders.signed(order)
    except RefusedError as error:
        raise ConfigurationError(f"{args.order}: {error}; correct the field") from error
    answer = _answer(feed, orders, order, endpoint)
    if not answer["accepted"]:
        raise OutsideError(f"the order was refused: {answer['why']}")
    print(f"{args.order} by {answer['by']}: accepted")


def _only_role(config: TableConfig, name: str) -> str:
    """Return the role of who has one only, "" where this machine does not know.

    ConfigurationError where there are several.
    """
    path = Path(config.orders.users)
    user = load_users(path).users.get(name) if path.is_file() else None
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


def _answer(feed: Feed, orders: Orders, order: Order, endpoint: Endpoint) -> dict[str, Any]:
    """Give an order through the broker and return the answer; OutsideError where none comes."""
    feed.start()
    try:
        until_s = time.monotonic() + ANSWER_S
        while not feed.connected:
            # Of a cluster another node may let us in.
            if (feed.complaint and not endpoint.others) or time.monotonic() > until_s:
                raise OutsideError(feed.complaint or explain_silence(endpoint))
            time.sleep(LOOK_S)
        return orders.give(order).result(ANSWER_S)
    except TimeoutError:
        raise OutsideError(
            f"no answer through {endpoint} within {ANSWER_S:.0f} s; is the reader running, and "
            "may this user publish orders there ([orders] username)?"
        ) from None
    finally:
        feed.stop()
