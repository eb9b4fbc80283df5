"""The people of a house for tests: one of each role, and the desk that speaks for them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from argon2 import PasswordHasher

from vision.access.users import Credential, RoleName, User, Users, save_users
from vision.board.login.passwords import PasswordEntry, change_account
from vision.clock import now_ms
from vision.config.table import TableConfig

PASSWORD = "three small words"
PEOPLE: dict[str, RoleName] = {
    "Bo": "dealer",
    "Ann": "inspector",
    "Cy": "surveillance",
    "Di": "engineer",
}


def house_of_people(folder: Path) -> tuple[Path, Path]:
    """Write the users, their passwords and the desk's key; return the users file and the key."""
    credential = Credential.new("desk-1")
    desk = User(roles=tuple(PEOPLE.values()), key=credential.public, may_act_for=True)
    users = Users(users={"desk-1": desk})
    for name, role in PEOPLE.items():
        users = users.with_user(name, User(roles=(role,)))
        change_account(folder / "passwords.json", name, lambda _: PasswordEntry(_hash(), now_ms()))
    save_users(folder / "users.json", users)
    credential.save(folder / "desk.key")
    return folder / "users.json", folder / "desk.key"


@cache
def _hash() -> str:
    """Return the hash of everybody's password, which takes a moment to make."""
    return PasswordHasher().hash(PASSWORD)


def with_desk(config: TableConfig, users: Path, key: Path, **desk: object) -> TableConfig:
    """Return the settings of a table whose board server has desks."""
    orders = config.orders.model_copy(update={"users": str(users)})
    settings = config.desk.model_copy(update={"key": str(key), **desk})
    return config.model_copy(update={"orders": orders, "desk": settings})
