"""`shoe-reader users`: who may give orders at the tables of a house.

Writes the users file and, for each new user with a key, the secret to a file of its own.
"""

from __future__ import annotations

import argparse
import getpass
import sys
from pathlib import Path
from typing import get_args

from vision.access.users import Credential, RoleName, User, Users, load_users, save_users
from vision.board.login.passwords import drop_password, save_password
from vision.errors import ConfigurationError

HELP = "who may give orders: add, list and remove"
FILE = Path("users.json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    add = actions.add_parser("add", help="add a user; the file is made if there is none")
    add.add_argument("name", metavar="NAME", help="as it is to stand in the log")
    add.add_argument(
        "--role", action="append", required=True, choices=get_args(RoleName), help="may be repeated"
    )
    add.add_argument("--key", type=Path, metavar="F", help="where the secret goes (NAME.key)")
    kind = add.add_mutually_exclusive_group()
    kind.add_argument(
        "--may-act-for", action="store_true", help="a desk: vouches for others in these roles"
    )
    kind.add_argument(
        "--through-desk", action="store_true", help="no key of one's own: speaks through a desk"
    )
    add.set_defaults(action=_add)
    password = actions.add_parser("password", help="set the password by which a user logs in")
    password.add_argument(
        "name", metavar="NAME", help="whose; asked for twice, or one line of input"
    )
    password.set_defaults(action=_password)
    shown = actions.add_parser("list", help="name the users and their roles")
    shown.set_defaults(action=_list)
    remove = actions.add_parser("remove", help="shut a user out, at once on running readers")
    remove.add_argument("name", metavar="NAME", help="who")
    remove.set_defaults(action=_remove)
    for action in (password, remove):
        action.add_argument(
            "--passwords",
            type=Path,
            metavar="F",
            help="their file (passwords.json beside the users)",
        )
    for action in (add, password, shown, remove):
        action.add_argument(
            "--file", type=Path, default=FILE, metavar="F", help="the users file (%(default)s)"
        )


def run(args: argparse.Namespace) -> int:
    """Do what is asked; ConfigurationError or OutsideError, and then nothing was changed."""
    args.action(args)
    return 0


def _add(args: argparse.Namespace) -> None:
    users = load_users(args.file) if args.file.exists() else Users()
    roles = tuple(dict.fromkeys(args.role))
    if args.through_desk:
        if args.key is not None:
            raise ConfigurationError("--key: a user --through-desk has none; leave one of them out")
        save_users(args.file, users.with_user(args.name, User(roles=roles)))
        print(f"{args.file}: {args.name} may speak through a desk as {', '.join(roles)}")
        return
    credential = Credential.new(args.name)
    user = User(roles=roles, key=credential.public, may_act_for=args.may_act_for)
    users = users.with_user(args.name, user)
    path = args.key or args.file.with_name(f"{_file_name(args.name)}.key")
    credential.save(path)
    try:
        save_users(args.file, users)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    print(f"{args.file}: {args.name} may speak as {', '.join(roles)}")
    print(f"{path}: the secret; hand it over and keep no copy. It is the only one")


def _list(args: argparse.Namespace) -> None:
    for name, user in load_users(args.file).users.items():
        how = "vouches for others as" if user.may_act_for else "speaks as"
        through = "" if user.key else " through a desk"
        print(f"{name} {how} {', '.join(user.roles)}{through}")


def _password(args: argparse.Namespace) -> None:
    user = load_users(args.file).users.get(args.name)
    if user is None or user.may_act_for:
        raise ConfigurationError(f"'{args.name}' is no person in {args.file}; see users list")
    password = _asked()
    path = _passwords(args)
    save_password(path, args.name, password)
    print(f"{path}: {args.name} has a new password")


def _asked() -> str:
    """Return a password typed twice, or a line of input where nobody types."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    password = getpass.getpass("Password: ")
    if getpass.getpass("Once more: ") != password:
        raise ConfigurationError("the two were not the same; nothing was changed")
    return password


def _passwords(args: argparse.Namespace) -> Path:
    given: Path | None = args.passwords
    return given or args.file.with_name("passwords.json")


def _remove(args: argparse.Namespace) -> None:
    save_users(args.file, load_users(args.file).without(args.name))
    drop_password(_passwords(args), args.name)
    print(f"{args.file}: {args.name} is removed")


def _file_name(name: str) -> str:
    """Return a name that can be a file's; ConfigurationError when it cannot."""
    if "/" in name or "\0" in name or name.startswith((".", "-")):
        raise ConfigurationError(f"'{name}': cannot be a file's name; give the secret's with --key")
    return name
