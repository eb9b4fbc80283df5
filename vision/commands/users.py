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
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import segno

from vision.access.users import Credential, RoleName, User, Users, load_users, save_users
from vision.board.login.passwords import (
    Account,
    change_account,
    drop_password,
    load_passwords,
    save_password,
)
from vision.board.login.second_factor import (
    address_of,
    enrolled,
    new_recovery_codes,
    new_secret,
    step_of,
    without,
)
from vision.board.login.sessions import end_sessions, kept_sessions
from vision.clock import now_ms
from vision.errors import ConfigurationError
from vision.files import locked

HELP = "who may give orders and log in: add, list and remove people, end their sessions"
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
    factor = actions.add_parser(
        "second-factor", help="set up the codes of a telephone (TOTP), which log-ins then ask for"
    )
    factor.add_argument("name", metavar="NAME", help="whose; they must have a password")
    factor.add_argument("--remove", action="store_true", help="take the second factor away")
    factor.set_defaults(action=_second_factor)
    unlock = actions.add_parser("unlock", help="end somebody's wait after wrong passwords")
    unlock.add_argument("name", metavar="NAME", help="who")
    unlock.set_defaults(action=_unlock)
    shown = actions.add_parser("list", help="name the users, their roles, and how they log in")
    shown.set_defaults(action=_list)
    sessions = actions.add_parser("sessions", help="name who is logged in, since when and where")
    sessions.set_defaults(action=_sessions)
    log_out = actions.add_parser("log-out", help="end the sessions of somebody, or of everybody")
    log_out.add_argument("name", metavar="NAME", nargs="?", help="who; everybody without a name")
    log_out.set_defaults(action=_log_out)
    remove = actions.add_parser("remove", help="shut a user out, at once on running readers")
    remove.add_argument("name", metavar="NAME", help="who")
    remove.set_defaults(action=_remove)
    for action in (password, factor, unlock, shown, sessions, log_out, remove):
        action.add_argument(
            "--passwords",
            type=Path,
            metavar="F",
            help="their file (passwords.json beside the users)",
        )
    for action in (sessions, log_out):
        action.add_argument(
            "--folder", type=Path, metavar="D", help="[desk] folder (that of the passwords)"
        )
    for action in (add, password, factor, unlock, shown, sessions, log_out, remove):
        action.add_argument(
            "--file", type=Path, default=FILE, metavar="F", help="the users file (%(default)s)"
        )


def run(args: argparse.Namespace) -> int:
    """Do what is asked; ConfigurationError or OutsideError, and then nothing was changed."""
    args.action(args)
    return 0


def _add(args: argparse.Namespace) -> None:
    with locked(args.file):
        users = load_users(args.file) if args.file.exists() else Users()
        _add_to(users, args)


def _add_to(users: Users, args: argparse.Namespace) -> None:
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
    path = _passwords(args)
    accounts = load_passwords(path) if path.exists() else {}
    for name, user in load_users(args.file).users.items():
        how = "vouches for others as" if user.may_act_for else "speaks as"
        through = "" if user.key else " through a desk"
        print(f"{name} {how} {', '.join(user.roles)}{through}{_log_in(accounts.get(name))}")


def _log_in(account: Account | None) -> str:
    if account is None or not account.hash:
        return ""
    since = f" of {_day(account.since / 1000)}" if account.since else ""
    return f"; password{since}{', second factor' if account.secret else ''}"


def _sessions(args: argparse.Namespace) -> None:
    for session in kept_sessions(_folder(args)):
        begun, seen = _moment(session.begun_s), _moment(session.seen_s)
        where = session.address or "unknown"
        print(f"{session.name} as {session.role} since {begun}, last seen {seen}, from {where}")


def _log_out(args: argparse.Namespace) -> None:
    ended = end_sessions(_folder(args), args.name)
    print(f"{ended} {'session' if ended == 1 else 'sessions'} ended")


def _unlock(args: argparse.Namespace) -> None:
    _check_password(args)
    path, now = _passwords(args), now_ms()
    change_account(path, args.name, lambda account: replace(account, unlocked=now))
    print(f"{path}: {args.name} may try again")


def _second_factor(args: argparse.Namespace) -> None:
    _check_password(args)
    path = _passwords(args)
    if args.remove:
        change_account(path, args.name, without)
        print(f"{path}: {args.name} has no second factor any more")
        return
    secret = new_secret()
    segno.make(address_of(args.name, secret)).terminal(compact=True)
    print(f"Scan it with an app for codes (TOTP), or type the secret in: {secret}")
    code = _asked_line("The code that it shows: ").replace(" ", "")
    if not code.isascii() or not step_of(secret, code, time.time()):
        raise ConfigurationError(
            "that is not the code of now; compare the clocks of the telephone and of this machine, "
            "and begin again; nothing was changed"
        )
    codes = new_recovery_codes()
    change_account(path, args.name, lambda account: enrolled(account, secret, codes))
    print(f"{path}: {args.name} has a second factor. In place of a lost telephone, each once:")
    for recovery in codes:
        print(f"  {recovery}")


def _check_password(args: argparse.Namespace) -> None:
    path = _passwords(args)
    if args.name not in (load_passwords(path) if path.exists() else {}):
        raise ConfigurationError(
            f"'{args.name}' has no password in {path}; set one with shoe-reader users password"
        )


def _password(args: argparse.Namespace) -> None:
    user = load_users(args.file).users.get(args.name)
    if user is None or user.may_act_for:
        raise ConfigurationError(f"'{args.name}' is no person in {args.file}; see users list")
    password = _asked()
    path = _passwords(args)
    save_password(path, args.name, password)
    print(f"{path}: {args.name} has a new password; sessions of the old one have ended")


def _asked() -> str:
    """Return a password typed twice, or a line of input where nobody types."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    password = getpass.getpass("Password: ")
    if getpass.getpass("Once more: ") != password:
        raise ConfigurationError("the two were not the same; nothing was changed")
    return password


def _asked_line(prompt: str) -> str:
    if sys.stdin.isatty():
        print(prompt, end="", flush=True)
    return sys.stdin.readline().strip()


def _folder(args: argparse.Namespace) -> Path:
    given: Path | None = args.folder
    return given or _passwords(args).parent


def _day(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d")


def _moment(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _passwords(args: argparse.Namespace) -> Path:
    given: Path | None = args.passwords
    return given or args.file.with_name("passwords.json")


def _remove(args: argparse.Namespace) -> None:
    with locked(args.file):
        save_users(args.file, load_users(args.file).without(args.name))
    drop_password(_passwords(args), args.name)
    print(f"{args.file}: {args.name} is removed")


def _file_name(name: str) -> str:
    """Return a name that can be a file's; ConfigurationError when it cannot."""
    if "/" in name or "\0" in name or name.startswith((".", "-")):
        raise ConfigurationError(f"'{name}': cannot be a file's name; give the secret's with --key")
    return name
