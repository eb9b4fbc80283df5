"""`shoe-reader users`: who may give orders at the tables of a house, and who may log in there.

Writes the users file and, for each new user with a key, the secret to a file of its own; and the
passwords file, which board servers read again when it changes.
"""

from __future__ import annotations

import argparse
import getpass
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pyotp
import segno

from vision.access.users import Credential, RoleName, User, Users, load_users, save_users
from vision.board.login.passwords import (
    PasswordEntry,
    change_account,
    load_passwords,
    save_password,
    step_of,
)
from vision.clock import now_ms
from vision.commands import Run, actions_of
from vision.errors import ConfigurationError
from vision.files import locked
from vision.wire.messages import iso

ISSUER = "shoe-reader"  # as apps for codes show it beside the name
FILES = (Path("people/users.json"), Path("users.json"))  # that of `setup` first, if there is one


def add_arguments(parser: argparse.ArgumentParser) -> None:
    declare_action = actions_of(parser)
    file = next(filter(Path.exists, FILES), FILES[-1])

    def declare(
        name: str, run: Run, words: str, who: str = "", nargs: str | None = None
    ) -> argparse.ArgumentParser:
        declared = declare_action(name, run, words)
        add = declared.add_argument
        if who:
            add("name", metavar="NAME", nargs=nargs, help=who)
        add("--file", type=Path, default=file, metavar="F", help="the users file (%(default)s)")
        if run is not _add:
            words = "their file (passwords.json beside the users)"
            add("--passwords", type=Path, metavar="F", help=words)
        return declared

    words = "add a user; the file is made if there is none"
    adding = declare("add", _add, words, "as it is to stand in the log")
    add, roles = adding.add_argument, get_args(RoleName)
    add("--role", action="append", required=True, choices=roles, help="may be repeated")
    add = adding.add_mutually_exclusive_group().add_argument
    words = "a desk: vouches for others in these roles"
    add("--may-act-for", action="store_true", help=words)
    words = "no key of one's own: speaks through a desk"
    add("--through-desk", action="store_true", help=words)
    declare("password", _password, "set the password by which a user logs in",
            "whose; asked for twice, or one line of input")  # fmt: skip
    words = "set up the codes of a telephone (TOTP), which log-ins then ask for"
    second = declare("second-factor", _second_factor, words, "whose; they must have a password")
    second.add_argument("--remove", action="store_true", help="take it away")
    declare("list", _list, "list the users, their roles, and how they log in")
    declare("log-out", _log_out, "end the sessions of somebody, or of everybody",
            "who; everybody without a name", "?")  # fmt: skip
    declare("remove", _remove, "remove a user, at once on running readers", "who")


def _add(args: argparse.Namespace) -> None:
    with locked(args.file):
        users = load_users(args.file) if args.file.exists() else Users()
        roles = tuple(dict.fromkeys(args.role))
        if args.through_desk:
            save_users(args.file, users.with_user(args.name, User(roles=roles)))
            print(f"{args.file}: {args.name} may speak through a desk as {', '.join(roles)}")
            return
        credential = Credential.new(args.name)
        user = User(roles=roles, key=credential.public, may_act_for=args.may_act_for)
        users = users.with_user(args.name, user)
        path = _key_of(args)
        credential.save(path)
        try:
            save_users(args.file, users)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    print(f"{args.file}: {args.name} may speak as {', '.join(roles)}")
    print(f"{path}: the secret; hand it over and keep no copy. It is the only one")


def _key_of(args: argparse.Namespace) -> Path:
    """Return where the secret key goes; ConfigurationError where no file can have that name."""
    name: str = args.name
    if "/" in name or "\0" in name or name.startswith((".", "-")):
        raise ConfigurationError(
            f"'{name}': not a valid file name, which the secret key needs; take another name"
        )
    file: Path = args.file
    return file.with_name(f"{name}.key")


def _list(args: argparse.Namespace) -> None:
    accounts = _accounts(args)
    for name, user in load_users(args.file).users.items():
        how = "vouches for others as" if user.may_act_for else "speaks as"
        through = "" if user.key else " through a desk"
        account, log_in = accounts.get(name), ""
        if account is not None and account.hash:
            since = f" of {iso(account.since)[:10]}" if account.since else ""
            log_in = f"; password{since}{', second factor' if account.secret else ''}"
        print(f"{name} {how} {', '.join(user.roles)}{through}{log_in}")


def _log_out(args: argparse.Namespace) -> None:
    path, now = _passwords(args), now_ms()
    for name in [_person(args)] if args.name else _people(args):
        change_account(path, name, lambda account: replace(account, ended=now))
    print(f"{path}: the sessions of {args.name or 'everybody'} have ended")


def _second_factor(args: argparse.Namespace) -> None:
    _check_password(args)
    path = _passwords(args)
    if args.remove:
        change_account(path, args.name, lambda account: replace(account, secret=""))
        print(f"{path}: {args.name} has no second factor any more")
        return
    secret = pyotp.random_base32()
    address = pyotp.TOTP(secret).provisioning_uri(name=args.name, issuer_name=ISSUER)
    segno.make(address).terminal(compact=True)
    print(f"Scan it with an app for codes (TOTP), or type the secret in: {secret}")
    if sys.stdin.isatty():
        print("The code that it shows: ", end="", flush=True)
    code = sys.stdin.readline().strip().replace(" ", "")
    if not code.isascii() or not step_of(secret, code, time.time()):
        raise ConfigurationError(
            "the code is wrong or has expired; compare the clocks of the telephone and of this "
            "machine, and try again; nothing was changed"
        )
    change_account(path, args.name, lambda account: replace(account, secret=secret))
    print(f"{path}: {args.name} has a second factor; --remove takes that of a lost telephone away")


def _check_password(args: argparse.Namespace) -> None:
    if not _accounts(args).get(args.name, PasswordEntry()).hash:
        raise ConfigurationError(
            f"'{args.name}' has no password in {_passwords(args)}; set one with shoe-reader users "
            "password"
        )


def _password(args: argparse.Namespace) -> None:
    _person(args)
    if sys.stdin.isatty():
        password = getpass.getpass("Password: ")
        if getpass.getpass("Once more: ") != password:
            raise ConfigurationError("the two passwords differ; nothing was changed")
    else:
        password = sys.stdin.readline().rstrip("\n")
    path = _passwords(args)
    save_password(path, args.name, password)
    print(f"{path}: {args.name} has a new password; sessions of the old one have ended")


def _people(args: argparse.Namespace) -> list[str]:
    users = load_users(args.file).users
    return [name for name, user in users.items() if not user.may_act_for]


def _person(args: argparse.Namespace) -> str:
    name: str = args.name
    if name not in _people(args):
        raise ConfigurationError(
            f"'{name}' is not a person of {args.file}; shoe-reader users list shows them"
        )
    return name


def _passwords(args: argparse.Namespace) -> Path:
    given: Path | None = args.passwords
    return given or args.file.with_name("passwords.json")


def _accounts(args: argparse.Namespace) -> dict[str, PasswordEntry]:
    return load_passwords(_passwords(args), needed=False)


def _remove(args: argparse.Namespace) -> None:
    with locked(args.file):
        save_users(args.file, load_users(args.file).without(args.name))
    if _passwords(args).exists():
        change_account(_passwords(args), args.name, lambda _: None)
    print(f"{args.file}: {args.name} is removed")
