"""Orders are taken only from people who are named, may speak, are fresh, and once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from vision.access.command_gate import Gate
from vision.access.users import Credential, RoleName, User, Users, load_users, save_users
from vision.errors import ConfigurationError
from vision.wire.commands import RefusedError

PREFIX = "casino/house/table/7/cmd/"
NOON = 1_700_000_000_000
FRESH = 30_000


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> int:
        """Tell the time."""
        return self.now


class House:
    """A users file with one of each kind, and a gate before it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "users.json"
        self.keys = {name: Credential.new(name) for name in ("Ann", "Bo", "desk", "system", "Eve")}
        self.users = Users(
            users={
                "Ann": self.user("Ann", "inspector", "dealer"),
                "Bo": self.user("Bo", "dealer"),
                "Cy": User(roles=("inspector", "surveillance")),
                "desk": User(roles=("dealer", "inspector"), key=self.key("desk"), may_act_for=True),
                "system": self.user("system", "house"),
            }
        )
        save_users(self.path, self.users)
        self.clock = Clock()
        self.gate = self.new_gate()

    def key(self, name: str) -> str:
        """Return somebody's public key."""
        return self.keys[name].public

    def user(self, name: str, *roles: RoleName) -> User:
        """Return somebody with a key."""
        return User(roles=roles, key=self.key(name))

    def new_gate(self) -> Gate:
        """Return a gate that remembers nothing."""
        return Gate(PREFIX, self.path, FRESH, lambda: (self.clock(),))

    def signed(
        self,
        key: str,
        name: str = "void_coup",
        *,
        prefix: str = PREFIX,
        at: int = NOON,
        **fields: Any,
    ) -> dict[str, Any]:
        """Return the fields of an order signed with somebody's key."""
        return self.keys[key].sign(prefix + name, fields, at)

    def admit(self, fields: Mapping[str, object], name: str = "void_coup") -> None:
        """Bring an order to the gate, and have it count what is refused, as the intake does."""
        try:
            signed = self.gate.verify(name, dict(fields))
        except RefusedError as error:
            self.gate.note_refusal(name, error)
            raise
        self.gate.admit(signed)

    def refuses(self, words: str, fields: Mapping[str, object], name: str = "void_coup") -> None:
        """Assert that the gate refuses an order with these words."""
        with pytest.raises(RefusedError, match=words):
            self.admit(fields, name)


@pytest.fixture
def house(tmp_path: Path) -> House:
    """Give a house."""
    return House(tmp_path)


ANN: dict[str, Any] = {"by": "Ann", "role": "inspector", "coup": 3}


def test_signed_order_of_a_named_person_is_admitted(house: House) -> None:
    """Who is in the users file and signs is let in; nothing is counted as refused."""
    house.admit(house.signed("Ann", **ANN))
    assert house.gate.refused == 0


def test_desk_speaks_for_a_person_in_the_roles_of_both(house: House) -> None:
    """A desk vouches for who is logged in there: in a role of that person, and of its own."""
    house.admit(house.signed("desk", by="Cy", role="inspector", coup=3))
    house.refuses("desk may not speak as surveillance",
                  house.signed("desk", by="Cy", role="surveillance", coup=3))  # fmt: skip
    house.refuses("Bo may not speak as inspector",
                  house.signed("desk", by="Bo", role="inspector", coup=3))  # fmt: skip
    house.refuses("no user 'Zed'", house.signed("desk", by="Zed", role="dealer", coup=3))
    house.refuses("only for people", house.signed("desk", by="desk", role="dealer", coup=3))


def test_system_of_the_house_says_what_the_house_says(house: House) -> None:
    """Bets closed and the like need the role `house`; that role gives no other order."""
    house.admit(house.signed("system", "bets_closed"), "bets_closed")
    house.refuses("Ann may not speak as house", house.signed("Ann", "bets_closed"), "bets_closed")
    house.refuses(
        "system may not speak as inspector",
        house.signed("system", by="system", role="inspector", coup=3),
    )


def test_order_without_a_role_still_needs_a_user(house: House) -> None:
    """What is missing in an order is for its form to tell; whose it is, is checked all the same."""
    house.admit(house.signed("Ann", by="Ann", coup=3))
    house.refuses("signature", house.signed("Eve", by="Eve", coup=3))


def test_order_of_another_person_table_or_name_is_refused(house: House) -> None:
    """A signature is good for one order, at one table, by its signer."""
    house.refuses("Ann may not speak for others", house.signed("Ann", **{**ANN, "by": "Cy"}))
    house.refuses("signature", house.signed("Eve", **ANN))
    house.refuses("signature", {**house.signed("Eve", **ANN), "key": "Ann"})
    house.refuses("signature", house.signed("Ann", "confirm", **ANN))
    other = PREFIX.replace("/7/", "/8/")
    house.refuses("signature", house.signed("Ann", prefix=other, **ANN))
    house.refuses("Ann may not speak as surveillance",
                  house.signed("Ann", **{**ANN, "role": "surveillance"}))  # fmt: skip
    assert house.gate.refused == 6


@pytest.mark.parametrize("field", ["by", "role", "coup", "key", "nonce", "time", "sig"])
def test_order_with_any_field_changed_or_missing_is_refused(house: House, field: str) -> None:
    """Nothing of a signed order can be changed on the way."""
    fields = house.signed("Ann", **ANN)
    value = fields[field]
    changed = value + 1 if isinstance(value, int) else ("e" if value[0] != "e" else "f") + value[1:]
    house.refuses("signature|signed|user|text|speak", {**fields, field: changed})
    house.refuses(
        "signature|signed|user|text|speak",
        {key: kept for key, kept in fields.items() if key != field},
    )
    house.refuses("signature|signed|user|text|speak", {**fields, "reason": "slipped in"})
    house.admit(fields)


def test_person_with_no_key_cannot_sign(house: House) -> None:
    """Who speaks through a desk only is not let in with an empty key."""
    house.refuses("signature", {**house.signed("Eve", **{**ANN, "by": "Cy"}), "key": "Cy"})


@pytest.mark.parametrize("late", [-FRESH - 1, FRESH + 1, -86_400_000])
def test_order_that_is_not_fresh_is_refused(house: House, late: int) -> None:
    """An old order, or one from a clock ahead, is told how far off it is."""
    house.refuses(r"signed \d+ s (ago|ahead)", house.signed("Ann", at=NOON + late, **ANN))
    house.admit(house.signed("Ann", at=NOON + (FRESH if late > 0 else -FRESH), **ANN))


def test_order_given_again_is_refused_also_after_a_restart(house: House) -> None:
    """A recorded order is worth nothing, whatever it is played to."""
    fields = house.signed("Ann", **ANN)
    house.admit(fields)
    house.refuses("given already", fields)
    house.gate = house.new_gate()
    house.gate.remember([fields], NOON)
    house.refuses("given already", fields)


def test_clock_set_back_makes_no_old_order_good(house: House) -> None:
    """Who sets the reader's clock back an hour cannot play the orders of that hour again."""
    old = house.signed("Ann", at=NOON - 3_600_000, **ANN)
    house.admit(house.signed("Ann", **ANN))
    house.clock.now = NOON - 3_600_000
    house.refuses("compare the clocks", old)


def test_memory_is_bounded_and_closed_when_full(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flood by a user fills no memory and opens no gap; later orders are taken again."""
    monkeypatch.setattr("vision.access.command_gate.MEMORY", 10)
    for _ in range(10):
        house.admit(house.signed("Ann", **ANN))
    house.refuses("too many orders", house.signed("Bo", by="Bo", role="dealer", coup=3))
    house.clock.now += 10 * FRESH
    house.admit(house.signed("Ann", at=NOON + 10 * FRESH, **ANN))


def test_user_removed_is_shut_out_at_once(house: House) -> None:
    """No restart is needed to take a right away, or to give one."""
    save_users(house.path, house.users.without("Ann"))
    house.refuses("signature", house.signed("Ann", **ANN))
    save_users(house.path, house.users.with_user("Eve", house.user("Eve", "inspector")))
    house.admit(house.signed("Eve", by="Eve", role="inspector", coup=3))


def test_signer_who_was_removed_while_the_order_waited_is_refused(house: House) -> None:
    """The signature is verified once; whose it is counts until the order is taken."""
    signed = house.gate.verify("void_coup", house.signed("Ann", **ANN))
    asked = house.gate.verify("replay", house.signed("Ann", "replay", first=1, last=2))
    save_users(house.path, house.users.without("Ann"))
    for given in (house.gate.admit, house.gate.take):
        with pytest.raises(RefusedError, match="signature"):
            given(signed if given == house.gate.admit else asked)


def test_request_is_taken_once(house: House) -> None:
    """What changes nothing costs something too: it is not served again to who recorded it."""
    asked = house.gate.verify("replay", house.signed("Ann", "replay", first=1, last=2))
    house.gate.take(asked)
    with pytest.raises(RefusedError, match="given already"):
        house.gate.take(asked)


def test_users_file_gone_or_open_to_others_shuts_the_gate(house: House) -> None:
    """A users file that cannot be trusted lets nobody in, at the start or later."""
    house.path.chmod(0o666)
    house.refuses("users file is faulty", house.signed("Ann", **ANN))
    with pytest.raises(ConfigurationError, match="chmod go-w"):
        house.new_gate()
    house.path.unlink()
    house.refuses("users file is faulty", house.signed("Ann", **ANN))


def test_reader_without_users_file_takes_no_order_and_says_why(house: House) -> None:
    """The default is shut, and the answer says how to open."""
    house.gate = Gate(PREFIX, None, FRESH, lambda: (house.clock(),))
    house.refuses("shoe-reader users add", house.signed("Ann", **ANN))


def test_users_are_never_gone_while_their_file_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks meanwhile has the users of before: the log would say that all were removed."""
    house = House(tmp_path)
    seen: list[int] = []

    def load(path: Path) -> Users:
        seen.append(len(house.gate.users.users))
        return load_users(path)

    monkeypatch.setattr(house.gate._file, "_load", load)
    os.utime(house.path)
    house.admit(house.signed("Ann", **ANN))
    assert seen == [len(house.gate.users.users)]
    assert seen[0] > 0
