"""What one person alone cannot order: two signatures that the reader verifies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from vision.access.command_gate import (
    NEEDED,
    Gate,
    Ordered,
    Policy,
    asks_for_seconds,
    check_vouched,
)
from vision.access.users import Credential, RoleName, User, Users, save_users
from vision.wire.commands import RefusedError, read_command, signed_text

PREFIX = "casino/lisboa/table/7/cmd/"
NOON = 1_700_000_000_000


class House:
    """People with keys of their own, and a desk that speaks for those who have none."""

    def __init__(self, folder: Path) -> None:
        self.keys = {name: Credential.new(name) for name in ("Ann", "Eve", "Bo", "desk")}
        self.users = Users(
            users={
                "Ann": self.user("Ann", "inspector"),
                "Eve": self.user("Eve", "inspector"),
                "Bo": self.user("Bo", "dealer"),
                "Cy": User(roles=("surveillance",)),
                "desk": User(
                    roles=("inspector", "surveillance"),
                    key=self.keys["desk"].public,
                    may_act_for=True,
                ),
            }
        )
        save_users(folder / "users.json", self.users)
        self.gate = Gate(PREFIX, folder / "users.json", 30_000, lambda: (NOON,))

    def user(self, name: str, *roles: RoleName) -> User:
        """Return somebody with a key."""
        return User(roles=roles, key=self.keys[name].public)

    def order(self, second: dict[str, str], signer: str, **changes: Any) -> dict[str, Any]:
        """Return an order by Ann that a second person has signed too."""
        fields = {"by": "Ann", "role": "inspector", "coup": 3, **second}
        signed = self.keys["Ann"].sign(PREFIX + "void_coup", fields, NOON)
        vouched = self.keys[signer].sign_text(signed_text(PREFIX + "void_coup", signed))
        return {**signed, "second_sig": vouched, **changes}

    def admit(self, fields: dict[str, Any]) -> None:
        """Bring an order to the gate."""
        self.gate.admit(self.gate.verify("void_coup", fields))


@pytest.fixture
def house(tmp_path: Path) -> House:
    """Give a house."""
    return House(tmp_path)


EVE = {"second": "Eve", "second_role": "inspector", "second_key": "Eve"}
CY = {"second": "Cy", "second_role": "surveillance", "second_key": "desk"}


def test_two_people_sign_the_same_order(house: House) -> None:
    """With keys of their own, or through a desk."""
    for second, signer in ((EVE, "Eve"), (CY, "desk")):
        fields = house.order(second, signer)
        house.admit(fields)


@pytest.mark.parametrize(
    ("second", "signer", "words"),
    [
        ({**EVE, "second": "Ann", "second_key": "Ann"}, "Ann", "another person"),
        ({**EVE, "second": "Zed"}, "Eve", "another person"),
        (EVE, "Ann", "not that of second_key"),
        ({**EVE, "second_role": "dealer"}, "Eve", "for an inspector or surveillance"),
        ({"second": "Bo", "second_role": "inspector", "second_key": "Bo"}, "Bo", "second_role"),
        ({**CY, "second_key": "Eve"}, "Eve", "may not speak for Cy"),
        ({"second": "Eve"}, "Eve", "second_role"),
    ],
)
def test_second_person_who_may_not_vouch_is_refused(
    house: House, second: dict[str, str], signer: str, words: str
) -> None:
    """The first person, a stranger, a dealer, a wrong key: none stands for the second."""
    with pytest.raises(RefusedError, match=words):
        house.admit(house.order(second, signer))


@pytest.mark.parametrize("field", ["coup", "second", "second_role", "second_key", "second_sig"])
def test_order_of_two_cannot_be_changed(house: House, field: str) -> None:
    """Each signature covers everything but the two signatures."""
    fields = house.order(EVE, "Eve")
    changed = 4 if field == "coup" else "0" * 128 if field == "second_sig" else "surveillance"
    with pytest.raises(RefusedError):
        house.admit({**fields, field: changed})
    with pytest.raises(RefusedError):
        house.admit({key: value for key, value in fields.items() if key != field})


@pytest.mark.parametrize("policy", ["auto", "always", "never"])
def test_order_of_one_where_two_are_needed_is_refused(house: House, policy: Policy) -> None:
    """The refusal says what is missing; a house may do without, and who is vouched for goes on."""
    fields = house.keys["Ann"].sign(
        PREFIX + "void_coup", {"by": "Ann", "role": "inspector", "coup": 3, "ref": "7"}, NOON
    )
    alone = Ordered(read_command("void_coup", fields, NOON), "void_coup", fields)
    check_vouched(replace(alone, fields=house.order(EVE, "Eve")), policy, house.users)
    if policy == "never":
        check_vouched(alone, policy, house.users)
        return
    with pytest.raises(RefusedError, match=NEEDED) as refused:
        check_vouched(alone, policy, house.users)
    assert refused.value.ref == "7"


def test_house_of_one_is_asked_for_no_second_person() -> None:
    """`auto` goes by how many people could vouch: desks and dealers are none."""
    one = {"Ann": User(roles=("inspector",)), "Bo": User(roles=("dealer",))}
    desk = User(roles=("inspector",), key="0" * 64, may_act_for=True)
    assert not asks_for_seconds("auto", Users(users={**one, "desk": desk}))
    assert asks_for_seconds("auto", Users(users={**one, "Cy": User(roles=("surveillance",))}))
    assert asks_for_seconds("always", Users(users=one))
